/* catalog/thin_rule.h - what stays of old traces.
 *
 * From `after_ns` on a trace is thinned: what the rule calls remarkable stays, of the rest a share.
 * Applying rules is store/thin.c. */
#ifndef CAUSET_CATALOG_THIN_RULE_H
#define CAUSET_CATALOG_THIN_RULE_H

#include <stdbool.h>

#include "catalog/catalog.h"

#define THIN_RULE_MAX            16
#define THIN_RULE_MAX_ATTRIBUTES 64
#define THIN_RULE_MAX_CHARS      256 /* of one attribute */

struct thin_rule_row {
	int64_t id;
	int64_t after_ns;
	uint64_t threshold; /* sampling/second.h */
	bool errors;
	double slow;            /* quantile; 0: not looked at */
	int64_t rare;           /* 0: not looked at */
	const char *attributes; /* "key" or "key=value", globs, one a line; "" is none */
	int64_t created_ns;
};

/* Could it be added?  -EINVAL with the reason. */
int thin_rule_check(const struct thin_rule_row *rule, struct error *e);

/* Adds it; id and created_ns are not read.  -EEXIST: there is one for this age. */
int thin_rule_add(struct catalog *cat, const struct thin_rule_row *rule, const char *by,
		  int64_t *ret_id, struct error *e);

/* Every rule, the youngest age first, until `each` returns other than 0, which is then returned.
 * Texts are valid during the call.  The callback must not use the catalogue. */
int thin_rule_list(struct catalog *cat,
		   int (*each)(void *context, const struct thin_rule_row *rule), void *context,
		   struct error *e);

/* -ENOENT when there is no such rule. */
int thin_rule_remove(struct catalog *cat, int64_t id, const char *by, struct error *e);

#endif
