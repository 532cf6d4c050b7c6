/* server/config.c - what can be set about `causet serve`. */
#include "server/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "core/clock.h"

#define MIB           (1LL << 20)
#define GIB           (1LL << 30)
#define SYNC_LEAST_NS NS_PER_MS
#define SYNC_MOST_NS  (3600 * NS_PER_S)

static const char *const store_kinds[] = {"disk", "memory", NULL}; /* enum config_store */
static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};

#define AT(field) .offset = offsetof(struct config, field)

const struct option config_options[] = {
	{.name = "data",
	 .type = OPTION_STRING,
	 .value = "DIR",
	 .group = "State",
	 .doc = "folder for everything the server keeps; made if missing [$STATE_DIRECTORY, $XDG_STATE_HOME/causet or ~/.local/state/causet]",
	 AT(data)},
	{.name = "store",
	 .type = OPTION_CHOICE,
	 .fallback = "disk",
	 .choices = store_kinds,
	 .doc = "where events are kept; memory forgets them when the server ends",
	 AT(store)},
	{.name = "sync",
	 .type = OPTION_STRING,
	 .fallback = "always",
	 .value = "WHEN",
	 .doc = "when what was acknowledged is safe from a power failure: always (before it is acknowledged), interval=TIME (at most so long after) or never (when the kernel likes); a killed server loses nothing in any case",
	 AT(sync)},
	{.name = "flush-size",
	 .type = OPTION_SIZE,
	 .fallback = "8MiB",
	 .min = MIB,
	 .max = 16 * GIB,
	 .doc = "events in memory that are written to a segment, up to 32 times as much while events come in fast",
	 AT(flush_size)},
	{.name = "flush-interval",
	 .type = OPTION_DURATION,
	 .fallback = "5m",
	 .min = NS_PER_S,
	 .max = 86400 * NS_PER_S,
	 .doc = "events that have been in memory for so long are written to a segment, however few",
	 AT(flush_interval_ns)},
	{.name = "retention-age",
	 .type = OPTION_DURATION,
	 .fallback = "30d",
	 .min = 0,
	 .max = 36500LL * 86400 * NS_PER_S,
	 .doc = "how long events are kept after they were received; 0 keeps them for ever",
	 AT(retention_age_ns)},
	{.name = "retention-size",
	 .type = OPTION_SIZE,
	 .fallback = "0",
	 .min = 0,
	 .max = 1024 * 1024 * GIB,
	 .doc = "disk for events; over it, those received first are removed; 0 is no limit",
	 AT(retention_size)},
	{.name = "listen",
	 .type = OPTION_STRING,
	 .fallback = "127.0.0.1",
	 .value = "ADDRESS",
	 .group = "Network",
	 .doc = "address to listen on; 0.0.0.0 or :: for every interface, which needs --auth or --insecure",
	 AT(listen)},
	{.name = "otlp-grpc-port",
	 .type = OPTION_PORT,
	 .fallback = "4317",
	 .doc = "port for OTLP over gRPC; 0 lets the kernel choose, off disables",
	 AT(otlp_grpc_port)},
	{.name = "otlp-http-port",
	 .type = OPTION_PORT,
	 .fallback = "4318",
	 .doc = "port for OTLP over HTTP",
	 AT(otlp_http_port)},
	{.name = "zipkin-port",
	 .type = OPTION_PORT,
	 .fallback = "9411",
	 .doc = "port for Zipkin",
	 AT(zipkin_port)},
	{.name = "http-port",
	 .type = OPTION_PORT,
	 .fallback = "16686",
	 .doc = "port for causet's own API and Jaeger's over HTTP",
	 AT(http_port)},
	{.name = "jaeger-grpc-port",
	 .type = OPTION_PORT,
	 .fallback = "16685",
	 .doc = "port for Jaeger's API over gRPC",
	 AT(jaeger_grpc_port)},
	{.name = "tempo-port",
	 .type = OPTION_PORT,
	 .fallback = "3200",
	 .doc = "port for Tempo's API, which is also under /tempo on the http-port",
	 AT(tempo_port)},
	{.name = "mcp",
	 .type = OPTION_BOOL,
	 .fallback = "off",
	 .doc = "let language models ask at /api/mcp on the http-port (Model Context Protocol, read only)",
	 AT(mcp)},
	{.name = "port-file",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "write the address and the real ports to this file as JSON once the server is ready",
	 AT(port_file)},
	{.name = "external-url",
	 .type = OPTION_STRING,
	 .value = "URL",
	 .doc = "how people reach this server, without a slash at the end: alerts carry it [http://LISTEN:HTTP-PORT]",
	 AT(external_url)},
	{.name = "hosts",
	 .type = OPTION_LIST,
	 .value = "NAME,…",
	 .doc = "further host names under which a loopback address may be asked (DNS rebinding is refused otherwise)",
	 AT(hosts)},
	{.name = "cors-origins",
	 .type = OPTION_LIST,
	 .value = "ORIGIN,…",
	 .doc = "web origins that may call from a browser, such as https://app.example.org; * for all",
	 AT(cors_origins)},
	{.name = "auth",
	 .type = OPTION_BOOL,
	 .fallback = "off",
	 .group = "Access",
	 .doc = "require a bearer token (make one with causet token add)",
	 AT(auth)},
	{.name = "insecure",
	 .type = OPTION_BOOL,
	 .fallback = "off",
	 .doc = "serve an address that others can reach without authentication",
	 AT(insecure)},
	{.name = "tls-cert",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "certificate chain (PEM): every port then speaks TLS",
	 AT(tls_cert)},
	{.name = "tls-key",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "private key of the certificate (PEM)",
	 AT(tls_key)},
	{.name = "tls-client-ca",
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "clients must show a certificate signed by one of these authorities (PEM)",
	 AT(tls_client_ca)},
	{.name = "memory-limit",
	 .type = OPTION_SIZE,
	 .fallback = "1GiB",
	 .min = MIB,
	 .max = 1024 * GIB,
	 .group = "Limits",
	 .doc = "memory for events, with --store disk for those not yet in segments; from half of it on they are taken in more slowly, over it senders are told to try again later",
	 AT(memory_limit)},
	{.name = "max-body",
	 .type = OPTION_SIZE,
	 .fallback = "64MiB",
	 .min = 1024,
	 .max = 4 * GIB,
	 .doc = "largest request body as sent",
	 AT(max_body)},
	{.name = "max-decoded",
	 .type = OPTION_SIZE,
	 .fallback = "256MiB",
	 .min = 1024,
	 .max = 16 * GIB,
	 .doc = "largest request body after decompression",
	 AT(max_decoded)},
	{.name = "body-memory",
	 .type = OPTION_SIZE,
	 .fallback = "1GiB",
	 .min = MIB,
	 .max = 1024 * GIB,
	 .doc = "memory for request bodies, all connections together",
	 AT(body_memory)},
	{.name = "max-connections",
	 .type = OPTION_INT,
	 .fallback = "4096",
	 .min = 1,
	 .max = 1000000,
	 .doc = "open connections",
	 AT(max_connections)},
	{.name = "loops",
	 .type = OPTION_INT,
	 .fallback = "0",
	 .min = 0,
	 .max = 1024,
	 .doc = "network threads; 0 is one per processor",
	 AT(loops)},
	{.name = "workers",
	 .type = OPTION_INT,
	 .fallback = "2",
	 .min = 1,
	 .max = 1024,
	 .doc = "threads that answer reads and searches",
	 AT(workers)},
	{.name = "query-time",
	 .type = OPTION_DURATION,
	 .fallback = "60s",
	 .min = NS_PER_MS,
	 .max = 86400 * NS_PER_S,
	 .doc = "how long one query may run",
	 AT(query_time_ns)},
	{.name = "query-memory",
	 .type = OPTION_SIZE,
	 .fallback = "1GiB",
	 .min = MIB,
	 .max = 1024 * GIB,
	 .doc = "memory that one query may take",
	 AT(query_memory)},
	{.name = "queries-per-owner",
	 .type = OPTION_INT,
	 .fallback = "4",
	 .min = 1,
	 .max = 1000,
	 .doc = "queries of one owner that may run at once",
	 AT(queries_per_owner)},
	{.name = "queries",
	 .type = OPTION_INT,
	 .fallback = "16",
	 .min = 1,
	 .max = 1000,
	 .doc = "queries that may run at once",
	 AT(queries)},
	{.name = "drain",
	 .type = OPTION_DURATION,
	 .fallback = "10s",
	 .min = 0,
	 .max = 3600 * NS_PER_S,
	 .group = "Times",
	 .doc = "how long requests in flight may take to finish after SIGTERM",
	 AT(drain_ns)},
	{.name = "dedup-window",
	 .type = OPTION_DURATION,
	 .fallback = "10m",
	 .min = 0,
	 .max = 86400 * NS_PER_S,
	 .doc = "a request body that comes again within this time is acknowledged and not stored twice; 0 disables",
	 AT(dedup_window_ns)},
	{.name = "span-metrics",
	 .type = OPTION_BOOL,
	 .fallback = "on",
	 .group = "Derived data",
	 .doc = "count spans as they come in, for Prometheus at /metrics/spans",
	 AT(span_metrics)},
	{.name = "log-level",
	 .type = OPTION_CHOICE,
	 .fallback = "info",
	 .choices = log_levels,
	 .group = "Messages and settings",
	 .doc = "what is written to standard error",
	 AT(log_level)},
	{.name = "config",
	 .type = OPTION_STRING,
	 .once = true,
	 .value = "FILE",
	 .doc = "settings file with 'name = value' lines [$XDG_CONFIG_HOME/causet/config, /etc/causet/config]",
	 AT(config_file)},
	{.name = "print-config",
	 .type = OPTION_BOOL,
	 .once = true,
	 .doc = "print every setting with its source, as a settings file, and exit",
	 AT(print_config)},
	{.name = "print-routes",
	 .type = OPTION_BOOL,
	 .once = true,
	 .doc = "print every route with its ports and the role it needs, one JSON object a line, and exit",
	 AT(print_routes)},
	{.name = "check-config",
	 .type = OPTION_BOOL,
	 .once = true,
	 .doc = "check the settings and exit",
	 AT(check_config)},
	{0},
};

#undef AT

static const char *variable_get(char *const *environment, const char *name)
{
	size_t n = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return (*environment)[n + 1] ? *environment + n + 1 : NULL;
	return NULL;
}

const char *config_data_default(char *const *environment, struct arena *arena)
{
	const char *systemd = variable_get(environment, "STATE_DIRECTORY");
	const char *xdg = variable_get(environment, "XDG_STATE_HOME");
	const char *home = variable_get(environment, "HOME");

	if (systemd) {
		struct slice all = slice_cstr(systemd); /* several are joined with ':' */

		return arena_dup(arena, slice_cut(&all, ':')).p;
	}
	if (xdg && xdg[0] == '/')
		return arena_printf(arena, "%s/causet", xdg);
	if (home && home[0] == '/' && home[1])
		return arena_printf(arena, "%s/.local/state/causet", home);
	return arena_printf(arena, "/var/lib/causet");
}

bool config_is_loopback(const char *host)
{
	unsigned char address[16];

	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, address) == 1)
		return address[0] == 127;
	if (inet_pton(AF_INET6, host, address) == 1)
		return memcmp(address, &in6addr_loopback, sizeof(address)) == 0;
	return false;
}

int config_sync(const char *text, enum wal_sync *ret_sync, int64_t *ret_interval_ns)
{
	struct slice s = slice_cstr(text), prefix = SLICE("interval=");
	int64_t ns = 0;

	if (slice_eq(s, SLICE("always")))
		*ret_sync = WAL_SYNC_ALWAYS;
	else if (slice_eq(s, SLICE("never")))
		*ret_sync = WAL_SYNC_NEVER;
	else if (slice_starts(s, prefix) && duration_parse(slice_from(s, prefix.n), &ns) == 0 &&
		 ns >= SYNC_LEAST_NS && ns <= SYNC_MOST_NS)
		*ret_sync = WAL_SYNC_INTERVAL;
	else
		return -EINVAL;
	*ret_interval_ns = ns;
	return 0;
}

int config_check(const struct config *c, struct error *error)
{
	enum wal_sync sync;
	int64_t interval_ns;

	if (config_sync(c->sync, &sync, &interval_ns) < 0)
		return error_set(error, -EINVAL,
				 "sync is '%s'; give always, never, or interval=TIME with a time "
				 "from 1ms to 1h",
				 c->sync);
	if (c->otlp_grpc_port == OPTION_OFF && c->otlp_http_port == OPTION_OFF &&
	    c->zipkin_port == OPTION_OFF && c->http_port == OPTION_OFF &&
	    c->jaeger_grpc_port == OPTION_OFF && c->tempo_port == OPTION_OFF)
		return error_set(error, -EINVAL, "every port is off; leave at least one on");
	if (c->tls_key && !c->tls_cert)
		return error_set(error, -EINVAL, "tls-key without tls-cert; give both");
	if (c->tls_cert && !c->tls_key)
		return error_set(error, -EINVAL, "tls-cert without tls-key; give both");
	if (c->tls_client_ca && !c->tls_cert)
		return error_set(error, -EINVAL,
				 "tls-client-ca needs TLS; give tls-cert and tls-key, too");
	if (c->max_decoded < c->max_body)
		return error_set(
			error, -EINVAL,
			"max-decoded is smaller than max-body; raise it or lower max-body");
	if (!config_is_loopback(c->listen) && !c->auth && !c->insecure)
		return error_set(error, -EPERM,
				 "%s can be reached from other machines and authentication is off; "
				 "add --auth (and make a token with 'causet token add'), listen on "
				 "127.0.0.1, or say --insecure if everybody may read and write",
				 *c->listen ? c->listen : "every interface");
	return 0;
}

static int read_whole(const char *path, struct buffer *text)
{
	_cleanup_(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	for (;;) {
		char *room = buffer_reserve(text, 4096);
		ssize_t n;

		if (!room)
			return -ENOMEM;
		n = read(fd, room, 4096);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		text->n += (size_t)n;
		if (text->n > OPTION_MAX_FILE_BYTES)
			return -EFBIG;
	}
}

int config_read_file(struct option_set *const *sets, size_t set_n,
		     const struct option_set *const *others, size_t other_n, const char *path,
		     struct error *error)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};
	int r;

	if (!path)
		return 0;
	r = read_whole(path, &text);
	if (r < 0)
		return error_set(error, r, "cannot read the settings in %s: %s", path,
				 strerror(-r));
	return option_parse_file(sets, set_n, others, other_n, path, buffer_get(&text), error);
}

const char *config_find_file(char *const *environment, struct arena *arena)
{
	const char *xdg = variable_get(environment, "XDG_CONFIG_HOME");
	const char *home = variable_get(environment, "HOME");
	const char *places[2] = {NULL, "/etc/causet/config"};

	if (xdg && xdg[0] == '/')
		places[0] = arena_printf(arena, "%s/causet/config", xdg);
	else if (home)
		places[0] = arena_printf(arena, "%s/.config/causet/config", home);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i] && access(places[i], F_OK) == 0)
			return places[i];
	return NULL;
}

int config_complete(struct option_set *set, const struct option_set *const *others, size_t other_n,
		    char *const *environment, struct error *error)
{
	struct config *c = set->values;
	const struct option *data = option_find(set->table, SLICE("data"));
	const char *path;
	int r;

	r = option_parse_environment(set, CONFIG_ENVIRONMENT_PREFIX, environment, error);
	if (r < 0)
		return r;
	path = c->config_file ? c->config_file : config_find_file(environment, set->arena);
	r = config_read_file(&set, 1, others, other_n, path, error);
	if (r < 0)
		return r;
	if (!c->data) {
		const char *place = config_data_default(environment, set->arena);

		if (!place)
			return error_set(error, -ENOMEM, "out of memory");
		r = option_put(set, data, slice_cstr(place), OPTION_DEFAULT, "default", error);
		if (r < 0)
			return r;
	}
	return config_check(c, error);
}
