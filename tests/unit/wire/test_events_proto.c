#include "t.h"

#include <errno.h>

#include "batch_equal.h"
#include "batch_random.h"
#include "wire/events.h"
#include "wire/events_proto.h"
#include "wire/protobuf.h"

static const struct slice TRACE = {"0123456789abcdef", 16};
static const struct slice ID = {"\0\0\0\0\0\0\0\1", 8};
static const struct slice OTHER = {"\0\0\0\0\0\0\0\2", 8};

/* What an event says in a test; empty slices and zeros are left out. */
struct said {
	struct slice trace, id1, id2, unit, link;
	uint64_t type, kind, severity, origin, marks;
	struct slice tail; /* further fields, verbatim */
};

static struct slice put_event(struct buffer *out, struct said s)
{
	size_t group = pb_begin(out, 12), scope = pb_begin(out, 2), event = pb_begin(out, 2);

	if (s.trace.n)
		pb_put_bytes(out, 1, s.trace);
	if (s.type)
		pb_put_varint(out, 2, s.type);
	if (s.id1.n)
		pb_put_bytes(out, 3, s.id1);
	if (s.id2.n)
		pb_put_bytes(out, 4, s.id2);
	if (s.unit.n)
		pb_put_bytes(out, 5, s.unit);
	if (s.kind)
		pb_put_varint(out, 12, s.kind);
	if (s.link.n)
		pb_put_bytes(out, 15, s.link);
	if (s.severity)
		pb_put_varint(out, 18, s.severity);
	if (s.origin)
		pb_put_varint(out, 23, s.origin);
	if (s.marks)
		pb_put_varint(out, 24, s.marks);
	buffer_slice(out, s.tail);
	pb_end(out, event);
	pb_end(out, scope);
	pb_end(out, group);
	return buffer_get(out);
}

static struct batch *decode(struct slice bytes, struct decode_tally *tally)
{
	struct batch *b = batch_new(bytes.n);
	struct error error = {0};

	assert_non_null(b);
	if (events_proto_decode(bytes, b, tally, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return b;
}

static void encode(const struct batch *b, struct buffer *out)
{
	_cleanup_(freep)
	struct event_ref *refs = NULL;
	size_t n = batch_refs(b, &refs);

	events_proto_encode(refs, n, out);
	assert_false(out->failed);
}

static void what_is_encoded_is_decoded(void **state)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng rng = {seed};
		_cleanup_(batch_unrefp)
		struct batch *before = batch_random(
			&rng, &(struct batch_random){.rows = seed % 40, .huge = seed % 50 == 0});
		_cleanup_(batch_unrefp)
		struct batch *after = NULL;
		_cleanup_(buffer_done)
		struct buffer bytes = {0};
		struct decode_tally tally = {0};

		encode(before, &bytes);
		after = decode(buffer_get(&bytes), &tally);
		assert_int_equal(tally.rejected, 0);
		assert_int_equal(tally.accepted, before->event_n);
		assert_batch_equal(before, after);
	}
}

static void each_type_says_which_ids_it_needs(void **state)
{
	for (uint64_t number = 1; number <= 22; number++) {
		int type = events_type_find(number);
		bool free = type == EVENT_LOG || type == EVENT_COUNTER;
		bool alone = free || type == EVENT_SPAN || type == EVENT_BEGIN ||
			     type == EVENT_END || type == EVENT_POINT || type == EVENT_UNIT;
		const struct {
			struct said said;
			bool accepted;
		} rows[] = {
			{{TRACE, ID, OTHER, ID, TRACE, number}, true},
			{{TRACE, ID, OTHER, {0}, {0}, number}, type != EVENT_LINK},
			{{TRACE, ID, {0}, {0}, TRACE, number}, alone},
			{{TRACE, {0}, OTHER, {0}, TRACE, number}, free},
			{{TRACE, {0}, {0}, {0}, {0}, number}, free},
			{{{0}, ID, OTHER, ID, TRACE, number}, false},
			{{{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16}, ID, OTHER, ID, TRACE, number},
			 false},
			{{{"0123456789abcde", 15}, ID, OTHER, ID, TRACE, number}, false},
			{{TRACE, {"1234567", 7}, OTHER, ID, TRACE, number}, false},
			{{TRACE, ID, {"123456789", 9}, ID, TRACE, number}, false},
			{{TRACE, ID, OTHER, {"1", 1}, TRACE, number}, false},
			{{TRACE, ID, OTHER, ID, {"1", 1}, number}, false},
		};

		assert_in_range(type, 0, EVENT_TYPES - 1);
		assert_int_equal(events_type_number(type), number);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			_cleanup_(buffer_done)
			struct buffer bytes = {0};
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;
			struct decode_tally tally = {0};

			b = decode(put_event(&bytes, rows[i].said), &tally);
			if ((tally.accepted == 1) != rows[i].accepted)
				fail_msg("type %d, row %zu: %s", (int)number, i, tally.reason);
			assert_int_equal(tally.rejected, !rows[i].accepted);
			assert_int_equal(b->event_n, rows[i].accepted);
			if (!rows[i].accepted)
				assert_true(tally.reason[0] != 0);
		}
	}
}

static void types_have_names(void **state)
{
	for (int type = 0; type < EVENT_TYPES; type++) {
		assert_int_equal(events_type_parse(slice_cstr(events_type_name(type))), type);
		assert_int_equal(events_type_parse(slice_cstr(event_type_name(type))), type);
	}
	assert_int_equal(events_type_parse(SLICE("EVENT_TYPE_")), -1);
	assert_int_equal(events_type_parse(SLICE("EVENT_TYPE_UNSPECIFIED")), -1);
	assert_int_equal(events_type_parse(SLICE("")), -1);
	for (uint64_t origin = 0; origin < 4; origin++)
		assert_int_equal(events_origin((enum event_format)events_format_find(origin)),
				 origin);
	assert_int_equal(events_format_find(4), -1);
}

static void a_type_that_is_not_known_is_a_rejected_row_with_the_reason(void **state)
{
	const struct {
		uint64_t type;
		const char *reason;
	} rows[] = {
		{0, "event without a type (byte 6)"},
		{23, "event of unknown type 23 (byte 6)"},
		{UINT64_MAX, "event of unknown type 2147483647 (byte 6)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done)
		struct buffer bytes = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally = {0};

		put_event(&bytes, (struct said){TRACE, ID, .type = rows[i].type});
		put_event(&bytes, (struct said){TRACE, ID, .type = 2});
		b = decode(buffer_get(&bytes), &tally);
		assert_int_equal(tally.rejected, 1);
		assert_int_equal(tally.accepted, 1);
		assert_int_equal(b->event_n, 1);
		assert_string_equal(tally.reason, rows[i].reason);
	}
}

/* Severity on a begin, kind on a log, an origin and marks that we do not know, fields of a newer
 * version, fields of another wire type: all come back. */
static void what_has_no_place_is_kept(void **state)
{
	const struct said rows[] = {
		{TRACE, ID, .type = 2, .kind = 2, .severity = 9},
		{TRACE, ID, .type = 5, .kind = 2, .severity = 9},
		{TRACE, ID, .type = 2, .origin = 77},
		{TRACE, ID, .type = 2, .marks = 1 << 20},
		{TRACE, ID, .type = 2, .tail = SLICE("\x82\x7d\x03new\x88\x7d\x07")},
		{TRACE, ID, .type = 2, .tail = SLICE("\x48\x05")}, /* name as a number */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done)
		struct buffer bytes = {0}, again = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL, *c = NULL;
		struct decode_tally tally = {0};

		b = decode(put_event(&bytes, rows[i]), &tally);
		assert_int_equal(b->event_n, 1);
		assert_true(batch_extra_get(b, &b->events[0])->unknown != 0);
		encode(b, &again);
		c = decode(buffer_get(&again), &tally);
		assert_batch_equal(b, c);
		assert_int_equal(again.n, bytes.n + 4); /* and an empty resource and scope */
	}
}

static void the_answer_counts_what_was_left_out(void **state)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct decode_tally tally = {.accepted = 3};

	events_proto_response(&tally, &out);
	assert_int_equal(out.n, 0);
	decode_reject(&tally, "why");
	decode_reject(&tally, "another");
	events_proto_response(&tally, &out);
	assert_slice_equal(buffer_get(&out), SLICE("\x0a\x07\x08\x02\x12\x03why"));
}

static void an_otlp_request_is_nothing_to_us(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = NULL;
	struct decode_tally tally = {0};

	b = decode(SLICE("\x0a\x04\x12\x02\x12\x00"), &tally);
	assert_int_equal(b->event_n, 0);
	assert_int_equal(tally.accepted + tally.rejected, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(each_type_says_which_ids_it_needs),
		cmocka_unit_test(types_have_names),
		cmocka_unit_test(a_type_that_is_not_known_is_a_rejected_row_with_the_reason),
		cmocka_unit_test(what_has_no_place_is_kept),
		cmocka_unit_test(the_answer_counts_what_was_left_out),
		cmocka_unit_test(an_otlp_request_is_nothing_to_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
