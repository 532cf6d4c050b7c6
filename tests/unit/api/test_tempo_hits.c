/* The newest traces of a search are kept, with complete counts, whatever order the rows come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/tempo_hits.h"

static void add(struct tempo_hits *h, int trace, int span)
{
	char id[33], name[17];
	struct value values[2];

	snprintf(id, sizeof(id), "%032d", trace);
	snprintf(name, sizeof(name), "%016d", span);
	values[0] = value_of(V_TIME, 1000 * trace + span);
	values[1] = value_text(slice_cstr(name));
	assert_int_equal(tempo_hits_add(h, 1000 * trace, slice_cstr(id), values), 0);
}

static void the_newest_are_kept_with_complete_counts(void **state)
{
	enum { TRACES = 50, SPANS = 7 };

	/* Every step is prime to TRACES * SPANS: each gives another order of all rows. */
	static const int steps[] = {1, 3, 11, 149, 349};

	for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
		struct tempo_hits h = {.limit = 4,
				       .spans_most = 3,
				       .column_n = 2,
				       .time_column = 0,
				       .id_column = 1};

		assert_int_equal(tempo_hits_init(&h), 0);
		for (int i = 0; i < TRACES * SPANS; i++) {
			int row = i * steps[k] % (TRACES * SPANS);

			add(&h, row / SPANS, row % SPANS);
		}
		assert_int_equal(h.n, 4);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(h.rows[i]->start_ns, 1000 * (TRACES - 1 - i));
			assert_int_equal(h.rows[i]->matched, SPANS);
			assert_int_equal(h.rows[i]->n, 3);
			for (int n = 0; n < 3; n++)
				assert_int_equal(h.rows[i]->spans[n].values[0].i,
						 1000 * (TRACES - 1 - i) + n);
		}
		tempo_hits_done(&h);
	}
}

static void traces_of_one_instant_are_told_apart(void **state)
{
	struct tempo_hits h = {.limit = 2, .spans_most = 1, .column_n = 1};
	struct value v = value_of(V_TIME, 1);

	assert_int_equal(tempo_hits_init(&h), 0);
	assert_int_equal(tempo_hits_add(&h, 5, SLICE("b"), &v), 0);
	assert_int_equal(tempo_hits_add(&h, 5, SLICE("c"), &v), 0);
	assert_int_equal(tempo_hits_add(&h, 5, SLICE("a"), &v), 0);
	assert_int_equal(tempo_hits_add(&h, 5, SLICE("b"), &v), 0);
	assert_int_equal(h.n, 2);
	assert_true(slice_eq(h.rows[0]->id, SLICE("a")));
	assert_int_equal(h.rows[0]->matched, 1);
	assert_true(slice_eq(h.rows[1]->id, SLICE("b")));
	assert_int_equal(h.rows[1]->matched, 2);
	tempo_hits_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_are_kept_with_complete_counts),
		cmocka_unit_test(traces_of_one_instant_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
