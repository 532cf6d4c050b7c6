/* lang/diag.h - what is wrong with a query, as data: the command line, the API and the browser
 * render the same record.
 *
 * A diagnostic has a code that never changes its meaning, a range of bytes in the text, a message
 * of one sentence without a full stop, and where there is an obvious one, a fix: replace a range by
 * a text.  "did you mean" is part of the message and is also the fix.
 *
 * Everything is in the caller's arena.  One thread. */
#ifndef CAUSET_LANG_DIAG_H
#define CAUSET_LANG_DIAG_H

#include "base/arena.h"
#include "base/buffer.h"
#include "core/slice.h"

#define DIAG_MAX 50 /* diagnostics kept for one text; further ones are only counted */

enum diag_severity {
	DIAG_WARNING, /* it runs, and may not mean what was meant */
	DIAG_ERROR,
};

/* E0xx the text itself, E1xx syntax, E2xx names, E3xx types, E4xx rules of the language, E5xx
 * refused in this way of running; W1xx warnings.  diag.c has the table of codes. */
enum diag_code {
	DIAG_BAD_UTF8,
	DIAG_BAD_CHARACTER,
	DIAG_BAD_NUMBER,
	DIAG_OPEN_STRING,
	DIAG_BAD_ESCAPE,
	DIAG_OPEN_COMMENT,
	DIAG_TOO_LONG,
	DIAG_UNEXPECTED,
	DIAG_UNCLOSED,
	DIAG_TOO_DEEP,
	DIAG_REPEATED,
	DIAG_UNTIL_NEGATED,
	DIAG_TOO_FEW_STEPS,
	DIAG_UNKNOWN_NAME,
	DIAG_UNKNOWN_SOURCE,
	DIAG_UNKNOWN_FUNCTION,
	DIAG_UNKNOWN_FIELD,
	DIAG_TWICE,
	DIAG_CYCLE,
	DIAG_UNKNOWN_HINT,
	DIAG_BAD_DEFINITION,
	DIAG_TYPE,
	DIAG_ARGUMENTS,
	DIAG_ARGUMENT_TYPE,
	DIAG_STAGE_TYPE,
	DIAG_BAD_REGEX,
	DIAG_RANGE,
	DIAG_JOIN_CONDITION,
	DIAG_AGGREGATE_PLACE,
	DIAG_NOT_GROUPED,
	DIAG_STAGE_PLACE,
	DIAG_DATASET,
	DIAG_COLUMNS_DIFFER,
	DIAG_CLAUSE,
	DIAG_REFUSED,
	DIAG_END_UNBOUND,     /* W101: language rule R5 */
	DIAG_CLOCK_RULE,      /* W102: given by a run, not by the checker */
	DIAG_NEAR_FIELD,      /* an attribute whose name is nearly a field's */
	DIAG_PROVIDER_SYMBOL, /* a name only a provider can know */
	DIAG_SHADOWED,
	DIAG_UNION_ORDER,
	DIAG_UNKNOWN_TRACEPOINT,
	DIAG_CODES /* how many */
};

struct diag_fix {
	uint32_t begin, end; /* replace these bytes */
	const char *text;    /* by this; NULL: there is no fix */
};

struct diag {
	enum diag_code code;
	uint32_t begin, end; /* bytes of the text; begin == end at its end */
	const char *message;
	struct diag_fix fix;
};

struct diags {
	struct arena *arena;
	struct diag items[DIAG_MAX]; /* in the order they were found; see diags_sort() */
	size_t n;
	size_t errors;  /* of all, also of those not kept */
	size_t more;    /* not kept */
	bool no_memory; /* an allocation failed: the outcome is -ENOMEM */
};

void diags_init(struct diags *d, struct arena *arena);

/* Records one.  A second one of the same code and range is dropped. */
void diag_add(struct diags *d, enum diag_code code, uint32_t begin, uint32_t end,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Gives the newest one a fix; `text` is copied.  Nothing happens if that one was not kept. */
void diag_fix(struct diags *d, uint32_t begin, uint32_t end, struct slice text);

/* By position, errors before warnings. */
void diags_sort(struct diags *d);

/* "E201", "W101" */
const char *diag_code_text(enum diag_code code);

/* A few words: "unknown name".  For lists of the codes. */
const char *diag_code_title(enum diag_code code);

enum diag_severity diag_severity(enum diag_code code);

/* The first error as "3:14: E201: message", for callers with room for one sentence; "" without. */
void diags_first_error(const struct diags *d, struct slice text, struct buffer *out);

struct diag_place {
	uint32_t line, column; /* from 1; columns count characters, not bytes */
};

/* Where a byte is. */
struct diag_place diag_place(struct slice text, uint32_t at);

/* "line:column: code: message", one a line, "; fix: …" behind it where there is one. */
void diags_format(const struct diags *d, struct slice text, struct buffer *out);

/* The same with "FILE:" before each, if there is a name. */
void diags_format_file(const struct diags *d, struct slice text, const char *file,
		       struct buffer *out);

/* For people: the line of the text with the place underlined below each message. */
void diags_show(const struct diags *d, struct slice text, const char *file, struct buffer *out);

#endif
