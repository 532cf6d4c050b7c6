/* store/find_int.h - a search under way: what find.c, find_head.c and find_segment.c share. */
#ifndef CAUSET_STORE_FIND_INT_H
#define CAUSET_STORE_FIND_INT_H

#include <pthread.h>

#include "segment/group.h"
#include "store/id_set.h"
#include "store/joint.h"
#include "store/span_match.h"
#include "store/summary.h"
#include "store/view.h"

/* A group that may hold hits. */
struct find_group {
	uint32_t segment, group;
	const struct group_zone *zone;
	/* No hit in it starts later, or takes longer if that is the order. */
	int64_t bound_ns;
	/* Pieces in it may belong to traces with pieces elsewhere, so what it says about whole
	 * traces rules nothing out.  Those take at most so long; -1 where it is not open. */
	bool open;
	int64_t longest_ns;
};

/* A trace that fits, and where it lies if that is in one place. */
struct find_hit {
	struct trace_key key;
	uint32_t segment; /* FIND_ANYWHERE: wherever its pieces are; FIND_IN_HEAD: `group` is one */
	uint32_t group, first, rows;
};

#define FIND_ANYWHERE UINT32_MAX
#define FIND_IN_HEAD  (UINT32_MAX - 1)

/* A segment and the question put to it. */
struct find_segment {
	bool asked;
	bool pinned;         /* its zones are used */
	struct match *match; /* NULL: nothing is asked of spans */
	bool impossible;
};

struct finding {
	const struct snapshot *snapshot;
	const struct store_query *query;
	size_t limit;

	/* The best `limit` + 1 so far, as a heap: the last of them in front. */
	struct find_hit *hits;
	size_t hit_n;

	struct find_group *groups;
	size_t group_n, group_capacity;
	struct find_segment *segments; /* [segment]: asked when the first of its groups comes up */

	/* Traces with pieces in several places, and those of heads, are judged once. */
	struct id_set joint;

	/* Traces in the heads that lie elsewhere, too (store/joint.h). */
	struct id_set in_heads;

	/* Several threads may look at groups, each at another; what follows, the hits and the
	 * traces judged belong to who holds the lock. */
	pthread_mutex_t lock;
	size_t next_group;
	int failed;
};

/* Could a trace with this start and duration, at most, still get among the hits? */
bool find_may_enter(const struct finding *f, int64_t start_ns, int64_t duration_ns);

/* A trace that fits.  Under the lock. */
void find_enter(struct finding *f, const struct find_hit *hit);

/* Judges a trace by all of its pieces, unless that was done before.  Negative errno. */
int find_whole(struct finding *f, struct trace_id id);

/* Is a piece of the trace anywhere but in this segment's place?  0, 1, negative errno. */
int find_is_elsewhere(struct finding *f, struct trace_id id);

/* Judges what lies in the heads, and fills in_heads first. */
int find_in_heads(struct finding *f);

/* Lists the groups of all segments that may hold hits, the most promising first. */
int find_list_groups(struct finding *f);

/* Puts the question to a segment, once.  Under the lock. */
int find_ask_segment(struct finding *f, uint32_t segment);

/* Judges the pieces of a group. */
int find_in_group(struct finding *f, const struct find_group *at, struct segment_group *group,
		  const struct match_asked *asked, struct match_room *room);

#endif
