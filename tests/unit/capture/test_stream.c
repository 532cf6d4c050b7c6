/* TCP reassembly against the bytes that were sent: any order, repeats, holes, numbers that wrap. */
#include "base/buffer.h"
#include "base/rng.h"
#include "capture/stream.h"
#include "t.h"

struct sink {
	struct buffer got; /* holes as '#' a byte */
	size_t memory;
	uint64_t repeated, reordered, gaps;
};

static int take(void *context, struct slice bytes, int64_t time_ns)
{
	buffer_slice(&((struct sink *)context)->got, bytes);
	return 0;
}

static int hole(void *context, uint64_t n, int64_t time_ns)
{
	struct sink *s = context;

	s->gaps++;
	while (n--)
		buffer_byte(&s->got, '#');
	return 0;
}

static struct stream_out out_of(struct sink *s)
{
	return (struct stream_out){take, hole, s, &s->memory, &s->repeated, &s->reordered};
}

static void send(struct stream *s, struct sink *k, uint32_t first, const char *text, size_t at,
		 size_t n, int64_t ns)
{
	struct stream_out out = out_of(k);
	struct stream_segment g = {first + (uint32_t)at, slice_of(text + at, n), (uint32_t)n, ns,
				   false};

	assert_int_equal(stream_segment(s, &g, &out), 0);
}

static void finish(struct stream *s, struct sink *k)
{
	struct stream_out out = out_of(k);

	stream_done(s, &out);
	assert_int_equal(k->memory, 0);
	buffer_done(&k->got);
}

static void segments_in_any_order_give_the_bytes_once(void **state)
{
	static char text[4000];
	struct rng rng = {11};

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 23);
	for (int round = 0; round < 300; round++) {
		uint32_t first = round % 2 ? UINT32_MAX - 700 : (uint32_t)rng_next(&rng);
		size_t cuts[41], n = 40;
		struct stream s = {0};
		struct sink k = {0};

		for (size_t i = 0; i <= n; i++)
			cuts[i] = i * 100;
		stream_start(&s, first);
		/* A window of segments, shuffled, each sent once to three times, sometimes glued.
		 */
		for (size_t base = 0; base < n; base += 8) {
			size_t order[8];

			for (size_t i = 0; i < 8; i++)
				order[i] = i;
			for (size_t i = 7; i > 0; i--) {
				size_t j = rng_below(&rng, i + 1), t = order[i];

				order[i] = order[j];
				order[j] = t;
			}
			for (size_t i = 0; i < 8; i++)
				for (uint64_t t = rng_below(&rng, 3) + 1; t-- > 0;) {
					size_t at = cuts[base + order[i]];
					size_t length =
						MIN(100 + rng_below(&rng, 150), sizeof(text) - at);

					send(&s, &k, first, text, at, MAX(length, (size_t)100), 1);
				}
		}
		assert_slice_equal(buffer_get(&k.got), slice_of(text, sizeof(text)));
		assert_int_equal(k.gaps, 0);
		finish(&s, &k);
	}
}

static void a_hole_is_said_once_the_receiver_has_acknowledged_it(void **state)
{
	struct stream s = {0};
	struct sink k = {0};
	struct stream_out out = out_of(&k);

	stream_start(&s, 100);
	send(&s, &k, 100, "0123456789", 0, 3, 1);
	send(&s, &k, 100, "0123456789", 6, 4, 2);
	assert_text(buffer_get(&k.got), "012"); /* it may still come */
	assert_int_equal(stream_ack(&s, 103, 3, &out), 0);
	assert_text(buffer_get(&k.got), "012");
	assert_int_equal(stream_ack(&s, 110, 3, &out), 0);
	assert_text(buffer_get(&k.got), "012###6789");
	send(&s, &k, 100, "0123456789", 3, 3, 4); /* too late */
	assert_text(buffer_get(&k.got), "012###6789");
	finish(&s, &k);
}

static void a_hole_is_said_when_it_has_waited_too_long(void **state)
{
	struct stream s = {0};
	struct sink k = {0};

	stream_start(&s, 100);
	send(&s, &k, 100, "0123456789", 2, 2, 1000);
	send(&s, &k, 100, "0123456789", 4, 2, 1000 + STREAM_MAX_WAIT_NS - 1);
	assert_int_equal(k.got.n, 0);
	send(&s, &k, 100, "0123456789", 6, 2, 1000 + STREAM_MAX_WAIT_NS);
	assert_text(buffer_get(&k.got), "##234567");
	finish(&s, &k);
}

static void what_waits_is_bounded(void **state)
{
	static char text[1000];
	struct stream s = {0};
	struct sink k = {0};

	memset(text, 'x', sizeof(text));
	stream_start(&s, 0);
	for (uint32_t i = 1; i < 5000; i++) {
		struct stream_out out = out_of(&k);
		struct stream_segment g = {i * 2000, slice_of(text, 1000), 1000, 1, false};

		assert_int_equal(stream_segment(&s, &g, &out), 0);
		assert_true(k.memory < STREAM_MAX_HELD + 200000);
	}
	assert_true(k.gaps > 3000);
	finish(&s, &k);
}

static void a_packet_that_the_capture_cut_leaves_a_hole(void **state)
{
	struct stream s = {0};
	struct sink k = {0};
	struct stream_out out = out_of(&k);
	struct stream_segment g = {0, SLICE("abc"), 6, 1, false};

	stream_start(&s, 0);
	assert_int_equal(stream_segment(&s, &g, &out), 0);
	send(&s, &k, 0, "......ghi", 6, 3, 2);
	assert_text(buffer_get(&k.got), "abc###ghi");
	finish(&s, &k);
}

static void the_end_is_reached_when_everything_before_it_is_there(void **state)
{
	struct stream s = {0};
	struct sink k = {0};
	struct stream_out out = out_of(&k);
	struct stream_segment fin = {6, SLICE("ghi"), 3, 1, true};

	stream_start(&s, 0);
	assert_int_equal(stream_segment(&s, &fin, &out), 0);
	assert_false(s.finished);
	send(&s, &k, 0, "abcdef", 0, 6, 2);
	assert_true(s.finished);
	assert_text(buffer_get(&k.got), "abcdefghi");
	finish(&s, &k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_in_any_order_give_the_bytes_once),
		cmocka_unit_test(a_hole_is_said_once_the_receiver_has_acknowledged_it),
		cmocka_unit_test(a_hole_is_said_when_it_has_waited_too_long),
		cmocka_unit_test(what_waits_is_bounded),
		cmocka_unit_test(a_packet_that_the_capture_cut_leaves_a_hole),
		cmocka_unit_test(the_end_is_reached_when_everything_before_it_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
