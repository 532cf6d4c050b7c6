/* segment/group_values.c - a few values of a column: which equal a text, and which rows have them.
 *
 * A search that looks for something rare reads a column, but not where all of its values belong. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/codes_find.h"
#include "segment/group_int.h"

int group_column_values(struct segment_group *g, enum row_level level, uint32_t key,
			enum value_type type, const struct group_column **ret_column)
{
	struct loaded_column *c = group_column_of(g, level, key, type);
	int r;

	if (!c)
		return -ENOENT;
	r = group_need_values(g, c);
	if (r == 0)
		*ret_column = &c->view;
	return r;
}

/* --- few values --- */

/* In a column that somebody else has decoded. */
static int find_decoded(struct segment_group *g, const struct loaded_column *c, struct slice text,
			uint32_t *ret_n)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->place.n; i++)
		if (slice_eq(text_column_get(&c->text, i), text))
			g->found[n++] = i;
	*ret_n = n;
	return 0;
}

static int find_text(struct segment_group *g, struct loaded_column *c, struct slice text,
		     uint32_t code, uint32_t *ret_n)
{
	struct slice block;
	bool uuid;
	int r = group_block_at(g, &c->place, "values", &block);

	*ret_n = 0;
	if (r < 0)
		return r;
	if (text_column_is_codes(block)) {
		if (code == UINT32_MAX)
			return 0;
		r = group_need_values(g, c);
		if (r == 0)
			*ret_n = codes_find(c->text.codes, c->place.n, code, g->found);
		return r;
	}
	if (c->decoded)
		return find_decoded(g, c, text, ret_n);
	uuid = text_has_uuid(text);
	r = uuid ? group_need_uuids(g) : 0;
	if (r == 0)
		r = text_column_find(g->codec, block, c->place.n,
				     uuid ? (const uint8_t(*)[UUID_BYTES])g->uuids : NULL,
				     g->fixed[BLOCK_UUID].n, GROUP_MOST_TEXT, text, &c->text,
				     g->found);
	if (r < 0)
		return r == -EBADMSG ? group_bad(g, "values") : r;
	*ret_n = (uint32_t)r;
	return 0;
}

int group_find_text(struct segment_group *g, enum row_level level, uint32_t key, struct slice text,
		    uint32_t code, const uint32_t **ret_values, uint32_t *ret_n)
{
	struct loaded_column *c = group_column_of(g, level, key, VALUE_STRING);
	int r;

	if (!c)
		return -ENOENT;
	if (!vec_reserve(&g->found, &g->found_capacity, (size_t)c->place.n + 1, sizeof(*g->found)))
		return -ENOMEM;
	r = find_text(g, c, text, code, ret_n);
	if (r == 0)
		*ret_values = g->found;
	return r;
}

/* What is looked for in a chunk of the list: values of a column, by their places in it. */
struct listed {
	uint32_t column, index; /* of the column in the list */
	uint32_t chunk;
	uint32_t before, count; /* values of rows before the chunk, and of its own */
	const uint32_t *values;
	uint32_t n;
	uint32_t *out;
};

/* Goes through the rows of a chunk in order. */
struct chunk_walk {
	uint32_t value, done; /* the next value; so many of the wanted were found */
	bool vars;            /* not all of the values are in the list */
};

/* A row has so many values of the column in the list. */
static inline void walk_row(struct chunk_walk *at, const struct segment_tables *t,
			    const struct listed *w, uint32_t row, uint32_t shape, uint32_t listed)
{
	at->value += listed;
	if (at->vars)
		at->value += shape_count_vars(t, shape, w->column);
	while (at->done < w->n && w->values[at->done] < at->value)
		w->out[at->done++] = row;
}

/* Each attribute says its column. */
static int walk_chunk(struct segment_group *g, const struct listed *w, struct chunk_walk *walk)
{
	const struct segment_tables *t = g->tables;
	struct loose_list *l = &g->list;
	uint32_t end = MIN((w->chunk + 1) * l->rows, g->zone->rows), row = w->chunk * l->rows;
	uint32_t place_n, at = 0, loose = 0;
	int r = group_need_chunk(g, w->chunk);

	if (r == 0 &&
	    !vec_reserve(&l->places, &l->place_capacity, l->code_n + 1, sizeof(*l->places)))
		r = -ENOMEM;
	if (r < 0)
		return r;
	place_n = codes_find(l->codes, (uint32_t)l->code_n, w->index, l->places);
	walk->vars = place_n != w->count;
	for (; row < end && walk->done < w->n; row++) {
		uint32_t shape = g->zone->shapes[g->codes[row]], n = 0;

		loose += t->loose_n[shape];
		for (; at < place_n && l->places[at] < loose; at++)
			n++;
		walk_row(walk, t, w, row, shape, n);
	}
	return row == end;
}

/* Rows from `row` on, of which each has a list, and nothing but it: how many values they have. */
static uint32_t walk_plain(const struct listed *w, uint32_t row, const uint32_t *list,
			   uint32_t list_n, const uint32_t *counts, uint32_t *ret_done)
{
	uint32_t sum = 0, done = 0, i = 0;

	while (done < w->n) {
		uint32_t wanted = w->values[done] - w->before;

		for (; i < list_n && sum <= wanted; i++)
			sum += counts[list[i]];
		if (sum <= wanted)
			break; /* it is in another chunk */
		w->out[done++] = row + i - 1;
	}
	for (; i < list_n; i++)
		sum += counts[list[i]];
	*ret_done = done;
	return sum;
}

/* Rows say their list: what is in the others is not put together. */
static int walk_lists(struct segment_group *g, const struct listed *w, struct chunk_walk *walk)
{
	const struct segment_tables *t = g->tables;
	const struct loose_list *l = &g->list;
	uint32_t end = MIN((w->chunk + 1) * l->rows, g->zone->rows), row = w->chunk * l->rows;
	const uint32_t *list, *counts;
	uint32_t list_n, sum = 0, done = 0;
	int r = group_need_row_lists(g, w->chunk, &list, &list_n);

	if (r == 0)
		r = group_count_in_lists(g, w->index, &counts);
	if (r < 0)
		return r;
	/* Each row has one, and there is nothing else: shapes need not be asked. */
	if (list_n == end - row) {
		sum = walk_plain(w, row, list, list_n, counts, &done);
		if (sum == w->count) {
			walk->value += sum;
			walk->done = done;
			return 1;
		}
	} else {
		for (uint32_t i = 0; i < list_n; i++)
			sum += counts[list[i]];
	}
	walk->vars = sum != w->count;
	for (; row < end && walk->done < w->n; row++) {
		uint32_t shape = g->zone->shapes[g->codes[row]], n = 0;

		if (t->loose_n[shape] > 0)
			n = counts[*list++];
		walk_row(walk, t, w, row, shape, n);
	}
	return row == end;
}

/* The rows of those values that lie in the chunk: returns how many these are. */
static int rows_in_chunk(struct segment_group *g, const struct listed *w)
{
	struct chunk_walk walk = {.value = w->before};
	int r = g->list.list_n ? walk_lists(g, w, &walk) : walk_chunk(g, w, &walk);

	if (r < 0)
		return r;
	/* Who has seen all rows knows how many values they have. */
	if (r == 1 && walk.value != w->before + w->count)
		return group_bad(g, "loose attributes");
	return (int)walk.done;
}

/* A column of the list: chunk by chunk. */
static int rows_by_chunk(struct segment_group *g, const struct loaded_column *c, uint32_t index,
			 const uint32_t *values, uint32_t n, uint32_t *out)
{
	const struct loose_list *l = &g->list;

	for (uint32_t chunk = 0, done = 0; done < n; chunk++) {
		const uint32_t *before = l->before + (size_t)chunk * l->column_n + index;
		uint32_t end;
		int r;

		if (chunk == l->chunk_n)
			return group_bad(g, "loose attributes");
		end = chunk + 1 < l->chunk_n ? before[l->column_n] : c->place.n;
		if (end < *before)
			return group_bad(g, "loose attributes");
		if (end <= values[done])
			continue;
		r = rows_in_chunk(g,
				  &(struct listed){c->column, index, chunk, *before, end - *before,
						   values + done, n - done, out + done});
		if (r < 0)
			return r;
		done += (uint32_t)r;
	}
	return 0;
}

int group_value_rows(struct segment_group *g, enum row_level level, uint32_t key,
		     enum value_type type, const uint32_t *values, uint32_t n, uint32_t *out)
{
	struct loaded_column *c = group_column_of(g, level, key, type);
	uint32_t index;
	int r;

	if (!c || (n > 0 && values[n - 1] >= c->place.n))
		return -EINVAL;
	r = group_need_list(g);
	if (r < 0)
		return r;
	if (!c->has_rows && g->loose_n > 0 && g->list.rows &&
	    loose_list_find(&g->list, c->column, &index))
		return rows_by_chunk(g, c, index, values, n, out);
	r = group_need_column_rows(g, c);
	for (uint32_t i = 0; i < n && r == 0; i++)
		out[i] = c->rows[values[i]];
	return r;
}

/* The list of a row that has one. */
static int row_list(struct segment_group *g, uint32_t row, uint32_t *ret_list)
{
	const struct segment_tables *t = g->tables;
	const struct loose_list *l = &g->list;
	uint32_t chunk = row / l->rows, first = chunk * l->rows, at = 0, n;
	const uint32_t *lists;
	int r = group_need_row_lists(g, chunk, &lists, &n);

	if (r < 0)
		return r;
	if (n == MIN(l->rows, g->zone->rows - first))
		at = row - first; /* each has one */
	else
		for (uint32_t i = first; i < row; i++)
			at += t->loose_n[g->zone->shapes[g->codes[i]]] > 0;
	*ret_list = lists[at];
	return 0;
}

/* How often a row's list has a key. */
static int count_in_list(struct segment_group *g, uint32_t row, uint32_t key, uint32_t *ret_n)
{
	const struct loose_list *l = &g->list;
	uint32_t list;
	int r = group_need_codes_part(g, row, row + 1);

	if (r < 0 || g->tables->loose_n[g->zone->shapes[g->codes[row]]] == 0)
		return r;
	r = row_list(g, row, &list);
	for (uint32_t i = r == 0 ? l->list_first[list] : 0; r == 0 && i < l->list_first[list + 1];
	     i++)
		*ret_n += g->tables->columns[loose_column(l, l->list_codes[i])].key == key;
	return r;
}

int group_row_loose(struct segment_group *g, uint32_t row, uint32_t key, uint32_t *ret_n)
{
	const struct segment_tables *t = g->tables;
	const struct loose_list *l = &g->list;
	uint32_t n = 0, chunk, first;
	const uint32_t *loose;
	int r = group_need_list(g);

	*ret_n = 0;
	if (r < 0 || g->loose_n == 0 || row >= g->zone->rows)
		return r;
	if (l->list_n && l->rows)
		return count_in_list(g, row, key, ret_n);
	chunk = l->rows ? row / l->rows : 0;
	first = chunk * l->rows;
	r = group_need_chunk(g, chunk);
	if (r == 0)
		r = group_need_codes_part(g, first, row + 1);
	if (r < 0)
		return r;
	loose = l->codes;
	for (uint32_t i = first; i < row; i++)
		loose += t->loose_n[g->zone->shapes[g->codes[i]]];
	for (uint32_t k = t->loose_n[g->zone->shapes[g->codes[row]]]; k > 0; k--)
		n += t->columns[loose_column(l, *loose++)].key == key;
	*ret_n = n;
	return 0;
}

int group_row_name(struct segment_group *g, uint32_t row, struct slice *ret_name)
{
	const struct group_column *names;
	uint32_t before[MARK_LANES];
	int r = row < g->zone->rows ? group_need_codes_part(g, row, row + 1) : -EINVAL;

	if (r == 0)
		r = group_count_before(g, row, before);
	if (r == 0)
		r = group_column_values(g, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &names);
	if (r < 0)
		return r == -ENOENT ? group_bad(g, "values") : r;
	if (before[MARK_NAME] >= names->n || !(group_form(g, row) & FORM_BLOCK_NAMED))
		return group_bad(g, "values");
	*ret_name = column_text(names, before[MARK_NAME]);
	return 0;
}
