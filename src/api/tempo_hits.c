/* api/tempo_hits.c - the newest traces among the rows of a search. */
#include "api/tempo_hits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int tempo_hits_init(struct tempo_hits *h)
{
	h->rows = calloc(h->limit + 1, sizeof(*h->rows));
	return h->rows ? 0 : -ENOMEM;
}

static void hit_free(struct tempo_hit *hit)
{
	free(hit->spans);
	arena_done(&hit->arena);
	free(hit);
}

void tempo_hits_done(struct tempo_hits *h)
{
	for (size_t i = 0; i < h->n; i++)
		hit_free(h->rows[i]);
	free(h->rows);
}

/* Newest first, then by id. */
static int order(const struct tempo_hit *hit, int64_t start_ns, struct slice id)
{
	if (hit->start_ns != start_ns)
		return hit->start_ns > start_ns ? -1 : 1;
	return slice_cmp(hit->id, id);
}

static int span_order(const struct tempo_hits *h, const struct value *a, const struct value *b)
{
	int r = value_order(a[h->time_column], b[h->time_column]);

	return r ? r : value_order(a[h->id_column], b[h->id_column]);
}

/* The earliest are kept, so that the same question has the same answer every time. */
static int span_add(const struct tempo_hits *h, struct tempo_hit *hit, const struct value *values)
{
	struct value *copy;
	size_t at = hit->n;

	hit->matched++;
	while (at > 0 && span_order(h, values, hit->spans[at - 1].values) < 0)
		at--;
	if (at == h->spans_most)
		return 0;
	copy = arena_zalloc(&hit->arena, h->column_n + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < h->column_n; i++)
		if (!value_dup(&hit->arena, values[i], &copy[i]))
			return -ENOMEM;
	if (hit->n == h->spans_most) {
		hit->n--;
	} else if ((hit->n & (hit->n - 1)) == 0) {
		size_t room = hit->n ? hit->n * 2 : 1;
		struct tempo_hit_span *more = realloc(hit->spans, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		hit->spans = more;
	}
	memmove(&hit->spans[at + 1], &hit->spans[at], (hit->n - at) * sizeof(*hit->spans));
	hit->spans[at].values = copy;
	hit->n++;
	return 0;
}

int tempo_hits_add(struct tempo_hits *h, int64_t start_ns, struct slice id,
		   const struct value *values)
{
	size_t low = 0, high = h->n;
	struct tempo_hit *fresh;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int r = order(h->rows[middle], start_ns, id);

		if (r == 0)
			return span_add(h, h->rows[middle], values);
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == h->limit)
		return 0;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	fresh->start_ns = start_ns;
	fresh->id = arena_dup(&fresh->arena, id);
	if (!fresh->id.p) {
		hit_free(fresh);
		return -ENOMEM;
	}
	memmove(&h->rows[low + 1], &h->rows[low], (h->n - low) * sizeof(*h->rows));
	h->rows[low] = fresh;
	if (++h->n > h->limit)
		hit_free(h->rows[--h->n]);
	return span_add(h, fresh, values);
}
