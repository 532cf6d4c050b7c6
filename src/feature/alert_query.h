/* feature/alert_query.h - what a rule's query answers about one window: numbers with labels.
 *
 * A row is a number, that of the rule's column or of the last one that is a number, with its other
 * columns as labels.  Rows of a question that neither groups nor names a column are counted: the
 * number of rows is the one number.  A series gives one number for the whole window. */
#ifndef CAUSET_FEATURE_ALERT_QUERY_H
#define CAUSET_FEATURE_ALERT_QUERY_H

#include <stdatomic.h>

#include "feature/alert_rule.h"

struct share;
struct store;

#define ALERT_MOST 1000 /* alerts of a rule at a time */

struct alert_sample {
	struct slice labels; /* a JSON object, sorted by name; NUL-terminated */
	double value;
	uint64_t hash; /* of the labels */
};

/* Samples for which the rule's condition holds. */
struct alert_answer {
	struct arena arena;
	struct alert_sample *rows;
	size_t n, room;
	uint64_t overflow;  /* rows for which there was no room */
	uint64_t rows_seen; /* of the answer, whether the condition holds or not */
};

void alert_answer_done(struct alert_answer *a);

struct alert_asking {
	struct store *store;
	struct catalog *catalog;
	int64_t to_ns; /* the window's end */
	int64_t time_ns;
	size_t memory_bytes;
	const _Atomic bool *cancel;
	struct share *share; /* of the processors; may be NULL */
};

/* Runs it on a thread of its own, on a leash.  Negative errno, with the reason in
 * *error. */
int alert_query_run(const struct alert_rule *rule, const struct alert_asking *asking,
		    struct alert_answer *ret_answer, struct error *error);

#endif
