#include "catalog_folder.h"

#include <errno.h>

#include "catalog/redact_rule.h"

static int print_rule(void *context, const struct redact_rule *rule)
{
	char *out = context;

	sprintf(out + strlen(out), "%d %s %s %s %s %s;", (int)rule->id, rule->owner, rule->key,
		rule->value ? rule->value : "-", redact_action_name(rule->action),
		redact_level_name(rule->level));
	return 0;
}

static void rules_are_kept_in_order(void **state)
{
	struct catalog *cat = catalog_folder_open(*state), *other;
	const struct redact_rule rules[] = {
		{.owner = "*", .key = "*password*", .action = REDACT_DROP},
		{.owner = "shop",
		 .key = "user.*",
		 .value = "^[0-9]{4}",
		 .action = REDACT_HASH,
		 .level = REDACT_BLOCK},
		{.owner = "s*",
		 .key = "host.name",
		 .action = REDACT_HASH,
		 .level = REDACT_RESOURCE},
	};
	char text[400] = "";
	int64_t id;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		assert_int_equal(redact_rule_add(cat, &rules[i], "test", &id, NULL), 0);
		assert_int_equal(id, i + 1);
	}
	other = catalog_folder_open(*state);
	assert_int_equal(redact_rule_remove(other, 1, "test", NULL), 0);
	assert_int_equal(redact_rule_list(cat, print_rule, text, NULL), 0);
	assert_string_equal(text,
			    "2 shop user.* ^[0-9]{4} hash block;3 s* host.name - hash resource;");
	catalog_close(other);
	catalog_close(cat);
}

static void bad_rules_are_refused_when_defined(void **state)
{
	static char long_text[REDACT_MAX_PATTERN_CHARS + 2];
	const struct {
		struct redact_rule rule;
		const char *says;
	} rows[] = {
		{{.owner = "", .key = "a", .action = REDACT_DROP}, "owner"},
		{{.key = "a", .action = REDACT_DROP}, "owner"},
		{{.owner = "*", .key = "", .action = REDACT_DROP}, "key"},
		{{.owner = "*", .key = long_text, .action = REDACT_DROP}, "longer"},
		{{.owner = "*", .key = "a"}, "action"},
		{{.owner = "*", .key = "a", .action = 9}, "action"},
		{{.owner = "*", .key = "a", .action = REDACT_DROP, .level = 9}, "level"},
		{{.owner = "*", .key = "a", .action = REDACT_DROP, .value = "a("}, "a("},
		{{.owner = "*", .key = "a", .action = REDACT_DROP, .value = "[z-a]"}, "regular"},
		{{.owner = "*", .key = "a", .action = REDACT_DROP, .value = "(a)\\1"}, "back-ref"},
		{{.owner = "*", .key = "a", .action = REDACT_DROP, .value = long_text}, "longer"},
	};
	struct catalog *cat = catalog_folder_open(*state);
	char text[100] = "";
	struct error e;

	memset(long_text, 'x', sizeof(long_text) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		e.text[0] = '\0';
		assert_int_equal(redact_rule_add(cat, &rows[i].rule, "test", NULL, &e), -EINVAL);
		if (!strstr(e.text, rows[i].says))
			fail_msg("row %zu: '%s' does not say '%s'", i, e.text, rows[i].says);
	}
	assert_int_equal(redact_rule_list(cat, print_rule, text, NULL), 0);
	assert_string_equal(text, "");
	/* An escaped backslash before a digit is no back-reference. */
	assert_int_equal(redact_rule_check(&(struct redact_rule){.owner = "*",
								 .key = "a",
								 .action = REDACT_DROP,
								 .value = "\\\\1"},
					   &e),
			 0);
	catalog_close(cat);
}

static void names_of_actions_and_levels_round_trip(void **state)
{
	enum redact_action action;
	enum redact_level level;
	struct error e;

	for (int i = REDACT_DROP; i <= REDACT_HASH; i++) {
		assert_int_equal(
			redact_action_parse(slice_cstr(redact_action_name(i)), &action, &e), 0);
		assert_int_equal(action, i);
	}
	for (int i = REDACT_ANY; i <= REDACT_BLOCK; i++) {
		assert_int_equal(redact_level_parse(slice_cstr(redact_level_name(i)), &level, &e),
				 0);
		assert_int_equal(level, i);
	}
	assert_int_equal(redact_action_parse(SLICE("mask"), &action, &e), -EINVAL);
	assert_non_null(strstr(e.text, "mask"));
	assert_int_equal(redact_level_parse(SLICE("span"), &level, &e), -EINVAL);
	assert_int_equal(redact_action_parse(SLICE(""), &action, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(rules_are_kept_in_order),
		catalog_test(bad_rules_are_refused_when_defined),
		cmocka_unit_test(names_of_actions_and_levels_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
