/* OTLP in protobuf: any bytes are refused or come back. */
#include "fuzz_codec.h"
#include "wire/otlp_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decode_tally tally = {0};

	fuzz_codec("otlp", data, size);
	fuzz_codec("otlp-logs", data, size);
	otlp_proto_refuse_metrics(slice_of(data, size), &tally, NULL);
	return 0;
}
