/* infer/patterns_rank.c - which patterns matter, and what in them. */
#include <stdlib.h>

#include "base/buffer.h"
#include "infer/patterns.h"

struct ranked {
	double weight, second;
	uint32_t at;
};

static int heavier(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->second != y->second)
		return x->second > y->second ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

uint32_t *patterns_rank(const struct patterns *p, enum patterns_order order)
{
	struct ranked *ranked = malloc((p->n ? p->n : 1) * sizeof(*ranked));
	uint32_t *numbers = malloc((p->n ? p->n : 1) * sizeof(*numbers));

	if (!ranked || !numbers) {
		free(ranked);
		free(numbers);
		return NULL;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		double count = (double)p->at[i].count, total = pattern_total_ns(&p->at[i]);

		ranked[i] = order == PATTERNS_BY_COUNT ? (struct ranked){count, total, i}
						       : (struct ranked){total, count, i};
	}
	qsort(ranked, p->n, sizeof(*ranked), heavier);
	for (size_t i = 0; i < p->n; i++)
		numbers[i] = ranked[i].at;
	free(ranked);
	return numbers;
}

uint32_t pattern_costliest(const struct pattern *p, double *ret_own_ns)
{
	uint32_t best = 0;
	double most = -1;

	/* A node met several times counts with all of its hops; the first one stands for it. */
	for (uint32_t i = 0; i < p->hop_n; i++) {
		double own = 0;
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = p->hops[k].node == p->hops[i].node;
		for (uint32_t k = i; k < p->hop_n && !seen; k++)
			if (p->hops[k].node == p->hops[i].node)
				own += p->hops[k].own.sum;
		if (!seen && own > most) {
			most = own;
			best = i;
		}
	}
	*ret_own_ns = p->count ? most / (double)p->count : 0;
	return best;
}

void pattern_format(const struct pattern *p, const struct names *nodes, struct buffer *out)
{
	buffer_slice(out, names_get(nodes, p->client));
	buffer_byte(out, '>');
	for (uint32_t i = 0; i < p->hop_n; i++) {
		uint32_t next = i + 1 < p->hop_n ? p->hops[i + 1].depth : 0;

		buffer_slice(out, names_get(nodes, p->hops[i].node));
		if (next > p->hops[i].depth)
			buffer_byte(out, '(');
		for (uint32_t d = p->hops[i].depth; d > next; d--)
			buffer_byte(out, ')');
		if (i + 1 < p->hop_n && next <= p->hops[i].depth)
			buffer_byte(out, ',');
	}
}
