/* segment/group_columns.c - the columns of values of a group, and which row each value belongs to.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group_int.h"

int group_need_vars(struct segment_group *g)
{
	const struct segment_tables *t = g->tables;
	int r = group_need_codes(g);

	if (r < 0 || g->have & HAVE_VARS)
		return r;
	if (!vec_reserve(&g->vars, &g->var_capacity, (size_t)t->column_n + 1, sizeof(*g->vars)))
		return -ENOMEM;
	memset(g->vars, 0, ((size_t)t->column_n + 1) * sizeof(*g->vars));
	for (uint32_t i = 0; i < g->zone->shape_n; i++) {
		const uint32_t *end, *v = shape_vars(t, g->zone->shapes[i], &end);

		for (; v < end; v++)
			g->vars[*v] += g->counts[i];
	}
	g->have |= HAVE_VARS;
	return 0;
}

int group_need_expected(struct segment_group *g)
{
	const struct segment_tables *t = g->tables;
	int r = group_need_vars(g);

	if (r == 0)
		r = group_need_loose(g);
	if (r < 0 || g->have & HAVE_EXPECTED)
		return r;
	if (!vec_reserve(&g->expected, &g->expected_capacity, (size_t)t->column_n + 1,
			 sizeof(*g->expected)))
		return -ENOMEM;
	memcpy(g->expected, g->vars, ((size_t)t->column_n + 1) * sizeof(*g->expected));
	for (size_t i = 0; i < g->loose_n; i++)
		g->expected[g->loose[i]] += t->columns[g->loose[i]].type != VALUE_EMPTY;
	g->have |= HAVE_EXPECTED;
	return 0;
}

struct loaded_column *group_find_column(struct segment_group *g, uint32_t column)
{
	size_t low = 0, high = g->column_n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (g->columns[mid].column < column)
			low = mid + 1;
		else
			high = mid;
	}
	return low < g->column_n && g->columns[low].column == column ? &g->columns[low] : NULL;
}

int group_need_uuids(struct segment_group *g)
{
	size_t n = g->fixed[BLOCK_UUID].n;
	struct slice block;
	int r;

	if (g->have & HAVE_UUIDS)
		return 0;
	r = group_block(g, BLOCK_UUID, n, &block);
	if (r < 0)
		return r;
	/* At most as many as the group has bytes for, unless they are all alike. */
	if (!vec_reserve(&g->uuids, &g->uuid_capacity, n + 1, sizeof(*g->uuids)))
		return -ENOMEM;
	if (n)
		r = group_decoded(g, BLOCK_UUID,
				  column_decode_fixed(g->codec, block, UUID_BYTES, n, g->uuids));
	if (r == 0)
		g->have |= HAVE_UUIDS;
	return r;
}

/* Values of a column: those of a window, or all. */
struct part {
	size_t first, n;
};

/* Texts by code of the segment: the texts are the dictionary's. */
static int decode_codes(struct segment_group *g, struct loaded_column *c, struct slice block,
			struct part p)
{
	const struct batch *b = g->tables->batch;
	int r = text_column_codes(g->codec, block, c->place.n, p.first, p.n, (uint32_t)b->strings,
				  &c->text);

	c->by_code = true;
	c->view.codes = c->text.codes;
	c->view.offset = b->offset;
	c->view.text = b->text;
	c->view.text_n = (uint32_t)b->strings;
	c->view.by_code = true;
	return r;
}

static int decode_text(struct segment_group *g, struct loaded_column *c, struct slice block,
		       struct part p)
{
	int r;

	c->by_code = false;
	if (text_column_is_codes(block) && !value_is_nested(c->view.type))
		return decode_codes(g, c, block, p);
	if (g->tables->columns[c->column].by_code)
		return -EBADMSG;
	r = group_need_uuids(g);
	if (r == 0)
		r = text_column_decode(g->codec, block, c->place.n, p.first, p.n,
				       (const uint8_t(*)[UUID_BYTES])g->uuids,
				       g->fixed[BLOCK_UUID].n, GROUP_MOST_TEXT, &c->text);
	if (r < 0)
		return r;
	c->view.codes = c->text.codes;
	c->view.offset = c->text.offset;
	c->view.text = c->text.text.p;
	c->view.text_n = c->text.text_n;
	return 0;
}

static int decode_numbers(struct segment_group *g, struct loaded_column *c, struct slice block,
			  struct part p)
{
	size_t n = p.n;
	int r;

	if (!vec_reserve(&c->numbers, &c->number_capacity, n + 1, sizeof(*c->numbers)))
		return -ENOMEM;
	if (c->view.type == VALUE_DOUBLE)
		r = column_decode_f64_range(g->codec, block, c->place.n, p.first, n,
					    (double *)(void *)c->numbers);
	else
		r = column_decode_i64_range(g->codec, block, c->place.n, p.first, n,
					    (int64_t *)c->numbers);
	for (size_t i = 0; i < n && r == 0 && c->view.type == VALUE_BOOL; i++)
		if (c->numbers[i] > 1)
			r = -EBADMSG;
	c->view.values = c->numbers;
	return r;
}

/* How many values each shape of the group has in a column, LOOSE ones apart; the largest of these
 * numbers.  *ret_n: of all rows. */
static uint32_t count_vars(const struct segment_group *g, uint32_t column, uint32_t *counts,
			   uint64_t *ret_n)
{
	const struct segment_tables *t = g->tables;
	bool name = t->columns[column].key == FIELD_NAME;
	uint32_t most = 0;
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->zone->shape_n; i++) {
		uint32_t shape = g->zone->shapes[i], count = 0;

		/* Each row has one name, of a column of its level. */
		if (name && t->columns[column].level == LEVEL_BLOCK)
			count = (g->forms[i] & FORM_BLOCK_NAMED) != 0;
		else if (name)
			count = (g->forms[i] & FORM_NAMED) &&
				t->columns[column].level == t->shape_rows[shape].level;
		else
			count = shape_count_vars(t, shape, column);
		counts[i] = count;
		most = MAX(most, count);
		n += (uint64_t)count * g->counts[i];
	}
	*ret_n = n;
	return most;
}

/* Has the column as many values as the rows say?  Where VAR entries account for all of them, the
 * list of LOOSE ones need not be read. */
static int need_count(struct segment_group *g, struct loaded_column *c)
{
	uint64_t n;
	int r = c->counted ? 0 : group_need_codes(g);

	if (r < 0 || c->counted)
		return r;
	if (g->have & HAVE_VARS)
		n = g->vars[c->column];
	else
		count_vars(g, c->column, (uint32_t *)(void *)g->scratch, &n);
	if (n != c->place.n) {
		r = group_need_expected(g);
		if (r == 0 && g->expected[c->column] != c->place.n)
			return group_bad(g, "values");
	}
	c->counted = r == 0;
	return r;
}

static int decode_part(struct segment_group *g, struct loaded_column *c, struct part p)
{
	const struct column_key *key = &g->tables->columns[c->column];
	struct slice block;
	int r;

	c->view = (struct group_column){
		.key = key->key, .level = key->level, .type = key->type, .n = (uint32_t)p.n};
	c->base = (uint32_t)p.first;
	c->window = 0;
	c->has_rows = false;
	r = group_block_at(g, &c->place, "values", &block);
	if (r == 0)
		r = value_is_text(key->type) ? decode_text(g, c, block, p)
					     : decode_numbers(g, c, block, p);
	return r == -EBADMSG ? group_bad(g, "values") : r;
}

int group_need_values(struct segment_group *g, struct loaded_column *c)
{
	int r;

	if (c->decoded)
		return 0;
	r = decode_part(g, c, (struct part){0, c->place.n});
	c->decoded = r == 0;
	return r;
}

int group_need_column(struct segment_group *g, struct loaded_column *c)
{
	int r = need_count(g, c);

	return r == 0 ? group_need_values(g, c) : r;
}

int group_need_column_part(struct segment_group *g, struct loaded_column *c, uint32_t first,
			   uint32_t n)
{
	int r = 0;

	if (c->window == g->window)
		return 0;
	if (first > c->place.n || n > c->place.n - first)
		return group_bad(g, "values");
	if (!c->decoded)
		r = decode_part(g, c, (struct part){first, n});
	if (r == 0)
		c->window = g->window;
	return r;
}

/* The rows of VAR values, each shape having counts[shape] of them; `most`: the largest count. */
static void rows_of_vars(const struct segment_group *g, const uint32_t *counts, uint32_t most,
			 uint32_t *out)
{
	for (uint32_t i = 0, n = 0; i < g->zone->rows; i++) {
		uint32_t count = counts[g->codes[i]];

		out[n] = i; /* there is room for one more */
		for (uint32_t k = 1; most > 1 && k < count; k++)
			out[n + k] = i;
		n += count;
	}
}

/* The same where some are LOOSE. */
static void rows_of_loose(const struct segment_group *g, const uint32_t *counts, uint32_t column,
			  uint32_t *out)
{
	const uint32_t *loose = g->loose;

	for (uint32_t i = 0, n = 0; i < g->zone->rows; i++) {
		uint32_t loose_n = g->tables->loose_n[g->zone->shapes[g->codes[i]]];
		uint32_t count = counts[g->codes[i]];

		for (uint32_t j = 0; j < loose_n; j++)
			count += *loose++ == column;
		while (count-- > 0)
			out[n++] = i;
	}
}

int group_need_column_rows(struct segment_group *g, struct loaded_column *c)
{
	uint32_t *counts = (uint32_t *)(void *)g->scratch, most;
	uint64_t n;
	int r = c->has_rows ? 0 : group_need_codes(g);

	if (r < 0 || c->has_rows)
		return r;
	if (!vec_reserve(&c->rows, &c->row_capacity, (size_t)c->place.n + 1, sizeof(*c->rows)))
		return -ENOMEM;
	most = count_vars(g, c->column, counts, &n);
	if (n == c->place.n) {
		c->counted = true;
		rows_of_vars(g, counts, most, c->rows);
	} else {
		r = need_count(g, c);
		if (r < 0)
			return r;
		count_vars(g, c->column, counts, &n);
		rows_of_loose(g, counts, c->column, c->rows);
	}
	c->view.rows = c->rows;
	c->has_rows = true;
	return 0;
}

/* Rows say how many values there must be, so that need not be asked before. */
static int get_column(struct segment_group *g, struct loaded_column *c,
		      const struct group_column **ret_column)
{
	int r = group_need_values(g, c);

	if (r == 0)
		r = group_need_column_rows(g, c);
	if (r == 0)
		*ret_column = &c->view;
	return r;
}

struct loaded_column *group_column_of(struct segment_group *g, enum row_level level, uint32_t key,
				      enum value_type type)
{
	for (size_t i = 0; i < g->column_n; i++) {
		const struct column_key *c = &g->tables->columns[g->columns[i].column];

		if (c->key == key && c->level == level && c->type == type)
			return &g->columns[i];
	}
	return NULL;
}

int group_column(struct segment_group *g, enum row_level level, uint32_t key, enum value_type type,
		 const struct group_column **ret_column)
{
	struct loaded_column *c = group_column_of(g, level, key, type);

	return c ? get_column(g, c, ret_column) : -ENOENT;
}

int group_column_at(struct segment_group *g, uint32_t index, const struct group_column **ret_column)
{
	return index < g->column_n ? get_column(g, &g->columns[index], ret_column) : -ENOENT;
}
