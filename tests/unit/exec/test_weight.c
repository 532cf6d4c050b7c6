/* exec/weight.h through exec/aggregate.h: intervals cover the truth as often as they say.
 *
 * A population of traces of different sizes is sampled a thousand times by thresholds, as samplers
 * do it (whole traces, R >= T); each time totals and averages are estimated from what was kept. */
#include "t.h"

#include <math.h>

#include "base/rng.h"
#include "exec/aggregate.h"
#include "sampling/threshold.h"

#define TRACES 3000
#define SPANS  12 /* at most, of a trace */
#define TRIALS 1000

struct population {
	struct {
		uint32_t n;
		int64_t duration[SPANS];
		uint64_t threshold;
	} traces[TRACES];
	double count, sum;
};

static void populate(struct population *p, struct rng *r, const uint64_t *thresholds, size_t n)
{
	p->count = p->sum = 0;
	for (size_t i = 0; i < TRACES; i++) {
		/* Spans of a slow trace are slow together: treating them as independent would be
		 * seen at once. */
		double slow = 1 + 4 * rng_unit(r);

		p->traces[i].n = 1 + (uint32_t)rng_below(r, SPANS);
		p->traces[i].threshold = thresholds[rng_below(r, n)];
		p->count += p->traces[i].n;
		for (uint32_t k = 0; k < p->traces[i].n; k++) {
			p->traces[i].duration[k] = (int64_t)(slow * (1e6 + 1e6 * rng_unit(r)));
			p->sum += (double)p->traces[i].duration[k];
		}
	}
}

enum { COUNT, SUM, AVG, MEASURES };

static const struct aggregate aggregates[MEASURES] = {
	[COUNT] = {.kind = AGG_COUNT, .of_rows = true},
	[SUM] = {.kind = AGG_SUM},
	[AVG] = {.kind = AGG_AVG},
};

/* Half of the traces go to one state, half to another, which are merged: as threads do. */
static void trial(const struct population *p, struct rng *r, struct value ret[MEASURES],
		  struct estimate ret_estimate[MEASURES])
{
	_Alignas(16) char states[2][MEASURES][256] = {0};
	struct arena arena = {0};

	for (size_t i = 0; i < TRACES; i++) {
		uint64_t t = p->traces[i].threshold;
		struct sample s = {.weight = threshold_weight(t), .trace = i + 1};

		if (!threshold_keeps(t, rng_next(r) >> 8))
			continue;
		for (uint32_t k = 0; k < p->traces[i].n; k++)
			for (size_t m = 0; m < MEASURES; m++)
				assert_int_equal(
					aggregate_add(
						&aggregates[m], states[i % 2][m], &arena,
						value_of(V_DURATION, p->traces[i].duration[k]), &s),
					0);
	}
	for (size_t m = 0; m < MEASURES; m++) {
		assert_int_equal(
			aggregate_merge(&aggregates[m], states[0][m], &arena, states[1][m]), 0);
		assert_int_equal(aggregate_result(&aggregates[m], states[0][m], &arena, &ret[m],
						  &ret_estimate[m]),
				 0);
	}
	arena_done(&arena);
}

static void intervals_cover(const uint64_t *thresholds, size_t n, uint64_t seed)
{
	static struct population p;
	struct rng r = {.state = seed};
	unsigned covered[MEASURES] = {0};
	double mean[MEASURES] = {0};

	populate(&p, &r, thresholds, n);
	const double truth[MEASURES] = {p.count, p.sum, p.sum / p.count};

	for (size_t i = 0; i < TRIALS; i++) {
		struct estimate e[MEASURES];
		struct value v[MEASURES];

		trial(&p, &r, v, e);
		for (size_t m = 0; m < MEASURES; m++) {
			assert_true(e[m].estimated);
			covered[m] += fabs(value_number(v[m]) - truth[m]) <= e[m].plus_minus;
			mean[m] += value_number(v[m]) / TRIALS;
		}
	}
	for (size_t m = 0; m < MEASURES; m++) {
		print_message("%s: %.1f %% of %d intervals cover, mean off by %.3f %%\n",
			      m == COUNT ? "count"
			      : m == SUM ? "sum"
					 : "avg",
			      covered[m] * 100.0 / TRIALS, TRIALS, (mean[m] / truth[m] - 1) * 100);
		assert_in_range(covered[m], TRIALS * 93 / 100, TRIALS * 97 / 100);
		assert_true(fabs(mean[m] / truth[m] - 1) < 0.005);
	}
}

static void intervals_of_95_percent_cover_the_truth_as_often(void **state)
{
	static const uint64_t one_in_eight[] = {THRESHOLD_NEVER / 8 * 7};

	(void)state;
	intervals_cover(one_in_eight, 1, 1);
}

static void traces_may_have_probabilities_of_their_own(void **state)
{
	static const uint64_t mixed[] = {THRESHOLD_NEVER / 2, THRESHOLD_NEVER / 10 * 9,
					 THRESHOLD_NEVER / 5 * 4};

	(void)state;
	intervals_cover(mixed, ARRAY_SIZE(mixed), 2);
}

static void without_sampling_nothing_is_estimated(void **state)
{
	static const uint64_t all[] = {THRESHOLD_ALWAYS};
	static struct population p;
	struct rng r = {.state = 3};
	struct estimate e[MEASURES];
	struct value v[MEASURES];

	(void)state;
	populate(&p, &r, all, 1);
	trial(&p, &r, v, e);
	assert_int_equal(v[COUNT].i, (int64_t)p.count);
	assert_int_equal(v[SUM].i, (int64_t)p.sum);
	assert_int_equal(v[SUM].type, V_DURATION);
	for (size_t m = 0; m < MEASURES; m++)
		assert_false(e[m].estimated);
}

/* Spans of one trace that different samplers kept: the interval is wider, never narrower. */
static void a_certain_row_adds_no_doubt(void **state)
{
	struct cluster mixed = {0}, same = {0};
	const struct sample half = {.weight = 2, .trace = 1}, tenth = {.weight = 10, .trace = 1};

	(void)state;
	cluster_add(&mixed, &half, 1, 5);
	cluster_add(&mixed, &tenth, 1, 5);
	cluster_flush(&mixed);
	/* Exactly: Σ (1 - max(p, p')) z z' = 0.5·2·2 + 2·0.5·2·10 + 0.9·10·10 = 112. */
	assert_true(mixed.xx >= 112);
	assert_true(mixed.total_x == 12);
	cluster_add(&same, &half, 1, 0);
	cluster_add(&same, &half, 1, 0);
	cluster_flush(&same);
	assert_true(same.xx == 8); /* (1 - 1/2) (2·2)² */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_of_95_percent_cover_the_truth_as_often),
		cmocka_unit_test(traces_may_have_probabilities_of_their_own),
		cmocka_unit_test(without_sampling_nothing_is_estimated),
		cmocka_unit_test(a_certain_row_adds_no_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
