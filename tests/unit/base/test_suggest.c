/* "Did you mean …". */
#include "t.h"

#include "base/suggest.h"

static void the_nearest_name_wins_if_it_is_near_enough(void **state)
{
	static const char *const names[] = {"trace", "traces", "serve", "services", "max-body"};
	static const struct {
		const char *typed, *best;
	} rows[] = {
		{"tarce", "trace"},
		{"trcaes", "traces"},
		{"srve", "serve"},
		{"maxbody", "max-body"},
		{"max", "max-body"},
		{"zzz", NULL},
		{"", NULL},
		{"x", NULL},
		{"servces", "services"},
		{"completely-else", NULL},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct suggestion s = suggestion_for(slice_cstr(rows[i].typed));

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			suggestion_offer(&s, names[k]);
		if (rows[i].best)
			assert_string_equal(s.best, rows[i].best);
		else
			assert_null(s.best);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_name_wins_if_it_is_near_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
