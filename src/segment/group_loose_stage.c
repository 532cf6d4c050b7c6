/* segment/group_loose_stage.c - values of LOOSE attributes go into their columns.
 *
 * Rows say which list of attributes they have (segment/key_lists.h) as long as lists repeat; where
 * they do not, each attribute says its column, for the rest of the segment. */
#include <errno.h>

#include "base/vec.h"
#include "segment/shape_memo.h"

#define NONE UINT32_MAX
/* Lists of a group that are not too many while it is gathered: so many, and one for so many rows; …
 */
#define LISTS_FEW     1024
#define ROWS_PER_LIST 8
/* … and when it is written: one for so many rows, if there are rows enough to tell. */
#define ROWS_PER_LIST_LEAST 4
#define ROWS_ENOUGH         64

/* --- one by one --- */

/* The column of a LOOSE attribute: keys of texts are remembered by their code. */
static uint32_t loose_column(struct group_writer *g, uint8_t level, uint32_t key, uint8_t type)
{
	uint32_t column;

	if (type != VALUE_STRING || level != LEVEL_BLOCK)
		return value_column_get(&g->shapes, level, field_word(key, type));
	if (key >= g->column_of_key_n) {
		size_t n = g->column_of_key_n;

		if (!vec_reserve(&g->column_of_key, &g->column_of_key_capacity, (size_t)key + 1,
				 sizeof(*g->column_of_key)))
			return NONE;
		g->column_of_key_n = g->column_of_key_capacity;
		memset(g->column_of_key + n, 0,
		       (g->column_of_key_n - n) * sizeof(*g->column_of_key));
	}
	if (g->column_of_key[key])
		return g->column_of_key[key] - 1;
	column = value_column_get(&g->shapes, level, field_word(key, type));
	if (column != NONE)
		g->column_of_key[key] = column + 1;
	return column;
}

static bool codes_reserve(struct group_writer *g, size_t more)
{
	return vec_reserve(&g->loose_codes, &g->loose_capacity, g->loose_n + more,
			   sizeof(*g->loose_codes));
}

/* There is room for its code. */
static int stage_one(struct group_writer *g, struct remap *r, uint8_t level, const struct attr *a)
{
	uint32_t key = dictionary_string(&g->dictionary, r, a->key),
		 column = loose_column(g, level, key, a->type);

	if (column == NONE)
		return -ENOMEM;
	g->loose_codes[g->loose_n++] = column;
	return group_stage(g, r, column, a);
}

/* A text whose key, column and code are known, as they are nearly always. */
static inline bool stage_one_code(struct group_writer *g, const uint32_t *strings,
				  const struct attr *a)
{
	uint32_t key = strings[a->key], code, column;
	struct value_column *c;

	if (!key || a->type != VALUE_STRING || key >= g->column_of_key_n)
		return false;
	code = strings[a->string];
	column = g->column_of_key[key];
	if (!code || !column)
		return false;
	c = &g->shapes.columns[column - 1];
	if (c->n >= c->code_room)
		return false;
	c->codes[c->n++] = code;
	g->loose_codes[g->loose_n++] = column - 1;
	return true;
}

static int stage_singly(struct group_writer *g, struct remap *r, uint8_t level,
			const struct attr *a, uint32_t n)
{
	int e = codes_reserve(g, n) ? 0 : -ENOMEM;

	for (const struct attr *end = a + n; a < end && e == 0; a++)
		if (level != LEVEL_BLOCK || !stage_one_code(g, r->strings, a))
			e = stage_one(g, r, level, a);
	return e;
}

/* --- by list --- */

/* Has the row the attributes of the list?  None of them is of the empty key: keys that the segment
 * does not know yet look like it. */
static inline bool has_list(const struct key_lists *l, const struct key_list *list, uint8_t level,
			    const uint32_t *strings, const struct attr *a, uint32_t n)
{
	return list->n == n && list->level == level &&
	       has_keys(strings, a, n, l->words + list->first);
}

/* Looks the row's list up by its words, or adds it. */
static uint32_t list_get(struct group_writer *g, struct remap *r, uint8_t level,
			 const struct attr *a, uint32_t n)
{
	uint32_t *words, *columns, list;

	if (!vec_reserve(&g->words, &g->word_capacity, 2 * (size_t)n, sizeof(*g->words)))
		return NONE;
	words = g->words;
	columns = words + n;
	for (uint32_t i = 0; i < n; i++)
		words[i] = field_word(dictionary_string(&g->dictionary, r, a[i].key), a[i].type);
	list = key_lists_find(&g->lists, level, words, n);
	if (list != NONE)
		return list;
	for (uint32_t i = 0; i < n; i++) {
		columns[i] = value_column_get(&g->shapes, level, words[i]);
		if (columns[i] == NONE)
			return NONE;
	}
	return key_lists_add(&g->lists, level, words, columns, n);
}

static uint32_t list_find(struct group_writer *g, struct remap *r, uint8_t level,
			  const struct attr *a, uint32_t n)
{
	uint32_t *guess = key_list_guess(&g->lists, n, r->strings[a[0].key],
					 r->strings[a[n - 1].key]),
		 list;

	if (*guess && has_list(&g->lists, &g->lists.rows[*guess - 1], level, r->strings, a, n))
		return *guess - 1;
	list = list_get(g, r, level, a, n);
	if (list == NONE || words_have_empty(g->lists.words + g->lists.rows[list].first, n))
		return list;
	/* Its keys are known now. */
	guess = key_list_guess(&g->lists, n, r->strings[a[0].key], r->strings[a[n - 1].key]);
	*guess = list + 1;
	return list;
}

/* Lists hardly repeat: what was gathered by list is gathered one by one from now on. */
static int lists_end(struct group_writer *g)
{
	size_t n = g->loose_n;

	g->by_list = false;
	g->loose_n = 0;
	if (!codes_reserve(g, n))
		return -ENOMEM;
	for (uint32_t i = 0; i < g->row_list_n; i++) {
		const struct key_list *list = &g->lists.rows[g->row_lists[i]];

		memcpy(g->loose_codes + g->loose_n, g->lists.columns + list->first,
		       list->n * sizeof(*g->loose_codes));
		g->loose_n += list->n;
	}
	g->row_list_n = 0;
	return 0;
}

int group_lists_close(struct group_writer *g)
{
	return g->by_list && g->row_list_n >= ROWS_ENOUGH &&
			       g->seen_list_n > g->row_list_n / ROWS_PER_LIST_LEAST
		       ? lists_end(g)
		       : 0;
}

static int list_note(struct group_writer *g, uint32_t list)
{
	struct key_list *row = &g->lists.rows[list];

	g->row_lists[g->row_list_n++] = list;
	g->loose_n += row->n;
	if (row->group == g->group)
		return 0;
	row->group = g->group;
	row->local = (uint32_t)g->seen_list_n;
	if (!vec_reserve(&g->seen_lists, &g->seen_list_capacity, g->seen_list_n + 1,
			 sizeof(*g->seen_lists)))
		return -ENOMEM;
	g->seen_lists[g->seen_list_n++] = list;
	return g->seen_list_n > LISTS_FEW + g->row_list_n / ROWS_PER_LIST ? lists_end(g) : 0;
}

static int stage_list(struct group_writer *g, struct remap *r, const uint32_t *columns,
		      const struct attr *a, uint32_t n)
{
	struct value_column *all = g->shapes.columns; /* none is added */
	const uint32_t *strings = r->strings;

	for (const struct attr *end = a + n; a < end; a++, columns++) {
		struct value_column *c = &all[*columns];
		uint32_t at = c->n, code;
		int e;

		if (__builtin_expect(at < c->code_room, 1) &&
		    __builtin_expect((code = strings[a->string]) != 0, 1)) {
			c->codes[at] = code;
			c->n = at + 1;
			continue;
		}
		e = group_stage(g, r, *columns, a);
		if (e < 0)
			return e;
	}
	return 0;
}

int group_stage_loose(struct group_writer *g, struct remap *r, uint8_t level, const struct attr *a,
		      uint32_t n)
{
	uint32_t list;
	int e;

	if (!g->by_list || n == 0)
		return stage_singly(g, r, level, a, n);
	list = list_find(g, r, level, a, n);
	if (list == NONE)
		return -ENOMEM;
	e = stage_list(g, r, key_list_columns(&g->lists, list), a, n);
	return e == 0 ? list_note(g, list) : e;
}
