/* lang/ast_dump.h - a tree as text, for tests: nested lists, one statement a line, no positions. */
#ifndef CAUSET_LANG_AST_DUMP_H
#define CAUSET_LANG_AST_DUMP_H

#include "base/buffer.h"
#include "lang/ast.h"

/* Two programs with the same text mean the same.
 */
void ast_dump(const struct ast_program *program, struct buffer *out);

void ast_dump_expr(const struct ast_expr *e, struct buffer *out);

#endif
