/* api/tempo_search_put.c - what a search of Tempo's has found, as its clients read it.
 *
 * Grafana reads JSON with a decoder that refuses fields it does not know. */
#include <errno.h>

#include "api/tempo_search_int.h"
#include "base/cleanup.h"

#define STATS_ROWS   131072 /* the services of a trace with more rows are not counted */
#define NOT_RECEIVED "<root span not yet received>"

static struct slice text_of(struct value v)
{
	return v.type == V_STRING ? value_slice(v) : slice_of(NULL, 0);
}

/* As what an answer shows a column; empty: not among the attributes, it has a place of its own. */
static struct slice key_of(const struct plan_expr *e)
{
	static const struct {
		enum plan_field field;
		const char *key;
	} keys[] = {
		{F_STATUS_MESSAGE, "statusMessage"},
		{F_KIND, "kind"},
		{F_NESTED_LEFT, "nestedSetLeft"},
		{F_NESTED_RIGHT, "nestedSetRight"},
		{F_NESTED_PARENT, "nestedSetParent"},
		{F_EVENT_NAME, "event:name"},
		{F_EVENT_SINCE_START, "event:timeSinceStart"},
		{F_LINK_SPAN_ID, "link:spanID"},
		{F_LINK_TRACE_ID, "link:traceID"},
		{F_SCOPE_NAME, "instrumentation:name"},
		{F_SCOPE_VERSION, "instrumentation:version"},
		{F_PARENT_ID, "span:parentID"},
		{F_CHILD_COUNT, "childCount"},
	};

	if (e->kind == X_ATTR)
		return e->attr.key;
	for (size_t i = 0; e->kind == X_FIELD && i < ARRAY_SIZE(keys); i++)
		if (keys[i].field == e->field.field)
			return slice_cstr(keys[i].key);
	return slice_of(NULL, 0);
}

/* Of events and links there are several: the first that has it. */
static struct value one_of(const struct plan_expr *e, struct value v)
{
	bool several = e->kind == X_ATTR ? e->attr.scope == ATTR_EVENT || e->attr.scope == ATTR_LINK
					 : e->field.field == F_EVENT_NAME ||
						   e->field.field == F_EVENT_SINCE_START ||
						   e->field.field == F_LINK_SPAN_ID ||
						   e->field.field == F_LINK_TRACE_ID;

	if (!several || v.type != V_LIST)
		return v;
	for (uint32_t i = 0; i < v.n; i++)
		if (!value_is_nil(v.list[i]))
			return v.list[i];
	return value_nil();
}

static void put_attributes(struct tempo_searching *s, struct tempo_message *m,
			   const struct value *values)
{
	bool begun = false;

	for (uint32_t i = 0; i < s->node->column_n; i++) {
		const struct plan_expr *e = s->node->spanset.fields[i];
		struct slice key = key_of(e);
		struct value v = one_of(e, values[i]);

		if (s->stated && e->kind == X_FIELD && e->field.field == F_STATUS)
			key = SLICE("status");
		if (key.n == 0 || value_is_nil(v))
			continue;
		if (!begun)
			message_list(m, "attributes");
		begun = true;
		message_pair(m, 5, key, v, &s->t.arena);
	}
	if (begun)
		message_list_end(m);
}

static void put_span(struct tempo_searching *s, struct tempo_message *m, const struct value *values)
{
	size_t begun = message_begin(m, NULL, 1);

	message_text(m, "spanID", 1, text_of(values[s->span]));
	if (s->named)
		message_text(m, "name", 2, text_of(values[s->name]));
	message_64(m, "startTimeUnixNano", 3, values[s->time].i);
	if (values[s->took].type == V_DURATION && values[s->took].i > 0)
		message_64(m, "durationNanos", 4, values[s->took].i);
	put_attributes(s, m, values);
	message_end(m, begun);
}

static void put_set(struct tempo_searching *s, struct tempo_message *m, const char *name,
		    uint32_t number, const struct tempo_hit *hit)
{
	size_t begun = message_begin(m, name, number);

	message_list(m, "spans");
	for (size_t i = 0; i < hit->n; i++)
		put_span(s, m, hit->spans[i].values);
	message_list_end(m);
	message_u32(m, "matched", 2, hit->matched);
	message_end(m, begun);
}

/* Where the question's run has not counted them. */
static int services_count(struct tempo_searching *s, struct tempo_hit *hit)
{
	struct event_set set = {0};
	struct trace_id id;
	int r = trace_id_parse(hit->id, &id);

	if (r == 0)
		r = snapshot_trace_bare(&s->t.snapshot, id, STATS_ROWS, &set);
	if (r == 0)
		r = tempo_counts_hit(hit, id, set.refs, set.n);
	event_set_done(&set);
	return r;
}

/* How many spans each service has in the trace, whatever was asked for. */
static void put_services(struct tempo_searching *s, struct tempo_message *m, struct tempo_hit *hit)
{
	if (!hit->services && services_count(s, hit) == -ENOMEM)
		m->out->failed = true;
	if (hit->service_n > 0)
		message_map(m, "serviceStats");
	for (size_t i = 0; i < hit->service_n; i++) {
		struct message_entry begun = message_entry(m, 8, hit->services[i].name);

		message_u32(m, "spanCount", 1, hit->services[i].spans);
		message_u32(m, "errorCount", 2, hit->services[i].errors);
		message_entry_end(m, begun);
	}
	if (hit->service_n > 0)
		message_map_end(m);
}

static void put_trace(struct tempo_searching *s, struct tempo_message *m, struct tempo_hit *hit)
{
	const struct value *v = hit->spans[0].values;
	struct slice id = hit->id;
	int64_t ms = v[s->duration].type == V_DURATION ? v[s->duration].i / 1000000 : 0;
	size_t begun = message_begin(m, NULL, 1);

	while (id.n > 1 && id.p[0] == '0')
		id = slice_from(id, 1);
	message_text(m, "traceID", 1, id);
	if (value_is_nil(v[s->root_service]) && value_is_nil(v[s->root_name])) {
		message_text(m, "rootServiceName", 2, SLICE(NOT_RECEIVED));
	} else {
		message_text(m, "rootServiceName", 2, text_of(v[s->root_service]));
		message_text(m, "rootTraceName", 3, text_of(v[s->root_name]));
	}
	message_64(m, "startTimeUnixNano", 4, hit->start_ns);
	if (ms > 0)
		message_u32(m, "durationMs", 5, (uint64_t)ms);
	if (!s->asked->legacy) {
		put_set(s, m, "spanSet", 6, hit); /* of older clients */
		message_list(m, "spanSets");
		put_set(s, m, NULL, 7, hit);
		message_list_end(m);
	}
	put_services(s, m, hit);
	message_end(m, begun);
}

void tempo_search_put(struct tempo_searching *s, size_t from, size_t to, struct buffer *out)
{
	struct tempo_message m = tempo_message(out, s->t.stream);
	size_t begun = message_begin(&m, NULL, 0);

	message_list(&m, "traces");
	for (size_t i = from; i < to; i++)
		put_trace(s, &m, s->hits.rows[i]);
	message_list_end(&m);
	tempo_put_metrics(&m, &s->progress);
	message_end(&m, begun);
}
