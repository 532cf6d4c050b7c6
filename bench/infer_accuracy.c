/* bench/infer_accuracy.c - sets of messages with their truth, linked and scored.
 *
 * The sets of a folder, or without one made-up ones: nobody has tuned to those.
 *
 * Beside each answer stands that of an oracle: the same search (of the mode `best`) with delays and
 * triggers learnt from the truth.  What the oracle gets wrong is not a matter of learning.  Sets
 * named in `bars` have a figure to reach; where it is not, coming within a point of the oracle
 * counts. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "bench/infer.h"
#include "bench/spans.h"
#include "infer/abstract_read.h"
#include "infer/best.h"
#include "infer/generate.h"
#include "infer/pairing.h"
#include "infer/score.h"

#define PATH_ROOM 4096

static const struct bar {
	const char *name;
	double links, traces;
} bars[] = {
	{"hotel_25", 0, 1},      {"hotel_100", 0, 0.983},    {"hotelx_4", 0, 0.989},
	{"media_50", 0, 0.914},  {"node_75", 0, 1},          {"nezha_ob", 0.90, 0.75},
	{"multi-tier", 0, 0.80}, {"parallel-high", 0.35, 0},
};

/* Each within a point of the oracle. */
static const struct made {
	const char *name, *spec;
} made[] = {
	{"made/tiers", "duration 30s\ncall lognormal 8ms 40%\nret lognormal 4ms 40%\n"
		       "think uniform 0ms 200ms\n"
		       "tracelet page instances 12: C -> WEB { AUTH { DB }; APP { CACHE; DB } }\n"},
	{"made/balanced",
	 "duration 30s\ncall lognormal 8ms 30%\nret lognormal 4ms 30%\nthink uniform 0ms 200ms\n"
	 "tracelet page instances 10: C -> WEB { AUTH; AP1|AP2|AP3 { DB1|DB2 } }\n"},
	{"made/loops", "duration 30s\ncall exponential 500us\nret lognormal 6ms 50%\n"
		       "think uniform 0ms 300ms\n"
		       "tracelet list instances 4: C -> WEB { CATALOG*4; CART?0.5; CATALOG*2 }\n"
		       "tracelet item instances 4: C -> WEB { CATALOG; MONEY*3 }\n"},
	{"made/caches", "duration 30s\ncall lognormal 5ms 40%\nret lognormal 5ms 40%\n"
			"think uniform 0ms 150ms\n"
			"tracelet get instances 8: C -> API { CACHE; STORE?0.3; LOG?0.9 }\n"},
	{"made/fan-out", "duration 30s\ncall lognormal 2ms 30%\nret lognormal 9ms 40%\n"
			 "think uniform 0ms 150ms\n"
			 "tracelet page instances 8: C -> WEB { USER || TEXT || MEDIA; STORE }\n"},
	{"made/lossy", "duration 30s\ncall lognormal 8ms 40%\nret lognormal 4ms 40%\n"
		       "think uniform 0ms 200ms\nloss share 0.01\n"
		       "tracelet page instances 8: C -> WEB { AUTH { DB }; APP { CACHE; DB } }\n"},
};

struct set {
	struct names nodes, operations;
	struct calls calls;
	struct truth_reader reader;
	struct truth_of_calls truth;
};

typedef int feed(void *context, struct slice text, struct error *error);

static int feed_messages(void *context, struct slice text, struct error *error)
{
	return abstract_reader_feed(context, text, error);
}

static int feed_truth(void *context, struct slice text, struct error *error)
{
	return truth_reader_feed(context, text, error);
}

/* Plain or gzip. */
static int read_file(const char *path, feed *f, void *context, struct error *error)
{
	static char piece[1 << 16];
	gzFile file = gzopen(path, "rb");
	int n = 0, r = 0;

	if (!file)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	while (r == 0 && (n = gzread(file, piece, sizeof(piece))) > 0)
		r = f(context, (struct slice){piece, (size_t)n}, error);
	gzclose(file);
	return n < 0 ? error_set(error, -EIO, "%s: damaged", path) : r;
}

static void set_done(struct set *s)
{
	names_done(&s->nodes);
	names_done(&s->operations);
	calls_done(&s->calls);
	truth_reader_done(&s->reader);
	truth_of_calls_done(&s->truth);
}

static int set_read(struct set *s, const char *messages, const char *truth, struct error *error)
{
	struct abstract_reader *reader = calloc(1, sizeof(*reader));
	struct pairing *pairing = NULL;
	int r;

	*s = (struct set){0};
	names_init(&s->nodes);
	names_init(&s->operations);
	truth_reader_init(&s->reader);
	r = reader ? pairing_new(&s->calls, &pairing) : -ENOMEM;
	if (r == 0) {
		abstract_reader_init(reader, &s->nodes, &s->operations, pairing_sink(pairing));
		r = read_file(messages, feed_messages, reader, error);
		if (r == 0)
			r = abstract_reader_finish(reader, error);
		if (r == 0)
			r = pairing_finish(pairing);
		abstract_reader_done(reader);
	}
	if (r == 0)
		r = read_file(truth, feed_truth, &s->reader, error);
	if (r == 0)
		r = truth_reader_finish(&s->reader, error);
	if (r == 0)
		r = truth_match(&s->reader, &s->calls, &s->truth);
	pairing_free(pairing);
	free(reader);
	return r;
}

static int made_truth(void *context, const struct truth *t)
{
	struct truth_reader *r = context;
	char trace[24];
	struct truth_row row = {.id = t->id, .parent = t->parent};
	int e;

	snprintf(trace, sizeof(trace), "%llu", (unsigned long long)t->path);
	e = names_intern(&r->traces, slice_cstr(trace), &row.trace);
	if (e == 0 && !vec_reserve(&r->rows, &r->row_capacity, r->row_n + 1, sizeof(*r->rows)))
		e = -ENOMEM;
	if (e == 0)
		r->rows[r->row_n++] = row;
	return e;
}

static int set_make(struct set *s, const char *text, uint64_t seed, struct error *error)
{
	struct generate_tally tally;
	struct generate_sink sink = {.truth = made_truth, .context = &s->reader};
	struct pairing *pairing;
	struct spec spec;
	int r = spec_parse(&spec, slice_cstr(text), error);

	*s = (struct set){0};
	names_init(&s->nodes);
	names_init(&s->operations);
	truth_reader_init(&s->reader);
	if (r < 0)
		return r;
	if (seed > 0)
		spec.seed = seed;
	r = pairing_new(&s->calls, &pairing);
	if (r == 0) {
		sink.messages = pairing_sink(pairing);
		r = generate(&spec, &sink, &tally);
		if (r == 0)
			r = pairing_finish(pairing);
		pairing_free(pairing);
	}
	for (size_t i = 0; r == 0 && i < spec.names.n; i++) {
		uint32_t number;

		r = names_intern(&s->nodes, spec.names.at[i], &number);
	}
	spec_done(&spec);
	return r == 0 ? truth_match(&s->reader, &s->calls, &s->truth) : r;
}

static int set_link(const struct set *s, const char *name, bool oracle, struct score *ret_score,
		    double *ret_seconds)
{
	const struct infer_mode *mode = infer_mode_find(slice_cstr(name));
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct call_link *links = calloc(s->calls.n + 1, sizeof(*links));
	struct error error = {0};
	void *state = NULL;
	double start;
	int r = links && mode ? mode->open(&options, &state) : -ENOMEM;

	start = bench_cpu();
	if (r == 0)
		r = oracle ? best_link(state, &s->calls, INT64_MAX, links, s->truth.links)
			   : mode->link(state, &s->calls, INT64_MAX, links, &error);
	*ret_seconds = bench_cpu() - start;
	if (mode)
		mode->close(state);
	if (r == 0)
		r = score_links(&s->calls, links, &s->truth, &s->nodes, ret_score);
	free(links);
	return r;
}

static double percent(uint64_t part, uint64_t whole)
{
	return 100 * score_share(part, whole);
}

/* "met", "oracle" (within a point of it), "MISSED", or nothing without a bar. */
static const char *judge(const char *name, const struct score *s, const struct score *oracle)
{
	for (size_t i = 0; i < ARRAY_SIZE(bars); i++) {
		if (strcmp(name, bars[i].name) != 0)
			continue;
		if (score_share(s->links_right, s->links) >= bars[i].links &&
		    score_share(s->traces_right, s->traces) >= bars[i].traces)
			return "met";
		if (oracle &&
		    score_share(s->links_right, s->links) + 0.01 >=
			    score_share(oracle->links_right, oracle->links) &&
		    score_share(s->traces_right, s->traces) + 0.01 >=
			    score_share(oracle->traces_right, oracle->traces))
			return "oracle";
		return "MISSED";
	}
	if (strncmp(name, "made/", 5) == 0 && oracle)
		return score_share(s->links_right, s->links) + 0.01 >=
				       score_share(oracle->links_right, oracle->links)
			       ? "met"
			       : "MISSED";
	return "";
}

/* Links a set, prints its row, adds its confidences; frees it.  Whether a bar was missed. */
static int run_set(struct set *set, const char *name, const char *mode, struct score_bucket *all)
{
	struct score s, oracle;
	bool best = strcmp(mode, "best") == 0;
	double seconds, ignored;
	const char *verdict;
	int r = set_link(set, mode, false, &s, &seconds);

	if (r == 0 && best)
		r = set_link(set, mode, true, &oracle, &ignored);
	set_done(set);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(-r));
		return 1;
	}
	verdict = judge(name, &s, best ? &oracle : NULL);
	printf("%-16s %8llu %7.2f %7.2f %7.2f", name, (unsigned long long)s.links,
	       percent(s.links_right, s.links), percent(s.traces_right, s.traces),
	       percent(s.traces_right_with_shared, s.traces));
	if (best)
		printf("  %7.2f %7.2f", percent(oracle.links_right, oracle.links),
		       percent(oracle.traces_right, oracle.traces));
	printf("  %8.1f  %s\n", 1e6 * seconds / (double)(s.links ? s.links : 1), verdict);
	fflush(stdout);
	for (int i = 0; i < SCORE_BUCKETS; i++) {
		all[i].n += s.calibration[i].n;
		all[i].right += s.calibration[i].right;
		all[i].confidence += s.calibration[i].confidence;
	}
	return strcmp(verdict, "MISSED") == 0;
}

static int run_made(const char *mode, uint64_t seed, struct score_bucket *all)
{
	int missed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		struct error error = {0};
		struct set set;

		if (set_make(&set, made[i].spec, seed, &error) < 0) {
			fprintf(stderr, "%s: %s\n", made[i].name, error.text);
			return 1;
		}
		missed += run_set(&set, made[i].name, mode, all);
	}
	return missed;
}

/* NAME.msgs, NAME.msgs.gz; the number of sets, which is 0 or 1. */
static int run_file(const char *dir, const char *file, const char *mode, struct score_bucket *all,
		    int *missed)
{
	char name[256], messages[PATH_ROOM], truth[PATH_ROOM];
	const char *dot = strstr(file, ".msgs");
	struct error error = {0};
	struct set set;

	if (!dot || (dot[5] != '\0' && strcmp(dot, ".msgs.gz") != 0))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(dot - file), file);
	snprintf(messages, sizeof(messages), "%s/%s", dir, file);
	snprintf(truth, sizeof(truth), "%s/%s.truth%s", dir, name, dot + 5);
	if (set_read(&set, messages, truth, &error) < 0) {
		fprintf(stderr, "%s: %s\n", name, error.text);
		set_done(&set);
		*missed += 1;
		return 1;
	}
	*missed += run_set(&set, name, mode, all);
	return 1;
}

static int print_calibration(const struct score_bucket *all)
{
	const struct score_bucket *nine = &all[9];

	printf("\nconfidence     links   right\n");
	for (int i = 0; i < SCORE_BUCKETS; i++)
		if (all[i].n)
			printf("%10.3f %9llu %6.1f%%\n", all[i].confidence / (double)all[i].n,
			       (unsigned long long)all[i].n, percent(all[i].right, all[i].n));
	return nine->n &&
	       (percent(nine->right, nine->n) < 85 || percent(nine->right, nine->n) > 95);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int run_folder(const char *dir, const char *mode, struct score_bucket *all, int *missed)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, compare_names), sets = 0;

	for (int i = 0; i < n; i++) {
		sets += run_file(dir, entries[i]->d_name, mode, all, missed);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return sets;
}

int bench_infer_accuracy(int argc, char **argv)
{
	struct score_bucket all[SCORE_BUCKETS] = {{0}};
	const char *mode = argc > 1 ? argv[1] : "best";
	uint64_t seed = argc > 0 ? strtoull(argv[0], NULL, 10) : 0;
	int missed = 0;

	if (!infer_mode_find(slice_cstr(mode))) {
		fprintf(stderr, "there is no mode called %s\n", mode);
		return 2;
	}
	printf("percent right          links  traces  shared   oracle: links, traces  us/link\n");
	if (argc == 0 || seed > 0) {
		missed = run_made(mode, seed, all);
	} else if (run_folder(argv[0], mode, all, &missed) == 0) {
		fprintf(stderr, "%s: no NAME.msgs in it\n", argv[0]);
		return 2;
	}
	missed += print_calibration(all);
	return missed != 0;
}
