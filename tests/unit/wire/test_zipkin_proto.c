#include "t.h"

#include <errno.h>

#include "batch_equal.h"
#include "wire/protobuf.h"
#include "wire/zipkin_proto.h"

static const struct slice TRACE = {"0123456789abcdef", 16};
static const struct slice ID = {"\0\0\0\0\0\0\0\1", 8};

static struct batch *decode(struct slice bytes, struct decode_tally *tally)
{
	struct batch *b = batch_new(bytes.n);
	struct error error = {0};

	assert_non_null(b);
	if (zipkin_proto_decode(bytes, b, tally, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return b;
}

/* What a span says in a test; `more` is further fields, verbatim. */
struct said {
	struct slice trace, id, parent, more;
	uint64_t timestamp, duration;
	struct slice ipv4, ipv6;
	uint64_t port;
};

static struct slice put_span(struct buffer *out, struct said s)
{
	size_t span = pb_begin(out, 1), endpoint;

	if (s.trace.n)
		pb_put_bytes(out, 1, s.trace);
	if (s.parent.n)
		pb_put_bytes(out, 2, s.parent);
	if (s.id.n)
		pb_put_bytes(out, 3, s.id);
	if (s.timestamp)
		pb_put_fixed64(out, 6, s.timestamp);
	if (s.duration)
		pb_put_varint(out, 7, s.duration);
	if (s.ipv4.n || s.ipv6.n || s.port) {
		endpoint = pb_begin(out, 8);
		if (s.ipv4.n)
			pb_put_bytes(out, 2, s.ipv4);
		if (s.ipv6.n)
			pb_put_bytes(out, 3, s.ipv6);
		if (s.port)
			pb_put_varint(out, 4, s.port);
		pb_end(out, endpoint);
	}
	buffer_slice(out, s.more);
	pb_end(out, span);
	return buffer_get(out);
}

static void unusable_spans_are_rejected_and_the_rest_stands(void **state)
{
	static const struct {
		struct said said;
		const char *reason; /* NULL: accepted */
	} rows[] = {
		{{TRACE, ID}, NULL},
		{{{"01234567", 8}, ID}, NULL},
		{{TRACE, ID, ID}, NULL},
		{{{0}, ID}, "without a traceId"},
		{{{"\0\0\0\0\0\0\0\0", 8}, ID}, "without a traceId"},
		{{{"0123", 4}, ID}, "8 or 16 bytes"},
		{{TRACE}, "without an id"},
		{{TRACE, {"1", 1}}, "8 bytes"},
		{{TRACE, ID, {"1234567", 7}}, "8 bytes"},
		{{TRACE, ID, .ipv4 = {"\x7f\0\0\1", 4}, .port = 65535}, NULL},
		{{TRACE, ID, .ipv4 = {"\x7f\0\0", 3}}, "address"},
		{{TRACE, ID, .ipv6 = {"\x7f\0\0\1", 4}}, "address"},
		{{TRACE, ID, .port = 65536}, "port"},
		{{TRACE, ID, .port = UINT64_MAX}, "port"},
		{{TRACE, ID, .timestamp = UINT64_MAX / 1000}, NULL},
		{{TRACE, ID, .timestamp = UINT64_MAX / 1000 + 1}, "timestamp"},
		{{TRACE, ID, .timestamp = 1, .duration = UINT64_MAX}, "timestamp"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buffer_done)
		struct buffer bytes = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally = {0};

		put_span(&bytes, rows[i].said);
		put_span(&bytes, (struct said){TRACE, ID});
		b = decode(buffer_get(&bytes), &tally);
		assert_int_equal(tally.accepted, rows[i].reason ? 1 : 2);
		assert_int_equal(tally.rejected, rows[i].reason ? 1 : 0);
		if (rows[i].reason && !strstr(tally.reason, rows[i].reason))
			fail_msg("row %zu: %s", i, tally.reason);
	}
}

/* Fields of a newer version and a kind nobody knows. */
static void what_is_not_known_of_a_span_is_kept(void **state)
{
	static const struct slice more[] = {{"\x20\x63", 2}, {"\x82\x7d\x03new", 6}};

	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		_cleanup_(buffer_done)
		struct buffer bytes = {0}, again = {0};
		_cleanup_(freep)
		struct event_ref *refs = NULL;
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally = {0};
		size_t n;

		b = decode(put_span(&bytes, (struct said){TRACE, ID, .more = more[i]}), &tally);
		assert_int_equal(b->event_n, 1);
		n = batch_refs(b, &refs);
		zipkin_proto_encode(refs, n, &again);
		assert_slice_equal(buffer_get(&again), buffer_get(&bytes));
	}
}

static void malformed_messages_are_refused_with_the_byte(void **state)
{
	static const struct {
		struct slice bytes;
		size_t offset;
	} rows[] = {
		{{"\x0a\x05\x0a", 3}, 0},             /* the list */
		{{"\x0a\x02\x0a\x05", 4}, 2},         /* a span */
		{{"\x0a\x04\x42\x02\x0a\x05", 6}, 4}, /* an endpoint */
		{{"\x0a\x04\x52\x02\x12\x05", 6}, 4}, /* an annotation */
		{{"\x0a\x04\x5a\x02\x0a\x05", 6}, 4}, /* a tag */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = batch_new(0);
		struct decode_tally tally = {0};
		struct error error = {0};

		assert_non_null(b);
		assert_int_equal(zipkin_proto_decode(rows[i].bytes, b, &tally, &error), -EBADMSG);
		assert_int_equal(error.offset, rows[i].offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unusable_spans_are_rejected_and_the_rest_stands),
		cmocka_unit_test(what_is_not_known_of_a_span_is_kept),
		cmocka_unit_test(malformed_messages_are_refused_with_the_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
