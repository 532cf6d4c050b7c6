/* exec/light_trace.c - a trace of plain spans as its columns have it. */
#include "exec/light_trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "exec/nested_set.h"
#include "exec/row_field.h"
#include "model/self_time.h"

void light_trace_done(struct light_trace *l)
{
	free(l->trace.blocks);
	free(l->trace.edges);
	free(l->rows);
	free(l->name_at);
	free(l->processes);
	light_attrs_done(l);
	*l = (struct light_trace){0};
}

int light_group(struct light_trace *l, struct trace_prune *prune, struct segment_group *g)
{
	uint32_t n;

	l->prune = prune;
	l->group = g;
	l->serial++;
	l->failed = 0;
	l->segment = group_segment(g);
	l->tables = group_tables(g);
	l->codes = prune->codes;
	l->times = l->durations = NULL;
	l->names = NULL;
	return group_pieces_bare(g, &l->pieces, &n);
}

/* --- what is asked of it --- */

static const struct shape *shape_of(const struct light_trace *l, uint32_t block)
{
	return &tables_shapes(l->tables)->rows[l->codes[l->rows[block]]];
}

bool light_times(struct light_trace *l)
{
	int r = 0;

	if (l->times || l->failed)
		return l->times;
	r = group_piece_clocks(l->group, l->piece, &l->times, &l->durations);
	if (r < 0) {
		l->times = l->durations = NULL;
		l->failed = r;
	}
	return r == 0;
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

	if (el.kind != ELEMENT_BLOCK && el.kind != ELEMENT_TRACE)
		return 0; /* whatever depends on it is found to be unknown */
	return light_times(l) ? l->times[l->rows[el.index]] : 0;
}

uint64_t light_id(const struct trace_at *at, struct element el)
{
	if (el.kind != ELEMENT_BLOCK && el.kind != ELEMENT_TRACE)
		return 0;
	return at->light->ids[at->light->rows[el.index]];
}

struct slice light_host(struct trace_at *at, struct element el)
{
	const struct light_trace *l = at->light;
	const struct shape *s;
	const struct batch *b = tables_batch(l->tables);

	if (el.kind != ELEMENT_BLOCK)
		return SLICE("");
	s = shape_of(l, el.index);
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

static struct value self_time(struct trace_at *at, uint32_t block)
{
	struct light_trace *l = at->light;

	if (!l->modelled)
		return unknown(at);
	if (!l->self_known && trace_self_time(&l->trace) < 0) {
		at->env.failed = -ENOMEM;
		return value_nil();
	}
	l->self_known = true;
	return value_of(V_DURATION, l->trace.blocks[block].self_ns);
}

static struct value critical(struct trace_at *at, uint32_t block)
{
	struct light_trace *l = at->light;

	if (!l->modelled || l->trace.roots > 1)
		return unknown(at);
	if (!at->critical && trace_critical(&l->trace, &at->arena, &at->critical) < 0) {
		at->env.failed = -ENOMEM;
		return value_nil();
	}
	return value_of(V_DURATION, at->critical[block]);
}

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
	case F_NESTED_LEFT: /* the order of siblings depends on clocks */
		return l->modelled ? value_int(nested_left(&l->trace, el.index)) : unknown(at);
	case F_NESTED_RIGHT:
		return l->modelled ? value_int(nested_right(&l->trace, el.index)) : unknown(at);
	case F_NESTED_PARENT:
		if (!l->modelled)
			return unknown(at);
		return value_int(nested_parent(&l->trace, el.index, l->parents[row]));
	case F_SELF:
		return self_time(at, el.index);
	case F_CRITICAL:
		return critical(at, el.index);
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
	    (of == OF_ROOT && !l->modelled && l->trace.blocks[0].last + 1 != l->trace.block_n))
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
