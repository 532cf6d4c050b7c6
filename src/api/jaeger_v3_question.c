/* api/jaeger_v3_question.c - a search through Jaeger's version 3, however it is written down. */
#include "api/jaeger_v3_question.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "core/clock.h"
#include "wire/json_reader.h"
#include "wire/protobuf.h"

#define MOMENT_TEXT_MOST 64

enum field {
	SERVICE,
	OPERATION,
	ATTRIBUTES,
	START_MIN,
	START_MAX,
	DURATION_MIN,
	DURATION_MAX,
	DEPTH,
	FILTER,
	RAW,
};

/* Names in a URL stand behind "query.". */
static const struct json_name names[] = {
	JSON_NAME("serviceName", SERVICE),
	JSON_NAME("service_name", SERVICE),
	JSON_NAME("operationName", OPERATION),
	JSON_NAME("operation_name", OPERATION),
	JSON_NAME("attributes", ATTRIBUTES),
	JSON_NAME("startTimeMin", START_MIN),
	JSON_NAME("start_time_min", START_MIN),
	JSON_NAME("startTimeMax", START_MAX),
	JSON_NAME("start_time_max", START_MAX),
	JSON_NAME("durationMin", DURATION_MIN),
	JSON_NAME("duration_min", DURATION_MIN),
	JSON_NAME("durationMax", DURATION_MAX),
	JSON_NAME("duration_max", DURATION_MAX),
	JSON_NAME("searchDepth", DEPTH),
	JSON_NAME("search_depth", DEPTH),
	JSON_NAME("numTraces", DEPTH),
	JSON_NAME("num_traces", DEPTH),
	JSON_NAME("filter", FILTER),
	JSON_NAME("rawTraces", RAW),
	JSON_NAME("raw_traces", RAW),
};

int jaeger_v3_moment(struct slice text, int64_t *ret_ns)
{
	char fixed[MOMENT_TEXT_MOST];

	if (text.n >= sizeof(fixed))
		return -EINVAL;
	memcpy(fixed, text.p ? text.p : "", text.n);
	/* "2026-01-02T03:04:05 01:00" */
	if (text.n > 17 && fixed[text.n - 6] == ' ' && fixed[text.n - 3] == ':')
		fixed[text.n - 6] = '+';
	return moment_parse(slice_of(fixed, text.n), clock_wall_ns(), ret_ns) < 0 ? -EINVAL : 0;
}

static int take_moment(const char *name, struct slice text, int64_t *ret_ns, struct error *error)
{
	if (jaeger_v3_moment(text, ret_ns) < 0)
		return error_set(error, -EINVAL,
				 "malformed parameter %s: '%.*s' is not a time of RFC 3339", name,
				 SLICE_ARG(slice_first(text, 60)));
	return 0;
}

static int take_duration(const char *name, struct slice text, int64_t *ret_ns, struct error *error)
{
	if (duration_parse(text, ret_ns) < 0 || *ret_ns < 0)
		return error_set(error, -EINVAL,
				 "malformed parameter %s: '%.*s' is not a duration such as 1.5s",
				 name, SLICE_ARG(slice_first(text, 60)));
	return 0;
}

/* 0, which protobuf cannot tell from nothing, is the default. */
static int take_depth(struct jaeger_question *q, int64_t depth, struct error *error)
{
	if (depth < 0 || depth > JAEGER_LIMIT_MOST)
		return error_set(error, -EINVAL, "search depth must be from 1 to %d",
				 JAEGER_LIMIT_MOST);
	q->limit = depth ? (size_t)depth : JAEGER_LIMIT;
	return 0;
}

static int refuse_filter(struct error *error)
{
	return error_set(error, -EINVAL,
			 "query.filter is not served: say it with service, operation, attributes "
			 "and durations");
}

/* Any field but attributes, as text. */
static int take_text(struct jaeger_question *q, enum field field, struct slice text,
		     struct error *error)
{
	uint64_t depth;

	switch (field) {
	case SERVICE:
		q->service = text;
		return 0;
	case OPERATION:
		q->operation = text;
		return 0;
	case START_MIN:
		return take_moment("query.start_time_min", text, &q->from_ns, error);
	case START_MAX:
		return take_moment("query.start_time_max", text, &q->to_ns, error);
	case DURATION_MIN:
		return take_duration("query.duration_min", text, &q->min_ns, error);
	case DURATION_MAX:
		return take_duration("query.duration_max", text, &q->max_ns, error);
	case DEPTH:
		if (slice_parse_u64(text, &depth) < 0)
			return error_set(error, -EINVAL,
					 "malformed parameter query.search_depth: '%.*s' is no "
					 "number above 0",
					 SLICE_ARG(slice_first(text, 60)));
		return take_depth(q, (int64_t)MIN(depth, (uint64_t)INT64_MAX), error);
	case FILTER:
		return refuse_filter(error);
	default:
		return 0;
	}
}

static int finish(struct jaeger_question *q, struct error *error)
{
	if (q->from_ns == 0 || q->to_ns == 0)
		return error_set(error, -EINVAL,
				 "query.start_time_min and query.start_time_max are required");
	q->to_ns -= q->to_ns > 1; /* exclusive */
	return jaeger_question_check(q, error);
}

int jaeger_v3_from_url(struct http_request *req, struct jaeger_question *ret_question,
		       struct error *error)
{
	const struct slice prefix = SLICE("query.");
	struct jaeger_question q = {.limit = JAEGER_LIMIT};
	struct slice name, value;
	unsigned hint = 0;
	size_t at = 0;
	int r;

	while ((r = http_query_next(req, &at, &name, &value)) == 1) {
		int field = slice_starts(name, prefix)
				    ? json_name_find(names, ARRAY_SIZE(names), &hint,
						     slice_from(name, prefix.n))
				    : -1;

		if (field < 0 || value.n == 0)
			continue;
		r = field == ATTRIBUTES ? jaeger_tags_parse(&q, value, &req->arena, error)
					: take_text(&q, (enum field)field, value, error);
		if (r < 0)
			return r;
	}
	if (r == -EINVAL)
		return error_set(error, r, "the query is not percent-encoded as it should be");
	if (r == 0)
		r = finish(&q, error);
	if (r == 0)
		*ret_question = q;
	return r;
}

/* --- JSON --- */

/* The value as it stands, whatever it is. */
static struct slice raw_value(struct json_reader *r)
{
	const char *from;

	json_peek(r);
	from = r->at;
	json_skip(r);
	return slice_of(from, (size_t)(r->at - from));
}

static int field_from_json(struct json_reader *r, enum field field, struct http_request *req,
			   struct jaeger_question *q, struct error *error)
{
	struct buffer scratch = {0};
	struct json_string string;
	struct slice text;
	int64_t depth;
	int result = 0;

	if (json_null(r))
		return 0;
	if (field == ATTRIBUTES) {
		text = raw_value(r);
		return r->bad ? 0 : jaeger_tags_parse(q, text, &req->arena, error);
	}
	if (field == FILTER)
		return refuse_filter(error);
	if (field == DEPTH)
		return json_i64(r, &depth) ? take_depth(q, depth, error) : 0;
	if (field == RAW) {
		json_skip(r);
		return 0;
	}
	if (!json_string(r, &string))
		return 0;
	text = arena_dup(&req->arena, json_text(string, &scratch));
	if (scratch.failed || !text.p)
		result = -ENOMEM;
	else if (text.n > 0)
		result = take_text(q, field, text, error);
	buffer_done(&scratch);
	return result;
}

int jaeger_v3_from_json(struct http_request *req, struct jaeger_question *ret_question,
			struct error *error)
{
	struct json_reader r = json_open(req->body);
	struct jaeger_question q = {.limit = JAEGER_LIMIT};
	struct error why = {0};
	struct slice name;
	unsigned hint = 0;
	int result = 0;

	json_object(&r);
	while (result == 0 && json_next_name(&r, &name)) {
		if (!slice_eq(name, SLICE("query"))) {
			json_skip(&r);
			continue;
		}
		json_object(&r);
		while (result == 0 && json_next_name(&r, &name)) {
			int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

			if (field < 0)
				json_skip(&r);
			else
				result = field_from_json(&r, (enum field)field, req, &q, error);
		}
	}
	if (result == 0 && json_finish(&r, &why) < 0)
		return error_set(error, -EINVAL, "malformed request: %s", why.text);
	if (result == 0)
		result = finish(&q, error);
	if (result == 0)
		*ret_question = q;
	return result;
}

/* --- protobuf --- */

int jaeger_v3_proto_time(struct slice message, int64_t *ret_ns)
{
	struct pb_reader r = pb_open(message);
	struct pb_field f;
	int64_t seconds = 0, nanos = 0, ns;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_VARINT))
			seconds = (int64_t)f.value;
		else if (f.tag == PB_TAG(2, PB_VARINT))
			nanos = (int64_t)f.value;
	}
	if (r.bad || __builtin_mul_overflow(seconds, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, nanos, &ns))
		return -EBADMSG;
	*ret_ns = ns;
	return 0;
}

static int proto_attribute(struct jaeger_question *q, struct slice entry, struct error *error)
{
	struct pb_reader r = pb_open(entry);
	struct slice key = {0}, value = {0};
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			key = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			value = f.bytes;
	}
	return r.bad ? -EBADMSG : jaeger_tag_add(q, key, value, error);
}

static int proto_field(struct jaeger_question *q, const struct pb_field *f, struct error *error)
{
	switch (f->tag) {
	case PB_TAG(1, PB_BYTES):
		q->service = f->bytes;
		return 0;
	case PB_TAG(2, PB_BYTES):
		q->operation = f->bytes;
		return 0;
	case PB_TAG(3, PB_BYTES):
		return proto_attribute(q, f->bytes, error);
	case PB_TAG(4, PB_BYTES):
		return jaeger_v3_proto_time(f->bytes, &q->from_ns);
	case PB_TAG(5, PB_BYTES):
		return jaeger_v3_proto_time(f->bytes, &q->to_ns);
	case PB_TAG(6, PB_BYTES):
		return jaeger_v3_proto_time(f->bytes, &q->min_ns);
	case PB_TAG(7, PB_BYTES):
		return jaeger_v3_proto_time(f->bytes, &q->max_ns);
	case PB_TAG(8, PB_VARINT):
		return take_depth(q, (int32_t)f->value, error);
	case PB_TAG(10, PB_BYTES):
		return refuse_filter(error);
	default:
		return 0;
	}
}

int jaeger_v3_from_proto(struct slice message, struct jaeger_question *ret_question,
			 struct error *error)
{
	struct jaeger_question q = {.limit = JAEGER_LIMIT};
	struct pb_reader r = pb_open(message);
	struct pb_field f;
	int result = 0;

	while (result == 0 && pb_next(&r, &f)) {
		struct pb_reader inner;
		struct pb_field field;

		if (f.tag != PB_TAG(1, PB_BYTES))
			continue;
		inner = pb_open(f.bytes);
		while (result == 0 && pb_next(&inner, &field))
			result = proto_field(&q, &field, error);
		if (inner.bad)
			result = -EBADMSG;
	}
	if (r.bad || result == -EBADMSG)
		return error_set(error, -EINVAL, "the request is not well-formed protobuf");
	if (result == 0 && (q.from_ns < 0 || q.to_ns < 0 || q.min_ns < 0 || q.max_ns < 0))
		return error_set(error, -EINVAL, "a time before 1970, or a duration below 0");
	if (result == 0)
		result = finish(&q, error);
	if (result == 0)
		*ret_question = q;
	return result;
}
