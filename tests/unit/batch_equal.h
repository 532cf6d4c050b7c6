/* tests/unit/batch_equal.h - do two batches say the same?
 *
 * Codes, the order of resources and scopes, and how often they are stored do not matter: rows are
 * compared in their order, each with its resource, scope and extra, text by text.  Owner, sender
 * and the time of receipt are not compared, nor are resources and scopes without a row. */
#ifndef CAUSET_TESTS_UNIT_BATCH_EQUAL_H
#define CAUSET_TESTS_UNIT_BATCH_EQUAL_H

#include "model/batch.h"

struct batch_difference {
	char text[400]; /* "row 3: attribute "a": …" */
};

/* `ret_why` may be NULL and is written only when they differ.  A NaN equals every NaN. */
bool batch_equal(const struct batch *a, const struct batch *b, struct batch_difference *ret_why);

/* One value with what is nested in it, keys included. */
bool attr_equal(const struct batch *a, const struct attr *x, const struct batch *b,
		const struct attr *y);

/* References to every row of a batch, in order; *ret_refs is for free().  Returns how many. */
size_t batch_refs(const struct batch *b, struct event_ref **ret_refs);

/* For cmocka tests: fails, showing the difference. */
#define assert_batch_equal(a, b)                                                                   \
	do {                                                                                       \
		struct batch_difference why_;                                                      \
		if (!batch_equal((a), (b), &why_))                                                 \
			fail_msg("batches differ: %s", why_.text);                                 \
	} while (0)

#endif
