/* exec/prune_rows.c - which sets of a plan each row of a group may be in: by its shape, and by its
 * name where that is all that is open. */
#include <errno.h>

#include "base/vec.h"
#include "exec/row_field.h"
#include "exec/trace_prune.h"

/* --- shapes --- */

struct asking {
	const struct segment_tables *tables;
	const struct shape *shape;
	struct slice name; /* of the source */
	struct arena *arena;
};

/* What a shape alone says; everything else is unknown. */
static struct value of_shape(void *context, const struct plan_expr *e)
{
	const struct asking *a = context;
	const struct batch *b = tables_batch(a->tables);
	const struct resource *resource = &b->resources[a->shape->resource];

	if (e->kind == X_ATTR && e->attr.of == OF_SELF && e->attr.scope == ATTR_RESOURCE)
		return range_attr(b, resource->attrs, e->attr.key, a->arena);
	if (e->kind != X_FIELD || e->field.of != OF_SELF)
		return value_unknown();
	switch (e->field.field) {
	case F_NAME:
		return a->shape->name == NAME_VARIES
			       ? value_unknown()
			       : value_text(tables_text(a->tables, a->shape->name));
	case F_KIND:
		return value_of(V_KIND, a->shape->kind);
	case F_STATUS: /* of what began without an end it comes later */
		return a->shape->type == EVENT_SPAN ? value_of(V_STATUS, a->shape->status)
						    : value_unknown();
	case F_SERVICE:
	case F_PROC_NAME:
		return resource_field(b, resource, SLICE(""), e->field.field, a->arena);
	case F_TRACEPOINT:
		return value_text(a->name);
	default:
		return value_unknown();
	}
}

/* Attributes of a shape with the key FIXED, or without it. */
static struct value of_entries(void *context, const struct plan_expr *e)
{
	const struct asking *a = context;
	const struct shapes *shapes = tables_shapes(a->tables);
	const struct shape *s = a->shape;
	const struct shape_entry *found = NULL;
	uint32_t code;

	if (e->kind != X_ATTR || e->attr.of != OF_SELF || e->attr.scope != ATTR_SPAN || s->loose_n)
		return of_shape(context, e);
	code = tables_find(a->tables, e->attr.key);
	for (uint32_t i = 0; code != UINT32_MAX && i < s->entry_n; i++) {
		const struct shape_entry *entry = &shapes->entries[s->entry_first + i];

		if (entry->key != code)
			continue;
		if (found || entry->class != ENTRY_FIXED || entry->type != VALUE_STRING)
			return value_unknown();
		found = entry;
	}
	if (found)
		return value_text(tables_text(a->tables, (uint32_t)found->value));
	/* What a BEGIN does not say its END may. */
	return s->type == EVENT_SPAN ? value_nil() : value_unknown();
}

/* A span like any other: nobody says how its trace was sampled. */
static enum prune_plain plain_of(const struct segment_tables *t, const struct shape *s)
{
	const struct shapes *shapes = tables_shapes(t);

	if (tables_threshold(t, s->resource) != 0)
		return PLAIN_NOT;
	if (s->type == EVENT_POINT || s->type == EVENT_LOG)
		return PLAIN_POINT;
	for (uint32_t i = 0; i < s->entry_n; i++)
		if (shapes->entries[s->entry_first + i].key == FIELD_TRACE_STATE)
			return PLAIN_NOT;
	return s->type == EVENT_SPAN && !(s->bits & EVENT_SHARED) ? PLAIN_SPAN : PLAIN_NOT;
}

/* Can a row of the shape be an element of the kind? */
static bool kind_possible(const struct shape *s, enum plan_source kind)
{
	bool block = shape_is_block(s);

	switch (kind) {
	case FROM_SPANS:
		return s->type == EVENT_SPAN;
	case FROM_BLOCKS:
		return block || s->type == EVENT_END;
	case FROM_EVENTS:
		return s->type != EVENT_LINK && s->type != EVENT_UNIT && s->type != EVENT_COUNTER;
	case FROM_POINTS:
		return !block && s->type != EVENT_END && s->type != EVENT_LINK &&
		       s->type != EVENT_UNIT && s->type != EVENT_COUNTER;
	case FROM_COUNTERS:
		return s->type == EVENT_COUNTER;
	default: /* edges, units, traces are made of several rows */
		return true;
	}
}

/* --- names --- */

static struct value of_name(void *context, const struct plan_expr *e)
{
	(void)e;
	return value_text(*(const struct slice *)context);
}

/* The sets whose parts about the name are true for this one; who fails here is asked again. */
static struct prune_name name_asked(struct trace_prune *p, uint64_t key, struct slice name)
{
	struct prune_name n = {.key = key};

	for (uint32_t s = 0; s < p->n; s++) {
		struct expr_env env = {
			.element = of_name, .context = &name, .arena = &p->arena, .memo = p->memo};
		bool holds = true;

		for (uint32_t i = 0; holds && i < p->sets[s].name_n; i++)
			holds = value_is_true(expr_eval(&env, p->sets[s].parts[i]));
		n.may |= (prune_mask)((holds || env.failed) << s);
		n.is |= (prune_mask)((holds && !env.failed) << s);
	}
	arena_clear(&p->arena);
	return n;
}

/* What was asked of a name of a column: `of` says whose code it is. */
static const struct prune_name *name_verdict(struct trace_prune *p, uint64_t of, uint32_t code,
					     struct slice name)
{
	struct prune_name *n = &p->names[code % PRUNE_NAMES];
	uint64_t key = of << 32 | code;

	if (n->key != key)
		*n = name_asked(p, key, name);
	return n;
}

/* --- sets of a shape --- */

static bool set_possible(struct trace_prune *p, struct asking *a, const struct prune_set *set,
			 bool *ret_certain)
{
	struct expr_env env = {
		.element = of_entries, .context = a, .arena = &p->arena, .memo = p->memo};
	struct value v;

	*ret_certain = false;
	if (!kind_possible(a->shape, set->kind))
		return false;
	*ret_certain = !set->predicate && shape_is_block(a->shape);
	if (!set->predicate || set->kind == FROM_EDGES || set->kind == FROM_UNITS ||
	    set->kind == FROM_TRACES || set->kind == FROM_COUNTERS ||
	    (!shape_is_block(a->shape) && a->shape->type != EVENT_POINT))
		return true;
	if (set->name_n && set->name_n == set->part_n) {
		const struct prune_name *n;

		/* Where the name varies and nothing else is asked for, nothing is known. */
		if (a->shape->name == NAME_VARIES)
			return true;
		n = name_verdict(p, p->segment_serial, a->shape->name,
				 tables_text(a->tables, a->shape->name));
		*ret_certain = n->is >> (set - p->sets) & 1;
		return n->may >> (set - p->sets) & 1;
	}
	a->name = set->name;
	v = expr_eval(&env, set->predicate);
	*ret_certain = !env.failed && v.type != V_UNKNOWN && value_is_true(v);
	return env.failed || v.type == V_UNKNOWN || value_is_true(v);
}

/* Of a set that may have rows of the shape: is everything but the name settled? */
static bool set_named(struct trace_prune *p, struct asking *a, const struct prune_set *set)
{
	struct expr_env env = {
		.element = of_entries, .context = a, .arena = &p->arena, .memo = p->memo};

	if (set->name_n == 0 || !shape_is_block(a->shape) || a->shape->name != NAME_VARIES)
		return false;
	a->name = set->name;
	for (uint32_t i = set->name_n; i < set->part_n; i++) {
		struct value v = expr_eval(&env, set->parts[i]);

		if (env.failed || v.type == V_UNKNOWN || !value_is_true(v))
			return false;
	}
	return true;
}

static int shapes_make(struct trace_prune *p, const struct segment_tables *tables)
{
	const struct shapes *shapes = tables_shapes(tables);
	struct asking a = {.tables = tables, .arena = &p->arena};

	if (!vec_reserve(&p->shapes, &p->shape_capacity, shapes->n + 1, sizeof(*p->shapes)))
		return -ENOMEM;
	for (uint32_t i = 0; i < shapes->n; i++) {
		struct prune_shape *to = &p->shapes[i];

		a.shape = &shapes->rows[i];
		*to = (struct prune_shape){.plain = (uint8_t)plain_of(tables, a.shape)};
		for (uint32_t s = 0; s < p->n; s++) {
			bool certain;

			if (!set_possible(p, &a, &p->sets[s], &certain))
				continue;
			to->may |= (prune_mask)(1 << s);
			if (certain)
				to->is |= (prune_mask)(1 << s);
			else if (set_named(p, &a, &p->sets[s]))
				to->named |= (prune_mask)(1 << s);
		}
	}
	arena_clear(&p->arena);
	return 0;
}

/* --- rows --- */

/* Rows whose shape leaves it to the name. */
static int ask_names(struct trace_prune *p, struct segment_group *g)
{
	const struct group_column *names;
	int r = group_column(g, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &names);

	for (uint32_t i = 0; r == 0 && i < names->n; i++) {
		uint32_t row = names->rows[i], text = names->codes ? names->codes[i] : i;
		prune_mask open = p->shapes[p->codes[row]].named;
		const struct prune_name *n;

		if (!open)
			continue;
		n = name_verdict(p, names->by_code ? p->segment_serial : p->serial, text,
				 column_text(names, i));
		p->may[row] &= (prune_mask)(n->may | ~open);
		p->is[row] |= n->is & open;
	}
	return r == -ENOENT ? 0 : r;
}

static int rows_make(struct trace_prune *p, struct segment_group *g)
{
	uint32_t rows = group_zone(g)->rows;
	prune_mask open = 0;
	int r = group_shapes(g, &p->codes);

	if (r < 0)
		return r;
	if (rows > SEGMENT_GROUP_ROWS)
		return -EBADMSG;
	p->serial++;
	for (uint32_t i = 0; i < rows; i++) {
		const struct prune_shape *shape = &p->shapes[p->codes[i]];

		p->may[i] = shape->may;
		p->is[i] = shape->is;
		open |= shape->named;
	}
	return open ? ask_names(p, g) : 0;
}

int trace_prune_group(struct trace_prune *p, struct segment_group *g)
{
	const struct segment_tables *tables;
	int r = 0;

	if (p->off)
		return 0;
	if (p->segment != group_segment(g)) {
		if (p->segment)
			segment_unpin(p->segment);
		p->segment = NULL;
		r = segment_pin(group_segment(g), &tables);
		if (r < 0)
			return r;
		p->segment = group_segment(g);
		p->segment_serial = ++p->serial;
		r = shapes_make(p, tables);
	}
	return r < 0 ? r : rows_make(p, g);
}
