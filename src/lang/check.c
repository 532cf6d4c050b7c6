/* lang/check.c - statements: who defines what, in which order, and without going round in circles.
 */
#include "lang/check.h"

#include <errno.h>

#include "base/cleanup.h"
#include "lang/check_int.h"
#include "lang/parse.h"

/* ast_statement.state */
enum { STATE_NEW, STATE_BUSY, STATE_DONE };

void *check_alloc(struct checker *c, size_t n, size_t size)
{
	void *memory = arena_zalloc(c->arena, n ? n : 1, size);

	if (!memory)
		c->diags->no_memory = true;
	return memory;
}

struct slice check_source_text(const struct checker *c, struct ast_range range)
{
	if (range.end > c->text.n || range.begin > range.end)
		return SLICE("");
	return slice_of(c->text.p + range.begin, range.end - range.begin);
}

bool check_enter(struct checker *c, struct ast_range range)
{
	if (++c->depth <= CHECK_MAX_DEPTH)
		return true;
	diag_add(c->diags, DIAG_TOO_DEEP, range.begin, range.end,
		 "definitions and queries nested more than %d deep", CHECK_MAX_DEPTH);
	return false;
}

bool check_weigh(struct checker *c, uint32_t nodes, struct ast_range range)
{
	uint32_t before = c->weight;

	c->weight = nodes > CHECK_MAX_WEIGHT ? CHECK_MAX_WEIGHT + 1 : c->weight + nodes;
	if (c->weight <= CHECK_MAX_WEIGHT)
		return true;
	c->weight = CHECK_MAX_WEIGHT + 1;
	if (before <= CHECK_MAX_WEIGHT)
		diag_add(c->diags, DIAG_TOO_DEEP, range.begin, range.end,
			 "with all the names it uses this has more than %d parts; make it smaller",
			 CHECK_MAX_WEIGHT);
	return false;
}

void check_statement_in(struct checker *c, struct ast_statement *s)
{
	uint32_t outside = c->weight;

	if (s->state == STATE_DONE)
		return;
	if (s->state == STATE_BUSY) {
		diag_add(c->diags, DIAG_CYCLE, s->name_range.begin, s->name_range.end,
			 "%.*s is defined by itself", SLICE_ARG(s->name));
		s->type = type_of(TYPE_ERROR);
		return;
	}
	s->state = STATE_BUSY;
	c->weight = 0;
	if (check_enter(c, s->range))
		switch (s->kind) {
		case AST_STATEMENT_QUERY:
			s->type = check_query(c, s->query);
			break;
		case AST_STATEMENT_DATASET:
			check_dataset(c, s);
			break;
		case AST_STATEMENT_TRACEPOINT:
			check_tracepoint(c, s);
			break;
		}
	c->depth--;
	s->weight = c->weight;
	c->weight = outside;
	s->state = STATE_DONE;
}

static struct ast_statement *find(struct ast_statement *first, struct slice name)
{
	for (struct ast_statement *s = first; s; s = s->next)
		if (s->name.n && slice_eq(s->name, name))
			return s;
	return NULL;
}

/* Parses what somebody else keeps under the name, and checks it as a program of its own. */
static struct check_external *external_load(struct checker *c, struct slice name,
					    struct ast_range range, struct slice text)
{
	struct check_external *x = check_alloc(c, 1, sizeof(*x));
	struct diags *diags = check_alloc(c, 1, sizeof(*diags));
	struct checker inner = *c;
	struct buffer first = {0};
	int r;

	if (!x || !diags)
		return NULL;
	diags_init(diags, c->arena);
	x->name = name;
	x->next = c->externals;
	c->externals = x;
	r = lang_parse(text, DIALECT_CAUSETQL, c->arena, diags, &x->program);
	if (r < 0) {
		c->diags->no_memory = true;
		return NULL;
	}
	x->statement = find(x->program->first, name);
	inner.diags = diags;
	inner.text = text;
	inner.statements = x->program->first;
	inner.outer = NULL;
	inner.externals = c->externals;
	if (diags->errors == 0 && x->statement)
		check_statement_in(&inner, x->statement);
	c->externals = inner.externals;
	c->fatal = inner.fatal;
	c->diags->no_memory = c->diags->no_memory || diags->no_memory;
	if (diags->errors > 0) {
		diags_first_error(diags, text, &first);
		diag_add(c->diags, DIAG_BAD_DEFINITION, range.begin, range.end,
			 "the definition of %.*s is broken: %s", SLICE_ARG(name),
			 buffer_cstr(&first));
		buffer_done(&first);
		if (x->statement)
			x->statement->type = type_of(TYPE_ERROR);
	}
	return x;
}

struct ast_statement *check_external(struct checker *c, struct slice name, struct ast_range range)
{
	const struct lang_names *names = c->options->names;
	struct check_external *x;
	struct slice text;
	int r;

	for (x = c->externals; x; x = x->next)
		if (slice_eq(x->name, name))
			return x->statement;
	if (!names || !names->define || c->fatal || c->depth > CHECK_MAX_DEPTH)
		return NULL;
	r = names->define(names->context, name, &text);
	if (r == -ENOENT)
		return NULL;
	if (r < 0) {
		c->fatal = r;
		return NULL;
	}
	c->depth++;
	x = external_load(c, name, range, text);
	c->depth--;
	return x ? x->statement : NULL;
}

struct ast_statement *check_statement_named(struct checker *c, struct slice name,
					    struct ast_range range)
{
	struct ast_statement *s = find(c->statements, name);
	struct ast_statement *outer;

	if (!s && c->outer && (s = find(c->outer, name))) {
		/* Checked as what it is: a statement outside of the dataset. */
		struct ast_statement *inside = c->statements;
		struct type row = c->row;
		bool fields = c->row_fields;

		outer = c->outer;
		c->statements = outer;
		c->outer = NULL;
		c->row = type_of(TYPE_TRACE);
		c->row_fields = false;
		check_statement_in(c, s);
		c->statements = inside;
		c->outer = outer;
		c->row = row;
		c->row_fields = fields;
		return s;
	}
	if (!s)
		return check_external(c, name, range);
	if (s->state == STATE_BUSY) {
		diag_add(c->diags, DIAG_CYCLE, range.begin, range.end,
			 "%.*s is needed to define itself", SLICE_ARG(name));
		s->type = type_of(TYPE_ERROR);
		return s;
	}
	check_statement_in(c, s);
	return s;
}

static void offer(void *data, const char *name)
{
	suggestion_offer(data, name);
}

void check_offer_names(struct checker *c, struct suggestion *near)
{
	struct ast_statement *const lists[] = {c->statements, c->outer};
	const struct lang_names *names = c->options->names;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct ast_statement *s = lists[i]; s; s = s->next) {
			struct slice copy = s->name.n ? arena_dup(c->arena, s->name) : s->name;

			if (copy.n && copy.p)
				suggestion_offer(near, copy.p);
		}
	if (names && names->each)
		names->each(names->context, offer, near);
}

struct type check_query(struct checker *c, struct ast_query *q)
{
	struct type type;

	if (!check_enter(c, q->range)) {
		c->depth--;
		return type_of(TYPE_ERROR);
	}
	switch (q->form) {
	case AST_QUERY_CLAUSES:
		type = check_clauses(c, q->clauses);
		break;
	case AST_QUERY_SEQUENCE:
		type = check_sequence(c, q->sequence);
		break;
	default:
		type = check_head(c, q->head);
		break;
	}
	q->type = check_pipe(c, q, type);
	c->depth--;
	return q->type;
}

/* A result must be something: not an order, not a change. */
static void check_result(struct checker *c, const struct ast_statement *s)
{
	char name[TYPE_NAME_BYTES];

	if (s->kind != AST_STATEMENT_QUERY)
		return;
	if (s->type.tag == TYPE_BOOL && !s->type.many && s->query->form == AST_QUERY_PIPE &&
	    s->query->n_stages == 0) {
		diag_add(
			c->diags, DIAG_TYPE, s->query->range.begin, s->query->range.end,
			"a query gives rows, spans or values, and this is a condition; a condition on "
			"spans stands in braces");
		diag_fix(
			c->diags, s->query->range.begin, s->query->range.end,
			slice_cstr(arena_printf(c->arena, "{ %.*s }",
						SLICE_ARG(check_source_text(c, s->query->range)))));
	}
	if (s->type.tag == TYPE_ORDER || s->type.tag == TYPE_CHANGE)
		diag_add(c->diags, DIAG_TYPE, s->range.begin, s->range.end,
			 "a query gives rows, spans or values, and this is %s",
			 type_name(s->type, name));
}

static void check_names_once(struct checker *c)
{
	for (struct ast_statement *s = c->statements; s; s = s->next) {
		if (!s->name.n)
			continue;
		if (find(c->statements, s->name) != s)
			diag_add(c->diags, DIAG_TWICE, s->name_range.begin, s->name_range.end,
				 "%.*s is defined twice", SLICE_ARG(s->name));
		if (s->kind != AST_STATEMENT_DATASET && word_source(s->name))
			diag_add(c->diags, DIAG_SHADOWED, s->name_range.begin, s->name_range.end,
				 "%.*s hides the built-in source of that name", SLICE_ARG(s->name));
	}
}

int lang_check(struct ast_program *program, const struct check_options *options,
	       struct arena *arena, struct diags *diags)
{
	static const struct check_options none = {0};
	struct checker c = {
		.arena = arena,
		.diags = diags,
		.options = options ? options : &none,
		.statements = program->first,
		.text = program->text,
		.dialect = program->dialect,
		.row = type_of(TYPE_TRACE),
	};

	check_names_once(&c);
	for (struct ast_statement *s = program->first; s && !diags->no_memory; s = s->next) {
		check_statement_in(&c, s);
		check_result(&c, s);
	}
	return diags->no_memory ? -ENOMEM : c.fatal;
}

int lang_compile(struct slice text, enum lang_dialect dialect, const struct check_options *options,
		 struct arena *arena, struct diags *diags, struct ast_program **ret_program)
{
	struct ast_program *program;
	int r = lang_parse(text, dialect, arena, diags, &program);

	if (r < 0)
		return r;
	if (diags->errors == 0) {
		r = lang_check(program, options, arena, diags);
		if (r < 0)
			return r;
	}
	diags_sort(diags);
	*ret_program = program;
	return 0;
}
