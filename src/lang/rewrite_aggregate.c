/* lang/rewrite_aggregate.c - aggregates begin before the happened-before join.
 *
 *   A p(P ⋈ Q), GA p(P ⋈ Q), G q A p(P ⋈ Q)   P's tuples before a q are grouped and aggregated
 * first GA q(P ⋈ Q), G p A q(P ⋈ Q)               Q's tuples with the same P before them likewise
 *
 * (Table 3.)  COUNT ends as a sum of counts, SUM of sums, MIN and MAX as themselves.  Others, and
 * aggregates of both sides at once, stay behind the join.
 *
 * Lists are taken apart where they come from (R4), so that what is packed is counted as it
 * travels. */
#include "lang/rewrite_int.h"

/* --- lists --- */

static const struct plan_node *unnest_of(struct plan_build *b, const struct plan_node *input,
					 const uint32_t *slots, uint32_t n, uint32_t by)
{
	struct plan_node *node;
	uint32_t *copy;

	if (n == 0)
		return input;
	node = build_over(b, PLAN_UNNEST, input);
	copy = build_alloc(b, n, sizeof(*copy));
	if (!node || !copy)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		copy[i] = slots[i] - by;
	node->unnest.slots = copy;
	node->unnest.slot_n = n;
	return node;
}

static const struct plan_node *sink_lists(struct plan_build *b, const struct plan_node *node);

/* UNNEST over a join: lists of one side are taken apart on that side. */
static const struct plan_node *lists_through(struct plan_build *b, const struct plan_node *node)
{
	const struct plan_node *join = node->inputs[0], *inputs[2], *both;
	uint32_t n = node->unnest.slot_n, main = join->inputs[0]->column_n;
	uint32_t *left = build_alloc(b, n, sizeof(*left)),
		 *right = build_alloc(b, n, sizeof(*right)),
		 *stay = build_alloc(b, n, sizeof(*stay)), left_n = 0, right_n = 0, stay_n = 0;
	bool *used = build_alloc(b, join->column_n + join->inputs[1]->column_n, sizeof(*used));
	bool free_right = join->hbjoin.join == PLAN_JOIN_INNER && join->hbjoin.pick == PICK_ALL;

	if (!left || !right || !stay || !used)
		return NULL;
	if (join->hbjoin.rest)
		expr_columns(join->hbjoin.rest, used);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = node->unnest.slots[i];

		if (used[slot])
			stay[stay_n++] = slot;
		else if (slot < main)
			left[left_n++] = slot;
		else if (free_right)
			right[right_n++] = slot;
		else
			stay[stay_n++] = slot;
	}
	inputs[0] = unnest_of(b, join->inputs[0], left, left_n, 0);
	inputs[1] = unnest_of(b, join->inputs[1], right, right_n, main);
	for (int i = 0; i < 2; i++) {
		inputs[i] = inputs[i] ? sink_lists(b, inputs[i]) : NULL;
		if (!inputs[i])
			return NULL;
	}
	both = rewrite_with(b, join, inputs);
	return both ? unnest_of(b, both, stay, stay_n, 0) : NULL;
}

/* UNNEST over a condition that does not look at the lists. */
static const struct plan_node *lists_below_filter(struct plan_build *b,
						  const struct plan_node *node)
{
	const struct plan_node *filter = node->inputs[0], *input;
	bool *used = build_alloc(b, node->column_n, sizeof(*used));

	if (!used)
		return NULL;
	expr_columns(filter->filter.predicate, used);
	for (uint32_t i = 0; i < node->unnest.slot_n; i++)
		if (used[node->unnest.slots[i]])
			return node;
	input = rewrite_with(b, node, filter->inputs);
	input = input ? sink_lists(b, input) : NULL;
	return input ? rewrite_with(b, filter, &input) : NULL;
}

static const struct plan_node *sink_lists(struct plan_build *b, const struct plan_node *node)
{
	if (node->op == PLAN_UNNEST && node->inputs[0]->op == PLAN_FILTER)
		return lists_below_filter(b, node);
	if (node->op == PLAN_UNNEST && node->inputs[0]->op == PLAN_HBJOIN &&
	    !node->inputs[0]->hbjoin.pack && !node->inputs[0]->hbjoin.pack_main)
		return lists_through(b, node);
	return node;
}

/* --- aggregates --- */

static bool combines(enum plan_aggregate_kind kind)
{
	return kind == AGG_COUNT || kind == AGG_SUM || kind == AGG_MIN || kind == AGG_MAX;
}

/* Which side each key is of, and whether all aggregates are of one side (or of rows). */
struct sides {
	uint32_t main_n;
	bool keys_ok, all_main, all_partner;
};

static struct sides sides_of(const struct plan_node *group, const struct plan_node *join)
{
	struct sides s = {.main_n = join->inputs[0]->column_n,
			  .keys_ok = true,
			  .all_main = true,
			  .all_partner = true};

	for (uint32_t i = 0; i < group->group.key_n; i++) {
		const struct plan_expr *k = group->group.keys[i];

		s.keys_ok &=
			expr_within(k, 0, s.main_n) || expr_within(k, s.main_n, join->column_n);
	}
	for (uint32_t i = 0; i < group->group.aggregate_n; i++) {
		const struct plan_aggregate *a = &group->group.aggregates[i];

		s.keys_ok &= combines(a->kind) && a->stage == AGG_WHOLE;
		if (!a->arg)
			continue;
		s.all_main &= expr_within(a->arg, 0, s.main_n);
		s.all_partner &= expr_within(a->arg, s.main_n, join->column_n);
	}
	return s;
}

static const struct plan_expr *moved(struct plan_build *b, const struct plan_expr *e, uint32_t by,
				     uint32_t n)
{
	uint32_t *map;

	if (by == 0 || !expr_has_column(e))
		return e;
	map = build_alloc(b, n, sizeof(*map));
	for (uint32_t i = 0; map && i < n; i++)
		map[i] = i - by;
	return map ? expr_renumber(b, e, map) : NULL;
}

/* Packs one side: its keys, and the partial aggregates. */
static struct plan_pack *pack_of(struct plan_build *b, const struct plan_node *group,
				 const struct plan_node *join, const struct sides *s, bool partner)
{
	struct plan_pack *p = build_alloc(b, 1, sizeof(*p));
	uint32_t from = partner ? s->main_n : 0, to = partner ? join->column_n : s->main_n;

	if (!p)
		return NULL;
	p->keys = build_alloc(b, group->group.key_n, sizeof(*p->keys));
	p->aggregates = build_alloc(b, group->group.aggregate_n, sizeof(*p->aggregates));
	if (!p->keys || !p->aggregates)
		return NULL;
	for (uint32_t i = 0; i < group->group.key_n; i++)
		if (expr_has_column(group->group.keys[i]) &&
		    expr_within(group->group.keys[i], from, to)) {
			p->keys[p->key_n] = moved(b, group->group.keys[i], from, join->column_n);
			if (!p->keys[p->key_n++])
				return NULL;
		}
	for (uint32_t i = 0; i < group->group.aggregate_n; i++) {
		struct plan_aggregate *a = &p->aggregates[p->aggregate_n++];

		*a = group->group.aggregates[i];
		a->stage = AGG_PARTIAL;
		if (a->arg) {
			a->arg = moved(b, a->arg, from, join->column_n);
			if (!a->arg)
				return NULL;
		}
	}
	return p;
}

/* The group behind the packed join: keys and partial results by their new numbers. */
static const struct plan_node *combine(struct plan_build *b, const struct plan_node *group,
				       const struct plan_node *join, const struct sides *s,
				       bool partner, const struct plan_pack *pack)
{
	const struct plan_node *input = join;
	struct plan_node *copy = rewrite_with(b, group, &input);
	const struct plan_expr **keys = build_alloc(b, group->group.key_n, sizeof(*keys));
	struct plan_aggregate *aggregates =
		build_alloc(b, group->group.aggregate_n, sizeof(*aggregates));
	uint32_t base = partner ? s->main_n : 0, width = pack->key_n + pack->aggregate_n, next = 0;

	if (!copy || !keys || !aggregates)
		return NULL;
	for (uint32_t i = 0; i < group->group.key_n; i++) {
		const struct plan_expr *k = group->group.keys[i];
		bool mine = expr_has_column(k) && (partner ? expr_within(k, s->main_n, UINT32_MAX)
							   : expr_within(k, 0, s->main_n));

		if (mine)
			keys[i] = build_column(b, base + next++, k->type);
		else if (partner || !expr_has_column(k))
			keys[i] = k; /* of the first input: numbered as before */
		else {
			/* Of the second input, whose columns now come behind the pack's. */
			uint32_t n = s->main_n + group->inputs[0]->column_n, *map;

			map = build_alloc(b, n, sizeof(*map));
			for (uint32_t c = 0; map && c < n; c++)
				map[c] = c - s->main_n + width;
			keys[i] = map ? expr_renumber(b, k, map) : NULL;
		}
		if (!keys[i])
			return NULL;
	}
	for (uint32_t i = 0; i < group->group.aggregate_n; i++) {
		aggregates[i] = group->group.aggregates[i];
		aggregates[i].stage = AGG_COMBINE;
		aggregates[i].arg = build_column(b, base + pack->key_n + i, PLAN_ANY);
		if (!aggregates[i].arg)
			return NULL;
	}
	copy->group.keys = keys;
	copy->group.aggregates = aggregates;
	return copy;
}

static const struct plan_node *group_join(struct plan_build *b, const struct plan_node *group)
{
	const struct plan_node *join = group->inputs[0];
	struct sides s;
	struct plan_node *packed;
	struct plan_pack *pack;
	bool partner;

	if (join->op != PLAN_HBJOIN || join->hbjoin.join != PLAN_JOIN_INNER || join->hbjoin.pack ||
	    join->hbjoin.pack_main || group->group.aggregate_n == 0)
		return group;
	s = sides_of(group, join);
	if (!s.keys_ok || (!s.all_main && !s.all_partner))
		return group;
	/* One partner at most: there is nothing to aggregate on its side. */
	partner = s.all_partner && !(join->hbjoin.pick != PICK_ALL && join->hbjoin.pick_n == 1);
	if (!partner && !s.all_main)
		return group;
	pack = pack_of(b, group, join, &s, partner);
	packed = rewrite_with(b, join, join->inputs);
	if (!pack || !packed)
		return NULL;
	if (partner)
		packed->hbjoin.pack = pack;
	else
		packed->hbjoin.pack_main = pack;
	if (!build_hbjoin_columns(b, packed))
		return NULL;
	return combine(b, group, packed, &s, partner, pack);
}

const struct plan_node *rewrite_aggregation(struct plan_build *b, const struct plan_node *node)
{
	const struct plan_node *copy = rewrite_inputs(b, node, rewrite_aggregation);

	if (copy && copy->op == PLAN_UNNEST)
		return sink_lists(b, copy);
	return copy && copy->op == PLAN_GROUP ? group_join(b, copy) : copy;
}
