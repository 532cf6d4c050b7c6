/* exec/expr.h - evaluates expressions of a plan.
 *
 * What an expression is about is given by the caller: columns of a tuple, and a function that knows
 * the element at hand (fields, attributes, trace functions).  What is missing is nil, and logic has
 * three values: exec/value.h.
 *
 * A field or attribute of a span's points or links (event.x, link.x) has one value for each of
 * them: the element's function gives a list, and a comparison is true if it is for one of them.
 *
 * Not everything need be known: the element's function may answer `value_unknown()`, and what
 * depends on it is unknown, too; what does not is not.  So a predicate is put once to a whole
 * shape, and only what stays unknown is asked of its rows. */
#ifndef CAUSET_EXEC_EXPR_H
#define CAUSET_EXEC_EXPR_H

#include "exec/value.h"
#include "lang/plan.h"

#define V_UNKNOWN V_TYPES

static inline struct value value_unknown(void)
{
	return (struct value){.type = V_UNKNOWN};
}

/* What evaluating needs to remember: compiled patterns, moving averages.  For one thread. */
struct expr_memo;

/* -ENOMEM. */
int expr_memo_new(struct expr_memo **ret_memo);
struct expr_memo *expr_memo_free(struct expr_memo *m);

static inline void expr_memo_freep(struct expr_memo **m)
{
	expr_memo_free(*m);
}

struct expr_env {
	const struct value *columns; /* COLUMN; may be NULL where there are none */
	/* FIELD, ATTR, and calls about the element's trace (WHAT_IF). */
	struct value (*element)(void *context, const struct plan_expr *e);
	void *context;
	struct arena *arena; /* texts and lists that are made */
	struct expr_memo *memo;
	int failed; /* -ENOMEM, -EINVAL (a pattern that is none): sticky, results are nil */
};

struct value expr_eval(struct expr_env *env, const struct plan_expr *e);

/* A constant of a plan. */
struct value expr_constant(struct expr_env *env, const struct plan_value *v);

/* Does it depend on the element's points or links? */
bool expr_is_many(const struct plan_expr *e);

/* Calls `each` for the expression and everything below it.  Anything but 0 ends it. */
int expr_walk(const struct plan_expr *e, int (*each)(void *context, const struct plan_expr *e),
	      void *context);

#endif
