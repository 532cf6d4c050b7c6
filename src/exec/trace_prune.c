/* exec/trace_prune.c - which traces of a segment cannot answer, without reading them. */
#include "exec/trace_prune.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "exec/row_field.h"

/* --- what a plan begins with --- */

/* 1: something but the name of the row itself is asked for. */
static int beyond_name(void *context, const struct plan_expr *e)
{
	(void)context;
	switch (e->kind) {
	case X_FIELD:
		return e->field.field != F_NAME || e->field.of != OF_SELF;
	case X_CONST:
	case X_OP:
	case X_LIST:
		return 0;
	default:
		return 1;
	}
}

static bool list_parts(struct prune_set *set, const struct plan_expr *e, bool named)
{
	bool by_name;

	if (e->kind == X_OP && e->op == XO_AND) {
		for (uint32_t i = 0; i < e->n; i++)
			if (!list_parts(set, e->args[i], named))
				return false;
		return true;
	}
	by_name = expr_walk(e, beyond_name, NULL) == 0;
	if (by_name != named)
		return true;
	if (set->part_n == PRUNE_PARTS)
		return false;
	set->parts[set->part_n++] = e;
	set->name_n += named;
	return true;
}

static void add_set(struct trace_prune *p, struct prune_set set)
{
	if (p->n == PRUNE_SETS)
		return;
	if (set.predicate &&
	    (!list_parts(&set, set.predicate, true) || !list_parts(&set, set.predicate, false)))
		set.name_n = 0;
	p->sets[p->n++] = set;
}

static void collect_sets(struct trace_prune *p, const struct plan_set *s)
{
	if (s->op == SET_FILTER)
		add_set(p, (struct prune_set){.key = s,
					      .predicate = s->predicate,
					      .kind = FROM_BLOCKS,
					      .name = SLICE("spans")});
	if (s->left)
		collect_sets(p, s->left);
	if (s->right)
		collect_sets(p, s->right);
}

static void collect(struct trace_prune *p, const struct plan_node *node)
{
	if (node->op == PLAN_SOURCE)
		add_set(p, (struct prune_set){.key = node,
					      .predicate = node->source.predicate,
					      .kind = node->source.kind,
					      .name = node->source.name});
	if (node->op == PLAN_SPANSET)
		collect_sets(p, node->spanset.set);
	for (uint32_t i = 0; i < node->input_n; i++)
		collect(p, node->inputs[i]);
}

static int about_spans(const struct trace_prune *p, const struct plan_node *node);

int trace_prune_init(struct trace_prune *p, struct query_at *run, const struct plan_node *node)
{
	int about;

	*p = (struct trace_prune){.run = run, .node = node};
	p->off = run->rules_off & RULE_PRUNE;
	about = about_spans(p, node);
	if (about < 0)
		return about;
	p->about_spans = about;
	collect(p, node);
	p->may = malloc(SEGMENT_GROUP_ROWS * sizeof(*p->may));
	p->is = malloc(SEGMENT_GROUP_ROWS * sizeof(*p->is));
	return p->may && p->is ? expr_memo_new(&p->memo) : -ENOMEM;
}

void trace_prune_done(struct trace_prune *p)
{
	free(p->masks);
	free(p->certain);
	free(p->named);
	free(p->may);
	free(p->is);
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
	/* Where the name varies and nothing else is asked for, nothing is known. */
	if (set->name_n && set->name_n == set->part_n && a->shape->name == NAME_VARIES)
		return true;
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

static int masks_make(struct trace_prune *p, const struct segment_tables *tables)
{
	const struct shapes *shapes = tables_shapes(tables);
	struct asking a = {.tables = tables, .arena = &p->arena};

	if (!vec_reserve(&p->masks, &p->mask_capacity, shapes->n + 1, sizeof(*p->masks)) ||
	    !vec_reserve(&p->certain, &p->certain_capacity, shapes->n + 1, sizeof(*p->certain)) ||
	    !vec_reserve(&p->named, &p->named_capacity, shapes->n + 1, sizeof(*p->named)) ||
	    !vec_reserve(&p->plain, &p->plain_capacity, shapes->n + 1, sizeof(*p->plain)))
		return -ENOMEM;
	for (uint32_t i = 0; i < shapes->n; i++) {
		a.shape = &shapes->rows[i];
		p->masks[i] = p->certain[i] = p->named[i] = 0;
		p->plain[i] = (uint8_t)plain_of(tables, a.shape);
		for (uint32_t s = 0; s < p->n; s++) {
			bool certain;

			if (!set_possible(p, &a, &p->sets[s], &certain))
				continue;
			p->masks[i] |= (uint64_t)1 << s;
			if (certain)
				p->certain[i] |= (uint64_t)1 << s;
			else if (set_named(p, &a, &p->sets[s]))
				p->named[i] |= (uint64_t)1 << s;
		}
	}
	arena_clear(&p->arena);
	return 0;
}

/* --- rows --- */

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
		n.may |= (uint64_t)(holds || env.failed) << s;
		n.is |= (uint64_t)(holds && !env.failed) << s;
	}
	arena_clear(&p->arena);
	return n;
}

/* Rows whose shape leaves it to the name. */
static int ask_names(struct trace_prune *p, struct segment_group *g)
{
	const struct group_column *names;
	int r = group_column(g, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &names);

	for (uint32_t i = 0; r == 0 && i < names->n; i++) {
		uint32_t row = names->rows[i], text = names->codes ? names->codes[i] : i;
		uint64_t open = p->named[p->codes[row]];
		uint64_t key = p->serial << 32 | text;
		struct prune_name *n = &p->names[text % PRUNE_NAMES];

		if (!open)
			continue;
		if (n->key != key)
			*n = name_asked(p, key, column_text(names, i));
		p->may[row] &= n->may | ~open;
		p->is[row] |= n->is & open;
	}
	return r == -ENOENT ? 0 : r;
}

static int rows_make(struct trace_prune *p, struct segment_group *g)
{
	uint32_t rows = group_zone(g)->rows;
	uint64_t open = 0;
	int r = group_shapes(g, &p->codes);

	if (r < 0)
		return r;
	if (rows > SEGMENT_GROUP_ROWS)
		return -EBADMSG;
	p->serial++;
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t code = p->codes[i];

		p->may[i] = p->masks[code];
		p->is[i] = p->certain[code];
		open |= p->named[code];
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
		r = masks_make(p, tables);
	}
	return r < 0 ? r : rows_make(p, g);
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
 * not after its end; points may lie anywhere.  So does a trace, unless its blocks came as events of
 * their own.  1, 0, or a negative errno. */
static int about_spans(const struct trace_prune *p, const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SPANSET:
		return 1;
	case PLAN_SOURCE:
		if (node->source.instant != INSTANT_BEGIN)
			return 0;
		if (node->source.kind == FROM_TRACES)
			return snapshot_is_plain(p->run->options->snapshot);
		return node->source.kind == FROM_SPANS || node->source.kind == FROM_BLOCKS;
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
	case PLAN_HBJOIN: /* its partners may lie outside */
		return about_spans(p, node->inputs[0]);
	default:
		return 0;
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

bool trace_prune_segment(const struct trace_prune *p, const struct segment *segment)
{
	return p->off || !p->about_spans || query_meets(p->run, segment);
}

bool trace_prune_zone(const struct trace_prune *p, const struct group_zone *zone)
{
	const struct plan_range *r = &p->run->range;

	/* A trace without a time counts as 0, and one that goes on has its times elsewhere. */
	if (p->off || !p->about_spans || zone->start_min_ns <= 0 || zone->continues ||
	    zone->continued || zone->duration_max_ns < 0)
		return true;
	return !((r->to_ns && zone->start_min_ns >= r->to_ns) ||
		 (r->from_ns && zone->start_max_ns < r->from_ns &&
		  zone->duration_max_ns < r->from_ns - zone->start_max_ns));
}

bool trace_prune_possible(const struct trace_prune *p, const struct group_piece *piece)
{
	uint64_t mask = 0;

	if (p->off)
		return true;
	if (outside(p, piece))
		return false;
	for (uint32_t i = piece->first; i < piece->first + piece->rows; i++)
		mask |= p->may[i];
	return node_may(p, mask, p->node);
}
