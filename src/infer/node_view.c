/* infer/node_view.c - calls by node: one counting sort a side, then each node put in order.
 *
 * Calls come in order of start, so a node's are nearly in order of anything else: insertion is
 * tried first, and given up for a radix sort when too much has to be moved. */
#include "infer/node_view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"

#define MOVES_PER_ITEM 16

static int64_t key_of(const struct calls *calls, uint32_t call, bool in)
{
	return in ? call_recv_ns(calls, call) : calls->at[call].end_ns;
}

/* False when it takes too long; the items are then still all there. */
static bool insertion_sort(const struct calls *calls, uint32_t *at, size_t n, bool in)
{
	size_t moves = n * MOVES_PER_ITEM + 64;

	for (size_t i = 1; i < n; i++) {
		uint32_t item = at[i];
		int64_t key = key_of(calls, item, in);
		size_t k = i;

		for (; k > 0 && key_of(calls, at[k - 1], in) > key; k--)
			at[k] = at[k - 1];
		at[k] = item;
		if (i - k > moves)
			return false;
		moves -= i - k;
	}
	return true;
}

static int node_sort(const struct calls *calls, uint32_t *at, size_t n, bool in)
{
	_cleanup_(freep)
	struct radix_item *items = NULL;

	if (insertion_sort(calls, at, n, in))
		return 0;
	items = malloc(2 * n * sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		items[i] =
			(struct radix_item){(uint64_t)key_of(calls, at[i], in) ^ 1ULL << 63, at[i]};
	radix_sort(items, items + n, n);
	for (size_t i = 0; i < n; i++)
		at[i] = items[i].value;
	return 0;
}

static int side_init(const struct calls *calls, uint32_t node_n, bool in, uint32_t **ret_start,
		     uint32_t **ret_at)
{
	uint32_t *start = *ret_start = calloc((size_t)node_n + 2, sizeof(*start));
	uint32_t *at = *ret_at = malloc((calls->n ? calls->n : 1) * sizeof(*at));

	if (!start || !at)
		return -ENOMEM;
	for (size_t i = 0; i < calls->n; i++)
		start[(in ? calls->at[i].callee : calls->at[i].caller) + 2]++;
	for (uint32_t k = 2; k <= node_n + 1; k++)
		start[k] += start[k - 1];
	/* start[k + 1] is where the next call of node k goes, and in the end where node k + 1
	 * starts. */
	for (size_t i = 0; i < calls->n; i++)
		at[start[(in ? calls->at[i].callee : calls->at[i].caller) + 1]++] = (uint32_t)i;
	for (uint32_t k = 0; k < node_n; k++)
		if (node_sort(calls, at + start[k], start[k + 1] - start[k], in) < 0)
			return -ENOMEM;
	return 0;
}

int node_view_init(struct node_view *v, const struct calls *calls)
{
	*v = (struct node_view){0};
	for (size_t i = 0; i < calls->n; i++) {
		v->node_n = MAX(v->node_n, calls->at[i].caller + 1);
		v->node_n = MAX(v->node_n, calls->at[i].callee + 1);
	}
	if (side_init(calls, v->node_n, true, &v->in_start, &v->in) < 0 ||
	    side_init(calls, v->node_n, false, &v->out_start, &v->out) < 0) {
		node_view_done(v);
		return -ENOMEM;
	}
	return 0;
}

void node_view_done(struct node_view *v)
{
	free(v->in_start);
	free(v->out_start);
	free(v->in);
	free(v->out);
	*v = (struct node_view){0};
}
