/* bench/infer_speed.c - what linking costs: a made-up trace at about three candidates a child,
 * linked window by window as a stream is. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/infer.h"
#include "bench/spans.h"
#include "infer/generate.h"
#include "infer/infer.h"

#define WINDOW     32768 /* calls a window */
#define OVERLAP_NS 2000000000
#define BAR        100000 /* links a second */

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
				 calls->at[k].recv_ns <= c->start_ns &&
				 calls->at[k].reply_ns >= c->end_ns;
		if (found > 0) {
			sum += found;
			n++;
		}
	}
	return n > 0 ? sum / n : 0;
}

/* Links `all` as a stream: each window has its own calls and those before that are not over. */
static int link_stream(const struct infer_mode *mode, const struct calls *all, size_t *ret_links)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct calls window = {.at = calloc(2 * WINDOW, sizeof(struct call))};
	struct call_link *links = calloc(2 * WINDOW, sizeof(*links));
	struct error error = {0};
	void *state = NULL;
	size_t next = 0, done = 0;
	int r = window.at && links ? mode->open(&options, &state) : -1;

	while (r == 0 && next < all->n) {
		int64_t cut;
		size_t kept = 0;

		while (next < all->n && window.n < WINDOW) {
			links[window.n] = (struct call_link){.parent = LINK_NONE};
			window.at[window.n++] = all->at[next++];
		}
		cut = next == all->n ? INT64_MAX : all->at[next - 1].start_ns - OVERLAP_NS / 10;
		r = mode->link(state, &window, cut, links, &error);
		for (size_t i = 0; i < window.n; i++)
			done += links[i].decided && window.at[i].end_ns <= cut;
		/* What is decided and over leaves; parents are not followed here, only counted. */
		for (size_t i = 0; i < window.n; i++)
			if (window.at[i].end_ns > cut) {
				window.at[kept] = window.at[i];
				links[kept++] = (struct call_link){.parent = LINK_NONE};
			}
		window.n = kept;
	}
	mode->close(state);
	free(window.at);
	free(links);
	*ret_links = done;
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
	size_t links = 0;

	if (!mode || make(&calls) < 0)
		return 2;
	printf("%zu calls, %.2f candidates a child\n", calls.n, candidates(&calls));
	for (int i = 0; i < 5; i++) {
		double start = bench_cpu();

		if (link_stream(mode, &calls, &links) < 0)
			return 2;
		figures[i] = (double)links / (bench_cpu() - start);
	}
	printf("%s: %.0f links a second of CPU, the median of five\n", mode->name,
	       bench_median(figures, 5));
	calls_done(&calls);
	return bench_median(figures, 5) < BAR;
}
