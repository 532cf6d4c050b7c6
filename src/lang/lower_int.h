/* lang/lower_int.h - the parts of lowering, for each other. */
#ifndef CAUSET_LANG_LOWER_INT_H
#define CAUSET_LANG_LOWER_INT_H

#include "lang/lower.h"
#include "lang/plan_build.h"

/* Something of an element that a query refers to: a column of its source. */
struct ref {
	const struct plan_expr *expr; /* over the element */
	bool export; /* an ATTR that stands for an export: each tracepoint says what it is */
	struct slice name;
};

struct refs {
	struct ref *items;
	uint32_t n, capacity;
};

/* An alias of a clause query, or a step of a sequence. */
struct bound {
	const struct ast_binding *binding;
	const struct ast_join *join; /* NULL for From and steps */
	uint32_t parent;             /* R7: bound it is nested under, or PLAN_NONE */
	bool relation;               /* of a query or a file: its columns are fixed */
	struct refs refs;
	const struct plan_node *input;
	uint32_t offset; /* of its own columns in the relation of all */
};

/* Everything a query of clauses or a sequence has in scope. */
struct scope_of {
	struct bound *bounds;
	uint32_t n;
	bool collecting; /* only finding out what is referred to: numbers of columns mean nothing */
	/* Behind GroupBy: what stands for what. */
	bool grouped;
	const struct plan_expr **keys;
	uint32_t key_n;
	struct plan_aggregate *aggregates;
	uint32_t aggregate_n;
	/* Calls that look at all rows so far: lower_window.c. */
#define LOWER_MAX_RUNNING 16
	struct {
		const struct ast_expr *call;
		uint32_t column; /* once placed */
		bool placed;
	} running[LOWER_MAX_RUNNING];
	uint32_t running_n;
	bool running_allowed;
	bool running_seen;                   /* since somebody set it to false */
	const struct ast_clause *running_at; /* the first Where or Sample that has one */
	/* In stages behind a relation. */
	const struct plan_node *stage;
	/* In a comparison of what pipes over spans come to: the set of each aggregate. */
	const struct plan_set **sets;
};

struct lower {
	struct plan_build b;
	struct plan *plan;
	struct diags *diags;
	uint32_t depth;  /* of queries in queries */
	int64_t step_ns; /* with (step = …) of the query at hand, or of one around it; 0: not said
			  */
	bool failed;     /* a diagnostic was given */
};

#define LOWER_MAX_DEPTH      64
#define LOWER_MAX_AGGREGATES 64

/* Gives a diagnostic; returns NULL. */
void *lower_refuse(struct lower *l, struct ast_range range, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

enum plan_type lower_type(struct type t);

/* The smallest share that is asked for decides: it is a part of any larger one. */
void lower_share(struct plan *plan, double share);

/* --- lower_expr.c --- */

/* `scope` NULL: an expression over one element. */
const struct plan_expr *lower_expr(struct lower *l, struct scope_of *scope,
				   const struct ast_expr *e);
/* An aggregate call; its argument over the element or over columns. */
bool lower_aggregate(struct lower *l, struct scope_of *scope, const struct ast_expr *call,
		     struct plan_aggregate *ret_aggregate);
bool lower_is_aggregate(const struct ast_expr *e);
/* A reference of the alias; the number of its column among the alias's own. */
uint32_t lower_ref(struct lower *l, struct bound *bound, struct ref ref);
struct plan_value lower_value_int(enum plan_type type, int64_t i);
bool lower_field(enum word_field_id id, enum plan_field *ret_field);
/* Follows names of statements and brackets to the expression they stand for. */
const struct ast_expr *lower_peel(const struct ast_expr *e);
/* WhatIf's changes. */
const struct plan_expr *lower_what_if(struct lower *l, const struct ast_expr *e);

/* --- lower_window.c --- */

/* The column of the element's time among the alias's own. */
uint32_t lower_time_column(struct lower *l, struct bound *bound);
/* Window 1m Slide 30s: one more column, a list of windows, to be taken apart like any other. */
const struct plan_node *lower_windowed(struct lower *l, struct scope_of *s,
				       const struct ast_clauses *c, const struct plan_node *node,
				       uint32_t *ret_slot);
/* MovingAverage or sketch, lowered to `call`: that, or the column it was placed in. */
const struct plan_expr *lower_running(struct lower *l, struct scope_of *s, const struct ast_expr *e,
				      const struct plan_expr *call);
/* The rows in order of time, with a column for each such call; once. */
const struct plan_node *lower_running_place(struct lower *l, struct scope_of *s,
					    const struct plan_node *node);

/* --- lower_source.c --- */

/* The union of the binding's sources with the columns referred to. */
const struct plan_node *lower_binding(struct lower *l, const struct ast_binding *binding,
				      const struct refs *refs, enum plan_pick *ret_pick,
				      uint32_t *ret_pick_n);
const struct plan_node *lower_source(struct lower *l, const struct ast_source *source,
				     const struct refs *refs, struct slice alias);
bool lower_binding_is_relation(const struct ast_binding *binding);

/* --- lower_set.c --- */

const struct plan_set *lower_set(struct lower *l, const struct ast_expr *e);
/* A query whose type is a spanset: head and stages by, coalesce, count() > 2 … */
const struct plan_set *lower_set_query(struct lower *l, const struct ast_query *q);
/* ( {a} | count() ) in a comparison of such: the column of its aggregate. */
const struct plan_expr *lower_set_scalar(struct lower *l, struct scope_of *scope,
					 const struct ast_expr *e);
/* Blocks of a set with these columns. */
const struct plan_node *lower_set_node(struct lower *l, const struct plan_set *set,
				       const struct refs *refs, struct slice alias);
const struct plan_node *lower_spanset_query(struct lower *l, const struct ast_query *q);
/* compare(A, B) */
const struct plan_node *lower_compare(struct lower *l, const struct ast_expr *e);

/* --- lower_stage.c --- */

/* Stages behind a relation or a series, from the i-th on. */
const struct plan_node *lower_stages(struct lower *l, const struct plan_node *input,
				     const struct ast_query *q, size_t first);
/* `| > 5`: rows whose last column stands so to the value. */
const struct plan_node *lower_compare_last(struct lower *l, const struct plan_node *input,
					   const struct ast_stage *stage);
/* An expression whose type is a series, a relation or a spanset. */
const struct plan_node *lower_rows(struct lower *l, const struct ast_expr *e);

/* --- lower_pipe.c --- */

const struct plan_node *lower_pipe_query(struct lower *l, const struct ast_query *q);

/* --- lower_clauses.c, lower_sequence.c, lower.c --- */

const struct plan_node *lower_clauses(struct lower *l, const struct ast_clauses *c);
const struct plan_node *lower_sequence(struct lower *l, const struct ast_sequence *s);
const struct plan_node *lower_query(struct lower *l, const struct ast_query *q);

#endif
