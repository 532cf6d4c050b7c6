/* lang/rewrite.c - plans that say the same and cost less. */
#include "lang/rewrite.h"

#include <errno.h>

#include "lang/rewrite_int.h"

struct plan_node *rewrite_with(struct plan_build *b, const struct plan_node *node,
			       const struct plan_node *const *inputs)
{
	struct plan_node *copy = build_alloc(b, 1, sizeof(*copy));
	const struct plan_node **list =
		build_alloc(b, node->input_n, sizeof(const struct plan_node *));

	if (!copy || !list)
		return NULL;
	*copy = *node;
	for (uint32_t i = 0; i < node->input_n; i++) {
		if (!inputs[i])
			return NULL;
		list[i] = inputs[i];
	}
	copy->inputs = list;
	if (node->op == PLAN_SEQUENCE) {
		struct plan_step *steps = build_alloc(b, node->sequence.step_n, sizeof(*steps));

		if (!steps)
			return NULL;
		for (uint32_t i = 0; i < node->sequence.step_n; i++) {
			steps[i] = node->sequence.steps[i];
			steps[i].input = list[i];
		}
		copy->sequence.steps = steps;
		if (node->sequence.until)
			copy->sequence.until = list[node->input_n - 1];
	}
	return copy;
}

struct plan_node *rewrite_inputs(struct plan_build *b, const struct plan_node *node,
				 const struct plan_node *(*rule)(struct plan_build *,
								 const struct plan_node *))
{
	const struct plan_node **inputs =
		build_alloc(b, node->input_n, sizeof(const struct plan_node *));

	if (!inputs)
		return NULL;
	for (uint32_t i = 0; i < node->input_n; i++) {
		inputs[i] = rule(b, node->inputs[i]);
		if (!inputs[i])
			return NULL;
	}
	return rewrite_with(b, node, inputs);
}

/* The rows that Limit will not show need not be kept: what stands between it and OrderBy gives one
 * row for one. */
static const struct plan_node *limited(struct plan_build *b, const struct plan_node *node,
				       uint64_t n)
{
	struct plan_node *copy;

	if (node->op != PLAN_SORT && node->op != PLAN_PROJECT)
		return node;
	if (node->op == PLAN_PROJECT) {
		const struct plan_node *input = limited(b, node->inputs[0], n);

		return input ? rewrite_with(b, node, &input) : NULL;
	}
	copy = rewrite_with(b, node, node->inputs);
	if (copy && (copy->sort.limit == 0 || copy->sort.limit > n))
		copy->sort.limit = n;
	return copy;
}

const struct plan_node *rewrite_top_n(struct plan_build *b, const struct plan_node *node)
{
	struct plan_node *copy = rewrite_inputs(b, node, rewrite_top_n);
	const struct plan_node *input;

	if (!copy || node->op != PLAN_LIMIT || node->limit.n == 0)
		return copy;
	input = limited(b, copy->inputs[0], node->limit.n);
	return input ? rewrite_with(b, copy, &input) : NULL;
}

int plan_rewrite(struct plan *plan, unsigned off)
{
	struct plan_build b = {.arena = &plan->arena};
	const struct plan_node *node = plan->root;

	if (!(off & REWRITE_SELECTION))
		node = rewrite_selection(&b, node);
	if (node && !(off & REWRITE_AGGREGATION))
		node = rewrite_aggregation(&b, node);
	if (node && !(off & REWRITE_PROJECTION))
		node = rewrite_projection(&b, node);
	if (node && !(off & REWRITE_TOP_N))
		node = rewrite_top_n(&b, node);
	if (!node)
		return -ENOMEM;
	plan->root = node;
	plan->node_n = plan_number(node);
	return 0;
}
