/* lang/diag.c - diagnostics: the table of codes, the list, and its two forms as text.
 *
 * Codes are part of the interface: scripts and editors know them.  A row may be added, never
 * renumbered. */
#include "lang/diag.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/utf8.h"

#define SHOW_MAX_COLUMNS 160 /* of a line of the text that is quoted */

static const struct {
	const char *text, *title;
} codes[DIAG_CODES] = {
	[DIAG_BAD_UTF8] = {"E001", "not UTF-8"},
	[DIAG_BAD_CHARACTER] = {"E002", "a character that has no meaning"},
	[DIAG_BAD_NUMBER] = {"E003", "a number that is none"},
	[DIAG_OPEN_STRING] = {"E004", "a string that is not closed"},
	[DIAG_BAD_ESCAPE] = {"E005", "an unknown escape"},
	[DIAG_OPEN_COMMENT] = {"E006", "a comment that is not closed"},
	[DIAG_TOO_LONG] = {"E007", "the text is too long"},
	[DIAG_UNEXPECTED] = {"E101", "unexpected word or sign"},
	[DIAG_UNCLOSED] = {"E102", "a bracket that is not closed"},
	[DIAG_TOO_DEEP] = {"E103", "nested too deeply"},
	[DIAG_REPEATED] = {"E104", "a clause that may stand only once"},
	[DIAG_UNTIL_NEGATED] = {"E105", "Until cannot be negated"},
	[DIAG_TOO_FEW_STEPS] = {"E106", "a sequence needs two steps"},
	[DIAG_UNKNOWN_NAME] = {"E201", "unknown name"},
	[DIAG_UNKNOWN_SOURCE] = {"E202", "unknown source"},
	[DIAG_UNKNOWN_FUNCTION] = {"E203", "unknown function"},
	[DIAG_UNKNOWN_FIELD] = {"E204", "unknown field"},
	[DIAG_TWICE] = {"E205", "a name given twice"},
	[DIAG_CYCLE] = {"E206", "a definition that needs itself"},
	[DIAG_UNKNOWN_HINT] = {"E207", "unknown hint"},
	[DIAG_BAD_DEFINITION] = {"E208", "a definition from elsewhere that is broken"},
	[DIAG_TYPE] = {"E301", "types do not go together"},
	[DIAG_ARGUMENTS] = {"E302", "wrong number of arguments"},
	[DIAG_ARGUMENT_TYPE] = {"E303", "an argument of the wrong type"},
	[DIAG_STAGE_TYPE] = {"E304", "a stage that does not fit what comes in"},
	[DIAG_BAD_REGEX] = {"E305", "a regular expression that is none"},
	[DIAG_RANGE] = {"E306", "a value out of range"},
	[DIAG_JOIN_CONDITION] = {"E401", "a join that cannot be made"},
	[DIAG_AGGREGATE_PLACE] = {"E402", "an aggregate where none can be"},
	[DIAG_NOT_GROUPED] = {"E403", "neither grouped by nor aggregated"},
	[DIAG_STAGE_PLACE] = {"E404", "a function in the wrong place"},
	[DIAG_DATASET] = {"E405", "a dataset that cannot be"},
	[DIAG_COLUMNS_DIFFER] = {"E406", "unions of different columns"},
	[DIAG_CLAUSE] = {"E407", "clauses that exclude each other"},
	[DIAG_REFUSED] = {"E501", "cannot run in this way"},
	[DIAG_END_UNBOUND] = {"W101", "an unbound name read as the From alias"},
	[DIAG_CLOCK_RULE] = {"W102", "the order leaned on a clock"},
	[DIAG_NEAR_FIELD] = {"W103", "an attribute that is nearly the name of a field"},
	[DIAG_PROVIDER_SYMBOL] = {"W104", "a name only the provider can know"},
	[DIAG_SHADOWED] = {"W105", "a name that hides another"},
	[DIAG_UNION_ORDER] = {"W106", "OrderBy and Limit belong to the last part of a Union"},
	[DIAG_UNKNOWN_TRACEPOINT] = {"W107", "a tracepoint nobody defined"},
};

void diags_init(struct diags *d, struct arena *arena)
{
	d->arena = arena;
	d->n = d->errors = d->more = 0;
	d->no_memory = false;
}

void diag_add(struct diags *d, enum diag_code code, uint32_t begin, uint32_t end,
	      const char *format, ...)
{
	char *message;
	va_list args;
	int n;

	for (size_t i = 0; i < d->n; i++)
		if (d->items[i].code == code && d->items[i].begin == begin &&
		    d->items[i].end == end)
			return;
	if (diag_severity(code) == DIAG_ERROR)
		d->errors++;
	if (d->n == DIAG_MAX) {
		d->more++;
		return;
	}
	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	message = n < 0 ? NULL : arena_alloc(d->arena, (size_t)n + 1);
	if (!message) {
		d->no_memory = true;
		return;
	}
	va_start(args, format);
	vsnprintf(message, (size_t)n + 1, format, args);
	va_end(args);
	d->items[d->n++] =
		(struct diag){.code = code, .begin = begin, .end = end, .message = message};
}

void diag_fix(struct diags *d, uint32_t begin, uint32_t end, struct slice text)
{
	struct slice copy;

	if (d->n == 0 || d->more > 0)
		return;
	copy = arena_dup(d->arena, text);
	if (!copy.p) {
		d->no_memory = true;
		return;
	}
	d->items[d->n - 1].fix = (struct diag_fix){begin, end, copy.p};
}

static int diag_cmp(const void *a, const void *b)
{
	const struct diag *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (diag_severity(x->code) != diag_severity(y->code))
		return diag_severity(x->code) == DIAG_ERROR ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->code > y->code) - (x->code < y->code);
}

void diags_sort(struct diags *d)
{
	qsort(d->items, d->n, sizeof(d->items[0]), diag_cmp);
}

const char *diag_code_text(enum diag_code code)
{
	return codes[code].text;
}

const char *diag_code_title(enum diag_code code)
{
	return codes[code].title;
}

enum diag_severity diag_severity(enum diag_code code)
{
	return codes[code].text[0] == 'W' ? DIAG_WARNING : DIAG_ERROR;
}

struct diag_place diag_place(struct slice text, uint32_t at)
{
	struct diag_place place = {1, 1};

	for (size_t i = 0; i < text.n && i < at; i++) {
		if (text.p[i] == '\n') {
			place.line++;
			place.column = 1;
		} else if (((uint8_t)text.p[i] & 0xc0) != 0x80) {
			place.column++;
		}
	}
	return place;
}

static void diag_format_one(const struct diag *item, struct slice text, struct buffer *out)
{
	struct diag_place place = diag_place(text, item->begin);

	buffer_printf(out, "%u:%u: %s: %s", place.line, place.column, diag_code_text(item->code),
		      item->message);
}

void diags_first_error(const struct diags *d, struct slice text, struct buffer *out)
{
	const struct diag *first = NULL;

	for (size_t i = 0; i < d->n; i++)
		if (diag_severity(d->items[i].code) == DIAG_ERROR &&
		    (!first || d->items[i].begin < first->begin))
			first = &d->items[i];
	if (first)
		diag_format_one(first, text, out);
}

static void more_format(const struct diags *d, struct buffer *out)
{
	if (d->more > 0)
		buffer_printf(out, "and %zu more\n", d->more);
}

void diags_format(const struct diags *d, struct slice text, struct buffer *out)
{
	diags_format_file(d, text, NULL, out);
}

void diags_format_file(const struct diags *d, struct slice text, const char *file,
		       struct buffer *out)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct diag *item = &d->items[i];

		if (file && file[0])
			buffer_printf(out, "%s:", file);
		diag_format_one(item, text, out);
		if (item->fix.text && item->fix.text[0])
			buffer_printf(out, "; fix: %s", item->fix.text);
		buffer_byte(out, '\n');
	}
	more_format(d, out);
}

/* The line around `at`, without its end. */
static struct slice line_of(struct slice text, size_t at)
{
	size_t begin = at < text.n ? at : text.n, end = begin;

	while (begin > 0 && text.p[begin - 1] != '\n')
		begin--;
	while (end < text.n && text.p[end] != '\n' && text.p[end] != '\r')
		end++;
	return slice_of(text.p ? text.p + begin : NULL, end - begin);
}

/* The line and, below it, a mark for every character of the range that is on it. */
static void quote(const struct diag *item, struct slice text, struct buffer *out)
{
	struct slice line = line_of(text, item->begin);
	size_t first = item->begin - (size_t)(line.p ? line.p - text.p : 0);
	size_t last = item->end - item->begin + first, columns = 0;

	if (line.n == 0)
		return;
	buffer_text(out, "    ");
	for (size_t i = 0; i < line.n && columns < SHOW_MAX_COLUMNS; i++) {
		uint8_t c = (uint8_t)line.p[i];

		columns += (c & 0xc0) != 0x80;
		buffer_byte(out, c < 0x20 || c == 0x7f ? ' ' : (char)c);
	}
	buffer_text(out, "\n    ");
	columns = 0;
	for (size_t i = 0; (i < line.n || i == first) && columns < SHOW_MAX_COLUMNS; i++) {
		if (i < line.n && ((uint8_t)line.p[i] & 0xc0) == 0x80)
			continue;
		if (i > first && i >= last)
			break;
		buffer_byte(out, i < first ? ' ' : '^');
		columns++;
	}
	buffer_byte(out, '\n');
}

void diags_show(const struct diags *d, struct slice text, const char *file, struct buffer *out)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct diag *item = &d->items[i];

		if (file && file[0])
			buffer_printf(out, "%s:", file);
		diag_format_one(item, text, out);
		buffer_byte(out, '\n');
		quote(item, text, out);
		if (item->fix.text && item->fix.text[0])
			buffer_printf(out, "    fix: %s\n", item->fix.text);
	}
	more_format(d, out);
}
