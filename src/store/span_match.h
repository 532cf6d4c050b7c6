/* store/span_match.h - what a search asks of a span, answered for the rows of a segment.
 *
 * The question is put once to each resource and each shape (store/group.h).  For most shapes that
 * settles it; where an attribute's value is not in the shape, the group's column for it is looked
 * through.  What comes out is a set of rows. */
#ifndef CAUSET_STORE_SPAN_MATCH_H
#define CAUSET_STORE_SPAN_MATCH_H

#include "store/group.h"

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

/* Does the query ask anything of spans at all? */
bool query_asks_spans(const struct store_query *query);

/* Can a row of this segment, or of this group, match? */
bool match_possible(const struct match *m);
bool match_possible_in(const struct match *m, const struct group_zone *zone);

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

/* Which rows match.  Valid until the room is used again.  The group must belong to the segment. */
int match_group(const struct match *m, struct match_room *room, struct segment_group *group,
		struct match_rows *ret_rows);

#endif
