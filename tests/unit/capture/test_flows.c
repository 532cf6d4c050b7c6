/* Connections: beginnings, ends, ports used again, sightings, bounds; and the whole way of a
 * capture. */
#include <stdio.h>

#include "capture/capture.h"
#include "frames.h"

struct run {
	struct names nodes, operations;
	struct buffer out;
	struct capture capture;
};

static int put(void *context, const struct message *m, size_t n)
{
	struct run *run = context;

	for (size_t i = 0; i < n; i++) {
		char id[MESSAGE_ID_BYTES];

		buffer_printf(
			&run->out, "%d %s %s>%s %s\n", (int)(m[i].time_ns / 1000000),
			message_op_name(m[i].op, m[i].sight), names_get(&run->nodes, m[i].sender).p,
			names_get(&run->nodes, m[i].receiver).p, message_id_format(m[i].id, id));
	}
	return 0;
}

static struct run *run_new(const struct capture_options *options)
{
	struct run *run = calloc(1, sizeof(*run));

	names_init(&run->nodes);
	names_init(&run->operations);
	assert_int_equal(capture_init(&run->capture, &run->nodes, &run->operations,
				      (struct message_sink){put, run}, options),
			 0);
	return run;
}

static void run_free(struct run *run)
{
	capture_done(&run->capture);
	names_done(&run->nodes);
	names_done(&run->operations);
	buffer_done(&run->out);
	free(run);
}

static void see(struct run *run, int ms, struct tcp_frame f)
{
	struct buffer b = {0};
	struct packet p;

	frame_make(&b, &f);
	p = frame_packet(&b, LINK_RAW, (int64_t)ms * 1000000);
	assert_int_equal(capture_packet(&run->capture, &p), 0);
	buffer_done(&b);
}

#define REQUEST "GET / HTTP/1.1\r\n\r\n"                       /* 18 bytes */
#define ANSWER  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" /* 38 bytes */
#define UP(seq_, ack_, flags_, text_)                                                              \
	((struct tcp_frame){1, 2, 40000, 80, seq_, ack_, flags_, text_, false})
#define DOWN(seq_, ack_, flags_, text_)                                                            \
	((struct tcp_frame){2, 1, 80, 40000, seq_, ack_, flags_, text_, false})

static void check(struct run *run, const char *expected)
{
	assert_int_equal(capture_finish(&run->capture), 0);
	assert_string_equal(buffer_cstr(&run->out), expected);
}

static void a_connection_from_its_beginning_to_its_end(void **state)
{
	struct run *run = run_new(&(struct capture_options){0});

	see(run, 1, UP(99, 0, 2, NULL));
	see(run, 2, DOWN(499, 100, 18, NULL));
	see(run, 3, UP(100, 500, 16, REQUEST));
	see(run, 9, DOWN(500, 118, 16, ANSWER));
	see(run, 10, UP(118, 538, 17, NULL));
	see(run, 11, DOWN(538, 119, 17, NULL));
	see(run, 12, UP(119, 539, 16, NULL)); /* a last acknowledgement begins nothing new */
	assert_int_equal(run->capture.flows.stats.opened, 1);
	assert_int_equal(run->capture.flows.stats.midstream, 0);
	check(run, "3 CALL 10.0.0.1>10.0.0.2 1\n9 RET 10.0.0.2>10.0.0.1 1\n");
	run_free(run);
}

static void the_same_packets_seen_twice_are_one(void **state)
{
	struct run *run = run_new(&(struct capture_options){0});

	for (int i = 0; i < 2; i++)
		see(run, 1, UP(99, 0, 2, NULL));
	for (int i = 0; i < 2; i++)
		see(run, 2, DOWN(499, 100, 18, NULL));
	for (int i = 0; i < 2; i++)
		see(run, 3 + i, UP(100, 500, 16, REQUEST));
	for (int i = 0; i < 2; i++)
		see(run, 9 + i, DOWN(500, 118, 16, ANSWER));
	assert_int_equal(run->capture.flows.stats.repeated, 2);
	check(run, "3 CALL 10.0.0.1>10.0.0.2 1\n9 RET 10.0.0.2>10.0.0.1 1\n");
	run_free(run);
}

static void ports_used_again_are_another_connection(void **state)
{
	struct run *run = run_new(&(struct capture_options){0});

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t a = i * 1000000, b = i * 3000000;
		int ms = (int)i * 100;

		see(run, ms + 1, UP(a + 99, 0, 2, NULL));
		see(run, ms + 2, DOWN(b + 499, a + 100, 18, NULL));
		see(run, ms + 3, UP(a + 100, b + 500, 16, REQUEST));
		see(run, ms + 9, DOWN(b + 500, a + 118, 16, ANSWER));
		if (i == 0) /* the first is reset, the second never ends */
			see(run, ms + 10, DOWN(b + 538, a + 118, 4, NULL));
	}
	assert_int_equal(run->capture.flows.stats.opened, 3);
	check(run,
	      "3 CALL 10.0.0.1>10.0.0.2 1\n9 RET 10.0.0.2>10.0.0.1 1\n103 CALL 10.0.0.1>10.0.0.2 2\n109 RET 10.0.0.2>10.0.0.1 2\n"
	      "203 CALL 10.0.0.1>10.0.0.2 3\n209 RET 10.0.0.2>10.0.0.1 3\n");
	run_free(run);
}

static void a_capture_that_begins_later_finds_the_client_by_content(void **state)
{
	struct run *run = run_new(&(struct capture_options){0});
	/* The server's port is the higher one and known to nobody. */
	struct tcp_frame request = {1, 2, 9999, 50123, 100, 500, 16, REQUEST, false},
			 answer = {2, 1, 50123, 9999, 500, 118, 16, ANSWER, false};

	see(run, 3, request);
	see(run, 9, answer);
	assert_int_equal(run->capture.flows.stats.midstream, 1);
	check(run, "3 CALL 10.0.0.1>10.0.0.2 1\n9 RET 10.0.0.2>10.0.0.1 1\n");
	run_free(run);
}

static void ipv6_is_the_same(void **state)
{
	struct run *run = run_new(&(struct capture_options){0});
	struct tcp_frame request = UP(100, 500, 16, REQUEST), answer = DOWN(500, 118, 16, ANSWER);

	request.v6 = answer.v6 = true;
	see(run, 3, request);
	see(run, 9, answer);
	check(run, "3 CALL fd00::1>fd00::2 1\n9 RET fd00::2>fd00::1 1\n");
	run_free(run);
}

static void two_captures_agree_on_ids(void **state)
{
	struct buffer first = {0};

	for (int i = 0; i < 2; i++) {
		struct run *run = run_new(&(struct capture_options){.stable_ids = true});

		if (i == 0) { /* this one saw more before */
			see(run, 1, UP(99, 0, 2, NULL));
			see(run, 2, DOWN(499, 100, 18, NULL));
			see(run, 3, UP(100, 500, 16, REQUEST));
			see(run, 4, DOWN(500, 118, 16, ANSWER));
		}
		see(run, 10, UP(118, 538, 16, REQUEST));
		see(run, 20, DOWN(538, 136, 16, ANSWER));
		assert_int_equal(capture_finish(&run->capture), 0);
		if (i == 0) {
			const char *later = strstr(buffer_cstr(&run->out), "10 CALL");

			assert_non_null(later);
			buffer_text(&first, later);
		} else {
			assert_string_equal(buffer_cstr(&run->out), buffer_cstr(&first));
		}
		run_free(run);
	}
	buffer_done(&first);
}

/* Ten requests, one after the other, on one connection; packet `without` is not seen, and packets
 * are cut to `snap` bytes. */
static void ten_requests(struct run *run, int without, uint32_t snap)
{
	for (int i = 0; i < 10; i++)
		for (int back = 0; back < 2; back++) {
			uint32_t up = 100 + 18 * (uint32_t)i, down = 500 + 38 * (uint32_t)i;
			struct tcp_frame f =
				back ? DOWN(down, up + 18, 16, ANSWER) : UP(up, down, 16, REQUEST);
			struct buffer b = {0};
			struct packet p;

			if (i * 2 + back == without)
				continue;
			frame_make(&b, &f);
			p = frame_packet(&b, LINK_RAW, (int64_t)(i * 100 + back * 7) * 1000000);
			p.n = MIN(p.n, snap);
			assert_int_equal(capture_packet(&run->capture, &p), 0);
			buffer_done(&b);
		}
	assert_int_equal(capture_finish(&run->capture), 0);
}

static void a_lost_packet_costs_its_call_and_no_other(void **state)
{
	for (int without = 0; without < 20; without++) {
		struct run *run = run_new(&(struct capture_options){0});
		int found = 0;

		ten_requests(run, without, UINT32_MAX);
		for (int i = 0; i < 10; i++) {
			char call[60], ret[60];

			snprintf(call, sizeof(call), "%d CALL ", i * 100);
			snprintf(ret, sizeof(ret), "\n%d RET ", i * 100 + 7);
			if (i * 2 != without && i * 2 + 1 != without) {
				assert_non_null(strstr(buffer_cstr(&run->out), call));
				assert_non_null(strstr(buffer_cstr(&run->out), ret));
				found++;
			}
		}
		assert_int_equal(found, 9);
		assert_int_equal(run->capture.shared.stats.returns, 9);
		run_free(run);
	}
}

static void packets_cut_by_the_capture_still_tell_the_calls(void **state)
{
	/* 40 bytes of headers, and of the payload too little for a head to end in. */
	for (uint32_t snap = 48; snap < 70; snap++) {
		struct run *run = run_new(&(struct capture_options){0});

		ten_requests(run, -1, snap);
		assert_int_equal(run->capture.shared.stats.calls, 10);
		assert_true(run->capture.shared.stats.returns >=
			    9); /* the last end cannot be told */
		assert_non_null(strstr(buffer_cstr(&run->out), "\n807 RET "));
		run_free(run);
	}
}

static void connections_and_memory_are_bounded(void **state)
{
	struct run *run =
		run_new(&(struct capture_options){.max_flows = 100, .max_memory = 200000});

	for (int i = 0; i < 5000; i++) {
		struct tcp_frame f = UP(100, 500, 16, "GET /never-ending HTTP/1.1\r\nA: b\r\n");

		f.from_port = (uint16_t)(10000 + i);
		see(run, i, f);
		assert_true(run->capture.flows.n <= 101);
		assert_true(run->capture.shared.memory <= 210000);
	}
	assert_true(run->capture.flows.stats.evicted >= 4800);
	run_free(run);
}

static void rules_name_nodes_and_shared_addresses(void **state)
{
	static const char text[] =
		"# nodes\n10.0.0.1 client\n10.0.0.0/24:80 web\n\n[fd00::]/8:80-90 six\n*:6379 redis\n";
	struct node_rules rules;
	struct names nodes;
	struct error error;
	static const struct {
		const char *address;
		uint16_t port;
		bool server;
		const char *name;
	} rows[] = {
		{"10.0.0.1", 80, true, "client"}, /* the first rule that fits */
		{"10.0.0.7", 80, true, "web"},
		{"10.0.0.7", 81, true, "10.0.0.7"},
		{"fd00::9", 85, true, "six"},
		{"fd00::9", 91, true, "fd00::9"},
		{"9.9.9.9", 6379, true, "redis"},
		{"127.0.0.1", 5000, true, "127.0.0.1:5000"},
		{"127.0.0.1", 5000, false, "127.0.0.1"},
	};

	node_rules_init(&rules, NODE_AUTO);
	names_init(&nodes);
	assert_int_equal(node_rules_parse(&rules, slice_cstr(text), &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ip_address a;
		uint32_t node;

		assert_int_equal(ip_parse(rows[i].address, &a), 0);
		assert_int_equal(node_name(&rules, &nodes, a, rows[i].port, rows[i].server, &node),
				 0);
		assert_text(names_get(&nodes, node), rows[i].name);
	}
	static const char *const bad[] = {
		"10.0.0.1",    "10.0.0.1:x web",     "10.0.0.1/33 web", "10.0.0.1:9-8 web",
		"nowhere web", "10.0.0.1 two words", "[fd00::1 web",    ":80 web"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(node_rules_parse(&rules, slice_cstr(bad[i]), &error) < 0);
		assert_non_null(strstr(error.text, "line 1"));
	}
	node_rules_done(&rules);
	names_done(&nodes);
}

static void the_wire_tells_who_caused_whom(void **state)
{
	struct run *run = run_new(&(struct capture_options){.truth_header = "x-request-id"});
	struct buffer text = {0};
	struct tcp_frame up = {
		1,    2,   40000, 80,
		100,  500, 16,    "GET /a HTTP/1.1\r\nX-Request-Id: r0000007\r\n\r\n",
		false};
	struct tcp_frame next = {
		2, 3, 40001, 6379, 100, 500, 16, "*2\r\n$3\r\nGET\r\n$10\r\nk:r0000007\r\n", false};
	struct tcp_frame next_ret = {3, 2, 6379, 40001, 500, 130, 16, "+OK\r\n", false};
	struct tcp_frame down = {2, 1, 80, 40000, 500, 150, 16, ANSWER, false};

	see(run, 1, up);
	see(run, 3, next);
	see(run, 5, next_ret);
	see(run, 9, down);
	assert_int_equal(capture_finish(&run->capture), 0);
	assert_int_equal(truth_write(&run->capture.truth, &run->capture.shared.tags, &text), 0);
	assert_string_equal(buffer_cstr(&text), "1 0 r0000007\n2 1 r0000007\n");
	buffer_done(&text);
	run_free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_from_its_beginning_to_its_end),
		cmocka_unit_test(the_same_packets_seen_twice_are_one),
		cmocka_unit_test(ports_used_again_are_another_connection),
		cmocka_unit_test(a_capture_that_begins_later_finds_the_client_by_content),
		cmocka_unit_test(ipv6_is_the_same),
		cmocka_unit_test(two_captures_agree_on_ids),
		cmocka_unit_test(a_lost_packet_costs_its_call_and_no_other),
		cmocka_unit_test(packets_cut_by_the_capture_still_tell_the_calls),
		cmocka_unit_test(connections_and_memory_are_bounded),
		cmocka_unit_test(rules_name_nodes_and_shared_addresses),
		cmocka_unit_test(the_wire_tells_who_caused_whom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
