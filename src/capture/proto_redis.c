/* capture/proto_redis.c - Redis, RESP2 and RESP3.
 *
 *   request  *3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n      or a line: PING\r\n
 *   answer   +OK\r\n  -ERR …  :1  $5\r\nhello\r\n  *2 …  and RESP3's _ # , ( ! = % ~ | >
 *
 * Answers come in the order of requests.  Nesting needs no stack: only the number of elements still
 * to come matters.  Pushes (RESP3's '>', and everything unasked-for once a connection subscribes or
 * monitors) end no call. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv.h"

#define MAX_LINE     1024
#define MAX_INLINE   (32 << 10)
#define MAX_ELEMENTS (1 << 20) /* of a request or an aggregate */
#define MAX_BULK     (INT64_C(1) << 40)

struct redis {
	uint64_t left[2]; /* elements of the present message still to come */
	bool inside;      /* an answer has begun */
	bool push;        /* and is one that nobody asked for */
	bool pushing;     /* the client has subscribed */
};

/* A line's end: index behind "\r\n", or 0. */
static size_t line_end(struct slice s, size_t max)
{
	const char *end = memchr(s.p, '\n', MIN(s.n, max));

	return end && end > s.p && end[-1] == '\r' ? (size_t)(end + 1 - s.p) : 0;
}

/* The number behind a type byte.  -EBADMSG. */
static int number(struct slice line, int64_t *ret)
{
	char text[24];
	char *end;

	if (line.n < 4 || line.n - 3 >= sizeof(text))
		return -EBADMSG;
	memcpy(text, line.p + 1, line.n - 3);
	text[line.n - 3] = 0;
	if (!isdigit((unsigned char)text[0]) && text[0] != '-')
		return -EBADMSG;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return *end || errno ? -EBADMSG : 0;
}

static enum detect detect_request(struct slice s)
{
	static const char *const lines[] = {"PING", "AUTH", "HELLO", "GET ", "SET ", "INFO"};
	size_t n;

	if (s.n == 0)
		return DETECT_MORE;
	if (s.p[0] == '*') {
		int64_t count;

		n = line_end(s, 16);
		if (n == 0)
			return s.n < 16 && (s.n == 1 || isdigit((unsigned char)s.p[1]))
				       ? DETECT_MORE
				       : DETECT_NO;
		if (number(slice_first(s, n), &count) < 0 || count < 1)
			return DETECT_NO;
		if (s.n == n)
			return DETECT_MAYBE;
		return s.p[n] == '$' ? DETECT_YES : DETECT_NO;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (slice_eq_nocase(slice_first(s, strlen(lines[i])), slice_cstr(lines[i])) &&
		    line_end(s, MAX_LINE))
			return DETECT_MAYBE;
	return DETECT_NO;
}

static enum detect detect(struct slice s, enum side side)
{
	int64_t value;
	size_t n;

	if (side == SIDE_CLIENT)
		return detect_request(s);
	if (s.n == 0 || !strchr("+-:$*_#,(!=%~|>", s.p[0]) || s.p[0] == 0)
		return DETECT_NO;
	n = line_end(s, MAX_LINE);
	if (n == 0)
		return DETECT_NO;
	if (strchr(":$*!=%~|>", s.p[0]) && number(slice_first(s, n), &value) < 0)
		return DETECT_NO;
	return slice_starts(s, SLICE("+OK\r\n")) || slice_starts(s, SLICE("+PONG\r\n"))
		       ? DETECT_YES
		       : DETECT_MAYBE;
}

static bool subscribes(struct slice command)
{
	static const char *const names[] = {"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE",
					    "MONITOR",   "SYNC",       "PSYNC"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (slice_eq_nocase(command, slice_cstr(names[i])))
			return true;
	return false;
}

static void begin(struct conv *c, struct redis *s, struct slice command, struct slice request)
{
	char upper[24];
	size_t n = MIN(command.n, sizeof(upper));

	for (size_t i = 0; i < n; i++)
		upper[i] = (char)toupper((unsigned char)command.p[i]);
	if (subscribes(command))
		s->pushing = true;
	conv_call(c, CONV_NO_KEY, conv_operation(c, slice_of(upper, n), slice_of(NULL, 0)),
		  request);
}

/* "*3\r\n$3\r\nSET\r\n": taken together, so that the call has its name. */
static ssize_t request_head(struct conv *c, struct redis *s, struct slice bytes)
{
	size_t first = line_end(bytes, MAX_LINE), second;
	int64_t count, length;
	struct slice rest;

	if (first == 0)
		return bytes.n >= MAX_LINE ? -EBADMSG : 0;
	if (number(slice_first(bytes, first), &count) < 0 || count > MAX_ELEMENTS)
		return -EBADMSG;
	if (count < 1)
		return (ssize_t)first;
	rest = slice_from(bytes, first);
	if (rest.n == 0)
		return 0;
	second = line_end(rest, MAX_LINE);
	if (rest.p[0] != '$' || (second == 0 && rest.n >= MAX_LINE))
		return -EBADMSG;
	if (second == 0)
		return 0;
	if (number(slice_first(rest, second), &length) < 0 || length < 0 || length > MAX_LINE)
		return -EBADMSG;
	if (rest.n < second + (size_t)length + 2)
		return 0;
	begin(c, s, slice_of(rest.p + second, (size_t)length), bytes);
	s->left[SIDE_CLIENT] = (uint64_t)count - 1;
	return (ssize_t)(first + second + (size_t)length + 2);
}

static ssize_t request(struct conv *c, struct redis *s, struct slice bytes)
{
	size_t n;
	int64_t length;

	if (s->left[SIDE_CLIENT] == 0 && bytes.p[0] == '*')
		return request_head(c, s, bytes);
	if (s->left[SIDE_CLIENT] == 0) {
		struct slice line;

		n = line_end(bytes, MAX_INLINE);
		if (n == 0)
			return bytes.n >= MAX_INLINE || !isprint((unsigned char)bytes.p[0])
				       ? -EBADMSG
				       : 0;
		line = slice_trim(slice_first(bytes, n));
		if (line.n > 0 && !isalpha((unsigned char)line.p[0]))
			return -EBADMSG;
		if (line.n > 0)
			begin(c, s, slice_cut(&line, ' '), slice_first(bytes, n));
		return (ssize_t)n;
	}
	n = line_end(bytes, MAX_LINE);
	if (bytes.p[0] != '$' || (n == 0 && bytes.n >= MAX_LINE))
		return -EBADMSG;
	if (n == 0)
		return 0;
	if (number(slice_first(bytes, n), &length) < 0 || length < 0 || length > MAX_BULK)
		return -EBADMSG;
	s->left[SIDE_CLIENT]--;
	return (ssize_t)(n + (size_t)length + 2);
}

static void answer_end(struct conv *c, struct redis *s)
{
	struct open_call *call = conv_oldest(c);

	s->inside = false;
	if (s->push)
		return;
	if (call)
		conv_return(c, call);
	else if (!s->pushing)
		conv_orphan(c);
}

static bool is_published(struct slice s)
{
	return slice_starts(s, SLICE("*3\r\n$7\r\nmessage\r\n")) ||
	       slice_starts(s, SLICE("*4\r\n$8\r\npmessage\r\n")) ||
	       slice_starts(s, SLICE("*3\r\n$8\r\nsmessage\r\n"));
}

static ssize_t answer(struct conv *c, struct redis *s, struct slice bytes)
{
	uint64_t *left = &s->left[SIDE_SERVER];
	size_t n = line_end(bytes, s->inside ? MAX_INLINE : MAX_LINE);
	int64_t value = 0;
	char type = bytes.p[0];

	if (!strchr("+-:$*_#,(!=%~|>", type) || type == 0)
		return -EBADMSG;
	if (n == 0)
		return bytes.n >= MAX_INLINE ? -EBADMSG : 0;
	if (strchr("$*!=%~|>", type) && number(slice_first(bytes, n), &value) < 0)
		return -EBADMSG;
	if (value > MAX_BULK || (strchr("*%~|>", type) && value > MAX_ELEMENTS))
		return -EBADMSG;
	if (!s->inside) {
		s->inside = true;
		s->push = type == '>' || (s->pushing && is_published(bytes));
		*left = 1;
		if (!s->push && conv_oldest(c))
			conv_reply(c, conv_oldest(c));
	}
	(*left)--;
	switch (type) {
	case '$':
	case '!':
	case '=':
		return (ssize_t)(n + (value >= 0 ? (size_t)value + 2 : 0));
	case '*':
	case '~':
	case '>':
		*left += value > 0 ? (uint64_t)value : 0;
		break;
	case '%':
		*left += value > 0 ? (uint64_t)value * 2 : 0;
		break;
	case '|': /* attributes come before the value they belong to */
		*left += (value > 0 ? (uint64_t)value * 2 : 0) + 1;
		break;
	default:
		break;
	}
	return *left > UINT64_C(1) << 40 ? -EBADMSG : (ssize_t)n;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct redis *s = c->state;

	if (side == SIDE_SERVER && s->inside && s->left[SIDE_SERVER] == 0)
		answer_end(c, s);
	if (bytes.n == 0)
		return 0;
	return side == SIDE_CLIENT ? request(c, s, bytes) : answer(c, s, bytes);
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct redis *s = c->state;

	s->left[side] = 0;
	if (side == SIDE_SERVER)
		s->inside = false;
}

const struct protocol proto_redis = {
	.name = "redis",
	.ports = {6379, 6380, 26379, 16379},
	.fifo = true,
	.state_bytes = sizeof(struct redis),
	.detect = detect,
	.parse = parse,
	.gap = gap,
};
