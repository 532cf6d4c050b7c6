/* Every allocation of every codec fails once: the error is -ENOMEM, nothing leaks, nothing is half
 * done. Linked with --wrap for malloc, calloc and realloc. */
#include "t.h"

#include <errno.h>

#include "batch_equal.h"
#include "batch_random.h"
#include "no_memory.h"
#include "wire/codecs.h"

static struct batch *random_for(const struct codec *c)
{
	struct slice name = slice_cstr(c->name);
	struct batch_random what = {.rows = 12, .json = c->frame == FRAME_VALUES};
	struct rng rng = {11};

	what.shape = slice_starts(name, SLICE("events")) ? RANDOM_EVENTS
		     : slice_ends(name, SLICE("logs"))   ? RANDOM_LOGS
							 : RANDOM_TRACES;
	return batch_random(&rng, &what);
}

/* 0, or the error; with `allowed` allocations. */
static int decode(const struct codec *c, struct slice bytes, long allowed, struct batch **ret_batch)
{
	struct decode_tally tally = {0};
	struct error error = {0};
	struct batch *b;
	int r = -ENOMEM;

	no_memory_stays = 1;
	no_memory_after = allowed;
	b = batch_new(0);
	if (b)
		r = c->decode(bytes, b, &tally, &error);
	if (r == 0)
		r = batch_seal(b);
	no_memory_after = -1;
	if (b && r < 0 && error.code != 0)
		assert_int_equal(error.code, r);
	*ret_batch = b;
	return r;
}

static void decoding_without_memory(void **state)
{
	size_t count;
	const struct codec *codecs = codec_list(&count);

	for (size_t i = 0; i < count; i++) {
		_cleanup_(batch_unrefp)
		struct batch *rows = random_for(&codecs[i]), *whole = NULL;
		_cleanup_(freep)
		struct event_ref *refs = NULL;
		_cleanup_(buffer_done)
		struct buffer bytes = {0};
		size_t n = batch_refs(rows, &refs);
		int r = -ENOMEM;

		codecs[i].encode(refs, n, &bytes);
		assert_int_equal(decode(&codecs[i], buffer_get(&bytes), -1, &whole), 0);
		for (long allowed = 0; r < 0; allowed++) {
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;

			r = decode(&codecs[i], buffer_get(&bytes), allowed, &b);
			if (r < 0 && r != -ENOMEM)
				fail_msg("%s, allocation %ld: %d", codecs[i].name, allowed, r);
			if (r == 0)
				assert_batch_equal(whole, b);
			assert_true(allowed < 100000);
		}
	}
}

static void encoding_without_memory(void **state)
{
	size_t count;
	const struct codec *codecs = codec_list(&count);

	for (size_t i = 0; i < count; i++) {
		_cleanup_(batch_unrefp)
		struct batch *rows = random_for(&codecs[i]);
		_cleanup_(freep)
		struct event_ref *refs = NULL;
		_cleanup_(buffer_done)
		struct buffer whole = {0};
		size_t n = batch_refs(rows, &refs);
		bool failed = true;

		codecs[i].encode(refs, n, &whole);
		for (long allowed = 0; failed; allowed++) {
			_cleanup_(buffer_done)
			struct buffer bytes = {0};

			no_memory_stays = 1;
			no_memory_after = allowed;
			codecs[i].encode(refs, n, &bytes);
			no_memory_after = -1;
			failed = bytes.failed;
			if (!failed && !slice_eq(buffer_get(&bytes), buffer_get(&whole)))
				fail_msg("%s, allocation %ld: incomplete, and nobody says so",
					 codecs[i].name, allowed);
			assert_true(allowed < 100000);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoding_without_memory),
		cmocka_unit_test(encoding_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
