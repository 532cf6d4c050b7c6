/* wire/otlp_json_put.h - writing single fields and whole requests in OTLP's JSON form.  A field
 * with its default is not written. */
#ifndef CAUSET_WIRE_OTLP_JSON_PUT_H
#define CAUSET_WIRE_OTLP_JSON_PUT_H

#include "wire/otlp_json_value.h"

static inline void put_text(struct json_writer *w, const char *name, const struct batch *b,
			    uint32_t code)
{
	if (code == 0)
		return;
	json_put_name(w, name);
	json_put_string(w, batch_text(b, code));
}

static inline void put_number(struct json_writer *w, const char *name, int64_t value)
{
	if (value == 0)
		return;
	json_put_name(w, name);
	json_put_i64(w, value);
}

static inline void put_time(struct json_writer *w, const char *name, uint64_t ns)
{
	if (ns == 0)
		return;
	json_put_name(w, name);
	json_put_u64_text(w, ns);
}

static inline void put_trace_id(struct json_writer *w, const char *name, struct trace_id id)
{
	if (trace_id_is_zero(id))
		return;
	json_put_name(w, name);
	json_put_hex(w, id.b, sizeof(id.b));
}

static inline void put_span_id(struct json_writer *w, const char *name, span_id_t id)
{
	uint8_t bytes[8];

	if (id == 0)
		return;
	store_be64(bytes, id);
	json_put_name(w, name);
	json_put_hex(w, bytes, sizeof(bytes));
}

static inline void put_attrs(struct json_writer *w, const struct batch *b, struct attr_range range)
{
	if (range.count == 0)
		return;
	json_put_name(w, "attributes");
	otlp_json_put_attrs(w, b, range);
}

static inline void put_status(struct json_writer *w, const struct batch *b, const struct event *e)
{
	const struct event_extra *x = batch_extra_get(b, e);

	if (e->status == 0 && x->status_message == 0)
		return;
	json_put_name(w, "status");
	json_begin_object(w);
	put_text(w, "message", b, x->status_message);
	put_number(w, "code", e->status);
	json_end_object(w);
}

/* What OTLP's JSON and protobuf's own JSON mapping tell apart in a span. */
struct otlp_json_style {
	void (*id)(struct json_writer *w, const char *name, const uint8_t *bytes, size_t n);
	void (*kind)(struct json_writer *w, int32_t kind);
	void (*status)(struct json_writer *w, const struct batch *b, const struct event *e);
};

/* Writes the span at refs[0] with the points and links right behind it; returns how many rows that
 * were.  For otlp_json_request.put. */
size_t otlp_json_put_span(struct json_writer *w, const struct otlp_json_style *style,
			  const struct event_ref *refs, size_t n);

/* For otlp_json_request.begins. */
static inline bool otlp_json_is_span(const struct event *e)
{
	return e->type == EVENT_SPAN;
}

/* A request: the names of its lists, and how its members are written. */
struct otlp_json_request {
	const char *groups, *scopes, *members;
	bool (*begins)(const struct event *e); /* does a member begin with this row? */
	/* Writes the member at refs[0]; returns how many rows it took. */
	size_t (*put)(struct json_writer *w, const struct event_ref *refs, size_t n);
};

/* Writes the list of groups under its name, inside an object that the caller has begun.  Rows that
 * follow each other with the same resource and scope share their group; rows with which no member
 * begins are passed over. */
void otlp_json_put_groups(struct json_writer *w, const struct otlp_json_request *request,
			  const struct event_ref *refs, size_t n);

#endif
