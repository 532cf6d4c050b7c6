#include "store/runs_t.h"

#include "base/rng.h"
#include "store/run_list.h"

static void the_runs_of_a_trace_come_together(void **state)
{
	static const uint32_t traces[] = {7, 7, 8, 7};
	struct batch *b = batch_of(traces, 4);
	struct run_list *list;

	b->events[0].time_ns = 50;
	b->events[1].time_ns = 40;
	b->events[3].id2 = 1;
	b->events[2].type = EVENT_POINT;
	list = run_list_new(b);
	assert_non_null(list);
	assert_int_equal(list->n, 3);
	assert_int_equal(list->n, run_list_count(b));
	assert_int_equal(list->span_n, 3);
	assert_int_equal(list->trace_n, 2);
	assert_int_equal(list->traces[0].start_ns, 40);
	assert_true(list->traces[0].rooted);
	assert_int_equal(list->traces[0].first, 0);
	assert_int_equal(list->traces[0].last, 2);
	assert_int_equal(list->pieces[0].count, 2);
	assert_int_equal(list->pieces[0].next, 2);
	assert_int_equal(list->pieces[2].first, 3);
	assert_int_equal(list->pieces[2].next, RUNS_NONE);
	assert_int_equal(list->traces[1].start_ns, INT64_MAX);
	assert_false(list->traces[1].rooted);
	assert_int_equal(list->traces[1].first, 1);
	assert_int_equal(list->traces[1].last, 1);
	free(list);
	batch_unref(b);
}

static void a_batch_without_rows_has_no_runs(void **state)
{
	struct batch *b = batch_of(NULL, 0);
	struct run_list *list = run_list_new(b);

	assert_non_null(list);
	assert_int_equal(list->n, 0);
	assert_int_equal(list->trace_n, 0);
	free(list);
	batch_unref(b);
}

enum { ROWS = 200000 };

/* Each row once, and those of a trace in their order, however often it has an entry. */
static void check(const struct batch *b, const struct run_list *list, uint32_t *behind)
{
	size_t rows = 0, runs = 0;

	for (uint32_t t = 0; t < list->trace_n; t++) {
		const struct run_trace *trace = &list->traces[t];
		uint32_t at = trace->first, last = RUNS_NONE;

		for (; at != RUNS_NONE; last = at, at = list->pieces[at].next, runs++) {
			const struct run_piece *p = &list->pieces[at];

			for (uint32_t i = p->first; i < p->first + p->count; i++, rows++) {
				uint32_t n;

				assert_true(trace_id_eq(b->events[i].trace_id, trace->id));
				memcpy(&n, trace->id.b + 8, sizeof(n));
				assert_true(i >= behind[n]);
				behind[n] = i + 1;
			}
		}
		assert_int_equal(last, trace->last);
	}
	assert_int_equal(rows, b->event_n);
	assert_int_equal(runs, list->n);
}

/* Few traces, more than there are slots, and more than a slot can name. */
static void any_number_of_traces_is_found_whole(void **state)
{
	static const uint32_t counts[] = {1, 3, 130, 3000, ROWS};
	uint32_t *traces = malloc(ROWS * sizeof(*traces));
	struct rng rng = {7};

	assert_non_null(traces);
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		uint32_t *behind = calloc(ROWS, sizeof(*behind));
		struct run_list *list;
		struct batch *b;

		assert_non_null(behind);
		for (size_t i = 0; i < ROWS; i++)
			traces[i] = (uint32_t)rng_below(&rng, counts[c]);
		b = batch_of(traces, ROWS);
		list = run_list_new(b);
		assert_non_null(list);
		check(b, list, behind);
		free(list);
		free(behind);
		batch_unref(b);
	}
	free(traces);
}

/* A factor of core/hash.h that everybody knows: ids that begin with it all had one hash, so that
 * each was looked for among all the others. */
static void nobody_chooses_ids_that_collide(void **state)
{
	enum { MANY = 1000 };
	const uint64_t known = 0xe7037ed1a0b428dbULL;
	uint32_t traces[MANY] = {0};
	struct batch *b = batch_of(traces, MANY);
	struct run_list *list;
	uint32_t same = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		memcpy(b->events[i].trace_id.b, &known, sizeof(known));
		memcpy(b->events[i].trace_id.b + 8, &i, sizeof(i));
	}
	list = run_list_new(b);
	assert_non_null(list);
	assert_int_equal(list->trace_n, MANY);
	for (uint32_t i = 1; i < MANY; i++)
		same += list->traces[i].hash == list->traces[0].hash;
	assert_true(same < 10);
	free(list);
	batch_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_runs_of_a_trace_come_together),
		cmocka_unit_test(a_batch_without_rows_has_no_runs),
		cmocka_unit_test(any_number_of_traces_is_found_whole),
		cmocka_unit_test(nobody_chooses_ids_that_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
