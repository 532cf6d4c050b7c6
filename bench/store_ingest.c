/* bench/store_ingest.c - the server under load: what a span costs, and takes; memory; recovery. */
#include <curl/curl.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bench/source.h"
#include "bench/spans.h"
#include "bench/store.h"

#define CONNECTIONS   4
#define BODY_SPANS    470          /* at least: smaller ones are sent together, as collectors do */
#define CHUNK_BYTES   (192u << 20) /* of bodies made ahead, while the server waits */
#define QUIET_S       13           /* an idle server flushes and merges within that */
#define SETTLE_S      900
#define BAR_CPU_US    1.0
#define BAR_BYTES     25.0
#define STEADY_RATE   10000
#define STEADY_TICKS  10 /* a second */
#define BAR_STEADY    128
#define BAR_FRESH_MS  1000
#define FRESH_TRIES   400
#define BAR_RESTART_S 2.0
#define GIB           1073741824.0
#define PROTOBUF      "application/x-protobuf"

struct bodies {
	struct buffer *rows;
	size_t n, capacity, spans, bytes, last_spans;
};

static void bodies_done(struct bodies *b)
{
	for (size_t i = 0; i < b->n; i++)
		buffer_done(&b->rows[i]);
	free(b->rows);
	*b = (struct bodies){0};
}

/* Remembers a fair sample of the traces that passed. */
static void remember(struct store_sent *sent, struct rng *rng, size_t *seen, struct trace_id id)
{
	size_t at = *seen < STORE_IDS ? *seen : rng_below(rng, *seen + 1);

	if (at < STORE_IDS)
		sent->ids[at] = id;
	sent->id_n = ++*seen < STORE_IDS ? *seen : STORE_IDS;
}

struct maker {
	struct source *source;
	struct rng rng;
	size_t seen;
};

/* One more batch behind the last body, or as a new one. */
static bool add_body(struct bodies *out, const struct batch *b, size_t spans)
{
	struct buffer *body;

	if (out->n == 0 || out->last_spans >= BODY_SPANS) {
		if (!vec_reserve(&out->rows, &out->capacity, out->n + 1, sizeof(*out->rows)))
			return false;
		out->rows[out->n++] = (struct buffer){0};
		out->last_spans = 0;
	}
	body = &out->rows[out->n - 1];
	out->bytes -= body->n;
	source_encode(b, body);
	out->bytes += body->n;
	out->spans += spans;
	out->last_spans += spans;
	return !body->failed;
}

/* Makes bodies until there are `spans` of them or a chunk is full.  0 at the end of the set. */
static size_t make_bodies(struct maker *m, size_t spans, struct store_sent *sent,
			  struct bodies *out)
{
	bodies_done(out);
	while (out->spans < spans && out->bytes < CHUNK_BYTES) {
		size_t got = 0;
		struct batch *b = source_next(m->source, &got);

		if (!b)
			break;
		if (!add_body(out, b, got))
			exit(1);
		for (size_t i = 0; sent && i < b->event_n; i += 5)
			remember(sent, &m->rng, &m->seen, b->events[i].trace_id);
		batch_unref(b);
	}
	return out->spans;
}

/* CPU seconds of zstd -1 over the bodies, as a command line over one file would do it. */
static double zstd_cpu(const struct bodies *b, double *ret_bytes)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t room = ZSTD_CStreamOutSize();
	char *out = malloc(room);
	double start = bench_cpu();

	if (!c || !out)
		exit(1);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
	for (size_t i = 0; i < b->n; i++) {
		ZSTD_inBuffer in = {b->rows[i].p, b->rows[i].n, 0};
		size_t left;

		do {
			ZSTD_outBuffer to = {out, room, 0};

			left = ZSTD_compressStream2(c, &to, &in,
						    i + 1 == b->n ? ZSTD_e_end : ZSTD_e_continue);
			*ret_bytes += (double)to.pos;
		} while (in.pos < in.size || (i + 1 == b->n && left > 0));
	}
	ZSTD_freeCCtx(c);
	free(out);
	return bench_cpu() - start;
}

static double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void report(const struct server *server, const char *set, size_t spans, double bytes,
		   double cpu, double zstd, double zstd_bytes, double took)
{
	char store[128];
	double n = (double)spans;
	bool demo = strcmp(set, "random") != 0;

	snprintf(store, sizeof(store), "%s/store", server->folder);
	printf("\n%s: %zu spans of %.0f B, %.0f s, %.0f spans/s while sending\n", set, spans,
	       bytes / n, took, n / took);
	store_figure("CPU to keep a span, until the server rests", cpu / n * 1e6, "us", BAR_CPU_US,
		     demo ? "VictoriaTraces 18.8, Tempo 56, Jaeger 178" : "");
	store_figure("  for scale: zstd -1 over the same bytes", zstd / n * 1e6, "us", 0, "");
	store_figure("bytes on disk a span", folder_bytes(store) / n, "B", demo ? BAR_BYTES : 0,
		     demo ? "VictoriaTraces 104, Tempo 130, Jaeger 1,170" : "");
	store_figure("  for scale: zstd -1 over the same bytes", zstd_bytes / n, "B", 0, "");
	store_figure("memory at the most, at full speed", (double)server_peak_mib(server), "MiB", 0,
		     "VictoriaTraces 444, Jaeger 3,300");
}

int store_ingest(const char *causet, const char *set, size_t spans, struct store_sent *ret_sent)
{
	static const char *const arguments[] = {"--memory-limit", "2GiB", NULL};
	struct maker maker = {.source = source_open(set), .rng = {1}};
	struct server server = {0};
	struct bodies bodies = {0};
	double zstd = 0, zstd_bytes = 0, bytes = 0, took = 0, before;
	size_t failed = 0;

	*ret_sent = (struct store_sent){.spans = 0};
	if (!maker.source)
		return -1;
	server_start(&server, causet, arguments);
	server.own_folder = false;
	memcpy(ret_sent->folder, server.folder, sizeof(ret_sent->folder));
	before = server_cpu(&server);
	while (ret_sent->spans < spans && failed == 0 &&
	       make_bodies(&maker, spans - ret_sent->spans, ret_sent, &bodies)) {
		double start;

		zstd += zstd_cpu(&bodies, &zstd_bytes);
		start = wall();
		failed = server_post(&server, bodies.rows, bodies.n, CONNECTIONS, PROTOBUF, NULL);
		took += wall() - start;
		ret_sent->spans += bodies.spans;
		bytes += (double)bodies.bytes;
	}
	bodies_done(&bodies);
	source_close(maker.source);
	if (failed)
		fprintf(stderr, "bench: %zu requests failed\n", failed);
	else if (!server_settle(&server, QUIET_S, SETTLE_S))
		fprintf(stderr, "bench: the server does not come to rest\n");
	if (!failed)
		report(&server, set, ret_sent->spans, bytes, server_cpu(&server) - before, zstd,
		       zstd_bytes, took);
	server_stop(&server);
	return failed ? -1 : 0;
}

/* --- 10,000 spans a second --- */

/* An answer, as far as it matters: its beginning. */
struct answer {
	char text[4096];
	size_t n;
};

static size_t answer_add(char *data, size_t size, size_t n, void *context)
{
	struct answer *a = context;
	size_t take = MIN(size * n, sizeof(a->text) - 1 - a->n);

	memcpy(a->text + a->n, data, take);
	a->n += take;
	a->text[a->n] = '\0';
	return size * n;
}

static bool ask(CURL *curl, const char *url, struct answer *answer)
{
	long status = 0;

	*answer = (struct answer){.n = 0};
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, answer_add);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	return curl_easy_perform(curl) == CURLE_OK &&
	       curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
	       status == 200;
}

/* Milliseconds from the acknowledgement of a span until a search for its service finds it, and
 * until its trace is found by its id.  Negative: it never was. */
static double freshness(const struct server *s, unsigned number)
{
	CURL *curl = curl_easy_init(), *post = curl_easy_init();
	struct curl_slist *type = curl_slist_append(NULL, "Content-Type: application/json");
	char url[160], id[TRACE_ID_HEX + 1], body[600];
	struct answer answer;
	double start;
	bool found = false;

	if (!curl || !post || !type)
		exit(1);
	snprintf(id, sizeof(id), "f4e54000000000000000000%09x", number + 1);
	snprintf(body, sizeof(body),
		 "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
		 "\"value\":{\"stringValue\":\"fresh-%u\"}}]},\"scopeSpans\":[{\"spans\":[{"
		 "\"traceId\":\"%s\",\"spanId\":\"eee19b7ec3c1b174\",\"name\":\"now\",\"kind\":2,"
		 "\"startTimeUnixNano\":\"%lld000000000\",\"endTimeUnixNano\":\"%lld000000001\""
		 "}]}]}]}",
		 number, id, (long long)time(NULL), (long long)time(NULL));
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1/traces", s->http);
	curl_easy_setopt(post, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(post, CURLOPT_HTTPHEADER, type);
	if (!ask(post, url, &answer))
		fprintf(stderr, "bench: the span was refused: %s\n", answer.text);
	start = wall();
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/api/v1/traces?service=fresh-%u", s->api,
		 number);
	for (int tries = 0; !found && tries < FRESH_TRIES; tries++) {
		found = ask(curl, url, &answer) && strstr(answer.text, id);
		if (!found)
			usleep(5000);
	}
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/api/v1/traces/%s", s->api, id);
	found &= ask(curl, url, &answer);
	curl_easy_cleanup(curl);
	curl_easy_cleanup(post);
	curl_slist_free_all(type);
	return found ? (wall() - start) * 1000 : -1;
}

int store_steady(const char *causet, unsigned seconds)
{
	struct maker maker = {.source = source_open("demo"), .rng = {1}};
	struct server server = {0};
	struct bodies bodies = {0};
	double start, before, worst = 0, sum = 0;
	size_t failed = 0, spans = 0, asked = 0, missing = 0;

	if (!maker.source)
		return -1;
	server_start(&server, causet, NULL);
	start = wall();
	before = server_cpu(&server);
	for (unsigned tick = 0; tick < seconds * STEADY_TICKS && failed == 0; tick++) {
		double due = start + (double)tick / STEADY_TICKS;

		make_bodies(&maker, STEADY_RATE / STEADY_TICKS, NULL, &bodies);
		while (wall() < due)
			usleep(1000);
		failed = server_post(&server, bodies.rows, bodies.n, 1, PROTOBUF, NULL);
		spans += bodies.spans;
		if (tick % STEADY_TICKS == 0) {
			double ms = freshness(&server, tick);

			missing += ms < 0;
			worst = MAX(ms, worst);
			sum += ms;
			asked++;
		}
	}
	printf("\nsteady: %zu spans in %.0f s\n", spans, wall() - start);
	store_figure("memory at the most", (double)server_peak_mib(&server), "MiB", BAR_STEADY,
		     "VictoriaTraces 225");
	store_figure("CPU a span", (server_cpu(&server) - before) / (double)spans * 1e6, "us", 0,
		     "");
	store_figure("acknowledged to found by search and by id, mean",
		     sum / (double)MAX(asked, (size_t)1), "ms", BAR_FRESH_MS,
		     "Quickwit 5,000, Tempo 30,000");
	store_figure("acknowledged to found, the worst", worst, "ms", BAR_FRESH_MS, "");
	if (missing)
		fprintf(stderr, "bench: %zu of %zu spans were not found at all\n", missing, asked);
	bodies_done(&bodies);
	source_close(maker.source);
	server_stop(&server);
	return failed || missing ? -1 : 0;
}

/* --- recovery --- */

/* Bytes in use of the log's files. */
static double log_bytes(const struct server *s)
{
	char path[400];
	double total = 0;
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/store", s->folder);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, "wal-", 4) == 0) {
			snprintf(path, sizeof(path), "%s/store/%s", s->folder, entry->d_name);
			if (stat(path, &st) == 0)
				total += (double)st.st_blocks * 512;
		}
	if (dir)
		closedir(dir);
	return total;
}

int store_restart(const char *causet, double gib)
{
	/* Nothing is flushed, so that all of it must be read back. */
	static const char *const arguments[] = {
		"--memory-limit", "12GiB", "--flush-size", "12GiB", "--flush-interval", "1d", NULL};
	struct maker maker = {.source = source_open("demo"), .rng = {1}};
	struct server server = {0};
	struct bodies bodies = {0};
	double start, size = 0, took, cpu;
	size_t failed = 0, spans = 0;

	if (!maker.source)
		return -1;
	server_start(&server, causet, arguments);
	while (size < gib * GIB && failed == 0 &&
	       make_bodies(&maker, STEADY_RATE * 10, NULL, &bodies)) {
		failed = server_post(&server, bodies.rows, bodies.n, CONNECTIONS, PROTOBUF, NULL);
		spans += bodies.spans;
		size = log_bytes(&server);
	}
	bodies_done(&bodies);
	source_close(maker.source);
	server_kill(&server);
	size = log_bytes(&server);
	start = wall();
	server_start(&server, causet, arguments);
	took = wall() - start;
	cpu = server_cpu(&server);
	server.own_folder = true;
	printf("\nrestart: %zu spans, %.2f GiB of log\n", spans, size / GIB);
	if (failed || size < GIB / 100) {
		fprintf(stderr, "bench: there is no log to recover from\n");
		server_stop(&server);
		return -1;
	}
	store_figure("back after SIGKILL, a GiB of log", took / (size / GIB), "s", BAR_RESTART_S,
		     "");
	printf("  %-55s %8.3f s\n", "of CPU, a GiB of log", cpu / (size / GIB));
	server_stop(&server);
	return 0;
}
