#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "http/client.h"
#include "http/server.h"

static enum http_pull pull(void *context, struct buffer *out)
{
	int *left = context;
	char *to = buffer_reserve(out, 10000);

	memset(to, 'p', 10000);
	out->n += 10000;
	return --*left > 0 ? HTTP_PULL_MORE : HTTP_PULL_END;
}

static void dispatch(struct http_request *req, void *context)
{
	static int left;

	if (slice_eq(req->path, SLICE("/echo"))) {
		struct slice type = http_header_get(req, "x-type");

		assert_text(http_header_get(req, "authorization"), "Bearer abc");
		http_reply(req, 200, type.n ? "application/x-typed" : NULL, req->body);
	} else if (slice_eq(req->path, SLICE("/stream"))) {
		left = 50;
		http_reply_stream(req, 200, "text/plain", &(struct http_stream){pull, NULL, &left});
	} else if (slice_eq(req->path, SLICE("/busy"))) {
		http_reply_header(req, "Retry-After", SLICE("7"));
		http_reply_text(req, 429, "too much");
	}
}

static struct http_server *server;
static struct http_client *client;
static char base_url[64];

static int set_up(void **state)
{
	static const struct http_listener listener = {.host = "127.0.0.1"};
	struct http_server_options o = {.listeners = &listener,
					.listener_count = 1,
					.loops = 1,
					.limits = {.body_bytes = 5000000},
					.dispatch = dispatch};
	struct error error;

	if (http_server_start(&o, &server, &error) < 0 ||
	    http_client_new(&(struct http_client_options){.connect_ms = 5000}, &client, &error) < 0)
		return -1;
	snprintf(base_url, sizeof(base_url), "http://127.0.0.1:%d", http_server_port(server, 0));
	return 0;
}

static int tear_down(void **state)
{
	client = http_client_free(client);
	server = http_server_stop(server, 100);
	return 0;
}

static const char *url(const char *path)
{
	static char text[100];

	snprintf(text, sizeof(text), "%s%s", base_url, path);
	return text;
}

static const char *const headers[] = {"Authorization: Bearer abc", "X-Type: y", NULL};

static void a_body_goes_and_comes(void **state)
{
	struct http_answer answer;
	struct error error;

	assert_int_equal(http_client_call(client,
					  &(struct http_call){.method = "POST",
							      .url = url("/echo"),
							      .headers = headers,
							      .body = SLICE("hello")},
					  &answer, &error),
			 0);
	assert_int_equal(answer.status, 200);
	assert_text(buffer_get(&answer.body), "hello");
	assert_string_equal(answer.content_type, "application/x-typed");
	http_answer_done(&answer);
}

struct flow {
	size_t given, taken;
	int fail_at;
};

static int64_t give(void *context, char *out, size_t room)
{
	struct flow *f = context;
	size_t n = MIN(room, (size_t)1000000 - f->given);

	if (f->fail_at && f->given >= (size_t)f->fail_at)
		return -EIO;
	memset(out, 'g', n);
	f->given += n;
	return (int64_t)n;
}

static int take(void *context, struct slice piece)
{
	struct flow *f = context;

	f->taken += piece.n;
	return f->fail_at && f->taken >= (size_t)f->fail_at ? -ENOSPC : 0;
}

static void streams_go_and_come(void **state)
{
	struct http_call call = {.method = "POST",
				 .url = url("/echo"),
				 .headers = headers,
				 .read = give,
				 .write = take};
	struct http_answer answer;
	struct error error;
	struct flow flow = {0};

	call.context = &flow;
	assert_int_equal(http_client_call(client, &call, &answer, &error), 0);
	assert_int_equal(flow.taken, 1000000);
	assert_int_equal(answer.body.n, 0);
	http_answer_done(&answer);

	flow = (struct flow){.fail_at = 1};
	assert_int_equal(http_client_call(client, &call, &answer, &error), -EIO);
	flow = (struct flow){.fail_at = 100000};
	call = (struct http_call){.url = url("/stream"), .write = take, .context = &flow};
	assert_int_equal(http_client_call(client, &call, &answer, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "/stream: "));
}

static void failures_are_answers(void **state)
{
	static char large[6000000];
	struct http_answer answer;
	struct error error;
	struct flow flow = {0};

	/* the body of a failure is kept although `write` would take a success */
	assert_int_equal(
		http_client_call(
			client,
			&(struct http_call){.url = url("/busy"), .write = take, .context = &flow},
			&answer, &error),
		0);
	assert_int_equal(answer.status, 429);
	assert_int_equal(answer.retry_after_s, 7);
	assert_text(buffer_get(&answer.body), "too much\n");
	assert_int_equal(flow.taken, 0);
	http_answer_done(&answer);

	assert_int_equal(http_client_call(client,
					  &(struct http_call){.method = "POST",
							      .url = url("/echo"),
							      .body = {large, sizeof(large)}},
					  &answer, &error),
			 0);
	assert_int_equal(answer.status, 413);
	http_answer_done(&answer);
}

static void what_cannot_be_reached_is_named(void **state)
{
	struct http_answer answer;
	struct error error;

	assert_int_equal(http_client_call(client,
					  &(struct http_call){.url = "http://127.0.0.1:1/x"},
					  &answer, &error),
			 -ECONNREFUSED);
	assert_non_null(strstr(error.text, "http://127.0.0.1:1/x"));
	assert_int_equal(
		http_client_call(client, &(struct http_call){.url = "ftp://x/"}, &answer, &error),
		-EINVAL);
	assert_int_equal(
		http_client_call(client,
				 &(struct http_call){.url = url("/stream"), .max_body = 100},
				 &answer, &error),
		-EFBIG);
	assert_non_null(strstr(error.text, "100 bytes (limit)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_goes_and_comes),
		cmocka_unit_test(streams_go_and_come),
		cmocka_unit_test(failures_are_answers),
		cmocka_unit_test(what_cannot_be_reached_is_named),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
