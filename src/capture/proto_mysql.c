/* capture/proto_mysql.c - MySQL and MariaDB.
 *
 *   packet  length u24 (little endian) · sequence u8 · payload
 *
 * The server greets, the client logs in, then the client sends commands (sequence 0) one at a time.
 * An answer is OK (00), ERR (ff), or a result: a count of columns, their definitions, EOF, rows,
 * EOF; with CLIENT_DEPRECATE_EOF the first EOF is left out and the last one is an OK that begins
 * with fe.  "More results" in the status means that another one follows.  PREPARE is answered by
 * counts of parameters and columns, with their definitions behind.
 *
 * Without the login (a capture that begins later) it is not known whether there are EOFs: then an
 * answer ends when the client speaks again, or by silence. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv.h"
#include "capture/packet.h"

#define PACKET_HEAD 4
#define FULL        0xffffff /* a packet of this length goes on in the next one */
#define WANTED      160      /* bytes of a command that name and tag need */
#define MAX_COLUMNS 4096

enum {
	CAP_COMPRESS = 1 << 5,
	CAP_PROTOCOL_41 = 1 << 9,
	CAP_SSL = 1 << 11,
	CAP_DEPRECATE_EOF = 1 << 24,
	STATUS_MORE = 8,
};
enum {
	COM_QUIT = 1,
	COM_QUERY = 3,
	COM_FIELD_LIST = 4,
	COM_STATISTICS = 9,
	COM_STMT_PREPARE = 0x16,
	COM_STMT_EXECUTE = 0x17,
	COM_STMT_LONG_DATA = 0x18,
	COM_STMT_CLOSE = 0x19,
	COM_STMT_FETCH = 0x1c,
	COM_LAST = 0x1f,
};

enum phase { LOGIN, IDLE, FIRST, COLUMNS, COLUMNS_EOF, ROWS, DEFINITIONS, SILENCE };

struct mysql {
	enum phase phase; /* of the answer */
	bool login_known; /* the client's capabilities were seen */
	uint32_t capabilities;
	uint8_t command;
	uint32_t left;     /* definitions still to come */
	bool continued[2]; /* the packet before was full: this one goes on with it */
	bool ending;       /* the call ends when the packet passed over has come */
};

static const char *const commands[COM_LAST + 1] = {
	[2] = "INIT_DB",       [3] = "QUERY",      [4] = "FIELD_LIST",
	[9] = "STATISTICS",    [14] = "PING",      [17] = "CHANGE_USER",
	[0x16] = "PREPARE",    [0x17] = "EXECUTE", [0x1a] = "STMT_RESET",
	[0x1b] = "SET_OPTION", [0x1c] = "FETCH",   [0x1f] = "RESET_CONNECTION",
};

/* What follows the 10 in a greeting: "8.0.36" and the like, and a NUL. */
static enum detect is_version(struct slice s)
{
	for (size_t i = 0; i < s.n && i < 64; i++) {
		if (s.p[i] == 0)
			return i >= 3 ? DETECT_YES : DETECT_NO;
		if (!isgraph((unsigned char)s.p[i]) || (i == 0 && !isdigit((unsigned char)s.p[i])))
			return DETECT_NO;
	}
	return s.n >= 8 ? DETECT_YES : DETECT_MORE;
}

static enum detect detect(struct slice s, enum side side)
{
	const uint8_t *p = (const uint8_t *)s.p;
	uint32_t length;

	if (s.n < PACKET_HEAD + 1)
		return s.n && side == SIDE_SERVER ? DETECT_MORE : DETECT_NO;
	length = load_le24(p);
	if (length == 0)
		return DETECT_NO;
	if (side == SIDE_SERVER) {
		if (p[3] == 0 && p[4] == 10 && length > 30 && length < 300)
			return is_version(slice_from(s, 5));
		return p[3] >= 1 && length + PACKET_HEAD <= s.n ? DETECT_MAYBE : DETECT_NO;
	}
	if (p[3] != 0 || p[4] > COM_LAST || p[4] == 0)
		return DETECT_NO;
	if (p[4] == COM_QUERY && length + PACKET_HEAD == s.n && s.n > 12 && isalpha(p[5]))
		return DETECT_YES;
	return length + PACKET_HEAD == s.n ? DETECT_MAYBE : DETECT_NO;
}

static struct slice verb_of(const uint8_t *p, size_t n, char out[16])
{
	size_t k = 0;

	while (n && isspace(*p))
		p++, n--;
	if (n > 4 && p[0] == '/' && p[1] == '*') { /* a comment before the statement */
		const uint8_t *end = memmem(p, n, "*/", 2);

		if (end)
			return verb_of(end + 2, n - (size_t)(end + 2 - p), out);
	}
	while (k < n && k < 15 && isalpha(p[k])) {
		out[k] = (char)toupper(p[k]);
		k++;
	}
	return slice_of(out, k);
}

static ssize_t login(struct conv *c, struct mysql *s, struct slice bytes, uint32_t length)
{
	const uint8_t *p = (const uint8_t *)bytes.p;

	if (bytes.n < MIN((size_t)PACKET_HEAD + length, (size_t)PACKET_HEAD + 32))
		return 0;
	if (!s->login_known && length >= 32) {
		s->capabilities = load_le32(p + PACKET_HEAD);
		s->login_known = s->capabilities & CAP_PROTOCOL_41;
		if (s->capabilities & CAP_SSL && length == 32)
			conv_become(c, &proto_tls);
		else if (s->capabilities & CAP_COMPRESS)
			conv_become(c, &proto_unknown);
	}
	return (ssize_t)(PACKET_HEAD + length);
}

static void command(struct conv *c, struct mysql *s, struct slice bytes, uint32_t length)
{
	const uint8_t *p = (const uint8_t *)bytes.p + PACKET_HEAD;
	struct open_call *call = conv_oldest(c);
	struct slice name = slice_cstr(commands[p[0]]);
	char verb[16];

	if (call && call->reply_ns) /* it was answered; how, we could not tell */
		conv_return(c, call);
	else if (call)
		call->damaged = true;
	s->command = p[0];
	if (p[0] == COM_QUIT || p[0] == COM_STMT_CLOSE || p[0] == COM_STMT_LONG_DATA) {
		s->phase = IDLE; /* these have no answer */
		return;
	}
	if (p[0] == COM_QUERY || p[0] == COM_STMT_PREPARE) {
		struct slice v =
			verb_of(p + 1, MIN((size_t)length, bytes.n - PACKET_HEAD) - 1, verb);

		if (p[0] == COM_QUERY && v.n)
			name = v;
	}
	conv_call(c, CONV_NO_KEY, conv_operation(c, name, slice_of(NULL, 0)),
		  slice_first(bytes, PACKET_HEAD + (size_t)length));
	s->phase = s->login_known ? FIRST : SILENCE;
}

static ssize_t request(struct conv *c, struct mysql *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	bool continued = s->continued[SIDE_CLIENT];
	uint32_t length;

	if (bytes.n < PACKET_HEAD)
		return 0;
	length = load_le24(p);
	if (!continued && p[3] == 0 && s->phase != FIRST && length > 0) {
		if (bytes.n < PACKET_HEAD + MIN((size_t)length, (size_t)WANTED))
			return 0;
		if (p[PACKET_HEAD] > COM_LAST || p[PACKET_HEAD] == 0)
			return -EBADMSG;
		command(c, s, bytes, length);
	} else if (!continued && s->phase == LOGIN) {
		return login(c, s, bytes, length);
	}
	s->continued[SIDE_CLIENT] = length == FULL;
	return (ssize_t)(PACKET_HEAD + length);
}

/* A number in MySQL's packed form; -1 when it is none. */
static int64_t packed(const uint8_t *p, size_t n)
{
	if (n >= 1 && p[0] < 0xfb)
		return p[0];
	if (n >= 3 && p[0] == 0xfc)
		return p[1] | p[2] << 8;
	return -1;
}

/* Where the status flags of an OK are: behind the marker, affected rows and last insert id. */
static bool more_follows(const uint8_t *p, size_t n, bool eof)
{
	size_t at = 1;

	if (eof) /* fe · warnings u16 · status u16 */
		return n >= 5 && p[3] & STATUS_MORE;
	for (int i = 0; i < 2; i++) {
		if (at >= n)
			return false;
		at += p[at] < 0xfb ? 1 : p[at] == 0xfc ? 3 : p[at] == 0xfd ? 4 : 9;
	}
	return at < n && p[at] & STATUS_MORE;
}

static void after_result(struct mysql *s, bool more)
{
	s->phase = more ? FIRST : IDLE;
	s->ending = !more;
}

static void first_packet(struct mysql *s, const uint8_t *p, size_t n, uint32_t length)
{
	bool no_eof = s->capabilities & CAP_DEPRECATE_EOF;

	if (p[0] == 0xff) {
		after_result(s, false);
	} else if (s->command == COM_STMT_PREPARE && p[0] == 0 && n >= 9) {
		uint32_t columns = (uint32_t)(p[5] | p[6] << 8);
		uint32_t parameters = (uint32_t)(p[7] | p[8] << 8);

		s->left = columns + parameters;
		if (!no_eof)
			s->left += (columns ? 1 : 0) + (parameters ? 1 : 0);
		s->phase = DEFINITIONS;
		if (s->left == 0)
			after_result(s, false);
	} else if (s->command == COM_STATISTICS || (p[0] == 0xfe && length < 9)) {
		after_result(s, false);
	} else if (p[0] == 0 || p[0] == 0xfe) {
		after_result(s, more_follows(p, n, false));
	} else if (s->command == COM_STMT_FETCH) {
		s->phase = ROWS;
	} else if (s->command == COM_FIELD_LIST) {
		s->phase = ROWS; /* definitions up to an EOF */
	} else if (p[0] != 0xfb && packed(p, n) > 0 && packed(p, n) <= MAX_COLUMNS) {
		s->left = (uint32_t)packed(p, n);
		s->phase = COLUMNS;
	} else {
		s->phase = SILENCE; /* LOAD DATA LOCAL, and what we do not know */
	}
}

static void answer_packet(struct mysql *s, const uint8_t *p, size_t n, uint32_t length)
{
	bool no_eof = s->capabilities & CAP_DEPRECATE_EOF;

	switch (s->phase) {
	case FIRST:
		first_packet(s, p, n, length);
		break;
	case COLUMNS:
		if (--s->left == 0)
			s->phase = no_eof ? ROWS : COLUMNS_EOF;
		break;
	case COLUMNS_EOF:
		/* A cursor stays open: rows are fetched by commands of their own. */
		s->phase = ROWS;
		if (s->command == COM_STMT_EXECUTE && n >= 5 && p[3] & 0x40)
			after_result(s, false);
		break;
	case DEFINITIONS:
		if (--s->left == 0)
			after_result(s, false);
		break;
	case ROWS:
		if (p[0] == 0xff && length > 2)
			after_result(s, false);
		else if (p[0] == 0xfe && length < 9)
			after_result(s,
				     no_eof ? more_follows(p, n, false) : more_follows(p, n, true));
		else if (p[0] == 0xfe && no_eof && length < FULL)
			after_result(s, more_follows(p, n, false));
		break;
	case LOGIN:
		if (p[0] == 0 && s->login_known)
			s->phase = IDLE;
		break;
	case IDLE:
	case SILENCE:
		break;
	}
}

static ssize_t answer(struct conv *c, struct mysql *s, struct slice bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	bool continued = s->continued[SIDE_SERVER];
	struct open_call *call = conv_oldest(c);
	uint32_t length;

	if (bytes.n < PACKET_HEAD)
		return 0;
	length = load_le24(p);
	if (bytes.n < PACKET_HEAD + MIN((size_t)length, (size_t)32))
		return 0;
	if (call)
		conv_reply(c, call);
	if (length > 0 && !continued)
		answer_packet(s, p + PACKET_HEAD, MIN((size_t)length, bytes.n - PACKET_HEAD),
			      length);
	if (s->phase == SILENCE && call)
		conv_quiet(c);
	s->continued[SIDE_SERVER] = length == FULL;
	return (ssize_t)(PACKET_HEAD + length);
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct mysql *s = c->state;

	if (side == SIDE_SERVER && s->ending) {
		s->ending = false;
		if (conv_oldest(c))
			conv_return(c, conv_oldest(c));
		else
			conv_orphan(c);
	}
	if (bytes.n == 0)
		return 0;
	return side == SIDE_CLIENT ? request(c, s, bytes) : answer(c, s, bytes);
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct mysql *s = c->state;

	s->continued[side] = s->ending = false;
	if (s->phase != LOGIN || s->login_known)
		s->phase = IDLE;
}

static void closed(struct conv *c, enum side side)
{
	struct open_call *call = conv_oldest(c);

	if (side == SIDE_SERVER && call && call->reply_ns)
		conv_return(c, call);
}

const struct protocol proto_mysql = {
	.name = "mysql",
	.ports = {3306, 3307, 33060},
	.fifo = true,
	.parts = true,
	.state_bytes = sizeof(struct mysql),
	.detect = detect,
	.parse = parse,
	.gap = gap,
	.closed = closed,
};
