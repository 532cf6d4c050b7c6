/* exec/shape_answers.c - shapes that a query cannot tell apart are asked once. */
#include "exec/shape_answers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"

_Static_assert(COLUMN_SLOTS_MOST <= 64, "leaves are bits");

static uint64_t leaves_of(const struct column_query *q, const struct plan_expr *e)
{
	uint64_t leaves = 0;

	if (!e || e->kind == X_CONST)
		return 0;
	if (e->kind == X_COLUMN)
		return e->column < q->unnest_n ? 0 : 1ULL << (e->column - q->unnest_n);
	for (uint32_t i = 0; i < e->n; i++)
		leaves |= leaves_of(q, e->args[i]);
	return leaves;
}

uint64_t shape_answers_leaves(const struct column_query *q)
{
	uint64_t leaves = leaves_of(q, q->where) | leaves_of(q, q->where_after);

	for (uint32_t i = 0; i < q->unnest_n; i++)
		leaves |= leaves_of(q, q->unnest[i]);
	for (uint32_t i = 0; column_grouped(q) && i < q->key_n; i++)
		leaves |= leaves_of(q, q->outputs[i]);
	return leaves;
}

int shape_answers_init(struct shape_answers *a, const struct column_shapes *shapes)
{
	*a = (struct shape_answers){.shapes = shapes,
				    .leaves = shape_answers_leaves(shapes->query)};
	map_init(&a->by_words);
	a->by_skeleton =
		calloc((size_t)tables_skeletons(shapes->tables) + 1, sizeof(*a->by_skeleton));
	return a->by_skeleton ? 0 : -ENOMEM;
}

void shape_answers_done(struct shape_answers *a)
{
	free(a->by_skeleton);
	free(a->known);
	map_done(&a->by_words);
	arena_done(&a->arena);
}

/* --- words --- */

/* What is said of a shape so far. */
struct saying {
	uint32_t n;
	uint64_t words[ANSWER_WORDS];
	bool values; /* something of it is not in the skeleton */
	bool failed; /* it cannot be said in words, or not in so few */
};

static void say(struct saying *s, uint64_t word)
{
	if (s->n == ANSWER_WORDS)
		s->failed = true;
	else
		s->words[s->n++] = word;
}

/* A key's value, if the shape has it once. */
static void say_entry(struct saying *s, const struct shapes *shapes, const struct shape *shape,
		      uint32_t key)
{
	const struct shape_entry *found = NULL;

	for (uint32_t i = shape->entry_first;
	     key != NO_KEY && i < shape->entry_first + shape->entry_n; i++) {
		const struct shape_entry *e = &shapes->entries[i];

		if (e->key != key || e->class == ENTRY_LOOSE)
			continue;
		s->failed |= found != NULL;
		found = e;
	}
	say(s, (shape->loose_n > 0) | (found ? 2u : 0u) |
		       (uint64_t)(found ? found->class : 0) << 2 |
		       (uint64_t)(found ? found->type : 0) << 8);
	if (found && found->class == ENTRY_FIXED) {
		say(s, found->value);
		s->values = true;
	}
}

static void say_attr(struct saying *s, const struct column_shapes *c, const struct shape *shape,
		     uint32_t leaf, enum plan_scope scope)
{
	if (scope == ATTR_INSTRUMENTATION) {
		say(s, shape->scope);
		return;
	}
	if (scope != ATTR_SPAN)
		say(s, shape->resource);
	if (scope != ATTR_RESOURCE)
		say_entry(s, tables_shapes(c->tables), shape, c->key[leaf]);
}

static void say_field(struct saying *s, const struct column_shapes *c, const struct shape *shape,
		      uint32_t leaf, enum plan_field field)
{
	switch (field) {
	case F_NAME:
		say(s, shape->name);
		s->values |= shape->name != NAME_VARIES;
		return;
	case F_STATUS_MESSAGE:
		say_entry(s, tables_shapes(c->tables), shape, FIELD_STATUS_MESSAGE);
		return;
	case F_THREAD_ID:
		say_attr(s, c, shape, leaf, ATTR_ANY);
		return;
	case F_SCOPE_NAME:
	case F_SCOPE_VERSION:
		say(s, shape->scope);
		return;
	case F_KIND:
		say(s, (uint32_t)shape->kind);
		return;
	case F_STATUS:
		say(s, (uint32_t)shape->status);
		return;
	case F_PARENT_ID:
		say(s, shape->has_parent);
		return;
	case F_SERVICE:
	case F_HOST:
	case F_PROC_ID:
	case F_PROC_NAME:
		say(s, shape->resource);
		return;
	default: /* the same for all, or the row's */
		return;
	}
}

static struct saying say_shape(const struct shape_answers *a, uint32_t number)
{
	const struct column_shapes *c = a->shapes;
	const struct shape *shape = &tables_shapes(c->tables)->rows[number];
	struct saying s;

	s.n = 0;
	s.values = s.failed = false;
	say(&s, shape->type);
	for (uint64_t left = a->leaves; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		const struct plan_expr *leaf = c->query->leaves[i];

		if (leaf->kind == X_ATTR)
			say_attr(&s, c, shape, i, leaf->attr.scope);
		else
			say_field(&s, c, shape, i, leaf->field.field);
	}
	return s;
}

/* --- answers --- */

static bool known_is(const void *context, uint32_t number, const void *key)
{
	const struct known *k = ((const struct shape_answers *)context)->known[number];
	const struct saying *s = key;

	return k->n == s->n && memcmp(k->words, s->words, s->n * sizeof(*s->words)) == 0;
}

static int learn(struct shape_answers *a, const struct saying *s, uint64_t hash,
		 struct shape_answer answer, uint32_t *ret_number)
{
	struct known *k = arena_alloc(&a->arena, sizeof(*k));

	if (!k || !vec_reserve(&a->known, &a->capacity, a->n + 1, sizeof(*a->known)) ||
	    !map_put(&a->by_words, hash, (uint32_t)a->n))
		return -ENOMEM;
	k->n = s->n;
	memcpy(k->words, s->words, s->n * sizeof(*s->words));
	k->answer = answer;
	a->known[a->n] = k;
	*ret_number = (uint32_t)a->n++;
	return 0;
}

int shape_answers_get(struct shape_answers *a, uint32_t shape,
		      int (*ask)(void *context, uint32_t shape, struct shape_answer *ret_answer),
		      void *context, struct shape_answer *ret_answer)
{
	uint32_t *known = &a->by_skeleton[tables_skeleton(a->shapes->tables, shape)], number;
	struct shape_answer answer;
	struct saying s;
	uint64_t hash;
	int r = 0;

	if (*known != 0 && *known != ANSWERS_DIFFER) {
		*ret_answer = a->known[*known - 1]->answer;
		return 0;
	}
	s = say_shape(a, shape);
	if (s.failed) {
		*known = ANSWERS_DIFFER;
		return ask(context, shape, ret_answer);
	}
	hash = a->by_words.seed;
	for (uint32_t i = 0; i < s.n; i++)
		hash = hash_u64(s.words[i], hash);
	number = map_get(&a->by_words, hash, known_is, a, &s);
	if (number == MAP_NONE) {
		r = ask(context, shape, &answer);
		if (r == 0)
			r = learn(a, &s, hash, answer, &number);
		if (r < 0)
			return r;
	}
	*known = s.values ? ANSWERS_DIFFER : number + 1;
	*ret_answer = a->known[number]->answer;
	return 0;
}
