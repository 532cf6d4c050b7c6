/* exec/hb_join.c - happened-before joins over one trace, and the causally first or last of tuples.
 *
 * For every tuple of the first input, its partners: those whose anchor happened before its own (or
 * after), of them the first or last few if so asked, of those the ones that further conditions
 * leave.  Packing (Table 3) aggregates partners, or tuples with the same partners, before the two
 * sides meet; live, that is what travels. */
#include <errno.h>
#include <stdlib.h>

#include "exec/light_trace.h"
#include "model/causality.h"

static void note_clock(struct trace_at *at)
{
	atomic_store_explicit(&at->run->clock_rule, true, memory_order_relaxed);
}

int anchors_before(struct trace_at *at, struct element a, struct element b)
{
	struct trace_pos from, to;
	bool clock = false,
	     noted = atomic_load_explicit(&at->run->clock_rule, memory_order_relaxed);
	int r;

	if (at->light) {
		if (a.kind != ELEMENT_BLOCK || b.kind != ELEMENT_BLOCK)
			return -EAGAIN;
		r = light_before(at, a.index, b.index, &clock);
		if (r > 0 && clock && !noted)
			note_clock(at);
		return r;
	}
	if (!element_pos(at, a, &from) || !element_pos(at, b, &to))
		return 0;
	r = trace_happened_before(at->trace, from, to, noted ? NULL : &clock);
	if (r > 0 && clock)
		note_clock(at);
	return r;
}

/* Does one edge, or being the parent, connect them? */
static bool connected(const struct trace *t, struct trace_pos from, struct trace_pos to)
{
	uint32_t a = trace_pos_block(t, from), b = trace_pos_block(t, to);
	size_t first, n;

	if (a == TRACE_NONE || b == TRACE_NONE)
		return false;
	if (a == b) /* a block and its own points, its begin and its end */
		return from.kind == POS_BEGIN || to.kind == POS_END;
	if (from.kind != POS_POINT && to.kind != POS_POINT && t->blocks[b].parent == a)
		return true;
	n = trace_edges_into(t, b, &first);
	for (size_t i = first; i < first + n; i++) {
		const struct trace_edge *e = &t->edges[i];

		if (e->repairs & REPAIR_CYCLE)
			continue;
		if (trace_pos_block(t, e->from) == a &&
		    (from.kind != POS_POINT || trace_pos_eq(e->from, from)) &&
		    (to.kind != POS_POINT || trace_pos_eq(e->to, to)))
			return true;
	}
	return false;
}

int anchors_direct(struct trace_at *at, struct element a, struct element b)
{
	struct trace_pos from, to;

	if (at->light) /* without links there is only the tree */
		return at->trace->blocks[b.index].parent == a.index;
	if (!element_pos(at, a, &from) || !element_pos(at, b, &to) ||
	    !connected(at->trace, from, to))
		return 0;
	return anchors_before(at, a, b);
}

/* --- first and last --- */

/* Among those that are not ordered: raw time, host, id; then the order they came in. */
static int key_order(struct trace_at *at, const struct trace_tuple *a, const struct trace_tuple *b)
{
	uint64_t x = element_time(at, a->anchor), y = element_time(at, b->anchor);
	int r;

	if (x != y)
		return x < y ? -1 : 1;
	r = slice_cmp(element_host(at, a->anchor), element_host(at, b->anchor));
	if (r != 0)
		return r;
	x = element_id(at, a->anchor);
	y = element_id(at, b->anchor);
	return x < y ? -1 : x > y;
}

struct picking {
	struct trace_at *at;
	struct trace_tuple **items;
	bool last;
};

static int pick_order(const void *a, const void *b, void *context)
{
	const struct picking *p = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int r = key_order(p->at, p->items[x], p->items[y]);

	if (r == 0)
		r = x < y ? -1 : 1;
	return p->last ? -r : r;
}

/* 1: nothing that is left comes before (for the last: after) number i. */
static int is_extreme(const struct picking *p, const bool *taken, uint32_t n, uint32_t i)
{
	for (uint32_t k = 0; k < n; k++) {
		int r;

		if (k == i || taken[k])
			continue;
		r = p->last ? anchors_before(p->at, p->items[i]->anchor, p->items[k]->anchor)
			    : anchors_before(p->at, p->items[k]->anchor, p->items[i]->anchor);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return 1;
}

int tuples_pick(struct trace_at *at, struct trace_tuple **items, uint32_t n, enum plan_pick pick,
		uint32_t most)
{
	struct picking p = {at, items, pick == PICK_LAST};
	uint32_t *order, chosen = 0;
	bool *taken;

	if (pick == PICK_ALL || n <= most)
		return (int)n;
	order = arena_alloc(&at->arena, n * sizeof(*order));
	taken = arena_zalloc(&at->arena, n, sizeof(*taken));
	if (!order || !taken)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), pick_order, &p);
	for (uint32_t round = 0; round < most; round++) {
		uint32_t found = UINT32_MAX;

		for (uint32_t k = 0; k < n && found == UINT32_MAX; k++) {
			int r = taken[order[k]] ? 0 : is_extreme(&p, taken, n, order[k]);

			if (r < 0)
				return r;
			if (r > 0)
				found = order[k];
		}
		if (found == UINT32_MAX) /* nothing comes first in a cycle; there is none */
			break;
		taken[found] = true;
	}
	for (uint32_t i = 0; i < n; i++)
		if (taken[i])
			items[chosen++] = items[i];
	return (int)chosen;
}

/* --- partners --- */

/* For each tuple of one side, which of the other side are its partners: bits by number. */
struct pairs {
	uint64_t *bits;
	uint32_t words; /* of a row */
};

#define PAIRS_FEW 64 /* up to so many questions are asked one by one */

static int pairs_ask(struct trace_at *at, const struct plan_node *node, const struct tuples *main,
		     const struct tuples *partners, struct pairs *out)
{
	for (uint32_t m = 0; m < main->n; m++)
		for (uint32_t p = 0; p < partners->n; p++) {
			struct element a = partners->items[p].anchor, b = main->items[m].anchor;
			int r;

			if (node->hbjoin.after) {
				struct element swap = a;

				a = b;
				b = swap;
			}
			r = node->hbjoin.direct ? anchors_direct(at, a, b)
						: anchors_before(at, a, b);
			if (r < 0)
				return r;
			if (r > 0)
				set_put(out->bits + (size_t)m * out->words, p);
		}
	return 0;
}

/* One walk for each partner instead of one question for each pair. */
static int pairs_walk(struct trace_at *at, const struct plan_node *node, const struct tuples *main,
		      const struct tuples *partners, struct pairs *out)
{
	const struct tuples *early = node->hbjoin.after ? main : partners,
			    *late = node->hbjoin.after ? partners : main;
	uint64_t *bits = NULL;
	struct trace_pos last = {0}, from, to;
	int r = 0;

	for (uint32_t e = 0; r == 0 && e < early->n; e++) {
		if (!element_pos(at, early->items[e].anchor, &from))
			continue;
		if (!bits || !trace_pos_eq(from, last)) {
			free(bits);
			bits = NULL;
			r = trace_reach(at->trace, &from, 1, &bits);
			last = from;
		}
		for (uint32_t l = 0; r == 0 && l < late->n; l++) {
			uint32_t m = node->hbjoin.after ? e : l, p = node->hbjoin.after ? l : e;

			if (!element_pos(at, late->items[l].anchor, &to) ||
			    trace_pos_eq(from, to) || !trace_reached(at->trace, bits, to))
				continue;
			set_put(out->bits + (size_t)m * out->words, p);
			if (!atomic_load_explicit(&at->run->clock_rule, memory_order_relaxed))
				r = anchors_before(at, early->items[e].anchor,
						   late->items[l].anchor);
			if (r > 0)
				r = 0;
		}
	}
	free(bits);
	return r;
}

static int pairs_find(struct trace_at *at, const struct plan_node *node, const struct tuples *main,
		      const struct tuples *partners, struct pairs *out)
{
	size_t words = partners->n / 64 + 1;

	out->words = (uint32_t)words;
	out->bits = arena_zalloc(&at->arena, (size_t)main->n + 1, words * sizeof(*out->bits));
	if (!out->bits)
		return -ENOMEM;
	if (at->light || node->hbjoin.direct || (uint64_t)main->n * partners->n <= PAIRS_FEW)
		return pairs_ask(at, node, main, partners, out);
	return pairs_walk(at, node, main, partners, out);
}

/* --- packing --- */

static struct value partial_add(enum plan_aggregate_kind kind, struct value so_far, struct value v)
{
	if (value_is_nil(v) || value_is_nil(so_far))
		return value_is_nil(v) ? so_far : v;
	switch (kind) {
	case AGG_MIN:
		return value_order(v, so_far) < 0 ? v : so_far;
	case AGG_MAX:
		return value_order(v, so_far) > 0 ? v : so_far;
	default:
		return value_arithmetic(VALUE_ADD, so_far, v);
	}
}

static struct value partial_of(struct trace_at *at, const struct plan_aggregate *a)
{
	struct value v = a->arg ? expr_eval(&at->env, a->arg) : value_int(1);

	if (a->kind != AGG_COUNT)
		return v;
	return value_is_nil(v) ? value_int(0) : value_int(1);
}

/* Groups tuples by the pack's keys; each group is one tuple: keys, partial aggregates. */
static int packed(struct trace_at *at, const struct plan_pack *pack, struct trace_tuple **items,
		  uint32_t n, struct tuples *out)
{
	uint32_t width = pack->key_n + pack->aggregate_n;

	for (uint32_t i = 0; i < n; i++) {
		struct value *row = arena_alloc(&at->arena, (width + 1) * sizeof(*row));
		struct trace_tuple *found = NULL;
		int r;

		if (!row)
			return -ENOMEM;
		at->env.columns = items[i]->values;
		for (uint32_t k = 0; k < pack->key_n; k++)
			row[k] = expr_eval(&at->env, pack->keys[k]);
		for (uint32_t a = 0; a < pack->aggregate_n; a++)
			row[pack->key_n + a] = partial_of(at, &pack->aggregates[a]);
		if (at->env.failed)
			return at->env.failed;
		for (uint32_t g = 0; g < out->n && !found; g++) {
			found = &out->items[g];
			for (uint32_t k = 0; k < pack->key_n && found; k++)
				if (!value_same(found->values[k], row[k]))
					found = NULL;
		}
		if (!found) {
			r = tuples_add(at, out, row, items[i]->anchor);
			if (r < 0)
				return r;
			continue;
		}
		for (uint32_t a = pack->key_n; a < width; a++)
			found->values[a] = partial_add(pack->aggregates[a - pack->key_n].kind,
						       found->values[a], row[a]);
	}
	return 0;
}

/* --- the join --- */

struct joining {
	struct trace_at *at;
	const struct plan_node *node;
	uint32_t main_n, partner_n; /* columns of the inputs as they are */
	struct tuples *out;
	uint64_t *used; /* partners that met somebody */
};

static int emit(struct joining *j, const struct trace_tuple *main, uint32_t main_n,
		const struct trace_tuple *partner, uint32_t partner_n)
{
	struct value *values =
		arena_alloc(&j->at->arena, (main_n + partner_n + 1) * sizeof(*values));

	if (!values)
		return -ENOMEM;
	memcpy(values, main->values, main_n * sizeof(*values));
	for (uint32_t i = 0; i < partner_n; i++)
		values[main_n + i] = partner ? partner->values[i] : value_nil();
	return tuples_add(j->at, j->out, values, main->anchor);
}

/* Leaves the partners that the further condition holds for. */
static int rest_of(struct joining *j, const struct trace_tuple *main, struct trace_tuple **items,
		   int n)
{
	const struct plan_expr *rest = j->node->hbjoin.rest;
	struct value *values;
	int left = 0;

	if (!rest)
		return n;
	values = arena_alloc(&j->at->arena, (j->main_n + j->partner_n + 1) * sizeof(*values));
	if (!values)
		return -ENOMEM;
	memcpy(values, main->values, j->main_n * sizeof(*values));
	for (int i = 0; i < n; i++) {
		memcpy(values + j->main_n, items[i]->values, j->partner_n * sizeof(*values));
		j->at->env.columns = values;
		if (value_is_true(expr_eval(&j->at->env, rest)))
			items[left++] = items[i];
	}
	return j->at->env.failed ? j->at->env.failed : left;
}

/* A tuple (or several with the same partners, packed) and its partners. */
static int meet(struct joining *j, const struct trace_tuple *main, uint32_t main_n,
		struct trace_tuple **items, uint32_t n)
{
	enum plan_join kind = j->node->hbjoin.join;
	const struct plan_pack *pack = j->node->hbjoin.pack;
	uint32_t width = pack ? pack->key_n + pack->aggregate_n : j->partner_n;
	struct tuples packs = {0};
	int r = 0;

	if (kind == PLAN_JOIN_ANTI || kind == PLAN_JOIN_SEMI)
		return (n > 0) == (kind == PLAN_JOIN_SEMI) ? emit(j, main, main_n, NULL, 0) : 0;
	if (n == 0)
		return kind == PLAN_JOIN_LEFT ? emit(j, main, main_n, NULL, width) : 0;
	if (!pack) {
		for (uint32_t i = 0; r == 0 && i < n; i++)
			r = emit(j, main, main_n, items[i], width);
		return r;
	}
	r = packed(j->at, pack, items, n, &packs);
	for (uint32_t i = 0; r == 0 && i < packs.n; i++)
		r = emit(j, main, main_n, &packs.items[i], width);
	return r;
}

/* The partners of one tuple, picked and tested: how many, or a negative errno. */
static int partners_of(struct joining *j, const struct trace_tuple *main,
		       const struct tuples *partners, const uint64_t *bits,
		       struct trace_tuple **items)
{
	uint32_t n = 0;
	int r;

	for (uint32_t p = 0; p < partners->n; p++)
		if (set_has(bits, p))
			items[n++] = &partners->items[p];
	r = tuples_pick(j->at, items, n, j->node->hbjoin.pick, j->node->hbjoin.pick_n);
	if (r > 0)
		r = rest_of(j, main, items, r);
	for (int i = 0; i < r; i++)
		set_put(j->used, (uint32_t)(items[i] - partners->items));
	return r;
}

/* Tuples of the first input with the very same partners are packed before they meet them. */
static int meet_packed(struct joining *j, const struct tuples *main, struct trace_tuple ***lists,
		       const int *counts)
{
	const struct plan_pack *pack = j->node->hbjoin.pack_main;
	struct trace_tuple **same =
		arena_alloc(&j->at->arena, (main->n + 1) * sizeof(struct trace_tuple *));
	bool *done = arena_zalloc(&j->at->arena, main->n + 1, sizeof(*done));
	int r = 0;

	if (!same || !done)
		return -ENOMEM;
	for (uint32_t m = 0; r == 0 && m < main->n; m++) {
		struct tuples packs = {0};
		uint32_t n = 0;

		if (done[m] || counts[m] == 0)
			continue;
		for (uint32_t k = m; k < main->n; k++)
			if (!done[k] && counts[k] == counts[m] &&
			    memcmp(lists[k], lists[m], (size_t)counts[m] * sizeof(*lists[m])) ==
				    0) {
				done[k] = true;
				same[n++] = &main->items[k];
			}
		r = packed(j->at, pack, same, n, &packs);
		for (uint32_t i = 0; r == 0 && i < packs.n; i++)
			r = meet(j, &packs.items[i], pack->key_n + pack->aggregate_n, lists[m],
				 (uint32_t)counts[m]);
	}
	return r;
}

static int join_all(struct joining *j, const struct tuples *main, const struct tuples *partners,
		    const struct pairs *pairs)
{
	struct trace_at *at = j->at;
	struct trace_tuple ***lists = NULL;
	int *counts = NULL, r = 0;

	if (j->node->hbjoin.pack_main) {
		lists = arena_zalloc(&at->arena, main->n + 1, sizeof(struct trace_tuple **));
		counts = arena_zalloc(&at->arena, main->n + 1, sizeof(*counts));
		if (!lists || !counts)
			return -ENOMEM;
	}
	for (uint32_t m = 0; r == 0 && m < main->n; m++) {
		struct trace_tuple **items =
			arena_alloc(&at->arena, (partners->n + 1) * sizeof(struct trace_tuple *));
		int n;

		if (!items)
			return -ENOMEM;
		n = partners_of(j, &main->items[m], partners,
				pairs->bits + (size_t)m * pairs->words, items);
		if (n < 0)
			return n;
		if (lists) {
			lists[m] = items;
			counts[m] = n;
		} else {
			r = meet(j, &main->items[m], j->main_n, items, (uint32_t)n);
		}
	}
	return r == 0 && lists ? meet_packed(j, main, lists, counts) : r;
}

/* Partners in an order that does not depend on how the trace lies in memory: who picks among tuples
 * of one anchor takes them as they come. */
static int partners_sort(struct trace_at *at, struct tuples *partners)
{
	struct trace_tuple **items, *sorted;
	struct picking p = {.at = at};
	uint32_t *order;

	if (!at->ordered || partners->n < 2)
		return 0;
	order = arena_alloc(&at->arena, partners->n * sizeof(*order));
	items = arena_alloc(&at->arena, partners->n * sizeof(struct trace_tuple *));
	sorted = arena_alloc(&at->arena, partners->n * sizeof(*sorted));
	if (!order || !items || !sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < partners->n; i++) {
		order[i] = i;
		items[i] = &partners->items[i];
	}
	p.items = items;
	qsort_r(order, partners->n, sizeof(*order), pick_order, &p);
	for (uint32_t i = 0; i < partners->n; i++)
		sorted[i] = partners->items[order[i]];
	partners->items = sorted;
	return 0;
}

int eval_hbjoin(struct trace_at *at, const struct plan_node *node, bool ranged, struct tuples *out)
{
	struct joining j = {.at = at,
			    .node = node,
			    .main_n = node->inputs[0]->column_n,
			    .partner_n = node->inputs[1]->column_n,
			    .out = out};
	struct tuples main = {0}, partners = {0};
	struct pairs pairs;
	uint64_t n = 0;
	bool ordered = at->ordered;
	int r = trace_eval(at, node->inputs[0], ranged, &main);

	if (r < 0 || (main.n == 0 && node->hbjoin.join != PLAN_JOIN_ANTI))
		return r;
	at->ordered |= node->hbjoin.pick != PICK_ALL;
	r = trace_eval(at, node->inputs[1], false, &partners);
	at->ordered = ordered;
	if (r == 0)
		r = partners_sort(at, &partners);
	if (r == 0)
		r = pairs_find(at, node, &main, &partners, &pairs);
	if (r < 0)
		return r;
	j.used = arena_zalloc(&at->arena, partners.n / 64 + 1, sizeof(*j.used));
	if (!j.used)
		return -ENOMEM;
	r = join_all(&j, &main, &partners, &pairs);
	for (uint32_t i = 0; i <= partners.n / 64; i++)
		n += (uint64_t)__builtin_popcountll(j.used[i]);
	atomic_fetch_add_explicit(&at->run->tuples_packed, n, memory_order_relaxed);
	return r;
}
