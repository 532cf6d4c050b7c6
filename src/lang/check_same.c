/* lang/check_same.c - questions about checked expressions: are two the same, is there an aggregate?
 */
#include "lang/check_int.h"

static bool same_list(struct ast_expr *const *a, size_t n, struct ast_expr *const *b, size_t m)
{
	if (n != m)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!check_same(a[i], b[i]))
			return false;
	return true;
}

static bool same_path(const struct ast_path *a, const struct ast_path *b)
{
	return a->kind == b->kind && a->binding == b->binding && a->relative == b->relative &&
	       a->scope == b->scope && slice_eq(a->key, b->key) && a->column == b->column &&
	       (a->field ? a->field->id : WF_NONE) == (b->field ? b->field->id : WF_NONE) &&
	       a->constant == b->constant && a->statement == b->statement;
}

/* Behind Let and As. */
static const struct ast_expr *meant(const struct ast_expr *e)
{
	while (e->kind == AST_PATH && e->path.kind == AST_PATH_LET && e->path.value)
		e = e->path.value;
	return e;
}

bool check_same(const struct ast_expr *a, const struct ast_expr *b)
{
	a = meant(a);
	b = meant(b);
	if (a == b)
		return true;
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case AST_INT:
	case AST_DURATION:
	case AST_BOOL:
		return a->integer == b->integer;
	case AST_FLOAT:
		return a->real == b->real;
	case AST_STRING:
		return slice_eq(a->string, b->string);
	case AST_NIL:
	case AST_STAR:
		return true;
	case AST_PATH:
		return same_path(&a->path, &b->path);
	case AST_CALL:
		return a->call.function == b->call.function &&
		       same_list(a->call.args, a->call.n, b->call.args, b->call.n);
	case AST_UNARY:
		return a->op.op == b->op.op && check_same(a->op.left, b->op.left);
	case AST_BINARY:
		return a->op.op == b->op.op && check_same(a->op.left, b->op.left) &&
		       check_same(a->op.right, b->op.right);
	case AST_LIST:
		return same_list(a->list.items, a->list.n, b->list.items, b->list.n);
	case AST_INDEX:
		return check_same(a->index.of, b->index.of) && check_same(a->index.at, b->index.at);
	default:
		return false;
	}
}

bool check_aggregates(const struct ast_expr *e)
{
	switch (e->kind) {
	case AST_PATH:
		return e->path.kind == AST_PATH_LET && e->path.aggregate;
	case AST_CALL:
		if (e->call.aggregate)
			return true;
		for (size_t i = 0; i < e->call.n; i++)
			if (check_aggregates(e->call.args[i]))
				return true;
		return false;
	case AST_UNARY:
		return check_aggregates(e->op.left);
	case AST_BINARY:
		return check_aggregates(e->op.left) || check_aggregates(e->op.right);
	case AST_LIST:
		for (size_t i = 0; i < e->list.n; i++)
			if (check_aggregates(e->list.items[i]))
				return true;
		return false;
	case AST_INDEX:
		return check_aggregates(e->index.of) || check_aggregates(e->index.at);
	case AST_BY:
		return check_aggregates(e->by.of);
	default:
		return false;
	}
}
