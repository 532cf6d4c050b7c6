/* lang/check_expr.c - the type of every expression, and what does not go together. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "lang/check_int.h"

static const struct type wrong = {.tag = TYPE_ERROR};

static bool is(struct type t, enum type_tag tag)
{
	return t.tag == tag && !t.many;
}

static bool open_type(struct type t)
{
	return t.tag == TYPE_ERROR || (t.tag == TYPE_UNKNOWN && !t.many);
}

struct type check_common(struct type a, struct type b)
{
	if (open_type(a) || is(a, TYPE_NIL))
		return a.tag == TYPE_UNKNOWN ? a : b;
	if (open_type(b) || is(b, TYPE_NIL))
		return b.tag == TYPE_UNKNOWN ? b : a;
	return is(a, TYPE_INT) && is(b, TYPE_FLOAT) ? b : a;
}

static bool adds(enum ast_op op)
{
	return op == OP_ADD || op == OP_SUB;
}

/* One side is a time. */
static struct type time_arithmetic(enum ast_op op, struct type a, struct type b)
{
	if (is(a, TYPE_UNKNOWN) || is(b, TYPE_UNKNOWN))
		return type_of(TYPE_UNKNOWN);
	if (is(a, TYPE_TIME) && is(b, TYPE_TIME))
		return op == OP_SUB ? type_of(TYPE_DURATION) : wrong;
	if (is(a, TYPE_DURATION))
		return op == OP_ADD ? b : wrong;
	if (!is(b, TYPE_DURATION))
		return wrong;
	if (adds(op))
		return a;
	return op == OP_DIV ? type_of(TYPE_INT) : op == OP_MOD ? b : wrong;
}

/* One side is a duration, the other a duration, a number or unknown. */
static struct type duration_arithmetic(enum ast_op op, struct type a, struct type b)
{
	struct type duration = type_of(TYPE_DURATION);

	if (is(a, TYPE_DURATION) && is(b, TYPE_DURATION))
		return adds(op) || op == OP_MOD ? duration
		       : op == OP_DIV           ? type_of(TYPE_INT)
						: wrong;
	if (op == OP_MUL || (op == OP_DIV && is(a, TYPE_DURATION)))
		return duration;
	if (!is(a, TYPE_UNKNOWN) && !is(b, TYPE_UNKNOWN))
		return wrong;
	/* What is not known may be a duration, too. */
	return adds(op) || op == OP_MOD ? duration : op == OP_DIV ? type_of(TYPE_UNKNOWN) : wrong;
}

struct type check_arithmetic(enum ast_op op, struct type a, struct type b)
{
	if (a.tag == TYPE_ERROR || b.tag == TYPE_ERROR)
		return wrong;
	if (is(a, TYPE_TIME) || is(b, TYPE_TIME))
		return time_arithmetic(op, a, b);
	if (!type_is_summable(a) || !type_is_summable(b))
		return wrong;
	if (is(a, TYPE_DURATION) || is(b, TYPE_DURATION))
		return duration_arithmetic(op, a, b);
	if (op == OP_POW)
		return type_of(TYPE_FLOAT);
	if (is(a, TYPE_UNKNOWN) || is(b, TYPE_UNKNOWN))
		return type_of(TYPE_UNKNOWN);
	return is(a, TYPE_FLOAT) ? a : b;
}

/* ---- reports ---- */

static struct type mismatch(struct checker *c, const struct ast_expr *e, struct type a,
			    struct type b, const char *advice)
{
	char left[TYPE_NAME_BYTES], right[TYPE_NAME_BYTES];

	diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
		 "%s does not go between %s and %s%s%s", ast_op_text(e->op.op), type_name(a, left),
		 type_name(b, right), advice[0] ? "; " : "", advice);
	return wrong;
}

/* status = "error": the constant was meant. */
static bool quoted_constant(struct checker *c, struct type wanted, const struct ast_expr *e)
{
	const struct word_constant *constant =
		e->kind == AST_STRING ? word_constant(e->string) : NULL;

	if (!constant || constant->type != wanted.tag)
		return false;
	diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
		 "%s is written without quotes: %s", type_tag_name(wanted.tag), constant->name);
	diag_fix(c->diags, e->range.begin, e->range.end, slice_cstr(constant->name));
	return true;
}

static const char *comparison_advice(struct type a, struct type b)
{
	if ((is(a, TYPE_DURATION) && type_is_number(b)) ||
	    (is(b, TYPE_DURATION) && type_is_number(a)))
		return "write the duration with its unit: 500ms, 2s, 1h30m";
	if (is(a, TYPE_BOOL))
		return "a < b < c is written a < b && b < c";
	if (is(a, TYPE_TIME) || is(b, TYPE_TIME))
		return "for a span of time use Over range \"from\" .. \"to\" or Over last 1h";
	if (is(a, TYPE_STATUS) || is(b, TYPE_STATUS))
		return "a status is unset, ok or error";
	if (is(a, TYPE_KIND) || is(b, TYPE_KIND))
		return "a kind is internal, server, client, producer, consumer or unspecified";
	if (a.many || b.many)
		return "make one of the many: | First, | max, | count()";
	if (a.tag == TYPE_RELATION || b.tag == TYPE_RELATION)
		return "name one of its columns";
	if (type_is_element(a) || type_is_element(b))
		return "name one of its fields";
	return "";
}

/* ---- operators ---- */

static enum ast_op structural_of(enum ast_op op)
{
	switch (op) {
	case OP_GT:
		return OP_CHILD;
	case OP_LT:
		return OP_PARENT;
	case OP_NO_MATCH:
		return OP_NOT_SIBLING;
	default:
		return op;
	}
}

/* At least one side is a spanset. */
static struct type check_spansets(struct checker *c, struct ast_expr *e, struct type a,
				  struct type b)
{
	enum ast_op op = structural_of(e->op.op);

	if (a.tag == TYPE_ERROR || b.tag == TYPE_ERROR)
		return wrong;
	if (!is(a, TYPE_SPANSET) || !is(b, TYPE_SPANSET))
		return mismatch(c, e, a, b,
				"put the condition into braces: {…}, or count the spans: {…} | "
				"count() > 2");
	if (op != OP_AND && op != OP_OR && !ast_op_is_structural(op))
		return mismatch(
			c, e, a, b,
			"spansets are connected by && || > >> < << ~, their negations !> … and "
			"unions &> …");
	e->op.op = op;
	return a;
}

static struct type check_logic(struct checker *c, struct ast_expr *e, struct type a, struct type b)
{
	const struct ast_expr *bad = NULL;
	char name[TYPE_NAME_BYTES];
	struct type type = a;

	if (!is(b, TYPE_BOOL) && !open_type(b)) {
		bad = e->op.right;
		type = b;
	}
	if (!is(a, TYPE_BOOL) && !open_type(a)) {
		bad = e->op.left;
		type = a;
	}
	if (!bad)
		return type_of(TYPE_BOOL);
	diag_add(c->diags, DIAG_TYPE, bad->range.begin, bad->range.end,
		 "%s connects conditions, and this is %s; compare it with something",
		 ast_op_text(e->op.op), type_name(type, name));
	return wrong;
}

static bool check_pattern(struct checker *c, const struct ast_expr *e)
{
	struct pattern *pattern = NULL;
	struct error error = {0};
	int r;

	if (e->kind == AST_LIST) {
		for (size_t i = 0; i < e->list.n; i++)
			if (!check_pattern(c, e->list.items[i]))
				return false;
		return true;
	}
	if (e->kind != AST_STRING)
		return true;
	r = pattern_new(e->string, true, &pattern, &error);
	pattern_free(pattern);
	if (r == 0)
		return true;
	if (r == -ENOMEM) {
		c->diags->no_memory = true;
		return false;
	}
	diag_add(c->diags, DIAG_BAD_REGEX, e->range.begin, e->range.end, "this is %s", error.text);
	return false;
}

static struct type check_match(struct checker *c, struct ast_expr *e, struct type a, struct type b)
{
	struct type right = is(b, TYPE_LIST) ? type_of(b.of) : b;
	bool texts = (is(a, TYPE_STRING) || open_type(a)) &&
		     (is(right, TYPE_STRING) || open_type(right));

	if (a.tag == TYPE_ERROR || b.tag == TYPE_ERROR)
		return wrong;
	if (!texts)
		return mismatch(c, e, a, b, "it matches a string with a regular expression");
	return check_pattern(c, e->op.right) ? type_of(TYPE_BOOL) : wrong;
}

static struct type check_in(struct checker *c, struct ast_expr *e, struct type a, struct type b)
{
	struct type item = is(b, TYPE_LIST) ? type_of(b.of) : b;

	if (a.tag == TYPE_ERROR || b.tag == TYPE_ERROR)
		return wrong;
	if (b.tag == TYPE_RELATION) {
		if (!b.columns || b.columns->n != 1)
			return mismatch(c, e, a, b, "the query must have one column");
		item = b.columns->items[0].type;
	} else if (!is(b, TYPE_LIST) && !open_type(b)) {
		/* x in (5): one value in brackets */
		return mismatch(c, e, a, b, "write a list: [a, b]");
	}
	if (!type_is_scalar(a) || (!type_agrees(a, item) && item.tag != TYPE_ERROR))
		return mismatch(c, e, a, b, comparison_advice(a, item));
	return type_of(TYPE_BOOL);
}

/* In Tempo's dialect a number beside a duration counts nanoseconds. */
static bool counts_ns(const struct checker *c, struct type a, struct type b)
{
	return c->dialect == DIALECT_TRACEQL && ((is(a, TYPE_DURATION) && type_is_number(b)) ||
						 (is(b, TYPE_DURATION) && type_is_number(a)));
}

static struct type check_comparison(struct checker *c, struct ast_expr *e, struct type a,
				    struct type b)
{
	bool ordered = e->op.op != OP_EQ && e->op.op != OP_NE;

	if (a.tag == TYPE_ERROR || b.tag == TYPE_ERROR)
		return wrong;
	if (a.tag == TYPE_SERIES || b.tag == TYPE_SERIES) {
		if ((a.tag == TYPE_SERIES || type_is_summable(a)) &&
		    (b.tag == TYPE_SERIES || type_is_summable(b)))
			return a.tag == TYPE_SERIES ? a : b;
		return mismatch(c, e, a, b, "a series is compared with a number or a series");
	}
	if (quoted_constant(c, a, e->op.right) || quoted_constant(c, b, e->op.left))
		return wrong;
	if (!type_is_scalar(a) || !type_is_scalar(b) || (!type_agrees(a, b) && !counts_ns(c, a, b)))
		return mismatch(c, e, a, b, comparison_advice(a, b));
	if (ordered &&
	    (is(a, TYPE_BOOL) || is(b, TYPE_BOOL) || is(a, TYPE_LIST) || is(b, TYPE_LIST)))
		return mismatch(c, e, a, b, "it has no order");
	return type_of(TYPE_BOOL);
}

static struct type check_numbers(struct checker *c, struct ast_expr *e, struct type a,
				 struct type b)
{
	struct type type;
	const char *advice = "";

	if (a.tag == TYPE_SERIES || b.tag == TYPE_SERIES) {
		bool fits = (a.tag == TYPE_SERIES || type_is_number(a)) &&
			    (b.tag == TYPE_SERIES || type_is_number(b));

		if (!fits && a.tag != TYPE_ERROR && b.tag != TYPE_ERROR)
			return mismatch(c, e, a, b, "a series takes numbers and other series");
		return a.tag == TYPE_SERIES ? a : b;
	}
	type = check_arithmetic(e->op.op, a, b);
	if (type.tag != TYPE_ERROR || a.tag == TYPE_ERROR || b.tag == TYPE_ERROR) {
		type.grouped = a.grouped || b.grouped;
		return type;
	}
	if (is(a, TYPE_STRING) || is(b, TYPE_STRING))
		advice = e->op.op == OP_ADD ? "strings are put together by concat(a, b)"
					    : "int(x) and float(x) read a number from a string";
	else if (is(a, TYPE_TIME) || is(b, TYPE_TIME))
		advice =
			"time - time is a duration, time / duration a bucket, time + duration a time";
	else if (is(a, TYPE_DURATION) || is(b, TYPE_DURATION))
		advice = e->op.op == OP_ADD || e->op.op == OP_SUB
				 ? "write the duration with its unit: 500ms"
				 : "duration / duration is a number, duration * number a duration";
	else
		advice = comparison_advice(a, b);
	return mismatch(c, e, a, b, advice);
}

/* a -> b outside of On: only as what CriticalPath takes. */
static struct type check_causal(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type a = check_expr(c, s, e->op.left), b = check_expr(c, s, e->op.right);

	if (a.tag == TYPE_ERROR || b.tag == TYPE_ERROR)
		return wrong;
	if (is(a, TYPE_SPANSET) && is(b, TYPE_SPANSET))
		return mismatch(
			c, e, a, b,
			"for spans below each other use >>; for causal order From b In {…} Join "
			"a In {…} On a -> b");
	if (!type_is_element(a) || !type_is_element(b) || a.many || b.many)
		return mismatch(
			c, e, a, b,
			"it orders elements of a trace: aliases in On, or CriticalPath(a -> "
			"b) with a and b made one by | First");
	return type_of(TYPE_ORDER);
}

static struct type check_binary(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type a, b;

	if (ast_op_is_causal(e->op.op))
		return check_causal(c, s, e);
	a = check_expr(c, s, e->op.left);
	b = check_expr(c, s, e->op.right);
	if (is(a, TYPE_SPANSET) || is(b, TYPE_SPANSET) || ast_op_is_structural(e->op.op))
		return check_spansets(c, e, a, b);
	switch (e->op.op) {
	case OP_AND:
	case OP_OR:
		return check_logic(c, e, a, b);
	case OP_MATCH:
	case OP_NO_MATCH:
		return check_match(c, e, a, b);
	case OP_IN:
		return check_in(c, e, a, b);
	case OP_EQ:
	case OP_NE:
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
		return check_comparison(c, e, a, b);
	default:
		return check_numbers(c, e, a, b);
	}
}

static struct type check_unary(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type of = check_expr(c, s, e->op.left);
	char name[TYPE_NAME_BYTES];

	if (of.tag == TYPE_ERROR)
		return wrong;
	if (e->op.op == OP_NEG) {
		if (type_is_summable(of) || of.tag == TYPE_SERIES)
			return of;
		diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
			 "- needs a number or a duration, and this is %s", type_name(of, name));
		return wrong;
	}
	if (is(of, TYPE_BOOL) || is(of, TYPE_UNKNOWN))
		return type_of(TYPE_BOOL);
	diag_add(
		c->diags, DIAG_TYPE, e->range.begin, e->range.end,
		is(of, TYPE_SPANSET)
			? "not turns a condition around, and this is %s; put it inside: {!(…)}, or "
			  "use !> !>> !~"
			: "not turns a condition around, and this is %s; it binds tightly, so write "
			  "not (a = b)",
		type_name(of, name));
	return wrong;
}

static struct type check_list(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type list = {.tag = TYPE_LIST, .of = TYPE_UNKNOWN}, common = {.tag = TYPE_NIL};
	char one[TYPE_NAME_BYTES], two[TYPE_NAME_BYTES];

	for (size_t i = 0; i < e->list.n; i++) {
		struct type item = check_expr(c, s, e->list.items[i]);

		if (item.tag == TYPE_ERROR)
			return wrong;
		if (!type_is_scalar(item) || !type_agrees(common, item)) {
			diag_add(c->diags, DIAG_TYPE, e->list.items[i]->range.begin,
				 e->list.items[i]->range.end,
				 "a list holds values of one type: %s beside %s",
				 type_name(item, one), type_name(common, two));
			return wrong;
		}
		common = check_common(common, item);
	}
	if (e->list.n)
		list.of = common.tag;
	return list;
}

static struct type check_index(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type of = check_expr(c, s, e->index.of), at = check_expr(c, s, e->index.at);
	char name[TYPE_NAME_BYTES];

	if (of.tag == TYPE_ERROR || at.tag == TYPE_ERROR)
		return wrong;
	if (!is(of, TYPE_LIST) && !is(of, TYPE_UNKNOWN)) {
		diag_add(c->diags, DIAG_TYPE, e->index.of->range.begin, e->index.of->range.end,
			 "[…] takes an element of a list, and this is %s", type_name(of, name));
		return wrong;
	}
	if (!is(at, TYPE_INT) && !is(at, TYPE_UNKNOWN)) {
		diag_add(c->diags, DIAG_TYPE, e->index.at->range.begin, e->index.at->range.end,
			 "an index is an integer, and this is %s", type_name(at, name));
		return wrong;
	}
	return is(of, TYPE_LIST) ? type_of(of.of) : of;
}

static struct type check_spanset(struct checker *c, struct ast_expr *e)
{
	struct check_scope inside = {.kind = CHECK_SPAN,
				     .on = ON_BLOCK,
				     .no_aggregate = "aggregates of spans come behind the braces: "
						     "{…} | count() > 2"};

	if (e->spanset.condition)
		check_condition(c, &inside, e->spanset.condition, "a spanset");
	return type_of(TYPE_SPANSET);
}

/* rate() by (x): the keys are about spans, or about the rows of the stage. */
static struct type check_by(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type of = check_expr(c, s, e->by.of);
	struct check_scope keys = *s;
	struct column *columns;
	struct columns *all;
	char name[TYPE_NAME_BYTES];
	bool fits;

	keys.no_aggregate = "rows are grouped by what each of them has";
	keys.places = 0;
	for (size_t i = 0; i < e->by.n; i++) {
		struct type key = check_expr(c, &keys, e->by.keys[i]);

		if (!type_is_scalar(key))
			diag_add(c->diags, DIAG_TYPE, e->by.keys[i]->range.begin,
				 e->by.keys[i]->range.end, "by (…) takes values, and this is %s",
				 type_name(key, name));
	}
	fits = of.tag == TYPE_SERIES || (s->has_aggregate && type_is_scalar(of)) ||
	       of.tag == TYPE_ERROR;
	if (!fits) {
		diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
			 "by (…) follows an aggregate, rate() by (x), and this is %s",
			 type_name(of, name));
		return wrong;
	}
	of.grouped = true;
	if (of.tag != TYPE_SERIES)
		return of;
	all = check_alloc(c, 1, sizeof(*all));
	columns = check_alloc(c, e->by.n + 2, sizeof(*columns));
	if (!all || !columns)
		return wrong;
	columns[0] = (struct column){SLICE("time"), type_of(TYPE_TIME)};
	for (size_t i = 0; i < e->by.n; i++)
		columns[i + 1] =
			(struct column){check_label(c, e->by.keys[i], false), e->by.keys[i]->type};
	columns[e->by.n + 1] = of.columns && of.columns->n
				       ? of.columns->items[of.columns->n - 1]
				       : (struct column){SLICE("value"), type_of(TYPE_FLOAT)};
	*all = (struct columns){columns, e->by.n + 2, false};
	of.columns = all;
	return of;
}

static struct type check_kind(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	switch (e->kind) {
	case AST_INT:
		return type_of(TYPE_INT);
	case AST_FLOAT:
		return type_of(TYPE_FLOAT);
	case AST_DURATION:
		return type_of(TYPE_DURATION);
	case AST_STRING:
		return type_of(TYPE_STRING);
	case AST_BOOL:
		return type_of(TYPE_BOOL);
	case AST_NIL:
		return type_of(TYPE_NIL);
	case AST_PATH:
		return check_path(c, s, e);
	case AST_CALL:
		return check_call(c, s, e);
	case AST_UNARY:
		return check_unary(c, s, e);
	case AST_BINARY:
		return check_binary(c, s, e);
	case AST_SPANSET:
		return check_spanset(c, e);
	case AST_LIST:
		return check_list(c, s, e);
	case AST_INDEX:
		return check_index(c, s, e);
	case AST_BY:
		return check_by(c, s, e);
	case AST_SUBQUERY:
		return check_query(c, e->query);
	case AST_STAR:
		diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
			 "* stands only in COUNT(*)");
		return wrong;
	default:
		return wrong;
	}
}

struct type check_expr(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	e->type = check_weigh(c, 1, e->range) ? check_kind(c, s, e) : wrong;
	return e->type;
}

void check_condition(struct checker *c, struct check_scope *s, struct ast_expr *e,
		     const char *where)
{
	struct type t = check_expr(c, s, e);
	char name[TYPE_NAME_BYTES];

	if (is(t, TYPE_BOOL) || open_type(t))
		return;
	diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
		 "%s needs a condition, and this is %s; compare it with something", where,
		 type_name(t, name));
}
