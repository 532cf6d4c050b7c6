/* Batches of spans for the tests of this folder. */
#ifndef CAUSET_TESTS_UNIT_FEATURE_ROWS_H
#define CAUSET_TESTS_UNIT_FEATURE_ROWS_H

#include "t.h"

#include "model/batch.h"

static inline struct batch *batch_for(const char *service)
{
	struct batch *b = batch_new(0);

	assert_non_null(b);
	batch_resource(b);
	batch_scope(b);
	batch_attr_string(b, SLICE("service.name"), slice_cstr(service));
	b->resources[0].attrs = (struct attr_range){0, 1};
	b->owner = batch_string(b, SLICE("local"));
	return b;
}

/* A span of a millisecond; attributes of it may be added before. */
static inline struct event *add_span(struct batch *b, uint64_t trace, span_id_t id,
				     span_id_t parent, enum span_kind kind)
{
	uint32_t name = batch_string(b, SLICE("work"));
	struct event *e = batch_event(b);

	*e = (struct event){.id1 = id,
			    .id2 = parent,
			    .time_ns = 1000000000,
			    .end_ns = 1001000000,
			    .name = name,
			    .kind = kind,
			    .type = EVENT_SPAN};
	store_be64(e->trace_id.b + 8, trace);
	return e;
}

#endif
