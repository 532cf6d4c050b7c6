/* exec/column_shapes.c - what a query over columns knows of a segment before looking at rows. */
#include "exec/column_shapes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/attr_value.h"
#include "exec/column_filter.h"
#include "exec/row_field.h"

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

void column_shapes_slots(const struct column_shapes *s, uint32_t number, struct arena *arena,
			 struct value *slots, struct value *absent)
{
	const struct column_query *q = s->query;
	const struct shape *shape = &tables_shapes(s->tables)->rows[number];

	for (uint32_t i = 0; i < q->leaf_n; i++)
		slots[i] = q->leaves[i]->kind == X_ATTR
				   ? leaf_attr(s, shape, i, q->leaves[i]->attr.scope,
					       q->leaves[i]->attr.key, arena, &absent[i])
				   : leaf_field(s, shape, i, arena, &absent[i]);
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
static int settle_half(struct column_shapes *s, uint32_t number, struct value *keys,
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
	    slots[q->unnest_n + leaf].type != V_UNKNOWN || !value_is_nil(absent[leaf]))
		return 0;
	for (uint32_t i = 0; i < q->unnest_n; i++)
		if (slots[i].type == V_UNKNOWN &&
		    (q->unnest[i]->kind != X_COLUMN || q->unnest[i]->column != q->unnest_n + leaf))
			return 0;
	keys[0] = value_int(leaf);
	keys[1] = value_int(open);
	keys[2 + open] = value_nil();
	s->settled[number] = SHAPE_HALF;
	return grouping_find(&s->halves, keys, &s->keys[number]);
}

/* Where the shape's keys are all known, and nothing else is open, it has its group. */
static int settle(struct column_shapes *s, uint32_t number, struct expr_env *env, bool settled,
		  const struct value *absent)
{
	const struct column_query *q = s->query;
	struct value keys[GROUPING_KEYS_MOST + 2];

	if ((q->kind != COLUMN_GROUP && q->kind != COLUMN_SERIES) ||
	    q->key_n + 2 > GROUPING_KEYS_MOST || s->verdicts[number] != SHAPE_YES)
		return 0;
	for (uint32_t i = 0; i < q->key_n; i++) {
		keys[2 + i] = expr_eval(env, q->outputs[i]);
		settled &= keys[2 + i].type != V_UNKNOWN;
	}
	if (!settled)
		return settle_half(s, number, keys, env->columns, absent);
	s->settled[number] = SHAPE_SETTLED;
	return grouping_find(&s->groups, keys + 2, &s->keys[number]);
}

static int ask_shape(struct column_shapes *s, const struct column_filter *drivers, uint32_t number,
		     struct expr_env *env)
{
	const struct column_query *q = s->query;
	struct value slots[COLUMN_SLOTS_MOST], absent[COLUMN_SLOTS_MOST];
	bool settled = true;

	if (tables_shapes(s->tables)->rows[number].type != EVENT_SPAN)
		return 0; /* SHAPE_NO */
	column_shapes_slots(s, number, env->arena, slots + q->unnest_n, absent);
	env->columns = slots;
	for (uint32_t i = 0; i < q->unnest_n; i++)
		slots[i] = value_unknown();
	s->verdicts[number] = q->where ? verdict_of(expr_eval(env, q->where)) : SHAPE_YES;
	if (s->verdicts[number] == SHAPE_NO)
		return 0;
	for (uint32_t i = 0; i < q->unnest_n; i++) {
		slots[i] = expr_eval(env, q->unnest[i]);
		if (slots[i].type == V_LIST)
			slots[i] = value_unknown();
		settled &= slots[i].type != V_UNKNOWN;
	}
	if (q->where_after) {
		uint8_t after = verdict_of(expr_eval(env, q->where_after));

		if (after == SHAPE_NO)
			s->verdicts[number] = SHAPE_NO;
		settled &= after == SHAPE_YES;
	}
	s->possible |= s->verdicts[number] != SHAPE_NO;
	if (s->verdicts[number] == SHAPE_ASK)
		s->needed[number] =
			column_filter_needed(drivers, s->place, slots + q->unnest_n, absent);
	return settle(s, number, env, settled, absent);
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
	s->keys = arena_alloc(a, ((size_t)n + 1) * sizeof(*s->keys));
	if (!s->verdicts || !s->settled || !s->needed || !s->keys)
		return -ENOMEM;
	if (s->query->key_n + 2 > GROUPING_KEYS_MOST)
		return 0;
	grouping_init(&s->halves, s->query->key_n + 2, NULL, 0, NULL);
	return grouping_init(&s->groups, s->query->key_n, NULL, 0, NULL);
}

#define ARENA_BYTES (1 << 18) /* of lists made while shapes are asked, before it is cleared */

int column_shapes_new(const struct column_query *q, const struct column_filter *drivers,
		      struct segment *segment, struct column_shapes **ret_shapes)
{
	struct column_shapes *s = calloc(1, sizeof(*s));
	struct expr_memo *memo = NULL;
	struct arena arena = {0};
	struct expr_env env = {.element = nothing, .arena = &arena};
	uint32_t n = 0;
	int r = s ? segment_pin(segment, &s->tables) : -ENOMEM;

	if (r == 0) {
		s->segment = segment;
		s->query = q;
		n = tables_shapes(s->tables)->n;
		r = allocate(s, n);
	}
	if (r == 0)
		r = expr_memo_new(&memo);
	env.memo = memo;
	for (uint32_t i = 0; r == 0 && i < q->leaf_n; i++)
		place_leaf(s, i, q->leaves[i]);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		r = ask_shape(s, drivers, i, &env);
		s->weighted |= is_weighted(s, &tables_shapes(s->tables)->rows[i]);
		s->timeless |= !tables_shapes(s->tables)->rows[i].has_time;
		if (arena.bytes > ARENA_BYTES)
			arena_clear(&arena);
		if (r == 0)
			r = env.failed;
	}
	expr_memo_free(memo);
	arena_done(&arena);
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

int segment_has_native(struct segment *segment)
{
	const struct segment_tables *tables;
	int r = segment_pin(segment, &tables);

	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < tables_shapes(tables)->n; i++) {
		uint8_t type = tables_shapes(tables)->rows[i].type;

		/* A POINT of a span stands right behind it and belongs to it; one of a block that
		 * came as nothing else makes a block of its own, but then its format is native. */
		r = type == EVENT_BEGIN || type == EVENT_END ||
		    tables_shapes(tables)->rows[i].format == FORMAT_NATIVE;
	}
	segment_unpin(segment);
	return r;
}
