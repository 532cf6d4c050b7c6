/* tests/integration/http_echo.c - a server for the tests of http/: echoes what it gets.
 *
 *   http_echo [name=value …]
 *     limits by their field's name, loops=N, cert= key= ca= (files), origin=, host=, drain=MS
 *
 * Prints "port N" for its listener (TLS when cert is given) and "clear N" for a second one without
 * TLS, then serves until SIGTERM; SIGHUP reloads the certificate and prints "reloaded" or the
 * error; SIGUSR1 prints the counters. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/grpc.h"
#include "http/server.h"

struct download {
	uint64_t left;
	unsigned pulls;
	bool later;
	bool abort;
	struct http_request *req;
};

static void *wake_thread(void *context)
{
	struct http_request *req = context;

	usleep(2000);
	http_stream_wake(req);
	http_request_unref(req);
	return NULL;
}

static void detached(void *(*run)(void *), void *context)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, context) == 0)
		pthread_detach(thread);
	else
		abort();
}

/* /stream?bytes=N[&later=1][&abort=1] */
static enum http_pull download_pull(void *context, struct buffer *out)
{
	struct download *d = context;
	size_t n = MIN(d->left, (uint64_t)100000);
	char *to;

	d->pulls++;
	if (d->abort && d->pulls > 2)
		return HTTP_PULL_ABORT;
	if (d->later && d->pulls % 2) {
		detached(wake_thread, http_request_ref(d->req));
		return HTTP_PULL_LATER;
	}
	to = buffer_reserve(out, n);
	if (!to)
		return HTTP_PULL_ABORT;
	memset(to, 'x', n);
	out->n += n;
	d->left -= n;
	return d->left ? HTTP_PULL_MORE : HTTP_PULL_END;
}

static void download_done(void *context)
{
	struct download *d = context;

	http_request_unref(d->req);
	free(d);
}

static uint64_t number(struct http_request *req, const char *name, uint64_t otherwise)
{
	struct slice value;
	uint64_t n;

	if (http_query_get(req, name, &value) == 1 && slice_parse_u64(value, &n) == 0)
		return n;
	return otherwise;
}

static void reply_download(struct http_request *req)
{
	struct download *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	d->left = number(req, "bytes", 1000000);
	d->later = number(req, "later", 0);
	d->abort = number(req, "abort", 0);
	d->req = http_request_ref(req);
	http_reply_stream(req, 200, "application/octet-stream",
			  &(struct http_stream){download_pull, download_done, d});
}

/* /slow?ms=N: answered from another thread */
static void *slow_thread(void *context)
{
	struct http_request *req = context;

	for (uint64_t ms = number(req, "ms", 100); ms > 0 && !http_request_cancelled(req); ms--)
		usleep(1000);
	if (req->is_grpc)
		http_reply_grpc(req, GRPC_OK, NULL, req->body, slice_of(NULL, 0));
	else
		http_reply(req, 200, "application/octet-stream",
			   req->body.n ? req->body : SLICE("slow\n"));
	return NULL;
}

static void say_cancelled(struct http_request *req, void *context)
{
	puts("cancelled");
	fflush(stdout);
}

/* /headers: what the server understood, as text */
static void reply_headers(struct http_request *req)
{
	struct buffer out = {0};
	struct slice value;

	buffer_printf(&out,
		      "method=%.*s path=%.*s query=%.*s version=%d tag=%d tls=%d authority=%.*s "
		      "subject=%.*s\n",
		      SLICE_ARG(req->method), SLICE_ARG(req->path), SLICE_ARG(req->query),
		      req->version, req->tag, req->is_tls, SLICE_ARG(req->authority),
		      SLICE_ARG(req->client_subject));
	if (http_query_get(req, "q", &value) == 1)
		buffer_printf(&out, "q=%.*s\n", SLICE_ARG(value));
	for (size_t i = 0; i < req->header_count; i++)
		buffer_printf(&out, "%.*s: %.*s\n", SLICE_ARG(req->headers[i].name),
			      SLICE_ARG(req->headers[i].value));
	http_reply_header(req, "X-Echo", SLICE("yes"));
	http_reply_buffer(req, 200, "text/plain", &out);
}

static void dispatch(struct http_request *req, void *context)
{
	if (req->is_grpc && slice_eq(req->path, SLICE("/test.Echo/Unary"))) {
		http_reply_grpc(req, GRPC_OK, NULL, req->body, slice_of(NULL, 0));
	} else if (req->is_grpc && slice_eq(req->path, SLICE("/test.Echo/Fail"))) {
		http_reply_grpc(req, GRPC_UNAVAILABLE, "no: 100 % überlastet", slice_of(NULL, 0),
				SLICE("\x08\x0e"));
	} else if (slice_eq(req->path, SLICE("/count"))) {
		http_reply_text(req, 200, "%zu", req->body.n);
	} else if (slice_eq(req->path, SLICE("/headers"))) {
		reply_headers(req);
	} else if (slice_eq(req->path, SLICE("/stream"))) {
		reply_download(req);
	} else if (slice_eq(req->path, SLICE("/slow")) ||
		   slice_eq(req->path, SLICE("/test.Echo/Slow"))) {
		http_request_on_cancel(req, say_cancelled, NULL);
		detached(slow_thread, req);
	} else if (slice_eq(req->path, SLICE("/empty"))) {
		http_reply_static(req, 204, NULL, slice_of(NULL, 0));
	} else {
		struct buffer body;
		size_t offset;

		http_request_take_body(req, &body, &offset);
		if (offset == 0)
			http_reply_buffer(req, 200, "application/octet-stream", &body);
		else
			abort();
	}
}

/* Bidirectional: every message comes back.  When the client does not take them the reader rests,
 * and the one message that found no room waits. */
struct echo {
	struct buffer waiting;
	bool has_waiting;
};

static void echo_message(struct http_request *req, void *context, struct slice message)
{
	struct echo *e = req->user;

	if (http_grpc_send(req, message) != -EAGAIN)
		return;
	buffer_slice(&e->waiting, message);
	e->has_waiting = true;
	http_grpc_pause(req);
}

static void echo_writable(struct http_request *req, void *context)
{
	struct echo *e = req->user;

	if (!e->has_waiting)
		return;
	if (http_grpc_send(req, buffer_get(&e->waiting)) == -EAGAIN)
		return;
	buffer_clear(&e->waiting);
	e->has_waiting = false;
	http_grpc_resume(req);
}

static void echo_end(struct http_request *req, void *context)
{
	struct echo *e = req->user;

	buffer_done(&e->waiting);
	http_grpc_finish(req, GRPC_OK, "", slice_of(NULL, 0));
}

static void echo_cancel(struct http_request *req, void *context)
{
	struct echo *e = req->user;

	buffer_done(&e->waiting);
	say_cancelled(req, context);
	http_grpc_finish(req, GRPC_CANCELLED, "", slice_of(NULL, 0));
}

/* Client streaming: one message with the sum of the lengths. */
struct sum {
	uint64_t bytes;
};

static void sum_cancel(struct http_request *req, void *context)
{
	say_cancelled(req, context);
	http_grpc_finish(req, GRPC_CANCELLED, "", slice_of(NULL, 0));
}

static void sum_message(struct http_request *req, void *context, struct slice message)
{
	struct sum *sum = req->user;

	sum->bytes += message.n;
}

static void sum_end(struct http_request *req, void *context)
{
	struct sum *sum = req->user;
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)sum->bytes);
	http_grpc_send(req, slice_cstr(text));
	http_grpc_finish(req, GRPC_OK, "", slice_of(NULL, 0));
}

/* Server streaming: as many messages of 10,000 bytes as the request says, with back-pressure. */
static void many_more(struct http_request *req, void *context)
{
	static const char zeros[10000];
	struct sum *sum = req->user;

	while (sum->bytes > 0) {
		if (http_grpc_send(req, slice_of(zeros, sizeof(zeros))) < 0)
			return; /* on_writable, or on_cancel */
		sum->bytes--;
	}
	http_grpc_finish(req, GRPC_OK, "", slice_of(NULL, 0));
}

static void many_message(struct http_request *req, void *context, struct slice message)
{
	struct sum *sum = req->user;

	slice_parse_u64(message, &sum->bytes);
}

static void admit(struct http_request *req, void *context)
{
	static const struct http_grpc_stream echo = {.on_message = echo_message,
						     .on_half_close = echo_end,
						     .on_writable = echo_writable,
						     .on_cancel = echo_cancel};
	static const struct http_grpc_stream total = {
		.on_message = sum_message, .on_half_close = sum_end, .on_cancel = sum_cancel};
	static const struct http_grpc_stream many = {.on_message = many_message,
						     .on_half_close = many_more,
						     .on_writable = many_more,
						     .on_cancel = sum_cancel};

	if (slice_eq(req->path, SLICE("/nowhere")) ||
	    slice_eq(req->path, SLICE("/test.Echo/Nowhere"))) {
		http_reply_text(req, 404, "nothing here");
	} else if (slice_eq(req->path, SLICE("/tiny"))) {
		req->max_body = 10;
	} else if (slice_eq(req->path, SLICE("/test.Echo/Bidi"))) {
		req->user = arena_zalloc(&req->arena, 1, sizeof(struct echo));
		http_grpc_open(req, &echo);
	} else if (slice_eq(req->path, SLICE("/test.Echo/Sum"))) {
		req->user = arena_zalloc(&req->arena, 1, sizeof(struct sum));
		http_grpc_open(req, &total);
	} else if (slice_eq(req->path, SLICE("/test.Echo/Many"))) {
		req->user = arena_zalloc(&req->arena, 1, sizeof(struct sum));
		http_grpc_open(req, &many);
	}
}

static void print_counters(const struct http_counters *n)
{
	printf("counters connections_total=%llu connections_open=%llu cancelled=%llu memory_bytes=%llu "
	       "tls_failures=%llu grpc_errors=%llu 2xx=%llu 4xx=%llu 5xx=%llu",
	       (unsigned long long)n->connections_total, (unsigned long long)n->connections_open,
	       (unsigned long long)n->cancelled, (unsigned long long)n->memory_bytes,
	       (unsigned long long)n->tls_failures, (unsigned long long)n->grpc_errors,
	       (unsigned long long)n->responses[2], (unsigned long long)n->responses[4],
	       (unsigned long long)n->responses[5]);
	for (int i = 0; i < HTTP_REFUSALS; i++)
		printf(" %s=%llu", http_refusal_name((enum http_refusal)i),
		       (unsigned long long)n->refused[i]);
	puts("");
}

static void set(struct http_server_options *o, int *drain_ms, const char *name, const char *value)
{
	static const char *origins[2], *hosts[2];
	struct http_limits *l = &o->limits;
	const struct {
		const char *name;
		size_t *size;
		int *number;
		const char **text;
	} settings[] = {
		{"header_bytes", &l->header_bytes}, {"header_count", &l->header_count},
		{"body_bytes", &l->body_bytes},     {"decoded_bytes", &l->decoded_bytes},
		{"memory_bytes", &l->memory_bytes}, {"connections", NULL, &l->connections},
		{"streams", NULL, &l->streams},     {"resets", NULL, &l->resets},
		{"tls_ms", NULL, &l->tls_ms},       {"header_ms", NULL, &l->header_ms},
		{"body_ms", NULL, &l->body_ms},     {"body_rate", NULL, &l->body_rate},
		{"idle_ms", NULL, &l->idle_ms},     {"write_ms", NULL, &l->write_ms},
		{"linger_ms", NULL, &l->linger_ms}, {"loops", NULL, &o->loops},
		{"drain", NULL, drain_ms},          {"cert", NULL, NULL, &o->tls.certificate},
		{"key", NULL, NULL, &o->tls.key},   {"ca", NULL, NULL, &o->tls.client_ca},
		{"origin", NULL, NULL, origins},    {"host", NULL, NULL, hosts},
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (strcmp(settings[i].name, name) != 0)
			continue;
		if (settings[i].size)
			*settings[i].size = strtoull(value, NULL, 10);
		else if (settings[i].number)
			*settings[i].number = atoi(value);
		else
			*settings[i].text = value;
		o->cors_origins = origins[0] ? origins : NULL;
		o->hosts = hosts[0] ? hosts : NULL;
		return;
	}
	fprintf(stderr, "no setting %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	const struct http_listener listeners[] = {{.host = "127.0.0.1", .tag = 1},
						  {.host = "127.0.0.1", .tag = 2, .clear = true}};
	struct http_server_options options = {.listeners = listeners,
					      .listener_count = 2,
					      .loops = 2,
					      .admit = admit,
					      .dispatch = dispatch};
	struct http_server *server;
	struct error error;
	int drain_ms = 2000, got;
	sigset_t signals;

	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return 2;
		*value = '\0';
		set(&options, &drain_ms, argv[i], value + 1);
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (http_server_start(&options, &server, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	printf("port %d\nclear %d\n", http_server_port(server, 0), http_server_port(server, 1));
	fflush(stdout);
	while (sigwait(&signals, &got) == 0 && got != SIGTERM) {
		if (got == SIGUSR1)
			print_counters(http_server_counters(server));
		else if (http_server_reload_tls(server, &error) < 0)
			printf("%s\n", error.text);
		else
			puts("reloaded");
		fflush(stdout);
	}
	server = http_server_stop(server, drain_ms);
	puts("stopped");
	return 0;
}
