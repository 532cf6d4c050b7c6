#include "convolution_text.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "infer/convolution_stream.h"

static const char shop[] = "duration 400s\ninstances 6\nthink uniform 0ms 1500ms\n"
			   "call normal 40ms 5%\nret normal 10ms 5%\n"
			   "tracelet t: A -> B { C }\n"
			   "tracelet u: A -> X\n";

struct watched {
	uint64_t windows;
	uint64_t roots; /* messages of A, over all windows */
	int64_t until_ns;
	const struct names *nodes;
	bool early, late; /* A>B>C was in a window of the first half, of the second */
	int64_t half_ns;
};

static int watch(void *context, const struct convolution_window *w)
{
	struct watched *x = context;

	x->windows++;
	assert_int_equal(w->number, x->windows);
	assert_true(w->until_ns > x->until_ns);
	x->until_ns = w->until_ns;
	if (w->found->n > 0)
		x->roots += w->found->at[0].count;
	if (x->half_ns && vertex_find(w->found, x->nodes, "A>B>C"))
		*(w->until_ns <= x->half_ns ? &x->early : &x->late) = true;
	return 0;
}

static struct convolution_stream_options options_of(const struct names *nodes, struct watched *x)
{
	x->until_ns = INT64_MIN;
	x->nodes = nodes;
	return (struct convolution_stream_options){.infer = CONVOLUTION_OPTIONS_DEFAULT,
						   .nodes = nodes,
						   .window = watch,
						   .context = x};
}

static int stream(const struct convolution_stream_options *options, const struct message_list *l,
		  struct convolution *ret, struct error *error)
{
	struct convolution_stream *s;
	struct message_sink sink;
	int r;

	assert_int_equal(convolution_stream_new(options, &s), 0);
	sink = convolution_stream_sink(s);
	/* In pieces of all sizes, as sources give them. */
	for (size_t at = 0, n = 1; at < l->n; at += n, n = n % 5000 + 37)
		assert_int_equal(sink.put(sink.context, l->at + at, MIN(n, l->n - at)), 0);
	r = convolution_stream_finish(s, ret, error);
	convolution_stream_free(s);
	return r;
}

static uint64_t sent_by(const struct message_list *l, const struct names *nodes, const char *name)
{
	uint32_t node = names_find(nodes, slice_cstr(name));
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->at[i].sender == node;
	return n;
}

static void what_fits_is_one_window(void **state)
{
	struct convolution_stream_options options;
	struct convolution whole, streamed;
	struct message_list list = {0};
	struct error error = {0};
	struct watched x = {0};
	struct names nodes;

	make_messages(shop, &nodes, &list);
	options = options_of(&nodes, &x);
	options.infer.quantum_ns = 5000000;
	options.infer.max_lag_ns = 2000000000;
	assert_int_equal(stream(&options, &list, &streamed, &error), 0);
	assert_int_equal(x.windows, 1);
	options.infer.longest_ns = 110000000; /* about what the longest call takes */
	assert_int_equal(convolution_infer(&list, nodes.n, &options.infer, &whole, &error), 0);
	assert_int_equal(streamed.n, whole.n);
	assert_int_equal(streamed.messages, list.n);
	for (size_t i = 0; i < whole.n; i++) {
		assert_int_equal(streamed.at[i].node, whole.at[i].node);
		assert_int_equal(streamed.at[i].parent, whole.at[i].parent);
		assert_int_equal(streamed.at[i].count, whole.at[i].count);
		assert_int_equal(streamed.at[i].derived, whole.at[i].derived);
	}
	convolution_done(&whole);
	convolution_done(&streamed);
	message_list_done(&list);
	names_done(&nodes);
}

static void windows_add_up_and_no_path_begins_twice(void **state)
{
	static const size_t most[] = {1000, 2500};

	for (size_t i = 0; i < ARRAY_SIZE(most); i++) {
		struct convolution_stream_options options;
		struct message_list list = {0};
		struct error error = {0};
		struct convolution c;
		struct watched x = {0};
		struct names nodes;
		double calls;

		make_messages(shop, &nodes, &list);
		options = options_of(&nodes, &x);
		options.infer.quantum_ns = 5000000;
		options.max_messages = most[i];
		assert_int_equal(stream(&options, &list, &c, &error), 0);
		assert_true(x.windows >= list.n / most[i]);
		assert_int_equal(x.roots, sent_by(&list, &nodes, "A"));
		assert_int_equal(c.at[0].count, x.roots);
		calls = (double)vertex_find(&c, &nodes, "A>B")->count;
		assert_true(fabs(vertex_find(&c, &nodes, "A>B>C")->centre_ns - 40e6) < 4e6);
		assert_true((double)vertex_find(&c, &nodes, "A>B>C")->count > 0.8 * calls);
		assert_true((double)vertex_find(&c, &nodes, "A>B>C>B>A")->count > 0.6 * calls);
		assert_null(vertex_find(&c, &nodes, "A>B>A"));
		convolution_done(&c);
		message_list_done(&list);
		names_done(&nodes);
	}
}

static void windows_of_time_show_what_is_there_for_a_while(void **state)
{
	struct convolution_stream_options options;
	struct message_list list = {0};
	struct error error = {0};
	struct watched x = {0};
	struct names nodes;
	struct convolution c;
	uint32_t third;
	size_t kept = 0;

	make_messages(shop, &nodes, &list);
	third = names_find(&nodes, SLICE("C"));
	/* B asks C only in the second half. */
	x.half_ns = list.at[0].time_ns + (list.at[list.n - 1].time_ns - list.at[0].time_ns) / 2;
	for (size_t i = 0; i < list.n; i++)
		if (list.at[i].time_ns > x.half_ns ||
		    (list.at[i].sender != third && list.at[i].receiver != third))
			list.at[kept++] = list.at[i];
	list.n = kept;
	options = options_of(&nodes, &x);
	options.infer.quantum_ns = 5000000;
	options.window_ns = 50000000000;
	assert_int_equal(stream(&options, &list, &c, &error), 0);
	assert_true(x.windows == 8);
	assert_false(x.early);
	assert_true(x.late);
	assert_int_equal(x.roots, sent_by(&list, &nodes, "A"));
	convolution_done(&c);
	message_list_done(&list);
	names_done(&nodes);
}

static void odd_streams_end(void **state)
{
	static const struct {
		const char *root;
		size_t n;
		int64_t step_ns; /* between two messages */
		int error;
	} rows[] = {
		{"", 0, 0, 0},
		{"A", 0, 0, -ENOENT},
		{"nobody", 5000, 1000, -ENOENT},
		{"", 5000, 0, 0}, /* all at the same time: no place to cut */
		{"A", 5000, -1000000, 0},
		{"", 3000, 1000000000000000, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct convolution_stream_options options;
		struct message_list list = {0};
		struct error error = {0};
		struct convolution c;
		struct watched x = {0};
		struct names nodes;
		uint32_t a, b;

		names_init(&nodes);
		if (rows[i].n > 0) {
			assert_int_equal(names_intern(&nodes, SLICE("A"), &a), 0);
			assert_int_equal(names_intern(&nodes, SLICE("B"), &b), 0);
		}
		list.at = calloc(rows[i].n + 1, sizeof(*list.at));
		for (size_t k = 0; k < rows[i].n; k++)
			list.at[list.n++] = (struct message){
				.time_ns = (int64_t)k * rows[i].step_ns,
				.sender = k % 2 ? b : a,
				.receiver = k % 2 ? a : b,
				.op = MESSAGE_MSG,
			};
		options = options_of(&nodes, &x);
		options.window = NULL;
		options.root = slice_cstr(rows[i].root);
		options.max_messages = 1000;
		assert_int_equal(stream(&options, &list, &c, &error), rows[i].error);
		if (rows[i].error == 0)
			convolution_done(&c);
		else
			assert_true(error.text[0]);
		message_list_done(&list);
		names_done(&nodes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_one_window),
		cmocka_unit_test(windows_add_up_and_no_path_begins_twice),
		cmocka_unit_test(windows_of_time_show_what_is_there_for_a_while),
		cmocka_unit_test(odd_streams_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
