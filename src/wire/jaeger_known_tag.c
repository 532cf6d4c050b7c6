/* wire/jaeger_known_tag.c - tags of Jaeger's that go into fields of the row.  The list:
 * wire/jaeger_json.h. */
#include "base/cleanup.h"
#include "wire/jaeger_decode_int.h"

static bool take_kind(struct slice text, int32_t *kind)
{
	static const struct json_name kinds[] = {
		JSON_NAME("internal", KIND_INTERNAL), JSON_NAME("server", KIND_SERVER),
		JSON_NAME("client", KIND_CLIENT),     JSON_NAME("producer", KIND_PRODUCER),
		JSON_NAME("consumer", KIND_CONSUMER),
	};
	unsigned hint = 0;
	int found = json_name_find(kinds, ARRAY_SIZE(kinds), &hint, text);

	if (found >= 0)
		*kind = found;
	return found >= 0;
}

bool jaeger_take_text(const struct attr *a, uint32_t *code)
{
	if (a->type != VALUE_STRING || a->string == 0)
		return false;
	*code = a->string;
	return true;
}

bool jaeger_take_count(const struct batch *b, const struct attr *a, uint32_t *count)
{
	if (a->type != VALUE_INT || attr_integer(b, a) <= 0 || attr_integer(b, a) > UINT32_MAX)
		return false;
	*count = (uint32_t)attr_integer(b, a);
	return true;
}

static bool take_status(struct span_parts *s, struct slice text)
{
	if (!slice_eq(text, SLICE("OK")) && !slice_eq(text, SLICE("ERROR")))
		return false;
	s->row.status = text.n == 2 ? STATUS_OK : STATUS_ERROR;
	s->row.bits |= JAEGER_STATUS_TAG;
	return true;
}

static bool take_error(struct span_parts *s, const struct attr *a, struct slice text)
{
	s->error_text |= slice_eq(text, SLICE("true")); /* an error, but not as we write it */
	if (a->type != VALUE_BOOL || !a->word)
		return false;
	s->row.bits |= JAEGER_ERROR_TAG;
	return true;
}

bool jaeger_take_tag(struct jaeger_json *d, struct span_parts *s, const struct attr *a)
{
	static const struct json_name names[] = {
		JSON_NAME("span.kind", SPAN_KIND),
		JSON_NAME("error", ERROR),
		JSON_NAME("otel.status_code", STATUS_CODE),
		JSON_NAME("otel.status_description", STATUS_DESCRIPTION),
		JSON_NAME("w3c.tracestate", TRACE_STATE),
		JSON_NAME("otel.scope.name", SCOPE_NAME),
		JSON_NAME("otel.scope.version", SCOPE_VERSION),
		JSON_NAME("otel.dropped_attributes_count", DROPPED_ATTRIBUTES),
		JSON_NAME("otel.dropped_events_count", DROPPED_POINTS),
		JSON_NAME("otel.dropped_links_count", DROPPED_LINKS),
	};
	struct slice text = {0};
	unsigned hint = 0;
	int tag = json_name_find(names, ARRAY_SIZE(names), &hint, batch_text(d->batch, a->key));

	if (tag < 0 || s->taken[tag])
		return false;
	if (a->type == VALUE_STRING)
		text = batch_text(d->batch, a->string);
	switch (tag) {
	case SPAN_KIND:
		s->taken[tag] = take_kind(text, &s->row.kind);
		break;
	case ERROR:
		s->taken[tag] = take_error(s, a, text);
		break;
	case STATUS_CODE:
		s->taken[tag] = take_status(s, text);
		break;
	case STATUS_DESCRIPTION:
		s->taken[tag] = jaeger_take_text(a, &s->extra.status_message);
		break;
	case TRACE_STATE:
		s->taken[tag] = jaeger_take_text(a, &s->extra.trace_state);
		break;
	case SCOPE_NAME:
		s->taken[tag] = jaeger_take_text(a, &s->scope.name);
		break;
	case SCOPE_VERSION:
		s->taken[tag] = jaeger_take_text(a, &s->scope.version);
		break;
	case DROPPED_ATTRIBUTES:
		s->taken[tag] = jaeger_take_count(d->batch, a, &s->extra.dropped_attributes);
		break;
	case DROPPED_POINTS:
		s->taken[tag] = jaeger_take_count(d->batch, a, &s->extra.dropped_points);
		break;
	default:
		s->taken[tag] = jaeger_take_count(d->batch, a, &s->extra.dropped_links);
	}
	return s->taken[tag];
}
