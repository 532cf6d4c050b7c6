/* bench/infer_speed.c - what linking costs: a made-up trace at about three candidates a child. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/infer.h"
#include "bench/spans.h"
#include "infer/generate.h"
#include "infer/infer.h"
#include "infer/pairing.h"

#define BAR 100000 /* links a second */

static const char spec_text[] =
	"duration 100s\n"
	"seed 5\n"
	"call lognormal 3ms 40%\n"
	"ret lognormal 2ms 40%\n"
	"think uniform 0ms 40ms\n"
	"tracelet shop instances 12: C -> WEB { AUTH { DB }; APP { CACHE; DB } }\n";

/* Mean number of finished calls of the caller that contain a call. */
static double candidates(const struct calls *calls)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < calls->n; i += 37) {
		const struct call *c = &calls->at[i];
		double found = 0;

		for (size_t k = i > 3000 ? i - 3000 : 0; k < i; k++)
			found += calls->at[k].callee == c->caller &&
				 call_recv_ns(calls, k) <= c->start_ns &&
				 call_reply_ns(calls, k) >= c->end_ns;
		if (found > 0) {
			sum += found;
			n++;
		}
	}
	return n > 0 ? sum / n : 0;
}

/* Calls made by nodes that serve calls: all but the client's. */
static size_t count_links(const struct calls *calls)
{
	size_t n = 0;

	for (size_t i = 0; i < calls->n; i++)
		n += calls->at[i].caller != calls->at[0].caller;
	return n;
}

/* Links everything; windows are the mode's own. */
static int link_all(const struct infer_mode *mode, const struct calls *calls)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct call_link *links = calloc(calls->n + 1, sizeof(*links));
	struct error error = {0};
	void *state = NULL;
	int r = links ? mode->open(&options, &state) : -1;

	if (r == 0)
		r = mode->link(state, calls, INT64_MAX, links, &error);
	mode->close(state);
	free(links);
	return r;
}

static int make(struct calls *calls)
{
	struct pairing *pairing;
	struct generate_sink sink = {0};
	struct generate_tally tally;
	struct error error = {0};
	struct spec spec;
	int r = spec_parse(&spec, slice_cstr(spec_text), &error);

	if (r < 0) {
		fprintf(stderr, "%s\n", error.text);
		return r;
	}
	r = pairing_new(calls, &pairing);
	if (r == 0) {
		sink.messages = pairing_sink(pairing);
		r = generate(&spec, &sink, &tally);
		if (r == 0)
			r = pairing_finish(pairing);
		pairing_free(pairing);
	}
	spec_done(&spec);
	return r;
}

int bench_infer_speed(int argc, char **argv)
{
	const struct infer_mode *mode = infer_mode_find(slice_cstr(argc > 0 ? argv[0] : "best"));
	struct calls calls = {0};
	double figures[5];
	size_t links;

	if (!mode || make(&calls) < 0)
		return 2;
	links = count_links(&calls);
	printf("%zu calls, %zu links, %.2f candidates a child\n", calls.n, links,
	       candidates(&calls));
	for (int i = 0; i < 5; i++) {
		double start = bench_cpu();

		if (link_all(mode, &calls) < 0)
			return 2;
		figures[i] = (double)links / (bench_cpu() - start);
	}
	printf("%s: %.0f links a second of CPU, the median of five\n", mode->name,
	       bench_median(figures, 5));
	calls_done(&calls);
	return bench_median(figures, 5) < BAR;
}
