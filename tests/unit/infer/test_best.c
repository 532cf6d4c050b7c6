#include "t.h"

#include "infer/best.h"
#include "simulate.h"

/* client 0 → 1 → (2 → 5), then 3, then 4. */
static const struct sim_node chain[] = {
	[1] = {300, 0.3, {{2, 1, 0, false}, {3, 1, 0, false}, {4, 1, 0, false}}},
	[2] = {400, 0.4, {{5, 1, 0, false}}},
	[3] = {800, 0.5, {{0}}},
	[4] = {500, 0.3, {{0}}},
	[5] = {900, 0.4, {{0}}},
};
/* 2 is a cache before 3 and 4. */
static const struct sim_node cached[] = {
	[1] = {300, 0.3, {{2, 1, 0, false}, {3, 0.3, 0, false}, {4, 0.9, 0, false}}},
	[2] = {200, 0.4, {{0}}},
	[3] = {800, 0.5, {{0}}},
	[4] = {500, 0.3, {{0}}},
};
/* Loops of different lengths. */
static const struct sim_node loops[] = {
	[1] = {50, 0.3, {{2, 1, 6, false}, {3, 0.5, 0, false}, {2, 0.7, 4, false}}},
	[2] = {2000, 0.6, {{0}}},
	[3] = {3000, 0.4, {{4, 1, 3, false}}},
	[4] = {700, 0.4, {{0}}},
};
/* 2 and 3 are alternatives: one of two, then always 4. */
static const struct sim_node balanced[] = {
	[1] = {200, 0.4, {{2, 1, 0, false}, {4, 1, 0, false}}},
	[2] = {900, 0.4, {{0}}},
	[3] = {900, 0.4, {{0}}},
	[4] = {400, 0.3, {{0}}},
};
static const struct sim_node fan_out[] = {
	[1] = {100, 0.3, {{2, 1, 0, false}, {3, 1, 0, true}, {4, 1, 0, true}}},
	[2] = {2000, 0.4, {{0}}},
	[3] = {1500, 0.4, {{0}}},
	[4] = {1800, 0.4, {{0}}},
};

static struct call_link *infer(const struct sim *s)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct call_link *links = calloc(s->calls.n + 1, sizeof(*links));
	void *state;

	assert_non_null(links);
	assert_int_equal(best_mode.open(&options, &state), 0);
	assert_int_equal(best_mode.link(state, &s->calls, INT64_MAX, links, NULL), 0);
	best_mode.close(state);
	for (size_t i = 0; i < s->calls.n; i++)
		assert_true(links[i].decided);
	return links;
}

/* With delays learnt from the truth, only the answer being sought. */
static double right_by_oracle(const struct sim *s)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct call_link *links = calloc(s->calls.n + 1, sizeof(*links));
	struct best *b;
	double right;

	assert_int_equal(best_new(&options, &b), 0);
	assert_int_equal(best_link(b, &s->calls, INT64_MAX, links, s->truth), 0);
	right = sim_right(s, links);
	best_free(b);
	free(links);
	return right;
}

static void parents_are_found_nearly_as_well_as_if_delays_were_known(void **state)
{
	static const struct {
		const struct sim_node *nodes;
		double gap_us, least;
	} rows[] = {
		{chain, 2000, 0.96}, {chain, 700, 0.80},  {cached, 1000, 0.90},
		{loops, 8000, 0.97}, {loops, 4000, 0.90}, {fan_out, 1500, 0.93},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sim s = sim_run(rows[i].nodes, 600, rows[i].gap_us, 11 + i);
		struct call_link *links = infer(&s);
		double right = sim_right(&s, links), known = right_by_oracle(&s);

		free(links);
		sim_done(&s);
		print_message("row %zu: %.3f right, %.3f with delays known\n", i, right, known);
		assert_true(right >= rows[i].least);
		assert_true(right >= known - 0.02);
	}
}

static void confidence_is_the_share_that_is_right(void **state)
{
	double sure = 0, sure_right = 0, expected = 0, got = 0, n = 0;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct sim s = sim_run(seed % 2 ? chain : loops, 600, seed % 2 ? 400 : 2500, seed);
		struct call_link *links = infer(&s);

		for (size_t i = 0; i < s.calls.n; i++) {
			bool right = links[i].parent == s.truth[i].parent;

			if (s.truth[i].parent == LINK_NONE)
				continue;
			assert_true(links[i].confidence >= 0 && links[i].confidence <= 1);
			expected += (double)links[i].confidence;
			got += right;
			n++;
			if (links[i].confidence >= 0.85F && links[i].confidence < 0.95F) {
				sure++;
				sure_right += right;
			}
		}
		free(links);
		sim_done(&s);
	}
	assert_true(fabs(expected - got) / n < 0.03);
	assert_true(sure > 50);
	print_message("%.0f links at 0.9, %.3f of them right\n", sure, sure_right / sure);
	/* Six hundred paths, crowded: delays are learnt from few links, and flatter them. */
	assert_true(sure_right / sure > 0.75 && sure_right / sure < 0.99);
}

/* Windows: calls are given as they come, what is decided stays, what is over leaves. */
static void a_stream_is_answered_window_by_window(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct sim s = sim_run(chain, 1200, 1000, 9);
	struct call_link *links = calloc(s.calls.n, sizeof(*links));
	int64_t first = s.calls.at[0].start_ns, last = s.calls.at[s.calls.n - 1].start_ns;
	struct best *b;

	assert_int_equal(best_new(&options, &b), 0);
	for (int w = 1; w <= 8; w++) {
		struct calls upto = s.calls;
		int64_t seen = first + (last - first) / 8 * w;
		int64_t cut = w == 8 ? INT64_MAX : seen - 30000000;

		while (w < 8 && upto.n && upto.at[upto.n - 1].start_ns > seen)
			upto.n--;
		assert_int_equal(best_link(b, &upto, cut, links, NULL), 0);
		for (size_t i = 0; i < upto.n; i++)
			assert_int_equal(links[i].decided, upto.at[i].end_ns <= cut);
	}
	assert_true(sim_right(&s, links) > right_by_oracle(&s) - 0.02);
	best_free(b);
	free(links);
	sim_done(&s);
}

static void alternatives_are_found(void **state)
{
	struct sim s = sim_run(balanced, 1000, 1000, 17);
	struct call_link *links;

	/* Every other call to 2 goes to 3 instead. */
	for (size_t i = 0, k = 0; i < s.calls.n; i++)
		if (s.calls.at[i].callee == 2 && k++ % 2)
			s.calls.at[i].callee = 3;
	links = infer(&s);
	assert_true(sim_right(&s, links) > 0.95);
	for (uint32_t i = 0; i < s.calls.n; i++)
		for (uint32_t k = i + 1; k < s.calls.n && k < i + 60; k++)
			if (links[i].parent == links[k].parent && links[i].parent != LINK_NONE)
				assert_true(s.calls.at[i].callee / 2 != s.calls.at[k].callee / 2);
	free(links);
	sim_done(&s);
}

static void few_calls_or_none_are_no_trouble(void **state)
{
	for (uint32_t paths = 0; paths < 4; paths++) {
		struct sim s = sim_run(chain, paths, 10000000, 1);
		struct call_link *links = infer(&s);

		assert_true(sim_right(&s, links) == 1);
		free(links);
		sim_done(&s);
	}
}

static void calls_without_return_are_possible_parents(void **state)
{
	struct sim s = sim_run(chain, 300, 5000, 2);
	struct call_link *links;
	size_t lost = 0, kept = 0;

	for (size_t i = 0; i < s.calls.n; i += 7) {
		s.calls.at[i].end_ns = CALL_UNFINISHED;
		s.calls.served[i].reply_ns = CALL_UNFINISHED;
	}
	links = infer(&s);
	for (size_t i = 0; i < s.calls.n; i++) {
		uint32_t parent = s.truth[i].parent;

		if (parent == LINK_NONE || call_finished(&s.calls.at[parent]))
			continue;
		lost++;
		kept += links[i].parent == parent;
	}
	assert_true(lost > 50);
	assert_true((double)kept / (double)lost > 0.8);
	free(links);
	sim_done(&s);
}

static void nodes_that_call_themselves_make_no_circle(void **state)
{
	struct call at[40];
	struct sim s = {.calls = {.at = at, .n = ARRAY_SIZE(at)}};
	struct call_link *links;

	for (int i = 0; i < 40; i++)
		at[i] = (struct call){.start_ns = 1000,
				      .end_ns = 2000,
				      .id = 1 + (uint64_t)i,
				      .caller = 3,
				      .callee = 3,
				      .name = NAMES_NONE};
	links = infer(&s);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t steps = 0;

		for (uint32_t k = i; k != LINK_NONE; k = links[k].parent)
			assert_true(++steps <= 40);
	}
	free(links);
}

static void a_hundred_callees_are_told_apart_as_far_as_there_is_room(void **state)
{
	static struct call at[6000];
	struct sim s = {.calls = {.at = at}};
	struct call_link *links;
	size_t right = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		int64_t t = (int64_t)i * 1000000;
		struct call c = {.start_ns = t, .caller = 0, .callee = 1};

		c.end_ns = t + 1500000;
		c.id = i + 1;
		at[s.calls.n++] = c;
		c = (struct call){.start_ns = t + 100000, .caller = 1};
		c.callee = 2 + i % 100;
		c.end_ns = t + 1400000;
		c.id = i + 100000;
		at[s.calls.n++] = c;
	}
	links = infer(&s);
	for (size_t i = 1; i < s.calls.n; i += 2)
		right += links[i].parent == i - 1;
	assert_true(right > 1900);
	free(links);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parents_are_found_nearly_as_well_as_if_delays_were_known),
		cmocka_unit_test(confidence_is_the_share_that_is_right),
		cmocka_unit_test(a_stream_is_answered_window_by_window),
		cmocka_unit_test(alternatives_are_found),
		cmocka_unit_test(few_calls_or_none_are_no_trouble),
		cmocka_unit_test(calls_without_return_are_possible_parents),
		cmocka_unit_test(nodes_that_call_themselves_make_no_circle),
		cmocka_unit_test(a_hundred_callees_are_told_apart_as_far_as_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
