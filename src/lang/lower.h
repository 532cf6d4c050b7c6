/* lang/lower.h - from a checked program to plans. */
#ifndef CAUSET_LANG_LOWER_H
#define CAUSET_LANG_LOWER_H

#include "lang/ast.h"
#include "lang/diag.h"
#include "lang/plan.h"

/* The plan of one query of a program that lang_check() found no error in.  What cannot be planned
 * is a diagnostic (E5xx) and -EINVAL.  The plan borrows texts of the program.  -ENOMEM. */
int lang_lower(const struct ast_program *program, const struct ast_query *query,
	       struct diags *diags, struct plan *ret_plan);

#endif
