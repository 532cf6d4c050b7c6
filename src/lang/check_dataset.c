/* lang/check_dataset.c - definitions: datasets and tracepoints. */
#include "base/cleanup.h"
#include "lang/check_int.h"

/* What a row of the dataset stands for. */
static struct type row_of(struct checker *c, const struct ast_dataset *d)
{
	struct type per;
	char name[TYPE_NAME_BYTES];

	if (!d->per)
		return type_of(TYPE_TRACE);
	per = check_query(c, d->per);
	if (per.tag == TYPE_SPANSET)
		return type_of(TYPE_BLOCK);
	if (type_is_element(per))
		return type_of(per.tag);
	if (per.tag != TYPE_ERROR)
		diag_add(
			c->diags, DIAG_DATASET, d->per->range.begin, d->per->range.end,
			"a row stands for elements of a trace, and this is %s; Per Traces, Per Blocks | "
			"Filter(…)",
			type_name(per, name));
	return type_of(TYPE_ERROR);
}

static void check_where(struct checker *c, struct ast_dataset *d)
{
	struct check_scope s = {.kind = CHECK_HEAD, .input = c->row, .on = ON_TRACE};
	struct type t;
	char name[TYPE_NAME_BYTES];

	if (!d->where)
		return;
	if (d->where->kind != AST_SPANSET)
		s.kind = CHECK_ELEMENT;
	s.no_aggregate = "Where chooses traces by their spans: {…}";
	s.input = type_of(TYPE_TRACE);
	t = check_expr(c, &s, d->where);
	if (t.tag != TYPE_SPANSET && t.tag != TYPE_BOOL && t.tag != TYPE_UNKNOWN &&
	    t.tag != TYPE_ERROR)
		diag_add(c->diags, DIAG_DATASET, d->where->range.begin, d->where->range.end,
			 "Where needs a spanset or a condition on the trace, and this is %s",
			 type_name(t, name));
}

static void check_triggers(struct checker *c, struct ast_dataset *d)
{
	struct check_scope s = {.kind = CHECK_HEAD, .input = type_of(TYPE_TRACE)};
	char name[TYPE_NAME_BYTES];

	for (size_t i = 0; i < d->n_triggers; i++) {
		struct ast_trigger *t = &d->triggers[i];

		if (t->kind == AST_TRIGGER_AFTER && t->after_ns <= 0)
			diag_add(c->diags, DIAG_RANGE, t->range.begin, t->range.end,
				 "After needs a duration above 0");
		if (!t->spanset)
			continue;
		check_expr(c, &s, t->spanset);
		if (t->spanset->type.tag != TYPE_SPANSET && t->spanset->type.tag != TYPE_ERROR)
			diag_add(c->diags, DIAG_DATASET, t->range.begin, t->range.end,
				 "a trigger needs a spanset, and this is %s",
				 type_name(t->spanset->type, name));
	}
}

/* The name RecordAs gives, or empty. */
static struct ast_stage *recorded(const struct ast_statement *s)
{
	struct ast_stage *last = s->kind == AST_STATEMENT_QUERY && s->query->n_stages
					 ? &s->query->stages[s->query->n_stages - 1]
					 : NULL;

	return last && last->out.tag == TYPE_FEATURE ? last : NULL;
}

static void check_features(struct checker *c, const struct ast_statement *definition)
{
	struct ast_dataset *d = definition->dataset;
	size_t n = 0;

	for (const struct ast_statement *s = d->body; s; s = s->next)
		n++;
	d->columns.items = check_alloc(c, n, sizeof(struct column));
	for (struct ast_statement *s = d->body; s && d->columns.items; s = s->next) {
		struct ast_stage *stage = recorded(s);
		struct type t;

		if (!stage) {
			if (!s->name.n && s->type.tag != TYPE_ERROR)
				diag_add(
					c->diags, DIAG_DATASET, s->range.begin, s->range.end,
					"its value goes nowhere; add | RecordAs(\"name\"), or give it a "
					"name for others: x = …");
			continue;
		}
		t = stage->in;
		if (t.many)
			t = (struct type){.tag = TYPE_LIST, .of = t.tag};
		for (size_t i = 0; i < d->columns.n; i++)
			if (slice_eq(d->columns.items[i].name, stage->expr->call.args[0]->string))
				diag_add(c->diags, DIAG_TWICE, stage->range.begin, stage->range.end,
					 "the column %.*s is recorded twice",
					 SLICE_ARG(slice_first(d->columns.items[i].name, 60)));
		d->columns.items[d->columns.n++] =
			(struct column){stage->expr->call.args[0]->string, t};
	}
	if (d->columns.n == 0 && d->columns.items)
		diag_add(c->diags, DIAG_DATASET, definition->name_range.begin,
			 definition->name_range.end,
			 "a dataset needs a column: … | RecordAs(\"name\")");
}

void check_dataset(struct checker *c, struct ast_statement *s)
{
	struct ast_dataset *d = s->dataset;
	struct checker inner = *c;
	size_t errors = c->diags->errors;

	check_triggers(c, d);
	inner.row = row_of(c, d);
	inner.externals = c->externals;
	check_where(c, d);
	d->element = inner.row.tag == TYPE_ERROR ? TYPE_TRACE : inner.row.tag;
	inner.row = type_of(d->element);
	inner.row_fields = true;
	inner.outer = c->outer ? c->outer : c->statements;
	inner.statements = d->body;
	for (struct ast_statement *b = d->body; b; b = b->next) {
		if (b->kind != AST_STATEMENT_QUERY) {
			diag_add(c->diags, DIAG_DATASET, b->range.begin, b->range.end,
				 "definitions of datasets and tracepoints stand by themselves");
			continue;
		}
		for (const struct ast_statement *o = d->body; o != b; o = o->next)
			if (b->name.n && slice_eq(o->name, b->name))
				diag_add(c->diags, DIAG_TWICE, b->name_range.begin,
					 b->name_range.end, "%.*s is defined twice",
					 SLICE_ARG(b->name));
		check_statement_in(&inner, b);
	}
	c->externals = inner.externals;
	c->fatal = inner.fatal;
	c->weight = inner.weight;
	if (c->diags->errors == errors)
		check_features(c, s);
	s->type = (struct type){.tag = TYPE_RELATION, .columns = &d->columns};
}

void check_tracepoint(struct checker *c, struct ast_statement *s)
{
	struct ast_tracepoint *t = s->tracepoint;
	struct check_scope span = {
		.kind = CHECK_SPAN, .on = ON_BLOCK, .no_aggregate = "an export is of one event"};
	struct check_scope head = {.kind = CHECK_HEAD, .input = c->row};
	char name[TYPE_NAME_BYTES];

	for (size_t i = 0; i < t->n_sources; i++) {
		struct ast_source *source = t->sources[i];

		if (source->kind == AST_SOURCE_NAME)
			continue; /* a site: only a running program knows it */
		if (source->kind == AST_SOURCE_SPANSET)
			check_expr(c, &head, source->expr);
		if (source->kind != AST_SOURCE_SPANSET || (source->expr->type.tag != TYPE_SPANSET &&
							   source->expr->type.tag != TYPE_ERROR))
			diag_add(
				c->diags, DIAG_TYPE, source->range.begin, source->range.end,
				"a tracepoint is a spanset, {…}, or a place in a program, provider!name");
	}
	t->columns.items = check_alloc(c, t->n_exports, sizeof(struct column));
	for (size_t i = 0; t->columns.items && i < t->n_exports; i++) {
		struct ast_export *x = &t->exports[i];
		struct type type = check_expr(c, &span, x->expr);

		if (!type_is_scalar(type)) {
			diag_add(c->diags, DIAG_TYPE, x->expr->range.begin, x->expr->range.end,
				 "an export is a value, and this is %s", type_name(type, name));
			type = type_of(TYPE_ERROR);
		}
		for (size_t k = 0; k < i; k++)
			if (slice_eq(t->exports[k].name, x->name))
				diag_add(c->diags, DIAG_TWICE, x->range.begin, x->range.end,
					 "%.*s is exported twice", SLICE_ARG(x->name));
		if (word_field(x->name, ON_TRACEPOINT))
			diag_add(c->diags, DIAG_SHADOWED, x->range.begin, x->range.end,
				 "%.*s hides the field of that name every tracepoint has",
				 SLICE_ARG(x->name));
		t->columns.items[t->columns.n++] = (struct column){x->name, type};
	}
	t->columns.open = !t->declares;
	s->type = (struct type){.tag = TYPE_RELATION, .columns = &t->columns};
}
