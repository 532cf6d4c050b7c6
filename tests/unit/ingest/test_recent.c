#include "t.h"

#include <stdio.h>

#include "ingest/recent.h"

#define WINDOW 1000

static struct recent_key key_of(struct recent *r, const char *body)
{
	return recent_key(r, slice_cstr(body), SLICE("local"), 0);
}

static void a_body_is_known_for_the_window(void **state)
{
	struct recent *r;
	struct recent_key a;

	assert_int_equal(recent_new(WINDOW, 100, &r), 0);
	a = key_of(r, "a");
	assert_false(recent_has(r, a, 0));
	recent_add(r, a, 0);
	assert_true(recent_has(r, a, 1));
	assert_true(recent_has(r, a, WINDOW - 1));
	assert_true(recent_has(r, a, WINDOW)); /* less than twice as long */
	assert_false(recent_has(r, a, 2 * WINDOW));
	recent_free(r);
}

static void a_long_silence_forgets_everything(void **state)
{
	struct recent *r;
	struct recent_key a;

	assert_int_equal(recent_new(WINDOW, 100, &r), 0);
	a = key_of(r, "a");
	recent_add(r, a, 0);
	assert_false(recent_has(r, a, 50 * WINDOW));
	recent_free(r);
}

static void owner_and_kind_are_part_of_it(void **state)
{
	struct recent *r;

	assert_int_equal(recent_new(WINDOW, 100, &r), 0);
	recent_add(r, recent_key(r, SLICE("body"), SLICE("one"), 0), 0);
	assert_true(recent_has(r, recent_key(r, SLICE("body"), SLICE("one"), 0), 1));
	assert_false(recent_has(r, recent_key(r, SLICE("body"), SLICE("two"), 0), 1));
	assert_false(recent_has(r, recent_key(r, SLICE("body"), SLICE("one"), 1), 1));
	recent_free(r);
}

static void memory_is_bounded_and_the_newest_half_is_known(void **state)
{
	struct recent *r;
	char body[32];
	int known = 0;

	assert_int_equal(recent_new(WINDOW, 64, &r), 0);
	for (int i = 0; i < 10000; i++) {
		snprintf(body, sizeof(body), "%d", i);
		recent_add(r, key_of(r, body), 1);
		assert_true(recent_has(r, key_of(r, body), 1));
	}
	for (int i = 10000 - 32; i < 10000; i++) {
		snprintf(body, sizeof(body), "%d", i);
		known += recent_has(r, key_of(r, body), 1);
	}
	assert_int_equal(known, 32);
	recent_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_is_known_for_the_window),
		cmocka_unit_test(a_long_silence_forgets_everything),
		cmocka_unit_test(owner_and_kind_are_part_of_it),
		cmocka_unit_test(memory_is_bounded_and_the_newest_half_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
