/* lang/words.h - everything that is built into the language, in tables: keywords, sources, fields,
 * functions, hints.
 *
 * The parser, the checker, the formatter, "did you mean", completion and the reference for users
 * all read these rows, so that a word that exists is known everywhere.  Planner and executor switch
 * over the enums.  Keywords, functions and stages are found without regard to case; fields are not.
 *
 * Constant data; any thread. */
#ifndef CAUSET_LANG_WORDS_H
#define CAUSET_LANG_WORDS_H

#include "core/slice.h"
#include "lang/types.h"

/* ---- keywords ---- */

enum word_keyword {
	KEY_NONE,
	/* start a statement */
	KEY_FROM,
	KEY_SEQUENCE,
	KEY_DATASET,
	KEY_TRACEPOINT,
	/* start a clause */
	KEY_JOIN,
	KEY_LEFT,
	KEY_ANTI,
	KEY_WHERE,
	KEY_HAVING,
	KEY_LET,
	KEY_GROUPBY,
	KEY_GROUP,
	KEY_SELECT,
	KEY_ORDERBY,
	KEY_ORDER,
	KEY_LIMIT,
	KEY_UNION,
	KEY_INTO,
	KEY_OVER,
	KEY_FOR,
	KEY_EVERY,
	KEY_WINDOW,
	KEY_SAMPLE,
	/* inside one */
	KEY_IN,
	KEY_ON,
	KEY_WITHIN,
	KEY_BY,
	KEY_AS,
	KEY_ASC,
	KEY_DESC,
	KEY_DISTINCT,
	KEY_LIVE,
	KEY_LAST,
	KEY_RANGE,
	KEY_SLIDE,
	KEY_UNTIL,
	KEY_WITH,
	KEY_AND,
	KEY_OR,
	KEY_NOT,
	KEY_TRUE,
	KEY_FALSE,
	KEY_NIL,
	/* datasets and tracepoints */
	KEY_OWNER,
	KEY_PER,
	KEY_RETAIN,
	KEY_AFTER,
	KEY_SINCE,
	KEY_ROOT,
	KEY_END,
	KEY_ERROR,
	KEY_EXPORTS,
	KEYWORDS
};

struct word_key {
	const char *name; /* as `causet fmt` writes it */
	enum word_keyword key;
	bool clause; /* may start a clause of a From query */
	const char *doc;
};

/* The keyword, or KEY_NONE. */
enum word_keyword word_keyword(struct slice text);

/* The row of a keyword other than KEY_NONE. */
const struct word_key *word_key(enum word_keyword key);

/* ---- fields: what every element has, beside attributes ---- */

enum word_field_id {
	WF_NONE,
	/* of every element */
	WF_TRACE_ID,
	WF_TIME, /* of a block its start, of an edge when it began */
	WF_NAME,
	WF_SERVICE,
	WF_HOST,
	WF_PROC_ID,
	WF_PROC_NAME,
	WF_THREAD_ID,
	WF_CPU,
	WF_TRACEPOINT, /* name of the tracepoint that gave the event */
	/* blocks */
	WF_SPAN_ID,
	WF_PARENT_ID,
	WF_KIND,
	WF_STATUS,
	WF_STATUS_MESSAGE,
	WF_START,
	WF_END,
	WF_DURATION,
	WF_SELF,
	WF_CHILD_COUNT,
	WF_NESTED_LEFT,
	WF_NESTED_RIGHT,
	WF_NESTED_PARENT, /* -1 for a root */
	WF_INSTRUMENTATION_NAME,
	WF_INSTRUMENTATION_VERSION,
	/* points */
	WF_BLOCK, /* span id of the block it is in */
	/* edges */
	WF_TYPE,
	WF_FROM,
	WF_TO,
	WF_CONFIDENCE,
	/* counters */
	WF_VALUE,
	/* traces */
	WF_ROOT, /* name of the root span */
	WF_ROOT_SERVICE,
	WF_SPANS,
	WF_ERRORS,
	WF_SERVICES,
	WF_PATTERN,
	WF_PROBABILITY,
	WF_TRACE_START,
	WF_TRACE_END,
	WF_TRACE_DURATION,
	/* units */
	WF_THREAD,
	/* of a span's points and links, reached from the span: true if one of them fits */
	WF_EVENT_NAME,
	WF_EVENT_TIME_SINCE_START,
	WF_LINK_TRACE_ID,
	WF_LINK_SPAN_ID,
	WORD_FIELDS
};

/* What a field belongs to. */
enum word_on {
	ON_BLOCK = 1 << 0,
	ON_POINT = 1 << 1,
	ON_EDGE = 1 << 2,
	ON_COUNTER = 1 << 3,
	ON_TRACE = 1 << 4,
	ON_UNIT = 1 << 5,
	ON_TRACEPOINT = 1 << 6, /* tuples of a tracepoint: rule R10 */
	ON_ALL = ON_BLOCK | ON_POINT | ON_EDGE | ON_COUNTER | ON_TRACE | ON_UNIT | ON_TRACEPOINT,
};

struct word_field {
	const char *name; /* the same field may have several rows: name, span:name */
	enum word_field_id id;
	enum type_tag type;
	enum type_tag of; /* of a list */
	unsigned on;      /* word_on bits */
	const char *doc;  /* NULL: another name of the row above */
};

/* The field of that name on any of `on`; NULL.  Names of Tempo's intrinsics are rows, too: with
 * ("span:duration", "trace:rootService") and without a scope ("rootServiceName"). */
const struct word_field *word_field(struct slice name, unsigned on);

/* The first row of an id: its own name, its type. */
const struct word_field *word_field_row(enum word_field_id id);

/* All rows, ending in one without a name. */
const struct word_field *word_fields(void);

/* ---- scopes of attributes ---- */

enum word_scope {
	WORD_SCOPE_NONE, /* any: the element's own attribute, else its resource's */
	WORD_SCOPE_SPAN,
	WORD_SCOPE_RESOURCE,
	WORD_SCOPE_EVENT,
	WORD_SCOPE_LINK,
	WORD_SCOPE_INSTRUMENTATION,
	WORD_SCOPE_TRACE,  /* only before ':' */
	WORD_SCOPE_PARENT, /* the parent span's field or attribute */
	WORD_SCOPE_ROOT,   /* the root span's */
	WORD_SCOPES
};

/* The scope of that name, or WORD_SCOPE_NONE; and back. */
enum word_scope word_scope(struct slice name);
const char *word_scope_name(enum word_scope scope);

/* ---- sources ---- */

enum word_source_id {
	WS_NONE,
	WS_SPANS,
	WS_BLOCKS,
	WS_POINTS,
	WS_EDGES,
	WS_UNITS,
	WS_COUNTERS,
	WS_TRACES,
};

struct word_source {
	const char *name;
	enum word_source_id id;
	enum type_tag element;
	unsigned on; /* one word_on bit */
	const char *doc;
};

const struct word_source *word_source(struct slice name);
const struct word_source *word_sources(void); /* all rows, ending in one without a name */

/* ---- functions, aggregates, stages ---- */

enum word_function_id {
	FN_NONE,
	/* aggregates: over a group, over a spanset's spans, over a stream */
	FN_COUNT,
	FN_SUM,
	FN_MIN,
	FN_MAX,
	FN_AVG,
	FN_DISTINCT, /* how many different ones */
	FN_STDDEV,
	FN_PERCENTILE, /* p50 … p999: word_function.parameter is the quantile */
	FN_QUANTILE,
	FN_HISTOGRAM,
	FN_TOPK,
	FN_FIRST,
	FN_LAST,
	FN_RATE,
	/* scalars */
	FN_IF,
	FN_ABS,
	FN_FLOOR,
	FN_CEIL,
	FN_ROUND,
	FN_SQRT,
	FN_LOG,
	FN_LOG2,
	FN_LOG10,
	FN_LEAST,
	FN_GREATEST,
	FN_LENGTH,
	FN_LOWER,
	FN_UPPER,
	FN_SUBSTRING,
	FN_CONTAINS,
	FN_STARTS_WITH,
	FN_ENDS_WITH,
	FN_REPLACE,
	FN_CONCAT,
	FN_INT,
	FN_FLOAT,
	FN_STRING,
	FN_DEFAULT, /* default(a, b): b where a is nil */
	FN_MOVING_AVERAGE,
	FN_SKETCH,
	/* of traces */
	FN_CRITICAL_PATH,
	FN_SELF_TIME,
	FN_SLACK,
	FN_PATTERN,
	FN_WHAT_IF,
	FN_WITHOUT,
	FN_SCALE,
	FN_COMPARE,
	/* stages over elements: Canopy's Figure 8 */
	FN_EXEC_UNITS,
	FN_BLOCKS,
	FN_POINTS,
	FN_EDGES,
	FN_COUNTERS,
	FN_TRACES,
	FN_FILTER,
	FN_TIMESTAMP,
	FN_DURATION,
	FN_SUBTRACT,
	FN_COUNTER,
	FN_RECORD_AS,
	/* stages over spansets: TraceQL */
	FN_BY,
	FN_SELECT,
	FN_COALESCE,
	/* stages from spansets to series, and over series */
	FN_COUNT_OVER_TIME,
	FN_MIN_OVER_TIME,
	FN_MAX_OVER_TIME,
	FN_AVG_OVER_TIME,
	FN_SUM_OVER_TIME,
	FN_QUANTILE_OVER_TIME,
	FN_HISTOGRAM_OVER_TIME,
	FN_BOTTOMK,
	WORD_FUNCTIONS
};

/* Where a function may stand; several at once. */
enum word_place {
	IN_SCALAR = 1 << 0, /* any expression */
	IN_AGGREGATE =
		1 << 1, /* Select, Having, OrderBy of a group; over a spanset's spans in a stage */
	IN_ELEMENTS = 1 << 2, /* head or stage of a pipe over elements of a trace */
	IN_SPANSET = 1 << 3,  /* stage behind a spanset */
	IN_METRIC = 1 << 4,   /* stage from a spanset to series */
	IN_SERIES = 1 << 5,   /* stage behind a series */
	IN_CHANGE = 1 << 6,   /* argument of WhatIf */
	IN_SAMPLE = 1 << 7,   /* the Sample clause */
};

/* Parameters, a letter each:
 *   a any scalar          n int or float          d what can be summed: int, float, duration
 *   o what has an order: d, time, string          s string         b bool       l list
 *   i int constant        q constant in 0 … 1     S spanset        e element of a trace
 *   > an order a -> b     * "*" or nothing        p a scalar (for a pipe, a scalar pipe)
 *   C a change            N a bare name           f a condition on the elements
 *   x anything: check_call.c looks
 * "?" behind a letter: it may be left out; "+" behind the last: once or more often.
 * Result: a type_tag, or one of these. */
enum word_result {
	RESULT_FIRST = -1,   /* the type of the first argument */
	RESULT_SECOND = -2,  /* of the second */
	RESULT_INPUT = -3,   /* a stage: what came in */
	RESULT_ONE = -4,     /* a stage: one of the many that came in */
	RESULT_LIST = -5,    /* a list of the type of the argument that is no constant */
	RESULT_SPECIAL = -6, /* check_call.c says */
};

struct word_function {
	const char *name; /* the same function may have several rows: avg, average */
	enum word_function_id id;
	unsigned places;   /* word_place bits */
	const char *args;  /* "" none */
	int result;        /* type_tag or word_result */
	double parameter;  /* FN_PERCENTILE: 0.5, 0.99 … */
	bool merges;       /* an aggregate whose partial results combine */
	const char *usage; /* "quantile(x, q, …)"; NULL: another name of the row above */
	const char *doc;
};

/* Without regard to case; NULL.  With `places` 0 any will do.  p50 … p99 and p999 are found, too.
 */
const struct word_function *word_function(struct slice name, unsigned places);

const struct word_function *word_functions(void); /* all rows, ending in one without a name */

/* ---- constants and hints ---- */

struct word_constant {
	const char *name;
	enum type_tag type; /* TYPE_STATUS, TYPE_KIND */
	int value; /* OTLP's numbers: status unset 0, ok 1, error 2; kind unspecified 0 … consumer 5
		    */
};

const struct word_constant *word_constant(struct slice name);
const struct word_constant *word_constants(void);

struct word_hint {
	const char *name;
	const char *types; /* letters of the parameters above */
	const char *doc;
};

const struct word_hint *word_hint(struct slice name);
const struct word_hint *word_hints(void);

#endif
