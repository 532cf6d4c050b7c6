/* segment/segment_shapes.c - the shapes of a segment, read: skeletons and values become whole
 * entries. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/segment_loading_int.h"

void loading_columns(struct loading *l)
{
	struct segment_tables *t = l->t;
	uint32_t n = l->s->footer.columns;

	t->columns = loading_take(l, n, sizeof(*t->columns));
	t->column_n = n;
	if (!t->columns)
		return;
	GET(l, t->columns, n, level);
	GET(l, t->columns, n, key);
	block_get_u32(&l->r, l->narrow, n);
	for (uint32_t i = 0; !l->r.failed && i < n; i++) {
		uint32_t type = l->narrow[i] & ~COLUMN_BY_CODE;

		t->columns[i].type = (uint8_t)type;
		t->columns[i].by_code = l->narrow[i] != type;
		loading_fits(l, type <= VALUE_RAW_PAIR &&
					(!t->columns[i].by_code ||
					 (value_is_text(type) && !value_is_nested(type))));
	}
	for (uint32_t i = 0; !l->r.failed && i < n; i++) {
		const struct column_key *c = &t->columns[i];

		if (c->level >= LEVELS || (c->key >= l->s->footer.strings &&
					   (c->key < FIELD_NAME || c->key >= FIELD_LOOSE)))
			block_fail(&l->r, -EBADMSG);
	}
}

/* A skeleton on its way from the file. */
struct skeleton_row {
	uint32_t word[WORD_FIELDS];
	uint32_t field_n;
	size_t field_first;
};

struct skeletons {
	struct skeleton_row *rows;
	uint32_t *columns, *classes; /* of fields */
};

static void skeletons_done(struct skeletons *k)
{
	free(k->rows);
	free(k->columns);
	free(k->classes);
}

static bool form_ok(uint32_t form)
{
	return form < 1u << FORM_BITS && (form & ID2_MASK) != ID2_MASK &&
	       (form & END_MASK) != END_MASK &&
	       ((form & TIME_MASK) != TIME_LAST ||
		((form & END_MASK) == END_COLUMN && !form_is_point(form)));
}

static bool skeleton_ok(const struct loading *l, const struct skeleton_row *k)
{
	return (k->word[WORD_TYPE] & 255) < EVENT_TYPES &&
	       k->word[WORD_RESOURCE] < l->s->footer.resources &&
	       k->word[WORD_SCOPE] < l->s->footer.scopes && form_ok(k->word[WORD_FORM]) &&
	       k->field_n > 0;
}

static bool fields_ok(const struct loading *l, const struct skeletons *k,
		      const struct skeleton_row *row)
{
	uint8_t level = row_level((uint8_t)row->word[WORD_TYPE]);

	for (size_t i = row->field_first; i < row->field_first + row->field_n; i++) {
		const struct column_key *c = &l->t->columns[k->columns[i]];
		bool name = i == row->field_first;

		if (k->classes[i] > ENTRY_LOOSE)
			return false;
		/* The name comes first, and only there. */
		if (name != (k->classes[i] != ENTRY_LOOSE && c->key == FIELD_NAME))
			return false;
		if (k->classes[i] != ENTRY_LOOSE && c->level != level)
			return false;
		if (name && c->type != VALUE_STRING)
			return false;
	}
	return true;
}

static void get_skeletons(struct loading *l, struct skeletons *k)
{
	const struct segment_footer *f = &l->s->footer;
	size_t fields = 0;

	k->rows = calloc((size_t)f->skeletons + 1, sizeof(*k->rows));
	k->columns = calloc((size_t)f->fields + 1, sizeof(*k->columns));
	k->classes = calloc((size_t)f->fields + 1, sizeof(*k->classes));
	if (!k->rows || !k->columns || !k->classes) {
		block_fail(&l->r, -ENOMEM);
		return;
	}
	for (uint32_t w = 0; w < WORD_FIELDS; w++)
		GET(l, k->rows, f->skeletons, word[w]);
	GET(l, k->rows, f->skeletons, field_n);
	block_get_u32(&l->r, k->columns, f->fields);
	block_get_u32(&l->r, k->classes, f->fields);
	for (uint32_t i = 0; !l->r.failed && i < f->fields; i++)
		if (k->columns[i] >= f->columns && f->fields)
			block_fail(&l->r, -EBADMSG);
	for (uint32_t i = 0; !l->r.failed && i < f->skeletons; i++) {
		k->rows[i].field_first = fields;
		fields += k->rows[i].field_n;
		if (fields > f->fields || !skeleton_ok(l, &k->rows[i]) ||
		    !fields_ok(l, k, &k->rows[i]))
			block_fail(&l->r, -EBADMSG);
	}
	if (!l->r.failed && fields != f->fields)
		block_fail(&l->r, -EBADMSG);
}

/* Number of entries that all shapes have, and of their FIXED values by kind. */
struct entry_counts {
	size_t entries, codes, numbers;
};

static void count_entries(struct loading *l, const struct skeletons *k, const uint32_t *skeleton,
			  struct entry_counts *n)
{
	*n = (struct entry_counts){0};
	for (uint32_t i = 0; i < l->s->footer.shapes; i++) {
		const struct skeleton_row *row = &k->rows[skeleton[i]];

		for (size_t f = row->field_first; f < row->field_first + row->field_n; f++)
			if (k->classes[f] == ENTRY_FIXED) {
				if (value_is_text(l->t->columns[k->columns[f]].type))
					n->codes++;
				else
					n->numbers++;
			}
		n->entries += row->field_n;
		if (n->entries > TABLE_MOST) {
			block_fail(&l->r, -EBADMSG);
			return;
		}
	}
}

static void fill_shape(struct loading *l, struct shape *shape, const struct skeletons *k,
		       const struct skeleton_row *row, const uint32_t **codes,
		       const int64_t **numbers)
{
	struct segment_tables *t = l->t;
	uint32_t rows = shape->rows;

	*shape = (struct shape){.name = NAME_VARIES,
				.resource = row->word[WORD_RESOURCE],
				.scope = row->word[WORD_SCOPE],
				.flags = row->word[WORD_FLAGS],
				.kind = (int32_t)row->word[WORD_KIND],
				.status = (int32_t)row->word[WORD_STATUS],
				.type = (uint8_t)row->word[WORD_TYPE],
				.format = (uint8_t)(row->word[WORD_TYPE] >> 8),
				.bits = (uint16_t)(row->word[WORD_TYPE] >> 16),
				.entry_first = (uint32_t)t->shapes.entry_n,
				.entry_n = row->field_n,
				.rows = rows,
				.form = (uint16_t)row->word[WORD_FORM],
				.level = row_level((uint8_t)row->word[WORD_TYPE]),
				.has_parent = (row->word[WORD_FORM] & ID2_MASK) != ID2_ZERO,
				.has_time = (row->word[WORD_FORM] & TIME_MASK) != TIME_ZERO,
				.has_end = (row->word[WORD_FORM] & END_MASK) != END_ZERO ||
					   (row->word[WORD_FORM] & TIME_MASK) == TIME_ZERO};
	for (size_t f = row->field_first; f < row->field_first + row->field_n; f++) {
		const struct column_key *c = &t->columns[k->columns[f]];
		struct shape_entry *e = &t->entries[t->shapes.entry_n];

		t->entry_columns[t->shapes.entry_n++] = k->columns[f];
		e->class = (uint8_t)k->classes[f];
		e->key = e->class == ENTRY_LOOSE ? FIELD_LOOSE : c->key;
		e->type = e->class == ENTRY_LOOSE ? 0 : c->type;
		shape->loose_n += e->class == ENTRY_LOOSE;
		if (e->class != ENTRY_FIXED)
			continue;
		if (!value_is_text(e->type)) {
			e->value = (uint64_t) * (*numbers)++;
			if (e->type == VALUE_BOOL && e->value > 1)
				block_fail(&l->r, -EBADMSG);
			continue;
		}
		e->value = *(*codes)++;
		if (e->value >= l->s->footer.strings)
			block_fail(&l->r, -EBADMSG);
		if (e->key == FIELD_NAME)
			shape->name = (uint32_t)e->value;
	}
}

/* Which values of a row stand in columns is the same for all shapes of a skeleton. */
static void get_vars(struct loading *l, const struct skeletons *k)
{
	const struct segment_footer *f = &l->s->footer;
	struct segment_tables *t = l->t;
	uint32_t n = 0;

	t->var_columns = loading_take(l, f->fields, sizeof(*t->var_columns));
	t->var_first = loading_take(l, (size_t)f->skeletons + 1, sizeof(*t->var_first));
	t->var_filters = loading_take(l, f->skeletons, sizeof(*t->var_filters));
	if (!t->var_columns || !t->var_first || !t->var_filters) {
		block_fail(&l->r, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < f->skeletons; i++) {
		size_t first = k->rows[i].field_first;

		t->var_first[i] = n;
		for (size_t j = first; j < first + k->rows[i].field_n; j++) {
			uint32_t column = k->columns[j];

			if (k->classes[j] != ENTRY_VAR || t->columns[column].type == VALUE_EMPTY)
				continue;
			t->var_columns[n++] = column;
			t->var_filters[i] |= 1ULL << column % 64;
		}
	}
	t->var_first[f->skeletons] = n;
}

static void get_shape_rows(struct loading *l, const struct skeletons *k)
{
	struct segment_tables *t = l->t;
	uint32_t n = l->s->footer.shapes;
	uint32_t *skeleton = t->skeletons = loading_take(l, n, sizeof(*skeleton));
	_cleanup_(freep)
	uint32_t *codes = NULL;
	_cleanup_(freep)
	int64_t *numbers = NULL;
	const uint32_t *code;
	const int64_t *number;
	struct entry_counts counts = {0};

	t->skeleton_n = l->s->footer.skeletons;
	t->shape_rows = loading_take(l, n, sizeof(*t->shape_rows));
	if (!skeleton || !t->shape_rows) {
		block_fail(&l->r, -ENOMEM);
		return;
	}
	block_get_u32(&l->r, skeleton, n);
	for (uint32_t i = 0; !l->r.failed && i < n; i++)
		if (skeleton[i] >= l->s->footer.skeletons)
			block_fail(&l->r, -EBADMSG);
	GET(l, t->shape_rows, n, rows);
	if (!l->r.failed)
		count_entries(l, k, skeleton, &counts);
	if (l->r.failed)
		return;
	codes = calloc(counts.codes + 1, sizeof(*codes));
	numbers = calloc(counts.numbers + 1, sizeof(*numbers));
	t->entries = loading_take(l, counts.entries, sizeof(*t->entries));
	t->entry_columns = loading_take(l, counts.entries, sizeof(*t->entry_columns));
	t->forms = loading_take(l, n, sizeof(*t->forms));
	t->loose_n = loading_take(l, n, sizeof(*t->loose_n));
	t->briefs = loading_take(l, n, sizeof(*t->briefs));
	if (!codes || !numbers || !t->entries || !t->entry_columns || !t->forms || !t->loose_n ||
	    !t->briefs) {
		block_fail(&l->r, -ENOMEM);
		return;
	}
	block_get_u32(&l->r, codes, counts.codes);
	block_get_i64(&l->r, numbers, counts.numbers);
	code = codes;
	number = numbers;
	for (uint32_t i = 0; !l->r.failed && i < n; i++) {
		const struct shape *s = &t->shape_rows[i];

		fill_shape(l, &t->shape_rows[i], k, &k->rows[skeleton[i]], &code, &number);
		t->loose_n[i] = s->loose_n;
		t->briefs[i] =
			(struct shape_brief){shape_is_block(s) ? s->resource : UINT32_MAX, s->name};
		t->forms[i] =
			(uint16_t)(s->form | (row_failed(s->type, s->status) ? FORM_FAILED : 0) |
				   (s->name != NAME_VARIES    ? 0
				    : s->level == LEVEL_BLOCK ? FORM_NAMED | FORM_BLOCK_NAMED
							      : FORM_NAMED));
	}
	t->shapes.rows = t->shape_rows;
	t->shapes.n = n;
	t->shapes.entries = t->entries;
}

/* What stands behind the shapes; nothing in files that have none. */
static void get_models(struct loading *l)
{
	struct segment_tables *t = l->t;
	uint32_t offset[2];
	uint64_t n, size;
	struct slice block;
	int r;

	if (l->r.failed || l->r.rest.n == 0)
		return;
	n = block_get_number(&l->r);
	size = block_get_number(&l->r);
	if (!block_next(&l->r, &block))
		return;
	if (n > UINT32_MAX || size > MODELS_MOST_BYTES) {
		block_fail(&l->r, -EBADMSG);
		return;
	}
	r = column_decode_text(l->r.codec, block, 1, size, offset, &t->model_bytes);
	if (r == 0)
		r = column_models_read(slice_of(t->model_bytes.p, t->model_bytes.n), (uint32_t)n,
				       l->s->footer.shapes, &t->models);
	if (r < 0)
		block_fail(&l->r, r);
	t->bytes += t->model_bytes.capacity;
}

void loading_shapes(struct loading *l)
{
	_cleanup_(skeletons_done)
	struct skeletons k = {0};

	get_skeletons(l, &k);
	if (!l->r.failed)
		get_vars(l, &k);
	if (!l->r.failed)
		get_shape_rows(l, &k);
	get_models(l);
}
