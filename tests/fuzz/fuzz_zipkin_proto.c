/* Zipkin's spans in protobuf: any bytes are refused or come back. */
#include "fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_codec("zipkin-proto", data, size);
}
