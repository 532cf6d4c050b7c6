/* api/trace_pick.h - traces that answer a question the store cannot answer alone.
 *
 * Each of the foreign APIs has rules of its own for what a trace must have to be found.  The store
 * rules out what it can (struct store_query: a superset), newest first; what is left is read and
 * asked here. */
#ifndef CAUSET_API_TRACE_PICK_H
#define CAUSET_API_TRACE_PICK_H

#include "http/request.h"
#include "store/store.h"

#define PICK_LOOKED_AT 20000 /* traces that are read for one question, at most */

struct trace_pick {
	struct store *store;
	/* What the store may rule out, without order, limit and cursor. */
	struct store_query query;
	/* What may also stand on a point of the span, an event: traces in which a point has one of
	 * these count as well, whatever the store says of their spans.  The key "event" is also the
	 * point's name. */
	const struct store_tag *points;
	size_t point_n;
	size_t limit; /* how many are wanted */
	/* Only spans that begin here or later count, so traces that ended before are not read. */
	int64_t from_ns;

	/* Does the trace answer?  NULL: all do. */
	bool (*fits)(void *context, const struct event_ref *refs, size_t n);
	/* One that does; the set is the callee's to keep (TAKE it) or leave.  Negative errno: ends
	 * the search. */
	int (*take)(void *context, const struct trace_summary *summary, struct event_set *set);
	void *context;
};

/* What became of it. */
struct trace_picked {
	size_t n;      /* traces taken */
	size_t looked; /* and read */
	size_t giants; /* passed over: too large to be shown whole */
	bool cut;      /* PICK_LOOKED_AT was reached: there may be more */
};

/* Negative errno, also of `take`. */
int trace_pick(const struct trace_pick *pick, struct trace_picked *ret_picked);

/* Says so in a header of the answer (Causet-Notice) where something was left out. */
void trace_picked_tell(struct http_request *req, const struct trace_picked *picked);

#endif
