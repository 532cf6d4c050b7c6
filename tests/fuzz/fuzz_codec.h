/* tests/fuzz/fuzz_codec.h - the property of every codec: whatever decodes passes batch_check(), and
 * decoding what was encoded from it gives the same again. */
#ifndef CAUSET_TESTS_FUZZ_FUZZ_CODEC_H
#define CAUSET_TESTS_FUZZ_FUZZ_CODEC_H

#include "fuzz.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "batch_equal.h"
#include "wire/codecs.h"

/* NULL when the bytes were refused; then the refusal names a code, a text and a place inside them.
 */
static struct batch *fuzz_decode(const struct codec *c, struct slice bytes)
{
	struct batch *b = batch_new(bytes.n);
	struct decode_tally tally = {0};
	struct error error = {0};

	FUZZ_CHECK(b);
	if (c->decode(bytes, b, &tally, &error) < 0) {
		FUZZ_CHECK(error.code < 0 && error.text[0]);
		FUZZ_CHECK(error.offset == ERROR_NO_OFFSET || error.offset <= bytes.n);
		return batch_unref(b);
	}
	FUZZ_CHECK(batch_seal(b) == 0);
	FUZZ_CHECK(batch_check(b));
	FUZZ_CHECK((tally.rejected > 0) == (tally.reason[0] != 0));
	return b;
}

static int fuzz_codec_run(const struct codec *c, const uint8_t *data, size_t size)
{
	_cleanup_(batch_unrefp)
	struct batch *b = NULL, *again = NULL;
	_cleanup_(freep)
	struct event_ref *refs = NULL;
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct batch_difference why;
	size_t n;

	b = fuzz_decode(c, slice_of(data, size));
	if (!b)
		return 0;
	n = batch_refs(b, &refs);
	c->encode(refs, n, &out);
	FUZZ_CHECK(!out.failed);
	again = fuzz_decode(c, buffer_get(&out));
	FUZZ_CHECK(again);
	if (!batch_equal(b, again, &why)) {
		fprintf(stderr, "%s: %s\n", c->name, why.text);
		abort();
	}
	return 0;
}

static inline int fuzz_codec(const char *name, const uint8_t *data, size_t size)
{
	const struct codec *c = codec_find(slice_cstr(name));

	FUZZ_CHECK(c);
	return fuzz_codec_run(c, data, size);
}

#endif
