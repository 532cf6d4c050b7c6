/* The second sampling: whole traces, nothing left behind, the threshold written down. */
#include "catalog/catalog_folder.h"

#include "base/cleanup.h"
#include "batch_equal.h"
#include "batch_random.h"
#include "catalog/keep.h"
#include "ingest/second_sampling.h"
#include "sampling/second.h"

static void keep(struct catalog *cat, double share)
{
	uint64_t threshold;

	assert_int_equal(threshold_from_probability(share, &threshold), 0);
	assert_int_equal(keep_set(cat, threshold, share, "test", NULL), 0);
}

static struct batch *rows(uint32_t traces)
{
	struct batch *b = batch_new(0);

	b->owner = batch_string(b, SLICE("shop"));
	b->sender = batch_string(b, SLICE("10.0.0.7"));
	b->received_ns = 77;
	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < 2 * traces; i++) {
		char text[24];
		struct event *e;

		snprintf(text, sizeof(text), "of trace %u", i % traces);
		e = batch_event(b);
		store_be64(e->trace_id.b + 8, i % traces + 1);
		e->id1 = i + 1;
		e->attrs = (struct attr_range){(uint32_t)b->attr_n, 1};
		batch_attr_string(b, SLICE("text"), slice_cstr(text));
	}
	return b;
}

static void everything_is_kept_unless_somebody_says_otherwise(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct second *s = NULL;
	struct batch *b = rows(100), *before = b;
	size_t dropped = 99;

	assert_int_equal(second_new(cat, &s, NULL), 0);
	assert_int_equal(second_apply(s, &b, &dropped), 0);
	assert_ptr_equal(b, before);
	assert_int_equal(dropped, 0);
	assert_int_equal(b->kept_threshold, 0);
	batch_unref(b);
	second_free(s);
	catalog_close(cat);
}

static void a_share_keeps_whole_traces_and_nothing_of_the_others(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct second *s = NULL;
	struct batch *b = rows(1000);
	uint8_t seen[1001] = {0};
	size_t dropped = 0, kept_text = 0;

	assert_int_equal(second_new(cat, &s, NULL), 0);
	keep(cat, 0.25); /* followed: the handle's own changes count at once */
	assert_int_equal(second_apply(s, &b, &dropped), 0);
	assert_int_equal(dropped + b->event_n, 2000);
	assert_in_range(b->event_n, 400, 600);
	for (size_t i = 0; i < b->event_n; i++)
		seen[load_be64(b->events[i].trace_id.b + 8)]++;
	for (size_t i = 0; i <= 1000; i++)
		assert_true(seen[i] == 0 || seen[i] == 2);
	for (uint32_t i = 0; i < b->strings; i++)
		kept_text += slice_starts(batch_text(b, i), SLICE("of trace "));
	assert_int_equal(kept_text, b->event_n / 2);
	assert_true(slice_eq(batch_text(b, b->owner), SLICE("shop")));
	assert_true(slice_eq(batch_text(b, b->sender), SLICE("10.0.0.7")));
	assert_int_equal(b->received_ns, 77);
	assert_true(threshold_probability(b->kept_threshold) == 0.25);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	batch_unref(b);
	second_free(s);
	catalog_close(cat);
}

static void a_smaller_share_keeps_a_subset(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct second *s = NULL;
	struct batch *half = rows(1000), *tenth = rows(1000);
	uint8_t in_half[1001] = {0};
	size_t dropped;

	assert_int_equal(second_new(cat, &s, NULL), 0);
	keep(cat, 0.5);
	assert_int_equal(second_apply(s, &half, &dropped), 0);
	keep(cat, 0.1);
	assert_int_equal(second_apply(s, &tenth, &dropped), 0);
	for (size_t i = 0; i < half->event_n; i++)
		in_half[load_be64(half->events[i].trace_id.b + 8)] = 1;
	assert_true(tenth->event_n > 0 && tenth->event_n < half->event_n);
	for (size_t i = 0; i < tenth->event_n; i++)
		assert_true(in_half[load_be64(tenth->events[i].trace_id.b + 8)]);
	batch_unref(half);
	batch_unref(tenth);
	second_free(s);
	catalog_close(cat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(everything_is_kept_unless_somebody_says_otherwise),
		catalog_test(a_share_keeps_whole_traces_and_nothing_of_the_others),
		catalog_test(a_smaller_share_keeps_a_subset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
