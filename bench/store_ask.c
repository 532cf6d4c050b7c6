/* bench/store_ask.c - questions to a store on disk, through its own interface, with their times.
 *
 * A question is asked with changing values, so that no answer is simply remembered.  Times are on
 * the wall, medians; the store and its questions have the machine to themselves. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rng.h"
#include "bench/counting_fs.h"
#include "bench/spans.h"
#include "bench/store.h"
#include "store/engine.h"

#define RUNS         21
#define TRACES       200
#define COLD_TRACES  100
#define BAR_READS    3
#define BAR_CPU_MS   2
#define BAR_COLD_MS  5
#define DAYS         10
#define NS_PER_HOUR  3600000000000LL
#define NS_PER_S     1000000000LL
#define SLOW_DEMO_NS (10 * NS_PER_S)

static double wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_figure(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* --- traces by id --- */

/* Makes the kernel forget the folder's files. */
static void cool(const char *folder)
{
	char path[400];
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		fd = entry->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			close(fd);
		}
	}
	if (dir)
		closedir(dir);
}

struct looked_up {
	double wall[TRACES], cpu[TRACES];
	size_t n, missing;
	uint64_t reads_most, deepest; /* reads, and those that may depend on each other */
};

static void look_up(struct store *s, struct counting_fs *fs, const struct store_sent *sent,
		    size_t n, const char *cold_folder, struct looked_up *out)
{
	*out = (struct looked_up){.n = n < sent->id_n ? n : sent->id_n};
	for (size_t i = 0; i < out->n; i++) {
		struct event_set set = {0};
		uint64_t reads = fs->reads;
		double cpu, start;

		if (cold_folder)
			cool(cold_folder);
		counting_fs_begin(fs);
		cpu = bench_cpu();
		start = wall_ms();
		out->missing += store_trace(s, sent->ids[i], &set) < 0;
		out->wall[i] = wall_ms() - start;
		out->cpu[i] = (bench_cpu() - cpu) * 1000;
		reads = fs->reads - reads;
		out->reads_most = MAX(reads, out->reads_most);
		out->deepest = MAX((uint64_t)counting_fs_deepest(fs), out->deepest);
		event_set_done(&set);
	}
	qsort(out->wall, out->n, sizeof(*out->wall), by_figure);
	qsort(out->cpu, out->n, sizeof(*out->cpu), by_figure);
}

static int ask_traces(struct store *s, struct counting_fs *fs, const char *folder,
		      const struct store_sent *sent, bool days)
{
	static struct looked_up first, warm, cold;

	look_up(s, fs, sent, TRACES, NULL, &first); /* loads what is kept in memory */
	look_up(s, fs, sent, TRACES, NULL, &warm);
	sync();
	look_up(s, fs, sent, COLD_TRACES, folder, &cold);
	if (warm.n == 0 || warm.missing + cold.missing) {
		fprintf(stderr, "bench: %zu traces are not there\n", warm.missing + cold.missing);
		return -1;
	}
	store_figure("trace by id, median", warm.wall[warm.n / 2], "ms", days ? 6 : 0,
		     days ? "VictoriaTraces 18.6" : "");
	store_figure("trace by id, 99 in 100", warm.wall[warm.n * 99 / 100], "ms", 0, "");
	store_figure("trace by id, CPU, 99 in 100", warm.cpu[warm.n * 99 / 100], "ms", BAR_CPU_MS,
		     "");
	store_figure("trace by id, reads of a segment at the most", (double)warm.deepest, "",
		     BAR_READS, "");
	store_figure("  and of all that have some of it", (double)warm.reads_most, "", 0, "");
	store_figure("trace by id, cold cache, 99 in 100", cold.wall[cold.n * 99 / 100], "ms",
		     BAR_COLD_MS, "");
	store_figure("trace by id, cold cache, reads at the most", (double)cold.reads_most, "", 0,
		     "");
	return 0;
}

/* --- searches --- */

/* What the i-th run of a question asks; texts in `room`. */
struct asked {
	struct store_query query;
	struct store_tag tags[2];
	char room[4][40];
	int64_t now_ns;
};

typedef void ask_fn(struct asked *a, unsigned i);

static struct slice text(char room[40], const char *form, unsigned number)
{
	snprintf(room, 40, form, number);
	return slice_cstr(room);
}

static void by_service(struct asked *a, unsigned i)
{
	a->query.service = text(a->room[0], "service-%u", i % 10);
}

static void by_operation(struct asked *a, unsigned i)
{
	by_service(a, i);
	a->query.operation = text(a->room[1], "operation-%u", i % 20);
}

static void by_duration(struct asked *a, unsigned i)
{
	/* The longest are a little over a second. */
	a->query.min_duration_ns = NS_PER_S * 85 / 100 + (int64_t)i * NS_PER_S / 200;
}

static void by_slowest(struct asked *a, unsigned i)
{
	a->query.order = STORE_SLOWEST;
	a->query.limit = 20 + i % 3;
}

static void by_slowest_of(struct asked *a, unsigned i)
{
	by_slowest(a, i);
	by_service(a, i);
}

static void by_time(struct asked *a, unsigned i)
{
	/* Ten minutes of the oldest day. */
	a->query.from_ns = a->now_ns - 239 * NS_PER_HOUR + (int64_t)i * NS_PER_HOUR / 6;
	a->query.to_ns = a->query.from_ns + NS_PER_HOUR / 6;
}

static void by_attribute(struct asked *a, unsigned i)
{
	a->tags[0].key = text(a->room[2], "attribute.%u", i * 7 % 97);
	a->tags[0].value = text(a->room[3], "value-%u", i * 37 % 1000);
	a->query.tags = a->tags;
	a->query.tag_n = 1;
}

static void by_all(struct asked *a, unsigned i)
{
	by_operation(a, i);
	by_attribute(a, i);
	a->query.min_duration_ns = NS_PER_S / 10;
	a->query.from_ns = a->now_ns - 240 * NS_PER_HOUR;
	a->query.to_ns = a->now_ns - 20 * NS_PER_HOUR;
}

static void demo_service(struct asked *a, unsigned i)
{
	static const char *const names[] = {"basket", "shop-site", "product-list", "flags"};

	a->query.service = slice_cstr(names[i % 4]);
}

static void demo_duration(struct asked *a, unsigned i)
{
	a->query.service = SLICE("shop-site");
	a->query.min_duration_ns = SLOW_DEMO_NS + (int64_t)i * NS_PER_S / 10;
}

static void demo_slowest(struct asked *a, unsigned i)
{
	by_slowest(a, i);
	demo_service(a, i);
}

static void demo_attribute(struct asked *a, unsigned i)
{
	a->tags[0].key = SLICE("app.product.name");
	a->tags[0].value = i % 2 ? SLICE("Optical Tube") : SLICE("Sun Filter");
	a->query.tags = a->tags;
	a->query.tag_n = 1;
}

static void demo_absent(struct asked *a, unsigned i)
{
	demo_attribute(a, i);
	a->tags[0].value = text(a->room[3], "nothing of the kind %u", i);
}

static const struct question {
	const char *name;
	ask_fn *ask;
	double bar; /* milliseconds */
	bool random, none;
	const char *recorded;
} questions[] = {
	{"newest 20 by service", by_service, 10, true, false, ""},
	{"newest 20 by service and operation", by_operation, 10, true, false, ""},
	{"newest 20 by duration", by_duration, 10, true, false, ""},
	{"slowest 20", by_slowest, 10, true, false, ""},
	{"slowest 20 of a service", by_slowest_of, 10, true, false, ""},
	{"newest 20 by time", by_time, 10, true, false, ""},
	{"newest 20 by attribute", by_attribute, 50, true, false, ""},
	{"newest 20 by all of them", by_all, 50, true, false, ""},
	{"newest 20 by service", demo_service, 4, false, false, "VictoriaTraces 11"},
	{"newest 20 by duration", demo_duration, 9, false, false, "VictoriaTraces 26"},
	{"slowest 20", by_slowest, 10, false, false, ""},
	{"slowest 20 of a service", demo_slowest, 10, false, false, ""},
	{"newest 20 by attribute", demo_attribute, 2, false, false, "VictoriaTraces 6"},
	{"newest 20 by an attribute nothing has", demo_absent, 2, false, true, "VictoriaTraces 6"},
};

static int ask_one(struct store *s, const struct question *q, int64_t now_ns)
{
	double figures[RUNS], cpus[RUNS];
	size_t answers = 0;

	for (unsigned i = 0; i < RUNS; i++) {
		struct asked asked = {.now_ns = now_ns};
		struct trace_list list;
		double start, cpu;

		q->ask(&asked, i);
		start = wall_ms();
		cpu = bench_cpu();
		if (store_find(s, &asked.query, &list) < 0)
			return -1;
		figures[i] = wall_ms() - start;
		cpus[i] = (bench_cpu() - cpu) * 1000;
		answers += list.n;
		trace_list_done(&list);
	}
	if ((answers == 0) != q->none)
		fprintf(stderr, "bench: '%s' found %zu traces\n", q->name, answers);
	store_figure(q->name, bench_median(figures, RUNS), "ms", q->bar, q->recorded);
	store_figure("  the slowest", figures[RUNS - 1], "ms", 0, ""); /* they are sorted now */
	store_figure("  on the CPU", bench_median(cpus, RUNS), "ms", 0, "");
	return 0;
}

static int ask_services(struct store *s, bool days)
{
	double figures[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		struct service_list list;
		double start = wall_ms();

		if (store_services(s, &list) < 0)
			return -1;
		figures[i] = wall_ms() - start;
		service_list_done(&list);
	}
	store_figure("count by service", bench_median(figures, RUNS), "ms", days ? 4 : 0,
		     days ? "VictoriaTraces 12" : "");
	return 0;
}

static int ask_operations(struct store *s, bool days, bool random)
{
	double figures[RUNS], cpus[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		struct operation_list list;
		double start = wall_ms(), cpu = bench_cpu();

		if (store_operations(s, &list) < 0)
			return -1;
		figures[i] = wall_ms() - start;
		cpus[i] = (bench_cpu() - cpu) * 1000;
		operation_list_done(&list);
	}
	store_figure("count and p99 by service and operation", bench_median(figures, RUNS), "ms",
		     random ? 150
		     : days ? 300
			    : 0,
		     days ? "VictoriaTraces 883" : "");
	store_figure("  on the CPU, all threads", bench_median(cpus, RUNS), "ms", 0, "");
	return 0;
}

/* Ids of traces all over the store's time, for a store whose making nobody watched. */
static int sample(struct store *s, int64_t newest_ns, struct store_sent *sent)
{
	struct rng rng = {1};

	for (size_t i = 0; sent->id_n < TRACES && i < TRACES * 2; i++) {
		struct store_query query = {.limit = 1};
		struct trace_list list;
		int r;

		query.to_ns = newest_ns - (int64_t)rng_below(&rng, DAYS * 24 * NS_PER_HOUR);
		r = store_find(s, &query, &list);
		if (r < 0)
			return r;
		if (list.n > 0)
			sent->ids[sent->id_n++] = list.rows[0].id;
		trace_list_done(&list);
	}
	return 0;
}

/* The last trace's start: what was now when the set was made. */
static int newest(struct store *s, int64_t *ret_ns)
{
	struct store_query query = {.limit = 1};
	struct trace_list list;
	int r = store_find(s, &query, &list);

	if (r < 0)
		return r;
	*ret_ns = list.n > 0 ? list.rows[0].start_ns : 0;
	trace_list_done(&list);
	return 0;
}

int store_ask(const char *set, struct store_sent *sent, const char *words)
{
	bool random = strcmp(set, "random") == 0, days = strcmp(set, "days") == 0;
	struct counting_fs fs;
	struct error error = {0};
	char folder[128];
	struct engine_options options = {.fs = &fs.fs, .dir = folder, .read_only = true};
	struct store *s = NULL;
	int64_t now_ns = 0;
	int r;

	counting_fs_init(&fs);
	snprintf(folder, sizeof(folder), "%s/store", sent->folder);
	r = engine_open(&options, &s, &error);
	if (r < 0) {
		fprintf(stderr, "bench: %s\n", error.text);
		return r;
	}
	r = newest(s, &now_ns);
	if (r == 0 && strstr("trace by id", words)) {
		if (sent->id_n == 0)
			r = sample(s, now_ns, sent);
		if (r == 0)
			r = ask_traces(s, &fs, folder, sent, days);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(questions); i++)
		if (questions[i].random == random && strstr(questions[i].name, words) &&
		    (random || days || strcmp(set, "demo") == 0))
			r = ask_one(s, &questions[i], now_ns);
	if (r == 0 && strstr("count by service", words))
		r = ask_services(s, days);
	if (r == 0 && strstr("count and p99 by service and operation", words))
		r = ask_operations(s, days, random);
	store_close(s);
	return r;
}
