/* store/scan.h - visits every trace of a snapshot once: bulk access.
 *
 * A scan can be cut into disjoint parts that together visit everything once, each on a thread of
 * its own; all of them must be given the same snapshot.  A trace that lies in one group of a
 * segment is shown where it is, so that columns can be used; others are put together. */
#ifndef CAUSET_STORE_SCAN_H
#define CAUSET_STORE_SCAN_H

#include "segment/group.h"
#include "store/view.h"

struct scan {
	uint32_t part, parts; /* which of how many; parts 0 or 1: all */

	/* Rows are looked at one by one: pieces of larger traces may come in groups, too, as long
	 * as none of their rows can come again.  `group` is needed, and gets NULL for `pieces` when
	 * all rows of the group are to be looked at; then no ids were read. */
	bool rows;
#define SCAN_WHOLE_ROWS 131072 /* then a trace of so many comes as a whole, others in pages */

	/* With `rows`: do pieces of this segment's traces say too little by themselves, as where
	 * one row says how its trace was sampled?  Those that lie in several groups are put
	 * together then, too.  NULL: none do. */
	bool (*wholes)(void *context, struct segment *segment);

	/* With `rows`: nobody asks which rows belong together, and rows that were sent twice may
	 * count twice.  Each row comes where it lies: all of a group's, with NULL for `pieces`;
	 * those of a head through `trace`, what it has of a trace at a time. */
	bool apart;

	/* Only these traces, for whoever knows them: each group that has some is opened once.  Not
	 * with `rows`.  NULL: all. */
	const struct trace_id *only;
	size_t only_n;

	/* A sample: only traces whose second_randomness() is at least this.  Not with `apart`.  0:
	 * all. */
	uint64_t threshold;

	/* Pieces that are whole traces, in a group: indices into group_pieces().  NULL: they come
	 * through `trace`, too.  Anything but 0 ends the scan and is returned. */
	int (*group)(void *context, struct segment_group *group, const uint32_t *pieces,
		     uint32_t n);

	/* Rows of one trace, in order of arrival.  `more`: the next call goes on with the same
	 * trace (giants come in pages). */
	int (*trace)(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		     bool more);
	/* May rule a group out by its zone before it is opened: false.  A trace in several places
	 * is ruled out where all of its groups are; but without `rows` one that goes on in other
	 * groups of its segment is ruled out where it begins.  NULL: none is. */
	bool (*wanted)(void *context, struct segment *segment, uint32_t group);
	/* Groups are opened without reading ahead: few columns will be looked at. */
	bool few;
	/* Where the last group's memory waits for the next scan of the same thread; the caller
	 * closes it.  NULL: it goes with the scan. */
	struct segment_group **room;
	void *context;
};

/* May the segment have rows of traces that lie in several places: in other segments, or, as
 * snapshot_joint() says, in a head?  1, 0, negative errno.  Where there are many such traces it is
 * 1 without looking. */
int snapshot_is_joint(const struct snapshot *snapshot, const struct id_set *in_heads,
		      struct segment *segment);

/* 0, what a callback returned, or a negative errno. */
int snapshot_scan(const struct snapshot *s, const struct scan *scan);

#endif
