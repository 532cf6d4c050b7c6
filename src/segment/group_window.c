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

/* What a row adds to the counts of all blocks, in three words: so many rows are added in a loop
 * without a branch and without a store. */
#define SUM_BITS  21
#define SUM_LANES 9

static const uint8_t sum_blocks[SUM_LANES] = {BLOCK_ID1,      BLOCK_ID1_BACK, BLOCK_PARENT,
					      BLOCK_ID2,      BLOCK_TIME,     BLOCK_TIME_POINT,
					      BLOCK_DURATION, BLOCK_UNIT,     BLOCK_SEQ};

struct form_sum {
	uint64_t word[SUM_LANES / 3];
};

_Static_assert(GROUP_MOST_ROWS < 1 << SUM_BITS, "a lane holds all rows");

static struct form_sum form_sum_of(uint32_t form)
{
	uint32_t counts[BLOCK_VALUES] = {0};
	struct form_sum sum = {{0}};

	add_form(counts, form, 1);
	for (unsigned i = 0; i < SUM_LANES; i++)
		sum.word[i / 3] |= (uint64_t)counts[sum_blocks[i]] << SUM_BITS * (i % 3);
	return sum;
}

/* Sums of each of the group's shapes, in scratch memory; NULL where there is no room for so many.
 */
static const struct form_sum *form_sums(struct segment_group *g)
{
	struct form_sum *sums = (struct form_sum *)(void *)g->scratch;
	uint32_t last = UINT32_MAX;

	if (g->zone->shape_n * sizeof(*sums) > 2 * g->zone->rows * sizeof(*g->scratch))
		return NULL;
	for (uint32_t i = 0; i < g->zone->shape_n; i++) {
		sums[i] = i > 0 && g->forms[i] == last ? sums[i - 1] : form_sum_of(g->forms[i]);
		last = g->forms[i];
	}
	return sums;
}

static void add_sum(const struct form_sum *sum, uint32_t *counts)
{
	for (unsigned i = 0; i < SUM_LANES; i++)
		counts[sum_blocks[i]] +=
			(uint32_t)(sum->word[i / 3] >> SUM_BITS * (i % 3)) & ((1u << SUM_BITS) - 1);
}

/* Adds rows from … end - 1 to what stands before. */
static void add_rows(const struct segment_group *g, const struct form_sum *sums, uint32_t from,
		     uint32_t end, uint32_t *counts)
{
	struct form_sum sum = {{0}};

	for (uint32_t i = from; i < end && !sums; i++)
		add_form(counts, group_form(g, i), 1);
	for (uint32_t i = from; i < end && sums; i++)
		for (unsigned k = 0; k < SUM_LANES / 3; k++)
			sum.word[k] += sums[g->codes[i]].word[k];
	add_sum(&sum, counts);
}

int windows_of(struct segment_group *g, const uint32_t *rows, uint32_t n,
	       struct row_window *windows)
{
	const struct form_sum *sums;
	uint32_t at = 0, before[BLOCK_VALUES] = {0};
	uint32_t total[BLOCK_VALUES] = {0};
	int found = 0, r = need_pieces_and_codes(g);

	if (r < 0)
		return r;
	add_shapes(g, g->counts, total);
	sums = form_sums(g);
	for (uint32_t i = 0; i < n; i++) {
		struct row_window *w = &windows[found];

		if (found > 0 && rows[i] < w[-1].end)
			continue;
		*w = (struct row_window){.piece = piece_of(g, rows[i])};
		w->piece_end = w->piece + 1;
		w->first = g->piece_first[w->piece];
		w->end = g->piece_first[w->piece_end];
		add_rows(g, sums, at, w->first, before);
		at = w->first;
		memcpy(w->before, before, sizeof(before));
		memcpy(w->total, total, sizeof(total));
		for (uint32_t row = w->first; row < w->end; row++)
			add_form(w->count, group_form(g, row), 1);
		found++;
	}
	return found;
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
