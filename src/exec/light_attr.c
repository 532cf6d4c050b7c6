/* exec/light_attr.c - attributes of a light trace's spans, from their shapes and columns. */
#include <errno.h>
#include <stdlib.h>

#include "exec/attr_value.h"
#include "exec/light_trace.h"

#define NOWHERE     UINT32_MAX
#define TWICE       (UINT32_MAX - 1) /* only the row knows which of them counts */
#define VALUE_SHIFT 28               /* column << VALUE_SHIFT | value */
#define VALUE_MASK  ((1u << VALUE_SHIFT) - 1)

void light_attrs_done(struct light_trace *l)
{
	for (uint32_t i = 0; i < l->attr_n; i++)
		free(l->attrs[i].at);
	l->attr_n = 0;
}

/* The key as the segment at hand knows it. */
static struct light_attr *attr_of(struct light_trace *l, struct slice key)
{
	struct light_attr *a;

	for (uint32_t i = 0; i < l->attr_n; i++)
		if (slice_eq(l->attrs[i].key, key)) {
			a = &l->attrs[i];
			goto found;
		}
	if (l->attr_n == LIGHT_ATTRS)
		return NULL;
	a = &l->attrs[l->attr_n++];
	*a = (struct light_attr){.key = key};
found:
	if (a->segment != l->segment) {
		a->segment = l->segment;
		a->code = tables_find(l->tables, key);
		a->empty = tables_has_empty(l->tables, LEVEL_BLOCK, a->code);
		a->group = 0;
	}
	return a;
}

static int load_type(struct light_trace *l, struct light_attr *a, enum value_type type)
{
	const struct group_column *column;
	int r = group_column(l->group, LEVEL_BLOCK, a->code, type, &column);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (column->n > VALUE_MASK)
		return -EBADMSG;
	for (uint32_t i = 0; i < column->n; i++) {
		uint32_t *at = &a->at[column->rows[i]];

		*at = *at == NOWHERE ? a->n << VALUE_SHIFT | i : TWICE;
	}
	a->columns[a->n++] = column;
	return 0;
}

static int load(struct light_trace *l, struct light_attr *a)
{
	static const uint8_t types[LIGHT_TYPES] = {VALUE_STRING, VALUE_BOOL,  VALUE_INT,
						   VALUE_DOUBLE, VALUE_BYTES, VALUE_ARRAY,
						   VALUE_KVLIST, VALUE_RAW,   VALUE_RAW_PAIR};
	uint32_t rows = group_zone(l->group)->rows;
	int r = 0;

	if (a->group == l->serial)
		return 0;
	if (!a->at)
		a->at = malloc(SEGMENT_GROUP_ROWS * sizeof(*a->at));
	if (!a->at)
		return -ENOMEM;
	if (rows > SEGMENT_GROUP_ROWS)
		return -EBADMSG;
	a->n = 0;
	memset(a->at, 0xff, rows * sizeof(*a->at));
	for (size_t i = 0; r == 0 && i < LIGHT_TYPES; i++)
		r = load_type(l, a, types[i]);
	if (r == 0)
		a->group = l->serial;
	return r;
}

static struct value fixed_value(const struct segment_tables *t, const struct shape_entry *e,
				struct arena *arena)
{
	switch (e->type) {
	case VALUE_BOOL:
	case VALUE_INT:
	case VALUE_DOUBLE:
	case VALUE_EMPTY:
		return bits_value(e->type, e->value);
	default:
		return text_value(e->type, tables_text(t, (uint32_t)e->value), arena);
	}
}

int light_attr(struct light_trace *l, uint32_t row, struct slice key, struct arena *arena,
	       struct value *ret_value)
{
	const struct shapes *shapes = tables_shapes(l->tables);
	const struct shape *shape = &shapes->rows[l->codes[row]];
	const struct shape_entry *fixed = NULL;
	struct light_attr *a = attr_of(l, key);
	bool open = shape->loose_n > 0; /* any key may stand there */
	const struct group_column *column;
	uint32_t at = NOWHERE;
	int r;

	if (!a)
		return -EAGAIN;
	*ret_value = value_nil();
	if (a->code == UINT32_MAX)
		return 0;
	for (uint32_t i = shape->entry_first; i < shape->entry_first + shape->entry_n; i++) {
		const struct shape_entry *e = &shapes->entries[i];

		if (e->key != a->code || e->class == ENTRY_LOOSE)
			continue;
		if (e->class == ENTRY_FIXED)
			fixed = e;
		else
			open = true;
	}
	if (open) {
		r = load(l, a);
		if (r < 0)
			return r;
		at = a->at[row];
	}
	if (at == TWICE || (at != NOWHERE && (fixed || a->empty)) || (fixed && open && a->empty))
		return -EAGAIN;
	if (at == NOWHERE) {
		if (fixed)
			*ret_value = fixed_value(l->tables, fixed, arena);
		return 0;
	}
	column = a->columns[at >> VALUE_SHIFT];
	*ret_value = column->values ? bits_value(column->type, column->values[at & VALUE_MASK])
				    : text_value(column->type, column_text(column, at & VALUE_MASK),
						 arena);
	return 0;
}
