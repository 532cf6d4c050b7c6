/* exec/column_shapes.c - what a query over columns knows of a segment before looking at rows. */
#include "exec/column_shapes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/attr_value.h"
#include "exec/column_filter.h"
#include "exec/row_field.h"
#include "exec/shape_answers.h"

#define ARENA_BYTES (1 << 18) /* of lists made while shapes are asked, before it is cleared */

/* --- entries of a shape --- */

static struct value entry_value(const struct segment_tables *t, const struct shape_entry *e,
				struct arena *arena)
{
	switch (e->type) {
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		return text_value(e->type, tables_text(t, (uint32_t)e->value), arena);
	default:
		return bits_value(e->type, e->value);
	}
}

/* What the shape says of a key: known, or unknown and *ret_absent for rows without one. */
static struct value entry_of(const struct column_shapes *s, const struct shape *shape, uint32_t key,
			     struct arena *arena, struct value *ret_absent)
{
	const struct shapes *shapes = tables_shapes(s->tables);
	struct value v = value_nil();
	bool open = shape->loose_n > 0; /* any key may stand there */

	*ret_absent = value_nil();
	if (key == NO_KEY)
		return v;
	for (uint32_t i = shape->entry_first; i < shape->entry_first + shape->entry_n; i++) {
		const struct shape_entry *e = &shapes->entries[i];

		if (e->key != key || e->class == ENTRY_LOOSE)
			continue;
		if (e->class == ENTRY_FIXED)
			v = entry_value(s->tables, e, arena);
		else
			open = true;
	}
	*ret_absent = v;
	return open ? value_unknown() : v;
}

/* --- leaves --- */

static void place_leaf(struct column_shapes *s, uint32_t i, const struct plan_expr *leaf)
{
	s->key[i] = NO_KEY;
	s->place[i] = LEAF_SHAPE;
	if (leaf->kind == X_ATTR) {
		if (leaf->attr.scope == ATTR_ANY || leaf->attr.scope == ATTR_SPAN) {
			s->place[i] = LEAF_COLUMN;
			s->key[i] = tables_find(s->tables, leaf->attr.key);
		}
		return;
	}
	switch (leaf->field.field) {
	case F_TIME:
	case F_START:
		s->place[i] = LEAF_TIME;
		return;
	case F_END:
		s->place[i] = LEAF_END;
		return;
	case F_DURATION:
		s->place[i] = LEAF_DURATION;
		return;
	case F_SPAN_ID:
		s->place[i] = LEAF_SPAN_ID;
		return;
	case F_PARENT_ID:
		s->place[i] = LEAF_PARENT_ID;
		return;
	case F_TRACE_ID:
		s->place[i] = LEAF_TRACE_ID;
		return;
	case F_ELEMENT:
		s->place[i] = LEAF_ELEMENT;
		return;
	case F_NAME:
		s->place[i] = LEAF_COLUMN;
		s->key[i] = FIELD_NAME;
		return;
	case F_STATUS_MESSAGE:
		s->place[i] = LEAF_COLUMN;
		s->key[i] = FIELD_STATUS_MESSAGE;
		return;
	case F_THREAD_ID:
		s->place[i] = LEAF_COLUMN;
		s->key[i] = tables_find(s->tables, SLICE("thread.id"));
		return;
	default:
		return;
	}
}

static struct value resource_attr(const struct column_shapes *s, const struct shape *shape,
				  struct slice key, struct arena *arena)
{
	const struct batch *b = tables_batch(s->tables);

	return range_attr(b, b->resources[shape->resource].attrs, key, arena);
}

/* An attribute of the span or, failing that, of its resource. */
static struct value leaf_attr(const struct column_shapes *s, const struct shape *shape, uint32_t i,
			      enum plan_scope scope, struct slice key, struct arena *arena,
			      struct value *ret_absent)
{
	const struct batch *b = tables_batch(s->tables);
	struct value v = value_nil();

	*ret_absent = v;
	if (scope == ATTR_INSTRUMENTATION)
		return range_attr(b, b->scopes[shape->scope].attrs, key, arena);
	if (scope == ATTR_RESOURCE)
		return resource_attr(s, shape, key, arena);
	v = entry_of(s, shape, s->key[i], arena, ret_absent);
	if (scope == ATTR_SPAN)
		return v;
	if (value_is_nil(*ret_absent))
		*ret_absent = resource_attr(s, shape, key, arena);
	return value_is_nil(v) ? *ret_absent : v;
}

static struct value non_empty(struct slice text)
{
	return text.n ? value_text(text) : value_nil();
}

static struct value leaf_field(const struct column_shapes *s, const struct shape *shape, uint32_t i,
			       struct arena *arena, struct value *ret_absent)
{
	const struct column_query *q = s->query;
	const struct batch *b = tables_batch(s->tables);
	enum plan_field field = q->leaves[i]->field.field;

	*ret_absent = value_nil();
	switch (field) {
	case F_NAME:
		if (shape->name != NAME_VARIES)
			return value_text(tables_text(s->tables, shape->name));
		*ret_absent = value_text(SLICE(""));
		return entry_of(s, shape, FIELD_NAME, arena, ret_absent);
	case F_STATUS_MESSAGE:
		return entry_of(s, shape, FIELD_STATUS_MESSAGE, arena, ret_absent);
	case F_THREAD_ID:
		return leaf_attr(s, shape, i, ATTR_ANY, SLICE("thread.id"), arena, ret_absent);
	case F_TRACEPOINT:
		return value_text(q->tracepoint);
	case F_SCOPE_NAME:
		return non_empty(batch_text(b, b->scopes[shape->scope].name));
	case F_SCOPE_VERSION:
		return non_empty(batch_text(b, b->scopes[shape->scope].version));
	case F_KIND:
		return value_of(V_KIND, shape->kind);
	case F_STATUS:
		return value_of(V_STATUS, shape->status);
	case F_PARENT_ID:
		return shape->has_parent ? value_unknown() : value_nil();
	case F_SERVICE:
	case F_HOST:
	case F_PROC_ID:
	case F_PROC_NAME:
		return resource_field(
			b, &b->resources[shape->resource],
			tables_text(s->tables, tables_sender(s->tables, shape->resource)), field,
			arena);
	default:
		return value_unknown();
	}
}

/* --- one shape --- */

static struct value nothing(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_unknown();
}

static uint8_t verdict_of(struct value v)
{
	return v.type == V_UNKNOWN ? SHAPE_ASK : value_is_true(v) ? SHAPE_YES : SHAPE_NO;
}

static struct value leaf_of(const struct column_shapes *s, const struct shape *shape, uint32_t i,
			    struct arena *arena, struct value *ret_absent)
{
	const struct plan_expr *leaf = s->query->leaves[i];

	return leaf->kind == X_ATTR
		       ? leaf_attr(s, shape, i, leaf->attr.scope, leaf->attr.key, arena, ret_absent)
		       : leaf_field(s, shape, i, arena, ret_absent);
}

void column_shapes_slots(const struct column_shapes *s, uint32_t number, struct arena *arena,
			 struct value *slots, struct value *absent)
{
	const struct shape *shape = &tables_shapes(s->tables)->rows[number];

	for (uint32_t i = 0; i < s->query->leaf_n; i++)
		slots[i] = leaf_of(s, shape, i, arena, &absent[i]);
}

/* The leaf that a key is, as it is or taken apart; COLUMN_SLOTS_MOST: it is another expression. */
static uint32_t key_leaf(const struct column_query *q, uint32_t key)
{
	const struct plan_expr *e = q->outputs[key];

	if (e->kind == X_COLUMN && e->column < q->unnest_n)
		e = q->unnest[e->column];
	return e->kind == X_COLUMN && e->column >= q->unnest_n ? e->column - q->unnest_n
							       : COLUMN_SLOTS_MOST;
}

/* Everything is known but one key, which is a text in a column or nothing. */
static int settle_half(struct column_shapes *s, struct shape_answer *answer, struct value *keys,
		       const struct value *slots, const struct value *absent)
{
	const struct column_query *q = s->query;
	uint32_t open = q->key_n, leaf;

	for (uint32_t i = 0; i < q->key_n; i++) {
		if (keys[2 + i].type != V_UNKNOWN)
			continue;
		if (open < q->key_n)
			return 0;
		open = i;
	}
	leaf = open < q->key_n ? key_leaf(q, open) : COLUMN_SLOTS_MOST;
	if (q->where_after || leaf == COLUMN_SLOTS_MOST || s->place[leaf] != LEAF_COLUMN ||
	    s->empty[leaf] || slots[q->unnest_n + leaf].type != V_UNKNOWN ||
	    !value_is_nil(absent[leaf]))
		return 0;
	for (uint32_t i = 0; i < q->unnest_n; i++)
		if (slots[i].type == V_UNKNOWN &&
		    (q->unnest[i]->kind != X_COLUMN || q->unnest[i]->column != q->unnest_n + leaf))
			return 0;
	keys[0] = value_int(leaf);
	keys[1] = value_int(open);
	keys[2 + open] = value_nil();
	answer->settled = SHAPE_HALF;
	return grouping_find(&s->halves, keys, &answer->key);
}

/* Where the shape's keys are all known, and nothing else is open, it has its group. */
static int settle(struct column_shapes *s, struct shape_answer *answer, struct expr_env *env,
		  bool settled, const struct value *absent)
{
	const struct column_query *q = s->query;
	struct value keys[GROUPING_KEYS_MOST + 2];

	if (!column_grouped(q) || q->key_n + 2 > GROUPING_KEYS_MOST || answer->verdict != SHAPE_YES)
		return 0;
	for (uint32_t i = 0; i < q->key_n; i++) {
		keys[2 + i] = expr_eval(env, q->outputs[i]);
		settled &= keys[2 + i].type != V_UNKNOWN;
	}
	if (!settled)
		return settle_half(s, answer, keys, env->columns, absent);
	answer->settled = SHAPE_SETTLED;
	return grouping_find(&s->groups, keys + 2, &answer->key);
}

/* Asking shapes. */
struct asking {
	struct column_shapes *shapes;
	const struct column_filter *drivers;
	uint64_t leaves; /* that matter, as bits */
	struct expr_env env;
	struct value slots[COLUMN_SLOTS_MOST];
	struct arena arena;
};

static int ask_shape(void *context, uint32_t number, struct shape_answer *ret_answer)
{
	struct asking *a = context;
	struct column_shapes *s = a->shapes;
	const struct column_query *q = s->query;
	const struct shape *shape = &tables_shapes(s->tables)->rows[number];
	struct value *slots = a->slots, absent[COLUMN_SLOTS_MOST];
	struct shape_answer answer = {.verdict = SHAPE_NO};
	bool settled = true;
	int r = 0;

	*ret_answer = answer;
	if (shape->type != EVENT_SPAN)
		return 0;
	for (uint32_t i = 0; i < q->leaf_n; i++) {
		slots[q->unnest_n + i] = absent[i] = value_unknown();
		if (a->leaves >> i & 1)
			slots[q->unnest_n + i] = leaf_of(s, shape, i, &a->arena, &absent[i]);
	}
	for (uint32_t i = 0; i < q->unnest_n; i++)
		slots[i] = value_unknown();
	answer.verdict = q->where ? verdict_of(expr_eval(&a->env, q->where)) : SHAPE_YES;
	if (answer.verdict == SHAPE_NO)
		return a->env.failed;
	for (uint32_t i = 0; i < q->unnest_n; i++) {
		slots[i] = expr_eval(&a->env, q->unnest[i]);
		if (slots[i].type == V_LIST)
			slots[i] = value_unknown();
		settled &= slots[i].type != V_UNKNOWN;
	}
	if (q->where_after) {
		uint8_t after = verdict_of(expr_eval(&a->env, q->where_after));

		if (after == SHAPE_NO)
			answer.verdict = SHAPE_NO;
		settled &= after == SHAPE_YES;
	}
	if (answer.verdict == SHAPE_ASK)
		answer.needed =
			column_filter_needed(a->drivers, s->place, slots + q->unnest_n, absent);
	r = settle(s, &answer, &a->env, settled, absent);
	if (a->arena.bytes > ARENA_BYTES)
		arena_clear(&a->arena);
	*ret_answer = answer;
	return r == 0 ? a->env.failed : r;
}

/* A POINT of a span stands right behind it and belongs to it; one of a block that came as nothing
 * else makes a block of its own, but then its format is native. */
static bool is_native(const struct shape *shape)
{
	return shape->type == EVENT_BEGIN || shape->type == EVENT_END ||
	       shape->format == FORMAT_NATIVE;
}

/* Says a span of this shape how it was sampled, or may it? */
static bool is_weighted(const struct column_shapes *s, const struct shape *shape)
{
	const struct shapes *shapes = tables_shapes(s->tables);

	if (tables_threshold(s->tables, shape->resource) != 0)
		return true;
	for (uint32_t i = shape->entry_first; i < shape->entry_first + shape->entry_n; i++)
		if (shapes->entries[i].key == FIELD_TRACE_STATE)
			return true;
	return false;
}

static int allocate(struct column_shapes *s, uint32_t n)
{
	struct arena *a = &s->arena;

	s->verdicts = arena_zalloc(a, n + 1, 1);
	s->settled = arena_zalloc(a, n + 1, 1);
	s->needed = arena_zalloc(a, n + 1, 1);
	if (!s->verdicts || !s->settled || !s->needed)
		return -ENOMEM;
	if (!column_grouped(s->query))
		return 0;
	s->keys = arena_alloc(a, ((size_t)n + 1) * sizeof(*s->keys));
	s->ways = arena_alloc(a, ((size_t)n + 1) * sizeof(*s->ways));
	if (!s->keys || !s->ways)
		return -ENOMEM;
	if (s->query->key_n + 2 > GROUPING_KEYS_MOST)
		return 0;
	grouping_init(&s->halves, s->query->key_n + 2, NULL, 0, NULL);
	return grouping_init(&s->groups, s->query->key_n, NULL, 0, NULL);
}

static uint32_t way_of(const struct shape_answer *a)
{
	if (a->verdict != SHAPE_YES || a->settled == SHAPE_OPEN || a->key >= SHAPE_WAYS)
		return a->verdict == SHAPE_NO ? SHAPE_WAY_NO : SHAPE_WAY_ASK;
	return a->settled == SHAPE_HALF ? SHAPE_WAYS + a->key : a->key;
}

static int ask_all(struct column_shapes *s, struct asking *asking, uint32_t n)
{
	struct shape_answers answers;
	int r = shape_answers_init(&answers, s);

	asking->leaves = answers.leaves;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct shape_answer answer;
		uint32_t skeleton = tables_skeleton(s->tables, i);

		if (answers.by_skeleton[skeleton] == 0) { /* the first of its kind */
			const struct shape *shape = &tables_shapes(s->tables)->rows[i];

			s->weighted |= is_weighted(s, shape);
			s->native |= is_native(shape);
			s->timeless |= shape->type == EVENT_SPAN && !shape->has_time;
		}
		r = shape_answers_get(&answers, i, ask_shape, asking, &answer);
		if (r < 0)
			break;
		s->verdicts[i] = answer.verdict;
		s->settled[i] = answer.settled;
		s->needed[i] = answer.needed;
		if (s->keys) {
			s->keys[i] = answer.key;
			s->ways[i] = way_of(&answer);
		}
		s->possible |= answer.verdict != SHAPE_NO;
		s->always &= answer.verdict == SHAPE_NO    ? UINT8_MAX
			     : answer.verdict == SHAPE_ASK ? answer.needed
							   : 0;
	}
	shape_answers_done(&answers);
	return r;
}

int column_shapes_new(const struct column_query *q, const struct column_filter *drivers,
		      struct segment *segment, struct column_shapes **ret_shapes)
{
	struct column_shapes *s = calloc(1, sizeof(*s));
	struct asking asking = {.shapes = s, .drivers = drivers};
	struct expr_memo *memo = NULL;
	uint32_t n = 0;
	int r = s ? segment_pin(segment, &s->tables) : -ENOMEM;

	if (r == 0) {
		s->segment = segment;
		s->query = q;
		s->always = UINT8_MAX;
		n = tables_shapes(s->tables)->n;
		r = allocate(s, n);
	}
	if (r == 0)
		r = expr_memo_new(&memo);
	asking.env = (struct expr_env){
		.columns = asking.slots, .element = nothing, .arena = &asking.arena, .memo = memo};
	for (uint32_t i = 0; r == 0 && i < q->leaf_n; i++) {
		place_leaf(s, i, q->leaves[i]);
		s->empty[i] = tables_has_empty(s->tables, LEVEL_BLOCK, s->key[i]);
	}
	if (r == 0)
		r = ask_all(s, &asking, n);
	expr_memo_free(memo);
	arena_done(&asking.arena);
	if (r < 0)
		column_shapes_free(s);
	else
		*ret_shapes = s;
	return r;
}

struct column_shapes *column_shapes_free(struct column_shapes *s)
{
	if (!s)
		return NULL;
	if (s->segment) {
		segment_unpin(s->segment);
		grouping_done(&s->groups);
		grouping_done(&s->halves);
	}
	arena_done(&s->arena);
	free(s);
	return NULL;
}
