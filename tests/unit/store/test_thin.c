/* Thinning: what is remarkable stays, totals agree within their error, twice is once. */
#include "t.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "core/clock.h"
#include "sampling/second.h"
#include "store/thin.h"

#define TRACES 20000
#define NOW    ((int64_t)2000000000 * NS_PER_S)
#define DAY    (86400 * NS_PER_S)

/* One batch, a trace of two spans after the other; what makes one remarkable is up to the test. */
struct made {
	struct batch *batch;
	struct event_ref refs[2];
};

struct look {
	uint64_t number;
	const char *operation;
	int64_t took_ns;
	bool error;
	const char *key, *value;
	int64_t received_ns;
	uint64_t passed;
};

static struct made make(struct look l)
{
	struct made m = {.batch = batch_new(0)};
	struct batch *b = m.batch;

	batch_resource(b);
	batch_scope(b);
	b->received_ns = l.received_ns;
	b->kept_threshold = l.passed;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t name = batch_string(
			b, slice_cstr(i == 0 ? (l.operation ? l.operation : "get") : "inner"));
		struct event *e = batch_event(b);

		store_be64(e->trace_id.b + 8, l.number);
		e->type = EVENT_SPAN;
		e->name = name;
		e->id1 = 2 * l.number + i;
		e->id2 = i == 0 ? 0 : 2 * l.number;
		e->time_ns = 1000;
		e->end_ns = 1000 + (uint64_t)l.took_ns;
		e->status = l.error && i == 1 ? STATUS_ERROR : STATUS_UNSET;
		if (l.key && i == 1) {
			e->attrs = (struct attr_range){(uint32_t)b->attr_n, 1};
			batch_attr_string(b, slice_cstr(l.key), slice_cstr(l.value));
		}
	}
	assert_int_equal(batch_seal(b), 0);
	for (uint32_t i = 0; i < 2; i++)
		m.refs[i] = (struct event_ref){b, i};
	return m;
}

static void observe(struct thin *t, struct look l)
{
	struct made m = make(l);

	assert_int_equal(thin_observe(t, m.refs, 2), 0);
	batch_unref(m.batch);
}

static struct thin_decision decide(struct thin *t, struct look l)
{
	struct thin_decision d;
	struct made m = make(l);

	assert_int_equal(thin_decide(t, m.refs, 2, &d), 0);
	batch_unref(m.batch);
	return d;
}

static struct thin *thin_of(const struct thin_rules *rules)
{
	struct thin *t = NULL;

	assert_int_equal(thin_rules_check(rules, NULL), 0);
	assert_int_equal(thin_new(rules, NOW, &t), 0);
	return t;
}

static uint64_t share(double p)
{
	uint64_t threshold;

	assert_int_equal(threshold_from_probability(p, &threshold), 0);
	return threshold;
}

/* Trace n of a made-up day: one in 50 fails, durations are spread, some operations are rare. */
static struct look day(uint64_t n)
{
	struct rng rng = {n};

	return (struct look){
		.number = n + 1,
		.operation = n % 5000 == 17 ? "odd"
			     : n % 3        ? "get"
					    : "put",
		.took_ns = 1000 + (int64_t)rng_below(&rng, 1000000),
		.error = rng_below(&rng, 50) == 0,
		.received_ns = NOW - 10 * DAY,
	};
}

static void what_is_remarkable_stays_and_totals_agree(void **state)
{
	const struct thin_rule rule = {.after_ns = 7 * DAY,
				       .threshold = share(0.1),
				       .errors = true,
				       .slow = 0.99,
				       .rare = 10};
	const struct thin_rules rules = {&rule, 1};
	struct thin *t = thin_of(&rules);
	double total = 0, variance = 0, took = 0, took_estimated = 0, took_variance = 0;
	uint64_t errors = 0, kept = 0;
	struct thin_counts counts;

	(void)state;
	for (uint64_t n = 0; n < TRACES; n++)
		observe(t, day(n));
	thin_observed(t);
	for (uint64_t n = 0; n < TRACES; n++) {
		struct look l = day(n);
		struct thin_decision d = decide(t, l);
		double weight = threshold_weight(d.threshold);

		took += (double)l.took_ns;
		errors += l.error;
		if (d.fate == THIN_DROP) {
			assert_false(l.error);
			assert_string_not_equal(l.operation, "odd");
			assert_true(l.took_ns < 995000); /* far into the tail of a million */
			continue;
		}
		kept++;
		total += weight;
		variance += weight * (weight - 1);
		took_estimated += weight * (double)l.took_ns;
		took_variance += weight * (weight - 1) * (double)l.took_ns * (double)l.took_ns;
		if (l.error)
			assert_int_equal(d.threshold, 0);
	}
	counts = thin_counts(t);
	assert_int_equal(counts.errors, errors);
	assert_int_equal(counts.rare, 3); /* the fourth is the slowest of its operation */
	assert_int_equal(counts.dropped + kept, TRACES);
	assert_true(kept < TRACES / 5);
	assert_true(fabs(total - TRACES) < 3 * sqrt(variance));
	assert_true(fabs(took_estimated - took) < 3 * sqrt(took_variance));
	thin_free(t);
}

static void thinning_twice_is_thinning_once(void **state)
{
	const struct thin_rule rule = {.after_ns = DAY, .threshold = share(0.25)};
	const struct thin_rules rules = {&rule, 1};
	struct thin *first = thin_of(&rules), *again = thin_of(&rules);

	(void)state;
	for (uint64_t n = 0; n < 2000; n++) {
		struct look l = {.number = n + 1, .received_ns = NOW - 2 * DAY};
		struct thin_decision once = decide(first, l), twice;

		if (once.fate == THIN_DROP)
			continue;
		l.passed = once.threshold;
		twice = decide(again, l);
		assert_int_equal(twice.fate, THIN_KEEP);
		assert_int_equal(twice.threshold, once.threshold);
	}
	assert_int_equal(thin_counts(again).dropped, 0);
	assert_in_range(thin_counts(first).dropped, 1400, 1600);
	thin_free(first);
	thin_free(again);
}

static void the_oldest_rule_a_trace_is_old_enough_for_decides(void **state)
{
	const struct thin_rule rows[] = {
		{.after_ns = DAY, .threshold = share(0.5)},
		{.after_ns = 7 * DAY, .threshold = THRESHOLD_NEVER, .errors = true}};
	const struct thin_rules rules = {rows, 2};
	struct thin *t = thin_of(&rules);

	(void)state;
	for (uint64_t n = 1; n < 100; n++) {
		struct look young = {.number = n, .received_ns = NOW - DAY + 1};
		struct look old = {.number = n, .received_ns = NOW - 7 * DAY};
		struct look failed = old;

		failed.error = true;
		assert_int_equal(decide(t, young).fate, THIN_KEEP);
		assert_int_equal(decide(t, old).fate, THIN_DROP);
		assert_int_equal(decide(t, failed).fate, THIN_KEEP);
	}
	assert_int_equal(thin_counts(t).young, 99);
	assert_int_equal(thin_counts(t).errors, 99);
	thin_free(t);
}

static void chosen_attributes_stay(void **state)
{
	static const struct thin_attribute chosen[] = {{{"customer.tier", 13}, {"gold*", 5}},
						       {{"debug", 5}, {NULL, 0}}};
	const struct thin_rule rule = {
		.threshold = THRESHOLD_NEVER, .attributes = chosen, .attribute_n = 2};
	const struct thin_rules rules = {&rule, 1};
	static const struct {
		const char *key, *value;
		enum thin_fate fate;
	} rows[] = {
		{"customer.tier", "gold", THIN_KEEP},   {"customer.tier", "golden", THIN_KEEP},
		{"customer.tier", "silver", THIN_DROP}, {"debug", "", THIN_KEEP},
		{"debugger", "x", THIN_DROP},
	};
	struct thin *t = thin_of(&rules);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(decide(t, (struct look){.number = i + 1,
							 .key = rows[i].key,
							 .value = rows[i].value})
					 .fate,
				 rows[i].fate);
	thin_free(t);
}

static void rules_that_make_no_sense_are_refused(void **state)
{
	static const struct thin_rule rows[] = {{.after_ns = 5},  {.after_ns = 5},
						{.after_ns = -1}, {.slow = 1},
						{.slow = NAN},    {.threshold = THRESHOLD_UNKNOWN}};
	struct error e = {0};

	(void)state;
	assert_int_equal(thin_rules_check(&(struct thin_rules){rows, 2}, &e), -EINVAL);
	for (size_t i = 2; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(thin_rules_check(&(struct thin_rules){&rows[i], 1}, &e), -EINVAL);
	assert_int_equal(thin_rules_check(&(struct thin_rules){rows, THIN_MAX_RULES + 1}, &e),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_remarkable_stays_and_totals_agree),
		cmocka_unit_test(thinning_twice_is_thinning_once),
		cmocka_unit_test(the_oldest_rule_a_trace_is_old_enough_for_decides),
		cmocka_unit_test(chosen_attributes_stay),
		cmocka_unit_test(rules_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
