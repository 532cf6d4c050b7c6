/* store/operation_tally.h - counts and durations by service and operation, added up. */
#ifndef CAUSET_STORE_OPERATION_TALLY_H
#define CAUSET_STORE_OPERATION_TALLY_H

#include "base/map.h"
#include "store/octaves.h"
#include "store/store.h"

struct operation_row {
	struct slice service, name; /* in the tally's arena */
	uint64_t spans, errors;
	struct octaves durations; /* of those that have ended */
};

/* One thread.  Zero is an empty one, but for the map: operation_tally_init(). */
struct operation_tally {
	struct arena arena;
	struct operation_row *rows;
	size_t n, capacity;
	struct map by_name;
	struct tally_waiting *waiting; /* spans that are counted many at a time */
	/* Of each row while waiting ones are counted, and the longest that waits. */
	uint32_t *counts;
	uint64_t *longest;
	size_t waiting_rows, count_capacity, longest_capacity;
};

void operation_tally_init(struct operation_tally *t);
void operation_tally_done(struct operation_tally *t);

/* The row of an operation, made if it is new: its index, or MAP_NONE without memory. */
uint32_t operation_tally_row(struct operation_tally *t, struct slice service, struct slice name);

/* Counts one span.  False when out of memory. */
bool operation_tally_span(struct operation_tally *t, uint32_t row, bool error, bool ended,
			  uint64_t duration_ns);

/* Counts n spans that have ended, span i in row rows[i]; those that failed are counted apart, by
 * the caller.  They wait until there are many, at the latest until operation_tally_settle().
 * -ENOMEM. */
int operation_tally_ended(struct operation_tally *t, const uint32_t *rows,
			  const uint64_t *durations_ns, size_t n);
int operation_tally_settle(struct operation_tally *t);

/* Counts the spans among these rows.  -ENOMEM. */
int operation_tally_rows(struct operation_tally *t, const struct event_ref *refs, size_t n);

/* Both of settled tallies.  -ENOMEM. */
int operation_tally_merge(struct operation_tally *to, const struct operation_tally *from);

/* Sorted by service, then by name.  -ENOMEM. */
int operation_tally_list(struct operation_tally *t, struct operation_list *ret_list);

#endif
