/* feature/alert_rule.h - a standing rule: a query, when its answer is an alert, and whom to tell.
 *
 * As people write it down, and as the catalogue keeps it:
 *
 *   {"name": "slow-checkout", "query": "{ … } | …", "when": ">", "threshold": "500ms",
 *    "over": "5m", "for": "2m", "every": "1m", "webhook": "http://alerts:9093/hook",
 *    "labels": {"severity": "page"}, "annotations": {"runbook": "https://…"}}
 */
#ifndef CAUSET_FEATURE_ALERT_RULE_H
#define CAUSET_FEATURE_ALERT_RULE_H

#include "base/arena.h"
#include "base/error.h"
#include "exec/value.h"
#include "lang/ast.h"
#include "lang/diag.h"
#include "wire/json_writer.h"

#define ALERT_LABELS_MOST 32   /* of a rule, and of a row */
#define ALERT_LABEL_BYTES 1024 /* of a value: rules have no longer ones, those of rows are cut */

struct catalog;
struct plan_node;
struct query;

struct alert_label {
	struct slice name, value;
};

struct alert_rule {
	struct slice name, query, webhook;
	struct slice column; /* whose number is compared; empty: the last that is a number */
	enum lang_dialect dialect;
	enum value_relation when;
	double threshold;            /* durations in nanoseconds … */
	struct slice threshold_text; /* … and as it was written, where it was */
	int64_t over_ns;             /* the window that each evaluation asks about */
	int64_t for_ns;              /* how long it has to hold before it fires */
	int64_t every_ns;            /* between evaluations */
	int64_t delay_ns;            /* how long spans of a window are waited for */
	int64_t repeat_ns;           /* what fires is told again; 0: never */
	struct alert_label labels[ALERT_LABELS_MOST], annotations[ALERT_LABELS_MOST];
	size_t label_n, annotation_n;
};

/* Reads the text above.  -EINVAL, and the error says what is wrong; -ENOMEM.  Texts lie in the
 * arena, NUL-terminated. */
int alert_rule_read(struct slice json, struct arena *arena, struct alert_rule *ret_rule,
		    struct error *error);

/* Is its query one that a rule can ask?  0 and the prepared query; -EINVAL: the diagnostics say
 * why, or the error does; -ENOMEM. */
int alert_rule_prepare(const struct alert_rule *rule, struct catalog *catalog, struct diags *diags,
		       struct query **ret_query, struct error *error);

/* The members of the object, without braces.  Webhooks are secrets to many who receive them: what
 * stands behind the host is written only where `secrets` says so. */
void alert_rule_write(struct json_writer *w, const struct alert_rule *rule, bool secrets);

/* Whether an enum plan_op is in a plan. */
bool alert_plan_has(const struct plan_node *node, int op);

bool alert_rule_holds(const struct alert_rule *rule, double value);
const char *alert_relation_name(enum value_relation when);

#endif
