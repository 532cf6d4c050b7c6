#include "t.h"

#include "batch_equal.h"
#include "batch_random.h"
#include "wire/codecs.h"

/* What a format can hold. */
static struct batch_random shape_of(const struct codec *c)
{
	struct slice name = slice_cstr(c->name);
	struct batch_random what = {.shape = RANDOM_TRACES, .json = c->frame == FRAME_VALUES};

	if (slice_starts(name, SLICE("events")))
		what.shape = RANDOM_EVENTS;
	else if (slice_ends(name, SLICE("logs")))
		what.shape = RANDOM_LOGS;
	return what;
}

/* Formats that hold only part of what a row says: for them it is the second time round that must
 * change nothing. */
static bool is_narrow(const struct codec *c)
{
	return slice_starts(slice_cstr(c->name), SLICE("zipkin")) ||
	       slice_starts(slice_cstr(c->name), SLICE("jaeger"));
}

static struct batch *round_trip(const struct codec *c, const struct batch *b)
{
	_cleanup_(freep)
	struct event_ref *refs = NULL;
	_cleanup_(buffer_done)
	struct buffer bytes = {0};
	struct batch *after = batch_new(0);
	struct decode_tally tally = {0};
	struct error error = {0};
	size_t n = batch_refs(b, &refs);

	assert_non_null(after);
	c->encode(refs, n, &bytes);
	assert_false(bytes.failed);
	if (c->decode(buffer_get(&bytes), after, &tally, &error) < 0)
		fail_msg("%s: %s", c->name, error.text);
	if (tally.rejected)
		fail_msg("%s: %s", c->name, tally.reason);
	assert_int_equal(batch_seal(after), 0);
	assert_true(batch_check(after));
	return after;
}

static void every_format_gives_back_what_it_was_given(void **state)
{
	size_t count;
	const struct codec *codecs = codec_list(&count);

	for (size_t i = 0; i < count; i++)
		for (uint64_t seed = 1; seed <= 200; seed++) {
			struct batch_random what = shape_of(&codecs[i]);
			_cleanup_(batch_unrefp)
			struct batch *a = NULL, *b = NULL, *c = NULL;
			struct batch_difference why;
			struct rng rng = {seed};

			what.rows = seed % 30;
			what.huge = seed % 50 == 0;
			a = batch_random(&rng, &what);
			b = round_trip(&codecs[i], a);
			if (!is_narrow(&codecs[i]) && !batch_equal(a, b, &why))
				fail_msg("%s, seed %d: %s", codecs[i].name, (int)seed, why.text);
			c = round_trip(&codecs[i], b);
			if (!batch_equal(b, c, &why))
				fail_msg("%s, seed %d, again: %s", codecs[i].name, (int)seed,
					 why.text);
		}
}

static void names_and_endings_are_told_apart(void **state)
{
	size_t count;
	const struct codec *codecs = codec_list(&count);

	for (size_t i = 0; i < count; i++) {
		assert_ptr_equal(codec_find(slice_cstr(codecs[i].name)), &codecs[i]);
		assert_non_null(codecs[i].title);
		assert_non_null(codecs[i].content_type);
		assert_non_null(codecs[i].extensions);
	}
	assert_null(codec_find(SLICE("")));
	assert_null(codec_find(SLICE("otlp ")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_gives_back_what_it_was_given),
		cmocka_unit_test(names_and_endings_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
