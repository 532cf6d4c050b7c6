/* exec/trace_prune.c - which traces of a segment cannot answer, without reading them. */
#include "exec/trace_prune.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "exec/row_field.h"

/* --- what a plan begins with --- */

static void add_set(struct trace_prune *p, struct prune_set set)
{
	if (p->n < PRUNE_SETS)
		p->sets[p->n++] = set;
}

static void collect_sets(struct trace_prune *p, const struct plan_set *s)
{
	if (s->op == SET_FILTER)
		add_set(p, (struct prune_set){s, s->predicate, FROM_BLOCKS, SLICE("spans")});
	if (s->left)
		collect_sets(p, s->left);
	if (s->right)
		collect_sets(p, s->right);
}

static void collect(struct trace_prune *p, const struct plan_node *node)
{
	if (node->op == PLAN_SOURCE)
		add_set(p, (struct prune_set){node, node->source.predicate, node->source.kind,
					      node->source.name});
	if (node->op == PLAN_SPANSET)
		collect_sets(p, node->spanset.set);
	for (uint32_t i = 0; i < node->input_n; i++)
		collect(p, node->inputs[i]);
}

static bool about_spans(const struct plan_node *node);

int trace_prune_init(struct trace_prune *p, struct query_at *run, const struct plan_node *node)
{
	*p = (struct trace_prune){.run = run, .node = node};
	p->off = run->rules_off & RULE_PRUNE;
	p->about_spans = about_spans(node);
	collect(p, node);
	return expr_memo_new(&p->memo);
}

void trace_prune_done(struct trace_prune *p)
{
	free(p->masks);
	free(p->certain);
	free(p->plain);
	arena_done(&p->arena);
	p->memo = expr_memo_free(p->memo);
	if (p->segment)
		segment_unpin(p->segment);
	p->segment = NULL;
}

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
	uint32_t code;

	if (e->kind != X_ATTR || e->attr.of != OF_SELF || e->attr.scope != ATTR_SPAN || s->loose_n)
		return of_shape(context, e);
	code = tables_find(a->tables, e->attr.key);
	for (uint32_t i = 0; code != UINT32_MAX && i < s->entry_n; i++) {
		const struct shape_entry *entry = &shapes->entries[s->entry_first + i];

		if (entry->key != code)
			continue;
		if (entry->class != ENTRY_FIXED || entry->type != VALUE_STRING)
			return value_unknown();
		return value_text(tables_text(a->tables, (uint32_t)entry->value));
	}
	/* What a BEGIN does not say its END may. */
	return s->type == EVENT_SPAN ? value_nil() : value_unknown();
}

struct value prune_shape_value(const struct segment_tables *tables, const struct shape *shape,
			       struct slice tracepoint, const struct plan_expr *e,
			       struct arena *arena)
{
	struct asking a = {.tables = tables, .shape = shape, .name = tracepoint, .arena = arena};

	return of_entries(&a, e);
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
	a->name = set->name;
	v = expr_eval(&env, set->predicate);
	*ret_certain = !env.failed && v.type != V_UNKNOWN && value_is_true(v);
	return env.failed || v.type == V_UNKNOWN || value_is_true(v);
}

static int masks_make(struct trace_prune *p, const struct segment_tables *tables)
{
	const struct shapes *shapes = tables_shapes(tables);
	struct asking a = {.tables = tables, .arena = &p->arena};

	if (!vec_reserve(&p->masks, &p->mask_capacity, shapes->n + 1, sizeof(*p->masks)) ||
	    !vec_reserve(&p->certain, &p->certain_capacity, shapes->n + 1, sizeof(*p->certain)) ||
	    !vec_reserve(&p->plain, &p->plain_capacity, shapes->n + 1, sizeof(*p->plain)))
		return -ENOMEM;
	for (uint32_t i = 0; i < shapes->n; i++) {
		a.shape = &shapes->rows[i];
		p->masks[i] = p->certain[i] = 0;
		p->plain[i] = (uint8_t)plain_of(tables, a.shape);
		for (uint32_t s = 0; s < p->n; s++) {
			bool certain;

			if (set_possible(p, &a, &p->sets[s], &certain))
				p->masks[i] |= (uint64_t)1 << s;
			if (certain)
				p->certain[i] |= (uint64_t)1 << s;
		}
	}
	arena_clear(&p->arena);
	return 0;
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
		r = masks_make(p, tables);
	}
	return r < 0 ? r : group_shapes(g, &p->codes);
}

/* --- traces --- */

static bool has(const struct trace_prune *p, uint64_t mask, const void *key)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->sets[i].key == key)
			return mask >> i & 1;
	return true;
}

static bool set_may(const struct trace_prune *p, uint64_t mask, const struct plan_set *s)
{
	switch (s->op) {
	case SET_FILTER:
		return has(p, mask, s) && (!s->left || set_may(p, mask, s->left));
	case SET_HAVING:
		return set_may(p, mask, s->left);
	case SET_OR:
		return set_may(p, mask, s->left) || set_may(p, mask, s->right);
	case SET_AND:
		return set_may(p, mask, s->left) && set_may(p, mask, s->right);
	case SET_RELATION:
		return (s->form == REL_NOT || set_may(p, mask, s->left)) &&
		       set_may(p, mask, s->right);
	}
	return true;
}

static bool node_may(const struct trace_prune *p, uint64_t mask, const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SOURCE:
		return has(p, mask, node);
	case PLAN_SPANSET:
		return set_may(p, mask, node->spanset.set);
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
		return node_may(p, mask, node->inputs[0]);
	case PLAN_HBJOIN:
		return node_may(p, mask, node->inputs[0]) &&
		       ((node->hbjoin.join != PLAN_JOIN_INNER &&
			 node->hbjoin.join != PLAN_JOIN_SEMI) ||
			node_may(p, mask, node->inputs[1]));
	case PLAN_SEQUENCE:
		for (uint32_t i = 0; i < node->sequence.step_n; i++)
			if (!node->sequence.steps[i].absent &&
			    !node_may(p, mask, node->sequence.steps[i].input))
				return false;
		return true;
	case PLAN_UNION:
		for (uint32_t i = 0; i < node->input_n; i++)
			if (node_may(p, mask, node->inputs[i]))
				return true;
		return false;
	default:
		return true;
	}
}

/* Are the elements that the range is about spans?  They begin when their trace does or later, and
 * not after its end; points may lie anywhere. */
static bool about_spans(const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SPANSET:
		return true;
	case PLAN_SOURCE:
		return (node->source.kind == FROM_SPANS || node->source.kind == FROM_BLOCKS) &&
		       node->source.instant == INSTANT_BEGIN;
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
	case PLAN_HBJOIN: /* its partners may lie outside */
		return about_spans(node->inputs[0]);
	default:
		return false;
	}
}

/* No span of it begins in the range. */
static bool outside(const struct trace_prune *p, const struct group_piece *piece)
{
	const struct plan_range *r = &p->run->range;

	if (!p->about_spans || piece->start_ns <= 0 || piece->duration_ns < 0)
		return false;
	return (r->to_ns && piece->start_ns >= r->to_ns) ||
	       (r->from_ns && piece->duration_ns < r->from_ns - piece->start_ns);
}

bool trace_prune_possible(const struct trace_prune *p, const struct group_piece *piece)
{
	uint64_t mask = 0;

	if (p->off)
		return true;
	if (outside(p, piece))
		return false;
	for (uint32_t i = piece->first; i < piece->first + piece->rows; i++)
		mask |= p->masks[p->codes[i]];
	return node_may(p, mask, p->node);
}
