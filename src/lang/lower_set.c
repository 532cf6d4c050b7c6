/* lang/lower_set.c - spansets: filters, structural operators, and stages that keep or drop spans.
 */
#include "base/cleanup.h"
#include "lang/lower_int.h"

const struct plan_expr *lower_set_scalar(struct lower *l, struct scope_of *scope,
					 const struct ast_expr *e)
{
	struct ast_query head = *e->query;
	const struct ast_stage *last = head.n_stages ? &head.stages[head.n_stages - 1] : NULL;
	uint32_t at = scope->aggregate_n;

	if (head.form != AST_QUERY_PIPE || !last || last->cmp != OP_NONE ||
	    !lower_is_aggregate(last->expr))
		return lower_refuse(l, e->range,
				    "what is compared must end in one aggregate: ({…} | count())");
	if (last->in.grouped)
		return lower_refuse(
			l, e->range,
			"groups are compared inside of the pipe: {…} | by(x) | count() > 2");
	if (at == LOWER_MAX_AGGREGATES)
		return lower_refuse(l, e->range, "more than %d aggregates in one comparison",
				    LOWER_MAX_AGGREGATES);
	head.n_stages--;
	scope->sets[at] = lower_set_query(l, &head);
	if (!scope->sets[at] || !lower_aggregate(l, NULL, last->expr, &scope->aggregates[at]))
		return NULL;
	scope->aggregate_n++;
	return build_column(&l->b, at, lower_type(last->expr->type));
}

static const struct plan_set *either(struct lower *l, const struct plan_set *a,
				     const struct plan_set *b)
{
	struct plan_set *set = build_alloc(&l->b, 1, sizeof(*set));

	if (!set || !a)
		return b;
	*set = (struct plan_set){.op = SET_OR, .left = a, .right = b};
	return set;
}

/* ({a} | count()) > ({b} | count()): spans of either, in traces for which it holds. */
static const struct plan_set *compared_set(struct lower *l, const struct ast_expr *e)
{
	struct plan_set *set = build_alloc(&l->b, 1, sizeof(*set));
	struct plan_having *h = build_alloc(&l->b, 1, sizeof(*h));
	struct scope_of scope = {0};

	scope.aggregates = build_alloc(&l->b, LOWER_MAX_AGGREGATES, sizeof(*scope.aggregates));
	scope.sets = build_alloc(&l->b, LOWER_MAX_AGGREGATES, sizeof(*scope.sets));
	if (!set || !h || !scope.aggregates || !scope.sets)
		return NULL;
	h->condition = lower_expr(l, &scope, e);
	if (!h->condition || scope.aggregate_n == 0)
		return NULL;
	h->aggregates = scope.aggregates;
	h->aggregate_n = scope.aggregate_n;
	h->sets = scope.sets;
	set->op = SET_HAVING;
	set->having = h;
	for (uint32_t i = 0; i < scope.aggregate_n; i++)
		set->left = either(l, set->left, scope.sets[i]);
	return set->left ? set : NULL;
}

static const struct plan_set *binary_set(struct lower *l, const struct ast_expr *e)
{
	static const enum plan_relation relations[] = {REL_CHILD, REL_DESCENDANT, REL_PARENT,
						       REL_ANCESTOR, REL_SIBLING};
	struct plan_set *set;

	if (ast_op_is_comparison(e->op.op))
		return compared_set(l, e);
	set = build_alloc(&l->b, 1, sizeof(*set));
	if (!set)
		return NULL;
	set->left = lower_set(l, e->op.left);
	set->right = lower_set(l, e->op.right);
	if (!set->left || !set->right)
		return NULL;
	if (e->op.op == OP_AND || e->op.op == OP_OR) {
		set->op = e->op.op == OP_AND ? SET_AND : SET_OR;
		return set;
	}
	if (!ast_op_is_structural(e->op.op))
		return lower_refuse(l, e->range, "%s does not connect spansets",
				    ast_op_text(e->op.op));
	set->op = SET_RELATION;
	set->relation = relations[(e->op.op - OP_CHILD) % 5];
	set->form = (enum plan_relation_form)((e->op.op - OP_CHILD) / 5);
	return set;
}

static const struct plan_set *filter_set(struct lower *l, const struct plan_set *left,
					 const struct ast_expr *condition)
{
	struct plan_set *set = build_alloc(&l->b, 1, sizeof(*set));

	if (!set)
		return NULL;
	set->op = SET_FILTER;
	set->left = left;
	if (condition) {
		set->predicate = lower_expr(l, NULL, condition);
		if (!set->predicate)
			return NULL;
	}
	return set;
}

const struct plan_set *lower_set(struct lower *l, const struct ast_expr *e)
{
	switch (e->kind) {
	case AST_SPANSET:
		return filter_set(l, NULL, e->spanset.condition);
	case AST_BINARY:
		return binary_set(l, e);
	case AST_SUBQUERY:
		return lower_set_query(l, e->query);
	case AST_PATH:
		if (e->path.kind == AST_PATH_STATEMENT &&
		    e->path.statement->kind == AST_STATEMENT_QUERY)
			return lower_set_query(l, e->path.statement->query);
		break;
	default:
		break;
	}
	return lower_refuse(l, e->range, "this is no set of spans");
}

/* --- stages --- */

struct set_keys {
	const struct plan_expr **keys;
	uint32_t n;
};

static bool by_keys(struct lower *l, struct ast_expr **exprs, size_t n, struct set_keys *out)
{
	out->keys = build_alloc(&l->b, n, sizeof(*out->keys));
	if (!out->keys)
		return false;
	for (size_t i = 0; i < n; i++) {
		out->keys[i] = lower_expr(l, NULL, exprs[i]);
		if (!out->keys[i])
			return false;
	}
	out->n = (uint32_t)n;
	return true;
}

static const struct plan_set *having_set(struct lower *l, const struct plan_set *left,
					 const struct set_keys *by, const struct ast_expr *e,
					 enum ast_op cmp, const struct ast_expr *with)
{
	struct plan_set *set = build_alloc(&l->b, 1, sizeof(*set));
	struct plan_having *h = build_alloc(&l->b, 1, sizeof(*h));
	struct scope_of scope = {.grouped = true};

	scope.aggregates = build_alloc(&l->b, LOWER_MAX_AGGREGATES, sizeof(*scope.aggregates));
	if (!set || !h || !scope.aggregates)
		return NULL;
	scope.keys = by->keys;
	scope.key_n = by->n;
	h->condition = lower_expr(l, &scope, e);
	if (h->condition && cmp != OP_NONE) {
		static const enum plan_operator ops[] = {XO_EQ, XO_NE, XO_LT, XO_LE, XO_GT, XO_GE};

		h->condition = build_op(&l->b, ops[cmp - OP_EQ], PLAN_BOOL, h->condition,
					lower_expr(l, &scope, with));
	}
	if (!h->condition)
		return NULL;
	h->keys = by->keys;
	h->key_n = by->n;
	h->aggregates = scope.aggregates;
	h->aggregate_n = scope.aggregate_n;
	set->op = SET_HAVING;
	set->left = left;
	set->having = h;
	return set;
}

/* Applies the stages that give spansets; *ret_next is the first that does not. */
static const struct plan_set *set_stages(struct lower *l, const struct ast_query *q,
					 struct set_keys *by, size_t *ret_next)
{
	const struct plan_set *set = lower_set(l, q->head);
	size_t i = 0;

	for (; set && i < q->n_stages; i++) {
		const struct ast_stage *stage = &q->stages[i];
		const struct ast_expr *e = stage->expr;
		enum word_function_id id =
			e->kind == AST_CALL && e->call.function ? e->call.function->id : FN_NONE;

		if (stage->cmp == OP_NONE && stage->out.tag != TYPE_SPANSET) {
			/* `| count() | > 2` is `| count() > 2`. */
			if (i + 1 < q->n_stages && q->stages[i + 1].cmp != OP_NONE &&
			    q->stages[i + 1].out.tag == TYPE_SPANSET) {
				set = having_set(l, set, by, e, q->stages[i + 1].cmp,
						 q->stages[i + 1].expr);
				i++;
				continue;
			}
			break;
		}
		if (id == FN_BY) {
			if (!by_keys(l, e->call.args, e->call.n, by))
				return NULL;
		} else if (id == FN_COALESCE) {
			*by = (struct set_keys){0};
		} else if (id == FN_SELECT) {
			continue; /* columns: lower_spanset_query() */
		} else if (e->kind == AST_SPANSET) {
			set = filter_set(l, set, e->spanset.condition);
		} else if (e->type.tag == TYPE_SPANSET) {
			set = lower_refuse(l, e->range,
					   "a set behind a set; use && or a structural "
					   "operator");
		} else {
			set = having_set(l, set, by, e, OP_NONE, NULL);
		}
	}
	*ret_next = i;
	return l->failed || l->b.no_memory ? NULL : set;
}

const struct plan_set *lower_set_query(struct lower *l, const struct ast_query *q)
{
	struct set_keys by = {0};
	const struct plan_set *set;
	size_t next = 0;

	if (q->form != AST_QUERY_PIPE)
		return lower_refuse(l, q->range, "this is no set of spans");
	if (++l->depth > LOWER_MAX_DEPTH)
		return lower_refuse(l, q->range, "queries nested too deeply");
	set = set_stages(l, q, &by, &next);
	l->depth--;
	if (set && next < q->n_stages)
		return lower_refuse(l, q->stages[next].range, "this stage gives no set of spans");
	return set;
}

const struct plan_node *lower_set_node(struct lower *l, const struct plan_set *set,
				       const struct refs *refs, struct slice alias)
{
	struct plan_node *node = build_node(&l->b, PLAN_SPANSET, NULL, 0);
	struct plan_column *columns = build_alloc(&l->b, refs->n, sizeof(*columns));
	const struct plan_expr **fields = build_alloc(&l->b, refs->n, sizeof(*fields));

	if (!set || !node || !columns || !fields)
		return NULL;
	for (uint32_t i = 0; i < refs->n; i++) {
		fields[i] = refs->items[i].expr;
		columns[i].name = refs->items[i].name;
		columns[i].type = fields[i]->type;
	}
	node->spanset.set = set;
	node->spanset.alias = alias;
	node->spanset.fields = fields;
	node->columns = columns;
	node->column_n = refs->n;
	node->anchored = true;
	return node;
}

/* --- what comes out --- */

static bool default_refs(struct lower *l, struct bound *b)
{
	static const struct {
		enum plan_field field;
		enum plan_type type;
		const char *name;
	} rows[] = {
		{F_TRACE_ID, PLAN_STRING, "trace_id"}, {F_SPAN_ID, PLAN_STRING, "span_id"},
		{F_SERVICE, PLAN_STRING, "service"},   {F_NAME, PLAN_STRING, "name"},
		{F_TIME, PLAN_TIME, "time"},           {F_DURATION, PLAN_DURATION, "duration"},
		{F_STATUS, PLAN_STATUS, "status"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		lower_ref(l, b,
			  (struct ref){
				  .expr = build_field(&l->b, rows[i].field, OF_SELF, rows[i].type),
				  .name = slice_cstr(rows[i].name)});
	return !l->b.no_memory;
}

static struct slice text_of(const struct ast_expr *e)
{
	if (e->kind == AST_PATH) {
		if (e->path.kind == AST_PATH_ATTRIBUTE)
			return e->path.key;
		if (e->path.n)
			return e->path.parts[e->path.n - 1].text;
	}
	return e->kind == AST_CALL ? e->call.name : SLICE("");
}

static const struct plan_node *spans_of(struct lower *l, const struct ast_query *q,
					const struct plan_set *set, const struct set_keys *by)
{
	struct bound b = {0};

	if (!default_refs(l, &b))
		return NULL;
	for (uint32_t i = 0; i < by->n; i++)
		lower_ref(l, &b, (struct ref){.expr = by->keys[i], .name = SLICE("by")});
	for (size_t i = 0; i < q->n_stages; i++) {
		const struct ast_expr *e = q->stages[i].expr;

		if (e->kind != AST_CALL || !e->call.function || e->call.function->id != FN_SELECT)
			continue;
		for (size_t k = 0; k < e->call.n; k++)
			lower_ref(l, &b,
				  (struct ref){.expr = lower_expr(l, NULL, e->call.args[k]),
					       .name = text_of(e->call.args[k])});
	}
	return l->failed || l->b.no_memory ? NULL : lower_set_node(l, set, &b.refs, SLICE(""));
}

/* An aggregate of spans with its keys, over columns of the set's node. */
struct measure {
	struct bound bound; /* refs: what the node must bring along */
	const struct plan_expr **keys;
	struct plan_column *columns; /* keys, then the aggregate */
	struct plan_aggregate *aggregate;
	uint32_t key_n;
};

static const struct plan_expr *through(struct lower *l, struct measure *m,
				       const struct plan_expr *e, struct slice name)
{
	uint32_t at = lower_ref(l, &m->bound, (struct ref){.expr = e, .name = name});

	return build_column(&l->b, at, e->type);
}

static bool measure_of(struct lower *l, const struct ast_expr *e, const struct set_keys *by,
		       struct measure *m)
{
	const struct ast_expr *call = e->kind == AST_BY ? e->by.of : e;
	size_t n = by->n + (e->kind == AST_BY ? e->by.n : 0);

	*m = (struct measure){0};
	m->keys = build_alloc(&l->b, n, sizeof(*m->keys));
	m->columns = build_alloc(&l->b, n + 1, sizeof(*m->columns));
	m->aggregate = build_alloc(&l->b, 1, sizeof(*m->aggregate));
	if (!m->keys || !m->columns || !m->aggregate ||
	    !lower_aggregate(l, NULL, call, m->aggregate))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct ast_expr *key = i < by->n ? NULL : e->by.keys[i - by->n];
		const struct plan_expr *x = key ? lower_expr(l, NULL, key) : by->keys[i];

		if (!x)
			return false;
		m->columns[m->key_n].name = key ? text_of(key) : SLICE("by");
		m->columns[m->key_n].type = x->type;
		m->keys[m->key_n] = through(l, m, x, m->columns[m->key_n].name);
		m->key_n++;
	}
	if (m->aggregate->arg)
		m->aggregate->arg = through(l, m, m->aggregate->arg, SLICE("value"));
	m->columns[n].name = call->call.name;
	m->columns[n].type = m->aggregate->kind == AGG_COUNT ? PLAN_INT
			     : m->aggregate->arg             ? m->aggregate->arg->type
							     : PLAN_FLOAT;
	return !l->b.no_memory;
}

static const struct plan_node *group_of(struct lower *l, const struct plan_set *set,
					struct measure *m)
{
	const struct plan_node *input = lower_set_node(l, set, &m->bound.refs, SLICE(""));
	struct plan_node *g = build_node(&l->b, PLAN_GROUP, &input, 1);

	if (!g)
		return NULL;
	g->group.keys = m->keys;
	g->group.key_n = m->key_n;
	g->group.aggregates = m->aggregate;
	g->group.aggregate_n = 1;
	g->columns = m->columns;
	g->column_n = m->key_n + 1;
	return g;
}

static const struct plan_node *series_of(struct lower *l, const struct plan_set *set,
					 struct measure *m)
{
	const struct plan_node *input = lower_set_node(l, set, &m->bound.refs, SLICE(""));
	struct plan_node *s = build_node(&l->b, PLAN_SERIES, &input, 1);
	struct plan_column *columns = build_alloc(&l->b, m->key_n + 2, sizeof(*columns));

	if (!s || !columns)
		return NULL;
	columns[0] = (struct plan_column){.name = SLICE("time"), .type = PLAN_TIME};
	memcpy(columns + 1, m->columns, (m->key_n + 1) * sizeof(*columns));
	s->series.keys = m->keys;
	s->series.key_n = m->key_n;
	s->series.aggregates = m->aggregate;
	s->series.aggregate_n = 1;
	s->series.step_ns = l->step_ns;
	s->columns = columns;
	s->column_n = m->key_n + 2;
	return s;
}

/* `{ … } | compare({ … } [, n [, from, to]])`, Tempo's form. */
static const struct plan_node *compare_of(struct lower *l, const struct plan_set *set,
					  const struct ast_expr *e)
{
	static const struct plan_column columns[] = {
		{SLICE("attribute"), PLAN_STRING}, {SLICE("value"), PLAN_ANY},
		{SLICE("selected"), PLAN_FLOAT},   {SLICE("rest"), PLAN_FLOAT},
		{SLICE("difference"), PLAN_FLOAT}, {SLICE("p"), PLAN_FLOAT},
	};
	struct plan_node *node = build_node(&l->b, PLAN_COMPARE, NULL, 0);

	if (!node)
		return NULL;
	node->columns = columns;
	node->column_n = ARRAY_SIZE(columns);
	node->compare.baseline = set; /* NULL: two sets are given */
	node->compare.within = set;
	for (size_t i = 0; i < e->call.n; i++) {
		const struct ast_expr *arg = e->call.args[i];
		struct plan_range *range = &node->compare.range;

		if (arg->type.tag == TYPE_SPANSET) {
			const struct plan_set *s = lower_set(l, arg);

			if (!s)
				return NULL;
			*(node->compare.selection ? &node->compare.baseline
						  : &node->compare.selection) = s;
		} else if (arg->kind == AST_INT && i == 1) {
			node->compare.top = (uint32_t)arg->integer;
		} else if (arg->kind == AST_INT || arg->kind == AST_DURATION) {
			*(range->from_ns ? &range->to_ns : &range->from_ns) = arg->integer;
		}
	}
	return node->compare.selection ? node
				       : lower_refuse(l, e->range, "compare needs a set of spans");
}

const struct plan_node *lower_compare(struct lower *l, const struct ast_expr *e)
{
	return compare_of(l, NULL, e);
}

const struct plan_node *lower_spanset_query(struct lower *l, const struct ast_query *q)
{
	struct set_keys by = {0};
	struct measure m;
	size_t next = 0;
	const struct plan_set *set = set_stages(l, q, &by, &next);
	const struct ast_expr *e, *call;
	const struct plan_node *node;
	struct ast_stage compared = {.cmp = OP_NONE};

	if (!set)
		return NULL;
	if (next == q->n_stages)
		return spans_of(l, q, set, &by);
	e = q->stages[next].expr;
	if (e->kind == AST_BINARY && ast_op_is_comparison(e->op.op) &&
	    e->op.left->type.tag == TYPE_SERIES && type_is_scalar(e->op.right->type)) {
		/* `| rate() > 5` is `| rate() | > 5` */
		compared =
			(struct ast_stage){.range = e->range, .cmp = e->op.op, .expr = e->op.right};
		e = e->op.left;
	}
	call = e->kind == AST_BY ? e->by.of : e;
	if (next == 0 && call->kind == AST_CALL && call->call.function && !call->call.aggregate &&
	    (call->call.function->places & IN_ELEMENTS) &&
	    (call->call.function->id == FN_FIRST || call->call.function->id == FN_LAST ||
	     !(call->call.function->places & (IN_AGGREGATE | IN_METRIC | IN_SPANSET))))
		return lower_pipe_query(l, q); /* spans as elements: Points, Duration, Counter(…) */
	if (call->kind == AST_CALL && call->call.function && call->call.function->id == FN_COMPARE)
		node = compare_of(l, set, call);
	else if (call->kind != AST_CALL || !call->call.function)
		return lower_refuse(l, e->range,
				    "this stage cannot follow a set of spans over "
				    "stored traces");
	else if (!measure_of(l, e, &by, &m))
		return NULL;
	else if (q->stages[next].out.tag == TYPE_SERIES)
		node = series_of(l, set, &m);
	else
		node = group_of(l, set, &m);
	if (node && compared.cmp != OP_NONE)
		node = lower_compare_last(l, node, &compared);
	return node ? lower_stages(l, node, q, next + 1) : NULL;
}

const struct plan_expr *lower_what_if(struct lower *l, const struct ast_expr *e)
{
	struct plan_expr *x = build_alloc(&l->b, 1, sizeof(*x));
	struct plan_change *changes = build_alloc(&l->b, e->call.n, sizeof(*changes));

	if (!x || !changes)
		return NULL;
	for (size_t i = 0; i < e->call.n; i++) {
		const struct ast_expr *change = e->call.args[i];

		if (change->kind != AST_CALL || !change->call.function || change->call.n == 0 ||
		    (change->call.function->id != FN_WITHOUT &&
		     change->call.function->id != FN_SCALE))
			return lower_refuse(l, change->range,
					    "WhatIf takes Without({…}) and Scale({…}, factor)");
		changes[i].set = lower_set(l, change->call.args[0]);
		if (!changes[i].set)
			return NULL;
		if (change->call.function->id == FN_SCALE && change->call.n > 1) {
			const struct plan_expr *f = lower_expr(l, NULL, change->call.args[1]);

			if (!f)
				return NULL;
			if (f->kind != X_CONST || (f->type != PLAN_INT && f->type != PLAN_FLOAT))
				return lower_refuse(l, change->call.args[1]->range,
						    "the factor must be a number");
			changes[i].factor = f->type == PLAN_INT ? (double)f->value.i : f->value.f;
			if (!(changes[i].factor >= 0))
				return lower_refuse(l, change->call.args[1]->range,
						    "the factor must not be negative");
		}
	}
	x->kind = X_CALL;
	x->type = PLAN_DURATION;
	x->function = CALL_WHAT_IF;
	x->changes = changes;
	x->n = (uint32_t)e->call.n;
	return x;
}
