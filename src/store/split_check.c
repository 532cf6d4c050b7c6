/* store/split_check.c - do the lists of split traces say what the segments hold? */
#include "store/split_check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/u64.h"
#include "base/vec.h"
#include "core/wide.h"
#include "segment/group.h"

#define HASHES_MOST ((size_t)16 << 20) /* traces compared between segments; 8 bytes each */

void split_check_done(struct split_check *c)
{
	free(c->hashes);
	free(c->listed);
	*c = (struct split_check){0};
}

/* Not the one of the index: ids that it cannot tell apart would be taken for damage. */
static uint64_t hash_of(struct trace_id id)
{
	return wide_hash_bytes((const char *)id.b, sizeof(id.b), rng_process_seed());
}

static void u64_sort(uint64_t *items, size_t n)
{
	if (n > 1)
		qsort(items, n, sizeof(*items), u64_order);
}

static bool u64_has(const uint64_t *items, size_t n, uint64_t item)
{
	return n > 0 && bsearch(&item, items, n, sizeof(*items), u64_order) != NULL;
}

/* Adds the hashes of a segment's traces, each once. */
static int gather(struct split_check *c, struct segment *s)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	uint32_t groups = segment_info(s)->groups;

	for (uint32_t i = 0; i < groups; i++) {
		const struct group_piece *pieces;
		uint32_t n;
		int r = g ? group_reopen(g, i) : group_open(s, i, &g);

		if (r == 0)
			r = group_pieces(g, &pieces, &n);
		if (r < 0)
			return r;
		if (!vec_reserve(&c->hashes, &c->hash_capacity, c->hash_n + n, sizeof(uint64_t)))
			return -ENOMEM;
		for (uint32_t k = group_zone(g)->continues ? 1 : 0; k < n; k++)
			c->hashes[c->hash_n++] = hash_of(pieces[k].id);
	}
	return 0;
}

int split_check_add(struct split_check *c, struct segment *s, size_t *ret_missing)
{
	size_t from = c->hash_n, n;
	const struct trace_id *ids;
	int r;

	*ret_missing = 0;
	if (c->hash_n + segment_info(s)->pieces > HASHES_MOST) {
		c->too_many = true;
		return 0;
	}
	r = gather(c, s);
	if (r == 0)
		r = segment_split(s, &ids, &n);
	if (r < 0)
		return r;
	u64_sort(c->hashes + from, c->hash_n - from);
	if (!vec_reserve(&c->listed, &c->listed_capacity, c->listed_n + n, sizeof(uint64_t)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t hash = hash_of(ids[i]);

		*ret_missing += !u64_has(c->hashes + from, c->hash_n - from, hash);
		c->listed[c->listed_n++] = hash;
	}
	return 0;
}

size_t split_check_apart(struct split_check *c)
{
	size_t n = 0;

	if (c->too_many)
		return 0;
	u64_sort(c->hashes, c->hash_n);
	u64_sort(c->listed, c->listed_n);
	for (size_t i = 1; i < c->hash_n; i++)
		n += c->hashes[i] == c->hashes[i - 1] &&
		     (i == 1 || c->hashes[i] != c->hashes[i - 2]) &&
		     !u64_has(c->listed, c->listed_n, c->hashes[i]);
	return n;
}
