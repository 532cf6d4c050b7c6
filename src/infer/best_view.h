/* infer/best_view.h - the trace as one node sees it: calls it serves, calls it makes.
 *
 * The calls a node serves are *parents*, each of a type (who called); the calls it makes are
 * *children*, each to an endpoint (whom).  The question is which parent each child belongs to.  A
 * child's candidates are the parents that contain it in time.  Times are ticks since the first
 * call: whole multiples of the clock's grain, all by the node's own clock.  Everything lies in one
 * arena. */
#ifndef CAUSET_INFER_BEST_VIEW_H
#define CAUSET_INFER_BEST_VIEW_H

#include "base/arena.h"
#include "infer/infer.h"

#define VIEW_TYPES_MAX     16  /* callers told apart; the rest count as one */
#define VIEW_ENDPOINTS_MAX 48  /* callees told apart */
#define VIEW_CANDIDATES    256 /* parents looked at for a child: the latest ones */
#define VIEW_NONE          UINT32_MAX

/* The end of a parent whose return was not seen. */
#define VIEW_OPEN (INT64_MAX / 4)

/* The callers and callees a node is known to have; index is type or endpoint. */
struct view_labels {
	uint32_t type[VIEW_TYPES_MAX], endpoint[VIEW_ENDPOINTS_MAX];
	uint16_t type_n, endpoint_n;
};

struct view {
	uint32_t parent_n, child_n;
	uint16_t type_n, endpoint_n;

	/* Parents by start. */
	uint32_t *parent_call;
	int64_t *parent_start, *parent_end;
	uint16_t *parent_type;

	/* Children by start; child_end is the start where the return was not seen. */
	uint32_t *child_call;
	int64_t *child_start, *child_end;
	uint16_t *child_endpoint;

	/* Candidates of child c: candidate[candidate_first[c]] … by start. */
	uint32_t *candidate_first, *candidate;

	/* Children of endpoint e: member[member_first[e]] …, by start. */
	uint32_t *member_first, *member;

	/* The answer. */
	uint32_t *owner; /* per child: a parent or VIEW_NONE */
	float *confidence;
};

/* The calls of a window sorted by node. */
struct view_index {
	uint32_t node_n;
	uint32_t *served_first, *served; /* calls by callee, then by start */
	uint32_t *made_first, *made;     /* calls by caller, then by start */
	int64_t origin_ns, grain_ns;
};

int view_index_build(const struct calls *calls, struct arena *arena, struct view_index *ret_index);

/* The view of `node`; labels grow as new callers and callees appear.  Children whose link is
 * decided have that parent as their only candidate.  slack_ns loosens containment.  -ENOMEM. */
int view_build(const struct view_index *index, const struct calls *calls,
	       const struct call_link *links, uint32_t node, int64_t slack_ns,
	       struct view_labels *labels, struct arena *arena, struct view *ret_view);

#endif
