/* What questions hang on: stopped in time, and kept waiting for what is urgent and for nothing
 * else. */
#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/leash.h"
#include "core/clock.h"

#define WALL SHARE_LOOK_NS

/* --- the share --- */

static void what_is_watched_and_waits_halves_the_rate_down_to_the_least(void **state)
{
	struct share s;

	share_init(&s, 2000, 0);
	assert_false(share_is_limited(&s));
	for (int i = 0; i < 20; i++) {
		int64_t before = atomic_load(&s.rate);

		share_adjust(&s, WALL, WALL / 2, WALL / 2);
		assert_int_equal(atomic_load(&s.rate),
				 before / 2 > SHARE_LEAST ? before / 2 : SHARE_LEAST);
	}
	assert_true(share_is_limited(&s));
}

static void what_wants_little_or_does_not_wait_limits_nothing(void **state)
{
	static const struct {
		int64_t ran, waited;
	} rows[] = {
		{0, 0},
		{WALL / 100, WALL / 100}, /* waits as long as it runs, but wants little */
		{2 * WALL, WALL / 10},    /* has both processors nearly whenever it wants them */
	};
	struct share s;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		share_init(&s, 2000, 0);
		share_adjust(&s, WALL, rows[i].ran, rows[i].waited);
		assert_false(share_is_limited(&s));
	}
	/* And what was limited is let go. */
	for (int i = 0; i < 20; i++)
		share_adjust(&s, WALL, WALL, WALL);
	for (int i = 0; i < 100; i++)
		share_adjust(&s, WALL, 0, 0);
	assert_false(share_is_limited(&s));
}

static void a_look_stands_for_those_that_nobody_took(void **state)
{
	struct share s;

	share_init(&s, 2000, 0);
	share_adjust(&s, 3 * WALL, 3 * WALL, WALL);
	assert_int_equal(atomic_load(&s.rate), SHARE_ALL / 8);
	share_adjust(&s, 1000 * WALL, 1000 * WALL, 1000 * WALL);
	assert_int_equal(atomic_load(&s.rate), SHARE_LEAST);
	share_adjust(&s, 1000 * WALL, 0, 0);
	assert_false(share_is_limited(&s));
}

static void waits_matter_where_there_is_something_to_do(void **state)
{
	struct share s;

	share_init(&s, 2000, 0);
	/* Nobody tells. */
	assert_true(share_heeds(&s, WALL, 0, 0));
	share_init(&s, 2000, 0);
	s.told = true;
	/* Woken up now and then, and kept waiting by other processes. */
	for (int i = 0; i < 100; i++)
		assert_false(share_heeds(&s, WALL, i % 5 < 4 ? 0 : WALL / 100, WALL / 2));
	/* One that is kept from all it wants to do has it. */
	assert_true(share_heeds(&s, WALL, 0, WALL));
	/* It begins, and it matters at once; and not long after it has ended. */
	assert_true(share_heeds(&s, WALL, WALL / 50, WALL / 2));
	assert_true(share_heeds(&s, WALL, WALL / 4, WALL / 2));
	for (int i = 0; i < 20; i++)
		assert_true(share_heeds(&s, WALL, WALL / 90, WALL / 2));
	for (int i = 0; i < 30; i++)
		share_heeds(&s, WALL, 0, WALL / 2);
	assert_false(share_heeds(&s, WALL, 0, WALL / 2));
	/* An hour in which nobody looked is one look. */
	assert_false(share_heeds(&s, 3600 * NS_PER_S, NS_PER_S, NS_PER_S));
	assert_false(share_heeds(&s, WALL, 0, WALL / 2));
	assert_true(share_heeds(&s, WALL, WALL / 2, WALL / 2));
}

/* Limited to the least, with nothing left. */
static void share_used_up(struct share *s, int64_t now)
{
	share_init(s, 2000, now);
	atomic_store(&s->rate, SHARE_LEAST);
	share_take(s, 3600 * NS_PER_S);
}

static void questions_get_their_share_over_time_and_no_more(void **state)
{
	int64_t now = 0, got = 0;
	struct share s;

	share_used_up(&s, now);
	assert_true(share_ask(&s, 0, now) > 0);
	/* Ten seconds, in which somebody asks all the time. */
	for (; now < 10 * NS_PER_S; now += NS_PER_MS)
		while (share_ask(&s, 0, now) < 0)
			got += SHARE_STEP_NS;
	assert_in_range(got, 10 * NS_PER_S * 2 * SHARE_LEAST / 1000 - 250 * NS_PER_MS,
			10 * NS_PER_S * 2 * SHARE_LEAST / 1000);
	/* What was saved up in an hour is no more than what may be saved up. */
	now += 3600 * NS_PER_S;
	for (got = 0; share_ask(&s, 0, now) < 0;)
		got += SHARE_STEP_NS;
	assert_int_equal(got, 2 * SHARE_SAVED_NS);
}

static void the_more_wait_the_longer_each_does(void **state)
{
	struct share s;
	int64_t alone, among;

	share_used_up(&s, 0);
	atomic_store(&s.left_ns, 0);
	alone = share_ask(&s, 0, 0);
	atomic_store(&s.waiting, 2);
	among = share_ask(&s, 0, 0);
	assert_true(alone > 0 && among > alone);
	atomic_store(&s.waiting, 1000000);
	assert_true(share_ask(&s, 0, 0) <= NS_PER_S);
}

static void one_that_took_much_leaves_some_to_the_others(void **state)
{
	int64_t now = 0;
	struct share s;

	share_used_up(&s, now);
	while (share_ask(&s, 0, now) > 0)
		now += NS_PER_MS;
	now += 100 * NS_PER_MS; /* something is there, less than half of what can be saved */
	assert_true(share_ask(&s, 2 * SHARE_LIGHT_NS, now) > 0);
	assert_true(share_ask(&s, 0, now) < 0);
}

static void one_that_took_much_lets_light_ones_pass(void **state)
{
	struct share s;

	share_init(&s, 2000, 0);
	assert_false(share_lets_pass(&s, 2 * SHARE_LIGHT_NS, 0));
	assert_false(share_lets_pass(&s, 0, NS_PER_S));
	assert_true(share_lets_pass(&s, 2 * SHARE_LIGHT_NS, NS_PER_S + 1));
	assert_false(share_lets_pass(&s, 2 * SHARE_LIGHT_NS, 2 * NS_PER_S));
}

static void the_process_has_processors(void **state)
{
	assert_in_range(share_processors(), 100, 1000 * 4096);
}

struct busy {
	_Atomic bool stop;
	_Atomic int ready;
};

static void *be_busy(void *context)
{
	struct busy *b = context;

	atomic_fetch_add(&b->ready, 1);
	while (!atomic_load(&b->stop))
		;
	return NULL;
}

/* More threads than processors, all of them urgent. */
static void threads_are_watched_by_their_names(void **state)
{
	enum { N = 3 };
	struct busy busy = {.stop = false};
	pthread_t threads[N];
	cpu_set_t one;
	struct share s;

	share_init(&s, 1000, clock_mono_ns());
	assert_int_equal(share_watch(&s, "nobody", false), 0);
	CPU_ZERO(&one);
	assert_int_equal(sched_getaffinity(0, sizeof(one), &one), 0);
	for (int i = 0, first = -1; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &one) && first < 0)
			first = i;
		else
			CPU_CLR(i, &one);
	for (int i = 0; i < N; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, be_busy, &busy), 0);
		pthread_setname_np(threads[i], "urgent");
		pthread_setaffinity_np(threads[i], sizeof(one), &one);
	}
	while (atomic_load(&busy.ready) < N)
		sched_yield();
	if (share_watch(&s, "urgent", true) < N) {
		atomic_store(&busy.stop, true);
		for (int i = 0; i < N; i++)
			pthread_join(threads[i], NULL);
		share_done(&s);
		print_message("the kernel does not tell how long threads wait\n");
		skip();
	}
	while (!share_is_limited(&s)) { /* or the test takes too long */
		share_look(&s, clock_mono_ns());
		sched_yield();
	}
	atomic_store(&busy.stop, true);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	while (share_is_limited(&s)) {
		share_look(&s, clock_mono_ns());
		sched_yield();
	}
	share_done(&s);
}

/* --- leashes --- */

static void without_a_leash_nothing_is_stopped(void **state)
{
	assert_null(leash_held());
	assert_int_equal(leash_check(), 0);
	assert_int_equal(leash_stopped(), 0);
}

static void a_leash_says_when_to_stop(void **state)
{
	_Atomic bool cancel = false;
	struct leash l;

	leash_begin(&l, NULL, &cancel, 0);
	assert_ptr_equal(leash_held(), &l);
	assert_int_equal(leash_check(), 0);
	atomic_store(&cancel, true);
	assert_int_equal(leash_check(), -ECANCELED);
	assert_int_equal(leash_stopped(), -ECANCELED);
	leash_end(&l);
	assert_int_equal(leash_check(), 0);
	leash_begin(&l, NULL, NULL, clock_mono_ns() - 1);
	assert_int_equal(leash_check(), -ETIMEDOUT);
	leash_end(&l);
	leash_begin(&l, NULL, NULL, clock_mono_ns() + 3600 * NS_PER_S);
	assert_int_equal(leash_check(), 0);
	leash_end(&l);
}

static void *help(void *context)
{
	bool held = leash_hold(context);
	int64_t until = share_thread_ns() + 5 * NS_PER_MS;

	assert_true(held);
	while (share_thread_ns() < until)
		leash_check();
	leash_drop();
	assert_null(leash_held());
	return NULL;
}

static void helping_threads_hold_the_same_and_are_counted(void **state)
{
	struct leash l;
	struct share s;
	pthread_t thread;

	share_init(&s, 1000, clock_mono_ns());
	leash_begin(&l, &s, NULL, 0);
	assert_false(leash_hold(&l)); /* it has it already */
	assert_int_equal(pthread_create(&thread, NULL, help, &l), 0);
	pthread_join(thread, NULL);
	assert_in_range(atomic_load(&l.taken_ns), 5 * NS_PER_MS, NS_PER_S);
	leash_end(&l);
}

static void *ask_and_wait(void *context)
{
	struct share *s = context;
	struct leash l;
	static _Atomic bool cancel;

	/* Nothing is left, and nothing will be for long: only being stopped ends the wait. */
	atomic_store(&cancel, false);
	leash_begin(&l, s, &cancel, clock_mono_ns() + 20 * NS_PER_MS);
	assert_int_equal(leash_check(), -ETIMEDOUT);
	leash_end(&l);
	return NULL;
}

static void one_that_waits_for_its_turn_is_stopped_too(void **state)
{
	struct share s;
	pthread_t thread;

	share_init(&s, 100, clock_mono_ns());
	atomic_store(&s.rate, 1);
	share_take(&s, 3600 * NS_PER_S);
	assert_int_equal(pthread_create(&thread, NULL, ask_and_wait, &s), 0);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&s.waits) > 0);
}

/* Who can stop it may not be known yet when it begins. */
static void a_turn_is_waited_for_at_the_first_check(void **state)
{
	struct share s;
	struct leash l;

	share_init(&s, 100, clock_mono_ns());
	atomic_store(&s.rate, 1);
	share_take(&s, 3600 * NS_PER_S);
	leash_begin(&l, &s, NULL, clock_mono_ns() + 20 * NS_PER_MS);
	assert_int_equal(atomic_load(&s.waits), 0);
	assert_int_equal(leash_check(), -ETIMEDOUT);
	assert_int_equal(atomic_load(&s.waits), 1);
	leash_end(&l);
}

static void work_for(int64_t cpu_ns)
{
	int64_t until = share_thread_ns() + cpu_ns;

	while (share_thread_ns() < until)
		;
}

/* There is always something for light questions, and never enough for one that took much. */
static void one_that_waited_long_has_more_than_one_turn(void **state)
{
	struct share s;
	struct leash l;

	/* Of many processors: a busy machine may let two milliseconds of work count as twenty. */
	share_init(&s, 64000, clock_mono_ns());
	atomic_store(&s.rate, 1);
	share_take(&s, SHARE_SAVED_NS * 64 * 3 / 4);
	leash_begin(&l, &s, NULL, 0);
	atomic_store(&l.taken_ns, 2 * SHARE_LIGHT_NS);
	assert_int_equal(leash_check(), 0);
	assert_int_equal(atomic_load(&s.waits), 1);
	for (int i = 0; i < 4; i++) {
		work_for(2 * NS_PER_MS);
		assert_int_equal(leash_check(), 0);
		assert_int_equal(atomic_load(&s.waits), 1);
		share_take(&s, -2 * NS_PER_MS);
	}
	/* Not for ever: it has had what a light one may have. */
	atomic_fetch_add(&l.taken_ns, SHARE_LIGHT_NS);
	l.end_ns = clock_mono_ns() + 20 * NS_PER_MS;
	work_for(2 * NS_PER_MS);
	assert_int_equal(leash_check(), -ETIMEDOUT);
	leash_end(&l);
}

/* Light questions that are limited go one after the other; those that took much, beside them. */
static void light_ones_wait_for_a_seat(void **state)
{
	struct seat others[8] = {0};
	struct share s;
	struct leash l;

	share_init(&s, 1000, clock_mono_ns());
	assert_in_range(share_seats(&s), 2, 3);
	atomic_store(&s.rate, SHARE_LEAST);
	for (unsigned i = 0; i < share_seats(&s); i++)
		assert_true(seats_take(&s.seats, &others[i], share_seats(&s), 0));
	leash_begin(&l, &s, NULL, clock_mono_ns() + 20 * NS_PER_MS);
	assert_int_equal(leash_check(), -ETIMEDOUT);
	leash_end(&l);
	assert_null(s.seats.first); /* it has left the line */
	leash_begin(&l, &s, NULL, 0);
	atomic_store(&l.taken_ns, 2 * SHARE_LIGHT_NS);
	assert_int_equal(leash_check(), 0);
	leash_end(&l);
	seats_leave(&s.seats, &others[0]);
	leash_begin(&l, &s, NULL, 0);
	assert_int_equal(leash_check(), 0);
	assert_true(l.seat.taken);
	/* What is held in pieces has none in between. */
	leash_end(&l);
	assert_false(l.seat.taken);
	/* Nobody needs one where nothing is limited. */
	assert_true(seats_take(&s.seats, &others[0], share_seats(&s), 0));
	atomic_store(&s.rate, SHARE_ALL);
	leash_begin(&l, &s, NULL, 0);
	assert_int_equal(leash_check(), 0);
	assert_false(l.seat.taken);
	leash_end(&l);
	share_done(&s);
}

static void nobody_lets_others_pass_where_nothing_is_limited(void **state)
{
	struct share s;
	struct leash l;
	int64_t light;

	share_init(&s, 1000, clock_mono_ns());
	light = atomic_load(&s.light_ns);
	leash_begin(&l, &s, NULL, 0);
	assert_int_equal(leash_check(), 0);
	leash_end(&l);
	assert_int_equal(atomic_load(&s.light_ns), light);
}

static void what_is_held_again_and_again_is_counted_together(void **state)
{
	struct share s;
	struct leash l;

	share_init(&s, 1000, clock_mono_ns());
	leash_init(&l, &s, NULL, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(leash_hold(&l));
		work_for(NS_PER_MS);
		leash_drop();
	}
	assert_in_range(atomic_load(&l.taken_ns), 3 * NS_PER_MS, NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_watched_and_waits_halves_the_rate_down_to_the_least),
		cmocka_unit_test(what_wants_little_or_does_not_wait_limits_nothing),
		cmocka_unit_test(a_look_stands_for_those_that_nobody_took),
		cmocka_unit_test(waits_matter_where_there_is_something_to_do),
		cmocka_unit_test(questions_get_their_share_over_time_and_no_more),
		cmocka_unit_test(the_more_wait_the_longer_each_does),
		cmocka_unit_test(one_that_took_much_leaves_some_to_the_others),
		cmocka_unit_test(one_that_took_much_lets_light_ones_pass),
		cmocka_unit_test(the_process_has_processors),
		cmocka_unit_test(threads_are_watched_by_their_names),
		cmocka_unit_test(without_a_leash_nothing_is_stopped),
		cmocka_unit_test(a_leash_says_when_to_stop),
		cmocka_unit_test(helping_threads_hold_the_same_and_are_counted),
		cmocka_unit_test(one_that_waits_for_its_turn_is_stopped_too),
		cmocka_unit_test(a_turn_is_waited_for_at_the_first_check),
		cmocka_unit_test(one_that_waited_long_has_more_than_one_turn),
		cmocka_unit_test(light_ones_wait_for_a_seat),
		cmocka_unit_test(nobody_lets_others_pass_where_nothing_is_limited),
		cmocka_unit_test(what_is_held_again_and_again_is_counted_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
