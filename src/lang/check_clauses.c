/* lang/check_clauses.c - From … Select: in the order of meaning, which is not the order of writing.
 *
 * R2 COUNT without brackets is in check_path.c.  R3: Select that mixes plain items and aggregates
 * without GroupBy groups by the plain ones. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "lang/check_int.h"

static const char where_aggregate[] = "Where looks at one tuple at a time; use Having";
static const char group_aggregate[] = "tuples are grouped by what each of them has";
static const char let_aggregate[] = "Let is of one tuple; name it in Select: COUNT As n";
static const char sample_aggregate[] = "Sample looks at one tuple at a time";

/* ---- From, Join ---- */

static void bind(struct checker *c, struct check_scope *s, struct ast_binding *b)
{
	for (size_t i = 0; b->name.n && i < s->n_bindings; i++)
		if (slice_eq(s->bindings[i]->name, b->name))
			diag_add(c->diags, DIAG_TWICE, b->range.begin, b->range.end,
				 "%.*s is already an alias", SLICE_ARG(b->name));
	if (s->n_bindings == CHECK_MAX_BINDINGS) {
		diag_add(c->diags, DIAG_TOO_DEEP, b->range.begin, b->range.end,
			 "more than %d aliases in one query", CHECK_MAX_BINDINGS);
		return;
	}
	b->index = s->n_bindings;
	s->bindings[s->n_bindings++] = b;
}

static void check_bindings(struct checker *c, struct check_scope *s, struct ast_clauses *q)
{
	check_binding(c, &q->from);
	bind(c, s, &q->from);
	s->bare_fields = q->from.name.n == 0;
	for (struct ast_clause *k = q->first; k; k = k->next)
		if (k->kind == AST_CLAUSE_JOIN) {
			check_binding(c, &k->join.binding);
			k->join.binding.nullable = k->join.kind != AST_JOIN_INNER;
			bind(c, s, &k->join.binding);
			check_join(c, s, &k->join);
		}
}

/* ---- clauses one by one ---- */

static void check_let(struct checker *c, struct check_scope *s, struct ast_clause *k)
{
	uint32_t before = c->weight;
	struct check_name name = {k->let.name, k->let.expr, "Let", false, 0};
	struct type t;
	char text[TYPE_NAME_BYTES];

	s->no_aggregate = let_aggregate;
	t = check_expr(c, s, k->let.expr);
	if (!type_is_scalar(t)) {
		diag_add(c->diags, DIAG_TYPE, k->let.expr->range.begin, k->let.expr->range.end,
			 "Let names a value, and this is %s", type_name(t, text));
		k->let.expr->type = type_of(TYPE_ERROR);
	}
	name.weight = c->weight - before;
	check_add_name(c, s, &name, k->let.name_range);
}

static void check_sample(struct checker *c, struct check_scope *s, struct ast_clause *k)
{
	struct ast_expr *e = k->expr;
	struct check_scope inner = *s;

	inner.places = IN_SAMPLE;
	inner.no_aggregate = sample_aggregate;
	check_expr(c, &inner, e);
	if (e->type.tag == TYPE_ERROR)
		return;
	if ((e->kind == AST_CALL && e->call.function->id == FN_SKETCH) ||
	    (e->kind == AST_FLOAT && e->real > 0 && e->real <= 1) ||
	    (e->kind == AST_INT && e->integer == 1))
		return;
	diag_add(c->diags, DIAG_RANGE, e->range.begin, e->range.end,
		 "Sample takes a share, above 0 and up to 1, or sketch(k)");
}

static void check_over(struct checker *c, struct ast_clause *k)
{
	if (k->over.kind == AST_OVER_LAST && k->over.last_ns <= 0)
		diag_add(c->diags, DIAG_RANGE, k->range.begin, k->range.end,
			 "the last %s of nothing", "0s");
	if (k->over.kind != AST_OVER_RANGE)
		return;
	if (moment_parse(k->over.from, c->options->now_ns, &k->over.from_ns) < 0) {
		diag_add(c->diags, DIAG_RANGE, k->over.from_range.begin, k->over.from_range.end,
			 "this is no time; write \"2026-01-02T03:04:05Z\", \"-1h\" or \"now\"");
		return;
	}
	if (moment_parse(k->over.to, c->options->now_ns, &k->over.to_ns) < 0) {
		diag_add(c->diags, DIAG_RANGE, k->over.to_range.begin, k->over.to_range.end,
			 "this is no time; write \"2026-01-02T03:04:05Z\", \"-1h\" or \"now\"");
		return;
	}
	if (k->over.from_ns >= k->over.to_ns)
		diag_add(c->diags, DIAG_RANGE, k->range.begin, k->range.end,
			 "the range ends before it begins");
}

static void check_times(struct checker *c, struct ast_clause *k)
{
	if (k->time.ns <= 0)
		diag_add(c->diags, DIAG_RANGE, k->range.begin, k->range.end,
			 "a duration above 0 is needed here");
	if (k->kind == AST_CLAUSE_WINDOW && k->time.slide_ns > k->time.ns)
		diag_add(c->diags, DIAG_RANGE, k->range.begin, k->range.end,
			 "windows that slide further than they are long leave tuples out");
}

/* Where and Let in their order, and what stands by itself. */
static void check_plain(struct checker *c, struct check_scope *s, struct ast_clauses *q)
{
	for (struct ast_clause *k = q->first; k; k = k->next)
		switch (k->kind) {
		case AST_CLAUSE_WHERE:
			s->no_aggregate = where_aggregate;
			check_condition(c, s, k->expr, "Where");
			break;
		case AST_CLAUSE_LET:
			check_let(c, s, k);
			break;
		case AST_CLAUSE_SAMPLE:
			check_sample(c, s, k);
			break;
		case AST_CLAUSE_OVER:
			check_over(c, k);
			break;
		case AST_CLAUSE_FOR:
		case AST_CLAUSE_EVERY:
		case AST_CLAUSE_WINDOW:
			check_times(c, k);
			break;
		case AST_CLAUSE_LIMIT:
			if (k->limit < 1)
				diag_add(c->diags, DIAG_RANGE, k->range.begin, k->range.end,
					 "Limit is at least 1");
			break;
		default:
			break;
		}
}

/* ---- GroupBy, Select ---- */

static void check_item(struct checker *c, struct check_scope *s, struct ast_item *item,
		       const char *what)
{
	char name[TYPE_NAME_BYTES];
	uint32_t before = c->weight;
	struct type t;

	s->has_aggregate = false;
	t = check_expr(c, s, item->expr);
	item->weight = c->weight - before;
	item->aggregate = s->has_aggregate;
	item->label = item->name.n ? item->name : check_label(c, item->expr, false);
	if (t.tag == TYPE_ERROR || type_is_scalar(t) || (type_is_element(t) && !t.many) ||
	    (item->expr->kind == AST_PATH && item->expr->path.kind == AST_PATH_ALIAS))
		return;
	diag_add(c->diags, DIAG_TYPE, item->expr->range.begin, item->expr->range.end,
		 "%s takes values, and this is %s", what, type_name(t, name));
}

static void add_item_name(struct checker *c, struct check_scope *s, const struct ast_item *item,
			  const char *what)
{
	struct check_name name = {item->name, item->expr, what, item->aggregate, item->weight};

	/* The same name for the same thing in GroupBy and Select is no harm. */
	for (size_t i = 0; i < s->n_names; i++)
		if (slice_eq(s->names[i].name, item->name) &&
		    check_same(s->names[i].value, item->expr))
			return;
	check_add_name(c, s, &name, item->name_range);
}

/* Two columns of one name get their whole text. */
static void tell_apart(struct checker *c, struct ast_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (!items[i].name.n && !items[k].name.n &&
			    slice_eq(items[i].label, items[k].label)) {
				items[i].label = check_label(c, items[i].expr, true);
				items[k].label = check_label(c, items[k].expr, true);
			}
}

/* Everything is compared with everything. */
static bool too_many(struct checker *c, const struct ast_clause *k)
{
	if (!k || k->items.n <= CHECK_MAX_NAMES)
		return false;
	diag_add(c->diags, DIAG_TOO_DEEP, k->range.begin, k->range.end,
		 "more than %d items in one clause", CHECK_MAX_NAMES);
	return true;
}

static void check_group(struct checker *c, struct check_scope *s, struct ast_clauses *q)
{
	if (!q->group || too_many(c, q->group))
		return;
	s->no_aggregate = group_aggregate;
	for (size_t i = 0; i < q->group->items.n; i++)
		check_item(c, s, &q->group->items.items[i], "GroupBy");
	for (size_t i = 0; i < q->group->items.n; i++)
		add_item_name(c, s, &q->group->items.items[i], "GroupBy");
	tell_apart(c, q->group->items.items, q->group->items.n);
	q->keys = q->group->items.items;
	q->n_keys = q->group->items.n;
	q->grouped = true;
}

static void check_select(struct checker *c, struct check_scope *s, struct ast_clauses *q)
{
	bool any = false, plain = false;

	if (!q->select || too_many(c, q->select))
		return;
	s->no_aggregate = NULL;
	for (size_t i = 0; i < q->select->items.n; i++) {
		check_item(c, s, &q->select->items.items[i], "Select");
		any |= q->select->items.items[i].aggregate;
		plain |= !q->select->items.items[i].aggregate;
	}
	for (size_t i = 0; i < q->select->items.n; i++)
		add_item_name(c, s, &q->select->items.items[i], "Select");
	tell_apart(c, q->select->items.items, q->select->items.n);
	if (!any || q->group)
		return;
	q->grouped = true;
	if (!plain)
		return;
	q->keys = check_alloc(c, q->select->items.n, sizeof(struct ast_item));
	for (size_t i = 0; q->keys && i < q->select->items.n; i++)
		if (!q->select->items.items[i].aggregate)
			q->keys[q->n_keys++] = q->select->items.items[i];
}

static void check_having(struct checker *c, struct check_scope *s, struct ast_clauses *q)
{
	s->no_aggregate = NULL;
	for (struct ast_clause *k = q->first; k; k = k->next)
		if (k->kind == AST_CLAUSE_HAVING) {
			s->has_aggregate = false;
			check_condition(c, s, k->expr, "Having");
			if (s->has_aggregate)
				q->grouped = true;
			if (q->grouped)
				continue;
			diag_add(c->diags, DIAG_CLAUSE, k->range.begin, k->range.end,
				 "Having keeps groups, and nothing is grouped; use Where");
			diag_fix(c->diags, k->range.begin, k->range.begin + 6, SLICE("Where"));
		}
	for (size_t i = 0; q->order && !too_many(c, q->order) && i < q->order->items.n; i++) {
		struct ast_item *item = &q->order->items.items[i];

		check_item(c, s, item, "OrderBy");
		q->grouped |= item->aggregate;
	}
}

/* ---- what is grouped ---- */

/* In a grouped query everything is a key, made of keys, or aggregated. */
static bool grouped_fine(struct checker *c, const struct ast_clauses *q, const struct ast_expr *e)
{
	if (e->type.tag == TYPE_ERROR || (e->kind == AST_CALL && e->call.aggregate))
		return true;
	for (size_t i = 0; i < q->n_keys; i++)
		if (check_same(q->keys[i].expr, e))
			return true;
	switch (e->kind) {
	case AST_PATH:
		if (e->path.kind == AST_PATH_CONSTANT)
			return true;
		if (e->path.kind == AST_PATH_LET && e->path.value)
			return grouped_fine(c, q, e->path.value);
		diag_add(c->diags, DIAG_NOT_GROUPED, e->range.begin, e->range.end,
			 "'%.*s' is neither grouped by nor aggregated; add it to GroupBy, or take "
			 "first(…), max(…) of it",
			 SLICE_ARG(slice_first(check_source_text(c, e->range), 80)));
		return false;
	case AST_CALL:
		for (size_t i = 0; i < e->call.n; i++)
			if (!grouped_fine(c, q, e->call.args[i]))
				return false;
		return true;
	case AST_UNARY:
		return grouped_fine(c, q, e->op.left);
	case AST_BINARY:
		return grouped_fine(c, q, e->op.left) && grouped_fine(c, q, e->op.right);
	case AST_LIST:
		for (size_t i = 0; i < e->list.n; i++)
			if (!grouped_fine(c, q, e->list.items[i]))
				return false;
		return true;
	case AST_INDEX:
		return grouped_fine(c, q, e->index.of) && grouped_fine(c, q, e->index.at);
	default:
		return true;
	}
}

static void check_grouping(struct checker *c, struct ast_clauses *q)
{
	if (!q->grouped || too_many(c, q->select) || too_many(c, q->order))
		return;
	for (size_t i = 0; q->select && i < q->select->items.n; i++)
		grouped_fine(c, q, q->select->items.items[i].expr);
	for (size_t i = 0; q->order && i < q->order->items.n; i++)
		grouped_fine(c, q, q->order->items.items[i].expr);
	for (struct ast_clause *k = q->first; k; k = k->next)
		if (k->kind == AST_CLAUSE_HAVING)
			grouped_fine(c, q, k->expr);
}

/* ---- what comes out ---- */

/* A list of an element's field is taken apart (R4); an event of a tracepoint is a block. */
static struct type cell_type(struct type t)
{
	if (t.tag == TYPE_LIST)
		return type_of(t.of == TYPE_ERROR ? TYPE_UNKNOWN : t.of);
	return t.tag == TYPE_RELATION ? type_of(TYPE_BLOCK) : t;
}

static void check_columns(struct checker *c, struct ast_clauses *q)
{
	struct ast_item *items = q->select ? q->select->items.items : q->keys;
	size_t n = q->select ? q->select->items.n : q->n_keys, joins = 0;

	q->columns.items = check_alloc(c, n + q->n_joins + 1, sizeof(struct column));
	if (!q->columns.items)
		return;
	for (size_t i = 0; i < n; i++) {
		bool plain = items[i].expr->kind == AST_PATH;

		q->columns.items[q->columns.n++] =
			(struct column){items[i].label, plain ? cell_type(items[i].expr->type)
							      : items[i].expr->type};
	}
	if (q->select || q->grouped)
		return;
	/* Without Select: every tuple that was joined. */
	if (q->from.type.tag == TYPE_RELATION && q->from.on == 0 && q->n_joins == 0 &&
	    q->from.type.columns) {
		q->columns = *q->from.type.columns;
		return;
	}
	q->columns.items[q->columns.n++] = (struct column){
		q->from.name.n ? q->from.name : SLICE("element"), cell_type(q->from.type)};
	for (struct ast_clause *k = q->first; k; k = k->next)
		if (k->kind == AST_CLAUSE_JOIN && k->join.kind != AST_JOIN_ANTI &&
		    joins++ < q->n_joins)
			q->columns.items[q->columns.n++] = (struct column){
				k->join.binding.name, cell_type(k->join.binding.type)};
}

static void check_union(struct checker *c, struct ast_clauses *q, struct ast_clause *k)
{
	struct columns *other;
	char one[TYPE_NAME_BYTES], two[TYPE_NAME_BYTES];

	if (!k->other)
		return;
	check_clauses(c, k->other);
	other = &k->other->columns;
	if (k->other->order || k->other->limit) {
		const struct ast_clause *at = k->other->order ? k->other->order : k->other->limit;

		diag_add(
			c->diags, DIAG_UNION_ORDER, at->range.begin, at->range.end,
			"this belongs to the last part of the Union; to order them all, write From u "
			"In (… Union …) OrderBy …");
	}
	if (other->n != q->columns.n) {
		diag_add(c->diags, DIAG_COLUMNS_DIFFER, k->range.begin, k->range.end,
			 "a Union needs the same number of columns: %zu and %zu", q->columns.n,
			 other->n);
		return;
	}
	for (size_t i = 0; i < other->n; i++)
		if (!type_agrees(q->columns.items[i].type, other->items[i].type)) {
			diag_add(c->diags, DIAG_COLUMNS_DIFFER, k->range.begin, k->range.end,
				 "column %zu of a Union is %s in one part and %s in the other",
				 i + 1, type_name(q->columns.items[i].type, one),
				 type_name(other->items[i].type, two));
			return;
		}
}

struct type check_clauses(struct checker *c, struct ast_clauses *q)
{
	struct check_scope *s;
	size_t errors = c->diags->errors;

	if (!check_enter(c, q->range)) {
		c->depth--;
		return type_of(TYPE_ERROR);
	}
	s = check_alloc(c, 1, sizeof(*s));
	if (s) {
		s->kind = CHECK_ROWS;
		check_bindings(c, s, q);
		check_plain(c, s, q);
		check_group(c, s, q);
		check_select(c, s, q);
		check_having(c, s, q);
		check_grouping(c, q);
		check_columns(c, q);
		for (struct ast_clause *k = q->first; k; k = k->next)
			if (k->kind == AST_CLAUSE_UNION)
				check_union(c, q, k);
	}
	c->depth--;
	if (!s || c->diags->errors > errors)
		return type_of(TYPE_ERROR);
	return (struct type){.tag = TYPE_RELATION, .columns = &q->columns};
}
