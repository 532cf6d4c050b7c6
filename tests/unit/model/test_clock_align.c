/* Clocks are moved by what causality demands, and by nothing else. */
#include "t.h"

#include "model/clock_align.h"
#include "model/rows.h"

#define NO_LOW  INT64_MIN
#define NO_HIGH INT64_MAX

static void two_clocks_by_hand(void **state)
{
	static const struct {
		int64_t low, high, expected;
	} rows[] = {
		{-5, 20, 0},       /* nothing violated */
		{0, 0, 0},         /* exactly right */
		{10, NO_HIGH, 10}, /* one bound: as little as possible */
		{NO_LOW, -10, -10}, {NO_LOW, NO_HIGH, 0},
		{10, 30, 20},                   /* both: the middle, as NTP does */
		{-30, -10, -20},    {10, 3, 3}, /* contradictory: better, nowhere worse */
		{10, -5, 0},                    /* contradictory: any move makes one worse */
		{-3, -10, -3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct clock_bound bound = {0, 1, 1, 1, rows[i].low, rows[i].high};
		int64_t offsets[2] = {99, 99};

		assert_int_equal(clock_align(&bound, 1, 2, 0, offsets), 0);
		assert_int_equal(offsets[0], 0);
		assert_int_equal(offsets[1], rows[i].expected);
		/* seen from the other side */
		assert_int_equal(clock_align(&bound, 1, 2, 1, offsets), 0);
		assert_int_equal(offsets[1], 0);
		assert_int_equal(offsets[0], -rows[i].expected);
	}
}

static void offsets_add_up_along_the_way(void **state)
{
	const struct clock_bound bounds[] = {
		{0, 1, 1, 1, 90, 110}, {1, 2, 1, 1, 40, 60}, {3, 4, 1, 0, 7, NO_HIGH}};
	int64_t offsets[6];

	assert_int_equal(clock_align(bounds, ARRAY_SIZE(bounds), 6, 0, offsets), 0);
	assert_int_equal(offsets[1], 100);
	assert_int_equal(offsets[2], 150);
	assert_int_equal(offsets[3], 0); /* no way to the anchor: a group of its own */
	assert_int_equal(offsets[4], 7);
	assert_int_equal(offsets[5], 0);
}

/* A neighbour that fits the true clock is not dragged along. */
static void who_may_stay_stays(void **state)
{
	const struct clock_bound bounds[] = {{0, 1, 1, 1, 90, 110}, {1, 2, 1, 1, -120, -80}};
	int64_t offsets[3];

	assert_int_equal(clock_align(bounds, 2, 3, 0, offsets), 0);
	assert_int_equal(offsets[1], 100);
	assert_int_equal(offsets[2], 0);
}

enum { CLOCKS = 12, PAIRS = CLOCKS * CLOCKS };

/* Messages between clocks of known skew: what the clocks would have recorded. */
static size_t simulate(struct rng *rng, uint32_t n, const int64_t *skew,
		       struct clock_bound bounds[PAIRS])
{
	size_t bound_n = 0, messages = rng_below(rng, 40);
	uint32_t at[CLOCKS][CLOCKS];

	memset(at, 0xff, sizeof(at));
	for (size_t i = 0; i < messages; i++) {
		uint32_t a = (uint32_t)rng_below(rng, n), b = (uint32_t)rng_below(rng, n);
		int64_t sent = (int64_t)rng_below(rng, 1000);
		int64_t received = sent + (int64_t)rng_below(rng, 50);
		uint32_t low = MIN(a, b), high = MAX(a, b);
		struct clock_bound *bound;

		if (a == b)
			continue;
		if (at[low][high] == UINT32_MAX) {
			at[low][high] = (uint32_t)bound_n;
			bounds[bound_n++] = (struct clock_bound){low, high, 0, 0, NO_LOW, NO_HIGH};
		}
		bound = &bounds[at[low][high]];
		sent += skew[a];
		received += skew[b];
		if (a < b)
			bound->low_ns = MAX(bound->low_ns, sent - received);
		else
			bound->high_ns = MIN(bound->high_ns, received - sent);
	}
	return bound_n;
}

static void consistent_bounds_are_all_kept(void **state)
{
	struct rng rng = {31};
	size_t moved = 0;

	for (int round = 0; round < 20000; round++) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, CLOCKS - 1);
		int64_t skew[CLOCKS], offsets[CLOCKS];
		struct clock_bound bounds[PAIRS];
		size_t bound_n;

		for (uint32_t i = 0; i < n; i++)
			skew[i] = rng_below(&rng, 3) ? (int64_t)rng_below(&rng, 2000) - 1000 : 0;
		bound_n = simulate(&rng, n, skew, bounds);
		assert_int_equal(clock_align(bounds, bound_n, n, 0, offsets), 0);
		assert_int_equal(offsets[0], 0);
		for (size_t i = 0; i < bound_n; i++) {
			assert_int_equal(clock_violation(&bounds[i], offsets[bounds[i].from],
							 offsets[bounds[i].to]),
					 0);
			moved += offsets[bounds[i].to] != 0;
		}
	}
	assert_true(moved > 10000);
}

static void without_skew_nothing_moves(void **state)
{
	struct rng rng = {32};

	for (int round = 0; round < 5000; round++) {
		int64_t skew[CLOCKS] = {0}, offsets[CLOCKS];
		struct clock_bound bounds[PAIRS];
		size_t bound_n = simulate(&rng, CLOCKS, skew, bounds);

		assert_int_equal(clock_align(bounds, bound_n, CLOCKS, 3, offsets), 0);
		for (int i = 0; i < CLOCKS; i++)
			assert_int_equal(offsets[i], 0);
	}
}

static void contradictions_are_never_made_worse(void **state)
{
	struct rng rng = {33};
	size_t moved = 0;

	for (int round = 0; round < 20000; round++) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 5);
		struct clock_bound bounds[PAIRS];
		int64_t offsets[CLOCKS];
		size_t bound_n = 0;

		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = a + 1; b < n; b++)
				if (rng_below(&rng, 2))
					bounds[bound_n++] = (struct clock_bound){
						a,
						b,
						1,
						1,
						rng_below(&rng, 4)
							? (int64_t)rng_below(&rng, 100) - 50
							: NO_LOW,
						rng_below(&rng, 4)
							? (int64_t)rng_below(&rng, 100) - 50
							: NO_HIGH};
		assert_int_equal(clock_align(bounds, bound_n, n, 0, offsets), 0);
		for (size_t i = 0; i < bound_n; i++) {
			const struct clock_bound *b = &bounds[i];
			int64_t difference = offsets[b->to] - offsets[b->from];

			moved += difference != 0;
			if (b->low_ns != NO_LOW && difference < b->low_ns)
				assert_true(difference >= MIN(b->low_ns, (int64_t)0));
			if (b->high_ns != NO_HIGH && difference > b->high_ns)
				assert_true(difference <= MAX(b->high_ns, (int64_t)0));
		}
	}
	assert_true(moved > 10000);
}

static void the_extremes_of_time_do_not_overflow(void **state)
{
	const struct clock_bound bounds[] = {{0, 1, 1, 1, INT64_MAX, NO_HIGH},
					     {1, 2, 1, 1, NO_LOW, -INT64_MAX},
					     {0, 2, 1, 1, INT64_MAX, -INT64_MAX},
					     {2, 3, 1, 1, INT64_MAX - 1, INT64_MAX - 1}};
	int64_t offsets[4];

	assert_int_equal(clock_align(bounds, ARRAY_SIZE(bounds), 4, 0, offsets), 0);
}

static void a_trace_keeps_raw_times_and_says_what_it_moved(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "front", NULL), q = rows_process(b, "back", NULL), server;
	struct trace *t;

	/* back's clock is 1000 behind: seen there, the call begins before it was made */
	rows_span(b, 1, 0, 2000, 2100, p, KIND_CLIENT);
	rows_span(b, 2, 1, 1010, 1090, q, KIND_SERVER);
	rows_span(b, 3, 2, 1020, 1030, q, KIND_INTERNAL);
	rows_add(b, EVENT_POINT, 2, 0, 1050, q);
	t = rows_trace(b);
	server = trace_find(t, 2);
	assert_int_equal(rows_begin(t, server), 2010); /* 10 of 20 spare on either side */
	assert_int_equal(rows_end(t, server), 2090);
	assert_int_equal(rows_begin(t, trace_find(t, 3)), 2020);
	assert_int_equal(t->points[0].time_ns, ROWS_T0 + 2050);
	assert_int_equal(t->blocks[server].repairs, REPAIR_CLOCK);
	assert_int_equal(t->points[0].repairs, REPAIR_CLOCK);
	assert_int_equal(trace_row(t, t->blocks[server].row)->time_ns, ROWS_T0 + 1010);
	assert_int_equal(t->blocks[0].repairs, 0);
	assert_int_equal(t->processes[t->blocks[server].process].offset_ns, 1000);
	assert_int_equal(t->skew_n, 1);
	assert_int_equal(t->skews[0].requests + t->skews[0].responses, 2);
	assert_int_equal(llabs(t->skews[0].applied_ns), 1000);
	assert_int_equal(t->skews[0].high_ns - t->skews[0].low_ns, 20);
	trace_free(t);

	t = rows_build(&b, 1, TRACE_RAW_CLOCKS, 0);
	assert_int_equal(rows_begin(t, trace_find(t, 2)), 1010);
	assert_int_equal(t->repairs, 0);
	assert_int_equal(t->skew_n, 1); /* still told */
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_clocks_by_hand),
		cmocka_unit_test(offsets_add_up_along_the_way),
		cmocka_unit_test(who_may_stay_stays),
		cmocka_unit_test(consistent_bounds_are_all_kept),
		cmocka_unit_test(without_skew_nothing_moves),
		cmocka_unit_test(contradictions_are_never_made_worse),
		cmocka_unit_test(the_extremes_of_time_do_not_overflow),
		cmocka_unit_test(a_trace_keeps_raw_times_and_says_what_it_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
