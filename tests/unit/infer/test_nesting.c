#include "trace_text.h"

#include <math.h>

#include "base/rng.h"
#include "infer/bins.h"

static void the_papers_example_nests_as_in_its_text(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	trace_read(&t, "1 CALL A B x\n3 CALL B C y\n5 RET C B y\n7 CALL B D z\n9 RET D B z\n"
		       "11 RET B A x\n");
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.links[0].parent, LINK_NONE);
	assert_int_equal(t.links[1].parent, 0);
	assert_int_equal(t.links[2].parent, 0);
	assert_int_equal(t.patterns.n, 1);
	assert_non_null(trace_pattern(&t, "A>B(C,D)"));
	assert_true(t.patterns.at[0].hops[0].latency.sum == 10e9);
	assert_true(t.patterns.at[0].hops[1].delay.sum == 2e9);
	assert_true(t.patterns.at[0].hops[2].gap.sum == 2e9);
	assert_true(t.patterns.at[0].hops[0].tail.sum == 2e9);
	assert_true(t.patterns.at[0].hops[0].own.sum == 6e9);
	trace_done(&t);
}

/* Figure 5: the delay that occurs twice wins over those that occur once. */
static void the_delay_with_more_votes_wins(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	trace_read(&t, "1.00 CALL A B 1\n1.03 CALL A B 2\n1.10 CALL B C 3\n1.13 CALL B C 4\n"
		       "1.20 RET C B 3\n1.23 RET C B 4\n1.30 RET B A 1\n1.33 RET B A 2\n");
	options.penalty_overlap = 0;
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.links[2].parent, 0);
	assert_int_equal(t.links[3].parent, 1);
	trace_done(&t);
}

static void ties_go_to_the_earliest_parent(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	/* One child, two parents: each delay has half a vote. */
	trace_read(&t, "1.0 CALL A B 1\n1.2 CALL A B 2\n1.3 CALL B C 3\n1.4 RET C B 3\n"
		       "1.5 RET B A 1\n1.6 RET B A 2\n");
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.links[2].parent, 0);
	assert_true(fabsf(t.links[2].confidence - 0.5f) < 1e-6f);
	trace_done(&t);
}

static void a_call_that_outlives_its_caller_has_no_parent_without_a_window(void **state)
{
	static const char text[] = "1.00 CALL A B 1\n1.02 CALL B C 2\n1.05 RET B A 1\n"
				   "1.06 RET C B 2\n";
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	trace_read(&t, text);
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.links[1].parent, LINK_NONE);
	trace_done(&t);
	options.skew_ns = 20000000;
	trace_read(&t, text);
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.links[1].parent, 0);
	trace_done(&t);
}

static void a_node_is_judged_by_its_own_clock(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	/* B's clock is five seconds fast. */
	trace_read(&t, "0.50 CALL_RECV X Y 7\n1.00 CALL_SENT A B 1\n1.10 RET_RECV B A 1\n"
		       "6.01 CALL_RECV A B 1\n6.02 CALL_SENT B C 2\n6.05 RET_RECV C B 2\n"
		       "6.06 RET_SENT B A 1\n");
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.calls.n, 3);
	assert_int_equal(t.links[2].parent, 1);
	trace_done(&t);
}

static void calls_of_a_node_to_itself_do_not_cause_themselves(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	trace_read(&t, "1 CALL A A 1\n2 CALL A A 2\n3 RET A A 2\n4 RET A A 1\n");
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.links[0].parent, LINK_NONE);
	assert_int_equal(t.links[1].parent, 0);
	trace_done(&t);
}

static void lost_calls_are_left_out(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	trace_read(&t, "1 CALL A B 1\n2 CALL B C 2\n3 RET C B 2\n");
	trace_link(&t, &nesting_mode, &options);
	assert_int_equal(t.links[0].parent, LINK_NONE);
	assert_true(t.links[0].confidence == 0);
	assert_int_equal(t.links[1].parent, LINK_NONE);
	assert_int_equal(t.patterns.paths, 1);
	trace_done(&t);
}

static void a_call_after_the_reply_has_a_parent_when_asked_for(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct truth_list truths = {0};
	struct trace_text t;

	trace_make(&t, "duration 200s\nthink constant 2s\ntracelet t: A -> B { C; !D }\n", &truths);
	options.after_reply_ns = 100000000;
	trace_link(&t, &nesting_mode, &options);
	assert_true(t.calls.n > 200);
	assert_int_equal(trace_right(&t, &truths), t.calls.n);
	assert_non_null(trace_pattern(&t, "A>B(C,D)"));
	/* Its time is not the parent's. */
	assert_true(t.patterns.at[0].hops[0].own.max < 60000000);
	free(truths.at);
	trace_done(&t);
}

static void circles_are_broken(void **state)
{
	struct call_link links[] = {{1, 1, true}, {2, 1, true}, {0, 1, true}, {0, 1, true}};

	assert_int_equal(links_break_cycles(links, 4), 0);
	assert_int_equal(links[0].parent, 1);
	assert_int_equal(links[1].parent, 2);
	assert_int_equal(links[2].parent, LINK_NONE);
	assert_int_equal(links[3].parent, 0);
}

/* The pseudo-code of the paper's Figure 4, word by word: lists of parents, a table of delays. */
struct figure4 {
	double *board; /* [A][B][C][bin] */
	size_t nodes;
	struct bins bins;
};

static double *figure4_cell(struct figure4 *f, const struct call *parent, const struct call *child)
{
	size_t triple = (parent->caller * f->nodes + parent->callee) * f->nodes + child->callee;

	return &f->board[triple * BINS_N + bins_of(&f->bins, child->start_ns - parent->start_ns)];
}

static bool figure4_encloses(const struct call *parent, const struct call *child)
{
	return parent != child && parent->callee == child->caller && call_finished(parent) &&
	       call_finished(child) && parent->end_ns >= child->end_ns &&
	       (parent->start_ns < child->start_ns ||
		(parent->start_ns == child->start_ns && parent < child));
}

struct returned {
	int64_t end_ns;
	uint32_t call;
};

static int by_end(const void *a, const void *b)
{
	const struct returned *x = a, *y = b;

	return x->end_ns != y->end_ns ? (x->end_ns < y->end_ns ? -1 : 1)
				      : (x->call < y->call ? -1 : 1);
}

static void figure4(const struct calls *calls, size_t nodes, uint32_t *parents)
{
	struct figure4 f = {.nodes = nodes};
	struct returned *order = malloc(calls->n * sizeof(*order));

	f.board = calloc(nodes * nodes * nodes * BINS_N, sizeof(*f.board));
	bins_init(&f.bins, 1000);
	for (uint32_t i = 0; i < calls->n; i++) {
		double candidates = 0;

		order[i] = (struct returned){calls->at[i].end_ns, i};
		for (uint32_t p = 0; p < calls->n; p++)
			candidates += figure4_encloses(&calls->at[p], &calls->at[i]);
		for (uint32_t p = 0; p < calls->n; p++)
			if (figure4_encloses(&calls->at[p], &calls->at[i]))
				*figure4_cell(&f, &calls->at[p], &calls->at[i]) += 1 / candidates;
		parents[i] = LINK_NONE;
	}
	qsort(order, calls->n, sizeof(*order), by_end);
	for (uint32_t i = 0; i < calls->n; i++) {
		const struct call *c = &calls->at[order[i].call];
		double most = 0;

		for (uint32_t p = 0; p < calls->n; p++) {
			double overlapping = 0, score;

			if (!figure4_encloses(&calls->at[p], c))
				continue;
			for (uint32_t k = 0; k < i; k++)
				overlapping += parents[order[k].call] == p &&
					       order[k].end_ns > c->start_ns;
			score = *figure4_cell(&f, &calls->at[p], c) * pow(1 + overlapping, -2);
			if (score > most * (1 + 1e-12)) {
				most = score;
				parents[order[i].call] = p;
			}
		}
	}
	free(order);
	free(f.board);
}

static void agrees_with_the_published_pseudo_code(void **state)
{
	static const char *const specs[] = {
		"duration 8s\ninstances 12\nseed 3\n"
		"tracelet a: C -> W1|W2 { AU { D }; A1|A2 { D } }\ntracelet b: C -> W1|W2 { A1 }\n",
		"duration 8s\ninstances 30\nseed 4\nthink uniform 0ms 100ms\n"
		"tracelet a: A -> B { C || C }\n",
		"duration 6s\ninstances 20\nseed 5\ncall normal 30ms 50%\n"
		"tracelet a: A -> B { C; C }\ntracelet b: A -> B { D }\n",
	};

	for (size_t k = 0; k < ARRAY_SIZE(specs); k++) {
		struct infer_options options = INFER_OPTIONS_DEFAULT;
		uint32_t *parents;
		struct trace_text t;
		size_t differ = 0;

		trace_make(&t, specs[k], NULL);
		assert_true(t.calls.n > 300);
		trace_link(&t, &nesting_mode, &options);
		parents = malloc(t.calls.n * sizeof(*parents));
		figure4(&t.calls, t.nodes.n, parents);
		for (size_t i = 0; i < t.calls.n; i++)
			differ += parents[i] != t.links[i].parent;
		/* Sums in another order may tip a tie. */
		assert_true(differ * 1000 <= t.calls.n);
		free(parents);
		trace_done(&t);
	}
}

static void bins_are_a_twentieth_wide(void **state)
{
	static struct bins b;
	struct rng rng = {9};

	for (int64_t base = 1000; base <= 1000000; base *= 1000) {
		bins_init(&b, base);
		assert_int_equal(bins_of(&b, -5), 0);
		assert_int_equal(bins_of(&b, 0), 0);
		assert_int_equal(bins_of(&b, INT64_MAX), BINS_N - 1);
		for (int i = 0; i < 100000; i++) {
			int64_t v = (int64_t)(rng_next(&rng) >> (1 + rng_below(&rng, 62)));
			unsigned bin = bins_of(&b, v);

			assert_true(bin == 0 || v >= b.bound[bin]);
			assert_true(v < b.bound[bin + 1] || bin == BINS_N - 1);
		}
	}
	assert_int_equal(bins_base_for(1000000000), 1000);
	assert_int_equal(bins_base_for(60000000000), 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_example_nests_as_in_its_text),
		cmocka_unit_test(the_delay_with_more_votes_wins),
		cmocka_unit_test(ties_go_to_the_earliest_parent),
		cmocka_unit_test(a_call_that_outlives_its_caller_has_no_parent_without_a_window),
		cmocka_unit_test(a_node_is_judged_by_its_own_clock),
		cmocka_unit_test(calls_of_a_node_to_itself_do_not_cause_themselves),
		cmocka_unit_test(lost_calls_are_left_out),
		cmocka_unit_test(a_call_after_the_reply_has_a_parent_when_asked_for),
		cmocka_unit_test(circles_are_broken),
		cmocka_unit_test(agrees_with_the_published_pseudo_code),
		cmocka_unit_test(bins_are_a_twentieth_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
