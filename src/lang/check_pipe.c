/* lang/check_pipe.c - heads and stages: what comes in, what goes out.
 *
 *   spanset   {…} by(…) select(…) coalesce() count() > 2      spanset
 *             rate() quantile_over_time(…) …                  series
 *             compare(…)                                      rows
 *             count(), avg(x)                                 a value; | > 2 makes it a filter
 * again series    topk(n) bottomk(n) > 5                          series rows      condition,
 * select(…), aggregates                rows elements  Points, Filter(…), First, Duration, name, …
 * elements, values values    Sum, max, Subtract(…), > 5, RecordAs(…)         values, a feature */
#include "base/cleanup.h"
#include "lang/check_int.h"

static const struct type wrong = {.tag = TYPE_ERROR};

static unsigned on_of(enum type_tag tag)
{
	switch (tag) {
	case TYPE_TRACE:
		return ON_TRACE;
	case TYPE_UNIT:
		return ON_UNIT;
	case TYPE_POINT:
		return ON_POINT;
	case TYPE_EDGE:
		return ON_EDGE;
	case TYPE_COUNTER:
		return ON_COUNTER;
	default:
		return ON_BLOCK;
	}
}

/* Has a pipe over spans inside: ({a} | count()) + 1 > ({b} | count()) */
static bool counts_spans(const struct ast_expr *e)
{
	switch (e->kind) {
	case AST_SUBQUERY:
		return e->query->head && e->query->head->type.tag == TYPE_SPANSET;
	case AST_UNARY:
		return counts_spans(e->op.left);
	case AST_BINARY:
		return counts_spans(e->op.left) || counts_spans(e->op.right);
	default:
		return false;
	}
}

struct type check_head(struct checker *c, struct ast_expr *e)
{
	struct check_scope head = {.kind = CHECK_HEAD,
				   .input = c->row,
				   .on = on_of(c->row.tag),
				   .places = IN_ELEMENTS};

	check_expr(c, &head, e);
	/* A condition on counts of spans: the traces for which it holds. */
	if (e->type.tag == TYPE_BOOL && !e->type.many && counts_spans(e))
		e->type = type_of(TYPE_SPANSET);
	return e->type;
}

static struct type misplaced(struct checker *c, const struct ast_stage *stage, struct type in,
			     const char *advice)
{
	char name[TYPE_NAME_BYTES];

	diag_add(c->diags, DIAG_STAGE_TYPE, stage->range.begin, stage->range.end,
		 "this stage cannot follow %s; %s", type_name(in, name), advice);
	return wrong;
}

/* ---- behind a spanset ---- */

static struct type spanset_stage(struct checker *c, struct ast_stage *stage, struct type in)
{
	struct check_scope s = {.kind = CHECK_SPAN,
				.on = ON_BLOCK,
				.input = in,
				.places = IN_SPANSET | IN_METRIC | IN_ELEMENTS | IN_AGGREGATE};
	struct type t = check_expr(c, &s, stage->expr);
	struct slice text;

	if (t.tag == TYPE_ERROR)
		return wrong;
	switch (t.tag) {
	case TYPE_SPANSET:
	case TYPE_SERIES:
	case TYPE_RELATION:
		return t;
	case TYPE_BOOL:
		if (s.has_aggregate)
			return in;
		text = check_source_text(c, stage->range);
		diag_add(c->diags, DIAG_STAGE_TYPE, stage->range.begin, stage->range.end,
			 "a condition on each span stands in braces: | { … }");
		diag_fix(c->diags, stage->range.begin, stage->range.end,
			 slice_cstr(arena_printf(c->arena, "{ %.*s }", SLICE_ARG(text))));
		return wrong;
	default:
		break;
	}
	if (s.has_aggregate || t.many || type_is_element(t)) {
		t.grouped = t.grouped || in.grouped;
		return t;
	}
	return misplaced(
		c, stage, in,
		"what follows is by(…), select(…), coalesce(), an aggregate like count() > 2, "
		"or a metric like rate()");
}

/* ---- behind a series ---- */

static struct type series_stage(struct checker *c, struct ast_stage *stage, struct type in)
{
	struct check_scope s = {.kind = CHECK_COLUMNS,
				.input = in,
				.places = IN_SERIES,
				.no_aggregate = "a series is aggregated already"};
	enum word_function_id id;

	if (stage->expr->kind != AST_CALL) {
		check_expr(c, &s, stage->expr);
		return misplaced(c, stage, in,
				 "what follows is topk(n), bottomk(n) or a comparison: | > 5");
	}
	check_expr(c, &s, stage->expr);
	if (stage->expr->type.tag == TYPE_ERROR)
		return wrong;
	id = stage->expr->call.function->id;
	if (id != FN_TOPK && id != FN_BOTTOMK)
		return misplaced(c, stage, in,
				 "what follows is topk(n), bottomk(n) or a comparison: | > 5");
	if (stage->expr->call.n != 1 || stage->expr->call.args[0]->integer < 1) {
		diag_add(c->diags, DIAG_ARGUMENTS, stage->range.begin, stage->range.end,
			 "behind a series %.*s takes one number, at least 1",
			 SLICE_ARG(stage->expr->call.name));
		return wrong;
	}
	return in;
}

/* ---- behind rows ---- */

/* select(a, b): their columns; an aggregate: its own, with the keys of by (…). */
static struct type new_columns(struct checker *c, struct ast_expr **keys, size_t n,
			       struct ast_expr *last)
{
	struct columns *columns = check_alloc(c, 1, sizeof(*columns));
	struct column *items = check_alloc(c, n + 1, sizeof(*items));

	if (!columns || !items)
		return wrong;
	for (size_t i = 0; i < n; i++)
		items[i] = (struct column){check_label(c, keys[i], false), keys[i]->type};
	if (last)
		items[n] = (struct column){check_label(c, last, false), last->type};
	*columns = (struct columns){items, n + (last ? 1 : 0), false};
	return (struct type){.tag = TYPE_RELATION, .columns = columns};
}

static struct type rows_stage(struct checker *c, struct ast_stage *stage, struct type in)
{
	struct ast_expr *e = stage->expr;
	struct check_scope s = {.kind = CHECK_COLUMNS, .input = in};

	if (e->kind == AST_CALL && slice_eq_nocase(e->call.name, SLICE("select")))
		s.places = IN_SPANSET;
	check_expr(c, &s, e);
	if (e->type.tag == TYPE_ERROR)
		return wrong;
	if (s.places)
		return new_columns(c, e->call.args, e->call.n, NULL);
	if (s.has_aggregate && e->type.tag != TYPE_BOOL)
		return e->kind == AST_BY ? new_columns(c, e->by.keys, e->by.n, e->by.of)
					 : new_columns(c, NULL, 0, e);
	if (e->type.tag == TYPE_BOOL || e->type.tag == TYPE_UNKNOWN)
		return in;
	return misplaced(c, stage, in,
			 "what follows is a condition on its columns, select(…) or an aggregate");
}

/* ---- behind elements and values ---- */

static struct type element_stage(struct checker *c, struct ast_stage *stage, struct type in)
{
	struct check_scope s = {
		.kind = CHECK_ELEMENT, .on = on_of(in.tag), .input = in, .places = IN_ELEMENTS};
	struct type t = check_expr(c, &s, stage->expr);
	bool call = stage->expr->kind == AST_CALL;

	if (t.tag == TYPE_ERROR)
		return wrong;
	if (call && stage->expr->call.function)
		return t;
	if (t.tag == TYPE_BOOL && type_is_element(in))
		return in;
	if (t.tag == TYPE_SPANSET && in.tag == TYPE_BLOCK)
		return in;
	if (!type_is_scalar(t))
		return misplaced(
			c, stage, in,
			"what follows is a set of its parts, Filter(…), First, a field or an "
			"aggregate");
	t.many = in.many;
	return t;
}

/* | > 5 */
static struct type comparison_stage(struct checker *c, struct ast_stage *stage, struct type in,
				    bool spans)
{
	struct check_scope head = {.kind = CHECK_HEAD,
				   .input = c->row,
				   .places = IN_ELEMENTS,
				   .no_aggregate = "compare with a value"};
	struct type with = check_expr(c, &head, stage->expr), one = in;
	char left[TYPE_NAME_BYTES], right[TYPE_NAME_BYTES];

	if (with.tag == TYPE_ERROR || in.tag == TYPE_ERROR)
		return wrong;
	if (in.tag == TYPE_SERIES && type_is_summable(with))
		return in;
	one.many = false;
	if (!type_is_scalar(one) || !type_is_scalar(with) || !type_agrees(one, with)) {
		diag_add(c->diags, DIAG_STAGE_TYPE, stage->range.begin, stage->range.end,
			 "%s cannot be compared with %s", type_name(in, left),
			 type_name(with, right));
		return wrong;
	}
	return spans ? type_of(TYPE_SPANSET) : in;
}

static void check_hints(struct checker *c, struct ast_query *q)
{
	struct check_scope head = {.kind = CHECK_HEAD, .input = c->row};

	for (size_t i = 0; i < q->n_hints; i++) {
		struct ast_hint *h = &q->hints[i];
		struct suggestion near = suggestion_for(h->name);

		check_expr(c, &head, h->value);
		h->hint = word_hint(h->name);
		if (h->hint) {
			if (h->hint->types[0] == 'b' && h->value->kind != AST_BOOL &&
			    h->value->type.tag != TYPE_ERROR)
				diag_add(c->diags, DIAG_ARGUMENT_TYPE, h->range.begin, h->range.end,
					 "%s is true or false", h->hint->name);
			if (slice_ends(h->name, SLICE("sample")) &&
			    ((h->value->kind == AST_FLOAT &&
			      !(h->value->real > 0 && h->value->real <= 1)) ||
			     (h->value->kind == AST_INT && h->value->integer != 1)))
				diag_add(c->diags, DIAG_RANGE, h->range.begin, h->range.end,
					 "%s is a share, above 0 and up to 1", h->hint->name);
			continue;
		}
		if (c->dialect == DIALECT_TRACEQL)
			continue; /* one that only Tempo knows: it asks for nothing else */
		for (const struct word_hint *w = word_hints(); w->name; w++)
			suggestion_offer(&near, w->name);
		diag_add(c->diags, DIAG_UNKNOWN_HINT, h->range.begin,
			 h->range.begin + (uint32_t)h->name.n, "there is no hint '%.*s'%s%s%s",
			 SLICE_ARG(slice_first(h->name, 60)), near.best ? "; did you mean '" : "",
			 near.best ? near.best : "", near.best ? "'?" : "");
		if (near.best)
			diag_fix(c->diags, h->range.begin, h->range.begin + (uint32_t)h->name.n,
				 slice_cstr(near.best));
	}
}

struct type check_pipe(struct checker *c, struct ast_query *q, struct type in)
{
	bool spans =
		in.tag == TYPE_SPANSET; /* a value is one per trace, or per group of its spans */

	for (size_t i = 0; i < q->n_stages; i++) {
		struct ast_stage *stage = &q->stages[i];

		stage->in = in;
		if (in.tag == TYPE_ERROR)
			break;
		if (stage->cmp != OP_NONE)
			in = comparison_stage(c, stage, in, spans && type_is_scalar(in));
		else if (in.tag == TYPE_SPANSET)
			in = spanset_stage(c, stage, in);
		else if (in.tag == TYPE_SERIES)
			in = series_stage(c, stage, in);
		else if (in.tag == TYPE_RELATION)
			in = rows_stage(c, stage, in);
		else if (in.tag == TYPE_FEATURE || in.tag == TYPE_ORDER || in.tag == TYPE_CHANGE)
			in = misplaced(c, stage, in, "it ends a pipe");
		else
			in = element_stage(c, stage, in);
		stage->out = in;
	}
	check_hints(c, q);
	return in;
}
