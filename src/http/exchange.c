/* http/exchange.c - the way of a request from its headers to its handler. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "http/grpc_call_int.h"
#include "http/grpc_frame.h"
#include "http/loop_int.h"

#define POOL_MOST   16                /* exchanges a loop keeps for the next requests */
#define POOL_BUFFER ((size_t)2 << 20) /* of a body's memory, each */
#define POOL_HEAD   ((size_t)64 << 10)
#define GROW_MOST   ((size_t)1 << 20) /* a claimed length is believed up to here */

struct http_exchange *exchange_new(struct http_loop *loop, struct http_conn *conn)
{
	struct http_exchange *x = loop->pool;

	if (x) {
		loop->pool = x->next;
		loop->pool_count--;
		x->next = NULL;
	} else {
		x = calloc(1, sizeof(*x));
		if (!x)
			return NULL;
		x->loop = loop;
	}
	loop->live++;
	atomic_store_explicit(&x->refs, 1, memory_order_relaxed);
	x->conn = conn;
	x->next = conn->exchanges;
	if (x->next)
		x->next->prev = x;
	conn->exchanges = x;
	conn->exchange_count++;
	memcpy(x->peer, conn->peer, sizeof(x->peer));
	x->req.peer = x->peer;
	x->req.tag = conn->tag;
	x->req.is_tls = conn->is_tls;
	if (conn->client_subject.n)
		x->req.client_subject = arena_dup(&x->req.arena, conn->client_subject);
	x->req.max_body = loop->server->limits.body_bytes;
	x->req.max_decoded = loop->server->limits.decoded_bytes;
	x->req.headers = x->headers;
	return x;
}

static void keep_or_free(struct buffer *b, size_t most)
{
	if (b->capacity > most)
		buffer_done(b);
	else
		buffer_clear(b);
}

static void uncharge(struct http_exchange *x)
{
	if (x->charged)
		atomic_fetch_sub_explicit(&x->loop->server->counters.memory_bytes, x->charged,
					  memory_order_relaxed);
	x->charged = 0;
}

void exchange_destroy(struct http_exchange *x)
{
	buffer_done(&x->head);
	buffer_done(&x->wire);
	buffer_done(&x->decoded);
	arena_done(&x->req.arena);
	free(x);
}

void exchange_recycle(struct http_exchange *x)
{
	struct http_loop *loop = x->loop;
	struct buffer head, wire, decoded;
	struct arena arena;

	uncharge(x);
	buffer_done(&x->reply_owned);
	grpc_call_free(x->grpc);
	loop->live--;
	if (loop->pool_count >= POOL_MOST) {
		exchange_destroy(x);
		return;
	}
	keep_or_free(&x->head, POOL_HEAD);
	keep_or_free(&x->wire, POOL_BUFFER);
	keep_or_free(&x->decoded, POOL_BUFFER);
	arena_clear(&x->req.arena);
	head = x->head, wire = x->wire, decoded = x->decoded, arena = x->req.arena;
	/* The header array is filled before it is read: it need not be cleared. */
	memset(x, 0, offsetof(struct http_exchange, headers));
	memset((char *)x + offsetof(struct http_exchange, head), 0,
	       sizeof(*x) - offsetof(struct http_exchange, head));
	x->head = head, x->wire = wire, x->decoded = decoded, x->req.arena = arena;
	x->loop = loop;
	x->next = loop->pool;
	loop->pool = x;
	loop->pool_count++;
}

struct http_request *http_request_ref(struct http_request *req)
{
	atomic_fetch_add_explicit(&exchange_of(req)->refs, 1, memory_order_relaxed);
	return req;
}

void http_request_unref(struct http_request *req)
{
	struct http_exchange *x = exchange_of(req);

	if (atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (pthread_equal(pthread_self(), x->loop->self))
		exchange_recycle(x);
	else
		loop_post(x, POST_RECYCLE);
}

bool http_request_cancelled(const struct http_request *req)
{
	return atomic_load_explicit(&exchange_of(req)->cancelled, memory_order_relaxed);
}

const _Atomic bool *http_request_cancel_flag(const struct http_request *req)
{
	return &exchange_of(req)->cancelled;
}

void http_request_on_cancel(struct http_request *req,
			    void (*on_cancel)(struct http_request *req, void *context),
			    void *context)
{
	struct http_exchange *x = exchange_of(req);

	x->on_cancel = on_cancel;
	x->on_cancel_context = context;
}

void exchange_cancel(struct http_exchange *x)
{
	if (x->answered || atomic_exchange(&x->cancelled, true))
		return;
	http_count(&x->loop->server->counters.cancelled, 1);
	if (x->handler_ref && x->grpc)
		grpc_call_cancelled(x);
	else if (x->handler_ref && x->on_cancel)
		x->on_cancel(&x->req, x->on_cancel_context);
}

void exchange_detach(struct http_exchange *x)
{
	struct http_conn *c = x->conn;

	exchange_cancel(x);
	if (x->answered)
		exchange_stream_done(x);
	if (x->prev)
		x->prev->next = x->next;
	else
		c->exchanges = x->next;
	if (x->next)
		x->next->prev = x->prev;
	x->prev = x->next = NULL;
	c->exchange_count--;
	x->conn = NULL;
	http_request_unref(&x->req);
}

struct slice http_header_get(const struct http_request *req, const char *name)
{
	struct slice wanted = slice_cstr(name);

	for (size_t i = 0; i < req->header_count; i++)
		if (slice_eq_nocase(req->headers[i].name, wanted))
			return req->headers[i].value;
	return slice_of(NULL, 0);
}

static bool is_grpc_type(struct slice type)
{
	struct slice prefix = SLICE("application/grpc");

	if (!slice_eq_nocase(slice_first(type, prefix.n), prefix))
		return false;
	return type.n == prefix.n || type.p[prefix.n] == '+' || type.p[prefix.n] == ';';
}

void exchange_begin(struct http_exchange *x, struct slice target)
{
	struct http_server *server = x->loop->server;
	struct http_request *req = &x->req;
	struct slice type = http_header_get(req, "content-type");

	x->state = EXCHANGE_BODY;
	x->body_deadline_ms = x->loop->now_ms + server->limits.body_ms;
	req->received_ns = clock_wall_ns();
	req->query = target;
	req->path = slice_cut(&req->query, '?');
	http_count(&server->counters.requests[req->version], 1);
	if (is_grpc_type(type)) {
		req->is_grpc = req->version == 20 && slice_eq(req->method, SLICE("POST"));
		if (!req->is_grpc) {
			exchange_refuse(x, 415, HTTP_REFUSED_MALFORMED,
					"gRPC needs POST over HTTP/2");
			return;
		}
		type = http_header_get(req, "grpc-timeout");
		if (type.p && grpc_timeout_parse(type, &req->timeout_ns) < 0) {
			exchange_refuse(x, 400, HTTP_REFUSED_MALFORMED,
					"the grpc-timeout is malformed");
			return;
		}
	}
	if (guard_check(x) < 0 || !server->admit)
		return;
	x->in_callback = true;
	server->admit(req, server->context);
	x->in_callback = false;
}

bool exchange_charge(struct http_exchange *x, size_t total)
{
	struct http_server *server = x->loop->server;
	size_t more = total - x->charged;
	uint64_t before;

	if (total <= x->charged)
		return true;
	before = atomic_fetch_add_explicit(&server->counters.memory_bytes, more,
					   memory_order_relaxed);
	x->charged = total;
	return before + more <= server->limits.memory_bytes;
}

static void refuse_memory(struct http_exchange *x)
{
	http_reply_header(&x->req, "Retry-After", SLICE("1"));
	exchange_refuse(x, 503, HTTP_REFUSED_MEMORY,
			"too much is being received at once (limit of %zu bytes in all); try again",
			x->loop->server->limits.memory_bytes);
}

static void refuse_length(struct http_exchange *x)
{
	exchange_refuse(x, 413, HTTP_REFUSED_BODY_SIZE, "the body is larger than %zu bytes (limit)",
			x->req.max_body);
}

void exchange_expect(struct http_exchange *x, uint64_t length)
{
	struct http_server *server = x->loop->server;
	uint64_t used = atomic_load_explicit(&server->counters.memory_bytes, memory_order_relaxed);

	if (length > x->req.max_body)
		refuse_length(x);
	else if (length && used + length > server->limits.memory_bytes)
		refuse_memory(x);
}

char *exchange_body_room(struct http_exchange *x, size_t more)
{
	size_t need = x->wire.n + more;
	char *room;

	if (more > x->req.max_body || need > x->req.max_body) {
		refuse_length(x);
		return NULL;
	}
	/* A length that was only claimed is taken in steps, so that memory follows what comes. */
	if (need > x->wire.n + GROW_MOST && need > 2 * x->wire.n)
		need = MAX(x->wire.n + GROW_MOST, 2 * x->wire.n);
	if (!exchange_charge(x, need)) {
		refuse_memory(x);
		return NULL;
	}
	room = buffer_reserve(&x->wire, need - x->wire.n);
	if (!room)
		refuse_memory(x);
	return room;
}

/* Decompresses `in` into x->decoded: 0, or the exchange is refused. */
static int decompress(struct http_exchange *x, enum coding coding, struct slice in)
{
	struct http_server *server = x->loop->server;
	uint64_t used = atomic_load_explicit(&server->counters.memory_bytes, memory_order_relaxed);
	size_t left = server->limits.memory_bytes > used ? server->limits.memory_bytes - used : 0;
	size_t limit = MIN(x->req.max_decoded, left);
	int r = coder_decode(x->loop->coder, coding, in, limit, &x->decoded);

	if (r == 0 && exchange_charge(x, x->wire.n + x->decoded.n))
		return 0;
	if (r == 0 || r == -ENOMEM || (r == -EFBIG && limit < x->req.max_decoded))
		refuse_memory(x);
	else if (r == -EFBIG)
		exchange_refuse(x, 413, HTTP_REFUSED_DECODED_SIZE,
				"the decompressed body is larger than %zu bytes (limit)", limit);
	else if (x->req.is_grpc)
		exchange_refuse_grpc(x, GRPC_INTERNAL, HTTP_REFUSED_ENCODING,
				     "the compressed message is damaged or cut off");
	else
		exchange_refuse(x, 400, HTTP_REFUSED_ENCODING,
				"the compressed body is damaged or cut off");
	return -1;
}

static int decode_plain(struct http_exchange *x)
{
	struct slice wire = buffer_get(&x->wire);
	enum coding coding = coding_parse(http_header_get(&x->req, "content-encoding"));

	x->req.body = wire;
	if (coding == CODING_IDENTITY)
		return 0;
	if (coding == CODING_UNKNOWN) {
		http_reply_header(&x->req, "Accept-Encoding", SLICE("gzip, deflate, zstd"));
		exchange_refuse(
			x, 415, HTTP_REFUSED_ENCODING,
			"this Content-Encoding is not known here; gzip, deflate and zstd are");
		return -1;
	}
	if (decompress(x, coding, wire) < 0)
		return -1;
	x->req.body = buffer_get(&x->decoded);
	return 0;
}

/* The one message of a unary call. */
static int decode_grpc(struct http_exchange *x)
{
	struct slice wire = buffer_get(&x->wire), message;
	struct grpc_frame frame;
	enum coding coding;

	if (grpc_frame_head(wire, &frame) <= 0 || wire.n - GRPC_FRAME_HEAD != frame.length) {
		exchange_refuse_grpc(x, GRPC_INTERNAL, HTTP_REFUSED_MALFORMED,
				     "the call does not carry exactly one message");
		return -1;
	}
	message = slice_from(wire, GRPC_FRAME_HEAD);
	x->req.body = message;
	if (!frame.compressed)
		return 0;
	coding = coding_parse(http_header_get(&x->req, "grpc-encoding"));
	if (coding == CODING_UNKNOWN || coding == CODING_IDENTITY) {
		exchange_refuse_grpc(
			x, coding == CODING_UNKNOWN ? GRPC_UNIMPLEMENTED : GRPC_INTERNAL,
			HTTP_REFUSED_ENCODING,
			"this grpc-encoding is not known here; gzip, deflate and zstd are");
		return -1;
	}
	if (decompress(x, coding, message) < 0)
		return -1;
	x->req.body = buffer_get(&x->decoded);
	return 0;
}

void exchange_dispatch(struct http_exchange *x)
{
	struct http_server *server = x->loop->server;

	x->state = EXCHANGE_HANDLER;
	x->req.wire_bytes = (int64_t)x->wire.n;
	if ((x->req.is_grpc ? decode_grpc(x) : decode_plain(x)) < 0)
		return;
	http_request_ref(&x->req);
	x->handler_ref = true;
	x->in_callback = true;
	server->dispatch(&x->req, server->context);
	x->in_callback = false;
	if (x->answered) {
		x->handler_ref = false;
		http_request_unref(&x->req);
	}
}

void http_request_take_body(struct http_request *req, struct buffer *ret_body, size_t *ret_offset)
{
	struct http_exchange *x = exchange_of(req);
	struct buffer *from = x->decoded.n ? &x->decoded : &x->wire;

	*ret_offset = req->body.n ? (size_t)(req->body.p - from->p) : from->n;
	*ret_body = *from;
	*from = (struct buffer){0};
	req->body = slice_of(NULL, 0);
}
