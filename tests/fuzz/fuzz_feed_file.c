/* Any bytes are a side file of the feed or a clear error; tried as they are and with the right
 * frame around them. */
#include "fuzz.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/feed_file.h"

static void try(struct slice input)
{
	struct feed_runs f = {0};
	struct buffer bytes = {0};
	struct error error = {0};
	uint64_t rows = 0;

	if (feed_runs_decode(input, &f, &error) < 0) {
		FUZZ_CHECK(error.text[0]);
		return;
	}
	for (size_t i = 0; i < f.n; i++)
		rows += f.rows[i].rows;
	FUZZ_CHECK(rows == f.total);
	feed_runs_encode(&f, &bytes);
	feed_runs_done(&f);
	FUZZ_CHECK(feed_runs_decode(buffer_get(&bytes), &f, &error) == 0);
	buffer_done(&bytes);
	feed_runs_done(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer framed = {0};
	uint64_t hash;

	try(slice_of(data, size));
	buffer_append(&framed, "causetF1", 8);
	buffer_append(&framed, data, size);
	hash = XXH3_64bits(framed.p, framed.n);
	buffer_append(&framed, &hash, sizeof(hash));
	try(buffer_get(&framed));
	buffer_done(&framed);
	return 0;
}
