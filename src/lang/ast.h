/* lang/ast.h - a query as the parser leaves it and the checker completes it.
 *
 * Nodes live in the arena of the parse and point into its text; both must outlive them.  Every node
 * has the bytes it came from.  Fields under "checker" are zero until check() (lang/check.h) has run
 * without errors; a program that passed has every one of them.  Parentheses leave no node of their
 * own.
 *
 * Heights are limited (LANG_MAX_HEIGHT), so that walking a tree by recursion is safe. */
#ifndef CAUSET_LANG_AST_H
#define CAUSET_LANG_AST_H

#include "core/slice.h"
#include "lang/types.h"
#include "lang/words.h"

#define LANG_MAX_TEXT       (1 << 20) /* bytes of a program */
#define LANG_MAX_DEPTH      100       /* brackets, sub-queries, unary operators inside each other */
#define LANG_MAX_HEIGHT     1000      /* operators in a row: a + a + a … */
#define LANG_MAX_STATEMENTS 2000      /* of a program, of a dataset */

/* How `&&` and `||` bind: ours tighter, Tempo's equally, left to right. */
enum lang_dialect {
	DIALECT_CAUSETQL,
	DIALECT_TRACEQL,
};

struct ast_range {
	uint32_t begin, end; /* bytes of the text */
};

struct ast_expr;
struct ast_query;
struct ast_source;
struct ast_statement;
struct ast_binding;

enum ast_op {
	OP_NONE,
	OP_OR,
	OP_AND,
	OP_EQ, /* = and == */
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_MATCH,    /* =~ anchored on both sides, as in Tempo */
	OP_NO_MATCH, /* !~ */
	OP_IN,
	/* causal: between aliases (a join's On) or as a value (CriticalPath) */
	OP_BEFORE,     /* -> */
	OP_DIRECT,     /* => */
	OP_NOT_BEFORE, /* !-> */
	OP_NOT_DIRECT, /* !=> */
	/* structural, between spansets.  The parser writes OP_GT, OP_LT and OP_NO_MATCH for > < !~;
	 * the checker, who knows what a spanset is, turns them into these. */
	OP_CHILD,      /* a > b: the b that are children of an a */
	OP_DESCENDANT, /* a >> b */
	OP_PARENT,     /* a < b: the b that are parents of an a */
	OP_ANCESTOR,   /* a << b */
	OP_SIBLING,    /* a ~ b */
	OP_NOT_CHILD,  /* a !> b: the b that are not */
	OP_NOT_DESCENDANT,
	OP_NOT_PARENT,
	OP_NOT_ANCESTOR,
	OP_NOT_SIBLING,
	OP_WITH_CHILD, /* a &> b: both sides of every pair */
	OP_WITH_DESCENDANT,
	OP_WITH_PARENT,
	OP_WITH_ANCESTOR,
	OP_WITH_SIBLING,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_POW,
	OP_NEG, /* unary */
	OP_NOT, /* unary */
	AST_OPS
};

/* As `causet fmt` writes it: "->", "&&", "!>>". */
const char *ast_op_text(enum ast_op op);

static inline bool ast_op_is_structural(enum ast_op op)
{
	return op >= OP_CHILD && op <= OP_WITH_SIBLING;
}

static inline bool ast_op_is_causal(enum ast_op op)
{
	return op >= OP_BEFORE && op <= OP_NOT_DIRECT;
}

static inline bool ast_op_is_comparison(enum ast_op op)
{
	return op >= OP_EQ && op <= OP_IN;
}

enum ast_expr_kind {
	AST_ERROR, /* only beside a diagnostic */
	AST_INT,
	AST_FLOAT,
	AST_DURATION,
	AST_STRING,
	AST_BOOL,
	AST_NIL,
	AST_STAR, /* * of COUNT(*) */
	AST_PATH, /* a name, a field, an attribute */
	AST_CALL, /* f(x, …), or a bare name that the checker found to be one: COUNT, Points */
	AST_UNARY,
	AST_BINARY,
	AST_SPANSET, /* { condition } */
	AST_LIST,
	AST_INDEX,    /* x[i] */
	AST_BY,       /* call by (keys) */
	AST_SUBQUERY, /* ( query ) that is more than an expression */
};

/* What a path turned out to be. */
enum ast_path_kind {
	AST_PATH_UNRESOLVED,
	AST_PATH_ALIAS,     /* a tuple of `binding`: operand of ->, First(…) of it */
	AST_PATH_FIELD,     /* `field` of `binding`'s element */
	AST_PATH_ATTRIBUTE, /* `key` in `scope` of `binding`'s element; of a tracepoint also an
			   export not declared */
	AST_PATH_EXPORT,    /* a declared export of a tracepoint: `column` of `binding`'s columns,
			   `key`    its name */
	AST_PATH_COLUMN, /* `column` of `binding`'s columns: a sub-query, a named query, a csv file
			  */
	AST_PATH_LET,    /* a Let or an "As" of GroupBy or Select of the same query: `value` */
	AST_PATH_CONSTANT,     /* error, server, …: `constant` */
	AST_PATH_STATEMENT,    /* another statement by name: `statement` */
	AST_PATH_STAGE_COLUMN, /* in a stage behind a relation: `column` of what comes in */
};

struct ast_part {
	struct slice text; /* a quoted part without its quotes, escapes resolved */
	char separator; /* before it: '.', ':', or 0 for the first of a path without a leading dot
			 */
	bool quoted;
};

struct ast_path {
	struct ast_part *parts;
	size_t n;
	bool dotted; /* starts with a dot: an attribute of any scope */
	/* checker */
	enum ast_path_kind kind;
	/* Of what.  NULL: of the span in a spanset's condition, of the element in a pipe. */
	const struct ast_binding *binding;
	enum word_scope relative; /* WORD_SCOPE_PARENT, WORD_SCOPE_ROOT: of that span instead;
				     WORD_SCOPE_NONE */
	enum word_scope scope; /* of an attribute: WORD_SCOPE_NONE … WORD_SCOPE_INSTRUMENTATION */
	struct slice key;      /* of an attribute */
	const struct word_field *field;
	size_t column;
	const struct ast_expr *value;
	bool aggregate; /* AST_PATH_LET: its value has one inside */
	const struct word_constant *constant;
	const struct ast_statement *statement;
};

struct ast_call {
	struct slice name;
	struct ast_expr **args; /* a pipe among them is an AST_SUBQUERY */
	size_t n;
	bool bare; /* written without brackets */
	/* checker */
	const struct word_function *function;
	bool aggregate; /* used as one: over a group, a spanset, a stream */
};

struct ast_expr {
	enum ast_expr_kind kind;
	struct ast_range range;
	uint32_t height;  /* 1 for a leaf */
	bool parens;      /* stands in brackets */
	struct type type; /* checker */
	union {
		int64_t integer; /* AST_INT, AST_DURATION in ns, AST_BOOL */
		double real;
		struct slice string;
		struct ast_path path;
		struct ast_call call;
		struct {
			enum ast_op op;
			struct ast_range op_range;
			struct ast_expr *left, *right; /* unary: left alone */
		} op;
		struct {
			struct ast_expr *condition; /* NULL: every span */
		} spanset;
		struct {
			struct ast_expr **items;
			size_t n;
		} list;
		struct {
			struct ast_expr *of, *at;
		} index;
		struct {
			struct ast_expr *of;
			struct ast_expr **keys;
			size_t n;
		} by;
		struct ast_query *query;
	};
};

/* ---- sources ---- */

enum ast_source_kind {
	AST_SOURCE_ERROR,
	AST_SOURCE_NAME,       /* parser: builtin, tracepoint or query name, not yet known which */
	AST_SOURCE_BUILTIN,    /* checker: `builtin` */
	AST_SOURCE_TRACEPOINT, /* checker: `name` and, if one is known, `statement`, its definition
				*/
	AST_SOURCE_STATEMENT,  /* checker: `statement`, a named query */
	AST_SOURCE_SPANSET,    /* `expr` */
	AST_SOURCE_QUERY,      /* `query` */
	AST_SOURCE_CSV,        /* `file` */
	AST_SOURCE_FILTER,     /* First, MostRecent: `filter`, `n` of `of` */
};

enum ast_filter {
	AST_FILTER_FIRST,
	AST_FILTER_MOST_RECENT,
};

enum ast_place {
	AST_PLACE_NONE, /* not said: entry */
	AST_PLACE_ENTRY,
	AST_PLACE_RETURN,
	AST_PLACE_FINALLY,
	AST_PLACE_LINE,
};

struct ast_source {
	enum ast_source_kind kind;
	struct ast_range range;
	/* AST_SOURCE_NAME, AST_SOURCE_TRACEPOINT: provider ("kernel", or empty), name with its
	 * globs */
	struct slice provider, name;
	bool glob;
	enum ast_place place;
	int64_t line; /* AST_PLACE_LINE */
	struct ast_expr *expr;
	struct ast_query *query;
	struct slice file;
	enum ast_filter filter;
	int64_t n; /* AST_SOURCE_FILTER: at least 1 */
	struct ast_source *of;
	/* checker */
	const struct word_source *builtin;
	const struct ast_statement *statement;
	struct type type; /* TYPE_RELATION with columns, an element (many), TYPE_SPANSET */
};

/* ---- clause form ---- */

enum ast_clause_kind {
	AST_CLAUSE_JOIN,
	AST_CLAUSE_WHERE,
	AST_CLAUSE_HAVING,
	AST_CLAUSE_LET,
	AST_CLAUSE_GROUP,
	AST_CLAUSE_SELECT,
	AST_CLAUSE_ORDER,
	AST_CLAUSE_LIMIT,
	AST_CLAUSE_UNION,
	AST_CLAUSE_INTO,
	AST_CLAUSE_OVER,
	AST_CLAUSE_FOR,
	AST_CLAUSE_EVERY,
	AST_CLAUSE_WINDOW,
	AST_CLAUSE_SAMPLE,
};

enum ast_join_kind {
	AST_JOIN_INNER,
	AST_JOIN_LEFT,
	AST_JOIN_ANTI,
};

enum ast_over_kind {
	AST_OVER_LIVE,
	AST_OVER_LAST,  /* ns */
	AST_OVER_RANGE, /* from … to, nanoseconds since 1970 once checked */
};

struct ast_item {
	struct ast_expr *expr;
	struct slice name; /* "As"; empty without */
	struct ast_range name_range;
	bool descending; /* of AST_CLAUSE_ORDER */
	/* checker */
	struct slice label; /* what the column is called: `name`, else made from the text */
	bool aggregate;     /* has one inside */
	uint32_t weight;    /* private to the checker: nodes of expr, behind names, too */
};

/* A name for tuples in a From, Join or Sequence step. */
struct ast_binding {
	struct slice name; /* empty: From without an alias */
	struct ast_range range;
	struct ast_source **sources; /* several: their union */
	size_t n_sources;
	/* checker */
	struct type type; /* an element, or TYPE_RELATION with columns; not `many` */
	unsigned on;      /* word_on bits of its fields */
	size_t index;     /* 0 for From, then the joins in order; steps of a Sequence in order */
	bool nullable;    /* Left Join: may be missing */
	bool single;      /* R6: a relation of one column; as a scalar it means that column */
};

struct ast_join {
	enum ast_join_kind kind;
	struct ast_binding binding;
	struct ast_expr *on;
	int64_t within_ns; /* 0: not said */
	/* checker.  A causal join has `op` and `right`, an equi-join keys.  R7: the left side of
	 * `op` is this join's own alias. */
	enum ast_op op; /* OP_BEFORE …, or OP_EQ for an equi-join */
	const struct ast_binding *right;
	struct ast_expr **own_keys, **other_keys; /* equi-join: pairs that must be equal */
	size_t n_keys;
	struct ast_expr **rest; /* further conditions of On, connected by && */
	size_t n_rest;
};

struct ast_clause {
	enum ast_clause_kind kind;
	struct ast_range range;
	struct ast_clause *next;
	union {
		struct ast_join join;
		struct ast_expr *expr; /* WHERE, HAVING, SAMPLE */
		struct {
			struct slice name;
			struct ast_range name_range;
			struct ast_expr *expr;
		} let;
		struct {
			struct ast_item *items;
			size_t n;
			bool distinct;
		} items; /* GROUP, SELECT, ORDER */
		int64_t limit;
		struct ast_clauses *other; /* UNION */
		struct slice into;
		struct {
			enum ast_over_kind kind;
			int64_t last_ns;
			struct slice from, to; /* as written */
			struct ast_range from_range, to_range;
			int64_t from_ns, to_ns; /* checker */
		} over;
		struct {
			int64_t ns;
			int64_t slide_ns; /* WINDOW: 0 when not said */
		} time;                   /* FOR, EVERY, WINDOW */
	};
};

/* Meaning, whatever the order in which the clauses are written: From; every Join; Where and Let in
 * their order; GroupBy; Select; Having; OrderBy; Limit; Union with the others. */
struct ast_clauses {
	struct ast_range range;
	struct ast_binding from;
	struct ast_clause *first; /* all of them, as written */
	/* The ones that stand at most once; NULL without. */
	struct ast_clause *group, *select, *order, *limit, *over, *into, *duration, *every, *window,
		*sample;
	size_t n_joins;
	/* checker */
	bool grouped; /* GroupBy, R3, or aggregates alone */
	/* What to group by: items of GroupBy, or the plain ones of Select (R3). */
	struct ast_item *keys;
	size_t n_keys;
	struct columns columns; /* what comes out */
};

/* ---- sequences ---- */

struct ast_step {
	struct ast_range range;
	bool negated;
	struct ast_binding binding;
	struct ast_expr *where; /* NULL without */
};

struct ast_sequence {
	struct ast_range range;
	struct ast_expr **by; /* names of fields every step has, or alias.field of the first */
	size_t n_by;
	int64_t within_ns; /* 0: not said */
	struct ast_step *steps;
	size_t n_steps;
	struct ast_source *until; /* NULL without */
	/* checker */
	struct columns columns; /* a column per step that is not negated: the matched tuples */
};

/* ---- queries ---- */

enum ast_query_form {
	AST_QUERY_CLAUSES,
	AST_QUERY_SEQUENCE,
	AST_QUERY_PIPE,
};

struct ast_stage {
	struct ast_range range;
	enum ast_op cmp; /* `| > 5`: OP_EQ … OP_GE; OP_NONE for an ordinary stage */
	struct ast_expr *expr;
	/* checker */
	struct type in, out;
};

struct ast_hint {
	struct ast_range range;
	struct slice name;
	struct ast_expr *value;
	const struct word_hint *hint; /* checker */
};

struct ast_query {
	enum ast_query_form form;
	struct ast_range range;
	struct ast_clauses *clauses;
	struct ast_sequence *sequence;
	struct ast_expr *head; /* AST_QUERY_PIPE */
	struct ast_stage *stages;
	size_t n_stages;
	struct ast_hint *hints;
	size_t n_hints;
	struct type type; /* checker: what the last stage gives */
};

/* ---- statements ---- */

enum ast_statement_kind {
	AST_STATEMENT_QUERY,
	AST_STATEMENT_DATASET,
	AST_STATEMENT_TRACEPOINT,
};

struct ast_trigger {
	enum {
		AST_TRIGGER_NONE,
		AST_TRIGGER_AFTER,
		AST_TRIGGER_ROOT_END,
		AST_TRIGGER_ERROR,
		AST_TRIGGER_MATCH
	} kind;
	struct ast_range range;
	int64_t after_ns;
	struct ast_expr *spanset; /* After … since {…}; On {…} */
};

struct ast_dataset {
	struct slice owner, into; /* empty without */
	struct ast_query *per;
	struct ast_expr *where;
	int64_t retain_ns; /* 0: not said */
	struct ast_trigger *triggers;
	size_t n_triggers;
	struct ast_statement *body;
	/* checker */
	enum type_tag element;  /* TYPE_TRACE without Per */
	struct columns columns; /* names given by RecordAs, in order */
};

struct ast_export {
	struct slice name;
	struct ast_range range;
	struct ast_expr *expr;
};

struct ast_tracepoint {
	struct ast_source **sources; /* AST_SOURCE_SPANSET or AST_SOURCE_NAME (sites) */
	size_t n_sources;
	struct ast_export *exports;
	size_t n_exports;
	bool declares; /* has an Exports clause */
	/* checker */
	struct columns columns; /* the exports */
};

struct ast_statement {
	enum ast_statement_kind kind;
	struct ast_range range;
	struct slice name; /* empty: a query without one */
	struct ast_range name_range;
	struct ast_statement *next;
	union {
		struct ast_query *query;
		struct ast_dataset *dataset;
		struct ast_tracepoint *tracepoint;
	};
	/* checker */
	struct type type;
	int state;       /* private to the checker: finds cycles */
	uint32_t weight; /* the same: nodes, with all it refers to */
};

struct ast_program {
	struct slice text;
	enum lang_dialect dialect;
	struct ast_statement *first;
	size_t n;
};

#endif
