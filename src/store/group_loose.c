/* store/group_loose.c - writes the list of LOOSE attributes of a group: which column each is of.
 *
 * The list is cut into chunks of LOOSE_ROWS rows.  How many values each of its columns has in each
 * chunk stands in front: so a value leads to its row, and a row to its values, through one chunk
 * instead of the whole list (store/group_loose_read.c). */
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/block_io.h"
#include "store/group_writer.h"

/* Counts are written if there is at most one for so many attributes. */
#define ATTRIBUTES_PER_COUNT 8

struct listing {
	struct group_writer *g;
	uint32_t chunks;
	uint32_t *columns; /* that are in the list, ascending */
	uint32_t column_n;
	uint32_t *index;  /* of a column in `columns`, + 1; 0: it is not in the list */
	uint32_t *counts; /* [chunk][index]: values, LOOSE or not */
	size_t *first;    /* [chunk]: LOOSE attributes before it */
};

static void listing_done(struct listing *l)
{
	free(l->columns);
	free(l->index);
	free(l->counts);
	free(l->first);
}

static int list_columns(struct listing *l)
{
	const struct group_writer *g = l->g;
	size_t n = g->shapes.column_n;

	l->index = calloc(n + 1, sizeof(*l->index));
	l->columns = malloc((n + 1) * sizeof(*l->columns));
	l->first = calloc((size_t)l->chunks + 1, sizeof(*l->first));
	if (!l->index || !l->columns || !l->first)
		return -ENOMEM;
	for (size_t i = 0; i < g->loose_n; i++)
		l->index[g->loose_codes[i]] = 1;
	for (uint32_t i = 0; i < n; i++)
		if (l->index[i]) {
			l->columns[l->column_n++] = i;
			l->index[i] = l->column_n;
		}
	return 0;
}

static int count_chunks(struct listing *l)
{
	const struct group_writer *g = l->g;
	const uint32_t *loose = g->loose_codes;

	l->counts = calloc((size_t)l->chunks * l->column_n + 1, sizeof(*l->counts));
	if (!l->counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->row_n; i++) {
		uint32_t shape = g->seen_shapes[g->codes[i]];
		const struct skeleton *k = &g->shapes.skeletons[g->shapes.shapes[shape].skeleton];
		const struct field *f = g->shapes.fields + k->field_first;
		uint32_t *counts = l->counts + (size_t)(i / LOOSE_ROWS) * l->column_n;

		if (i % LOOSE_ROWS == 0)
			l->first[i / LOOSE_ROWS] = (size_t)(loose - g->loose_codes);
		for (uint32_t n = 0; n < k->field_n; n++) {
			uint32_t column = f[n].class == ENTRY_LOOSE ? *loose++
					  : f[n].class == ENTRY_VAR ? f[n].column
								    : UINT32_MAX;

			if (column == UINT32_MAX || !l->index[column] ||
			    g->shapes.columns[column].type == VALUE_EMPTY)
				continue;
			counts[l->index[column] - 1]++;
		}
	}
	l->first[l->chunks] = g->loose_n;
	return 0;
}

static int write_chunks(struct listing *l, struct block_writer *w)
{
	struct group_writer *g = l->g;
	uint32_t *codes = malloc((g->loose_n + 1) * sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	for (size_t i = 0; i < g->loose_n; i++)
		codes[i] = l->index[g->loose_codes[i]] - 1;
	block_put_number(w, LOOSE_ROWS);
	block_put_number(w, l->column_n);
	block_put_u32(w, l->columns, l->column_n);
	block_put_u32(w, l->counts, (size_t)(l->chunks - 1) * l->column_n);
	for (uint32_t k = 0; k < l->chunks; k++)
		block_put_codes(w, codes + l->first[k], l->first[k + 1] - l->first[k]);
	free(codes);
	return w->failed;
}

int group_loose_write(struct group_writer *g, struct buffer *out)
{
	_cleanup_(listing_done)
	struct listing l = {.g = g, .chunks = (g->row_n + LOOSE_ROWS - 1) / LOOSE_ROWS};
	struct block_writer w = {.codec = g->codec, .out = out};
	int r = l.chunks > 1 ? list_columns(&l) : 0;

	if (r < 0)
		return r;
	if (l.chunks > 1 && (size_t)l.chunks * l.column_n <= g->loose_n / ATTRIBUTES_PER_COUNT) {
		r = count_chunks(&l);
		return r == 0 ? write_chunks(&l, &w) : r;
	}
	block_put_number(&w, 0);
	block_put_codes(&w, g->loose_codes, g->loose_n);
	return w.failed;
}
