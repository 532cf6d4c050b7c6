/* api/tempo_exemplars.c - from a question for a series to the spans that it counts.
 *
 * Only the outermost stages are looked for; what stands in quotes, braces and parentheses is
 * passed over.  Whether the outcome is a question is for the parser to say. */
#include "api/tempo_exemplars.h"

#include <string.h>

#include "base/cleanup.h"

/* The byte behind the text in quotes, or behind the group, that begins at i. */
static size_t skip(struct slice s, size_t i)
{
	size_t depth = 0;
	char quote = 0;

	for (; i < s.n; i++) {
		char c = s.p[i];

		if (quote) {
			if (c == '\\' && quote == '"')
				i++;
			else if (c == quote)
				quote = 0;
		} else if (c == '"' || c == '`') {
			quote = c;
		} else if (c == '{' || c == '(') {
			depth++;
		} else if ((c == '}' || c == ')') && depth > 0) {
			depth--;
		}
		if (!quote && depth == 0)
			return MIN(i + 1, s.n);
	}
	return s.n;
}

static bool is_word(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t blanks(struct slice s, size_t i)
{
	while (i < s.n && strchr(" \t\r\n", s.p[i]))
		i++;
	return i;
}

static struct slice word_at(struct slice s, size_t i)
{
	size_t end = i;

	while (end < s.n && is_word(s.p[end]))
		end++;
	return slice_of(s.p + i, end - i);
}

static bool is_series(struct slice word)
{
	static const struct slice end = SLICE("_over_time");

	return slice_eq(word, SLICE("rate")) ||
	       (word.n > end.n && memcmp(word.p + word.n - end.n, end.p, end.n) == 0);
}

/* What stands in the parentheses at i, up to the first comma if only that is wanted. */
static struct slice group_at(struct slice s, size_t i, bool first)
{
	size_t end = skip(s, i), at = i + 1;

	if (end < i + 2 || s.p[end - 1] != ')')
		return slice_of(NULL, 0);
	while (first && at < end - 1 && s.p[at] != ',')
		at = skip(s, at);
	return slice_trim(slice_of(s.p + i + 1, (first ? at : end - 1) - i - 1));
}

bool tempo_exemplars_ask(struct slice text, struct buffer *out)
{
	struct slice about, by = slice_of(NULL, 0);
	size_t i = 0, stage, at;

	for (;; i = skip(text, i)) {
		if (i >= text.n)
			return false;
		if (text.p[i] != '|')
			continue;
		stage = blanks(text, i + 1);
		if (stage < text.n && is_series(word_at(text, stage)))
			break;
	}
	at = blanks(text, stage + word_at(text, stage).n);
	if (at >= text.n || text.p[at] != '(')
		return false;
	about = group_at(text, at, true);
	at = blanks(text, skip(text, at));
	if (slice_eq(word_at(text, at), SLICE("by"))) {
		at = blanks(text, at + 2);
		if (at < text.n && text.p[at] == '(')
			by = group_at(text, at, false);
	}
	buffer_slice(out, slice_of(text.p, i));
	if (about.n || by.n)
		buffer_printf(out, "| select(%.*s%s%.*s)", SLICE_ARG(by),
			      about.n && by.n ? ", " : "", SLICE_ARG(about));
	return true;
}
