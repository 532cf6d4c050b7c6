/* api/tempo_counts.h - how many spans each service has in the traces that a search looks at.
 *
 * An answer tells it of every trace, whatever was asked for.  The question's own run sees all rows
 * of most traces (exec/query.h), so they are counted there and not read again. */
#ifndef CAUSET_API_TEMPO_COUNTS_H
#define CAUSET_API_TEMPO_COUNTS_H

#include "api/jaeger_summary.h"
#include "api/tempo_hits.h"

/* Of a page of candidates; all zero: none. */
struct tempo_counts {
	struct tempo_count {
		char id[TRACE_ID_HEX];
		struct jaeger_summary_service *services;
		size_t n;
	} * rows;
	size_t n, capacity;
	struct arena arena;
};

/* Counts the spans of a trace, which has these rows.  A trace of very many has no counts.
 * -ENOMEM. */
int tempo_counts_add(struct tempo_counts *c, struct trace_id id, const struct event_ref *refs,
		     size_t n);

/* The hits get what is known of them, and the counts are empty again.  -ENOMEM. */
int tempo_counts_give(struct tempo_counts *c, struct tempo_hits *hits);

/* Counts for one hit, which has these rows.  -ENOMEM. */
int tempo_counts_hit(struct tempo_hit *hit, struct trace_id id, const struct event_ref *refs,
		     size_t n);

void tempo_counts_done(struct tempo_counts *c);

#endif
