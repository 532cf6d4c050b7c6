/* api/tempo_search_int.h - a search of Tempo's on its way: api/tempo_search.c finds the traces,
 * api/tempo_search_put.c writes them. */
#ifndef CAUSET_API_TEMPO_SEARCH_INT_H
#define CAUSET_API_TEMPO_SEARCH_INT_H

#include "api/tempo_counts.h"
#include "api/tempo_query.h"

struct tempo_search_asked {
	uint64_t limit, spans;
	bool legacy; /* no sets of spans in the answer */
};

struct tempo_searching {
	struct tempo_query t;
	const struct tempo_search_asked *asked;
	const struct plan_node *node; /* of the spans */
	struct tempo_hits hits;
	/* Columns of its rows. */
	size_t trace, start, root_service, root_name, duration, span, name, time, took;
	bool named, stated; /* the question speaks of names, of status */

	/* Traces that sort before this one, and itself, have been looked at. */
	bool after;
	int64_t after_ns;
	char after_id[TRACE_ID_HEX + 1];
	struct tempo_counts counts; /* of the candidates at hand */
	size_t told;                /* hits that the client knows */
	struct tempo_progress progress;
};

/* Some of the hits as a SearchResponse. */
void tempo_search_put(struct tempo_searching *s, size_t from, size_t to, struct buffer *out);

#endif
