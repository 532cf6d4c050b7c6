/* store/compact_int.h - what the choice of segments, their merging and thinning share. */
#ifndef CAUSET_STORE_COMPACT_INT_H
#define CAUSET_STORE_COMPACT_INT_H

#include "base/radix.h"
#include "segment/group.h"
#include "store/compact.h"
#include "store/engine_int.h"
#include "store/split_trace.h"
#include "store/thinning.h"

#define COMPACT_INPUTS 32 /* segments in one merge, at most */

#define ROWS_AT_ONCE   ((size_t)1 << 16) /* of one trace; a larger one is written in parts */

struct piece {
	struct trace_id id;
	uint32_t input, group, first, rows;
	int64_t start_ns;
};

/* A group that is open: its rows as a reader sees them. */
struct opened {
	uint32_t left; /* pieces still to be written */
	struct event_set set;
	bool open;
};

struct input {
	struct view_segment *segment; /* borrowed from the view */
	struct opened *groups;
	uint32_t group_n;
};

struct merge {
	struct engine *engine;
	const struct compact_pace *pace;
	struct view *view;
	struct segment_group *group; /* the one that is being decoded */
	struct input inputs[COMPACT_INPUTS];
	size_t input_n;
	struct piece *pieces;
	size_t piece_n, piece_capacity;
	struct radix_item *traces; /* the value is a trace's first piece */
	size_t trace_n;
	struct split_trace *split;
	struct event_ref *refs;
	size_t ref_n, ref_capacity;
	uint64_t number;
	struct segment_writer *writer;

	/* Only where rows are thinned on the way. */
	struct thinning *thinning;    /* holds a reference */
	const struct thin_rule *rule; /* of it, or NULL: nothing is thinned */
	uint64_t mark;                /* of the rule; without one, of the inputs */
	struct thin_rule alone;       /* the rule, for any age: the segment is old enough */
	struct thin_rules rules;
	struct thin *thin;
	int64_t now_ns;
	struct snapshot now; /* where pieces of a trace may lie besides */
	bool has_now;
	struct trace_id *listed; /* by segments the rule has been at, sorted */
	size_t listed_n, listed_capacity;
	uint8_t *joint;     /* enum joint of each of `split`, once that is sorted by hash … */
	bool *dropped;      /* … and whether it was left out */
	uint64_t untouched; /* traces that were left as they are: some piece is too young */
	bool passing;       /* rows that are written have passed this threshold: */
	uint64_t threshold;
	struct trace_id *gone; /* dropped here, or from an input before */
	size_t gone_n, gone_capacity;
};

/* The piece behind the last one of the trace that begins at `first`. */
size_t merge_trace_end(const struct merge *m, size_t first);
/* Opens the group a piece lies in.  Whoever is done with the piece counts `left` down and releases
 * it; the last one closes the group. */
int merge_group_fetch(struct merge *m, const struct piece *p, struct opened **ret_group);
void merge_group_release(struct merge *m, const struct piece *p);
/* Writes the rows of a trace as they are. */
int merge_trace_write(struct merge *m, size_t first);

/* --- traces with pieces elsewhere (store/compact_joint.c) --- */

enum joint {
	JOINT_NONE,    /* all of it is here */
	JOINT_WHOLE,   /* not all, but all of it can be judged now */
	JOINT_YOUNG,   /* some of it is too young, or in a head */
	JOINT_KEPT,    /* it was judged, or left alone, and is still there */
	JOINT_DROPPED, /* it was judged */
};

/* Notes what others list.  With m->now, before the first question. */
int merge_joint_begin(struct merge *m);
int merge_joint(const struct merge *m, const struct split_trace *t, enum joint *ret_joint);
/* Has any segment of the view, other than the inputs, rows of the trace?  0, 1, -ENOMEM. */
int merge_joint_elsewhere(const struct merge *m, const struct view *v, struct trace_id id);
/* This one was dropped. */
int merge_dropped_add(struct merge *m, struct trace_id id);
/* Adds what was dropped, here and from the inputs earlier, and is elsewhere still, to a list of
 * split traces (from malloc); sorted then. */
int merge_dropped_list(struct merge *m, const struct view *now, struct trace_id **ids, size_t *n);

/* --- thinning (store/compact_thin.c) --- */

/* Writes m->refs as rows that have passed m->threshold. */
int merge_rows_write_passed(struct merge *m);

/* First round: looks at every trace.  Afterwards all groups are as before it. */
int merge_thin_learn(struct merge *m, const uint64_t *inputs);
/* Second round, one trace: writes it, perhaps with another threshold, or leaves it out. */
int merge_thin_write(struct merge *m, size_t first);
/* Takes those that were left out from the list of traces. */
void merge_thin_forget(struct merge *m);
/* Counts what became of them. */
void merge_thin_count(struct merge *m);

/* How many neighbours to merge, from *ret_first on; 0: none.  With `files` held. */
size_t compact_pick(const struct engine *e, const struct view *v, enum compact_zeal zeal,
		    size_t *ret_first);

/* The same for segments that a rule has come of age for; the rule and its mark with them. */
size_t compact_pick_thin(const struct engine *e, const struct view *v, const struct thinning *t,
			 int64_t now_ns, size_t *ret_first, const struct thin_rule **ret_rule,
			 uint64_t *ret_mark);

#endif
