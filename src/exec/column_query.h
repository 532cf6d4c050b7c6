/* exec/column_query.h - a plan over single spans, made ready for columns.
 *
 * Everything between the source and what looks across rows is put together into a few expressions
 * over *slots*: the source's fields are substituted upwards, and each field or attribute of the
 * span that is left gets a number.  For a row, slots are filled with what it says and the
 * expressions evaluated; for a whole shape, with what the shape says, and V_UNKNOWN elsewhere.
 *
 *   PROJECT #0, #1                       slots    1: span.size   2: service
 *   UNNEST  0                            where    2 = "shop"
 *   FILTER  #1 = "shop"            ⇒     unnest   0: slot 1, taken apart if it is a list
 *   SOURCE  span.size, service           outputs  0, 2
 *
 * Slots below unnest_n are elements of lists, made while a row is looked at. */
#ifndef CAUSET_EXEC_COLUMN_QUERY_H
#define CAUSET_EXEC_COLUMN_QUERY_H

#include "exec/grouping.h"
#include "exec/ordering.h"
#include "lang/plan_build.h"

#define COLUMN_SLOTS_MOST   64
#define COLUMN_OUTPUTS_MOST 128
#define COLUMN_UNNEST_MOST  8

/* What becomes of the rows. */
enum column_kind {
	COLUMN_ROWS,   /* outputs: columns */
	COLUMN_GROUP,  /* keys, then arguments of aggregates */
	COLUMN_SERIES, /* the same; the first key is the step */
	COLUMN_SORT,   /* orders, then columns */
};

struct column_query {
	enum column_kind kind;
	struct slice tracepoint; /* the source's name */
	bool only_spans;         /* native blocks are no elements: FROM_SPANS */
	const struct plan_expr *leaves[COLUMN_SLOTS_MOST]; /* of slot unnest_n + i */
	uint32_t leaf_n;
	const struct plan_expr *where; /* over slots of leaves; NULL: all */
	const struct plan_expr *unnest[COLUMN_UNNEST_MOST];
	uint32_t unnest_n;
	const struct plan_expr *where_after;                  /* over all slots; NULL: all */
	const struct plan_expr *outputs[COLUMN_OUTPUTS_MOST]; /* NULL: an aggregate of rows */
	uint32_t output_n;

	uint32_t key_n; /* GROUP, SERIES: of the outputs; SORT: orders */
	struct aggregate aggregates[AGGREGATES_MOST];
	uint32_t aggregate_n;
	bool descending[ORDERING_KEYS_MOST];
	uint64_t limit; /* SORT, ROWS: 0: all */

	struct arena arena;
};

/* Rows go into groups: GROUP, SERIES. */
static inline bool column_grouped(const struct column_query *q)
{
	return q->kind == COLUMN_GROUP || q->kind == COLUMN_SERIES;
}

/* -EOPNOTSUPP: not for columns.  -ENOMEM.  Give back with column_query_done() in any case. */
int column_query_init(struct column_query *q, const struct plan_node *node, double range_seconds);
void column_query_done(struct column_query *q);

#endif
