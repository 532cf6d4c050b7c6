/* segment/segment_tables.c - the tables behind the groups, read and held to their limits.
 *
 * Nothing here trusts a number of the file: counts are compared with the bytes that must hold them
 * or with named limits before memory is taken, codes with the tables they point into. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "sampling/threshold.h"
#include "segment/segment_loading_int.h"

/* --- strings --- */

static size_t slot_of(const struct segment_tables *t, struct slice text)
{
	return wide_hash_bytes(text.p, text.n, t->batch->seed) & (t->slot_n - 1);
}

static void hash_strings(struct loading *l)
{
	struct segment_tables *t = l->t;

	for (t->slot_n = 64; t->slot_n < 2 * t->batch->strings; t->slot_n *= 2)
		;
	t->slots = loading_take(l, t->slot_n, sizeof(*t->slots));
	for (uint32_t i = 1; t->slots && i < t->batch->strings; i++) {
		size_t at = slot_of(t, batch_text(t->batch, i));

		while (t->slots[at])
			at = (at + 1) & (t->slot_n - 1);
		t->slots[at] = i;
	}
}

uint32_t tables_find(const struct segment_tables *t, struct slice text)
{
	if (text.n == 0)
		return 0;
	for (size_t at = slot_of(t, text); t->slots[at]; at = (at + 1) & (t->slot_n - 1))
		if (slice_eq(batch_text(t->batch, t->slots[at]), text))
			return t->slots[at];
	return UINT32_MAX;
}

static void get_strings(struct loading *l)
{
	struct batch *b = l->t->batch;
	uint32_t n = l->s->footer.strings;
	struct buffer text = {0};
	struct slice block;
	int r;

	free(b->offset);
	b->offset = loading_take(l, n, sizeof(*b->offset));
	if (!b->offset || !block_next(&l->r, &block))
		return;
	r = column_decode_text(l->r.codec, block, n, SEGMENT_MOST_SECTION, b->offset, &text);
	if (r < 0) {
		block_fail(&l->r, r);
		buffer_done(&text);
		return;
	}
	free(b->text);
	b->text = text.p;
	b->text_n = b->text_capacity = text.n;
	b->strings = n;
	b->offset_capacity = n + 1;
	l->t->bytes += text.n;
	if (n == 0 || b->offset[1] != 0)
		block_fail(&l->r, -EBADMSG);
	else
		hash_strings(l);
}

/* --- sources, resources, scopes --- */

static struct attr *get_attrs(struct loading *l, size_t n)
{
	struct attr *attrs = loading_take(l, n, sizeof(*attrs));

	if (!attrs)
		return NULL;
	GET(l, attrs, n, key);
	GET(l, attrs, n, type);
	GET_BITS(l, attrs, n, );
	return attrs;
}

static void get_resources(struct loading *l)
{
	size_t n = l->s->footer.resources;
	struct resource *rows = loading_take(l, n, sizeof(*rows));

	free(l->t->batch->resources);
	l->t->batch->resources = rows;
	l->t->resource_source = loading_take(l, n, sizeof(*l->t->resource_source));
	if (!rows || !l->t->resource_source)
		return;
	block_get_u32(&l->r, l->t->resource_source, n);
	GET(l, rows, n, dropped_attributes);
	GET(l, rows, n, schema_url);
	GET(l, rows, n, unknown);
	GET(l, rows, n, unknown_group);
	GET(l, rows, n, attrs.first);
	GET(l, rows, n, attrs.count);
	GET(l, rows, n, entities.type);
	GET_BITS(l, rows, n, .entities);
	l->t->batch->resource_n = l->t->batch->resource_capacity = n;
}

static void get_scopes(struct loading *l)
{
	size_t n = l->s->footer.scopes;
	struct scope *rows = loading_take(l, n, sizeof(*rows));

	free(l->t->batch->scopes);
	l->t->batch->scopes = rows;
	if (!rows)
		return;
	GET(l, rows, n, name);
	GET(l, rows, n, version);
	GET(l, rows, n, schema_url);
	GET(l, rows, n, dropped_attributes);
	GET(l, rows, n, unknown);
	GET(l, rows, n, unknown_group);
	GET(l, rows, n, attrs.first);
	GET(l, rows, n, attrs.count);
	l->t->batch->scope_n = l->t->batch->scope_capacity = n;
}

/* Nested values come behind what holds them: no value is its own child. */
static bool nested_ok(const struct batch *b)
{
	for (size_t i = 0; i < b->nested_n; i++)
		if (value_is_nested(b->nested[i].type) &&
		    attr_children(b, &b->nested[i]).count > 0 &&
		    attr_children(b, &b->nested[i]).first <= i)
			return false;
	return true;
}

static bool bools_ok(const struct attr *attrs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (attrs[i].type == VALUE_BOOL && attrs[i].word > 1)
			return false;
	return true;
}

static void get_sources(struct loading *l)
{
	struct segment_tables *t = l->t;
	const struct segment_footer *f = &l->s->footer;

	t->sources = loading_take(l, f->sources, sizeof(*t->sources));
	if (!t->sources)
		return;
	GET(l, t->sources, f->sources, owner);
	GET(l, t->sources, f->sources, sender);
	GET_WIDE(l, t->sources, f->sources, kept_threshold);
	get_resources(l);
	get_scopes(l);
	free(t->batch->attrs);
	t->batch->attrs = get_attrs(l, f->attrs);
	t->batch->attr_n = t->batch->attr_capacity = f->attrs;
	t->batch->nested = get_attrs(l, f->nested);
	t->batch->nested_n = t->batch->nested_capacity = f->nested;
	if (t->batch->failed)
		block_fail(&l->r, t->batch->failed);
	t->bytes += t->batch->wide_capacity * sizeof(*t->batch->wides);
	if (l->r.failed)
		return;
	for (uint32_t i = 0; i < f->sources; i++)
		if (t->sources[i].owner >= f->strings || t->sources[i].sender >= f->strings ||
		    t->sources[i].kept_threshold >= THRESHOLD_NEVER)
			block_fail(&l->r, -EBADMSG);
	for (uint32_t i = 0; i < f->resources; i++)
		if (t->resource_source[i] >= f->sources)
			block_fail(&l->r, -EBADMSG);
	if (!batch_check(t->batch) || !nested_ok(t->batch) ||
	    !bools_ok(t->batch->attrs, f->attrs) || !bools_ok(t->batch->nested, f->nested))
		block_fail(&l->r, -EBADMSG);
}

/* --- zones --- */

static bool zone_ok(const struct loading *l, uint32_t i, uint64_t at)
{
	const struct group_zone *z = &l->t->zones[i];
	const struct zone_place *p = &l->t->places[i];

	return z->rows > 0 && z->rows <= GROUP_MOST_ROWS && z->pieces > 0 && z->pieces <= z->rows &&
	       z->bytes <= GROUP_MOST_BYTES &&
	       z->bytes <= l->s->footer.sections[SECTION_INDEX].offset - at &&
	       p->hot_bytes <= z->bytes && p->directory_bytes <= p->hot_bytes &&
	       p->first_rows <= z->rows && p->last_rows <= z->rows && z->shape_n <= z->rows &&
	       z->shape_n > 0 && z->continues <= (i > 0) &&
	       z->continues == (i > 0 && z[-1].continued) &&
	       (!z->continued || i + 1 < l->t->zone_n);
}

static void get_zone_shapes(struct loading *l)
{
	struct segment_tables *t = l->t;
	size_t n = 0, at = 0;

	for (uint32_t i = 0; i < t->zone_n; i++)
		n += t->zones[i].shape_n;
	t->zone_shapes = n <= TABLE_MOST ? loading_take(l, n, sizeof(*t->zone_shapes)) : NULL;
	if (!t->zone_shapes) {
		block_fail(&l->r, -EBADMSG);
		return;
	}
	block_get_u32(&l->r, t->zone_shapes, n);
	for (uint32_t i = 0; !l->r.failed && i < t->zone_n; i++) {
		uint64_t code = 0;

		t->zones[i].shapes = t->zone_shapes + at;
		for (uint32_t j = 0; j < t->zones[i].shape_n; j++, at++) {
			code += (uint64_t)t->zone_shapes[at] + (j > 0);
			if (code >= t->shapes.n) {
				block_fail(&l->r, -EBADMSG);
				return;
			}
			t->zone_shapes[at] = (uint32_t)code;
		}
	}
}

static void get_zone_columns(struct loading *l, uint32_t n)
{
	struct segment_tables *t = l->t;

	GET_WIDE(l, t->zones, n, bytes);
	GET_WIDE(l, t->places, n, hot_bytes);
	GET_WIDE(l, t->places, n, directory_checksum);
	GET(l, t->places, n, directory_bytes);
	GET(l, t->zones, n, rows);
	GET(l, t->zones, n, pieces);
	GET(l, t->places, n, first_rows);
	GET(l, t->places, n, last_rows);
	GET_WIDE(l, t->zones, n, start_min_ns);
	GET_WIDE(l, t->zones, n, start_max_ns);
	GET_WIDE(l, t->zones, n, duration_max_ns);
	GET(l, t->zones, n, errors);
	GET(l, t->zones, n, continues);
	GET(l, t->zones, n, continued);
	GET(l, t->zones, n, shape_n);
}

static void get_zones(struct loading *l)
{
	struct segment_tables *t = l->t;
	uint32_t n = l->s->footer.groups;
	uint64_t at = SEGMENT_HEADER_BYTES, rows = 0, pieces = 0;

	t->zones = loading_take(l, n, sizeof(*t->zones));
	t->places = loading_take(l, n, sizeof(*t->places));
	t->zone_n = n;
	if (!t->zones || !t->places)
		return;
	get_zone_columns(l, n);
	for (uint32_t i = 0; !l->r.failed && i < n; i++) {
		t->zones[i].offset = at;
		if (!zone_ok(l, i, at))
			block_fail(&l->r, -EBADMSG);
		at += t->zones[i].bytes;
		rows += t->zones[i].rows;
		pieces += t->zones[i].pieces - t->zones[i].continues;
	}
	if (!l->r.failed && (rows != l->s->footer.rows || pieces != l->s->footer.pieces))
		block_fail(&l->r, -EBADMSG);
	if (!l->r.failed)
		get_zone_shapes(l);
}

/* --- all --- */

struct segment_tables *segment_tables_free(struct segment_tables *t)
{
	if (!t)
		return NULL;
	batch_unref(t->batch);
	free(t->slots);
	free(t->sources);
	free(t->resource_source);
	free(t->columns);
	free(t->shape_rows);
	free(t->skeletons);
	free(t->entries);
	free(t->entry_columns);
	free(t->var_columns);
	free(t->var_first);
	free(t->forms);
	free(t->briefs);
	free(t->var_filters);
	free(t->loose_n);
	free(t->zones);
	free(t->places);
	free(t->zone_shapes);
	column_models_done(&t->models);
	buffer_done(&t->model_bytes);
	free(t);
	return NULL;
}

static int load_section(struct loading *l, enum segment_section section)
{
	static void (*const get[SECTIONS])(struct loading *) = {
		[SECTION_STRINGS] = get_strings,     [SECTION_SOURCES] = get_sources,
		[SECTION_COLUMNS] = loading_columns, [SECTION_SHAPES] = loading_shapes,
		[SECTION_ZONES] = get_zones,
	};
	static const char *const names[SECTIONS] = {"index",   "split list", "zone maps", "strings",
						    "sources", "columns",    "shapes"};
	_cleanup_(freep)
	char *bytes = NULL;
	int r = section_read(l->s, section, &bytes, l->error);

	if (r < 0)
		return r;
	l->r.rest = slice_of(bytes, l->s->footer.sections[section].bytes);
	get[section](l);
	if (!l->r.failed && l->r.rest.n)
		block_fail(&l->r, -EBADMSG);
	if (l->r.failed == -EBADMSG)
		error_set(l->error, -EBADMSG, "%s: the %s make no sense", l->s->name,
			  names[section]);
	return l->r.failed;
}

int segment_tables_read(struct segment *s, struct segment_tables **ret_tables, struct error *error)
{
	static const enum segment_section order[] = {
		SECTION_STRINGS, SECTION_SOURCES, SECTION_COLUMNS, SECTION_SHAPES, SECTION_ZONES};
	const struct segment_footer *f = &s->footer;
	uint32_t counts[] = {f->groups, f->strings, f->sources,   f->resources, f->scopes, f->attrs,
			     f->nested, f->columns, f->skeletons, f->fields,    f->shapes};
	struct loading l = {.s = s, .error = error, .t = calloc(1, sizeof(struct segment_tables))};
	uint32_t most = 0;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		most = MAX(most, counts[i]);
	l.r.codec = column_codec_new();
	l.narrow = malloc(((size_t)most + 1) * sizeof(*l.narrow));
	l.wide = malloc(((size_t)most + 1) * sizeof(*l.wide));
	if (l.t)
		l.t->batch = batch_new(0);
	if (!l.r.codec || !l.t || !l.t->batch || !l.narrow || !l.wide)
		r = -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(order) && r == 0; i++)
		r = load_section(&l, order[i]);
	column_codec_free(l.r.codec);
	free(l.narrow);
	free(l.wide);
	if (r < 0) {
		segment_tables_free(l.t);
		return r;
	}
	batch_seal(l.t->batch);
	l.t->bytes += sizeof(*l.t);
	*ret_tables = l.t;
	return 0;
}
