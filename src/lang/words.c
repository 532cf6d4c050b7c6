/* lang/words.c - keywords, scopes, sources, constants and hints, and how words are found. */
#include "lang/words.h"

#include "base/cleanup.h"

static const struct word_key keys[KEYWORDS] = {
	[KEY_FROM] = {"From", KEY_FROM, false, "begins a query: From alias In source"},
	[KEY_SEQUENCE] = {"Sequence", KEY_SEQUENCE, false,
			  "begins a pattern of events in causal order"},
	[KEY_DATASET] = {"Dataset", KEY_DATASET, false, "defines rows that are computed per trace"},
	[KEY_TRACEPOINT] = {"Tracepoint", KEY_TRACEPOINT, false, "gives a set of events a name"},
	[KEY_JOIN] = {"Join", KEY_JOIN, true, "Join alias In source On alias -> other"},
	[KEY_LEFT] = {"Left", KEY_LEFT, true, "Left Join: keep tuples without a partner"},
	[KEY_ANTI] = {"Anti", KEY_ANTI, true, "Anti Join: keep only tuples without a partner"},
	[KEY_WHERE] = {"Where", KEY_WHERE, true, "keep tuples for which the condition holds"},
	[KEY_HAVING] = {"Having", KEY_HAVING, true, "keep groups for which the condition holds"},
	[KEY_LET] = {"Let", KEY_LET, true, "Let name = expression"},
	[KEY_GROUPBY] = {"GroupBy", KEY_GROUPBY, true, "one row for each combination of values"},
	[KEY_GROUP] = {"Group", KEY_GROUP, true, "Group By, the same as GroupBy"},
	[KEY_SELECT] = {"Select", KEY_SELECT, true, "the columns of the result"},
	[KEY_ORDERBY] = {"OrderBy", KEY_ORDERBY, true, "the order of the rows"},
	[KEY_ORDER] = {"Order", KEY_ORDER, true, "Order By, the same as OrderBy"},
	[KEY_LIMIT] = {"Limit", KEY_LIMIT, true, "at most so many rows"},
	[KEY_UNION] = {"Union", KEY_UNION, true, "and the rows of another query"},
	[KEY_INTO] = {"Into", KEY_INTO, true, "where the rows go"},
	[KEY_OVER] = {"Over", KEY_OVER, true, "Over live, Over last 1h, Over range \"a\" .. \"b\""},
	[KEY_FOR] = {"For", KEY_FOR, true, "how long a live query runs"},
	[KEY_EVERY] = {"Every", KEY_EVERY, true, "how often a live query reports"},
	[KEY_WINDOW] = {"Window", KEY_WINDOW, true, "rows per window of time: Window 1m Slide 10s"},
	[KEY_SAMPLE] = {"Sample", KEY_SAMPLE, true, "a share of the tuples: Sample 0.1"},
	[KEY_IN] = {"In", KEY_IN, false, "alias In source; value in [list]"},
	[KEY_ON] = {"On", KEY_ON, false, "the condition of a join"},
	[KEY_WITHIN] = {"Within", KEY_WITHIN, false, "the most time between partners or steps"},
	[KEY_BY] = {"By", KEY_BY, false, "rate() by (x); Sequence By x"},
	[KEY_AS] = {"As", KEY_AS, false, "names a column"},
	[KEY_ASC] = {"Asc", KEY_ASC, false, "smallest first"},
	[KEY_DESC] = {"Desc", KEY_DESC, false, "largest first"},
	[KEY_DISTINCT] = {"Distinct", KEY_DISTINCT, false, "Select Distinct: equal rows once"},
	[KEY_LIVE] = {"live", KEY_LIVE, false, "Over live"},
	[KEY_LAST] = {"last", KEY_LAST, false, "Over last 1h"},
	[KEY_RANGE] = {"range", KEY_RANGE, false, "Over range \"a\" .. \"b\""},
	[KEY_SLIDE] = {"Slide", KEY_SLIDE, false, "how far a window moves"},
	[KEY_UNTIL] = {"Until", KEY_UNTIL, false, "ends a sequence that is not complete"},
	[KEY_WITH] = {"with", KEY_WITH, false, "hints: with (sample = 0.1)"},
	[KEY_AND] = {"and", KEY_AND, false, "&&"},
	[KEY_OR] = {"or", KEY_OR, false, "||"},
	[KEY_NOT] = {"not", KEY_NOT, false, "!"},
	[KEY_TRUE] = {"true", KEY_TRUE, false, "a condition that holds"},
	[KEY_FALSE] = {"false", KEY_FALSE, false, "a condition that does not"},
	[KEY_NIL] = {"nil", KEY_NIL, false, "no value: span.x = nil where there is no x"},
	[KEY_OWNER] = {"Owner", KEY_OWNER, false, "who a dataset belongs to"},
	[KEY_PER] = {"Per", KEY_PER, false, "what a row of a dataset stands for"},
	[KEY_RETAIN] = {"Retain", KEY_RETAIN, false, "how long rows are kept"},
	[KEY_AFTER] = {"After", KEY_AFTER, false, "a trace is ready so long after its first event"},
	[KEY_SINCE] = {"since", KEY_SINCE, false, "After 10m since { … }"},
	[KEY_ROOT] = {"root", KEY_ROOT, false, "On root end: a trace is ready when its root ends"},
	[KEY_END] = {"end", KEY_END, false, "On root end"},
	[KEY_ERROR] = {"error", KEY_ERROR, false, "On error: a trace is ready when an error comes"},
	[KEY_EXPORTS] = {"Exports", KEY_EXPORTS, false, "the fields a tracepoint gives"},
};

enum word_keyword word_keyword(struct slice text)
{
	if (text.n < 2 || text.n > 10)
		return KEY_NONE;
	for (size_t i = 1; i < KEYWORDS; i++)
		if ((keys[i].name[0] | 0x20) == (text.p[0] | 0x20) &&
		    slice_eq_nocase(slice_cstr(keys[i].name), text))
			return (enum word_keyword)i;
	return KEY_NONE;
}

const struct word_key *word_key(enum word_keyword key)
{
	return &keys[key];
}

static const char *const scopes[WORD_SCOPES] = {
	[WORD_SCOPE_NONE] = "",
	[WORD_SCOPE_SPAN] = "span",
	[WORD_SCOPE_RESOURCE] = "resource",
	[WORD_SCOPE_EVENT] = "event",
	[WORD_SCOPE_LINK] = "link",
	[WORD_SCOPE_INSTRUMENTATION] = "instrumentation",
	[WORD_SCOPE_TRACE] = "trace",
	[WORD_SCOPE_PARENT] = "parent",
	[WORD_SCOPE_ROOT] = "root",
};

enum word_scope word_scope(struct slice name)
{
	for (size_t i = 1; i < WORD_SCOPES; i++)
		if (slice_eq(slice_cstr(scopes[i]), name))
			return (enum word_scope)i;
	return WORD_SCOPE_NONE;
}

const char *word_scope_name(enum word_scope scope)
{
	return scopes[scope];
}

static const struct word_source sources[] = {
	{"spans", WS_SPANS, TYPE_BLOCK, ON_BLOCK, "blocks that came as spans"},
	{"blocks", WS_BLOCKS, TYPE_BLOCK, ON_BLOCK, "stretches of work with a begin and an end"},
	{"points", WS_POINTS, TYPE_POINT, ON_POINT,
	 "instants inside of blocks: logs, marks, span events"},
	{"edges", WS_EDGES, TYPE_EDGE, ON_EDGE, "what caused what across blocks"},
	{"units", WS_UNITS, TYPE_UNIT, ON_UNIT, "execution units: threads of work"},
	{"counters", WS_COUNTERS, TYPE_COUNTER, ON_COUNTER, "measured values"},
	{"traces", WS_TRACES, TYPE_TRACE, ON_TRACE, "one row per trace"},
	{0},
};

const struct word_source *word_source(struct slice name)
{
	for (const struct word_source *s = sources; s->name; s++)
		if (slice_eq(slice_cstr(s->name), name))
			return s;
	return NULL;
}

const struct word_source *word_sources(void)
{
	return sources;
}

static const struct word_constant constants[] = {
	{"unset", TYPE_STATUS, 0},  {"ok", TYPE_STATUS, 1},
	{"error", TYPE_STATUS, 2},  {"unspecified", TYPE_KIND, 0},
	{"internal", TYPE_KIND, 1}, {"server", TYPE_KIND, 2},
	{"client", TYPE_KIND, 3},   {"producer", TYPE_KIND, 4},
	{"consumer", TYPE_KIND, 5}, {0},
};

const struct word_constant *word_constant(struct slice name)
{
	for (const struct word_constant *c = constants; c->name; c++)
		if (slice_eq(slice_cstr(c->name), name))
			return c;
	return NULL;
}

const struct word_constant *word_constants(void)
{
	return constants;
}

static const struct word_hint hints[] = {
	{"exemplars", "a", "how many traces to name beside a series; true for the usual number"},
	{"sample", "a", "the share of traces to look at, above 0 and up to 1; true: all"},
	{"span_sample", "a", "the same: whole traces are kept"},
	{"trace_sample", "a", "the same"},
	{"most_recent", "b", "the newest traces first"},
	{"extrapolate", "b", "weight counts by what sampling left out (always on here)"},
	{"debug", "b", "accepted and without effect"},
	{"skip", "a", "accepted and without effect"},
	{"step", "a", "the distance between two points of a series: with (step = 1m)"},
	{0},
};

const struct word_hint *word_hint(struct slice name)
{
	for (const struct word_hint *h = hints; h->name; h++)
		if (slice_eq_nocase(slice_cstr(h->name), name))
			return h;
	return NULL;
}

const struct word_hint *word_hints(void)
{
	return hints;
}
