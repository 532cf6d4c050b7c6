/* OTLP JSON: whatever decodes is the same after encoding and decoding, as JSON and as protobuf. */
#include "round_trip.h"

#include "wire/otlp_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice body = slice_of(data, size);
	struct decode_tally tally = {0};
	struct error error;

	fuzz_round_trip(body, otlp_json_decode_traces, otlp_json_encode_traces);
	fuzz_round_trip(body, otlp_json_decode_logs, otlp_json_encode_logs);
	otlp_json_refuse_metrics(body, &tally, &error);
	return 0;
}
