/* bench/store.c - what keeping spans costs, and what asking for them costs.
 *
 *   bench_store entropy SET [SPANS]            what a data set holds, column by column
 *   bench_store size CAUSET [SPANS]            demo: CPU to keep it, bytes on disk
 *   bench_store speed CAUSET [SPANS]           random: CPU to keep it; then questions
 *   bench_store days CAUSET [SPANS]            demo over ten days: the same, other questions
 *   bench_store steady CAUSET [SECONDS]        memory and freshness at 10,000 spans a second
 *   bench_store restart CAUSET [GIB]           time to recover after SIGKILL
 *   bench_store all CAUSET                     all of it, at full size
 *   bench_store FILE CAUSET [SPANS]            as size, with recorded bodies (bench/source.h)
 *
 * Each figure stands beside its bar and says MET or NOT MET; the exit status counts what was
 * missed. Figures of other back ends were recorded on the same kind of machine and data, not in
 * this run. */
#include "bench/store.h"

#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/entropy.h"
#include "bench/source.h"

#define MILLION     1000000
#define LEAST_BYTES 0.001 /* a span: smaller columns are summed up */

static unsigned missed;

void store_figure(const char *what, double figure, const char *unit, double bar,
		  const char *recorded)
{
	bool met = bar <= 0 || figure <= bar;

	printf("  %-52s %10.3f %-8s", what, figure, unit);
	if (bar > 0)
		printf(" bar %8.3f  %-7s", bar, met ? "MET" : "NOT MET");
	if (*recorded)
		printf("  recorded: %s", recorded);
	printf("\n");
	fflush(stdout);
	missed += !met;
}

unsigned store_missed(void)
{
	return missed;
}

int store_entropy(const char *set, size_t spans)
{
	struct source *source = source_open(set);
	struct entropy *e = entropy_new();
	const struct entropy_column *columns = NULL;
	size_t n = 0, rest_n = 0;
	double total = 0, rest = 0, all;

	if (!source || !e)
		return 1;
	for (size_t have = 0, got = 0; have < spans; have += got) {
		struct batch *b = source_next(source, &got);

		if (!b)
			break;
		if (entropy_add(e, b) < 0)
			return 1;
		batch_unref(b);
	}
	if (entropy_compute(e, &columns, &n) < 0 || entropy_spans(e) == 0)
		return 1;
	all = (double)entropy_spans(e);
	printf("%s: %zu spans in %zu traces\n\n%12s %12s\n", set, entropy_spans(e),
	       entropy_traces(e), "B/span", "values/span");
	for (size_t i = 0; i < n; i++) {
		double bytes = columns[i].bytes / all;

		total += bytes;
		if (bytes >= LEAST_BYTES) {
			printf("%12.4f %12.4f  %s\n", bytes, columns[i].values / all,
			       columns[i].name);
		} else {
			rest += bytes;
			rest_n++;
		}
	}
	printf("%12.4f %12s  %zu smaller columns\n%12.4f %12s  in all\n", rest, "", rest_n, total,
	       "");
	entropy_free(e);
	source_close(source);
	return 0;
}

static void forget(const struct store_sent *sent)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf '%s'", sent->folder);
	if (system(command) != 0)
		fprintf(stderr, "bench: %s stays behind\n", sent->folder);
}

/* Sends a set and asks for it. */
static int keep_and_ask(const char *causet, const char *set, size_t spans)
{
	static struct store_sent sent;
	int r = store_ingest(causet, set, spans, &sent);

	if (*sent.folder && !getenv("BENCH_KEEP"))
		forget(&sent);
	return r;
}

static int run_all(const char *causet)
{
	int r = keep_and_ask(causet, "demo", MILLION);

	if (r == 0)
		r = keep_and_ask(causet, "random", 10 * MILLION);
	if (r == 0)
		r = keep_and_ask(causet, "days", 10 * MILLION);
	if (r == 0)
		r = store_steady(causet, 60);
	return r == 0 ? store_restart(causet, 1) : r;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "", *causet = argc > 2 ? argv[2] : "";
	double number = argc > 3 ? atof(argv[3]) : 0;
	size_t spans = number > 0 ? (size_t)number : 0;
	int r;

	if (argc < 3 || number < 0) {
		fprintf(stderr,
			"usage: bench_store WHAT CAUSET-OR-SET [NUMBER]; see bench/store.c\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (strcmp(what, "entropy") == 0)
		r = store_entropy(causet, spans ? spans : MILLION);
	else if (strcmp(what, "size") == 0)
		r = keep_and_ask(causet, "demo", spans ? spans : MILLION);
	else if (strcmp(what, "speed") == 0)
		r = keep_and_ask(causet, "random", spans ? spans : 10 * MILLION);
	else if (strcmp(what, "days") == 0)
		r = keep_and_ask(causet, "days", spans ? spans : 10 * MILLION);
	else if (strcmp(what, "steady") == 0)
		r = store_steady(causet, spans ? (unsigned)spans : 60);
	else if (strcmp(what, "restart") == 0)
		r = store_restart(causet, number > 0 ? number : 1);
	else if (strcmp(what, "all") == 0)
		r = run_all(causet);
	else
		r = keep_and_ask(causet, what, spans ? spans : MILLION);
	if (missed)
		printf("\n%u figures miss their bars\n", missed);
	return r ? 1 : missed > 0;
}
