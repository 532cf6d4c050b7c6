/* Captures of real servers (tests/tools/make-captures) against the messages they must give. */
#include <stdio.h>

#include "capture/capture.h"
#include "golden.h"
#include "infer/abstract_read.h"
#include "t.h"

struct text {
	struct names nodes, operations;
	struct buffer out;
};

static int put(void *context, const struct message *m, size_t n)
{
	struct text *t = context;

	for (size_t i = 0; i < n; i++)
		abstract_write(&m[i], &t->nodes, &t->operations, &t->out);
	return 0;
}

static void messages_of(struct slice bytes, struct buffer *out, struct conv_stats *ret_stats)
{
	struct packet_reader reader;
	struct capture c;
	struct error error;
	struct text t = {0};

	names_init(&t.nodes);
	names_init(&t.operations);
	assert_int_equal(packet_reader_open_bytes(&reader, bytes, &error), 0);
	assert_int_equal(capture_init(&c, &t.nodes, &t.operations, (struct message_sink){put, &t},
				      &(struct capture_options){0}),
			 0);
	assert_int_equal(capture_file(&c, &reader, &error), 0);
	assert_int_equal(capture_finish(&c), 0);
	*ret_stats = c.shared.stats;
	capture_done(&c);
	packet_reader_done(&reader);
	names_done(&t.nodes);
	names_done(&t.operations);
	*out = t.out;
}

static const char *const names[] = {
	"dns",   "grpc",       "http1", "http2",  "memcached", "memcached-binary",
	"mysql", "postgresql", "redis", "thrift", "tls"};

static void every_capture_gives_the_messages_written_down(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct buffer pcap = {0}, expected = {0}, got;
		struct conv_stats stats;
		char path[100];

		snprintf(path, sizeof(path), "capture/%s.pcap", names[i]);
		assert_true(golden_load(path, &pcap));
		messages_of(buffer_get(&pcap), &got, &stats);
		snprintf(path, sizeof(path), "capture/%s.msgs", names[i]);
		if (getenv("UPDATE_GOLDEN")) {
			char full[4096];
			FILE *f;

			snprintf(full, sizeof(full), "%s/%s", getenv("GOLDEN"), path);
			f = fopen(full, "w");
			assert_non_null(f);
			fwrite(got.p, 1, got.n, f);
			fclose(f);
		}
		assert_true(golden_load(path, &expected));
		if (!slice_eq(buffer_get(&got), buffer_get(&expected)))
			print_error("%s:\n%s", names[i], buffer_cstr(&got));
		assert_slice_equal(buffer_get(&got), buffer_get(&expected));
		/* They are whole conversations: nothing is left over. */
		assert_int_equal(stats.orphan_answers, 0);
		assert_int_equal(stats.lost_threads, 0);
		assert_int_equal(stats.calls, stats.returns);
		buffer_done(&pcap);
		buffer_done(&expected);
		buffer_done(&got);
	}
}

/* Drops every k-th packet of a capture. */
static void thin(struct slice pcap, size_t k, struct buffer *out)
{
	size_t at = 24, n = 0;

	buffer_append(out, pcap.p, 24);
	while (at + 16 <= pcap.n) {
		uint32_t length = load_le32((const uint8_t *)pcap.p + at + 8);

		if (++n % k)
			buffer_append(out, pcap.p + at, 16 + length);
		at += 16 + length;
	}
}

static void lost_packets_are_survived_and_most_calls_with_them(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t k = 2; k < 40; k++) {
			struct buffer pcap = {0}, thinned = {0}, got;
			struct conv_stats whole, stats;
			char path[100];

			snprintf(path, sizeof(path), "capture/%s.pcap", names[i]);
			assert_true(golden_load(path, &pcap));
			messages_of(buffer_get(&pcap), &got, &whole);
			buffer_done(&got);
			thin(buffer_get(&pcap), k, &thinned);
			messages_of(buffer_get(&thinned), &got, &stats);
			buffer_done(&got);
			if (k >= 20)
				assert_true(stats.returns * 3 >= whole.returns);
			buffer_done(&pcap);
			buffer_done(&thinned);
		}
	}
}

static void a_capture_cut_anywhere_gives_what_came_before(void **state)
{
	struct buffer pcap = {0}, all;
	struct conv_stats stats;

	assert_true(golden_load("capture/redis.pcap", &pcap));
	messages_of(buffer_get(&pcap), &all, &stats);
	for (size_t n = 24; n < pcap.n; n += 17) {
		struct buffer got;

		messages_of(slice_first(buffer_get(&pcap), n), &got, &stats);
		assert_true(got.n <= all.n);
		buffer_done(&got);
	}
	buffer_done(&all);
	buffer_done(&pcap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_capture_gives_the_messages_written_down),
		cmocka_unit_test(lost_packets_are_survived_and_most_calls_with_them),
		cmocka_unit_test(a_capture_cut_anywhere_gives_what_came_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
