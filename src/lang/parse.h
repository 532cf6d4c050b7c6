/* lang/parse.h - text to tree.
 *
 * A hand-written Pratt parser.  It reports what it does not understand, skips to the next clause,
 * stage or statement and goes on, so that one text yields all its mistakes at once. */
#ifndef CAUSET_LANG_PARSE_H
#define CAUSET_LANG_PARSE_H

#include "base/arena.h"
#include "lang/ast.h"
#include "lang/diag.h"

/* Parses `text`, which must outlive the tree, as everything in `arena`.  0 also if there are
 * mistakes (see diags->errors); the tree then has AST_ERROR and AST_SOURCE_ERROR nodes.  -ENOMEM.
 */
int lang_parse(struct slice text, enum lang_dialect dialect, struct arena *arena,
	       struct diags *diags, struct ast_program **ret_program);

struct tokens;

/* The same from tokens that were read before, which learn what the parser knows of the layout: for
 * the formatter. */
int lang_parse_tokens(struct tokens *tokens, enum lang_dialect dialect, struct arena *arena,
		      struct diags *diags, struct ast_program **ret_program);

#endif
