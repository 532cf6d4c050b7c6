/* exec/column_scan.h - a query over columns at work: parts of a snapshot, each with its own answer.
 *
 * The snapshot is cut into COLUMN_PARTS parts whatever the number of threads, and what the parts
 * came to is merged in their order: so the answer, sums of floats included, does not depend on how
 * many cores there are or who was faster. */
#ifndef CAUSET_EXEC_COLUMN_SCAN_H
#define CAUSET_EXEC_COLUMN_SCAN_H

#include <pthread.h>

#include "exec/column_filter.h"
#include "exec/ordering.h"
#include "exec/run.h"
#include "exec/series.h"

#define COLUMN_PARTS 16

struct column_part {
	struct grouping groups;   /* GROUP, SERIES */
	struct ordering ordering; /* ROWS, SORT */
};

struct column_scan {
	struct query_at *run;
	const struct column_query *query;
	struct series_steps steps;     /* SERIES */
	bool timed;                    /* aggregates ask for times */
	struct column_filter drivers;  /* only to ask what shapes need */
	pthread_mutex_t lock;          /* of shapes */
	struct column_shapes **shapes; /* [segment]; made when first needed */
	struct column_part parts[COLUMN_PARTS];
	_Atomic uint32_t next; /* part */
	_Atomic int failed;    /* the first reason */
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

/* One part, on this thread. */
int column_part_run(struct column_scan *s, uint32_t part);

#endif
