/* lang/check.h - does a parsed program make sense?
 *
 * Resolves every name, gives every expression its type, applies the rules R1-R10 of the language,
 * and completes the fields of the tree marked "checker".  Whoever plans a query relies on them. */
#ifndef CAUSET_LANG_CHECK_H
#define CAUSET_LANG_CHECK_H

#include "base/arena.h"
#include "lang/ast.h"
#include "lang/diag.h"

/* Names that are defined elsewhere: in a catalogue. */
struct lang_names {
	void *context;
	/* The text of the statement that defines `name` ("Tracepoint X = …", "X = From …"), which
	 * must outlive the check.  -ENOENT if nothing does, other errors end the check. */
	int (*define)(void *context, struct slice name, struct slice *ret_text);
	/* Calls offer() with each known name, NUL-terminated: for "did you mean" and globs. */
	void (*each)(void *context, void (*offer)(void *data, const char *name), void *data);
};

enum check_unknown {
	UNKNOWN_ACCEPT, /* any name may be a tracepoint somewhere; near misses are told */
	UNKNOWN_WARN,
	UNKNOWN_REFUSE,
};

struct check_options {
	const struct lang_names *names; /* NULL: nothing is defined elsewhere */
	enum check_unknown unknown_tracepoints;
	int64_t now_ns; /* what relative times in Over range count from */
};

/* Completes the tree.  0 also if there are mistakes: diags->errors.  -ENOMEM. */
int lang_check(struct ast_program *program, const struct check_options *options,
	       struct arena *arena, struct diags *diags);

/* lang_parse() and lang_check() in one; the check is made only of what parsed. */
int lang_compile(struct slice text, enum lang_dialect dialect, const struct check_options *options,
		 struct arena *arena, struct diags *diags, struct ast_program **ret_program);

#endif
