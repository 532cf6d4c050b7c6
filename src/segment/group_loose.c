/* segment/group_loose.c - writes the LOOSE attributes of a group: which column each is of.
 *
 * Either by list, each row saying which list of attributes it has, or one by one.  It is cut into
 * chunks of LOOSE_ROWS rows.  How many values each of its columns has in each chunk stands in
 * front: so a value leads to its row, and a row to its values, through one chunk instead of all of
 * them (segment/group_loose_read.c). */
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/block_io.h"
#include "segment/group_writer.h"

/* Counts are written if there is at most one for so many attributes. */
#define ATTRIBUTES_PER_COUNT 8

struct listing {
	struct group_writer *g;
	uint32_t chunks;
	uint32_t *columns; /* that are named, ascending */
	uint32_t column_n;
	uint32_t *index;  /* of a column in `columns`, + 1; 0: it is not named */
	uint32_t *counts; /* [chunk][index]: values, LOOSE or not */
	size_t *first;    /* [chunk]: LOOSE attributes, or lists, before it */
	uint32_t *codes;  /* what is written, LOOSE attributes or lists */
};

static void listing_done(struct listing *l)
{
	free(l->columns);
	free(l->index);
	free(l->counts);
	free(l->first);
	free(l->codes);
}

static const struct key_list *seen_list(const struct group_writer *g, size_t i)
{
	return &g->lists.rows[g->seen_lists[i]];
}

static int listing_init(struct listing *l)
{
	const struct group_writer *g = l->g;
	size_t n = g->shapes.column_n;

	l->index = calloc(n + 1, sizeof(*l->index));
	l->columns = malloc((n + 1) * sizeof(*l->columns));
	l->first = calloc((size_t)l->chunks + 1, sizeof(*l->first));
	/* Lists have no more attributes than the rows that have them. */
	l->codes = malloc((MAX(g->loose_n, (size_t)g->row_n) + 1) * sizeof(*l->codes));
	return l->index && l->columns && l->first && l->codes ? 0 : -ENOMEM;
}

static void name_columns(struct listing *l)
{
	const struct group_writer *g = l->g;

	for (size_t i = 0; i < g->loose_n && !g->by_list; i++)
		l->index[g->loose_codes[i]] = 1;
	for (size_t i = 0; i < g->seen_list_n && g->by_list; i++)
		for (uint32_t k = 0; k < seen_list(g, i)->n; k++)
			l->index[g->lists.columns[seen_list(g, i)->first + k]] = 1;
	for (uint32_t i = 0; i < g->shapes.column_n; i++)
		if (l->index[i]) {
			l->columns[l->column_n++] = i;
			l->index[i] = l->column_n;
		}
}

/* --- how many values columns have in a chunk --- */

static void count_columns(const struct listing *l, const uint32_t *columns, size_t n,
			  uint32_t times, uint32_t *counts)
{
	for (size_t i = 0; i < n; i++)
		if (l->g->shapes.columns[columns[i]].type != VALUE_EMPTY)
			counts[l->index[columns[i]] - 1] += times;
}

/* VAR values count too, where the column has both. */
static void count_vars(const struct listing *l, const struct skeleton *k, uint32_t *counts)
{
	const struct field *f = l->g->shapes.fields + k->field_first;

	for (uint32_t i = 0; i < k->field_n && k->fixed_n + k->loose_n < k->field_n; i++)
		if (f[i].class == ENTRY_VAR && l->index[f[i].column])
			count_columns(l, &f[i].column, 1, 1, counts);
}

/* The rows of a chunk; returns how many attributes, or lists, they have. */
static size_t count_rows(const struct listing *l, uint32_t first, uint32_t end, uint32_t *counts)
{
	const struct group_writer *g = l->g;
	size_t n = 0;

	for (uint32_t i = first; i < end; i++) {
		uint32_t shape = g->seen_shapes[g->codes[i]];
		const struct skeleton *k = &g->shapes.skeletons[g->shapes.shapes[shape].skeleton];

		n += g->by_list ? k->loose_n > 0 : k->loose_n;
		count_vars(l, k, counts);
	}
	return n;
}

/* The lists of a chunk, each counted once. */
static int count_lists(const struct listing *l, size_t first, size_t end, uint32_t *counts)
{
	const struct group_writer *g = l->g;
	_cleanup_(freep)
	uint32_t *times = calloc(g->seen_list_n + 1, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t i = first; i < end; i++)
		times[g->lists.rows[g->row_lists[i]].local]++;
	for (size_t i = 0; i < g->seen_list_n; i++)
		if (times[i])
			count_columns(l, g->lists.columns + seen_list(g, i)->first,
				      seen_list(g, i)->n, times[i], counts);
	return 0;
}

static int count_chunks(struct listing *l)
{
	const struct group_writer *g = l->g;
	size_t at = 0;
	int r = 0;

	l->counts = calloc((size_t)l->chunks * l->column_n + 1, sizeof(*l->counts));
	if (!l->counts)
		return -ENOMEM;
	for (uint32_t c = 0; c < l->chunks && r == 0; c++) {
		uint32_t *counts = l->counts + (size_t)c * l->column_n, first = c * LOOSE_ROWS;
		size_t n = count_rows(l, first, MIN(first + LOOSE_ROWS, g->row_n), counts);

		l->first[c] = at;
		if (g->by_list)
			r = count_lists(l, at, at + n, counts);
		else
			count_columns(l, g->loose_codes + at, n, 1, counts);
		at += n;
	}
	l->first[l->chunks] = at;
	return r;
}

/* --- writing --- */

/* What is known of the next blocks is not what was known of the last ones. */
static void write_codes(struct listing *l, struct block_writer *w, size_t first, size_t end)
{
	column_codec_hints(w->codec, &l->g->hints[BLOCK_LOOSE]);
	block_put_codes(w, l->codes + first, end - first);
}

/* A column as it is named: by its place among those that are, if they stand in front. */
static uint32_t column_code(const struct listing *l, uint32_t column)
{
	return l->column_n ? l->index[column] - 1 : column;
}

static void begin(const struct listing *l, struct block_writer *w, uint32_t rows)
{
	if (l->g->by_list)
		block_put_number(w, LOOSE_BY_LIST);
	block_put_number(w, rows);
}

static void write_lists(struct listing *l, struct block_writer *w)
{
	const struct group_writer *g = l->g;
	size_t n = 0;

	if (!g->by_list)
		return;
	block_put_number(w, g->seen_list_n);
	for (size_t i = 0; i < g->seen_list_n; i++)
		l->codes[i] = seen_list(g, i)->n;
	block_put_u32(w, l->codes, g->seen_list_n);
	for (size_t i = 0; i < g->seen_list_n; i++)
		for (uint32_t k = 0; k < seen_list(g, i)->n; k++)
			l->codes[n++] =
				column_code(l, g->lists.columns[seen_list(g, i)->first + k]);
	block_put_codes(w, l->codes, n);
}

/* What rows say. */
static void fill_codes(struct listing *l)
{
	const struct group_writer *g = l->g;

	for (uint32_t i = 0; i < g->row_list_n; i++)
		l->codes[i] = g->lists.rows[g->row_lists[i]].local;
	for (size_t i = 0; i < g->loose_n && !g->by_list; i++)
		l->codes[i] = column_code(l, g->loose_codes[i]);
}

static int write_chunks(struct listing *l, struct block_writer *w)
{
	int r = count_chunks(l);

	if (r < 0)
		return r;
	begin(l, w, LOOSE_ROWS);
	block_put_number(w, l->column_n);
	block_put_u32(w, l->columns, l->column_n);
	block_put_u32(w, l->counts, (size_t)(l->chunks - 1) * l->column_n);
	write_lists(l, w);
	fill_codes(l);
	for (uint32_t k = 0; k < l->chunks; k++)
		write_codes(l, w, l->first[k], l->first[k + 1]);
	return w->failed;
}

int group_loose_write(struct group_writer *g, struct buffer *out)
{
	_cleanup_(listing_done)
	struct listing l = {.g = g, .chunks = (g->row_n + LOOSE_ROWS - 1) / LOOSE_ROWS};
	struct block_writer w = {.codec = g->codec, .out = out};
	int r = listing_init(&l);

	if (r < 0)
		return r;
	if (l.chunks > 1) {
		name_columns(&l);
		if ((size_t)l.chunks * l.column_n <= g->loose_n / ATTRIBUTES_PER_COUNT)
			return write_chunks(&l, &w);
		l.column_n = 0;
	}
	begin(&l, &w, 0);
	write_lists(&l, &w);
	fill_codes(&l);
	write_codes(&l, &w, 0, g->by_list ? g->row_list_n : g->loose_n);
	return w.failed;
}
