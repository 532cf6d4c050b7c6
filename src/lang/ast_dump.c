/* lang/ast_dump.c - a tree as text, for tests. */
#include "lang/ast_dump.h"

#include <inttypes.h>

static void dump_query(const struct ast_query *q, struct buffer *out);
static void dump_clauses(const struct ast_clauses *q, struct buffer *out);

static void dump_string(struct slice s, struct buffer *out)
{
	buffer_byte(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			buffer_byte(out, '\\');
		if ((uint8_t)s.p[i] < 0x20)
			buffer_printf(out, "\\x%02x", (uint8_t)s.p[i]);
		else
			buffer_byte(out, s.p[i]);
	}
	buffer_byte(out, '"');
}

static void dump_exprs(struct ast_expr *const *items, size_t n, struct buffer *out)
{
	for (size_t i = 0; i < n; i++) {
		buffer_byte(out, ' ');
		ast_dump_expr(items[i], out);
	}
}

/* A path as written, quotes only where they matter. */
static void dump_path(const struct ast_path *path, struct buffer *out)
{
	for (size_t i = 0; i < path->n; i++) {
		if (path->parts[i].separator)
			buffer_byte(out, path->parts[i].separator);
		if (path->parts[i].quoted)
			dump_string(path->parts[i].text, out);
		else
			buffer_slice(out, path->parts[i].text);
	}
}

static void dump_literal(const struct ast_expr *e, struct buffer *out)
{
	switch (e->kind) {
	case AST_INT:
		buffer_printf(out, "%" PRId64, e->integer);
		break;
	case AST_FLOAT:
		buffer_printf(out, "%.17g", e->real);
		break;
	case AST_DURATION:
		buffer_printf(out, "%" PRId64 "ns", e->integer);
		break;
	case AST_STRING:
		dump_string(e->string, out);
		break;
	case AST_BOOL:
		buffer_text(out, e->integer ? "true" : "false");
		break;
	case AST_NIL:
		buffer_text(out, "nil");
		break;
	case AST_STAR:
		buffer_byte(out, '*');
		break;
	default:
		buffer_text(out, "<error>");
	}
}

void ast_dump_expr(const struct ast_expr *e, struct buffer *out)
{
	switch (e->kind) {
	case AST_PATH:
		dump_path(&e->path, out);
		return;
	case AST_CALL:
		buffer_byte(out, '(');
		buffer_slice(out, e->call.name);
		dump_exprs(e->call.args, e->call.n, out);
		break;
	case AST_UNARY:
		buffer_printf(out, "(%s ", ast_op_text(e->op.op));
		ast_dump_expr(e->op.left, out);
		break;
	case AST_BINARY:
		buffer_printf(out, "(%s ", ast_op_text(e->op.op));
		ast_dump_expr(e->op.left, out);
		buffer_byte(out, ' ');
		ast_dump_expr(e->op.right, out);
		break;
	case AST_SPANSET:
		buffer_text(out, "(spanset");
		if (e->spanset.condition)
			dump_exprs(&e->spanset.condition, 1, out);
		break;
	case AST_LIST:
		buffer_text(out, "(list");
		dump_exprs(e->list.items, e->list.n, out);
		break;
	case AST_INDEX:
		buffer_text(out, "(index ");
		ast_dump_expr(e->index.of, out);
		buffer_byte(out, ' ');
		ast_dump_expr(e->index.at, out);
		break;
	case AST_BY:
		buffer_text(out, "(by ");
		ast_dump_expr(e->by.of, out);
		dump_exprs(e->by.keys, e->by.n, out);
		break;
	case AST_SUBQUERY:
		dump_query(e->query, out);
		return;
	default:
		dump_literal(e, out);
		return;
	}
	buffer_byte(out, ')');
}

static void dump_source(const struct ast_source *s, struct buffer *out)
{
	static const char *const places[] = {"", "@entry", "@return", "@finally", "@"};

	switch (s->kind) {
	case AST_SOURCE_SPANSET:
		ast_dump_expr(s->expr, out);
		return;
	case AST_SOURCE_QUERY:
		dump_query(s->query, out);
		return;
	case AST_SOURCE_CSV:
		buffer_text(out, "(csv ");
		dump_string(s->file, out);
		buffer_byte(out, ')');
		return;
	case AST_SOURCE_FILTER:
		buffer_printf(out, "(%s %" PRId64 " ",
			      s->filter == AST_FILTER_FIRST ? "first" : "most-recent", s->n);
		dump_source(s->of, out);
		buffer_byte(out, ')');
		return;
	case AST_SOURCE_ERROR:
		buffer_text(out, "<error>");
		return;
	default:
		break;
	}
	if (s->provider.n)
		buffer_printf(out, "%.*s!", SLICE_ARG(s->provider));
	buffer_slice(out, s->name);
	buffer_text(out, places[s->place]);
	if (s->place == AST_PLACE_LINE)
		buffer_printf(out, "%" PRId64, s->line);
}

static void dump_binding(const struct ast_binding *b, struct buffer *out)
{
	if (b->name.n)
		buffer_printf(out, " %.*s", SLICE_ARG(b->name));
	for (size_t i = 0; i < b->n_sources; i++) {
		buffer_byte(out, ' ');
		dump_source(b->sources[i], out);
	}
}

static void dump_items(const struct ast_clause *c, struct buffer *out)
{
	if (c->items.distinct)
		buffer_text(out, " distinct");
	for (size_t i = 0; i < c->items.n; i++) {
		const struct ast_item *item = &c->items.items[i];

		buffer_text(out, item->name.n ? " (as " : " ");
		ast_dump_expr(item->expr, out);
		if (item->name.n)
			buffer_printf(out, " %.*s)", SLICE_ARG(item->name));
		if (item->descending)
			buffer_text(out, " desc");
	}
}

static void dump_join(const struct ast_join *j, struct buffer *out)
{
	static const char *const kinds[] = {"join", "left-join", "anti-join"};

	buffer_text(out, kinds[j->kind]);
	dump_binding(&j->binding, out);
	buffer_text(out, " on ");
	ast_dump_expr(j->on, out);
	if (j->within_ns)
		buffer_printf(out, " within %" PRId64 "ns", j->within_ns);
}

static void dump_clause(const struct ast_clause *c, struct buffer *out)
{
	buffer_text(out, " (");
	switch (c->kind) {
	case AST_CLAUSE_JOIN:
		dump_join(&c->join, out);
		break;
	case AST_CLAUSE_WHERE:
	case AST_CLAUSE_HAVING:
	case AST_CLAUSE_SAMPLE:
		buffer_text(out, c->kind == AST_CLAUSE_WHERE    ? "where "
				 : c->kind == AST_CLAUSE_HAVING ? "having "
								: "sample ");
		ast_dump_expr(c->expr, out);
		break;
	case AST_CLAUSE_LET:
		buffer_printf(out, "let %.*s ", SLICE_ARG(c->let.name));
		ast_dump_expr(c->let.expr, out);
		break;
	case AST_CLAUSE_GROUP:
	case AST_CLAUSE_SELECT:
	case AST_CLAUSE_ORDER:
		buffer_text(out, c->kind == AST_CLAUSE_GROUP    ? "group"
				 : c->kind == AST_CLAUSE_SELECT ? "select"
								: "order");
		dump_items(c, out);
		break;
	case AST_CLAUSE_LIMIT:
		buffer_printf(out, "limit %" PRId64, c->limit);
		break;
	case AST_CLAUSE_UNION:
		buffer_text(out, "union ");
		if (c->other)
			dump_clauses(c->other, out);
		break;
	case AST_CLAUSE_INTO:
		buffer_text(out, "into ");
		dump_string(c->into, out);
		break;
	case AST_CLAUSE_OVER:
		if (c->over.kind == AST_OVER_LIVE)
			buffer_text(out, "over live");
		else if (c->over.kind == AST_OVER_LAST)
			buffer_printf(out, "over last %" PRId64 "ns", c->over.last_ns);
		else
			buffer_printf(out, "over %.*s %.*s", SLICE_ARG(c->over.from),
				      SLICE_ARG(c->over.to));
		break;
	case AST_CLAUSE_FOR:
	case AST_CLAUSE_EVERY:
	case AST_CLAUSE_WINDOW:
		buffer_printf(out, "%s %" PRId64 "ns",
			      c->kind == AST_CLAUSE_FOR     ? "for"
			      : c->kind == AST_CLAUSE_EVERY ? "every"
							    : "window",
			      c->time.ns);
		if (c->time.slide_ns)
			buffer_printf(out, " slide %" PRId64 "ns", c->time.slide_ns);
		break;
	}
	buffer_byte(out, ')');
}

static void dump_clauses(const struct ast_clauses *q, struct buffer *out)
{
	buffer_text(out, "(from");
	dump_binding(&q->from, out);
	for (const struct ast_clause *c = q->first; c; c = c->next)
		dump_clause(c, out);
	buffer_byte(out, ')');
}

static void dump_sequence(const struct ast_sequence *s, struct buffer *out)
{
	buffer_text(out, "(sequence");
	if (s->n_by) {
		buffer_text(out, " (by");
		dump_exprs(s->by, s->n_by, out);
		buffer_byte(out, ')');
	}
	if (s->within_ns)
		buffer_printf(out, " (within %" PRId64 "ns)", s->within_ns);
	for (size_t i = 0; i < s->n_steps; i++) {
		buffer_text(out, s->steps[i].negated ? " (not-step" : " (step");
		dump_binding(&s->steps[i].binding, out);
		if (s->steps[i].where) {
			buffer_text(out, " where ");
			ast_dump_expr(s->steps[i].where, out);
		}
		buffer_byte(out, ')');
	}
	if (s->until) {
		buffer_text(out, " (until ");
		dump_source(s->until, out);
		buffer_byte(out, ')');
	}
	buffer_byte(out, ')');
}

static void dump_query(const struct ast_query *q, struct buffer *out)
{
	bool piped = q->n_stages || q->n_hints;

	if (piped)
		buffer_text(out, "(pipe ");
	if (q->form == AST_QUERY_CLAUSES)
		dump_clauses(q->clauses, out);
	else if (q->form == AST_QUERY_SEQUENCE)
		dump_sequence(q->sequence, out);
	else
		ast_dump_expr(q->head, out);
	for (size_t i = 0; i < q->n_stages; i++) {
		buffer_text(out, " | ");
		if (q->stages[i].cmp != OP_NONE)
			buffer_printf(out, "%s ", ast_op_text(q->stages[i].cmp));
		ast_dump_expr(q->stages[i].expr, out);
	}
	for (size_t i = 0; i < q->n_hints; i++) {
		buffer_printf(out, " (hint %.*s ", SLICE_ARG(q->hints[i].name));
		ast_dump_expr(q->hints[i].value, out);
		buffer_byte(out, ')');
	}
	if (piped)
		buffer_byte(out, ')');
}

static void dump_statement(const struct ast_statement *s, struct buffer *out);

static void dump_dataset(const struct ast_dataset *d, struct buffer *out)
{
	if (d->owner.n) {
		buffer_text(out, " (owner ");
		dump_string(d->owner, out);
		buffer_byte(out, ')');
	}
	if (d->per) {
		buffer_text(out, " (per ");
		dump_query(d->per, out);
		buffer_byte(out, ')');
	}
	if (d->where) {
		buffer_text(out, " (where ");
		ast_dump_expr(d->where, out);
		buffer_byte(out, ')');
	}
	if (d->into.n) {
		buffer_text(out, " (into ");
		dump_string(d->into, out);
		buffer_byte(out, ')');
	}
	if (d->retain_ns)
		buffer_printf(out, " (retain %" PRId64 "ns)", d->retain_ns);
	for (size_t i = 0; i < d->n_triggers; i++) {
		static const char *const kinds[] = {"none", "after", "root-end", "error", "match"};
		const struct ast_trigger *t = &d->triggers[i];

		buffer_printf(out, " (on %s", kinds[t->kind]);
		if (t->kind == AST_TRIGGER_AFTER)
			buffer_printf(out, " %" PRId64 "ns", t->after_ns);
		if (t->spanset)
			dump_exprs(&t->spanset, 1, out);
		buffer_byte(out, ')');
	}
	for (const struct ast_statement *s = d->body; s; s = s->next) {
		buffer_byte(out, ' ');
		dump_statement(s, out);
	}
}

static void dump_tracepoint(const struct ast_tracepoint *t, struct buffer *out)
{
	for (size_t i = 0; i < t->n_sources; i++) {
		buffer_byte(out, ' ');
		dump_source(t->sources[i], out);
	}
	for (size_t i = 0; i < t->n_exports; i++) {
		buffer_printf(out, " (export %.*s ", SLICE_ARG(t->exports[i].name));
		ast_dump_expr(t->exports[i].expr, out);
		buffer_byte(out, ')');
	}
}

static void dump_statement(const struct ast_statement *s, struct buffer *out)
{
	if (s->kind == AST_STATEMENT_QUERY) {
		if (s->name.n)
			buffer_printf(out, "(define %.*s ", SLICE_ARG(s->name));
		dump_query(s->query, out);
		if (s->name.n)
			buffer_byte(out, ')');
		return;
	}
	buffer_printf(out, "(%s %.*s", s->kind == AST_STATEMENT_DATASET ? "dataset" : "tracepoint",
		      SLICE_ARG(s->name));
	if (s->kind == AST_STATEMENT_DATASET)
		dump_dataset(s->dataset, out);
	else
		dump_tracepoint(s->tracepoint, out);
	buffer_byte(out, ')');
}

void ast_dump(const struct ast_program *program, struct buffer *out)
{
	for (const struct ast_statement *s = program->first; s; s = s->next) {
		dump_statement(s, out);
		buffer_byte(out, '\n');
	}
}
