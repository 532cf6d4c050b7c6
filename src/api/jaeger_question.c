/* api/jaeger_question.c - what a search through one of Jaeger's APIs asks for.
 *
 * A tag is looked for where Jaeger shows it: on the span, on its resource, on its events, and among
 * those that Jaeger makes from a span's other fields (error, span.kind, otel.status_code, …). */
#include "api/jaeger_question.h"

#include <errno.h>

#include "api/jaeger_operations.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "store/attr_text.h"
#include "wire/base64.h"
#include "wire/json_reader.h"
#include "wire/value_text.h"

/* A span of a trace may begin so much later than the trace and still be found by its own start. */
#define SLACK_NS (600 * NS_PER_S)

int jaeger_tag_add(struct jaeger_question *q, struct slice key, struct slice value,
		   struct error *error)
{
	if (q->tag_n == JAEGER_TAGS_MOST)
		return error_set(error, -EINVAL, "more than %d tags", JAEGER_TAGS_MOST);
	q->tags[q->tag_n++] = (struct store_tag){key, value};
	return 0;
}

static int text_read(struct json_string s, struct buffer *scratch, struct arena *arena,
		     struct slice *ret_text)
{
	struct slice text = json_text(s, scratch);

	if (scratch->failed || text.n > JAEGER_TEXT_MOST)
		return scratch->failed ? -ENOMEM : -E2BIG;
	*ret_text = arena_dup(arena, text);
	return ret_text->p ? 0 : -ENOMEM;
}

int jaeger_tags_parse(struct jaeger_question *q, struct slice json, struct arena *arena,
		      struct error *error)
{
	struct json_reader r = json_open(json);
	struct json_string key, value;
	struct buffer scratch = {0};
	struct error why = {0};
	int result = 0;

	json_object(&r);
	while (result == 0 && json_next_key(&r, &key)) {
		struct slice name = {0}, text = {0};

		result = text_read(key, &scratch, arena, &name);
		if (result == 0 && json_string(&r, &value))
			result = text_read(value, &scratch, arena, &text);
		if (result == 0 && !r.bad)
			result = jaeger_tag_add(q, name, text, error);
	}
	buffer_done(&scratch);
	if (result == -E2BIG)
		return error_set(error, -EINVAL, "a tag of more than %d bytes", JAEGER_TEXT_MOST);
	if (result == 0 && json_finish(&r, &why) < 0)
		return error_set(error, -EINVAL,
				 "malformed 'tags', an object of strings is wanted: %s", why.text);
	return result;
}

int jaeger_question_check(const struct jaeger_question *q, struct error *error)
{
	if (q->min_ns && q->max_ns && q->min_ns > q->max_ns)
		return error_set(error, -EINVAL,
				 "'maxDuration' should be greater than 'minDuration'");
	return 0;
}

/* --- what the store may rule out --- */

/* Tags that Jaeger makes from other fields: no attribute need have them. */
static bool is_made(struct slice key)
{
	return slice_eq(key, SLICE("error")) || slice_eq(key, SLICE("span.kind")) ||
	       slice_eq(key, SLICE("w3c.tracestate")) || slice_starts(key, SLICE("otel."));
}

/* Lists and objects are shown as JSON; the store compares scalars alone. */
static bool is_nested(struct slice value)
{
	return value.n >= 2 && (value.p[0] == '[' || value.p[0] == '{');
}

static bool pick_fits(void *context, const struct event_ref *refs, size_t n)
{
	return jaeger_question_fits(context, refs, n);
}

static bool service_fits(const struct jaeger_question *q, struct slice service)
{
	return q->service.n == 0 || slice_eq(q->service, service) ||
	       (service.n == 0 && slice_eq(q->service, SLICE(JAEGER_UNNAMED)));
}

void jaeger_question_pick(struct jaeger_question *q, struct trace_pick *pick)
{
	struct store_query query = {
		.service = q->service,
		.unnamed = slice_eq(q->service, SLICE(JAEGER_UNNAMED)),
		.operation = q->operation,
		.min_duration_ns = q->min_ns,
		.span_min_ns = q->min_ns,
		.span_max_ns = q->max_ns,
		.from_ns = q->from_ns > SLACK_NS ? q->from_ns - SLACK_NS : 0,
		.to_ns = q->to_ns && q->to_ns < INT64_MAX ? q->to_ns + 1 : q->to_ns,
		.tags = q->pushed,
	};

	for (size_t i = 0; i < q->tag_n; i++) {
		if (slice_eq(q->tags[i].key, SLICE("error")) &&
		    slice_eq(q->tags[i].value, SLICE("true")))
			query.errors = true;
		if (!is_made(q->tags[i].key) && !is_nested(q->tags[i].value))
			q->pushed[query.tag_n++] = q->tags[i];
	}
	pick->query = query;
	pick->limit = q->limit;
	pick->from_ns = q->from_ns;
	pick->fits = pick_fits;
	pick->context = q;
	pick->points = q->pushed;
	pick->point_n = query.tag_n;
}

/* --- which spans --- */

const char *jaeger_kind_name(int32_t kind)
{
	static const char *const names[] = {"",       "internal", "server",
					    "client", "producer", "consumer"};

	return kind >= 0 && (size_t)kind < ARRAY_SIZE(names) ? names[kind] : "";
}

int jaeger_kind_parse(struct slice text, int32_t *ret_kind)
{
	const struct slice prefix = SLICE("SPAN_KIND_");

	if (slice_eq_nocase(slice_first(text, prefix.n), prefix))
		text = slice_from(text, prefix.n);
	if (slice_eq_nocase(text, SLICE("unspecified"))) {
		*ret_kind = KIND_UNSPECIFIED;
		return 0;
	}
	for (int32_t kind = KIND_INTERNAL; kind <= KIND_CONSUMER; kind++) {
		if (!slice_eq_nocase(text, slice_cstr(jaeger_kind_name(kind))))
			continue;
		*ret_kind = kind;
		return 0;
	}
	return -EINVAL;
}

static bool nested_is(const struct batch *b, const struct attr *a, struct slice text)
{
	struct buffer shown = {0};
	struct json_writer w = json_write(&shown);
	bool same;

	if (!is_nested(text) || (a->type != VALUE_ARRAY && a->type != VALUE_KVLIST))
		return false;
	value_put_json(&w, b, a);
	same = !shown.failed && slice_eq(buffer_get(&shown), text);
	buffer_done(&shown);
	return same;
}

/* Every attribute with this key counts, not only the last. */
static bool range_has(const struct batch *b, struct attr_range range, const struct store_tag *tag)
{
	for (uint32_t i = 0; i < range.count; i++) {
		const struct attr *a = &b->attrs[range.first + i];

		if (slice_eq(batch_text(b, a->key), tag->key) &&
		    (attr_is(b, a, tag->value) || nested_is(b, a, tag->value)))
			return true;
	}
	return false;
}

static bool made_has(const struct batch *b, const struct event *e, const struct store_tag *tag)
{
	const struct event_extra *x = batch_extra_get(b, e);
	const struct scope *scope = &b->scopes[e->scope];
	struct slice key = tag->key, value = tag->value, own = {0};

	if (slice_eq(key, SLICE("error")))
		return e->status == STATUS_ERROR && slice_eq(value, SLICE("true"));
	if (slice_eq(key, SLICE("span.kind")))
		own = slice_cstr(jaeger_kind_name(e->kind));
	else if (slice_eq(key, SLICE("otel.status_code")))
		own = e->status == STATUS_ERROR ? SLICE("ERROR")
		      : e->status == STATUS_OK  ? SLICE("OK")
						: slice_of(NULL, 0);
	else if (slice_eq(key, SLICE("otel.status_description")))
		own = batch_text(b, x->status_message);
	else if (slice_eq(key, SLICE("w3c.tracestate")))
		own = batch_text(b, x->trace_state);
	else if (slice_eq(key, SLICE("otel.scope.name")) ||
		 slice_eq(key, SLICE("otel.library.name")))
		own = batch_text(b, scope->name);
	else if (slice_eq(key, SLICE("otel.scope.version")) ||
		 slice_eq(key, SLICE("otel.library.version")))
		own = batch_text(b, scope->version);
	return own.n > 0 && slice_eq(own, value);
}

/* `refs` begins with the span; its points stand behind it. */
static bool span_has(const struct event_ref *refs, size_t n, const struct store_tag *tag)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);

	if (range_has(b, e->attrs, tag) || range_has(b, b->resources[e->resource].attrs, tag) ||
	    (is_made(tag->key) && made_has(b, e, tag)))
		return true;
	for (size_t i = 1; i < n && refs[i].batch == b; i++) {
		const struct event *p = event_get(refs[i]);

		if ((p->type != EVENT_POINT && p->type != EVENT_LINK) || p->id1 != e->id1)
			break;
		if (p->type != EVENT_POINT)
			continue;
		if (range_has(b, p->attrs, tag) || (slice_eq(tag->key, SLICE("event")) &&
						    slice_eq(tag->value, batch_text(b, p->name))))
			return true;
	}
	return false;
}

static bool span_fits(const struct jaeger_question *q, const struct event_ref *refs, size_t n)
{
	const struct batch *b = refs[0].batch;
	const struct event *e = event_get(refs[0]);
	uint64_t took = e->end_ns > e->time_ns ? e->end_ns - e->time_ns : 0;

	if (!service_fits(q, batch_service(b, e)) ||
	    (q->operation.n && !slice_eq(q->operation, batch_text(b, e->name))) ||
	    (q->from_ns && e->time_ns < (uint64_t)q->from_ns) ||
	    (q->to_ns && e->time_ns > (uint64_t)q->to_ns) ||
	    (q->min_ns && took < (uint64_t)q->min_ns) || (q->max_ns && took > (uint64_t)q->max_ns))
		return false;
	for (size_t i = 0; i < q->tag_n; i++)
		if (!span_has(refs, n, &q->tags[i]))
			return false;
	return true;
}

bool jaeger_question_fits(const struct jaeger_question *q, const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);

		if ((e->type == EVENT_SPAN || e->type == EVENT_BEGIN) &&
		    span_fits(q, refs + i, n - i))
			return true;
	}
	return false;
}

bool jaeger_is_flag(struct slice text)
{
	static const char *const words[] = {"1", "t", "T", "true",  "TRUE",  "True",
					    "0", "f", "F", "false", "FALSE", "False"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (slice_eq(text, slice_cstr(words[i])))
			return true;
	return false;
}

int jaeger_trace_id_parse(struct slice text, struct trace_id *ret_id)
{
	struct buffer bytes = {0};
	struct trace_id id = {{0}};
	int r = trace_id_parse(text, ret_id);

	if (r == 0)
		return 0;
	r = base64_decode(text, &bytes);
	if (r == 0 && bytes.n != 16 && bytes.n != 8)
		r = -EINVAL;
	if (r == 0) {
		memcpy(id.b + 16 - bytes.n, bytes.p, bytes.n);
		r = trace_id_is_zero(id) ? -EINVAL : 0;
	}
	buffer_done(&bytes);
	if (r == 0)
		*ret_id = id;
	return r;
}
