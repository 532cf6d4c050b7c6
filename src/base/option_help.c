/* base/option_help.c - settings as text: --help, the man page, --print-config. */
#include "base/cleanup.h"
#include "base/option.h"

#define HELP_COLUMN 28 /* where the sentences start */

/* Characters, of which each takes a column in the texts we write. */
static size_t width_of(struct slice s)
{
	size_t wide = 0;

	for (size_t i = 0; i < s.n; i++)
		wide += (s.p[i] & 0xc0) != 0x80; /* not the later bytes of a character */
	return wide;
}

void option_fold(const char *text, size_t indent, size_t used, size_t columns, struct buffer *out)
{
	struct slice rest = slice_cstr(text);
	size_t at = used;
	bool first = true;

	while (rest.p) {
		struct slice word = slice_cut(&rest, ' ');
		size_t wide = width_of(word);

		if (!first && at + 1 + wide > columns) {
			buffer_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			buffer_byte(out, ' ');
			at++;
		}
		buffer_slice(out, word);
		at += wide;
		first = false;
	}
}

static const char *value_word(const struct option *o)
{
	static const char *const words[] = {
		[OPTION_STRING] = "TEXT",   [OPTION_INT] = "N",     [OPTION_SIZE] = "SIZE",
		[OPTION_DURATION] = "TIME", [OPTION_PORT] = "PORT", [OPTION_CHOICE] = "WORD",
		[OPTION_LIST] = "LIST",
	};

	if (o->type == OPTION_BOOL)
		return NULL;
	return o->value ? o->value : words[o->type];
}

static bool shows_default(const struct option *o)
{
	return o->fallback && *o->fallback && o->type != OPTION_BOOL;
}

static void help_text(const struct option *o, struct buffer *text)
{
	buffer_clear(text);
	buffer_text(text, o->doc);
	if (o->type == OPTION_CHOICE) {
		buffer_text(text, ": ");
		for (int i = 0; o->choices[i]; i++)
			buffer_printf(text, "%s%s", i ? ", " : "", o->choices[i]);
	}
	if (shows_default(o))
		buffer_printf(text, " [%s]", o->fallback);
	else if (o->type == OPTION_BOOL && o->fallback && strcmp(o->fallback, "on") == 0)
		buffer_printf(text, " [on; --no-%s]", o->name);
}

void option_help(const struct option *table, size_t columns, struct buffer *out)
{
	size_t n = option_count(table);
	struct buffer text = {0};
	const char *group = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct option *o = &table[i];
		const char *word = value_word(o);
		size_t start = out->n, used;

		if (o->group && (!group || strcmp(group, o->group) != 0)) {
			group = o->group;
			buffer_printf(out, "%s%s:\n", out->n ? "\n" : "", group);
			start = out->n;
		}
		if (o->letter)
			buffer_printf(out, "  -%c, ", o->letter);
		else
			buffer_text(out, "      ");
		buffer_printf(out, "--%s%s%s", o->name, word ? " " : "", word ? word : "");
		used = out->failed ? 0 : width_of(slice_of(out->p + start, out->n - start));
		if (used + 2 > HELP_COLUMN) {
			buffer_printf(out, "\n%*s", HELP_COLUMN, "");
		} else {
			buffer_printf(out, "%*s", (int)(HELP_COLUMN - used), "");
		}
		help_text(o, &text);
		option_fold(buffer_cstr(&text), HELP_COLUMN, HELP_COLUMN, columns, out);
		buffer_byte(out, '\n');
	}
	if (text.failed)
		out->failed = true;
	buffer_done(&text);
}

/* Text as man(7) wants it: hyphens that are minus signs, no line that looks like a request. */
static void man_text(const char *text, struct buffer *out)
{
	for (const char *p = text; *p; p++) {
		if (*p == '-')
			buffer_text(out, "\\-");
		else if (*p == '\\')
			buffer_text(out, "\\e");
		else if ((*p == '.' || *p == '\'') && p == text)
			buffer_printf(out, "\\&%c", *p);
		else
			buffer_byte(out, *p);
	}
}

void option_help_man(const struct option *table, struct buffer *out)
{
	size_t n = option_count(table);
	struct buffer text = {0};
	const char *group = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct option *o = &table[i];
		const char *word = value_word(o);

		if (o->group && (!group || strcmp(group, o->group) != 0)) {
			group = o->group;
			buffer_printf(out, ".SS %s\n", group);
		}
		buffer_text(out, ".TP\n");
		if (o->letter)
			buffer_printf(out, "\\fB\\-%c\\fR, ", o->letter);
		buffer_text(out, "\\fB\\-\\-");
		man_text(o->name, out);
		buffer_printf(out, "\\fR%s%s%s\n", word ? " \\fI" : "", word ? word : "",
			      word ? "\\fR" : "");
		help_text(o, &text);
		man_text(buffer_cstr(&text), out);
		buffer_text(out, ".\n");
	}
	if (text.failed)
		out->failed = true;
	buffer_done(&text);
}

void option_print(const struct option_set *set, struct buffer *out)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct option *o = &set->table[i];
		const struct option_origin *origin = &set->origins[i];
		const char *quote;

		if (o->once)
			continue;
		if (!origin->text) {
			buffer_printf(out, "# %s is not set\n", o->name);
			continue;
		}
		quote = *origin->text == 0 || strchr(origin->text, '#') ? "\"" : "";
		buffer_printf(out, "%s = %s%s%s  # %s\n", o->name, quote, origin->text, quote,
			      origin->source);
	}
}
