/* segment/shape_settle.c - which fields of a skeleton stand in its shapes, decided on its rows.
 *
 * A field whose values keep being new does not belong into a dictionary.  What is counted is how
 * many values are new in the second half of the rows that were not there in the first: ports and
 * sizes go on, products and routes have ended by then.  Then the same for the fields together: as
 * long as whole combinations keep being new, the field with the most values goes. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group_writer.h"

#define NONE         UINT32_MAX
#define SAMPLE_MOST  1024 /* rows looked at */
#define SAMPLE_LEAST 8
#define FIELDS_MOST  256 /* skeletons with more are not looked into: FIXED */
#define FRESH_LEAST  2
#define FRESH_SHARE  16 /* one new value in so many rows is too many */
#define TABLE        (2 * SAMPLE_MOST)
/* A settled skeleton that makes so many shapes in a group is looked at again. */
#define AGAIN_LEAST 16
#define AGAIN_SHARE 8

struct settling {
	struct group_writer *g;
	struct skeleton *k;
	const struct radix_item *rows; /* values are row numbers */
	uint32_t n;                    /* rows sampled */
	uint64_t *idents;              /* by field, then row */
	uint64_t *together;            /* n */
	uint64_t *table;               /* TABLE */
	uint32_t *distinct;            /* by field */
	uint8_t *classes;
};

static uint64_t number_ident(uint64_t number)
{
	return hash_u64(number, 1) | 1;
}

/* Something equal for equal values, and nearly always different for different ones. */
static uint64_t ident(const struct group_writer *g, const struct batch *b, const struct attr *a)
{
	struct slice text;

	if (value_is_nested(a->type))
		return (uint64_t)(uintptr_t)b ^ attr_bits(b, a); /* within a batch: good enough */
	if (!value_is_text(a->type))
		return number_ident(attr_bits(b, a));
	text = batch_text(b, a->string);
	return hash_bytes(text.p, text.n, g->shapes.seed) | 1;
}

/* Counts distinct numbers; *ret_fresh are those that appear first in the second half. */
static uint32_t count(struct settling *s, const uint64_t *v, uint32_t *ret_fresh)
{
	uint32_t distinct = 0, fresh = 0, slots = 2 * SAMPLE_LEAST;

	while (slots < 2 * s->n)
		slots *= 2;
	memset(s->table, 0, slots * sizeof(*s->table));
	for (uint32_t i = 0; i < s->n; i++) {
		size_t at = (v[i] >> 20) & (slots - 1);

		while (s->table[at] != 0 && s->table[at] != v[i])
			at = (at + 1) & (slots - 1);
		if (s->table[at] == v[i])
			continue;
		s->table[at] = v[i];
		distinct++;
		fresh += i >= s->n / 2;
	}
	*ret_fresh = fresh;
	return distinct;
}

static bool too_many(const struct settling *s, uint32_t fresh)
{
	return fresh >= FRESH_LEAST && fresh * FRESH_SHARE > s->n / 2;
}

static void fill_idents(struct settling *s)
{
	const struct field *fields = s->g->shapes.fields + s->k->field_first;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct group_row *row = &s->g->rows[s->rows[i].value];
		const struct batch *b = s->g->dictionary.remaps[row->remap].batch;
		struct row_prefix prefix;

		row_prefix(b, row->e, &prefix);
		for (uint32_t f = 0; f < s->k->field_n; f++)
			if (fields[f].class != ENTRY_LOOSE)
				s->idents[(size_t)f * s->n + i] =
					f < prefix.n && row_prefix_is_number(&prefix, f)
						? number_ident(prefix.numbers[f])
						: ident(s->g, b, row_field(b, row->e, &prefix, f));
	}
}

/* The FIXED field with the most values, if it has more than one. */
static uint32_t worst(const struct settling *s)
{
	uint32_t at = NONE, most = 1;

	for (uint32_t f = 0; f < s->k->field_n; f++)
		if (s->classes[f] == ENTRY_FIXED && s->distinct[f] > most) {
			at = f;
			most = s->distinct[f];
		}
	return at;
}

static void choose(struct settling *s)
{
	const uint32_t *words = skeleton_words(&s->g->shapes, s->k);
	uint32_t fresh;

	for (uint32_t f = 0; f < s->k->field_n; f++) {
		uint8_t type = words[WORD_FIELDS + f] & 15;

		s->classes[f] = s->g->shapes.fields[s->k->field_first + f].class;
		if (s->classes[f] == ENTRY_LOOSE)
			continue;
		s->distinct[f] = count(s, s->idents + (size_t)f * s->n, &fresh);
		s->classes[f] = too_many(s, fresh) && type != VALUE_EMPTY ? ENTRY_VAR : ENTRY_FIXED;
	}
	for (uint32_t round = 0; round < s->k->field_n; round++) {
		uint32_t at;

		memset(s->together, 0, s->n * sizeof(*s->together));
		for (uint32_t f = 0; f < s->k->field_n; f++)
			for (uint32_t i = 0; i < s->n && s->classes[f] == ENTRY_FIXED; i++)
				s->together[i] =
					hash_u64(s->together[i] ^ s->idents[(size_t)f * s->n + i],
						 f) |
					1;
		count(s, s->together, &fresh);
		at = too_many(s, fresh) ? worst(s) : NONE;
		if (at == NONE)
			return;
		s->classes[at] = ENTRY_VAR;
	}
}

/* Classes of a skeleton without enough rows: as most rows with the same keys have it, and no UUID
 * in a shape. */
static void guess(struct settling *s, const struct group_row *row)
{
	const struct batch *b = s->g->dictionary.remaps[row->remap].batch;
	struct row_prefix prefix;

	row_prefix(b, row->e, &prefix);
	for (uint32_t f = 0; f < s->k->field_n; f++) {
		const struct field *field = &s->g->shapes.fields[s->k->field_first + f];
		const struct attr *a = row_field(b, row->e, &prefix, f);
		const struct value_column *c = &s->g->shapes.columns[field->column];

		s->classes[f] = field->class;
		if (field->class == ENTRY_LOOSE || a->type == VALUE_EMPTY)
			continue;
		s->classes[f] =
			c->var_rows > c->fixed_rows || (a->type == VALUE_STRING &&
							text_has_uuid(batch_text(b, a->string)))
				? ENTRY_VAR
				: ENTRY_FIXED;
	}
}

static void vote(struct settling *s)
{
	for (uint32_t f = 0; f < s->k->field_n; f++) {
		struct value_column *c =
			&s->g->shapes.columns[s->g->shapes.fields[s->k->field_first + f].column];

		if (s->classes[f] == ENTRY_VAR)
			c->var_rows += s->k->rows;
		else if (s->classes[f] == ENTRY_FIXED)
			c->fixed_rows += s->k->rows;
	}
}

/* Gives the skeleton its classes: in place while nothing was written with the old ones.  Returns
 * the skeleton that its rows have from now on. */
static uint32_t apply(struct settling *s, uint32_t skeleton)
{
	struct shape_table *t = &s->g->shapes;
	struct field *fields = t->fields + s->k->field_first;
	bool same = true;
	uint32_t to;

	for (uint32_t f = 0; f < s->k->field_n; f++)
		same = same && fields[f].class == s->classes[f];
	if (same || s->k->shapes == 0) {
		s->k->stubborn = same && s->k->shapes > 0;
		s->k->fixed_n = 0;
		for (uint32_t f = 0; f < s->k->field_n; f++) {
			field_set(&fields[f], s->classes[f],
				  skeleton_words(t, s->k)[WORD_FIELDS + f] & 15);
			s->k->fixed_n += s->classes[f] == ENTRY_FIXED;
		}
		return skeleton;
	}
	to = skeleton_succeed(t, skeleton, s->classes);
	if (to == NONE)
		return NONE;
	group_skeleton_succeeded(s->g, skeleton, to);
	t->skeletons[to].rows = t->skeletons[skeleton].rows;
	t->skeletons[skeleton].rows = 0;
	return to;
}

static int settle_one(struct settling *s, uint32_t skeleton, uint32_t rows)
{
	struct group_writer *g = s->g;
	bool enough = rows >= SAMPLE_LEAST;
	uint32_t to;

	s->k = &g->shapes.skeletons[skeleton];
	s->n = enough ? MIN(rows, (uint32_t)SAMPLE_MOST) : 1;
	if (s->k->field_n > FIELDS_MOST) {
		s->k->settled = true;
		return 0;
	}
	if (!vec_reserve(&g->idents, &g->ident_capacity, (size_t)s->n * s->k->field_n + 1,
			 sizeof(*g->idents)))
		return -ENOMEM;
	s->idents = g->idents;
	if (enough) {
		fill_idents(s);
		choose(s);
		vote(s);
	} else if (s->k->shapes == 0) {
		guess(s, &g->rows[s->rows[0].value]);
	} else
		return 0;
	to = apply(s, skeleton);
	if (to == NONE)
		return -ENOMEM;
	g->shapes.skeletons[to].settled = enough;
	for (uint32_t i = 0; i < rows && to != skeleton; i++)
		g->rows[s->rows[i].value].skeleton = to;
	return 0;
}

/* Skeletons that showed to be badly settled in this group are looked at again. */
static void note_again(struct group_writer *g)
{
	for (size_t i = 0; i < g->shapes.skeleton_n; i++) {
		struct skeleton *k = &g->shapes.skeletons[i];

		if (k->settled && !k->stubborn && k->fresh >= AGAIN_LEAST && k->rows > 0 &&
		    k->fresh > k->rows / AGAIN_SHARE)
			k->settled = false;
		k->fresh = 0;
	}
}

static int settle_all(struct settling *s)
{
	struct group_writer *g = s->g;
	size_t n = 0;
	int r = 0;

	note_again(g);
	for (uint32_t i = 0; i < g->row_n; i++)
		if (!g->shapes.skeletons[g->rows[i].skeleton].settled)
			g->order[n++] = (struct radix_item){g->rows[i].skeleton, i};
	radix_sort(g->order, g->spare, n);
	for (int small = 0; small < 2;
	     small++) /* the large ones first: the others guess from them */
		for (size_t i = 0, end; i < n && r == 0; i = end) {
			for (end = i + 1; end < n && g->order[end].key == g->order[i].key; end++)
				;
			s->rows = g->order + i;
			if ((end - i < SAMPLE_LEAST) == small)
				r = settle_one(s, (uint32_t)g->order[i].key, (uint32_t)(end - i));
		}
	return r;
}

static bool settling_init(struct settling *s, struct group_writer *g, void **memory)
{
	*memory = malloc((TABLE + SAMPLE_MOST) * sizeof(uint64_t) +
			 FIELDS_MOST * (sizeof(uint32_t) + 1));
	if (!*memory)
		return false;
	*s = (struct settling){.g = g, .table = *memory};
	s->together = s->table + TABLE;
	s->distinct = (uint32_t *)(s->together + SAMPLE_MOST);
	s->classes = (uint8_t *)(s->distinct + FIELDS_MOST);
	return true;
}

bool shape_guess(struct group_writer *g, uint32_t skeleton, const struct group_row *row)
{
	uint8_t classes[FIELDS_MOST];
	struct settling s = {.g = g, .k = &g->shapes.skeletons[skeleton], .classes = classes};

	if (s.k->field_n > FIELDS_MOST)
		return true;
	guess(&s, row);
	return apply(&s, skeleton) != NONE; /* in place: it has no shapes yet */
}

int shapes_settle(struct group_writer *g)
{
	_cleanup_(freep)
	void *memory = NULL;
	struct settling s;

	return settling_init(&s, g, &memory) ? settle_all(&s) : -ENOMEM;
}
