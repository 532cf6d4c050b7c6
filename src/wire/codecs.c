/* wire/codecs.c - the formats we read and write, in one table. */
#include "wire/codecs.h"

#include "base/cleanup.h"
#include "wire/events_json.h"
#include "wire/events_proto.h"
#include "wire/jaeger_json.h"
#include "wire/otlp_json.h"
#include "wire/otlp_proto.h"
#include "wire/zipkin_json.h"
#include "wire/zipkin_proto.h"

static const struct codec codecs[] = {
	{
		.name = "otlp",
		.title = "OpenTelemetry traces, protobuf",
		.content_type = "application/x-protobuf",
		.extensions = "otlp pb binpb",
		.frame = FRAME_FIELDS,
		.appends = true,
		.decode = otlp_proto_decode_traces,
		.encode = otlp_proto_encode_traces,
	},
	{
		.name = "otlp-logs",
		.title = "OpenTelemetry logs, protobuf",
		.content_type = "application/x-protobuf",
		.extensions = "otlp-logs",
		.frame = FRAME_FIELDS,
		.appends = true,
		.decode = otlp_proto_decode_logs,
		.encode = otlp_proto_encode_logs,
	},
	{
		.name = "otlp-json",
		.title = "OpenTelemetry traces and logs, JSON",
		.content_type = "application/json",
		.extensions = "jsonl json",
		.frame = FRAME_VALUES,
		.appends = true,
		.decode = otlp_json_decode,
		.encode = otlp_json_encode,
	},
	{
		.name = "events",
		.title = "causet's native events, protobuf",
		.content_type = "application/x-protobuf",
		.extensions = "events",
		.frame = FRAME_FIELDS,
		.appends = true,
		.all_rows = true,
		.decode = events_proto_decode,
		.encode = events_proto_encode,
	},
	{
		.name = "events-json",
		.title = "causet's native events, JSON",
		.content_type = "application/json",
		.extensions = "events.json events.jsonl",
		.frame = FRAME_VALUES,
		.appends = true,
		.all_rows = true,
		.decode = events_json_decode,
		.encode = events_json_encode,
	},
	{
		.name = "zipkin-json",
		.title = "Zipkin v2 spans, JSON",
		.content_type = "application/json",
		.extensions = "zipkin.json zipkin",
		.frame = FRAME_VALUES,
		.appends = true,
		.decode = zipkin_json_decode,
		.encode = zipkin_json_encode,
	},
	{
		.name = "zipkin-proto",
		.title = "Zipkin spans, protobuf",
		.content_type = "application/x-protobuf",
		.extensions = "zipkin.pb",
		.frame = FRAME_FIELDS,
		.appends = true,
		.decode = zipkin_proto_decode,
		.encode = zipkin_proto_encode,
	},
	{
		.name = "jaeger-json",
		.title = "Jaeger traces, JSON, as its UI downloads them",
		.content_type = "application/json",
		.extensions = "jaeger.json jaeger",
		.frame = FRAME_VALUES,
		.appends = true,
		.decode = jaeger_json_decode,
		.encode = jaeger_json_encode,
	},
};

const struct codec *codec_list(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(codecs);
	return codecs;
}

/* "zipkin" for "zipkin-json". */
static bool is_short_for(struct slice name, const char *full)
{
	struct slice all = slice_cstr(full);

	return name.n + 5 == all.n && slice_starts(all, name) && slice_ends(all, SLICE("-json"));
}

const struct codec *codec_find(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(codecs); i++)
		if (slice_eq(name, slice_cstr(codecs[i].name)))
			return &codecs[i];
	for (size_t i = 0; i < ARRAY_SIZE(codecs); i++)
		if (is_short_for(name, codecs[i].name))
			return &codecs[i];
	return NULL;
}
