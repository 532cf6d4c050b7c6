#include "t.h"

#include <errno.h>

#include "catalog/role.h"

static void roles_round_trip_in_one_order(void **state)
{
	static const struct {
		const char *in, *out;
		unsigned roles;
	} rows[] = {
		{"ingest", "ingest", ROLE_INGEST},
		{"read,ingest", "ingest,read", ROLE_INGEST | ROLE_READ},
		{" query , admin ", "query,admin", ROLE_QUERY | ROLE_ADMIN},
		{"read,read", "read", ROLE_READ},
		{"all", "ingest,read,query,admin", ROLE_ALL},
	};
	char text[ROLES_TEXT_BYTES];
	unsigned roles;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(roles_parse(slice_cstr(rows[i].in), &roles, NULL), 0);
		assert_int_equal(roles, rows[i].roles);
		roles_format(roles, text);
		assert_string_equal(text, rows[i].out);
	}
	roles_format(0, text);
	assert_string_equal(text, "");
}

static void words_that_are_no_role_are_named(void **state)
{
	static const char *const bad[] = {"", ",", "read,", "Read", "write", "read query"};
	unsigned roles = 77;
	struct error e;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(roles_parse(slice_cstr(bad[i]), &roles, &e), -EINVAL);
	assert_int_equal(roles, 77);
	roles_parse(SLICE("ingest,wrte"), &roles, &e);
	assert_non_null(strstr(e.text, "'wrte'"));
	assert_int_equal(roles_parse(SLICE("read,read,read,read,read,read,read,read,read,read,read,"
					   "read,read,read,read,read,read"),
				     &roles, &e),
			 -EINVAL);
}

static void only_admin_implies_other_roles(void **state)
{
	for (unsigned held = 1; held <= ROLE_ADMIN; held <<= 1)
		for (unsigned needed = 1; needed <= ROLE_ADMIN; needed <<= 1)
			assert_int_equal(roles_allow(held, needed),
					 held == needed || held == ROLE_ADMIN);
	assert_false(roles_allow(0, ROLE_READ));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_round_trip_in_one_order),
		cmocka_unit_test(words_that_are_no_role_are_named),
		cmocka_unit_test(only_admin_implies_other_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
