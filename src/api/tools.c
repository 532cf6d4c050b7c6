/* api/tools.c - every tool: what it is called, what it says of itself, what it takes. */
#include "api/tool_int.h"

#define WINDOW                                                                                     \
	{.name = "start",                                                                          \
	 .type = TOOL_MOMENT,                                                                      \
	 .doc = "what began then or later: RFC 3339, a number since 1970, or -1h; everything "     \
		"when left out"},                                                                  \
	{                                                                                          \
		.name = "end", .type = TOOL_MOMENT, .doc = "what began before then"                \
	}

#define TRACE_ID                                                                                   \
	{                                                                                          \
		.name = "trace_id", .type = TOOL_TRACE, .required = true,                          \
		.doc = "the trace: up to 32 hex digits, or a traceparent"                          \
	}

#define LIMIT(rows)                                                                                \
	{                                                                                          \
		.name = "limit", .type = TOOL_NUMBER, .fallback = (rows), .least = 1,              \
		.most = TOOL_ROWS_MOST, .doc = "most rows of a page"                               \
	}

#define MAX_SPANS(spans)                                                                           \
	{                                                                                          \
		.name = "max_spans", .type = TOOL_NUMBER, .fallback = (spans), .least = 1,         \
		.most = TOOL_ROWS_MOST, .doc = "most spans of a page"                              \
	}

#define DIALECT                                                                                    \
	{                                                                                          \
		.name = "dialect", .type = TOOL_CHOICE, .choices = dialects,                       \
		.doc = "traceql: && and || bind equally, as in Tempo"                              \
	}

static const char *const dialects[] = {"causetql", "traceql", NULL}; /* enum lang_dialect */
static const char *const orders[] = {"newest", "slowest", NULL};

const struct tool tools[] = {
	{.name = "services",
	 .title = "Services and operations",
	 .doc = "Which services have sent spans, with counts of spans, errors and operations. With "
		"a service: its operations with their latencies. Start here.",
	 .role = ROLE_READ,
	 .rows = "rows",
	 .params = {{.name = "service",
		     .type = TOOL_TEXT,
		     .doc = "list the operations of this service"},
		    LIMIT(100)},
	 .run = tool_services},
	{.name = "dependencies",
	 .title = "Who calls whom",
	 .doc = "Pairs of services, caller and callee, with calls and errors.",
	 .role = ROLE_READ,
	 .rows = "rows",
	 .params = {WINDOW, LIMIT(100)},
	 .run = tool_dependencies},
	{.name = "attributes",
	 .title = "Attributes and their values",
	 .doc = "Names of attributes by scope, from the newest traces; with a name, its values and "
		"how many spans have each. Look here before writing a condition.",
	 .role = ROLE_QUERY,
	 .rows = "rows",
	 .params = {{.name = "name",
		     .type = TOOL_TEXT,
		     .doc = "count the values of this attribute, such as span.http.route or "
			    "resource.host.name"},
		    {.name = "service", .type = TOOL_TEXT, .doc = "only spans of this service"},
		    WINDOW,
		    LIMIT(100)},
	 .run = tool_attributes},
	{.name = "search",
	 .title = "Find traces",
	 .doc = "Traces by service, operation, attributes, errors, duration and time, newest or "
		"slowest first; every argument is optional. For any other condition use query.",
	 .role = ROLE_READ,
	 .rows = "traces",
	 .params = {{.name = "service", .type = TOOL_TEXT, .doc = "some span has this service"},
		    {.name = "operation", .type = TOOL_TEXT, .doc = "the same span has this name"},
		    {.name = "tags",
		     .type = TOOL_TEXTS,
		     .doc = "the same span has these attributes: [\"key=value\", …]"},
		    {.name = "errors", .type = TOOL_FLAG, .doc = "only traces with a failed span"},
		    {.name = "min_duration",
		     .type = TOOL_DURATION,
		     .doc = "of the whole trace, such as 250ms"},
		    {.name = "max_duration", .type = TOOL_DURATION, .doc = "of the whole trace"},
		    WINDOW,
		    {.name = "order",
		     .type = TOOL_CHOICE,
		     .choices = orders,
		     .doc = "which come first"},
		    LIMIT(20)},
	 .run = tool_search},
	{.name = "trace_summary",
	 .title = "Overview of a trace",
	 .doc = "What one trace is made of, however large: root, duration, errors with their "
		"messages, and its operations by own time. Then look closer with critical_path, "
		"subtree and span_details.",
	 .role = ROLE_READ,
	 .rows = "operations",
	 .params = {TRACE_ID, LIMIT(50)},
	 .run = tool_trace_summary},
	{.name = "subtree",
	 .title = "Spans of a trace as a tree",
	 .doc = "Spans below one span (or all roots) in the order of the tree, some levels deep, "
		"without attributes; hidden_below says what the depth leaves out.",
	 .role = ROLE_READ,
	 .rows = "spans",
	 .params = {TRACE_ID,
		    {.name = "span_id",
		     .type = TOOL_SPAN,
		     .doc = "the top; all roots when left out"},
		    {.name = "depth",
		     .type = TOOL_NUMBER,
		     .fallback = 4,
		     .least = 0,
		     .most = 100000,
		     .doc = "levels below the top; with errors and left out: all"},
		    {.name = "errors", .type = TOOL_FLAG, .doc = "only spans that failed"},
		    MAX_SPANS(100)},
	 .run = tool_subtree},
	{.name = "span_details",
	 .title = "Everything about single spans",
	 .doc = "Attributes, resource, events and status of some spans of a trace.",
	 .role = ROLE_READ,
	 .rows = "spans",
	 .params = {TRACE_ID,
		    {.name = "span_ids",
		     .type = TOOL_TEXTS,
		     .required = true,
		     .doc = "the spans, 16 hex digits each"},
		    MAX_SPANS(20)},
	 .run = tool_span_details},
	{.name = "critical_path",
	 .title = "What the time was spent on",
	 .doc = "The chain of work and waiting that a trace (or one span) took as long as: its "
		"segments add up to the duration. Work that is not on it does not make the trace "
		"slower.",
	 .role = ROLE_READ,
	 .rows = "segments",
	 .params = {TRACE_ID,
		    {.name = "span_id",
		     .type = TOOL_SPAN,
		     .doc = "of this span instead of the whole trace"},
		    MAX_SPANS(50)},
	 .run = tool_critical_path},
	{.name = "compare",
	 .title = "What is different about some spans",
	 .doc = "Ranks every attribute and trace shape by how much it tells one set of spans from "
		"another: slow from fast, failed from good, after a deploy from before.",
	 .role = ROLE_QUERY,
	 .rows = "rows",
	 .params =
		 {{.name = "selected",
		   .type = TOOL_TEXT,
		   .required = true,
		   .doc = "the spans in question, as CausetQL reads it (&& binds tighter than ||): "
			  "{ name = \"GET /\" && duration > 1s }"},
		  {.name = "rest",
		   .type = TOOL_TEXT,
		   .doc = "what they are compared with: { name = \"GET /\" && duration <= 1s }; "
			  "all spans when left out"},
		  WINDOW,
		  LIMIT(30)},
	 .run = tool_compare},
	{.name = "patterns",
	 .title = "Shapes of traces",
	 .doc = "Groups traces by what calls what, most frequent first, with latencies and an "
		"example of each.",
	 .role = ROLE_QUERY,
	 .rows = "rows",
	 .params = {{.name = "service", .type = TOOL_TEXT, .doc = "service of the root span"},
		    {.name = "root_name", .type = TOOL_TEXT, .doc = "name of the root span"},
		    WINDOW,
		    LIMIT(30)},
	 .run = tool_patterns},
	{.name = "query",
	 .title = "Ask in CausetQL or TraceQL",
	 .doc = "Runs a query over the stored traces: TraceQL such as { status = error } | rate() "
		"by (resource.service.name), or CausetQL such as From s In spans Where s.status = "
		"error GroupBy s.service Select COUNT, p99(s.duration). The tool docs describes "
		"the language; explain checks without running.",
	 .role = ROLE_QUERY,
	 .rows = "rows",
	 .params = {{.name = "query",
		     .type = TOOL_TEXT,
		     .required = true,
		     .doc = "the text of the query"},
		    DIALECT,
		    WINDOW,
		    {.name = "step",
		     .type = TOOL_DURATION,
		     .doc = "of series, where the query says none"},
		    LIMIT(100)},
	 .run = tool_query},
	{.name = "explain",
	 .title = "Check a query",
	 .doc = "Whether a query is right, and how it would be run, without running it.",
	 .role = ROLE_QUERY,
	 .rows = "plan",
	 .params = {{.name = "query",
		     .type = TOOL_TEXT,
		     .required = true,
		     .doc = "the text of the query"},
		    DIALECT,
		    {.name = "live",
		     .type = TOOL_FLAG,
		     .doc = "also how it would run inside live processes"},
		    LIMIT(200)},
	 .run = tool_explain},
	{.name = "tracepoints",
	 .title = "Named sources of events",
	 .doc = "The tracepoints that are defined, which queries can be asked of.",
	 .role = ROLE_QUERY,
	 .rows = "rows",
	 .params = {LIMIT(100)},
	 .run = tool_tracepoints},
	{.name = "docs",
	 .title = "The language, described",
	 .doc = "Sections of the description of CausetQL (which includes TraceQL), with examples.",
	 .role = ROLE_READ,
	 .rows = "paragraphs",
	 .params = {{.name = "topic",
		     .type = TOOL_TEXT,
		     .doc = "one section; without it, the list of sections"},
		    {.name = "find",
		     .type = TOOL_TEXT,
		     .doc = "paragraphs with all of these words"},
		    LIMIT(50)},
	 .run = tool_docs},
	{0},
};
