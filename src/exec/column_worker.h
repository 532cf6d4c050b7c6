/* exec/column_worker.h - a thread at work on a query over columns: what column_part.c and
 * column_rows.c share.
 *
 * Rows take one of three ways.  A *settled* shape says everything but what aggregates are of: its
 * group is looked up once, and if aggregates are of rows or durations alone nothing else is read
 * (fast).  If they are of something else, only that is evaluated (settled).  All other rows have
 * their slots filled and are asked everything (open). */
#ifndef CAUSET_EXEC_COLUMN_WORKER_H
#define CAUSET_EXEC_COLUMN_WORKER_H

#include "exec/column_scan.h"
#include "exec/column_target.h"

#define WORKER_ARENA_BYTES (1 << 20) /* of texts made while rows are looked at */

/* Enough of them: no failure. */
#define PART_FULL 1

struct column_worker {
	struct column_scan *scan;
	const struct column_query *query;
	struct column_part *out; /* of the part at hand */
	uint64_t groups;         /* it has seen */

	/* Groups of the part, and those of the thread (scan->exact). */
	struct row_target part, exact;
	struct row_target *to; /* of the rows at hand: one of them */
	struct fast_rows fast; /* they wait for `exact` if there is one, else for the part */

	const struct column_shapes *shapes; /* of the segment at hand */
	struct column_group group;
	struct column_filter filter;
	/* [index of the group's shapes]: group of its rows, or one of enum local. */
	uint32_t *locals;
	uint32_t *halves; /* [row]: the same for rows of LOCAL_HALF */

	struct expr_env env;
	struct expr_memo *memo;
	struct arena arena;
	struct value slots[COLUMN_SLOTS_MOST];
	struct value outputs[COLUMN_OUTPUTS_MOST];
	struct sample sample;
	bool check_times; /* of rows of the group at hand */
	bool plain_times; /* every span of it has a time, and an end if it says so */

	struct segment_group *room;
};

/* What becomes of the rows of a shape; below these it is their group. */
enum local {
	LOCAL_GROUPS = (1u << 31) - 16, /* numbers of groups are below */
	LOCAL_NO = LOCAL_GROUPS,
	LOCAL_ASK,  /* each is looked at */
	LOCAL_HALF, /* worker.halves says */
};

/* --- column_rows.c --- */

/* Slots of leaves are filled and the condition is true: what is left of it, lists taken apart, and
 * the rows that come of it go where they belong.  0, PART_FULL, negative errno. */
int worker_emit(struct column_worker *w, uint64_t time_ns);

/* Rows of the group at hand. */
int worker_rows(struct column_worker *w, uint32_t first, uint32_t n);

/* The few rows of the group at hand that may match: group.few. */
int worker_few(struct column_worker *w);

/* Makes ready for rows of the group at hand, whose columns are open. */
int worker_rows_begin(struct column_worker *w);

/* Adds the rows that wait. */
int worker_flush(struct column_worker *w);

#endif
