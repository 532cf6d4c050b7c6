#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "batch_equal.h"
#include "wire/events_json.h"
#include "wire/events_proto.h"

#define TRACE "\"traceId\":\"0102030405060708090a0b0c0d0e0f10\""
#define ID1   "\"id1\":\"00000000000000a1\""
#define ID2   "\"id2\":\"00000000000000A2\""

static struct batch *decode(const char *text, struct decode_tally *tally)
{
	struct batch *b = batch_new(0);
	struct error error = {0};

	assert_non_null(b);
	if (events_json_decode(slice_cstr(text), b, tally, &error) < 0)
		fail_msg("%s: %s", text, error.text);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return b;
}

/* A request with this one event. */
static struct batch *decode_event(const char *event, struct decode_tally *tally)
{
	char text[1000];

	snprintf(text, sizeof(text),
		 "{\"resourceEvents\":[{\"resource\":{},\"scopeEvents\":[{\"events\":[{%s}]}]}]}",
		 event);
	return decode(text, tally);
}

static void the_example_of_the_documentation_is_understood(void **state)
{
	static const char text[] =
		"{\"resourceEvents\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
		"\"value\":{\"stringValue\":\"shop\"}}]},\"scopeEvents\":[{\"scope\":{\"name\":"
		"\"worker\"},\"events\":["
		"{" TRACE ",\"type\":\"UNIT\",\"id1\":\"00000000000000f1\",\"name\":\"worker-3\"},"
		"{" TRACE ",\"type\":\"BEGIN\"," ID1 ",\"unit\":\"00000000000000f1\",\"seq\":\"1\","
		"\"timeUnixNano\":\"1763200000000000000\",\"name\":\"resize\",\"kind\":1},"
		"{" TRACE ",\"type\":\"COUNTER\"," ID1 ",\"timeUnixNano\":1763200000000000500,"
		"\"name\":\"bytes\",\"value\":{\"intValue\":\"4096\"}}]}]}]}";
	_cleanup_(batch_unrefp)
	struct batch *b = NULL;
	struct decode_tally tally = {0};

	b = decode(text, &tally);
	assert_int_equal(tally.accepted, 3);
	assert_int_equal(tally.rejected, 0);
	assert_int_equal(b->events[0].type, EVENT_UNIT);
	assert_int_equal(b->events[1].type, EVENT_BEGIN);
	assert_int_equal(b->events[1].id1, 0xa1);
	assert_int_equal(batch_place_get(b, 1).unit, 0xf1);
	assert_int_equal(batch_place_get(b, 1).seq, 1);
	assert_true(b->events[1].time_ns == 1763200000000000000ULL);
	assert_int_equal(b->events[1].format, FORMAT_NATIVE);
	assert_text(batch_service(b, &b->events[1]), "shop");
	assert_int_equal(attr_integer(b, &batch_extra_get(b, &b->events[2])->body), 4096);
}

static void types_come_as_names_and_numbers(void **state)
{
	static const struct {
		const char *type;
		int want; /* -1: rejected */
	} rows[] = {
		{"\"EVENT_TYPE_BEGIN\"", EVENT_BEGIN},
		{"\"BEGIN\"", EVENT_BEGIN},
		{"\"begin\"", EVENT_BEGIN},
		{"2", EVENT_BEGIN},
		{"\"EVENT_TYPE_UNSPECIFIED\"", -1},
		{"0", -1},
		{"99", -1},
		{"-1", -1},
		{"\"NEVER_HEARD_OF\"", -1},
		{"null", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally = {0};
		char event[200];

		snprintf(event, sizeof(event), TRACE "," ID1 ",\"type\":%s", rows[i].type);
		b = decode_event(event, &tally);
		assert_int_equal(tally.accepted, rows[i].want >= 0);
		assert_int_equal(tally.rejected, rows[i].want < 0);
		if (rows[i].want >= 0)
			assert_int_equal(b->events[0].type, rows[i].want);
		else
			assert_non_null(strstr(tally.reason, "type"));
	}
}

static void an_event_without_its_ids_is_a_rejected_row(void **state)
{
	static const struct {
		const char *event, *reason;
	} rows[] = {
		{ID1 ",\"type\":\"BEGIN\"", "begin event with no trace_id"},
		{TRACE ",\"type\":\"BEGIN\"", "begin event with no id1"},
		{TRACE "," ID1 ",\"type\":\"SEND\"", "send event with no id2"},
		{TRACE "," ID1 "," ID2 ",\"type\":\"LINK\"", "link event with no link_trace_id"},
		{TRACE ",\"type\":\"BEGIN\",\"id1\":\"12\"", "wrong length"},
		{TRACE ",\"type\":\"BEGIN\",\"id1\":\"zz00000000000000\"", "wrong length"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally = {0};

		b = decode_event(rows[i].event, &tally);
		assert_int_equal(b->event_n, 0);
		assert_int_equal(tally.rejected, 1);
		if (!strstr(tally.reason, rows[i].reason))
			fail_msg("%s: %s", rows[i].event, tally.reason);
	}
}

static void wrong_shapes_are_refused_with_the_byte(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{",
		"{\"resourceEvents\":{}}",
		"{\"resourceEvents\":[{\"scopeEvents\":[{\"events\":[7]}]}]}",
		"{\"resourceEvents\":[{\"scopeEvents\":[{\"events\":[{\"seq\":\"x\"}]}]}]}",
		"{\"resourceEvents\":[{\"scopeEvents\":[{\"events\":[{\"seq\":-1}]}]}]}",
		"{\"resourceEvents\":[{\"scopeEvents\":[{\"events\":[{\"name\":1}]}]}]}",
		"{\"resourceEvents\":[{\"scopeEvents\":[{\"events\":[{\"status\":\"ok\"}]}]}]}",
		"{\"resourceEvents\":[{\"scopeEvents\":[{\"events\":[{\"type\":[]}]}]}]}",
		"{\"resourceEvents\":[]} trailing",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = batch_new(0);
		struct decode_tally tally = {0};
		struct error error = {0};

		assert_non_null(b);
		assert_int_equal(events_json_decode(slice_cstr(texts[i]), b, &tally, &error),
				 -EBADMSG);
		assert_true(error.offset <= strlen(texts[i]));
		assert_true(error.text[0] != 0);
	}
}

/* Severity and kind share a place in the model: the type decides, wherever it stands. */
static void the_type_decides_between_kind_and_severity(void **state)
{
	static const struct {
		const char *event;
		int32_t kind;
	} rows[] = {
		{TRACE ",\"severityNumber\":9,\"kind\":3,\"type\":\"LOG\"", 9},
		{TRACE "," ID1 ",\"severityNumber\":9,\"kind\":\"SPAN_KIND_CLIENT\",\"type\":"
		       "\"BEGIN\"",
		 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally = {0};

		b = decode_event(rows[i].event, &tally);
		assert_int_equal(b->event_n, 1);
		assert_int_equal(b->events[0].kind, rows[i].kind);
	}
}

static void the_answer_counts_what_was_left_out(void **state)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct decode_tally tally = {.accepted = 3};

	events_json_response(&tally, &out);
	assert_string_equal(buffer_cstr(&out), "{}");
	buffer_clear(&out);
	decode_reject(&tally, "a \"reason\"");
	events_json_response(&tally, &out);
	assert_string_equal(
		buffer_cstr(&out),
		"{\"partialSuccess\":{\"rejectedEvents\":\"1\",\"errorMessage\":\"a \\\"reason\\\"\"}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_documentation_is_understood),
		cmocka_unit_test(types_come_as_names_and_numbers),
		cmocka_unit_test(an_event_without_its_ids_is_a_rejected_row),
		cmocka_unit_test(wrong_shapes_are_refused_with_the_byte),
		cmocka_unit_test(the_type_decides_between_kind_and_severity),
		cmocka_unit_test(the_answer_counts_what_was_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
