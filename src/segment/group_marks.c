/* segment/group_marks.c - marks of a group: written with it, and asked for where a few of its rows
 * are wanted. */
#include <errno.h>

#include "base/cleanup.h"
#include "segment/group_int.h"
#include "segment/group_writer.h"

/* --- writing --- */

/* What a row of a shape adds. */
static struct mark_sum shape_mark(const struct shape_table *t, uint32_t shape)
{
	const struct skeleton *s = &t->skeletons[t->shapes[shape].skeleton];
	const uint32_t *words = t->words + s->word_first;
	bool named = t->fields[s->field_first].class != ENTRY_FIXED &&
		     row_level((uint8_t)words[WORD_TYPE]) == LEVEL_BLOCK;

	return mark_of(words[WORD_FORM], named);
}

uint32_t group_marks_count(const struct group_writer *g, uint32_t counts[][MARK_LANES])
{
	/* Borrowed: it has room for two of them a row, and there are no more shapes. */
	struct mark_sum *sums = (struct mark_sum *)(void *)g->order;
	uint32_t n = marks_of(g->row_n);

	_Static_assert(sizeof(*g->order) >= sizeof(*sums), "borrowed memory");
	for (size_t i = 0; i < g->seen_shape_n && n > 0; i++)
		sums[i] = shape_mark(&g->shapes, g->seen_shapes[i]);
	for (uint32_t k = 0; k < n; k++) {
		struct mark_sum sum = {{0}};

		for (uint32_t i = k * MARK_ROWS; i < (k + 1) * MARK_ROWS; i++)
			mark_add(&sum, &sums[g->codes[i]]);
		for (unsigned lane = 0; lane < MARK_LANES; lane++)
			counts[k][lane] = mark_get(&sum, lane);
	}
	return n;
}

/* --- reading --- */

/* Groups were without marks at first. */
static int make_marks(struct segment_group *g, uint32_t marks)
{
	int r = group_need_codes(g);

	for (uint32_t k = 0; k < marks && r == 0; k++) {
		memcpy(g->marks[k + 1], g->marks[k], sizeof(g->marks[k]));
		r = group_marked_rows(g, k * MARK_ROWS, (k + 1) * MARK_ROWS, g->marks[k + 1]);
	}
	if (r == 0)
		g->have |= HAVE_MARKS;
	return r;
}

int group_need_marks(struct segment_group *g)
{
	uint32_t marks = marks_of(g->zone->rows), n = marks * MARK_LANES;
	struct slice block;
	int r;

	if (g->have & HAVE_MARKS)
		return 0;
	memset(g->marks[0], 0, sizeof(g->marks[0]));
	if (g->fixed[BLOCK_MARKS].n == 0)
		return make_marks(g, marks);
	r = group_block(g, BLOCK_MARKS, n, &block);
	if (r == 0 && n > 0)
		r = group_decoded(g, BLOCK_MARKS,
				  column_decode_u32(g->codec, block, n, g->marks[1]));
	for (uint32_t i = 1; i <= marks && r == 0; i++)
		for (unsigned lane = 0; lane < MARK_LANES; lane++) {
			if (g->marks[i][lane] > MARK_ROWS)
				return group_decoded(g, BLOCK_MARKS, -EBADMSG);
			g->marks[i][lane] += g->marks[i - 1][lane];
		}
	if (r == 0)
		g->have |= HAVE_MARKS;
	return r;
}

_Static_assert((ID1_MASK | ID2_MASK | TIME_MASK | END_MASK) == FORM_MARKS / 2 - 1,
	       "a place for each form that differs in what it has");

void group_marks_init(struct segment_group *g)
{
	for (uint32_t form = 0; form < FORM_MARKS; form++)
		g->form_marks[form] = mark_of(form, form >= FORM_MARKS / 2);
}

/* No branch, and as little arithmetic as there can be. */
static inline const struct mark_sum *form_mark(const struct segment_group *g, uint32_t form)
{
	_Static_assert(FORM_BLOCK_NAMED / (FORM_MARKS / 2) == 16, "it is shifted");
	return &g->form_marks[(form & (FORM_MARKS / 2 - 1)) | (form >> 4 & FORM_MARKS / 2)];
}

int group_marked_rows(struct segment_group *g, uint32_t first, uint32_t end,
		      uint32_t counts[MARK_LANES])
{
	int r = group_need_codes_part(g, first, end);

	while (first < end && r == 0) {
		uint32_t to = MIN(end, first + MARK_ROWS);
		struct mark_sum sum = {{0}};

		for (; first < to; first++)
			mark_add(&sum, form_mark(g, group_form(g, first)));
		for (unsigned lane = 0; lane < MARK_LANES; lane++)
			counts[lane] += mark_get(&sum, lane);
	}
	return r;
}

int group_count_before(struct segment_group *g, uint32_t row, uint32_t counts[MARK_LANES])
{
	uint32_t k = row / MARK_ROWS, from = k * MARK_ROWS;
	int r = group_need_marks(g);

	if (r < 0)
		return r;
	/* Who asks about a row asks about one behind it next. */
	if (g->counted_row < from || g->counted_row > row) {
		g->counted_row = from;
		memcpy(g->counted, g->marks[k], sizeof(g->counted));
	}
	memcpy(counts, g->counted, sizeof(g->counted));
	r = group_marked_rows(g, g->counted_row, row, counts);
	if (r < 0)
		return r;
	g->counted_row = row;
	memcpy(g->counted, counts, sizeof(g->counted));
	return 0;
}

int group_check_marks(struct segment_group *g)
{
	uint32_t marks = marks_of(g->zone->rows), counts[MARK_LANES] = {0};
	int r = group_need_codes(g);

	if (r == 0)
		r = group_need_marks(g);
	for (uint32_t k = 0; k < marks && r == 0; k++) {
		r = group_marked_rows(g, k * MARK_ROWS, (k + 1) * MARK_ROWS, counts);
		if (r == 0 && memcmp(counts, g->marks[k + 1], sizeof(counts)) != 0)
			r = group_decoded(g, BLOCK_MARKS, -EBADMSG);
	}
	return r;
}
