/* lang/lower_clauses.c - the clause form: From, Join, Where, GroupBy, Select, OrderBy, Limit.
 *
 * Two passes over the expressions: the first only finds what each alias must bring along, so that
 * its source knows its columns; then the joins are built and the columns have numbers. */
#include "base/cleanup.h"
#include "lang/lower_int.h"

#define MAX_JOINS 32
#define MAX_ITEMS 256

static const struct plan_expr *on_key(struct lower *l, struct scope_of *s, const struct ast_join *j,
				      size_t i, bool own)
{
	return lower_expr(l, s, own ? j->own_keys[i] : j->other_keys[i]);
}

/* --- the first pass --- */

static void collect_items(struct lower *l, struct scope_of *s, const struct ast_item *items,
			  size_t n)
{
	for (size_t i = 0; i < n; i++)
		lower_expr(l, s, items[i].expr);
}

static bool collect(struct lower *l, struct scope_of *s, const struct ast_clauses *c)
{
	s->collecting = true;
	s->running_allowed = true;
	for (const struct ast_clause *k = c->first; k; k = k->next) {
		s->running_seen = false;
		switch (k->kind) {
		case AST_CLAUSE_JOIN:
			s->running_allowed = false;
			for (size_t i = 0; i < k->join.n_keys; i++) {
				on_key(l, s, &k->join, i, true);
				on_key(l, s, &k->join, i, false);
			}
			for (size_t i = 0; i < k->join.n_rest; i++)
				lower_expr(l, s, k->join.rest[i]);
			s->running_allowed = true;
			break;
		case AST_CLAUSE_WHERE:
		case AST_CLAUSE_HAVING:
			lower_expr(l, s, k->expr);
			break;
		case AST_CLAUSE_GROUP:
		case AST_CLAUSE_SELECT:
		case AST_CLAUSE_ORDER:
			collect_items(l, s, k->items.items, k->items.n);
			break;
		case AST_CLAUSE_WINDOW:
			if (!s->bounds[0].relation)
				lower_time_column(l, &s->bounds[0]);
			break;
		case AST_CLAUSE_SAMPLE:
			if (k->expr->kind == AST_CALL)
				lower_expr(l, s, k->expr);
			break;
		default:
			break;
		}
		if (s->running_seen && !s->running_at &&
		    (k->kind == AST_CLAUSE_WHERE || k->kind == AST_CLAUSE_SAMPLE))
			s->running_at = k;
	}
	collect_items(l, s, c->keys, c->n_keys);
	if (!c->select && !c->grouped)
		for (uint32_t i = 0; i < s->n; i++)
			if (!s->bounds[i].relation &&
			    !(s->bounds[i].join && s->bounds[i].join->kind == AST_JOIN_ANTI))
				lower_ref(l, &s->bounds[i],
					  (struct ref){.expr = build_field(&l->b, F_ELEMENT,
									   OF_SELF, PLAN_STRING),
						       .name = s->bounds[i].binding->name});
	s->collecting = false;
	return !l->failed && !l->b.no_memory;
}

/* --- joins --- */

static uint32_t bound_index(const struct scope_of *s, const struct ast_binding *binding)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->bounds[i].binding == binding)
			return i;
	return PLAN_NONE;
}

static bool scope_init(struct lower *l, struct scope_of *s, const struct ast_clauses *c)
{
	*s = (struct scope_of){.n = 1};
	if (c->n_joins > MAX_JOINS) {
		lower_refuse(l, c->range, "more than %d joins in one query", MAX_JOINS);
		return false;
	}
	s->bounds = build_alloc(&l->b, c->n_joins + 1, sizeof(*s->bounds));
	s->aggregates = build_alloc(&l->b, LOWER_MAX_AGGREGATES, sizeof(*s->aggregates));
	if (!s->bounds || !s->aggregates)
		return false;
	s->bounds[0].binding = &c->from;
	s->bounds[0].parent = PLAN_NONE;
	for (const struct ast_clause *k = c->first; k; k = k->next)
		if (k->kind == AST_CLAUSE_JOIN) {
			s->bounds[s->n].binding = &k->join.binding;
			s->bounds[s->n++].join = &k->join;
		}
	for (uint32_t i = 0; i < s->n; i++) {
		struct bound *b = &s->bounds[i];

		b->relation = lower_binding_is_relation(b->binding) &&
			      b->binding->sources[0]->kind != AST_SOURCE_CSV;
		if (b->join)
			b->parent = ast_op_is_causal(b->join->op) ? bound_index(s, b->join->right)
								  : PLAN_NONE;
	}
	return true;
}

/* Conditions of On beside the causal one: over both inputs, numbered as in all of the query. */
static const struct plan_expr *rest_of(struct lower *l, struct scope_of *s,
				       const struct ast_join *j, bool with_keys)
{
	const struct plan_expr *rest = NULL;

	for (size_t i = 0; with_keys && i < j->n_keys; i++) {
		rest = build_and(&l->b, rest,
				 build_op(&l->b, XO_EQ, PLAN_BOOL, on_key(l, s, j, i, true),
					  on_key(l, s, j, i, false)));
		if (!rest)
			return NULL;
	}
	for (size_t i = 0; i < j->n_rest; i++) {
		const struct plan_expr *e = lower_expr(l, s, j->rest[i]);

		if (!e)
			return NULL;
		rest = build_and(&l->b, rest, e);
	}
	return rest;
}

static const struct plan_node *relation_of(struct lower *l, struct scope_of *s, uint32_t at,
					   uint32_t offset, enum plan_pick *ret_pick,
					   uint32_t *ret_pick_n);

static enum plan_join join_kind(const struct ast_join *j)
{
	bool never = j->op == OP_NOT_BEFORE || j->op == OP_NOT_DIRECT;

	if (never)
		return j->kind == AST_JOIN_ANTI ? PLAN_JOIN_SEMI : PLAN_JOIN_ANTI;
	return j->kind == AST_JOIN_LEFT   ? PLAN_JOIN_LEFT
	       : j->kind == AST_JOIN_ANTI ? PLAN_JOIN_ANTI
					  : PLAN_JOIN_INNER;
}

/* In the condition, columns count from the start of the two inputs, not of the query. */
static const struct plan_expr *shifted(struct lower *l, const struct plan_expr *e, uint32_t by,
				       uint32_t total)
{
	uint32_t *map;

	if (!e || by == 0)
		return e;
	map = build_alloc(&l->b, total, sizeof(*map));
	if (!map)
		return NULL;
	for (uint32_t i = 0; i < total; i++)
		map[i] = i - by;
	return expr_renumber(&l->b, e, map);
}

/* The joined alias, all that hangs under it, joined to `main`, whose columns start at `from`. */
static const struct plan_node *joined(struct lower *l, struct scope_of *s,
				      const struct plan_node *main, uint32_t from, uint32_t at)
{
	const struct ast_join *j = s->bounds[at].join;
	const struct plan_node *inputs[2] = {main, NULL};
	struct plan_node *node;
	enum plan_pick pick = PICK_ALL;
	uint32_t pick_n = 0;

	inputs[1] = relation_of(l, s, at, from + main->column_n, &pick, &pick_n);
	if (!inputs[1])
		return NULL;
	if (!main->anchored || !inputs[1]->anchored)
		return lower_refuse(l, j->on->range,
				    "a happened-before join needs tuples of single traces on both "
				    "sides; %s is grouped or sorted across traces: join first, "
				    "then group",
				    main->anchored ? "the right side" : "the left side");
	node = build_node(&l->b, PLAN_HBJOIN, inputs, 2);
	if (!node)
		return NULL;
	node->at = j->on->range.begin;
	node->end = j->on->range.end;
	node->hbjoin.join = join_kind(j);
	node->hbjoin.direct = j->op == OP_DIRECT || j->op == OP_NOT_DIRECT;
	node->hbjoin.pick = pick;
	node->hbjoin.pick_n = pick_n;
	node->hbjoin.alias = j->binding.name;
	node->hbjoin.rest = rest_of(l, s, j, true);
	if (l->failed || l->b.no_memory)
		return NULL;
	node->hbjoin.rest =
		shifted(l, node->hbjoin.rest, from, from + main->column_n + inputs[1]->column_n);
	if (node->hbjoin.rest &&
	    !expr_within(node->hbjoin.rest, 0, main->column_n + inputs[1]->column_n))
		return lower_refuse(l, j->on->range,
				    "a condition of On may only speak of the two "
				    "sides it joins; use Where");
	/* R7 has the joined alias on the left; on the right it comes later. */
	if (j->on->kind == AST_BINARY && j->on->op.right->kind == AST_PATH &&
	    j->on->op.right->path.binding == &j->binding)
		node->hbjoin.after = true;
	return build_hbjoin_columns(&l->b, node) ? node : NULL;
}

static const struct plan_node *relation_of(struct lower *l, struct scope_of *s, uint32_t at,
					   uint32_t offset, enum plan_pick *ret_pick,
					   uint32_t *ret_pick_n)
{
	struct bound *b = &s->bounds[at];
	const struct plan_node *node = lower_binding(l, b->binding, &b->refs, ret_pick, ret_pick_n);

	b->offset = offset;
	if (node && ret_pick && !node->anchored && *ret_pick != PICK_ALL)
		return lower_refuse(l, b->binding->range,
				    "First and MostRecent need tuples of single traces");
	for (uint32_t i = at + 1; node && i < s->n; i++)
		if (s->bounds[i].parent == at)
			node = joined(l, s, node, offset, i);
	return node;
}

static const struct plan_node *equi_joined(struct lower *l, struct scope_of *s,
					   const struct plan_node *main, uint32_t at)
{
	const struct ast_join *j = s->bounds[at].join;
	const struct plan_node *inputs[2] = {main,
					     relation_of(l, s, at, main->column_n, NULL, NULL)};
	const struct plan_expr **left, **right;
	struct plan_node *node;
	struct plan_column *columns;
	uint32_t n, *map;

	if (!inputs[1])
		return NULL;
	node = build_node(&l->b, PLAN_EQUIJOIN, inputs, 2);
	n = main->column_n + inputs[1]->column_n;
	left = build_alloc(&l->b, j->n_keys, sizeof(*left));
	right = build_alloc(&l->b, j->n_keys, sizeof(*right));
	columns = build_alloc(&l->b, n, sizeof(*columns));
	map = build_alloc(&l->b, n, sizeof(*map));
	if (!node || !left || !right || !columns || !map)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		map[i] = i - main->column_n;
	for (size_t i = 0; i < j->n_keys; i++) {
		left[i] = on_key(l, s, j, i, false);
		right[i] = on_key(l, s, j, i, true);
		if (!left[i] || !right[i])
			return NULL;
		if (!expr_within(left[i], 0, main->column_n) ||
		    !expr_within(right[i], main->column_n, n))
			return lower_refuse(l, j->on->range,
					    "each side of == must speak of one side of the join");
		right[i] = expr_renumber(&l->b, right[i], map);
	}
	memcpy(columns, main->columns, main->column_n * sizeof(*columns));
	memcpy(columns + main->column_n, inputs[1]->columns,
	       inputs[1]->column_n * sizeof(*columns));
	node->at = j->on->range.begin;
	node->end = j->on->range.end;
	node->equijoin.join = join_kind(j);
	node->equijoin.left_keys = left;
	node->equijoin.right_keys = right;
	node->equijoin.key_n = (uint32_t)j->n_keys;
	node->equijoin.within_ns = j->within_ns;
	node->equijoin.rest = rest_of(l, s, j, false);
	if (j->within_ns && (!main->anchored || !inputs[1]->anchored))
		return lower_refuse(l, j->on->range,
				    "Within needs events with a time on both "
				    "sides");
	node->columns = columns;
	node->column_n = node->equijoin.join == PLAN_JOIN_ANTI ? main->column_n : n;
	return l->failed || l->b.no_memory ? NULL : node;
}

static const struct plan_node *joins(struct lower *l, struct scope_of *s)
{
	const struct plan_node *node;
	enum plan_pick pick = PICK_ALL;
	uint32_t pick_n = 0;

	node = relation_of(l, s, 0, 0, &pick, &pick_n);
	if (node && pick != PICK_ALL) {
		struct plan_node *first = build_over(&l->b, PLAN_PICK, node);

		if (first) {
			first->pick.pick = pick;
			first->pick.n = pick_n;
		}
		node = first;
	}
	for (uint32_t i = 1; node && i < s->n; i++)
		if (s->bounds[i].parent == PLAN_NONE)
			node = equi_joined(l, s, node, i);
	return node;
}

/* --- behind the joins --- */

/* R4: columns of plain paths in GroupBy and Select that may hold lists. */
static bool unnest_add(uint32_t *slots, uint32_t *n, const struct plan_expr *e)
{
	if (!e || e->kind != X_COLUMN || (e->type != PLAN_LIST && e->type != PLAN_ANY))
		return false;
	for (uint32_t i = 0; i < *n; i++)
		if (slots[i] == e->column)
			return false;
	slots[(*n)++] = e->column;
	return true;
}

static const struct plan_node *unnested(struct lower *l, const struct plan_node *node,
					const uint32_t *slots, uint32_t n)
{
	struct plan_node *u;
	uint32_t *copy;

	if (n == 0)
		return node;
	u = build_over(&l->b, PLAN_UNNEST, node);
	copy = build_alloc(&l->b, n, sizeof(*copy));
	if (!u || !copy)
		return NULL;
	memcpy(copy, slots, n * sizeof(*copy));
	u->unnest.slots = copy;
	u->unnest.slot_n = n;
	return u;
}

struct output {
	const struct plan_expr **exprs;
	struct plan_column *columns;
	uint32_t n;
};

static bool output_alloc(struct lower *l, struct output *out, size_t n)
{
	out->exprs = build_alloc(&l->b, n, sizeof(*out->exprs));
	out->columns = build_alloc(&l->b, n, sizeof(*out->columns));
	return out->exprs && out->columns;
}

static bool select_items(struct lower *l, struct scope_of *s, const struct ast_clauses *c,
			 const struct plan_node *input, struct output *out)
{
	size_t n = c->select ? c->select->items.n : 0;

	out->n = 0;
	if (!output_alloc(l, out, n ? n : MAX((size_t)input->column_n, c->n_keys) + 1))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct ast_item *item = &c->select->items.items[i];

		out->exprs[out->n] = lower_expr(l, s, item->expr);
		if (!out->exprs[out->n])
			return false;
		out->columns[out->n].name = item->label;
		out->columns[out->n++].type = out->exprs[i]->type;
	}
	/* Without Select: of groups their keys, of tuples everything. */
	for (size_t i = 0; n == 0 && c->grouped && i < c->n_keys; i++) {
		out->exprs[i] = build_column(&l->b, (uint32_t)i, s->keys[i]->type);
		if (!out->exprs[i])
			return false;
		out->columns[out->n++] =
			(struct plan_column){.name = c->keys[i].label, .type = s->keys[i]->type};
	}
	for (uint32_t i = 0; n == 0 && !c->grouped && i < input->column_n; i++) {
		out->exprs[out->n] = build_column(&l->b, i, input->columns[i].type);
		if (!out->exprs[out->n])
			return false;
		out->columns[out->n++] = input->columns[i];
	}
	return true;
}

static const struct plan_node *group_node(struct lower *l, struct scope_of *s,
					  const struct plan_node *input,
					  const struct ast_clauses *c)
{
	struct plan_node *g = build_node(&l->b, PLAN_GROUP, &input, 1);
	struct plan_column *columns =
		build_alloc(&l->b, s->key_n + s->aggregate_n, sizeof(*columns));

	if (!g || !columns)
		return NULL;
	for (uint32_t i = 0; i < s->key_n; i++) {
		columns[i].type = s->keys[i]->type;
		columns[i].name = i < c->n_keys ? c->keys[i].label : SLICE("window");
	}
	for (uint32_t i = 0; i < s->aggregate_n; i++) {
		columns[s->key_n + i].name = slice_cstr(plan_aggregate_name(s->aggregates[i].kind));
		columns[s->key_n + i].type =
			s->aggregates[i].kind == AGG_COUNT ? PLAN_INT : PLAN_ANY;
	}
	g->group.keys = s->keys;
	g->group.key_n = s->key_n;
	g->group.aggregates = s->aggregates;
	g->group.aggregate_n = s->aggregate_n;
	g->columns = columns;
	g->column_n = s->key_n + s->aggregate_n;
	g->at = c->range.begin;
	g->end = c->range.end;
	return g;
}

static const struct plan_node *sorted(struct lower *l, struct scope_of *s,
				      const struct plan_node *node, const struct ast_clauses *c)
{
	struct plan_node *sort;
	struct plan_order *orders;
	size_t n = c->order ? c->order->items.n : 0;

	if (n == 0)
		return node;
	sort = build_over(&l->b, PLAN_SORT, node);
	orders = build_alloc(&l->b, n, sizeof(*orders));
	if (!sort || !orders)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		orders[i].expr = lower_expr(l, s, c->order->items.items[i].expr);
		orders[i].descending = c->order->items.items[i].descending;
		if (!orders[i].expr)
			return NULL;
	}
	sort->sort.orders = orders;
	sort->sort.n = (uint32_t)n;
	return sort;
}

static const struct plan_node *having(struct lower *l, struct scope_of *s,
				      const struct plan_node *node, const struct ast_clauses *c)
{
	for (const struct ast_clause *k = c->first; k && node; k = k->next)
		if (k->kind == AST_CLAUSE_HAVING) {
			const struct plan_expr *e = lower_expr(l, s, k->expr);

			node = e ? build_filter(&l->b, node, e) : NULL;
		}
	return node;
}

/* Keys, the windows, and what of them may hold lists. */
static bool group_keys(struct lower *l, struct scope_of *s, const struct ast_clauses *c,
		       const struct plan_node *node, uint32_t *slots, uint32_t *slot_n)
{
	s->keys = build_alloc(&l->b, c->n_keys + 1, sizeof(*s->keys));
	if (!s->keys)
		return false;
	for (size_t i = 0; i < c->n_keys; i++) {
		s->keys[i] = lower_expr(l, s, c->keys[i].expr);
		if (!s->keys[i])
			return false;
		unnest_add(slots, slot_n, s->keys[i]);
	}
	s->key_n = (uint32_t)c->n_keys;
	(void)node;
	return true;
}

static const struct plan_node *grouped(struct lower *l, struct scope_of *s,
				       const struct ast_clauses *c, const struct plan_node *node,
				       struct output *out)
{
	uint32_t slots[MAX_ITEMS + 1], slot_n = 0, window = PLAN_NONE;

	if (c->n_keys > MAX_ITEMS)
		return lower_refuse(l, c->range, "more than %d keys", MAX_ITEMS);
	if (!group_keys(l, s, c, node, slots, &slot_n))
		return NULL;
	if (c->window) {
		node = lower_windowed(l, s, c, node, &window);
		if (!node)
			return NULL;
		s->keys[s->key_n] = build_column(&l->b, window, PLAN_TIME);
		if (!s->keys[s->key_n++])
			return NULL;
		slots[slot_n++] = window;
	}
	node = unnested(l, node, slots, slot_n);
	s->grouped = true;
	/* What Having and OrderBy ask for belongs to the group, too: all of it is lowered before
	 * the group is built, and stays valid, since its columns are numbered by then. */
	if (!node || !select_items(l, s, c, node, out))
		return NULL;
	for (const struct ast_clause *k = c->first; k; k = k->next)
		if (k->kind == AST_CLAUSE_HAVING && !lower_expr(l, s, k->expr))
			return NULL;
	for (size_t i = 0; c->order && i < c->order->items.n; i++)
		if (!lower_expr(l, s, c->order->items.items[i].expr))
			return NULL;
	node = group_node(l, s, node, c);
	if (node && c->window) {
		struct output more = {0};

		if (!output_alloc(l, &more, out->n + 1))
			return NULL;
		more.exprs[0] = build_column(&l->b, s->key_n - 1, PLAN_TIME);
		more.columns[0] = (struct plan_column){.name = SLICE("window"), .type = PLAN_TIME};
		memcpy(more.exprs + 1, out->exprs, out->n * sizeof(*out->exprs));
		memcpy(more.columns + 1, out->columns, out->n * sizeof(*out->columns));
		more.n = out->n + 1;
		*out = more;
	}
	return node;
}

/* Without GroupBy: lists among the items are taken apart. */
static const struct plan_node *plain(struct lower *l, struct scope_of *s,
				     const struct ast_clauses *c, const struct plan_node *node,
				     struct output *out)
{
	uint32_t slots[MAX_ITEMS], n = 0;

	if (!select_items(l, s, c, node, out))
		return NULL;
	for (uint32_t i = 0; c->select && i < out->n && n < MAX_ITEMS; i++)
		unnest_add(slots, &n, out->exprs[i]);
	return unnested(l, node, slots, n);
}

static const struct plan_node *unions(struct lower *l, const struct ast_clauses *c,
				      const struct plan_node *node)
{
	for (const struct ast_clause *k = c->first; k && node; k = k->next)
		if (k->kind == AST_CLAUSE_UNION) {
			const struct plan_node *inputs[2] = {node, lower_clauses(l, k->other)};
			struct plan_node *u = build_node(&l->b, PLAN_UNION, inputs, 2);

			if (!u)
				return NULL;
			if (inputs[0]->column_n != inputs[1]->column_n)
				return lower_refuse(l, k->range,
						    "Union needs the same number of columns");
			u->columns = node->columns;
			u->column_n = node->column_n;
			u->anchored = inputs[0]->anchored && inputs[1]->anchored;
			node = u;
		}
	return node;
}

static void note_times(struct lower *l, const struct ast_clauses *c)
{
	struct plan *p = l->plan;

	if (c->over && c->over->over.kind == AST_OVER_LIVE)
		p->live = true;
	if (c->over && c->over->over.kind == AST_OVER_LAST)
		p->last_ns = c->over->over.last_ns;
	if (c->over && c->over->over.kind == AST_OVER_RANGE) {
		p->range.from_ns = c->over->over.from_ns;
		p->range.to_ns = c->over->over.to_ns;
	}
	if (c->duration)
		p->for_ns = c->duration->time.ns;
	if (c->every)
		p->every_ns = c->every->time.ns;
	if (c->window) {
		p->window_ns = c->window->time.ns;
		p->slide_ns = c->window->time.slide_ns;
	}
	if (c->into)
		p->into = c->into->into;
	if (c->sample && c->sample->expr->kind == AST_FLOAT)
		lower_share(p, c->sample->expr->real);
}

const struct plan_node *lower_clauses(struct lower *l, const struct ast_clauses *c)
{
	struct scope_of s;
	struct output out = {0};
	const struct plan_node *node;

	if (!scope_init(l, &s, c) || !collect(l, &s, c))
		return NULL;
	note_times(l, c);
	node = joins(l, &s);
	for (const struct ast_clause *k = c->first; k && node; k = k->next) {
		if (k == s.running_at)
			node = lower_running_place(l, &s, node);
		if (node && (k->kind == AST_CLAUSE_WHERE ||
			     (k->kind == AST_CLAUSE_SAMPLE && k->expr->kind == AST_CALL))) {
			const struct plan_expr *e = lower_expr(l, &s, k->expr);

			node = e ? build_filter(&l->b, node, e) : NULL;
		}
	}
	if (node)
		node = lower_running_place(l, &s, node);
	if (!node)
		return NULL;
	node = c->grouped ? grouped(l, &s, c, node, &out) : plain(l, &s, c, node, &out);
	if (node)
		node = having(l, &s, node, c);
	if (node)
		node = sorted(l, &s, node, c);
	if (node)
		node = build_project(&l->b, node, out.exprs, out.columns, out.n);
	if (node && c->select && c->select->items.distinct)
		node = build_over(&l->b, PLAN_DISTINCT, node);
	if (node && c->limit) {
		struct plan_node *limit = build_over(&l->b, PLAN_LIMIT, node);

		if (limit)
			limit->limit.n = (uint64_t)c->limit->limit;
		node = limit;
	}
	return node ? unions(l, c, node) : NULL;
}
