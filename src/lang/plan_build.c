/* lang/plan_build.c - making pieces of plans. */
#include "lang/plan_build.h"

void *build_alloc(struct plan_build *b, size_t count, size_t size)
{
	void *p = arena_zalloc(b->arena, count ? count : 1, size);

	if (!p)
		b->no_memory = true;
	return p;
}

static struct plan_expr *new_expr(struct plan_build *b, enum plan_expr_kind kind,
				  enum plan_type type)
{
	struct plan_expr *e = build_alloc(b, 1, sizeof(*e));

	if (!e)
		return NULL;
	e->kind = kind;
	e->type = type;
	return e;
}

const struct plan_expr *build_const(struct plan_build *b, struct plan_value value)
{
	struct plan_expr *e = new_expr(b, X_CONST, value.type);

	if (e)
		e->value = value;
	return e;
}

const struct plan_expr *build_column(struct plan_build *b, uint32_t column, enum plan_type type)
{
	struct plan_expr *e = new_expr(b, X_COLUMN, type);

	if (e)
		e->column = column;
	return e;
}

const struct plan_expr *build_field(struct plan_build *b, enum plan_field field, enum plan_of of,
				    enum plan_type type)
{
	struct plan_expr *e = new_expr(b, X_FIELD, type);

	if (e) {
		e->field.field = field;
		e->field.of = of;
	}
	return e;
}

const struct plan_expr *build_attr(struct plan_build *b, enum plan_scope scope, enum plan_of of,
				   struct slice key)
{
	struct plan_expr *e = new_expr(b, X_ATTR, PLAN_ANY);

	if (!e)
		return NULL;
	e->attr.scope = scope;
	e->attr.of = of;
	e->attr.key = arena_dup(b->arena, key);
	if (!e->attr.key.p) {
		b->no_memory = true;
		return NULL;
	}
	return e;
}

static const struct plan_expr *with_args(struct plan_build *b, struct plan_expr *e,
					 const struct plan_expr *const *args, uint32_t n)
{
	const struct plan_expr **copy = build_alloc(b, n, sizeof(*copy));

	if (!e || !copy)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (!args[i])
			return NULL;
		copy[i] = args[i];
	}
	e->args = copy;
	e->n = n;
	return e;
}

const struct plan_expr *build_op(struct plan_build *b, enum plan_operator op, enum plan_type type,
				 const struct plan_expr *left, const struct plan_expr *right)
{
	const struct plan_expr *args[] = {left, right};
	struct plan_expr *e = new_expr(b, X_OP, type);

	if (e)
		e->op = op;
	return with_args(b, e, args, right || (op != XO_NOT && op != XO_NEG) ? 2 : 1);
}

const struct plan_expr *build_call(struct plan_build *b, enum plan_function function,
				   enum plan_type type, const struct plan_expr *const *args,
				   uint32_t n)
{
	struct plan_expr *e = new_expr(b, X_CALL, type);

	if (e)
		e->function = function;
	return with_args(b, e, args, n);
}

const struct plan_expr *build_and(struct plan_build *b, const struct plan_expr *left,
				  const struct plan_expr *right)
{
	if (!left || !right)
		return left ? left : right;
	return build_op(b, XO_AND, PLAN_BOOL, left, right);
}

bool plan_value_same(const struct plan_value *a, const struct plan_value *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case PLAN_NIL:
		return true;
	case PLAN_BOOL:
		return a->b == b->b;
	case PLAN_FLOAT:
		return a->f == b->f;
	case PLAN_STRING:
		return slice_eq(a->s, b->s);
	case PLAN_LIST:
		if (a->list.n != b->list.n)
			return false;
		for (uint32_t i = 0; i < a->list.n; i++)
			if (!plan_value_same(&a->list.values[i], &b->list.values[i]))
				return false;
		return true;
	default:
		return a->i == b->i;
	}
}

static bool having_same(const struct plan_having *a, const struct plan_having *b)
{
	if (!a || !b)
		return a == b;
	if (a->key_n != b->key_n || a->aggregate_n != b->aggregate_n ||
	    !plan_expr_same(a->condition, b->condition))
		return false;
	for (uint32_t i = 0; i < a->key_n; i++)
		if (!plan_expr_same(a->keys[i], b->keys[i]))
			return false;
	for (uint32_t i = 0; i < a->aggregate_n; i++)
		if (a->aggregates[i].kind != b->aggregates[i].kind ||
		    !plan_expr_same(a->aggregates[i].arg, b->aggregates[i].arg))
			return false;
	return true;
}

static bool set_same(const struct plan_set *a, const struct plan_set *b)
{
	if (!a || !b)
		return a == b;
	return a->op == b->op && a->relation == b->relation && a->form == b->form &&
	       plan_expr_same(a->predicate, b->predicate) && set_same(a->left, b->left) &&
	       set_same(a->right, b->right) && having_same(a->having, b->having);
}

static bool changes_same(const struct plan_expr *a, const struct plan_expr *b)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->changes[i].factor != b->changes[i].factor ||
		    !set_same(a->changes[i].set, b->changes[i].set))
			return false;
	return true;
}

bool plan_expr_same(const struct plan_expr *a, const struct plan_expr *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind || a->n != b->n)
		return false;
	switch (a->kind) {
	case X_CONST:
		return plan_value_same(&a->value, &b->value);
	case X_COLUMN:
		return a->column == b->column;
	case X_FIELD:
		return a->field.field == b->field.field && a->field.of == b->field.of;
	case X_ATTR:
		return a->attr.scope == b->attr.scope && a->attr.of == b->attr.of &&
		       slice_eq(a->attr.key, b->attr.key);
	case X_OP:
		if (a->op != b->op)
			return false;
		break;
	case X_CALL:
		if (a->function != b->function)
			return false;
		if (a->function == CALL_WHAT_IF)
			return changes_same(a, b);
		break;
	case X_LIST:
		break;
	}
	for (uint32_t i = 0; i < a->n; i++)
		if (!plan_expr_same(a->args[i], b->args[i]))
			return false;
	return true;
}

bool expr_has_column(const struct plan_expr *e)
{
	if (!e)
		return false;
	if (e->kind == X_COLUMN)
		return true;
	if ((e->kind != X_OP && e->kind != X_CALL && e->kind != X_LIST) ||
	    (e->kind == X_CALL && e->function == CALL_WHAT_IF))
		return false;
	for (uint32_t i = 0; i < e->n; i++)
		if (expr_has_column(e->args[i]))
			return true;
	return false;
}

bool expr_is_constant(const struct plan_expr *e)
{
	if (e->kind == X_COLUMN || e->kind == X_FIELD || e->kind == X_ATTR ||
	    (e->kind == X_CALL && e->function == CALL_WHAT_IF))
		return false;
	for (uint32_t i = 0; e->kind != X_CONST && i < e->n; i++)
		if (!expr_is_constant(e->args[i]))
			return false;
	return true;
}

void expr_columns(const struct plan_expr *e, bool *used)
{
	if (!expr_has_column(e))
		return;
	if (e->kind == X_COLUMN) {
		used[e->column] = true;
		return;
	}
	for (uint32_t i = 0; i < e->n; i++)
		expr_columns(e->args[i], used);
}

bool expr_within(const struct plan_expr *e, uint32_t from, uint32_t to)
{
	if (!expr_has_column(e))
		return true;
	if (e->kind == X_COLUMN)
		return e->column >= from && e->column < to;
	for (uint32_t i = 0; i < e->n; i++)
		if (!expr_within(e->args[i], from, to))
			return false;
	return true;
}

/* Rebuilds what has columns; each is replaced by with[column], or numbered map[column]. */
static const struct plan_expr *replace(struct plan_build *b, const struct plan_expr *e,
				       const struct plan_expr *const *with, const uint32_t *map)
{
	struct plan_expr *copy;
	const struct plan_expr **args;

	if (!expr_has_column(e))
		return e;
	if (e->kind == X_COLUMN)
		return with ? with[e->column] : build_column(b, map[e->column], e->type);
	copy = build_alloc(b, 1, sizeof(*copy));
	args = build_alloc(b, e->n, sizeof(*args));
	if (!copy || !args)
		return NULL;
	*copy = *e;
	for (uint32_t i = 0; i < e->n; i++) {
		args[i] = replace(b, e->args[i], with, map);
		if (!args[i])
			return NULL;
	}
	copy->args = args;
	return copy;
}

const struct plan_expr *expr_substitute(struct plan_build *b, const struct plan_expr *e,
					const struct plan_expr *const *with)
{
	return replace(b, e, with, NULL);
}

const struct plan_expr *expr_renumber(struct plan_build *b, const struct plan_expr *e,
				      const uint32_t *map)
{
	return replace(b, e, NULL, map);
}

struct plan_node *build_node(struct plan_build *b, enum plan_op op,
			     const struct plan_node *const *inputs, uint32_t n)
{
	struct plan_node *node = build_alloc(b, 1, sizeof(*node));
	const struct plan_node **copy = build_alloc(b, n, sizeof(const struct plan_node *));

	if (!node || !copy)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (!inputs[i])
			return NULL;
		copy[i] = inputs[i];
	}
	node->op = op;
	node->inputs = copy;
	node->input_n = n;
	return node;
}

struct plan_node *build_over(struct plan_build *b, enum plan_op op, const struct plan_node *input)
{
	struct plan_node *node = build_node(b, op, &input, 1);

	if (!node)
		return NULL;
	node->columns = input->columns;
	node->column_n = input->column_n;
	node->at = input->at;
	node->end = input->end;
	node->anchored = input->anchored && (op == PLAN_FILTER || op == PLAN_PROJECT ||
					     op == PLAN_UNNEST || op == PLAN_PICK);
	return node;
}

const struct plan_node *build_filter(struct plan_build *b, const struct plan_node *input,
				     const struct plan_expr *predicate)
{
	struct plan_node *node;

	if (!predicate)
		return b->no_memory ? NULL : input;
	node = build_over(b, PLAN_FILTER, input);
	if (node)
		node->filter.predicate = predicate;
	return node;
}

const struct plan_node *build_project(struct plan_build *b, const struct plan_node *input,
				      const struct plan_expr *const *exprs,
				      const struct plan_column *columns, uint32_t n)
{
	struct plan_node *node = build_over(b, PLAN_PROJECT, input);

	if (!node)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		if (!exprs[i])
			return NULL;
	node->project.exprs = exprs;
	node->columns = columns;
	node->column_n = n;
	return node;
}

static uint32_t pack_columns(const struct plan_pack *pack, const struct plan_node *input,
			     struct plan_column *out)
{
	if (!pack) {
		memcpy(out, input->columns, input->column_n * sizeof(*out));
		return input->column_n;
	}
	for (uint32_t i = 0; i < pack->key_n; i++) {
		const struct plan_expr *k = pack->keys[i];

		out[i].type = k->type;
		out[i].name = k->kind == X_COLUMN ? input->columns[k->column].name : SLICE("");
	}
	for (uint32_t i = 0; i < pack->aggregate_n; i++) {
		enum plan_aggregate_kind kind = pack->aggregates[i].kind;
		const struct plan_expr *arg = pack->aggregates[i].arg;

		out[pack->key_n + i].name = slice_cstr(plan_aggregate_name(kind));
		out[pack->key_n + i].type = kind == AGG_COUNT ? PLAN_INT
					    : kind == AGG_AVG ? PLAN_LIST
					    : arg             ? arg->type
							      : PLAN_ANY;
	}
	return pack->key_n + pack->aggregate_n;
}

static uint32_t pack_width(const struct plan_pack *pack, const struct plan_node *input)
{
	return pack ? pack->key_n + pack->aggregate_n : input->column_n;
}

bool build_hbjoin_columns(struct plan_build *b, struct plan_node *join)
{
	const struct plan_node *main = join->inputs[0], *partner = join->inputs[1];
	bool alone = join->hbjoin.join == PLAN_JOIN_ANTI || join->hbjoin.join == PLAN_JOIN_SEMI;
	uint32_t n = pack_width(join->hbjoin.pack_main, main);
	struct plan_column *columns;

	if (!alone)
		n += pack_width(join->hbjoin.pack, partner);
	columns = build_alloc(b, n, sizeof(*columns));
	if (!columns)
		return false;
	n = pack_columns(join->hbjoin.pack_main, main, columns);
	if (!alone)
		n += pack_columns(join->hbjoin.pack, partner, columns + n);
	join->columns = columns;
	join->column_n = n;
	join->anchored = !join->hbjoin.pack_main;
	return true;
}

static void number(const struct plan_node *node, uint32_t *next)
{
	/* The only field of a finished node that is written: numbers are given once, last. */
	((struct plan_node *)(uintptr_t)node)->id = (*next)++;
	for (uint32_t i = 0; i < node->input_n; i++)
		number(node->inputs[i], next);
}

uint32_t plan_number(const struct plan_node *root)
{
	uint32_t next = 0;

	number(root, &next);
	return next;
}
