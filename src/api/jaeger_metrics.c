/* api/jaeger_metrics.c - the numbers behind Jaeger UI's Monitor tab, read from the spans
 * themselves.
 *
 * Each point is about the `ratePer` before it: calls a second, the share that failed, or a quantile
 * of durations in milliseconds. */
#include "api/jaeger_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/jaeger_answer.h"
#include "api/jaeger_operations.h"
#include "api/jaeger_question.h"
#include "api/span_rates.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "core/clock.h"
#include "store/summary.h"

#define SERVICES_MOST 1000
#define LOOKBACK_MS   3600000
#define STEP_MS       5000
#define RATE_PER_MS   600000
#define MS_MOST       ((uint64_t)3650 * 86400 * 1000)

enum metric { LATENCIES, CALLS, ERRORS };

struct question {
	struct span_rates rates;
	struct slice services[SERVICES_MOST];
	uint64_t end_ms, lookback_ms, step_ms, rate_per_ms;
	double quantile;
	size_t window; /* steps a point is about */
};

/* --- reading the question --- */

static int number_of(const char *name, struct slice value, uint64_t *ret, struct error *error)
{
	if (slice_parse_u64(value, ret) < 0 || *ret == 0)
		return error_set(error, -EINVAL,
				 "unable to parse param '%s': '%.*s' is not a number of "
				 "milliseconds",
				 name, SLICE_ARG(slice_first(value, 60)));
	return 0;
}

static int quantile_of(struct slice value, double *ret, struct error *error)
{
	char text[32], *end;
	double q;

	snprintf(text, sizeof(text), "%.*s", SLICE_ARG(slice_first(value, sizeof(text) - 1)));
	q = strtod(text, &end);
	if (end == text || *end || !(q >= 0 && q <= 1))
		return error_set(error, -EINVAL,
				 "unable to parse param 'quantile': '%s' is not from 0 to 1", text);
	*ret = q;
	return 0;
}

static int take(struct question *q, struct slice name, struct slice value, struct error *error)
{
	int32_t kind;

	if (slice_eq(name, SLICE("service"))) {
		if (q->rates.service_n == SERVICES_MOST)
			return error_set(error, -EINVAL, "more than %d services", SERVICES_MOST);
		q->services[q->rates.service_n++] = value;
	} else if (slice_eq(name, SLICE("spanKind"))) {
		if (jaeger_kind_parse(value, &kind) < 0)
			return error_set(error, -EINVAL, "unsupported span kind: '%.*s'",
					 SLICE_ARG(slice_first(value, 60)));
		q->rates.kinds |= kind_bit(kind);
	} else if (slice_eq(name, SLICE("groupByOperation"))) {
		q->rates.by_operation =
			slice_eq(value, SLICE("true")) || slice_eq(value, SLICE("1"));
	} else if (slice_eq(name, SLICE("quantile"))) {
		return quantile_of(value, &q->quantile, error);
	} else if (slice_eq(name, SLICE("endTs"))) {
		return number_of("endTs", value, &q->end_ms, error);
	} else if (slice_eq(name, SLICE("lookback"))) {
		return number_of("lookback", value, &q->lookback_ms, error);
	} else if (slice_eq(name, SLICE("step"))) {
		return number_of("step", value, &q->step_ms, error);
	} else if (slice_eq(name, SLICE("ratePer"))) {
		return number_of("ratePer", value, &q->rate_per_ms, error);
	}
	return 0;
}

/* Times become steps: the points, and before the first so many that it is about its time, too. */
static int steps_of(struct question *q, struct error *error)
{
	struct span_rates *r = &q->rates;
	uint64_t points;

	q->end_ms = MIN(q->end_ms, (uint64_t)(INT64_MAX / NS_PER_MS));
	q->lookback_ms = MIN(q->lookback_ms, MS_MOST);
	q->lookback_ms = MIN(q->lookback_ms, q->end_ms);
	q->rate_per_ms = MIN(q->rate_per_ms, MS_MOST);
	q->step_ms = MIN(q->step_ms, MS_MOST);
	points = q->lookback_ms / q->step_ms + 1;
	q->window = (size_t)MAX(q->rate_per_ms / q->step_ms, (uint64_t)1);
	if (points + q->window > RATES_STEPS_MOST)
		return error_set(error, -EINVAL,
				 "lookback and ratePer have more than %d steps; make step larger",
				 RATES_STEPS_MOST);
	r->steps = (size_t)points + q->window - 1;
	r->step_ns = (int64_t)q->step_ms * NS_PER_MS;
	if (q->end_ms < r->steps * q->step_ms)
		return error_set(error, -EINVAL, "endTs is too early for this lookback");
	r->from_ns = (int64_t)(q->end_ms - r->steps * q->step_ms) * NS_PER_MS;
	return 0;
}

static int parse(struct http_request *req, enum metric metric, struct question *q,
		 struct error *error)
{
	struct slice name, value;
	size_t at = 0;
	int r;

	while ((r = http_query_next(req, &at, &name, &value)) == 1) {
		r = value.n ? take(q, name, value, error) : 0;
		if (r < 0)
			return r;
	}
	if (r == -EINVAL)
		return error_set(error, r, "the query is not percent-encoded as it should be");
	if (r < 0)
		return r;
	if (q->rates.service_n == 0)
		return error_set(error, -EINVAL,
				 "unable to parse param 'service': at least one is required");
	if (metric == LATENCIES && q->quantile < 0)
		return error_set(error, -EINVAL,
				 "unable to parse param 'quantile': it is required, from 0 to 1");
	if (q->rates.kinds == 0)
		q->rates.kinds = kind_bit(KIND_SERVER);
	q->rates.services = q->services;
	q->rates.unnamed = SLICE(JAEGER_UNNAMED);
	return steps_of(q, error);
}

/* --- answering --- */

static bool value_at(const struct question *q, enum metric metric, const struct rate_series *row,
		     size_t point, double *ret_value)
{
	struct rate_cell cell = span_rates_sum(&q->rates, row, point, q->window);

	if (metric == CALLS) {
		*ret_value = (double)cell.spans * 1000 / (double)(q->window * q->step_ms);
		return true;
	}
	if (cell.spans == 0)
		return false;
	*ret_value = metric == ERRORS ? (double)cell.errors / (double)cell.spans
				      : rate_cell_quantile(&cell, q->quantile) * 1000;
	return true;
}

static void put_label(struct json_writer *w, const char *name, struct slice value)
{
	json_begin_object(w);
	json_put_name(w, "name");
	json_put_cstr(w, name);
	json_put_name(w, "value");
	json_put_string(w, value);
	json_end_object(w);
}

static void put_point(struct json_writer *w, double value, int64_t time_ns)
{
	char text[QUANTITY_TEXT_BYTES];

	json_begin_object(w);
	json_put_name(w, "gaugeValue");
	json_begin_object(w);
	json_put_name(w, "doubleValue");
	json_put_double(w, value);
	json_end_object(w);
	json_put_name(w, "timestamp");
	json_put_cstr(w, moment_format(time_ns, text));
	json_end_object(w);
}

static void put_row(struct json_writer *w, const struct question *q, enum metric metric,
		    const struct rate_series *row)
{
	json_begin_object(w);
	json_put_name(w, "labels");
	json_begin_array(w);
	if (q->rates.by_operation)
		put_label(w, "operation", row->operation);
	put_label(w, "service_name", row->service);
	json_end_array(w);
	json_put_name(w, "metricPoints");
	json_begin_array(w);
	for (size_t i = 0; i + q->window <= q->rates.steps; i++) {
		double value;

		if (value_at(q, metric, row, i, &value))
			put_point(w, value,
				  q->rates.from_ns + (int64_t)(i + q->window) * q->rates.step_ns);
	}
	json_end_array(w);
	json_end_object(w);
}

static void put_family(struct json_writer *w, const struct question *q, enum metric metric)
{
	static const char *const names[] = {"latencies", "call_rate", "error_rate"};
	const char *grouped = q->rates.by_operation ? "service & operation" : "service";
	char text[128];

	json_begin_object(w);
	json_put_name(w, "name");
	snprintf(text, sizeof(text), "service_%s%s", q->rates.by_operation ? "operation_" : "",
		 names[metric]);
	json_put_cstr(w, text);
	json_put_name(w, "type");
	json_put_cstr(w, "GAUGE");
	json_put_name(w, "help");
	if (metric == LATENCIES)
		snprintf(text, sizeof(text), "%.2fth quantile latency, grouped by %s", q->quantile,
			 grouped);
	else
		snprintf(
			text, sizeof(text), "%s, grouped by %s",
			metric == CALLS
				? "calls/sec"
				: "error rate, computed as a fraction of errors/sec over calls/sec",
			grouped);
	json_put_cstr(w, text);
	json_put_name(w, "metrics");
	json_begin_array(w);
	for (size_t i = 0; i < q->rates.n; i++)
		put_row(w, q, metric, &q->rates.rows[i]);
	json_end_array(w);
	json_end_object(w);
}

static void answer(struct http_request *req, struct api *api, enum metric metric)
{
	/* Not in the request's memory: that goes with the reply. */
	struct question q = {.end_ms = (uint64_t)(clock_wall_ns() / NS_PER_MS),
			     .lookback_ms = LOOKBACK_MS,
			     .step_ms = STEP_MS,
			     .rate_per_ms = RATE_PER_MS,
			     .quantile = -1};
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct error error = {0};
	int r;

	r = parse(req, metric, &q, &error);
	if (r == -EINVAL) {
		jaeger_fail(req, 400, "%s", error.text);
		return;
	}
	span_rates_init(&q.rates);
	if (r == 0)
		r = span_rates_read(&q.rates, api->store);
	if (r == -E2BIG) {
		jaeger_fail(req, 413, "too many operations and steps; ask for less");
	} else if (r < 0) {
		jaeger_fail_errno(req, r);
	} else {
		put_family(&w, &q, metric);
		jaeger_reply(req, &out);
	}
	span_rates_done(&q.rates);
}

static void latencies_work(struct http_request *req, struct api *api)
{
	answer(req, api, LATENCIES);
}

static void calls_work(struct http_request *req, struct api *api)
{
	answer(req, api, CALLS);
}

static void errors_work(struct http_request *req, struct api *api)
{
	answer(req, api, ERRORS);
}

void jaeger_metrics_latencies(struct http_request *req, struct api *api)
{
	api_work(req, latencies_work);
}

void jaeger_metrics_calls(struct http_request *req, struct api *api)
{
	api_work(req, calls_work);
}

void jaeger_metrics_errors(struct http_request *req, struct api *api)
{
	api_work(req, errors_work);
}

/* Spans are not gathered into steps beforehand, so any step will do. */
void jaeger_metrics_min_step(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	jaeger_begin(&w);
	json_put_u64(&w, 1);
	jaeger_end(&w, 0);
	jaeger_reply(req, &out);
}
