/* api/tracepoint_text.c - a text of tracepoint definitions, checked and cut into its statements. */
#include "api/tracepoint_text.h"

#include <errno.h>

#include "exec/tracepoint_names.h"
#include "lang/check.h"
#include "lang/parse.h"

static int compile(struct slice text, struct catalog *catalog, struct arena *arena,
		   struct diags *diags, struct ast_program **ret_program)
{
	struct check_options options = {.unknown_tracepoints = UNKNOWN_ACCEPT};
	struct tracepoint_names names;
	int r;

	tracepoint_names_init(&names, catalog);
	options.names = &names.names;
	r = lang_compile(text, DIALECT_CAUSETQL, &options, arena, diags, ret_program);
	tracepoint_names_done(&names);
	return r;
}

int tracepoint_text_read(struct slice text, struct catalog *catalog, struct arena *arena,
			 struct diags *diags, struct tracepoint_row **ret_rows, size_t *ret_n)
{
	struct ast_program *program = NULL;
	struct tracepoint_row *rows;
	size_t n = 0;
	int r = compile(text, catalog, arena, diags, &program);

	if (r < 0 || diags->errors)
		return r < 0 ? r : -EINVAL;
	rows = arena_zalloc(arena, program->n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (const struct ast_statement *s = program->first; s; s = s->next) {
		if (s->kind != AST_STATEMENT_TRACEPOINT) {
			diag_add(diags, DIAG_BAD_DEFINITION, s->range.begin, s->range.end,
				 "only definitions can be kept: Tracepoint NAME = { … }");
			continue;
		}
		rows[n].name = arena_dup(arena, s->name).p;
		rows[n].text = arena_dup(arena, slice_trim(slice_of(text.p + s->range.begin,
								    s->range.end - s->range.begin)))
				       .p;
		if (!rows[n].name || !rows[n++].text)
			return -ENOMEM;
	}
	if (n == 0 && diags->errors == 0)
		diag_add(diags, DIAG_BAD_DEFINITION, 0, (uint32_t)text.n,
			 "there is no definition: Tracepoint NAME = { … }");
	if (diags->errors)
		return diags->no_memory ? -ENOMEM : -EINVAL;
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}
