#include "convolution_text.h"

#include <math.h>

#include "base/rng.h"
#include "infer/correlate.h"

static void random_signal(struct rng *rng, size_t quanta, size_t n, struct signal *s)
{
	uint32_t *counts = calloc(quanta, sizeof(*counts));

	for (size_t i = 0; i < n; i++)
		counts[rng_below(rng, quanta)]++;
	for (uint32_t q = 0; q < quanta; q++)
		for (uint32_t k = 0; k < counts[q]; k++)
			assert_int_equal(signal_add(s, q), 0);
	signal_finish(s);
	free(counts);
}

static double at(const struct signal *s, size_t quantum)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->quantum[i] == quantum)
			return (double)s->height[i];
	return 0;
}

static void both_forms_give_the_sum_of_the_definition(void **state)
{
	static const struct {
		size_t quanta, lags, n1, n2;
	} rows[] = {{1, 16, 3, 5},
		    {10, 4, 5, 5},
		    {100, 100, 50, 80},
		    {500, 37, 2000, 9},
		    {997, 500, 300, 300}};
	struct rng rng = {21};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct signal s1 = {0}, s2 = {0};
		size_t lags = rows[i].lags;
		double *sparse = malloc(lags * sizeof(*sparse)), *fft = malloc(lags * sizeof(*fft));
		struct correlator *k;

		random_signal(&rng, rows[i].quanta, rows[i].n1, &s1);
		random_signal(&rng, rows[i].quanta, rows[i].n2, &s2);
		assert_int_equal(correlator_new(rows[i].quanta, lags, &k), 0);
		correlate_sparse(&s1, &s2, lags, sparse);
		correlate_fft(k, &s1, &s2, fft);
		for (size_t d = 0; d < lags; d++) {
			double sum = 0;

			for (size_t t = 0; t + d < rows[i].quanta; t++)
				sum += at(&s2, t + d) * at(&s1, t);
			assert_true(fabs(sparse[d] - sum) < 1e-4 * (1 + sum));
			assert_true(fabs(fft[d] - sum) < 1e-3 * (1 + sum));
		}
		correlator_free(k);
		free(sparse);
		free(fft);
		signal_done(&s1);
		signal_done(&s2);
	}
}

static void spikes_need_a_valley_between_them(void **state)
{
	double c[200];
	struct spike spikes[4];

	for (int i = 0; i < 200; i++)
		c[i] = 10 + i % 2;
	assert_int_equal(spikes_find(c, 200, 4, 3, spikes, 4), 0);
	c[50] = 90;
	c[51] = 100; /* the same spike */
	c[53] = 95;  /* another one */
	assert_int_equal(spikes_find(c, 200, 4, 3, spikes, 4), 2);
	assert_int_equal(spikes[0].lag, 51);
	assert_int_equal(spikes[0].first, 50);
	assert_int_equal(spikes[0].last, 51);
	assert_int_equal(spikes[1].lag, 53);
	/* More than there is room for are still counted. */
	assert_int_equal(spikes_find(c, 200, 4, 3, spikes, 1), 2);
	for (int i = 0; i < 200; i++)
		c[i] = 0;
	assert_int_equal(spikes_find(c, 200, 4, 3, spikes, 4), 0);
}

static void a_path_is_followed_there_and_back(void **state)
{
	static const char spec[] = "duration 400s\ninstances 3\nthink uniform 0ms 1500ms\n"
				   "call normal 40ms 5%\nret normal 10ms 5%\n"
				   "tracelet t: A -> B { C }\n";
	struct convolution_options options = CONVOLUTION_OPTIONS_DEFAULT;
	const struct vertex *back;
	struct message_list list = {0};
	struct error error = {0};
	struct convolution c;
	struct names nodes;

	make_messages(spec, &nodes, &list);
	options.quantum_ns = 5000000;
	options.longest_ns = 200000000;
	for (int form = 0; form < 2; form++) {
		options.always_fft = form == 0;
		options.always_sparse = form == 1;
		assert_int_equal(convolution_infer(&list, nodes.n, &options, &c, &error), 0);
		back = vertex_find(&c, &nodes, "A>B>C>B>A");
		assert_non_null(back);
		assert_true(fabs(back->centre_ns - 10e6) < 3e6);
		assert_true((double)back->count > 0.5 * (double)list.n / 4);
		assert_true(fabs(vertex_find(&c, &nodes, "A>B>C")->centre_ns - 40e6) < 4e6);
		/* The short cut is there, and recognised as one. */
		assert_null(vertex_find(&c, &nodes, "A>B>A"));
		convolution_done(&c);
	}
	options.keep_derived = true;
	assert_int_equal(convolution_infer(&list, nodes.n, &options, &c, &error), 0);
	assert_non_null(vertex_find(&c, &nodes, "A>B>A"));
	convolution_done(&c);
	message_list_done(&list);
	names_done(&nodes);
}

static void free_form_messages_have_paths_too(void **state)
{
	struct convolution_options options = CONVOLUTION_OPTIONS_DEFAULT;
	struct message_list list = {0};
	struct error error = {0};
	const struct vertex *v;
	struct convolution c;
	struct names nodes;

	make_messages("duration 20000s\ninstances 4\nthink exponential 30s\n"
		      "call constant 12s\nroute m: A -> B|X -> C -> D\n",
		      &nodes, &list);
	options.quantum_ns = 1000000000;
	assert_int_equal(convolution_infer(&list, nodes.n, &options, &c, &error), 0);
	v = vertex_find(&c, &nodes, "A>B>C>D");
	assert_non_null(v);
	assert_int_equal(v->delay_ns, 12000000000);
	assert_non_null(vertex_find(&c, &nodes, "A>X>C>D"));
	convolution_done(&c);
	message_list_done(&list);
	names_done(&nodes);
}

static void nothing_in_nothing_out(void **state)
{
	struct convolution_options options = CONVOLUTION_OPTIONS_DEFAULT;
	struct message_list list = {0};
	struct error error = {0};
	struct convolution c;

	assert_int_equal(convolution_infer(&list, 0, &options, &c, &error), 0);
	assert_int_equal(c.n, 0);
	convolution_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms_give_the_sum_of_the_definition),
		cmocka_unit_test(spikes_need_a_valley_between_them),
		cmocka_unit_test(a_path_is_followed_there_and_back),
		cmocka_unit_test(free_form_messages_have_paths_too),
		cmocka_unit_test(nothing_in_nothing_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
