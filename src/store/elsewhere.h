/* store/elsewhere.h - which segments of a view may have a trace.
 *
 * Most segments' traces are in filters (store/id_filter.h): a trace that is in none of them is in
 * none of these segments.  The others, and those that a filter does not rule out, are asked one by
 * one.  For a loop that does not wait: indices that are looked at stay in memory until the end. */
#ifndef CAUSET_STORE_ELSEWHERE_H
#define CAUSET_STORE_ELSEWHERE_H

#include "store/view.h"

#define ELSEWHERE_FILTERS 32 /* segments of more than so many are asked one by one */

struct elsewhere_segment {
	struct view_segment *segment; /* the view's */
	uint32_t filter;              /* bit of its filter; 0: it has none */
	bool pinned;                  /* its index */
};

struct elsewhere {
	struct id_filter *filters[ELSEWHERE_FILTERS];
	size_t filter_n;
	struct elsewhere_segment *segments; /* newest first */
	size_t segment_n;
	size_t filtered_n; /* of them */
};

/* -ENOMEM. */
int elsewhere_init(struct elsewhere *e, const struct view *v);
void elsewhere_done(struct elsewhere *e);

/* Fetches what the next one looks at. */
static inline __attribute__((always_inline)) void elsewhere_fetch(const struct elsewhere *e,
								  uint64_t hash)
{
	for (size_t i = 0; i < e->filter_n; i++)
		id_filter_fetch(e->filters[i], hash);
}

/* The filters that do not rule out a trace with this segment_id_hash(), by their bits. */
static inline uint32_t elsewhere_filters(const struct elsewhere *e, uint64_t hash)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < e->filter_n; i++)
		bits |= (uint32_t)id_filter_has(e->filters[i], hash) << i;
	return bits;
}

/* Has a segment the trace, as far as its index says?  1: perhaps; 0; -ENOMEM. */
int elsewhere_indexed(struct elsewhere_segment *s, uint64_t hash);

/* Has any of them the trace?  1: yes, or it cannot be read; 0; -ENOMEM. */
int elsewhere_has(struct elsewhere *e, struct trace_id id, uint64_t hash);

#endif
