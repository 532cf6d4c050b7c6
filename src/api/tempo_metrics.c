/* api/tempo_metrics.c - Tempo's metrics: rows of a series in, Tempo's series out.
 *
 *   columns of the language      Tempo's labels
 *   time, value                  __name__ = the function
 *   time, keys …, value          each key as it was written: resource.service.name
 *   value is a list              quantiles: p; histograms: __bucket
 *   compare()                    __meta_type, and the attribute (api/tempo_compare.c)
 *
 * One number for the whole range is a series with one step that is longer than any range. */
#include "api/tempo_metrics.h"

#include <errno.h>
#include <math.h>

#include "api/tempo_compare.h"
#include "api/tempo_exemplars.h"
#include "api/tempo_query.h"
#include "api/tempo_series.h"
#include "api/tempo_slices.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "exec/series.h"
#include "wire/protobuf.h"

#define WHOLE_NS       (4000000000LL * NS_PER_S) /* one step, from 1970 to 2096 */
#define CHAIN_DEPTH    64

#define EXEMPLARS_MOST 1000ULL

struct asked {
	bool instant;
	uint64_t exemplars;
};

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

/* --- labels --- */

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

/* -ENOTSUP: these are no series. */
static int shape_find(struct measuring *m)
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

static int on_begin(void *context, size_t result, struct slice name,
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

static struct value in_seconds(struct value v)
{
	return value_float(v.type == V_DURATION ? (double)v.i / 1e9 : value_number(v));
}

static const struct plan_aggregate *aggregate_of(const struct measuring *m)
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
		labels[n] = (struct tempo_label){SLICE("__bucket"), in_seconds(pair[0])};
		r = add(m, labels, n + 1, time_ns, pair[1]);
	}
	return r;
}

/* The label of a series that has no others. */
static struct tempo_label name_of(const struct measuring *m)
{
	return (struct tempo_label){SLICE("__name__"), value_text(m->root->columns[1].name)};
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct measuring *m = context;
	struct tempo_label labels[TEMPO_LABELS_MOST];
	const struct plan_aggregate *a = aggregate_of(m);
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
		labels[label_n++] = name_of(m);
	return add(m, labels, label_n, values[0].i, v);
}

/* --- exemplars --- */

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
	const struct plan_aggregate *a = aggregate_of(m);
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
		if (aggregate_of(m)->kind == AGG_HISTOGRAM &&
		    value_number(one->labels[m->key_n].value) >= x)
			break;
	}
	return found;
}

static int on_span(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct sampling *s = context;
	bool rows = s->about == UINT32_MAX;
	struct value v = rows ? value_nil() : in_seconds(values[s->about]);
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

/* The first spans that are found.  What has no form for it has no exemplars. */
static int exemplars_add(struct measuring *m, struct error *error)
{
	struct sampling s = {.m = m};
	struct query_run run = {.begin = on_begin,
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

/* --- the run --- */

static void put(struct measuring *m, const struct tempo_series_part *part, struct buffer *out)
{
	struct tempo_message message = tempo_message(out, m->t.stream);
	size_t begun = message_begin(&message, NULL, 0);

	tempo_series_put(&m->out, &message, part);
	tempo_put_metrics(&message, &m->progress);
	message_end(&message, begun);
}

/* The whole range at once. */
static int whole_run(struct measuring *m, struct error *error)
{
	struct query_run run = {.begin = on_begin, .row = on_row, .context = m};
	struct query_stats stats = {0};
	int r = tempo_query_run(&m->t, &run, &stats, error);

	m->progress.traces = stats.traces;
	return r;
}

/* What the query says itself, with(step=1m), stands above what was asked for beside it. */
static int64_t step_of(const struct measuring *m)
{
	int64_t step_ns = m->series->series.step_ns;

	return step_ns > 0 ? step_ns : m->t.job->request.step_ns;
}

/* Is each step of the answer made of nothing but the spans of that step? */
static bool is_by_step(const struct measuring *m)
{
	const struct query_request *q = &m->t.job->request;

	return !m->instant && m->root->op == PLAN_SERIES && m->series == m->root &&
	       q->range.from_ns && q->range.to_ns && step_of(m) > 0;
}

/* Where rows are counted, none is a number, too: in every step of the range.  But not where the
 * first or last few are kept: a series that is not among them has no sample. */
static int zeros_add(struct measuring *m, const struct series_steps *steps, struct error *error)
{
	const struct plan_aggregate *a = aggregate_of(m);

	if (!a || m->series->series.topk || (a->kind != AGG_RATE && a->kind != AGG_COUNT))
		return 0;
	return tempo_series_fill(&m->out, steps->from_ns, steps->step_ns, steps->n, error);
}

/* The newest steps first, each slice told as soon as it is there. */
static int slices_run(struct measuring *m, struct error *error)
{
	const struct snapshot *snapshot;
	struct tempo_slices slices;
	struct series_steps steps;
	/* All of it: a slice has few steps. */
	int r = series_steps_cut(&steps, m->t.job->request.range, step_of(m), error);

	if (r == 0)
		r = tempo_query_snapshot(&m->t, &snapshot);
	if (r == 0)
		r = tempo_slices(snapshot, m->t.job->request.range, step_of(m), &slices);
	if (r < 0)
		return r;
	m->progress.all = slices.n;
	for (size_t i = 0; r == 0 && i < slices.n; i++) {
		struct query_run run = {
			.range = slices.ranges[i], .begin = on_begin, .row = on_row, .context = m};
		struct tempo_series_part part = {.from_ns = slices.ranges[i].from_ns,
						 .to_ns = slices.ranges[i].to_ns};
		struct query_stats stats = {0};
		struct buffer out = {0};

		r = tempo_query_run(&m->t, &run, &stats, error);
		m->progress.traces += stats.traces;
		m->progress.done++;
		if (r == 0 && i + 1 < slices.n) {
			put(m, &part, &out);
			r = tempo_query_part(&m->t, &out);
		}
	}
	return r == 0 ? zeros_add(m, &steps, error) : r;
}

/* A count that is not grouped is there, and 0, where nothing was found. */
static int nothing_add(struct measuring *m, struct error *error)
{
	const struct plan_aggregate *a = aggregate_of(m);
	const struct plan_range *range = &m->t.job->request.range;
	struct tempo_label label;
	struct series_steps steps = {0};
	int r = 0;

	if (m->out.n > 0 || m->root->op != PLAN_SERIES || m->key_n > 0 || !a ||
	    m->series->series.topk || (a->kind != AGG_RATE && a->kind != AGG_COUNT))
		return 0;
	label = name_of(m);
	if (m->instant)
		return tempo_series_add(&m->out, &label, 1, 0, 0);
	if (!range->from_ns || !range->to_ns || step_of(m) <= 0)
		return 0;
	r = series_steps_cut(&steps, *range, step_of(m), error);
	if (r == 0 && steps.n > 0)
		r = tempo_series_add(&m->out, &label, 1, steps.from_ns, 0);
	return r == 0 ? tempo_series_fill(&m->out, steps.from_ns, steps.step_ns, steps.n, error)
		      : r;
}

/* A rate over WHOLE_NS is turned into one over the range that was asked about; what has been
 * computed from it, or compared with it, cannot be. */
static bool scale_find(struct measuring *m)
{
	const struct plan_range *range = &m->t.job->request.range;
	const struct plan_aggregate *a = aggregate_of(m);

	m->scale = 1;
	if (!m->instant || m->root->op == PLAN_COMPARE || (a && a->kind != AGG_RATE))
		return true;
	if (!a || m->root->op != PLAN_SERIES || !range->from_ns || !range->to_ns)
		return false;
	m->scale = (double)WHOLE_NS / (double)(range->to_ns - range->from_ns);
	return true;
}

static void measure(struct measuring *m)
{
	struct error error = {0};
	struct buffer out = {0};
	int r;

	m->out.arena = &m->t.arena;
	m->progress.all = 1;
	if (m->root->op == PLAN_COMPARE)
		r = tempo_compare(&m->t, m->root, &m->out, &m->progress, &error);
	else
		r = m->t.stream && is_by_step(m) ? slices_run(m, &error) : whole_run(m, &error);
	if (r == 0 && m->root->op != PLAN_COMPARE)
		r = nothing_add(m, &error);
	if (r == 0 && m->root->op != PLAN_COMPARE && m->exemplars && !m->instant)
		r = exemplars_add(m, &error);
	m->progress.done = m->progress.all;
	if (r == -E2BIG) {
		tempo_query_say(&m->t, 422,
				"more than %d series: group by something with fewer values",
				TEMPO_SERIES_MOST);
	} else if (r < 0) {
		tempo_query_fail(&m->t, r, &error);
	} else {
		put(m, &(struct tempo_series_part){.instant = m->instant}, &out);
		tempo_query_reply(&m->t, &out);
	}
	tempo_series_done(&m->out);
}

static void metrics_run(struct query_job *job)
{
	const struct asked *asked = api_request(job->req)->data;
	struct measuring m = {.instant = asked->instant, .exemplars = asked->exemplars};
	int r;

	tempo_query_init(&m.t, job);
	r = tempo_query_prepare(&m.t, job->request.text);
	if (r < 0) {
		tempo_query_refuse(&m.t, r, job->request.text);
	} else {
		m.root = query_results(m.t.query) == 1 ? query_plan(m.t.query, 0)->root : NULL;
		if (!m.root || shape_find(&m) < 0)
			tempo_query_say(&m.t, 400, "not a metrics query");
		else if (!scale_find(&m))
			tempo_query_say(&m.t, 400,
					"one number for a range can be asked of a rate alone, with "
					"start and end: what is computed from rates is asked at "
					"/api/metrics/query_range");
		else
			measure(&m);
	}
	tempo_query_done(&m.t);
}

/* Seconds, or a duration. */
static bool step_read(struct http_request *req, int64_t *ret_ns)
{
	struct slice text;
	uint64_t seconds;
	int r = http_query_get(req, "step", &text);

	if (r == 0 || (r > 0 && text.n == 0))
		return true;
	if (r > 0 && slice_parse_u64(text, &seconds) == 0 && seconds > 0 &&
	    seconds < INT64_MAX / NS_PER_S) {
		*ret_ns = (int64_t)seconds * NS_PER_S;
		return true;
	}
	if (r > 0 && duration_parse(text, ret_ns) == 0 && *ret_ns > 0)
		return true;
	http_reply_text(req, 400, "invalid step: seconds, or a duration such as 1m, are wanted");
	return false;
}

static void metrics_start(struct http_request *req, struct api *api, bool instant)
{
	struct asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct query_request q = {0};

	if (!asked) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	asked->instant = instant;
	if (!tempo_number(req, "exemplars", &asked->exemplars) ||
	    (!instant && !step_read(req, &q.step_ns)))
		return;
	if (instant)
		q.step_ns = WHOLE_NS;
	api_request(req)->data = asked;
	tempo_query_start(req, api, &q, metrics_run);
}

void tempo_query_range(struct http_request *req, struct api *api)
{
	metrics_start(req, api, false);
}

void tempo_query_instant(struct http_request *req, struct api *api)
{
	metrics_start(req, api, true);
}

/* QueryRangeRequest { query = 1, start = 2, end = 3, step = 4 (nanoseconds), exemplars = 16 };
 * QueryInstantRequest has the first three. */
static int metrics_read(struct http_request *req, struct slice question, struct query_request *q,
			bool instant, struct error *error)
{
	struct asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct pb_reader reader = pb_open(question);
	uint64_t from = 0, to = 0, step = 0;
	struct pb_field f;

	if (!asked)
		return -ENOMEM;
	asked->instant = instant;
	q->text = SLICE("");
	while (pb_next(&reader, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			q->text = f.bytes;
		else if (f.tag == PB_TAG(2, PB_VARINT))
			from = f.value;
		else if (f.tag == PB_TAG(3, PB_VARINT))
			to = f.value;
		else if (f.tag == PB_TAG(4, PB_VARINT))
			step = f.value;
		else if (f.tag == PB_TAG(16, PB_VARINT))
			asked->exemplars = f.value;
	}
	if (reader.bad)
		return error_set(error, -EINVAL, "the request is not well-formed protobuf");
	if (step > INT64_MAX)
		return error_set(error, -EINVAL, "invalid step: nanoseconds are wanted");
	q->step_ns = instant ? WHOLE_NS : (int64_t)step;
	api_request(req)->data = asked;
	return tempo_window(from, to, &q->range, error);
}

void tempo_stream_query_range(struct http_request *req, struct api *api)
{
	static const struct tempo_method method = {metrics_read, metrics_run, false};

	tempo_stream_open(req, api, &method);
}

void tempo_stream_query_instant(struct http_request *req, struct api *api)
{
	static const struct tempo_method method = {metrics_read, metrics_run, true};

	tempo_stream_open(req, api, &method);
}
