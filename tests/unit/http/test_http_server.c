/* The server with real sockets and threads; the client here is ours, on libcurl. */
#include "t.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "http/client.h"
#include "http/grpc.h"
#include "http/server.h"

#define WORKERS  3
#define CLIENTS  6
#define REQUESTS 60

/* Handlers of another thread: a bounded queue as the server's WAL writer would have. */
struct workers {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct http_request *queue[1024];
	size_t n;
	bool stop;
	pthread_t threads[WORKERS];
};

static void *work(void *context)
{
	struct workers *w = context;

	for (;;) {
		struct http_request *req;

		pthread_mutex_lock(&w->lock);
		while (w->n == 0 && !w->stop)
			pthread_cond_wait(&w->changed, &w->lock);
		if (w->n == 0) {
			pthread_mutex_unlock(&w->lock);
			return NULL;
		}
		req = w->queue[--w->n];
		pthread_mutex_unlock(&w->lock);
		http_reply_header(req, "X-Thread", SLICE("another"));
		http_reply(req, 200, "application/octet-stream", req->body);
	}
}

static void dispatch(struct http_request *req, void *context)
{
	struct workers *w = context;

	if (slice_eq(req->path, SLICE("/now"))) {
		http_reply(req, 200, "text/plain", req->body);
		return;
	}
	if (slice_eq(req->path, SLICE("/busy"))) {
		http_reply_header(req, "Retry-After", SLICE("7"));
		http_reply_text(req, 429, "too much");
		return;
	}
	pthread_mutex_lock(&w->lock);
	if (w->n == ARRAY_SIZE(w->queue))
		abort();
	w->queue[w->n++] = req;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

struct fixture {
	struct workers workers;
	struct http_server *server;
	int port;
};

static int set_up(void **state)
{
	static const struct http_listener listener = {.host = "localhost", .tag = 3};
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_server_options o = {.listeners = &listener,
					.listener_count = 1,
					.loops = 2,
					.dispatch = dispatch,
					.context = &f->workers};
	struct error error;

	pthread_mutex_init(&f->workers.lock, NULL);
	pthread_cond_init(&f->workers.changed, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&f->workers.threads[i], NULL, work, &f->workers);
	assert_int_equal(http_server_start(&o, &f->server, &error), 0);
	f->port = http_server_port(f->server, 0);
	assert_in_range(f->port, 1, 65535);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_null(http_server_stop(f->server, 1000));
	pthread_mutex_lock(&f->workers.lock);
	f->workers.stop = true;
	pthread_cond_broadcast(&f->workers.changed);
	pthread_mutex_unlock(&f->workers.lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(f->workers.threads[i], NULL);
	pthread_mutex_destroy(&f->workers.lock);
	pthread_cond_destroy(&f->workers.changed);
	free(f);
	return 0;
}

struct client_run {
	int port;
	int number;
	int failures;
};

static void *client_thread(void *context)
{
	struct client_run *run = context;
	struct http_client *client;
	struct error error;

	if (http_client_new(&(struct http_client_options){0}, &client, &error) < 0) {
		run->failures++;
		return NULL;
	}
	for (int i = 0; i < REQUESTS; i++) {
		struct http_answer answer;
		char url[64], body[40000];
		size_t n = (size_t)(run->number * 1000 + i * 600) % sizeof(body);

		memset(body, 'a' + run->number, sizeof(body));
		snprintf(url, sizeof(url), "http://127.0.0.1:%d/%s", run->port,
			 i % 3 ? "later" : "now");
		if (http_client_call(
			    client,
			    &(struct http_call){.method = "POST", .url = url, .body = {body, n}},
			    &answer, &error) < 0) {
			run->failures++;
			continue;
		}
		run->failures += answer.status != 200 || answer.body.n != n ||
				 (n && memcmp(answer.body.p, body, n) != 0);
		http_answer_done(&answer);
	}
	http_client_free(client);
	return NULL;
}

static void many_clients_and_answers_from_other_threads(void **state)
{
	struct fixture *f = *state;
	struct client_run runs[CLIENTS];
	pthread_t threads[CLIENTS];
	const struct http_counters *n = http_server_counters(f->server);

	for (int i = 0; i < CLIENTS; i++) {
		runs[i] = (struct client_run){f->port, i, 0};
		pthread_create(&threads[i], NULL, client_thread, &runs[i]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(runs[i].failures, 0);
	}
	assert_int_equal(atomic_load(&n->responses[2]), CLIENTS * REQUESTS);
	assert_int_equal(atomic_load(&n->connections_total), CLIENTS);
}

static void clients_that_vanish_leave_nothing_behind(void **state)
{
	struct fixture *f = *state;
	static const char request[] = "POST /later HTTP/1.1\r\nHost: localhost\r\n"
				      "Content-Length: 5\r\n\r\nhello";

	for (int i = 0; i < 200; i++) {
		struct sockaddr_in to = {.sin_family = AF_INET,
					 .sin_port = htons((uint16_t)f->port),
					 .sin_addr = {htonl(INADDR_LOOPBACK)}};
		struct linger at_once = {1, 0};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
		assert_int_equal(send(fd, request, sizeof(request) - 1 - i % 3, MSG_NOSIGNAL),
				 sizeof(request) - 1 - i % 3);
		if (i % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(fd);
	}
}

static void a_port_in_use_is_named(void **state)
{
	struct fixture *f = *state;
	struct http_listener listeners[] = {{.host = "127.0.0.1"},
					    {.host = "127.0.0.1", .port = f->port}};
	struct http_server_options o = {
		.listeners = listeners, .listener_count = 2, .dispatch = dispatch};
	struct http_server *server;
	struct error error;
	char expected[64];

	snprintf(expected, sizeof(expected),
		 "cannot listen on 127.0.0.1:%d: Address already in use", f->port);
	assert_int_equal(http_server_start(&o, &server, &error), -EADDRINUSE);
	assert_string_equal(error.text, expected);
	listeners[1] = (struct http_listener){.host = "no such host"};
	assert_true(http_server_start(&o, &server, &error) < 0);
	assert_non_null(strstr(error.text, "no such host"));
	o.listener_count = 1;
	o.tls = (struct http_tls){.certificate = "/nonexistent.crt", .key = "/nonexistent.key"};
	assert_true(http_server_start(&o, &server, &error) < 0);
	assert_non_null(strstr(error.text, "/nonexistent.crt"));
}

static void a_socket_that_is_bound_already_is_served(void **state)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct http_listener listener = {.host = "", .use_fd = true};
	struct http_server_options o = {
		.listeners = &listener, .listener_count = 1, .loops = 1, .dispatch = dispatch};
	struct http_server *server;
	struct http_client *client;
	struct http_answer answer;
	struct error error;
	char url[64];

	listener.fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(listener.fd, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(listener.fd, 10), 0);
	assert_int_equal(http_server_start(&o, &server, &error), 0);
	snprintf(url, sizeof(url), "http://localhost:%d/now", http_server_port(server, 0));
	http_client_new(&(struct http_client_options){0}, &client, &error);
	assert_int_equal(http_client_call(client, &(struct http_call){.url = url}, &answer, &error),
			 0);
	assert_int_equal(answer.status, 200);
	http_answer_done(&answer);
	http_client_free(client);
	http_server_stop(server, 100);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(many_clients_and_answers_from_other_threads),
		CASE(clients_that_vanish_leave_nothing_behind),
		CASE(a_port_in_use_is_named),
		cmocka_unit_test(a_socket_that_is_bound_already_is_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
