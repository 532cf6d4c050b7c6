/* bench/query.c - what asking in the language costs, on the store of bench_store's random set.
 *
 *   bench_query CAUSET [SPANS]      sends the set to a new server first (10 million spans)
 *   bench_query --data FOLDER [TEXT]  a store that is there, of BENCH_KEEP=1 bench_query CAUSET;
 * with a text only questions whose name has it, and no floors or peers
 *
 * Each question is asked with changing values, so that no answer is simply remembered; times are
 * medians on the wall, with the CPU time of all threads beside them.  Floors and peers are measured
 * in the same run: the floor of a question over columns is to read those columns and nothing else,
 * with as many threads; the peer is the store's own search or count written by hand in C.  The exit
 * status counts what missed its bar. */
#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench/spans.h"
#include "bench/store.h"
#include "exec/query.h"
#include "store/engine.h"
#include "store/scan.h"

#define MILLION 1000000
#define THREADS 2 /* of floors; queries take all cores */

static double wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* --- questions --- */

static int begin(void *context, size_t result, struct slice name,
		 const struct query_column *columns, size_t n)
{
	(void)context;
	(void)result;
	(void)name;
	(void)columns;
	(void)n;
	return 0;
}

static int row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	(void)values;
	(void)plus_minus;
	(void)n;
	++*(uint64_t *)context;
	return 0;
}

static int ask(struct store *s, const char *text, uint64_t *rows)
{
	struct query_prepare prepare = {.text = slice_cstr(text)};
	struct query_run run = {
		.begin = begin, .row = row, .context = rows, .time_ns = 600 * 1000000000LL};
	_cleanup_(query_freep)
	struct query *query = NULL;
	struct error error = {0};
	struct arena arena = {0};
	struct buffer wrong = {0};
	struct query_stats stats;
	struct snapshot snapshot;
	struct diags diags;
	int r;

	diags_init(&diags, &arena);
	r = query_prepare(&prepare, &diags, &query);
	if (r < 0)
		diags_format(&diags, prepare.text, &wrong);
	if (r == 0)
		r = store_snapshot(s, &snapshot);
	if (r == 0) {
		run.snapshot = &snapshot;
		r = query_run(query, &run, &stats, &error);
		snapshot_done(&snapshot);
	}
	if (r < 0)
		fprintf(stderr, "bench: %s\n  %s%s (%d)\n", text, buffer_cstr(&wrong), error.text,
			r);
	buffer_done(&wrong);
	arena_done(&arena);
	return r;
}

struct question {
	const char *name, *form; /* %1$u and %2$u change from run to run */
	double bar;              /* milliseconds */
	unsigned runs;
};

#define ASKS_MOST 16

static const struct question questions[] = {
	{"{ span.attr = x }, all spans of all time", "{ span.attribute.%1$u = \"value-%2$u\" }", 50,
	 11},
	{"count, p99 by service and name, all rows",
	 "From s In spans GroupBy s.service, s.name Select s.service, s.name, COUNT, p99(s.duration)",
	 150, 7},
	{"count by an attribute, all rows",
	 "From s In spans GroupBy s.attribute.%1$u As a Select a, COUNT OrderBy COUNT Desc Limit 10",
	 0, 7},
	{"rate by service over time, all rows", "{ } | rate() by(resource.service.name)", 0, 5},
	{"{ a } >> { b }, all traces",
	 "{ name = \"operation-%1$u\" } >> { name = \"operation-%2$u\" } | count() > 0", 500, 3},
	{"a -> b with group-by, all traces",
	 "From b In { name = \"operation-%1$u\" } Join a In { name = \"operation-%2$u\" } On a -> b "
	 "GroupBy a.service Select a.service, COUNT, AVG(b.duration)",
	 1500, 3},
	{"critical path, all traces", "CriticalPath | Blocks | Duration | Sum", 10000, 1},
};

/* Milliseconds of each run, on the wall and on the CPU. */
struct times {
	double wall[ASKS_MOST], cpu[ASKS_MOST];
};

static int ask_runs(struct store *s, const struct question *q, struct times *times, uint64_t *rows)
{
	char text[512];

	for (unsigned i = 0; i < q->runs; i++) {
		double start, cpu;
		int r;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), q->form, (i * 7 + 3) % 20, (i * 37 + 11) % 20);
#pragma GCC diagnostic pop
		start = wall_ms();
		cpu = bench_cpu();
		r = ask(s, text, rows);
		if (r < 0)
			return r;
		times->wall[i] = wall_ms() - start;
		times->cpu[i] = (bench_cpu() - cpu) * 1000;
	}
	return 0;
}

/* Twice: the first time much of what is asked about may not be in the page cache. */
static int by_question(struct store *s, const struct question *q)
{
	struct times first, times;
	uint64_t rows = 0;
	int r = ask_runs(s, q, &first, &rows);

	rows = 0;
	if (r == 0)
		r = ask_runs(s, q, &times, &rows);
	if (r < 0)
		return r;
	store_figure(q->name, bench_median(times.wall, q->runs), "ms", q->bar, "");
	store_figure("  on the CPU, all threads", bench_median(times.cpu, q->runs), "ms", 0, "");
	store_figure("  the first time, also from the disk", bench_median(first.wall, q->runs),
		     "ms", 0, "");
	store_figure("  rows of the answer", (double)rows / q->runs, "", 0, "");
	return 0;
}

/* --- floors: the columns, and nothing else --- */

struct reading {
	const struct snapshot *snapshot;
	uint32_t part;
	bool durations;
	uint64_t sum;
};

static int read_group(void *context, struct segment_group *g, const uint32_t *pieces, uint32_t n)
{
	struct reading *r = context;
	const uint32_t *codes;
	const uint64_t *durations;
	int e = group_shapes(g, &codes);

	(void)pieces;
	(void)n;
	for (uint32_t i = 0; e == 0 && i < group_zone(g)->rows; i++)
		r->sum += codes[i];
	if (e == 0 && r->durations)
		e = group_durations(g, &durations);
	for (uint32_t i = 0; e == 0 && r->durations && i < group_zone(g)->rows; i++)
		r->sum += durations[i];
	return e;
}

static int read_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		      bool more)
{
	(void)context;
	(void)id;
	(void)refs;
	(void)n;
	(void)more;
	return 0;
}

static void *read_part(void *argument)
{
	struct reading *r = argument;
	const struct scan scan = {.part = r->part,
				  .parts = THREADS,
				  .rows = true,
				  .group = read_group,
				  .trace = read_trace,
				  .context = r};

	snapshot_scan(r->snapshot, &scan);
	return NULL;
}

static int floor_of(struct store *s, const char *name, bool durations)
{
	struct reading parts[THREADS];
	pthread_t threads[THREADS];
	double figures[5], cpus[5];
	uint64_t shapes = 0;

	for (unsigned i = 0; i < 5; i++) {
		double start = wall_ms(), cpu = bench_cpu();
		struct snapshot snapshot;
		int r = store_snapshot(s, &snapshot);

		if (r < 0)
			return r;
		for (size_t k = shapes = 0; k < snapshot.view->segment_n; k++)
			shapes += segment_info(snapshot.view->segments[k]->segment)->shapes;
		for (uint32_t k = 0; k < THREADS; k++) {
			parts[k] = (struct reading){&snapshot, k, durations, 0};
			if (pthread_create(&threads[k], NULL, read_part, &parts[k]) != 0)
				return -1;
		}
		for (uint32_t k = 0; k < THREADS; k++)
			pthread_join(threads[k], NULL);
		snapshot_done(&snapshot);
		figures[i] = wall_ms() - start;
		cpus[i] = (bench_cpu() - cpu) * 1000;
	}
	store_figure(name, bench_median(figures, 5), "ms", 0, "");
	store_figure("  on the CPU, all threads", bench_median(cpus, 5), "ms", 0, "");
	store_figure("  shapes of all segments", (double)shapes, "", 0, "");
	return 0;
}

/* --- peers: the store's own --- */

static int peers(struct store *s)
{
	double figures[7];

	for (unsigned i = 0; i < 7; i++) {
		char key[40], value[40];
		struct store_tag tag = {0};
		struct store_query query = {.tags = &tag, .tag_n = 1};
		struct trace_list list;
		double start = wall_ms();

		snprintf(key, sizeof(key), "attribute.%u", (i * 7 + 3) % 20);
		snprintf(value, sizeof(value), "value-%u", (i * 37 + 11) % 20);
		tag.key = slice_cstr(key);
		tag.value = slice_cstr(value);
		if (store_find(s, &query, &list) < 0) {
			fprintf(stderr, "bench: the store cannot be searched\n");
			return -1;
		}
		figures[i] = wall_ms() - start;
		trace_list_done(&list);
	}
	store_figure("peer: newest 20 by attribute, by hand", bench_median(figures, 7), "ms", 0,
		     "");
	for (unsigned i = 0; i < 7; i++) {
		struct operation_list list;
		double start = wall_ms();

		if (store_operations(s, &list) < 0) {
			fprintf(stderr, "bench: operations cannot be counted\n");
			return -1;
		}
		figures[i] = wall_ms() - start;
		operation_list_done(&list);
	}
	store_figure("peer: count, p99 by service and name, by hand", bench_median(figures, 7),
		     "ms", 0, "VictoriaTraces 883, demo data");
	return 0;
}

static int ask_all(const char *folder, const char *only)
{
	struct engine_options options = {.dir = folder, .manual = true, .read_only = true};
	struct error error = {0};
	struct store *s = NULL;
	int r = engine_open(&options, &s, &error);

	if (r < 0) {
		fprintf(stderr, "bench: %s\n", error.text);
		return r;
	}
	if (!only)
		r = floor_of(s, "floor: shapes of all rows are read", false);
	if (r == 0 && !only)
		r = floor_of(s, "floor: shapes and durations are read", true);
	if (r == 0 && !only)
		r = peers(s);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(questions); i++)
		if (!only || strstr(questions[i].name, only))
			r = by_question(s, &questions[i]);
	store_close(s);
	return r;
}

int main(int argc, char **argv)
{
	static struct store_sent sent;
	char folder[160], command[200];
	double load[1];
	int r;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_query CAUSET [SPANS] | --data FOLDER\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (getloadavg(load, 1) == 1 && load[0] > 0.7)
		printf("the machine is busy (load %.1f): times on the wall will be too long\n",
		       load[0]);
	if (argc > 2 && strcmp(argv[1], "--data") == 0) {
		snprintf(folder, sizeof(folder), "%s/store", argv[2]);
		r = ask_all(folder, argc > 3 ? argv[3] : NULL);
	} else {
		curl_global_init(CURL_GLOBAL_DEFAULT);
		r = store_ingest(argv[1], "random", argc > 2 ? (size_t)atof(argv[2]) : 10 * MILLION,
				 &sent);
		snprintf(folder, sizeof(folder), "%s/store", sent.folder);
		if (r == 0)
			r = ask_all(folder, NULL);
		snprintf(command, sizeof(command), "rm -rf '%s'", sent.folder);
		if (*sent.folder && !getenv("BENCH_KEEP") && system(command) != 0)
			fprintf(stderr, "bench: %s stays behind\n", sent.folder);
	}
	printf("\n%u figures miss their bars\n", store_missed());
	return r < 0 ? 2 : (int)store_missed();
}
