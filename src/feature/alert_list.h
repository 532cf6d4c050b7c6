/* feature/alert_list.h - rules as they are shown, and rules as they come in: JSON. */
#ifndef CAUSET_FEATURE_ALERT_LIST_H
#define CAUSET_FEATURE_ALERT_LIST_H

#include "base/error.h"
#include "catalog/alert.h"
#include "feature/alert_rule.h"

/* Each rule with its health, its alerts and what could not be told yet, as an object:
 * docs/format/api.md.  Only the rule `name`, unless that is empty.  -ENOENT when there is no such
 * rule. */
int alert_list_write(struct catalog *catalog, struct slice name, bool secrets,
		     struct json_writer *w, struct error *error);

/* What is to be defined: one rule, or {"rules":[…]} of them.  Everything lies in the arena; texts
 * are as the catalogue keeps them.  -EINVAL with the reason: the error names the rule; where a
 * query is wrong the diagnostics say where, and *ret_wrong is that query. */
struct alert_defined {
	struct alert_rule_row *rows;
	size_t n;
};
int alert_define_read(struct slice json, struct catalog *catalog, struct arena *arena,
		      struct diags *diags, struct slice *ret_wrong,
		      struct alert_defined *ret_defined, struct error *error);

#endif
