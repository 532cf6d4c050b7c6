/* Threads that do what must not be done on a network thread. */
#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "core/clock.h"

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

	assert_int_equal(pool_start(3, N, NULL, &pool), 0);
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
	assert_int_equal(pool_start(1, 2, NULL, &pool), 0);
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

/* --- shares --- */

static void a_share_grows_with_time_up_to_what_can_be_saved(void **state)
{
	struct share s;
	int64_t now = NS_PER_S;

	share_init(&s, 2, now);
	assert_true(share_left(&s, now));
	share_take(&s, 2 * SHARE_SAVED_NS + NS_PER_MS);
	assert_false(share_left(&s, now));
	now += NS_PER_S / 100; /* of which the share is less than a millisecond */
	assert_false(share_left(&s, now));
	now += NS_PER_S;
	assert_true(share_left(&s, now));
	now += 3600 * NS_PER_S;
	assert_true(share_left(&s, now));
	share_take(&s, 2 * SHARE_SAVED_NS); /* no more than that was saved */
	assert_false(share_left(&s, now));
}

static void what_is_owed_is_paid_back_within_minutes(void **state)
{
	struct share s;

	share_init(&s, 1, 0);
	share_take(&s, 24 * 3600 * NS_PER_S);
	assert_false(share_left(&s, NS_PER_S));
	assert_true(share_left(&s, 120 * NS_PER_S));
}

struct ranked {
	struct pool_job job;
	int policy;
	_Atomic bool done;
	_Atomic bool *until; /* runs on until this is set, if any */
};

static void note_policy(struct pool_job *job)
{
	struct ranked *r = container_of(job, struct ranked, job);

	while (r->until && !atomic_load(r->until))
		sched_yield();
	r->policy = sched_getscheduler(0);
	atomic_store(&r->done, true);
}

static int policy_of_next(struct pool *pool)
{
	struct ranked r = {.job = {.run = note_policy}};

	assert_int_equal(pool_submit(pool, &r.job), 0);
	while (!atomic_load(&r.done))
		sched_yield();
	return r.policy;
}

static void jobs_give_way_while_the_share_is_used_up_and_not_for_longer(void **state)
{
	struct pool *pool;
	struct share s;

	share_init(&s, 1, clock_mono_ns());
	assert_int_equal(pool_start(2, 8, &s, &pool), 0);
	assert_int_equal(policy_of_next(pool), SCHED_OTHER);
	share_take(&s, 3600 * NS_PER_S);
	for (int i = 0; i < 10; i++)
		assert_int_equal(policy_of_next(pool), SCHED_IDLE);
	share_init(&s, 1, clock_mono_ns());
	for (int i = 0; i < 10; i++)
		assert_int_equal(policy_of_next(pool), SCHED_OTHER);
	assert_true(pool_stats(pool).gave_way >= 10);
	pool_stop(pool);
}

static void a_job_that_takes_long_gives_way_on_its_way(void **state)
{
	_Atomic bool until = false;
	struct ranked r = {.job = {.run = note_policy}, .until = &until};
	struct pool *pool;
	struct share s;
	int64_t begun = clock_mono_ns();

	share_init(&s, 1, begun);
	assert_int_equal(pool_start(1, 8, &s, &pool), 0);
	assert_int_equal(pool_submit(pool, &r.job), 0);
	while (atomic_load(&s.left_ns) == SHARE_SAVED_NS) /* it is charged when it gives way */
		sched_yield();
	atomic_store(&until, true);
	while (!atomic_load(&r.done))
		sched_yield();
	assert_int_equal(r.policy, SCHED_IDLE);
	assert_int_equal(policy_of_next(pool), SCHED_OTHER);
	pool_stop(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_runs_once_even_those_queued_at_the_end),
		cmocka_unit_test(a_full_queue_says_so),
		cmocka_unit_test(a_share_grows_with_time_up_to_what_can_be_saved),
		cmocka_unit_test(what_is_owed_is_paid_back_within_minutes),
		cmocka_unit_test(jobs_give_way_while_the_share_is_used_up_and_not_for_longer),
		cmocka_unit_test(a_job_that_takes_long_gives_way_on_its_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
