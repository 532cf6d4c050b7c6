/* segment/trace_bounds.h - when a trace started and how long it took, from its rows as they are.
 *
 * One definition for summaries, zone maps and searches.  SPAN and BEGIN rows are blocks; an END row
 * says when a begun one ended.  A trace without blocks starts with its first row. */
#ifndef CAUSET_SEGMENT_TRACE_BOUNDS_H
#define CAUSET_SEGMENT_TRACE_BOUNDS_H

#include "model/event.h"

struct trace_bounds {
	uint64_t start, end; /* of blocks so far; start is UINT64_MAX before the first */
	uint64_t first;      /* the first row's time */
	bool any;
};

static inline struct trace_bounds trace_bounds_begin(void)
{
	return (struct trace_bounds){.start = UINT64_MAX};
}

/* Rows in their order. */
static inline void trace_bounds_add(struct trace_bounds *b, const struct event *e)
{
	bool block = e->type == EVENT_SPAN || e->type == EVENT_BEGIN;
	uint64_t last = e->end_ns > e->time_ns ? e->end_ns : e->time_ns;

	if (!b->any)
		b->first = e->time_ns;
	b->any = true;
	if (!block && e->type != EVENT_END)
		return;
	if (block && e->time_ns != 0 && e->time_ns < b->start)
		b->start = e->time_ns;
	if (last > b->end)
		b->end = last;
}

static inline int64_t trace_bounds_clamp(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static inline void trace_bounds_end(const struct trace_bounds *b, int64_t *ret_start_ns,
				    int64_t *ret_duration_ns)
{
	int64_t start = trace_bounds_clamp(b->start), end = trace_bounds_clamp(b->end);

	if (start == INT64_MAX) { /* logs or native events alone */
		start = trace_bounds_clamp(b->first);
		end = end > start ? end : start;
	}
	*ret_start_ns = start;
	*ret_duration_ns = end > start ? end - start : 0;
}

#endif
