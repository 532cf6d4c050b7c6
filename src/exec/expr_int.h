/* exec/expr_int.h - what the files of expression evaluation share. */
#ifndef CAUSET_EXEC_EXPR_INT_H
#define CAUSET_EXEC_EXPR_INT_H

#include "exec/expr.h"

/* Remembers the failure; nil. */
struct value expr_fail(struct expr_env *env, int r);

/* text =~ pattern: true, false, nil. */
struct value expr_match(struct expr_env *env, struct value text, struct value pattern);

/* A mean of what has come so far, this one included; kept for each expression. */
struct value expr_moving_average(struct expr_env *env, const struct plan_expr *e, struct value v);
struct value expr_sketch(struct expr_env *env, const struct plan_expr *e, struct value v);

struct value expr_call(struct expr_env *env, const struct plan_expr *e);

#endif
