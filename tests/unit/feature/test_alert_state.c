/* How an alert goes from pending to firing to resolved, and what a webhook is told. */
#include "t.h"

#include "base/cleanup.h"
#include "core/clock.h"
#include "feature/alert_state.h"

#define A "{\"alertname\":\"x\",\"service\":\"a\"}"
#define B "{\"alertname\":\"x\",\"service\":\"b\"}"

struct running {
	struct arena arena;
	struct alert_rule rule;
	struct alert_states states;
	struct alert_step step;
};

static void begin(struct running *x, int64_t for_s, int64_t repeat_s)
{
	*x = (struct running){.rule = {.name = SLICE("x"),
				       .for_ns = for_s * NS_PER_S,
				       .repeat_ns = repeat_s * NS_PER_S}};
	x->states.arena = &x->arena;
}

static void end(struct running *x)
{
	alert_states_done(&x->states);
	arena_done(&x->arena);
}

/* One evaluation at so many seconds, in which these hold. */
static void step(struct running *x, int64_t at_s, const char *const *labels, double value)
{
	struct alert_sample rows[4];
	struct alert_answer answer = {.rows = rows};

	for (; labels && *labels; labels++)
		rows[answer.n++] = (struct alert_sample){slice_cstr(*labels), value};
	assert_int_equal(
		alert_states_step(&x->states, &x->rule, &answer, at_s * NS_PER_S, &x->step), 0);
}

static enum alert_is state(const struct running *x, const char *labels)
{
	for (size_t i = 0; i < x->states.n; i++)
		if (strcmp(x->states.rows[i].labels, labels) == 0)
			return x->states.rows[i].is;
	return 0;
}

static const char *const a_alone[] = {A, NULL};
static const char *const both[] = {B, A, NULL};

static void without_for_it_fires_at_once_and_is_told_once(void **s)
{
	struct running x;

	begin(&x, 0, 0);
	step(&x, 100, a_alone, 5);
	assert_int_equal(state(&x, A), ALERT_FIRING);
	assert_true(x.step.tell && x.step.changed);
	step(&x, 160, a_alone, 7);
	assert_false(x.step.tell || x.step.changed);
	assert_true(x.states.rows[0].value == 7);
	assert_int_equal(x.states.rows[0].fired_ns, 100 * NS_PER_S);
	end(&x);
}

static void with_for_it_is_pending_first_and_a_gap_begins_anew(void **s)
{
	struct running x;

	begin(&x, 120, 0);
	step(&x, 0, a_alone, 1);
	assert_int_equal(state(&x, A), ALERT_PENDING);
	assert_false(x.step.tell);
	step(&x, 60, a_alone, 1);
	assert_false(x.step.tell);
	step(&x, 120, NULL, 0);
	assert_int_equal(x.states.n, 0);
	assert_true(x.step.changed && !x.step.tell);
	step(&x, 180, a_alone, 1);
	step(&x, 240, a_alone, 1);
	assert_int_equal(state(&x, A), ALERT_PENDING);
	step(&x, 300, a_alone, 1);
	assert_int_equal(state(&x, A), ALERT_FIRING);
	assert_true(x.step.tell);
	end(&x);
}

static void what_fired_is_resolved_kept_for_a_while_and_may_fire_again(void **s)
{
	struct running x;

	begin(&x, 0, 0);
	step(&x, 1000, both, 1);
	assert_int_equal(x.states.n, 2);
	step(&x, 1060, a_alone, 1);
	assert_true(x.step.tell);
	assert_int_equal(state(&x, A), ALERT_FIRING);
	assert_int_equal(state(&x, B), ALERT_RESOLVED);
	step(&x, 1120, a_alone, 1);
	assert_false(x.step.tell || x.step.changed);
	step(&x, 1180, both, 1);
	assert_int_equal(state(&x, B), ALERT_FIRING);
	assert_true(x.step.tell);
	step(&x, 1240, a_alone, 1);
	step(&x, 1240 + ALERT_RESOLVED_KEEP_NS / NS_PER_S, a_alone, 1);
	assert_int_equal(state(&x, B), 0);
	end(&x);
}

static void what_fires_is_told_again_after_a_while(void **s)
{
	struct running x;

	begin(&x, 0, 3600);
	step(&x, 10, a_alone, 1);
	step(&x, 3600, a_alone, 1);
	assert_false(x.step.tell);
	step(&x, 3610, a_alone, 1);
	assert_true(x.step.tell);
	step(&x, 3620, a_alone, 1);
	assert_false(x.step.tell);
	end(&x);
}

static void an_answer_that_overflowed_resolves_nothing_and_adds_while_there_is_room(void **s)
{
	struct alert_sample row = {.labels = slice_cstr(B), .value = 1};
	struct alert_answer answer = {.rows = &row, .n = 1, .overflow = 7};
	struct running x;

	begin(&x, 0, 0);
	step(&x, 100, a_alone, 1);
	assert_int_equal(alert_states_step(&x.states, &x.rule, &answer, 160 * NS_PER_S, &x.step),
			 0);
	assert_int_equal(state(&x, A), ALERT_FIRING);
	assert_int_equal(state(&x, B), ALERT_FIRING);
	assert_int_equal(x.step.overflow, 0);
	for (size_t i = x.states.n; i < ALERT_MOST; i++) {
		const struct alert_state_row fires = {
			.labels = arena_printf(&x.arena, "{\"n\":\"%zu\"}", i), .is = ALERT_FIRING};

		assert_int_equal(alert_states_add(&x.states, &fires), 0);
	}
	row.labels = SLICE("{}");
	assert_int_equal(alert_states_step(&x.states, &x.rule, &answer, 220 * NS_PER_S, &x.step),
			 0);
	assert_int_equal(x.states.n, ALERT_MOST);
	assert_int_equal(x.step.overflow, 1);
	assert_false(x.step.tell || x.step.changed);
	step(&x, 280, a_alone, 1); /* all is known again */
	assert_int_equal(state(&x, A), ALERT_FIRING);
	assert_int_equal(state(&x, B), ALERT_RESOLVED);
	end(&x);
}

static void of_resolved_ones_the_latest_are_kept(void **s)
{
	struct running x;

	begin(&x, 0, 0);
	for (size_t i = 0; i < ALERT_MOST + 10; i++) {
		const struct alert_state_row past = {
			.labels = arena_printf(&x.arena, "{\"n\":\"%zu\"}", i),
			.is = ALERT_RESOLVED,
			.resolved_ns = (int64_t)(1000 + i) * NS_PER_MS};

		assert_int_equal(alert_states_add(&x.states, &past), 0);
	}
	step(&x, 100, a_alone, 1);
	assert_int_equal(x.states.n, ALERT_MOST + 1);
	assert_int_equal(state(&x, A), ALERT_FIRING);
	assert_int_equal(state(&x, "{\"n\":\"9\"}"), 0);
	assert_int_equal(state(&x, "{\"n\":\"10\"}"), ALERT_RESOLVED);
	end(&x);
}

static void a_clock_that_was_ahead_does_not_keep_alerts_from_firing(void **s)
{
	struct running x;

	begin(&x, 60, 0);
	step(&x, 1000000, a_alone, 1);
	step(&x, 100, a_alone, 1);
	assert_int_equal(state(&x, A), ALERT_PENDING);
	assert_true(x.step.changed);
	step(&x, 160, a_alone, 1);
	assert_int_equal(state(&x, A), ALERT_FIRING);
	end(&x);
}

static void a_notification_tells_what_fires_and_what_was_just_resolved(void **s)
{
	struct running x;
	struct buffer out = {0};
	struct alert_body body;

	begin(&x, 0, 0);
	step(&x, 1000, both, 2.5);
	step(&x, 1060, a_alone, 1);
	body = (struct alert_body){.rule = &x.rule,
				   .states = &x.states,
				   .now_ns = 1060 * NS_PER_S,
				   .overflow = 3,
				   .external_url = "http://h"};
	alert_body_write(&body, &x.arena, &out);
	assert_string_equal(
		buffer_cstr(&out),
		"{\"version\":\"4\",\"groupKey\":\"{}:{alertname=\\\"x\\\"}\",\"groupLabels\":{"
		"\"alertname\":\"x\"},\"truncatedAlerts\":3,\"status\":\"firing\",\"receiver\":"
		"\"causet\",\"commonLabels\":{\"alertname\":\"x\"},\"commonAnnotations\":{},"
		"\"externalURL\":\"http://h\",\"alerts\":["
		"{\"status\":\"firing\",\"labels\":" A ",\"annotations\":{\"value\":\"1\"},"
		"\"startsAt\":\"1970-01-01T00:16:40.000Z\",\"endsAt\":\"0001-01-01T00:00:00Z\","
		"\"generatorURL\":\"http://h/api/v1/alerts?name=%78\","
		"\"fingerprint\":\"8848fd772d9e7a15\"},"
		"{\"status\":\"resolved\",\"labels\":" B ",\"annotations\":{\"value\":\"2.5\"},"
		"\"startsAt\":\"1970-01-01T00:16:40.000Z\",\"endsAt\":\"1970-01-01T00:17:40.000Z\","
		"\"generatorURL\":\"http://h/api/v1/alerts?name=%78\","
		"\"fingerprint\":\"bac0d39409846de3\"}]}");
	buffer_done(&out);
	end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_for_it_fires_at_once_and_is_told_once),
		cmocka_unit_test(with_for_it_is_pending_first_and_a_gap_begins_anew),
		cmocka_unit_test(what_fired_is_resolved_kept_for_a_while_and_may_fire_again),
		cmocka_unit_test(what_fires_is_told_again_after_a_while),
		cmocka_unit_test(
			an_answer_that_overflowed_resolves_nothing_and_adds_while_there_is_room),
		cmocka_unit_test(of_resolved_ones_the_latest_are_kept),
		cmocka_unit_test(a_clock_that_was_ahead_does_not_keep_alerts_from_firing),
		cmocka_unit_test(a_notification_tells_what_fires_and_what_was_just_resolved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
