/* Files of pcap and pcapng: every form, cut and damaged ones. */
#include <errno.h>

#include "base/buffer.h"
#include "base/rng.h"
#include "capture/packet_reader.h"
#include "t.h"

static void put(struct buffer *b, bool big, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		buffer_byte(b, (char)(v >> 8 * (big ? n - 1 - i : i)));
}

/* Two packets, one of them cut by the capture. */
static void make_pcap(struct buffer *b, bool big, bool nano)
{
	put(b, big, nano ? 0xa1b23c4d : 0xa1b2c3d4, 4);
	put(b, big, 2, 2);
	put(b, big, 4, 2);
	put(b, big, 0, 8);
	put(b, big, 65535, 4);
	put(b, big, 1, 4);
	put(b, big, 1000, 4);
	put(b, big, 7, 4);
	put(b, big, 3, 4);
	put(b, big, 3, 4);
	buffer_text(b, "abc");
	put(b, big, 1001, 4);
	put(b, big, 8, 4);
	put(b, big, 2, 4);
	put(b, big, 1500, 4);
	buffer_text(b, "de");
}

static void block(struct buffer *b, bool big, uint32_t type, const struct buffer *body)
{
	size_t padded = (body->n + 3) / 4 * 4;

	put(b, big, type, 4);
	put(b, big, padded + 12, 4);
	buffer_append(b, body->p, body->n);
	put(b, big, 0, (int)(padded - body->n));
	put(b, big, padded + 12, 4);
}

static void section(struct buffer *b, bool big)
{
	struct buffer body = {0};

	put(&body, big, 0x1a2b3c4d, 4);
	put(&body, big, 1, 2);
	put(&body, big, 0, 2);
	put(&body, big, UINT64_MAX, 8);
	block(b, big, 0x0a0d0d0a, &body);
	buffer_done(&body);
}

static void interface(struct buffer *b, bool big, uint16_t link, int resolution, int64_t offset)
{
	struct buffer body = {0};

	put(&body, big, link, 2);
	put(&body, big, 0, 2);
	put(&body, big, 0, 4);
	if (resolution >= 0) {
		put(&body, big, 2, 2); /* if_name, to be passed over */
		put(&body, big, 3, 2);
		buffer_append(&body, "lo\0\0", 4);
		put(&body, big, 9, 2);
		put(&body, big, 1, 2);
		put(&body, big, big ? (uint64_t)resolution << 24 : (uint64_t)resolution, 4);
	}
	if (offset) {
		put(&body, big, 14, 2);
		put(&body, big, 8, 2);
		put(&body, big, (uint64_t)offset, 8);
	}
	put(&body, big, 0, 4);
	block(b, big, 1, &body);
	buffer_done(&body);
}

static void packet(struct buffer *b, bool big, uint32_t number, uint64_t ticks, const char *bytes)
{
	struct buffer body = {0};

	put(&body, big, number, 4);
	put(&body, big, ticks >> 32, 4);
	put(&body, big, ticks & UINT32_MAX, 4);
	put(&body, big, strlen(bytes), 4);
	put(&body, big, strlen(bytes) + 100, 4);
	buffer_text(&body, bytes);
	block(b, big, 6, &body);
	buffer_done(&body);
}

static void expect(struct packet_reader *r, int64_t time_ns, const char *bytes, uint32_t link)
{
	struct error error;
	struct packet p;

	assert_int_equal(packet_reader_next(r, &p, &error), 1);
	assert_int_equal(p.time_ns, time_ns);
	assert_int_equal(p.link, link);
	assert_text(slice_of(p.p, p.n), bytes);
}

static void expect_end(struct packet_reader *r, bool cut)
{
	struct error error;
	struct packet p;

	assert_int_equal(packet_reader_next(r, &p, &error), 0);
	assert_int_equal(r->cut, cut);
	packet_reader_done(r);
}

static void pcap_is_read_in_both_orders_and_both_units(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct buffer b = {0};
		struct packet_reader r;
		struct error error;
		int64_t unit = i & 2 ? 1 : 1000;

		make_pcap(&b, i & 1, i & 2);
		assert_true(packet_reader_knows(buffer_get(&b)));
		assert_int_equal(packet_reader_open_bytes(&r, buffer_get(&b), &error), 0);
		expect(&r, 1000000000000 + 7 * unit, "abc", LINK_ETHERNET);
		expect(&r, 1001000000000 + 8 * unit, "de", LINK_ETHERNET);
		expect_end(&r, false);
		buffer_done(&b);
	}
}

static void a_pcapng_has_interfaces_with_clocks_of_their_own(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct buffer b = {0}, other = {0};
		struct packet_reader r;
		struct error error;

		section(&b, big);
		interface(&b, big, LINK_ETHERNET, -1, 0);          /* microseconds */
		interface(&b, big, LINK_RAW, 9, 0);                /* nanoseconds */
		interface(&b, big, LINK_LINUX_SLL2, 0x80 | 10, 5); /* 1/1024 s, five seconds late */
		buffer_text(&other, "a block nobody knows");
		block(&b, big, 0xbad, &other);
		packet(&b, big, 0, 1000000007, "first");
		packet(&b, big, 1, 1000000007, "second");
		packet(&b, big, 2, 1024 * 9 + 512, "third");
		section(&b, !big); /* a new section, in the other order, forgets the interfaces */
		interface(&b, !big, LINK_NULL, -1, 0);
		packet(&b, !big, 0, 3000000, "fourth");
		assert_int_equal(packet_reader_open_bytes(&r, buffer_get(&b), &error), 0);
		expect(&r, 1000000007000, "first", LINK_ETHERNET);
		expect(&r, 1000000007, "second", LINK_RAW);
		expect(&r, 14500000000, "third", LINK_LINUX_SLL2);
		expect(&r, 3000000000, "fourth", LINK_NULL);
		expect_end(&r, false);
		buffer_done(&b);
		buffer_done(&other);
	}
}

static void a_simple_packet_has_the_time_of_the_one_before(void **state)
{
	struct buffer b = {0}, body = {0};
	struct packet_reader r;
	struct error error;

	section(&b, false);
	interface(&b, false, LINK_ETHERNET, -1, 0);
	packet(&b, false, 0, 5000000, "timed");
	put(&body, false, 5, 4);
	buffer_text(&body, "plain");
	block(&b, false, 3, &body);
	assert_int_equal(packet_reader_open_bytes(&r, buffer_get(&b), &error), 0);
	expect(&r, 5000000000, "timed", LINK_ETHERNET);
	expect(&r, 5000000000, "plain", LINK_ETHERNET);
	expect_end(&r, false);
	buffer_done(&b);
	buffer_done(&body);
}

static void a_file_cut_anywhere_gives_its_whole_packets(void **state)
{
	for (int ng = 0; ng < 2; ng++) {
		struct buffer b = {0};

		if (ng) {
			section(&b, false);
			interface(&b, false, 1, -1, 0);
			packet(&b, false, 0, 1, "one");
			packet(&b, false, 0, 2, "two");
		} else {
			make_pcap(&b, false, false);
		}
		for (size_t n = 0; n < b.n; n++) {
			struct packet_reader r;
			struct packet p;
			struct error error;
			int code = packet_reader_open_bytes(&r, slice_first(buffer_get(&b), n),
							    &error);

			if (code < 0) {
				assert_true(n < 28);
				continue;
			}
			while ((code = packet_reader_next(&r, &p, &error)) == 1)
				;
			assert_int_equal(code, 0);
			packet_reader_done(&r);
		}
		buffer_done(&b);
	}
}

static void damage_is_said_with_its_place(void **state)
{
	struct buffer b = {0};
	struct packet_reader r;
	struct packet p;
	struct error error;

	make_pcap(&b, false, false);
	b.p[24 + 11] = 0x7f; /* the first packet's length */
	assert_int_equal(packet_reader_open_bytes(&r, buffer_get(&b), &error), 0);
	assert_int_equal(packet_reader_next(&r, &p, &error), -EBADMSG);
	assert_int_equal(error.offset, 24);
	packet_reader_done(&r);
	assert_int_equal(packet_reader_open_bytes(&r, SLICE("neither of them"), &error), -ENOTSUP);
	assert_int_equal(packet_reader_open_bytes(&r, SLICE(""), &error), -ENOTSUP);
	buffer_clear(&b);
	section(&b, false);
	packet(&b, false, 0, 1, "of nobody");
	assert_int_equal(packet_reader_open_bytes(&r, buffer_get(&b), &error), 0);
	assert_int_equal(packet_reader_next(&r, &p, &error), -EBADMSG);
	packet_reader_done(&r);
	buffer_done(&b);
}

struct pieces {
	struct slice rest;
	struct rng rng;
};

static ssize_t read_piece(void *context, char *out, size_t room, struct error *error)
{
	struct pieces *p = context;
	size_t n = MIN(room, (size_t)rng_below(&p->rng, 5000) + 1);

	n = MIN(n, p->rest.n);
	memcpy(out, p->rest.p, n);
	p->rest = slice_from(p->rest, n);
	return (ssize_t)n;
}

static void a_stream_in_odd_pieces_gives_the_same_packets(void **state)
{
	static char bytes[70000];
	struct buffer b = {0};
	struct packet_reader r;
	struct error error;
	struct packet p;
	struct pieces pieces = {.rng = {3}};

	put(&b, false, 0xa1b2c3d4, 4);
	put(&b, false, 0, 8);
	put(&b, false, 0, 8);
	put(&b, false, 1, 4);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t n = i * 677 % 70000;

		put(&b, false, i, 4);
		put(&b, false, 0, 4);
		put(&b, false, n, 4);
		put(&b, false, n, 4);
		memset(bytes, (int)i, n);
		buffer_append(&b, bytes, n);
	}
	pieces.rest = buffer_get(&b);
	assert_int_equal(packet_reader_open(&r, read_piece, &pieces, &error), 0);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(packet_reader_next(&r, &p, &error), 1);
		assert_int_equal(p.n, i * 677 % 70000);
		for (uint32_t k = 0; k < p.n; k++)
			assert_int_equal(p.p[k], i);
	}
	expect_end(&r, false);
	buffer_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pcap_is_read_in_both_orders_and_both_units),
		cmocka_unit_test(a_pcapng_has_interfaces_with_clocks_of_their_own),
		cmocka_unit_test(a_simple_packet_has_the_time_of_the_one_before),
		cmocka_unit_test(a_file_cut_anywhere_gives_its_whole_packets),
		cmocka_unit_test(damage_is_said_with_its_place),
		cmocka_unit_test(a_stream_in_odd_pieces_gives_the_same_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
