/* Whatever comes, in whatever order: the invariants hold and the result is the same. */
#include "t.h"

#include "model/event_order.h"
#include "model/random_rows.h"

#define ROUNDS 4000

static void assert_same_trace(const struct trace *a, const struct trace *b)
{
	assert_int_equal(a->row_n, b->row_n);
	for (size_t i = 0; i < a->row_n; i++)
		assert_int_equal(event_cmp(a->rows[i], b->rows[i]), 0);
	assert_int_equal(a->block_n, b->block_n);
	if (a->block_n)
		assert_memory_equal(a->blocks, b->blocks, a->block_n * sizeof(*a->blocks));
	assert_int_equal(a->point_n, b->point_n);
	if (a->point_n)
		assert_memory_equal(a->points, b->points, a->point_n * sizeof(*a->points));
	assert_int_equal(a->edge_n, b->edge_n);
	if (a->edge_n)
		assert_memory_equal(a->edges, b->edges, a->edge_n * sizeof(*a->edges));
	assert_int_equal(a->link_n, b->link_n);
	if (a->link_n)
		assert_memory_equal(a->links, b->links, a->link_n * sizeof(*a->links));
	assert_int_equal(a->skew_n, b->skew_n);
	if (a->skew_n)
		assert_memory_equal(a->skews, b->skews, a->skew_n * sizeof(*a->skews));
	assert_int_equal(a->counter_n, b->counter_n);
	for (size_t i = 0; i < a->counter_n; i++) {
		assert_int_equal(a->counters[i].row, b->counters[i].row);
		assert_int_equal(a->counters[i].block, b->counters[i].block);
		assert_int_equal(a->counters[i].time_ns, b->counters[i].time_ns);
	}
	assert_int_equal(a->unit_n, b->unit_n);
	for (size_t i = 0; i < a->unit_n; i++) {
		assert_int_equal(a->units[i].id, b->units[i].id);
		assert_int_equal(a->units[i].parent, b->units[i].parent);
		assert_int_equal(a->units[i].repairs, b->units[i].repairs);
	}
	assert_int_equal(a->process_n, b->process_n);
	for (size_t i = 0; i < a->process_n; i++) {
		assert_slice_equal(a->processes[i].service, b->processes[i].service);
		assert_int_equal(a->processes[i].offset_ns, b->processes[i].offset_ns);
	}
	assert_int_equal(a->repairs, b->repairs);
	assert_int_equal(a->duplicates, b->duplicates);
	assert_int_equal(a->begin_ns, b->begin_ns);
	assert_int_equal(a->end_ns, b->end_ns);
}

static void the_order_of_arrival_does_not_matter(void **state)
{
	struct rng rng = {11};

	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(i % RANDOM_TASTES), 25);
		struct trace *t = rows_build(r.batches, RANDOM_BATCHES, 0, 0);

		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct trace *shuffled = rows_build(r.batches, RANDOM_BATCHES, 0, seed);

			assert_same_trace(t, shuffled);
			trace_free(shuffled);
		}
		trace_free(t);
	}
}

static void no_violation_is_made_worse_by_alignment(void **state)
{
	struct rng rng = {12};

	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(i % RANDOM_TASTES), 25);
		struct trace *t = rows_build(r.batches, RANDOM_BATCHES, 0, 0);

		for (size_t j = 0; j < t->skew_n; j++) {
			const struct trace_skew *s = &t->skews[j];

			if (s->applied_ns == 0)
				continue;
			if (s->low_ns != INT64_MIN && s->applied_ns < s->low_ns)
				assert_true(s->applied_ns >= 0);
			if (s->high_ns != INT64_MAX && s->applied_ns > s->high_ns)
				assert_true(s->applied_ns <= 0);
		}
		trace_free(t);
	}
}

/* A chain, a star and random trees of many blocks, without recursion and without n². */
static void large_traces_of_any_shape_are_built(void **state)
{
	enum { N = 100000 };

	for (int shape = 0; shape < 4; shape++) {
		_cleanup_(batch_unrefp)
		struct batch *b = rows_new();
		uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL);
		struct rng rng = {(uint64_t)shape};
		struct trace *t;

		for (span_id_t i = 1; i <= N; i++) {
			span_id_t parent = shape == 0   ? i - 1
					   : shape == 1 ? i > 1
					   : shape == 2 ? rng_below(&rng, i)
							: (i - 1) / 2;

			rows_span(b, i * 0x9e3779b97f4a7c15ULL, parent * 0x9e3779b97f4a7c15ULL,
				  shape == 3 ? -1 : (int64_t)i, shape == 3 ? -1 : 10 * N,
				  i % 2 ? p : q, KIND_INTERNAL);
		}
		t = rows_build(&b, 1, 0, 5);
		assert_int_equal(t->block_n, N);
		if (shape == 0)
			assert_int_equal(t->blocks[N - 1].depth, N - 1);
		trace_free(t);
	}
}

/* One id claimed by everybody must not be quadratic either. */
static void a_crowd_with_one_id_is_built(void **state)
{
	enum { N = 50000 };
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL);
	struct trace *t;

	for (int i = 0; i < N; i++) {
		rows_span(b, 1, 2, i, i + 1, i % 2 ? p : q, i % 6);
		rows_add(b, EVENT_BEGIN, 2, 1, i, p);
		rows_add(b, EVENT_END, 2, 1, 2 * i, q);
		rows_add(b, EVENT_SEND, 2, 3, 2 * i, q);
		rows_add(b, EVENT_RECEIVE, 1, 3, 2 * i, q);
		rows_add(b, EVENT_LOCK_ACQUIRE, 1, 3, 2 * i, q);
		rows_add(b, EVENT_LOCK_RELEASE, 1, 3, 2 * i + 1, q);
	}
	t = rows_trace(b);
	assert_int_equal(t->block_n, 2 * N + t->inferred_n);
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_arrival_does_not_matter),
		cmocka_unit_test(no_violation_is_made_worse_by_alignment),
		cmocka_unit_test(large_traces_of_any_shape_are_built),
		cmocka_unit_test(a_crowd_with_one_id_is_built),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
