/* capture/proto_http2.c - HTTP/2 and gRPC.
 *
 *   client preface "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", then frames on both sides:
 *   length u24 · type u8 · flags u8 · stream u32 · payload
 *
 * A call is a stream: begun by the client's HEADERS, ended by END_STREAM (or RST_STREAM) of the
 * server.  Streams have numbers, so nothing but frame boundaries is needed to pair; HPACK is
 * decoded for the client's headers only, for the path.  A capture that begins in the middle of a
 * connection cannot decode them (the table is missing): the calls are there without their names. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv.h"
#include "capture/packet.h"

#define FRAME_HEAD  9
#define MAX_FRAME   (1 << 20)  /* longer ones are possible; nobody sends them */
#define MAX_HEADERS (48 << 10) /* a HEADERS frame must fit into a window */
#define MAX_CHAIN   16         /* frames looked at to recognise the protocol */
#define MAX_FIELDS  2000       /* of one block of headers */
#define NAME_BYTES  256
#define MAX_TABLE   (64 << 10) /* of HPACK, whatever the server offers */

enum {
	DATA = 0,
	HEADERS = 1,
	PRIORITY = 2,
	RST_STREAM = 3,
	SETTINGS = 4,
	PUSH_PROMISE = 5,
	PING = 6,
	GOAWAY = 7,
	WINDOW_UPDATE = 8,
	CONTINUATION = 9
};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, HAS_PRIORITY = 0x20 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#define PREFACE_BYTES (sizeof(preface) - 1)

struct http2 {
	nghttp2_hd_inflater *inflater; /* of the client's headers; NULL: the table is not known */
	bool begun;                    /* the preface was seen */
	uint32_t ending; /* the server's stream that ends with the frame passed over */
	/* A block of the client's headers that is being read: */
	uint32_t block; /* its stream; 0: none */
	bool block_new; /* it begins a call (it is no trailer) */
	bool grpc;
	int64_t block_ns; /* when its first byte came */
	uint32_t newest;  /* the highest stream the client has begun */
	uint8_t path_n, method_n, tag_n;
	char path[NAME_BYTES - 1], method[16], tag[128];
};

struct frame {
	uint32_t length, stream;
	uint8_t type, flags;
};

static struct frame frame_of(const uint8_t *p)
{
	return (struct frame){
		.length = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2],
		.type = p[3],
		.flags = p[4],
		.stream = load_be32(p + 5) & 0x7fffffff,
	};
}

/* Could this be a frame's head? */
static bool plausible(const uint8_t *p)
{
	struct frame f = frame_of(p);

	if (f.length > MAX_FRAME || p[5] & 0x80)
		return false;
	switch (f.type) {
	case DATA:
		return f.stream % 2 == 1 && !(f.flags & ~(END_STREAM | PADDED));
	case HEADERS:
		return f.stream % 2 == 1 && f.length > 0 &&
		       !(f.flags & ~(END_STREAM | END_HEADERS | PADDED | HAS_PRIORITY));
	case PRIORITY:
		return f.stream != 0 && f.length == 5;
	case RST_STREAM:
		return f.stream != 0 && f.length == 4;
	case SETTINGS:
		return f.stream == 0 && f.length % 6 == 0 && f.length < 600;
	case PUSH_PROMISE:
	case CONTINUATION:
		return f.stream != 0;
	case PING:
		return f.stream == 0 && f.length == 8 && !(f.flags & ~ACK);
	case GOAWAY:
		return f.stream == 0 && f.length >= 8;
	case WINDOW_UPDATE:
		return f.length == 4 && f.flags == 0;
	default:
		return false;
	}
}

/* In HPACK's static table 2 and 3 are methods, 8 to 14 statuses: whose headers are these? */
static bool is_other_side(const uint8_t *p, size_t n, enum side side)
{
	struct frame f = frame_of(p);
	size_t at = FRAME_HEAD;

	if (f.type != HEADERS)
		return false;
	at += (f.flags & PADDED ? 1 : 0) + (f.flags & HAS_PRIORITY ? 5 : 0);
	if (at >= n)
		return false;
	if (p[at] == 0x82 || p[at] == 0x83)
		return side == SIDE_SERVER;
	return p[at] >= 0x88 && p[at] <= 0x8e && side == SIDE_CLIENT;
}

static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;
	size_t at = 0;
	int i;

	if (slice_starts(s, slice_of(preface, PREFACE_BYTES)))
		return side == SIDE_CLIENT ? DETECT_YES : DETECT_NO;
	if (slice_starts(slice_of(preface, PREFACE_BYTES), s))
		return side == SIDE_CLIENT ? DETECT_MORE : DETECT_NO;
	for (i = 0; i < MAX_CHAIN && s.n - at >= FRAME_HEAD; i++) {
		if (!plausible(p + at) || is_other_side(p + at, s.n - at, side))
			return DETECT_NO;
		at += FRAME_HEAD + frame_of(p + at).length;
		if (at >= s.n)
			break;
	}
	if (i == 0 && at == 0)
		return DETECT_NO;
	/* Frames that end where the segment does are no accident; a row of zeros is. */
	return at == s.n && frame_of(p).length > 0 ? DETECT_YES : DETECT_MAYBE;
}

static int begin(struct http2 *s)
{
	s->begun = true;
	return !s->inflater && nghttp2_hd_inflate_new(&s->inflater) != 0 ? -ENOMEM : 0;
}

static void forget_table(struct http2 *s)
{
	if (s->inflater)
		nghttp2_hd_inflate_del(s->inflater);
	s->inflater = NULL;
}

static uint8_t copy(char *out, size_t room, const uint8_t *p, size_t n)
{
	n = MIN(n, room);
	memcpy(out, p, n);
	return (uint8_t)n;
}

static void field(struct conv *c, struct http2 *s, const nghttp2_nv *nv)
{
	struct slice key = slice_of(nv->name, nv->namelen);

	if (slice_eq(key, SLICE(":path")))
		s->path_n = copy(s->path, sizeof(s->path), nv->value, nv->valuelen);
	else if (slice_eq(key, SLICE(":method")))
		s->method_n = copy(s->method, sizeof(s->method), nv->value, nv->valuelen);
	else if (slice_eq(key, SLICE("content-type")))
		s->grpc =
			slice_starts(slice_of(nv->value, nv->valuelen), SLICE("application/grpc"));
	else if (c->shared->tag_header.n && slice_eq_nocase(key, c->shared->tag_header))
		s->tag_n = copy(s->tag, sizeof(s->tag), nv->value, nv->valuelen);
}

/* Decodes a fragment of a block.  A table that does not fit is given up, the calls are not. */
static void inflate(struct conv *c, struct http2 *s, const uint8_t *p, size_t n, bool last)
{
	if (!s->inflater)
		return;
	for (int i = 0; i < MAX_FIELDS; i++) {
		int flags = 0;
		nghttp2_nv nv;
		ssize_t used = nghttp2_hd_inflate_hd2(s->inflater, &nv, &flags, p, n, last);

		if (used < 0)
			break;
		p += used;
		n -= (size_t)used;
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			field(c, s, &nv);
		if (flags & NGHTTP2_HD_INFLATE_FINAL) {
			nghttp2_hd_inflate_end_headers(s->inflater);
			return;
		}
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && n == 0 && !last)
			return;
	}
	forget_table(s);
}

static void block_end(struct conv *c, struct http2 *s)
{
	struct slice method = slice_of(s->method, s->method_n);
	struct slice path = slice_of(s->path, s->path_n);
	struct open_call *call;
	uint32_t name;

	if (s->block_new) {
		if (s->grpc)
			name = conv_operation(c, slice_of(NULL, 0), slice_from(path, 1));
		else
			name = conv_operation(c, method, path);
		call = conv_call_at(c, s->block, name, path, s->block_ns);
		if (call && s->tag_n)
			conv_tag(c, call, c->shared->tag_header, slice_of(s->tag, s->tag_n));
		s->newest = s->block;
	}
	s->block = 0;
}

/* The client's HEADERS or CONTINUATION, whole. */
static ssize_t client_headers(struct conv *c, struct http2 *s, struct frame f, const uint8_t *p)
{
	size_t n = f.length, padding = 0;

	if (f.type == HEADERS) {
		if (f.flags & PADDED && n >= 1) {
			padding = *p++;
			n--;
		}
		if (f.flags & HAS_PRIORITY) {
			if (n < 5)
				return -EBADMSG;
			p += 5;
			n -= 5;
		}
		if (padding > n)
			return -EBADMSG;
		n -= padding;
		s->block = f.stream;
		s->block_new = f.stream > s->newest;
		s->block_ns = c->half[SIDE_CLIENT].head_ns;
		s->grpc = false;
		s->path_n = s->method_n = s->tag_n = 0;
	} else if (f.stream != s->block) {
		return -EBADMSG;
	}
	inflate(c, s, p, n, f.flags & END_HEADERS);
	if (f.flags & END_HEADERS)
		block_end(c, s);
	return (ssize_t)(FRAME_HEAD + f.length);
}

static ssize_t client(struct conv *c, struct http2 *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct open_call *call;
	struct frame f;

	if (p[0] == 'P') {
		if (bytes.n < PREFACE_BYTES)
			return 0;
		if (!slice_starts(bytes, slice_of(preface, PREFACE_BYTES)))
			return -EBADMSG;
		return begin(s) < 0 ? -ENOMEM : (ssize_t)PREFACE_BYTES;
	}
	if (bytes.n < FRAME_HEAD)
		return 0;
	if (!plausible(p))
		return -EBADMSG;
	f = frame_of(p);
	if (f.type == HEADERS || f.type == CONTINUATION) {
		if (f.length > MAX_HEADERS)
			return -EBADMSG;
		if (bytes.n < FRAME_HEAD + f.length)
			return 0;
		return client_headers(c, s, f, p + FRAME_HEAD);
	}
	if (f.type == RST_STREAM) {
		call = conv_find(c, f.stream);
		if (call) {
			c->shared->stats.unanswered++;
			conv_forget(c, call);
		}
	}
	return (ssize_t)(FRAME_HEAD + f.length);
}

/* The server says how large the client's table may be. */
static void settings(struct http2 *s, struct frame f, const uint8_t *p)
{
	if (f.flags & ACK)
		return;
	for (uint32_t at = 0; at + 6 <= f.length; at += 6) {
		uint32_t value = load_be32(p + at + 2);

		if (load_be16(p + at) == 1 && s->inflater)
			nghttp2_hd_inflate_change_table_size(s->inflater,
							     MIN(value, (uint32_t)MAX_TABLE));
	}
}

static void server_end(struct conv *c, uint32_t stream)
{
	struct open_call *call = conv_find(c, stream);

	if (call)
		conv_return(c, call);
	else
		conv_orphan(c);
}

static ssize_t server(struct conv *c, struct http2 *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct frame f;

	if (bytes.n < FRAME_HEAD)
		return 0;
	if (!plausible(p))
		return -EBADMSG;
	f = frame_of(p);
	if (f.type == SETTINGS) {
		if (bytes.n < FRAME_HEAD + f.length)
			return 0;
		settings(s, f, p + FRAME_HEAD);
	}
	if (f.type == DATA || f.type == HEADERS) {
		struct open_call *call = conv_find(c, f.stream);

		if (call)
			conv_reply(c, call);
		if (f.flags & END_STREAM)
			s->ending = f.stream;
	} else if (f.type == RST_STREAM) {
		s->ending = f.stream;
	}
	return (ssize_t)(FRAME_HEAD + f.length);
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct http2 *s = c->state;

	if (side == SIDE_SERVER && s->ending) {
		server_end(c, s->ending);
		s->ending = 0;
	}
	if (bytes.n == 0)
		return 0;
	return side == SIDE_CLIENT ? client(c, s, bytes) : server(c, s, bytes);
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct http2 *s = c->state;

	if (side == SIDE_CLIENT) {
		forget_table(s);
		s->block = 0;
	} else {
		s->ending = 0;
	}
}

static void done(void *state)
{
	forget_table(state);
}

const struct protocol proto_http2 = {
	.name = "http2",
	.ports = {50051, 443, 8443, 80, 8080, 4317},
	.state_bytes = sizeof(struct http2),
	.detect = detect,
	.parse = parse,
	.gap = gap,
	.done = done,
};
