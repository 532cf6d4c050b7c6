/* Jaeger's JSON: whatever decodes is the same after encoding and decoding. */
#include "fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_codec("jaeger-json", data, size);
}
