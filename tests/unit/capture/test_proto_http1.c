/* HTTP/1.1: where requests and answers begin and end. */
#include "talk.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define OK(n)     "HTTP/1.1 200 OK\r\nContent-Length: " #n "\r\n\r\n"

static const struct talk talks[] = {
	{"a request and its answer", "10 CALL 1 GET:/a\n25 RET 1\n",
	 .steps = {C(10, GET("/a")), S(20, OK(5)), S(25, "hello")}},
	{"the answer begins with its first and ends with its last byte",
	 "10 CALL 1 GET:/a\n40 RET 1\n",
	 .steps = {C(10, GET("/a")), S(20, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"),
		   S(30, "\r\n12345"), S(40, "67890")}},
	{"a request that comes in two segments begins with the first",
	 "10 CALL 1 GET:/a\n30 RET 1\n",
	 .steps = {C(10, "GET /a HTTP/1.1\r\nHost:"), C(15, " a\r\n\r\n"), S(30, OK(0))}},
	{"pipelined requests are answered in order",
	 "10 CALL 1 GET:/a\n10 CALL 2 GET:/b\n10 CALL 3 GET:/c\n20 RET 1\n20 RET 2\n30 RET 3\n",
	 .steps = {C(10, GET("/a") GET("/b") GET("/c")), S(20, OK(2) "aa" OK(3) "bbb"),
		   S(30, OK(1) "c")}},
	{"100 Continue ends nothing", "10 CALL 1 POST:/a\n40 RET 1\n",
	 .steps = {C(10, "POST /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"),
		   S(20, "HTTP/1.1 100 Continue\r\n\r\n"), C(30, "abc"), S(40, OK(0))}},
	{"103 Early Hints neither", "10 CALL 1 GET:/a\n40 RET 1\n",
	 .steps = {C(10, GET("/a")), S(20, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
		   S(40, OK(0))}},
	{"a chunked answer with extensions and a trailer",
	 "10 CALL 1 GET:/a\n40 RET 1\n50 CALL 2 GET:/b\n60 RET 2\n",
	 .steps = {C(10, GET("/a")),
		   S(20,
		     "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n"),
		   S(30, "A;x=y\r\n0123456789\r\n"), S(40, "0\r\nX-T: 1\r\n\r\n"), C(50, GET("/b")),
		   S(60, OK(0))}},
	{"a chunked request", "10 CALL 1 POST:/a\n30 RET 1\n40 CALL 2 GET:/b\n50 RET 2\n",
	 .steps = {C(10,
		     "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
		   S(30, OK(0)), C(40, GET("/b")), S(50, OK(0))}},
	{"HEAD has no body whatever its length says",
	 "10 CALL 1 HEAD:/a\n20 RET 1\n30 CALL 2 GET:/b\n40 RET 2\n",
	 .steps = {C(10, "HEAD /a HTTP/1.1\r\n\r\n"), S(20, OK(500)), C(30, GET("/b")),
		   S(40, OK(0))}},
	{"204 and 304 have none either", "10 CALL 1 GET:/a\n20 RET 1\n30 CALL 2 GET:/a\n40 RET 2\n",
	 .steps = {C(10, GET("/a")), S(20, "HTTP/1.1 204 No Content\r\n\r\n"), C(30, GET("/a")),
		   S(40, "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n")}},
	{"an answer without a length ends with the connection", "10 CALL 1 GET:/a\n30 RET 1\n",
	 .steps = {C(10, GET("/a")), S(20, "HTTP/1.0 200 OK\r\n\r\nhel"), S(30, "lo"),
		   S_CLOSES(90)}},
	{"a connection that ends without an answer leaves the call open", "10 CALL 1 GET:/a\n",
	 .steps = {C(10, GET("/a")), S_CLOSES(20)}},
	{"ids in paths are one operation, queries none",
	 "10 CALL 1 GET:/users/*/orders/*\n20 RET 1\n30 CALL 2 GET:/v2/x\n40 RET 2\n",
	 .steps = {C(10, GET("/users/17/orders/3f2a9c1e?x=1")), S(20, OK(0)), C(30, GET("/v2/x#y")),
		   S(40, OK(0))}},
	{"an absolute target is its path", "10 CALL 1 GET:/x\n20 RET 1\n",
	 .steps = {C(10, GET("http://host:80/x")), S(20, OK(0))}},
	{"blank lines between messages are nothing",
	 "10 CALL 1 GET:/a\n20 RET 1\n30 CALL 2 GET:/b\n40 RET 2\n",
	 .steps = {C(10, GET("/a")), S(20, OK(0)), C(30, "\r\n" GET("/b")), S(40, OK(0))}},
	{"lines may end in LF alone", "10 CALL 1 GET:/a\n20 RET 1\n",
	 .steps = {C(10, "GET /a HTTP/1.1\nHost: a\n\n"),
		   S(20, "HTTP/1.1 200 OK\nContent-Length: 0\n\n")}},
	{"an upgrade ends HTTP", "10 CALL 1 GET:/ws\n20 RET 1\n30 CALL 2\n40 RET 2\n",
	 .whole = true,
	 .steps = {C(10, GET("/ws")),
		   S(20, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
		   C(30, "\x81\x85\x01\x02\x03\x04zzzzz ------------------------"),
		   S(40, "\x81\x05hello --------------------------"), C_CLOSES(50), S_CLOSES(60)}},
	{"an unusual method", "10 CALL 1 PROPFIND:/dav\n20 RET 1\n",
	 .steps = {C(10, "PROPFIND /dav HTTP/1.1\r\n\r\n"), S(20, OK(0))}},
};

static const struct talk lossy[] = {
	{"a hole inside a body is passed over",
	 "10 CALL 1 GET:/a\n40 RET 1\n50 CALL 2 GET:/b\n60 RET 2\n",
	 .steps = {C(10, GET("/a")), S(20, OK(100) "xxxxxxxxxx"), S_HOLE(30, 80),
		   S(40, "yyyyyyyyyy"), C(50, GET("/b")), S(60, OK(0))}},
	{"a hole over the end of an answer: it ended before the next request",
	 "10 CALL 1 GET:/a\n30 RET 1\n50 CALL 2 GET:/b\n60 RET 2\n", .whole = true,
	 .steps = {C(10, GET("/a")),
		   S(20, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
		   S_HOLE(25, 80), S(30, "yyy\r\n0\r\n\r\n"), C(50, GET("/b")), S(60, OK(0))}},
	{"a request that was lost makes its answer an orphan",
	 "10 CALL 1 GET:/a\n20 RET 1\n50 CALL 2 GET:/c\n60 RET 2\n", .whole = true,
	 .steps = {C(10, GET("/a")), S(20, OK(0)), C_HOLE(30, 33), S(40, OK(3) "bbb"),
		   C(50, GET("/c")), S(60, OK(0))}},
	{"an answer that was lost altogether leaves its call open",
	 "10 CALL 1 GET:/a\n50 CALL 2 GET:/b\n60 RET 2\n", .whole = true,
	 .steps = {C(10, GET("/a")), S_HOLE(20, 38), C(50, GET("/b")), S(60, OK(0))}},
	{"the middle of a connection, beginning with a body", "50 CALL 1 GET:/b\n60 RET 1\n",
	 .unsure = true, .port = 80, .whole = true,
	 .steps = {S(10, "......body of something that began earlier......"), C(50, GET("/b")),
		   S(60, OK(0))}},
	{"the middle of a connection whose ends were mixed up", "50 CALL 1 GET:/b\n60 RET 1\n",
	 .unsure = true, .whole = true, .steps = {S(50, GET("/b")), C(60, OK(0))}},
	{"garbage after a good message is survived",
	 "10 CALL 1 GET:/a\n20 RET 1\n60 CALL 2 GET:/b\n70 RET 2\n", .whole = true,
	 .steps = {C(10, GET("/a")), S(20, OK(0)), C(30, "\x01\x02\x03garbage"), C(60, GET("/b")),
		   S(70, OK(0))}},
};

static void every_conversation_gives_its_messages(void **state)
{
	talk_all(talks, ARRAY_SIZE(talks));
}

static void holes_cost_no_more_than_what_they_swallow(void **state)
{
	talk_all(lossy, ARRAY_SIZE(lossy));
}

static void a_head_without_an_end_is_given_up(void **state)
{
	const struct talk talk = {"endless", ""};
	struct talk_run run;
	char line[100];

	talk_begin(&run, &talk);
	assert_int_equal(conv_data(&run.conv, SIDE_CLIENT, SLICE("GET / HTTP/1.1\r\n"), 1), 0);
	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 2000; i++)
		assert_int_equal(conv_data(&run.conv, SIDE_CLIENT, slice_of(line, sizeof(line)), 1),
				 0);
	assert_true(run.shared.memory <= 2 * CONV_MAX_WINDOW);
	assert_true(run.shared.stats.lost_threads >= 1);
	talk_end(&run);
	buffer_done(&run.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_conversation_gives_its_messages),
		cmocka_unit_test(holes_cost_no_more_than_what_they_swallow),
		cmocka_unit_test(a_head_without_an_end_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
