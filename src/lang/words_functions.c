/* lang/words_functions.c - functions, aggregates and stages. */
#include "base/cleanup.h"
#include "lang/words.h"

#define AGG      (IN_AGGREGATE | IN_ELEMENTS)
#define ELEMENTS IN_ELEMENTS

/* Rows of one id stand together, the name of the reference first. */
static const struct word_function functions[] = {
	/* aggregates */
	{"count", FN_COUNT, AGG, "*?", TYPE_INT, 0, true, "count(), count(x)",
	 "how many tuples, spans or elements; of x, how many have one"},
	{"sum", FN_SUM, AGG, "d?", RESULT_FIRST, 0, true, "sum(x)", "the sum"},
	{"min", FN_MIN, AGG, "o?", RESULT_FIRST, 0, true, "min(x)", "the smallest"},
	{"max", FN_MAX, AGG, "o?", RESULT_FIRST, 0, true, "max(x)", "the largest"},
	{"avg", FN_AVG, AGG, "d?", RESULT_SPECIAL, 0, true, "avg(x)", "the mean"},
	{"average", FN_AVG, AGG, "d?", RESULT_SPECIAL, 0, true, NULL, NULL},
	{"distinct", FN_DISTINCT, AGG, "a?", TYPE_INT, 0, true, "distinct(x)",
	 "how many different ones, within about 1 %"},
	{"stddev", FN_STDDEV, AGG, "d?", RESULT_SPECIAL, 0, true, "stddev(x)",
	 "the standard deviation"},
	{"quantile", FN_QUANTILE, IN_AGGREGATE, "dq+", RESULT_SPECIAL, 0, true, "quantile(x, q, …)",
	 "quantiles, each within 1 % of its value; several give a list"},
	{"histogram", FN_HISTOGRAM, IN_AGGREGATE, "d", TYPE_HISTOGRAM, 0, true, "histogram(x)",
	 "how often which size"},
	{"topk", FN_TOPK, IN_AGGREGATE | IN_SERIES, "ia?", RESULT_SPECIAL, 0, true,
	 "topk(n, x), | topk(n)", "the n most frequent values; behind a series, the n largest"},
	{"first", FN_FIRST, AGG, "a?", RESULT_SPECIAL, 0, true, "first(x), | First",
	 "the causally first one"},
	{"last", FN_LAST, AGG, "a?", RESULT_SPECIAL, 0, true, "last(x), | Last",
	 "the causally last one"},
	{"rate", FN_RATE, IN_AGGREGATE | IN_METRIC, "", RESULT_SPECIAL, 0, true, "rate()",
	 "how many a second; behind a spanset, a series"},
	{"p50", FN_PERCENTILE, AGG, "d?", RESULT_SPECIAL, 0.5, true, "p50(x) … p99(x), p999(x)",
	 "a percentile, within 1 % of its value"},
	{"p75", FN_PERCENTILE, AGG, "d?", RESULT_SPECIAL, 0.75, true, NULL, NULL},
	{"p90", FN_PERCENTILE, AGG, "d?", RESULT_SPECIAL, 0.9, true, NULL, NULL},
	{"p95", FN_PERCENTILE, AGG, "d?", RESULT_SPECIAL, 0.95, true, NULL, NULL},
	{"p99", FN_PERCENTILE, AGG, "d?", RESULT_SPECIAL, 0.99, true, NULL, NULL},
	{"p999", FN_PERCENTILE, AGG, "d?", RESULT_SPECIAL, 0.999, true, NULL, NULL},
	/* scalars */
	{"if", FN_IF, IN_SCALAR, "baa", RESULT_SECOND, 0, false, "if(c, a, b)",
	 "a where c holds, else b"},
	{"abs", FN_ABS, IN_SCALAR, "d", RESULT_FIRST, 0, false, "abs(x)", "without its sign"},
	{"floor", FN_FLOOR, IN_SCALAR, "n", TYPE_INT, 0, false, "floor(x)", "rounded down"},
	{"ceil", FN_CEIL, IN_SCALAR, "n", TYPE_INT, 0, false, "ceil(x)", "rounded up"},
	{"round", FN_ROUND, IN_SCALAR, "n", TYPE_INT, 0, false, "round(x)",
	 "to the nearest integer"},
	{"sqrt", FN_SQRT, IN_SCALAR, "n", TYPE_FLOAT, 0, false, "sqrt(x)", "the square root"},
	{"log", FN_LOG, IN_SCALAR, "n", TYPE_FLOAT, 0, false, "log(x)", "the natural logarithm"},
	{"log2", FN_LOG2, IN_SCALAR, "d", TYPE_INT, 0, false, "log2(x)",
	 "the logarithm to the base 2, rounded down; of a duration, of its nanoseconds"},
	{"log10", FN_LOG10, IN_SCALAR, "n", TYPE_FLOAT, 0, false, "log10(x)",
	 "the logarithm to the base 10"},
	{"least", FN_LEAST, IN_SCALAR, "oo+", RESULT_FIRST, 0, false, "least(a, b, …)",
	 "the smallest argument"},
	{"greatest", FN_GREATEST, IN_SCALAR, "oo+", RESULT_FIRST, 0, false, "greatest(a, b, …)",
	 "the largest argument"},
	{"length", FN_LENGTH, IN_SCALAR, "a", TYPE_INT, 0, false, "length(x)",
	 "bytes of a string, elements of a list"},
	{"lower", FN_LOWER, IN_SCALAR, "s", TYPE_STRING, 0, false, "lower(s)", "in small letters"},
	{"upper", FN_UPPER, IN_SCALAR, "s", TYPE_STRING, 0, false, "upper(s)",
	 "in capital letters"},
	{"substring", FN_SUBSTRING, IN_SCALAR, "snn?", TYPE_STRING, 0, false,
	 "substring(s, from, n)", "n bytes from byte `from` on, the first is 0"},
	{"contains", FN_CONTAINS, IN_SCALAR, "aa", TYPE_BOOL, 0, false, "contains(x, y)",
	 "y is in the string or list x"},
	{"startsWith", FN_STARTS_WITH, IN_SCALAR, "ss", TYPE_BOOL, 0, false, "startsWith(s, t)",
	 "s begins with t"},
	{"endsWith", FN_ENDS_WITH, IN_SCALAR, "ss", TYPE_BOOL, 0, false, "endsWith(s, t)",
	 "s ends with t"},
	{"replace", FN_REPLACE, IN_SCALAR, "sss", TYPE_STRING, 0, false, "replace(s, a, b)",
	 "s with b in place of every a"},
	{"concat", FN_CONCAT, IN_SCALAR, "aa+", TYPE_STRING, 0, false, "concat(a, b, …)",
	 "the arguments as one string"},
	{"int", FN_INT, IN_SCALAR, "a", TYPE_INT, 0, false, "int(x)",
	 "x as an integer; nil if it is none"},
	{"float", FN_FLOAT, IN_SCALAR, "a", TYPE_FLOAT, 0, false, "float(x)",
	 "x as a number; nil if it is none"},
	{"string", FN_STRING, IN_SCALAR, "a", TYPE_STRING, 0, false, "string(x)", "x as a string"},
	{"default", FN_DEFAULT, IN_SCALAR, "aa", RESULT_FIRST, 0, false, "default(x, y)",
	 "x, or y where x is nil"},
	{"MovingAverage", FN_MOVING_AVERAGE, IN_SCALAR, "d", RESULT_SPECIAL, 0, false,
	 "MovingAverage(x)", "of the tuples so far, newer ones counting more"},
	{"sketch", FN_SKETCH, IN_SAMPLE, "a", TYPE_BOOL, 0, false, "Sample sketch(k)",
	 "rare values of k always, frequent ones seldom"},
	/* of traces */
	{"CriticalPath", FN_CRITICAL_PATH, ELEMENTS, ">?", TYPE_PATH, 0, false,
	 "CriticalPath(a -> b)",
	 "what b waited for since a; without arguments, of the whole trace"},
	{"SelfTime", FN_SELF_TIME, IN_SCALAR | ELEMENTS, "e?", TYPE_DURATION, 0, false,
	 "SelfTime(block)", "the time in which none of its children ran"},
	{"Slack", FN_SLACK, IN_SCALAR | ELEMENTS, "e?", TYPE_DURATION, 0, false, "Slack(block)",
	 "how much longer it could take without moving the end"},
	{"Pattern", FN_PATTERN, IN_SCALAR | ELEMENTS, "e?", TYPE_STRING, 0, false, "Pattern(trace)",
	 "a hash of the execution's shape"},
	{"WhatIf", FN_WHAT_IF, IN_SCALAR | ELEMENTS, "C+", TYPE_DURATION, 0, false,
	 "WhatIf(change, …)", "how long the trace would take after the changes"},
	{"Without", FN_WITHOUT, IN_CHANGE, "S", TYPE_CHANGE, 0, false, "Without({set})",
	 "spans of the set take no time"},
	{"Scale", FN_SCALE, IN_CHANGE, "Sn", TYPE_CHANGE, 0, false, "Scale({set}, 0.5)",
	 "spans of the set take that share of their time"},
	{"compare", FN_COMPARE, IN_METRIC | IN_SCALAR, "Sx?x?x?", RESULT_SPECIAL, 0, false,
	 "compare({a}, {b}), {a} | compare({b}, n, start, end)",
	 "what is different about the spans of a set, every attribute ranked"},
	/* stages over elements */
	{"ExecUnits", FN_EXEC_UNITS, ELEMENTS, "", TYPE_UNIT, 0, false, "ExecUnits",
	 "the execution units of the trace, or of what comes in"},
	{"Blocks", FN_BLOCKS, ELEMENTS, "", TYPE_BLOCK, 0, false, "Blocks",
	 "the blocks of the trace, or of what comes in"},
	{"Points", FN_POINTS, ELEMENTS, "", TYPE_POINT, 0, false, "Points",
	 "the points of the trace, or of what comes in"},
	{"Edges", FN_EDGES, ELEMENTS, "", TYPE_EDGE, 0, false, "Edges",
	 "the edges of the trace, or of what comes in"},
	{"Counters", FN_COUNTERS, ELEMENTS, "", TYPE_COUNTER, 0, false, "Counters",
	 "the counters of the trace, or of what comes in"},
	{"Traces", FN_TRACES, ELEMENTS, "", TYPE_TRACE, 0, false, "Traces", "the traces"},
	{"Filter", FN_FILTER, ELEMENTS | IN_SPANSET | IN_SERIES, "f", RESULT_INPUT, 0, false,
	 "Filter(condition)", "those for which the condition holds"},
	{"Timestamp", FN_TIMESTAMP, ELEMENTS, "", TYPE_TIME, 0, false, "Timestamp",
	 "when each happened"},
	{"Duration", FN_DURATION, ELEMENTS, "", TYPE_DURATION, 0, false, "Duration",
	 "how long each took"},
	{"Subtract", FN_SUBTRACT, ELEMENTS, "p", RESULT_SPECIAL, 0, false, "Subtract(pipe)",
	 "minus another pipe's value"},
	{"Counter", FN_COUNTER, ELEMENTS, "N", TYPE_FLOAT, 0, false, "Counter(name)",
	 "the counter or numeric attribute of that name of each"},
	{"RecordAs", FN_RECORD_AS, ELEMENTS, "s", TYPE_FEATURE, 0, false, "RecordAs(\"name\")",
	 "makes the value a column of the dataset"},
	/* stages over spansets */
	{"by", FN_BY, IN_SPANSET, "a+", RESULT_SPECIAL, 0, false, "| by(x, …)",
	 "one set for each value"},
	{"select", FN_SELECT, IN_SPANSET, "a+", RESULT_INPUT, 0, false, "| select(x, …)",
	 "also return these fields"},
	{"coalesce", FN_COALESCE, IN_SPANSET, "", RESULT_SPECIAL, 0, false, "| coalesce()",
	 "the groups made by by() become one set again"},
	/* series */
	{"count_over_time", FN_COUNT_OVER_TIME, IN_METRIC, "", TYPE_SERIES, 0, false,
	 "| count_over_time()", "how many in each step"},
	{"min_over_time", FN_MIN_OVER_TIME, IN_METRIC, "d", TYPE_SERIES, 0, false,
	 "| min_over_time(x)", "the smallest in each step"},
	{"max_over_time", FN_MAX_OVER_TIME, IN_METRIC, "d", TYPE_SERIES, 0, false,
	 "| max_over_time(x)", "the largest in each step"},
	{"avg_over_time", FN_AVG_OVER_TIME, IN_METRIC, "d", TYPE_SERIES, 0, false,
	 "| avg_over_time(x)", "the mean in each step"},
	{"sum_over_time", FN_SUM_OVER_TIME, IN_METRIC, "d", TYPE_SERIES, 0, false,
	 "| sum_over_time(x)", "the sum in each step"},
	{"quantile_over_time", FN_QUANTILE_OVER_TIME, IN_METRIC, "dq+", TYPE_SERIES, 0, false,
	 "| quantile_over_time(x, q, …)", "quantiles in each step"},
	{"histogram_over_time", FN_HISTOGRAM_OVER_TIME, IN_METRIC, "d", TYPE_SERIES, 0, false,
	 "| histogram_over_time(x)", "how often which size in each step"},
	{"bottomk", FN_BOTTOMK, IN_SERIES, "i", TYPE_SERIES, 0, false, "| bottomk(n)",
	 "the n smallest series"},
	{0},
};

/* p1 … p99 that have no row of their own are made here: 99 rows of one shape would only be in the
 * way. */
static const struct word_function *percentile(struct slice name)
{
#define P(n)                                                                                       \
	{                                                                                          \
		"p" #n, FN_PERCENTILE, AGG, "d?", RESULT_SPECIAL, (n) / 100.0, true, NULL, NULL    \
	}
#define P10(n)                                                                                     \
	P(n##0), P(n##1), P(n##2), P(n##3), P(n##4), P(n##5), P(n##6), P(n##7), P(n##8), P(n##9)
	static const struct word_function rows[] = {
		{0},    P(1),   P(2),   P(3),   P(4),   P(5),   P(6),   P(7),   P(8),   P(9),
		P10(1), P10(2), P10(3), P10(4), P10(5), P10(6), P10(7), P10(8), P10(9),
	};
#undef P10
#undef P
	uint64_t n;

	if (name.n < 2 || name.n > 3 || (name.p[0] | 0x20) != 'p' || name.p[1] == '0' ||
	    slice_parse_u64(slice_from(name, 1), &n) < 0 || n >= ARRAY_SIZE(rows))
		return NULL;
	return &rows[n];
}

const struct word_function *word_function(struct slice name, unsigned places)
{
	const struct word_function *p;

	for (const struct word_function *f = functions; f->name; f++)
		if ((f->name[0] | 0x20) == (name.n ? name.p[0] | 0x20 : 0) &&
		    (places == 0 || (f->places & places)) &&
		    slice_eq_nocase(slice_cstr(f->name), name))
			return f;
	p = percentile(name);
	return p && (places == 0 || (p->places & places)) ? p : NULL;
}

const struct word_function *word_functions(void)
{
	return functions;
}
