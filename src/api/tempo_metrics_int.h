/* api/tempo_metrics_int.h - one question for metrics while it is answered. */
#ifndef CAUSET_API_TEMPO_METRICS_INT_H
#define CAUSET_API_TEMPO_METRICS_INT_H

#include "api/tempo_message.h"
#include "api/tempo_query.h"
#include "api/tempo_series.h"

struct measuring {
	struct tempo_query t;
	bool instant;
	uint64_t exemplars;
	const struct plan_node *root;
	const struct plan_node *series; /* below it; NULL: none, or several */
	struct slice keys[TEMPO_LABELS_MOST];
	size_t key_n; /* columns between the time and the value */
	double scale; /* of a rate that was taken over WHOLE_NS */
	struct tempo_series out;
	struct tempo_progress progress;
};

/* --- api/tempo_metrics_rows.c --- */

/* Which columns of the answer are labels.  -ENOTSUP: these are no series. */
int measuring_shape(struct measuring *m);

/* What a query_run calls, with the measuring as its context. */
int measuring_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n);
int measuring_row(void *context, const struct value *values, const double *plus_minus, size_t n);

/* The one aggregate of the series; NULL: there is none, or there are several. */
const struct plan_aggregate *measuring_aggregate(const struct measuring *m);

/* The label of a series that has no others. */
struct tempo_label measuring_name(const struct measuring *m);

/* Tempo's unit of time is the second. */
struct value measuring_seconds(struct value v);

/* --- api/tempo_metrics_exemplars.c --- */

/* The first spans that are found.  What has no form for it has no exemplars. */
int measuring_exemplars(struct measuring *m, struct error *error);

#endif
