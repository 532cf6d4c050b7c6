/* lang/plan.h - the algebra: what a query means, free of where and how it runs.
 *
 * A plan is a tree of operators; each gives a relation, a bag of tuples with named columns.  The
 * leaves are sources; a source's columns are expressions over one element of a trace (fields,
 * attributes, trace functions), and everything above a source speaks of columns alone, by number:
 *
 *   From incr In DataNodeMetrics.incrBytesRead        PROJECT  #0, #1
 *   Join cl In First(ClientProtocols) On cl -> incr   GROUP    by #1, SUM(#0)
 *   GroupBy cl.procName                               HBJOIN   first 1           columns 0 | 1
 *   Select cl.procName, SUM(incr.delta)               ├ SOURCE DataNodeMetrics…  0: delta
 *                                                     └ SOURCE ClientProtocols   0: procName
 *
 * Anchors.  A tuple remembers the instant at which it came into being: for a source the element's
 * (a block's begin; its end for "@return"; a point's instant), for FILTER, PROJECT and UNNEST their
 * input's, for a join the first input's, for a sequence its last step's.  Happened-before joins are
 * between anchors.  GROUP, SORT, LIMIT, DISTINCT, SERIES, COMPARE and EQUIJOIN look across traces:
 * their tuples have none (plan_node.anchored).
 *
 * Weights.  A tuple has the weight of its trace, 1/p; aggregates honour it.
 *
 * Plans live in one arena, are never changed in place by a rewrite but built anew (nodes may be
 * shared), and are read only afterwards: any number of threads may run one. */
#ifndef CAUSET_LANG_PLAN_H
#define CAUSET_LANG_PLAN_H

#include "base/arena.h"
#include "core/slice.h"

#define PLAN_NONE UINT32_MAX

/* --- values --- */

enum plan_type {
	PLAN_NIL,
	PLAN_BOOL,
	PLAN_INT,
	PLAN_FLOAT,
	PLAN_TIME,     /* nanoseconds since 1970 */
	PLAN_DURATION, /* nanoseconds */
	PLAN_STATUS,   /* 0 unset, 1 ok, 2 error */
	PLAN_KIND,     /* 0 unspecified, 1 internal, server, client, producer, 5 consumer */
	PLAN_STRING,
	PLAN_LIST,
	PLAN_ANY, /* known only when it runs: attributes */
	PLAN_TYPES
};

struct plan_value {
	enum plan_type type;
	union {
		bool b;
		int64_t i; /* INT, TIME, DURATION, STATUS, KIND */
		double f;
		struct slice s;
		struct {
			const struct plan_value *values;
			uint32_t n;
		} list;
	};
};

/* --- expressions --- */

enum plan_expr_kind {
	X_CONST,
	X_COLUMN, /* of the operator's input; a join's second input counts on behind its first */
	/* Only in sources (columns, predicates) and spansets, about the element at hand: */
	X_FIELD, /* built in */
	X_ATTR,  /* by scope and key */
	/* Anywhere: */
	X_OP,
	X_CALL,
	X_LIST /* args are its elements */
};

/* Whose field or attribute. */
enum plan_of {
	OF_SELF,
	OF_PARENT, /* the block's parent; a point's block */
	OF_ROOT,   /* the trace's root */
};

/* Where an attribute is looked for. */
enum plan_scope {
	ATTR_ANY, /* the element's own, then its resource's */
	ATTR_SPAN,
	ATTR_RESOURCE,
	ATTR_EVENT,           /* some point of the block: true if any point makes it true */
	ATTR_LINK,            /* some link of the block, likewise */
	ATTR_INSTRUMENTATION, /* the scope's attributes */
};

/* Built-in fields.  A field that the element at hand does not have is nil. */
enum plan_field {
	/* every element */
	F_TRACE_ID, /* string of hex digits */
	F_TIME,     /* its instant: a block's begin, or its end for an anchor at the end */
	F_NAME,     /* string */
	F_SERVICE,
	F_HOST,
	F_PROC_ID,
	F_PROC_NAME,
	F_THREAD_ID,
	F_CPU,
	F_ELEMENT, /* what names it: trace id, '/', span id (of a point: its block's, '@', time) */
	F_TRACEPOINT, /* the name under which the source was asked for */
	F_SCOPE_NAME,
	F_SCOPE_VERSION,
	/* blocks */
	F_SPAN_ID,
	F_PARENT_ID, /* nil for what has none */
	F_KIND,
	F_STATUS,
	F_STATUS_MESSAGE,
	F_START,
	F_END,      /* nil while running */
	F_DURATION, /* also of edges and traces; nil while running */
	F_SELF,     /* own time */
	F_SLACK,    /* how much longer it could take without moving the trace's end */
	F_CHILD_COUNT,
	F_NESTED_LEFT, /* pre-order number, last descendant, parent's number */
	F_NESTED_RIGHT,
	F_NESTED_PARENT,
	F_CRITICAL, /* time it has on the trace's critical path */
	/* points */
	F_BLOCK,      /* id of its block */
	F_EVENT_NAME, /* in a spanset: any of the block's points */
	F_EVENT_SINCE_START,
	F_LINK_SPAN_ID,
	F_LINK_TRACE_ID,
	/* edges */
	F_TYPE, /* of an edge: request, response, queue, …; of a point: log, lock acquire, … */
	F_FROM, /* ids of the two blocks */
	F_TO,
	F_CONFIDENCE,
	F_QUEUED,
	/* counters */
	F_VALUE,
	/* units */
	F_THREAD,
	/* traces, and the trace of any element ("trace.", "root" names) */
	F_TRACE_ROOT,         /* name of the root */
	F_TRACE_ROOT_SERVICE, /* its service */
	F_TRACE_DURATION,
	F_TRACE_START,
	F_TRACE_END,
	F_TRACE_SPANS,
	F_TRACE_ERRORS,
	F_TRACE_SERVICES, /* list of strings, sorted */
	F_TRACE_PATTERN,  /* canonical hash of its shape */
	F_TRACE_PROBABILITY,
	PLAN_FIELDS
};

enum plan_operator {
	XO_OR, /* Kleene's logic throughout: exec/value.h */
	XO_AND,
	XO_NOT,
	XO_EQ,
	XO_NE,
	XO_LT,
	XO_LE,
	XO_GT,
	XO_GE,
	XO_MATCH,     /* =~ : regular expression, anchored at both ends */
	XO_NOT_MATCH, /* !~ */
	XO_IN,        /* args[1] is a list */
	XO_ADD,
	XO_SUB,
	XO_MUL,
	XO_DIV,
	XO_MOD,
	XO_POW,
	XO_NEG,
	XO_INDEX, /* list[i], from 0; nil outside */
	PLAN_OPERATORS
};

enum plan_function {
	CALL_IF,      /* (condition, then, else) */
	CALL_DEFAULT, /* the first that is not nil */
	CALL_ABS,
	CALL_FLOOR,
	CALL_CEIL,
	CALL_ROUND,
	CALL_SQRT,
	CALL_LOG,
	CALL_LOG2,
	CALL_LOG10,
	CALL_EXP,
	CALL_LENGTH, /* of a text in bytes, of a list in elements */
	CALL_LOWER,
	CALL_UPPER,
	CALL_CONTAINS,
	CALL_STARTS_WITH,
	CALL_ENDS_WITH,
	CALL_CONCAT,
	CALL_SUBSTRING,
	CALL_REPLACE,
	CALL_TO_STRING,
	CALL_TO_INT,
	CALL_TO_FLOAT,
	CALL_LEAST, /* of its arguments */
	CALL_GREATEST,
	CALL_MOVING_AVERAGE, /* of the rows so far, in the order they come */
	CALL_SKETCH,         /* is it row 1, 2, 4, 8 … of those with this value, so far? */
	CALL_WINDOWS, /* (time, width, slide): a list of the begins of the windows it lies in */
	/* Only in sources: about the element's trace. */
	CALL_WHAT_IF, /* plan_expr.changes: the duration of the trace after them */
	PLAN_FUNCTIONS
};

struct plan_set;

/* A change that WhatIf makes: blocks of the set take `factor` times as long (0: Without). */
struct plan_change {
	const struct plan_set *set;
	double factor;
};

struct plan_expr {
	enum plan_expr_kind kind;
	enum plan_type type; /* as far as it is known */
	uint32_t at, end;    /* bytes of the query's text; 0, 0: of nothing written */
	uint32_t n;          /* args, or changes */
	union {
		const struct plan_expr *const *args; /* OP, CALL, LIST */
		const struct plan_change *changes;   /* CALL_WHAT_IF */
	};
	union {
		struct plan_value value; /* CONST */
		uint32_t column;         /* COLUMN */
		struct {
			enum plan_field field;
			enum plan_of of;
		} field; /* FIELD */
		struct {
			enum plan_scope scope;
			enum plan_of of;
			struct slice key;
		} attr; /* ATTR */
		enum plan_operator op;
		enum plan_function function;
	};
};

/* Remembers the rows it has seen: it must see each once, in order. */
static inline bool plan_has_state(enum plan_function f)
{
	return f == CALL_MOVING_AVERAGE || f == CALL_SKETCH;
}

/* Does anything in the expression? */
bool plan_expr_has_state(const struct plan_expr *e);

/* --- aggregates --- */

enum plan_aggregate_kind {
	AGG_COUNT, /* rows; with an argument, those where it is not nil */
	AGG_SUM,
	AGG_MIN,
	AGG_MAX,
	AGG_AVG,
	AGG_STDDEV,
	AGG_DISTINCT,
	AGG_QUANTILE,  /* parameters: one or more q in 0 … 1; several give a list */
	AGG_HISTOGRAM, /* a list of [upper bound, count], a doubling each */
	AGG_TOPK,      /* parameters: k */
	AGG_FIRST,     /* by (anchor's raw time, trace, tuple): the same every time */
	AGG_LAST,
	AGG_RATE, /* per second of the range asked for */
	AGG_KINDS
};

/* Table 3: an aggregate whose work is partly done before the join.
 *
 *   COUNT   partial: INT n          combined by adding
 *   SUM     partial: the sum        combined by adding
 *   MIN MAX partial: itself         combined by itself
 *   AVG     partial: LIST [sum, n]  combined by adding both
 * All partial tuples of one trace: weights come in only when they are combined. */
enum plan_stage { AGG_WHOLE, AGG_PARTIAL, AGG_COMBINE };

struct plan_aggregate {
	enum plan_aggregate_kind kind;
	enum plan_stage stage;
	const struct plan_expr *arg; /* NULL: of rows */
	/* COMBINE, of rows that stand for several: column with how often the tuple counts; NULL: 1.
	 * SUM, COUNT and AVG multiply by it. */
	const struct plan_expr *times;
	double parameters[8];
	uint32_t parameter_n;
};

#define PLAN_MAX_PARAMETERS 8

/* --- spansets --- */

enum plan_set_op {
	SET_FILTER, /* blocks (of left, if it is there) for which the predicate is true; NULL: all
		     */
	SET_AND,    /* both sides' blocks, if both have some in the trace */
	SET_OR,     /* both sides' blocks */
	SET_RELATION,
	SET_HAVING, /* left's blocks, as far as plan_set.having lets their groups pass */
};

/* The right side's blocks that stand so to some block of the left side. */
enum plan_relation {
	REL_CHILD,      /* >   right is a child of left */
	REL_DESCENDANT, /* >>  */
	REL_PARENT,     /* <   right is the parent of left */
	REL_ANCESTOR,   /* <<  */
	REL_SIBLING,    /* ~   another child of the same parent */
};

enum plan_relation_form {
	REL_PLAIN,
	REL_NOT,   /* !>: the right side's blocks that stand so to none of the left's */
	REL_UNION, /* &>: and the left side's blocks to which one of the right's stands so */
};

/* Groups of one trace's blocks: `| by(x) | count() > 2`. */
struct plan_having {
	const struct plan_expr **keys; /* over the element; none: the trace is one group */
	uint32_t key_n;
	struct plan_aggregate *aggregates; /* arguments over the element */
	uint32_t aggregate_n;
	const struct plan_expr *condition; /* columns: keys, then aggregates */
	/* ({a} | count()) > ({b} | count()): each aggregate is of a set of its own, aggregate_n of
	 * them, and there are no keys; NULL: all are of the left side. */
	const struct plan_set *const *sets;
};

struct plan_set {
	enum plan_set_op op;
	enum plan_relation relation;
	enum plan_relation_form form;
	const struct plan_expr *predicate; /* FILTER */
	const struct plan_set *left, *right;
	const struct plan_having *having;
};

/* --- operators --- */

enum plan_op {
	PLAN_SOURCE,
	PLAN_SPANSET, /* one tuple for each block of the set */
	PLAN_CSV,
	PLAN_HBJOIN,
	PLAN_EQUIJOIN,
	PLAN_SEQUENCE,
	PLAN_FILTER,
	PLAN_PROJECT,
	PLAN_PICK,   /* the N causally first or last tuples of each trace */
	PLAN_UNNEST, /* R4: one tuple for each element of a list; a column that holds none stays */
	PLAN_GROUP,
	PLAN_SORT,
	PLAN_LIMIT,
	PLAN_DISTINCT,
	PLAN_UNION,
	PLAN_SERIES,
	PLAN_PIPE,
	PLAN_COMPARE,
	PLAN_OPS
};

enum plan_source {
	FROM_SPANS,
	FROM_BLOCKS,
	FROM_POINTS,
	FROM_EDGES,
	FROM_UNITS,
	FROM_COUNTERS,
	FROM_TRACES,
	FROM_EVENTS, /* of a tracepoint: blocks and points */
	PLAN_SOURCES
};

/* Which instant of a block a tracepoint means. */
enum plan_instant { INSTANT_BEGIN, INSTANT_END };

/* Blocks in time: [from, to), 0: no bound.  A span belongs to the time of its begin. */
struct plan_range {
	int64_t from_ns, to_ns;
};

struct plan_column {
	struct slice name; /* as results show it; "" for what nobody named */
	enum plan_type type;
};

enum plan_join { PLAN_JOIN_INNER, PLAN_JOIN_LEFT, PLAN_JOIN_ANTI, PLAN_JOIN_SEMI };

/* Temporal filters: the N causally first or last of the partners. */
enum plan_pick { PICK_ALL, PICK_FIRST, PICK_LAST };

/* What Table 3 does to the partners of a happened-before join before they meet the other side: for
 * each tuple of the first input (live: in the baggage) they are grouped and aggregated.  Output:
 * keys, then aggregates, in place of the second input's columns. */
struct plan_pack {
	const struct plan_expr **keys; /* over the second input's columns, numbered from 0 */
	uint32_t key_n;
	struct plan_aggregate *aggregates; /* all PARTIAL */
	uint32_t aggregate_n;
};

/* The other way round: tuples of the first input that have the very same partners are grouped and
 * aggregated before they meet them.  Output: keys, aggregates, then the second input's columns. */

struct plan_step {
	bool absent; /* ![ … ]: no such element between its neighbours */
	const struct plan_node *input;
};

struct plan_order {
	const struct plan_expr *expr;
	bool descending;
};

/* --- pipes over the elements of one trace: Canopy, figure 8 --- */

enum pipe_stage_kind {
	PIPE_UNITS, /* as a head: all of the trace; behind something: those of its elements */
	PIPE_BLOCKS,
	PIPE_POINTS,
	PIPE_EDGES,
	PIPE_COUNTERS,
	PIPE_TRACE,
	PIPE_SET,           /* head: a spanset's blocks */
	PIPE_CRITICAL_PATH, /* head: from the first of pipes[0] to the first of pipes[1]; none:
			       whole */
	PIPE_CONST,         /* head: value */
	PIPE_FILTER,        /* predicate over the element */
	PIPE_FIRST,         /* causally first, as temporal filters; of values the first */
	PIPE_LAST,
	PIPE_FIELD, /* predicate over the element gives a value: Timestamp, Duration, name … */
	PIPE_COUNTER_VALUE, /* name: a counter's, or a numeric attribute's, value on the element */
	PIPE_ADD,           /* with pipes[0]'s value */
	PIPE_SUBTRACT,
	PIPE_MULTIPLY,
	PIPE_DIVIDE,
	PIPE_AGGREGATE, /* aggregate over the values so far: one value */
	PIPE_COMPARE,   /* keeps values for which (op, pipes[0]'s value) is true */
	PIPE_RECORD     /* RecordAs(name) */
};

struct plan_pipe;

struct pipe_stage {
	enum pipe_stage_kind kind;
	struct slice name;                      /* RECORD, COUNTER_VALUE */
	const struct plan_expr *expr;           /* FILTER, FIELD, CONST */
	const struct plan_set *set;             /* SET */
	const struct plan_pipe *pipes[2];       /* of the same trace */
	const struct plan_aggregate *aggregate; /* argument ignored */
	enum plan_operator op;                  /* COMPARE */
};

/* One tuple for each element or value that comes out; its only column is the value, or the
 * element's id and name. */
struct plan_pipe {
	const struct pipe_stage *stages;
	uint32_t n;
	bool elements; /* gives elements, not values */
};

/* --- the node --- */

struct plan_node {
	enum plan_op op;
	uint32_t id;      /* 0 … plan.node_n - 1: for statistics of a run */
	bool anchored;    /* tuples have an anchor and a trace */
	uint32_t at, end; /* bytes of the query's text */
	const struct plan_node *const *inputs;
	uint32_t input_n;
	const struct plan_column *columns; /* of its tuples */
	uint32_t column_n;

	union {
		struct {
			enum plan_source kind;
			enum plan_instant instant;
			struct slice name;                 /* tracepoint, or built-in */
			struct slice alias;                /* "" if it has none */
			const struct plan_expr *predicate; /* over the element; NULL: all */
			const struct plan_expr *const
				*fields; /* column_n of them, over the element */
		} source;
		struct {
			const struct plan_set *set;
			struct slice alias;
			const struct plan_expr *const *fields; /* column_n of them */
		} spanset;
		struct {
			struct slice path, alias; /* columns by name; the first line names them */
			const uint32_t *picks;    /* which fields of a line, by header name */
		} csv;
		struct {
			enum plan_join join;
			bool direct; /* =>, not -> */
			bool after;  /* the partner is the later one: On e -> x */
			enum plan_pick pick;
			uint32_t pick_n;
			const struct plan_pack *pack;      /* of the second input; NULL: as it is */
			const struct plan_pack *pack_main; /* of the first */
			struct slice alias;                /* of the partner */
			/* Further condition on a pair, over both inputs' columns (before packing);
			 * asked of those that were picked.  Or NULL. */
			const struct plan_expr *rest;
		} hbjoin;
		struct {
			enum plan_join join;
			const struct plan_expr *const *left_keys, *const *right_keys;
			uint32_t key_n;
			int64_t within_ns;            /* |time - time| of the anchors; 0: any */
			const struct plan_expr *rest; /* further condition on both; or NULL */
		} equijoin;
		struct {
			const struct plan_expr *const *const *keys; /* [step][key_n], By */
			uint32_t key_n;
			int64_t within_ns;             /* from the first to the last; 0: any */
			const struct plan_step *steps; /* inputs[i] is steps[i].input */
			uint32_t step_n;
			const struct plan_node *until; /* or NULL; also the last of inputs */
			/* Over the columns below: of the match as a whole; or NULL. */
			const struct plan_expr *rest;
		} sequence; /* columns: those of the steps that are not absent, in order */
		struct {
			const struct plan_expr *predicate;
		} filter;
		struct {
			const struct plan_expr *const *exprs; /* column_n of them */
		} project;
		struct {
			enum plan_pick pick;
			uint32_t n;
		} pick;
		struct {
			const uint32_t *slots; /* the same slot may not come twice */
			uint32_t slot_n;       /* several: every combination */
		} unnest;
		struct {
			const struct plan_expr *const *keys; /* columns: keys, then aggregates */
			uint32_t key_n;
			const struct plan_aggregate *aggregates;
			uint32_t aggregate_n;
		} group;
		struct {
			const struct plan_order *orders;
			uint32_t n;
			uint64_t limit; /* top-N; 0: all */
		} sort;
		struct {
			uint64_t n;
		} limit;
		struct {
			/* Over spans: one series for each combination of keys; the column `time` is
			 * the begin of the step.  columns: time, keys, values. */
			const struct plan_expr *const *keys;
			uint32_t key_n;
			const struct plan_aggregate *aggregates;
			uint32_t aggregate_n;
			int64_t step_ns; /* 0: the runner chooses */
			uint32_t topk;   /* keep so many series; 0: all */
			bool bottom;
		} series;
		const struct plan_pipe *pipe;
		struct {
			/* inputs[0] the selection, inputs[1] what it is compared with; one input:
			 * the rest of the range (Tempo's form).  columns: attribute, value, shares,
			 * difference, p-value */
			const struct plan_set *selection, *baseline;
			bool within;  /* only what is in the baseline, too, is selected */
			uint32_t top; /* values by attribute; 0: 10 */
			struct plan_range range;
		} compare;
	};
};

/* Warnings a plan has from the start (W101 …) are the checker's; these come from running it. */
struct plan {
	struct arena arena;
	const struct plan_node *root;
	uint32_t node_n;
	struct plan_range range; /* Over; 0, 0: everything */
	int64_t last_ns;         /* Over last 1h: relative to the moment it runs; 0: not said */
	bool live;               /* Over live */
	int64_t for_ns, every_ns, window_ns, slide_ns; /* 0: not said */
	struct slice into;
	bool most_recent; /* with(most_recent=true) */
	bool running;     /* something looks at all rows so far */
	double share;     /* Sample, with(sample=…): of all traces, whole ones; 0: not said */
};

/* Frees; usable again. */
void plan_done(struct plan *p);

const char *plan_op_name(enum plan_op op);
const char *plan_field_name(enum plan_field field);
const char *plan_operator_name(enum plan_operator op);
const char *plan_aggregate_name(enum plan_aggregate_kind kind);
const char *plan_source_name(enum plan_source kind);
const char *plan_relation_name(enum plan_relation relation, enum plan_relation_form form);
const char *plan_function_name(enum plan_function function);
const char *plan_type_name(enum plan_type type);

#endif
