#include "t.h"

#include <math.h>

#include "base/rng.h"
#include "infer/best_assign.h"

#define SIDE_MAX 7

struct problem {
	struct assign a;
	uint32_t first[SIDE_MAX + 1], column[SIDE_MAX * SIDE_MAX], taken[SIDE_MAX];
	double gain[SIDE_MAX * SIDE_MAX];
};

static void random_problem(struct problem *p, struct rng *rng)
{
	uint32_t arc = 0;

	p->a = (struct assign){(uint32_t)rng_below(rng, SIDE_MAX + 1),
			       1 + (uint32_t)rng_below(rng, SIDE_MAX),
			       p->first,
			       p->column,
			       p->gain,
			       p->taken};
	for (uint32_t r = 0; r < p->a.row_n; r++) {
		p->first[r] = arc;
		for (uint32_t c = 0; c < p->a.column_n; c++) {
			if (rng_below(rng, 3) == 0)
				continue;
			p->column[arc] = c;
			/* Whole numbers now and then, for ties. */
			p->gain[arc++] = rng_below(rng, 2) ? (double)rng_below(rng, 4)
							   : 10 * rng_unit(rng) - 2;
		}
	}
	p->first[p->a.row_n] = arc;
}

static double best_by_trying(const struct problem *p, uint32_t row, uint32_t used)
{
	double best;

	if (row == p->a.row_n)
		return 0;
	best = best_by_trying(p, row + 1, used);
	for (uint32_t k = p->first[row]; k < p->first[row + 1]; k++)
		if (!(used >> p->column[k] & 1))
			best = fmax(best, p->gain[k] + best_by_trying(p, row + 1,
								      used | 1U << p->column[k]));
	return best;
}

static void total_gain_is_that_of_trying_everything(void **state)
{
	struct assign_scratch scratch = {0};
	struct rng rng = {7};

	for (int i = 0; i < 3000; i++) {
		struct problem p;
		double sum = 0;
		uint32_t used = 0;

		random_problem(&p, &rng);
		assert_int_equal(assign_solve(&p.a, &scratch), 0);
		for (uint32_t r = 0; r < p.a.row_n; r++) {
			bool found = p.taken[r] == ASSIGN_NONE;

			if (found)
				continue;
			assert_false(used >> p.taken[r] & 1);
			used |= 1U << p.taken[r];
			for (uint32_t k = p.first[r]; k < p.first[r + 1]; k++)
				if (p.column[k] == p.taken[r]) {
					sum += p.gain[k];
					found = true;
				}
			assert_true(found);
		}
		assert_true(fabs(sum - best_by_trying(&p, 0, 0)) < 1e-9);
	}
	assign_scratch_done(&scratch);
}

static void a_chain_of_preferences_is_followed_to_its_end(void **state)
{
	/* Row i prefers column 0, likes column i + 1 a little less: all but one give way. */
	enum { N = 500 };
	static uint32_t first[N + 1], column[2 * N], taken[N];
	static double gain[2 * N];
	struct assign a = {N, N + 1, first, column, gain, taken};
	struct assign_scratch scratch = {0};
	uint32_t at_zero = 0;

	for (uint32_t r = 0; r < N; r++) {
		first[r] = 2 * r;
		column[2 * r] = 0;
		gain[2 * r] = 10;
		column[2 * r + 1] = r + 1;
		gain[2 * r + 1] = 9 - (r == 123);
	}
	first[N] = 2 * N;
	assert_int_equal(assign_solve(&a, &scratch), 0);
	for (uint32_t r = 0; r < N; r++)
		at_zero += taken[r] == 0;
	assert_int_equal(at_zero, 1);
	assert_int_equal(taken[123], 0);
	assign_scratch_done(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(total_gain_is_that_of_trying_everything),
		cmocka_unit_test(a_chain_of_preferences_is_followed_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
