/* capture/proto_http1.c - HTTP/1.0 and 1.1.
 *
 * Answers come in the order of requests; 1xx answers precede the real one and end nothing, but 101,
 * which ends HTTP.  Where a body ends (RFC 9112, 6.3): none after HEAD, 1xx, 204, 304; chunked;
 * Content-Length; a request without either has none; an answer without either goes on until the
 * connection is closed.  Bodies are passed over unseen. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv.h"

#define MAX_HEAD  (60 << 10) /* of a message: request line and headers */
#define MAX_CHUNK 1024       /* a chunk's line with its extensions */
#define MAX_SKIP  (UINT64_C(1) << 60)

enum phase {
	HEAD,
	BODY_END, /* reached when Content-Length bytes have been passed over */
	CHUNK,
	TRAILER,
	UNTIL_CLOSE,
};

enum { MARK_HEAD = 1, MARK_CONNECT = 2 };

struct http1 {
	enum phase phase[2];
};

struct head {
	struct slice method, target; /* of a request */
	int status;                  /* of an answer */
	bool chunked, has_length, upgrade;
	uint64_t length;
};

/* Index behind the blank line that ends a head, or 0. */
static size_t head_end(struct slice s)
{
	const char *p = s.p, *end = s.p + s.n;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		p++;
		if (p < end && *p == '\n')
			return (size_t)(p + 1 - s.p);
		if (p + 1 < end && p[0] == '\r' && p[1] == '\n')
			return (size_t)(p + 2 - s.p);
	}
	return 0;
}

static bool is_method(struct slice s)
{
	if (s.n < 3 || s.n > 20)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < 'A' || s.p[i] > 'Z') && s.p[i] != '-' && s.p[i] != '_')
			return false;
	return true;
}

static enum detect detect_request(struct slice s)
{
	static const char *const known[] = {"GET ",     "POST ",  "PUT ",     "HEAD ", "DELETE ",
					    "OPTIONS ", "PATCH ", "CONNECT ", "TRACE "};
	struct slice rest = slice_first(s, 2048), line, method;
	const char *end = memchr(rest.p, '\n', rest.n);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct slice k = slice_cstr(known[i]);

		if (slice_starts(s, k))
			return s.n > k.n && (unsigned char)s.p[k.n] > ' ' ? DETECT_YES
									  : DETECT_MORE;
		if (slice_starts(k, s))
			return DETECT_MORE;
	}
	if (!end)
		return DETECT_NO;
	line = slice_trim(slice_of(rest.p, (size_t)(end - rest.p)));
	method = slice_cut(&line, ' ');
	if (!is_method(method) || line.n < 10)
		return DETECT_NO;
	return slice_starts(slice_from(line, line.n - 9), SLICE(" HTTP/1.")) ? DETECT_YES
									     : DETECT_NO;
}

static enum detect detect(struct slice s, enum side side)
{
	if (side == SIDE_CLIENT)
		return detect_request(s);
	if (slice_starts(s, SLICE("HTTP/1.")))
		return DETECT_YES;
	return slice_starts(SLICE("HTTP/1."), s) ? DETECT_MORE : DETECT_NO;
}

static bool has_token(struct slice value, struct slice token)
{
	while (value.p && value.n > 0)
		if (slice_eq_nocase(slice_trim(slice_cut(&value, ',')), token))
			return true;
	return false;
}

static void head_fields(struct slice lines, struct head *h)
{
	while (lines.p && lines.n > 0) {
		struct slice value = slice_cut(&lines, '\n'), key = slice_cut(&value, ':');
		uint64_t length;

		if (!value.p)
			continue;
		value = slice_trim(value);
		if (slice_eq_nocase(key, SLICE("content-length"))) {
			value = slice_trim(slice_cut(&value, ','));
			if (slice_parse_u64(value, &length) == 0 && length < MAX_SKIP) {
				h->has_length = true;
				h->length = length;
			}
		} else if (slice_eq_nocase(key, SLICE("transfer-encoding"))) {
			h->chunked |= has_token(value, SLICE("chunked"));
		}
	}
}

static void tag_fields(struct conv *c, struct open_call *call, struct slice lines)
{
	while (lines.p && lines.n > 0) {
		struct slice value = slice_cut(&lines, '\n'), key = slice_cut(&value, ':');

		if (value.p)
			conv_tag(c, call, key, slice_trim(value));
	}
}

/* Passes over a body of known length; the phase is entered when its last byte has come. */
static ssize_t body(struct http1 *s, enum side side, size_t head, const struct head *h)
{
	s->phase[side] = h->chunked ? CHUNK : BODY_END;
	return (ssize_t)(head + (h->chunked ? 0 : h->length));
}

static ssize_t request(struct conv *c, struct http1 *s, struct slice head)
{
	struct slice lines = head, line = slice_trim(slice_cut(&lines, '\n'));
	struct head h = {.method = slice_cut(&line, ' ')};
	struct open_call *call;

	h.target = slice_cut(&line, ' ');
	if (!is_method(h.method) || !slice_starts(line, SLICE("HTTP/1.")))
		return -EBADMSG;
	head_fields(lines, &h);
	if (slice_starts(h.target, SLICE("http://"))) { /* through a proxy */
		struct slice path = slice_from(h.target, 7);
		const char *slash = memchr(path.p, '/', path.n);

		h.target = slash ? slice_from(path, (size_t)(slash - path.p)) : SLICE("/");
	}
	call = conv_call(c, CONV_NO_KEY, conv_operation(c, h.method, h.target), head);
	if (!call)
		return (ssize_t)head.n;
	if (slice_eq(h.method, SLICE("HEAD")))
		call->mark = MARK_HEAD;
	if (slice_eq(h.method, SLICE("CONNECT")))
		call->mark = MARK_CONNECT;
	if (c->shared->tag_header.n)
		tag_fields(c, call, lines);
	return body(s, SIDE_CLIENT, head.n, &h);
}

static ssize_t answer(struct conv *c, struct http1 *s, struct slice head)
{
	struct slice lines = head, line = slice_trim(slice_cut(&lines, '\n'));
	struct open_call *call = conv_oldest(c);
	struct head h = {0};

	if (!slice_starts(line, SLICE("HTTP/1.")) || line.n < 12)
		return -EBADMSG;
	for (int i = 9; i < 12; i++) {
		if (line.p[i] < '0' || line.p[i] > '9')
			return -EBADMSG;
		h.status = h.status * 10 + line.p[i] - '0';
	}
	if (h.status < 200 && h.status != 101)
		return (ssize_t)head.n;
	head_fields(lines, &h);
	if (call)
		conv_reply(c, call);
	if (h.status == 101 || (call && call->mark == MARK_CONNECT && h.status < 300)) {
		if (call)
			conv_return(c, call);
		conv_become(c, NULL);
		return (ssize_t)head.n;
	}
	if ((call && call->mark == MARK_HEAD) || h.status == 204 || h.status == 304) {
		h.chunked = false;
		h.length = 0;
	} else if (!h.chunked && !h.has_length) {
		s->phase[SIDE_SERVER] = UNTIL_CLOSE;
		return (ssize_t)head.n;
	}
	return body(s, SIDE_SERVER, head.n, &h);
}

static void message_end(struct conv *c, struct http1 *s, enum side side)
{
	struct open_call *call = conv_oldest(c);

	s->phase[side] = HEAD;
	if (side == SIDE_CLIENT)
		return;
	if (call)
		conv_return(c, call);
	else
		conv_orphan(c);
}

/* "1a;ext\r\n", the data and a line end; the last one is "0\r\n". */
static ssize_t chunk(struct http1 *s, enum side side, struct slice bytes)
{
	const char *end = memchr(bytes.p, '\n', MIN(bytes.n, (size_t)MAX_CHUNK));
	uint64_t size = 0;
	size_t i;

	if (!end)
		return bytes.n >= MAX_CHUNK ? -EBADMSG : 0;
	for (i = 0; i < bytes.n && i < 15; i++) {
		char ch = (char)(bytes.p[i] | 0x20);

		if (ch >= '0' && ch <= '9')
			size = size << 4 | (uint64_t)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			size = size << 4 | (uint64_t)(ch - 'a' + 10);
		else
			break;
	}
	if (i == 0 || i == 15)
		return -EBADMSG;
	if (size == 0)
		s->phase[side] = TRAILER;
	return (ssize_t)((size_t)(end + 1 - bytes.p) + size + (size ? 2 : 0));
}

static ssize_t trailer(struct conv *c, struct http1 *s, enum side side, struct slice bytes)
{
	const char *end = memchr(bytes.p, '\n', bytes.n);
	size_t n;

	if (!end)
		return bytes.n > MAX_HEAD ? -EBADMSG : 0;
	n = (size_t)(end + 1 - bytes.p);
	if (slice_trim(slice_of(bytes.p, n)).n == 0)
		message_end(c, s, side);
	return (ssize_t)n;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct http1 *s = c->state;
	size_t n;

	if (s->phase[side] == BODY_END)
		message_end(c, s, side);
	if (bytes.n == 0)
		return 0;
	switch (s->phase[side]) {
	case UNTIL_CLOSE:
		return (ssize_t)bytes.n;
	case CHUNK:
		return chunk(s, side, bytes);
	case TRAILER:
		return trailer(c, s, side, bytes);
	case HEAD:
	default:
		break;
	}
	if (bytes.p[0] == '\r' || bytes.p[0] == '\n') /* blank lines between messages */
		return 1;
	n = head_end(bytes);
	if (n == 0 && detect(bytes, side) == DETECT_NO)
		return -EBADMSG;
	if (n == 0)
		return bytes.n > MAX_HEAD ? -EBADMSG : 0;
	return side == SIDE_CLIENT ? request(c, s, slice_first(bytes, n))
				   : answer(c, s, slice_first(bytes, n));
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct http1 *s = c->state;
	bool head = s->phase[side] == HEAD && detect(unread, side) == DETECT_YES;

	s->phase[side] = HEAD;
	/* A head whose end is missing: the call is there, the answer has begun. */
	if (head && side == SIDE_CLIENT) {
		struct slice line = slice_cut(&unread, '\n'), method = slice_cut(&line, ' ');

		conv_call(c, CONV_NO_KEY,
			  conv_operation(c, method, slice_trim(slice_cut(&line, ' '))), unread);
	} else if (head && conv_oldest(c)) {
		conv_reply(c, conv_oldest(c));
	}
}

static void closed(struct conv *c, enum side side)
{
	struct http1 *s = c->state;

	if (side == SIDE_SERVER && s->phase[side] == UNTIL_CLOSE)
		message_end(c, s, side);
}

const struct protocol proto_http1 = {
	.name = "http1",
	.ports = {80, 8080, 8000, 8888, 3000, 5000, 9090},
	.fifo = true,
	.state_bytes = sizeof(struct http1),
	.detect = detect,
	.parse = parse,
	.gap = gap,
	.closed = closed,
};
