/* lang/explain_int.h - texts of pieces of plans. */
#ifndef CAUSET_LANG_EXPLAIN_INT_H
#define CAUSET_LANG_EXPLAIN_INT_H

#include "lang/explain.h"

void plan_set_text(const struct plan_set *s, struct buffer *out);
void plan_aggregate_text(const struct plan_aggregate *a, const struct plan_column *columns,
			 struct buffer *out);

void plan_duration_text(int64_t ns, struct buffer *out);

/* --- explain_parts.c --- */

#define PLAN_NAMES_MOST 160 /* columns that get a name; further ones have their number */

struct plan_naming {
	struct buffer text; /* buffer_done() it */
	size_t begins[PLAN_NAMES_MOST + 1];
	struct plan_column columns[PLAN_NAMES_MOST];
	uint32_t n;
};

/* Columns of a node by name: those of a join with their alias where one name is there twice. */
const struct plan_column *plan_names(const struct plan_node *n, struct plan_naming *names);

/* A SET_HAVING. */
void plan_having_text(const struct plan_set *s, struct buffer *out);
void plan_pipe_text(const struct plan_pipe *pipe, struct buffer *out);
/* What stands behind the name of the operator. */
void plan_sequence_text(const struct plan_node *n, struct buffer *out);
void plan_compare_text(const struct plan_node *n, struct buffer *out);

#endif
