/* capture/proto_postgres.c - PostgreSQL, version 3 of its protocol.
 *
 *   startup  length u32 · 196608 · parameters      (or SSLRequest 80877103, answered by one byte)
 *   message  type u8 · length u32 (itself included) · body
 *
 * A call is everything from Query, or the first of Parse, Bind, Describe, Execute …, up to the
 * server's ReadyForQuery that answers it; a Sync (or a Query, or FunctionCall) ends the client's
 * part.  Parts may be pipelined; answers come in order.  Connecting is not a call. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv.h"
#include "capture/packet.h"

#define MAX_MESSAGE (UINT32_C(1) << 30)
#define MAX_STARTUP 10000
#define MAX_CHAIN   64  /* messages looked at to recognise the protocol */
#define WANTED      160 /* bytes of a statement that name and tag need */
#define STATEMENTS  32  /* prepared statements whose verb is remembered */
#define VERSION_3   196608
#define CANCEL      80877102
#define SSL_REQUEST 80877103
#define GSS_REQUEST 80877104
#define VERB_BYTES  16

struct statement {
	uint32_t hash; /* of its name */
	char verb[VERB_BYTES];
};

struct postgres {
	bool started;   /* past the client's startup message */
	bool ready;     /* the first ReadyForQuery was seen */
	bool answering; /* SSLRequest: one byte comes back */
	bool batch;     /* the client is inside of Parse … Sync */
	struct statement statements[STATEMENTS];
};

static bool is_client_type(uint8_t t)
{
	return t && strchr("QPBEDCHSFXdcfp", t);
}

static bool is_server_type(uint8_t t)
{
	return t && strchr("RSKZTDC123nNEtIsAGHWVvcd", t);
}

/* Whole messages of the right types, one behind the other, to the very end: sure; a first one that
 * is right: maybe. */
static enum detect detect_chain(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;
	size_t at = 0;

	for (int i = 0; i < MAX_CHAIN; i++) {
		bool known = side == SIDE_CLIENT ? is_client_type(p[at]) : is_server_type(p[at]);
		uint32_t length;

		if (!known)
			return DETECT_NO;
		if (s.n - at < 5)
			return i ? DETECT_MAYBE : DETECT_MORE;
		length = load_be32(p + at + 1);
		if (length < 4 || length > MAX_MESSAGE)
			return DETECT_NO;
		if (p[at] == 'Q' && length > 5 && s.n - at > 6 && !isprint(p[at + 5]) &&
		    !isspace(p[at + 5]))
			return DETECT_NO;
		at += 1 + (size_t)length;
		if (at == s.n)
			return DETECT_YES;
		if (at > s.n)
			return DETECT_MAYBE;
	}
	return DETECT_YES;
}

static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;

	if (s.n == 0)
		return DETECT_MORE;
	if (side == SIDE_CLIENT && p[0] == 0) {
		uint32_t length, code;

		if (s.n < 8)
			return DETECT_MORE;
		length = load_be32(p);
		code = load_be32(p + 4);
		if (length == 8 && (code == SSL_REQUEST || code == GSS_REQUEST))
			return DETECT_YES;
		if (code == VERSION_3 && length > 8 && length < MAX_STARTUP)
			return DETECT_YES;
		return length == 16 && code == CANCEL ? DETECT_YES : DETECT_NO;
	}
	return detect_chain(s, side);
}

static ssize_t startup(struct postgres *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	uint32_t length, code;

	if (bytes.n < 8)
		return 0;
	length = load_be32(p);
	code = load_be32(p + 4);
	if (length < 8 || length > MAX_STARTUP)
		return -EBADMSG;
	if (code == SSL_REQUEST || code == GSS_REQUEST)
		s->answering = true;
	else
		s->started = true;
	return (ssize_t)length;
}

/* The first word of a statement, comments left out. */
static struct slice verb_of(struct slice sql)
{
	size_t n = 0;

	for (int i = 0; i < MAX_CHAIN; i++) {
		const char *end;

		sql = slice_trim(sql);
		if (slice_starts(sql, SLICE("/*"))) {
			end = memmem(sql.p, sql.n, "*/", 2);
			sql = end ? slice_from(sql, (size_t)(end + 2 - sql.p)) : slice_of("", 0);
		} else if (slice_starts(sql, SLICE("--"))) {
			end = memchr(sql.p, '\n', sql.n);
			sql = end ? slice_from(sql, (size_t)(end + 1 - sql.p)) : slice_of("", 0);
		} else {
			break;
		}
	}
	while (n < sql.n && n < VERB_BYTES - 1 && isalpha((unsigned char)sql.p[n]))
		n++;
	return slice_of(sql.p, n);
}

static uint32_t hash_name(struct slice name)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (uint8_t)name.p[i]) * 16777619u;
	return h;
}

/* A NUL-terminated string at the front of a body, cut off from it. */
static struct slice take_string(struct slice *body)
{
	return slice_cut(body, 0);
}

static struct slice upper(struct slice verb, char out[VERB_BYTES])
{
	for (size_t i = 0; i < verb.n; i++)
		out[i] = (char)toupper((unsigned char)verb.p[i]);
	return slice_of(out, verb.n);
}

/* What the call is named after: the statement's verb, for a prepared one the verb it was given. */
static struct slice name_of(struct postgres *s, uint8_t type, struct slice body,
			    char out[VERB_BYTES])
{
	struct slice name;
	struct statement *st;

	switch (type) {
	case 'Q':
		return upper(verb_of(body), out);
	case 'P':
		name = take_string(&body);
		st = &s->statements[hash_name(name) % STATEMENTS];
		*st = (struct statement){.hash = hash_name(name)};
		name = upper(verb_of(body), out);
		memcpy(st->verb, name.p, name.n);
		return name;
	case 'B':
		take_string(&body); /* the portal */
		name = take_string(&body);
		st = &s->statements[hash_name(name) % STATEMENTS];
		if (st->hash == hash_name(name) && st->verb[0]) {
			memcpy(out, st->verb, VERB_BYTES);
			return slice_cstr(out);
		}
		return SLICE("EXECUTE");
	case 'F':
		return SLICE("FUNCTION");
	default:
		return slice_of(NULL, 0);
	}
}

static ssize_t request(struct conv *c, struct postgres *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	char verb[VERB_BYTES];
	uint32_t length;
	uint8_t type;

	if (!s->started && p[0] == 0)
		return startup(s, bytes);
	s->started = true;
	if (bytes.n < 5)
		return 0;
	type = p[0];
	length = load_be32(p + 1);
	if (!is_client_type(type) || length < 4 || length > MAX_MESSAGE)
		return -EBADMSG;
	if (bytes.n < MIN((size_t)length + 1, (size_t)WANTED))
		return 0;
	if (strchr("QPBEDCF", type) && !s->batch) {
		struct slice body = slice_first(slice_from(bytes, 5), length - 4);
		struct slice name = name_of(s, type, body, verb);

		conv_call(c, CONV_NO_KEY, conv_operation(c, name, slice_of(NULL, 0)),
			  slice_first(bytes, (size_t)length + 1));
		s->ready = true;
		s->batch = true;
	} else if (type == 'S' && !s->batch) { /* a Sync alone is answered, too */
		conv_call(c, CONV_NO_KEY, conv_operation(c, SLICE("SYNC"), slice_of(NULL, 0)),
			  bytes);
	} else if (s->batch && strchr("PB", type)) {
		name_of(s, type, slice_first(slice_from(bytes, 5), length - 4), verb);
		if (c->newest && c->newest->tag == NAMES_NONE)
			conv_search(c, c->newest, slice_first(bytes, (size_t)length + 1));
	}
	if (strchr("QSF", type))
		s->batch = false;
	return (ssize_t)length + 1;
}

static ssize_t answer(struct conv *c, struct postgres *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct open_call *call = conv_oldest(c);
	uint32_t length;

	if (s->answering) {
		s->answering = false;
		if (p[0] == 'S')
			conv_become(c, &proto_tls);
		return 1;
	}
	if (bytes.n < 5)
		return 0;
	length = load_be32(p + 1);
	if (!is_server_type(p[0]) || length < 4 || length > MAX_MESSAGE)
		return -EBADMSG;
	if (call && !strchr("NAS", p[0]))
		conv_reply(c, call);
	if (p[0] != 'Z')
		return (ssize_t)length + 1; /* passed over as it comes */
	if (length != 5)
		return -EBADMSG;
	if (bytes.n < 6)
		return 0;
	if (call)
		conv_return(c, call);
	else if (s->ready)
		conv_orphan(c);
	s->ready = true;
	return 6;
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	if (bytes.n == 0)
		return 0;
	return side == SIDE_CLIENT ? request(c, c->state, bytes) : answer(c, c->state, bytes);
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct postgres *s = c->state;

	s->started = true;
	s->answering = false;
	if (side == SIDE_SERVER)
		return;
	/* A statement whose end is missing. */
	if (unread.n > 5 && strchr("QPBF", unread.p[0]) && !s->batch) {
		char verb[VERB_BYTES];
		struct slice name = name_of(s, (uint8_t)unread.p[0], slice_from(unread, 5), verb);

		conv_call(c, CONV_NO_KEY, conv_operation(c, name, slice_of(NULL, 0)), unread);
	}
	s->batch = false;
}

const struct protocol proto_postgres = {
	.name = "postgresql",
	.ports = {5432, 5433, 6432},
	.fifo = true,
	.parts = true,
	.state_bytes = sizeof(struct postgres),
	.detect = detect,
	.parse = parse,
	.gap = gap,
};
