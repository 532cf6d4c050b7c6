/* exec/row_field.c - fields and attributes of a span that stand in its own row. */
#include "exec/row_field.h"

#include <inttypes.h>

#include "exec/attr_value.h"

bool row_field_known(const struct plan_expr *e)
{
	if (e->kind == X_ATTR)
		return e->attr.of == OF_SELF && e->attr.scope != ATTR_EVENT &&
		       e->attr.scope != ATTR_LINK;
	if (e->kind != X_FIELD || e->field.of != OF_SELF)
		return false;
	switch (e->field.field) {
	case F_TRACE_ID:
	case F_TIME:
	case F_NAME:
	case F_SERVICE:
	case F_HOST:
	case F_PROC_ID:
	case F_PROC_NAME:
	case F_THREAD_ID:
	case F_ELEMENT:
	case F_TRACEPOINT:
	case F_SCOPE_NAME:
	case F_SCOPE_VERSION:
	case F_SPAN_ID:
	case F_PARENT_ID:
	case F_KIND:
	case F_STATUS:
	case F_STATUS_MESSAGE:
	case F_START:
	case F_END:
	case F_DURATION:
		return true;
	default:
		return false;
	}
}

struct value time_value(uint64_t ns)
{
	return ns == 0 || ns > INT64_MAX ? value_nil() : value_of(V_TIME, (int64_t)ns);
}

struct value duration_value(uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns == 0 || begin_ns > INT64_MAX || end_ns == 0 || end_ns > INT64_MAX)
		return value_nil();
	return value_of(V_DURATION, end_ns > begin_ns ? (int64_t)(end_ns - begin_ns) : 0);
}

static struct value printed(char *text)
{
	return text ? value_text(slice_cstr(text)) : value_nil();
}

struct value span_id_value(uint64_t id, struct arena *arena)
{
	return id ? printed(arena_printf(arena, "%016" PRIx64, id)) : value_nil();
}

struct value trace_id_value(struct trace_id id, struct arena *arena)
{
	char *text = arena_alloc(arena, TRACE_ID_HEX + 1);

	if (text)
		trace_id_format(id, text);
	return printed(text);
}

struct value element_value(struct trace_id id, uint64_t span, struct arena *arena)
{
	return printed(arena_printf(arena, "%016" PRIx64 "%016" PRIx64 "/%016" PRIx64,
				    load_be64(id.b), load_be64(id.b + 8), span));
}

struct value range_attr(const struct batch *b, struct attr_range range, struct slice key,
			struct arena *arena)
{
	const struct attr *a = batch_attr_find(b, range, key);

	return a ? attr_value(b, a, arena) : value_nil();
}

static struct value non_empty(struct slice text)
{
	return text.n ? value_text(text) : value_nil();
}

struct value resource_field(const struct batch *b, const struct resource *resource,
			    struct slice sender, enum plan_field field, struct arena *arena)
{
	const struct attr_range attrs = resource->attrs;
	struct value v;

	switch (field) {
	case F_SERVICE:
		return non_empty(batch_attr_text(b, attrs, SLICE("service.name")));
	case F_HOST:
		v = non_empty(batch_attr_text(b, attrs, SLICE("host.name")));
		if (value_is_nil(v))
			v = non_empty(batch_attr_text(b, attrs, SLICE("k8s.pod.name")));
		return value_is_nil(v) ? non_empty(sender) : v;
	case F_PROC_ID:
		return range_attr(b, attrs, SLICE("process.pid"), arena);
	case F_PROC_NAME:
		v = non_empty(batch_attr_text(b, attrs, SLICE("process.executable.name")));
		if (value_is_nil(v))
			v = non_empty(batch_attr_text(b, attrs, SLICE("service.name")));
		return v;
	default:
		return value_nil();
	}
}

static struct value row_attr(const struct batch *b, const struct event *e, enum plan_scope scope,
			     struct slice key, struct arena *arena)
{
	struct value v = value_nil();

	if (scope == ATTR_INSTRUMENTATION)
		return range_attr(b, b->scopes[e->scope].attrs, key, arena);
	if (scope != ATTR_RESOURCE)
		v = range_attr(b, e->attrs, key, arena);
	if (scope != ATTR_SPAN && value_is_nil(v))
		v = range_attr(b, b->resources[e->resource].attrs, key, arena);
	return v;
}

static struct value own_field(const struct batch *b, const struct event *e, enum plan_field field,
			      struct slice tracepoint, struct arena *arena)
{
	switch (field) {
	case F_TRACE_ID:
		return trace_id_value(e->trace_id, arena);
	case F_TIME:
	case F_START:
		return time_value(e->time_ns);
	case F_END:
		return time_value(e->end_ns);
	case F_DURATION:
		return duration_value(e->time_ns, e->end_ns);
	case F_NAME:
		return value_text(batch_text(b, e->name));
	case F_THREAD_ID:
		return row_attr(b, e, ATTR_ANY, SLICE("thread.id"), arena);
	case F_ELEMENT:
		return element_value(e->trace_id, e->id1, arena);
	case F_TRACEPOINT:
		return value_text(tracepoint);
	case F_SCOPE_NAME:
		return non_empty(batch_text(b, b->scopes[e->scope].name));
	case F_SCOPE_VERSION:
		return non_empty(batch_text(b, b->scopes[e->scope].version));
	case F_SPAN_ID:
		return span_id_value(e->id1, arena);
	case F_PARENT_ID:
		return span_id_value(e->id2, arena);
	case F_KIND:
		return value_of(V_KIND, e->kind);
	case F_STATUS:
		return value_of(V_STATUS, e->status);
	case F_STATUS_MESSAGE:
		return non_empty(batch_text(b, batch_extra_get(b, e)->status_message));
	default:
		return resource_field(b, &b->resources[e->resource], batch_text(b, b->sender),
				      field, arena);
	}
}

struct value row_field(struct event_ref ref, const struct plan_expr *e, struct slice tracepoint,
		       struct arena *arena)
{
	const struct event *event = event_get(ref);

	if (e->kind == X_ATTR)
		return row_attr(ref.batch, event, e->attr.scope, e->attr.key, arena);
	return own_field(ref.batch, event, e->field.field, tracepoint, arena);
}
