/* lang/check_join.c - On: a causal condition, or keys that are equal; and what else is asked.
 *
 * R5: an unbound right side of -> is read as the From alias, with a warning.  R7: one side of -> is
 * the joined alias, the other one bound before it. */
#include "base/cleanup.h"
#include "lang/check_int.h"

#define MAX_CONDITIONS 64 /* of one On, connected by && */

struct conditions {
	struct ast_expr *items[MAX_CONDITIONS];
	size_t n;
	bool more;
};

static void split(struct ast_expr *e, struct conditions *out)
{
	if (e->kind == AST_BINARY && e->op.op == OP_AND) {
		e->type = type_of(TYPE_BOOL);
		split(e->op.left, out);
		split(e->op.right, out);
	} else if (out->n == MAX_CONDITIONS) {
		out->more = true;
	} else {
		out->items[out->n++] = e;
	}
}

/* The alias an operand of -> stands for; NULL, reported. */
static const struct ast_binding *operand(struct checker *c, struct check_scope *s,
					 struct ast_expr *e, bool right)
{
	char name[TYPE_NAME_BYTES];

	if (e->kind == AST_PATH && e->path.n == 1 && !e->path.dotted && right) {
		bool bound = false;

		for (size_t i = 0; i < s->n_bindings; i++)
			bound |= slice_eq(s->bindings[i]->name, e->path.parts[0].text);
		if (!bound && s->bindings[0]->name.n) {
			diag_add(c->diags, DIAG_END_UNBOUND, e->range.begin, e->range.end,
				 "'%.*s' is bound nowhere; read as '%.*s', what From is about",
				 SLICE_ARG(slice_first(e->path.parts[0].text, 60)),
				 SLICE_ARG(s->bindings[0]->name));
			diag_fix(c->diags, e->range.begin, e->range.end, s->bindings[0]->name);
			e->path.kind = AST_PATH_ALIAS;
			e->path.binding = s->bindings[0];
			e->type = s->bindings[0]->type;
			return e->path.binding;
		}
	}
	check_expr(c, s, e);
	if (e->type.tag == TYPE_ERROR)
		return NULL;
	if (e->kind == AST_PATH && e->path.kind == AST_PATH_ALIAS)
		return e->path.binding;
	diag_add(c->diags, DIAG_JOIN_CONDITION, e->range.begin, e->range.end,
		 "-> stands between two aliases, and this is %s", type_name(e->type, name));
	return NULL;
}

static void check_causal(struct checker *c, struct check_scope *s, struct ast_join *j,
			 struct ast_expr *e)
{
	const struct ast_binding *left = operand(c, s, e->op.left, false);
	const struct ast_binding *right = left ? operand(c, s, e->op.right, true) : NULL;

	e->type = type_of(TYPE_BOOL);
	if (!left || !right)
		return;
	if (j->right) {
		diag_add(c->diags, DIAG_JOIN_CONDITION, e->range.begin, e->range.end,
			 "a join has one %s; join the other alias by itself", ast_op_text(j->op));
		return;
	}
	if ((left != &j->binding) == (right != &j->binding)) {
		diag_add(c->diags, DIAG_JOIN_CONDITION, e->range.begin, e->range.end,
			 left == right ? "nothing happens before itself"
				       : "one side of %s must be '%.*s', which this Join is about",
			 ast_op_text(e->op.op), SLICE_ARG(j->binding.name));
		return;
	}
	j->op = e->op.op;
	j->right = left == &j->binding ? right : left;
}

/* Which aliases an expression speaks of: the joined one, others. */
static void speaks_of(const struct ast_expr *e, const struct ast_binding *own, bool *mine,
		      bool *others)
{
	switch (e->kind) {
	case AST_PATH:
		if (e->path.kind == AST_PATH_LET && e->path.value)
			speaks_of(e->path.value, own, mine, others);
		else if (e->path.binding)
			*(e->path.binding == own ? mine : others) = true;
		return;
	case AST_CALL:
		for (size_t i = 0; i < e->call.n; i++)
			speaks_of(e->call.args[i], own, mine, others);
		return;
	case AST_BINARY:
		speaks_of(e->op.right, own, mine, others);
		/* fall through */
	case AST_UNARY:
		speaks_of(e->op.left, own, mine, others);
		return;
	case AST_LIST:
		for (size_t i = 0; i < e->list.n; i++)
			speaks_of(e->list.items[i], own, mine, others);
		return;
	case AST_INDEX:
		speaks_of(e->index.of, own, mine, others);
		speaks_of(e->index.at, own, mine, others);
		return;
	default:
		return;
	}
}

/* a.k == b.k with the two sides about the two sides of the join. */
static bool key_pair(const struct ast_join *j, struct ast_expr *e, struct ast_expr **ret_own,
		     struct ast_expr **ret_other)
{
	bool left_own = false, left_other = false, right_own = false, right_other = false;

	if (e->kind != AST_BINARY || e->op.op != OP_EQ)
		return false;
	speaks_of(e->op.left, &j->binding, &left_own, &left_other);
	speaks_of(e->op.right, &j->binding, &right_own, &right_other);
	if (left_own && !left_other && right_other && !right_own) {
		*ret_own = e->op.left;
		*ret_other = e->op.right;
		return true;
	}
	if (right_own && !right_other && left_other && !left_own) {
		*ret_own = e->op.right;
		*ret_other = e->op.left;
		return true;
	}
	return false;
}

static void check_rest(struct checker *c, struct check_scope *s, struct ast_join *j,
		       struct ast_expr *e)
{
	check_condition(c, s, e, "On");
	if (e->type.tag == TYPE_ERROR)
		return;
	if (key_pair(j, e, &j->own_keys[j->n_keys], &j->other_keys[j->n_keys]))
		j->n_keys++;
	else
		j->rest[j->n_rest++] = e;
}

void check_join(struct checker *c, struct check_scope *s, struct ast_join *j)
{
	struct conditions all = {.n = 0};
	size_t errors = c->diags->errors;
	const char *before = s->no_aggregate;

	split(j->on, &all);
	j->own_keys = check_alloc(c, all.n, sizeof(struct ast_expr *));
	j->other_keys = check_alloc(c, all.n, sizeof(struct ast_expr *));
	j->rest = check_alloc(c, all.n, sizeof(struct ast_expr *));
	if (!j->own_keys || !j->other_keys || !j->rest)
		return;
	if (all.more)
		diag_add(c->diags, DIAG_JOIN_CONDITION, j->on->range.begin, j->on->range.end,
			 "more than %d conditions in one On; put the others into Where",
			 MAX_CONDITIONS);
	s->no_aggregate = "a join looks at one pair at a time";
	for (size_t i = 0; i < all.n; i++)
		if (all.items[i]->kind == AST_BINARY && ast_op_is_causal(all.items[i]->op.op))
			check_causal(c, s, j, all.items[i]);
		else
			check_rest(c, s, j, all.items[i]);
	s->no_aggregate = before;
	j->on->type = type_of(TYPE_BOOL);
	if (c->diags->errors > errors)
		return;
	if (!j->right && j->n_keys == 0) {
		diag_add(c->diags, DIAG_JOIN_CONDITION, j->on->range.begin, j->on->range.end,
			 "a join needs '%.*s -> other' or '%.*s.key == other.key'",
			 SLICE_ARG(j->binding.name), SLICE_ARG(j->binding.name));
		return;
	}
	if (!j->right)
		j->op = OP_EQ;
	if (j->within_ns && j->right)
		diag_add(c->diags, DIAG_CLAUSE, j->on->range.begin, j->on->range.end,
			 "Within limits joins by equal keys; for a causal one compare times: Where "
			 "a.time - b.time < 5s");
	if (!j->right && j->binding.n_sources && j->binding.sources[0]->kind == AST_SOURCE_FILTER)
		diag_add(c->diags, DIAG_CLAUSE, j->binding.sources[0]->range.begin,
			 j->binding.sources[0]->range.end,
			 "First and MostRecent are by causal order: they need a join with ->");
}
