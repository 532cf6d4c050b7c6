/* store/thinning.h - the rules for thinning as an engine holds them: a copy that never changes.
 *
 * A segment is thinned as a whole, by the rule that the youngest of its rows is old enough for, and
 * is marked with that rule, so that it is not thinned again until another rule is in charge. */
#ifndef CAUSET_STORE_THINNING_H
#define CAUSET_STORE_THINNING_H

#include "base/error.h"
#include "store/thin.h"

struct thinning;

/* A deep copy.  NULL rules, or none: *ret_thinning is NULL.  -EINVAL as thin_rules_check(),
 * -ENOMEM. */
int thinning_new(const struct thin_rules *rules, struct thinning **ret_thinning,
		 struct error *error);
/* Any thread.  Both accept NULL; unref returns it. */
struct thinning *thinning_ref(struct thinning *t);
struct thinning *thinning_unref(struct thinning *t);

/* The rule for rows of which the last were received then, or NULL; with the mark of what it says,
 * which is not 0.  `t` may be NULL. */
const struct thin_rule *thinning_rule(const struct thinning *t, int64_t received_ns, int64_t now_ns,
				      uint64_t *ret_mark);

#endif
