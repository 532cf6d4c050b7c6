/* lang/check_source.c - what stands behind In: which of the kinds a name is, and what its tuples
 * have. */
#include "base/cleanup.h"
#include "core/glob.h"
#include "lang/check_int.h"

#define MAX_MATCHES 64 /* definitions one glob may stand for */

static const struct type wrong = {.tag = TYPE_ERROR};

/* Tuples of a tracepoint: its exports, and whatever else the event has. */
static struct type tracepoint_type(struct checker *c, const struct ast_statement *definition)
{
	struct columns *columns = check_alloc(c, 1, sizeof(*columns));

	if (!columns)
		return wrong;
	if (definition)
		*columns = definition->tracepoint->columns;
	columns->open = !definition || !definition->tracepoint->declares;
	return (struct type){.tag = TYPE_RELATION, .columns = columns};
}

/* Tuples of a query. */
static struct type rows_of(struct checker *c, struct type t, struct ast_range range)
{
	char name[TYPE_NAME_BYTES];

	if (t.tag == TYPE_ERROR)
		return wrong;
	if (t.tag == TYPE_SPANSET)
		return type_of(TYPE_BLOCK);
	if (type_is_element(t))
		return type_of(t.tag);
	if (t.tag == TYPE_RELATION)
		return t;
	if (t.tag == TYPE_SERIES)
		return (struct type){.tag = TYPE_RELATION, .columns = t.columns};
	diag_add(c->diags, DIAG_TYPE, range.begin, range.end,
		 "a source gives rows, spans or elements, and this is %s", type_name(t, name));
	return wrong;
}

static void unknown_tracepoint(struct checker *c, const struct ast_source *s)
{
	struct suggestion near = suggestion_for(s->name);
	enum diag_code code = c->options->unknown_tracepoints == UNKNOWN_REFUSE
				      ? DIAG_UNKNOWN_SOURCE
				      : DIAG_UNKNOWN_TRACEPOINT;

	for (const struct word_source *w = word_sources(); w->name; w++)
		if (slice_eq_nocase(slice_cstr(w->name), s->name))
			near.best = w->name;
	if (!near.best) {
		check_offer_names(c, &near);
		for (const struct word_source *w = word_sources(); w->name; w++)
			suggestion_offer(&near, w->name);
	}
	/* Any other name may be a tracepoint somewhere; this one was hardly meant. */
	if (c->options->unknown_tracepoints == UNKNOWN_ACCEPT && !near.best)
		return;
	if (near.best) {
		diag_add(c->diags, code, s->range.begin, s->range.end,
			 "there is no tracepoint '%.*s'; did you mean '%s'?",
			 SLICE_ARG(slice_first(s->name, 80)), near.best);
		diag_fix(c->diags, s->range.begin, s->range.end, slice_cstr(near.best));
	} else {
		diag_add(
			c->diags, code, s->range.begin, s->range.end,
			"there is no tracepoint '%.*s'; `causet tracepoints list` shows those there "
			"are, `causet tracepoints define` makes one",
			SLICE_ARG(slice_first(s->name, 80)));
	}
}

static void check_named(struct checker *c, struct ast_source *s)
{
	struct ast_statement *statement = NULL;

	if (!s->provider.n && !s->glob && s->place == AST_PLACE_NONE) {
		statement = check_statement_named(c, s->name, s->range);
		if (!statement)
			s->builtin = word_source(s->name);
	} else if (!s->provider.n && !s->glob) {
		statement = check_statement_named(c, s->name, s->range);
	}
	if (s->builtin) {
		s->kind = AST_SOURCE_BUILTIN;
		s->type = type_of(s->builtin->element);
		return;
	}
	if (statement && statement->kind == AST_STATEMENT_DATASET) {
		s->statement = statement;
		s->kind = AST_SOURCE_STATEMENT;
		s->type = (struct type){.tag = TYPE_RELATION,
					.columns = &statement->dataset->columns};
		return;
	}
	if (statement && statement->kind == AST_STATEMENT_QUERY) {
		s->statement = statement;
		s->kind = AST_SOURCE_STATEMENT;
		check_weigh(c, statement->weight, s->range);
		s->type = rows_of(c, statement->type, s->range);
		return;
	}
	s->kind = AST_SOURCE_TRACEPOINT;
	s->statement = statement;
	if (!statement && !s->provider.n && !s->glob)
		unknown_tracepoint(c, s);
	if (statement)
		check_weigh(c, statement->weight, s->range);
	s->type = tracepoint_type(c, statement);
}

static void check_filter(struct checker *c, struct ast_source *s)
{
	check_source(c, s->of);
	s->type = s->of->type;
	if (s->of->kind == AST_SOURCE_FILTER || s->of->kind == AST_SOURCE_CSV) {
		diag_add(c->diags, DIAG_CLAUSE, s->range.begin, s->range.end,
			 "First and MostRecent choose among events of a trace, and this is %s",
			 s->of->kind == AST_SOURCE_CSV ? "a file" : "a choice already");
		s->type = wrong;
	}
}

void check_source(struct checker *c, struct ast_source *s)
{
	struct check_scope head = {.kind = CHECK_HEAD, .input = c->row};
	char name[TYPE_NAME_BYTES];
	struct type t;
	static const struct columns anything = {.open = true};

	if (!check_weigh(c, 1, s->range))
		return;
	switch (s->kind) {
	case AST_SOURCE_NAME:
		check_named(c, s);
		break;
	case AST_SOURCE_SPANSET:
		t = check_expr(c, &head, s->expr);
		s->type = t.tag == TYPE_SPANSET ? type_of(TYPE_BLOCK) : wrong;
		if (t.tag != TYPE_SPANSET && t.tag != TYPE_ERROR)
			diag_add(c->diags, DIAG_TYPE, s->range.begin, s->range.end,
				 "a source gives spans, and this is %s", type_name(t, name));
		break;
	case AST_SOURCE_QUERY:
		s->type = rows_of(c, check_query(c, s->query), s->range);
		break;
	case AST_SOURCE_CSV:
		s->type = (struct type){.tag = TYPE_RELATION, .columns = &anything};
		break;
	case AST_SOURCE_FILTER:
		if (check_enter(c, s->range))
			check_filter(c, s);
		c->depth--;
		break;
	default:
		break; /* checked before, by another name for the same statement */
	}
}

static unsigned on_of(const struct ast_source *s)
{
	while (s->kind == AST_SOURCE_FILTER)
		s = s->of;
	if (s->kind == AST_SOURCE_TRACEPOINT)
		return ON_TRACEPOINT;
	switch (s->type.tag) {
	case TYPE_BLOCK:
		return ON_BLOCK;
	case TYPE_POINT:
		return ON_POINT;
	case TYPE_EDGE:
		return ON_EDGE;
	case TYPE_COUNTER:
		return ON_COUNTER;
	case TYPE_TRACE:
		return ON_TRACE;
	case TYPE_UNIT:
		return ON_UNIT;
	default:
		return 0;
	}
}

/* ---- globs: DN.* is every tracepoint of such a name ---- */

struct matches {
	struct checker *checker;
	struct slice pattern;
	struct slice names[MAX_MATCHES];
	size_t n;
	bool more;
};

static void match_offer(void *data, const char *name)
{
	struct matches *m = data;

	if (!glob_match(m->pattern, slice_cstr(name)))
		return;
	if (m->n == MAX_MATCHES) {
		m->more = true;
		return;
	}
	m->names[m->n] = arena_dup(m->checker->arena, slice_cstr(name));
	m->checker->diags->no_memory = m->checker->diags->no_memory || !m->names[m->n].p;
	m->n += m->names[m->n].p != NULL;
}

static void find_matches(struct checker *c, const struct ast_source *s, struct matches *m)
{
	const struct lang_names *names = c->options->names;
	struct ast_statement *const lists[] = {c->statements, c->outer};

	*m = (struct matches){.checker = c, .pattern = s->name};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct ast_statement *t = lists[i]; t; t = t->next)
			if (t->kind == AST_STATEMENT_TRACEPOINT) {
				struct slice copy = arena_dup(c->arena, t->name);

				if (copy.p)
					match_offer(m, copy.p);
			}
	if (names && names->each)
		names->each(names->context, match_offer, m);
	if (m->more)
		diag_add(c->diags, DIAG_RANGE, s->range.begin, s->range.end,
			 "'%.*s' stands for more than %d tracepoints", SLICE_ARG(s->name),
			 MAX_MATCHES);
}

/* Puts the tracepoints a glob stands for in its place. */
static void expand_globs(struct checker *c, struct ast_binding *b)
{
	struct ast_source **sources;
	struct matches m;
	size_t n = 0;

	if (b->n_sources != 1 || b->sources[0]->kind != AST_SOURCE_NAME || !b->sources[0]->glob ||
	    b->sources[0]->provider.n)
		return;
	find_matches(c, b->sources[0], &m);
	if (m.n == 0)
		return;
	sources = check_alloc(c, m.n, sizeof(struct ast_source *));
	for (; sources && n < m.n; n++) {
		sources[n] = check_alloc(c, 1, sizeof(struct ast_source));
		if (!sources[n])
			return;
		*sources[n] = *b->sources[0];
		sources[n]->name = m.names[n];
		sources[n]->glob = false;
	}
	if (!sources)
		return;
	b->sources = sources;
	b->n_sources = n;
}

/* ---- bindings ---- */

/* One more source of the same alias: what all of them have. */
static void merge(struct checker *c, struct ast_binding *b, const struct ast_source *s)
{
	struct columns *columns;
	struct column *items;
	char one[TYPE_NAME_BYTES], two[TYPE_NAME_BYTES];

	b->on &= on_of(s);
	if (b->type.tag == TYPE_ERROR || s->type.tag == TYPE_ERROR) {
		b->type = wrong;
		return;
	}
	if (b->type.tag != s->type.tag || (b->on == 0 && b->type.tag != TYPE_RELATION)) {
		diag_add(c->diags, DIAG_TYPE, s->range.begin, s->range.end,
			 "sources of one alias are of one kind: %s beside %s",
			 type_name(s->type, one), type_name(b->type, two));
		b->type = wrong;
		return;
	}
	if (b->type.tag != TYPE_RELATION || !s->type.columns || !b->type.columns)
		return;
	columns = check_alloc(c, 1, sizeof(*columns));
	items = check_alloc(c, b->type.columns->n + s->type.columns->n, sizeof(*items));
	if (!columns || !items)
		return;
	*columns = (struct columns){items, 0, b->type.columns->open || s->type.columns->open};
	for (size_t i = 0; i < b->type.columns->n; i++)
		items[columns->n++] = b->type.columns->items[i];
	for (size_t i = 0; i < s->type.columns->n; i++) {
		bool known = false;

		for (size_t k = 0; k < b->type.columns->n; k++)
			known |= slice_eq(b->type.columns->items[k].name,
					  s->type.columns->items[i].name);
		if (!known)
			items[columns->n++] = s->type.columns->items[i];
	}
	b->type.columns = columns;
}

void check_binding(struct checker *c, struct ast_binding *b)
{
	expand_globs(c, b);
	for (size_t i = 0; i < b->n_sources; i++) {
		check_source(c, b->sources[i]);
		if (i == 0) {
			b->type = b->sources[i]->type;
			b->on = on_of(b->sources[i]);
		} else {
			merge(c, b, b->sources[i]);
		}
	}
	b->type.many = false;
	b->single = b->type.tag == TYPE_RELATION && b->on == 0 && b->type.columns &&
		    b->type.columns->n == 1 && !b->type.columns->open;
}
