/* exec/column_shapes.c - what a query over columns knows of a segment before looking at rows. */
#include "exec/column_shapes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/attr_value.h"
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
static struct value entry_of(struct column_shapes *s, const struct shape *shape, uint32_t key,
			     struct value *ret_absent)
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
			v = entry_value(s->tables, e, &s->arena);
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

static struct value resource_attr(struct column_shapes *s, const struct shape *shape,
				  struct slice key)
{
	const struct batch *b = tables_batch(s->tables);

	return range_attr(b, b->resources[shape->resource].attrs, key, &s->arena);
}

/* An attribute of the span or, failing that, of its resource. */
static struct value leaf_attr(struct column_shapes *s, const struct shape *shape, uint32_t i,
			      enum plan_scope scope, struct slice key, struct value *ret_absent)
{
	const struct batch *b = tables_batch(s->tables);
	struct value v = value_nil();

	*ret_absent = v;
	if (scope == ATTR_INSTRUMENTATION)
		return range_attr(b, b->scopes[shape->scope].attrs, key, &s->arena);
	if (scope == ATTR_RESOURCE)
		return resource_attr(s, shape, key);
	v = entry_of(s, shape, s->key[i], ret_absent);
	if (scope == ATTR_SPAN)
		return v;
	if (value_is_nil(*ret_absent))
		*ret_absent = resource_attr(s, shape, key);
	return value_is_nil(v) ? *ret_absent : v;
}

static struct value non_empty(struct slice text)
{
	return text.n ? value_text(text) : value_nil();
}

static struct value leaf_field(struct column_shapes *s, const struct column_query *q,
			       const struct shape *shape, uint32_t i, struct value *ret_absent)
{
	const struct batch *b = tables_batch(s->tables);
	enum plan_field field = q->leaves[i]->field.field;

	*ret_absent = value_nil();
	switch (field) {
	case F_NAME:
		if (shape->name != NAME_VARIES)
			return value_text(tables_text(s->tables, shape->name));
		*ret_absent = value_text(SLICE(""));
		return entry_of(s, shape, FIELD_NAME, ret_absent);
	case F_STATUS_MESSAGE:
		return entry_of(s, shape, FIELD_STATUS_MESSAGE, ret_absent);
	case F_THREAD_ID:
		return leaf_attr(s, shape, i, ATTR_ANY, SLICE("thread.id"), ret_absent);
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
			&s->arena);
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

static void ask_shape(struct column_shapes *s, const struct column_query *q, uint32_t number,
		      struct expr_env *env)
{
	const struct shape *shape = &tables_shapes(s->tables)->rows[number];
	struct value *slots = &s->slots[(size_t)number * s->slot_n];
	struct value *absent = &s->absent[(size_t)number * s->leaf_n];
	struct value *outputs = &s->outputs[(size_t)number * s->output_n];
	bool settled = true;

	if (shape->type != EVENT_SPAN)
		return; /* SHAPE_NO */
	for (uint32_t i = 0; i < s->leaf_n; i++)
		slots[q->unnest_n + i] = q->leaves[i]->kind == X_ATTR
						 ? leaf_attr(s, shape, i, q->leaves[i]->attr.scope,
							     q->leaves[i]->attr.key, &absent[i])
						 : leaf_field(s, q, shape, i, &absent[i]);
	env->columns = slots;
	for (uint32_t i = 0; i < q->unnest_n; i++)
		slots[i] = value_unknown();
	s->verdicts[number] = q->where ? verdict_of(expr_eval(env, q->where)) : SHAPE_YES;
	if (s->verdicts[number] == SHAPE_NO)
		return;
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
	for (uint32_t i = 0; i < s->output_n; i++) {
		outputs[i] = q->outputs[i] ? expr_eval(env, q->outputs[i]) : value_nil();
		if (i < q->key_n)
			settled &= outputs[i].type != V_UNKNOWN;
	}
	s->settled[number] = settled;
	s->possible |= s->verdicts[number] != SHAPE_NO;
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

static bool allocate(struct column_shapes *s, const struct column_query *q, uint32_t n)
{
	struct arena *a = &s->arena;

	s->leaf_n = q->leaf_n;
	s->slot_n = q->unnest_n + q->leaf_n;
	s->output_n = q->output_n;
	s->verdicts = arena_zalloc(a, n + 1, 1);
	s->settled = arena_zalloc(a, n + 1, 1);
	s->slots = arena_zalloc(a, (size_t)n * s->slot_n + 1, sizeof(struct value));
	s->absent = arena_zalloc(a, (size_t)n * s->leaf_n + 1, sizeof(struct value));
	s->outputs = arena_zalloc(a, (size_t)n * s->output_n + 1, sizeof(struct value));
	return s->verdicts && s->settled && s->slots && s->absent && s->outputs;
}

int column_shapes_new(const struct column_query *q, struct segment *segment,
		      struct column_shapes **ret_shapes)
{
	struct column_shapes *s = calloc(1, sizeof(*s));
	struct expr_memo *memo = NULL;
	struct expr_env env = {.element = nothing};
	uint32_t n;
	int r;

	if (!s)
		return -ENOMEM;
	r = segment_pin(segment, &s->tables);
	if (r == 0) {
		s->segment = segment;
		n = tables_shapes(s->tables)->n;
		r = allocate(s, q, n) ? expr_memo_new(&memo) : -ENOMEM;
	}
	if (r < 0) {
		column_shapes_free(s);
		return r;
	}
	env.arena = &s->arena;
	env.memo = memo;
	for (uint32_t i = 0; i < s->leaf_n; i++)
		place_leaf(s, i, q->leaves[i]);
	for (uint32_t i = 0; i < n; i++) {
		ask_shape(s, q, i, &env);
		s->weighted |= is_weighted(s, &tables_shapes(s->tables)->rows[i]);
	}
	expr_memo_free(memo);
	if (env.failed < 0) {
		column_shapes_free(s);
		return env.failed;
	}
	*ret_shapes = s;
	return 0;
}

struct column_shapes *column_shapes_free(struct column_shapes *s)
{
	if (!s)
		return NULL;
	if (s->segment)
		segment_unpin(s->segment);
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
