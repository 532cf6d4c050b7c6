/* Thinning as the engine does it: at compaction, on whole traces, once a rule, with the threshold
 * kept. */
#include "store_t.h"

#include <math.h>

#include "core/clock.h"
#include "sampling/second.h"
#include "store/engine_int.h"
#include "store/store_check.h"

#define HOUR   (3600 * NS_PER_S)
#define TRACES 3000
#ifdef __SANITIZE_THREAD__
#define HALVES 600 /* traces in two segments: many times as slow */
#else
#define HALVES TRACES
#endif

/* Traces first … first + n - 1, two spans each; every 50th fails. */
static void put_traces(struct store *s, uint32_t first, uint32_t n, int64_t received_ns)
{
	struct batch *b = batch_for("front", received_ns);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = first + i;

		span_add(b, number, 2 * number + 1, 0, 1000, 5000 + number % 97 * 100);
		span_add(b, number, 2 * number + 2, 2 * number + 1, 1500, 2000)->status =
			number % 50 == 0 ? STATUS_ERROR : STATUS_UNSET;
	}
	assert_int_equal(put(s, sealed(b)), 0);
}

static int64_t ago(int64_t ns)
{
	return clock_wall_ns() - ns;
}

static void rule_set(struct store *s, struct thin_rule rule)
{
	struct thin_rules rules = {&rule, 1};
	struct error error = {0};

	assert_int_equal(engine_set_thinning(s, &rules, &error), 0);
}

static uint64_t threshold_for(double share)
{
	uint64_t threshold;

	assert_int_equal(threshold_from_probability(share, &threshold), 0);
	return threshold;
}

/* What the store holds: how many traces, and what sums over them say there were. */
struct seen {
	size_t traces, rows, errors;
	double weight, error_weight;
	double variance; /* of `weight` */
};

static int trace_see(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		     bool more)
{
	struct seen *seen = context;
	double weight = threshold_weight(refs[0].batch->kept_threshold);
	bool error = false;

	for (size_t i = 0; i < n; i++) {
		assert_true(refs[i].batch->kept_threshold == refs[0].batch->kept_threshold);
		error |= event_get(refs[i])->status == STATUS_ERROR;
	}
	assert_false(more);
	assert_true(threshold_keeps(refs[0].batch->kept_threshold, second_randomness(id)));
	seen->traces++;
	seen->rows += n;
	seen->errors += error;
	seen->weight += weight;
	seen->error_weight += error ? weight : 0;
	seen->variance += weight * (weight - 1);
	return 0;
}

static struct seen see(struct store *s)
{
	struct seen seen = {0};

	assert_int_equal(engine_each_trace(s, trace_see, &seen), 0);
	return seen;
}

static void assert_seen_equal(struct seen a, struct seen b)
{
	assert_int_equal(a.traces, b.traces);
	assert_int_equal(a.rows, b.rows);
	assert_int_equal(a.errors, b.errors);
	assert_true(a.weight == b.weight);
}

/* The number of the newest file: tells whether anything was written. */
static uint64_t next_of(struct store *s)
{
	return engine_of(s)->manifest.next;
}

static struct store *filled(char dir[64], int64_t received_ns)
{
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	for (uint32_t i = 0; i < TRACES; i += TRACES / 3) {
		put_traces(s, i, TRACES / 3, received_ns);
		assert_int_equal(engine_flush(s), 0);
	}
	return s;
}

static void totals_agree_within_their_error(void **state)
{
	char dir[64];
	struct store *s = filled(dir, ago(2 * HOUR));
	struct seen before = see(s), after;
	struct store_stats stats;

	assert_int_equal(before.traces, TRACES);
	rule_set(s, (struct thin_rule){
			    .after_ns = HOUR, .threshold = threshold_for(0.25), .errors = true});
	assert_int_equal(engine_settle(s), 0);
	after = see(s);
	assert_in_range(after.traces, TRACES / 5, TRACES / 3);
	assert_int_equal(after.rows, 2 * after.traces);
	assert_int_equal(after.errors, before.errors);
	assert_true(after.error_weight == before.error_weight);
	assert_true(fabs(after.weight - before.weight) < 4 * sqrt(after.variance));
	stats = store_stats(s);
	assert_int_equal(stats.thinned[THINNED_ERROR], before.errors);
	assert_int_equal(stats.thinned[THINNED_SAMPLED] + stats.thinned[THINNED_ERROR],
			 after.traces);
	assert_int_equal(stats.thinned[THINNED_DROPPED], before.traces - after.traces);
	assert_int_equal(stats.spans, after.rows);

	/* The thresholds are on the disk. */
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_seen_equal(see(s), after);
	store_close(s);
	folder_remove(dir);
}

static void without_a_rule_nothing_changes(void **state)
{
	char dir[64];
	struct store *s = filled(dir, ago(2 * HOUR));
	struct seen before = see(s);

	assert_int_equal(engine_set_thinning(s, NULL, NULL), 0);
	assert_int_equal(engine_compact(s, true), 0);
	assert_seen_equal(see(s), before);
	assert_true(before.weight == TRACES);
	/* Nor with one that nothing is old enough for. */
	rule_set(s, (struct thin_rule){.after_ns = 3 * HOUR, .threshold = THRESHOLD_NEVER});
	assert_int_equal(engine_settle(s), 0);
	assert_seen_equal(see(s), before);
	store_close(s);
	folder_remove(dir);
}

static void a_rule_is_applied_once(void **state)
{
	char dir[64];
	struct store *s = filled(dir, ago(2 * HOUR));
	/* By comparison with others: judging the rest again would find other slow ones. */
	const struct thin_rule rule = {
		.after_ns = HOUR, .threshold = threshold_for(0.5), .slow = 0.9};
	struct seen once;
	uint64_t next;

	rule_set(s, rule);
	assert_int_equal(engine_settle(s), 0);
	once = see(s);
	assert_true(once.traces < TRACES);
	next = next_of(s);
	assert_int_equal(engine_settle(s), 0);
	assert_int_equal(next_of(s), next);
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	rule_set(s, rule);
	assert_int_equal(engine_settle(s), 0);
	assert_int_equal(next_of(s), next); /* nothing was written */
	assert_seen_equal(see(s), once);
	store_close(s);
	folder_remove(dir);
}

static void a_stricter_rule_for_a_higher_age_goes_on_where_the_first_stopped(void **state)
{
	char dir[64];
	struct store *s = filled(dir, ago(2 * HOUR));
	struct thin_rule rows[] = {
		{.after_ns = HOUR, .threshold = threshold_for(0.5)},
		{.after_ns = 90 * 60 * NS_PER_S, .threshold = threshold_for(0.1)}};
	struct thin_rules rules = {rows, 2};
	struct seen first, both;

	rule_set(s, rows[0]);
	assert_int_equal(engine_settle(s), 0);
	first = see(s);
	assert_int_equal(engine_set_thinning(s, &rules, NULL), 0);
	assert_int_equal(engine_settle(s), 0);
	both = see(s);
	assert_in_range(both.traces, TRACES / 14, TRACES / 7);
	assert_true(both.traces < first.traces);
	assert_true(fabs(both.weight - TRACES) < 4 * sqrt(both.variance));
	store_close(s);
	folder_remove(dir);
}

static void a_trace_that_is_not_whole_stays_as_it_is(void **state)
{
	char dir[64];
	struct store *s = filled(dir, ago(30 * HOUR));
	struct store_stats stats;

	put_traces(s, 10, 2, ago(0)); /* in another segment, too young to be merged with them, */
	assert_int_equal(engine_flush(s), 0);
	put_traces(s, 20, 1, ago(0)); /* and in the head */
	rule_set(s, (struct thin_rule){.after_ns = HOUR, .threshold = THRESHOLD_NEVER});
	assert_int_equal(engine_compact(s, false), 0);
	stats = store_stats(s);
	assert_int_equal(stats.thinned[THINNED_UNTOUCHED], 3);
	assert_int_equal(stats.thinned[THINNED_DROPPED], TRACES - 3);
	assert_int_equal(see(s).traces, 3);
	store_close(s);
	folder_remove(dir);
}

/* Half of each trace a day and more before the other half: never in one merge. */
static struct store *halved(char dir[64], uint32_t traces)
{
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	for (int half = 0; half < 2; half++) {
		struct batch *b = batch_for("front", ago(half ? 30 * HOUR : 60 * HOUR));

		for (uint32_t i = 0; i < traces; i++) {
			struct event *e =
				span_add(b, i, 2 * i + 1 + (uint32_t)half, half ? 2 * i + 1 : 0,
					 1000 + (uint32_t)half, 5000 + i % 97 * 100);

			e->status = half && i % 50 == 0 ? STATUS_ERROR : STATUS_UNSET;
		}
		if (half == 0) /* one that is here alone, so that the segment stays */
			span_add(b, 1000000, 9000000, 0, 1000, 2000)->status = STATUS_ERROR;
		assert_int_equal(put(s, sealed(b)), 0);
		assert_int_equal(engine_flush(s), 0);
	}
	return s;
}

static void finding_fail(void *context, const struct store_finding *finding)
{
	fail_msg("%s: %s", finding->file, finding->text);
}

static void assert_sound(const char *dir)
{
	struct store_totals totals;
	struct error error = {0};
	char path[128];

	snprintf(path, sizeof(path), "%s/store", dir);
	if (store_check(fs_real(), path, finding_fail, NULL, &totals, &error) < 0)
		fail_msg("%s", error.text);
}

static void pieces_in_several_segments_share_one_fate(void **state)
{
	const struct thin_rule rule = {
		.after_ns = HOUR, .threshold = threshold_for(0.25), .errors = true, .slow = 0.95};
	char dir[64];
	struct store *s = halved(dir, HALVES);
	struct seen before = see(s), after;
	struct store_stats stats;

	assert_int_equal(before.traces, HALVES + 1);
	rule_set(s, rule);
	assert_int_equal(engine_compact_once(s, false), 1);
	/* The first has decided; whoever comes later follows, after a restart, too. */
	store_close(s);
	assert_sound(dir);
	s = engine_at(dir, (struct engine_options){0});
	rule_set(s, rule);
	assert_int_equal(engine_settle(s), 0);
	after = see(s); /* one threshold a trace */
	assert_in_range(after.traces, HALVES / 5, HALVES / 2);
	assert_int_equal(after.rows, 2 * (after.traces - 1) + 1); /* both halves, or none */
	assert_int_equal(after.errors, before.errors);
	assert_true(fabs(after.weight - before.weight) < 4 * sqrt(after.variance));
	stats = store_stats(s);
	assert_int_equal(stats.thinned[THINNED_UNTOUCHED], 0);
	store_close(s);
	assert_sound(dir);
	folder_remove(dir);
}

/* --- giants --- */

#define GIANT 66000

static void giant_put(struct store *s, uint32_t trace)
{
	struct batch *b = batch_for("front", ago(2 * HOUR));

	for (uint32_t i = 0; i < GIANT; i++)
		span_add(b, trace, i + 1, i ? 1 : 0, 1000 + i, 2000 + i);
	assert_int_equal(put(s, sealed(b)), 0);
	assert_int_equal(engine_flush(s), 0);
}

static size_t rows_of(struct store *s, uint32_t trace)
{
	struct event_set set = {0};
	int r = store_trace(s, trace_of(trace), &set);
	size_t n = set.n;

	assert_true(r == 0 || r == -ENOENT);
	event_set_done(&set);
	return n;
}

static void giants_are_judged_like_others(void **state)
{
	uint64_t threshold = threshold_for(0.5);
	uint32_t kept = 0, dropped = 0;
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	for (uint32_t i = 1; !kept || !dropped; i++)
		*(threshold_keeps(threshold, second_randomness(trace_of(i))) ? &kept : &dropped) =
			i;
	giant_put(s, kept);
	giant_put(s, dropped);
	rule_set(s, (struct thin_rule){.after_ns = HOUR, .threshold = threshold});
	assert_int_equal(engine_settle(s), 0);
	assert_int_equal(rows_of(s, kept), GIANT);
	assert_int_equal(rows_of(s, dropped), 0);
	assert_true(see(s).weight == threshold_weight(threshold));
	store_close(s);
	assert_sound(dir);
	folder_remove(dir);
}

static void what_is_dropped_whole_leaves_no_file(void **state)
{
	char dir[64];
	struct store *s = filled(dir, ago(2 * HOUR));

	rule_set(s, (struct thin_rule){.after_ns = HOUR, .threshold = THRESHOLD_NEVER});
	assert_int_equal(engine_settle(s), 0);
	assert_int_equal(see(s).traces, 0);
	assert_int_equal(store_stats(s).segments, 0);
	put_traces(s, 1, 1, ago(0));
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(see(s).traces, 1);
	store_close(s);
	folder_remove(dir);
}

static void rules_are_copied_and_checked(void **state)
{
	char key[] = "tier", value[] = "gold", dir[64];
	struct store *s = filled(dir, ago(2 * HOUR));
	struct thin_attribute attribute = {slice_cstr(key), slice_cstr(value)};
	struct thin_rule rows[] = {{.after_ns = HOUR, .attributes = &attribute, .attribute_n = 1},
				   {.after_ns = HOUR}};
	struct thin_rules rules = {rows, 2};
	struct error error = {0};

	assert_int_equal(engine_set_thinning(s, &rules, &error), -EINVAL);
	assert_non_null(strstr(error.text, "age"));
	rules.n = 1;
	rows[0].threshold = THRESHOLD_NEVER;
	assert_int_equal(engine_set_thinning(s, &rules, &error), 0);
	memset(key, 'x', 4);
	memset(value, 'x', 4);
	memset(rows, 0xff, sizeof(rows));
	assert_int_equal(engine_settle(s), 0);
	assert_int_equal(see(s).traces, 0);
	store_close(s);
	folder_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_agree_within_their_error),
		cmocka_unit_test(without_a_rule_nothing_changes),
		cmocka_unit_test(a_rule_is_applied_once),
		cmocka_unit_test(a_stricter_rule_for_a_higher_age_goes_on_where_the_first_stopped),
		cmocka_unit_test(a_trace_that_is_not_whole_stays_as_it_is),
		cmocka_unit_test(pieces_in_several_segments_share_one_fate),
		cmocka_unit_test(giants_are_judged_like_others),
		cmocka_unit_test(what_is_dropped_whole_leaves_no_file),
		cmocka_unit_test(rules_are_copied_and_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
