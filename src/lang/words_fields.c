/* lang/words_fields.c - fields of elements, under our names and under Tempo's. */
#include "base/cleanup.h"
#include "lang/words.h"

#define EVENTS (ON_BLOCK | ON_POINT | ON_EDGE | ON_COUNTER | ON_TRACEPOINT)
#define SPANS  (ON_BLOCK | ON_TRACEPOINT)

/* Rows of one id stand together, its own name first. */
static const struct word_field fields[] = {
	{"trace_id", WF_TRACE_ID, TYPE_STRING, 0, ON_ALL, "the trace, 32 hex digits"},
	{"trace:id", WF_TRACE_ID, TYPE_STRING, 0, ON_ALL, NULL},
	{"time", WF_TIME, TYPE_TIME, 0, ON_ALL, "when it happened; of a block, when it began"},
	{"timestamp", WF_TIME, TYPE_TIME, 0, ON_ALL, NULL},
	{"name", WF_NAME, TYPE_STRING, 0, ON_ALL, "its name; of a trace, its root's"},
	{"span:name", WF_NAME, TYPE_STRING, 0, ON_BLOCK, NULL},
	{"service", WF_SERVICE, TYPE_STRING, 0, ON_ALL,
	 "resource service.name; of a trace, its root's"},
	{"host", WF_HOST, TYPE_STRING, 0, ON_ALL,
	 "host.name, else k8s.pod.name, else the sender's address"},
	{"procId", WF_PROC_ID, TYPE_INT, 0, ON_ALL, "process.pid"},
	{"procName", WF_PROC_NAME, TYPE_STRING, 0, ON_ALL,
	 "process.executable.name, else the service"},
	{"threadId", WF_THREAD_ID, TYPE_INT, 0, ON_ALL, "thread.id"},
	{"cpu", WF_CPU, TYPE_INT, 0, EVENTS, "the processor it ran on, where that is known"},
	{"tracepoint", WF_TRACEPOINT, TYPE_STRING, 0, EVENTS,
	 "name of the tracepoint that gave the tuple"},
	{"span_id", WF_SPAN_ID, TYPE_STRING, 0, SPANS | ON_POINT | ON_COUNTER,
	 "the block, 16 hex digits"},
	{"span:id", WF_SPAN_ID, TYPE_STRING, 0, ON_BLOCK, NULL},
	{"parent_id", WF_PARENT_ID, TYPE_STRING, 0, SPANS, "the block above; nil for a root"},
	{"span:parentID", WF_PARENT_ID, TYPE_STRING, 0, ON_BLOCK, NULL},
	{"parent", WF_PARENT_ID, TYPE_STRING, 0, ON_BLOCK, NULL},
	{"parent:id", WF_PARENT_ID, TYPE_STRING, 0, ON_BLOCK, NULL},
	{"kind", WF_KIND, TYPE_KIND, 0, SPANS,
	 "internal, server, client, producer, consumer, unspecified"},
	{"span:kind", WF_KIND, TYPE_KIND, 0, ON_BLOCK, NULL},
	{"status", WF_STATUS, TYPE_STATUS, 0, SPANS, "unset, ok, error"},
	{"span:status", WF_STATUS, TYPE_STATUS, 0, ON_BLOCK, NULL},
	{"statusMessage", WF_STATUS_MESSAGE, TYPE_STRING, 0, SPANS, "what the status says"},
	{"span:statusMessage", WF_STATUS_MESSAGE, TYPE_STRING, 0, ON_BLOCK, NULL},
	{"start", WF_START, TYPE_TIME, 0, SPANS | ON_EDGE | ON_UNIT, "when it began"},
	{"span:start", WF_START, TYPE_TIME, 0, ON_BLOCK, NULL},
	{"end", WF_END, TYPE_TIME, 0, SPANS | ON_EDGE | ON_UNIT,
	 "when it ended; nil while it runs"},
	{"span:end", WF_END, TYPE_TIME, 0, ON_BLOCK, NULL},
	{"duration", WF_DURATION, TYPE_DURATION, 0, SPANS | ON_EDGE | ON_UNIT,
	 "end − start; nil while it runs"},
	{"span:duration", WF_DURATION, TYPE_DURATION, 0, ON_BLOCK, NULL},
	{"self", WF_SELF, TYPE_DURATION, 0, SPANS, "the time in which none of its children ran"},
	{"childCount", WF_CHILD_COUNT, TYPE_INT, 0, SPANS, "how many children it has"},
	{"span:childCount", WF_CHILD_COUNT, TYPE_INT, 0, ON_BLOCK, NULL},
	{"nestedSetLeft", WF_NESTED_LEFT, TYPE_INT, 0, ON_BLOCK,
	 "its number in the order of the tree"},
	{"nestedSetRight", WF_NESTED_RIGHT, TYPE_INT, 0, ON_BLOCK,
	 "its second number, behind those of its descendants"},
	{"nestedSetParent", WF_NESTED_PARENT, TYPE_INT, 0, ON_BLOCK,
	 "its parent's number; -1 for a root, 0 where the parent is missing"},
	{"instrumentation:name", WF_INSTRUMENTATION_NAME, TYPE_STRING, 0, ON_ALL,
	 "the library that reported it"},
	{"instrumentation:version", WF_INSTRUMENTATION_VERSION, TYPE_STRING, 0, ON_ALL,
	 "and its version"},
	{"block", WF_BLOCK, TYPE_STRING, 0, ON_POINT | ON_COUNTER, "span_id of the block it is in"},
	{"type", WF_TYPE, TYPE_STRING, 0, ON_EDGE | ON_POINT,
	 "request, response, queue, fork, join, link, …"},
	{"from", WF_FROM, TYPE_STRING, 0, ON_EDGE, "span_id of the block it comes from"},
	{"to", WF_TO, TYPE_STRING, 0, ON_EDGE, "span_id of the block it goes to"},
	{"confidence", WF_CONFIDENCE, TYPE_FLOAT, 0, ON_EDGE,
	 "1 where it was told, less where it was inferred"},
	{"value", WF_VALUE, TYPE_FLOAT, 0, ON_COUNTER, "what was measured"},
	{"root", WF_ROOT, TYPE_STRING, 0, ON_TRACE, "name of the root span"},
	{"rootName", WF_ROOT, TYPE_STRING, 0, ON_ALL, NULL},
	{"rootTraceName", WF_ROOT, TYPE_STRING, 0, ON_ALL, NULL},
	{"trace:rootName", WF_ROOT, TYPE_STRING, 0, ON_ALL, NULL},
	{"rootServiceName", WF_ROOT_SERVICE, TYPE_STRING, 0, ON_ALL, "service of the root span"},
	{"trace:rootService", WF_ROOT_SERVICE, TYPE_STRING, 0, ON_ALL, NULL},
	{"spans", WF_SPANS, TYPE_INT, 0, ON_TRACE, "how many spans it has"},
	{"errors", WF_ERRORS, TYPE_INT, 0, ON_TRACE, "how many of them failed"},
	{"services", WF_SERVICES, TYPE_LIST, TYPE_STRING, ON_TRACE, "the services that took part"},
	{"pattern", WF_PATTERN, TYPE_STRING, 0, ON_TRACE, "a hash of the execution's shape"},
	{"probability", WF_PROBABILITY, TYPE_FLOAT, 0, ON_TRACE, "with which the trace was kept"},
	{"duration", WF_TRACE_DURATION, TYPE_DURATION, 0, ON_TRACE,
	 "from the trace's first to its last instant"},
	{"traceDuration", WF_TRACE_DURATION, TYPE_DURATION, 0, ON_ALL, NULL},
	{"trace:duration", WF_TRACE_DURATION, TYPE_DURATION, 0, ON_ALL, NULL},
	{"start", WF_TRACE_START, TYPE_TIME, 0, ON_TRACE, "when the trace began"},
	{"trace:start", WF_TRACE_START, TYPE_TIME, 0, ON_ALL, NULL},
	{"end", WF_TRACE_END, TYPE_TIME, 0, ON_TRACE, "when the trace ended"},
	{"trace:end", WF_TRACE_END, TYPE_TIME, 0, ON_ALL, NULL},
	{"thread", WF_THREAD, TYPE_STRING, 0, ON_UNIT, "name of its thread"},
	{"event:name", WF_EVENT_NAME, TYPE_STRING, 0, ON_BLOCK, "name of one of the span's events"},
	{"event:timeSinceStart", WF_EVENT_TIME_SINCE_START, TYPE_DURATION, 0, ON_BLOCK,
	 "from the span's start to one of its events"},
	{"link:traceID", WF_LINK_TRACE_ID, TYPE_STRING, 0, ON_BLOCK,
	 "the trace one of its links points to"},
	{"link:spanID", WF_LINK_SPAN_ID, TYPE_STRING, 0, ON_BLOCK,
	 "the span one of its links points to"},
	{0},
};

const struct word_field *word_field(struct slice name, unsigned on)
{
	for (const struct word_field *f = fields; f->name; f++)
		if ((f->on & on) && slice_eq(slice_cstr(f->name), name))
			return f;
	return NULL;
}

const struct word_field *word_field_row(enum word_field_id id)
{
	for (const struct word_field *f = fields; f->name; f++)
		if (f->id == id)
			return f;
	return NULL;
}

const struct word_field *word_fields(void)
{
	return fields;
}
