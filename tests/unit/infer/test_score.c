#include "t.h"

#include <stdlib.h>

#include "infer/score.h"
#include "simulate.h"

static const struct sim_node nodes[] = {
	[1] = {300, 0.3, {{2, 1, 0, false}, {3, 0.5, 0, false}}},
	[2] = {400, 0.4, {{4, 1, 0, false}}},
	[3] = {800, 0.5, {{4, 1, 0, false}}},
	[4] = {200, 0.5, {{5, 1, 0, false}}},
	[5] = {100, 0.2, {{0}}},
};

struct world {
	struct sim sim;
	struct names names;
	struct truth_of_calls truth;
	struct call_link *links;
};

static uint32_t root_of(const struct call_link *links, uint32_t i)
{
	while (links[i].parent != LINK_NONE)
		i = links[i].parent;
	return i;
}

static void world_make(struct world *w)
{
	char name[] = "n0";
	uint32_t number;

	w->sim = sim_run(nodes, 100, 100000, 5);
	names_init(&w->names);
	for (int i = 0; i < 6; i++, name[1]++)
		assert_int_equal(names_intern(&w->names, slice_cstr(name), &number), 0);
	w->truth.links = w->sim.truth;
	w->truth.trace = calloc(w->sim.calls.n, sizeof(uint32_t));
	w->truth.trace_n = w->sim.calls.n;
	w->links = calloc(w->sim.calls.n, sizeof(*w->links));
	for (uint32_t i = 0; i < w->sim.calls.n; i++) {
		w->truth.trace[i] = root_of(w->sim.truth, i);
		w->links[i] = w->sim.truth[i];
		w->links[i].confidence = 0.9F;
	}
}

static void world_done(struct world *w)
{
	free(w->truth.trace);
	free(w->links);
	names_done(&w->names);
	sim_done(&w->sim);
}

/* A call made by `node`, from the k-th on. */
static uint32_t call_by(const struct world *w, uint32_t node, uint32_t from)
{
	for (uint32_t i = from; i < w->sim.calls.n; i++)
		if (w->sim.calls.at[i].caller == node)
			return i;
	fail();
	return 0;
}

static void the_truth_is_entirely_right(void **state)
{
	struct world w;
	struct score s;

	world_make(&w);
	assert_int_equal(score_links(&w.sim.calls, w.links, &w.truth, &w.names, &s), 0);
	assert_int_equal(s.traces, 100);
	assert_int_equal(s.traces_right, 100);
	assert_int_equal(s.traces_right_with_shared, 100);
	assert_int_equal(s.links, w.sim.calls.n - 100);
	assert_int_equal(s.links_right, s.links);
	assert_int_equal(s.shared_nodes, 1);
	assert_int_equal(s.pattern.n, 2);
	assert_int_equal(s.instance.n, 100);
	assert_int_equal(s.message.n, w.sim.calls.n);
	assert_int_equal(s.instance.false_positives + s.instance.false_negatives, 0);
	assert_int_equal(s.message.false_positives + s.pattern.false_negatives, 0);
	assert_true(s.delay_error == 0);
	assert_int_equal(s.calibration[9].n, s.links);
	assert_int_equal(s.calibration[9].right, s.links);
	assert_int_equal(s.top_n, 2);
	assert_int_equal(s.top[1].omitted, 0);
	world_done(&w);
}

static void an_exchange_spoils_both_traces(void **state)
{
	struct world w;
	struct score s;
	uint32_t a, b, parent;

	world_make(&w);
	a = call_by(&w, 2, 0);
	b = call_by(&w, 2, a + 1);
	parent = w.links[a].parent;
	w.links[a].parent = w.links[b].parent;
	w.links[b].parent = parent;
	assert_int_equal(score_links(&w.sim.calls, w.links, &w.truth, &w.names, &s), 0);
	assert_int_equal(s.links_right, s.links - 2);
	assert_int_equal(s.traces_right, 98);
	assert_int_equal(s.link.false_positives, 2);
	assert_int_equal(s.link.false_negatives, 2);
	assert_int_equal(s.instance.false_positives, 0); /* the shapes are the same */
	world_done(&w);
}

static void what_a_node_with_several_callers_gets_wrong_is_counted_apart(void **state)
{
	struct world w;
	struct score s;
	uint32_t a;

	world_make(&w);
	a = call_by(&w, 4, 0); /* called by 2 and by 3 */
	w.links[a].parent = LINK_NONE;
	assert_int_equal(score_links(&w.sim.calls, w.links, &w.truth, &w.names, &s), 0);
	assert_int_equal(s.links_right, s.links - 1);
	assert_int_equal(s.traces_right, 100);
	assert_int_equal(s.traces_right_with_shared, 99);
	assert_int_equal(s.link.false_positives, 0);
	assert_int_equal(s.link.false_negatives, 1);
	/* A path lost its end, which became a path of its own. */
	assert_int_equal(s.pattern.false_positives, 2);
	assert_int_equal(s.instance.false_positives, 2);
	assert_int_equal(s.instance.false_negatives, 1);
	world_done(&w);
}

static void calls_the_truth_does_not_mention_do_not_count(void **state)
{
	struct world w;
	struct score s;
	uint32_t a;

	world_make(&w);
	a = call_by(&w, 4, 0);
	w.truth.links[a].decided = false;
	w.truth.trace[a] = TRUTH_UNKNOWN;
	w.links[a].parent = LINK_NONE;
	assert_int_equal(score_links(&w.sim.calls, w.links, &w.truth, &w.names, &s), 0);
	assert_int_equal(s.unknown, 1);
	assert_int_equal(s.links, w.sim.calls.n - 101);
	assert_int_equal(s.links_right, s.links);
	world_done(&w);
}

static void nothing_scores_as_nothing(void **state)
{
	struct calls none = {0};
	struct truth_of_calls truth = {0};
	struct names names;
	struct score s;

	names_init(&names);
	assert_int_equal(score_links(&none, NULL, &truth, &names, &s), 0);
	assert_int_equal(s.links, 0);
	assert_int_equal(s.traces, 0);
	names_done(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_truth_is_entirely_right),
		cmocka_unit_test(an_exchange_spoils_both_traces),
		cmocka_unit_test(what_a_node_with_several_callers_gets_wrong_is_counted_apart),
		cmocka_unit_test(calls_the_truth_does_not_mention_do_not_count),
		cmocka_unit_test(nothing_scores_as_nothing),
	};

	/* Shared with others: */
	(void)sim_right;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
