/* tests/unit/model/rows.h - events written out by hand, and traces built from them. */
#ifndef CAUSET_TESTS_UNIT_MODEL_ROWS_H
#define CAUSET_TESTS_UNIT_MODEL_ROWS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "model/trace.h"

#define ROWS_T0 1700000000000000000LL /* what tests count their times from */

/* An empty batch with one scope. */
static inline struct batch *rows_new(void)
{
	struct batch *b = batch_new(0);

	batch_scope(b);
	return b;
}

/* A resource with this service.name, and host.name unless NULL. */
static inline uint32_t rows_process(struct batch *b, const char *service, const char *host)
{
	uint32_t resource = batch_resource(b), first = (uint32_t)b->attr_n;

	batch_attr_string(b, SLICE("service.name"), slice_cstr(service));
	if (host)
		batch_attr_string(b, SLICE("host.name"), slice_cstr(host));
	b->resources[resource].attrs = (struct attr_range){first, (uint32_t)b->attr_n - first};
	return resource;
}

/* Times are nanoseconds after ROWS_T0; -1 means "not said". */
static inline uint64_t rows_time(int64_t ns)
{
	return ns < 0 ? 0 : (uint64_t)(ROWS_T0 + ns);
}

static inline struct event *rows_add(struct batch *b, enum event_type type, span_id_t id1,
				     span_id_t id2, int64_t time, uint32_t process)
{
	struct event *e = batch_event(b);

	memset(e->trace_id.b, 7, sizeof(e->trace_id.b));
	e->type = (uint8_t)type;
	e->format = type == EVENT_SPAN ? FORMAT_OTLP : FORMAT_NATIVE;
	e->id1 = id1;
	e->id2 = id2;
	e->time_ns = rows_time(time);
	e->resource = process;
	return e;
}

static inline struct event *rows_span(struct batch *b, span_id_t id, span_id_t parent,
				      int64_t begin, int64_t end, uint32_t process, int32_t kind)
{
	char name[32];
	struct event *e = rows_add(b, EVENT_SPAN, id, parent, begin, process);
	int n = snprintf(name, sizeof(name), "op%llu", (unsigned long long)id);

	e->end_ns = rows_time(end);
	e->kind = kind;
	e->name = batch_string(b, slice_of(name, (size_t)n));
	return e;
}

/* The newest event gets an attribute. */
static inline void rows_attr(struct batch *b, const char *key, const char *value)
{
	struct event *e = &b->events[b->event_n - 1];

	if (e->attrs.count == 0)
		e->attrs.first = (uint32_t)b->attr_n;
	batch_attr_string(b, slice_cstr(key), slice_cstr(value));
	e->attrs.count++;
}

/* The newest event happened here. */
static inline void rows_place(struct batch *b, span_id_t unit, uint64_t seq)
{
	batch_place(b, (uint32_t)b->event_n - 1, (struct event_place){unit, seq});
}

/* The trace of these batches, rows shuffled unless seed is 0.  Checked.  The batches must live. */
static inline struct trace *rows_build(struct batch **batches, size_t n, unsigned flags,
				       uint64_t seed)
{
	struct event_ref *refs;
	struct trace *t = NULL;
	struct rng rng = {seed};
	size_t total = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		total += batches[i]->event_n;
	refs = malloc((total + 1) * sizeof(*refs));
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < batches[i]->event_n; j++)
			refs[at++] = (struct event_ref){batches[i], j};
	for (size_t i = total; seed && i > 1; i--) {
		size_t other = rng_below(&rng, i);
		struct event_ref held = refs[i - 1];

		refs[i - 1] = refs[other];
		refs[other] = held;
	}
	assert_int_equal(trace_build(refs, total, flags, &t), 0);
	free(refs);
	assert_true(trace_check(t));
	return t;
}

static inline struct trace *rows_trace(struct batch *b)
{
	return rows_build(&b, 1, 0, 0);
}

/* The same in nanoseconds after ROWS_T0. */
static inline int64_t rows_begin(const struct trace *t, uint32_t block)
{
	return t->blocks[block].begin_ns - ROWS_T0;
}

static inline int64_t rows_end(const struct trace *t, uint32_t block)
{
	return t->blocks[block].end_ns - ROWS_T0;
}

static inline size_t rows_edges(const struct trace *t, enum trace_edge_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < t->edge_n; i++)
		n += t->edges[i].kind == kind;
	return n;
}

#endif
