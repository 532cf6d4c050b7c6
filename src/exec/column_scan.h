/* exec/column_scan.h - a query over columns at work: parts of a snapshot, each with its own answer.
 *
 * The snapshot is cut into COLUMN_PARTS parts whatever the number of threads, and what the parts
 * came to is merged in their order: so the answer, sums of floats included, does not depend on how
 * many cores there are or who was faster. */
#ifndef CAUSET_EXEC_COLUMN_SCAN_H
#define CAUSET_EXEC_COLUMN_SCAN_H

#include <pthread.h>

#include "exec/column_fast.h"
#include "exec/column_filter.h"
#include "exec/ordering.h"
#include "exec/run.h"
#include "exec/series.h"
#include "store/joint.h"

#define COLUMN_PARTS 16

struct column_part {
	struct grouping groups;   /* GROUP, SERIES */
	struct ordering ordering; /* ROWS, SORT */
};

struct column_scan {
	struct query_at *run;
	const struct column_query *query;
	struct series_steps steps; /* SERIES */

	uint8_t arguments[AGGREGATES_MOST]; /* enum argument */
	bool fast;                          /* no argument is ARGUMENT_OTHER, and none is timed */
	bool durations;                     /* one is ARGUMENT_DURATION */
	bool timed;                         /* aggregates ask for times */
	/* Rows that stand for themselves come to the same in whatever order they are added: each
	 * thread has groups for them, and only what is sampled goes by parts. */
	bool exact;

	struct column_filter drivers; /* only to ask what shapes need */
	pthread_mutex_t lock;         /* of shapes */
	pthread_cond_t made;
	struct column_shapes **shapes; /* [segment]; made when first needed */
	uint8_t *making;               /* [segment]: enum making in column_scan.c */

	struct id_set in_heads; /* traces that lie there and elsewhere; once totals are asked */
	struct column_part parts[COLUMN_PARTS];
	struct grouping *exacts; /* [thread] */
	unsigned thread_n;
	_Atomic uint32_t next, next_segment, next_thread, next_totals;
	_Atomic int failed; /* the first reason */
};

int column_scan_init(struct column_scan *s, struct query_at *run, const struct column_query *q,
		     const struct series_steps *steps);
void column_scan_done(struct column_scan *s);

/* Runs all parts on all threads and merges them into the first. */
int column_scan_run(struct column_scan *s);

/* --- inside --- */

/* What a segment's shapes say; shared.  -EOPNOTSUPP: the segment has native blocks, which are not
 * for columns. */
int column_scan_shapes(struct column_scan *s, const struct segment *segment,
		       const struct column_shapes **ret_shapes);

/* A thread's, for one part after the other: rows that stand for themselves go to `exact` if the
 * scan is exact, others to the part. */
struct column_worker;
int column_worker_new(struct column_scan *s, struct grouping *exact,
		      struct column_worker **ret_worker);
/* Accepts NULL, returns NULL. */
struct column_worker *column_worker_free(struct column_worker *w);
int column_worker_part(struct column_worker *w, uint32_t part);
/* Behind the last part. */
int column_worker_end(struct column_worker *w);

#endif
