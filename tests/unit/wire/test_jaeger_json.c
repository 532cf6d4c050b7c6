#include "t.h"

#include <errno.h>

#include "batch_equal.h"
#include "golden.h"
#include "wire/jaeger_json.h"
#include "wire/otlp_json.h"

static struct batch *decoded(struct slice body, struct decode_tally *tally)
{
	struct batch *b = batch_new(body.n);
	struct error error = {.text = ""};

	assert_non_null(b);
	if (jaeger_json_decode(body, b, tally, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return b;
}

static struct batch *traces(const char *body)
{
	struct decode_tally tally = {0};
	struct batch *b = decoded(slice_cstr(body), &tally);

	if (tally.rejected)
		fail_msg("%s", tally.reason);
	return b;
}

static void encoded(const struct batch *b, struct buffer *out)
{
	struct event_ref *refs;
	size_t n = batch_refs(b, &refs);

	jaeger_json_encode(refs, n, out);
	assert_false(out->failed);
	free(refs);
}

static void assert_encodes_to(const struct batch *b, const char *json)
{
	struct buffer out = {0};

	encoded(b, &out);
	assert_string_equal(buffer_cstr(&out), json);
	buffer_done(&out);
}

static void assert_round_trip(const struct batch *b)
{
	struct decode_tally tally = {0};
	struct buffer out = {0};

	encoded(b, &out);
	_cleanup_(batch_unrefp)
	struct batch *again = decoded(buffer_get(&out), &tally);
	assert_int_equal(tally.rejected, 0);
	assert_batch_equal(b, again);
	buffer_done(&out);
}

static void answers_of_a_real_jaeger_come_back(void **state)
{
	struct buffer file = {0};
	struct slice rest;
	uint64_t spans = 0;

	assert_true(golden_load("wire/jaeger/answers.jsonl", &file));
	rest = buffer_get(&file);
	while (rest.n > 0) {
		struct decode_tally tally = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = decoded(slice_cut(&rest, '\n'), &tally);

		assert_int_equal(tally.rejected, 0);
		assert_true(tally.accepted > 0);
		spans += tally.accepted;
		assert_round_trip(b);
	}
	assert_int_equal(spans, 32);
	buffer_done(&file);
}

/* In the order in which we write it. */
#define TRACE         "0000000000000000000000000000000a"
#define ANSWER(trace) "{\"data\":[" trace "],\"total\":0,\"limit\":0,\"offset\":0,\"errors\":null}"
static const char whole[] = ANSWER(
	"{\"traceID\":\"" TRACE "\",\"spans\":[{\"traceID\":\"" TRACE "\",\"spanID\":"
	"\"0000000000000002\",\"flags\":3,\"operationName\":\"get \\\"x\\\"\",\"references\":["
	"{\"refType\":\"CHILD_OF\",\"traceID\":\"" TRACE "\",\"spanID\":\"0000000000000001\"},"
	"{\"refType\":\"FOLLOWS_FROM\",\"traceID\":\"000000000000000b\",\"spanID\":"
	"\"0000000000000003\"},{\"refType\":\"CHILD_OF\",\"traceID\":\"" TRACE "\",\"spanID\":"
	"\"0000000000000004\"},{\"refType\":\"OTHER\",\"traceID\":\"" TRACE "\",\"spanID\":"
	"\"0000000000000005\"}],\"startTime\":1502787600000000,\"duration\":0,\"tags\":["
	"{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"server\"},"
	"{\"key\":\"otel.scope.name\",\"type\":\"string\",\"value\":\"lib\"},"
	"{\"key\":\"otel.scope.version\",\"type\":\"string\",\"value\":\"1\"},"
	"{\"key\":\"error\",\"type\":\"bool\",\"value\":true},"
	"{\"key\":\"otel.status_code\",\"type\":\"string\",\"value\":\"ERROR\"},"
	"{\"key\":\"otel.status_description\",\"type\":\"string\",\"value\":\"why\"},"
	"{\"key\":\"w3c.tracestate\",\"type\":\"string\",\"value\":\"k=v\"},"
	"{\"key\":\"otel.dropped_attributes_count\",\"type\":\"int64\",\"value\":1},"
	"{\"key\":\"otel.dropped_events_count\",\"type\":\"int64\",\"value\":2},"
	"{\"key\":\"otel.dropped_links_count\",\"type\":\"int64\",\"value\":3},"
	"{\"key\":\"s\",\"type\":\"string\",\"value\":\"\\n\"},"
	"{\"key\":\"b\",\"type\":\"bool\",\"value\":false},"
	"{\"key\":\"i\",\"type\":\"int64\",\"value\":-9007199254740991},"
	"{\"key\":\"big\",\"type\":\"int64\",\"value\":\"-9223372036854775808\"},"
	"{\"key\":\"f\",\"type\":\"float64\",\"value\":3},"
	"{\"key\":\"nan\",\"type\":\"float64\",\"value\":\"NaN\"},"
	"{\"key\":\"bin\",\"type\":\"binary\",\"value\":\"AAH/\"},"
	"{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"client\"},"
	"{\"key\":\"error\",\"type\":\"string\",\"value\":\"x\"}],"
	"\"logs\":[{\"timestamp\":1502787600000001,\"fields\":["
	"{\"key\":\"event\",\"type\":\"string\",\"value\":\"e\"},"
	"{\"key\":\"otel.dropped_attributes_count\",\"type\":\"int64\",\"value\":4},"
	"{\"key\":\"n\",\"type\":\"int64\",\"value\":1}]},{\"timestamp\":0,\"fields\":[]}],"
	"\"processID\":\"p1\",\"warnings\":[\"w1\",\"w2\"]},"
	"{\"traceID\":\"" TRACE "\",\"spanID\":\"0000000000000006\",\"operationName\":\"\","
	"\"references\":[],\"startTime\":0,\"duration\":0,\"tags\":[],\"logs\":[],"
	"\"processID\":\"p2\",\"warnings\":null}],"
	"\"processes\":{\"p1\":{\"serviceName\":\"shop\",\"tags\":["
	"{\"key\":\"host\",\"type\":\"string\",\"value\":\"h\"}]},"
	"\"p2\":{\"serviceName\":\"\",\"tags\":[]}},\"warnings\":[\"of the trace\"]},"
	"{\"traceID\":\"000000000000000c\",\"spans\":[{\"traceID\":\"000000000000000c\",\"spanID\":"
	"\"0000000000000001\",\"operationName\":\"\",\"references\":[],\"startTime\":5,"
	"\"duration\":7,\"tags\":[],\"logs\":[],\"processID\":\"p1\",\"warnings\":null}],"
	"\"processes\":{\"p1\":{\"serviceName\":\"\",\"tags\":[]}},\"warnings\":null}");

static void every_field_comes_back_as_it_came(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = traces(whole);
	const struct event *e = &b->events[0];
	const struct event_extra *x = batch_extra_get(b, e);

	assert_int_equal(b->event_n, 8);
	assert_int_equal(e->format, FORMAT_JAEGER);
	assert_int_equal(e->kind, KIND_SERVER);
	assert_int_equal(e->status, STATUS_ERROR);
	assert_int_equal(e->id2, 1);
	assert_int_equal(e->flags, 3);
	assert_true(e->time_ns == 1502787600000000000 && e->end_ns == e->time_ns);
	assert_text(batch_text(b, x->status_message), "why");
	assert_text(batch_text(b, x->trace_state), "k=v");
	assert_text(batch_text(b, b->scopes[e->scope].name), "lib");
	assert_text(batch_service(b, e), "shop");
	assert_int_equal(x->dropped_attributes, 1);
	assert_int_equal(e->attrs.count, 11);
	assert_int_equal(batch_attr_find(b, e->attrs, SLICE("jaeger.warnings"))->type, VALUE_ARRAY);
	assert_int_equal(attr_integer(b, batch_attr_find(b, e->attrs, SLICE("big"))), INT64_MIN);
	for (size_t i = 1; i < 6; i++)
		assert_int_equal(b->events[i].type, i < 3 ? EVENT_POINT : EVENT_LINK);
	assert_text(batch_text(b, b->events[1].name), "e");
	assert_int_equal(b->events[3].attrs.count, 0);
	assert_text(batch_attr_text(b, b->events[4].attrs, SLICE("opentracing.ref_type")),
		    "child_of");
	assert_encodes_to(b, whole);
	assert_round_trip(b);
}

static void lists_and_single_traces_are_read(void **state)
{
	static const char trace[] = "{\"processes\":{\"x\":{\"serviceName\":\"s\"}},\"spans\":["
				    "{\"spanID\":\"1\",\"processID\":\"x\"}],\"traceID\":\"a\"}";
	char list[200];

	snprintf(list, sizeof(list), "[%s]", trace);
	_cleanup_(batch_unrefp)
	struct batch *a = traces(trace), *b = traces(list);
	_cleanup_(batch_unrefp)
	struct batch *none = traces("{\"data\":null}"), *empty = traces("{\"data\":[]}");

	assert_int_equal(a->event_n, 1);
	assert_text(batch_service(a, &a->events[0]), "s");
	assert_int_equal(a->events[0].trace_id.b[15], 10);
	assert_batch_equal(a, b);
	assert_int_equal(none->event_n + empty->event_n, 0);
}

static void a_parent_may_be_said_the_old_way_and_a_process_inside(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b =
		traces("{\"traceID\":\"a\",\"spans\":[{\"spanID\":\"2\",\"parentSpanID\":\"1\","
		       "\"process\":{\"serviceName\":\"s\",\"tags\":null},\"references\":null,"
		       "\"logs\":null,\"tags\":null}]}");

	assert_int_equal(b->events[0].id2, 1);
	assert_text(batch_service(b, &b->events[0]), "s");
	assert_round_trip(b);
}

static void values_that_do_not_fit_their_type_are_taken_as_they_are(void **state)
{
	static const struct {
		const char *tag;
		enum value_type type;
		const char *text;
	} rows[] = {
		{"\"type\":\"int64\",\"value\":\"12\"", VALUE_INT, NULL},
		{"\"type\":\"int64\",\"value\":\"x\"", VALUE_STRING, "x"},
		{"\"type\":\"int64\",\"value\":1.5", VALUE_DOUBLE, NULL},
		{"\"type\":\"int64\",\"value\":9223372036854775808", VALUE_DOUBLE, NULL},
		{"\"type\":\"float64\",\"value\":\"1.5\"", VALUE_DOUBLE, NULL},
		{"\"type\":\"bool\",\"value\":\"true\"", VALUE_BOOL, NULL},
		{"\"type\":\"bool\",\"value\":\"yes\"", VALUE_STRING, "yes"},
		{"\"type\":\"bool\",\"value\":1", VALUE_INT, NULL},
		{"\"type\":\"binary\",\"value\":\"AA==\"", VALUE_BYTES, NULL},
		{"\"type\":\"binary\",\"value\":\"?\"", VALUE_STRING, "?"},
		{"\"type\":\"string\",\"value\":1.50", VALUE_STRING, "1.50"},
		{"\"type\":\"string\",\"value\":{\"a\": [1]}", VALUE_STRING, "{\"a\": [1]}"},
		{"\"type\":\"string\",\"value\":null", VALUE_STRING, ""},
		{"\"value\":\"v\"", VALUE_STRING, "v"},
		{"\"value\":5", VALUE_INT, NULL},
		{"\"value\":true", VALUE_BOOL, NULL},
		{"\"type\":null", VALUE_STRING, ""},
		{"\"type\":\"unheard of\",\"value\":2.5", VALUE_DOUBLE, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char json[300];

		snprintf(json, sizeof(json),
			 "{\"traceID\":\"a\",\"spans\":[{\"spanID\":\"2\",\"tags\":[{\"key\":\"k\","
			 "%s}]}]}",
			 rows[i].tag);
		_cleanup_(batch_unrefp)
		struct batch *b = traces(json);
		const struct attr *a = &b->attrs[b->events[0].attrs.first];

		if (a->type != rows[i].type)
			fail_msg("%s is of type %d", rows[i].tag, a->type);
		if (rows[i].text)
			assert_text(batch_text(b, a->string), rows[i].text);
		assert_round_trip(b);
	}
}

static void errors_are_recognised(void **state)
{
	static const struct {
		const char *tags;
		int32_t status;
	} rows[] = {
		{"", STATUS_UNSET},
		{"{\"key\":\"error\",\"type\":\"bool\",\"value\":true}", STATUS_ERROR},
		{"{\"key\":\"error\",\"type\":\"bool\",\"value\":false}", STATUS_UNSET},
		{"{\"key\":\"error\",\"type\":\"string\",\"value\":\"true\"}", STATUS_ERROR},
		{"{\"key\":\"error\",\"type\":\"string\",\"value\":\"false\"}", STATUS_UNSET},
		{"{\"key\":\"otel.status_code\",\"value\":\"OK\"}", STATUS_OK},
		{"{\"key\":\"otel.status_code\",\"value\":\"ERROR\"}", STATUS_ERROR},
		{"{\"key\":\"error\",\"type\":\"bool\",\"value\":true},"
		 "{\"key\":\"otel.status_code\",\"value\":\"OK\"}",
		 STATUS_OK},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char json[300];

		snprintf(json, sizeof(json),
			 "{\"traceID\":\"a\",\"spans\":[{\"spanID\":\"2\",\"tags\":[%s]}]}",
			 rows[i].tags);
		_cleanup_(batch_unrefp)
		struct batch *b = traces(json);
		assert_int_equal(b->events[0].status, rows[i].status);
		assert_round_trip(b);
	}
}

static void unusable_spans_are_rejected_and_the_rest_stands(void **state)
{
	static const struct {
		const char *span, *reason;
	} rows[] = {
		{"\"traceID\":\"\",\"spanID\":\"1\"", "without a traceID"},
		{"\"traceID\":\"000\",\"spanID\":\"1\"", "without a traceID"},
		{"\"traceID\":\"xyz\",\"spanID\":\"1\"", "traceID that is not"},
		{"\"operationName\":\"x\"", "without a spanID"},
		{"\"spanID\":\"x\"", "spanID that is not"},
		{"\"spanID\":\"12345678901234567\"", "spanID that is not"},
		{"\"spanID\":\"1\",\"parentSpanID\":\"-1\"", "parentSpanID that is not"},
		{"\"spanID\":\"1\",\"references\":[{\"spanID\":\"x\"}]", "reference"},
		{"\"spanID\":\"1\",\"startTime\":18446744073709552", "range"},
		{"\"spanID\":\"1\",\"startTime\":1,\"duration\":18446744073709551615", "range"},
		{"\"spanID\":\"1\",\"logs\":[{\"timestamp\":18446744073709552}]", "log"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct decode_tally tally = {0};
		struct buffer body = {0};

		buffer_printf(
			&body,
			"{\"traceID\":\"a\",\"warnings\":[\"w\"],\"spans\":[{%s,\"processID\":"
			"\"p\",\"tags\":[{\"key\":\"otel.scope.name\",\"value\":\"n\"}]},"
			"{\"spanID\":\"2\",\"processID\":\"p\",\"tags\":[{\"key\":"
			"\"otel.scope.name\",\"value\":\"n\"}]}]}",
			rows[i].span);
		_cleanup_(batch_unrefp)
		struct batch *b = decoded(buffer_get(&body), &tally);
		assert_int_equal(tally.accepted, 1);
		assert_int_equal(tally.rejected, 1);
		if (!strstr(tally.reason, rows[i].reason))
			fail_msg("%s", tally.reason);
		assert_int_equal(b->event_n, 1);
		assert_round_trip(b);
		buffer_done(&body);
	}
}

static int refused(struct slice body, struct error *error)
{
	struct decode_tally tally = {0};
	_cleanup_(batch_unrefp)
	struct batch *b = batch_new(body.n);

	return jaeger_json_decode(body, b, &tally, error);
}

static void wrong_shapes_are_refused_with_the_byte(void **state)
{
	static const char *const bodies[] = {
		"",
		"1",
		"[1]",
		"{\"data\":{}}",
		"{\"data\":[1]}",
		"{\"spans\":{}}",
		"{\"spans\":[1]}",
		"{\"processes\":[]}",
		"{\"processes\":{\"p\":1}}",
		"{\"processes\":{\"p\":{\"tags\":{}}}}",
		"{\"spans\":[{\"tags\":{}}]}",
		"{\"spans\":[{\"tags\":[1]}]}",
		"{\"spans\":[{\"tags\":[{\"key\":1}]}]}",
		"{\"spans\":[{\"logs\":[1]}]}",
		"{\"spans\":[{\"logs\":[{\"fields\":1}]}]}",
		"{\"spans\":[{\"references\":[1]}]}",
		"{\"spans\":[{\"references\":[{\"spanID\":1}]}]}",
		"{\"spans\":[{\"warnings\":[1]}]}",
		"{\"spans\":[{\"startTime\":-1}]}",
		"{\"spans\":[{\"startTime\":\"soon\"}]}",
		"{\"spans\":[{\"flags\":4294967296}]}",
		"{\"spans\":[{\"operationName\":\"\xff\"}]}",
		"{} {}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct error e = {.offset = ERROR_NO_OFFSET};

		if (refused(slice_cstr(bodies[i]), &e) != -EBADMSG)
			fail_msg("accepted: %s", bodies[i]);
		assert_true(e.offset <= strlen(bodies[i]));
	}
	for (size_t n = 0; n + 1 < sizeof(whole); n++) {
		char *exact = malloc(n + 1);
		struct error e;

		memcpy(exact, whole, n);
		assert_int_equal(refused(slice_of(exact, n), &e), -EBADMSG);
		free(exact);
	}
}

/* What Jaeger's format can hold of a value: nested ones become text. */
static bool kept(const struct batch *a, const struct attr *x, const struct batch *b,
		 const struct attr *y)
{
	if (x->type == VALUE_ARRAY || x->type == VALUE_KVLIST || x->type == VALUE_EMPTY)
		return y->type == VALUE_STRING &&
		       slice_eq(batch_text(a, x->key), batch_text(b, y->key));
	return attr_equal(a, x, b, y);
}

static void assert_kept(const struct batch *a, struct attr_range x, const struct batch *b,
			struct attr_range y)
{
	assert_int_equal(x.count, y.count);
	for (uint32_t i = 0; i < x.count; i++)
		assert_true(kept(a, &a->attrs[x.first + i], b, &b->attrs[y.first + i]));
}

static void opentelemetry_spans_survive_the_detour(void **state)
{
	struct buffer json = {0}, out = {0};
	struct decode_tally tally = {0};
	struct error error;

	assert_true(golden_load("wire/otlp/spans.otlp.json", &json));
	_cleanup_(batch_unrefp)
	struct batch *a = batch_new(json.n);
	assert_int_equal(otlp_json_decode(buffer_get(&json), a, &tally, &error), 0);
	encoded(a, &out);
	_cleanup_(batch_unrefp)
	struct batch *b = decoded(buffer_get(&out), &tally);
	assert_int_equal(tally.rejected, 0);
	assert_int_equal(a->event_n, b->event_n);
	for (size_t i = 0; i < a->event_n; i++) {
		const struct event *x = &a->events[i], *y = &b->events[i];
		const struct event_extra *p = batch_extra_get(a, x), *q = batch_extra_get(b, y);

		assert_int_equal(x->type, y->type);
		assert_true(trace_id_eq(x->trace_id, y->trace_id));
		assert_true(x->id1 == y->id1 && x->id2 == y->id2);
		assert_true(x->kind == y->kind && x->status == y->status && x->flags == y->flags);
		assert_true(x->time_ns == y->time_ns);
		if (x->end_ns >= x->time_ns) /* one ends before it begins: Jaeger cannot say so */
			assert_true(x->end_ns == y->end_ns);
		assert_slice_equal(batch_text(a, x->name), batch_text(b, y->name));
		assert_slice_equal(batch_service(a, x), batch_service(b, y));
		assert_slice_equal(batch_text(a, a->scopes[x->scope].name),
				   batch_text(b, b->scopes[y->scope].name));
		assert_slice_equal(batch_text(a, p->trace_state), batch_text(b, q->trace_state));
		assert_slice_equal(batch_text(a, p->status_message),
				   batch_text(b, q->status_message));
		assert_true(trace_id_eq(p->link_trace, q->link_trace));
		assert_kept(a, a->resources[x->resource].attrs, b, b->resources[y->resource].attrs);
		if (x->type != EVENT_LINK) /* Jaeger's references have no attributes */
			assert_kept(a, x->attrs, b, y->attrs);
	}
	buffer_done(&json);
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_a_real_jaeger_come_back),
		cmocka_unit_test(every_field_comes_back_as_it_came),
		cmocka_unit_test(lists_and_single_traces_are_read),
		cmocka_unit_test(a_parent_may_be_said_the_old_way_and_a_process_inside),
		cmocka_unit_test(values_that_do_not_fit_their_type_are_taken_as_they_are),
		cmocka_unit_test(errors_are_recognised),
		cmocka_unit_test(unusable_spans_are_rejected_and_the_rest_stands),
		cmocka_unit_test(wrong_shapes_are_refused_with_the_byte),
		cmocka_unit_test(opentelemetry_spans_survive_the_detour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
