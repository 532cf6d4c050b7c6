/* segment/group_stage.c - puts the values of a row where they belong: those that stand in its shape
 * one behind the other, the others into their columns. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group_writer.h"
#include "segment/packed_value.h"

/* The column, with room for one more value, or NULL. */
static struct value_column *column_room(struct group_writer *g, uint32_t column)
{
	struct value_column *c = &g->shapes.columns[column];

	if (c->n == 0) {
		if (!vec_reserve(&g->touched, &g->touched_capacity, g->touched_n + 1,
				 sizeof(*g->touched)))
			return NULL;
		g->touched[g->touched_n++] = column;
	}
	return c->n < c->capacity || value_column_grow(c) ? c : NULL;
}

int group_stage(struct group_writer *g, struct remap *r, uint32_t column, const struct attr *a)
{
	struct value_column *c;

	if (a->type == VALUE_EMPTY)
		return 0;
	c = column_room(g, column);
	if (!c)
		return -ENOMEM;
	if (value_is_nested(a->type)) {
		buffer_clear(&g->packed);
		packed_value_put(r->batch, a, &g->packed);
		c->texts[c->n] = arena_dup(&g->arena, buffer_get(&g->packed));
		if (g->packed.failed || !c->texts[c->n].p)
			return -ENOMEM;
	} else if (c->by_code)
		c->codes[c->n] = dictionary_string(&g->dictionary, r, a->string);
	else if (value_is_text(a->type))
		c->texts[c->n] = batch_text(r->batch, a->string);
	else
		c->numbers[c->n] = attr_bits(r->batch, a);
	c->n++;
	c->code_room = c->by_code ? (uint32_t)MIN(c->capacity, (size_t)UINT32_MAX) : 0;
	return 0;
}

static uint64_t fixed_nested(struct group_writer *g, struct remap *r, const struct attr *a)
{
	buffer_clear(&g->packed);
	packed_value_put(r->batch, a, &g->packed);
	if (g->packed.failed)
		g->dictionary.failed = -ENOMEM;
	return batch_string(g->dictionary.tables, buffer_get(&g->packed));
}

/* Everything that is not the rule. */
static __attribute__((noinline)) int stage_other(struct group_writer *g,
						 const struct group_row *row, const struct field *f,
						 const struct attr *a, uint64_t *to)
{
	struct remap *r = &g->dictionary.remaps[row->remap];

	switch (f->step) {
	case STEP_FIXED_TEXT:
		*to = dictionary_string(&g->dictionary, r, a->string);
		return 0;
	case STEP_FIXED_BOOL:
		*to = a->word;
		return 0;
	case STEP_FIXED_EMPTY:
		*to = 0;
		return 0;
	case STEP_FIXED_NESTED:
		*to = fixed_nested(g, r, a);
		return 0;
	default:
		return group_stage(g, r, f->column, a);
	}
}

/* Puts n fields where they belong: FIXED values to `to`; returns the place behind the last, or NULL
 * when out of memory.  Fields do not move: new columns may be added, but no skeletons. */
static uint64_t *stage_fields(struct group_writer *g, const struct group_row *row,
			      const struct field *f, const struct attr *a, uint32_t n, uint64_t *to)
{
	const struct remap *r = &g->dictionary.remaps[row->remap];
	const struct batch *b = r->batch;
	const uint32_t *strings = r->strings;

	for (const struct field *end = f + n; f < end; f++, a++) {
		struct value_column *c;
		uint32_t code;

		switch (f->step) {
		case STEP_FIXED_TEXT:
			code = strings[a->string];
			*to = code;
			if (!code && a->string && stage_other(g, row, f, a, to) < 0)
				return NULL;
			to++;
			break;
		case STEP_FIXED_NUMBER:
			*to++ = attr_bits(b, a);
			break;
		case STEP_VAR_TEXT:
			c = &g->shapes.columns[f->column];
			if (c->n > 0 && c->n < c->capacity && !c->by_code)
				c->texts[c->n++] = batch_text(b, a->string);
			else if (stage_other(g, row, f, a, to) < 0)
				return NULL;
			break;
		case STEP_VAR_NUMBER:
			c = &g->shapes.columns[f->column];
			if (c->n > 0 && c->n < c->capacity)
				c->numbers[c->n++] = attr_bits(b, a);
			else if (stage_other(g, row, f, a, to) < 0)
				return NULL;
			break;
		default:
			if (stage_other(g, row, f, a, to) < 0)
				return NULL;
			to += f->class == ENTRY_FIXED;
		}
	}
	return to;
}

/* The same for a number that is no attribute's. */
static uint64_t *stage_number(struct group_writer *g, const struct field *f, uint64_t number,
			      uint64_t *to)
{
	struct value_column *c;

	if (f->class == ENTRY_FIXED) {
		*to = number;
		return to + 1;
	}
	c = column_room(g, f->column);
	if (!c)
		return NULL;
	c->numbers[c->n++] = number;
	return to;
}

static uint64_t *stage_prefix(struct group_writer *g, const struct group_row *row,
			      const struct field *f, const struct row_prefix *p, uint64_t *to)
{
	for (uint32_t i = 0; i < p->n && to; i++)
		to = row_prefix_is_number(p, i) ? stage_number(g, &f[i], p->numbers[i], to)
						: stage_fields(g, row, &f[i], &p->attrs[i], 1, to);
	return to;
}

int group_row_stage_loose(struct group_writer *g, const struct group_row *row)
{
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct event *e = row->e;

	return group_stage_loose(g, r, row_level(e->type), r->batch->attrs + e->attrs.first,
				 e->attrs.count);
}

bool group_row_stage(struct group_writer *g, uint32_t number, size_t first, struct staged *out)
{
	const struct group_row *row = &g->rows[number];
	const struct skeleton *k = &g->shapes.skeletons[row->skeleton];
	const struct batch *b = g->dictionary.remaps[row->remap].batch;
	const struct field *f = g->shapes.fields + k->field_first;
	const struct event *e = row->e;
	uint32_t prefix_n = 1;
	uint64_t *to;

	/* One more: what is no FIXED value is written behind them and forgotten. */
	if (first + k->field_n >= g->value_capacity &&
	    !vec_reserve(&g->values, &g->value_capacity, first + k->field_n + 1,
			 sizeof(*g->values)))
		return false;
	if (e->extra) {
		struct row_prefix prefix;

		row_prefix(b, e, &prefix);
		prefix_n = prefix.n;
		to = stage_prefix(g, row, f, &prefix, g->values + first);
	} else {
		struct attr name = {.type = VALUE_STRING, .string = e->name};

		to = stage_fields(g, row, f, &name, 1, g->values + first);
	}
	/* Either all attributes are LOOSE or none is. */
	if (to && k->loose_n) {
		if (group_row_stage_loose(g, row) < 0)
			return false;
	} else if (to)
		to = stage_fields(g, row, f + prefix_n, b->attrs + e->attrs.first, e->attrs.count,
				  to);
	if (!to)
		return false;
	*out = (struct staged){first, number,
			       shape_hash(&g->shapes, row->skeleton, g->values + first)};
	shape_fetch(&g->shapes, out->hash);
	return true;
}
