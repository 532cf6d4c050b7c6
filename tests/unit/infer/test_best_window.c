#include "t.h"

#include "infer/best.h"
#include "infer/best_window.h"
#include "simulate.h"

static const struct sim_node nodes[] = {
	[1] = {300, 0.3, {{2, 1, 0, false}, {3, 1, 0, false}}},
	[2] = {400, 0.4, {{3, 1, 0, false}}},
	[3] = {200, 0.5, {{0}}},
};

struct watch {
	size_t windows, largest;
};

/* Decides by the latest call that contains; checks what it is given. */
static int link_latest(void *context, const struct calls *calls, int64_t cut_ns,
		       struct call_link *links)
{
	struct watch *w = context;

	w->windows++;
	w->largest = MAX(w->largest, calls->n);
	for (uint32_t i = 0; i < calls->n; i++) {
		const struct call *c = &calls->at[i];

		assert_true(i == 0 || calls->at[i - 1].start_ns <= c->start_ns);
		if (links[i].decided && links[i].parent != LINK_NONE)
			assert_int_equal(calls->at[links[i].parent].callee, c->caller);
		if (links[i].decided || c->end_ns > cut_ns)
			continue;
		links[i] = (struct call_link){LINK_NONE, true, 1};
		for (uint32_t p = i; p-- > 0 && links[i].parent == LINK_NONE;)
			if (calls->at[p].callee == c->caller &&
			    call_recv_ns(calls, p) <= c->start_ns &&
			    call_reply_ns(calls, p) >= c->end_ns)
				links[i].parent = p;
	}
	return 0;
}

static void every_call_is_decided_with_its_parent_at_hand(void **state)
{
	struct sim s = sim_run(nodes, 20000, 500000, 3);
	struct call_link *links = calloc(s.calls.n, sizeof(*links));
	struct watch w = {0};

	assert_true(s.calls.n > 4 * (size_t)WINDOW_CALLS);
	assert_int_equal(window_run(&s.calls, INT64_MAX, links, link_latest, &w), 0);
	assert_true(w.windows >= 4);
	assert_true(w.largest < 2 * (size_t)WINDOW_CALLS);
	for (size_t i = 0; i < s.calls.n; i++)
		assert_true(links[i].decided);
	assert_true(sim_right(&s, links) > 0.99); /* few overlap at this pace */
	free(links);
	sim_done(&s);
}

static void what_ends_behind_the_cut_stays_open_and_what_was_decided_stays(void **state)
{
	struct sim s = sim_run(nodes, 12000, 3000, 3);
	struct call_link *links = calloc(s.calls.n, sizeof(*links));
	int64_t cut = s.calls.at[s.calls.n / 2].start_ns;
	struct watch w = {0};
	uint32_t before;

	assert_int_equal(window_run(&s.calls, cut, links, link_latest, &w), 0);
	for (size_t i = 0; i < s.calls.n; i++)
		assert_int_equal(links[i].decided, s.calls.at[i].end_ns <= cut);
	before = links[100].parent;
	links[100].confidence = 0.25F;
	assert_int_equal(window_run(&s.calls, INT64_MAX, links, link_latest, &w), 0);
	for (size_t i = 0; i < s.calls.n; i++)
		assert_true(links[i].decided);
	assert_int_equal(links[100].parent, before);
	assert_true(links[100].confidence == 0.25F);
	free(links);
	sim_done(&s);
}

static void a_long_trace_is_linked_well(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct sim s = sim_run(nodes, 8500, 1500, 8);
	struct call_link *links = calloc(s.calls.n, sizeof(*links));
	double in_windows, told;
	struct best *b;

	assert_true(s.calls.n > 2 * (size_t)WINDOW_CALLS);
	assert_int_equal(best_new(&options, &b), 0);
	assert_int_equal(best_link(b, &s.calls, INT64_MAX, links, NULL), 0);
	in_windows = sim_right(&s, links);
	best_free(b);
	/* All at once, with delays known. */
	memset(links, 0, s.calls.n * sizeof(*links));
	assert_int_equal(best_new(&options, &b), 0);
	assert_int_equal(best_link(b, &s.calls, INT64_MAX, links, s.truth), 0);
	told = sim_right(&s, links);
	best_free(b);
	print_message("%.4f right in windows, %.4f at once with delays known\n", in_windows, told);
	assert_true(in_windows > told - 0.02);
	free(links);
	sim_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_is_decided_with_its_parent_at_hand),
		cmocka_unit_test(what_ends_behind_the_cut_stays_open_and_what_was_decided_stays),
		cmocka_unit_test(a_long_trace_is_linked_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
