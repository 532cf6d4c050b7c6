#include "t.h"

#include "infer/best_view.h"
#include "simulate.h"

static const struct sim_node nodes[] = {
	[1] = {300, 0.5, {{2, 1, 3, false}, {3, 0.5, 0, true}}},
	[2] = {800, 0.8, {{3, 0.5, 0, false}}},
	[3] = {200, 0.5, {{0}}},
};

static void candidates_are_all_that_contain_the_child(void **state)
{
	struct sim s = sim_run(nodes, 300, 700, 4);
	struct call_link *links = calloc(s.calls.n, sizeof(*links));
	struct arena arena = {0};
	struct view_index index;

	assert_int_equal(view_index_build(&s.calls, &arena, &index), 0);
	assert_int_equal(index.grain_ns, 1);
	for (uint32_t node = 1; node <= 3; node++) {
		struct view_labels labels = {0};
		struct view v;

		assert_int_equal(view_build(&index, &s.calls, links, node, 0, &labels, &arena, &v),
				 0);
		for (uint32_t c = 0; c < v.child_n; c++) {
			uint32_t at = v.candidate_first[c];

			assert_true(c == 0 || v.child_start[c - 1] <= v.child_start[c]);
			assert_int_equal(s.calls.at[v.child_call[c]].caller, node);
			for (uint32_t p = 0; p < v.parent_n; p++) {
				bool in = v.parent_start[p] <= v.child_start[c] &&
					  v.parent_end[p] >= v.child_end[c];

				if (in)
					assert_int_equal(v.candidate[at++], p);
			}
			assert_int_equal(at, v.candidate_first[c + 1]);
		}
		for (unsigned e = 0; e < v.endpoint_n; e++)
			for (uint32_t i = v.member_first[e]; i < v.member_first[e + 1]; i++)
				assert_int_equal(v.child_endpoint[v.member[i]], e);
	}
	arena_done(&arena);
	free(links);
	sim_done(&s);
}

static void a_decided_child_has_its_parent_alone(void **state)
{
	struct sim s = sim_run(nodes, 200, 700, 4);
	struct view_labels labels = {0};
	struct arena arena = {0};
	struct view_index index;
	struct view v;

	assert_int_equal(view_index_build(&s.calls, &arena, &index), 0);
	assert_int_equal(view_build(&index, &s.calls, s.truth, 1, 0, &labels, &arena, &v), 0);
	assert_true(v.child_n > 100);
	assert_true(sim_right(&s, s.truth) == 1);
	for (uint32_t c = 0; c < v.child_n; c++) {
		assert_int_equal(v.candidate_first[c + 1] - v.candidate_first[c], 1);
		assert_int_equal(v.parent_call[v.candidate[v.candidate_first[c]]],
				 s.truth[v.child_call[c]].parent);
	}
	arena_done(&arena);
	sim_done(&s);
}

static void the_grain_of_the_clock_is_found(void **state)
{
	struct sim s = sim_run(nodes, 50, 700, 4);
	static const int64_t grains[] = {1, 1000, 1000000};

	for (size_t g = 0; g < ARRAY_SIZE(grains); g++) {
		struct arena arena = {0};
		struct view_index index;

		for (size_t i = 0; i < s.calls.n; i++) {
			struct call *c = &s.calls.at[i];
			struct call_served *served = &s.calls.served[i];

			c->start_ns -= c->start_ns % grains[g];
			served->recv_ns -= served->recv_ns % grains[g];
			served->reply_ns -= served->reply_ns % grains[g];
			c->end_ns -= c->end_ns % grains[g];
		}
		assert_int_equal(view_index_build(&s.calls, &arena, &index), 0);
		assert_int_equal(index.grain_ns, grains[g]);
		arena_done(&arena);
	}
	sim_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(candidates_are_all_that_contain_the_child),
		cmocka_unit_test(a_decided_child_has_its_parent_alone),
		cmocka_unit_test(the_grain_of_the_clock_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
