/* api/tool_int.h - the tools behind api/tools.c's table, and the steps of a call. */
#ifndef CAUSET_API_TOOL_INT_H
#define CAUSET_API_TOOL_INT_H

#include "api/tool.h"
#include "model/trace.h"

/* Reads arguments into call->values, max_bytes and cursor.  -EINVAL, -ENOMEM. */
int tool_arguments_read(struct tool_call *call, struct slice arguments);

/* What every tool takes besides its own: max_bytes, cursor. */
extern const struct tool_param tool_shared_params[];

/* Looks rows up that a query gives; each becomes a row of the answer.  `dialect` is
 * enum lang_dialect.  The columns are put into the answer's tail. */
int tool_query_rows(struct tool_call *call, struct slice text, int dialect);

/* A trace that was asked for, built. */
struct tool_trace {
	struct event_set set;
	struct trace *trace;
};

int tool_trace_open(struct tool_call *call, struct tool_trace *ret_trace);
void tool_trace_done(struct tool_trace *t);
/* The block that `span_id` names; TRACE_NONE when none was given.  -ENOENT. */
int tool_trace_span(struct tool_call *call, const struct trace *t, uint32_t *ret_block);

int tool_services(struct tool_call *call);
int tool_dependencies(struct tool_call *call);
int tool_attributes(struct tool_call *call);
int tool_search(struct tool_call *call);
int tool_query(struct tool_call *call);
int tool_explain(struct tool_call *call);
int tool_compare(struct tool_call *call);
int tool_patterns(struct tool_call *call);
int tool_trace_summary(struct tool_call *call);
int tool_subtree(struct tool_call *call);
int tool_span_details(struct tool_call *call);
int tool_critical_path(struct tool_call *call);
int tool_tracepoints(struct tool_call *call);
int tool_docs(struct tool_call *call);

#endif
