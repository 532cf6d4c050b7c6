/* lang/explain_int.h - texts of pieces of plans. */
#ifndef CAUSET_LANG_EXPLAIN_INT_H
#define CAUSET_LANG_EXPLAIN_INT_H

#include "lang/explain.h"

void plan_set_text(const struct plan_set *s, struct buffer *out);
void plan_aggregate_text(const struct plan_aggregate *a, const struct plan_column *columns,
			 struct buffer *out);

#endif
