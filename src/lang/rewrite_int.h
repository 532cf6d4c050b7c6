/* lang/rewrite_int.h - the families of rules. */
#ifndef CAUSET_LANG_REWRITE_INT_H
#define CAUSET_LANG_REWRITE_INT_H

#include "lang/plan_build.h"
#include "lang/rewrite.h"

/* Each takes a plan and gives another one; NULL when out of memory. */
const struct plan_node *rewrite_selection(struct plan_build *b, const struct plan_node *node);
const struct plan_node *rewrite_aggregation(struct plan_build *b, const struct plan_node *node);
const struct plan_node *rewrite_projection(struct plan_build *b, const struct plan_node *node);
const struct plan_node *rewrite_top_n(struct plan_build *b, const struct plan_node *node);

/* A copy of the node with other inputs; sequences know their steps' inputs again. */
struct plan_node *rewrite_with(struct plan_build *b, const struct plan_node *node,
			       const struct plan_node *const *inputs);

/* Applies a family to every input. */
struct plan_node *rewrite_inputs(struct plan_build *b, const struct plan_node *node,
				 const struct plan_node *(*rule)(struct plan_build *,
								 const struct plan_node *));

#endif
