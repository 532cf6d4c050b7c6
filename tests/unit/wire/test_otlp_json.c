#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "batch_equal.h"
#include "golden.h"
#include "wire/otlp_json.h"
#include "wire/otlp_proto.h"

typedef int decode_fn(struct slice body, struct batch *batch, struct decode_tally *tally,
		      struct error *error);
typedef void encode_fn(const struct event_ref *refs, size_t n, struct buffer *out);

static struct batch *decoded(decode_fn *decode, struct slice body, struct decode_tally *tally)
{
	struct batch *b = batch_new(body.n);
	struct error error = {.text = ""};

	assert_non_null(b);
	if (decode(body, b, tally, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return b;
}

static struct batch *traces(const char *body)
{
	struct decode_tally tally = {0};
	struct batch *b = decoded(otlp_json_decode_traces, slice_cstr(body), &tally);

	assert_int_equal(tally.rejected, 0);
	return b;
}

static void encoded(encode_fn *encode, const struct batch *b, struct buffer *out)
{
	struct event_ref *refs;
	size_t n = batch_refs(b, &refs);

	encode(refs, n, out);
	assert_false(out->failed);
	free(refs);
}

static void assert_round_trip(decode_fn *decode, encode_fn *encode, const struct batch *b)
{
	struct decode_tally tally = {0};
	struct buffer out = {0};

	encoded(encode, b, &out);
	_cleanup_(batch_unrefp)
	struct batch *again = decoded(decode, buffer_get(&out), &tally);
	assert_int_equal(tally.rejected, 0);
	assert_batch_equal(b, again);
	buffer_done(&out);
}

static void json_and_protobuf_of_one_request_are_the_same_rows(void **state)
{
	struct buffer json = {0}, proto = {0}, out = {0};
	struct decode_tally from_json = {0}, from_proto = {0};

	assert_true(golden_load("wire/otlp/spans.otlp.json", &json));
	assert_true(golden_load("wire/otlp/spans.otlp", &proto));
	_cleanup_(batch_unrefp)
	struct batch *a = decoded(otlp_json_decode_traces, buffer_get(&json), &from_json);
	_cleanup_(batch_unrefp)
	struct batch *b = decoded(otlp_proto_decode_traces, buffer_get(&proto), &from_proto);
	assert_int_equal(from_json.accepted, 157);
	assert_int_equal(from_proto.accepted, 157);
	assert_batch_equal(a, b);
	assert_round_trip(otlp_json_decode_traces, otlp_json_encode_traces, a);
	assert_round_trip(otlp_proto_decode_traces, otlp_proto_encode_traces, a);
	buffer_done(&json);
	buffer_done(&proto);
	buffer_done(&out);
}

#define TRACE "\"traceId\":\"5B8EFFF798038103D269B633813FC60C\""
#define SPAN  "\"spanId\":\"eee19b7ec3c1b174\""
#define REQUEST(span)                                                                              \
	"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" TRACE "," SPAN "," span "}]}]}]}"

static const char everything[] =
	"{\"resourceSpans\":[{\"schemaUrl\":\"r\",\"scopeSpans\":[{\"schemaUrl\":\"s\",\"spans\":["
	"{\"links\":[{\"traceId\":\"00000000000000000000000000000001\",\"spanId\":"
	"\"0000000000000002\",\"traceState\":\"ls\",\"attributes\":[{\"key\":\"l\",\"value\":"
	"{\"intValue\":1}}],\"droppedAttributesCount\":3,\"flags\":769},{}],"
	"\"events\":[{\"timeUnixNano\":\"18446744073709551615\",\"name\":\"e1\",\"attributes\":[],"
	"\"droppedAttributesCount\":4},{\"name\":\"e2\",\"attributes\":[{\"key\":\"x\",\"value\":"
	"{\"boolValue\":true}}]}]," TRACE "," SPAN
	",\"parentSpanId\":\"EEE19B7EC3C1B173\",\"traceState\":\"ts\",\"name\":\"n \\u00e4 \\\"\","
	"\"kind\":\"SPAN_KIND_SERVER\",\"startTimeUnixNano\":\"1544712660000000000\","
	"\"endTimeUnixNano\":1544712661000000001,\"attributes\":["
	"{\"key\":\"string\",\"value\":{\"stringValue\":\"v\\n\"}},"
	"{\"key\":\"empty string\",\"value\":{\"stringValue\":\"\"}},"
	"{\"key\":\"int\",\"value\":{\"intValue\":\"-9223372036854775808\"}},"
	"{\"key\":\"double\",\"value\":{\"doubleValue\":0.1}},"
	"{\"key\":\"nan\",\"value\":{\"doubleValue\":\"NaN\"}},"
	"{\"key\":\"infinite\",\"value\":{\"doubleValue\":\"-Infinity\"}},"
	"{\"key\":\"minus zero\",\"value\":{\"doubleValue\":-0}},"
	"{\"key\":\"bool\",\"value\":{\"boolValue\":false}},"
	"{\"key\":\"bytes\",\"value\":{\"bytesValue\":\"AAH/\"}},"
	"{\"key\":\"array\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"a\"},{},"
	"{\"arrayValue\":{}},{\"kvlistValue\":{\"values\":[{\"key\":\"k\",\"value\":{\"intValue\":"
	"\"5\"}}]}}]}}},"
	"{\"key\":\"kvlist\",\"value\":{\"kvlistValue\":{\"values\":[{\"key\":\"\"},{\"key\":\"n\","
	"\"value\":{\"arrayValue\":{\"values\":[{\"doubleValue\":1e300}]}}}]}}},"
	"{\"key\":\"none\",\"value\":{}},{\"key\":\"null\",\"value\":null},"
	"{\"key\":\"null string\",\"value\":{\"stringValue\":null}}],"
	"\"droppedAttributesCount\":5,\"droppedEventsCount\":6,\"droppedLinksCount\":\"7\","
	"\"status\":{\"message\":\"why\",\"code\":\"STATUS_CODE_ERROR\"},\"flags\":257,"
	"\"unheardOf\":{\"deep\":[1,{}]}}],\"scope\":{\"name\":\"lib\",\"version\":\"1\","
	"\"attributes\":[{\"key\":\"sa\",\"value\":{\"stringValue\":\"sv\"}}],"
	"\"droppedAttributesCount\":1}}],\"resource\":{\"attributes\":[{\"key\":\"service.name\","
	"\"value\":{\"stringValue\":\"shop\"}}],\"droppedAttributesCount\":2,\"entityRefs\":["
	"{\"type\":\"service\",\"idKeys\":[\"service.name\"],\"descriptionKeys\":[\"a\",\"b\"],"
	"\"schemaUrl\":\"eu\"},{}]}}]}";

static void every_field_arrives_whatever_the_order_of_keys(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = traces(everything);
	const struct event *span = &b->events[0];
	const struct event_extra *x = batch_extra_get(b, span);
	char trace[TRACE_ID_HEX + 1];

	assert_int_equal(b->event_n, 5);
	trace_id_format(span->trace_id, trace);
	assert_string_equal(trace, "5b8efff798038103d269b633813fc60c");
	assert_true(span->id1 == 0xeee19b7ec3c1b174 && span->id2 == 0xeee19b7ec3c1b173);
	assert_int_equal(span->kind, KIND_SERVER);
	assert_int_equal(span->status, STATUS_ERROR);
	assert_text(batch_text(b, span->name), "n \xc3\xa4 \"");
	assert_int_equal(span->time_ns, 1544712660000000000);
	assert_int_equal(span->end_ns, 1544712661000000001);
	assert_int_equal(span->flags, 257);
	assert_int_equal(span->attrs.count, 14);
	assert_text(batch_text(b, x->trace_state), "ts");
	assert_text(batch_text(b, x->status_message), "why");
	assert_int_equal(x->dropped_attributes, 5);
	assert_int_equal(x->dropped_points, 6);
	assert_int_equal(x->dropped_links, 7);
	/* Points before links, with the span's ids, although they came first of all. */
	for (size_t i = 1; i < 5; i++) {
		assert_int_equal(b->events[i].type, i < 3 ? EVENT_POINT : EVENT_LINK);
		assert_true(b->events[i].id1 == span->id1);
		assert_true(trace_id_eq(b->events[i].trace_id, span->trace_id));
	}
	assert_text(batch_text(b, b->events[1].name), "e1");
	assert_true(b->events[1].time_ns == UINT64_MAX);
	assert_int_equal(b->events[3].id2, 2);
	assert_int_equal(batch_extra_get(b, &b->events[3])->link_trace.b[15], 1);
	assert_text(batch_service(b, span), "shop");
	assert_text(batch_text(b, b->resources[span->resource].schema_url), "r");
	assert_int_equal(attr_children(b, &b->resources[span->resource].entities).count, 2);
	assert_text(batch_text(b, b->scopes[span->scope].schema_url), "s");
	assert_text(batch_text(b, b->scopes[span->scope].name), "lib");
	assert_round_trip(otlp_json_decode_traces, otlp_json_encode_traces, b);
	assert_round_trip(otlp_proto_decode_traces, otlp_proto_encode_traces, b);
}

static void snake_case_is_the_same(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *a = traces(
		"{\"resourceSpans\":[{\"resource\":{\"droppedAttributesCount\":1,\"entityRefs\":"
		"[{\"schemaUrl\":\"x\",\"idKeys\":[\"k\"],\"descriptionKeys\":[]}]},"
		"\"scopeSpans\":[{\"scope\":{\"droppedAttributesCount\":2},"
		"\"schemaUrl\":\"u\",\"spans\":[{" TRACE "," SPAN ",\"parentSpanId\":"
		"\"0000000000000001\",\"traceState\":\"t\",\"startTimeUnixNano\":1,"
		"\"endTimeUnixNano\":2,\"droppedAttributesCount\":3,\"droppedEventsCount\":4,"
		"\"droppedLinksCount\":5,\"events\":[{\"timeUnixNano\":6,"
		"\"droppedAttributesCount\":7}],\"links\":[{\"traceId\":"
		"\"00000000000000000000000000000009\",\"spanId\":\"0000000000000008\","
		"\"traceState\":\"v\",\"droppedAttributesCount\":1}],\"attributes\":[{\"key\":\"a\","
		"\"value\":{\"kvlistValue\":{\"values\":[{\"key\":\"b\",\"value\":{\"bytesValue\":"
		"\"AA==\"}}]}}}]}]}]}]}");
	_cleanup_(batch_unrefp)
	struct batch *b = traces(
		"{\"resource_spans\":[{\"resource\":{\"dropped_attributes_count\":1,"
		"\"entity_refs\":[{\"schema_url\":\"x\",\"id_keys\":[\"k\"],\"description_keys\":"
		"[]}]},\"scope_spans\":[{\"scope\":{\"dropped_attributes_count\":2},"
		"\"schema_url\":\"u\",\"spans\":[{\"trace_id\":\"5b8efff798038103d269b633813fc60c\","
		"\"span_id\":\"EEE19B7EC3C1B174\",\"parent_span_id\":\"0000000000000001\","
		"\"trace_state\":\"t\",\"start_time_unix_nano\":1,\"end_time_unix_nano\":2,"
		"\"dropped_attributes_count\":3,\"dropped_events_count\":4,"
		"\"dropped_links_count\":5,\"events\":[{\"time_unix_nano\":6,"
		"\"dropped_attributes_count\":7}],\"links\":[{\"trace_id\":"
		"\"00000000000000000000000000000009\",\"span_id\":\"0000000000000008\","
		"\"trace_state\":\"v\",\"dropped_attributes_count\":1}],\"attributes\":[{\"key\":"
		"\"a\",\"value\":{\"kvlist_value\":{\"values\":[{\"key\":\"b\",\"value\":"
		"{\"bytes_value\":\"AA\"}}]}}}]}]}]}]}");

	assert_batch_equal(a, b);
}

static void of_a_repeated_key_the_last_counts(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b =
		traces(REQUEST("\"name\":\"one\",\"name\":\"two\",\"events\":[{\"name\":\"p\"},{}],"
			       "\"links\":[{}],\"events\":[{\"name\":\"q\"}],\"attributes\":[{}],"
			       "\"attributes\":[]"));

	assert_int_equal(b->event_n, 3);
	assert_text(batch_text(b, b->events[0].name), "two");
	assert_int_equal(b->events[0].attrs.count, 0);
	assert_int_equal(b->events[1].type, EVENT_POINT);
	assert_text(batch_text(b, b->events[1].name), "q");
	assert_int_equal(b->events[2].type, EVENT_LINK);
}

static void a_bare_integer_too_large_is_kept_as_a_double(void **state)
{
	static const struct {
		const char *number;
		int r;
		enum value_type type;
		double value;
	} rows[] = {
		{"1e300", 0, VALUE_DOUBLE, 1e300},
		{"-18446744073709551616", 0, VALUE_DOUBLE, -18446744073709551616.0},
		{"9223372036854775807", 0, VALUE_INT, 0},
		{"\"9223372036854775808\"", -EBADMSG, VALUE_EMPTY, 0},
		{"\"many\"", -EBADMSG, VALUE_EMPTY, 0},
		{"2.5", -EBADMSG, VALUE_EMPTY, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = batch_new(0);
		struct decode_tally tally = {0};
		struct error error = {0};
		char text[512];

		snprintf(text, sizeof(text),
			 "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":"
			 "\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\","
			 "\"attributes\":[{\"key\":\"n\",\"value\":{\"intValue\":%s}}]}]}]}]}",
			 rows[i].number);
		assert_int_equal(otlp_json_decode_traces(slice_cstr(text), b, &tally, &error),
				 rows[i].r);
		if (rows[i].r < 0)
			continue;
		assert_int_equal(b->attrs[0].type, rows[i].type);
		if (rows[i].type == VALUE_DOUBLE)
			assert_true(attr_number(b, &b->attrs[0]) == rows[i].value);
	}
}

static void unusable_spans_are_rejected_and_the_rest_stands(void **state)
{
	static const struct {
		const char *span, *reason;
	} rows[] = {
		{SPAN, "without a traceId"},
		{"\"traceId\":\"\"," SPAN, "without a traceId"},
		{"\"traceId\":null," SPAN, "without a traceId"},
		{"\"traceId\":\"00000000000000000000000000000000\"," SPAN, "without a traceId"},
		{"\"traceId\":\"5b8efff798038103d269b633813fc60\"," SPAN, "traceId that is not"},
		{"\"traceId\":\"W47/95gDgQPSabYzgT/GDA==\"," SPAN, "traceId that is not"},
		{"\"traceId\":\"5b8efff798038103d269b633813fc60x\"," SPAN, "traceId that is not"},
		{TRACE, "without a spanId"},
		{TRACE ",\"spanId\":\"0000000000000000\"", "without a spanId"},
		{TRACE ",\"spanId\":\"1\"", "spanId that is not"},
		{TRACE "," SPAN ",\"parentSpanId\":\"xyz\"", "parentSpanId that is not"},
		{TRACE "," SPAN ",\"links\":[{\"spanId\":\"1\"}]", "link whose ids"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct decode_tally tally = {0};
		struct buffer body = {0};

		buffer_printf(&body,
			      "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{%s,\"events\":[{"
			      "\"attributes\":[{\"key\":\"k\"}]}]},{" TRACE "," SPAN
			      ",\"name\":\"good\"}]}]}]}",
			      rows[i].span);
		_cleanup_(batch_unrefp)
		struct batch *b = decoded(otlp_json_decode_traces, buffer_get(&body), &tally);
		assert_int_equal(tally.accepted, 1);
		assert_int_equal(tally.rejected, 1);
		if (!strstr(tally.reason, rows[i].reason))
			fail_msg("%s", tally.reason);
		assert_int_equal(b->event_n, 1);
		assert_text(batch_text(b, b->events[0].name), "good");
		buffer_done(&body);
	}
}

static int refused(decode_fn *decode, struct slice body, struct error *error)
{
	struct decode_tally tally = {0};
	_cleanup_(batch_unrefp)
	struct batch *b = batch_new(body.n);

	return decode(body, b, &tally, error);
}

static void wrong_shapes_are_refused_with_the_byte(void **state)
{
	static const char *const bodies[] = {
		"[]",
		"null",
		"{\"resourceSpans\":{}}",
		"{\"resourceSpans\":[1]}",
		"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":\"x\"}]}]}",
		REQUEST("\"name\":1"),
		REQUEST("\"kind\":\"SPAN_KIND_WHATEVER\""),
		REQUEST("\"kind\":3000000000"),
		REQUEST("\"kind\":1.5"),
		REQUEST("\"startTimeUnixNano\":-1"),
		REQUEST("\"startTimeUnixNano\":18446744073709551616"),
		REQUEST("\"startTimeUnixNano\":1e30"),
		REQUEST("\"endTimeUnixNano\":\"soon\""),
		REQUEST("\"flags\":4294967296"),
		REQUEST("\"status\":2"),
		REQUEST("\"attributes\":{}"),
		REQUEST("\"attributes\":[{\"key\":1}]"),
		REQUEST("\"attributes\":[{\"key\":\"k\",\"value\":\"v\"}]"),
		REQUEST("\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":\"1x\"}}]"),
		REQUEST("\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":\"1e19\"}}]"),
		REQUEST("\"attributes\":[{\"key\":\"k\",\"value\":{\"boolValue\":\"true\"}}]"),
		REQUEST("\"attributes\":[{\"key\":\"k\",\"value\":{\"bytesValue\":\"?\"}}]"),
		REQUEST("\"attributes\":[{\"key\":\"k\",\"value\":{\"arrayValue\":[]}}]"),
		REQUEST("\"name\":\"\xff\""),
		REQUEST("\"events\":[null]"),
		REQUEST("\"name\":\"x\"") "x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct error e = {.offset = ERROR_NO_OFFSET};

		if (refused(otlp_json_decode_traces, slice_cstr(bodies[i]), &e) != -EBADMSG)
			fail_msg("accepted: %s", bodies[i]);
		assert_true(e.offset <= strlen(bodies[i]));
		assert_true(strlen(e.text) > 0);
	}
}

static void a_request_cut_anywhere_is_refused(void **state)
{
	for (size_t n = 0; n + 1 < sizeof(everything); n++) {
		struct error e;
		char *exact = malloc(n + 1);

		memcpy(exact, everything, n);
		assert_int_equal(refused(otlp_json_decode_traces, slice_of(exact, n), &e),
				 -EBADMSG);
		free(exact);
	}
}

static void a_flipped_bit_is_refused_or_kept(void **state)
{
	struct buffer copy = {0};

	buffer_append(&copy, everything, sizeof(everything) - 1);
	for (size_t bit = 0; bit < copy.n * 8; bit++) {
		struct decode_tally tally = {0};
		struct error e = {.offset = 0};
		_cleanup_(batch_unrefp)
		struct batch *b = batch_new(copy.n);

		copy.p[bit / 8] ^= (char)(1 << bit % 8);
		if (otlp_json_decode_traces(buffer_get(&copy), b, &tally, &e) == 0) {
			assert_true(tally.accepted + tally.rejected <= 1);
			assert_true(batch_check(b));
			if (tally.accepted)
				assert_round_trip(otlp_json_decode_traces, otlp_json_encode_traces,
						  b);
		} else {
			assert_true(e.offset <= copy.n);
		}
		copy.p[bit / 8] ^= (char)(1 << bit % 8);
	}
	buffer_done(&copy);
}

static void many_keys_and_long_values_are_kept(void **state)
{
	struct buffer body = {0};

	buffer_text(&body, "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" TRACE "," SPAN
			   ",\"attributes\":[{\"key\":\"long\",\"value\":{\"stringValue\":\"");
	for (int i = 0; i < 1 << 17; i++)
		buffer_text(&body, "8 bytes!");
	buffer_text(&body, "\"}}");
	for (int i = 0; i < 100000; i++)
		buffer_printf(&body, ",{\"key\":\"k%d\",\"value\":{\"intValue\":%d}}", i, i);
	buffer_text(&body, "]}]}]}]}");
	_cleanup_(batch_unrefp)
	struct batch *b = traces(buffer_cstr(&body));

	assert_int_equal(b->events[0].attrs.count, 100001);
	assert_int_equal(attr_integer(b, batch_attr_find(b, b->events[0].attrs, SLICE("k99999"))),
			 99999);
	assert_round_trip(otlp_json_decode_traces, otlp_json_encode_traces, b);
	buffer_done(&body);
}

static void values_nest_to_the_limit_and_no_deeper(void **state)
{
	for (int depth = DECODE_DEPTH_MAX; depth <= DECODE_DEPTH_MAX + 1; depth++) {
		struct decode_tally tally = {0};
		struct buffer body = {0};
		struct error e;

		buffer_text(&body, "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" TRACE
				   "," SPAN ",\"attributes\":[{\"key\":\"k\",\"value\":");
		for (int i = 0; i < depth; i++)
			buffer_text(&body, "{\"arrayValue\":{\"values\":[");
		buffer_text(&body, "{\"intValue\":7}");
		for (int i = 0; i < depth; i++)
			buffer_text(&body, "]}}");
		buffer_text(&body, "}]}]}]}]}");
		if (depth > DECODE_DEPTH_MAX) {
			assert_int_equal(refused(otlp_json_decode_traces, buffer_get(&body), &e),
					 -EBADMSG);
			assert_non_null(strstr(e.text, "nested too deeply"));
		} else {
			_cleanup_(batch_unrefp)
			struct batch *b =
				decoded(otlp_json_decode_traces, buffer_get(&body), &tally);
			assert_int_equal(tally.accepted, 1);
			assert_round_trip(otlp_json_decode_traces, otlp_json_encode_traces, b);
		}
		buffer_done(&body);
	}
}

static void logs_with_a_trace_are_rows_and_others_rejected(void **state)
{
	static const char body[] =
		"{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
		"\"value\":{\"stringValue\":\"shop\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":\"l\"},"
		"\"logRecords\":[{\"timeUnixNano\":\"1\",\"observedTimeUnixNano\":\"2\","
		"\"severityNumber\":\"SEVERITY_NUMBER_ERROR\",\"severityText\":\"E\",\"body\":"
		"{\"kvlistValue\":{\"values\":[{\"key\":\"m\",\"value\":{\"stringValue\":\"x\"}}]}},"
		"\"attributes\":[{\"key\":\"a\",\"value\":{\"intValue\":1}}],"
		"\"droppedAttributesCount\":1,\"flags\":1," TRACE "," SPAN ",\"eventName\":\"ev\"},"
		"{\"body\":{\"stringValue\":\"no trace\"}},{\"traceId\":\"x\"},{" TRACE
		",\"spanId\":\"x\"},{" TRACE "}]}]}]}";
	struct decode_tally tally = {0};
	_cleanup_(batch_unrefp)
	struct batch *b = decoded(otlp_json_decode_logs, slice_cstr(body), &tally);
	const struct event *e = &b->events[0];

	assert_int_equal(tally.accepted, 2);
	assert_int_equal(tally.rejected, 3);
	assert_non_null(strstr(tally.reason, "without a traceId"));
	assert_int_equal(e->type, EVENT_LOG);
	assert_int_equal(e->kind, 17);
	assert_int_equal(e->time_ns, 1);
	assert_text(batch_text(b, e->name), "ev");
	assert_int_equal(batch_extra_get(b, e)->observed_ns, 2);
	assert_int_equal(batch_extra_get(b, e)->body.type, VALUE_KVLIST);
	assert_text(batch_service(b, e), "shop");
	assert_round_trip(otlp_json_decode_logs, otlp_json_encode_logs, b);
	assert_round_trip(otlp_proto_decode_logs, otlp_proto_encode_logs, b);
}

static void metrics_are_counted_and_refused(void **state)
{
	static const char body[] =
		"{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"a\",\"sum\":"
		"{\"dataPoints\":[{},{\"asInt\":\"1\"}],\"isMonotonic\":true}},{\"gauge\":"
		"{\"dataPoints\":[{}]}},{\"exponentialHistogram\":{\"data_points\":[{}]}},"
		"{\"summary\":null}]}]}]}";
	struct decode_tally tally = {0};
	struct error e;

	assert_int_equal(otlp_json_refuse_metrics(slice_cstr(body), &tally, &e), 0);
	assert_int_equal(tally.rejected, 4);
	assert_string_equal(tally.reason, "metrics are not stored");
	assert_int_equal(otlp_json_refuse_metrics(SLICE("{\"resourceMetrics\":["), &tally, &e),
			 -EBADMSG);
}

static void only_the_rows_asked_for_are_written(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = traces(REQUEST("\"name\":\"x\""));
	struct buffer out = {0};

	encoded(otlp_json_encode_logs, b, &out);
	assert_text(buffer_get(&out), "{\"resourceLogs\":[]}");
	buffer_clear(&out);
	encoded(otlp_json_encode_traces, b, &out);
	assert_text(buffer_get(&out),
		    "{\"resourceSpans\":[{\"resource\":{},\"scopeSpans\":[{\"scope\":{},\"spans\":"
		    "[{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":"
		    "\"eee19b7ec3c1b174\",\"name\":\"x\"}]}]}]}");
	buffer_done(&out);
}

static void a_line_may_hold_spans_and_logs(void **state)
{
	struct decode_tally tally = {0};
	_cleanup_(batch_unrefp)
	struct batch *b =
		decoded(otlp_json_decode,
			SLICE("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" TRACE "," SPAN
			      "}]}]}],\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{" TRACE
			      "}]}]}]}"),
			&tally);

	assert_int_equal(tally.accepted, 2);
	assert_int_equal(b->events[0].type, EVENT_SPAN);
	assert_int_equal(b->events[1].type, EVENT_LOG);
	assert_round_trip(otlp_json_decode, otlp_json_encode, b);
}

/* A value with a field 15 that nobody knows: the known part is shown. */
static void raw_values_show_what_is_known_of_them(void **state)
{
	static const struct {
		struct slice raw;
		const char *json;
	} rows[] = {
		{{"\x0a\x01v\x78\x01", 5}, "{\"stringValue\":\"v\"}"},
		{{"\x10\x01\x78\x01", 4}, "{\"boolValue\":true}"},
		{{"\x18\x05\x78\x01", 4}, "{\"intValue\":\"5\"}"},
		{{"\x21\0\0\0\0\0\0\xf8\x3f\x78\x01", 11}, "{\"doubleValue\":1.5}"},
		{{"\x2a\x04\x0a\x02\x18\x05\x78\x01", 8},
		 "{\"arrayValue\":{\"values\":[{\"intValue\":\"5\"}]}}"},
		{{"\x32\x09\x0a\x07\x0a\x01k\x12\x02\x18\x05\x78\x01", 13},
		 "{\"kvlistValue\":{\"values\":[{\"key\":\"k\",\"value\":{\"intValue\":\"5\"}}]}}"},
		{{"\x3a\x01\xff\x78\x01", 5}, "{\"bytesValue\":\"/w==\"}"},
		{{"\x78\x01", 2}, "{}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = traces(REQUEST("\"attributes\":[{}]"));
		struct buffer out = {0};
		char expected[300];

		/* Sealed batches take no more strings: the name's place is reused. */
		_cleanup_(batch_unrefp)
		struct batch *raw = batch_new(0);
		batch_resource(raw);
		batch_scope(raw);
		*batch_event(raw) = b->events[0];
		raw->events[0].name = 0;
		raw->events[0].attrs = (struct attr_range){0, 1};
		batch_attr(raw, (struct attr){.key = batch_string(raw, SLICE("k")),
					      .type = VALUE_RAW,
					      .string = batch_string(raw, rows[i].raw)});
		encoded(otlp_json_encode_traces, raw, &out);
		snprintf(expected, sizeof(expected), "[{\"key\":\"k\",\"value\":%s}]",
			 rows[i].json);
		if (!strstr(buffer_cstr(&out), expected))
			fail_msg("%s has no %s", buffer_cstr(&out), expected);
		buffer_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_and_protobuf_of_one_request_are_the_same_rows),
		cmocka_unit_test(every_field_arrives_whatever_the_order_of_keys),
		cmocka_unit_test(snake_case_is_the_same),
		cmocka_unit_test(of_a_repeated_key_the_last_counts),
		cmocka_unit_test(a_bare_integer_too_large_is_kept_as_a_double),
		cmocka_unit_test(unusable_spans_are_rejected_and_the_rest_stands),
		cmocka_unit_test(wrong_shapes_are_refused_with_the_byte),
		cmocka_unit_test(a_request_cut_anywhere_is_refused),
		cmocka_unit_test(a_flipped_bit_is_refused_or_kept),
		cmocka_unit_test(many_keys_and_long_values_are_kept),
		cmocka_unit_test(values_nest_to_the_limit_and_no_deeper),
		cmocka_unit_test(logs_with_a_trace_are_rows_and_others_rejected),
		cmocka_unit_test(metrics_are_counted_and_refused),
		cmocka_unit_test(only_the_rows_asked_for_are_written),
		cmocka_unit_test(a_line_may_hold_spans_and_logs),
		cmocka_unit_test(raw_values_show_what_is_known_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
