/* infer/patterns_bound.c - patterns in bounded memory, whatever a stream brings.
 *
 * Links that are wrong make patterns that are met once, and a stream without an end makes more of
 * them without an end.  When the table is full, the patterns with the least latency in sum are let
 * go until half of it is free; what they had is counted.  A pattern that comes back starts anew, so
 * that counts are low by what was let go of it: never more than rare_most a time. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "infer/patterns_int.h"

static size_t hop_bytes(const struct pattern_hop *h)
{
	return sizeof(*h) + sizeof(int64_t) + spread_bytes(&h->delay) + spread_bytes(&h->latency) +
	       spread_bytes(&h->gap) + spread_bytes(&h->tail) + spread_bytes(&h->own) +
	       spread_bytes(&h->wire);
}

static size_t pattern_bytes(const struct pattern *p)
{
	size_t bytes = sizeof(*p);

	for (uint32_t i = 0; i < p->hop_n; i++)
		bytes += hop_bytes(&p->hops[i]);
	return bytes;
}

/* Takes over the first of a ranking, as many as fit; counts the others. */
static int take_first(struct patterns *to, const struct patterns *from, const uint32_t *rank,
		      const uint32_t *same, size_t most_bytes)
{
	size_t bytes = 0, i = 0;

	for (; i < from->n; i++) {
		bytes += pattern_bytes(&from->at[rank[i]]);
		if (bytes > most_bytes)
			break;
		if (patterns_take(to, &from->at[rank[i]], same) < 0)
			return -ENOMEM;
	}
	for (; i < from->n; i++) {
		const struct pattern *p = &from->at[rank[i]];

		to->rare_paths += p->count;
		to->rare_most = MAX(to->rare_most, p->count);
	}
	return 0;
}

int patterns_bound(struct patterns *p, size_t most_bytes)
{
	_cleanup_(freep)
	uint32_t *rank = NULL;
	_cleanup_(freep)
	uint32_t *same = NULL;
	struct patterns kept;
	size_t bytes = 0;

	for (size_t i = 0; i < p->n; i++)
		bytes += pattern_bytes(&p->at[i]);
	if (bytes <= most_bytes)
		return 0;
	rank = patterns_rank(p, PATTERNS_BY_LATENCY);
	same = malloc((p->nodes->n + 1) * sizeof(*same));
	if (!rank || !same)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nodes->n; i++)
		same[i] = i;
	patterns_init(&kept, p->nodes);
	kept.rare_paths = p->rare_paths;
	kept.rare_most = p->rare_most;
	if (take_first(&kept, p, rank, same, most_bytes / 2) < 0) {
		patterns_done(&kept);
		return -ENOMEM;
	}
	kept.paths = p->paths;
	kept.calls = p->calls;
	patterns_done(p);
	*p = kept;
	return 0;
}
