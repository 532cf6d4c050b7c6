/* tests/fuzz/fuzz_lang.c - any bytes as a program, in both dialects: parsing and checking end,
 * mistakes have a place and a message; what is formatted has the same tree, and formatting it again
 * changes nothing. */
#include <errno.h>
#include <stdlib.h>

#include "fuzz.h"
#include "lang/ast_dump.h"
#include "lang/check.h"
#include "lang/explain.h"
#include "lang/format.h"
#include "lang/lower.h"
#include "lang/parse.h"
#include "lang/rewrite.h"

static void diags_look(const struct diags *diags, struct slice text)
{
	struct buffer out = {0};

	for (size_t i = 0; i < diags->n; i++) {
		const struct diag *d = &diags->items[i];

		if (!d->message || !d->message[0] || d->begin > d->end || d->end > text.n)
			abort();
		if (d->fix.text && (d->fix.begin > d->fix.end || d->fix.end > text.n))
			abort();
	}
	diags_format(diags, text, &out);
	diags_show(diags, text, "file", &out);
	buffer_done(&out);
}

/* What makes sense can be planned, or is refused with a reason; plans can be explained. */
static void plan_look(const struct ast_program *program, struct diags *diags)
{
	for (const struct ast_statement *s = program->first; s; s = s->next) {
		struct buffer out = {0};
		struct plan plan;

		if (s->kind != AST_STATEMENT_QUERY)
			continue;
		if (lang_lower(program, s->query, diags, &plan) < 0) {
			if (diags->errors == 0)
				abort();
			continue;
		}
		plan_explain(&plan, &out);
		plan_explain_live(&plan, &out);
		if (plan_rewrite(&plan, 0) < 0)
			abort();
		plan_explain(&plan, &out);
		buffer_done(&out);
		plan_done(&plan);
	}
}

/* The tree as text; false if there are mistakes. */
static bool tree(struct slice text, enum lang_dialect dialect, struct buffer *out)
{
	struct arena arena = {0};
	struct ast_program *program;
	struct diags diags;
	bool good;

	diags_init(&diags, &arena);
	if (lang_parse(text, dialect, &arena, &diags, &program) < 0)
		abort();
	diags_look(&diags, text);
	ast_dump(program, out);
	good = diags.errors == 0;
	if (good && lang_check(program, NULL, &arena, &diags) < 0)
		abort();
	if (good && diags.errors == 0)
		plan_look(program, &diags);
	diags_look(&diags, text);
	arena_done(&arena);
	return good;
}

static bool format(struct slice text, enum lang_dialect dialect, struct buffer *out)
{
	struct arena arena = {0};
	struct diags diags;
	bool good;

	diags_init(&diags, &arena);
	if (lang_format(text, dialect, &arena, &diags, out) < 0)
		abort();
	good = diags.errors == 0;
	arena_done(&arena);
	return good;
}

static void try(struct slice text, enum lang_dialect dialect)
{
	struct buffer before = {0}, after = {0}, once = {0}, twice = {0};
	bool good = tree(text, dialect, &before);

	if (format(text, dialect, &once) != good)
		abort();
	if (good) {
		if (!tree(buffer_get(&once), dialect, &after) ||
		    !slice_eq(buffer_get(&before), buffer_get(&after)))
			abort();
		if (!format(buffer_get(&once), dialect, &twice) ||
		    !slice_eq(buffer_get(&once), buffer_get(&twice)))
			abort();
	}
	buffer_done(&before);
	buffer_done(&after);
	buffer_done(&once);
	buffer_done(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try(slice_of(data, size), DIALECT_CAUSETQL);
	try(slice_of(data, size), DIALECT_TRACEQL);
	return 0;
}
