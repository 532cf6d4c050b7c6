/* The parts of a segment that a layout tells are the whole of it. */
#include "t.h"

#include "batch_random.h"
#include "segment_fixture.h"
#include "store/segment_layout.h"

struct sums {
	uint64_t bytes, spans, traces;
};

static void add(void *context, const char *what, struct slice key, uint64_t values, uint64_t bytes)
{
	struct sums *sums = context;

	assert_non_null(what);
	sums->bytes += bytes;
	if (strcmp(what, "span id") == 0)
		sums->spans += values;
	if (strcmp(what, "trace id") == 0)
		sums->traces += values;
}

static void all_parts_are_the_whole_file(void **state)
{
	struct batch_random what = {.shape = RANDOM_TRACES, .rows = 500};
	struct rng rng = {3};
	struct pile p = {0};
	struct sums sums = {0};
	struct segment *s;

	for (int i = 0; i < 4; i++) {
		struct batch *b = batch_random(&rng, &what);

		pile_share_traces(b, &rng, 90);
		pile_add(&p, b);
	}
	pile_write(&p, *state, 1, 128);
	s = pile_open(*state, 1);
	assert_int_equal(segment_layout(s, add, &sums), 0);
	assert_int_equal(sums.bytes, segment_info(s)->bytes);
	assert_true(sums.traces >= segment_info(s)->pieces); /* cut pieces count in each group */
	assert_true(sums.spans > 0);
	segment_unref(s);
	pile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_parts_are_the_whole_file)};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
