/* segment/segment_tables_write.c - the tables behind the groups, written. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/block_io.h"
#include "segment/segment_writer_int.h"

/* Writes one number of each row of an array of structs. */
struct picker {
	struct block_writer *w;
	uint32_t *narrow;
	uint64_t *wide;
	size_t n;
};

static int picker_init(struct picker *p, struct block_writer *w, size_t n)
{
	*p = (struct picker){.w = w, .n = n};
	p->narrow = malloc((n + 1) * sizeof(*p->narrow));
	p->wide = malloc((n + 1) * sizeof(*p->wide));
	return p->narrow && p->wide ? 0 : -ENOMEM;
}

static void picker_done(struct picker *p)
{
	free(p->narrow);
	free(p->wide);
}

/* For the body of the functions below. */
#define PICK(p, array, field)                                                                      \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < (p)->n; i_++)                                             \
			(p)->narrow[i_] = (uint32_t)(array)[i_].field;                             \
		block_put_u32((p)->w, (p)->narrow, (p)->n);                                        \
	} while (0)
#define PICK_WIDE(p, array, field)                                                                 \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < (p)->n; i_++)                                             \
			(p)->wide[i_] = (uint64_t)(array)[i_].field;                               \
		block_put_u64((p)->w, (p)->wide, (p)->n);                                          \
	} while (0)

static int put_sources(struct block_writer *w, const struct dictionary *d)
{
	_cleanup_(picker_done)
	struct picker p;
	int r = picker_init(&p, w, d->source_n);

	if (r < 0)
		return r;
	PICK(&p, d->sources, owner);
	PICK(&p, d->sources, sender);
	PICK_WIDE(&p, d->sources, kept_threshold);
	return 0;
}

static int put_resources(struct block_writer *w, const struct dictionary *d)
{
	const struct resource *rows = d->tables->resources;
	_cleanup_(picker_done)
	struct picker p;
	int r = picker_init(&p, w, d->tables->resource_n);

	if (r < 0)
		return r;
	block_put_u32(w, d->resource_source, p.n);
	PICK(&p, rows, dropped_attributes);
	PICK(&p, rows, schema_url);
	PICK(&p, rows, unknown);
	PICK(&p, rows, unknown_group);
	PICK(&p, rows, attrs.first);
	PICK(&p, rows, attrs.count);
	PICK(&p, rows, entities.type);
	for (size_t i = 0; i < p.n; i++)
		p.wide[i] = attr_bits(d->tables, &rows[i].entities);
	block_put_u64(w, p.wide, p.n);
	return 0;
}

static int put_scopes(struct block_writer *w, const struct batch *b)
{
	_cleanup_(picker_done)
	struct picker p;
	int r = picker_init(&p, w, b->scope_n);

	if (r < 0)
		return r;
	PICK(&p, b->scopes, name);
	PICK(&p, b->scopes, version);
	PICK(&p, b->scopes, schema_url);
	PICK(&p, b->scopes, dropped_attributes);
	PICK(&p, b->scopes, unknown);
	PICK(&p, b->scopes, unknown_group);
	PICK(&p, b->scopes, attrs.first);
	PICK(&p, b->scopes, attrs.count);
	return 0;
}

static int put_attrs(struct block_writer *w, const struct batch *b, const struct attr *attrs,
		     size_t n)
{
	_cleanup_(picker_done)
	struct picker p;
	int r = picker_init(&p, w, n);

	if (r < 0)
		return r;
	PICK(&p, attrs, key);
	PICK(&p, attrs, type);
	for (size_t i = 0; i < p.n; i++)
		p.wide[i] = attr_bits(b, &attrs[i]);
	block_put_u64(w, p.wide, p.n);
	return 0;
}

static int put_columns(struct block_writer *w, const struct shape_table *t)
{
	_cleanup_(picker_done)
	struct picker p;
	int r = picker_init(&p, w, t->column_n);

	if (r < 0)
		return r;
	PICK(&p, t->columns, level);
	PICK(&p, t->columns, key);
	for (size_t i = 0; i < p.n; i++) {
		const struct value_column *c = &t->columns[i];
		bool by_code = column_is_text(c) && !value_is_nested(c->type) && !c->spelled;

		p.narrow[i] = c->type | (by_code ? COLUMN_BY_CODE : 0);
	}
	block_put_u32(w, p.narrow, p.n);
	return 0;
}

/* Skeletons that have shapes, one array for each word; then their fields. */
static int put_skeletons(struct block_writer *w, struct shape_table *t,
			 struct segment_footer *footer)
{
	_cleanup_(freep)
	uint32_t *v = malloc((t->skeleton_n + t->field_n + 1) * sizeof(*v));
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (uint32_t word = 0; word < WORD_FIELDS; word++) {
		n = 0;
		for (size_t i = 0; i < t->skeleton_n; i++)
			if (t->skeletons[i].shapes)
				v[n++] = skeleton_words(t, &t->skeletons[i])[word];
		block_put_u32(w, v, n);
	}
	n = 0;
	for (size_t i = 0; i < t->skeleton_n; i++)
		if (t->skeletons[i].shapes) {
			t->skeletons[i].number = (uint32_t)n;
			v[n++] = t->skeletons[i].field_n;
		}
	block_put_u32(w, v, n);
	footer->skeletons = (uint32_t)n;
	for (int part = 0; part < 2; part++) {
		n = 0;
		for (size_t i = 0; i < t->skeleton_n; i++) {
			const struct skeleton *k = &t->skeletons[i];

			for (uint32_t f = 0; f < k->field_n && k->shapes; f++)
				v[n++] = part ? t->fields[k->field_first + f].class
					      : t->fields[k->field_first + f].column;
		}
		block_put_u32(w, v, n);
	}
	footer->fields = (uint32_t)n;
	return 0;
}

/* The values of FIXED fields: texts by code, then the numbers. */
static int put_shape_values(struct block_writer *w, const struct shape_table *t)
{
	_cleanup_(freep)
	uint32_t *codes = malloc((t->value_n + 1) * sizeof(*codes));
	_cleanup_(freep)
	int64_t *numbers = malloc((t->value_n + 1) * sizeof(*numbers));
	size_t code_n = 0, number_n = 0;

	if (!codes || !numbers)
		return -ENOMEM;
	for (size_t i = 0; i < t->shape_n; i++) {
		const struct skeleton *k = &t->skeletons[t->shapes[i].skeleton];
		size_t at = t->shapes[i].value_first;

		for (uint32_t f = 0; f < k->field_n; f++) {
			const struct field *field = &t->fields[k->field_first + f];

			if (field->class != ENTRY_FIXED)
				continue;
			if (column_is_text(&t->columns[field->column]))
				codes[code_n++] = (uint32_t)t->values[at];
			else
				numbers[number_n++] = (int64_t)t->values[at];
			at++;
		}
	}
	block_put_u32(w, codes, code_n);
	block_put_i64(w, numbers, number_n);
	return 0;
}

static int put_shapes(struct block_writer *w, struct shape_table *t, struct segment_footer *footer)
{
	_cleanup_(picker_done)
	struct picker p;
	int r = picker_init(&p, w, t->shape_n);

	if (r == 0)
		r = put_skeletons(w, t, footer);
	if (r < 0)
		return r;
	for (size_t i = 0; i < t->shape_n; i++)
		p.narrow[i] = t->skeletons[t->shapes[i].skeleton].number;
	block_put_u32(w, p.narrow, p.n);
	PICK(&p, t->shapes, rows);
	return put_shape_values(w, t);
}

/* Where there are none, there is nothing. */
static void put_models(struct block_writer *w, const struct column_models_out *m)
{
	const uint32_t offset[2] = {0, (uint32_t)m->bytes.n};

	if (m->n == 0)
		return;
	block_put_number(w, m->n);
	block_put_number(w, m->bytes.n);
	block_put_text(w, m->bytes.p, offset, 1);
}

static int put_zones(struct block_writer *w, const struct group_writer *g)
{
	_cleanup_(picker_done)
	struct picker p;
	int r = picker_init(&p, w, g->zone_n);

	if (r < 0)
		return r;
	PICK_WIDE(&p, g->zones, bytes);
	PICK_WIDE(&p, g->zones, hot_bytes);
	PICK_WIDE(&p, g->zones, directory_checksum);
	PICK(&p, g->zones, directory_bytes);
	PICK(&p, g->zones, rows);
	PICK(&p, g->zones, pieces);
	PICK(&p, g->zones, first_rows);
	PICK(&p, g->zones, last_rows);
	PICK_WIDE(&p, g->zones, start_min_ns);
	PICK_WIDE(&p, g->zones, start_max_ns);
	PICK_WIDE(&p, g->zones, duration_max_ns);
	PICK(&p, g->zones, errors);
	PICK(&p, g->zones, continues);
	PICK(&p, g->zones, continued);
	PICK(&p, g->zones, shape_n);
	{
		_cleanup_(freep)
		uint32_t *step = malloc((g->zone_shape_n + 1) * sizeof(*step));

		if (!step)
			return -ENOMEM;
		for (size_t z = 0; z < g->zone_n; z++)
			for (uint32_t i = 0; i < g->zones[z].shape_n; i++) {
				size_t at = g->zones[z].shape_first + i;

				step[at] = i ? g->zone_shapes[at] - g->zone_shapes[at - 1] - 1
					     : g->zone_shapes[at];
			}
		block_put_u32(w, step, g->zone_shape_n);
	}
	return 0;
}

static int put_section(struct segment_writer *s, enum segment_section section,
		       struct block_writer *w)
{
	struct group_writer *g = &s->group;
	const struct batch *b = g->dictionary.tables;
	int r = 0;

	switch (section) {
	case SECTION_INDEX:
		return trace_index_encode(g->codec, s->items, s->item_n, (uint32_t)g->zone_n,
					  w->out);
	case SECTION_SPLIT:
		return s->split_n ? column_encode_fixed(g->codec, s->split, sizeof(*s->split),
							s->split_n, w->out)
				  : 0;
	case SECTION_ZONES:
		return put_zones(w, g);
	case SECTION_STRINGS:
		block_put_text(w, b->text, b->offset, b->strings);
		return 0;
	case SECTION_SOURCES:
		r = put_sources(w, &g->dictionary);
		if (r == 0)
			r = put_resources(w, &g->dictionary);
		if (r == 0)
			r = put_scopes(w, b);
		if (r == 0)
			r = put_attrs(w, b, b->attrs, b->attr_n);
		return r == 0 ? put_attrs(w, b, b->nested, b->nested_n) : r;
	case SECTION_COLUMNS:
		return put_columns(w, &g->shapes);
	default:
		r = put_shapes(w, &g->shapes, &s->footer);
		put_models(w, &g->models);
		return r;
	}
}

int segment_tables_put(struct segment_writer *s, struct buffer *out)
{
	for (int i = 0; i < SECTIONS; i++) {
		struct block_writer w = {.codec = s->group.codec, .out = out};
		size_t from = out->n;
		int r = put_section(s, (enum segment_section)i, &w);

		if (r < 0 || w.failed || out->failed)
			return r < 0 ? r : w.failed ? w.failed : -ENOMEM;
		s->footer.sections[i] =
			(struct section_place){s->at + from, out->n - from,
					       segment_checksum(out->p + from, out->n - from)};
	}
	return 0;
}
