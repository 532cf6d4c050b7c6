/* infer/abstract_read.c - the abstract trace as text, read in pieces.
 *
 * Whole lines are parsed where they lie; only a line cut by the end of a piece is copied.  The
 * first lines of a large trace decide nothing: every line is read for itself. */
#include "infer/abstract_read.h"

#include <errno.h>

#include "core/clock.h"

#define SECONDS_MAX (MESSAGE_MAX_NS / NS_PER_S - 1)

void abstract_reader_init(struct abstract_reader *r, struct names *nodes, struct names *operations,
			  struct message_sink sink)
{
	r->nodes = nodes;
	r->operations = operations;
	r->sink = sink;
	r->file = 0;
	r->tolerant = false;
	r->lines = r->bad = 0;
	r->first_bad = (struct error){0};
	r->carry = (struct buffer){0};
	r->batch_n = 0;
}

void abstract_reader_done(struct abstract_reader *r)
{
	buffer_done(&r->carry);
}

int seconds_parse(struct slice text, int64_t *ret_ns)
{
	static const int32_t units[] = {1000000000, 100000000, 10000000, 1000000, 100000,
					10000,      1000,      100,      10,      1};
	const char *at = text.p, *end = text.p + text.n, *start;
	int64_t whole = 0, fraction = 0;
	bool negative = text.n > 0 && *at == '-';
	size_t digits;

	at += negative;
	for (start = at; at < end && (unsigned char)(*at - '0') <= 9; at++) {
		whole = whole * 10 + (*at - '0');
		if (whole > SECONDS_MAX)
			return -ERANGE;
	}
	digits = (size_t)(at - start);
	if (at < end && *at == '.') {
		for (start = ++at; at < end && (unsigned char)(*at - '0') <= 9; at++)
			if (at - start < 9)
				fraction = fraction * 10 + (*at - '0');
		digits += (size_t)(at - start);
		fraction *= units[at - start < 9 ? at - start : 9];
	}
	if (digits == 0 || at < end)
		return -EINVAL;
	whole = whole * NS_PER_S + fraction;
	*ret_ns = negative ? -whole : whole;
	return 0;
}

/* What a byte is in a line: part of a word, a blank between words, or a control character that has
 * no place there. */
enum { PART, BLANK, CONTROL };

static const uint8_t kinds[256] = {
	[0 ... '\t' - 1] = CONTROL,        ['\t'] = BLANK,
	['\t' + 1 ... '\r' - 1] = CONTROL, ['\r'] = BLANK,
	['\r' + 1 ... ' ' - 1] = CONTROL,  [' '] = BLANK,
};

/* The next word; one that ends at a control character is followed by it. */
static struct slice word_next(const char **at, const char *end)
{
	const char *p = *at, *start;

	while (p < end && kinds[(uint8_t)*p] == BLANK)
		p++;
	start = p;
	while (p < end && kinds[(uint8_t)*p] == PART)
		p++;
	*at = p;
	return slice_of(start, (size_t)(p - start));
}

static int op_parse(struct slice word, struct message *m)
{
	size_t stem;

	if (slice_starts(word, SLICE("CALL")))
		m->op = MESSAGE_CALL, stem = 4;
	else if (slice_starts(word, SLICE("RET")))
		m->op = MESSAGE_RET, stem = 3;
	else if (slice_starts(word, SLICE("MSG")))
		m->op = MESSAGE_MSG, stem = 3;
	else
		return -EINVAL;
	word = slice_from(word, stem);
	if (word.n == 0)
		m->sight = MESSAGE_SEEN;
	else if (slice_eq(word, SLICE("_SENT")))
		m->sight = MESSAGE_SENT;
	else if (slice_eq(word, SLICE("_RECV")))
		m->sight = MESSAGE_RECV;
	else
		return -EINVAL;
	return 0;
}

static int name_parse(struct names *names, struct slice word, const char *what, uint32_t *ret,
		      struct error *why)
{
	int r = names_intern(names, word, ret);

	if (r == -E2BIG && word.n > NAMES_MAX_BYTES)
		return error_set(why, -EINVAL, "a %s of more than %d bytes", what, NAMES_MAX_BYTES);
	if (r == -E2BIG)
		return error_set(why, r, "more than %u different names of %ss", NAMES_MAX, what);
	return r < 0 ? error_set(why, r, "out of memory") : 0;
}

static int words_parse(struct abstract_reader *r, struct slice word, const char **at,
		       const char *end, struct message *m, struct error *why)
{
	int e = seconds_parse(word, &m->time_ns);
	if (e < 0)
		return error_set(why, -EINVAL, "'%.*s' is no time in seconds",
				 (int)(word.n < 40 ? word.n : 40), word.p);
	word = word_next(at, end);
	if (op_parse(word, m) < 0)
		return error_set(why, -EINVAL,
				 "'%.*s' is none of CALL, RET and MSG (with _SENT or _RECV)",
				 (int)(word.n < 40 ? word.n : 40), word.n ? word.p : "");
	word = word_next(at, end);
	if (word.n == 0)
		return error_set(why, -EINVAL, "no sender");
	e = name_parse(r->nodes, word, "node", &m->sender, why);
	if (e < 0)
		return e;
	word = word_next(at, end);
	if (word.n == 0)
		return error_set(why, -EINVAL, "no receiver");
	e = name_parse(r->nodes, word, "node", &m->receiver, why);
	if (e < 0)
		return e;
	m->id = message_id_of_text(word_next(at, end));
	m->name = NAMES_NONE;
	m->file = r->file;
	word = word_next(at, end);
	if (word.n > 0) {
		e = name_parse(r->operations, word, "operation", &m->name, why);
		if (e < 0)
			return e;
		word = word_next(at, end);
	}
	if (word.n > 0)
		return error_set(why, -EINVAL, "more than six words");
	return 1;
}

/* 1 with a message, 0 for a line without one, or -EINVAL, -E2BIG, -ENOMEM. */
static int line_parse(struct abstract_reader *r, struct slice line, struct message *m,
		      struct error *why)
{
	const char *at = line.p, *end = line.p + line.n;
	struct slice word = word_next(&at, end);
	int e;

	if (word.n > 0 ? word.p[0] == '#' : at == end)
		return 0;
	e = words_parse(r, word, &at, end, m, why);
	/* Words end at a control character, and whatever was missed then was missed because of it.
	 */
	if (at < end && kinds[(uint8_t)*at] == CONTROL)
		return error_set(why, -EINVAL, "a control character");
	return e;
}

static int batch_give(struct abstract_reader *r, struct error *error)
{
	int e = 0;

	if (r->batch_n > 0)
		e = r->sink.put(r->sink.context, r->batch, r->batch_n);
	r->batch_n = 0;
	if (e == -ENOMEM)
		return error_set(error, e, "out of memory");
	return e < 0 ? error_set(error, e, "line %llu: %s", (unsigned long long)r->lines,
				 strerror(-e))
		     : 0;
}

static int line_take(struct abstract_reader *r, struct slice line, struct error *error)
{
	struct error why = {0};
	int e;

	r->lines++;
	e = line.n > ABSTRACT_MAX_LINE
		    ? error_set(&why, -EINVAL, "a line of more than %d bytes", ABSTRACT_MAX_LINE)
		    : line_parse(r, line, &r->batch[r->batch_n], &why);
	if (e == -EINVAL && r->tolerant) {
		if (r->bad++ == 0)
			error_set(&r->first_bad, e, "line %llu: %s", (unsigned long long)r->lines,
				  why.text);
		return 0;
	}
	if (e < 0)
		return error_set(error, e, "line %llu: %s", (unsigned long long)r->lines, why.text);
	r->batch_n += (size_t)e;
	return r->batch_n == ABSTRACT_BATCH ? batch_give(r, error) : 0;
}

int abstract_reader_feed(struct abstract_reader *r, struct slice text, struct error *error)
{
	while (text.n > 0) {
		const char *newline = memchr(text.p, '\n', text.n);
		struct slice line = slice_of(text.p, newline ? (size_t)(newline - text.p) : text.n);
		int e;

		text = slice_from(text, line.n + (newline != NULL));
		/* An endless line is kept only as far as it takes to call it one. */
		if (!newline || r->carry.n > 0) {
			size_t room = ABSTRACT_MAX_LINE + 1 - r->carry.n;

			buffer_append(&r->carry, line.p, line.n < room ? line.n : room);
			if (r->carry.failed)
				return error_set(error, -ENOMEM, "out of memory");
			line = buffer_get(&r->carry);
		}
		if (!newline)
			return 0;
		e = line_take(r, line, error);
		if (e < 0)
			return e;
		buffer_clear(&r->carry);
	}
	return 0;
}

int abstract_reader_finish(struct abstract_reader *r, struct error *error)
{
	int e = r->carry.n > 0 ? line_take(r, buffer_get(&r->carry), error) : 0;

	buffer_clear(&r->carry);
	return e < 0 ? e : batch_give(r, error);
}

bool abstract_sniff(struct slice text)
{
	while (text.n > 0) {
		struct slice line = slice_cut(&text, '\n'), word;
		const char *at = line.p, *end = line.p + line.n;
		struct message m;
		int64_t time_ns;

		word = word_next(&at, end);
		if (word.n == 0 || word.p[0] == '#')
			continue;
		return seconds_parse(word, &time_ns) == 0 && op_parse(word_next(&at, end), &m) == 0;
	}
	return false;
}

void abstract_write(const struct message *m, const struct names *nodes,
		    const struct names *operations, struct buffer *out)
{
	int64_t s = m->time_ns / NS_PER_S, ns = m->time_ns % NS_PER_S;
	char id[MESSAGE_ID_BYTES];

	if (m->time_ns < 0)
		buffer_byte(out, '-');
	buffer_printf(out, "%lld.%09lld %s %s %s %s", (long long)(s < 0 ? -s : s),
		      (long long)(ns < 0 ? -ns : ns), message_op_name(m->op, m->sight),
		      names_get(nodes, m->sender).p, names_get(nodes, m->receiver).p,
		      message_id_format(m->id, id));
	if (m->name != NAMES_NONE && operations)
		buffer_printf(out, " %s", names_get(operations, m->name).p);
	buffer_byte(out, '\n');
}
