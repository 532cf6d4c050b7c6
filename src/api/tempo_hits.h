/* api/tempo_hits.h - the newest traces among the rows of a search, each with its first spans.
 *
 * Rows come in any order.  Only so many traces are kept: one that is older than all of them is left
 * out, and what was once left out stays so, because the oldest that is kept only gets newer.  So
 * the count of each trace that is kept at the end is complete. */
#ifndef CAUSET_API_TEMPO_HITS_H
#define CAUSET_API_TEMPO_HITS_H

#include "api/jaeger_summary.h"
#include "base/arena.h"
#include "exec/value.h"

struct tempo_hit_span {
	struct value *values; /* by column of the search */
};

struct tempo_hit {
	int64_t start_ns;
	struct slice id; /* 32 hex digits */
	uint64_t matched;
	struct tempo_hit_span *spans; /* by their time; of several at once, by how they came */
	size_t n;
	/* How many spans each service has in the trace: api/tempo_counts.h; NULL: not known. */
	struct jaeger_summary_service *services;
	size_t service_n;
	struct arena arena;
};

struct tempo_hits {
	size_t limit, spans_most; /* traces, and spans of each */
	size_t column_n;
	size_t time_column, id_column; /* spans are in this order */
	struct tempo_hit **rows;       /* newest first */
	size_t n;
};

/* -ENOMEM. */
int tempo_hits_init(struct tempo_hits *h);
void tempo_hits_done(struct tempo_hits *h);

/* One span of a trace.  -ENOMEM. */
int tempo_hits_add(struct tempo_hits *h, int64_t start_ns, struct slice id,
		   const struct value *values);

#endif
