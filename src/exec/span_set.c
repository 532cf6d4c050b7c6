/* exec/span_set.c - spansets of one trace: filters and the fifteen structural operators.
 *
 * Sets are bits by block; blocks lie in pre-order and know their last descendant, so each operator
 * is one pass over the blocks. */
#include <errno.h>

#include "exec/aggregate.h"
#include "exec/grouping.h"
#include "exec/light_trace.h"

static uint64_t *new_set(struct trace_at *at)
{
	uint64_t *set = arena_zalloc(&at->arena, at->trace->block_n / 64 + 1, sizeof(*set));

	if (!set)
		at->env.failed = -ENOMEM;
	return set;
}

static uint64_t *filter(struct trace_at *at, const struct plan_set *s)
{
	const struct trace *t = at->trace;
	const uint64_t *left = s->left ? trace_set(at, s->left) : NULL;
	uint64_t *out = new_set(at);
	struct element el = {.kind = ELEMENT_BLOCK};
	int number = at->light ? light_set_number(at, s) : -1;

	if (!out || (s->left && !left))
		return NULL;
	for (; el.index < t->block_n; el.index++) {
		int member = at->light ? light_member(at, el.index, number) : -1;

		if (member != 0 && !(t->blocks[el.index].bits & BLOCK_IMPLIED) &&
		    (!left || set_has(left, el.index)) &&
		    (member > 0 || element_test(at, el, SLICE("spans"), s->predicate)))
			set_put(out, el.index);
	}
	return at->env.failed ? NULL : out;
}

static bool is_empty(const struct trace_at *at, const uint64_t *set)
{
	for (size_t i = 0; i <= at->trace->block_n / 64; i++)
		if (set[i])
			return false;
	return true;
}

/* --- structure --- */

/* Blocks with a child in the set. */
static void parents_of(const struct trace *t, const uint64_t *set, uint64_t *out)
{
	for (uint32_t i = 0; i < t->block_n; i++)
		if (set_has(set, i) && t->blocks[i].parent != TRACE_NONE)
			set_put(out, t->blocks[i].parent);
}

static void children_of(const struct trace *t, const uint64_t *set, uint64_t *out)
{
	for (uint32_t i = 0; i < t->block_n; i++)
		if (t->blocks[i].parent != TRACE_NONE && set_has(set, t->blocks[i].parent))
			set_put(out, i);
}

/* A parent comes before its children. */
static void descendants_of(const struct trace *t, const uint64_t *set, uint64_t *out)
{
	for (uint32_t i = 0; i < t->block_n; i++) {
		uint32_t p = t->blocks[i].parent;

		if (p != TRACE_NONE && (set_has(set, p) || set_has(out, p)))
			set_put(out, i);
	}
}

static void ancestors_of(const struct trace *t, const uint64_t *set, uint64_t *out)
{
	for (uint32_t i = (uint32_t)t->block_n; i-- > 0;) {
		uint32_t p = t->blocks[i].parent;

		if (p != TRACE_NONE && (set_has(set, i) || set_has(out, i)))
			set_put(out, p);
	}
}

/* Blocks with another child of their parent in the set; roots have no siblings. */
static void siblings_of(struct trace_at *at, const uint64_t *set, uint64_t *out)
{
	const struct trace *t = at->trace;
	uint32_t *members = arena_zalloc(&at->arena, t->block_n + 1, sizeof(*members));

	if (!members) {
		at->env.failed = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < t->block_n; i++)
		if (set_has(set, i) && t->blocks[i].parent != TRACE_NONE)
			members[t->blocks[i].parent]++;
	for (uint32_t i = 0; i < t->block_n; i++) {
		uint32_t p = t->blocks[i].parent;

		if (p != TRACE_NONE && members[p] > (set_has(set, i) ? 1u : 0u))
			set_put(out, i);
	}
}

/* Blocks that stand to some block of the set as the right side of an operator does to its left. */
static void related(struct trace_at *at, enum plan_relation relation, const uint64_t *set,
		    uint64_t *out)
{
	switch (relation) {
	case REL_CHILD:
		children_of(at->trace, set, out);
		break;
	case REL_DESCENDANT:
		descendants_of(at->trace, set, out);
		break;
	case REL_PARENT:
		parents_of(at->trace, set, out);
		break;
	case REL_ANCESTOR:
		ancestors_of(at->trace, set, out);
		break;
	case REL_SIBLING:
		siblings_of(at, set, out);
		break;
	}
}

static enum plan_relation opposite(enum plan_relation relation)
{
	static const enum plan_relation other[] = {
		[REL_CHILD] = REL_PARENT,    [REL_DESCENDANT] = REL_ANCESTOR,
		[REL_PARENT] = REL_CHILD,    [REL_ANCESTOR] = REL_DESCENDANT,
		[REL_SIBLING] = REL_SIBLING,
	};

	return other[relation];
}

static uint64_t *relation(struct trace_at *at, const struct plan_set *s)
{
	const uint64_t *left = trace_set(at, s->left),
		       *right = left ? trace_set(at, s->right) : NULL;
	uint64_t *out = new_set(at), *other = new_set(at);
	size_t words = at->trace->block_n / 64 + 1;

	if (!left || !right || !out || !other)
		return NULL;
	related(at, s->relation, left, out);
	if (s->form == REL_UNION)
		related(at, opposite(s->relation), right, other);
	for (size_t i = 0; i < words; i++)
		out[i] = s->form == REL_NOT     ? right[i] & ~out[i]
			 : s->form == REL_UNION ? (right[i] & out[i]) | (left[i] & other[i])
						: right[i] & out[i];
	return at->env.failed ? NULL : out;
}

/* --- groups of a trace's blocks --- */

#define HAVING_MOST 64 /* keys and aggregates */

static int having_rows(struct trace_at *at, const struct plan_having *h, const uint64_t *set,
		       struct grouping *g, const struct aggregate *aggregates, uint32_t *group)
{
	struct value keys[HAVING_MOST], args[HAVING_MOST];
	struct element el = {.kind = ELEMENT_BLOCK};
	struct sample sample = at->sample;
	int r = 0;

	sample.weight = 1; /* of this very trace */
	(void)aggregates;
	for (; r == 0 && el.index < at->trace->block_n; el.index++) {
		if (!set_has(set, el.index))
			continue;
		for (uint32_t i = 0; i < h->key_n; i++)
			keys[i] = element_eval(at, el, SLICE("spans"), h->keys[i]);
		for (uint32_t i = 0; i < h->aggregate_n; i++)
			args[i] = h->aggregates[i].arg ? element_eval(at, el, SLICE("spans"),
								      h->aggregates[i].arg)
						       : value_nil();
		sample.time_ns = element_time(at, el);
		sample.id = element_id(at, el);
		r = at->env.failed ? at->env.failed : grouping_find(g, keys, &group[el.index]);
		if (r == 0)
			r = grouping_add(g, group[el.index], args, &sample);
	}
	return r;
}

static int having_test(struct trace_at *at, const struct plan_having *h, struct grouping *g,
		       const struct aggregate *aggregates, bool *keep)
{
	struct value values[2 * HAVING_MOST];
	struct estimate estimate;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < g->n; i++) {
		memcpy(values, grouping_keys(g, i), h->key_n * sizeof(*values));
		for (uint32_t a = 0; r == 0 && a < h->aggregate_n; a++)
			r = aggregate_result(&aggregates[a], grouping_state(g, i, a), &at->arena,
					     &values[h->key_n + a], &estimate);
		at->env.columns = values;
		keep[i] = r == 0 && value_is_true(expr_eval(&at->env, h->condition));
		if (at->env.failed)
			r = at->env.failed;
	}
	return r;
}

/* What one aggregate comes to over the blocks of a set. */
static int set_aggregate(struct trace_at *at, const struct plan_aggregate *plan,
			 const uint64_t *set, struct value *ret_value)
{
	struct element el = {.kind = ELEMENT_BLOCK};
	struct sample sample = at->sample;
	struct estimate estimate;
	struct aggregate a;
	int r = set ? aggregate_from_plan(plan, 0, &a) : -ENOMEM;
	void *state = r < 0 ? NULL : arena_zalloc(&at->arena, 1, aggregate_bytes(&a));

	if (!state)
		return at->env.failed ? at->env.failed : r < 0 ? r : -ENOMEM;
	sample.weight = 1; /* of this very trace */
	for (; r == 0 && el.index < at->trace->block_n; el.index++) {
		struct value v = value_nil();

		if (!set_has(set, el.index))
			continue;
		if (plan->arg)
			v = element_eval(at, el, SLICE("spans"), plan->arg);
		sample.time_ns = element_time(at, el);
		sample.id = element_id(at, el);
		r = at->env.failed ? at->env.failed
				   : aggregate_add(&a, state, &at->arena, v, &sample);
	}
	if (r == 0)
		r = aggregate_result(&a, state, &at->arena, ret_value, &estimate);
	aggregate_done(&a, state);
	return r;
}

/* ({a} | count()) > ({b} | count()): all of the left side, or nothing. */
static uint64_t *compared(struct trace_at *at, const struct plan_set *s)
{
	const struct plan_having *h = s->having;
	struct value values[HAVING_MOST];
	uint64_t *left = trace_set(at, s->left);
	int r = h->aggregate_n > HAVING_MOST ? -E2BIG : 0;
	bool holds;

	for (uint32_t i = 0; left && r == 0 && i < h->aggregate_n; i++)
		r = set_aggregate(at, &h->aggregates[i], trace_set(at, h->sets[i]), &values[i]);
	if (!left || r < 0) {
		at->env.failed = at->env.failed ? at->env.failed : r < 0 ? r : -ENOMEM;
		return NULL;
	}
	at->env.columns = values;
	holds = value_is_true(expr_eval(&at->env, h->condition));
	if (at->env.failed)
		return NULL;
	return holds ? left : new_set(at);
}

/* {a} | count() > 1: of one group; all of it, or nothing. */
static uint64_t *having_all(struct trace_at *at, const struct plan_having *h, uint64_t *set)
{
	struct value values[HAVING_MOST];
	int r = h->aggregate_n > HAVING_MOST ? -E2BIG : 0;

	for (uint32_t i = 0; r == 0 && i < h->aggregate_n; i++)
		r = set_aggregate(at, &h->aggregates[i], set, &values[i]);
	if (r < 0) {
		at->env.failed = at->env.failed ? at->env.failed : r;
		return NULL;
	}
	at->env.columns = values;
	if (value_is_true(expr_eval(&at->env, h->condition)))
		return at->env.failed ? NULL : set;
	return at->env.failed ? NULL : new_set(at);
}

static uint64_t *having(struct trace_at *at, const struct plan_set *s)
{
	const struct plan_having *h = s->having;
	uint64_t *left = trace_set(at, s->left), *out = new_set(at);
	struct aggregate aggregates[HAVING_MOST];
	struct grouping g;
	uint32_t *group = arena_alloc(&at->arena, (at->trace->block_n + 1) * sizeof(*group));
	bool *keep;
	int r = 0;

	if (!left || !out || !group)
		return NULL;
	if (is_empty(at, left))
		return out;
	if (h->key_n == 0)
		return having_all(at, h, left);
	if (h->key_n > HAVING_MOST || h->aggregate_n > HAVING_MOST) {
		at->env.failed = -E2BIG;
		return NULL;
	}
	for (uint32_t i = 0; r == 0 && i < h->aggregate_n; i++)
		r = aggregate_from_plan(&h->aggregates[i], 0, &aggregates[i]);
	if (r == 0)
		r = grouping_init(&g, h->key_n, aggregates, h->aggregate_n, &at->run->budget);
	if (r < 0) {
		at->env.failed = r;
		return NULL;
	}
	r = having_rows(at, h, left, &g, aggregates, group);
	keep = arena_zalloc(&at->arena, g.n + 1, sizeof(*keep));
	if (r == 0)
		r = keep ? having_test(at, h, &g, aggregates, keep) : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < at->trace->block_n; i++)
		if (set_has(left, i) && keep[group[i]])
			set_put(out, i);
	grouping_done(&g);
	if (r < 0)
		at->env.failed = r;
	return r < 0 ? NULL : out;
}

uint64_t *trace_set(struct trace_at *at, const struct plan_set *s)
{
	const uint64_t *left, *right;
	uint64_t *out;

	switch (s->op) {
	case SET_FILTER:
		return filter(at, s);
	case SET_RELATION:
		return relation(at, s);
	case SET_HAVING:
		return s->having->sets ? compared(at, s) : having(at, s);
	case SET_AND:
	case SET_OR:
		break;
	}
	left = trace_set(at, s->left);
	right = left ? trace_set(at, s->right) : NULL;
	out = new_set(at);
	if (!left || !right || !out)
		return NULL;
	if (s->op == SET_AND && (is_empty(at, left) || is_empty(at, right)))
		return out;
	for (size_t i = 0; i <= at->trace->block_n / 64; i++)
		out[i] = left[i] | right[i];
	return out;
}
