/* bench/store.c - what keeping spans costs, and what asking for them costs.
 *
 *   bench_store entropy SET [SPANS [STORE]]
 *           what a data set holds, column by column, and what its columns take in a store's folder
 *   bench_store size CAUSET [SPANS]
 *           demo: CPU to keep it, bytes on disk
 *   bench_store speed CAUSET [SPANS]
 *           random: CPU to keep it; then questions
 *   bench_store days CAUSET [SPANS]
 *           demo over ten days: the same, other questions
 *   bench_store flush SET [SPANS]
 *           CPU to write them to a segment, its bytes
 *   bench_store steady CAUSET [SECONDS]
 *           memory and freshness at 10,000 spans a second
 *   bench_store restart CAUSET [GIB]
 *           time to recover after SIGKILL
 *   bench_store all CAUSET
 *           all of it, at full size
 *   bench_store FILE CAUSET [SPANS]
 *           as size, with recorded bodies (bench/source.h)
 *   bench_store ask SET FOLDER [WORDS]
 *           the questions of a set alone, to a folder that an earlier run left behind; with words
 *           only those that have them in their names
 *
 * With BENCH_KEEP in the environment the folder of a run stays, and its name is printed.
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

#define BUSY_LOAD    0.7 /* processes that compete with a measurement */
#define MILLION      1000000
#define COLUMNS_MOST (2 * MILLION) /* spans whose columns are looked at: all are kept in memory */

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
	char folder[128];

	snprintf(folder, sizeof(folder), "%s/store", sent.folder);
	if (r == 0 && spans <= COLUMNS_MOST)
		r = store_entropy(set, spans, folder);
	if (r == 0)
		r = store_ask(set, &sent, "");
	if (*sent.folder && getenv("BENCH_KEEP"))
		printf("  kept: %s\n", sent.folder);
	else if (*sent.folder)
		forget(&sent);
	return r;
}

/* Asks what an earlier run kept. */
static int ask_again(const char *set, const char *folder, const char *words)
{
	static struct store_sent sent;

	snprintf(sent.folder, sizeof(sent.folder), "%s", folder);
	return store_ask(set, &sent, words);
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
	double number = argc > 3 ? atof(argv[3]) : 0, load[3];
	size_t spans = number > 0 ? (size_t)number : 0;
	int r;

	if (argc < 3 || number < 0 || (strcmp(what, "ask") == 0 && argc < 4)) {
		fprintf(stderr,
			"usage: bench_store WHAT CAUSET-OR-SET [NUMBER]; see bench/store.c\n");
		return 2;
	}
	if (getloadavg(load, 3) > 0 && load[0] > BUSY_LOAD)
		printf("the machine is busy (load %.1f): times on the wall will be too long\n",
		       load[0]);
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (strcmp(what, "entropy") == 0)
		r = store_entropy(causet, spans ? spans : MILLION, argc > 4 ? argv[4] : NULL);
	else if (strcmp(what, "size") == 0)
		r = keep_and_ask(causet, "demo", spans ? spans : MILLION);
	else if (strcmp(what, "speed") == 0)
		r = keep_and_ask(causet, "random", spans ? spans : 10 * MILLION);
	else if (strcmp(what, "days") == 0)
		r = keep_and_ask(causet, "days", spans ? spans : 10 * MILLION);
	else if (strcmp(what, "flush") == 0)
		r = store_flush(causet, spans ? spans : MILLION / 4 * 3);
	else if (strcmp(what, "steady") == 0)
		r = store_steady(causet, spans ? (unsigned)spans : 60);
	else if (strcmp(what, "restart") == 0)
		r = store_restart(causet, number > 0 ? number : 1);
	else if (strcmp(what, "ask") == 0)
		r = ask_again(causet, argv[3], argc > 4 ? argv[4] : "");
	else if (strcmp(what, "all") == 0)
		r = run_all(causet);
	else
		r = keep_and_ask(causet, what, spans ? spans : MILLION);
	if (store_missed() > 0)
		printf("\n%u figures miss their bars\n", store_missed());
	return r ? 1 : store_missed() > 0;
}
