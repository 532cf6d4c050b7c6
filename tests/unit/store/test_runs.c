#include "store/runs_t.h"

#include <pthread.h>
#include <stdatomic.h>

#include "store/runs.h"

static void neighbouring_rows_of_a_trace_are_one_run(void **state)
{
	static const uint32_t first[] = {7, 7, 7, 8, 7}, second[] = {8, 7};
	struct event_set set = {0};
	struct runs r;
	struct runs_mark mark;
	const struct run *run;

	runs_init(&r);
	assert_int_equal(runs_add(&r, batch_of(first, 5), NULL, 41), 0);
	assert_int_equal(runs_add(&r, batch_of(second, 2), NULL, 42), 0);
	mark = runs_mark(&r);
	assert_int_equal(mark.batches, 2);
	assert_int_equal(mark.traces, 2);
	assert_int_equal(mark.runs, 5);
	assert_int_equal(r.event_n, 7);
	assert_true(r.bytes > 7 * sizeof(struct event));

	run = runs_first(&r, mark, runs_find(&r, id_of(7)));
	assert_int_equal(run->count, 3);
	run = runs_next(&r, mark, run);
	assert_int_equal(run->first, 4);
	assert_int_equal(runs_seq(&r, run->batch), 41);
	run = runs_next(&r, mark, run);
	assert_int_equal(runs_seq(&r, run->batch), 42);
	assert_null(runs_next(&r, mark, run));
	assert_int_equal(runs_find(&r, id_of(9)), RUNS_NONE);
	assert_true(runs_events(&r, mark, runs_find(&r, id_of(7)), &set));
	assert_int_equal(set.n, 5);
	event_set_done(&set);
	runs_done(&r);
}

static void a_mark_does_not_show_what_came_after_it(void **state)
{
	static const uint32_t first[] = {7}, second[] = {7, 9};
	struct runs_mark before;
	struct runs r;

	runs_init(&r);
	assert_int_equal(runs_add(&r, batch_of(first, 1), NULL, 1), 0);
	before = runs_mark(&r);
	assert_int_equal(runs_add(&r, batch_of(second, 2), NULL, 2), 0);
	assert_null(runs_next(&r, before, runs_first(&r, before, runs_find(&r, id_of(7)))));
	assert_null(runs_first(&r, before, runs_find(&r, id_of(9))));
	assert_non_null(runs_first(&r, runs_mark(&r), runs_find(&r, id_of(9))));
	runs_done(&r);
}

static void runs_may_be_found_before_they_are_added(void **state)
{
	static const uint32_t traces[] = {7, 7, 8, 7};
	struct batch *b = batch_of(traces, 4);
	struct run_list *list;
	struct runs r;

	b->events[0].time_ns = 50;
	b->events[1].time_ns = 40;
	b->events[3].id2 = 1;
	b->events[2].type = EVENT_POINT;
	list = run_list_new(b);
	assert_non_null(list);
	runs_init(&r);
	assert_int_equal(runs_add(&r, b, list, 1), 0);
	free(list);
	assert_int_equal(r.span_n, 3);
	assert_int_equal(runs_mark(&r).traces, 2);
	assert_int_equal(runs_start_ns(&r, runs_find(&r, id_of(7))), 40);
	assert_true(runs_rooted(&r, runs_find(&r, id_of(7))));
	assert_false(runs_rooted(&r, runs_find(&r, id_of(8))));
	runs_done(&r);
}

#define ROUNDS 3000

struct walk {
	struct runs *runs;
	_Atomic bool stop;
	_Atomic uint64_t walks;
};

/* Whatever the mark shows adds up: as many rows as the batches it shows brought. */
static void *walker(void *argument)
{
	struct walk *w = argument;

	while (!atomic_load(&w->stop)) {
		struct runs_mark mark = runs_mark(w->runs);
		uint64_t rows = 0;

		for (uint32_t t = 0; t < mark.traces; t++)
			for (const struct run *run = runs_first(w->runs, mark, t); run;
			     run = runs_next(w->runs, mark, run)) {
				struct batch *b = runs_batch(w->runs, run->batch);

				assert_true(trace_id_eq(b->events[run->first].trace_id,
							runs_trace_id(w->runs, t)));
				rows += run->count;
			}
		assert_int_equal(rows, mark.runs); /* each row is a run here */
		atomic_fetch_add(&w->walks, 1);
	}
	return NULL;
}

static void walkers_need_no_lock_while_batches_are_added(void **state)
{
	struct runs r;
	struct walk w = {.runs = &r};
	pthread_t thread;

	runs_init(&r);
	assert_int_equal(pthread_create(&thread, NULL, walker, &w), 0);
	for (uint32_t i = 0; i < ROUNDS || atomic_load(&w.walks) < 3; i++) {
		uint32_t traces[] = {i, i / 2, i / 3 + 1000000};

		if (i < ROUNDS)
			assert_int_equal(runs_add(&r, batch_of(traces, i == 0 ? 1 : 3), NULL, i),
					 0);
	}
	atomic_store(&w.stop, true);
	pthread_join(thread, NULL);
	runs_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbouring_rows_of_a_trace_are_one_run),
		cmocka_unit_test(a_mark_does_not_show_what_came_after_it),
		cmocka_unit_test(runs_may_be_found_before_they_are_added),
		cmocka_unit_test(walkers_need_no_lock_while_batches_are_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
