/* The parts of a segment that a layout tells are the whole of it. */
#include "t.h"

#include "batch_random.h"
#include "segment/group.h"
#include "segment/segment_layout.h"
#include "segment_fixture.h"

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

static void add_times(void *context, const char *what, struct slice key, uint64_t values,
		      uint64_t bytes)
{
	if (strcmp(what, "start") == 0)
		*(uint64_t *)context += values;
}

/* A call and what it leaves behind: the second goes on after the first has ended. */
static void first_and_last_of_a_trace_keep_no_time(void **state)
{
	struct batch *b = batch_new(0);
	struct pile p = {0};
	struct event_set set = {0};
	uint64_t times = 0;
	struct segment *s;
	struct segment_group *g;

	batch_resource(b);
	batch_scope(b);
	for (uint64_t i = 0; i < 200; i++) {
		struct event *e = batch_event(b);

		*e = (struct event){.id1 = i + 1,
				    .id2 = i % 2 ? i : 0,
				    .time_ns = 1700000000000000000 + i * 1000 + i % 2 * i};
		e->end_ns = e->time_ns + 5000 + i;
		store_be64(e->trace_id.b + 8, 1 + i / 2);
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(&p, b);
	pile_write(&p, *state, 2, 64);
	s = pile_open(*state, 2);
	assert_int_equal(segment_layout(s, add_times, &times), 0);
	assert_int_equal(times, 0);
	for (uint32_t i = 0; i < segment_info(s)->groups; i++) {
		assert_int_equal(group_open(s, i, &g), 0);
		assert_int_equal(group_rows(g, 0, group_zone(g)->rows, &set), 0);
		group_close(g);
	}
	assert_rows_equal(p.in_order, p.row_n, set.refs, set.n);
	event_set_done(&set);
	segment_unref(s);
	pile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_parts_are_the_whole_file),
		cmocka_unit_test(first_and_last_of_a_trace_keep_no_time),
	};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
