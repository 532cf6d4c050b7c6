/* bench/trace.c - what modelling a trace costs: one trace of many spans, in several shapes.
 *
 *   bench_trace [SPANS]      1,000,000 without
 *
 * Prints nanoseconds of CPU per span for building, for the first question of order (which writes
 * the order out as a graph), and for the critical path; and the memory the built trace holds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "core/clock.h"
#include "model/causality.h"
#include "model/critical_path.h"

#define SPANS_PER_BATCH 512
#define FIRST_NS        1700000000000000000ULL

enum shape { SHAPE_REQUEST, SHAPE_FLAT, SHAPE_CHAIN, SHAPES };

static const char *const shape_names[SHAPES] = {
	[SHAPE_REQUEST] = "requests of 8 services, 16 deep",
	[SHAPE_FLAT] = "one root, all others below it",
	[SHAPE_CHAIN] = "a chain, one below the other",
};

static span_id_t id_of(uint64_t i)
{
	struct rng rng = {i};

	return i == 0 ? 0 : rng_next(&rng) | 1;
}

static uint64_t parent_of(enum shape shape, uint64_t i)
{
	switch (shape) {
	case SHAPE_FLAT:
		return i > 1;
	case SHAPE_CHAIN:
		return i - 1;
	default:
		return i == 1 ? 0 : i % 16 ? i - 1 : 1 + i / 32;
	}
}

static struct batch *make_batch(enum shape shape, uint64_t first, uint64_t n)
{
	struct batch *b = batch_new(n * 480);

	if (!b)
		return NULL;
	batch_scope(b);
	for (int service = 0; service < 8; service++) {
		uint32_t resource = batch_resource(b), attrs = (uint32_t)b->attr_n;
		char name[16];
		int length = snprintf(name, sizeof(name), "service-%d", service);

		batch_attr_string(b, SLICE("service.name"), slice_of(name, (size_t)length));
		if (!b->failed)
			b->resources[resource].attrs = (struct attr_range){attrs, 1};
	}
	for (uint64_t i = first; i < first + n; i++) {
		uint32_t attrs = (uint32_t)b->attr_n, name;
		struct event *e;

		batch_attr_string(b, SLICE("http.route"), SLICE("/cart/{id}"));
		batch_attr_int(b, SLICE("http.response.status_code"), 200);
		batch_attr_int(b, SLICE("thread.id"), (int64_t)(i % 4));
		name = batch_string(b, SLICE("GET /cart/{id}"));
		e = batch_event(b);
		e->trace_id.b[15] = 1;
		e->id1 = id_of(i);
		e->id2 = id_of(parent_of(shape, i));
		e->time_ns = FIRST_NS + 1000 * i;
		e->end_ns = e->time_ns + 500000000;
		e->name = name;
		e->resource = (uint32_t)(i / 4 % 8);
		e->kind = i % 4 == 0 ? KIND_SERVER : i % 4 == 3 ? KIND_CLIENT : KIND_INTERNAL;
		e->attrs = (struct attr_range){attrs, 3};
	}
	if (batch_seal(b) < 0)
		return batch_unref(b);
	return b;
}

static double now_ns(void)
{
	return (double)clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static int measure(const struct event_ref *refs, size_t n, enum shape shape)
{
	_cleanup_(trace_freep)
	struct trace *t = NULL;
	struct critical_path path;
	double start = now_ns(), built, asked, walked;

	if (trace_build(refs, n, 0, &t) < 0)
		return 1;
	built = now_ns();
	if (trace_happened_before(t, trace_pos(POS_END, (uint32_t)t->block_n - 1),
				  trace_pos(POS_BEGIN, 0), NULL) < 0)
		return 1;
	asked = now_ns();
	if (critical_path_whole(t, &path) < 0)
		return 1;
	walked = now_ns();
	printf("%-34s %9zu blocks  build %4.0f ns/span  order %4.0f ns/span  path %4.0f ns/span  "
	       "%4.0f B/span held\n",
	       shape_names[shape], t->block_n, (built - start) / (double)n,
	       (asked - built) / (double)n, (walked - asked) / (double)n,
	       (double)t->arena.bytes / (double)n);
	critical_path_done(&path);
	return 0;
}

static int run(enum shape shape, uint64_t n)
{
	size_t batch_n = (n + SPANS_PER_BATCH - 1) / SPANS_PER_BATCH, at = 0;
	struct batch **batches = calloc(batch_n + 1, sizeof(struct batch *));
	struct event_ref *refs = malloc((n + 1) * sizeof(*refs));
	int r = !batches || !refs;

	for (size_t i = 0; r == 0 && i < batch_n; i++) {
		uint64_t first = 1 + i * SPANS_PER_BATCH;

		batches[i] =
			make_batch(shape, first, MIN((uint64_t)SPANS_PER_BATCH, n + 1 - first));
		if (!batches[i])
			r = 1;
		for (uint32_t j = 0; r == 0 && j < batches[i]->event_n; j++)
			refs[at++] = (struct event_ref){batches[i], j};
	}
	if (r == 0)
		r = measure(refs, at, shape);
	for (size_t i = 0; batches && i < batch_n; i++)
		batch_unref(batches[i]);
	free(batches);
	free(refs);
	return r;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct rusage usage;

	if (n == 0)
		return 2;
	for (int shape = 0; shape < SHAPES; shape++)
		if (run((enum shape)shape, n) != 0) {
			fprintf(stderr, "bench_trace: out of memory\n");
			return 1;
		}
	getrusage(RUSAGE_SELF, &usage);
	printf("most memory, input and all: %ld MiB\n", usage.ru_maxrss / 1024);
	return 0;
}
