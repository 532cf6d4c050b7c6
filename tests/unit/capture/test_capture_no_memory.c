/* Every allocation of a capture may fail: an error, no leak, no crash. */
#include <errno.h>

#include "capture/capture.h"
#include "golden.h"
#include "no_memory.h"
#include "t.h"

static int put(void *context, const struct message *m, size_t n)
{
	return 0;
}

static int run(struct slice bytes)
{
	struct names nodes, operations;
	struct packet_reader reader;
	struct capture c;
	struct error error;
	int r;

	names_init(&nodes);
	names_init(&operations);
	r = packet_reader_open_bytes(&reader, bytes, &error);
	if (r == 0) {
		r = capture_init(&c, &nodes, &operations, (struct message_sink){put, NULL},
				 &(struct capture_options){0});
		if (r == 0) {
			r = capture_file(&c, &reader, &error);
			if (r == 0)
				r = capture_finish(&c);
			capture_done(&c);
		}
		packet_reader_done(&reader);
	}
	names_done(&nodes);
	names_done(&operations);
	return r;
}

static void every_failed_allocation_is_an_error_or_makes_no_difference(void **state)
{
	static const char *const names[] = {"grpc", "redis", "dns"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct buffer pcap = {0};
		char path[100];
		int r = -1;

		snprintf(path, sizeof(path), "capture/%s.pcap", names[i]);
		assert_true(golden_load(path, &pcap));
		for (long n = 0; n < 100000 && r != 0; n++) {
			no_memory_after = n;
			r = run(buffer_get(&pcap));
			/* nghttp2's own allocations may fail as well: then names are missing. */
			if (no_memory_after >= 0)
				break;
			assert_true(r == 0 || r == -ENOMEM);
			r = -1;
		}
		no_memory_after = -1;
		assert_int_equal(r, 0);
		buffer_done(&pcap);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_is_an_error_or_makes_no_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
