/* lang/ast.c - how operators are written. */
#include "lang/ast.h"

static const char *const texts[AST_OPS] = {
	[OP_NONE] = "",
	[OP_OR] = "||",
	[OP_AND] = "&&",
	[OP_EQ] = "=",
	[OP_NE] = "!=",
	[OP_LT] = "<",
	[OP_LE] = "<=",
	[OP_GT] = ">",
	[OP_GE] = ">=",
	[OP_MATCH] = "=~",
	[OP_NO_MATCH] = "!~",
	[OP_IN] = "in",
	[OP_BEFORE] = "->",
	[OP_DIRECT] = "=>",
	[OP_NOT_BEFORE] = "!->",
	[OP_NOT_DIRECT] = "!=>",
	[OP_CHILD] = ">",
	[OP_DESCENDANT] = ">>",
	[OP_PARENT] = "<",
	[OP_ANCESTOR] = "<<",
	[OP_SIBLING] = "~",
	[OP_NOT_CHILD] = "!>",
	[OP_NOT_DESCENDANT] = "!>>",
	[OP_NOT_PARENT] = "!<",
	[OP_NOT_ANCESTOR] = "!<<",
	[OP_NOT_SIBLING] = "!~",
	[OP_WITH_CHILD] = "&>",
	[OP_WITH_DESCENDANT] = "&>>",
	[OP_WITH_PARENT] = "&<",
	[OP_WITH_ANCESTOR] = "&<<",
	[OP_WITH_SIBLING] = "&~",
	[OP_ADD] = "+",
	[OP_SUB] = "-",
	[OP_MUL] = "*",
	[OP_DIV] = "/",
	[OP_MOD] = "%",
	[OP_POW] = "^",
	[OP_NEG] = "-",
	[OP_NOT] = "!",
};

const char *ast_op_text(enum ast_op op)
{
	return texts[op];
}
