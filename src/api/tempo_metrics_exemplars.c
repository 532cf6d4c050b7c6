/* api/tempo_metrics_exemplars.c - spans that stand for a series of Tempo's metrics: the query's own
 * spans are asked for, and each is given to the series that counts it. */
#include <math.h>

#include "api/tempo_exemplars.h"
#include "api/tempo_metrics_int.h"
#include "base/cleanup.h"

#define EXEMPLARS_MOST 1000ULL

/* The question for spans, and where its columns stand. */
struct sampling {
	struct tempo_query t;
	struct measuring *m;
	uint32_t keys[TEMPO_LABELS_MOST];
	uint32_t about, trace, time; /* about UINT32_MAX: the rows themselves */
};

static bool is_same(const struct plan_expr *a, const struct plan_expr *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == X_FIELD)
		return a->field.field == b->field.field && a->field.of == b->field.of;
	return a->kind == X_ATTR && a->attr.scope == b->attr.scope && a->attr.of == b->attr.of &&
	       slice_eq(a->attr.key, b->attr.key);
}

/* Where the spans have what stands in a column below the series. */
static bool column_find(const struct measuring *m, const struct plan_expr *e,
			const struct plan_node *spans, uint32_t *ret_column)
{
	const struct plan_node *input = m->series->input_n ? m->series->inputs[0] : NULL;

	if (!input || input->op != PLAN_SPANSET || e->kind != X_COLUMN ||
	    e->column >= input->column_n)
		return false;
	for (uint32_t i = 0; i < spans->column_n; i++)
		if (is_same(spans->spanset.fields[i], input->spanset.fields[e->column])) {
			*ret_column = i;
			return true;
		}
	return false;
}

static bool field_find(const struct plan_node *spans, enum plan_field field, uint32_t *ret_column)
{
	for (uint32_t i = 0; i < spans->column_n; i++) {
		const struct plan_expr *e = spans->spanset.fields[i];

		if (e->kind == X_FIELD && e->field.field == field && e->field.of == OF_SELF) {
			*ret_column = i;
			return true;
		}
	}
	return false;
}

static bool sampling_prepare(struct sampling *s)
{
	const struct measuring *m = s->m;
	const struct plan_aggregate *a = measuring_aggregate(m);
	const struct plan_node *spans;
	struct buffer text = {0};
	struct slice kept = slice_of(NULL, 0);

	if (!a || m->series->series.key_n != m->key_n)
		return false;
	if (tempo_exemplars_ask(m->t.job->request.text, &text) && !text.failed)
		kept = arena_dup(&s->t.arena, buffer_get(&text));
	buffer_done(&text);
	if (!kept.p || tempo_query_prepare(&s->t, kept) < 0 || query_results(s->t.query) != 1)
		return false;
	spans = query_plan(s->t.query, 0)->root;
	if (spans->op != PLAN_SPANSET || !field_find(spans, F_TRACE_ID, &s->trace) ||
	    !field_find(spans, F_TIME, &s->time))
		return false;
	for (size_t i = 0; i < m->key_n; i++)
		if (!column_find(m, m->series->series.keys[i], spans, &s->keys[i]))
			return false;
	s->about = UINT32_MAX;
	return !a->arg || column_find(m, a->arg, spans, &s->about);
}

/* The series that counts the span; of a histogram's the bucket it lies in, of quantiles the
 * highest. */
static struct tempo_one *counted_by(struct sampling *s, const struct value *values, double x)
{
	struct measuring *m = s->m;
	struct tempo_one *found = NULL;

	for (size_t i = 0; i < m->out.n; i++) {
		struct tempo_one *one = &m->out.rows[i];
		bool fits = true;

		for (size_t k = 0; fits && k < m->key_n; k++)
			fits = value_same(one->labels[k].value, values[s->keys[k]]);
		if (!fits)
			continue;
		found = one;
		if (measuring_aggregate(m)->kind == AGG_HISTOGRAM &&
		    value_number(one->labels[m->key_n].value) >= x)
			break;
	}
	return found;
}

static int on_span(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct sampling *s = context;
	bool rows = s->about == UINT32_MAX;
	struct value v = rows ? value_nil() : measuring_seconds(values[s->about]);
	struct tempo_exemplar exemplar = {.trace = value_slice(values[s->trace]),
					  .time_ns = values[s->time].i,
					  .value = value_number(v)};
	struct tempo_one *one;

	if (!rows && (!value_is_number(values[s->about]) || !isfinite(exemplar.value)))
		return 0;
	one = counted_by(s, values, exemplar.value);
	if (!one)
		return 0;
	/* Where spans are counted, it stands on the line. */
	for (size_t i = 0; rows && i < one->n && one->samples[i].time_ns <= exemplar.time_ns; i++)
		exemplar.value = one->samples[i].value;
	return tempo_series_exemplar(&s->m->out, one, &exemplar);
}

int measuring_exemplars(struct measuring *m, struct error *error)
{
	struct sampling s = {.m = m};
	struct query_run run = {.begin = measuring_begin,
				.row = on_span,
				.context = &s,
				.rows_most = MIN(m->exemplars, EXEMPLARS_MOST)};
	struct query_stats stats;
	int r = 0;

	tempo_query_init(&s.t, m->t.job);
	if (sampling_prepare(&s))
		r = tempo_query_run(&s.t, &run, &stats, error);
	tempo_query_done(&s.t);
	return r;
}
