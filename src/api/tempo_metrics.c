/* api/tempo_metrics.c - Tempo's metrics: rows of a series in, Tempo's series out.
 *
 * What columns become which labels: api/tempo_metrics_rows.c; of compare(), api/tempo_compare.c.
 * One number for the whole range is a series with one step that is longer than any range. */
#include "api/tempo_metrics.h"

#include <errno.h>

#include "api/tempo_compare.h"
#include "api/tempo_metrics_int.h"
#include "api/tempo_slices.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "exec/series.h"
#include "wire/protobuf.h"

#define WHOLE_NS (4000000000LL * NS_PER_S) /* one step, from 1970 to 2096 */

struct asked {
	bool instant;
	uint64_t exemplars;
};

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
	struct query_run run = {.begin = measuring_begin, .row = measuring_row, .context = m};
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
	const struct plan_aggregate *a = measuring_aggregate(m);

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
		struct query_run run = {.range = slices.ranges[i],
					.begin = measuring_begin,
					.row = measuring_row,
					.context = m};
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
	const struct plan_aggregate *a = measuring_aggregate(m);
	const struct plan_range *range = &m->t.job->request.range;
	struct tempo_label label;
	struct series_steps steps = {0};
	int r = 0;

	if (m->out.n > 0 || m->root->op != PLAN_SERIES || m->key_n > 0 || !a ||
	    m->series->series.topk || (a->kind != AGG_RATE && a->kind != AGG_COUNT))
		return 0;
	label = measuring_name(m);
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
	const struct plan_aggregate *a = measuring_aggregate(m);

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
		r = measuring_exemplars(m, &error);
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
		if (!m.root || measuring_shape(&m) < 0)
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
