/* store/split_check.h - do the lists of split traces say what the segments hold? */
#ifndef CAUSET_STORE_SPLIT_CHECK_H
#define CAUSET_STORE_SPLIT_CHECK_H

#include "segment/segment.h"

struct split_check {
	uint64_t *hashes, *listed; /* of all traces; of those on lists */
	size_t hash_n, hash_capacity, listed_n, listed_capacity;
	bool too_many; /* traces: not all were compared */
};

/* Adds a sound segment; *ret_missing is how many of its list are not in it.  Negative errno. */
int split_check_add(struct split_check *c, struct segment *s, size_t *ret_missing);

/* How many traces are in several segments and on no list; 0 if there were too many. */
size_t split_check_apart(struct split_check *c);

void split_check_done(struct split_check *c);

#endif
