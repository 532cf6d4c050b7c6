/* segment/group_shapes.c - finds the shape of each row.
 *
 * Which fields of a skeleton are FIXED is decided on its rows.  So the first group of a segment
 * goes in two steps: skeletons as rows come, values when the group is full and the skeletons are
 * settled. Later everything is done as rows come, while they are in the processor's caches; a new
 * skeleton gets its classes by a guess, and what was guessed or has turned out badly is settled at
 * the end of the group, for the next. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group_writer.h"
#include "segment/loose_memo.h"

#define NONE           UINT32_MAX
#define AHEAD          8
#define SHAPES_AT_ONCE GROUP_TOTALS_ROWS

static int shape_note(struct group_writer *g, uint32_t row, uint32_t shape)
{
	struct shape_row *s = &g->shapes.shapes[shape];

	g->codes[row] = shape;
	s->rows++;
	if (s->group == g->group)
		return 0;
	s->group = g->group;
	if (!vec_reserve(&g->seen_shapes, &g->seen_shape_capacity, g->seen_shape_n + 1,
			 sizeof(*g->seen_shapes)))
		return -ENOMEM;
	g->seen_shapes[g->seen_shape_n++] = shape;
	return 0;
}

/* Looks shapes up, those of some rows at a time: what one waits for in memory the others need not
 * wait for. */
static int shapes_note(struct group_writer *g, const struct staged *staged, uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; i < n; i++)
		shape_fetch_row(&g->shapes, staged[i].hash);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		uint32_t row = staged[i].row,
			 shape = shape_get(&g->shapes, g->rows[row].skeleton,
					   g->values + staged[i].first, staged[i].hash);

		r = shape == NONE ? -ENOMEM : shape_note(g, row, shape);
	}
	return r;
}

/* A name that does not stand in the shape goes into its column. */
static int loose_name(struct group_writer *g, const struct group_row *row)
{
	const struct skeleton *k = &g->shapes.skeletons[row->skeleton];
	struct attr name = {.type = VALUE_STRING, .string = row->e->name};

	return loose_names_vary(g, k) ? group_stage(g, &g->dictionary.remaps[row->remap],
						    g->shapes.fields[k->field_first].column, &name)
				      : 0;
}

/* Finds the shapes of LOOSE rows: what one waits for in memory the others need not wait for. */
static int loose_shapes(struct group_writer *g, uint32_t first, uint32_t rows)
{
	struct loose_slot *slots[SHAPES_AT_ONCE];
	uint32_t shapes[SHAPES_AT_ONCE];
	int r = 0;

	for (uint32_t i = 0; i < rows; i++) {
		r = group_row_skeleton(g, first + i);
		if (r < 0)
			return r; /* it may have none */
		slots[i] = loose_memo_look(g, &g->rows[first + i]);
	}
	for (uint32_t i = 0; i < rows; i++)
		shapes[i] = loose_memo_take(g, &g->rows[first + i], slots[i]);
	for (uint32_t i = 0; i < rows && r == 0; i++) {
		const struct group_row *row = &g->rows[first + i];
		struct staged staged;

		if (shapes[i] != NONE) {
			r = shape_note(g, first + i, shapes[i]);
			if (r == 0)
				r = loose_name(g, row);
			if (r == 0)
				r = group_row_stage_loose(g, row);
			continue;
		}
		r = group_row_stage(g, first + i, 0, &staged) ? shapes_note(g, &staged, 1)
							      : -ENOMEM;
		if (r == 0)
			loose_memo_learn(g, row, slots[i], g->codes[first + i]);
	}
	return r;
}

/* Rows without a known set of keys, behind the first group. */
static int loose_piece(struct group_writer *g, uint32_t first, uint32_t rows)
{
	if (!g->loose_memo)
		g->loose_memo = calloc((size_t)1 << LOOSE_MEMO_BITS, sizeof(*g->loose_memo));
	return g->loose_memo ? loose_shapes(g, first, rows) : -ENOMEM;
}

/* A row that does not look like one before. */
static int row_anew(struct group_writer *g, uint32_t row)
{
	struct staged staged;
	int r = group_row_skeleton(g, row);

	if (r == 0 && !group_row_stage(g, row, 0, &staged))
		r = -ENOMEM;
	if (r == 0)
		r = shapes_note(g, &staged, 1);
	if (r == 0)
		shape_memo_learn(g, &g->rows[row], g->codes[row]);
	return r;
}

static int known_piece(struct group_writer *g, uint32_t first, uint32_t rows)
{
	struct memo_guess guesses[SHAPES_AT_ONCE];
	int r = 0;

	for (uint32_t i = 0; i < rows; i++)
		shape_memo_look(g, &g->rows[first + i], &guesses[i]);
	for (uint32_t i = 0; i < rows; i++)
		shape_memo_fetch(g, &guesses[i]);
	for (uint32_t i = 0; i < rows && r == 0; i++) {
		struct group_row *row = &g->rows[first + i];
		uint32_t shape = shape_memo_take(g, row, &guesses[i], &r);

		if (shape == NONE) {
			if (r == 0)
				r = row_anew(g, first + i);
			continue;
		}
		g->exact_hits++;
		row->skeleton = guesses[i].skeleton;
		r = group_skeleton_note(g, row->skeleton) ? shape_note(g, first + i, shape)
							  : -ENOMEM;
	}
	return r;
}

/* The shapes of the next n rows. */
static int rows_shape(struct group_writer *g, uint32_t n)
{
	uint32_t first = g->shaped;
	int r = group_is_loose(g, first) ? loose_piece(g, first, n) : known_piece(g, first, n);

	g->shaped += n;
	return r == 0 ? group_totals_add(g, first, n) : r;
}

int group_shapes_piece(struct group_writer *g, const struct piece_row *p)
{
	uint32_t end = p->first + p->rows;
	int r = 0;

	if (!g->at_once) {
		for (uint32_t i = p->first; i < end && r == 0; i++)
			r = group_row_skeleton(g, i);
		return r == 0 ? group_loosen_early(g) : r;
	}
	while (end - g->shaped >= SHAPES_AT_ONCE && r == 0)
		r = rows_shape(g, SHAPES_AT_ONCE);
	return r;
}

static void prefetch_row(const struct group_writer *g, const struct group_row *row)
{
	const struct attr *a = g->dictionary.remaps[row->remap].batch->attrs + row->e->attrs.first;

	__builtin_prefetch(a);
	__builtin_prefetch(a + 8);
}

int group_shapes_close(struct group_writer *g)
{
	int r = 0;

	if (!g->at_once)
		r = group_loosen(g);
	else if (g->shaped < g->row_n)
		r = rows_shape(g, g->row_n - g->shaped);
	if (r == 0)
		r = shapes_settle(g);
	for (uint32_t i = 0; i < g->row_n && r == 0 && !g->at_once; i++) {
		struct staged staged;

		if (i + AHEAD < g->row_n)
			prefetch_row(g, &g->rows[i + AHEAD]);
		r = group_row_stage(g, i, 0, &staged) ? shapes_note(g, &staged, 1) : -ENOMEM;
		if (r == 0)
			r = group_totals_add(g, i, 1);
	}
	if (r == 0)
		r = group_totals_end(g);
	g->at_once = true;
	group_skeletons_close(g);
	return r == 0 ? dictionary_failed(&g->dictionary) : r;
}
