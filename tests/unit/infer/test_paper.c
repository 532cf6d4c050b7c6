/* The findings of "Performance Debugging for Distributed Systems of Black Boxes" (SOSP 2003), on
 * smaller traces than bench_infer paper uses. */
#include "trace_text.h"

#include <math.h>

#include "infer/convolution.h"
#include "infer/score.h"

#define MULTI_TIER                                                                                 \
	"tracelet page: C -> WS1|WS2 { AUTH { DB1|DB2 }; AP1|AP2 { DB1|DB2 } }\n"                  \
	"tracelet public: C -> WS1|WS2 { AP1|AP2 { DB1|DB2 } }\n"                                  \
	"tracelet static: C -> WS1|WS2\n"

/* Share of the true path instances that nesting does not find; `whole` is the trace without loss.
 */
static double missing(const char *text, const char *whole, const struct infer_options *options)
{
	struct truth_list truths = {0};
	struct truth_of_calls truth = {0};
	struct truth_reader reader;
	struct patterns expected;
	struct trace_text t, all;
	double want = 0, miss = 0;

	trace_make(&all, whole, &truths);
	truth_reader_init(&reader);
	reader.rows = calloc(truths.n, sizeof(*reader.rows));
	for (; reader.row_n < truths.n; reader.row_n++)
		reader.rows[reader.row_n] = (struct truth_row){truths.at[reader.row_n].id,
							       truths.at[reader.row_n].parent, 0};
	assert_int_equal(truth_match(&reader, &all.calls, &truth), 0);
	patterns_init(&expected, &all.nodes);
	assert_int_equal(patterns_add(&expected, &all.calls, truth.links, INT64_MAX, NULL), 0);
	trace_make(&t, text, NULL);
	trace_link(&t, &nesting_mode, options);
	for (size_t i = 0; i < expected.n; i++) {
		const struct pattern *p = patterns_find(&t.patterns, &expected, &expected.at[i]);
		double have = p ? (double)p->count : 0;

		want += (double)expected.at[i].count;
		miss += fmax((double)expected.at[i].count - have, 0);
	}
	patterns_done(&expected);
	truth_of_calls_done(&truth);
	truth_reader_done(&reader);
	free(truths.at);
	trace_done(&t);
	trace_done(&all);
	return miss / want;
}

static void little_loss_does_little_harm(void **state)
{
	static const char whole[] =
		"duration 60s\ninstances 3\nthink uniform 0ms 400ms\n" MULTI_TIER;
	static const char half[] = "loss share 0.005\nduration 60s\ninstances 3\n"
				   "think uniform 0ms 400ms\n" MULTI_TIER;
	static const char much[] = "loss share 0.2\nduration 60s\ninstances 3\n"
				   "think uniform 0ms 400ms\n" MULTI_TIER;
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	double none = missing(whole, whole, &options);

	assert_true(missing(half, whole, &options) < none + 0.05);
	assert_true(missing(much, whole, &options) > none + 0.3);
}

static void a_window_and_smoothing_make_up_for_skew(void **state)
{
	static const char text[] =
		"duration 60s\ninstances 15\nsightings sent\n"
		"call normal 50ms 10%\nret normal 10ms 10%\nskew WS2 50ms\n" MULTI_TIER;
	struct infer_options plain = INFER_OPTIONS_DEFAULT, both = INFER_OPTIONS_DEFAULT;

	both.skew_ns = 30000000;
	both.smooth = 3;
	assert_true(missing(text, text, &both) < 0.7 * missing(text, text, &plain));
}

static void many_parallel_children_help_each_other(void **state)
{
	static const char some[] = "duration 30s\ninstances 32\nthink uniform 0ms 400ms\n"
				   "call normal 20ms 10%\nret normal 10ms 10%\n"
				   "tracelet t: A -> B { C || C }\n";
	static const char many[] = "duration 2s\ninstances 1000\nthink uniform 0ms 400ms\n"
				   "call normal 20ms 10%\nret normal 10ms 10%\n"
				   "tracelet t: A -> B { C || C }\n";
	struct infer_options options = INFER_OPTIONS_DEFAULT;

	assert_true(missing(many, many, &options) < 0.5 * missing(some, some, &options));
}

/* The delay of the last edge of a path, in convolution; -1: there is no such path. */
static double convolved(const struct message_list *list, const struct names *nodes,
			int64_t quantum_ns, const char *path, double *ret_latest, size_t *ret_false)
{
	struct convolution_options options = CONVOLUTION_OPTIONS_DEFAULT;
	struct error error = {0};
	struct convolution c;
	double delay = -1;

	options.quantum_ns = quantum_ns;
	assert_int_equal(convolution_infer(list, nodes->n, &options, &c, &error), 0);
	*ret_latest = 0;
	*ret_false = 0;
	for (uint32_t i = 0; i < c.n; i++) {
		struct buffer b = {0};

		vertex_path(&c, i, nodes, &b);
		if (strcmp(buffer_cstr(&b), path) == 0 && !c.at[i].derived && delay < 0)
			delay = c.at[i].centre_ns;
		/* Hubs have their own gateways: other combinations nobody takes. */
		if (c.at[i].count >= 100 && !c.at[i].derived &&
		    (strstr(buffer_cstr(&b), "gw1>hub2") || strstr(buffer_cstr(&b), "gw2>hub1")))
			++*ret_false;
		if (c.at[i].count >= 100)
			*ret_latest = fmax(*ret_latest, (double)c.at[i].delay_ns);
		buffer_done(&b);
	}
	convolution_done(&c);
	return delay;
}

static void mail_waits_fifteen_seconds_now_and_then(void **state)
{
	static const char text[] = "duration 3000000s\ncall exponential 800ms\n"
				   "think exponential 3600s\nadd 15s at hub1 share 0.2\n"
				   "route a: inet -> gw1 -> hub1 -> box\n"
				   "route b: inet -> gw2 -> hub2 -> box\n";
	struct message_list list = {0};
	struct generate_tally tally;
	struct error error = {0};
	struct names nodes;
	struct spec spec;
	double latest, delay;
	size_t wrong;
	uint32_t n;

	names_init(&nodes);
	assert_int_equal(spec_parse(&spec, slice_cstr(text), &error), 0);
	assert_int_equal(generate(&spec,
				  &(struct generate_sink){.messages = message_list_sink(&list)},
				  &tally),
			 0);
	for (uint32_t i = 0; i < spec.names.n; i++)
		assert_int_equal(names_intern(&nodes, spec.names.at[i], &n), 0);
	assert_true(convolved(&list, &nodes, 5000000000, "inet>gw1>hub1>box", &latest, &wrong) >=
		    0);
	assert_true(latest >= 10e9 && latest <= 15e9);
	assert_int_equal(wrong, 0);
	/* A longer quantum hides it: everything is forwarded at once. */
	delay = convolved(&list, &nodes, 30000000000, "inet>gw1>hub1>box", &latest, &wrong);
	assert_true(delay >= 0 && delay < 8e9);
	assert_true(latest == 0);
	assert_int_equal(wrong, 0);
	spec_done(&spec);
	message_list_done(&list);
	names_done(&nodes);
}

static void delays_of_correct_patterns_are_right_to_five_percent(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct trace_text t;
	const struct pattern *p;

	trace_make(
		&t,
		"duration 100s\ninstances 15\ncall normal 20ms 10%\nret normal 5ms 10%\n" MULTI_TIER,
		NULL);
	trace_link(&t, &nesting_mode, &options);
	p = trace_pattern(&t, "C>WS1(AUTH(DB1),AP1(DB1))");
	assert_non_null(p);
	assert_true(fabs(spread_mean(&p->hops[0].latency) - 105e6) < 0.05 * 105e6);
	assert_true(fabs(spread_mean(&p->hops[1].delay) - 20e6) < 0.05 * 20e6);
	assert_true(fabs(spread_mean(&p->hops[3].gap) - 20e6) < 0.05 * 20e6);
	trace_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_loss_does_little_harm),
		cmocka_unit_test(a_window_and_smoothing_make_up_for_skew),
		cmocka_unit_test(many_parallel_children_help_each_other),
		cmocka_unit_test(mail_waits_fifteen_seconds_now_and_then),
		cmocka_unit_test(delays_of_correct_patterns_are_right_to_five_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
