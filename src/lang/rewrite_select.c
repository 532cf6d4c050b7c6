/* lang/rewrite_select.c - conditions go as close to the sources as they can.
 *
 *   σp(P ⋈ Q) = σp(P) ⋈ Q      σq(P ⋈ Q) = P ⋈ σq(Q)             (Table 3)
 *
 * The first holds where every P that happened before counts: not for First and MostRecent, which
 * would pick others, and not for Left and Anti.  At a source, a condition on columns becomes one on
 * the element's fields, which the store answers for whole shapes. */
#include "lang/rewrite_int.h"

static const struct plan_node *push(struct plan_build *b, const struct plan_node *node,
				    const struct plan_expr *p);

/* Adds to *in the conjuncts of p that lie in columns from … to - 1, to *out the others. */
static bool split(struct plan_build *b, const struct plan_expr *p, uint32_t from, uint32_t to,
		  const struct plan_expr **in, const struct plan_expr **out)
{
	if (p->kind == X_OP && p->op == XO_AND)
		return split(b, p->args[0], from, to, in, out) &&
		       split(b, p->args[1], from, to, in, out);
	if (expr_within(p, from, to) && expr_has_column(p))
		*in = build_and(b, *in, p);
	else
		*out = build_and(b, *out, p);
	return !b->no_memory;
}

static const struct plan_expr *shifted(struct plan_build *b, const struct plan_expr *e, uint32_t by,
				       uint32_t n)
{
	uint32_t *map = build_alloc(b, n, sizeof(*map));

	if (!map || !e)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		map[i] = i - by;
	return expr_renumber(b, e, map);
}

static const struct plan_node *push_join(struct plan_build *b, const struct plan_node *node,
					 const struct plan_expr *p)
{
	const struct plan_node *inputs[2] = {node->inputs[0], node->inputs[1]};
	const struct plan_expr *left = NULL, *right = NULL, *rest = NULL, *stay = NULL;
	bool hb = node->op == PLAN_HBJOIN;
	enum plan_join kind = hb ? node->hbjoin.join : node->equijoin.join;
	uint32_t main = inputs[0]->column_n;

	if (hb && (node->hbjoin.pack || node->hbjoin.pack_main))
		return build_filter(b, node, p);
	if (!split(b, p, 0, main, &left, &rest))
		return NULL;
	if (rest && !split(b, rest, main, node->column_n, &right, &stay))
		return NULL;
	if (right && (kind != PLAN_JOIN_INNER || (hb && node->hbjoin.pick != PICK_ALL))) {
		stay = build_and(b, stay, right);
		right = NULL;
	}
	inputs[0] = left ? push(b, inputs[0], left) : rewrite_selection(b, inputs[0]);
	if (right) {
		right = shifted(b, right, main, node->column_n);
		inputs[1] = right ? push(b, inputs[1], right) : NULL;
	} else {
		inputs[1] = rewrite_selection(b, inputs[1]);
	}
	if (!inputs[0] || !inputs[1] || b->no_memory)
		return NULL;
	return build_filter(b, rewrite_with(b, node, inputs), stay);
}

static const struct plan_node *push_unnest(struct plan_build *b, const struct plan_node *node,
					   const struct plan_expr *p)
{
	const struct plan_expr *below = NULL, *stay = NULL;
	const struct plan_node *input;
	bool *used = build_alloc(b, node->column_n, sizeof(*used));

	if (!used)
		return NULL;
	/* One condition at a time: those that do not look at what is taken apart go below. */
	for (const struct plan_expr *rest = p; rest;) {
		const struct plan_expr *one = rest;
		bool apart = false;

		if (rest->kind == X_OP && rest->op == XO_AND) {
			one = rest->args[1];
			rest = rest->args[0];
		} else {
			rest = NULL;
		}
		memset(used, 0, node->column_n);
		expr_columns(one, used);
		for (uint32_t i = 0; i < node->unnest.slot_n; i++)
			apart |= used[node->unnest.slots[i]];
		if (apart)
			stay = build_and(b, one, stay);
		else
			below = build_and(b, one, below);
	}
	input = below ? push(b, node->inputs[0], below) : rewrite_selection(b, node->inputs[0]);
	return input ? build_filter(b, rewrite_with(b, node, &input), stay) : NULL;
}

static const struct plan_node *push_group(struct plan_build *b, const struct plan_node *node,
					  const struct plan_expr *p)
{
	const struct plan_expr *below = NULL, *stay = NULL;
	const struct plan_node *input;

	if (!split(b, p, 0, node->group.key_n, &below, &stay))
		return NULL;
	if (below) {
		below = expr_substitute(b, below, node->group.keys);
		input = below ? push(b, node->inputs[0], below) : NULL;
	} else {
		input = rewrite_selection(b, node->inputs[0]);
	}
	return input ? build_filter(b, rewrite_with(b, node, &input), stay) : NULL;
}

static const struct plan_node *push_source(struct plan_build *b, const struct plan_node *node,
					   const struct plan_expr *p)
{
	struct plan_node *copy = rewrite_with(b, node, node->inputs);

	if (!copy)
		return NULL;
	if (node->op == PLAN_SOURCE) {
		p = expr_substitute(b, p, node->source.fields);
		copy->source.predicate = p ? build_and(b, node->source.predicate, p) : NULL;
		return copy->source.predicate ? copy : NULL;
	}
	{
		struct plan_set *set = build_alloc(b, 1, sizeof(*set));
		const struct plan_set *old = node->spanset.set;

		p = expr_substitute(b, p, node->spanset.fields);
		if (!set || !p)
			return NULL;
		set->op = SET_FILTER;
		set->left = old;
		set->predicate = p;
		if (old->op == SET_FILTER) { /* one filter instead of two */
			set->left = old->left;
			set->predicate = build_and(b, old->predicate, p);
		}
		copy->spanset.set = set;
		return set->predicate ? copy : NULL;
	}
}

static const struct plan_node *push(struct plan_build *b, const struct plan_node *node,
				    const struct plan_expr *p)
{
	const struct plan_node *input;
	struct plan_node *copy;

	if (plan_expr_has_state(p))
		return build_filter(b, rewrite_selection(b, node), p);
	switch (node->op) {
	case PLAN_SOURCE:
	case PLAN_SPANSET:
		return push_source(b, node, p);
	case PLAN_FILTER:
		if (plan_expr_has_state(node->filter.predicate))
			break;
		return push(b, node->inputs[0], build_and(b, node->filter.predicate, p));
	case PLAN_PROJECT:
		for (uint32_t i = 0; i < node->column_n; i++)
			if (plan_expr_has_state(node->project.exprs[i]))
				return build_filter(b, rewrite_selection(b, node), p);
		p = expr_substitute(b, p, node->project.exprs);
		input = p ? push(b, node->inputs[0], p) : NULL;
		return input ? rewrite_with(b, node, &input) : NULL;
	case PLAN_SORT:
	case PLAN_DISTINCT:
		if (node->op == PLAN_SORT && node->sort.limit)
			break;
		input = push(b, node->inputs[0], p);
		return input ? rewrite_with(b, node, &input) : NULL;
	case PLAN_UNION:
		copy = rewrite_with(b, node, node->inputs);
		for (uint32_t i = 0; copy && i < node->input_n; i++) {
			((const struct plan_node **)(uintptr_t)copy->inputs)[i] =
				push(b, node->inputs[i], p);
			if (!copy->inputs[i])
				return NULL;
		}
		return copy;
	case PLAN_UNNEST:
		return push_unnest(b, node, p);
	case PLAN_GROUP:
		return push_group(b, node, p);
	case PLAN_HBJOIN:
	case PLAN_EQUIJOIN:
		return push_join(b, node, p);
	default:
		break;
	}
	return build_filter(b, rewrite_selection(b, node), p);
}

const struct plan_node *rewrite_selection(struct plan_build *b, const struct plan_node *node)
{
	if (node->op == PLAN_FILTER && !plan_expr_has_state(node->filter.predicate))
		return push(b, node->inputs[0], node->filter.predicate);
	return rewrite_inputs(b, node, rewrite_selection);
}
