/* segment/group_window.c - a part of a group's rows: which values of each block belong to them. */
#include "segment/group_window.h"

#include <errno.h>

#include "base/cleanup.h"

/* Adds rows of a form to the blocks in which they have a value. */
static void add_form(uint32_t *counts, uint32_t form, uint32_t rows)
{
	if ((form & ID1_MASK) == ID1_COLUMN)
		counts[BLOCK_ID1] += rows;
	else if ((form & ID1_MASK) == ID1_BACK)
		counts[BLOCK_ID1_BACK] += rows;
	if ((form & ID2_MASK) == ID2_ROW)
		counts[BLOCK_PARENT] += rows;
	else if ((form & ID2_MASK) == ID2_COLUMN)
		counts[BLOCK_ID2] += rows;
	if ((form & TIME_MASK) == TIME_COLUMN)
		counts[form_is_point(form) ? BLOCK_TIME_POINT : BLOCK_TIME] += rows;
	if ((form & END_MASK) == END_COLUMN)
		counts[BLOCK_DURATION] += rows;
	if (form & FORM_UNIT)
		counts[BLOCK_UNIT] += rows;
	if (form & FORM_SEQ)
		counts[BLOCK_SEQ] += rows;
}

/* Rows of each shape become values of each block.  There are few forms and many shapes. */
static void add_shapes(const struct segment_group *g, const uint32_t *rows, uint32_t *counts)
{
	uint32_t by_form[1 << FORM_BITS] = {0};

	for (uint32_t i = 0; i < g->zone->shape_n; i++)
		by_form[g->forms[i] & ((1 << FORM_BITS) - 1)] += rows[i];
	for (uint32_t f = 0; f < 1 << FORM_BITS; f++)
		if (by_form[f])
			add_form(counts, f, by_form[f]);
}

static int need_pieces_and_codes(struct segment_group *g)
{
	int r = group_need_codes(g);

	return r == 0 ? group_need_piece_starts(g) : r;
}

int window_whole(struct segment_group *g, struct row_window *ret_window)
{
	int r = need_pieces_and_codes(g);

	if (r < 0)
		return r;
	*ret_window = (struct row_window){
		.end = g->zone->rows, .piece_end = g->zone->pieces, .whole = true};
	add_shapes(g, g->counts, ret_window->total);
	memcpy(ret_window->count, ret_window->total, sizeof(ret_window->count));
	return 0;
}

/* The piece of a row. */
static uint32_t piece_of(const struct segment_group *g, uint32_t row)
{
	uint32_t low = 0, high = g->zone->pieces - 1;

	while (low < high) {
		uint32_t mid = (low + high + 1) / 2;

		if (g->piece_first[mid] <= row)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

int window_of(struct segment_group *g, uint32_t first, uint32_t end, struct row_window *ret_window)
{
	uint32_t *before = (uint32_t *)(void *)g->scratch;
	struct row_window w = {0};
	int r = need_pieces_and_codes(g);

	if (r < 0)
		return r;
	w.piece = piece_of(g, first);
	w.piece_end = piece_of(g, end - 1) + 1;
	w.first = g->piece_first[w.piece];
	w.end = g->piece_first[w.piece_end];
	memset(before, 0, g->zone->shape_n * sizeof(*before));
	for (uint32_t i = 0; i < w.first; i++)
		before[g->codes[i]]++;
	add_shapes(g, g->counts, w.total);
	add_shapes(g, before, w.before);
	for (uint32_t i = w.first; i < w.end; i++)
		add_form(w.count, group_form(g, i), 1);
	*ret_window = w;
	return 0;
}

/* The block of each lane of marks. */
static const uint8_t lane_blocks[MARK_NAME] = {
	[MARK_ID1] = BLOCK_ID1,           [MARK_ID1_BACK] = BLOCK_ID1_BACK,
	[MARK_PARENT] = BLOCK_PARENT,     [MARK_ID2] = BLOCK_ID2,
	[MARK_TIME] = BLOCK_TIME,         [MARK_TIME_POINT] = BLOCK_TIME_POINT,
	[MARK_DURATION] = BLOCK_DURATION,
};

int window_of_piece(struct segment_group *g, uint32_t piece, struct row_window *ret_window)
{
	struct row_window w = {.piece = piece,
			       .piece_end = piece + 1,
			       .first = g->piece_first[piece],
			       .end = g->piece_first[piece + 1]};
	uint32_t before[MARK_LANES], own[MARK_LANES] = {0};
	int r = group_count_before(g, w.first, before);

	if (r == 0)
		r = group_marked_rows(g, w.first, w.end, own);
	for (unsigned lane = 0; lane < MARK_NAME && r == 0; lane++) {
		enum group_block id = lane_blocks[lane];

		w.before[id] = before[lane];
		w.count[id] = own[lane];
		w.total[id] = g->fixed[id].n;
		if (w.before[id] > w.total[id] || w.count[id] > w.total[id] - w.before[id])
			r = group_decoded(g, BLOCK_MARKS, -EBADMSG);
	}
	if (r == 0)
		*ret_window = w;
	return r;
}

int windows_of(struct segment_group *g, const uint32_t *rows, uint32_t n,
	       struct row_window *windows)
{
	int found = 0, r = group_need_piece_starts(g);

	for (uint32_t i = 0; i < n && r == 0; i++) {
		if (found > 0 && rows[i] < windows[found - 1].end)
			continue;
		r = rows[i] < g->zone->rows
			    ? window_of_piece(g, piece_of(g, rows[i]), &windows[found])
			    : -EINVAL;
		found++;
	}
	return r < 0 ? r : found;
}

int group_few_rows(struct segment_group *g, const uint32_t *rows, uint32_t n,
		   struct group_few *ret_few)
{
	struct row_window windows[GROUP_FEW_ROWS];
	int k, r = 0;

	if (n == 0 || n > GROUP_FEW_ROWS)
		return -EINVAL;
	k = windows_of(g, rows, n, windows);
	if (k < 0)
		return k;
	if (!(g->have & HAVE_PIECES))
		r = window_piece_ids(g, windows, (size_t)k);
	if (r == 0 && !(g->have & HAVE_IDS))
		r = window_ids(g, windows, (size_t)k);
	if (r == 0 && !(g->have & HAVE_DURATIONS))
		r = window_durations(g, windows, (size_t)k);
	if (r == 0 && !(g->have & HAVE_TIMES))
		r = window_times(g, windows, (size_t)k);
	if (r < 0)
		return r;
	*ret_few = (struct group_few){g->times, g->durations, g->id1, g->id2, g->pieces};
	return 0;
}
