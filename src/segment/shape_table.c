/* segment/shape_table.c - the shapes of a segment while it is written. */
#include "segment/shape_table.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/vec.h"

#define SLOTS_FIRST 1024
#define NONE        UINT32_MAX

void shape_table_init(struct shape_table *t)
{
	*t = (struct shape_table){.seed = rng_process_seed()};
}

void shape_table_done(struct shape_table *t)
{
	for (size_t i = 0; i < t->column_n; i++)
		free(t->columns[i].numbers);
	free(t->columns);
	free(t->skeletons);
	free(t->words);
	free(t->fields);
	free(t->shapes);
	free(t->values);
	free(t->by_words.slots);
	free(t->by_values.slots);
	free(t->by_key.slots);
	*t = (struct shape_table){0};
}

/* --- hash slots: twice as many as entries --- */

static bool slots_reserve(struct slots *s)
{
	size_t n = s->n ? s->n * 2 : SLOTS_FIRST;
	struct slot *slots;

	if (s->used * 2 < s->n)
		return true;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		size_t at = s->slots[i].hash & (n - 1);

		if (s->slots[i].number == 0)
			continue;
		while (slots[at].number != 0)
			at = (at + 1) & (n - 1);
		slots[at] = s->slots[i];
	}
	free(s->slots);
	s->slots = slots;
	s->n = n;
	return true;
}

/* After slots_reserve(). */
static void slots_add(struct slots *s, uint32_t hash, uint32_t number)
{
	size_t at = hash & (s->n - 1);

	while (s->slots[at].number != 0)
		at = (at + 1) & (s->n - 1);
	s->slots[at] = (struct slot){hash, number + 1};
	s->used++;
}

/* --- skeletons --- */

uint32_t skeleton_find(const struct shape_table *t, const uint32_t *words, uint32_t field_n,
		       uint64_t hash)
{
	const struct slots *s = &t->by_words;
	uint32_t h = (uint32_t)(hash >> 32);

	if (s->n == 0)
		return NONE;
	for (size_t at = h & (s->n - 1); s->slots[at].number != 0; at = (at + 1) & (s->n - 1)) {
		const struct skeleton *k;

		if (s->slots[at].hash != h)
			continue;
		k = &t->skeletons[s->slots[at].number - 1];
		if (k->field_n == field_n &&
		    bytes_equal((const char *)skeleton_words(t, k), (const char *)words,
				(WORD_FIELDS + field_n) * sizeof(*words)))
			return s->slots[at].number - 1;
	}
	return NONE;
}

static bool skeleton_room(struct shape_table *t, uint32_t field_n)
{
	return vec_reserve(&t->skeletons, &t->skeleton_capacity, t->skeleton_n + 1,
			   sizeof(*t->skeletons)) &&
	       vec_reserve(&t->words, &t->word_capacity, t->word_n + WORD_FIELDS + field_n,
			   sizeof(*t->words)) &&
	       vec_reserve(&t->fields, &t->field_capacity, t->field_n + field_n,
			   sizeof(*t->fields)) &&
	       slots_reserve(&t->by_words) && t->field_n + field_n < NONE;
}

/* After skeleton_room(). */
static struct skeleton *skeleton_append(struct shape_table *t, const uint32_t *words,
					uint32_t field_n)
{
	struct skeleton *k = &t->skeletons[t->skeleton_n++];

	*k = (struct skeleton){
		.word_first = t->word_n, .field_n = field_n, .field_first = (uint32_t)t->field_n};
	memcpy(t->words + t->word_n, words, (WORD_FIELDS + field_n) * sizeof(*words));
	t->word_n += WORD_FIELDS + field_n;
	t->field_n += field_n;
	return k;
}

static uint8_t step_of(uint8_t class, uint8_t type)
{
	if (class == ENTRY_LOOSE)
		return STEP_LOOSE;
	if (class == ENTRY_VAR)
		return value_is_nested(type)                       ? STEP_VAR
		       : value_is_text(type)                       ? STEP_VAR_TEXT
		       : type == VALUE_INT || type == VALUE_DOUBLE ? STEP_VAR_NUMBER
								   : STEP_VAR;
	return value_is_nested(type) ? STEP_FIXED_NESTED
	       : value_is_text(type) ? STEP_FIXED_TEXT
	       : type == VALUE_BOOL  ? STEP_FIXED_BOOL
	       : type == VALUE_EMPTY ? STEP_FIXED_EMPTY
				     : STEP_FIXED_NUMBER;
}

void field_set(struct field *f, uint8_t class, uint8_t type)
{
	f->class = class;
	f->step = step_of(class, type);
}

uint32_t skeleton_add(struct shape_table *t, const uint32_t *words, uint32_t field_n, uint64_t hash)
{
	struct skeleton *k;
	uint8_t level = row_level((uint8_t)words[WORD_TYPE]);

	if (!skeleton_room(t, field_n))
		return NONE;
	k = skeleton_append(t, words, field_n);
	for (uint32_t i = 0; i < field_n; i++) {
		bool loose = words[WORD_FIELDS + i] >> 4 == FIELD_LOOSE;
		uint32_t column = loose ? 0 : value_column_get(t, level, words[WORD_FIELDS + i]);

		if (column == NONE)
			return NONE;
		t->fields[k->field_first + i].column = column;
		field_set(&t->fields[k->field_first + i], loose ? ENTRY_LOOSE : ENTRY_FIXED,
			  words[WORD_FIELDS + i] & 15);
		k->loose_n += loose;
	}
	k->fixed_n = field_n - k->loose_n;
	slots_add(&t->by_words, (uint32_t)(hash >> 32), (uint32_t)t->skeleton_n - 1);
	return (uint32_t)t->skeleton_n - 1;
}

uint32_t skeleton_succeed(struct shape_table *t, uint32_t old, const uint8_t *classes)
{
	uint32_t field_n = t->skeletons[old].field_n, first, number = (uint32_t)t->skeleton_n;
	struct skeleton *from, *to;

	/* Words are copied inside their array, which must not move meanwhile. */
	if (!skeleton_room(t, field_n))
		return NONE;
	from = &t->skeletons[old];
	to = skeleton_append(t, skeleton_words(t, from), field_n);
	first = to->field_first;
	for (uint32_t i = 0; i < field_n; i++) {
		t->fields[first + i].column = t->fields[from->field_first + i].column;
		field_set(&t->fields[first + i], classes[i],
			  skeleton_words(t, to)[WORD_FIELDS + i] & 15);
		to->fixed_n += classes[i] == ENTRY_FIXED;
		to->loose_n += classes[i] == ENTRY_LOOSE;
	}
	for (size_t i = 0; i < t->by_words.n; i++)
		if (t->by_words.slots[i].number == old + 1)
			t->by_words.slots[i].number = number + 1;
	return number;
}

/* --- shapes --- */

uint32_t shape_get(struct shape_table *t, uint32_t skeleton, const uint64_t *values, uint32_t h)
{
	struct skeleton *k = &t->skeletons[skeleton];
	size_t bytes = k->fixed_n * sizeof(*values);
	struct slots *s = &t->by_values;

	for (size_t at = s->n ? h & (s->n - 1) : 0; s->n && s->slots[at].number != 0;
	     at = (at + 1) & (s->n - 1)) {
		const struct shape_row *shape;

		if (s->slots[at].hash != h)
			continue;
		shape = &t->shapes[s->slots[at].number - 1];
		if (shape->skeleton == skeleton &&
		    bytes_equal((const char *)(t->values + shape->value_first),
				(const char *)values, bytes))
			return s->slots[at].number - 1;
	}
	if (!vec_reserve(&t->shapes, &t->shape_capacity, t->shape_n + 1, sizeof(*t->shapes)) ||
	    !vec_reserve(&t->values, &t->value_capacity, t->value_n + k->fixed_n + 1,
			 sizeof(*t->values)) ||
	    !slots_reserve(s))
		return NONE;
	memcpy(t->values + t->value_n, values, bytes);
	t->shapes[t->shape_n] = (struct shape_row){.skeleton = skeleton, .value_first = t->value_n};
	t->value_n += k->fixed_n;
	k->fresh++;
	k->shapes++;
	slots_add(s, h, (uint32_t)t->shape_n);
	return (uint32_t)t->shape_n++;
}

/* --- columns --- */

uint32_t value_column_get(struct shape_table *t, uint8_t level, uint32_t word)
{
	uint32_t h = (uint32_t)(hash_u64((uint64_t)level << 32 | word, t->seed) >> 32);
	struct slots *s = &t->by_key;

	for (size_t at = s->n ? h & (s->n - 1) : 0; s->n && s->slots[at].number != 0;
	     at = (at + 1) & (s->n - 1)) {
		const struct value_column *c = &t->columns[s->slots[at].number - 1];

		if (c->level == level && field_word(c->key, c->type) == word)
			return s->slots[at].number - 1;
	}
	if (!vec_reserve(&t->columns, &t->column_capacity, t->column_n + 1, sizeof(*t->columns)) ||
	    !slots_reserve(s))
		return NONE;
	t->columns[t->column_n] =
		(struct value_column){.key = word >> 4, .level = level, .type = word & 15};
	slots_add(s, h, (uint32_t)t->column_n);
	return (uint32_t)t->column_n++;
}

bool value_column_grow(struct value_column *c)
{
	return column_is_text(c)
		       ? vec_reserve(&c->texts, &c->capacity, (size_t)c->n + 1, sizeof(*c->texts))
		       : vec_reserve(&c->numbers, &c->capacity, (size_t)c->n + 1,
				     sizeof(*c->numbers));
}
