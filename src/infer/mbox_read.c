/* infer/mbox_read.c - messages out of Received: headers.
 *
 *   Received: from mx1.example (mx1.example [192.0.2.1])
 *           by hub2.example with ESMTP id 4711; Sat, 10 Oct 2026 13:55:36 +0200 */
#include "infer/mbox_read.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define YEAR_MAX 2090 /* MESSAGE_MAX_NS is not far behind */

void mbox_reader_init(struct mbox_reader *r, struct names *nodes, struct message_sink sink)
{
	r->nodes = nodes;
	r->sink = sink;
	r->file = 0;
	r->in_header = true;
	r->header_n = 0;
	r->mails = r->headers = r->unusable = 0;
}

/* strchr() would find a NUL in any set. */
static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static struct slice word(struct slice *rest)
{
	struct slice w;
	size_t n = 0;

	*rest = slice_trim(*rest);
	while (n < rest->n && !is_one_of(rest->p[n], " \t\r\n"))
		n++;
	w = slice_first(*rest, n);
	*rest = slice_from(*rest, n);
	return w;
}

static int number(struct slice text, int least, int most, int *ret)
{
	uint64_t v;

	if (slice_parse_u64(text, &v) < 0 || v > (uint64_t)most || v < (uint64_t)least)
		return -EINVAL;
	*ret = (int)v;
	return 0;
}

static int zone_parse(struct slice text, int *ret_s)
{
	static const struct {
		const char *name;
		int hours;
	} zones[] = {{"GMT", 0},  {"UT", 0},   {"UTC", 0},  {"Z", 0},    {"EST", -5}, {"EDT", -4},
		     {"CST", -6}, {"CDT", -5}, {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7}};
	int hm;

	if (text.n == 5 && (text.p[0] == '+' || text.p[0] == '-') &&
	    number(slice_from(text, 1), 0, 2359, &hm) == 0) {
		*ret_s = (text.p[0] == '-' ? -1 : 1) * (hm / 100 * 3600 + hm % 100 * 60);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(zones); i++)
		if (slice_eq_nocase(text, slice_cstr(zones[i].name))) {
			*ret_s = zones[i].hours * 3600;
			return 0;
		}
	return -EINVAL;
}

int mail_date_parse(struct slice text, int64_t *ret_ns)
{
	static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
	struct slice w = word(&text), clock, part;
	struct tm tm = {0};
	int zone;

	if (slice_ends(w, SLICE(",")))
		w = word(&text);
	if (number(w, 1, 31, &tm.tm_mday) < 0)
		return -EINVAL;
	w = word(&text);
	for (tm.tm_mon = 0; tm.tm_mon < 12; tm.tm_mon++)
		if (slice_eq_nocase(w, slice_of(months + 3 * tm.tm_mon, 3)))
			break;
	if (tm.tm_mon == 12 || number(word(&text), 1970, YEAR_MAX, &tm.tm_year) < 0)
		return -EINVAL;
	tm.tm_year -= 1900;
	clock = word(&text);
	part = slice_cut(&clock, ':');
	if (number(part, 0, 23, &tm.tm_hour) < 0 || !clock.p)
		return -EINVAL;
	part = slice_cut(&clock, ':');
	if (number(part, 0, 59, &tm.tm_min) < 0)
		return -EINVAL;
	if (clock.p && number(clock, 0, 60, &tm.tm_sec) < 0)
		return -EINVAL;
	if (zone_parse(word(&text), &zone) < 0)
		return -EINVAL;
	*ret_ns = (timegm(&tm) - zone) * NS_PER_S;
	return 0;
}

/* A host's name as it can be compared: lower case, without brackets and punctuation. */
static struct slice host_of(struct slice w, char out[NAMES_MAX_BYTES])
{
	while (w.n && is_one_of(w.p[0], "[(<"))
		w = slice_from(w, 1);
	while (w.n && is_one_of(w.p[w.n - 1], "])>;,."))
		w.n--;
	w = slice_first(w, NAMES_MAX_BYTES);
	for (size_t i = 0; i < w.n; i++)
		out[i] = (char)(w.p[i] >= 'A' && w.p[i] <= 'Z' ? w.p[i] + 32 : w.p[i]);
	return slice_of(out, w.n);
}

static bool is_nobody(struct slice host)
{
	return host.n == 0 || slice_eq(host, SLICE("localhost")) ||
	       slice_eq(host, SLICE("localhost.localdomain")) || slice_eq(host, SLICE("unknown")) ||
	       slice_eq(host, SLICE("127.0.0.1"));
}

static int received(struct mbox_reader *r, struct slice value)
{
	const char *semicolon = value.n ? memrchr(value.p, ';', value.n) : NULL;
	struct slice from = {0}, by = {0}, rest;
	char a[NAMES_MAX_BYTES], b[NAMES_MAX_BYTES];
	struct message m = {.op = MESSAGE_MSG, .name = NAMES_NONE, .file = r->file};
	int e;

	r->headers++;
	if (semicolon) {
		rest = slice_first(value, (size_t)(semicolon - value.p));
		while (slice_trim(rest).n > 0) {
			struct slice w = word(&rest);

			if (!from.n && slice_eq_nocase(w, SLICE("from")))
				from = word(&rest);
			else if (!by.n && slice_eq_nocase(w, SLICE("by")))
				by = word(&rest);
		}
	}
	from = host_of(from, a);
	by = host_of(by, b);
	if (!semicolon || is_nobody(from) || is_nobody(by) ||
	    mail_date_parse(slice_from(value, (size_t)(semicolon + 1 - value.p)), &m.time_ns) < 0) {
		r->unusable++;
		return 0;
	}
	e = names_intern(r->nodes, from, &m.sender);
	if (e == 0)
		e = names_intern(r->nodes, by, &m.receiver);
	return e < 0 ? e : r->sink.put(r->sink.context, &m, 1);
}

static int header_end(struct mbox_reader *r)
{
	struct slice rest = slice_of(r->header, r->header_n), name = slice_cut(&rest, ':');

	r->header_n = 0;
	return rest.p && slice_eq_nocase(slice_trim(name), SLICE("Received")) ? received(r, rest)
									      : 0;
}

static void header_add(struct mbox_reader *r, struct slice text)
{
	size_t n = MIN(text.n, MBOX_MAX_HEADER - r->header_n);

	if (n > 0)
		memcpy(r->header + r->header_n, text.p, n);
	r->header_n += n;
}

int mbox_reader_line(struct mbox_reader *r, struct slice line)
{
	int e = 0;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (slice_starts(line, SLICE("From "))) {
		e = header_end(r);
		r->in_header = true;
		r->mails++;
		return e;
	}
	if (!r->in_header)
		return 0;
	if (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t')) {
		header_add(r, line);
		return 0;
	}
	e = header_end(r);
	r->in_header = line.n > 0;
	header_add(r, line);
	return e;
}

int mbox_reader_finish(struct mbox_reader *r)
{
	return header_end(r);
}

bool mbox_sniff(struct slice head)
{
	static const char key[] = "\nReceived:";

	return slice_starts(head, SLICE("Received:")) ||
	       slice_starts(head, SLICE("Return-Path:")) ||
	       (slice_starts(head, SLICE("From ")) && head.n &&
		memmem(head.p, head.n, key, sizeof(key) - 1));
}
