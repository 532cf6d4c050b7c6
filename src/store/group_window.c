/* store/group_window.c - a part of a group's rows: which values of each block belong to them. */
#include "store/group_window.h"

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

	return r == 0 ? group_need_piece_times(g) : r;
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
