/* api/tempo_compare.h - compare() as Traces Drilldown reads it: counts by step. */
#ifndef CAUSET_API_TEMPO_COMPARE_H
#define CAUSET_API_TEMPO_COMPARE_H

#include "api/tempo_query.h"
#include "api/tempo_series.h"

/* Runs the prepared question, whose root is a comparison, and adds its series.  -E2BIG: more than
 * TEMPO_SERIES_MOST; others as tempo_query_run(). */
int tempo_compare(struct tempo_query *t, const struct plan_node *root, struct tempo_series *out,
		  struct tempo_progress *progress, struct error *error);

#endif
