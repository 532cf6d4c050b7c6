/* Rules for alerts, what they have found, and what is still to be told, in the catalogue. */
#include "catalog/catalog_folder.h"

#include <errno.h>

#include "catalog/alert.h"

static void define(struct catalog *cat, const char *name, const char *text)
{
	assert_int_equal(alert_rule_define(cat,
					   &(struct alert_rule_row){.name = name, .text = text}, 1,
					   "alice", "alice", NULL),
			 0);
}

static int count_rule(void *context, const struct alert_rule_row *row)
{
	++*(int *)context;
	return 0;
}

static int count_state(void *context, const struct alert_state_row *row)
{
	*(int *)context += row->is == ALERT_FIRING && row->value == 1.5;
	return 0;
}

static int rules(struct catalog *cat, bool dropped)
{
	int n = 0;

	assert_int_equal(alert_rule_list(cat, dropped, count_rule, &n, NULL), 0);
	return n;
}

static void told(struct catalog *cat, const char *rule, const char *body, int64_t lost)
{
	const struct alert_state_row states[] = {
		{.labels = "{}", .is = ALERT_FIRING, .value = 1.5}};
	const struct alert_outcome o = {.rule = rule,
					.evaluated_ns = 7,
					.error = "",
					.states_changed = true,
					.states = states,
					.n = 1,
					.webhook = "http://h",
					.body = body};
	int64_t gone = 0;

	assert_int_equal(alert_evaluated(cat, &o, &gone, NULL), lost > 0);
	assert_int_equal(gone, lost);
}

static void a_state_and_its_notification_outlive_the_handle(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct alert_delivery_row row;
	struct arena arena = {0};
	int n = 0;

	define(cat, "a", "{}");
	told(cat, "a", "first", 0);
	told(cat, "a", "second", 0);
	catalog_close(cat);
	cat = catalog_folder_open(*state);
	assert_int_equal(alert_state_list(cat, "a", count_state, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_string_equal(row.body, "first");
	/* It is tried again later, and the second waits for it. */
	assert_int_equal(alert_delivery_failed(cat, &row, 100, "no", NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 99, &arena, &row, NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 100, &arena, &row, NULL), 1);
	assert_int_equal(row.tries, 1);
	assert_int_equal(alert_delivery_done(cat, row.id, NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_string_equal(row.body, "second");
	arena_done(&arena);
	catalog_close(cat);
}

static void rules_do_not_wait_for_each_other(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct alert_delivery_row row;
	struct arena arena = {0};

	define(cat, "a", "{}");
	define(cat, "b", "{}");
	told(cat, "a", "of a", 0);
	told(cat, "b", "of b", 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_int_equal(alert_delivery_failed(cat, &row, 100, "no", NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_string_equal(row.body, "of b");
	arena_done(&arena);
	catalog_close(cat);
}

static void too_many_notifications_push_out_the_oldest_and_say_so(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct alert_delivery_row row;
	struct arena arena = {0};

	define(cat, "a", "{}");
	for (int i = 0; i < ALERT_MAX_WAITING; i++)
		told(cat, "a", i ? "later" : "first", 0);
	told(cat, "a", "last", 1);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_string_equal(row.body, "later");
	arena_done(&arena);
	catalog_close(cat);
}

static void a_dropped_rule_is_hidden_until_its_alerts_are_resolved(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	const struct alert_outcome gone = {.rule = "a", .error = "", .gone = true};
	int64_t lost;

	define(cat, "a", "{}");
	assert_int_equal(alert_rule_drop(cat, "b", "alice", NULL), -ENOENT);
	assert_int_equal(alert_rule_drop(cat, "a", "alice", NULL), 0);
	assert_int_equal(alert_rule_drop(cat, "a", "alice", NULL), -ENOENT);
	assert_int_equal(rules(cat, false), 0);
	assert_int_equal(rules(cat, true), 1);
	assert_int_equal(alert_evaluated(cat, &gone, &lost, NULL), 0);
	assert_int_equal(rules(cat, true), 0);
	assert_int_equal(alert_evaluated(cat, &gone, &lost, NULL), -ENOENT);
	catalog_close(cat);
}

static void a_corrected_webhook_is_told_what_waits_at_once(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	const struct alert_rule_row fixed = {.name = "a", .text = "{}", .webhook = "http://new"};
	struct alert_delivery_row row;
	struct arena arena = {0};

	define(cat, "a", "{}");
	define(cat, "b", "{}");
	told(cat, "a", "of a", 0);
	told(cat, "b", "of b", 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_int_equal(alert_delivery_failed(cat, &row, 100, "no", NULL), 0);
	assert_int_equal(alert_rule_define(cat, &fixed, 1, "alice", "alice", NULL), 0);
	/* One that was under way to the old one fails: that says nothing of the new one. */
	assert_int_equal(alert_delivery_failed(cat, &row, 100, "no", NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_string_equal(row.body, "of a");
	assert_string_equal(row.webhook, "http://new");
	assert_int_equal(row.tries, 0);
	assert_int_equal(alert_delivery_done(cat, row.id, NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_string_equal(row.webhook, "http://h"); /* that of another rule stays */
	arena_done(&arena);
	catalog_close(cat);
}

static void what_an_old_text_found_is_not_written(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct alert_outcome o = {.rule = "a", .text = "{}", .error = ""};
	int64_t lost;

	define(cat, "a", "{}");
	assert_int_equal(alert_evaluated(cat, &o, &lost, NULL), 0);
	define(cat, "a", "{ }");
	assert_int_equal(alert_evaluated(cat, &o, &lost, NULL), -ESTALE);
	catalog_close(cat);
}

static void a_notification_outlives_its_rule_for_so_many_tries(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	const struct alert_outcome gone = {.rule = "a", .error = "", .gone = true};
	struct alert_delivery_row row;
	struct arena arena = {0};
	int64_t lost;

	define(cat, "a", "{}");
	told(cat, "a", "first", 0);
	told(cat, "a", "second", 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	for (int i = 0; i < ALERT_LAST_TRY; i++) /* while there is a rule it is tried for ever */
		assert_int_equal(alert_delivery_failed(cat, &row, 1, "no", NULL), 0);
	assert_int_equal(alert_rule_drop(cat, "a", "alice", NULL), 0);
	assert_int_equal(alert_evaluated(cat, &gone, &lost, NULL), 0);
	assert_int_equal(alert_delivery_failed(cat, &row, 1, "no", NULL), 1);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_string_equal(row.body, "second");
	for (int i = 1; i < ALERT_LAST_TRY; i++)
		assert_int_equal(alert_delivery_failed(cat, &row, 1, "no", NULL), 0);
	assert_int_equal(alert_delivery_failed(cat, &row, 1, "no", NULL), 1);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 0);
	arena_done(&arena);
	catalog_close(cat);
}

static void a_clock_that_was_ahead_does_not_hold_up_notifications(void **state)
{
	const int64_t most = ALERT_MAX_RETRY_S * 1000000000LL;
	struct catalog *cat = catalog_folder_open(*state);
	struct alert_delivery_row row;
	struct arena arena = {0};

	define(cat, "a", "{}");
	told(cat, "a", "x", 0);
	assert_int_equal(alert_delivery_next(cat, 1, &arena, &row, NULL), 1);
	assert_int_equal(alert_delivery_failed(cat, &row, 100 + most, "no", NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 100, &arena, &row, NULL), 0);
	assert_int_equal(alert_delivery_next(cat, 99, &arena, &row, NULL), 1);
	arena_done(&arena);
	catalog_close(cat);
}

static int note_waiting(void *context, const struct alert_delivery_row *row)
{
	int64_t **to = context;

	*(*to)++ = row->waiting;
	assert_string_equal(row->body, "");
	return 0;
}

static void what_waits_is_counted_by_rule(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	int64_t waiting[4] = {0}, *to = waiting;
	struct alert_counts n;

	define(cat, "a", "{}");
	define(cat, "b", "{}");
	told(cat, "b", "x", 0);
	told(cat, "a", "x", 0);
	told(cat, "b", "y", 0);
	assert_int_equal(alert_delivery_list(cat, note_waiting, &to, NULL), 0);
	assert_true(to == waiting + 2 && waiting[0] == 2 && waiting[1] == 1);
	assert_int_equal(alert_count(cat, &n, NULL), 0);
	assert_true(n.pending == 0 && n.firing == 2 && n.waiting == 3);
	catalog_close(cat);
}

static void rules_without_name_or_text_and_too_long_ones_are_refused(void **state)
{
	static char text[ALERT_MAX_TEXT_BYTES + 2], name[ALERT_MAX_NAME_CHARS + 2];
	struct catalog *cat = catalog_folder_open(*state);
	const struct alert_rule_row rows[] = {{.name = "", .text = "x"},
					      {.name = "x", .text = ""},
					      {.name = name, .text = "x"},
					      {.name = "x", .text = text}};

	memset(text, 'x', sizeof(text) - 1);
	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(alert_rule_define(cat, &rows[i], 1, "a", "a", NULL), -EINVAL);
	assert_int_equal(rules(cat, true), 0);
	catalog_close(cat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(a_state_and_its_notification_outlive_the_handle),
		catalog_test(rules_do_not_wait_for_each_other),
		catalog_test(too_many_notifications_push_out_the_oldest_and_say_so),
		catalog_test(a_dropped_rule_is_hidden_until_its_alerts_are_resolved),
		catalog_test(a_corrected_webhook_is_told_what_waits_at_once),
		catalog_test(what_an_old_text_found_is_not_written),
		catalog_test(a_notification_outlives_its_rule_for_so_many_tries),
		catalog_test(a_clock_that_was_ahead_does_not_hold_up_notifications),
		catalog_test(what_waits_is_counted_by_rule),
		catalog_test(rules_without_name_or_text_and_too_long_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
