/* ingest/forms.c - the forms each kind of request may come in, in one table. */
#include "ingest/forms.h"

#include "base/cleanup.h"
#include "wire/events_json.h"
#include "wire/events_proto.h"
#include "wire/otlp_json.h"
#include "wire/otlp_proto.h"
#include "wire/zipkin_json.h"
#include "wire/zipkin_proto.h"

#define PROTOBUF "application/x-protobuf"
#define JSON     "application/json"

/* Metrics are counted and refused: there is nothing to put into the batch. */
static int metrics_proto(struct slice bytes, struct batch *batch, struct decode_tally *tally,
			 struct error *error)
{
	return otlp_proto_refuse_metrics(bytes, tally, error);
}

static int metrics_json(struct slice bytes, struct batch *batch, struct decode_tally *tally,
			struct error *error)
{
	return otlp_json_refuse_metrics(bytes, tally, error);
}

static const struct ingest_form forms[] = {
	{INGEST_TRACES, PROTOBUF, true, 1, otlp_proto_decode_traces},
	{INGEST_LOGS, PROTOBUF, true, 1, otlp_proto_decode_logs},
	{INGEST_METRICS, PROTOBUF, true, 1, metrics_proto},
	{INGEST_TRACES, JSON, false, 3, otlp_json_decode_traces},
	{INGEST_LOGS, JSON, false, 3, otlp_json_decode_logs},
	{INGEST_METRICS, JSON, false, 3, metrics_json},
	{INGEST_EVENTS, PROTOBUF, true, 1, events_proto_decode},
	{INGEST_EVENTS, JSON, false, 3, events_json_decode},
	{INGEST_ZIPKIN, JSON, false, 3, zipkin_json_decode},
	{INGEST_ZIPKIN, PROTOBUF, true, 1, zipkin_proto_decode},
};

static bool is_type(struct slice type, const struct ingest_form *form)
{
	if (form->protobuf)
		return slice_eq_nocase(type, SLICE(PROTOBUF)) ||
		       slice_eq_nocase(type, SLICE("application/protobuf")) ||
		       slice_eq_nocase(type, SLICE("application/vnd.google.protobuf"));
	return slice_eq_nocase(type, SLICE(JSON));
}

const struct ingest_form *ingest_form_find(enum ingest_kind kind, const struct http_request *req)
{
	struct slice header = http_header_get(req, "content-type");
	struct slice type = slice_trim(slice_cut(&header, ';'));

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const struct ingest_form *form = &forms[i];

		if (form->kind == kind && (req->is_grpc ? form->protobuf : is_type(type, form)))
			return form;
	}
	return NULL;
}

const char *ingest_form_types(enum ingest_kind kind)
{
	return PROTOBUF " or " JSON;
}
