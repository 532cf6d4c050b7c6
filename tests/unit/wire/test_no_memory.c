/* Every allocation on the way in fails once: the answer is -ENOMEM, and nothing leaks (asan looks).
 */
#include "t.h"

#include <errno.h>
#include <stdlib.h>

#include "batch_random.h"
#include "wire/codecs.h"

static size_t countdown; /* 0: do not fail */

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *p, size_t n);

static bool fails(void)
{
	return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
	return fails() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

/* Decodes with the n-th allocation failing; true when all went well. */
static bool decode_failing(const struct codec *codec, struct slice bytes, size_t n)
{
	_cleanup_(batch_unrefp)
	struct batch *b = NULL;
	struct decode_tally tally = {0};
	struct error error = {0};
	int r;

	countdown = n;
	b = batch_new(0); /* no hint: everything grows */
	r = b ? codec->decode(bytes, b, &tally, &error) : -ENOMEM;
	if (r == 0)
		r = batch_seal(b);
	if (countdown > 0) { /* no allocation failed */
		countdown = 0;
		assert_int_equal(r, 0);
		assert_true(batch_check(b));
		return true;
	}
	countdown = 0;
	/* Giving memory back may fail without harm; everything else must say so. */
	if (r == 0)
		assert_true(batch_check(b));
	else
		assert_int_equal(r, -ENOMEM);
	return false;
}

/* Some rows every format can hold something of, encoded. */
static void encode_some(const struct codec *codec, struct buffer *out)
{
	const struct batch_random what = {.shape = RANDOM_TRACES, .rows = 12, .json = true};
	const struct batch_random logs = {.shape = RANDOM_LOGS, .rows = 12, .json = true};
	struct rng rng = {3};

	for (int i = 0; i < 20 && out->n < 4000; i++) {
		bool want_logs = strstr(codec->name, "logs") != NULL;
		_cleanup_(batch_unrefp)
		struct batch *b = batch_random(&rng, want_logs ? &logs : &what);
		struct event_ref refs[256];
		size_t n = MIN(b->event_n, ARRAY_SIZE(refs));

		for (size_t k = 0; k < n; k++)
			refs[k] = (struct event_ref){b, (uint32_t)k};
		buffer_clear(out);
		codec->encode(refs, n, out);
		assert_false(out->failed);
	}
	assert_true(out->n > 200);
}

static void every_failed_allocation_is_survived(void **state)
{
	size_t codec_n;
	const struct codec *codecs = codec_list(&codec_n);

	for (size_t c = 0; c < codec_n; c++) {
		struct buffer bytes = {0};
		size_t n = 1;

		encode_some(&codecs[c], &bytes);
		while (!decode_failing(&codecs[c], buffer_get(&bytes), n))
			n++;
		assert_true(n > 8); /* or nothing was tried */
		buffer_done(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
