#include "t.h"

#include <errno.h>

#include "http/grpc.h"
#include "http/grpc_frame.h"
#include "http/guarded.h"

static void frames_say_their_length(void **state)
{
	static const char bytes[] = "\x01\x00\x01\x02\x03rest";
	struct grpc_frame frame;
	struct guarded g;

	for (size_t n = 0; n < GRPC_FRAME_HEAD; n++) {
		assert_int_equal(grpc_frame_head(guarded_put(&g, slice_of(bytes, n)), &frame), 0);
		guarded_done(&g);
	}
	assert_int_equal(grpc_frame_head(slice_of(bytes, 5), &frame), 1);
	assert_true(frame.compressed);
	assert_int_equal(frame.length, 0x10203);
	assert_int_equal(grpc_frame_head(SLICE("\x02"), &frame), -EBADMSG);
}

static void an_appended_frame_reads_back(void **state)
{
	struct buffer b = {0};
	struct grpc_frame frame;

	grpc_frame_append(&b, SLICE("hello"));
	assert_int_equal(b.n, 10);
	assert_int_equal(grpc_frame_head(buffer_get(&b), &frame), 1);
	assert_false(frame.compressed);
	assert_int_equal(frame.length, 5);
	buffer_done(&b);
}

static void timeouts_have_units(void **state)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: refused */
	} rows[] = {
		{"1H", 3600000000000},
		{"2M", 120000000000},
		{"3S", 3000000000},
		{"100m", 100000000},
		{"5u", 5000},
		{"7n", 7},
		{"99999999H", INT64_MAX},
		{"", -1},
		{"S", -1},
		{"1", -1},
		{"1x", -1},
		{"123456789S", -1},
		{"-1S", -1},
		{"1 S", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 0;
		int r = grpc_timeout_parse(slice_cstr(rows[i].text), &ns);

		assert_int_equal(r, rows[i].ns < 0 ? -EINVAL : 0);
		if (r == 0)
			assert_int_equal(ns, rows[i].ns);
	}
}

static void status_text_is_percent_encoded(void **state)
{
	struct arena a = {0};
	char large[10000];

	assert_text(grpc_message_encode(&a, SLICE("100 % \xc3\xbc\n")), "100 %25 %C3%BC%0A");
	memset(large, '\n', sizeof(large));
	assert_int_equal(grpc_message_encode(&a, slice_of(large, sizeof(large))).n, 3 * 4096);
	assert_text(grpc_binary_encode(&a, SLICE("")), "");
	assert_text(grpc_binary_encode(&a, SLICE("f")), "Zg");
	assert_text(grpc_binary_encode(&a, SLICE("fo")), "Zm8");
	assert_text(grpc_binary_encode(&a, SLICE("foobar")), "Zm9vYmFy");
	arena_done(&a);
}

static void http_statuses_have_a_counterpart(void **state)
{
	assert_int_equal(grpc_status_of_http(404), GRPC_UNIMPLEMENTED);
	assert_int_equal(grpc_status_of_http(401), GRPC_UNAUTHENTICATED);
	assert_int_equal(grpc_status_of_http(403), GRPC_PERMISSION_DENIED);
	assert_int_equal(grpc_status_of_http(413), GRPC_RESOURCE_EXHAUSTED);
	assert_int_equal(grpc_status_of_http(429), GRPC_UNAVAILABLE);
	assert_int_equal(grpc_status_of_http(503), GRPC_UNAVAILABLE);
	assert_int_equal(grpc_status_of_http(500), GRPC_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_say_their_length),
		cmocka_unit_test(an_appended_frame_reads_back),
		cmocka_unit_test(timeouts_have_units),
		cmocka_unit_test(status_text_is_percent_encoded),
		cmocka_unit_test(http_statuses_have_a_counterpart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
