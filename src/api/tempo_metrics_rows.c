/* api/tempo_metrics_rows.c - rows of a series in the language become samples of Tempo's series.
 *
 *   columns of the language      Tempo's labels
 *   time, value                  __name__ = the function
 *   time, keys …, value          each key as it was written: resource.service.name
 *   value is a list              quantiles: p; histograms: __bucket */
#include <errno.h>
#include <math.h>

#include "api/tempo_metrics_int.h"

#define CHAIN_DEPTH 64

static struct slice scoped(struct measuring *m, const char *scope, struct slice key)
{
	char *text = arena_printf(&m->t.arena, "%s.%.*s", scope, SLICE_ARG(key));

	return text ? slice_cstr(text) : key;
}

static struct slice label_of(struct measuring *m, const struct plan_expr *e, struct slice name)
{
	static const char *const scopes[] = {
		[ATTR_ANY] = "",
		[ATTR_SPAN] = "span",
		[ATTR_RESOURCE] = "resource",
		[ATTR_EVENT] = "event",
		[ATTR_LINK] = "link",
		[ATTR_INSTRUMENTATION] = "instrumentation",
	};
	const struct plan_node *input = m->series->input_n ? m->series->inputs[0] : NULL;

	if (e->kind == X_COLUMN && input && input->op == PLAN_SPANSET &&
	    e->column < input->column_n)
		e = input->spanset.fields[e->column];
	if (e->kind != X_ATTR || e->attr.of != OF_SELF)
		return name;
	return scoped(m, scopes[e->attr.scope], e->attr.key);
}

int measuring_shape(struct measuring *m)
{
	const struct plan_node *node = m->root;

	if (node->op == PLAN_COMPARE)
		return 0;
	if (node->column_n < 2 || node->columns[0].type != PLAN_TIME ||
	    node->column_n - 2 >= TEMPO_LABELS_MOST - 2)
		return -ENOTSUP;
	for (int depth = 0; node && node->op != PLAN_SERIES && depth < CHAIN_DEPTH; depth++)
		node = node->input_n == 1 ? node->inputs[0] : NULL;
	m->series = node && node->op == PLAN_SERIES ? node : NULL;
	m->key_n = m->root->column_n - 2;
	for (size_t i = 0; i < m->key_n; i++) {
		m->keys[i] = m->root->columns[1 + i].name;
		if (m->series && m->series->series.key_n == m->key_n)
			m->keys[i] = label_of(m, m->series->series.keys[i], m->keys[i]);
	}
	return 0;
}

/* --- rows --- */

int measuring_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	return 0;
}

/* Tempo's unit of time is the second. */
static double number_of(const struct measuring *m, struct value v)
{
	double x = value_number(v);

	if (v.type == V_DURATION || v.type == V_TIME)
		x /= 1e9;
	return x * m->scale;
}

static int add(struct measuring *m, const struct tempo_label *labels, size_t n, int64_t time_ns,
	       struct value v)
{
	double x = number_of(m, v);

	/* JSON has no word for what is no number. */
	if (!value_is_number(v) || !isfinite(x))
		return 0;
	return tempo_series_add(&m->out, labels, n, time_ns, x);
}

struct value measuring_seconds(struct value v)
{
	return value_float(v.type == V_DURATION ? (double)v.i / 1e9 : value_number(v));
}

const struct plan_aggregate *measuring_aggregate(const struct measuring *m)
{
	return m->series && m->series->series.aggregate_n == 1 ? m->series->series.aggregates
							       : NULL;
}

static int quantiles_add(struct measuring *m, struct tempo_label *labels, size_t n, int64_t time_ns,
			 struct value v, const struct plan_aggregate *a)
{
	uint32_t count = v.type == V_LIST ? v.n : 1;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count && i < a->parameter_n; i++) {
		labels[n] = (struct tempo_label){SLICE("p"), value_float(a->parameters[i])};
		r = add(m, labels, n + 1, time_ns, v.type == V_LIST ? v.list[i] : v);
	}
	return r;
}

static int buckets_add(struct measuring *m, struct tempo_label *labels, size_t n, int64_t time_ns,
		       struct value v)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && v.type == V_LIST && i < v.n; i++) {
		const struct value *pair = v.list[i].list;

		if (v.list[i].type != V_LIST || v.list[i].n != 2)
			continue;
		labels[n] = (struct tempo_label){SLICE("__bucket"), measuring_seconds(pair[0])};
		r = add(m, labels, n + 1, time_ns, pair[1]);
	}
	return r;
}

struct tempo_label measuring_name(const struct measuring *m)
{
	return (struct tempo_label){SLICE("__name__"), value_text(m->root->columns[1].name)};
}

int measuring_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct measuring *m = context;
	struct tempo_label labels[TEMPO_LABELS_MOST];
	const struct plan_aggregate *a = measuring_aggregate(m);
	struct value v = values[n - 1];
	size_t label_n = m->key_n;

	if (n != m->key_n + 2)
		return -EINVAL;
	for (size_t i = 0; i < m->key_n; i++)
		labels[i] = (struct tempo_label){m->keys[i], values[1 + i]};
	if (a && a->kind == AGG_QUANTILE)
		return quantiles_add(m, labels, label_n, values[0].i, v, a);
	if (a && a->kind == AGG_HISTOGRAM)
		return buckets_add(m, labels, label_n, values[0].i, v);
	if (label_n == 0)
		labels[label_n++] = measuring_name(m);
	return add(m, labels, label_n, values[0].i, v);
}
