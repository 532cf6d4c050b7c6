/* lang/explain.h - plans as text, and as advice for live tracepoints. */
#ifndef CAUSET_LANG_EXPLAIN_H
#define CAUSET_LANG_EXPLAIN_H

#include "base/buffer.h"
#include "lang/plan.h"

/* The tree of operators, one a line, inputs indented below. */
void plan_explain(const struct plan *plan, struct buffer *out);

/* What would be woven: for each tracepoint its advice, in the order tuples travel,
 *
 *   ClientProtocols:
 *     OBSERVE procName
 *     PACK-FIRST procName
 *   DataNodeMetrics.incrBytesRead:
 *     OBSERVE delta
 *     UNPACK procName
 *     EMIT procName, SUM(delta)
 *
 * and what cannot run live, each with the cheapest legal rewrite. */
void plan_explain_live(const struct plan *plan, struct buffer *out);

/* An expression as the language writes it; columns by the names in `columns`. */
void plan_expr_text(const struct plan_expr *e, const struct plan_column *columns,
		    struct buffer *out);

#endif
