/* base/suggest.h - "did you mean …": the known name nearest to what somebody typed. */
#ifndef CAUSET_BASE_SUGGEST_H
#define CAUSET_BASE_SUGGEST_H

#include "core/slice.h"

#define SUGGEST_MAX_CHARS                                                                          \
	64 /* longer names are never suggested, and nothing is for longer ones                     \
	    */

struct suggestion {
	struct slice typed;
	const char *best; /* NULL: nothing is near enough */
	size_t distance;
};

/* Starts a search; offer every name, then read `best`. */
static inline struct suggestion suggestion_for(struct slice typed)
{
	return (struct suggestion){.typed = typed, .distance = (size_t)-1};
}

/* Takes the name if it is nearer than what was offered before and near enough: a third of the
 * typed characters may be wrong, missing, extra or swapped, or the name starts with what was typed.
 * The name is borrowed. */
void suggestion_offer(struct suggestion *s, const char *name);

#endif
