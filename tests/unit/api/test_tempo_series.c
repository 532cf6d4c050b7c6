/* Series in which none is a number, too: filled, but not without limit. */
#include "t.h"

#include <errno.h>
#include <stdlib.h>

#include "api/tempo_series.h"
#include "base/cleanup.h"

static void series_make(struct tempo_series *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct tempo_label label = {SLICE("k"), value_int((int64_t)i)};

		assert_int_equal(tempo_series_add(s, &label, 1, 20, 7), 0);
	}
}

static void every_step_has_a_sample_once(void **state)
{
	_cleanup_(arena_done)
	struct arena arena = {0};
	_cleanup_(tempo_series_done)
	struct tempo_series s = {.arena = &arena};
	struct error error = {0};

	series_make(&s, 3);
	assert_int_equal(tempo_series_fill(&s, 10, 10, 4, &error), 0);
	for (size_t i = 0; i < s.n; i++) {
		double sum = 0;

		assert_int_equal(s.rows[i].n, 4);
		for (size_t k = 0; k < s.rows[i].n; k++)
			sum += s.rows[i].samples[k].value;
		assert_true(sum == 7);
	}
}

static void more_samples_than_are_allowed_are_refused_before_any_is_made(void **state)
{
	_cleanup_(arena_done)
	struct arena arena = {0};
	_cleanup_(tempo_series_done)
	struct tempo_series s = {.arena = &arena};
	struct error error = {0};

	series_make(&s, 2);
	assert_int_equal(tempo_series_fill(&s, 0, 1, (uint32_t)(TEMPO_FILLED_MOST / 2 + 1), &error),
			 -ENOSPC);
	assert_non_null(strstr(error.text, "longer step"));
	assert_int_equal(s.rows[0].n, 1);
	assert_int_equal(s.rows[1].n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_has_a_sample_once),
		cmocka_unit_test(more_samples_than_are_allowed_are_refused_before_any_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
