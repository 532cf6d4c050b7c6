/* tests/unit/store/engine_t.h - what tests of the engine share: small traces put in, and what
 * became of them. */
#ifndef CAUSET_TESTS_UNIT_STORE_ENGINE_T_H
#define CAUSET_TESTS_UNIT_STORE_ENGINE_T_H

#include "store_t.h"

#include "store/engine_int.h"

/* Traces first … first + n - 1, a span each, in one batch. */
static inline void put_traces(struct store *s, uint32_t first, uint32_t n, int64_t received_ns)
{
	struct batch *b = batch_for("front", received_ns);

	for (uint32_t i = 0; i < n; i++)
		span_add(b, first + i, first + i + 1, 0, 1000 + first + i, 2000 + first + i);
	assert_int_equal(put(s, sealed(b)), 0);
}

static inline size_t rows_of(struct store *s, uint32_t trace)
{
	struct event_set set = {0};
	int r = store_trace(s, trace_of(trace), &set);
	size_t n = set.n;

	assert_true(r == 0 || r == -ENOENT);
	event_set_done(&set);
	return n;
}

static inline size_t segments_of(struct store *s)
{
	struct view *v = engine_view(engine_of(s));
	size_t n = v->segment_n;

	view_unref(v);
	return n;
}

/* How many files in DIR/store end so. */
static inline size_t files_of(const char *dir, const char *ending)
{
	struct fs_names names = {0};
	char path[128];
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/store", dir);
	assert_int_equal(fs_list(fs_real(), path, &names), 0);
	for (size_t i = 0; i < names.n; i++)
		n += slice_ends(slice_cstr(names.items[i]), slice_cstr(ending));
	fs_names_done(&names);
	return n;
}

#endif
