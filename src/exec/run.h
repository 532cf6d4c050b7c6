/* exec/run.h - one result of a query while it is computed.
 *
 *   run_node()      any operator: rows to a sink, on the caller's thread
 *   column_run()    the column path, where a plan is about single spans: columns of segments
 *   tuples_scan()   the trace path: every trace of the snapshot, on all cores; its tuples go to a
 *                   consumer of each thread
 *
 * What looks across traces (GROUP, SORT, SERIES, DISTINCT …) is built on tuples_scan() with a state
 * of its own for each thread, merged at the end, or, above other such operators, on run_node(). */
#ifndef CAUSET_EXEC_RUN_H
#define CAUSET_EXEC_RUN_H

#include "exec/budget.h"
#include "exec/query.h"
#include "exec/weight.h"

#define RUN_THREADS_MOST 64

struct segment;

struct query_at {
	const struct plan *plan;
	const struct query_run *options;
	unsigned rules_off;      /* enum query_rule */
	unsigned threads;        /* 1 … RUN_THREADS_MOST */
	struct plan_range range; /* what is asked about; 0: no bound */
	double range_seconds;    /* for rates; 0: not known */
	uint64_t threshold;      /* Sample: scan.threshold */
	struct budget budget;
	struct error *error; /* of the thread that called query_run() */

	/* Statistics: any thread adds. */
	_Atomic uint64_t traces, rows, traces_pruned, segments, tuples_packed;
	_Atomic uint64_t totalled; /* segments counted by their totals */
	_Atomic bool clock_rule;   /* an answer leaned on a clock: W102 */
	_Atomic bool estimated;    /* a weight was not 1 */
	_Atomic bool unweighted;   /* … of a tuple that has become a plain row */
	_Atomic bool giants;       /* a trace was too large for what was asked of it */
};

/* May spans of the segment begin in the range? */
bool query_meets(const struct query_at *run, const struct segment *segment);

static inline bool range_is_set(const struct plan_range *r)
{
	return r->from_ns != 0 || r->to_ns != 0;
}

/* What has no time is in no range that has a bound. */
static inline bool range_has(const struct plan_range *r, uint64_t time_ns)
{
	return !range_is_set(r) || (time_ns != 0 && time_ns >= (uint64_t)r->from_ns &&
				    (r->to_ns == 0 || time_ns < (uint64_t)r->to_ns));
}

/* Rows of an operator.  plus_minus may be NULL.  Anything but 0 ends the run; SINK_FULL is no
 * failure: nobody needs more. */
#define SINK_FULL 1
struct run_sink {
	int (*row)(void *context, const struct value *values, const double *plus_minus);
	void *context;
};

/* 0, SINK_FULL, or a negative errno. */
int run_node(struct query_at *run, const struct plan_node *node, const struct run_sink *sink);

/* --- the column path --- */

/* 0 when the rows were given; -EOPNOTSUPP when this operator, or what is below it, is not for
 * columns; other negative errno.  `node` may be GROUP, SERIES, SORT, LIMIT, PROJECT, FILTER …, over
 * a SOURCE of spans or blocks or a SPANSET that is one FILTER. */
int column_run(struct query_at *run, const struct plan_node *node, const struct run_sink *sink);

/* SERIES and COMPARE, where the column path did not take them: built on tuples_scan() of their
 * inputs and sets. */
int series_run(struct query_at *run, const struct plan_node *node, const struct run_sink *sink);
int compare_run(struct query_at *run, const struct plan_node *node, const struct run_sink *sink);

/* --- the trace path --- */

/* A tuple of an operator below which nothing looks across traces. */
struct tuple {
	const struct value *values; /* column_n of the operator */
	struct sample sample;       /* weight, trace, raw time of its anchor, a number for ties */
};

/* Can tuples_scan() run it? */
bool node_is_per_trace(const struct plan_node *node);

/* How many threads it will use: consumers are told by their number below this. */
unsigned tuples_threads(const struct query_at *run);

/* Calls add(context, thread, tuple) for every tuple, for each thread one at a time; tuples of a
 * trace come together.  Values are good during the call.  Anything but 0 ends the scan and is
 * returned. */
typedef int tuples_add_fn(void *context, unsigned thread, const struct tuple *tuple);
int tuples_scan(struct query_at *run, const struct plan_node *node, tuples_add_fn *add,
		void *context);

/* --- rows kept for a while --- */

struct kept_row {
	struct value *values;
	double *plus_minus; /* NULL: exact */
	uint64_t time_ns;   /* of the anchor; 0: has none */
};

struct kept_rows {
	uint32_t column_n;
	struct kept_row *rows;
	size_t n, capacity;
	struct arena arena;
	struct budget *budget; /* borrowed */
	size_t held;
};

void kept_rows_init(struct kept_rows *k, uint32_t column_n, struct budget *budget);
void kept_rows_done(struct kept_rows *k);
/* Copies.  -ENOMEM, -ENOSPC. */
int kept_rows_add(struct kept_rows *k, const struct value *values, const double *plus_minus,
		  uint64_t time_ns);
/* All rows of an operator, in an order that is the same every time for the same number of threads.
 * `most`: enough of them; 0: all. */
int kept_rows_run(struct kept_rows *k, struct query_at *run, const struct plan_node *node,
		  uint64_t most);

#endif
