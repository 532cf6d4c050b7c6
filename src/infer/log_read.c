/* infer/log_read.c - messages out of logs. */
#include "infer/log_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "core/clock.h"
#include "infer/abstract_read.h"

#define YEAR_MAX 2090 /* MESSAGE_MAX_NS is not far behind */

static bool is_field(char c)
{
	return c && strchr("tsroidn*", c);
}

int log_reader_init(struct log_reader *r, struct slice pattern, struct error *error)
{
	size_t start = 0, i = 0;
	bool has_time = false;

	r->part_n = 0;
	r->first = slice_of(pattern.p, 0);
	r->receiver = SLICE("server");
	r->file = 0;
	r->lines = r->unmatched = 0;
	for (; i < pattern.n; i++) {
		struct slice *before = r->part_n ? &r->parts[r->part_n - 1].text : &r->first;

		if (pattern.p[i] != '%')
			continue;
		if (i + 1 < pattern.n && pattern.p[i + 1] == '%') {
			i++; /* both stand in the literal; matching knows */
			continue;
		}
		if (i + 1 == pattern.n || !is_field(pattern.p[i + 1]))
			return error_set(
				error, -EINVAL,
				"a pattern knows %%t %%s %%r %%o %%i %%d %%n %%* %%%%, found '%.*s'",
				(int)MIN(pattern.n - i, (size_t)2), pattern.p + i);
		if (r->part_n == LOG_MAX_PARTS)
			return error_set(error, -EINVAL, "more than %d fields", LOG_MAX_PARTS);
		*before = slice_of(pattern.p + start, i - start);
		r->parts[r->part_n++].field = pattern.p[i + 1];
		has_time |= pattern.p[i + 1] == 't';
		start = ++i + 1;
	}
	if (!has_time)
		return error_set(error, -EINVAL, "a pattern needs %%t, the time");
	r->parts[r->part_n - 1].text = slice_of(pattern.p + start, pattern.n - start);
	return 0;
}

/* Does text match a literal here?  How many bytes, or -1. */
static ssize_t literal_match(struct slice literal, struct slice text)
{
	size_t at = 0;

	for (size_t i = 0; i < literal.n; i++) {
		if (literal.p[i] == ' ') {
			size_t from = at;

			while (at < text.n && (text.p[at] == ' ' || text.p[at] == '\t'))
				at++;
			if (at == from)
				return -1;
			continue;
		}
		if (literal.p[i] == '%')
			i++;
		if (at == text.n || text.p[at] != literal.p[i])
			return -1;
		at++;
	}
	return (ssize_t)at;
}

/* 10/Oct/2026:13:55:36 +0200, as web servers write it. */
static int common_time(struct slice text, int64_t *ret_ns)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char copy[40], month[4], sign = '+';
	const char *found;
	struct tm tm = {0};
	int zone = 0, n;

	if (text.n >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text.p, text.n);
	copy[text.n] = 0;
	n = sscanf(copy, "%2d/%3s/%4d:%2d:%2d:%2d %c%4d", &tm.tm_mday, month, &tm.tm_year,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &sign, &zone);
	if (n != 6 && n != 8)
		return -EINVAL;
	found = strstr(months, month);
	if (!found || (found - months) % 3 || strlen(month) != 3)
		return -EINVAL;
	tm.tm_mon = (int)(found - months) / 3;
	tm.tm_year -= 1900;
	if (tm.tm_year < 1970 - 1900 || tm.tm_year > YEAR_MAX - 1900 || zone < 0 || zone > 2400)
		return -EINVAL;
	*ret_ns = (timegm(&tm) - (sign == '-' ? -1 : 1) * (zone / 100 * 3600 + zone % 100 * 60)) *
		  NS_PER_S;
	return 0;
}

static int time_parse(struct slice text, int64_t *ret_ns)
{
	if (seconds_parse(text, ret_ns) == 0 || common_time(text, ret_ns) == 0)
		return 0;
	return moment_parse(text, 0, ret_ns);
}

static int length_parse(struct slice text, int64_t *ret_ns)
{
	return seconds_parse(text, ret_ns) == 0 && *ret_ns >= 0 ? 0 : duration_parse(text, ret_ns);
}

static int op_parse(struct slice text, uint8_t *ret_op)
{
	static const struct {
		const char *word;
		uint8_t op;
	} rows[] = {{"CALL", MESSAGE_CALL},  {"REQUEST", MESSAGE_CALL}, {"RET", MESSAGE_RET},
		    {"RETURN", MESSAGE_RET}, {"RESPONSE", MESSAGE_RET}, {"REPLY", MESSAGE_RET},
		    {"MSG", MESSAGE_MSG}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (slice_eq_nocase(text, slice_cstr(rows[i].word))) {
			*ret_op = rows[i].op;
			return 0;
		}
	return -EINVAL;
}

struct fields {
	struct slice value[128]; /* by letter */
};

static bool line_split(const struct log_reader *r, struct slice line, struct fields *f)
{
	ssize_t n = literal_match(r->first, line);

	*f = (struct fields){0};
	if (n < 0)
		return false;
	line = slice_from(line, (size_t)n);
	for (size_t i = 0; i < r->part_n; i++) {
		const struct log_part *p = &r->parts[i];
		size_t at = 0;

		/* The last field takes the rest. */
		n = 0;
		if (p->text.n == 0 && i + 1 == r->part_n)
			at = line.n;
		else
			while (at <= line.n &&
			       (n = literal_match(p->text, slice_from(line, at))) < 0)
				at++;
		if (at > line.n)
			return false;
		f->value[(int)p->field] = slice_trim(slice_first(line, at));
		line = slice_from(line, at + (size_t)n);
	}
	return true;
}

static int name_of(struct names *names, struct slice text, struct slice fallback, uint32_t *ret)
{
	return names_intern(names, slice_first(text.n ? text : fallback, NAMES_MAX_BYTES), ret);
}

int log_reader_line(struct log_reader *r, struct slice line)
{
	struct message m[2] = {0};
	struct fields f;
	int64_t length = 0;
	bool whole;
	int e;

	r->lines++;
	line = slice_trim(line);
	if (!line_split(r, line, &f) || time_parse(f.value['t'], &m[0].time_ns) < 0 ||
	    (f.value['d'].n && length_parse(f.value['d'], &length) < 0) ||
	    (f.value['o'].n && op_parse(f.value['o'], &m[0].op) < 0) ||
	    !message_time_ok(m[0].time_ns) || length < 0 || length > MESSAGE_MAX_NS ||
	    !message_time_ok(m[0].time_ns - length)) {
		r->unmatched++;
		return 0;
	}
	e = name_of(r->nodes, f.value['s'], SLICE("client"), &m[0].sender);
	if (e == 0)
		e = name_of(r->nodes, f.value['r'], r->receiver, &m[0].receiver);
	m[0].name = NAMES_NONE;
	if (e == 0 && f.value['n'].n)
		e = name_of(r->operations, f.value['n'], SLICE("?"), &m[0].name);
	if (e < 0)
		return e;
	m[0].id = message_id_of_text(f.value['i']);
	m[0].file = r->file;
	whole = f.value['d'].n || !f.value['o'].n;
	if (whole) {
		m[1] = m[0];
		m[0].op = MESSAGE_CALL;
		m[0].time_ns -= length;
		m[1].op = MESSAGE_RET;
		m[1].sender = m[0].receiver;
		m[1].receiver = m[0].sender;
		if (m[0].id == MESSAGE_NO_ID)
			m[0].id = m[1].id =
				message_id_of_number((uint64_t)r->file << 40 | r->lines);
	}
	e = r->sink.put(r->sink.context, m, whole ? 2 : 1);
	return e < 0 ? e : 1;
}
