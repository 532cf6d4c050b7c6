/* exec/light_trace.c - a trace of plain spans as its columns have it. */
#include "exec/light_trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "exec/row_field.h"

#define LIGHT_SPANS_MOST 256 /* in one trace */

void light_trace_done(struct light_trace *l)
{
	free(l->trace.blocks);
	free(l->rows);
	free(l->name_at);
	free(l->processes);
	light_attrs_done(l);
	*l = (struct light_trace){0};
}

bool light_plan(const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SOURCE:
		return (node->source.kind == FROM_SPANS || node->source.kind == FROM_BLOCKS ||
			node->source.kind == FROM_EVENTS) &&
		       node->source.instant == INSTANT_BEGIN;
	case PLAN_SPANSET:
		return true;
	case PLAN_HBJOIN:
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
	case PLAN_UNION:
		for (uint32_t i = 0; i < node->input_n; i++)
			if (!light_plan(node->inputs[i]))
				return false;
		return true;
	default:
		return false;
	}
}

int light_group(struct light_trace *l, struct trace_prune *prune, struct segment_group *g)
{
	int r;

	l->prune = prune;
	l->group = g;
	l->serial++;
	l->tables = group_tables(g);
	l->codes = prune->codes;
	l->times = l->durations = NULL;
	l->names = NULL;
	r = group_ids(g, &l->ids);
	return r == 0 ? group_parents(g, &l->parents) : r;
}

/* --- the tree --- */

#define NONE        UINT16_MAX
#define FEW         24   /* up to so many are found by looking at each */
#define TABLE_SLOTS 1024 /* a power of two, some times LIGHT_SPANS_MOST */

/* The spans of a piece, in the order of their rows. */
struct gathered {
	uint32_t n;
	uint32_t row[LIGHT_SPANS_MOST];
	uint64_t id[LIGHT_SPANS_MOST];
	uint16_t parent[LIGHT_SPANS_MOST];
	uint16_t first[LIGHT_SPANS_MOST], next[LIGHT_SPANS_MOST]; /* children */
	uint16_t block[LIGHT_SPANS_MOST];
	uint16_t roots;
};

static int gather(struct light_trace *l, const struct group_piece *piece, struct gathered *s)
{
	s->n = 0;
	l->points = false;
	for (uint32_t row = piece->first; row < piece->first + piece->rows; row++) {
		enum prune_plain plain = (enum prune_plain)l->prune->plain[l->codes[row]];

		if (plain == PLAIN_POINT) {
			l->points = true;
			continue;
		}
		if (plain != PLAIN_SPAN || s->n == LIGHT_SPANS_MOST || l->ids[row] == 0)
			return -EAGAIN;
		s->row[s->n] = row;
		s->id[s->n++] = l->ids[row];
	}
	return 0;
}

/* Everybody's parent; a span whose parent never came is a root.  -EAGAIN: an id came twice. */
static int parents_few(const struct light_trace *l, struct gathered *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t up = l->parents[s->row[i]];

		s->parent[i] = NONE;
		for (uint32_t k = 0; k < s->n; k++) {
			if (s->id[k] == s->id[i] && k != i)
				return -EAGAIN;
			if (s->id[k] == up)
				s->parent[i] = (uint16_t)k;
		}
	}
	return 0;
}

static uint32_t slot_of(uint64_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ULL) >> 54) & (TABLE_SLOTS - 1);
}

static int parents_many(const struct light_trace *l, struct gathered *s)
{
	uint16_t table[TABLE_SLOTS];

	memset(table, 0xff, sizeof(table));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t at = slot_of(s->id[i]);

		for (; table[at] != NONE; at = (at + 1) & (TABLE_SLOTS - 1))
			if (s->id[table[at]] == s->id[i])
				return -EAGAIN;
		table[at] = (uint16_t)i;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t up = l->parents[s->row[i]];

		s->parent[i] = NONE;
		for (uint32_t at = slot_of(up); up && table[at] != NONE;
		     at = (at + 1) & (TABLE_SLOTS - 1))
			if (s->id[table[at]] == up)
				s->parent[i] = table[at];
	}
	return 0;
}

/* Blocks in pre-order.  -EAGAIN: some are in a cycle. */
static int tree_order(struct light_trace *l, struct gathered *s)
{
	struct trace_block *blocks = l->trace.blocks;
	uint16_t at;
	uint32_t n = 0;

	s->roots = NONE;
	for (uint32_t i = 0; i < s->n; i++)
		s->first[i] = NONE;
	for (uint32_t i = s->n; i-- > 0;) {
		uint16_t *list = s->parent[i] == NONE ? &s->roots : &s->first[s->parent[i]];

		s->next[i] = *list;
		*list = (uint16_t)i;
	}
	for (at = s->roots; at != NONE;) {
		uint16_t up = s->parent[at];

		blocks[n] = (struct trace_block){.parent = TRACE_NONE, .last = n};
		if (up != NONE) {
			blocks[n].parent = s->block[up];
			blocks[n].depth = blocks[s->block[up]].depth + 1;
			blocks[s->block[up]].child_n++;
		}
		l->rows[n] = s->row[at];
		s->block[at] = (uint16_t)n++;
		if (s->first[at] != NONE) {
			at = s->first[at];
			continue;
		}
		while (at != NONE && s->next[at] == NONE)
			at = s->parent[at];
		if (at != NONE)
			at = s->next[at];
	}
	if (n != s->n)
		return -EAGAIN;
	for (uint32_t i = n; i-- > 0;) {
		uint32_t up = blocks[i].parent;

		if (up != TRACE_NONE && blocks[i].last > blocks[up].last)
			blocks[up].last = blocks[i].last;
	}
	l->trace.block_n = n;
	return 0;
}

int light_set(struct light_trace *l, struct trace_at *at, const struct group_piece *piece)
{
	struct gathered spans;
	int r = gather(l, piece, &spans);

	if (r == 0)
		r = spans.n <= FEW ? parents_few(l, &spans) : parents_many(l, &spans);
	if (r < 0)
		return r;
	if (!vec_reserve(&l->trace.blocks, &l->block_capacity, spans.n + 1,
			 sizeof(*l->trace.blocks)) ||
	    !vec_reserve(&l->rows, &l->row_capacity, spans.n + 1, sizeof(*l->rows)))
		return -ENOMEM;
	r = tree_order(l, &spans);
	if (r < 0)
		return r;
	trace_at_clear(at);
	at->light = l;
	at->trace = &l->trace;
	at->id = piece->id;
	at->refs = NULL;
	at->ref_n = 0;
	at->sample = (struct sample){.weight = 1, .trace = trace_number(piece->id)};
	return 0;
}

/* --- what is asked of it --- */

static const struct shape *shape_of(const struct light_trace *l, uint32_t block)
{
	return &tables_shapes(l->tables)->rows[l->codes[l->rows[block]]];
}

bool light_times(struct light_trace *l)
{
	if (!l->times &&
	    (group_times(l->group, &l->times) < 0 || group_durations(l->group, &l->durations) < 0))
		l->times = l->durations = NULL;
	return l->times && l->durations;
}

static bool need_names(struct light_trace *l)
{
	const struct group_column *names;

	if (l->names)
		return true;
	if (!l->name_at)
		l->name_at = malloc(SEGMENT_GROUP_ROWS * sizeof(*l->name_at));
	if (!l->name_at ||
	    group_column(l->group, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &names) < 0)
		return false;
	for (uint32_t i = 0; i < names->n; i++)
		l->name_at[names->rows[i]] = i; /* a row has one name */
	l->names = names;
	return true;
}

uint64_t light_time(const struct trace_at *at, struct element el)
{
	struct light_trace *l = at->light;

	return light_times(l) ? l->times[l->rows[el.index]] : 0;
}

uint64_t light_id(const struct trace_at *at, struct element el)
{
	return at->light->ids[at->light->rows[el.index]];
}

struct slice light_host(struct trace_at *at, struct element el)
{
	const struct light_trace *l = at->light;
	const struct shape *s = shape_of(l, el.index);
	const struct batch *b = tables_batch(l->tables);

	return value_slice(resource_field(
		b, &b->resources[s->resource],
		tables_text(l->tables, tables_sender(l->tables, s->resource)), F_HOST, &at->arena));
}

static struct value unknown(struct trace_at *at)
{
	if (at->env.failed == 0)
		at->env.failed = -EAGAIN;
	return value_nil();
}

static struct value non_empty(struct slice text)
{
	return text.n ? value_text(text) : value_nil();
}

static struct value attribute(struct trace_at *at, uint32_t block, const struct plan_expr *e);

static struct value own_field(struct trace_at *at, struct element el, enum plan_field field)
{
	struct light_trace *l = at->light;
	const struct trace_block *b = &l->trace.blocks[el.index];
	const struct shape *s = shape_of(l, el.index);
	const struct batch *batch = tables_batch(l->tables);
	uint32_t row = l->rows[el.index];

	switch (field) {
	case F_TRACEPOINT:
		return value_text(at->tracepoint);
	case F_KIND:
		return value_of(V_KIND, s->kind);
	case F_STATUS:
		return value_of(V_STATUS, s->status);
	case F_SCOPE_NAME:
		return non_empty(batch_text(batch, batch->scopes[s->scope].name));
	case F_SCOPE_VERSION:
		return non_empty(batch_text(batch, batch->scopes[s->scope].version));
	case F_SERVICE:
	case F_HOST:
	case F_PROC_ID:
	case F_PROC_NAME:
		return resource_field(batch, &batch->resources[s->resource],
				      tables_text(l->tables, tables_sender(l->tables, s->resource)),
				      field, &at->arena);
	case F_NESTED_LEFT:
	case F_NESTED_RIGHT:
	case F_NESTED_PARENT: /* the order of siblings depends on clocks */
		return unknown(at);
	case F_THREAD_ID: {
		const struct plan_expr e = {.kind = X_ATTR,
					    .attr = {ATTR_ANY, OF_SELF, SLICE("thread.id")}};

		return attribute(at, el.index, &e);
	}
	case F_TRACE_ID:
		return trace_id_value(at->id, &at->arena);
	case F_SPAN_ID:
		return span_id_value(l->ids[row], &at->arena);
	case F_PARENT_ID:
		return span_id_value(l->parents[row], &at->arena);
	case F_ELEMENT:
		return element_value(at->id, l->ids[row], &at->arena);
	case F_CHILD_COUNT:
		return value_int(b->child_n);
	case F_TIME:
	case F_START:
	case F_END:
	case F_DURATION:
		if (!light_times(l))
			return unknown(at);
		if ((field == F_END || field == F_DURATION) && !s->has_end)
			return value_nil();
		if (field == F_DURATION)
			return duration_value(l->times[row], l->times[row] + l->durations[row]);
		return time_value(l->times[row] + (field == F_END ? l->durations[row] : 0));
	case F_NAME:
		if (s->name != NAME_VARIES)
			return value_text(tables_text(l->tables, s->name));
		return need_names(l) ? value_text(column_text(l->names, l->name_at[row]))
				     : unknown(at);
	case F_TRACE_SPANS:
		return value_int((int64_t)l->trace.block_n);
	default:
		return unknown(at);
	}
}

static struct value attribute(struct trace_at *at, uint32_t block, const struct plan_expr *e)
{
	struct light_trace *l = at->light;
	const struct shape *s = shape_of(l, block);
	const struct batch *b = tables_batch(l->tables);
	struct value v = value_nil();
	int r = 0;

	switch (e->attr.scope) {
	case ATTR_INSTRUMENTATION:
		return range_attr(b, b->scopes[s->scope].attrs, e->attr.key, &at->arena);
	case ATTR_SPAN:
	case ATTR_ANY:
		r = light_attr(l, l->rows[block], e->attr.key, &at->arena, &v);
		break;
	case ATTR_RESOURCE:
		break;
	default: /* of points and links */
		return unknown(at);
	}
	if (r < 0) {
		at->env.failed = at->env.failed ? at->env.failed : r;
		return value_nil();
	}
	return e->attr.scope == ATTR_SPAN || !value_is_nil(v)
		       ? v
		       : range_attr(b, b->resources[s->resource].attrs, e->attr.key, &at->arena);
}

struct value light_value(struct trace_at *at, struct element el, const struct plan_expr *e)
{
	const struct light_trace *l = at->light;
	enum plan_of of = e->kind == X_ATTR ? e->attr.of : e->field.of;

	/* Which of several roots is the trace's own depends on clocks. */
	if (el.kind != ELEMENT_BLOCK || el.at_end ||
	    (of == OF_ROOT && l->trace.blocks[0].last + 1 != l->trace.block_n))
		return unknown(at);
	return e->kind == X_ATTR ? attribute(at, el.index, e) : own_field(at, el, e->field.field);
}

int light_set_number(const struct trace_at *at, const void *key)
{
	const struct trace_prune *p = at->light->prune;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->sets[i].key == key)
			return (int)i;
	return -1;
}

int light_member(const struct trace_at *at, uint32_t block, int set)
{
	const struct light_trace *l = at->light;
	uint32_t row = l->rows[block];

	if (set < 0)
		return -1;
	if (!(l->prune->may[row] >> set & 1))
		return 0;
	return l->prune->is[row] >> set & 1 ? 1 : -1;
}
