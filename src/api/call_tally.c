/* api/call_tally.c - who called whom how often. */
#include "api/call_tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "core/hash.h"

void call_tally_init(struct call_tally *t)
{
	*t = (struct call_tally){0};
	map_init(&t->by_name);
}

void call_tally_done(struct call_tally *t)
{
	map_done(&t->by_name);
	arena_done(&t->arena);
	free(t->rows);
	*t = (struct call_tally){0};
}

static bool pair_is(const void *context, uint32_t value, const void *key)
{
	const struct call_pair *a = &((const struct call_tally *)context)->rows[value], *b = key;

	return slice_eq(a->parent, b->parent) && slice_eq(a->child, b->child);
}

int call_tally_add(struct call_tally *t, struct slice parent, struct slice child, bool error)
{
	struct call_pair key = {.parent = parent, .child = child};
	uint64_t hash =
		hash_bytes(child.p, child.n, hash_bytes(parent.p, parent.n, t->by_name.seed));
	uint32_t at = map_get(&t->by_name, hash, pair_is, t, &key);

	if (at == MAP_NONE) {
		if (t->n == CALL_PAIRS_MOST)
			return -E2BIG;
		key.parent = arena_dup(&t->arena, parent);
		key.child = arena_dup(&t->arena, child);
		if (!key.parent.p || !key.child.p ||
		    !vec_reserve(&t->rows, &t->capacity, t->n + 1, sizeof(*t->rows)) ||
		    !map_put(&t->by_name, hash, (uint32_t)t->n))
			return -ENOMEM;
		at = (uint32_t)t->n++;
		t->rows[at] = key;
	}
	t->rows[at].calls++;
	t->rows[at].errors += error;
	return 0;
}

struct counting {
	struct call_tally *tally;
	bool (*counts)(const struct span_seen *span);
};

static int count_span(void *context, const struct span_seen *span)
{
	struct counting *c = context;
	struct slice child = span->service.n ? span->service : c->tally->unnamed,
		     parent = span->parent_service.n ? span->parent_service : c->tally->unnamed;

	if (!span->has_parent || child.n == 0 || parent.n == 0)
		return 0;
	if (c->counts && !c->counts(span))
		return 0;
	return call_tally_add(c->tally, parent, child, span->status == STATUS_ERROR);
}

static int by_name(const void *a, const void *b)
{
	const struct call_pair *x = a, *y = b;
	int c = slice_cmp(x->parent, y->parent);

	return c ? c : slice_cmp(x->child, y->child);
}

void call_tally_sort(struct call_tally *t)
{
	if (t->n > 1)
		qsort(t->rows, t->n, sizeof(*t->rows), by_name);
}

int call_tally_store(struct call_tally *t, struct store *store, int64_t from_ns, int64_t to_ns,
		     bool (*counts)(const struct span_seen *span))
{
	struct counting c = {t, counts};
	const struct store_walk walk = {
		.from_ns = from_ns, .to_ns = to_ns, .span = count_span, .context = &c};
	int r = store_spans(store, &walk);

	if (r == 0)
		call_tally_sort(t);
	return r;
}
