#include "t.h"

#include <math.h>

#include "base/rng.h"
#include "infer/best_density.h"

static void bins_grow_with_the_delay_and_hold_it(void **state)
{
	unsigned before = 0;
	double edge = 1;

	for (int64_t gap = 0; gap < (int64_t)1 << 39; gap += 1 + gap / 7) {
		unsigned bin = density_bin(gap);

		assert_true(bin >= before);
		before = bin;
	}
	/* The widths add up to the whole range. */
	for (unsigned b = 0; b < DENSITY_BINS; b++)
		edge += density_width(b, false);
	assert_true(fabs(edge / pow(2, 40) - 1) < 1e-9);
	assert_int_equal(density_bin(INT64_MAX), DENSITY_BINS - 1);
	assert_int_equal(density_signed_bin(INT64_MAX), DENSITY_BINS - 1);
	assert_int_equal(density_signed_bin(-INT64_MAX), 0);
	assert_int_equal(density_signed_bin(0), DENSITY_BINS / 2);
	assert_int_equal(density_signed_bin(-1000) + density_signed_bin(1000), DENSITY_BINS - 1);
}

/* An exponential of mean 10,000 ticks. */
static void a_fit_comes_near_the_density_it_was_drawn_from(void **state)
{
	static struct density d;
	struct rng rng = {3};
	double worst = 0, mass = 0;

	density_clear(&d);
	for (int i = 0; i < 50000; i++)
		density_add(&d, (int64_t)(-log(1 - rng_unit(&rng)) * 10000), 1);
	assert_true(fabs(density_mass(&d) - 50000) < 1);
	density_fit(&d, false);
	for (int64_t gap = 1000; gap < 30000; gap += 500)
		worst = fmax(worst, fabs((double)density_log(&d, gap) -
					 (-(double)gap / 10000 - log(10000))));
	assert_true(worst < 0.15);
	for (unsigned b = 0; b < DENSITY_BINS; b++)
		mass += exp((double)d.log[b]) * density_width(b, false);
	assert_true(fabs(mass - 1) < 0.01);
}

static void what_was_never_seen_is_unlikely_but_possible(void **state)
{
	static struct density d;

	density_clear(&d);
	for (int i = 0; i < 100; i++)
		density_add(&d, 1000 + i, 1);
	density_fit(&d, false);
	assert_true(density_log(&d, 1050) > density_log(&d, 10000) + 5);
	assert_true(density_log(&d, 1000000000) > DENSITY_NEVER);
	assert_true(density_log(&d, -1) == DENSITY_NEVER);
}

static void between_bins_the_density_has_no_steps(void **state)
{
	static struct density d;

	density_clear(&d);
	for (int i = 0; i < 1000; i++)
		density_add(&d, 50000 + 10 * i, 1);
	density_fit(&d, false);
	for (int64_t gap = 20000; gap < 200000; gap++)
		assert_true(fabsf(density_log(&d, gap) - density_log(&d, gap + 1)) < 0.02F);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_grow_with_the_delay_and_hold_it),
		cmocka_unit_test(a_fit_comes_near_the_density_it_was_drawn_from),
		cmocka_unit_test(what_was_never_seen_is_unlikely_but_possible),
		cmocka_unit_test(between_bins_the_density_has_no_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
