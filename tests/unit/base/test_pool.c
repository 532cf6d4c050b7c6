/* Threads that do what must not be done on a network thread. */
#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"

struct counted {
	struct pool_job job;
	_Atomic int *runs;
	pthread_mutex_t *gate; /* waits here, if any */
};

static void count(struct pool_job *job)
{
	struct counted *c = container_of(job, struct counted, job);

	if (c->gate) {
		pthread_mutex_lock(c->gate);
		pthread_mutex_unlock(c->gate);
	}
	atomic_fetch_add(c->runs, 1);
}

static void every_job_runs_once_even_those_queued_at_the_end(void **state)
{
	enum { N = 1000 };
	static struct counted jobs[N];
	_Atomic int runs = 0;
	struct pool *pool;

	assert_int_equal(pool_start(3, N, &pool), 0);
	for (int i = 0; i < N; i++) {
		jobs[i] = (struct counted){{.run = count}, &runs, NULL};
		assert_int_equal(pool_submit(pool, &jobs[i].job), 0);
	}
	assert_null(pool_stop(pool));
	assert_int_equal(atomic_load(&runs), N);
}

static void a_full_queue_says_so(void **state)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	struct counted jobs[4];
	_Atomic int runs = 0;
	struct pool *pool;
	int accepted = 0;

	pthread_mutex_lock(&gate);
	assert_int_equal(pool_start(1, 2, &pool), 0);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		int r;

		jobs[i] = (struct counted){{.run = count}, &runs, &gate};
		r = pool_submit(pool, &jobs[i].job);
		assert_true(r == 0 || r == -EBUSY);
		accepted += r == 0;
	}
	assert_true(accepted == 2 || accepted == 3); /* two wait, and one may run */
	assert_int_equal(pool_stats(pool).refused, 4 - accepted);
	pthread_mutex_unlock(&gate);
	pool_stop(pool);
	assert_int_equal(atomic_load(&runs), accepted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_runs_once_even_those_queued_at_the_end),
		cmocka_unit_test(a_full_queue_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
