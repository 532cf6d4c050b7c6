/* catalog/alert.h - rules for alerts, what they have found, and what is still to be told.
 *
 * A rule is kept as the JSON text that feature/alert_rule.h reads; the catalogue knows nothing of
 * its meaning.  What an evaluation has changed, the states of the rule's alerts and the
 * notification that tells of them, is written in one transaction: a notification is queued if and
 * only if the state says so, whenever the power fails.  It stays in the queue until somebody says
 * that it was delivered.
 *
 * Dropped rules stay, hidden, until the next evaluation has resolved what they fired. */
#ifndef CAUSET_CATALOG_ALERT_H
#define CAUSET_CATALOG_ALERT_H

#include <stdbool.h>

#include "base/arena.h"
#include "catalog/catalog.h"

#define ALERT_MAX_RULES      1000
#define ALERT_MAX_NAME_CHARS 128
#define ALERT_MAX_TEXT_BYTES 65536
#define ALERT_MAX_WAITING    500 /* notifications of one rule; then the oldest ones go */
#define ALERT_MAX_RETRY_S    300 /* between two tries of a notification */
#define ALERT_LAST_TRY       20  /* of a notification whose rule is gone */

struct alert_rule_row {
	const char *name, *text, *owner;
	const char *webhook; /* when defining: whom to tell; NULL, and when read: not said */
	int64_t updated_ns;
	int64_t evaluated_ns; /* the end of the last window; 0: not yet */
	int64_t overflow;     /* alerts of the last evaluation that found no room */
	int64_t late;         /* rows that came too late for every window, ever */
	const char *error;    /* of the last evaluation; "": it went well */
	bool dropped;
};

enum alert_is { ALERT_PENDING = 1, ALERT_FIRING = 2, ALERT_RESOLVED = 3 };

struct alert_state_row {
	const char *rule;
	const char *labels; /* a JSON object, sorted by name: who the alert is */
	enum alert_is is;
	double value;
	int64_t since_ns;    /* the condition holds */
	int64_t fired_ns;    /* 0: never */
	int64_t resolved_ns; /* 0: not */
	int64_t told_ns;     /* the last notification was queued; 0: never */
};

struct alert_delivery_row {
	int64_t id;
	const char *rule, *webhook, *body;
	int64_t created_ns, next_ns, tries;
	const char *error; /* of the last try; "": none yet */
	int64_t waiting;   /* of the same rule, this one counted; 0: not said */
};

/* Defines all of them, or none: rows have names, texts and webhooks, the rest is not read.
 * Replacing one keeps its alerts; what waits to be told goes to the new webhook, at once.  -EINVAL,
 * -ENOSPC too many. */
int alert_rule_define(struct catalog *cat, const struct alert_rule_row *rows, size_t n,
		      const char *owner, const char *by, struct error *e);

/* -ENOENT. */
int alert_rule_drop(struct catalog *cat, const char *name, const char *by, struct error *e);

/* All: by name, until `each` returns other than 0, which is then returned.  Texts are valid during
 * the call.  The callback must not use the catalogue. */
int alert_rule_list(struct catalog *cat, bool dropped,
		    int (*each)(void *context, const struct alert_rule_row *row), void *context,
		    struct error *e);
/* Of one rule, or of all where `rule` is NULL. */
int alert_state_list(struct catalog *cat, const char *rule,
		     int (*each)(void *context, const struct alert_state_row *row), void *context,
		     struct error *e);
/* The oldest notification of each rule that waits, without webhook and body, and how many do;
 * oldest first. */
int alert_delivery_list(struct catalog *cat,
			int (*each)(void *context, const struct alert_delivery_row *row),
			void *context, struct error *e);

struct alert_counts {
	int64_t pending, firing, waiting; /* alerts, alerts, notifications */
};
int alert_count(struct catalog *cat, struct alert_counts *ret_counts, struct error *e);

/* What an evaluation found. */
struct alert_outcome {
	const char *rule;
	const char *text; /* that was evaluated; NULL: whichever */
	int64_t evaluated_ns, overflow;
	int64_t late; /* more than before */
	const char *error;
	bool states_changed; /* `states` replace those that were there */
	const struct alert_state_row *states;
	size_t n;
	const char *webhook, *body; /* a notification to queue; NULL: none */
	bool gone;                  /* a dropped rule: it is removed */
};

/* Writes it, all or nothing.  1 when older notifications had to go for want of room (and how many,
 * in *ret_lost), else 0.  -ENOENT when the rule is gone meanwhile, -ESTALE when it has another
 * text. */
int alert_evaluated(struct catalog *cat, const struct alert_outcome *outcome, int64_t *ret_lost,
		    struct error *e);

/* The oldest notification of a rule that is due: 1, and its texts in the arena; 0 when there is
 * none.  One that is to wait for longer than anything does is due: the clock was set back. */
int alert_delivery_next(struct catalog *cat, int64_t now_ns, struct arena *arena,
			struct alert_delivery_row *ret_row, struct error *e);
int alert_delivery_done(struct catalog *cat, int64_t id, struct error *e);
/* 1: it was the last try of one whose rule is gone, and it is gone as well; else 0.
 * Nothing is noted when the webhook has been corrected meanwhile. */
int alert_delivery_failed(struct catalog *cat, const struct alert_delivery_row *row,
			  int64_t next_ns, const char *why, struct error *e);

#endif
