/* lang/plan_build.h - making pieces of plans: for lowering and for rewriting.
 *
 * Everything is in the builder's arena.  Running out of memory is sticky: a function that cannot go
 * on sets `no_memory` and returns NULL, and given a NULL where a piece is asked for returns NULL,
 * so that a caller looks once, at its end. */
#ifndef CAUSET_LANG_PLAN_BUILD_H
#define CAUSET_LANG_PLAN_BUILD_H

#include "lang/plan.h"

struct plan_build {
	struct arena *arena;
	bool no_memory;
};

/* Cleared; NULL when out of memory.  Count 0 gives something, too. */
void *build_alloc(struct plan_build *b, size_t count, size_t size);

const struct plan_expr *build_const(struct plan_build *b, struct plan_value value);
const struct plan_expr *build_column(struct plan_build *b, uint32_t column, enum plan_type type);
const struct plan_expr *build_field(struct plan_build *b, enum plan_field field, enum plan_of of,
				    enum plan_type type);
const struct plan_expr *build_attr(struct plan_build *b, enum plan_scope scope, enum plan_of of,
				   struct slice key);
const struct plan_expr *build_op(struct plan_build *b, enum plan_operator op, enum plan_type type,
				 const struct plan_expr *left, const struct plan_expr *right);
/* Copies the array of pointers. */
const struct plan_expr *build_call(struct plan_build *b, enum plan_function function,
				   enum plan_type type, const struct plan_expr *const *args,
				   uint32_t n);

/* a && b; either may be NULL for "true" unless memory ran out. */
const struct plan_expr *build_and(struct plan_build *b, const struct plan_expr *left,
				  const struct plan_expr *right);

/* Do they say the same, wherever in the text? */
bool plan_expr_same(const struct plan_expr *a, const struct plan_expr *b);
bool plan_value_same(const struct plan_value *a, const struct plan_value *b);

/* The expression with every column i replaced by with[i], which live on.  The same one where it has
 * none. */
const struct plan_expr *expr_substitute(struct plan_build *b, const struct plan_expr *e,
					const struct plan_expr *const *with);
/* With column i numbered map[i] instead. */
const struct plan_expr *expr_renumber(struct plan_build *b, const struct plan_expr *e,
				      const uint32_t *map);
/* Marks the columns an expression uses.  NULL is fine. */
void expr_columns(const struct plan_expr *e, bool *used);
/* Are all columns it uses in [from, to)?  True for one without any. */
bool expr_within(const struct plan_expr *e, uint32_t from, uint32_t to);
bool expr_has_column(const struct plan_expr *e);
/* Depends on nothing: neither column nor element. */
bool expr_is_constant(const struct plan_expr *e);

/* A node with these inputs (copied) and no columns. */
struct plan_node *build_node(struct plan_build *b, enum plan_op op,
			     const struct plan_node *const *inputs, uint32_t n);

/* A node with the columns of its first input. */
struct plan_node *build_over(struct plan_build *b, enum plan_op op, const struct plan_node *input);

const struct plan_node *build_filter(struct plan_build *b, const struct plan_node *input,
				     const struct plan_expr *predicate);
const struct plan_node *build_project(struct plan_build *b, const struct plan_node *input,
				      const struct plan_expr *const *exprs,
				      const struct plan_column *columns, uint32_t n);

/* What a happened-before join's tuples consist of, from its inputs and packs. */
bool build_hbjoin_columns(struct plan_build *b, struct plan_node *join);

/* Numbers the nodes; how many. */
uint32_t plan_number(const struct plan_node *root);

#endif
