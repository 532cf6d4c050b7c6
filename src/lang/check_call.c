/* lang/check_call.c - calls: is there such a function, may it stand here, do its arguments fit? */
#include <stdio.h>

#include "base/cleanup.h"
#include "lang/check_int.h"

static const struct type wrong = {.tag = TYPE_ERROR};

void check_make_call(struct ast_expr *e, struct slice name)
{
	e->kind = AST_CALL;
	e->call = (struct ast_call){.name = name, .bare = true};
}

/* ---- finding it ---- */

static const char *where_it_belongs(const struct word_function *f)
{
	if (f->places & IN_METRIC)
		return "it is a stage behind a spanset: {…} | ";
	if (f->places & IN_SPANSET)
		return "it is a stage behind a spanset: {…} | ";
	if (f->places & IN_SERIES)
		return "it is a stage behind a series: {…} | rate() | ";
	if (f->places & IN_CHANGE)
		return "it is a change that WhatIf makes: ";
	if (f->places & IN_SAMPLE)
		return "it says how to sample: ";
	if (f->places & IN_ELEMENTS)
		return "it is a stage of a pipe over the elements of a trace: Blocks | ";
	return "it is a function of values: ";
}

static struct type unknown(struct checker *c, const struct ast_expr *e)
{
	struct suggestion near = suggestion_for(e->call.name);
	uint32_t begin = e->range.begin, end = begin + (uint32_t)e->call.name.n;

	for (const struct word_function *f = word_functions(); f->name; f++)
		suggestion_offer(&near, f->name);
	if (near.best) {
		diag_add(c->diags, DIAG_UNKNOWN_FUNCTION, begin, end,
			 "there is no function '%.*s'; did you mean '%s'?",
			 SLICE_ARG(slice_first(e->call.name, 60)), near.best);
		diag_fix(c->diags, begin, end, slice_cstr(near.best));
	} else {
		diag_add(c->diags, DIAG_UNKNOWN_FUNCTION, begin, end, "there is no function '%.*s'",
			 SLICE_ARG(slice_first(e->call.name, 60)));
	}
	return wrong;
}

static const struct word_function *find(struct checker *c, struct check_scope *s,
					const struct ast_expr *e)
{
	unsigned aggregates = s->no_aggregate || s->in_aggregate ? 0 : IN_AGGREGATE;
	const struct word_function *f = word_function(e->call.name,
						      s->places | IN_SCALAR | aggregates),
				   *any;

	if (s->kind == CHECK_HEAD && f && !(f->places & (s->places | IN_SCALAR)))
		f = NULL;
	if (f)
		return f;
	any = word_function(e->call.name, 0);
	if (!any) {
		unknown(c, e);
		return NULL;
	}
	if ((any->places & IN_AGGREGATE) && s->in_aggregate)
		diag_add(
			c->diags, DIAG_AGGREGATE_PLACE, e->range.begin, e->range.end,
			"an aggregate inside of an aggregate; make the inner one a query of its own");
	else if ((any->places & IN_AGGREGATE) && s->no_aggregate)
		diag_add(c->diags, DIAG_AGGREGATE_PLACE, e->range.begin, e->range.end,
			 "%.*s is an aggregate: %s", SLICE_ARG(e->call.name), s->no_aggregate);
	else
		diag_add(c->diags, DIAG_STAGE_PLACE, e->range.begin, e->range.end,
			 "%.*s cannot stand here; %s%s", SLICE_ARG(e->call.name),
			 where_it_belongs(any),
			 any->usage && any->usage[0] == '|' ? any->usage + 2
			 : any->usage                       ? any->usage
							    : any->name);
	return NULL;
}

/* ---- arguments ---- */

/* The letter of the i-th parameter, 0 if there is none; *ret_least: how many there must be. */
static char letter_at(const char *args, size_t i, size_t *ret_least, bool *ret_endless)
{
	char letter = 0;
	size_t at = 0;

	*ret_least = 0;
	*ret_endless = false;
	for (const char *p = args; *p; p++) {
		if (p[1] != '?')
			++*ret_least;
		if (at == i || (p[1] == '+' && i > at))
			letter = *p;
		at++;
		if (p[1] == '+')
			*ret_endless = true;
		if (p[1] == '?' || p[1] == '+')
			p++;
	}
	return letter;
}

static size_t letters(const char *args)
{
	size_t n = 0;

	for (const char *p = args; *p; p++)
		n += *p != '?' && *p != '+';
	return n;
}

static const char *wanted(char letter)
{
	switch (letter) {
	case 'n':
		return "a number";
	case 'd':
		return "a number or a duration";
	case 'o':
		return "a value with an order";
	case 's':
		return "a string";
	case 'b':
		return "a condition";
	case 'l':
		return "a list";
	case 'i':
		return "an integer as it is written, 10";
	case 'q':
		return "a share between 0 and 1 as it is written, 0.99";
	case 'S':
		return "a spanset, {…}";
	case 'e':
		return "an element of a trace";
	case '>':
		return "an order of two elements, a -> b";
	case 'C':
		return "a change: Without({…}) or Scale({…}, 0.5)";
	case 'p':
		return "a pipe that gives one value";
	default:
		return "a value";
	}
}

static bool fits(char letter, struct type t, const struct ast_expr *e)
{
	bool open = !t.many && (t.tag == TYPE_UNKNOWN || t.tag == TYPE_ERROR);

	if (t.tag == TYPE_ERROR)
		return true;
	switch (letter) {
	case 'x':
		return true;
	case 'n':
		return type_is_number(t);
	case 'd':
		return type_is_summable(t);
	case 'o':
		return type_is_summable(t) ||
		       (!t.many && (t.tag == TYPE_TIME || t.tag == TYPE_STRING));
	case 's':
		return open || (t.tag == TYPE_STRING && !t.many);
	case 'b':
		return open || (t.tag == TYPE_BOOL && !t.many);
	case 'l':
		return open || (t.tag == TYPE_LIST && !t.many);
	case 'i':
		return e->kind == AST_INT;
	case 'q':
		return (e->kind == AST_FLOAT && e->real >= 0 && e->real <= 1) ||
		       (e->kind == AST_INT && (e->integer == 0 || e->integer == 1));
	case 'S':
		return t.tag == TYPE_SPANSET;
	case 'e':
		return type_is_element(t) && !t.many;
	case '>':
		return t.tag == TYPE_ORDER;
	case 'C':
		return t.tag == TYPE_CHANGE;
	default:
		return type_is_scalar(t) || (type_is_element(t) && !t.many);
	}
}

static void misfit(struct checker *c, const struct ast_expr *call, const struct ast_expr *arg,
		   char letter)
{
	char name[TYPE_NAME_BYTES];

	diag_add(c->diags, DIAG_ARGUMENT_TYPE, arg->range.begin, arg->range.end,
		 "%.*s needs %s here, and this is %s", SLICE_ARG(call->call.name), wanted(letter),
		 type_name(arg->type, name));
}

/* Counter(bytes): a name, not what it stands for. */
static bool bare_name(struct ast_expr *arg)
{
	if (arg->kind == AST_STRING) {
		arg->type = type_of(TYPE_STRING);
		return true;
	}
	if (arg->kind != AST_PATH || arg->path.n == 0)
		return false;
	arg->path.kind = AST_PATH_ATTRIBUTE;
	arg->path.key = arg->path.parts[arg->path.n - 1].text;
	arg->type = type_of(TYPE_UNKNOWN);
	return true;
}

/* An alias as an element: a row of a tracepoint is one, too. */
static bool element_alias(struct ast_expr *arg)
{
	const struct ast_binding *b = arg->kind == AST_PATH ? arg->path.binding : NULL;

	return b && arg->path.kind == AST_PATH_ALIAS && (b->on & ON_TRACEPOINT);
}

static void check_argument(struct checker *c, struct check_scope *s, struct ast_expr *e, size_t i,
			   char letter)
{
	struct ast_expr *arg = e->call.args[i];
	struct check_scope inner = *s;

	if (letter == 'N') {
		if (!bare_name(arg))
			diag_add(c->diags, DIAG_ARGUMENT_TYPE, arg->range.begin, arg->range.end,
				 "%.*s needs a name", SLICE_ARG(e->call.name));
		return;
	}
	if (arg->kind == AST_STAR && (letter == '*' || e->call.function->id == FN_COUNT)) {
		arg->type = type_of(TYPE_INT);
		return;
	}
	/* Inside, other things may stand than outside. */
	inner.places = letter == 'C' ? IN_CHANGE : 0;
	if (letter == 'f') {
		inner.no_aggregate = "Filter looks at one element at a time";
		check_condition(c, &inner, arg, "Filter");
		return;
	}
	if (letter == 'p' || letter == '>') { /* other pipes, by name */
		inner = (struct check_scope){.kind = CHECK_HEAD,
					     .input = c->row,
					     .places = IN_ELEMENTS,
					     .no_aggregate = "say of what: pipe | sum"};
	}
	if (e->call.aggregate)
		inner.in_aggregate = true;
	check_expr(c, &inner, arg);
	s->has_aggregate |= inner.has_aggregate && !e->call.aggregate;
	if (letter == 'e' && element_alias(arg))
		return;
	if (!fits(letter, arg->type, arg))
		misfit(c, e, arg, letter);
}

static bool check_arguments(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	const struct word_function *f = e->call.function;
	size_t errors = c->diags->errors, least, most = letters(f->args);
	bool endless;

	letter_at(f->args, 0, &least, &endless);
	if (e->call.n < least || (e->call.n > most && !endless)) {
		size_t bound = e->call.n < least ? least : most;

		diag_add(c->diags, DIAG_ARGUMENTS, e->range.begin, e->range.end,
			 "%.*s takes %s%zu argument%s, and %zu %s given%s", SLICE_ARG(e->call.name),
			 least == most && !endless ? ""
			 : e->call.n < least       ? "at least "
						   : "at most ",
			 bound, bound == 1 ? "" : "s", e->call.n, e->call.n == 1 ? "is" : "are",
			 f->id == FN_MIN   ? "; the smallest of several is least(a, b)"
			 : f->id == FN_MAX ? "; the largest of several is greatest(a, b)"
					   : "");
		return false;
	}
	for (size_t i = 0; i < e->call.n; i++)
		check_argument(c, s, e, i, letter_at(f->args, i, &least, &endless));
	return c->diags->errors == errors;
}

/* ---- results ---- */

static struct type first_argument(const struct ast_expr *e)
{
	for (size_t i = 0; i < e->call.n; i++)
		if (e->call.args[i]->kind != AST_INT || e->call.n == 1)
			return e->call.args[i]->type;
	return type_of(TYPE_UNKNOWN);
}

/* What an aggregate without an argument works on: the stream. */
static struct type stream_item(struct checker *c, struct check_scope *s, const struct ast_expr *e)
{
	struct type item = s->input;
	char name[TYPE_NAME_BYTES];
	bool values = e->call.function->id != FN_COUNT && e->call.function->id != FN_FIRST &&
		      e->call.function->id != FN_LAST;

	if (!item.many && item.tag != TYPE_ERROR && item.tag != TYPE_PATH) {
		diag_add(c->diags, DIAG_STAGE_TYPE, e->range.begin, e->range.end,
			 "%.*s needs many, and what comes in is %s", SLICE_ARG(e->call.name),
			 type_name(item, name));
		return wrong;
	}
	item.many = false;
	if (values && !type_is_scalar(item)) {
		item.many = true;
		diag_add(c->diags, DIAG_STAGE_TYPE, e->range.begin, e->range.end,
			 "%.*s needs values, and what comes in is %s; say which: | Duration | %.*s",
			 SLICE_ARG(e->call.name), type_name(item, name), SLICE_ARG(e->call.name));
		return wrong;
	}
	return item;
}

static struct type mean_type(struct type t)
{
	if (t.tag == TYPE_INT)
		return type_of(TYPE_FLOAT);
	t.grouped = false;
	return t;
}

static struct type aggregate_result(struct checker *c, struct check_scope *s,
				    const struct ast_expr *e)
{
	const struct word_function *f = e->call.function;
	bool stream = s->kind == CHECK_ELEMENT || s->kind == CHECK_HEAD;
	struct type of = e->call.n ? first_argument(e) : type_of(TYPE_UNKNOWN);
	struct type list = {.tag = TYPE_LIST};

	if (!e->call.aggregate && s->input.tag == TYPE_SPANSET)
		return type_of(TYPE_BLOCK);
	if (e->call.n == 0 && stream)
		of = stream_item(c, s, e);
	else if (e->call.n == 0 && f->id != FN_COUNT && f->id != FN_RATE) {
		diag_add(c->diags, DIAG_ARGUMENTS, e->range.begin, e->range.end, "%.*s of what? %s",
			 SLICE_ARG(e->call.name), f->usage ? f->usage : f->name);
		return wrong;
	}
	if (of.tag == TYPE_ERROR)
		return wrong;
	switch (f->id) {
	case FN_COUNT:
	case FN_DISTINCT:
		return type_of(TYPE_INT);
	case FN_RATE:
		return type_of(TYPE_FLOAT);
	case FN_HISTOGRAM:
		return type_of(TYPE_HISTOGRAM);
	case FN_TOPK:
		list.of = of.tag;
		return list;
	case FN_QUANTILE:
		if (e->call.n <= 2)
			return mean_type(of);
		list.of = mean_type(of).tag;
		return list;
	case FN_AVG:
	case FN_STDDEV:
	case FN_PERCENTILE:
		return mean_type(of);
	default:
		return of;
	}
}

static struct type series_type(struct checker *c, const struct ast_expr *e)
{
	struct columns *columns = check_alloc(c, 1, sizeof(*columns));
	struct column *items = check_alloc(c, 2, sizeof(*items));
	struct type type = {.tag = TYPE_SERIES, .columns = columns};

	if (!columns || !items)
		return wrong;
	items[0] = (struct column){SLICE("time"), type_of(TYPE_TIME)};
	items[1] = (struct column){e->call.name,
				   e->call.n && e->call.args[0]->type.tag == TYPE_DURATION
					   ? type_of(TYPE_DURATION)
					   : type_of(TYPE_FLOAT)};
	*columns = (struct columns){items, 2, false};
	return type;
}

/* compare({a}, {b}), {a} | compare({b}, n, start, end) */
static struct type compare_result(struct checker *c, const struct check_scope *s,
				  const struct ast_expr *e)
{
	static struct column items[] = {
		{SLICE("attribute"), {.tag = TYPE_STRING}}, {SLICE("value"), {.tag = TYPE_UNKNOWN}},
		{SLICE("selected"), {.tag = TYPE_FLOAT}},   {SLICE("rest"), {.tag = TYPE_FLOAT}},
		{SLICE("difference"), {.tag = TYPE_FLOAT}}, {SLICE("p"), {.tag = TYPE_FLOAT}},
	};
	static const struct columns columns = {items, ARRAY_SIZE(items), false};
	bool stage = s->kind == CHECK_SPAN;
	size_t sets = 1;

	for (size_t i = 1; i < e->call.n; i++) {
		const struct ast_expr *arg = e->call.args[i];

		if (!stage && i == 1 && arg->type.tag == TYPE_SPANSET)
			sets++;
		else if (arg->kind != AST_INT && !(arg->kind == AST_DURATION && i > 1) &&
			 arg->type.tag != TYPE_ERROR)
			misfit(c, e, arg, 'i');
	}
	if (!stage && sets < 2) {
		diag_add(c->diags, DIAG_ARGUMENTS, e->range.begin, e->range.end,
			 "compare needs two spansets: compare({a}, {b}), or {a} | compare({b})");
		return wrong;
	}
	return (struct type){.tag = TYPE_RELATION, .columns = &columns};
}

/* Sets of elements: of the trace, or of each that comes in. */
static struct type elements_result(struct checker *c, const struct check_scope *s,
				   const struct ast_expr *e)
{
	char name[TYPE_NAME_BYTES];
	struct type in = s->input;

	if (!type_is_element(in) && in.tag != TYPE_PATH && in.tag != TYPE_SPANSET &&
	    in.tag != TYPE_ERROR) {
		diag_add(c->diags, DIAG_STAGE_TYPE, e->range.begin, e->range.end,
			 "%.*s are parts of a trace, and what comes in is %s",
			 SLICE_ARG(e->call.name), type_name(in, name));
		return wrong;
	}
	return type_many((enum type_tag)e->call.function->result);
}

/* A value of each element that comes in. */
static struct type each_result(struct checker *c, const struct check_scope *s,
			       const struct ast_expr *e, enum type_tag tag)
{
	struct type result = {.tag = tag,
			      .many = s->input.many || s->input.tag == TYPE_SPANSET ||
				      s->input.tag == TYPE_PATH};
	char name[TYPE_NAME_BYTES];

	if (s->kind == CHECK_ROWS || s->kind == CHECK_COLUMNS)
		return type_of(tag);
	if (s->kind == CHECK_SPAN || type_is_element(s->input) || s->input.tag == TYPE_PATH ||
	    s->input.tag == TYPE_ERROR)
		return result;
	diag_add(c->diags, DIAG_STAGE_TYPE, e->range.begin, e->range.end,
		 "%.*s is of elements of a trace, and what comes in is %s", SLICE_ARG(e->call.name),
		 type_name(s->input, name));
	return wrong;
}

static struct type subtract_result(struct checker *c, const struct check_scope *s,
				   const struct ast_expr *e)
{
	struct type in = s->input, by = e->call.args[0]->type, result;
	char left[TYPE_NAME_BYTES], right[TYPE_NAME_BYTES];

	in.many = false;
	if (by.tag == TYPE_ERROR || in.tag == TYPE_ERROR)
		return wrong;
	result = check_arithmetic(OP_SUB, in, by);
	if (result.tag == TYPE_ERROR) {
		diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
			 "%s cannot be taken from %s", type_name(by, right),
			 type_name(s->input, left));
		return wrong;
	}
	result.many = s->input.many;
	return result;
}

static struct type record_result(struct checker *c, const struct check_scope *s,
				 const struct ast_expr *e)
{
	struct type in = s->input;
	char name[TYPE_NAME_BYTES];

	in.many = false;
	if (e->call.args[0]->kind != AST_STRING || e->call.args[0]->string.n == 0) {
		diag_add(c->diags, DIAG_ARGUMENT_TYPE, e->range.begin, e->range.end,
			 "RecordAs needs the name of a column in quotes");
		return wrong;
	}
	if (!type_is_scalar(in)) {
		diag_add(
			c->diags, DIAG_STAGE_TYPE, e->range.begin, e->range.end,
			"a column holds values, and what comes in is %s; say which of its fields: | "
			"Duration, | Timestamp, | name",
			type_name(s->input, name));
		return wrong;
	}
	return type_of(TYPE_FEATURE);
}

static struct type special_result(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	switch (e->call.function->id) {
	case FN_COMPARE:
		return compare_result(c, s, e);
	case FN_EXEC_UNITS:
	case FN_BLOCKS:
	case FN_POINTS:
	case FN_EDGES:
	case FN_COUNTERS:
	case FN_TRACES:
		return elements_result(c, s, e);
	case FN_TIMESTAMP:
		return each_result(c, s, e, TYPE_TIME);
	case FN_DURATION:
		return each_result(c, s, e, TYPE_DURATION);
	case FN_COUNTER:
		return each_result(c, s, e, TYPE_FLOAT);
	case FN_SELF_TIME:
	case FN_SLACK:
		return e->call.n ? type_of(TYPE_DURATION) : each_result(c, s, e, TYPE_DURATION);
	case FN_PATTERN:
		return e->call.n ? type_of(TYPE_STRING) : each_result(c, s, e, TYPE_STRING);
	case FN_SUBTRACT:
		return subtract_result(c, s, e);
	case FN_RECORD_AS:
		return record_result(c, s, e);
	case FN_FILTER:
	case FN_SELECT:
	case FN_TOPK:
	case FN_BOTTOMK:
		return s->input;
	case FN_MOVING_AVERAGE:
		return mean_type(e->call.args[0]->type);
	case FN_BY: {
		struct type grouped = s->input;

		grouped.grouped = true;
		return grouped;
	}
	case FN_COALESCE:
		return type_of(TYPE_SPANSET);
	default:
		return type_of(TYPE_UNKNOWN);
	}
}

static bool is_special(enum word_function_id id)
{
	switch (id) {
	case FN_EXEC_UNITS:
	case FN_BLOCKS:
	case FN_POINTS:
	case FN_EDGES:
	case FN_COUNTERS:
	case FN_TRACES:
	case FN_TIMESTAMP:
	case FN_DURATION:
	case FN_COUNTER:
	case FN_SELF_TIME:
	case FN_SLACK:
	case FN_PATTERN:
	case FN_RECORD_AS:
	case FN_BOTTOMK:
		return true;
	default:
		return false;
	}
}

static struct type plain_result(struct checker *c, const struct ast_expr *e)
{
	const struct word_function *f = e->call.function;
	struct type two;

	switch (f->result) {
	case RESULT_FIRST:
		two = e->call.args[0]->type;
		for (size_t i = 1; i < e->call.n; i++)
			two = check_common(two, e->call.args[i]->type);
		return two;
	case RESULT_SECOND:
		if (!type_agrees(e->call.args[1]->type, e->call.args[2]->type)) {
			char one[TYPE_NAME_BYTES], other[TYPE_NAME_BYTES];

			diag_add(c->diags, DIAG_TYPE, e->range.begin, e->range.end,
				 "both outcomes need one type: %s or %s",
				 type_name(e->call.args[1]->type, one),
				 type_name(e->call.args[2]->type, other));
			return wrong;
		}
		return check_common(e->call.args[1]->type, e->call.args[2]->type);
	default:
		return type_of((enum type_tag)f->result);
	}
}

struct type check_call(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	const struct word_function *f = find(c, s, e);
	bool metric;

	if (!f)
		return wrong;
	e->call.function = f;
	metric = (f->places & IN_METRIC) && (s->places & IN_METRIC);
	e->call.aggregate = (f->places & IN_AGGREGATE) && !metric &&
			    !((f->places & IN_SERIES) && (s->places & IN_SERIES));
	/* First and Last keep what comes in; over a stream they are stages. */
	if ((f->id == FN_FIRST || f->id == FN_LAST) && e->call.n == 0 &&
	    (s->kind == CHECK_ELEMENT || s->kind == CHECK_HEAD || s->input.tag == TYPE_SPANSET))
		e->call.aggregate = false;
	if (e->call.aggregate)
		s->has_aggregate = true;
	if (!check_arguments(c, s, e))
		return wrong;
	if (f->id == FN_FIRST || f->id == FN_LAST || e->call.aggregate)
		return aggregate_result(c, s, e);
	if (metric && f->id != FN_COMPARE)
		return series_type(c, e);
	if (f->result == RESULT_SPECIAL || f->result == RESULT_INPUT || is_special(f->id))
		return special_result(c, s, e);
	return plain_result(c, e);
}
