/* OTLP JSON: whatever decodes is the same after encoding and decoding. */
#include "fuzz_codec.h"

#include "wire/otlp_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Apart: a text with both kinds comes back with the spans first. */
	static const struct codec traces = {.name = "traces",
					    .decode = otlp_json_decode_traces,
					    .encode = otlp_json_encode_traces};
	static const struct codec logs = {
		.name = "logs", .decode = otlp_json_decode_logs, .encode = otlp_json_encode_logs};
	struct decode_tally tally = {0};
	struct error error;

	fuzz_codec_run(&traces, data, size);
	fuzz_codec_run(&logs, data, size);
	otlp_json_refuse_metrics(slice_of(data, size), &tally, &error);
	return 0;
}
