/* exec/trace_at.h - the trace at hand on one thread of a run: its rows, its model when somebody
 * needs it, and what fields, attributes and trace functions say of its elements.
 *
 * Inferred blocks are nobody's rows and are left out.  Times are raw, as they were sent; slack,
 * critical path and WhatIf use adjusted ones, since they compare processes. */
#ifndef CAUSET_EXEC_TRACE_AT_H
#define CAUSET_EXEC_TRACE_AT_H

#include "exec/expr.h"
#include "exec/run.h"
#include "model/trace.h"

enum element_kind {
	ELEMENT_BLOCK,
	ELEMENT_POINT,
	ELEMENT_EDGE,
	ELEMENT_UNIT,
	ELEMENT_COUNTER,
	ELEMENT_TRACE
};

struct element {
	uint8_t kind;   /* enum element_kind */
	bool at_end;    /* of a block: its end is meant, not its begin */
	uint32_t index; /* into the trace's array of them */
};

struct light_trace;

struct trace_at {
	struct query_at *run;
	struct trace_id id;
	const struct event_ref *refs; /* borrowed while it is at hand */
	size_t ref_n;
	struct trace *trace;
	struct light_trace *light; /* the trace is light: exec/light_trace.h; else NULL */
	struct sample sample;
	struct arena arena;      /* of this trace: values, tuples, sets */
	struct expr_env env;     /* its element is the one below */
	struct element element;  /* at hand */
	struct slice tracepoint; /* under which name it was asked for */
	bool ordered; /* of tuples with one anchor some are picked: the order they come in counts */

	/* Made when first asked for; in the arena. */
	int64_t *slacks;   /* by block */
	int64_t *critical; /* by block: time on the critical path */
	struct slice pattern;
	int64_t start_ns, duration_ns; /* raw, of the whole trace */
	bool bounded;
};

/* -ENOMEM. */
int trace_at_init(struct trace_at *at, struct query_at *run);
void trace_at_done(struct trace_at *at);

/* Puts another trace at hand and builds its model.  -ENOMEM, -E2BIG. */
int trace_at_set(struct trace_at *at, struct trace_id id, const struct event_ref *refs, size_t n);

/* A number for a trace, not 0. */
uint64_t trace_number(struct trace_id id);

/* Forgets it. */
void trace_at_clear(struct trace_at *at);

/* An expression about an element; at->env.failed says whether something went wrong. */
struct value element_eval(struct trace_at *at, struct element element, struct slice tracepoint,
			  const struct plan_expr *e);
bool element_test(struct trace_at *at, struct element element, struct slice tracepoint,
		  const struct plan_expr *predicate);

/* Where it stands in happened-before.  False: nowhere (a counter of no block, an empty trace). */
bool element_pos(const struct trace_at *at, struct element element, struct trace_pos *ret_pos);

/* Raw time and id: what settles ties, with the host between them. */
uint64_t element_time(const struct trace_at *at, struct element element);
uint64_t element_id(const struct trace_at *at, struct element element);
struct slice element_host(struct trace_at *at, struct element element);

/* --- exec/trace_work.c: what the causal order says about time --- */

/* Slack of every block.  -ENOMEM. */
int trace_slacks(struct trace *t, struct arena *arena, int64_t **ret_slacks);
/* How much sooner the trace is over when the own work of each block takes factor[block] times as
 * long; less than 0: later.  Exactly 0 when all factors are 1. */
int trace_what_if(struct trace *t, const double *factors, int64_t *ret_saved_ns);
/* Time on the trace's critical path, by block. */
int trace_critical(struct trace *t, struct arena *arena, int64_t **ret_times);
/* A canonical hash of services, names, kinds and causes: 16 hex digits.  -ENOMEM. */
int trace_pattern(struct trace *t, struct arena *arena, struct slice *ret_pattern);

#endif
