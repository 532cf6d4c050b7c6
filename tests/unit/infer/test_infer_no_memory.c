/* Every allocation of inference fails once: each time -ENOMEM is the answer, and nothing is lost
 * (the sanitizers watch). */
#include "t.h"

#include "no_memory.h"

#include <errno.h>

#include "infer/abstract_read.h"
#include "infer/convolution_stream.h"
#include "infer/generate.h"
#include "infer/linking.h"
#include "infer/pools.h"
#include "infer/rename.h"
#include "infer/skew.h"

static const char spec_text[] =
	"duration 6s\ninstances 4\nsightings both\nthink uniform 0ms 100ms\n"
	"tracelet t: C -> W1|W2 { A { D }; B || B }\nroute m: X -> Y -> Z\n";

struct scenario {
	struct names nodes, operations;
	struct message_list list;
	struct patterns patterns;
};

static int window(void *context, const struct linking_window *w)
{
	struct pool_found *pools = malloc(POOLS_MAX * sizeof(*pools));
	int r = pools ? pools_find(w->calls, w->links, pools) : -ENOMEM;

	free(pools);
	return r < 0 ? r : 0;
}

static int make(struct scenario *s)
{
	struct generate_tally tally;
	struct error error = {0};
	struct spec spec;
	int r = spec_parse(&spec, slice_cstr(spec_text), &error);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < spec.names.n && r == 0; i++) {
		uint32_t number;

		r = names_intern(&s->nodes, spec.names.at[i], &number);
	}
	if (r == 0)
		r = generate(&spec,
			     &(struct generate_sink){.messages = message_list_sink(&s->list)},
			     &tally);
	spec_done(&spec);
	return r;
}

static int link_all(struct scenario *s)
{
	struct linking_options options = {.mode = &nesting_mode,
					  .infer = INFER_OPTIONS_DEFAULT,
					  .max_calls = 100,
					  .window = window};
	struct linking *linking = NULL;
	struct patterns merged;
	struct names names;
	uint32_t *rank;
	int r;

	options.infer.smooth = 2;
	r = linking_new(&options, &s->patterns, &linking);
	if (r == 0) {
		struct message_sink sink = linking_sink(linking);

		r = sink.put(sink.context, s->list.at, s->list.n);
	}
	if (r == 0)
		r = linking_finish(linking);
	linking_free(linking);
	if (r < 0)
		return r;
	rank = patterns_rank(&s->patterns, PATTERNS_BY_COUNT);
	if (!rank)
		return -ENOMEM;
	free(rank);
	r = patterns_alike(&s->patterns, &merged, &names);
	if (r < 0)
		return r;
	patterns_done(&merged);
	names_done(&names);
	return 0;
}

static int convolve(struct scenario *s, bool fft)
{
	struct convolution_options options = CONVOLUTION_OPTIONS_DEFAULT;
	struct error error = {0};
	struct convolution c;
	uint64_t dropped;
	int r;

	options.quantum_ns = 5000000;
	options.always_fft = fft;
	r = convolution_infer(&s->list, s->nodes.n, &options, &c, &error);
	if (r == 0)
		convolution_done(&c);
	if (r == 0)
		r = message_list_unique(&s->list, 1000, &dropped);
	return r;
}

static int convolve_stream(struct scenario *s)
{
	struct convolution_stream_options options = {.infer = CONVOLUTION_OPTIONS_DEFAULT,
						     .nodes = &s->nodes,
						     .max_messages = s->list.n / 3};
	struct convolution_stream *stream;
	struct message_sink sink;
	struct error error = {0};
	struct convolution c;
	int r = convolution_stream_new(&options, &stream);

	if (r < 0)
		return r;
	sink = convolution_stream_sink(stream);
	r = sink.put(sink.context, s->list.at, s->list.n);
	if (r == 0)
		r = convolution_stream_finish(stream, &c, &error);
	if (r == 0)
		convolution_done(&c);
	convolution_stream_free(stream);
	return r;
}

static int skew(struct scenario *s)
{
	struct skew_estimate estimates[16];
	struct calls calls = {0};
	struct pairing *pairing = NULL;
	int r = pairing_new(&calls, &pairing);

	if (r == 0)
		r = pairing_put(pairing, s->list.at, s->list.n);
	if (r == 0)
		r = pairing_finish(pairing);
	if (r == 0)
		r = skew_estimate(&calls, s->nodes.n, NAMES_NONE, estimates);
	pairing_free(pairing);
	calls_done(&calls);
	return r;
}

static int rename_all(struct scenario *s)
{
	struct message_list out = {0};
	struct rename *rename = rename_new(&s->nodes, message_list_sink(&out));
	struct error error = {0};
	int r = rename ? rename_add(rename, SLICE("W*=W"), &error) : -ENOMEM;

	if (r == 0)
		r = rename_sink(rename).put(rename, s->list.at, s->list.n);
	rename_free(rename);
	message_list_done(&out);
	return r;
}

static int scenario(void)
{
	struct scenario s = {0};
	int r;

	names_init(&s.nodes);
	names_init(&s.operations);
	patterns_init(&s.patterns, &s.nodes);
	r = make(&s);
	if (r == 0)
		r = link_all(&s);
	if (r == 0)
		r = convolve(&s, false);
	if (r == 0)
		r = convolve(&s, true);
	if (r == 0)
		r = convolve_stream(&s);
	if (r == 0)
		r = patterns_bound(&s.patterns, 4096);
	if (r == 0)
		r = skew(&s);
	if (r == 0)
		r = rename_all(&s);
	patterns_done(&s.patterns);
	message_list_done(&s.list);
	names_done(&s.nodes);
	names_done(&s.operations);
	return r;
}

static void every_failure_is_answered_and_nothing_leaks(void **state)
{
	int result = -ENOMEM;

	for (long allowed = 0; result != 0; allowed += allowed < 400 ? 1 : 7) {
		no_memory_stays = allowed % 2;
		no_memory_after = allowed;
		result = scenario();
		no_memory_after = -1;
		assert_true(result == 0 || result == -ENOMEM);
		assert_true(allowed < 100000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failure_is_answered_and_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
