/* infer/patterns_rank.c - which patterns matter, and what in them. */
#include <stdlib.h>

#include "base/buffer.h"
#include "infer/patterns.h"

#define OUTLIER_COUNT 50  /* instances below which nothing is unusual */
#define OUTLIER_TIMES 3.0 /* the 99th percentile: beyond that is an exception */

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

/* From the end of the hop backwards: the call that returned last was waited for, then the one that
 * returned last before that one was made, and so on; what is left is the node's own. */
static void critical_of(const struct pattern *p, uint32_t hop, double *ret_ns)
{
	double length = spread_mean(&p->hops[hop].latency) - spread_mean(&p->hops[hop].wire);
	double at = length, own = length;

	for (;;) {
		uint32_t last = PATTERN_NONE;
		double last_end = 0, start;

		for (uint32_t k = hop + 1; k < p->hop_n && p->hops[k].depth > p->hops[hop].depth;
		     k++) {
			double end =
				spread_mean(&p->hops[k].delay) + spread_mean(&p->hops[k].latency);

			if (p->hops[k].parent == hop && ret_ns[k] < 0 && end <= at * 1.000001 &&
			    (last == PATTERN_NONE || end > last_end)) {
				last = k;
				last_end = end;
			}
		}
		if (last == PATTERN_NONE)
			break;
		start = spread_mean(&p->hops[last].delay);
		own -= last_end - start;
		at = start;
		ret_ns[last] = 0; /* on the path */
	}
	ret_ns[hop] = own > 0 ? own : 0;
}

void pattern_critical(const struct pattern *p, double *ret_ns)
{
	for (uint32_t i = 0; i < p->hop_n; i++)
		ret_ns[i] = -1;
	ret_ns[0] = 0;
	/* Parents stand before their children; only those on the path are followed. */
	for (uint32_t i = 0; i < p->hop_n; i++)
		if (ret_ns[i] == 0)
			critical_of(p, i, ret_ns);
	for (uint32_t i = 0; i < p->hop_n; i++)
		ret_ns[i] = ret_ns[i] < 0 ? 0 : ret_ns[i];
}

uint32_t pattern_outlier(const struct pattern *p, double *ret_excess_ns)
{
	uint32_t worst = PATTERN_NONE;

	*ret_excess_ns = 0;
	if (p->count < OUTLIER_COUNT ||
	    (double)p->slowest_ns <= OUTLIER_TIMES * spread_quantile(&p->hops[0].latency, 0.99))
		return PATTERN_NONE;
	for (uint32_t i = 0; i < p->hop_n; i++) {
		double excess = (double)p->slowest_own[i] - spread_quantile(&p->hops[i].own, 0.5);

		if (excess > *ret_excess_ns) {
			*ret_excess_ns = excess;
			worst = i;
		}
	}
	return worst;
}
