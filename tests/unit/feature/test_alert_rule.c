/* Rules as people write them down. */
#include "t.h"

#include <errno.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "feature/alert_rule.h"

#define BEGIN "{\"name\":\"n\",\"query\":\"q\",\"webhook\":\"http://h/p\",\"threshold\":"

static void what_is_not_said_has_a_default_and_comes_back_in_full(void **state)
{
	const char *json = BEGIN "1.5,\"when\":\"<=\",\"labels\":{\"a\":\"\\u00e9\"}}";
	struct arena arena = {0};
	struct error error = {0};
	struct alert_rule rule, again;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	assert_int_equal(alert_rule_read(slice_cstr(json), &arena, &rule, &error), 0);
	assert_true(rule.over_ns == 300 * NS_PER_S && rule.every_ns == 60 * NS_PER_S);
	json_begin_object(&w);
	alert_rule_write(&w, &rule, true);
	json_end_object(&w);
	assert_string_equal(buffer_cstr(&out),
			    "{\"name\":\"n\",\"query\":\"q\",\"when\":\"<=\",\"threshold\":1.5,"
			    "\"over\":\"5m\",\"for\":\"0s\",\"every\":\"1m\",\"delay\":\"10s\","
			    "\"repeat\":\"4h\",\"webhook\":\"http://h/p\","
			    "\"labels\":{\"a\":\"\u00e9\"},\"annotations\":{}}");
	assert_int_equal(alert_rule_read(buffer_get(&out), &arena, &again, &error), 0);
	assert_int_equal(again.when, VALUE_LE);
	assert_int_equal(again.repeat_ns, rule.repeat_ns);
	buffer_done(&out);
	arena_done(&arena);
}

static void wrong_rules_are_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{",
		"{}",
		"7",
		BEGIN "}",
		BEGIN "null}",
		BEGIN "1e999}",
		BEGIN "1,\"threshold\":\"x\"}",
		BEGIN "1,\"colour\":1}",
		BEGIN "1,\"when\":\"=\"}",
		BEGIN "1,\"every\":\"999ms\"}",
		BEGIN "1,\"over\":\"-5m\"}",
		BEGIN "1,\"for\":\"9999999h\"}",
		BEGIN "1,\"labels\":[]}",
		BEGIN "1,\"labels\":{\"1a\":\"x\"}}",
		BEGIN "1,\"labels\":{\"a\":{}}}",
		BEGIN "1,\"name\":\"a\\u0000b\"}",
		BEGIN "1,\"webhook\":\"//h\"}",
		BEGIN "1,\"webhook\":\"http:///p\"}",
		BEGIN "1,\"webhook\":\"http://a b/\"}",
		BEGIN "1,\"webhook\":\"http://h/\u00e9\"}",
		BEGIN "1,\"webhook\":\"gopher://h/\"}",
		BEGIN "1,\"webhook\":\"http://u@h/\"}",
		BEGIN "1} x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena = {0};
		struct error error = {0};
		struct alert_rule rule;

		if (alert_rule_read(slice_cstr(rows[i]), &arena, &rule, &error) != -EINVAL)
			fail_msg("%s is not refused", rows[i]);
		assert_true(error.text[0]);
		arena_done(&arena);
	}
}

static void every_relation_means_what_it_says(void **state)
{
	static const struct {
		enum value_relation when;
		bool less, same, more;
	} rows[] = {
		{VALUE_EQ, false, true, false}, {VALUE_NE, true, false, true},
		{VALUE_LT, true, false, false}, {VALUE_LE, true, true, false},
		{VALUE_GT, false, false, true}, {VALUE_GE, false, true, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct alert_rule rule = {.when = rows[i].when, .threshold = 2};

		assert_int_equal(alert_rule_holds(&rule, 1), rows[i].less);
		assert_int_equal(alert_rule_holds(&rule, 2), rows[i].same);
		assert_int_equal(alert_rule_holds(&rule, 3), rows[i].more);
		assert_false(alert_rule_holds(&rule, __builtin_nan("")));
	}
}

static void a_webhooks_path_is_a_secret(void **state)
{
	static const char *const rows[][2] = {
		{"http://h:1/secret?x", "\"webhook\":\"http://h:1/…\""},
		{"https://h?secret", "\"webhook\":\"https://h/…\""},
		{"https://h", "\"webhook\":\"https://h\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct alert_rule rule = {.webhook = slice_cstr(rows[i][0])};
		struct buffer out = {0};
		struct json_writer w = json_write(&out);

		json_begin_object(&w);
		alert_rule_write(&w, &rule, false);
		json_end_object(&w);
		assert_non_null(strstr(buffer_cstr(&out), rows[i][1]));
		buffer_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_said_has_a_default_and_comes_back_in_full),
		cmocka_unit_test(wrong_rules_are_refused),
		cmocka_unit_test(every_relation_means_what_it_says),
		cmocka_unit_test(a_webhooks_path_is_a_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
