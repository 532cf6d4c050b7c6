#include "t.h"

#include <stdio.h>

#include "base/rng.h"
#include "ingest/recent.h"

#define WINDOW 1000
#define SEED   5

/* Known, and nothing begun by asking. */
static bool recent_has(struct recent *r, struct recent_key key, int64_t now_ns)
{
	enum recent_state state = recent_begin(r, key, now_ns);

	if (state == RECENT_NEW)
		recent_end(r, key, false, now_ns);
	return state == RECENT_KNOWN;
}

static struct recent_key key_of(struct recent *r, const char *body)
{
	return recent_key(r, slice_cstr(body), SLICE("local"), 0);
}

static void a_body_is_known_for_the_window(void **state)
{
	struct recent *r;
	struct recent_key a;

	assert_int_equal(recent_new(WINDOW, 100, SEED, &r), 0);
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

	assert_int_equal(recent_new(WINDOW, 100, SEED, &r), 0);
	a = key_of(r, "a");
	recent_add(r, a, 0);
	assert_false(recent_has(r, a, 50 * WINDOW));
	recent_free(r);
}

static void owner_and_kind_are_part_of_it(void **state)
{
	struct recent *r;

	assert_int_equal(recent_new(WINDOW, 100, SEED, &r), 0);
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

	assert_int_equal(recent_new(WINDOW, 64, SEED, &r), 0);
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

static void a_body_under_way_is_neither_new_nor_known(void **state)
{
	struct recent *r;
	struct recent_key a, b;

	assert_int_equal(recent_new(WINDOW, 100, SEED, &r), 0);
	a = key_of(r, "a");
	b = key_of(r, "b");
	assert_int_equal(recent_begin(r, a, 0), RECENT_NEW);
	assert_int_equal(recent_begin(r, a, 1), RECENT_UNDER_WAY);
	assert_int_equal(recent_begin(r, b, 1), RECENT_NEW);
	recent_end(r, a, false, 2);
	assert_int_equal(recent_begin(r, a, 3), RECENT_NEW); /* the first failed: try again */
	recent_end(r, a, true, 4);
	assert_int_equal(recent_begin(r, a, 5), RECENT_KNOWN);
	recent_end(r, b, true, 6);
	recent_free(r);
}

/* Keys under way come and go in any order, and none gets lost behind another that went. */
static void keys_under_way_are_found_whatever_has_gone(void **state)
{
	struct recent *r;
	struct rng rng = {1};
	static bool under_way[3000];

	assert_int_equal(recent_new(1 << 30, 100, SEED, &r), 0);
	for (int i = 0; i < 200000; i++) {
		size_t which = rng_below(&rng, ARRAY_SIZE(under_way));
		struct recent_key key = {which * 37, 1}; /* crowded */

		if (under_way[which]) {
			assert_int_equal(recent_begin(r, key, 1), RECENT_UNDER_WAY);
			recent_end(r, key, false, 1);
		} else {
			assert_int_equal(recent_begin(r, key, 1), RECENT_NEW);
		}
		under_way[which] = !under_way[which];
	}
	recent_free(r);
}

static void the_same_seed_gives_the_same_keys(void **state)
{
	struct recent *r, *again, *other;
	struct recent_key a, b, c;

	assert_int_equal(recent_new(WINDOW, 100, SEED, &r), 0);
	assert_int_equal(recent_new(WINDOW, 100, SEED, &again), 0);
	assert_int_equal(recent_new(WINDOW, 100, SEED + 1, &other), 0);
	a = key_of(r, "a");
	b = key_of(again, "a");
	c = key_of(other, "a");
	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_not_equal(&a, &c, sizeof(a));
	recent_add(again, a, 0);
	assert_true(recent_has(again, b, 1));
	recent_free(r);
	recent_free(again);
	recent_free(other);
}

static void what_is_told_first_is_not_out_of_date(void **state)
{
	struct recent *r;
	struct recent_key a;

	assert_int_equal(recent_new(WINDOW, 100, SEED, &r), 0);
	a = key_of(r, "a");
	recent_add(r, a, 100 * WINDOW); /* the clock began long ago */
	assert_true(recent_has(r, a, 100 * WINDOW + 1));
	recent_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_first_is_not_out_of_date),
		cmocka_unit_test(a_body_is_known_for_the_window),
		cmocka_unit_test(a_long_silence_forgets_everything),
		cmocka_unit_test(owner_and_kind_are_part_of_it),
		cmocka_unit_test(a_body_under_way_is_neither_new_nor_known),
		cmocka_unit_test(keys_under_way_are_found_whatever_has_gone),
		cmocka_unit_test(the_same_seed_gives_the_same_keys),
		cmocka_unit_test(memory_is_bounded_and_the_newest_half_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
