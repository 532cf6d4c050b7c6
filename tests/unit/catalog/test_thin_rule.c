/* Rules for thinning in the catalogue. */
#include "catalog/catalog_folder.h"

#include <errno.h>

#include "catalog/thin_rule.h"

#define DAY (86400 * NS_PER_S)

struct seen {
	int64_t ages[20], ids[20];
	size_t n;
	char attributes[100];
};

static int see(void *context, const struct thin_rule_row *rule)
{
	struct seen *s = context;

	s->ages[s->n] = rule->after_ns;
	s->ids[s->n++] = rule->id;
	snprintf(s->attributes, sizeof(s->attributes), "%s", rule->attributes);
	return 0;
}

static void rules_come_back_youngest_first(void **state)
{
	const struct thin_rule_row rows[] = {
		{.after_ns = 30 * DAY, .threshold = 7, .slow = 0.999, .attributes = "a=b\nc"},
		{.after_ns = 7 * DAY, .errors = true, .rare = 3, .attributes = ""},
	};
	struct catalog *cat = catalog_folder_open(*state);
	struct seen seen = {0};
	int64_t id;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(thin_rule_add(cat, &rows[i], "test", &id, NULL), 0);
	assert_int_equal(thin_rule_list(cat, see, &seen, NULL), 0);
	assert_int_equal(seen.n, 2);
	assert_true(seen.ages[0] == 7 * DAY && seen.ages[1] == 30 * DAY);
	assert_string_equal(seen.attributes, "a=b\nc");
	assert_int_equal(thin_rule_add(cat, &rows[0], "test", &id, NULL), -EEXIST);
	assert_int_equal(thin_rule_remove(cat, seen.ids[1], "test", NULL), 0);
	assert_int_equal(thin_rule_remove(cat, seen.ids[1], "test", NULL), -ENOENT);
	seen.n = 0;
	assert_int_equal(thin_rule_list(cat, see, &seen, NULL), 0);
	assert_int_equal(seen.n, 1);
	catalog_close(cat);
}

static void rules_that_make_no_sense_are_refused(void **state)
{
	static const struct thin_rule_row rows[] = {
		{.after_ns = 0, .attributes = ""},
		{.after_ns = -1, .attributes = ""},
		{.after_ns = 1, .threshold = (1ULL << 56) + 1, .attributes = ""},
		{.after_ns = 1, .slow = 1, .attributes = ""},
		{.after_ns = 1, .slow = -0.5, .attributes = ""},
		{.after_ns = 1, .rare = -1, .attributes = ""},
		{.after_ns = 1, .attributes = "=x"},
		{.after_ns = 1, .attributes = "a\n\nb"},
	};
	struct catalog *cat = catalog_folder_open(*state);
	struct error e = {0};
	int64_t id;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(thin_rule_add(cat, &rows[i], "test", &id, &e), -EINVAL);
	for (int64_t i = 1; i <= THIN_RULE_MAX; i++)
		assert_int_equal(
			thin_rule_add(cat, &(struct thin_rule_row){.after_ns = i, .attributes = ""},
				      "test", &id, NULL),
			0);
	assert_int_equal(thin_rule_add(cat,
				       &(struct thin_rule_row){.after_ns = 99, .attributes = ""},
				       "test", &id, &e),
			 -ENOSPC);
	catalog_close(cat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(rules_come_back_youngest_first),
		catalog_test(rules_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
