/* store/span_match.h - what a search asks of a span, answered for the rows of a segment.
 *
 * The question is put once to each resource and each shape (segment/group.h).  For most shapes that
 * settles it; where an attribute's value is not in the shape, the group's column for it is looked
 * through.  What comes out is a set of rows. */
#ifndef CAUSET_STORE_SPAN_MATCH_H
#define CAUSET_STORE_SPAN_MATCH_H

#include "segment/group.h"
#include "store/store.h"

#define MATCH_MAX_TAGS 63

struct match;

/* Prepares the question for a segment, whose tables stay pinned until match_free(); it does not
 * change afterwards, so any thread may use it.  The query is borrowed.  -E2BIG: more than
 * MATCH_MAX_TAGS tags.  Negative errno. */
int match_new(const struct store_query *query, struct segment *segment, struct match **ret_match);
/* Accepts NULL, returns NULL. */
struct match *match_free(struct match *m);

static inline void match_freep(struct match **m)
{
	match_free(*m);
}

/* Can a row of this segment match?  True when in doubt. */
bool match_possible(const struct match *m);

/* What the shapes of a group ask of its columns. */
struct match_asked {
	uint64_t any, all; /* tags that some, that all of them need */
	bool settled;      /* some shapes need no column */
};

/* Can a row of this group match?  Asked before match_group(), by one thread at a time, while others
 * look at groups that were asked about before. */
bool match_ask(struct match *m, const struct group_zone *zone, struct match_asked *ret_asked);

/* Rows of a group: bit i is words[i / 64] >> i % 64. */
struct match_rows {
	const uint64_t *sure; /* these match */
	/* These may: a key stands several times in them.  Ask trace_matches(). */
	const uint64_t *unsure;
	size_t words;
	bool any, any_unsure;
};

/* Memory to look at groups with: one for each thread, for any match.  NULL when out of memory. */
struct match_room;
struct match_room *match_room_new(void);
/* Accepts NULL, returns NULL. */
struct match_room *match_room_free(struct match_room *room);

/* Which rows match, of those in `within`, as bits, or of all where it is NULL.  Valid until the
 * room is used again.  The group must belong to the segment. */
int match_group(const struct match *m, struct match_room *room, struct segment_group *group,
		const struct match_asked *asked, const uint64_t *within,
		struct match_rows *ret_rows);

/* Bits for n rows, none of them set: a set to be within.  NULL when out of memory. */
uint64_t *match_room_within(struct match_room *room, uint32_t n);

#endif
