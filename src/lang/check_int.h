/* lang/check_int.h - what the files of the checker share. */
#ifndef CAUSET_LANG_CHECK_INT_H
#define CAUSET_LANG_CHECK_INT_H

#include "base/suggest.h"
#include "lang/check.h"

#define CHECK_MAX_BINDINGS 64   /* aliases of one query */
#define CHECK_MAX_NAMES    1000 /* Let and As of one query */
/* Nodes of a statement, those of the names it uses counted each time: what is planned is that
 * large. */
#define CHECK_MAX_WEIGHT 50000
#define CHECK_MAX_DEPTH  200 /* definitions that need each other, queries in queries */

/* What names mean where an expression stands. */
enum check_kind {
	CHECK_ROWS,    /* clauses: aliases, Let, As */
	CHECK_SPAN,    /* a span: the condition of a spanset, a stage behind one */
	CHECK_ELEMENT, /* an element of a trace: a stage of a pipe */
	CHECK_COLUMNS, /* rows: a stage behind a relation */
	CHECK_HEAD,    /* the head of a pipe: names of statements and of sets of elements */
};

struct check_name {
	struct slice name;
	const struct ast_expr *value;
	const char *what; /* "Let", "GroupBy", "Select" */
	bool aggregate;   /* has one inside */
	uint32_t weight;
};

struct check_scope {
	enum check_kind kind;
	/* CHECK_ROWS */
	const struct ast_binding *bindings[CHECK_MAX_BINDINGS];
	size_t n_bindings;
	struct check_name *names;
	size_t n_names, name_capacity;
	bool bare_fields; /* From has no alias: its fields are known without one */
	/* CHECK_SPAN, CHECK_ELEMENT, CHECK_COLUMNS */
	unsigned on;       /* word_on bits */
	struct type input; /* what a stage works on */
	/* everywhere */
	unsigned places;    /* functions that may stand here beside scalars: word_place bits */
	bool in_aggregate;  /* inside the argument of one */
	bool has_aggregate; /* one was found */
	const char *no_aggregate; /* why none may be here: "Where keeps tuples; use Having" */
};

struct check_external {
	struct slice name;
	struct ast_program *program;
	struct ast_statement *statement; /* NULL: there is none of that name */
	struct check_external *next;
};

struct checker {
	struct arena *arena;
	struct diags *diags;
	const struct check_options *options;
	struct ast_statement *statements; /* of the program, or of the dataset */
	struct ast_statement *outer;      /* in a dataset: of the program */
	struct check_external *externals;
	struct slice text; /* of the program being checked */
	enum lang_dialect dialect;
	unsigned depth;
	uint32_t weight; /* of the statement so far */
	struct type
		row; /* what a pipe without a source is about: a trace; in a dataset its element */
	bool row_fields; /* fields of `row` are known by name: in datasets */
	int fatal;       /* an error of lang_names.define */
};

/* ---- check.c ---- */

/* A statement of that name, checked; NULL.  In a cycle its type is TYPE_ERROR, reported. */
struct ast_statement *check_statement_named(struct checker *c, struct slice name,
					    struct ast_range range);
/* Checks it, once. */
void check_statement_in(struct checker *c, struct ast_statement *s);
struct type check_query(struct checker *c, struct ast_query *q);
void *check_alloc(struct checker *c, size_t n, size_t size);
struct slice check_source_text(const struct checker *c, struct ast_range range);

/* Goes one level deeper; false, reported, when that is too deep.  Pair with c->depth--. */
bool check_enter(struct checker *c, struct ast_range range);

/* Counts nodes; false, reported once, when the statement has become too large. */
bool check_weigh(struct checker *c, uint32_t nodes, struct ast_range range);

/* Is a definition of that name known elsewhere?  NULL if not. */
struct ast_statement *check_external(struct checker *c, struct slice name, struct ast_range range);

/* Offers every name of statements and of what is defined elsewhere. */
void check_offer_names(struct checker *c, struct suggestion *near);

/* ---- check_expr.c ---- */

struct type check_expr(struct checker *c, struct check_scope *s, struct ast_expr *e);

/* The type of `a op b` for arithmetic; TYPE_ERROR if there is none. */
struct type check_arithmetic(enum ast_op op, struct type a, struct type b);

/* Must be a condition; reports otherwise. */
void check_condition(struct checker *c, struct check_scope *s, struct ast_expr *e,
		     const char *where);

/* The type a list would have, had the two in it. */
struct type check_common(struct type a, struct type b);

/* Two expressions mean the same. */
bool check_same(const struct ast_expr *a, const struct ast_expr *b);

/* Contains an aggregate, also behind names. */
bool check_aggregates(const struct ast_expr *e);

/* ---- check_path.c ---- */

struct type check_path(struct checker *c, struct check_scope *s, struct ast_expr *e);
bool check_add_name(struct checker *c, struct check_scope *s, const struct check_name *name,
		    struct ast_range range);

/* What a column is called: its name, the field, or the text. */
struct slice check_label(struct checker *c, const struct ast_expr *e, bool whole);

/* ---- check_call.c ---- */

struct type check_call(struct checker *c, struct check_scope *s, struct ast_expr *e);

/* Turns a bare name into a call without arguments. */
void check_make_call(struct ast_expr *e, struct slice name);

/* ---- check_source.c ---- */

void check_binding(struct checker *c, struct ast_binding *b);
void check_source(struct checker *c, struct ast_source *s);

/* ---- check_clauses.c, check_join.c, check_sequence.c, check_pipe.c, check_dataset.c ---- */

struct type check_clauses(struct checker *c, struct ast_clauses *q);
void check_join(struct checker *c, struct check_scope *s, struct ast_join *j);
struct type check_sequence(struct checker *c, struct ast_sequence *q);
struct type check_pipe(struct checker *c, struct ast_query *q, struct type in);
struct type check_head(struct checker *c, struct ast_expr *e);
void check_dataset(struct checker *c, struct ast_statement *s);
void check_tracepoint(struct checker *c, struct ast_statement *s);

#endif
