/* cli/rules.h - a file of queries that must return nothing, taken apart into its rules.
 *
 * Every query without a name is a rule, and every one with a name that no other statement mentions;
 * those that are mentioned, tracepoints and datasets are there for the rules to use. */
#ifndef CAUSET_CLI_RULES_H
#define CAUSET_CLI_RULES_H

#include "base/arena.h"
#include "lang/diag.h"

struct rule {
	struct slice name; /* or "line 3" */
	struct slice text; /* the whole file's, with this rule as its only result: bytes are at the
			      same places */
};

/* In the arena.  0 also when the text is wrong: see `diags`; then there are no rules.  -ENOMEM. */
int rules_read(struct slice text, struct arena *arena, struct diags *diags, struct rule **ret_rules,
	       size_t *ret_n);

#endif
