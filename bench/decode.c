/* bench/decode.c - what decoding costs: OTLP to rows with every key and string interned.
 *
 *   bench_decode [FORMAT]      otlp, otlp-json; both without
 *
 * Prints nanoseconds of CPU per span and GB/s of input on one core, the median of nine runs; for
 * protobuf next to the floor: the same bytes walked field by field with nothing kept. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/spans.h"
#include "wire/codecs.h"
#include "wire/protobuf.h"

#define REQUESTS 128
#define SPANS    512
#define RUNS     9
#define BAR      2.0 /* GB/s of protobuf */

static struct buffer requests[REQUESTS];
static size_t total_bytes;
static const struct codec *codec;

static bool make_requests(void)
{
	struct rng rng = {1};

	total_bytes = 0;
	for (int i = 0; i < REQUESTS; i++) {
		struct batch *b = bench_spans(&rng, SPANS);
		struct event_ref *refs = b ? calloc(b->event_n, sizeof(*refs)) : NULL;

		if (!refs)
			return false;
		for (size_t k = 0; k < b->event_n; k++)
			refs[k] = (struct event_ref){b, (uint32_t)k};
		buffer_clear(&requests[i]);
		codec->encode(refs, b->event_n, &requests[i]);
		total_bytes += requests[i].n;
		free(refs);
		batch_unref(b);
		if (requests[i].failed)
			return false;
	}
	return true;
}

/* Visits every field down to attribute values; knows which fields are messages by depth and number.
 */
static uint64_t walk(struct slice bytes, int depth)
{
	static const uint32_t messages[][4] = {{1},    {1, 2}, {1, 2}, {9, 11, 13, 15},
					       {2, 3}, {2},    {0}};
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	uint64_t sum = 0;

	while (pb_next(&r, &f)) {
		uint32_t number = f.tag >> 3;
		bool inner = false;

		if ((f.tag & 7) != PB_BYTES) {
			sum += f.value;
			continue;
		}
		for (int i = 0; depth < 6 && i < 4; i++)
			inner |= messages[depth][i] == number;
		sum += inner ? walk(f.bytes, depth + 1) : f.bytes.n;
	}
	return sum;
}

static double run_walk(void)
{
	volatile uint64_t sink = 0;
	double start = bench_cpu();

	for (int i = 0; i < REQUESTS; i++)
		sink = sink + walk(buffer_get(&requests[i]), 0);
	(void)sink;
	return bench_cpu() - start;
}

static double run_decode(void)
{
	double start = bench_cpu();

	for (int i = 0; i < REQUESTS; i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = batch_new(requests[i].n);
		struct decode_tally tally = {0};
		struct error error;

		if (!b || codec->decode(buffer_get(&requests[i]), b, &tally, &error) < 0 ||
		    batch_seal(b) < 0 || tally.accepted != SPANS)
			abort();
	}
	return bench_cpu() - start;
}

/* `bar` is in GB/s; 0: none. */
static void report(const char *what, double (*run)(void), double bar)
{
	double figures[RUNS], median, rate;

	for (int i = 0; i < RUNS; i++)
		figures[i] = run();
	median = bench_median(figures, RUNS);
	rate = (double)total_bytes / median * 1e-9;
	printf("%-44s %7.1f ns/span %6.2f GB/s%s\n", what, median / REQUESTS / SPANS * 1e9, rate,
	       bar == 0      ? ""
	       : rate >= bar ? "   met"
			     : "   NOT MET");
}

int main(int argc, char **argv)
{
	static const char *const formats[] = {"otlp", "otlp-json"};

	/* Memory is used again from request to request instead of going back to the kernel:
	 * decoding is measured here, not page faults.  (bench_ingest has those.) */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (argc > 1 && strcmp(argv[1], formats[i]) != 0)
			continue;
		codec = codec_find(slice_cstr(formats[i]));
		if (!codec || !make_requests())
			return 1;
		printf("%s: %d requests of %d spans, %d attributes, %.0f bytes a span; CPU of one core\n",
		       codec->title, REQUESTS, SPANS, BENCH_ATTRIBUTES,
		       (double)total_bytes / REQUESTS / SPANS);
		if (codec->frame == FRAME_FIELDS)
			report("floor: walk every field, keep nothing", run_walk, 0);
		report("decode to rows, every key and string interned", run_decode,
		       codec->frame == FRAME_FIELDS ? BAR : 0);
	}
	for (int i = 0; i < REQUESTS; i++)
		buffer_done(&requests[i]);
	return 0;
}
