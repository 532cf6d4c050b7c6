/* segment/group_loose_read.c - reads the list of LOOSE attributes of a group: all of it, or a
 * chunk.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/block_io.h"
#include "segment/group_int.h"

void loose_list_done(struct loose_list *l)
{
	free(l->columns);
	free(l->before);
	free(l->chunks);
	free(l->list_first);
	free(l->list_codes);
	free(l->row_lists);
	free(l->listed);
	free(l->list_counts);
	free(l->codes);
	free(l->places);
	*l = (struct loose_list){0};
}

/* LOOSE attributes of rows first … end - 1. */
static size_t loose_of(const struct segment_group *g, uint32_t first, uint32_t end)
{
	size_t n = 0;

	for (uint32_t i = first; i < end; i++)
		n += g->tables->loose_n[g->zone->shapes[g->codes[i]]];
	return n;
}

static int read_columns(struct segment_group *g, struct block_reader *r, size_t n)
{
	struct loose_list *l = &g->list;
	uint64_t columns = block_get_number(r);

	if (r->failed || columns == 0 || columns > n || columns > g->tables->column_n)
		return -EBADMSG;
	if (!vec_reserve(&l->columns, &l->column_capacity, columns, sizeof(*l->columns)))
		return -ENOMEM;
	l->column_n = (uint32_t)columns;
	block_get_u32(r, l->columns, columns);
	for (uint32_t i = 0; i < columns && !r->failed; i++)
		if (l->columns[i] >= g->tables->column_n ||
		    (i > 0 && l->columns[i] <= l->columns[i - 1]))
			return -EBADMSG;
	return r->failed;
}

/* Counts become sums. */
static int read_counts(struct segment_group *g, struct block_reader *r)
{
	struct loose_list *l = &g->list;
	size_t n = (size_t)(l->chunk_n - 1) * l->column_n;

	if (n > COLUMN_MAX_VALUES)
		return -EBADMSG;
	if (!vec_reserve(&l->before, &l->before_capacity, n + l->column_n, sizeof(*l->before)))
		return -ENOMEM;
	memset(l->before, 0, l->column_n * sizeof(*l->before));
	block_get_u32(r, l->before + l->column_n, n);
	for (size_t i = l->column_n; i < n + l->column_n && !r->failed; i++)
		if (__builtin_add_overflow(l->before[i], l->before[i - l->column_n], &l->before[i]))
			return -EBADMSG;
	return r->failed;
}

/* Lengths become places; all lists together are no longer than the rows that have them, n. */
static int read_lengths(struct loose_list *l, struct block_reader *r, size_t n)
{
	uint32_t at = 0;

	if (!vec_reserve(&l->list_first, &l->list_capacity, (size_t)l->list_n + 1,
			 sizeof(*l->list_first)))
		return -ENOMEM;
	block_get_u32(r, l->list_first, l->list_n);
	for (uint32_t i = 0; i < l->list_n && !r->failed; i++) {
		uint32_t length = l->list_first[i];

		if (length == 0 || length > n - at)
			return -EBADMSG;
		l->list_first[i] = at;
		at += length;
	}
	l->list_first[l->list_n] = at;
	return r->failed;
}

static int read_lists(struct segment_group *g, struct block_reader *r, size_t n)
{
	struct loose_list *l = &g->list;
	uint64_t lists = block_get_number(r);
	uint32_t fields;
	int e;

	if (r->failed || lists == 0 || lists > g->zone->rows || n > COLUMN_MAX_VALUES)
		return -EBADMSG;
	l->list_n = (uint32_t)lists;
	e = read_lengths(l, r, n);
	if (e < 0)
		return e;
	fields = l->list_first[lists];
	if (!vec_reserve(&l->list_codes, &l->list_code_capacity, fields, sizeof(*l->list_codes)))
		return -ENOMEM;
	block_get_codes(r, l->list_codes, fields, l->rows ? l->column_n : g->tables->column_n);
	if (!vec_reserve(&l->row_lists, &l->row_list_capacity, (size_t)g->zone->rows + 1,
			 sizeof(*l->row_lists)) ||
	    !vec_reserve(&l->listed, &l->listed_capacity, l->chunk_n, sizeof(*l->listed)))
		return -ENOMEM;
	memset(l->listed, 0, l->chunk_n * sizeof(*l->listed));
	return r->failed;
}

static int read_list(struct segment_group *g, struct slice block, size_t n)
{
	struct block_reader r = {.codec = g->codec, .rest = block};
	struct loose_list *l = &g->list;
	uint64_t rows = block_get_number(&r);
	bool by_list = rows == LOOSE_BY_LIST;
	int e;

	if (by_list)
		rows = block_get_number(&r);
	e = r.failed;
	if (e < 0)
		return e;
	if (rows && (rows < LOOSE_CHUNK_LEAST || rows > GROUP_MOST_ROWS))
		return -EBADMSG;
	l->rows = (uint32_t)rows;
	l->at = l->counted = UINT32_MAX;
	l->chunk_n = rows ? (uint32_t)((g->zone->rows + rows - 1) / rows) : 1;
	if (!vec_reserve(&l->chunks, &l->chunk_capacity, l->chunk_n, sizeof(*l->chunks)))
		return -ENOMEM;
	if (rows)
		e = read_columns(g, &r, n);
	if (e == 0 && rows)
		e = read_counts(g, &r);
	l->list_n = 0;
	if (e == 0 && by_list)
		e = read_lists(g, &r, n);
	for (uint32_t i = 0; i < l->chunk_n && e == 0; i++)
		if (!block_next(&r, &l->chunks[i]))
			e = r.failed;
	return e == 0 && r.rest.n ? -EBADMSG : e;
}

int group_need_list(struct segment_group *g)
{
	struct slice block;
	size_t n = g->fixed[BLOCK_LOOSE].n;
	int r;

	if (g->have & HAVE_LIST)
		return 0;
	r = group_block(g, BLOCK_LOOSE, n, &block);
	if (r < 0)
		return r;
	g->loose_n = n;
	g->list.chunk_n = g->list.rows = 0;
	if (n)
		r = group_decoded(g, BLOCK_LOOSE, read_list(g, block, n));
	if (r == 0)
		g->have |= HAVE_LIST;
	return r;
}

int group_check_list(struct segment_group *g)
{
	size_t n = 0;
	int r = group_need_codes(g);

	if (r == 0)
		r = group_need_list(g);
	for (uint32_t i = 0; i < g->zone->shape_n && r == 0; i++)
		n += (size_t)g->tables->loose_n[g->zone->shapes[i]] * g->counts[i];
	return r == 0 && n != g->loose_n ? group_bad(g, "loose attributes") : r;
}

/* The lists of rows first … end - 1: list.row_lists, and how many rows have one.  Whether they are
 * as long as rows say is for who puts attributes together. */
static int get_row_lists(struct segment_group *g, struct slice block, uint32_t first, uint32_t end,
			 uint32_t *ret_n)
{
	const uint32_t *loose_n = g->tables->loose_n, *shapes = g->zone->shapes, *codes = g->codes;
	struct loose_list *l = &g->list;
	uint32_t rows = 0;

	for (uint32_t i = first; i < end; i++)
		rows += loose_n[shapes[codes[i]]] > 0;
	if (rows == 0 && block.n)
		return -EBADMSG;
	*ret_n = rows;
	return column_decode_codes(g->codec, block, rows, l->list_n, l->row_lists + first);
}

int group_need_row_lists(struct segment_group *g, uint32_t chunk, const uint32_t **ret_lists,
			 uint32_t *ret_n)
{
	struct loose_list *l = &g->list;
	uint32_t first = chunk * l->rows,
		 end = l->rows ? MIN(first + l->rows, g->zone->rows) : g->zone->rows;
	int r = 0;

	*ret_lists = l->row_lists + first;
	*ret_n = l->listed[chunk] - 1;
	if (l->listed[chunk])
		return 0;
	r = group_need_codes_part(g, first, end);
	if (r == 0)
		r = group_decoded(g, BLOCK_LOOSE,
				  get_row_lists(g, l->chunks[chunk], first, end, ret_n));
	if (r == 0)
		l->listed[chunk] = *ret_n + 1;
	return r;
}

int group_count_in_lists(struct segment_group *g, uint32_t column, const uint32_t **ret_counts)
{
	struct loose_list *l = &g->list;

	if (!vec_reserve(&l->list_counts, &l->list_count_capacity, l->list_n,
			 sizeof(*l->list_counts)))
		return -ENOMEM;
	for (uint32_t i = 0; i < l->list_n && l->counted != column; i++) {
		uint32_t n = 0;

		for (uint32_t k = l->list_first[i]; k < l->list_first[i + 1]; k++)
			n += l->list_codes[k] == column;
		l->list_counts[i] = n;
	}
	l->counted = column;
	*ret_counts = l->list_counts;
	return 0;
}

/* The attributes of a chunk's rows from the rows' lists: as many as the rows say. */
static int read_row_lists(struct segment_group *g, uint32_t chunk, uint32_t *out)
{
	const struct loose_list *l = &g->list;
	uint32_t row = chunk * l->rows,
		 end = l->rows ? MIN(row + l->rows, g->zone->rows) : g->zone->rows;
	const uint32_t *list;
	uint32_t rows;
	int r = group_need_row_lists(g, chunk, &list, &rows);

	for (; r == 0 && row < end; row++) {
		uint32_t n = g->tables->loose_n[g->zone->shapes[g->codes[row]]], at;

		if (n == 0)
			continue;
		at = l->list_first[*list];
		if (l->list_first[*list++ + 1] - at != n)
			return -EBADMSG;
		memcpy(out, l->list_codes + at, n * sizeof(*out));
		out += n;
	}
	return r;
}

/* The attributes of a chunk, n of them, as they are written. */
static int read_chunk(struct segment_group *g, uint32_t chunk, size_t n, uint32_t *out)
{
	const struct loose_list *l = &g->list;

	if (n == 0)
		return l->chunks[chunk].n ? -EBADMSG : 0;
	if (l->list_n)
		return read_row_lists(g, chunk, out);
	return column_decode_codes(g->codec, l->chunks[chunk], n,
				   l->rows ? l->column_n : g->tables->column_n, out);
}

int group_need_chunks(struct segment_group *g, uint32_t chunk, uint32_t chunk_n)
{
	struct loose_list *l = &g->list;
	uint32_t first = chunk * l->rows, end = MIN(first + chunk_n * l->rows, g->zone->rows);
	size_t n, at = 0;
	int r;

	if (l->at == chunk && l->at_n == chunk_n)
		return 0;
	r = l->rows ? group_need_codes_part(g, first, end) : group_check_list(g);
	if (r < 0)
		return r;
	l->at = UINT32_MAX;
	n = l->rows ? loose_of(g, first, end) : g->loose_n;
	if (!vec_reserve(&l->codes, &l->code_capacity, n + 1, sizeof(*l->codes)))
		return -ENOMEM;
	for (uint32_t i = 0; i < chunk_n && r == 0; i++) {
		uint32_t from = first + i * l->rows;
		size_t part = chunk_n == 1 ? n : loose_of(g, from, MIN(from + l->rows, end));

		r = group_decoded(g, BLOCK_LOOSE, read_chunk(g, chunk + i, part, l->codes + at));
		at += part;
	}
	if (r < 0)
		return r;
	l->code_n = n;
	l->at = chunk;
	l->at_n = chunk_n;
	return 0;
}

int group_need_chunk(struct segment_group *g, uint32_t chunk)
{
	return group_need_chunks(g, chunk, 1);
}

int group_need_loose(struct segment_group *g)
{
	const struct loose_list *l = &g->list;
	size_t at = 0;
	int r = g->have & HAVE_LOOSE ? 0 : group_check_list(g);

	if (r < 0 || g->have & HAVE_LOOSE)
		return r;
	if (!vec_reserve(&g->loose, &g->loose_capacity, g->loose_n + 1, sizeof(*g->loose)))
		return -ENOMEM;
	for (uint32_t i = 0; i < l->chunk_n && r == 0; i++) {
		uint32_t first = i * l->rows, end = MIN(first + l->rows, g->zone->rows);
		size_t n = l->rows ? loose_of(g, first, end) : g->loose_n;

		r = group_decoded(g, BLOCK_LOOSE, read_chunk(g, i, n, g->loose + at));
		for (size_t k = at; k < at + n && l->rows && r == 0; k++)
			g->loose[k] = l->columns[g->loose[k]];
		at += n;
	}
	if (r == 0)
		g->have |= HAVE_LOOSE;
	return r;
}
