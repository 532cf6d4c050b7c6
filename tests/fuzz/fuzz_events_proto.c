/* Native events in protobuf: any bytes are refused or come back. */
#include "fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_codec("events", data, size);
	return 0;
}
