/* tests/fuzz/round_trip.h - the property every codec has: what decodes passes batch_check(), can be
 * encoded, and decodes again to the same rows. */
#ifndef CAUSET_TESTS_FUZZ_ROUND_TRIP_H
#define CAUSET_TESTS_FUZZ_ROUND_TRIP_H

#include <stdio.h>

#include "fuzz.h"

#include "base/buffer.h"
#include "batch_equal.h"
#include "wire/decode.h"

typedef int fuzz_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
			struct error *error);
typedef void fuzz_encode(const struct event_ref *refs, size_t n, struct buffer *out);

static inline void fuzz_round_trip(struct slice body, fuzz_decode *decode, fuzz_encode *encode)
{
	struct batch *once = batch_new(body.n), *twice = NULL;
	struct batch_difference why;
	struct decode_tally tally = {0};
	struct error error = {.offset = 0};
	struct event_ref *refs = NULL;
	struct buffer out = {0};
	size_t n;

	FUZZ_CHECK(once);
	if (decode(body, once, &tally, &error) < 0) {
		FUZZ_CHECK(error.offset <= body.n);
	} else {
		FUZZ_CHECK(batch_seal(once) == 0 && batch_check(once));
		n = batch_refs(once, &refs);
		encode(refs, n, &out);
		FUZZ_CHECK(!out.failed);
		twice = batch_new(out.n);
		tally = (struct decode_tally){0};
		FUZZ_CHECK(twice && decode(buffer_get(&out), twice, &tally, &error) == 0);
		FUZZ_CHECK(tally.rejected == 0 && batch_check(twice));
		if (!batch_equal(once, twice, &why)) {
			fprintf(stderr, "%s\n%.*s\n", why.text, SLICE_ARG(buffer_get(&out)));
			abort();
		}
	}
	free(refs);
	buffer_done(&out);
	batch_unref(once);
	batch_unref(twice);
}

#endif
