#include "t.h"

#include "http/guarded.h"
#include "http/h1_parse.h"

#define MAX_BYTES 1000
#define MAX_COUNT 8

static int64_t parse(const char *text, struct h1_head *head, struct http_header *headers,
		     struct h1_error *error)
{
	struct h1_scan scan = {0};
	struct guarded g;
	struct slice in = guarded_put(&g, slice_cstr(text));
	int64_t r = h1_parse(in, &scan, MAX_BYTES, headers, MAX_COUNT, head, error);

	/* Only what is compared below is looked at, and that was copied by value or is a prefix. */
	if (r > 0) {
		ptrdiff_t delta = text - in.p;

		head->method.p += delta;
		head->target.p += delta;
		if (head->authority.p)
			head->authority.p += delta;
		for (size_t i = 0; i < head->count; i++) {
			headers[i].name.p += delta;
			headers[i].value.p += delta;
		}
	}
	guarded_done(&g);
	return r;
}

static void a_plain_request_is_taken_apart(void **state)
{
	static const char text[] = "POST /v1/traces?x=1 HTTP/1.1\r\nHost: localhost:4318\r\n"
				   "content-length: 12\r\nX-A:  b c \t\r\nEmpty:\r\n\r\nbody";
	struct http_header h[MAX_COUNT];
	struct h1_head head;
	struct h1_error error;

	assert_int_equal(parse(text, &head, h, &error), sizeof(text) - 1 - 4);
	assert_text(head.method, "POST");
	assert_text(head.target, "/v1/traces?x=1");
	assert_text(head.authority, "localhost:4318");
	assert_int_equal(head.version, 11);
	assert_int_equal(head.content_length, 12);
	assert_int_equal(head.count, 4);
	assert_text(h[2].name, "X-A");
	assert_text(h[2].value, "b c");
	assert_int_equal(h[3].value.n, 0);
	assert_true(head.keep_alive);
	assert_false(head.chunked);
}

static void what_ends_a_connection_is_understood(void **state)
{
	static const struct {
		const char *text;
		bool keep_alive, chunked, expect;
		int64_t length;
	} rows[] = {
		{"GET / HTTP/1.0\r\n\r\n", false, false, false, -1},
		{"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, false, false, -1},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: TE, Close\r\n\r\n", false, false, false,
		 -1},
		{"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", true, true,
		 false, -1},
		{"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
		 true, false, true, 5},
		{"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
		 true, false, false, 5},
		{"GET / HTTP/1.7\r\nHost: a\r\n\r\n", true, false, false, -1},
		{"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", true, false, false, -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_header h[MAX_COUNT];
		struct h1_head head;
		struct h1_error error;

		assert_int_equal(parse(rows[i].text, &head, h, &error), strlen(rows[i].text));
		assert_int_equal(head.keep_alive, rows[i].keep_alive);
		assert_int_equal(head.chunked, rows[i].chunked);
		assert_int_equal(head.expect_continue, rows[i].expect);
		assert_int_equal(head.content_length, rows[i].length);
	}
}

static void targets_come_in_three_forms(void **state)
{
	struct http_header h[MAX_COUNT];
	struct h1_head head;
	struct h1_error error;

	assert_true(parse("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", &head, h, &error) > 0);
	assert_text(head.target, "*");
	assert_true(parse("GET http://evil.example:80/p?q HTTP/1.1\r\nHost: localhost\r\n\r\n",
			  &head, h, &error) > 0);
	assert_text(head.target, "/p?q");
	assert_text(head.authority, "evil.example:80"); /* the target wins over Host (RFC 9112) */
}

static void bad_heads_are_refused_with_a_status(void **state)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{400, "\x16\x03\x01\x02"},
		{400, " GET / HTTP/1.1\r\n"},
		{400, "GET / HTTP/1.1\nHost: a\n\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\n\r\n"},
		{400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
		{400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET /\xc3\xbc HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET x HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET / http/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.\r\nHost: a\r\n\r\n"},
		{400, "GET /\r\n\r\n"},
		{400, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n"},
		{400,
		 "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n"},
		{400, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{417, "GET / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n"},
		{431,
		 "GET / HTTP/1.1\r\nHost: a\r\na:b\r\na:b\r\na:b\r\na:b\r\na:b\r\na:b\r\na:b\r\n"
		 "a:b\r\n\r\n"},
		{501, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
		{501, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n"},
		{501, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"},
		{505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_header h[MAX_COUNT];
		struct h1_head head;
		struct h1_error error = {0};
		int64_t r = parse(rows[i].text, &head, h, &error);

		if (r != -1 || error.status != rows[i].status)
			print_message("row %zu: %s\n", i, rows[i].text);
		assert_int_equal(r, -1);
		assert_int_equal(error.status, rows[i].status);
		assert_non_null(error.text);
	}
}

static void every_prefix_asks_for_more(void **state)
{
	static const char text[] = "GET /abc HTTP/1.1\r\nHost: a\r\nX-Long: 0123456789\r\n\r\n";
	struct h1_scan scan = {0}, fresh;
	struct http_header h[MAX_COUNT];
	struct h1_head head;
	struct h1_error error;

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		struct guarded g;
		struct slice in = guarded_put(&g, slice_of(text, n));

		fresh = (struct h1_scan){0};
		assert_int_equal(h1_parse(in, &scan, MAX_BYTES, h, MAX_COUNT, &head, &error), 0);
		assert_int_equal(h1_parse(in, &fresh, MAX_BYTES, h, MAX_COUNT, &head, &error), 0);
		guarded_done(&g);
	}
	assert_int_equal(h1_parse(slice_of(text, sizeof(text) - 1), &scan, MAX_BYTES, h, MAX_COUNT,
				  &head, &error),
			 sizeof(text) - 1);
}

static void a_head_ends_at_the_limit(void **state)
{
	char text[MAX_BYTES + 100];
	struct h1_scan scan = {0};
	struct http_header h[MAX_COUNT];
	struct h1_head head;
	struct h1_error error;

	memset(text, 'a', sizeof(text));
	memcpy(text, "GET /", 5);
	assert_int_equal(h1_parse(slice_of(text, MAX_BYTES - 1), &scan, MAX_BYTES, h, MAX_COUNT,
				  &head, &error),
			 0);
	assert_int_equal(h1_parse(slice_of(text, sizeof(text)), &scan, MAX_BYTES, h, MAX_COUNT,
				  &head, &error),
			 -1);
	assert_int_equal(error.status, 431);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_request_is_taken_apart),
		cmocka_unit_test(what_ends_a_connection_is_understood),
		cmocka_unit_test(targets_come_in_three_forms),
		cmocka_unit_test(bad_heads_are_refused_with_a_status),
		cmocka_unit_test(every_prefix_asks_for_more),
		cmocka_unit_test(a_head_ends_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
