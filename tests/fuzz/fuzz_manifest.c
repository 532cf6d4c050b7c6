/* Any bytes are a manifest or a clear error; what was read is written and read again the same.  The
 * input is tried as it is, and with the right checksum behind it. */
#include "fuzz.h"

#include <inttypes.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/manifest.h"

static void try(struct slice input)
{
	struct manifest m = {0}, back = {0};
	struct buffer text = {0}, again = {0};
	struct error error = {0};

	if (manifest_decode(input, &m, &error) < 0) {
		FUZZ_CHECK(error.text[0]);
		return;
	}
	manifest_encode(&m, &text);
	FUZZ_CHECK(manifest_decode(buffer_get(&text), &back, &error) == 0);
	manifest_encode(&back, &again);
	FUZZ_CHECK(slice_eq(buffer_get(&text), buffer_get(&again)));
	buffer_done(&text);
	buffer_done(&again);
	manifest_done(&m);
	manifest_done(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer ended = {0};

	try(slice_of(data, size));
	buffer_append(&ended, data, size);
	buffer_printf(&ended, "end %016" PRIx64 "\n", (uint64_t)XXH3_64bits(data, size));
	try(buffer_get(&ended));
	buffer_done(&ended);
	return 0;
}
