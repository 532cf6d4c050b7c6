/* tests/unit/store/runs_t.h - batches of rows that only say which trace they belong to. */
#ifndef CAUSET_TESTS_UNIT_STORE_RUNS_T_H
#define CAUSET_TESTS_UNIT_STORE_RUNS_T_H

#include "t.h"

#include "model/batch.h"

static inline struct trace_id id_of(uint32_t n)
{
	struct trace_id id = {.b = {1}};

	memcpy(id.b + 8, &n, sizeof(n));
	return id;
}

/* A batch whose rows belong to these traces, one after the other. */
static inline struct batch *batch_of(const uint32_t *traces, size_t n)
{
	struct batch *b = batch_new(0);

	assert_non_null(b);
	batch_resource(b);
	batch_scope(b);
	for (size_t i = 0; i < n; i++)
		*batch_event(b) = (struct event){
			.trace_id = id_of(traces[i]), .id1 = i + 1, .type = EVENT_SPAN};
	assert_int_equal(batch_seal(b), 0);
	return b;
}

#endif
