/* What a query may take. */
#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "exec/budget.h"

static void *work(void *context)
{
	struct budget *b = context;

	assert_int_equal(budget_check(b), 0);
	return (void *)(intptr_t)sched_getscheduler(0);
}

static int policy_after_work(struct budget *b)
{
	pthread_t thread;
	void *policy = NULL;

	assert_int_equal(pthread_create(&thread, NULL, work, b), 0);
	pthread_join(thread, &policy);
	return (int)(intptr_t)policy;
}

static void threads_give_way_when_it_takes_long(void **state)
{
	int before = sched_getscheduler(0);
	struct budget b;

	budget_init(&b, NULL, 0, 0);
	assert_int_equal(policy_after_work(&b), before);
	budget_give_way(&b, (int64_t)3600 * 1000000000);
	assert_int_equal(policy_after_work(&b), before);
	budget_give_way(&b, -1);
	assert_int_equal(policy_after_work(&b), SCHED_IDLE);
	assert_int_equal(sched_getscheduler(0), before);
}

static void the_first_reason_to_stop_counts_for_everybody(void **state)
{
	_Atomic bool cancel = false;
	struct budget b;

	budget_init(&b, &cancel, 0, 100);
	assert_int_equal(budget_check(&b), 0);
	assert_int_equal(budget_take(&b, 100), 0);
	assert_int_equal(budget_take(&b, 1), -ENOSPC);
	atomic_store(&cancel, true);
	assert_int_equal(budget_check(&b), -ENOSPC);

	budget_init(&b, &cancel, 0, 0);
	assert_int_equal(budget_check(&b), -ECANCELED);
	budget_init(&b, NULL, 1, 0);
	usleep(1000);
	assert_int_equal(budget_check(&b), -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_give_way_when_it_takes_long),
		cmocka_unit_test(the_first_reason_to_stop_counts_for_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
