/* http/server.c - the server as a whole: options, start, reload, stop. */
#include "http/server.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/listen_int.h"
#include "http/post_int.h"
#include "http/tls_int.h"

#define MAX_LOOPS  64
#define TICK_MOST  1000
#define TICK_LEAST 10

void limits_default(struct http_limits *l)
{
#define DEFAULT(field, value)                                                                      \
	if (l->field <= 0)                                                                         \
	l->field = (value)
	DEFAULT(header_bytes, (size_t)32 << 10);
	DEFAULT(header_count, HTTP_MAX_HEADERS);
	DEFAULT(body_bytes, (size_t)64 << 20);
	DEFAULT(decoded_bytes, (size_t)256 << 20);
	DEFAULT(memory_bytes, (size_t)1 << 30);
	DEFAULT(connections, 4096);
	DEFAULT(streams, 128);
	DEFAULT(resets, 1000);
	DEFAULT(tls_ms, 10000);
	DEFAULT(header_ms, 10000);
	DEFAULT(body_ms, 30000);
	DEFAULT(body_rate, 256);
	DEFAULT(idle_ms, 120000);
	DEFAULT(write_ms, 60000);
	DEFAULT(linger_ms, 2000);
#undef DEFAULT
	l->header_count = MIN(l->header_count, (size_t)HTTP_MAX_HEADERS);
}

const char *http_refusal_name(enum http_refusal cause)
{
	static const char *const names[HTTP_REFUSALS] = {
		[HTTP_REFUSED_MALFORMED] = "malformed",
		[HTTP_REFUSED_HEADER_SIZE] = "header_size",
		[HTTP_REFUSED_BODY_SIZE] = "body_size",
		[HTTP_REFUSED_DECODED_SIZE] = "decoded_size",
		[HTTP_REFUSED_ENCODING] = "encoding",
		[HTTP_REFUSED_MEMORY] = "memory",
		[HTTP_REFUSED_CONNECTIONS] = "connections",
		[HTTP_REFUSED_HOST] = "host",
		[HTTP_REFUSED_ORIGIN] = "origin",
		[HTTP_REFUSED_HEADER_TIME] = "header_time",
		[HTTP_REFUSED_BODY_TIME] = "body_time",
		[HTTP_REFUSED_WRITE_TIME] = "write_time",
		[HTTP_REFUSED_FLOOD] = "flood",
	};

	return names[cause];
}

static char **copy_list(const char *const *list, bool *failed)
{
	size_t n = 0;
	char **copy;

	if (!list)
		return NULL;
	while (list[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	*failed |= !copy;
	for (size_t i = 0; copy && i < n; i++)
		*failed |= !(copy[i] = strdup(list[i]));
	return copy;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	*failed |= text && !copy;
	return copy;
}

static void server_free(struct http_server *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->loop_count; i++)
		loop_stop(&s->loops[i]);
	for (int i = 0; i < s->loop_count; i++)
		loop_done(&s->loops[i]);
	listen_close(s);
	free(s->loops);
	free(s->endpoints);
	tls_context_free(s->tls_context);
	pthread_mutex_destroy(&s->tls_lock);
	free(s->certificate);
	free(s->key);
	free(s->client_ca);
	free_list(s->cors_origins);
	free_list(s->hosts);
	free(s);
}

static void server_freep(struct http_server **s)
{
	server_free(*s);
}

static int tick_for(const struct http_limits *l)
{
	int least = MIN(MIN(MIN(l->tls_ms, l->header_ms), MIN(l->body_ms, l->idle_ms)),
			MIN(l->write_ms, l->linger_ms));

	return MAX(MIN(least / 4, TICK_MOST), TICK_LEAST);
}

static int make_loops(struct http_server *s, int count)
{
	int r;

	s->loops = calloc((size_t)count, sizeof(*s->loops));
	if (!s->loops)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		s->loop_count = i + 1; /* loop_done() may run on it from here on */
		r = loop_init(&s->loops[i], s);
		if (r == 0)
			r = loop_open(&s->loops[i]);
		if (r < 0)
			return r;
	}
	r = listen_start(s);
	for (int i = 0; r == 0 && i < count; i++)
		r = loop_start(&s->loops[i]);
	return r;
}

/* Sockets handed in belong to the server from the first moment, also when it cannot start. */
static void close_given(const struct http_server_options *o, size_t from)
{
	for (size_t i = from; i < o->listener_count; i++)
		if (o->listeners[i].use_fd)
			close(o->listeners[i].fd);
}

int http_server_start(const struct http_server_options *o, struct http_server **ret_server,
		      struct error *error)
{
	_cleanup_(server_freep)
	struct http_server *s = calloc(1, sizeof(*s));
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	bool failed = !s;
	size_t taken = 0;
	int r = 0;

	if (s) {
		s->spare_fd = -1;
		pthread_mutex_init(&s->tls_lock, NULL);
		s->limits = o->limits;
		limits_default(&s->limits);
		s->tick_ms = tick_for(&s->limits);
		s->admit = o->admit;
		s->dispatch = o->dispatch;
		s->context = o->context;
		s->cors_origins = copy_list(o->cors_origins, &failed);
		s->hosts = copy_list(o->hosts, &failed);
		for (char **p = s->cors_origins; p && *p; p++)
			s->cors_any |= strcmp(*p, "*") == 0;
		s->certificate = copy_text(o->tls.certificate, &failed);
		s->key = copy_text(o->tls.key, &failed);
		s->client_ca = copy_text(o->tls.client_ca, &failed);
	}
	if (failed)
		r = error_set(error, -ENOMEM, "out of memory");
	else if (s->certificate && !s->key)
		r = error_set(error, -EINVAL, "a certificate needs its key");
	else if (s->certificate)
		r = tls_context_new(s->certificate, s->key, s->client_ca, &s->tls_context, error);
	for (; r == 0 && taken < o->listener_count; taken++)
		r = listen_bind(s, &o->listeners[taken], taken, error);
	if (r < 0) {
		close_given(o, taken);
		return r;
	}
	r = make_loops(s, o->loops > 0 ? MIN(o->loops, MAX_LOOPS)
				       : (int)MAX(1, MIN(processors, (long)MAX_LOOPS)));
	if (r < 0)
		return error_set(error, r, "cannot start the network threads: %s", strerror(-r));
	*ret_server = TAKE_PTR(s);
	return 0;
}

int http_server_port(const struct http_server *s, size_t i)
{
	for (size_t k = 0; k < s->endpoint_count; k++)
		if (s->endpoints[k].listener == i)
			return s->endpoints[k].port;
	return -1;
}

int http_server_reload_tls(struct http_server *s, struct error *error)
{
	SSL_CTX *fresh, *old;
	int r;

	if (!s->certificate)
		return 0;
	r = tls_context_new(s->certificate, s->key, s->client_ca, &fresh, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->tls_lock);
	old = s->tls_context;
	s->tls_context = fresh;
	pthread_mutex_unlock(&s->tls_lock);
	tls_context_free(old);
	return 0;
}

void http_server_tidy(struct http_server *s)
{
	atomic_fetch_add_explicit(&s->tidy, 1, memory_order_relaxed);
}

const struct http_counters *http_server_counters(const struct http_server *s)
{
	return &s->counters;
}

struct http_server *http_server_stop(struct http_server *s, int drain_ms)
{
	if (!s)
		return NULL;
	s->drain_ms = drain_ms;
	for (int i = 0; i < s->loop_count; i++)
		post_stop(&s->loops[i]);
	for (int i = 0; i < s->loop_count; i++)
		loop_stop(&s->loops[i]);
	server_free(s);
	return NULL;
}
