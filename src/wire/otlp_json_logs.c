/* wire/otlp_json_logs.c - OTLP logs from JSON to rows; and metrics, which are only counted. */
#include <errno.h>

#include "base/cleanup.h"
#include "wire/otlp_json.h"
#include "wire/otlp_json_group.h"

enum log_field {
	TIME,
	OBSERVED,
	SEVERITY,
	SEVERITY_TEXT,
	BODY,
	ATTRIBUTES,
	DROPPED,
	FLAGS,
	TRACE_ID,
	SPAN_ID,
	EVENT_NAME
};

/* SEVERITY_NUMBER_TRACE to SEVERITY_NUMBER_FATAL4 are 1 to 24. */
static int32_t read_severity(struct otlp_json *d)
{
	static const struct json_name names[] = {
		JSON_NAME("SEVERITY_NUMBER_UNSPECIFIED", 0),
		JSON_NAME("SEVERITY_NUMBER_TRACE", 1),
		JSON_NAME("SEVERITY_NUMBER_TRACE2", 2),
		JSON_NAME("SEVERITY_NUMBER_TRACE3", 3),
		JSON_NAME("SEVERITY_NUMBER_TRACE4", 4),
		JSON_NAME("SEVERITY_NUMBER_DEBUG", 5),
		JSON_NAME("SEVERITY_NUMBER_DEBUG2", 6),
		JSON_NAME("SEVERITY_NUMBER_DEBUG3", 7),
		JSON_NAME("SEVERITY_NUMBER_DEBUG4", 8),
		JSON_NAME("SEVERITY_NUMBER_INFO", 9),
		JSON_NAME("SEVERITY_NUMBER_INFO2", 10),
		JSON_NAME("SEVERITY_NUMBER_INFO3", 11),
		JSON_NAME("SEVERITY_NUMBER_INFO4", 12),
		JSON_NAME("SEVERITY_NUMBER_WARN", 13),
		JSON_NAME("SEVERITY_NUMBER_WARN2", 14),
		JSON_NAME("SEVERITY_NUMBER_WARN3", 15),
		JSON_NAME("SEVERITY_NUMBER_WARN4", 16),
		JSON_NAME("SEVERITY_NUMBER_ERROR", 17),
		JSON_NAME("SEVERITY_NUMBER_ERROR2", 18),
		JSON_NAME("SEVERITY_NUMBER_ERROR3", 19),
		JSON_NAME("SEVERITY_NUMBER_ERROR4", 20),
		JSON_NAME("SEVERITY_NUMBER_FATAL", 21),
		JSON_NAME("SEVERITY_NUMBER_FATAL2", 22),
		JSON_NAME("SEVERITY_NUMBER_FATAL3", 23),
		JSON_NAME("SEVERITY_NUMBER_FATAL4", 24),
	};

	return otlp_json_enum(d, names, ARRAY_SIZE(names));
}

static void read_log_field(struct otlp_json *d, struct event *e, struct event_extra *x,
			   enum otlp_id *trace, enum otlp_id *id, int field)
{
	switch (field) {
	case TIME:
		json_u64(&d->r, &e->time_ns);
		break;
	case OBSERVED:
		json_u64(&d->r, &x->observed_ns);
		break;
	case SEVERITY:
		e->kind = read_severity(d);
		break;
	case SEVERITY_TEXT:
		x->severity_text = otlp_json_text(d);
		break;
	case BODY:
		x->body = otlp_json_value(d);
		break;
	case ATTRIBUTES:
		e->attrs = otlp_json_attrs(d);
		break;
	case DROPPED:
		json_u32(&d->r, &x->dropped_attributes);
		break;
	case FLAGS:
		json_u32(&d->r, &e->flags);
		break;
	case TRACE_ID:
		*trace = otlp_json_trace_id(d, &e->trace_id);
		break;
	case SPAN_ID:
		*id = otlp_json_span_id(d, &e->id1);
		break;
	case EVENT_NAME:
		e->name = otlp_json_text(d);
		break;
	default:
		json_skip(&d->r);
	}
}

static void read_log(struct otlp_json *d, uint32_t resource, uint32_t scope)
{
	static const struct json_name names[] = {
		JSON_NAME("timeUnixNano", TIME),
		JSON_NAME("observedTimeUnixNano", OBSERVED),
		JSON_NAME("severityNumber", SEVERITY),
		JSON_NAME("severityText", SEVERITY_TEXT),
		JSON_NAME("body", BODY),
		JSON_NAME("attributes", ATTRIBUTES),
		JSON_NAME("droppedAttributesCount", DROPPED),
		JSON_NAME("flags", FLAGS),
		JSON_NAME("traceId", TRACE_ID),
		JSON_NAME("spanId", SPAN_ID),
		JSON_NAME("eventName", EVENT_NAME),
		JSON_NAME("time_unix_nano", TIME),
		JSON_NAME("observed_time_unix_nano", OBSERVED),
		JSON_NAME("severity_number", SEVERITY),
		JSON_NAME("severity_text", SEVERITY_TEXT),
		JSON_NAME("dropped_attributes_count", DROPPED),
		JSON_NAME("trace_id", TRACE_ID),
		JSON_NAME("span_id", SPAN_ID),
		JSON_NAME("event_name", EVENT_NAME),
	};
	struct batch *b = d->batch;
	struct batch_mark mark = batch_mark(b);
	size_t offset = (size_t)(d->r.at - d->r.start);
	struct event e = {.resource = resource, .scope = scope, .type = EVENT_LOG};
	enum otlp_id trace = OTLP_ID_MISSING, id = OTLP_ID_MISSING;
	struct event_extra x = {0};
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (!json_null(&d->r))
			read_log_field(d, &e, &x, &trace, &id, field);
	}
	if (d->r.bad || b->failed)
		return;
	if (trace != OTLP_ID_GOOD || id == OTLP_ID_BAD) {
		batch_rewind(b, mark);
		decode_reject(
			d->tally, "%s (byte %zu)",
			trace == OTLP_ID_MISSING
				? "log record without a traceId: logs are kept as points of a trace"
			: trace == OTLP_ID_BAD
				? "log record with a traceId that is not 32 hex digits"
				: "log record with a spanId that is not 16 hex digits",
			offset);
		return;
	}
	*batch_event(b) = e;
	*batch_extra(b, (uint32_t)b->event_n - 1) = x;
	d->tally->accepted++;
}

const struct otlp_json_shape otlp_json_logs = {
	.groups = {{"resourceLogs", 12}, {"resource_logs", 13}},
	.scopes = {{"scopeLogs", 9}, {"scope_logs", 10}},
	.members = {{"logRecords", 10}, {"log_records", 11}},
	.member = read_log,
};

int otlp_json_decode_logs(struct slice body, struct batch *batch, struct decode_tally *tally,
			  struct error *error)
{
	static const struct otlp_json_shape *const shape = &otlp_json_logs;

	return otlp_json_groups(body, batch, tally, error, &shape, 1);
}

/* {"dataPoints":[…]} of a gauge, sum, histogram or summary. */
static void count_points(struct otlp_json *d)
{
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (!slice_eq(name, SLICE("dataPoints")) && !slice_eq(name, SLICE("data_points"))) {
			json_skip(&d->r);
			continue;
		}
		if (json_null(&d->r))
			continue;
		json_array(&d->r);
		while (json_next_item(&d->r)) {
			json_skip(&d->r);
			decode_reject(d->tally, "metrics are not stored");
		}
	}
}

static void count_metric(struct otlp_json *d, uint32_t resource, uint32_t scope)
{
	static const struct json_name kinds[] = {
		JSON_NAME("gauge", 0),
		JSON_NAME("sum", 0),
		JSON_NAME("histogram", 0),
		JSON_NAME("summary", 0),
		JSON_NAME("exponentialHistogram", 0),
		JSON_NAME("exponential_histogram", 0),
	};
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (json_null(&d->r))
			continue;
		if (json_name_find(kinds, ARRAY_SIZE(kinds), &hint, name) == 0)
			count_points(d);
		else
			json_skip(&d->r);
	}
}

int otlp_json_refuse_metrics(struct slice body, struct decode_tally *tally, struct error *error)
{
	static const struct otlp_json_shape shape = {
		.groups = {{"resourceMetrics", 15}, {"resource_metrics", 16}},
		.scopes = {{"scopeMetrics", 12}, {"scope_metrics", 13}},
		.members = {{"metrics", 7}, {"metrics", 7}},
		.member = count_metric,
	};
	_cleanup_(batch_unrefp)
	struct batch *scratch = batch_new(0);

	const struct otlp_json_shape *only = &shape;

	if (!scratch)
		return error_set(error, -ENOMEM, "out of memory");
	return otlp_json_groups(body, scratch, tally, error, &only, 1);
}
