/* A set of series stays bounded, and nothing that is counted gets lost. */
#include "t.h"

#include <stdio.h>

#include "feature/label_series.h"

static int64_t get(struct series_set *s, const char *a, const char *b)
{
	const struct slice labels[] = {slice_cstr(a), slice_cstr(b)};

	return series_get(s, labels);
}

static void the_same_labels_are_the_same_series(void **state)
{
	struct series_set s;

	series_set_init(&s, 2, 1, 10);
	assert_int_equal(get(&s, "a", "b"), 0);
	assert_int_equal(get(&s, "ab", ""), 1);
	assert_int_equal(get(&s, "", "ab"), 2);
	assert_int_equal(get(&s, "a", "b"), 0);
	assert_int_equal(s.n, 3);
	series_set_done(&s);
}

static void what_finds_no_room_is_counted_under_the_overflow(void **state)
{
	struct series_set s;
	double calls = 0;
	int64_t at;
	char name[32], service[32];

	series_set_init(&s, 2, 1, 100);
	for (int i = 0; i < 10000; i++) {
		snprintf(service, sizeof(service), "s%d", i % 1000);
		snprintf(name, sizeof(name), "n%d", i);
		at = get(&s, service, name);
		assert_true(at >= 0);
		s.rows[at].calls += 1;
	}
	for (size_t i = 0; i < s.n; i++)
		calls += s.rows[i].calls;
	assert_true(calls == 10000);
	assert_int_equal(s.n, 100 + 256 + 1);
	assert_int_equal(s.overflowed, 10000 - 100);
	assert_text(s.rows[100].labels[1], SERIES_OVERFLOW);
	assert_text(s.rows[s.n - 1].labels[0], SERIES_OVERFLOW);
	/* Known ones go on as they were. */
	assert_int_equal(get(&s, "s5", "n5"), 5);
	series_set_done(&s);
}

static void long_labels_are_cut_between_characters(void **state)
{
	struct series_set s;
	char text[600];

	series_set_init(&s, 2, 1, 10);
	memset(text, 'x', sizeof(text));
	memcpy(text + SERIES_LABEL_BYTES - 1, "\xc3\xa9", 2);
	text[599] = '\0';
	assert_int_equal(get(&s, text, ""), 0);
	assert_int_equal(s.rows[0].labels[0].n, SERIES_LABEL_BYTES - 1);
	series_set_done(&s);
}

static void durations_fall_into_their_buckets(void **state)
{
	static const struct {
		uint64_t ns;
		size_t bucket;
	} rows[] = {{0, 0},          {2000000, 0},      {2000001, 1},
		    {4000000, 1},    {16384000000, 13}, {16384000001, LATENCY_BUCKETS},
		    {UINT64_MAX, 14}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct latency l = {0};

		latency_add(&l, rows[i].ns, 2, &(struct exemplar){.time_ns = 5});
		for (size_t k = 0; k <= LATENCY_BUCKETS; k++)
			assert_true(l.counts[k] == (k == rows[i].bucket ? 2 : 0));
		assert_int_equal(l.exemplars[rows[i].bucket].time_ns, 5);
		assert_true(l.exemplars[rows[i].bucket].value * 2 == l.sum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_labels_are_the_same_series),
		cmocka_unit_test(what_finds_no_room_is_counted_under_the_overflow),
		cmocka_unit_test(long_labels_are_cut_between_characters),
		cmocka_unit_test(durations_fall_into_their_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
