/* bench/source.c - data sets as request bodies. */
#include "bench/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench/demo.h"
#include "wire/otlp_proto.h"

#define SEED          7
#define DAY_NS        86400000000000ULL
#define DAYS          10
#define DEMO_NS       1800000000000ULL
#define LAST_NS       120000000000ULL /* before now */
#define SERVICES      10
#define OPERATIONS    20 /* of a service */
#define KEYS          97
#define VALUES        1000
#define ATTRIBUTES    11
#define TRACE_SPANS   10
#define BODY_TRACES   47
#define LONGEST_NS    2000000000ULL
#define BODY_MOST     (256u << 20)
#define TRACES_IN_ALL 1000000 /* by which the days are divided */

struct source {
	struct demo *demo;
	FILE *file;
	struct rng rng;
	uint64_t first_ns, traces;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct source *source_open(const char *name)
{
	struct source *s = calloc(1, sizeof(*s));
	uint64_t days = DAYS * DAY_NS, now = now_ns() - LAST_NS;

	if (!s)
		return NULL;
	s->rng.state = SEED;
	s->first_ns = now - days;
	if (strcmp(name, "demo") == 0)
		s->demo = demo_new(SEED, now - DEMO_NS, DEMO_NS);
	else if (strcmp(name, "days") == 0)
		s->demo = demo_new(SEED, now - days, days);
	else if (strcmp(name, "random") != 0) {
		s->file = fopen(name, "rbe");
		if (!s->file) {
			fprintf(stderr, "bench: no data set and no file '%s'\n", name);
			return source_close(s);
		}
	}
	return s;
}

struct source *source_close(struct source *s)
{
	if (!s)
		return NULL;
	demo_free(s->demo);
	if (s->file)
		fclose(s->file);
	free(s);
	return NULL;
}

/* --- random --- */

static uint32_t random_resource(struct batch *b, unsigned service)
{
	uint32_t index = batch_resource(b), first = (uint32_t)b->attr_n;
	char text[32];

	snprintf(text, sizeof(text), "service-%u", service);
	batch_attr_string(b, SLICE("service.name"), slice_cstr(text));
	snprintf(text, sizeof(text), "host-%u", service % 4);
	batch_attr_string(b, SLICE("host.name"), slice_cstr(text));
	b->resources[index].attrs = (struct attr_range){first, (uint32_t)b->attr_n - first};
	return index;
}

static void random_span(struct source *s, struct batch *b, const struct trace_id *id,
			span_id_t parent, span_id_t own, uint64_t start_ns, unsigned service)
{
	struct event e = {.trace_id = *id,
			  .id1 = own,
			  .id2 = parent,
			  .time_ns = start_ns + rng_below(&s->rng, LONGEST_NS / 4),
			  .resource = service,
			  .scope = 0,
			  .kind = (int32_t)(1 + rng_below(&s->rng, 5)),
			  .status = rng_below(&s->rng, 50) ? STATUS_UNSET : STATUS_ERROR,
			  .flags = 0x101,
			  .attrs = {(uint32_t)b->attr_n, ATTRIBUTES},
			  .type = EVENT_SPAN};
	uint64_t scale = (uint64_t)1 << rng_below(&s->rng, 30);
	char text[32], value[32];
	size_t first = rng_below(&s->rng, KEYS);

	/* Durations of every magnitude up to the longest. */
	e.end_ns = e.time_ns + 1000 + rng_below(&s->rng, scale < LONGEST_NS ? scale : LONGEST_NS);
	for (size_t i = 0; i < ATTRIBUTES; i++) {
		/* Eleven different keys: steps through a cycle of a prime length. */
		snprintf(text, sizeof(text), "attribute.%zu", (first + i * 7) % KEYS);
		snprintf(value, sizeof(value), "value-%u", (unsigned)rng_below(&s->rng, VALUES));
		batch_attr_string(b, slice_cstr(text), slice_cstr(value));
	}
	snprintf(text, sizeof(text), "operation-%u", (unsigned)rng_below(&s->rng, OPERATIONS));
	e.name = batch_string(b, slice_cstr(text));
	*batch_event(b) = e;
}

/* Exporters send what one service has together. */
static int by_resource(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->resource != y->resource)
		return x->resource < y->resource ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static struct batch *random_next(struct source *s, size_t *ret_spans)
{
	struct batch *b = batch_new(BODY_TRACES * TRACE_SPANS * 500);

	if (!b)
		return NULL;
	for (unsigned i = 0; i < SERVICES; i++)
		random_resource(b, i);
	b->scopes[batch_scope(b)].name = batch_string(b, SLICE("random"));
	for (unsigned t = 0; t < BODY_TRACES; t++) {
		uint64_t words[2] = {rng_next(&s->rng), rng_next(&s->rng)};
		uint64_t step = DAYS * DAY_NS / TRACES_IN_ALL;
		uint64_t start = s->first_ns + s->traces++ % TRACES_IN_ALL * step +
				 rng_below(&s->rng, step * 100);
		span_id_t ids[TRACE_SPANS];
		struct trace_id id;

		memcpy(id.b, words, sizeof(words));
		for (unsigned k = 0; k < TRACE_SPANS; k++) {
			ids[k] = rng_next(&s->rng) | 1;
			random_span(s, b, &id, k ? ids[rng_below(&s->rng, k)] : 0, ids[k], start,
				    (unsigned)rng_below(&s->rng, SERVICES));
		}
	}
	*ret_spans = BODY_TRACES * TRACE_SPANS;
	if (b->failed == 0)
		qsort(b->events, b->event_n, sizeof(*b->events), by_resource);
	return batch_seal(b) < 0 ? batch_unref(b) : b;
}

/* --- files --- */

static struct batch *file_next(struct source *s, size_t *ret_spans)
{
	_cleanup_(freep)
	char *bytes = NULL;
	struct decode_tally tally = {0};
	struct error error = {0};
	struct batch *b;
	uint32_t size;

	if (fread(&size, sizeof(size), 1, s->file) != 1)
		return NULL;
	bytes = size <= BODY_MOST ? malloc(size ? size : 1) : NULL;
	b = batch_new(size);
	if (!bytes || !b || fread(bytes, 1, size, s->file) != size ||
	    otlp_proto_decode_traces(slice_of(bytes, size), b, &tally, &error) < 0 ||
	    batch_seal(b) < 0) {
		fprintf(stderr, "bench: a body in the file makes no sense\n");
		return batch_unref(b);
	}
	*ret_spans = 0;
	for (size_t i = 0; i < b->event_n; i++)
		*ret_spans += b->events[i].type == EVENT_SPAN;
	return b;
}

struct batch *source_next(struct source *s, size_t *ret_spans)
{
	if (s->demo)
		return demo_next(s->demo, ret_spans);
	return s->file ? file_next(s, ret_spans) : random_next(s, ret_spans);
}

void source_encode(const struct batch *b, struct buffer *out)
{
	_cleanup_(freep)
	struct event_ref *refs = calloc(b->event_n + 1, sizeof(*refs));

	if (!refs) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < b->event_n; i++)
		refs[i] = (struct event_ref){b, (uint32_t)i};
	otlp_proto_encode_traces(refs, b->event_n, out);
}
