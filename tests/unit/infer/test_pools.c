#include "trace_text.h"

#include "base/rng.h"
#include "infer/pools.h"

/* B serves A and X and calls C, at most `pool` times at the same moment; A's calls take ten times
 * as long as X's. */
static void make_pool(struct trace_text *t, uint32_t pool, double rate)
{
	struct buffer text = {0};
	struct rng rng = {pool + 5};
	double free_at[8] = {0}, now = 1;

	for (int i = 0; i < 3000; i++) {
		bool slow = rng_below(&rng, 4) == 0;
		double own = 0.002 + 0.001 * rng_unit(&rng), length, start;
		uint32_t slot = 0;

		now += rng_unit(&rng) * 2 / rate;
		length = (slow ? 0.050 : 0.005) * (0.8 + 0.4 * rng_unit(&rng));
		for (uint32_t k = 1; k < pool; k++)
			if (free_at[k] < free_at[slot])
				slot = k;
		start = now + own;
		if (start < free_at[slot])
			start = free_at[slot] + 0.000020;
		free_at[slot] = start + length;
		buffer_printf(&text,
			      "%.6f CALL %s B p%d\n%.6f CALL B C c%d\n%.6f RET C B c%d\n"
			      "%.6f RET B %s p%d\n",
			      now, slow ? "A" : "X", i, start, i, start + length, i,
			      start + length + 0.001, slow ? "A" : "X", i);
	}
	trace_read(t, buffer_cstr(&text));
	buffer_done(&text);
}

static void a_pool_is_found_with_its_size_and_who_holds_it(void **state)
{
	static const uint32_t sizes[] = {1, 3};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct infer_options options = INFER_OPTIONS_DEFAULT;
		struct pool_found found[POOLS_MAX];
		struct trace_text t;

		make_pool(&t, sizes[i], 60.0 * sizes[i]);
		trace_link(&t, &nesting_mode, &options);
		assert_int_equal(pools_find(&t.calls, t.links, found), 1);
		assert_text(names_get(&t.nodes, found[0].caller), "B");
		assert_text(names_get(&t.nodes, found[0].callee), "C");
		assert_int_equal(found[0].size, sizes[i]);
		assert_true(found[0].handed > 300);
		assert_true(found[0].waited_ns > 1e9);
		assert_int_not_equal(found[0].holder, NAMES_NONE);
		trace_done(&t);
	}
}

static void where_nobody_waits_there_is_no_pool(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct pool_found found[POOLS_MAX];
	struct trace_text t;

	trace_make(&t,
		   "duration 200s\ninstances 8\nthink uniform 0ms 300ms\n"
		   "tracelet a: A -> B { C; D }\ntracelet b: X -> B { C }\n",
		   NULL);
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(pools_find(&t.calls, t.links, found), 0);
	trace_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_is_found_with_its_size_and_who_holds_it),
		cmocka_unit_test(where_nobody_waits_there_is_no_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
