/* wire/otlp_encode.c - rows to OTLP traces and logs in protobuf.  Field numbers: otlp_decode.c.
 *
 * Fields with their default are not written, as every protobuf writer does. */
#include "wire/otlp_group.h"
#include "wire/otlp_proto.h"
#include "wire/otlp_put.h"

/* --- values --- */

static void put_pair(struct buffer *out, uint32_t number, const struct batch *b,
		     const struct attr *a)
{
	size_t pair;

	if (a->type == VALUE_RAW_PAIR) {
		pb_put_bytes(out, number, batch_text(b, a->string));
		return;
	}
	pair = pb_begin(out, number);
	put_text(out, 1, b, a->key);
	otlp_value_encode(out, 2, b, a);
	pb_end(out, pair);
}

static void put_children(struct buffer *out, uint32_t number, const struct batch *b,
			 const struct attr *list)
{
	struct value_range children = attr_children(b, list);
	size_t begun = pb_begin(out, number);

	for (uint32_t i = 0; i < children.count; i++) {
		const struct attr *child = &b->nested[children.first + i];

		if (list->type == VALUE_KVLIST)
			put_pair(out, 1, b, child);
		else
			otlp_value_encode(out, 1, b, child);
	}
	pb_end(out, begun);
}

void otlp_value_encode(struct buffer *out, uint32_t number, const struct batch *b,
		       const struct attr *value)
{
	size_t begun;

	if (value->type == VALUE_RAW) {
		pb_put_bytes(out, number, batch_text(b, value->string));
		return;
	}
	begun = pb_begin(out, number);
	switch (value->type) {
	case VALUE_STRING:
		pb_put_bytes(out, 1, batch_text(b, value->string));
		break;
	case VALUE_BOOL:
		pb_put_varint(out, 2, value->word);
		break;
	case VALUE_INT:
		pb_put_varint(out, 3, attr_bits(b, value));
		break;
	case VALUE_DOUBLE:
		pb_put_fixed64(out, 4, attr_bits(b, value));
		break;
	case VALUE_ARRAY:
		put_children(out, 5, b, value);
		break;
	case VALUE_KVLIST:
		put_children(out, 6, b, value);
		break;
	case VALUE_BYTES:
		pb_put_bytes(out, 7, batch_text(b, value->string));
		break;
	default:
		break; /* EMPTY: an AnyValue without a member */
	}
	pb_end(out, begun);
}

void otlp_attrs_encode(struct buffer *out, uint32_t number, const struct batch *b,
		       struct attr_range range)
{
	for (uint32_t i = 0; i < range.count; i++)
		put_pair(out, number, b, &b->attrs[range.first + i]);
}

void otlp_status_encode(struct buffer *out, uint32_t number, const struct batch *b,
			const struct event *e)
{
	const struct event_extra *x = batch_extra_get(b, e);
	size_t begun;

	if (e->status == 0 && x->status_message == 0 && x->unknown_status == 0)
		return;
	begun = pb_begin(out, number);
	put_text(out, 2, b, x->status_message);
	put_number(out, 3, (uint64_t)(int64_t)e->status);
	put_unknown(out, b, x->unknown_status);
	pb_end(out, begun);
}

/* --- groups --- */

static void put_entity(struct buffer *out, const struct batch *b, const struct attr *entity)
{
	static const struct {
		struct slice key;
		uint32_t number;
	} fields[] = {{{"schemaUrl", 9}, 1},
		      {{"type", 4}, 2},
		      {{"idKeys", 6}, 3},
		      {{"descriptionKeys", 15}, 4}};
	struct value_range parts, keys;
	size_t begun;

	if (entity->type == VALUE_RAW) {
		pb_put_bytes(out, 3, batch_text(b, entity->string));
		return;
	}
	begun = pb_begin(out, 3);
	parts = attr_children(b, entity);
	for (size_t k = 0; entity->type == VALUE_KVLIST && k < sizeof(fields) / sizeof(fields[0]);
	     k++)
		for (uint32_t i = 0; i < parts.count; i++) {
			const struct attr *a = &b->nested[parts.first + i];

			if (!slice_eq(batch_text(b, a->key), fields[k].key))
				continue;
			keys = attr_children(b, a);
			if (a->type == VALUE_STRING)
				put_text(out, fields[k].number, b, a->string);
			else if (a->type == VALUE_ARRAY)
				for (uint32_t j = 0; j < keys.count; j++)
					pb_put_bytes(
						out, fields[k].number,
						batch_text(b, b->nested[keys.first + j].string));
		}
	pb_end(out, begun);
}

static void put_resource(struct buffer *out, const struct batch *b, const struct resource *r)
{
	struct value_range entities = attr_children(b, &r->entities);
	size_t begun = pb_begin(out, 1);

	otlp_attrs_encode(out, 1, b, r->attrs);
	put_number(out, 2, r->dropped_attributes);
	if (r->entities.type == VALUE_ARRAY)
		for (uint32_t i = 0; i < entities.count; i++)
			put_entity(out, b, &b->nested[entities.first + i]);
	put_unknown(out, b, r->unknown);
	pb_end(out, begun);
}

static void put_scope(struct buffer *out, const struct batch *b, const struct scope *s)
{
	size_t begun = pb_begin(out, 1);

	put_text(out, 1, b, s->name);
	put_text(out, 2, b, s->version);
	otlp_attrs_encode(out, 3, b, s->attrs);
	put_number(out, 4, s->dropped_attributes);
	put_unknown(out, b, s->unknown);
	pb_end(out, begun);
}

static bool same_resource(struct event_ref a, struct event_ref b)
{
	return a.batch == b.batch && event_get(a)->resource == event_get(b)->resource;
}

static bool same_scope(struct event_ref a, struct event_ref b)
{
	return same_resource(a, b) && event_get(a)->scope == event_get(b)->scope;
}

void otlp_groups_encode(const struct event_ref *refs, size_t n, uint32_t number, struct buffer *out,
			otlp_member_encode *member)
{
	for (size_t i = 0; i < n;) {
		struct event_ref first = refs[i];
		const struct batch *b = first.batch;
		const struct resource *resource = &b->resources[event_get(first)->resource];
		size_t group = pb_begin(out, number);

		put_resource(out, b, resource);
		while (i < n && same_resource(first, refs[i])) {
			struct event_ref lead = refs[i];
			const struct scope *scope = &b->scopes[event_get(lead)->scope];
			size_t inner = pb_begin(out, 2);

			put_scope(out, b, scope);
			while (i < n && same_scope(lead, refs[i]))
				i += member(refs + i, n - i, out);
			put_text(out, 3, b, scope->schema_url);
			put_unknown(out, b, scope->unknown_group);
			pb_end(out, inner);
		}
		put_text(out, 3, b, resource->schema_url);
		put_unknown(out, b, resource->unknown_group);
		pb_end(out, group);
	}
}

/* --- members --- */

static void put_point(struct buffer *out, const struct batch *b, const struct event *e)
{
	const struct event_extra *x = batch_extra_get(b, e);
	size_t begun = pb_begin(out, 11);

	put_time(out, 1, e->time_ns);
	put_text(out, 2, b, e->name);
	otlp_attrs_encode(out, 3, b, e->attrs);
	put_number(out, 4, x->dropped_attributes);
	put_unknown(out, b, x->unknown);
	pb_end(out, begun);
}

static void put_link(struct buffer *out, const struct batch *b, const struct event *e)
{
	const struct event_extra *x = batch_extra_get(b, e);
	size_t begun = pb_begin(out, 13);

	put_trace_id(out, 1, x->link_trace);
	put_span_id(out, 2, e->id2);
	put_text(out, 3, b, x->trace_state);
	otlp_attrs_encode(out, 4, b, e->attrs);
	put_number(out, 5, x->dropped_attributes);
	put_flags(out, 6, e->flags);
	put_unknown(out, b, x->unknown);
	pb_end(out, begun);
}

/* The rows behind a span that belong to it. */
static size_t span_rows(const struct event_ref *refs, size_t n)
{
	const struct event *span = event_get(refs[0]);
	size_t i = 1;

	while (i < n && refs[i].batch == refs[0].batch) {
		const struct event *e = event_get(refs[i]);

		if ((e->type != EVENT_POINT && e->type != EVENT_LINK) || e->id1 != span->id1)
			break;
		i++;
	}
	return i;
}

static size_t put_span(const struct event_ref *refs, size_t n, struct buffer *out)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	const struct event_extra *x = batch_extra_get(b, e);
	size_t rows, begun;

	if (e->type != EVENT_SPAN)
		return 1;
	rows = span_rows(refs, n);
	begun = pb_begin(out, 2);
	put_trace_id(out, 1, e->trace_id);
	put_span_id(out, 2, e->id1);
	put_text(out, 3, b, x->trace_state);
	put_span_id(out, 4, e->id2);
	put_text(out, 5, b, e->name);
	put_number(out, 6, (uint64_t)(int64_t)e->kind);
	put_time(out, 7, e->time_ns);
	put_time(out, 8, e->end_ns);
	otlp_attrs_encode(out, 9, b, e->attrs);
	put_number(out, 10, x->dropped_attributes);
	for (size_t i = 1; i < rows; i++)
		if (event_get(refs[i])->type == EVENT_POINT)
			put_point(out, b, event_get(refs[i]));
	put_number(out, 12, x->dropped_points);
	for (size_t i = 1; i < rows; i++)
		if (event_get(refs[i])->type == EVENT_LINK)
			put_link(out, b, event_get(refs[i]));
	put_number(out, 14, x->dropped_links);
	otlp_status_encode(out, 15, b, e);
	put_flags(out, 16, e->flags);
	put_unknown(out, b, x->unknown);
	pb_end(out, begun);
	return rows;
}

static size_t put_log(const struct event_ref *refs, size_t n, struct buffer *out)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	const struct event_extra *x = batch_extra_get(b, e);
	size_t begun;

	if (e->type != EVENT_LOG)
		return 1;
	begun = pb_begin(out, 2);
	put_time(out, 1, e->time_ns);
	put_number(out, 2, (uint64_t)(int64_t)e->kind);
	put_text(out, 3, b, x->severity_text);
	if (x->body.type != VALUE_EMPTY)
		otlp_value_encode(out, 5, b, &x->body);
	otlp_attrs_encode(out, 6, b, e->attrs);
	put_number(out, 7, x->dropped_attributes);
	put_flags(out, 8, e->flags);
	put_trace_id(out, 9, e->trace_id);
	put_span_id(out, 10, e->id1);
	put_time(out, 11, x->observed_ns);
	put_text(out, 12, b, e->name);
	put_unknown(out, b, x->unknown);
	pb_end(out, begun);
	return 1;
}

void otlp_proto_encode_traces(const struct event_ref *refs, size_t n, struct buffer *out)
{
	otlp_groups_encode(refs, n, 1, out, put_span);
}

void otlp_proto_encode_logs(const struct event_ref *refs, size_t n, struct buffer *out)
{
	otlp_groups_encode(refs, n, 1, out, put_log);
}
