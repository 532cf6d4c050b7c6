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

/* Does the query ask for a service, and is it this one? */
static inline bool query_asks_service(const struct store_query *q)
{
	return q->service.n > 0 || q->unnamed;
}

static inline bool query_takes_service(const struct store_query *q, struct slice service)
{
	return !query_asks_service(q) || (q->unnamed && service.n == 0) ||
	       (q->service.n > 0 && slice_eq(q->service, service));
}

/* Does the query ask anything of spans at all? */
bool query_asks_spans(const struct store_query *query);

/* Does some span of the trace answer the query (service, operation, tags, owner, span times; and,
 * for the trace as a whole, errors, duration and start)?  Fills start and duration either way. */
bool trace_matches(const struct event_ref *refs, size_t n, const struct store_query *query,
		   int64_t *ret_start_ns, int64_t *ret_duration_ns);

/* The same for a trace that comes in parts, in order of arrival: begin, add each, ask. */
struct trace_fold {
	const struct store_query *query; /* borrowed */
	int64_t start_ns, end_ns, first_ns;
	bool some, errors, any;
};

void trace_fold_begin(struct trace_fold *f, const struct store_query *query);
void trace_fold_add(struct trace_fold *f, const struct event_ref *refs, size_t n);
/* As trace_matches(). */
bool trace_fold_matches(const struct trace_fold *f, int64_t *ret_start_ns,
			int64_t *ret_duration_ns);

/* Fills a summary; texts and arrays lie in the arena.  The same span sent twice counts once.
 * -ENOMEM. */
int trace_summarise(const struct event_ref *refs, size_t n, struct arena *arena,
		    struct trace_summary *ret_summary);

/* Spans and errors by service and operation, added up from wherever they are known.  -ENOMEM. */
struct service_tally;
struct service_tally *service_tally_new(void); /* NULL when out of memory */
struct service_tally *service_tally_free(struct service_tally *t);
int service_tally_add(struct service_tally *t, struct slice service, struct slice operation,
		      uint64_t spans, uint64_t errors, uint32_t kinds);
int service_tally_batch(struct service_tally *t, const struct batch *batch);
int service_tally_merge(struct service_tally *to, const struct service_tally *from);
/* The end of it: nothing may be added afterwards. */
int service_tally_list(struct service_tally *t, struct service_list *ret_list);

/* Counts spans and errors by service and lists its operations.  -ENOMEM. */
int services_summarise(const struct event_ref *refs, size_t n, struct service_list *ret_list);

/* What a search sorts by. */
struct trace_key {
	int64_t start_ns, duration_ns;
	struct trace_id id;
};

/* Below 0 when a comes before b. */
int trace_key_order(enum store_order order, const struct trace_key *a, const struct trace_key *b);

/* Does the trace sort behind where the query's last page ended? */
bool trace_key_is_after(const struct store_query *query, const struct trace_key *key);

#endif
