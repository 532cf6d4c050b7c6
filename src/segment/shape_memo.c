/* segment/shape_memo.c - rows that look like one before have its shape. */
#include "segment/shape_memo.h"

#include <stdlib.h>

#include "base/vec.h"

#define NONE        UINT32_MAX
#define SLOT_BITS   13
#define FIELDS_MOST 512 /* of a skeleton whose rows are compared */

bool shape_memo_init(struct shape_memo *m)
{
	m->slots = calloc((size_t)1 << SLOT_BITS, sizeof(*m->slots));
	return m->slots;
}

void shape_memo_done(struct shape_memo *m)
{
	free(m->slots);
	free(m->plans);
	free(m->steps);
	*m = (struct shape_memo){0};
}

/* --- where a row's shape would be --- */

/* It is not known yet whether the row has these attributes, but what types they have.  NULL: one of
 * its texts is none of the segment's, so it has no shape yet, or has it as a VAR of another
 * skeleton. */
static inline struct memo_slot *slot_of(struct group_writer *g, const struct group_row *row,
					uint32_t skeleton, const struct shape_plan *p)
{
	const uint64_t k = 0x9e3779b97f4a7c15ULL;
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct attr *attrs = r->batch->attrs + row->e->attrs.first;
	uint64_t hash = (g->shapes.seed ^ skeleton ^ (uint64_t)r->strings[row->e->name] << 32) * k;

	for (uint32_t i = 0; i < p->vary_n; i++) {
		const struct attr *a = &attrs[p->vary[i]];
		uint64_t value = attr_bits(r->batch, a);

		if (a->type == VALUE_STRING) {
			value = dictionary_known(&g->dictionary, r, a->string);
			if (!value && a->string)
				return NULL;
		}
		hash = (hash ^ value) * k;
		hash ^= hash >> 32;
	}
	return &g->memo.slots[hash * k >> (64 - SLOT_BITS)];
}

void shape_memo_look(struct group_writer *g, const struct group_row *row, struct memo_guess *ret)
{
	const uint32_t *guess = guess_slot(g, row);
	const struct shape_plan *p;

	ret->slot = NULL;
	if (!guess || !*guess || *guess > g->memo.plan_n)
		return;
	ret->skeleton = *guess - 1;
	p = &g->memo.plans[ret->skeleton];
	if (!p->usable || p->attrs != row->e->attrs.count)
		return;
	ret->slot = slot_of(g, row, ret->skeleton, p);
	if (ret->slot)
		__builtin_prefetch(ret->slot);
}

void shape_memo_fetch(const struct group_writer *g, struct memo_guess *guess)
{
	const struct memo_slot *s = guess->slot;
	const uint64_t *values;

	if (!s)
		return;
	if (!s->shape || s->skeleton != guess->skeleton) {
		guess->slot = NULL;
		return;
	}
	values = g->shapes.values + s->values;
	__builtin_prefetch(values);
	__builtin_prefetch(values + 7);
	__builtin_prefetch(&g->shapes.shapes[s->shape - 1]);
}

/* --- comparing --- */

/* Does the row, which has the skeleton, have these FIXED values?  What the segment does not know
 * yet looks like an empty text: is_empty() asks for those apart. */
static inline bool has_values(const struct shape_plan *p, const struct plan_step *s,
			      const uint64_t *values, const struct remap *r,
			      const struct attr *attrs)
{
	const uint32_t *strings = r->strings;
	const struct plan_step *end = s + p->texts;
	uint64_t differ = 0;

	for (; s < end; s++)
		differ |= strings[attrs[s->attr].string] ^ values[s->value];
	for (end += p->numbers; s < end; s++)
		differ |= attr_bits(r->batch, &attrs[s->attr]) ^ values[s->value];
	for (end += p->bools; s < end; s++)
		differ |= attrs[s->attr].word ^ values[s->value];
	return differ == 0;
}

/* Are those texts empty that are so in the shape? */
static bool is_empty(const struct shape_plan *p, const struct plan_step *s, const uint64_t *values,
		     const struct event *e, const struct attr *attrs)
{
	bool all = values[0] != 0 || e->name == 0;

	for (const struct plan_step *end = s + p->texts; s < end; s++)
		all &= values[s->value] != 0 || attrs[s->attr].string == 0;
	return all;
}

/* Puts a value that does not stand in the shape into its column. */
static inline int stage_var(struct group_writer *g, struct remap *r, const struct field *f,
			    const struct attr *a)
{
	struct value_column *c = &g->shapes.columns[f->column];
	uint32_t n = c->n;

	if (n > 0 && f->step == STEP_VAR_TEXT) {
		uint32_t code;

		if (!c->by_code && n < c->capacity) {
			c->texts[n] = batch_text(r->batch, a->string);
			c->n = n + 1;
			return 0;
		}
		if (n < c->code_room && (code = r->strings[a->string])) {
			c->codes[n] = code;
			c->n = n + 1;
			return 0;
		}
	} else if (n > 0 && f->step == STEP_VAR_NUMBER && n < c->capacity) {
		c->numbers[n] = attr_bits(r->batch, a);
		c->n = n + 1;
		return 0;
	}
	return group_stage(g, r, f->column, a);
}

uint32_t shape_memo_take(struct group_writer *g, const struct group_row *row,
			 const struct memo_guess *guess, int *ret_error)
{
	const struct memo_slot *slot = guess->slot;
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct attr *attrs = r->batch->attrs + row->e->attrs.first;
	const struct plan_step *steps, *end;
	const struct shape_plan *p;
	const struct skeleton *k;
	const uint64_t *values;
	uint32_t shape;

	/* Another row may have taken the slot since. */
	if (!slot || slot->skeleton != guess->skeleton)
		return NONE;
	k = &g->shapes.skeletons[guess->skeleton];
	p = &g->memo.plans[guess->skeleton];
	steps = g->memo.steps + p->step_first;
	values = g->shapes.values + slot->values;
	if (!has_skeleton(g, row, k) || r->strings[row->e->name] != values[0] ||
	    !has_values(p, steps, values, r, attrs) ||
	    (slot->has_empty && !is_empty(p, steps, values, row->e, attrs)))
		return NONE;
	shape = slot->shape - 1;
	steps += p->texts + p->numbers + p->bools;
	for (end = steps + p->vars; steps < end; steps++) {
		int e = stage_var(g, r, &g->shapes.fields[k->field_first + 1 + steps->attr],
				  &attrs[steps->attr]);

		if (e < 0) {
			*ret_error = e;
			return NONE;
		}
	}
	return shape;
}

/* --- learning --- */

/* Which step kind a field is, in the order of a plan's steps; -1: nothing is to be done, -2: rows
 * with it are not compared. */
static int kind_of(const struct field *f)
{
	switch (f->step) {
	case STEP_FIXED_TEXT:
		return 0;
	case STEP_FIXED_NUMBER:
		return 1;
	case STEP_FIXED_BOOL:
		return 2;
	case STEP_VAR_TEXT:
	case STEP_VAR_NUMBER:
	case STEP_VAR:
		return 3;
	case STEP_FIXED_EMPTY:
		return -1;
	default:
		return -2;
	}
}

/* Its fields' classes stay as they are from its first shape on. */
static bool plan_make(struct group_writer *g, const struct skeleton *k, struct shape_plan *p)
{
	struct shape_memo *m = &g->memo;
	const struct field *fields = g->shapes.fields + k->field_first;
	uint16_t counts[4] = {0};

	*p = (struct shape_plan){.made = true, .attrs = k->field_n - 1};
	if (k->field_n > FIELDS_MOST || kind_of(&fields[0]) != 0)
		return true;
	if (!vec_reserve(&m->steps, &m->step_capacity, m->step_n + k->field_n, sizeof(*m->steps)))
		return false;
	p->step_first = (uint32_t)m->step_n;
	for (int kind = 0; kind < 4; kind++) {
		uint16_t value = 1;

		for (uint32_t i = 1; i < k->field_n; i++) {
			int is = kind_of(&fields[i]);

			if (is == -2)
				return true;
			if (is == kind) {
				m->steps[m->step_n++] =
					(struct plan_step){(uint16_t)(i - 1), value};
				counts[kind]++;
			}
			value = (uint16_t)(value + (fields[i].class == ENTRY_FIXED));
		}
	}
	p->texts = counts[0];
	p->numbers = counts[1];
	p->bools = counts[2];
	p->vars = counts[3];
	p->usable = true;
	return true;
}

static struct shape_plan *plan_get(struct group_writer *g, uint32_t skeleton)
{
	struct shape_memo *m = &g->memo;
	struct shape_plan *p;

	if (skeleton >= m->plan_n) {
		if (!vec_reserve(&m->plans, &m->plan_capacity, (size_t)skeleton + 1,
				 sizeof(*m->plans)))
			return NULL;
		memset(m->plans + m->plan_n, 0, (skeleton + 1 - m->plan_n) * sizeof(*m->plans));
		m->plan_n = skeleton + 1;
	}
	p = &m->plans[skeleton];
	if (!p->made && !plan_make(g, &g->shapes.skeletons[skeleton], p))
		*p = (struct shape_plan){0};
	return p->usable ? p : NULL;
}

static bool varies(const struct shape_plan *p, uint16_t attr)
{
	for (uint32_t i = 0; i < p->vary_n; i++)
		if (p->vary[i] == attr)
			return true;
	return false;
}

/* Notes in what the shape differs from the skeleton's first one. */
static void note_differences(const struct group_writer *g, struct shape_plan *p,
			     const uint64_t *values)
{
	const struct plan_step *s = g->memo.steps + p->step_first;
	const uint64_t *first = g->shapes.values + p->first;

	for (const struct plan_step *end = s + p->texts + p->numbers + p->bools; s < end; s++)
		if (first[s->value] != values[s->value] && p->vary_n < PLAN_VARY &&
		    !varies(p, s->attr))
			p->vary[p->vary_n++] = s->attr;
}

static bool has_empty_text(const struct group_writer *g, const struct shape_plan *p,
			   const uint64_t *values)
{
	const struct plan_step *s = g->memo.steps + p->step_first;
	bool any = values[0] == 0;

	for (const struct plan_step *end = s + p->texts; s < end; s++)
		any |= values[s->value] == 0;
	return any;
}

void shape_memo_learn(struct group_writer *g, const struct group_row *row, uint32_t shape)
{
	const struct shape_row *s = &g->shapes.shapes[shape];
	const struct skeleton *k = &g->shapes.skeletons[s->skeleton];
	const uint64_t *values = g->shapes.values + s->value_first;
	struct memo_slot *slot;
	struct shape_plan *p;

	if (row->e->extra || k->loose_n || k->field_n != row->e->attrs.count + 1)
		return;
	p = plan_get(g, s->skeleton);
	if (!p)
		return;
	if (!p->has_first) {
		p->has_first = true;
		p->first = s->value_first;
	}
	note_differences(g, p, values);
	slot = slot_of(g, row, s->skeleton, p);
	if (slot) /* else the dictionary has failed */
		*slot = (struct memo_slot){shape + 1, s->skeleton, s->value_first,
					   has_empty_text(g, p, values)};
}
