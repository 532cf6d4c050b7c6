/* lang/rewrite_project.c - columns nobody needs are not made.
 *
 *   Π p,q(P ⋈ Q) = Π p(P) ⋈ Π q(Q)                                (Table 3)
 *
 * From the root down: what is needed of an operator says what is needed of its inputs; at the
 * sources the other columns go. */
#include "lang/rewrite_int.h"

/* Gives the node at least the columns in `used`; map[old] is the new number, PLAN_NONE where a
 * column is gone. */
static const struct plan_node *narrow(struct plan_build *b, const struct plan_node *node,
				      const bool *used, uint32_t *map);

static uint32_t *identity(struct plan_build *b, uint32_t n)
{
	uint32_t *map = build_alloc(b, n, sizeof(*map));

	for (uint32_t i = 0; map && i < n; i++)
		map[i] = i;
	return map;
}

static bool *flags(struct plan_build *b, uint32_t n)
{
	return build_alloc(b, n, sizeof(bool));
}

/* An input with what is needed of it, and the numbers its columns have then. */
struct narrowed {
	const struct plan_node *node;
	uint32_t *map;
};

static bool narrow_input(struct plan_build *b, const struct plan_node *input, const bool *used,
			 struct narrowed *out)
{
	out->map = build_alloc(b, input->column_n, sizeof(*out->map));
	out->node = out->map ? narrow(b, input, used, out->map) : NULL;
	return out->node != NULL;
}

static void note_exprs(const struct plan_expr *const *exprs, uint32_t n, bool *used)
{
	for (uint32_t i = 0; i < n; i++)
		expr_columns(exprs[i], used);
}

static const struct plan_expr *const *renumbered(struct plan_build *b,
						 const struct plan_expr *const *exprs, uint32_t n,
						 const uint32_t *map)
{
	const struct plan_expr **out = build_alloc(b, n, sizeof(*out));

	for (uint32_t i = 0; out && i < n; i++) {
		out[i] = expr_renumber(b, exprs[i], map);
		if (!out[i])
			return NULL;
	}
	return out;
}

static struct plan_aggregate *renumbered_aggregates(struct plan_build *b,
						    const struct plan_aggregate *list, uint32_t n,
						    const uint32_t *map)
{
	struct plan_aggregate *out = build_alloc(b, n, sizeof(*out));

	for (uint32_t i = 0; out && i < n; i++) {
		out[i] = list[i];
		if (out[i].arg && !(out[i].arg = expr_renumber(b, out[i].arg, map)))
			return NULL;
	}
	return out;
}

/* --- sources --- */

static const struct plan_node *narrow_source(struct plan_build *b, const struct plan_node *node,
					     const bool *used, uint32_t *map)
{
	struct plan_node *copy = rewrite_with(b, node, node->inputs);
	struct plan_column *columns = build_alloc(b, node->column_n, sizeof(*columns));
	const struct plan_expr **fields = build_alloc(b, node->column_n, sizeof(*fields));
	const struct plan_expr *const *old = node->op == PLAN_SOURCE    ? node->source.fields
					     : node->op == PLAN_SPANSET ? node->spanset.fields
									: NULL;
	uint32_t n = 0;

	if (!copy || !columns || !fields)
		return NULL;
	for (uint32_t i = 0; i < node->column_n; i++) {
		map[i] = PLAN_NONE;
		if (!used[i])
			continue;
		columns[n] = node->columns[i];
		if (old)
			fields[n] = old[i];
		map[i] = n++;
	}
	copy->columns = columns;
	copy->column_n = n;
	if (node->op == PLAN_SOURCE)
		copy->source.fields = fields;
	else if (node->op == PLAN_SPANSET)
		copy->spanset.fields = fields;
	return copy;
}

/* --- one input, the same columns --- */

static const struct plan_node *narrow_same(struct plan_build *b, const struct plan_node *node,
					   bool *used, uint32_t *map)
{
	struct plan_node *copy;
	const struct plan_node *input;
	struct narrowed in;

	if (node->op == PLAN_FILTER)
		expr_columns(node->filter.predicate, used);
	for (uint32_t i = 0; node->op == PLAN_SORT && i < node->sort.n; i++)
		expr_columns(node->sort.orders[i].expr, used);
	for (uint32_t i = 0; node->op == PLAN_UNNEST && i < node->unnest.slot_n; i++)
		used[node->unnest.slots[i]] = true;
	if (!narrow_input(b, node->inputs[0], used, &in))
		return NULL;
	input = in.node;
	copy = rewrite_with(b, node, &input);
	if (!copy)
		return NULL;
	copy->columns = input->columns;
	copy->column_n = input->column_n;
	memcpy(map, in.map, node->column_n * sizeof(*map));
	if (node->op == PLAN_FILTER) {
		copy->filter.predicate = expr_renumber(b, node->filter.predicate, map);
		return copy->filter.predicate ? copy : NULL;
	}
	if (node->op == PLAN_SORT) {
		struct plan_order *orders = build_alloc(b, node->sort.n, sizeof(*orders));

		for (uint32_t i = 0; orders && i < node->sort.n; i++) {
			orders[i] = node->sort.orders[i];
			orders[i].expr = expr_renumber(b, orders[i].expr, map);
			if (!orders[i].expr)
				return NULL;
		}
		copy->sort.orders = orders;
		return orders ? copy : NULL;
	}
	if (node->op == PLAN_UNNEST) {
		uint32_t *slots = build_alloc(b, node->unnest.slot_n, sizeof(*slots));

		for (uint32_t i = 0; slots && i < node->unnest.slot_n; i++)
			slots[i] = map[node->unnest.slots[i]];
		copy->unnest.slots = slots;
		return slots ? copy : NULL;
	}
	return copy;
}

static const struct plan_node *narrow_project(struct plan_build *b, const struct plan_node *node,
					      const bool *used, uint32_t *map)
{
	const struct plan_expr **exprs = build_alloc(b, node->column_n, sizeof(*exprs));
	struct plan_column *columns = build_alloc(b, node->column_n, sizeof(*columns));
	bool *below = flags(b, node->inputs[0]->column_n);
	struct narrowed in;
	struct plan_node *copy;
	uint32_t n = 0;

	if (!exprs || !columns || !below)
		return NULL;
	for (uint32_t i = 0; i < node->column_n; i++)
		if (used[i])
			expr_columns(node->project.exprs[i], below);
	if (!narrow_input(b, node->inputs[0], below, &in))
		return NULL;
	for (uint32_t i = 0; i < node->column_n; i++) {
		map[i] = PLAN_NONE;
		if (!used[i])
			continue;
		exprs[n] = expr_renumber(b, node->project.exprs[i], in.map);
		if (!exprs[n])
			return NULL;
		columns[n] = node->columns[i];
		map[i] = n++;
	}
	copy = rewrite_with(b, node, &in.node);
	if (!copy)
		return NULL;
	copy->project.exprs = exprs;
	copy->columns = columns;
	copy->column_n = n;
	return copy;
}

/* --- joins --- */

static const struct plan_pack *narrow_pack(struct plan_build *b, const struct plan_pack *pack,
					   const uint32_t *map)
{
	struct plan_pack *copy = build_alloc(b, 1, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *pack;
	copy->keys = (const struct plan_expr **)(uintptr_t)renumbered(
		b, (const struct plan_expr *const *)pack->keys, pack->key_n, map);
	copy->aggregates = renumbered_aggregates(b, pack->aggregates, pack->aggregate_n, map);
	return copy->keys && copy->aggregates ? copy : NULL;
}

static void note_pack(const struct plan_pack *pack, bool *used)
{
	note_exprs((const struct plan_expr *const *)pack->keys, pack->key_n, used);
	for (uint32_t i = 0; i < pack->aggregate_n; i++)
		expr_columns(pack->aggregates[i].arg, used);
}

static uint32_t side_width(const struct plan_pack *pack, const struct plan_node *input)
{
	return pack ? pack->key_n + pack->aggregate_n : input->column_n;
}

static const struct plan_node *narrow_hbjoin(struct plan_build *b, const struct plan_node *node,
					     const bool *used, uint32_t *map)
{
	const struct plan_node *main = node->inputs[0], *partner = node->inputs[1], *inputs[2];
	const struct plan_pack *packs[2] = {node->hbjoin.pack_main, node->hbjoin.pack};
	uint32_t width = side_width(packs[0], main), n = main->column_n + partner->column_n;
	bool *need[2] = {flags(b, main->column_n), flags(b, partner->column_n)},
	     *rest = flags(b, n);
	struct narrowed in[2];
	uint32_t *both = build_alloc(b, n, sizeof(*both));
	struct plan_node *copy;

	if (!need[0] || !need[1] || !rest || !both)
		return NULL;
	if (node->hbjoin.rest)
		expr_columns(node->hbjoin.rest, rest);
	for (uint32_t i = 0; i < main->column_n; i++)
		need[0][i] = rest[i] || (!packs[0] && used[i]);
	for (uint32_t i = 0; i < partner->column_n; i++)
		need[1][i] = rest[main->column_n + i] ||
			     (!packs[1] && width + i < node->column_n && used[width + i]);
	for (int i = 0; i < 2; i++) {
		if (packs[i])
			note_pack(packs[i], need[i]);
		if (!narrow_input(b, node->inputs[i], need[i], &in[i]))
			return NULL;
		inputs[i] = in[i].node;
	}
	copy = rewrite_with(b, node, inputs);
	if (!copy)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i < main->column_n ? in[0].map[i] : in[1].map[i - main->column_n];

		both[i] = at == PLAN_NONE || i < main->column_n ? at : at + inputs[0]->column_n;
	}
	if (node->hbjoin.rest && !(copy->hbjoin.rest = expr_renumber(b, node->hbjoin.rest, both)))
		return NULL;
	if (packs[0] && !(copy->hbjoin.pack_main = narrow_pack(b, packs[0], in[0].map)))
		return NULL;
	if (packs[1] && !(copy->hbjoin.pack = narrow_pack(b, packs[1], in[1].map)))
		return NULL;
	if (!build_hbjoin_columns(b, copy))
		return NULL;
	for (uint32_t i = 0; i < node->column_n; i++) {
		uint32_t at = i < width ? (packs[0] ? i : in[0].map[i])
					: (packs[1] ? i - width : in[1].map[i - width]);

		map[i] = at == PLAN_NONE || i < width ? at : at + side_width(packs[0], inputs[0]);
	}
	return copy;
}

static const struct plan_node *narrow_equijoin(struct plan_build *b, const struct plan_node *node,
					       const bool *used, uint32_t *map)
{
	const struct plan_node *inputs[2];
	uint32_t main = node->inputs[0]->column_n, n = main + node->inputs[1]->column_n;
	bool *need[2] = {flags(b, main), flags(b, node->inputs[1]->column_n)}, *rest = flags(b, n);
	uint32_t *both = build_alloc(b, n, sizeof(*both));
	struct narrowed in[2];
	struct plan_node *copy;
	struct plan_column *columns = build_alloc(b, n, sizeof(*columns));
	uint32_t key_n = node->equijoin.key_n;

	if (!need[0] || !need[1] || !rest || !both || !columns)
		return NULL;
	note_exprs(node->equijoin.left_keys, key_n, need[0]);
	note_exprs(node->equijoin.right_keys, key_n, need[1]);
	if (node->equijoin.rest)
		expr_columns(node->equijoin.rest, rest);
	for (uint32_t i = 0; i < n; i++)
		if (rest[i] || (i < node->column_n && used[i]))
			need[i >= main][i < main ? i : i - main] = true;
	for (int i = 0; i < 2; i++) {
		if (!narrow_input(b, node->inputs[i], need[i], &in[i]))
			return NULL;
		inputs[i] = in[i].node;
	}
	copy = rewrite_with(b, node, inputs);
	if (!copy)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i < main ? in[0].map[i] : in[1].map[i - main];

		both[i] = at == PLAN_NONE || i < main ? at : at + inputs[0]->column_n;
		if (i < node->column_n)
			map[i] = both[i];
	}
	copy->equijoin.left_keys = renumbered(b, node->equijoin.left_keys, key_n, in[0].map);
	copy->equijoin.right_keys = renumbered(b, node->equijoin.right_keys, key_n, in[1].map);
	if (node->equijoin.rest &&
	    !(copy->equijoin.rest = expr_renumber(b, node->equijoin.rest, both)))
		return NULL;
	memcpy(columns, inputs[0]->columns, inputs[0]->column_n * sizeof(*columns));
	memcpy(columns + inputs[0]->column_n, inputs[1]->columns,
	       inputs[1]->column_n * sizeof(*columns));
	copy->columns = columns;
	copy->column_n = inputs[0]->column_n + (node->column_n > main ? inputs[1]->column_n : 0);
	return copy->equijoin.left_keys && copy->equijoin.right_keys ? copy : NULL;
}

/* --- the rest --- */

static const struct plan_node *narrow_group(struct plan_build *b, const struct plan_node *node,
					    uint32_t *map)
{
	bool series = node->op == PLAN_SERIES;
	const struct plan_expr *const *keys = series ? node->series.keys : node->group.keys;
	const struct plan_aggregate *list =
		series ? node->series.aggregates : node->group.aggregates;
	uint32_t key_n = series ? node->series.key_n : node->group.key_n,
		 n = series ? node->series.aggregate_n : node->group.aggregate_n;
	bool *need = flags(b, node->inputs[0]->column_n);
	struct narrowed in;
	struct plan_node *copy;

	if (!need)
		return NULL;
	note_exprs(keys, key_n, need);
	for (uint32_t i = 0; i < n; i++)
		expr_columns(list[i].arg, need);
	if (!narrow_input(b, node->inputs[0], need, &in))
		return NULL;
	copy = rewrite_with(b, node, &in.node);
	keys = renumbered(b, keys, key_n, in.map);
	list = renumbered_aggregates(b, list, n, in.map);
	if (!copy || !keys || !list)
		return NULL;
	if (series) {
		copy->series.keys = keys;
		copy->series.aggregates = list;
	} else {
		copy->group.keys = keys;
		copy->group.aggregates = list;
	}
	for (uint32_t i = 0; i < node->column_n; i++)
		map[i] = i;
	return copy;
}

/* The columns that are used, all of them and nothing else: inputs of a union must agree. */
static const struct plan_node *exactly(struct plan_build *b, const struct plan_node *node,
				       const bool *used, const uint32_t *map, uint32_t n)
{
	const struct plan_expr **exprs = build_alloc(b, n, sizeof(*exprs));
	struct plan_column *columns = build_alloc(b, n, sizeof(*columns));
	uint32_t k = 0;

	if (!exprs || !columns)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		if (used[i]) {
			columns[k] = node->columns[map[i]];
			exprs[k++] = build_column(b, map[i], node->columns[map[i]].type);
		}
	if (k == node->column_n)
		return node; /* in the same order, since maps keep it */
	return build_project(b, node, exprs, columns, k);
}

static const struct plan_node *narrow_union(struct plan_build *b, const struct plan_node *node,
					    const bool *used, uint32_t *map)
{
	const struct plan_node **inputs =
		build_alloc(b, node->input_n, sizeof(const struct plan_node *));
	struct plan_node *copy;
	uint32_t n = 0;

	if (!inputs)
		return NULL;
	for (uint32_t i = 0; i < node->input_n; i++) {
		struct narrowed in;

		if (!narrow_input(b, node->inputs[i], used, &in))
			return NULL;
		inputs[i] = exactly(b, in.node, used, in.map, node->column_n);
		if (!inputs[i])
			return NULL;
	}
	copy = rewrite_with(b, node, inputs);
	if (!copy)
		return NULL;
	copy->columns = inputs[0]->columns;
	copy->column_n = inputs[0]->column_n;
	for (uint32_t i = 0; i < node->column_n; i++)
		map[i] = used[i] ? n++ : PLAN_NONE;
	return copy;
}

/* Inputs that are taken as they are, each narrowed in itself. */
static const struct plan_node *narrow_whole(struct plan_build *b, const struct plan_node *node,
					    uint32_t *map)
{
	for (uint32_t i = 0; i < node->column_n; i++)
		map[i] = i;
	return rewrite_inputs(b, node, rewrite_projection);
}

static const struct plan_node *narrow(struct plan_build *b, const struct plan_node *node,
				      const bool *used, uint32_t *map)
{
	bool *mine = flags(b, node->column_n);

	if (!mine)
		return NULL;
	memcpy(mine, used, node->column_n * sizeof(*mine));
	switch (node->op) {
	case PLAN_SOURCE:
	case PLAN_SPANSET:
	case PLAN_CSV:
		return narrow_source(b, node, used, map);
	case PLAN_FILTER:
	case PLAN_SORT:
	case PLAN_UNNEST:
	case PLAN_LIMIT:
	case PLAN_PICK:
		return narrow_same(b, node, mine, map);
	case PLAN_PROJECT:
		return narrow_project(b, node, used, map);
	case PLAN_HBJOIN:
		return narrow_hbjoin(b, node, used, map);
	case PLAN_EQUIJOIN:
		return narrow_equijoin(b, node, used, map);
	case PLAN_GROUP:
	case PLAN_SERIES:
		return narrow_group(b, node, map);
	case PLAN_UNION:
		return narrow_union(b, node, used, map);
	default:
		return narrow_whole(b, node, map);
	}
}

const struct plan_node *rewrite_projection(struct plan_build *b, const struct plan_node *node)
{
	bool *used = flags(b, node->column_n);
	uint32_t *map = identity(b, node->column_n);

	if (!used || !map)
		return NULL;
	memset(used, 1, node->column_n);
	return narrow(b, node, used, map);
}
