/* Every allocation of the third mode, and of scoring, may fail: an error, no leak, no crash. */
#include <errno.h>

#include "infer/best.h"
#include "infer/best_window.h"
#include "infer/score.h"
#include "no_memory.h"
#include "simulate.h"
#include "t.h"

/* A chain, a pair of alternatives, and a loop: both models, slots, windows. */
static const struct sim_node nodes[] = {
	[1] = {200, 0.4, {{2, 1, 0, false}, {4, 1, 0, false}}},
	[2] = {300, 0.4, {{5, 1, 4, false}}},
	[3] = {300, 0.4, {{5, 1, 4, false}}},
	[4] = {400, 0.3, {{0}}},
	[5] = {100, 0.3, {{0}}},
};

static int link_best(void *context, const struct calls *calls, int64_t cut_ns,
		     struct call_link *links)
{
	return best_link(context, calls, cut_ns, links, NULL);
}

static int run(const struct sim *s, const struct call_link *truth, struct call_link *links)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct best *b = NULL;
	int r = best_new(&options, &b);

	memset(links, 0, s->calls.n * sizeof(*links));
	if (r == 0 && truth)
		r = best_link(b, &s->calls, INT64_MAX, links, truth);
	else if (r == 0)
		r = window_run(&s->calls, INT64_MAX, links, link_best, b);
	best_free(b);
	return r;
}

static void linking_fails_cleanly_or_succeeds(void **state)
{
	struct sim s = sim_run(nodes, 60, 1200, 17);
	struct call_link *links = calloc(s.calls.n, sizeof(*links));

	for (size_t i = 0, k = 0; i < s.calls.n; i++)
		if (s.calls.at[i].callee == 2 && k++ % 2)
			s.calls.at[i].callee = 3;
	for (int told = 0; told < 2; told++) {
		long n = 0;

		for (int r = -ENOMEM; r != 0; n++) {
			no_memory_after = n;
			r = run(&s, told ? s.truth : NULL, links);
			no_memory_after = -1;
			assert_true(r == 0 || r == -ENOMEM);
			assert_true(n < 100000);
		}
		assert_true(n > 20);
		for (size_t i = 0; i < s.calls.n; i++)
			assert_true(links[i].decided);
	}
	free(links);
	sim_done(&s);
}

static void scoring_fails_cleanly_or_succeeds(void **state)
{
	struct sim s = sim_run(nodes, 30, 1200, 17);
	struct truth_of_calls truth = {.links = s.truth, .trace_n = 1};
	struct names names;
	uint32_t number;
	long n = 0;

	truth.trace = calloc(s.calls.n, sizeof(uint32_t));
	names_init(&names);
	for (char name[] = "n0"; name[1] < '6'; name[1]++)
		assert_int_equal(names_intern(&names, slice_cstr(name), &number), 0);
	for (int r = -ENOMEM; r != 0; n++) {
		struct score score;

		no_memory_after = n;
		r = score_links(&s.calls, s.truth, &truth, &names, &score);
		no_memory_after = -1;
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(n < 100000);
		if (r == 0)
			assert_true(sim_right(&s, s.truth) == 1 &&
				    score.links_right == score.links);
	}
	names_done(&names);
	free(truth.trace);
	sim_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linking_fails_cleanly_or_succeeds),
		cmocka_unit_test(scoring_fails_cleanly_or_succeeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
