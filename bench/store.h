/* bench/store.h - the parts of the store's benchmark. */
#ifndef CAUSET_BENCH_STORE_H
#define CAUSET_BENCH_STORE_H

#include "bench/server.h"
#include "core/ids.h"

#define STORE_IDS 512 /* traces remembered to be asked for */

/* A line of the report: a figure, what it must not exceed (0: nothing is promised), and what others
 * needed for it, as recorded elsewhere ("" if unknown). */
void store_figure(const char *what, double figure, const char *unit, double bar,
		  const char *recorded);

/* Figures that missed their bars so far. */
unsigned store_missed(void);

/* What a data set holds, column by column; with the folder of a store that holds it (or NULL),
 * beside what its columns take there. */
int store_entropy(const char *set, size_t spans, const char *folder);

/* Sends a data set to a new server and waits until it rests: what it cost, and what it takes on
 * disk. The folder stays; ids of traces in it are picked at random. */
struct store_sent {
	char folder[96];
	size_t spans, id_n;
	struct trace_id ids[STORE_IDS];
};

int store_ingest(const char *causet, const char *set, size_t spans, struct store_sent *ret_sent);

/* What it costs to write a head of so many spans to a segment, in this process. */
int store_flush(const char *set, size_t spans);

/* Memory at 10,000 spans a second, and how soon a span can be found. */
int store_steady(const char *causet, unsigned seconds);

/* How long a killed server takes to be back, by what is in its log. */
int store_restart(const char *causet, double gib);

/* Asks a store on disk the questions of its data set.  Without ids of traces it looks for some.
 * Only questions that have the words in their names: "" for all. */
int store_ask(const char *set, struct store_sent *sent, const char *words);

#endif
