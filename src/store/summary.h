/* store/summary.h - one trace in a line: what a search shows, computed from the trace's rows.
 *
 * Shared by all engines, so that they cannot disagree. */
#ifndef CAUSET_STORE_SUMMARY_H
#define CAUSET_STORE_SUMMARY_H

#include "base/arena.h"
#include "store/store.h"

/* From the first begin to the last end of its spans; of a trace without spans, from its first row
 * on.  Raw times, cut at INT64_MAX. */
void trace_bounds(const struct event_ref *refs, size_t n, int64_t *ret_start_ns,
		  int64_t *ret_duration_ns);

/* The span that names a trace: without a parent, the earliest, the one with the smallest id; one
 * with a parent where all have one.  Its batch is NULL where there is no span. */
struct event_ref trace_root(const struct event_ref *refs, size_t n);

/* Does the row say that its span failed? */
bool event_failed(const struct event *e);

/* Does some span of the trace answer the query (service, operation, tags, owner; and, for the trace
 * as a whole, errors, duration and start)?  Fills start and duration either way. */
bool trace_matches(const struct event_ref *refs, size_t n, const struct store_query *query,
		   int64_t *ret_start_ns, int64_t *ret_duration_ns);

/* Fills a summary; texts and arrays lie in the arena.  The same span sent twice counts once.
 * -ENOMEM. */
int trace_summarise(const struct event_ref *refs, size_t n, struct arena *arena,
		    struct trace_summary *ret_summary);

/* Counts spans and errors by service and lists its operations.  -ENOMEM. */
int services_summarise(const struct event_ref *refs, size_t n, struct service_list *ret_list);

/* Newest first; equal starts by id. */
int trace_order(int64_t a_start_ns, struct trace_id a, int64_t b_start_ns, struct trace_id b);

#endif
