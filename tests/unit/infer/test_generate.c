#include "trace_text.h"

#include <errno.h>
#include <math.h>

static void a_wrong_spec_is_refused_by_line(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "no tracelet: nothing would happen"},
		{"duration 5\n", "line 1: expected a duration such as 30ms, found '5'"},
		{"\ncall gauss 1ms\n",
		 "line 2: expected constant, uniform, normal, lognormal, exponential or pareto, "
		 "found 'gauss'"},
		{"tracelet t: A B\n", "line 1: expected '->', found 'B'"},
		{"tracelet t: A -> B { C\n", "line 1: expected ';', '||' or '}'"},
		{"tracelet t: A -> B { ; }\n", "line 1: a node's name is missing"},
		{"tracelet t: A -> B?2\n",
		 "line 1: expected a number that is not too large, found '2'"},
		{"tracelet t: A -> B }\n", "line 1: expected the end of the line, found '}'"},
		{"colour red\n", "line 1: no such setting, found 'colour'"},
		{"think uniform 5ms 1ms\n", "line 1: uniform needs its lower end first"},
		{"instances 0\n", "line 1: expected a number from 1 to 1000000"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error error = {0};
		struct spec spec;

		assert_int_equal(spec_parse(&spec, slice_cstr(rows[i].text), &error), -EINVAL);
		assert_string_equal(error.text, rows[i].says);
	}
}

static void delays_are_those_of_the_spec(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	const struct pattern *p;
	struct trace_text t;

	trace_make(&t,
		   "duration 1000s\nthink constant 1s\ncall constant 30ms\nret constant 8ms\n"
		   "node C ret normal 100ms 10%\nadd 200ms at B after C\n"
		   "tracelet t: A -> B { C; D }\n",
		   NULL);
	trace_link(&t, &nesting_mode, &options);
	p = trace_pattern(&t, "A>B(C,D)");
	assert_non_null(p);
	assert_true(p->count > 700 && p->count < 760);
	assert_true(spread_mean(&p->hops[1].delay) == 30e6);
	assert_true(fabs(spread_mean(&p->hops[1].latency) - 100e6) < 1e6);
	assert_true(fabs(spread_sd(&p->hops[1].latency) - 10e6) < 1e6);
	assert_true(spread_mean(&p->hops[2].gap) == 230e6);
	assert_true(spread_mean(&p->hops[2].latency) == 8e6);
	trace_done(&t);
}

static void the_same_seed_makes_the_same_trace(void **state)
{
	static const char spec[] =
		"duration 5s\ninstances 9\ntracelet t: A -> B|C { D?0.5 || E*2 }";
	struct trace_text a, b, c;

	trace_make(&a, spec, NULL);
	trace_make(&b, spec, NULL);
	trace_make(&c, "seed 2\nduration 5s\ninstances 9\ntracelet t: A -> B|C { D?0.5 || E*2 }",
		   NULL);
	assert_int_equal(a.calls.n, b.calls.n);
	assert_memory_equal(a.calls.at, b.calls.at, a.calls.n * sizeof(*a.calls.at));
	assert_true(a.calls.n != c.calls.n ||
		    memcmp(a.calls.at, c.calls.at, a.calls.n * sizeof(*a.calls.at)) != 0);
	trace_done(&a);
	trace_done(&b);
	trace_done(&c);
}

static void alone_on_the_system_nesting_finds_the_truth(void **state)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct truth_list truths = {0};
	struct trace_text t;

	trace_make(&t,
		   "duration 100s\nsightings both\nlink A B uniform 1ms 2ms\nskew B 10s\n"
		   "tracelet t: A -> B { C { D || E }; C?0.3 }\n",
		   &truths);
	trace_link(&t, &nesting_mode, &options);
	assert_true(t.calls.n > 300);
	assert_int_equal(trace_right(&t, &truths), t.calls.n);
	free(truths.at);
	trace_done(&t);
}

static size_t messages_of(const char *text, struct generate_tally *tally, bool *ret_ordered)
{
	struct message_list list = {0};
	struct error error = {0};
	struct spec spec;
	size_t n;

	assert_int_equal(spec_parse(&spec, slice_cstr(text), &error), 0);
	assert_int_equal(generate(&spec,
				  &(struct generate_sink){.messages = message_list_sink(&list)},
				  tally),
			 0);
	*ret_ordered = true;
	for (size_t i = 1; i < list.n; i++)
		*ret_ordered &= list.at[i - 1].time_ns <= list.at[i].time_ns;
	n = list.n;
	message_list_done(&list);
	spec_done(&spec);
	return n;
}

static void messages_come_in_order_whatever_the_clocks(void **state)
{
	struct generate_tally tally;
	bool ordered;

	messages_of("duration 20s\ninstances 5\nskew B -300ms\nskew C 100ms\n"
		    "tracelet t: A -> B { C }",
		    &tally, &ordered);
	assert_true(ordered);
}

static void a_sniffer_that_is_too_slow_loses_messages(void **state)
{
	struct generate_tally all, slow, some;
	bool ordered;
	size_t n =
		messages_of("duration 50s\ninstances 20\ntracelet t: A -> B { C }", &all, &ordered);

	assert_int_equal(n, all.messages);
	assert_int_equal(all.lost, 0);
	messages_of("duration 50s\ninstances 20\nloss queue 64 rate 50\ntracelet t: A -> B { C }",
		    &slow, &ordered);
	assert_int_equal(slow.messages + slow.lost, n);
	/* What gets through is what the sniffer can take. */
	assert_true(slow.messages > 2400 && slow.messages < 2700);
	messages_of("duration 50s\ninstances 20\nloss share 0.1\ntracelet t: A -> B { C }", &some,
		    &ordered);
	assert_true(some.lost * 100 > some.messages * 8 && some.lost * 100 < some.messages * 14);
}

static void routes_are_messages_without_answers(void **state)
{
	struct generate_tally tally;
	bool ordered;
	size_t n = messages_of("duration 100s\nthink constant 1s\ncall constant 1s\n"
			       "route mail: A -> B -> C\n",
			       &tally, &ordered);

	assert_int_equal(n, 2 * tally.paths);
	assert_true(tally.paths > 20);
	assert_true(ordered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_spec_is_refused_by_line),
		cmocka_unit_test(delays_are_those_of_the_spec),
		cmocka_unit_test(the_same_seed_makes_the_same_trace),
		cmocka_unit_test(alone_on_the_system_nesting_finds_the_truth),
		cmocka_unit_test(messages_come_in_order_whatever_the_clocks),
		cmocka_unit_test(a_sniffer_that_is_too_slow_loses_messages),
		cmocka_unit_test(routes_are_messages_without_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
