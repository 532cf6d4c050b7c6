#include "trace_text.h"

#include "infer/linking.h"

static const char spec_text[] = "duration 400s\ninstances 6\nthink uniform 0ms 600ms\n"
				"tracelet page: C -> W1|W2 { AU { D1|D2 }; A1|A2 { D1|D2 } }\n"
				"tracelet static: C -> W1|W2\n";

struct seen {
	const struct truth_list *truths;
	uint64_t left, roots, windows;
	int64_t last_cut;
};

static int look(void *context, const struct linking_window *w)
{
	struct seen *seen = context;

	assert_true(w->cut_ns >= seen->last_cut);
	seen->last_cut = w->cut_ns;
	seen->windows++;
	for (size_t i = 0; i < w->calls->n; i++) {
		uint32_t parent = w->links[i].parent;

		if (!w->leaving[i])
			continue;
		seen->left++;
		seen->roots += parent == LINK_NONE;
		/* A path leaves as a whole. */
		assert_true(parent == LINK_NONE || w->leaving[parent]);
		assert_true(w->links[i].decided);
	}
	return 0;
}

static void linking_text(const char *text, struct linking_options *options, struct seen *seen,
			 struct patterns *patterns, struct names *nodes,
			 struct linking_tally *tally)
{
	struct generate_tally made;
	struct error error = {0};
	struct linking *s;
	struct spec spec;

	names_init(nodes);
	patterns_init(patterns, nodes);
	assert_int_equal(spec_parse(&spec, slice_cstr(text), &error), 0);
	for (uint32_t i = 0; i < spec.names.n; i++) {
		uint32_t number;

		assert_int_equal(names_intern(nodes, spec.names.at[i], &number), 0);
	}
	options->mode = &nesting_mode;
	options->infer = INFER_OPTIONS_DEFAULT;
	options->window = look;
	options->context = seen;
	assert_int_equal(linking_new(options, patterns, &s), 0);
	assert_int_equal(
		generate(&spec, &(struct generate_sink){.messages = linking_sink(s)}, &made), 0);
	assert_int_equal(linking_finish(s), 0);
	*tally = linking_tally(s);
	assert_int_equal(tally->calls, seen->left + tally->given_up);
	if (spec.loss_share == 0)
		assert_int_equal(seen->left, made.calls);
	linking_free(s);
	spec_done(&spec);
}

static void one_window_is_the_whole_trace(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct linking_options so = {0};
	struct seen seen = {.last_cut = INT64_MIN};
	struct linking_tally tally;
	struct patterns patterns;
	struct names nodes;
	struct trace_text t;

	trace_make(&t, spec_text, NULL);
	trace_link(&t, &nesting_mode, &options);
	linking_text(spec_text, &so, &seen, &patterns, &nodes, &tally);
	assert_int_equal(seen.windows, 1);
	assert_int_equal(patterns.n, t.patterns.n);
	assert_int_equal(patterns.paths, t.patterns.paths);
	for (size_t i = 0; i < patterns.n; i++)
		assert_int_equal(patterns.at[i].count, t.patterns.at[i].count);
	patterns_done(&patterns);
	names_done(&nodes);
	trace_done(&t);
}

static void many_windows_find_the_same_in_less_memory(void **state)
{
	static const struct linking_options rows[] = {
		{.max_calls = 2000}, {.window_ns = 20000000000}, {.window_ns = 5000000000}};
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;

	trace_make(&t, spec_text, NULL);
	trace_link(&t, &nesting_mode, &options);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct linking_options so = rows[i];
		struct seen seen = {.last_cut = INT64_MIN};
		struct linking_tally tally;
		struct patterns patterns;
		const struct pattern *whole;
		struct names nodes;

		linking_text(spec_text, &so, &seen, &patterns, &nodes, &tally);
		assert_true(seen.windows > 3);
		assert_true(tally.most_calls < t.calls.n / 3);
		assert_int_equal(tally.given_up, 0);
		/* The frequent ones, within a few percent. */
		for (size_t k = 0; k < t.patterns.n; k++) {
			if (t.patterns.at[k].count < 50)
				continue;
			whole = patterns_find(&patterns, &t.patterns, &t.patterns.at[k]);
			assert_non_null(whole);
			assert_true(whole->count * 100 > t.patterns.at[k].count * 90 &&
				    whole->count * 90 < t.patterns.at[k].count * 100);
		}
		patterns_done(&patterns);
		names_done(&nodes);
	}
	trace_done(&t);
}

static void lost_returns_do_not_fill_the_memory(void **state)
{
	static const char text[] =
		"duration 2000s\ninstances 6\nthink uniform 0ms 600ms\nloss share "
		"0.05\ntracelet t: C -> W { A { D } }\n";
	struct linking_options so = {.max_calls = 3000};
	struct seen seen = {.last_cut = INT64_MIN};
	struct linking_tally tally;
	struct patterns patterns;
	struct names nodes;

	linking_text(text, &so, &seen, &patterns, &nodes, &tally);
	assert_true(tally.given_up > 500);
	assert_true(tally.most_calls < 10000);
	assert_true(tally.calls > 50000);
	patterns_done(&patterns);
	names_done(&nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_window_is_the_whole_trace),
		cmocka_unit_test(many_windows_find_the_same_in_less_memory),
		cmocka_unit_test(lost_returns_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
