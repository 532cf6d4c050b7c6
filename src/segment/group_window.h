/* segment/group_window.h - a part of a group's rows: which values of each block belong to them.
 *
 * Rows say by their shapes in which blocks they have values, so the values of some rows are found
 * by counting those of the rows before.  A window is made of whole pieces: rows of a piece refer to
 * each other. */
#ifndef CAUSET_SEGMENT_GROUP_WINDOW_H
#define CAUSET_SEGMENT_GROUP_WINDOW_H

#include "segment/group_int.h"

struct row_window {
	uint32_t first, end;       /* rows */
	uint32_t piece, piece_end; /* pieces */
	bool whole;                /* all rows of the group */
	/* Values of each block: of the rows before, of the window, of the group. */
	uint32_t before[BLOCKS], count[BLOCKS], total[BLOCKS];
};

/* All rows. */
int window_whole(struct segment_group *g, struct row_window *ret_window);

/* The pieces that hold rows first … end - 1; end is larger than first.  Leaves in g->scratch, as
 * 32-bit numbers, how many rows of each of the group's shapes stand before the window. */
int window_of(struct segment_group *g, uint32_t first, uint32_t end, struct row_window *ret_window);

/* The pieces that hold these rows, ascending, but for units and sequence numbers: no window twice;
 * returns how many, negative errno. Room for n windows. */
int windows_of(struct segment_group *g, const uint32_t *rows, uint32_t n,
	       struct row_window *windows);

/* Each fills the group's arrays for the rows of n windows, ascending and apart. */
int window_piece_ids(struct segment_group *g, const struct row_window *w, size_t n);
int window_ids(struct segment_group *g, const struct row_window *w, size_t n);
int window_durations(struct segment_group *g, const struct row_window *w, size_t n);
/* Needs ids and durations. */
int window_times(struct segment_group *g, const struct row_window *w, size_t n);
int window_units(struct segment_group *g, const struct row_window *w);

/* The window of a piece, but for units and sequence numbers. */
int window_of_piece(struct segment_group *g, uint32_t piece, struct row_window *ret_window);

/* The values that windows have in a block, one behind the other, into `out`: ids, others, and
 * numbers written by shape, which use the second half of the scratch memory. */
int window_get_ids(struct segment_group *g, enum group_block id, const struct row_window *w,
		   size_t n, uint64_t *out);
int window_get_u64(struct segment_group *g, enum group_block id, const struct row_window *w,
		   size_t n, uint64_t *out);
int window_get_by_shape(struct segment_group *g, enum group_block id, const struct row_window *w,
			size_t n, uint64_t *out);

/* What rows of a window have, from values of their blocks; what points to these moves behind those
 * taken.  Times, of a piece, need ids and durations. */
int window_take_id1(struct segment_group *g, const struct row_window *w, const uint64_t **ids,
		    const uint64_t **backs);
int window_take_id2(struct segment_group *g, const struct row_window *w, const int64_t **distances,
		    const uint64_t **ids);
const uint64_t *window_take_durations(struct segment_group *g, const struct row_window *w,
				      const uint64_t *from);
void window_take_times(struct segment_group *g, uint32_t piece, const uint64_t **times,
		       const uint64_t **points);

#endif
