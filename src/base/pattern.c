/* base/pattern.c - regular expressions: translated to POSIX extended ones. */
#include "base/pattern.h"

#include <errno.h>
#include <locale.h>
#include <regex.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SMALL_TEXT 255 /* bytes that are matched without asking for memory */

#define GROWTH     12 /* the longest that one byte of a pattern becomes */

struct pattern {
	regex_t compiled;
};

struct translation {
	struct slice in;
	size_t at;
	char *out;
	size_t n;
	bool in_class;
	struct error *error;
};

static void put(struct translation *t, const char *text)
{
	size_t n = strlen(text);

	memcpy(t->out + t->n, text, n);
	t->n += n;
}

static const char *class_of(char c, bool in_class)
{
	switch (c) {
	case 'd':
		return in_class ? "0-9" : "[0-9]";
	case 'D':
		return in_class ? NULL : "[^0-9]";
	case 'w':
		return in_class ? "[:alnum:]_" : "[[:alnum:]_]";
	case 'W':
		return in_class ? NULL : "[^[:alnum:]_]";
	case 's':
		return in_class ? "[:space:]" : "[[:space:]]";
	case 'S':
		return in_class ? NULL : "[^[:space:]]";
	case 'b':
		return in_class ? NULL : "\\b";
	case 'n':
		return "\n";
	case 't':
		return "\t";
	default:
		return NULL;
	}
}

static int escape(struct translation *t)
{
	static const char plain[] = "\\^$.|?*+()[]{}-/\"'`#&~,:;<>=!%@_ ";
	char c = t->at + 1 < t->in.n ? t->in.p[t->at + 1] : 0;
	const char *class = class_of(c, t->in_class);
	char literal[3] = {'\\', c, 0};

	if (class) {
		put(t, class);
	} else if (c && strchr(plain, c)) {
		/* Inside brackets a backslash would be one; outside only these need it. */
		if (t->in_class && (c == ']' || c == '\\' || c == '^' || c == '-'))
			return error_at(t->error, -EINVAL, t->at,
					"\\%c inside [ ] is not supported; write (…|…)", c);
		put(t, !t->in_class && strchr("\\^$.|?*+()[]{}", c) ? literal : literal + 1);
	} else {
		return error_at(t->error, -EINVAL, t->at,
				c ? "\\%c is not known here" : "a backslash at the end", c);
	}
	t->at += 2;
	return 0;
}

/* "(?:" is a group like another; other "(?" are not known. */
static int group(struct translation *t)
{
	if (t->at + 1 < t->in.n && t->in.p[t->at + 1] == '?') {
		if (t->at + 2 >= t->in.n || t->in.p[t->at + 2] != ':')
			return error_at(t->error, -EINVAL, t->at,
					"only (?: … ) and a leading (?i) are known of (? …)");
		t->at += 2;
	}
	put(t, "(");
	t->at++;
	return 0;
}

static int translate_one(struct translation *t)
{
	char c = t->in.p[t->at], one[2] = {c, 0};

	if (c == 0)
		return error_at(t->error, -EINVAL, t->at, "a NUL cannot be matched");
	if (c == '\\')
		return escape(t);
	if (!t->in_class && c == '(')
		return group(t);
	if (!t->in_class && c == '?' && t->at > 0 && strchr("*+?}", t->in.p[t->at - 1]) &&
	    (t->at < 2 || t->in.p[t->at - 2] != '\\')) {
		t->at++; /* lazy: the same texts match */
		return 0;
	}
	if (!t->in_class && c == '[') {
		t->in_class = true;
		put(t, one);
		t->at++;
		/* A bracket right behind the opening one is literal. */
		if (t->at < t->in.n && t->in.p[t->at] == '^') {
			put(t, "^");
			t->at++;
		}
		if (t->at < t->in.n && t->in.p[t->at] == ']') {
			put(t, "]");
			t->at++;
		}
		return 0;
	}
	if (t->in_class && c == '[' && t->at + 1 < t->in.n && t->in.p[t->at + 1] == ':') {
		while (t->at < t->in.n && t->in.p[t->at] != ']') {
			one[0] = t->in.p[t->at++];
			put(t, one);
		}
		return 0;
	}
	if (t->in_class && c == ']')
		t->in_class = false;
	put(t, one);
	t->at++;
	return 0;
}

/* Bytes are characters, whatever the program's locale says: the same answer everywhere. */
static int compile_bytes(struct pattern *p, const char *text, int flags)
{
	locale_t bytes = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	int r;

	if (bytes == (locale_t)0)
		return REG_ESPACE;
	before = uselocale(bytes);
	r = regcomp(&p->compiled, text, flags);
	uselocale(before);
	freelocale(bytes);
	return r;
}

int pattern_new(struct slice text, bool whole, struct pattern **ret_pattern, struct error *error)
{
	struct translation t = {.in = text, .error = error};
	int flags = REG_EXTENDED | REG_NOSUB, r;
	_cleanup_(freep)
	struct pattern *p = calloc(1, sizeof(*p));
	_cleanup_(freep)
	char *out = NULL;

	if (text.n > PATTERN_MAX_BYTES)
		return error_at(error, -EINVAL, PATTERN_MAX_BYTES, "a pattern has at most %d bytes",
				PATTERN_MAX_BYTES);
	out = malloc(text.n * GROWTH + 16);
	if (!p || !out)
		return -ENOMEM;
	t.out = out;
	if (slice_starts(text, SLICE("(?i)"))) {
		flags |= REG_ICASE;
		t.at = 4;
	}
	if (whole)
		put(&t, "^(");
	for (r = 0; r == 0 && t.at < text.n;)
		r = translate_one(&t);
	if (r < 0)
		return r;
	if (whole)
		put(&t, ")$");
	t.out[t.n] = 0;
	r = compile_bytes(p, t.out, flags);
	if (r != 0) {
		char reason[128];

		regerror(r, &p->compiled, reason, sizeof(reason));
		return r == REG_ESPACE
			       ? -ENOMEM
			       : error_set(error, -EINVAL, "no regular expression: %s", reason);
	}
	*ret_pattern = TAKE_PTR(p);
	return 0;
}

struct pattern *pattern_free(struct pattern *p)
{
	if (p)
		regfree(&p->compiled);
	free(p);
	return NULL;
}

/* The text is copied to have a NUL behind it: REG_STARTEND needs none, but sanitizers look for
 * the end of every string.  Without memory for it, it is matched
 * where it lies. */
bool pattern_matches(const struct pattern *p, struct slice text)
{
	regmatch_t at = {.rm_so = 0, .rm_eo = (regoff_t)text.n};
	char small[SMALL_TEXT + 1];
	char *large = text.n > SMALL_TEXT ? malloc(text.n + 1) : NULL;
	char *copy = text.n > SMALL_TEXT ? large : small;
	const char *from = text.n ? text.p : "";
	bool matches;

	if (copy) {
		memcpy(copy, from, text.n);
		copy[text.n] = 0;
	}
	matches = regexec(&p->compiled, copy ? copy : from, 1, &at, REG_STARTEND) == 0;
	free(large);
	return matches;
}
