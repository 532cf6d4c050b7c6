/* api/call_tally.h - who called whom how often: pairs of services, added up from spans. */
#ifndef CAUSET_API_CALL_TALLY_H
#define CAUSET_API_CALL_TALLY_H

#include "base/arena.h"
#include "base/map.h"
#include "store/store.h"

#define CALL_PAIRS_MOST 65536

struct call_pair {
	struct slice parent, child; /* in the tally's arena */
	uint64_t calls, errors;
};

/* One thread. */
struct call_tally {
	struct call_pair *rows;
	size_t n, capacity;
	struct map by_name;
	struct arena arena;
	/* What a service without a name is called; empty: calls from and to it do not count.  Set
	 * behind call_tally_init(). */
	struct slice unnamed;
};

void call_tally_init(struct call_tally *t);
void call_tally_done(struct call_tally *t);

/* Counts one call.  -ENOMEM; -E2BIG: more than CALL_PAIRS_MOST pairs. */
int call_tally_add(struct call_tally *t, struct slice parent, struct slice child, bool error);

/* By name. */
void call_tally_sort(struct call_tally *t);

/* Counts the spans of traces that start in [from, to) for which `counts` (NULL: has a parent) says
 * so, and sorts the pairs by name.  As call_tally_add(), and what the store says. */
int call_tally_store(struct call_tally *t, struct store *store, int64_t from_ns, int64_t to_ns,
		     bool (*counts)(const struct span_seen *span));

#endif
