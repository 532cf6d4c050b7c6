#include "t.h"

#include <stdlib.h>

#include "http/unplugged.h"

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define POST(path) "POST " path " HTTP/1.1\r\nHost: localhost\r\n"

static int cancels, streams_done;

static void on_cancel(struct http_request *req, void *context)
{
	cancels++;
}

static enum http_pull pull(void *context, struct buffer *out)
{
	int *left = context;

	buffer_printf(out, "piece %d\n", *left);
	return --*left > 0 ? HTTP_PULL_MORE : HTTP_PULL_END;
}

static void pull_done(void *context)
{
	streams_done++;
}

static void dispatch(struct http_request *req, void *context)
{
	struct unplugged *u = context;
	static int left;

	if (slice_eq(req->path, SLICE("/later"))) {
		http_request_on_cancel(req, on_cancel, NULL);
		u->later = req;
	} else if (slice_eq(req->path, SLICE("/stream"))) {
		left = 3;
		http_reply_stream(req, 200, "text/plain",
				  &(struct http_stream){pull, pull_done, &left});
	} else if (slice_eq(req->path, SLICE("/large"))) {
		struct buffer b = {0};

		memset(buffer_reserve(&b, 100000), 'L', 100000);
		b.n = 100000;
		http_reply_buffer(req, 200, "text/plain", &b);
	} else {
		http_reply(req, 200, "text/plain", req->body.n ? req->body : req->path);
	}
}

static void admit(struct http_request *req, void *context)
{
	if (slice_eq(req->path, SLICE("/refused")))
		http_reply_text(req, 404, "not here");
	if (slice_eq(req->path, SLICE("/tiny")))
		req->max_body = 3;
}

static struct unplugged u;

static int set_up(void **state)
{
	cancels = streams_done = 0;
	unplugged_init(&u, admit, dispatch);
	unplugged_connect(&u);
	return 0;
}

static int tear_down(void **state)
{
	unplugged_disconnect(&u);
	unplugged_done(&u);
	return 0;
}

static int count(const char *what)
{
	const char *text = buffer_cstr(&u.sent);
	int n = 0;

	while ((text = strstr(text, what)))
		n++, text++;
	return n;
}

static void feed(const char *text)
{
	unplugged_feed(&u, slice_cstr(text), 1 << 20);
}

static void pipelined_requests_are_answered_in_order_however_cut(void **state)
{
	static const char text[] = GET("/one") POST("/two") "Content-Length: 5\r\n\r\nhello" POST(
		"/three") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" GET("/large")
		GET("/stream") GET("/end");
	struct buffer first = {0};

	for (size_t step = 1; step < sizeof(text); step++) {
		assert_int_equal(unplugged_feed(&u, slice_of(text, sizeof(text) - 1), step), 0);
		assert_false(u.conn.closing || u.conn.broken);
		assert_int_equal(u.conn.h1.state, H1_HEAD);
		if (step == 1) {
			buffer_slice(&first, buffer_get(&u.sent));
			assert_int_equal(count("HTTP/1.1 200 OK"), 6);
			assert_non_null(strstr(buffer_cstr(&u.sent), "\r\n\r\n/one"));
			assert_non_null(strstr(buffer_cstr(&u.sent), "\r\n\r\nhello"));
			assert_non_null(strstr(buffer_cstr(&u.sent), "\r\n\r\nabc"));
			assert_non_null(
				strstr(buffer_cstr(&u.sent),
				       "8\r\npiece 3\n\r\n8\r\npiece 2\n\r\n8\r\npiece 1\n\r\n"
				       "0\r\n\r\nHTTP/1.1"));
			assert_true(slice_ends(buffer_get(&u.sent), SLICE("\r\n\r\n/end")));
		}
		assert_int_equal(u.sent.n, first.n);
		buffer_clear(&u.sent);
	}
	assert_int_equal(streams_done, sizeof(text) - 1);
	buffer_done(&first);
}

static void a_later_answer_holds_back_the_next_request(void **state)
{
	feed(GET("/later") GET("/next"));
	assert_int_equal(u.sent.n, 0);
	assert_false(conn_wants_read(&u.conn));
	http_reply_text(u.later, 200, "at last");
	unplugged_pump(&u);
	assert_int_equal(count("HTTP/1.1 200"), 2);
	assert_true(strstr(buffer_cstr(&u.sent), "at last") < strstr(u.sent.p, "/next"));
}

static void a_client_that_leaves_is_noticed_and_the_answer_dropped(void **state)
{
	feed(GET("/later"));
	unplugged_disconnect(&u);
	assert_int_equal(cancels, 1);
	assert_true(http_request_cancelled(u.later));
	assert_int_equal(u.loop.live, 1);
	http_reply_text(u.later, 200, "nobody hears it");
	loop_take_posts(&u.loop);
	assert_int_equal(u.loop.live, 0);
	unplugged_connect(&u);
}

static void a_stream_for_a_client_that_left_is_ended(void **state)
{
	int left = 3;

	feed(GET("/later"));
	unplugged_disconnect(&u);
	http_reply_stream(u.later, 200, NULL, &(struct http_stream){pull, pull_done, &left});
	loop_take_posts(&u.loop);
	assert_int_equal(streams_done, 1);
	assert_int_equal(left, 3);
	unplugged_connect(&u);
}

static void a_half_closed_client_still_gets_its_answer(void **state)
{
	feed(GET("/later"));
	conn_eof(&u.conn);
	assert_int_equal(cancels, 1);
	http_reply_text(u.later, 200, "still");
	unplugged_pump(&u);
	assert_int_equal(count("still"), 1);
	assert_true(conn_wants_close(&u.conn));
}

static void refusals_close_the_connection_and_say_why(void **state)
{
	static const struct {
		const char *text, *status, *why;
	} rows[] = {
		{"GARBAGE\r\n\r\n", "400", "target"},
		{"\x16\x03\x01", "400", "TLS"},
		{POST("/x") "Content-Length: 99999999999\r\n\r\n", "413", "67108864 bytes (limit)"},
		{POST("/tiny") "Content-Length: 4\r\n\r\n", "413", "3 bytes (limit)"},
		{POST("/tiny") "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", "413", "3 bytes"},
		{POST("/refused") "Content-Length: 4\r\n\r\n", "404", "not here"},
		{POST("/x") "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400", "hexadecimal"},
		{POST("/x") "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "415", "gzip"},
		{POST("/x") "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "400",
		 "damaged"},
		{POST("/x") "Content-Type: application/grpc\r\nContent-Length: 1\r\n\r\nx", "415",
		 "HTTP/2"},
		{"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421", "evil.example"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		feed(rows[i].text);
		if (count(rows[i].status) == 0 || count(rows[i].why) == 0)
			fail_msg("row %zu: %s", i, buffer_cstr(&u.sent));
		assert_int_equal(count("HTTP/1.1 "), 1);
		buffer_clear(&u.sent);
		unplugged_disconnect(&u);
		unplugged_connect(&u);
	}
}

static void a_refusal_without_a_body_keeps_the_connection(void **state)
{
	feed(GET("/refused") GET("/fine"));
	assert_int_equal(count("404"), 1);
	assert_int_equal(count("200"), 1);
}

static void an_expected_continue_is_sent_only_to_who_may_send(void **state)
{
	feed(POST("/x") "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	assert_int_equal(count("HTTP/1.1 100 Continue\r\n\r\n"), 1);
	feed("abc");
	assert_int_equal(count("\r\n\r\nabc"), 1);
	feed(POST("/refused") "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	assert_int_equal(count("100 Continue"), 1);
	assert_int_equal(count("404"), 1);
}

static void head_and_old_clients_are_served(void **state)
{
	feed("HEAD /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_int_equal(count("Content-Length: 2"), 1);
	assert_true(slice_ends(buffer_get(&u.sent), SLICE("\r\n\r\n")));
	buffer_clear(&u.sent);
	feed("GET /stream HTTP/1.0\r\n\r\n");
	assert_int_equal(count("chunked"), 0);
	assert_true(slice_ends(buffer_get(&u.sent), SLICE("\r\n\r\npiece 3\npiece 2\npiece 1\n")));
	assert_true(conn_wants_close(&u.conn));
}

static void slow_clients_run_out_of_time(void **state)
{
	feed("GET / HT");
	unplugged_tick(&u, u.server.limits.header_ms - 1);
	assert_int_equal(u.sent.n, 0);
	unplugged_tick(&u, 1);
	assert_int_equal(count("408"), 1);
	assert_true(conn_wants_close(&u.conn));

	unplugged_disconnect(&u);
	unplugged_connect(&u);
	buffer_clear(&u.sent);
	feed(POST("/x") "Content-Length: 100000\r\n\r\n");
	for (int i = 0; i < 3; i++) { /* just fast enough */
		char piece[8000] = "";

		unplugged_feed(&u, slice_of(piece, sizeof(piece)), sizeof(piece));
		unplugged_tick(&u, u.server.limits.body_ms);
		assert_int_equal(u.sent.n, 0);
	}
	feed("not enough");
	unplugged_tick(&u, u.server.limits.body_ms);
	assert_int_equal(count("408"), 1);
	assert_true(u.conn.linger);
	unplugged_tick(&u, u.server.limits.linger_ms);
	assert_true(conn_wants_close(&u.conn));
}

static void idle_connections_are_closed_without_a_word(void **state)
{
	feed(GET("/x"));
	buffer_clear(&u.sent);
	unplugged_tick(&u, u.server.limits.idle_ms - 1);
	assert_false(conn_wants_close(&u.conn));
	unplugged_tick(&u, 1);
	assert_true(conn_wants_close(&u.conn));
	assert_int_equal(u.sent.n, 0);
}

static void bodies_over_the_budget_are_put_off(void **state)
{
	u.server.limits.memory_bytes = 1000;
	feed(POST("/x") "Content-Length: 1001\r\n\r\n");
	assert_int_equal(count("503"), 1);
	assert_int_equal(count("Retry-After: 1"), 1);
	assert_int_equal(u.server.counters.refused[HTTP_REFUSED_MEMORY], 1);
}

static void cors_is_off_until_an_origin_is_named(void **state)
{
	static char origin[] = "https://ui.example";
	char *origins[] = {origin, NULL};

	feed("OPTIONS /x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://ui.example\r\n"
	     "Access-Control-Request-Method: POST\r\n\r\n");
	assert_int_equal(count("Access-Control"), 0);
	u.server.cors_origins = origins;
	feed("OPTIONS /x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://ui.example\r\n"
	     "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-y\r\n\r\n");
	assert_int_equal(count("204 No Content"), 1);
	assert_int_equal(count("Access-Control-Allow-Origin: https://ui.example"), 1);
	assert_int_equal(count("Access-Control-Allow-Headers: x-y"), 1);
	buffer_clear(&u.sent);
	feed("OPTIONS /x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n"
	     "Access-Control-Request-Method: POST\r\n\r\n");
	assert_int_equal(count("403"), 1);
	feed("GET /x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n");
	assert_int_equal(count("Access-Control-Allow-Origin"), 0);
}

static void names_of_loopback_are_its_own(void **state)
{
	static const struct {
		const char *host;
		bool fine;
	} rows[] = {
		{"localhost", true},
		{"LocalHost:4318", true},
		{"127.0.0.1:1", true},
		{"[::1]:16686", true},
		{"127.1.2.3", true},
		{"ui.localhost:80", true},
		{"known.example", true},
		{"known.example:9", true},
		{"evil.example", false},
		{"127.0.0.1.evil.example", false},
		{"localhost.evil.example", false},
		{"[::2]", false},
		{"", false},
		{"evillocalhost", false},
	};
	static char known[] = "known.example";
	char *hosts[] = {known, NULL};

	u.server.hosts = hosts;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[200];

		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].host);
		feed(text);
		if (count(rows[i].fine ? "200 OK" : "421 Misdirected") != 1)
			fail_msg("%s: %s", rows[i].host, buffer_cstr(&u.sent));
		buffer_clear(&u.sent);
	}
}

static void draining_finishes_what_has_begun(void **state)
{
	feed(GET("/later"));
	u.loop.draining = true;
	conn_drain(&u.conn);
	assert_false(conn_wants_close(&u.conn));
	http_reply_text(u.later, 200, "done");
	unplugged_pump(&u);
	assert_int_equal(count("Connection: close"), 1);
	assert_int_equal(count("done"), 1);
	assert_true(conn_wants_close(&u.conn));
}

static void who_accepts_gzip_is_understood(void **state)
{
	static const struct {
		const char *text;
		bool yes;
	} rows[] = {
		{"gzip", true},
		{"deflate, GZIP;q=0.5", true},
		{"*", true},
		{"br", false},
		{"gzip;q=0", false},
		{"gzip; q=0.000, br", false},
		{"gzip;q=0.001", true},
		{"", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(reply_accepts_gzip(slice_cstr(rows[i].text)), rows[i].yes);
	assert_false(reply_accepts_gzip(slice_of(NULL, 0)));
}

static void large_text_is_compressed_for_who_asks(void **state)
{
	struct coder *coder = coder_new();
	struct buffer plain = {0};
	const char *body;

	feed("GET /large HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n");
	assert_int_equal(count("Content-Encoding: gzip\r\n"), 1);
	assert_int_equal(count("Vary: Accept-Encoding\r\n"), 1);
	body = strstr(buffer_cstr(&u.sent), "\r\n\r\n") + 4;
	assert_int_equal(coder_decode(coder, CODING_GZIP,
				      slice_of(body, u.sent.n - (size_t)(body - u.sent.p)), 1 << 20,
				      &plain),
			 0);
	assert_int_equal(plain.n, 100000);
	buffer_clear(&u.sent);
	feed(GET("/large"));
	assert_int_equal(count("Content-Encoding"), 0);
	assert_true(u.sent.n > 100000);
	buffer_done(&plain);
	coder_free(coder);
}

static void bad_reply_headers_are_refused(void **state)
{
	feed(GET("/later"));
	assert_true(http_reply_header(u.later, "X", SLICE("a\r\nSet-Cookie: b")) < 0);
	assert_true(http_reply_header(u.later, "X Y", SLICE("a")) < 0);
	assert_true(http_reply_header(u.later, "", SLICE("a")) < 0);
	assert_int_equal(http_reply_header(u.later, "X-Y", SLICE("a")), 0);
	http_reply_text(u.later, 200, "x");
	unplugged_pump(&u);
	assert_int_equal(count("X-Y: a\r\n"), 1);
	assert_int_equal(count("Set-Cookie"), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(pipelined_requests_are_answered_in_order_however_cut),
		CASE(a_later_answer_holds_back_the_next_request),
		CASE(a_client_that_leaves_is_noticed_and_the_answer_dropped),
		CASE(a_stream_for_a_client_that_left_is_ended),
		CASE(a_half_closed_client_still_gets_its_answer),
		CASE(refusals_close_the_connection_and_say_why),
		CASE(a_refusal_without_a_body_keeps_the_connection),
		CASE(an_expected_continue_is_sent_only_to_who_may_send),
		CASE(head_and_old_clients_are_served),
		CASE(slow_clients_run_out_of_time),
		CASE(idle_connections_are_closed_without_a_word),
		CASE(bodies_over_the_budget_are_put_off),
		CASE(cors_is_off_until_an_origin_is_named),
		CASE(names_of_loopback_are_its_own),
		CASE(draining_finishes_what_has_begun),
		CASE(who_accepts_gzip_is_understood),
		CASE(large_text_is_compressed_for_who_asks),
		CASE(bad_reply_headers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
