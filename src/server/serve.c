/* server/serve.c - the running server: everything opened, wired and closed again.
 *
 * The main thread opens, then waits for signals and keeps the watchdog fed; all else happens on the
 * network's loops and the workers. */
#include "server/serve.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "api/backup.h"
#include "api/mcp_post.h"
#include "api/query_jobs.h"
#include "base/cleanup.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/share.h"
#include "catalog/catalog.h"
#include "core/clock.h"
#include "feature/alert_consumer.h"
#include "feature/span_consumer.h"
#include "http/server.h"
#include "ingest/ingest.h"
#include "server/folder.h"
#include "server/listeners.h"
#include "server/notify.h"
#include "server/thin_follow.h"
#include "store/engine.h"
#include "store/memory.h"

#define QUESTIONS_WAITING 256      /* for a worker; more get a 503 */
#define FOLLOW_NS         NS_PER_S /* how soon a change of the catalogue is noticed */
#define TIDY_NS           (2 * NS_PER_S)
#define TIDY_QUIET        ((uint64_t)1 << 20)  /* bytes in and out meanwhile, at most … */
#define TIDY_LEAST        ((uint64_t)16 << 20) /* … and since the last time, at least */
#define TIDY_CALM         5                    /* looks in a row that must be quiet */

struct server {
	const struct config *config;
	const struct serve_hooks *hooks;
	int folder; /* the lock */
	struct catalog *catalog;
	struct store *store;
	struct ingest *ingest;
	struct share share; /* of the machine, for questions */
	struct pool *pool;
	struct query_jobs *queries;
	struct span_consumer *spans;
	struct alert_consumer *alerts;
	struct http_server *http;
	struct listeners listeners;
	struct api api;
	struct mcp_door mcp;
	int ports[SERVICE_COUNT]; /* as in api */
	sigset_t signals;
	uint64_t seen_bytes, tidied_bytes; /* tidy()'s */
	unsigned quiet_looks, busy_looks;
	size_t tidied_free;
	uint64_t thin_generation; /* follow()'s */
	bool thin_failed;
};

static void server_done(struct server *s)
{
	s->http = http_server_stop(s->http, 0);
	s->queries = query_jobs_free(s->queries);
	mcp_door_done(&s->mcp);
	s->pool = pool_stop(s->pool);
	s->spans = span_consumer_stop(s->spans);
	s->alerts = alert_consumer_stop(s->alerts);
	s->ingest = ingest_close(s->ingest);
	s->store = store_close(s->store);
	s->catalog = catalog_close(s->catalog);
	listeners_done(&s->listeners);
	share_done(&s->share);
	if (s->folder >= 0)
		close(s->folder);
}

static int network_start(struct server *s, struct error *error)
{
	/* Those there is one of first: many loops would leave them no room. */
	static const struct {
		const char *name;
		bool tells; /* how much comes in */
	} urgent[] = {{"log", true}, {"flusher", false}, {"network", false}};
	const struct config *c = s->config;
	struct http_server_options options = {
		.listeners = s->listeners.rows,
		.listener_count = s->listeners.n,
		.loops = (int)c->loops,
		.limits = {.body_bytes = (size_t)c->max_body,
			   .decoded_bytes = (size_t)c->max_decoded,
			   .memory_bytes = (size_t)c->body_memory,
			   .connections = (int)c->max_connections},
		.tls = {c->tls_cert, c->tls_key, c->tls_client_ca},
		.cors_origins = c->cors_origins.items,
		.hosts = c->hosts.items,
		.admit = api_admit,
		.dispatch = api_dispatch,
		.context = &s->api,
	};
	int r = http_server_start(&options, &s->http, error);

	listeners_taken(&s->listeners); /* the server closes them, whatever happens */
	/* What spans go through on their way in: questions give way to it. */
	for (size_t i = 0; i < ARRAY_SIZE(urgent); i++)
		share_watch(&s->share, urgent[i].name, urgent[i].tells);
	return r;
}

static int ingest_start(struct server *s, struct error *error)
{
	const struct ingest_options options = {
		.store = s->store,
		.catalog = s->catalog,
		.repeat_ns = s->config->dedup_window_ns,
		.fail = api_fail,
	};

	return ingest_open(&options, &s->ingest, error);
}

static void store_reported(void *context, const char *text)
{
	log_warn("store: %s", text);
}

static void backups_look(const char *data)
{
	size_t n = backup_sweep(data);

	if (n > 0)
		log_info("%zu backups lie in %s/" BACKUP_FOLDER " that nobody has taken away", n,
			 data);
}

static int store_start(struct server *s, struct error *error)
{
	const struct config *c = s->config;
	char dir[PATH_MAX];
	struct engine_options options = {
		.dir = dir,
		.dedup_ns = c->dedup_window_ns,
		.memory_bytes = (size_t)c->memory_limit,
		.flush_bytes = (size_t)c->flush_size,
		.flush_interval_ns = c->flush_interval_ns,
		.retention_age_ns = c->retention_age_ns,
		.retention_bytes = (uint64_t)c->retention_size,
		.report = store_reported,
	};
	int r;

	if (c->store == STORE_MEMORY) {
		r = memory_store_open((size_t)c->memory_limit, &s->store);
		return r < 0 ? error_set(error, r, "cannot start: %s", strerror(-r)) : 0;
	}
	if (snprintf(dir, sizeof(dir), "%s/" FOLDER_STORE, c->data) >= (int)sizeof(dir))
		return error_set(error, -ENAMETOOLONG, "'%s' is too long", c->data);
	r = config_sync(c->sync, &options.sync, &options.sync_interval_ns);
	if (r < 0)
		return error_set(error, r, "sync is '%s'", c->sync); /* checked before */
	backups_look(c->data);
	return engine_open(&options, &s->store, error);
}

static int queries_start(struct server *s, struct error *error)
{
	struct query_limits limits = QUERY_LIMITS_DEFAULT;

	limits.time_ns = s->config->query_time_ns;
	limits.memory_bytes = (size_t)s->config->query_memory;
	limits.owner_most = (unsigned)s->config->queries_per_owner;
	limits.most = (unsigned)s->config->queries;
	s->queries = query_jobs_new(&limits, &s->share);
	return s->queries ? 0 : error_set(error, -ENOMEM, "cannot start: out of memory");
}

static int alerts_start(struct server *s, struct error *error)
{
	const struct alert_options options = {
		.store = s->store,
		.catalog = s->catalog,
		.query_time_ns = s->config->query_time_ns,
		.query_memory = (size_t)s->config->query_memory,
		.share = &s->share,
	};
	int r = alert_consumer_start(&options, &s->alerts);

	return r < 0 ? error_set(error, r, "cannot start: %s", strerror(-r)) : 0;
}

/* Where alerts say that they come from. */
static void alerts_place(struct server *s)
{
	const struct config *c = s->config;
	bool six = strchr(c->listen, ':'); /* as in [::1]:80 */
	char url[256];

	snprintf(url, sizeof(url), "%s://%s%s%s:%d", c->tls_cert ? "https" : "http", six ? "[" : "",
		 c->listen, six ? "]" : "", s->ports[__builtin_ctz(SERVICE_HTTP)]);
	alert_consumer_set_url(s->alerts, c->external_url ? c->external_url : url);
}

static int server_open(struct server *s, struct error *error)
{
	const struct config *c = s->config;
	int r;

	s->folder = folder_open(c->data, error);
	if (s->folder < 0)
		return s->folder;
	r = catalog_open(c->data, &s->catalog, error);
	if (r < 0)
		return r;
	r = store_start(s, error);
	if (r < 0)
		return r;
	share_init(&s->share, share_processors(), clock_mono_ns());
	r = pool_start((size_t)c->workers, QUESTIONS_WAITING, &s->pool);
	if (r < 0)
		return error_set(error, r, "cannot start: %s", strerror(-r));
	r = queries_start(s, error);
	if (r < 0)
		return r;
	if (c->span_metrics) {
		r = span_consumer_start(s->store, &s->spans);
		if (r < 0)
			return error_set(error, r, "cannot start: %s", strerror(-r));
	}
	r = alerts_start(s, error);
	if (r == 0)
		r = ingest_start(s, error);
	if (r == 0)
		r = listeners_init(&s->listeners, c, error);
	if (r < 0)
		return r;
	s->api.store = s->store;
	s->api.ingest = s->ingest;
	s->api.catalog = s->catalog;
	s->api.data = c->data;
	s->api.pool = s->pool;
	s->api.share = &s->share;
	s->api.queries = s->queries;
	s->api.spans = s->spans;
	if (c->mcp) {
		if (mcp_door_init(&s->mcp, c->cors_origins.items) < 0)
			return error_set(error, -ENOMEM, "cannot start: out of memory");
		s->api.mcp = &s->mcp;
	}
	s->api.alerts = s->alerts;
	s->api.auth = c->auth;
	s->api.tls = c->tls_cert != NULL;
	s->api.started_ns = clock_wall_ns();
	if (c->auth && token_count(s->catalog) == 0)
		log_warn(
			"authentication is on and there is no token yet: make one with 'causet token "
			"add NAME --data %s'",
			c->data);
	return network_start(s, error);
}

/* Known only now: the kernel may have chosen. */
static int ports_publish(struct server *s, struct error *error)
{
	for (size_t i = 0; i < s->listeners.n; i++) {
		int bit = __builtin_ctz((unsigned)s->listeners.rows[i].tag);

		if (s->ports[bit] == 0)
			s->api.ports[bit] = s->ports[bit] = http_server_port(s->http, i);
	}
	alerts_place(s);
	if (s->config->port_file)
		return ports_write(s->config->port_file, s->config->listen, s->ports, error);
	return 0;
}

static void reload(struct server *s)
{
	struct config fresh = {0};
	struct error error = {0};
	bool good = true;

	notify_send("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(clock_mono_ns() / NS_PER_US));
	if (s->hooks->reload(s->hooks->context, &fresh, &error) < 0) {
		log_error("the settings stay as they were: %s", error.text);
		good = false;
	} else {
		log_set_level((enum log_level)fresh.log_level);
	}
	if (s->config->tls_cert && http_server_reload_tls(s->http, &error) < 0) {
		log_error("the certificate stays as it was: %s", error.text);
		good = false;
	}
	if (catalog_refresh(s->catalog, &error) < 0) {
		log_error("tokens and rules stay as they were: %s", error.text);
		good = false;
	}
	log_info(good ? "reloaded" : "reloaded in part");
	notify_send("READY=1");
}

/* Gives back to the system what a rush of requests has left behind: malloc keeps freed memory for
 * the next one, for ever.  Trimming holds up who allocates meanwhile, and memory that comes back
 * from the system must be cleared again, so a pause between two bursts is not taken for quiet. */
static void tidy(struct server *s)
{
	const struct http_counters *c = http_server_counters(s->http);
	uint64_t now = atomic_load_explicit(&c->bytes_in, memory_order_relaxed) +
		       atomic_load_explicit(&c->bytes_out, memory_order_relaxed);
	bool quiet = now - s->seen_bytes < TIDY_QUIET;

	s->seen_bytes = now;
	s->quiet_looks = quiet ? s->quiet_looks + 1 : 0;
	s->busy_looks = quiet ? 0 : s->busy_looks + 1;
	/* Under way, only what has not been used for as long. */
	if (s->quiet_looks >= TIDY_CALM || s->busy_looks % TIDY_CALM == TIDY_CALM - 1)
		ingest_tidy(s->ingest);
	if (s->quiet_looks < TIDY_CALM)
		return;
	/* What was used and freed again since the last time shows in the bytes; what was held then
	 * and freed later, as the buffers of connections that have gone, in what malloc has. */
	size_t freed = mallinfo2().fordblks;

	s->tidied_free = MIN(s->tidied_free, freed);
	if (now - s->tidied_bytes < TIDY_LEAST && freed - s->tidied_free < TIDY_LEAST)
		return;
	heap_trim();
	http_server_tidy(s->http);
	s->tidied_bytes = now;
	s->tidied_free = mallinfo2().fordblks;
}

/* Rules for thinning may change while we run. */
static void follow(struct server *s)
{
	struct error error = {0};
	int r = s->config->store == STORE_MEMORY
			? 0
			: thin_follow(s->catalog, s->store, &s->thin_generation, &error);

	if (r < 0 && !s->thin_failed)
		log_error("rules for thinning stay as they were: %s", error.text);
	s->thin_failed = r < 0;
}

/* Waits for the signal that ends us. */
static int watch(struct server *s)
{
	int64_t watchdog_ns = notify_watchdog_ns();
	int64_t pause_ns = watchdog_ns ? MIN(watchdog_ns, FOLLOW_NS) : FOLLOW_NS;
	int64_t tidied = clock_mono_ns();
	struct timespec pause = {pause_ns / NS_PER_S, pause_ns % NS_PER_S};

	for (;;) {
		int number = sigtimedwait(&s->signals, NULL, &pause);

		if (watchdog_ns)
			notify_send("WATCHDOG=1");
		if (clock_mono_ns() - tidied >= TIDY_NS) {
			tidy(s);
			tidied = clock_mono_ns();
		}
		follow(s);
		if (number == SIGHUP)
			reload(s);
		else if (number == SIGTERM || number == SIGINT)
			return number;
	}
}

static void drain(struct server *s, int number)
{
	log_info("%s: finishing requests in flight, for %lld ms at most",
		 number == SIGINT ? "interrupted" : "terminated",
		 (long long)(s->config->drain_ns / NS_PER_MS));
	notify_send("STOPPING=1");
	atomic_store(&s->api.ready, false);
	s->http = http_server_stop(s->http, (int)(s->config->drain_ns / NS_PER_MS));
	atomic_store(&s->api.counters, NULL);
	if (s->config->port_file)
		unlink(s->config->port_file);
}

static int server_run(struct server *s, struct error *error)
{
	int r;

	sigemptyset(&s->signals);
	sigaddset(&s->signals, SIGTERM);
	sigaddset(&s->signals, SIGINT);
	sigaddset(&s->signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
	r = server_open(s, error);
	if (r < 0)
		return r;
	atomic_store(&s->api.counters, http_server_counters(s->http));
	r = ports_publish(s, error);
	if (r < 0)
		return r;
	atomic_store(&s->api.ready, true);
	s->hooks->ready(s->hooks->context, s->ports, s->config->listen);
	notify_send("READY=1\nSTATUS=taking in traces");
	follow(s);
	drain(s, watch(s));
	log_info("stopped");
	return 0;
}

/* Connections and segments are open files: as many as the system lets us have. */
static void files_allow(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int serve(const struct config *config, const struct serve_hooks *hooks, struct error *error)
{
	struct server s = {.config = config, .hooks = hooks, .folder = -1};
	int r;

	heap_keep(); /* and tidy() gives back what a rush has left */
	files_allow();
	log_set_level((enum log_level)config->log_level);
	r = server_run(&s, error);
	server_done(&s);
	return r;
}
