/* api/tool_docs.c - the language's page, built in, a section or what is looked for in it at a time.
 */
#include <errno.h>
#include <language_text.h>
#include <stdio.h>
#include <strings.h>

#include "api/tool_int.h"
#include "base/cleanup.h"

#define PARAGRAPH_MOST 3000
#define WORDS_MOST     8

/* Goes through the page: sections begin with "## ", paragraphs are divided by empty lines (not in
 * the middle of ```). */
struct reading {
	struct slice rest;
	struct slice section; /* title of the one at hand; "introduction" before the first */
};

static struct reading page_open(void)
{
	return (struct reading){slice_of(language_text, sizeof(language_text)),
				SLICE("introduction")};
}

/* The next paragraph; false at the end. */
static bool page_next(struct reading *x, struct slice *ret_paragraph)
{
	const char *begin = x->rest.p, *end = begin;
	bool fenced = false;

	while (x->rest.n > 0) {
		struct slice line = slice_cut(&x->rest, '\n');

		if (!fenced && slice_starts(line, SLICE("## ")))
			x->section = slice_from(line, 3);
		if (slice_starts(line, SLICE("```")))
			fenced = !fenced;
		if (!fenced && slice_trim(line).n == 0) {
			if (end > begin)
				break;
			begin = end = x->rest.p ? x->rest.p : begin;
			continue;
		}
		end = line.p + line.n;
	}
	*ret_paragraph = slice_of(begin, (size_t)(end - begin));
	return end > begin;
}

static bool contains(struct slice text, struct slice word)
{
	for (size_t i = 0; i + word.n <= text.n; i++)
		if (strncasecmp(text.p + i, word.p, word.n) == 0)
			return true;
	return false;
}

static bool contains_all(struct slice text, struct slice words)
{
	for (int i = 0; i < WORDS_MOST && words.p && words.n; i++) {
		struct slice word = slice_trim(slice_cut(&words, ' '));

		if (word.n && !contains(text, word))
			return false;
	}
	return true;
}

static int list_topics(struct tool_call *call)
{
	struct reading x = page_open();
	struct slice paragraph, section = {0};
	int r = 0;

	while (r == 0 && page_next(&x, &paragraph)) {
		if (slice_eq(section, x.section))
			continue;
		section = x.section;
		call->total++;
		tool_row(call);
		tool_put_text(&call->w, "topic", section);
		r = tool_row_end(call);
	}
	snprintf(call->summary, sizeof(call->summary),
		 "the sections of CausetQL's description; TraceQL is part of it.  Give one as "
		 "topic, or words as find");
	return MIN(r, 0);
}

int tool_docs(struct tool_call *call)
{
	struct slice topic = tool_value(call, "topic")->text;
	struct slice find = slice_trim(tool_value(call, "find")->text);
	struct reading x = page_open();
	struct slice paragraph;
	int r = 0;

	if (topic.n == 0 && find.n == 0)
		return list_topics(call);
	while (r == 0 && page_next(&x, &paragraph)) {
		if (topic.n && !slice_eq_nocase(topic, x.section))
			continue;
		if (!contains_all(paragraph, find))
			continue;
		call->total++;
		tool_row(call);
		if (topic.n == 0)
			tool_put_text(&call->w, "topic", x.section);
		json_put_name(&call->w, "text");
		tool_put_cut(&call->w, paragraph, PARAGRAPH_MOST);
		r = tool_row_end(call);
	}
	if (r >= 0 && call->total == 0)
		return tool_fail(call, -ENOENT,
				 "nothing is said about that: docs without arguments lists the "
				 "topics");
	snprintf(call->summary, sizeof(call->summary), "%llu paragraphs about CausetQL",
		 (unsigned long long)call->total);
	return MIN(r, 0);
}
