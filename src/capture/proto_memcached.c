/* capture/proto_memcached.c - memcached's text protocol, classic and meta commands.
 *
 *   get k…             VALUE k flags n\r\n data \r\n … END        set k flags exp n [noreply]\r\n
 * data mg k v             VA n flags\r\n data | HD | EN              ms k n flags\r\n data
 *
 * Answers come in order.  What asks for no answer (noreply, the q flag of meta commands, quit) is
 * no call. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv.h"

#define MAX_LINE  (60 << 10) /* a get may name many keys */
#define MAX_WORDS 8          /* of a line, looked at */
#define MAX_VALUE (UINT64_C(1) << 30)

enum { MARK_LINE, MARK_VALUES, MARK_NOOP };

struct memcached {
	bool ending; /* the call ends when what is passed over has come */
};

struct words {
	struct slice at[MAX_WORDS];
	size_t n;
	struct slice last;
};

static struct words split(struct slice line)
{
	struct words w = {.n = 0};

	line = slice_trim(line);
	while (line.p && line.n > 0) {
		struct slice word = slice_cut(&line, ' ');

		if (word.n == 0)
			continue;
		if (w.n < MAX_WORDS)
			w.at[w.n++] = word;
		w.last = word;
	}
	return w;
}

struct command {
	const char *name;
	uint8_t length_word; /* where the number of bytes stands; 0: no data follows */
	uint8_t mark;
	bool meta, silent;
};

static const struct command commands[] = {
	{"get", 0, MARK_VALUES, false, false},   {"gets", 0, MARK_VALUES, false, false},
	{"gat", 0, MARK_VALUES, false, false},   {"gats", 0, MARK_VALUES, false, false},
	{"stats", 0, MARK_VALUES, false, false}, {"set", 4, MARK_LINE, false, false},
	{"add", 4, MARK_LINE, false, false},     {"replace", 4, MARK_LINE, false, false},
	{"append", 4, MARK_LINE, false, false},  {"prepend", 4, MARK_LINE, false, false},
	{"cas", 4, MARK_LINE, false, false},     {"delete", 0, MARK_LINE, false, false},
	{"incr", 0, MARK_LINE, false, false},    {"decr", 0, MARK_LINE, false, false},
	{"touch", 0, MARK_LINE, false, false},   {"flush_all", 0, MARK_LINE, false, false},
	{"version", 0, MARK_LINE, false, false}, {"verbosity", 0, MARK_LINE, false, false},
	{"quit", 0, MARK_LINE, false, true},     {"mg", 0, MARK_LINE, true, false},
	{"ms", 2, MARK_LINE, true, false},       {"md", 0, MARK_LINE, true, false},
	{"ma", 0, MARK_LINE, true, false},       {"me", 0, MARK_LINE, true, false},
	{"mn", 0, MARK_NOOP, false, false},      {"cache_memlimit", 0, MARK_LINE, false, false},
};

static const struct command *command_of(struct slice word)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (slice_eq(word, slice_cstr(commands[i].name)))
			return &commands[i];
	return NULL;
}

static const char *const answers[] = {
	"VALUE ",       "END\r\n",
	"STORED\r\n",   "NOT_STORED\r\n",
	"EXISTS\r\n",   "NOT_FOUND\r\n",
	"DELETED\r\n",  "TOUCHED\r\n",
	"OK\r\n",       "ERROR\r\n",
	"CLIENT_ERROR", "SERVER_ERROR",
	"VERSION ",     "STAT ",
	"VA ",          "HD",
	"EN\r\n",       "NF",
	"NS",           "EX",
	"MN\r\n",       "ME ",
	"RESET\r\n",
};

static bool is_answer(struct slice s)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (slice_starts(s, slice_cstr(answers[i])))
			return true;
	return s.n > 0 && isdigit((unsigned char)s.p[0]); /* of incr and decr */
}

static enum detect detect(struct slice s, enum side side)
{
	const char *end = s.n ? memchr(s.p, '\n', MIN(s.n, (size_t)512)) : NULL;
	const struct command *command;
	struct words w;

	if (!end)
		return DETECT_NO;
	if (side == SIDE_SERVER)
		return is_answer(s) && !isdigit((unsigned char)s.p[0]) ? DETECT_MAYBE : DETECT_NO;
	w = split(slice_of(s.p, (size_t)(end - s.p)));
	command = w.n ? command_of(w.at[0]) : NULL;
	if (!command)
		return DETECT_NO;
	return command->length_word && w.n > command->length_word && end > s.p && end[-1] == '\r'
		       ? DETECT_YES
		       : DETECT_MAYBE;
}

/* Meta commands with the q flag speak up only when something is unusual. */
static bool is_quiet(const struct command *command, const struct words *w)
{
	if (command->silent || slice_eq(w->last, SLICE("noreply")))
		return true;
	for (size_t i = 2; command->meta && i < w->n; i++)
		if (slice_eq(w->at[i], SLICE("q")))
			return true;
	return false;
}

static ssize_t request(struct conv *c, struct slice bytes)
{
	const char *end = memchr(bytes.p, '\n', MIN(bytes.n, (size_t)MAX_LINE));
	const struct command *command;
	struct open_call *call;
	uint64_t length = 0;
	struct words w;
	size_t n;

	if (!end)
		return bytes.n >= MAX_LINE ? -EBADMSG : 0;
	n = (size_t)(end + 1 - bytes.p);
	w = split(slice_first(bytes, n));
	command = w.n ? command_of(w.at[0]) : NULL;
	if (!command)
		return -EBADMSG;
	if (command->length_word) {
		if (w.n <= command->length_word ||
		    slice_parse_u64(w.at[command->length_word], &length) < 0 || length > MAX_VALUE)
			return -EBADMSG;
		length += 2;
	}
	if (!is_quiet(command, &w)) {
		call = conv_call(c, CONV_NO_KEY, conv_operation(c, w.at[0], slice_of(NULL, 0)),
				 slice_first(bytes, n));
		if (call)
			call->mark = command->mark;
	}
	return (ssize_t)(n + length);
}

static ssize_t answer(struct conv *c, struct memcached *s, struct slice bytes)
{
	const char *end = memchr(bytes.p, '\n', MIN(bytes.n, (size_t)MAX_LINE));
	struct open_call *call = conv_oldest(c);
	uint64_t length = 0;
	struct words w;
	size_t n;

	if (!end)
		return bytes.n >= MAX_LINE || !isprint((unsigned char)bytes.p[0]) ? -EBADMSG : 0;
	if (!is_answer(bytes))
		return -EBADMSG;
	n = (size_t)(end + 1 - bytes.p);
	w = split(slice_first(bytes, n));
	if (w.n >= 4 && slice_eq(w.at[0], SLICE("VALUE"))) {
		if (slice_parse_u64(w.at[3], &length) < 0 || length > MAX_VALUE)
			return -EBADMSG;
		length += 2;
	} else if (w.n >= 2 && slice_eq(w.at[0], SLICE("VA"))) {
		if (slice_parse_u64(w.at[1], &length) < 0 || length > MAX_VALUE)
			return -EBADMSG;
		length += 2;
	}
	if (call)
		conv_reply(c, call);
	if (slice_starts(bytes, SLICE("VALUE ")) || slice_starts(bytes, SLICE("STAT ")))
		return (ssize_t)(n + length);
	if (call && call->mark == MARK_NOOP && !slice_starts(bytes, SLICE("MN")))
		return (ssize_t)(n + length); /* of a quiet command before it */
	s->ending = true;
	return (ssize_t)(n + length);
}

static ssize_t parse(struct conv *c, enum side side, struct slice bytes)
{
	struct memcached *s = c->state;

	if (side == SIDE_SERVER && s->ending) {
		s->ending = false;
		if (conv_oldest(c))
			conv_return(c, conv_oldest(c));
		else
			conv_orphan(c);
	}
	if (bytes.n == 0)
		return 0;
	return side == SIDE_CLIENT ? request(c, bytes) : answer(c, s, bytes);
}

static void gap(struct conv *c, enum side side, struct slice unread)
{
	struct memcached *s = c->state;

	if (side == SIDE_SERVER)
		s->ending = false;
}

const struct protocol proto_memcached = {
	.name = "memcached",
	.ports = {11211, 11212},
	.fifo = true,
	.state_bytes = sizeof(struct memcached),
	.detect = detect,
	.parse = parse,
	.gap = gap,
};
