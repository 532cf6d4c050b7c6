/* lang/check_path.c - what a name means: an alias, a field, an attribute, a column, a constant,
 * another statement. */
#include <stdio.h>

#include "base/cleanup.h"
#include "lang/check_int.h"

static const struct type wrong = {.tag = TYPE_ERROR};

static struct slice first_of(const struct ast_expr *e)
{
	return e->path.n && !e->path.parts[0].quoted ? e->path.parts[0].text : SLICE("");
}

/* Parts from `from` on as one text: http.route, or with quoted parts joined by dots. */
static struct slice key_of(struct checker *c, const struct ast_path *p, size_t from)
{
	struct buffer text = {0};
	struct slice copy;
	bool quoted = false;

	for (size_t i = from; i < p->n; i++)
		quoted |= p->parts[i].quoted;
	if (!quoted && from < p->n)
		return slice_of(p->parts[from].text.p,
				(size_t)(p->parts[p->n - 1].text.p + p->parts[p->n - 1].text.n -
					 p->parts[from].text.p));
	for (size_t i = from; i < p->n; i++) {
		if (i > from)
			buffer_byte(&text, p->parts[i].separator);
		buffer_slice(&text, p->parts[i].text);
	}
	copy = arena_dup(c->arena, buffer_get(&text));
	c->diags->no_memory = c->diags->no_memory || text.failed || !copy.p;
	buffer_done(&text);
	return copy.p ? copy : SLICE("");
}

static struct ast_range part_range(const struct checker *c, const struct ast_expr *e, size_t i)
{
	struct slice text = e->path.parts[i].text;

	if (e->path.parts[i].quoted || text.p < c->text.p ||
	    text.p + text.n > c->text.p + c->text.n)
		return e->range;
	return (struct ast_range){(uint32_t)(text.p - c->text.p),
				  (uint32_t)(text.p - c->text.p + text.n)};
}

/* "…; did you mean 'x'?" with its fix, or without. */
static void report_near(struct checker *c, enum diag_code code, struct ast_range range,
			const struct suggestion *near, const char *message)
{
	if (!near->best) {
		diag_add(c->diags, code, range.begin, range.end, "%s", message);
		return;
	}
	diag_add(c->diags, code, range.begin, range.end, "%s; did you mean '%s'?", message,
		 near->best);
	diag_fix(c->diags, range.begin, range.end, slice_cstr(near->best));
}

static void offer_fields(struct suggestion *near, unsigned on, bool scoped)
{
	for (const struct word_field *f = word_fields(); f->name; f++)
		if ((f->on & on) && (scoped || !strchr(f->name, ':')))
			suggestion_offer(near, f->name);
}

static void offer_columns(struct checker *c, struct suggestion *near, const struct columns *columns)
{
	for (size_t i = 0; columns && i < columns->n; i++) {
		struct slice copy = arena_dup(c->arena, columns->items[i].name);

		if (copy.p)
			suggestion_offer(near, copy.p);
	}
}

static struct type field_type(const struct word_field *f)
{
	return (struct type){.tag = f->type, .of = f->of};
}

/* ---- members of an element ---- */

static struct type attribute(struct checker *c, struct ast_expr *e, enum word_scope scope,
			     size_t from)
{
	e->path.kind = AST_PATH_ATTRIBUTE;
	e->path.scope = scope;
	e->path.key = key_of(c, &e->path, from);
	return type_of(TYPE_UNKNOWN);
}

/* span:name and the like */
static struct type scoped_field(struct checker *c, struct ast_expr *e, unsigned on, size_t from)
{
	struct slice name = key_of(c, &e->path, from);
	struct suggestion near;
	char text[160];

	e->path.field = word_field(name, on);
	if (e->path.field) {
		e->path.kind = AST_PATH_FIELD;
		return field_type(e->path.field);
	}
	near = suggestion_for(name);
	offer_fields(&near, on, true);
	snprintf(text, sizeof(text), "there is no field '%.*s'", SLICE_ARG(slice_first(name, 60)));
	report_near(c, DIAG_UNKNOWN_FIELD,
		    (struct ast_range){part_range(c, e, from).begin, e->range.end}, &near, text);
	return wrong;
}

/* An attribute whose name is a slip away from a field's. */
static void warn_near(struct checker *c, const struct ast_expr *e, unsigned on, size_t from)
{
	struct slice name = e->path.parts[from].text;
	struct suggestion near = suggestion_for(name);

	offer_fields(&near, on, false);
	if (!near.best || near.distance > (name.n >= 8 ? 2 : 1) || name.n < 4 ||
	    near.distance == 0 || slice_starts(slice_cstr(near.best), name))
		return;
	diag_add(c->diags, DIAG_NEAR_FIELD, e->range.begin, e->range.end,
		 "there is no field '%.*s', so it is read as an attribute; did you mean '%s'?",
		 SLICE_ARG(name), near.best);
	diag_fix(c->diags, part_range(c, e, from).begin, part_range(c, e, from).end,
		 slice_cstr(near.best));
}

/* [parent. | root.] [scope .] key, from the part `from` on, of an element with fields `on`.  With
 * `exports` declared ones come first; `open`: other names are attributes. */
static struct type member(struct checker *c, struct ast_expr *e, unsigned on, size_t from,
			  const struct columns *exports, bool open)
{
	struct ast_path *p = &e->path;
	enum word_scope scope =
		p->parts[from].quoted ? WORD_SCOPE_NONE : word_scope(p->parts[from].text);
	size_t left = p->n - from;
	struct suggestion near;
	char text[200];

	if ((scope == WORD_SCOPE_PARENT || scope == WORD_SCOPE_ROOT) && left > 1 &&
	    p->parts[from + 1].separator == '.') {
		p->relative = scope;
		return member(c, e, ON_BLOCK, from + 1, NULL, true);
	}
	if (scope != WORD_SCOPE_NONE && left > 1) {
		if (p->parts[from + 1].separator == ':')
			return scoped_field(c, e, on | ON_BLOCK, from);
		if (scope != WORD_SCOPE_TRACE)
			return attribute(c, e, scope, from + 1);
		diag_add(c->diags, DIAG_UNKNOWN_FIELD, e->range.begin, e->range.end,
			 "a trace has no attributes of its own; its fields are trace:duration, "
			 "trace:rootName, trace:rootService, trace:id");
		return wrong;
	}
	for (size_t i = 0; left == 1 && exports && i < exports->n; i++)
		if (slice_eq(exports->items[i].name, p->parts[from].text)) {
			p->kind = AST_PATH_EXPORT;
			p->column = i;
			p->key = exports->items[i].name;
			return exports->items[i].type;
		}
	if (left == 1 && !p->parts[from].quoted) {
		p->field = word_field(p->parts[from].text, on);
		if (p->field) {
			p->kind = AST_PATH_FIELD;
			return field_type(p->field);
		}
	}
	if (open) {
		if (left == 1 && !p->parts[from].quoted && !(on & ON_TRACEPOINT))
			warn_near(c, e, on, from);
		return attribute(c, e, WORD_SCOPE_NONE, from);
	}
	near = suggestion_for(key_of(c, p, from));
	offer_columns(c, &near, exports);
	offer_fields(&near, on, false);
	snprintf(text, sizeof(text), "the tracepoint exports no '%.*s'",
		 SLICE_ARG(slice_first(key_of(c, p, from), 60)));
	report_near(c, DIAG_UNKNOWN_FIELD,
		    (struct ast_range){part_range(c, e, from).begin, e->range.end}, &near, text);
	return wrong;
}

/* ---- members of a row ---- */

static struct type column(struct checker *c, struct ast_expr *e, const struct columns *columns,
			  size_t from, enum ast_path_kind kind)
{
	struct slice name = key_of(c, &e->path, from);
	struct suggestion near;
	char text[160];

	for (size_t i = 0; columns && i < columns->n; i++)
		if (slice_eq(columns->items[i].name, name)) {
			e->path.kind = kind;
			e->path.column = i;
			e->path.key = name;
			return columns->items[i].type;
		}
	if (columns && columns->open) {
		e->path.kind = kind;
		e->path.key = name;
		return type_of(TYPE_UNKNOWN);
	}
	near = suggestion_for(name);
	offer_columns(c, &near, columns);
	snprintf(text, sizeof(text), "there is no column '%.*s'", SLICE_ARG(slice_first(name, 60)));
	report_near(c, DIAG_UNKNOWN_FIELD,
		    (struct ast_range){part_range(c, e, from).begin, e->range.end}, &near, text);
	return wrong;
}

static struct type of_binding(struct checker *c, struct ast_expr *e, const struct ast_binding *b,
			      size_t from)
{
	e->path.binding = b;
	if (b->type.tag == TYPE_ERROR)
		return wrong;
	if (b->type.tag == TYPE_RELATION && b->on == 0)
		return column(c, e, b->type.columns, from, AST_PATH_COLUMN);
	return member(c, e, b->on, from, b->type.columns,
		      !b->type.columns || b->type.columns->open);
}

static struct type alias(struct ast_expr *e, const struct ast_binding *b)
{
	e->path.kind = AST_PATH_ALIAS;
	e->path.binding = b;
	return b->single ? b->type.columns->items[0].type : b->type;
}

/* ---- clauses ---- */

static const struct ast_binding *binding_named(const struct check_scope *s, struct slice name)
{
	for (size_t i = 0; name.n && i < s->n_bindings; i++)
		if (slice_eq(s->bindings[i]->name, name))
			return s->bindings[i];
	return NULL;
}

bool check_add_name(struct checker *c, struct check_scope *s, const struct check_name *name,
		    struct ast_range range)
{
	struct check_name *bigger;

	if (!name->name.n)
		return true;
	for (size_t i = 0; i < s->n_names; i++)
		if (slice_eq(s->names[i].name, name->name)) {
			diag_add(c->diags, DIAG_TWICE, range.begin, range.end,
				 "%.*s is already the name of something in %s",
				 SLICE_ARG(name->name), s->names[i].what);
			return false;
		}
	if (binding_named(s, name->name)) {
		diag_add(c->diags, DIAG_TWICE, range.begin, range.end, "%.*s is already an alias",
			 SLICE_ARG(name->name));
		return false;
	}
	if (s->n_names == CHECK_MAX_NAMES) {
		diag_add(c->diags, DIAG_TOO_DEEP, range.begin, range.end,
			 "more than %d names in one query", CHECK_MAX_NAMES);
		return false;
	}
	if (s->n_names == s->name_capacity) {
		s->name_capacity = s->name_capacity ? 2 * s->name_capacity : 8;
		bigger = check_alloc(c, s->name_capacity, sizeof(*bigger));
		if (!bigger)
			return false;
		if (s->n_names)
			memcpy(bigger, s->names, s->n_names * sizeof(*bigger));
		s->names = bigger;
	}
	s->names[s->n_names++] = *name;
	return true;
}

static bool constant(struct ast_expr *e, struct type *ret_type)
{
	e->path.constant = e->path.n == 1 ? word_constant(first_of(e)) : NULL;
	if (!e->path.constant)
		return false;
	e->path.kind = AST_PATH_CONSTANT;
	*ret_type = type_of(e->path.constant->type);
	return true;
}

/* An aggregate without brackets: rule R2. */
static bool bare_function(struct checker *c, struct check_scope *s, struct ast_expr *e,
			  unsigned places, struct type *ret_type)
{
	const struct word_function *f = word_function(first_of(e), places);

	if (!f || e->path.n != 1)
		return false;
	check_make_call(e, first_of(e));
	*ret_type = check_call(c, s, e);
	return true;
}

/* A name a provider may know: kernel!… where e.arg1 == NonPagedPool */
static bool provider_symbol(struct checker *c, const struct check_scope *s, struct ast_expr *e)
{
	const struct ast_source *source;

	if (s->n_bindings == 0 || s->bindings[0]->n_sources == 0)
		return false;
	source = s->bindings[0]->sources[0];
	if (source->kind != AST_SOURCE_TRACEPOINT || !source->provider.n)
		return false;
	diag_add(c->diags, DIAG_PROVIDER_SYMBOL, e->range.begin, e->range.end,
		 "'%.*s' is read as a symbol of %.*s; over stored traces it is the string",
		 SLICE_ARG(first_of(e)), SLICE_ARG(source->provider));
	e->kind = AST_STRING;
	e->string = first_of(e);
	return true;
}

static struct type unknown_in_rows(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct slice name = first_of(e);
	struct suggestion near = suggestion_for(name);
	char text[240];

	for (size_t i = 0; i < s->n_bindings; i++) {
		struct slice copy = arena_dup(c->arena, s->bindings[i]->name);

		if (copy.n && copy.p)
			suggestion_offer(&near, copy.p);
	}
	for (size_t i = 0; i < s->n_names; i++) {
		struct slice copy = arena_dup(c->arena, s->names[i].name);

		if (copy.n && copy.p)
			suggestion_offer(&near, copy.p);
	}
	if (s->n_bindings && s->bindings[0]->name.n && e->path.n == 1 &&
	    word_field(name, s->bindings[0]->on)) {
		diag_add(c->diags, DIAG_UNKNOWN_NAME, e->range.begin, e->range.end,
			 "'%.*s' is a field; say whose: %.*s.%.*s", SLICE_ARG(name),
			 SLICE_ARG(s->bindings[0]->name), SLICE_ARG(name));
		diag_fix(c->diags, e->range.begin, e->range.begin,
			 slice_cstr(
				 arena_printf(c->arena, "%.*s.", SLICE_ARG(s->bindings[0]->name))));
		return wrong;
	}
	snprintf(text, sizeof(text), "'%.*s' is neither an alias nor a name of this query%s",
		 SLICE_ARG(slice_first(name, 60)),
		 s->bare_fields && !near.best
			 ? "; attributes start with a dot or a scope: .x, span.x"
			 : "");
	report_near(c, DIAG_UNKNOWN_NAME, part_range(c, e, 0), &near, text);
	return wrong;
}

static struct type in_rows(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	const struct ast_binding *b = e->path.dotted ? NULL : binding_named(s, first_of(e));
	enum word_scope scope = e->path.n > 1 ? word_scope(first_of(e)) : WORD_SCOPE_NONE;
	struct type type;

	if (b)
		return e->path.n == 1 ? alias(e, b) : of_binding(c, e, b, 1);
	if (!e->path.dotted && e->path.n == 1) {
		for (size_t i = 0; i < s->n_names; i++)
			if (slice_eq(s->names[i].name, first_of(e))) {
				e->path.kind = AST_PATH_LET;
				e->path.value = s->names[i].value;
				e->path.aggregate = s->names[i].aggregate;
				s->has_aggregate |= s->names[i].aggregate;
				check_weigh(c, s->names[i].weight, e->range);
				return e->path.value->type;
			}
		if (s->bare_fields && word_field(first_of(e), s->bindings[0]->on))
			return of_binding(c, e, s->bindings[0], 0);
		if (bare_function(c, s, e, IN_AGGREGATE, &type))
			return type;
		if (constant(e, &type))
			return type;
		if (s->bare_fields && s->bindings[0]->type.columns)
			return of_binding(c, e, s->bindings[0], 0);
		if (provider_symbol(c, s, e))
			return type_of(TYPE_STRING);
		return unknown_in_rows(c, s, e);
	}
	if (s->n_bindings && (e->path.dotted || scope != WORD_SCOPE_NONE))
		return of_binding(c, e, s->bindings[0], 0);
	return unknown_in_rows(c, s, e);
}

/* ---- spans and elements ---- */

static struct type in_span(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	enum word_scope scope = e->path.n > 1 ? word_scope(first_of(e)) : WORD_SCOPE_NONE;
	struct suggestion near;
	struct type type;
	char text[240];

	if (e->path.dotted || scope != WORD_SCOPE_NONE)
		return member(c, e, s->on, 0, NULL, true);
	if (e->path.n == 1 && word_field(first_of(e), s->on))
		return member(c, e, s->on, 0, NULL, true);
	if (constant(e, &type) || (s->places && bare_function(c, s, e, s->places, &type)))
		return type;
	near = suggestion_for(first_of(e));
	if (e->path.n == 1) {
		offer_fields(&near, s->on, false);
		for (const struct word_constant *k = word_constants(); k->name; k++)
			suggestion_offer(&near, k->name);
	} else {
		for (int i = 1; i < WORD_SCOPES; i++)
			suggestion_offer(&near, word_scope_name((enum word_scope)i));
	}
	snprintf(text, sizeof(text),
		 "'%.*s' is no field of a span; an attribute is written .%.*s or span.%.*s",
		 SLICE_ARG(slice_first(key_of(c, &e->path, 0), 50)),
		 SLICE_ARG(slice_first(key_of(c, &e->path, 0), 50)),
		 SLICE_ARG(slice_first(key_of(c, &e->path, 0), 50)));
	if (near.best) {
		report_near(c, DIAG_UNKNOWN_NAME, part_range(c, e, 0), &near, text);
	} else {
		diag_add(c->diags, DIAG_UNKNOWN_NAME, e->range.begin, e->range.end, "%s", text);
		diag_fix(c->diags, e->range.begin, e->range.end,
			 slice_cstr(arena_printf(c->arena, ".%.*s",
						 SLICE_ARG(check_source_text(c, e->range)))));
	}
	return wrong;
}

/* In Figure 8 attributes stand bare: Filter(marker="display_done"). */
static struct type in_element(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type type;

	if (!e->path.dotted && e->path.n == 1 && !word_field(first_of(e), s->on)) {
		if (s->places && bare_function(c, s, e, s->places, &type))
			return type;
		if (constant(e, &type))
			return type;
	}
	if (!type_is_element(s->input)) {
		diag_add(c->diags, DIAG_UNKNOWN_NAME, e->range.begin, e->range.end,
			 "'%.*s' is no stage, and there is no element here whose field it could be",
			 SLICE_ARG(slice_first(key_of(c, &e->path, 0), 60)));
		return wrong;
	}
	type = member(c, e, s->on, 0, NULL, true);
	return type;
}

static struct type in_columns(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct type type;

	for (size_t i = 0; s->input.columns && i < s->input.columns->n; i++)
		if (slice_eq(s->input.columns->items[i].name, key_of(c, &e->path, 0)))
			return column(c, e, s->input.columns, 0, AST_PATH_STAGE_COLUMN);
	if (e->path.n == 1 && !e->path.dotted &&
	    (bare_function(c, s, e, IN_AGGREGATE, &type) || constant(e, &type)))
		return type;
	return column(c, e, s->input.columns, 0, AST_PATH_STAGE_COLUMN);
}

/* ---- the head of a pipe ---- */

static struct type unknown_head(struct checker *c, struct ast_expr *e, struct slice name)
{
	struct suggestion near = suggestion_for(name);
	char text[240];

	check_offer_names(c, &near);
	for (const struct word_function *f = word_functions(); f->name; f++)
		if (f->places & IN_ELEMENTS)
			suggestion_offer(&near, f->name);
	for (const struct word_source *s = word_sources(); s->name; s++)
		suggestion_offer(&near, s->name);
	if (!near.best && e->path.n == 1 && word_field(name, ON_BLOCK))
		snprintf(text, sizeof(text),
			 "'%.*s' is a field of spans; put the condition into braces: { %.*s … }",
			 SLICE_ARG(name), SLICE_ARG(name));
	else
		snprintf(text, sizeof(text),
			 "nothing is called '%.*s'; a query starts with {…}, From, Sequence, a set "
			 "of elements or a name defined before",
			 SLICE_ARG(slice_first(name, 60)));
	report_near(c, DIAG_UNKNOWN_NAME, e->range, &near, text);
	return wrong;
}

static struct type in_head(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	struct slice name = key_of(c, &e->path, 0);
	const struct word_source *source = word_source(name);
	struct ast_statement *statement;
	struct type type;

	if (e->path.dotted) {
		diag_add(c->diags, DIAG_UNKNOWN_NAME, e->range.begin, e->range.end,
			 "an attribute needs spans to be of: { %.*s }",
			 SLICE_ARG(check_source_text(c, e->range)));
		return wrong;
	}
	statement = check_statement_named(c, name, e->range);
	if (statement && statement->kind == AST_STATEMENT_QUERY) {
		e->path.kind = AST_PATH_STATEMENT;
		e->path.statement = statement;
		check_weigh(c, statement->weight, e->range);
		return statement->type;
	}
	if (bare_function(c, s, e, s->places, &type))
		return type;
	if (source) { /* `spans | …` is Blocks, `units | …` is ExecUnits; the others are called so
		       */
		check_make_call(e, source->id == WS_UNITS ? SLICE("ExecUnits") : SLICE("Blocks"));
		return check_call(c, s, e);
	}
	if (c->row_fields && type_is_element(c->row))
		return in_element(c, s, e);
	if (constant(e, &type))
		return type;
	return unknown_head(c, e, name);
}

struct type check_path(struct checker *c, struct check_scope *s, struct ast_expr *e)
{
	if (e->path.n == 0)
		return wrong;
	switch (s->kind) {
	case CHECK_ROWS:
		return in_rows(c, s, e);
	case CHECK_SPAN:
		return in_span(c, s, e);
	case CHECK_ELEMENT:
		return in_element(c, s, e);
	case CHECK_COLUMNS:
		return in_columns(c, s, e);
	default:
		return in_head(c, s, e);
	}
}

struct slice check_label(struct checker *c, const struct ast_expr *e, bool whole)
{
	struct slice text = check_source_text(c, e->range), squeezed;
	struct buffer b = {0};
	bool blank = false;

	if (!whole && e->kind == AST_PATH && e->path.n) {
		if (e->path.kind == AST_PATH_ATTRIBUTE && e->path.scope == WORD_SCOPE_NONE &&
		    e->path.relative == WORD_SCOPE_NONE)
			return e->path.key;
		if (e->path.binding && e->path.n > 1 && !e->path.dotted &&
		    slice_eq(e->path.parts[0].text, e->path.binding->name))
			return key_of(c, &e->path, 1);
		return key_of(c, &e->path, 0);
	}
	for (size_t i = 0; i < text.n; i++) {
		bool is = text.p[i] == ' ' || text.p[i] == '\n' || text.p[i] == '\t' ||
			  text.p[i] == '\r';

		if (!is || !blank)
			buffer_byte(&b, is ? ' ' : text.p[i]);
		blank = is;
	}
	squeezed = arena_dup(c->arena, buffer_get(&b));
	c->diags->no_memory = c->diags->no_memory || b.failed || !squeezed.p;
	buffer_done(&b);
	return squeezed.p ? squeezed : SLICE("");
}
