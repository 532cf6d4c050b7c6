#include "t.h"

#include <errno.h>

#include "batch_equal.h"
#include "golden.h"
#include "wire/otlp_json.h"
#include "wire/zipkin.h"
#include "wire/zipkin_json.h"

static struct batch *decoded(struct slice body, struct decode_tally *tally)
{
	struct batch *b = batch_new(body.n);
	struct error error = {.text = ""};

	assert_non_null(b);
	if (zipkin_json_decode(body, b, tally, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return b;
}

static struct batch *spans(const char *body)
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

	zipkin_json_encode(refs, n, out);
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

static void a_real_list_of_spans_comes_back(void **state)
{
	struct decode_tally tally = {0};
	struct buffer json = {0};

	assert_true(golden_load("wire/zipkin/zipkin.json", &json));
	_cleanup_(batch_unrefp)
	struct batch *b = decoded(buffer_get(&json), &tally);
	assert_true(tally.accepted >= 30);
	assert_int_equal(tally.rejected, 0);
	assert_round_trip(b);
	buffer_done(&json);
}

/* As Zipkin itself writes it: keys in this order, nothing that is absent. */
static const char whole[] =
	"[{\"traceId\":\"000000000000000a\",\"parentId\":\"0000000000000001\",\"id\":"
	"\"0000000000000002\",\"kind\":\"CLIENT\",\"name\":\"get /\",\"timestamp\":"
	"1502787600000000,\"duration\":150000,\"localEndpoint\":{\"serviceName\":\"front\","
	"\"ipv4\":\"10.0.0.1\",\"ipv6\":\"2001:db8::1\",\"port\":80},\"remoteEndpoint\":"
	"{\"serviceName\":\"back\",\"ipv4\":\"10.0.0.2\",\"ipv6\":\"2001:db8::2\",\"port\":9000},"
	"\"annotations\":[{\"timestamp\":1502787600000001,\"value\":\"ws\"},{\"timestamp\":0,"
	"\"value\":\"\"}],\"tags\":{\"http.path\":\"/\",\"peer.service\":\"a tag\","
	"\"network.peer.port\":\"1\",\"error\":\"bro\\\"ken\",\"\":\"\"},\"debug\":true,"
	"\"shared\":true}]";

static void every_field_comes_back_as_it_came(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = spans(whole);
	const struct event *e = &b->events[0];

	assert_int_equal(b->event_n, 3);
	assert_int_equal(e->format, FORMAT_ZIPKIN);
	assert_int_equal(e->kind, KIND_CLIENT);
	assert_true(e->time_ns == 1502787600000000000 && e->end_ns == 1502787600150000000);
	assert_true(e->bits & EVENT_TRACE_ID_64 && e->bits & EVENT_SHARED && e->bits & EVENT_DEBUG);
	assert_text(batch_service(b, e), "front");
	assert_int_equal(e->status, STATUS_ERROR);
	assert_text(batch_text(b, batch_extra_get(b, e)->status_message), "bro\"ken");
	assert_text(batch_attr_text(b, e->attrs, SLICE("network.local.address")), "10.0.0.1");
	assert_text(batch_attr_text(b, e->attrs, SLICE("network.peer.address")), "10.0.0.2");
	assert_text(batch_attr_text(b, e->attrs, SLICE("zipkin.peer.ipv6")), "2001:db8::2");
	assert_text(batch_attr_text(b, e->attrs, SLICE("error")), "bro\"ken");
	assert_text(batch_text(b, b->attrs[e->attrs.first + 3].key), "peer.service");
	assert_text(batch_text(b, b->attrs[e->attrs.first + 3].string), "back");
	assert_int_equal(b->events[1].type, EVENT_POINT);
	assert_text(batch_text(b, b->events[1].name), "ws");
	assert_encodes_to(b, whole);
	assert_round_trip(b);
}

static void each_endpoint_field_alone_comes_back(void **state)
{
	static const char *const fields[] = {"\"serviceName\":\"s\"", "\"ipv4\":\"1.2.3.4\"",
					     "\"ipv6\":\"::1\"", "\"port\":65535"};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(fields); i++) {
		char json[200];

		snprintf(json, sizeof(json),
			 "[{\"traceId\":\"0000000000000000000000000000000a\",\"id\":"
			 "\"0000000000000002\",\"%s\":{%s},\"tags\":{\"network.peer.address\":"
			 "\"x\"}}]",
			 i % 2 ? "localEndpoint" : "remoteEndpoint", fields[i / 2]);
		_cleanup_(batch_unrefp)
		struct batch *b = spans(json);
		assert_encodes_to(b, json);
	}
}

static void times_may_be_absent(void **state)
{
	static const char *const times[] = {"", ",\"timestamp\":5", ",\"duration\":7",
					    ",\"timestamp\":5,\"duration\":7",
					    ",\"timestamp\":18446744073709551"};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		char json[200];

		snprintf(json, sizeof(json),
			 "[{\"traceId\":\"000000000000000a\",\"id\":\"0000000000000002\"%s}]",
			 times[i]);
		_cleanup_(batch_unrefp)
		struct batch *b = spans(json);
		assert_encodes_to(b, json);
	}
}

static void lists_of_lists_and_single_spans_are_read(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *one = spans("{\"traceId\":\"a\",\"id\":\"b\"}");
	_cleanup_(batch_unrefp)
	struct batch *list = spans("[{\"traceId\":\"a\",\"id\":\"b\"}]");
	_cleanup_(batch_unrefp)
	struct batch *lists = spans("[[{\"id\":\"b\",\"traceId\":\"a\"}],[]]");
	_cleanup_(batch_unrefp)
	struct batch *none = spans("[]");

	assert_batch_equal(one, list);
	assert_batch_equal(one, lists);
	assert_int_equal(none->event_n, 0);
	assert_encodes_to(none, "[]");
}

static void services_share_their_resource(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b =
		spans("[{\"traceId\":\"a\",\"id\":\"1\",\"localEndpoint\":{\"serviceName\":\"x\"}},"
		      "{\"traceId\":\"a\",\"id\":\"2\",\"localEndpoint\":{\"serviceName\":\"y\"}},"
		      "{\"traceId\":\"a\",\"id\":\"3\",\"localEndpoint\":{\"serviceName\":\"x\"}},"
		      "{\"traceId\":\"a\",\"id\":\"4\"},{\"traceId\":\"a\",\"id\":\"5\"}]");

	assert_int_equal(b->resource_n, 3);
	assert_int_equal(b->events[0].resource, b->events[2].resource);
	assert_int_equal(b->events[3].resource, b->events[4].resource);
}

static void odd_tags_become_text(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = spans(
		"[{\"traceId\":\"a\",\"id\":\"1\",\"tags\":{\"n\":1.50,\"t\":true,\"f\":false,"
		"\"z\":null,\"error\":\"false\"},\"unheardOf\":[{}],\"kind\":null}]");

	assert_int_equal(b->events[0].status, STATUS_UNSET);
	assert_encodes_to(b, "[{\"traceId\":\"000000000000000a\",\"id\":\"0000000000000001\","
			     "\"tags\":{\"n\":\"1.50\",\"t\":\"true\",\"f\":\"false\",\"z\":\"\","
			     "\"error\":\"false\"}}]");
}

static void unusable_spans_are_rejected_and_the_rest_stands(void **state)
{
	static const struct {
		const char *span, *reason;
	} rows[] = {
		{"{\"id\":\"1\"}", "without a traceId"},
		{"{\"traceId\":\"\",\"id\":\"1\"}", "without a traceId"},
		{"{\"traceId\":\"0\",\"id\":\"1\"}", "traceId that is not"},
		{"{\"traceId\":\"x\",\"id\":\"1\"}", "traceId that is not"},
		{"{\"traceId\":\"123456789012345678901234567890123\",\"id\":\"1\"}",
		 "traceId that is not"},
		{"{\"traceId\":\"1\"}", "without an id"},
		{"{\"traceId\":\"1\",\"id\":\"x\"}", "an id that is not"},
		{"{\"traceId\":\"1\",\"id\":\"12345678901234567\"}", "an id that is not"},
		{"{\"traceId\":\"1\",\"id\":\"1\",\"parentId\":\"x\"}", "parentId that is not"},
		{"{\"traceId\":\"1\",\"id\":\"1\",\"kind\":\"OTHER\"}", "kind"},
		{"{\"traceId\":\"1\",\"id\":\"1\",\"localEndpoint\":{\"port\":65536}}", "port"},
		{"{\"traceId\":\"1\",\"id\":\"1\",\"timestamp\":18446744073709552}", "range"},
		{"{\"traceId\":\"1\",\"id\":\"1\",\"timestamp\":1,\"duration\":"
		 "18446744073709551615}",
		 "range"},
		{"{\"traceId\":\"1\",\"id\":\"1\",\"annotations\":[{\"timestamp\":"
		 "18446744073709552}]}",
		 "annotation"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct decode_tally tally = {0};
		struct buffer body = {0};

		buffer_printf(&body, "[%s,{\"traceId\":\"1\",\"id\":\"1\"}]", rows[i].span);
		_cleanup_(batch_unrefp)
		struct batch *b = decoded(buffer_get(&body), &tally);
		assert_int_equal(tally.accepted, 1);
		assert_int_equal(tally.rejected, 1);
		if (!strstr(tally.reason, rows[i].reason))
			fail_msg("%s", tally.reason);
		assert_int_equal(b->event_n, 1);
		buffer_done(&body);
	}
}

static int refused(struct slice body, struct error *error)
{
	struct decode_tally tally = {0};
	_cleanup_(batch_unrefp)
	struct batch *b = batch_new(body.n);

	return zipkin_json_decode(body, b, &tally, error);
}

static void wrong_shapes_are_refused_with_the_byte(void **state)
{
	static const char *const bodies[] = {
		"",
		"1",
		"[1]",
		"[[1]]",
		"[[[]]]",
		"[{\"traceId\":1}]",
		"[{\"timestamp\":-1}]",
		"[{\"timestamp\":1.5}]",
		"[{\"duration\":1e300}]",
		"[{\"tags\":[]}]",
		"[{\"tags\":{\"a\":[]}}]",
		"[{\"annotations\":{}}]",
		"[{\"localEndpoint\":\"x\"}]",
		"[{\"localEndpoint\":{\"port\":\"x\"}}]",
		"[{\"shared\":\"yes\"}]",
		"[{\"name\":\"\xff\"}]",
		"[{}] []",
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

static void what_redaction_took_is_not_mistaken(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b =
		spans("[{\"traceId\":\"a\",\"id\":\"1\",\"localEndpoint\":{\"ipv4\":\"10.0.0.1\"},"
		      "\"remoteEndpoint\":{\"serviceName\":\"back\",\"port\":80},\"tags\":"
		      "{\"a\":\"b\"}}]");

	/* As if network.local.address had been dropped. */
	b->events[0].attrs.first++;
	b->events[0].attrs.count--;
	assert_encodes_to(b, "[{\"traceId\":\"000000000000000a\",\"id\":\"0000000000000001\","
			     "\"remoteEndpoint\":{\"serviceName\":\"back\",\"port\":80},\"tags\":"
			     "{\"a\":\"b\"}}]");
}

static void spans_of_opentelemetry_follow_its_rules(void **state)
{
	static const char otlp[] =
		"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
		"\"value\":{\"stringValue\":\"shop\"}},{\"key\":\"host.name\",\"value\":"
		"{\"stringValue\":\"h\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"lib\","
		"\"version\":\"1\"},\"spans\":[{\"traceId\":\"5b8efff798038103d269b633813fc60c\","
		"\"spanId\":\"eee19b7ec3c1b174\",\"parentSpanId\":\"eee19b7ec3c1b173\",\"name\":"
		"\"op\",\"kind\":3,\"startTimeUnixNano\":\"1000000\",\"endTimeUnixNano\":"
		"\"1000500\",\"traceState\":\"k=v\",\"attributes\":[{\"key\":\"i\",\"value\":"
		"{\"intValue\":\"5\"}},{\"key\":\"d\",\"value\":{\"doubleValue\":\"NaN\"}},"
		"{\"key\":\"l\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"x\"},"
		"{\"boolValue\":true}]}}},{\"key\":\"server.address\",\"value\":{\"stringValue\":"
		"\"db\"}},{\"key\":\"network.peer.address\",\"value\":{\"stringValue\":\"::1\"}},"
		"{\"key\":\"server.port\",\"value\":{\"intValue\":5432}},{\"key\":\"error\","
		"\"value\":{\"boolValue\":true}}],\"droppedAttributesCount\":3,\"events\":["
		"{\"timeUnixNano\":\"1000100\",\"name\":\"plain\"},{\"timeUnixNano\":\"1000200\","
		"\"name\":\"e\",\"attributes\":[{\"key\":\"a\",\"value\":{\"intValue\":1}}]}],"
		"\"links\":[{\"traceId\":\"0000000000000000000000000000000a\",\"spanId\":"
		"\"000000000000000b\",\"traceState\":\"t\"}],\"status\":{\"code\":2,\"message\":"
		"\"no\"}}]}]}]}";
	struct decode_tally tally = {0};
	struct error e;
	_cleanup_(batch_unrefp)
	struct batch *b = batch_new(0);

	assert_int_equal(otlp_json_decode(slice_cstr(otlp), b, &tally, &e), 0);
	assert_int_equal(tally.accepted, 1);
	assert_encodes_to(
		b,
		"[{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"parentId\":"
		"\"eee19b7ec3c1b173\",\"id\":\"eee19b7ec3c1b174\",\"kind\":\"CLIENT\",\"name\":"
		"\"op\",\"timestamp\":1000,\"duration\":1,\"localEndpoint\":{\"serviceName\":"
		"\"shop\"},\"remoteEndpoint\":{\"serviceName\":\"db\",\"ipv6\":\"::1\",\"port\":"
		"5432},\"annotations\":[{\"timestamp\":1000,\"value\":\"plain\"},{\"timestamp\":"
		"1000,\"value\":\"\\\"e\\\": {\\\"a\\\":1}\"}],\"tags\":{\"host.name\":\"h\",\"i\":"
		"\"5\",\"d\":\"NaN\",\"l\":\"[\\\"x\\\",true]\",\"server.address\":\"db\","
		"\"network.peer.address\":\"::1\",\"server.port\":\"5432\",\"otel.scope.name\":"
		"\"lib\",\"otel.scope.version\":\"1\",\"otel.library.name\":\"lib\","
		"\"otel.library.version\":\"1\",\"w3c.tracestate\":\"k=v\","
		"\"otel.dropped_attributes_count\":\"3\",\"otel.status_code\":\"ERROR\",\"error\":"
		"\"no\",\"otlp.link.0\":\"0000000000000000000000000000000a|000000000000000b|t|{}|"
		"0\"}}]");
}

static void addresses_have_two_forms(void **state)
{
	struct arena arena = {0};
	uint8_t bytes[16];

	assert_text(zipkin_address_text(&arena, SLICE("\x0a\x00\x00\x01")), "10.0.0.1");
	assert_int_equal(zipkin_address_bytes(SLICE("2001:db8::1"), bytes), 16);
	assert_text(zipkin_address_text(&arena, slice_of(bytes, 16)), "2001:db8::1");
	assert_int_equal(zipkin_address_bytes(SLICE("10.0.0.1"), bytes), 4);
	assert_int_equal(zipkin_address_bytes(SLICE("10.0.0.1x"), bytes), 0);
	assert_int_equal(zipkin_address_bytes(SLICE(""), bytes), 0);
	assert_int_equal(zipkin_address_text(&arena, SLICE("abc")).n, 0);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_list_of_spans_comes_back),
		cmocka_unit_test(every_field_comes_back_as_it_came),
		cmocka_unit_test(each_endpoint_field_alone_comes_back),
		cmocka_unit_test(times_may_be_absent),
		cmocka_unit_test(lists_of_lists_and_single_spans_are_read),
		cmocka_unit_test(services_share_their_resource),
		cmocka_unit_test(odd_tags_become_text),
		cmocka_unit_test(unusable_spans_are_rejected_and_the_rest_stands),
		cmocka_unit_test(wrong_shapes_are_refused_with_the_byte),
		cmocka_unit_test(what_redaction_took_is_not_mistaken),
		cmocka_unit_test(spans_of_opentelemetry_follow_its_rules),
		cmocka_unit_test(addresses_have_two_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
