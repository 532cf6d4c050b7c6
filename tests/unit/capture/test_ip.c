/* Link layers, IP headers, fragments. */
#include "base/rng.h"
#include "capture/ip_fragment.h"
#include "frames.h"

static const struct tcp_frame small = {1, 2, 1000, 80, 7, 0, 16, "hello", false};

static void is_small(const struct buffer *b, uint32_t link, const char *from)
{
	struct packet p = frame_packet(b, link, 1);
	char text[IP_TEXT_BYTES];
	struct ip_packet ip;

	assert_int_equal(ip_decode(&p, &ip), IP_OK);
	assert_string_equal(ip_format(ip.from, text), from);
	assert_int_equal(ip.protocol, IP_TCP);
	assert_int_equal(ip.n, 25);
	assert_memory_equal(ip.p + 20, "hello", 5);
}

static void every_link_layer_is_taken_off(void **state)
{
	static const struct {
		uint32_t link;
		const char *head;
		size_t n;
	} rows[] = {
		{LINK_RAW, "", 0},
		{LINK_IPV4, "", 0},
		{LINK_NULL, "\2\0\0\0", 4},
		{LINK_LOOP, "\0\0\0\2", 4},
		{LINK_ETHERNET, "123456abcdef\x08\0", 14},
		{LINK_ETHERNET, "123456abcdef\x81\0\0\5\x08\0", 18},
		{LINK_ETHERNET, "123456abcdef\x88\xa8\0\5\x81\0\0\6\x08\0", 22},
		{LINK_ETHERNET, "123456abcdef\x88\x64\x11\0\0\1\0\x2f\0\x21", 22},
		{LINK_LINUX_SLL,
		 "\0\0\0\1\0\6"
		 "123456"
		 "\0\0\x08\0",
		 16},
		{LINK_LINUX_SLL2,
		 "\x08\0\0\0\0\0\0\1\0\1\0\6"
		 "12345678",
		 20},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buffer b = {0};

		buffer_append(&b, rows[i].head, rows[i].n);
		frame_make(&b, &small);
		buffer_append(&b, "padding", 7); /* short frames are filled up */
		is_small(&b, rows[i].link, "10.0.0.1");
		/* Cut anywhere: no harm, and nothing is read behind the end. */
		for (size_t n = 0; n < b.n; n++) {
			char *copy = malloc(n ? n : 1);
			struct packet p = {1, (uint8_t *)copy, (uint32_t)n, (uint32_t)b.n,
					   rows[i].link};
			struct ip_packet ip;

			memcpy(copy, b.p, n);
			ip_decode(&p, &ip);
			free(copy);
		}
		buffer_done(&b);
	}
}

static void ipv6_extension_headers_are_walked(void **state)
{
	struct buffer b = {0};

	frame_ipv6(&b, 0, 1, 2, 8 + 16 + 8 + 25);
	buffer_append(&b, "\x2b\0......", 8);          /* hop by hop, then routing */
	buffer_append(&b, "\x3c\1..............", 16); /* 16 long, then destination options */
	buffer_append(&b, "\6\0......", 8);
	frame_tcp(&b, &small);
	is_small(&b, LINK_IPV6, "fd00::1");
	buffer_done(&b);
}

static void what_is_not_ours_is_said_so(void **state)
{
	static const struct {
		uint32_t link;
		const char *bytes;
		size_t n;
		enum ip_verdict verdict;
	} rows[] = {
		{LINK_ETHERNET, "123456abcdef\x08\6arp", 17, IP_OTHER},
		{9999, "\x45", 1, IP_OTHER},
		{LINK_RAW,
		 "\x45\0\0\x1c\0\0\0\0\x40\1\0\0"
		 "aaaabbbb"
		 "12345678",
		 28, IP_OTHER}, /* ICMP */
		{LINK_RAW,
		 "\x45\0\0\x05\0\0\0\0\x40\6\0\0"
		 "aaaabbbb"
		 "12345678",
		 28, IP_BAD},
		{LINK_RAW,
		 "\x41\0\0\x1c\0\0\0\0\x40\6\0\0"
		 "aaaabbbb"
		 "12345678",
		 28, IP_BAD},
		{LINK_RAW, "\x90", 1, IP_BAD},
		{LINK_RAW, "", 0, IP_BAD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct packet p = {1, (const uint8_t *)rows[i].bytes, (uint32_t)rows[i].n,
				   (uint32_t)rows[i].n, rows[i].link};
		struct ip_packet ip;

		assert_int_equal(ip_decode(&p, &ip), rows[i].verdict);
	}
}

static void addresses_are_written_and_read(void **state)
{
	static const char *const texts[] = {"10.0.0.1", "255.255.255.255", "::1", "2001:db8::5",
					    "fe80::1:2:3:4"};
	struct ip_address a;
	char text[IP_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(ip_parse(texts[i], &a), 0);
		assert_string_equal(ip_format(a, text), texts[i]);
	}
	assert_true(ip_parse("10.0.0", &a) < 0);
	assert_true(ip_parse("somewhere", &a) < 0);
}

static void fragments_in_any_order_make_the_packet(void **state)
{
	static uint8_t payload[3000];
	struct ip_fragments *f = calloc(1, sizeof(*f));
	struct rng rng = {5};

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7);
	for (int round = 0; round < 200; round++) {
		size_t order[] = {0, 1, 2, 3, 4};
		struct ip_packet whole;
		int done = 0;

		for (size_t i = 4; i > 0; i--) {
			size_t j = rng_below(&rng, i + 1), t = order[i];

			order[i] = order[j];
			order[j] = t;
		}
		for (size_t i = 0; i < 5; i++)
			for (int twice = 0; twice < 2; twice++) {
				size_t at = order[i] * 600;
				struct buffer b = {0};
				struct packet p;
				struct ip_packet ip;

				if (done)
					continue; /* repeats of a whole packet would begin another
						   */
				frame_ipv4(&b, 17, 1, 2, 600, (uint16_t)round,
					   (uint16_t)(at / 8 | (order[i] < 4 ? 0x2000 : 0)));
				buffer_append(&b, payload + at, 600);
				p = frame_packet(&b, LINK_RAW, round);
				assert_int_equal(ip_decode(&p, &ip), IP_FRAGMENT);
				done = ip_fragments_add(f, &ip, round, &whole);
				assert_true(done >= 0);
				buffer_done(&b);
			}
		assert_int_equal(done, 1);
		assert_int_equal(whole.n, sizeof(payload));
		assert_memory_equal(whole.p, payload, sizeof(payload));
	}
	assert_int_equal(f->whole, 200);
	ip_fragments_done(f);
	free(f);
}

static void fragments_that_never_end_make_room_for_others(void **state)
{
	struct ip_fragments *f = calloc(1, sizeof(*f));

	for (uint32_t i = 0; i < 1000; i++) {
		uint8_t bytes[8] = {0};
		struct ip_packet piece = {.protocol = IP_UDP,
					  .p = bytes,
					  .n = 8,
					  .wire_n = 8,
					  .fragment_id = i,
					  .fragment_more = true},
				 whole;

		assert_int_equal(ip_fragments_add(f, &piece, i, &whole), 0);
	}
	assert_int_equal(f->given_up, 1000 - FRAGMENT_SLOTS);
	ip_fragments_done(f);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_link_layer_is_taken_off),
		cmocka_unit_test(ipv6_extension_headers_are_walked),
		cmocka_unit_test(what_is_not_ours_is_said_so),
		cmocka_unit_test(addresses_are_written_and_read),
		cmocka_unit_test(fragments_in_any_order_make_the_packet),
		cmocka_unit_test(fragments_that_never_end_make_room_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
