/* feature/alert_state.h - how an alert goes from pending to firing to resolved.
 *
 *   condition holds          none, resolved ─▶ pending ─▶ firing     after "for"; at once if that
 * is 0 it does not              pending ─▶ none, firing ─▶ resolved ─▶ none after a while
 *
 * Pure: rows of the catalogue in, rows out. */
#ifndef CAUSET_FEATURE_ALERT_STATE_H
#define CAUSET_FEATURE_ALERT_STATE_H

#include "catalog/alert.h"
#include "feature/alert_query.h"

#define ALERT_RESOLVED_KEEP_NS (15 * 60 * 1000000000LL) /* resolved ones are still listed */

struct alert_states {
	struct arena *arena; /* of their labels; borrowed */
	struct alert_state_row *rows;
	size_t n, room;
};

void alert_states_done(struct alert_states *s);

/* A copy behind the others, its labels in the arena.  -ENOMEM. */
int alert_states_add(struct alert_states *s, const struct alert_state_row *row);

struct alert_step {
	bool changed;      /* the rows differ from before in more than their values */
	bool tell;         /* something fired, resolved, or is to be told again */
	uint64_t overflow; /* of the answer's samples found no room */
};

/* One evaluation, whose window ended at `now_ns`.  Rows are sorted by labels afterwards.  When the
 * answer has overflowed nobody knows whether what is not in it holds: such rows stay as they are,
 * and while there are ALERT_MOST of them no new ones are added.  -ENOMEM: the step is empty, and
 * the rows are of no use. */
int alert_states_step(struct alert_states *s, const struct alert_rule *rule,
		      const struct alert_answer *answer, int64_t now_ns,
		      struct alert_step *ret_step);

/* The notification about a rule's alerts, in the form of Alertmanager's webhooks (version 4).
 * `told` of them that fire, and those that were resolved at `now_ns`. */
struct alert_body {
	const struct alert_rule *rule;
	const struct alert_states *states;
	int64_t now_ns;
	uint64_t overflow;
	const char *external_url; /* of this server, without a slash at its end */
};
void alert_body_write(const struct alert_body *b, struct arena *arena, struct buffer *out);

/* 16 hex digits of an alert's labels. */
void alert_fingerprint(const char *labels, char ret_text[17]);

#endif
