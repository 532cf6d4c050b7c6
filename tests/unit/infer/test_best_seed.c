#include "t.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "infer/best_seed.h"

#define EVENTS 2000

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Events at random, and for each a later one behind a delay of 5,000 ± 500; five are in between. */
static void make(int64_t *x, int64_t *y, bool caused, struct rng *rng)
{
	for (int i = 0; i < EVENTS; i++) {
		x[i] = (int64_t)rng_below(rng, (uint64_t)EVENTS * 1000);
		y[i] = caused ? x[i] + 4500 + (int64_t)rng_below(rng, 1000)
			      : (int64_t)rng_below(rng, (uint64_t)EVENTS * 1000);
	}
	qsort(x, EVENTS, sizeof(*x), compare);
	qsort(y, EVENTS, sizeof(*y), compare);
}

static void a_delay_stands_out_under_concurrency(void **state)
{
	static int64_t x[EVENTS], y[EVENTS];
	static struct density d;
	struct rng rng = {5};

	make(x, y, true, &rng);
	for (int rule = SEED_SPIKES; rule <= SEED_EXCESS; rule++) {
		double ratio =
			seed_correlate(&d, x, EVENTS, y, EVENTS, 100000, (enum seed_rule)rule);
		double inside = 0;

		for (unsigned b = density_bin(4000); b <= density_bin(6000); b++)
			inside += d.weight[b];
		print_message("rule %d: %.0f nats, %.0f inside\n", rule, ratio, inside);
		assert_true(ratio > 250);
		assert_true(inside > 0.5 * EVENTS);
	}
	seed_correlate(&d, x, EVENTS, y, EVENTS, 100000, SEED_SPIKES);
	assert_true(density_mass(&d) < 1.2 * EVENTS);
}

static void chance_has_no_spikes(void **state)
{
	static int64_t x[EVENTS], y[EVENTS];
	static struct density d;
	struct rng rng = {6};

	make(x, y, false, &rng);
	assert_true(seed_correlate(&d, x, EVENTS, y, EVENTS, 100000, SEED_SPIKES) < 100);
	assert_true(density_mass(&d) < 0.1 * EVENTS);
}

static void too_few_events_say_nothing(void **state)
{
	static struct density d;
	int64_t one = 5;

	assert_true(seed_correlate(&d, &one, 1, &one, 1, 100, SEED_SPIKES) == 0);
	assert_true(density_mass(&d) == 0);
	assert_true(seed_correlate(&d, NULL, 0, NULL, 0, 100, SEED_EXCESS) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delay_stands_out_under_concurrency),
		cmocka_unit_test(chance_has_no_spikes),
		cmocka_unit_test(too_few_events_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
