#include "t.h"

#include "model/event_unique.h"
#include "model/rows.h"

/* Which rows of two batches stay: a 1 for each that does. */
static void check(struct batch *a, struct batch *b, const char *stay_a, const char *stay_b)
{
	struct event_ref refs[64];
	size_t n = 0, i = 0;

	assert_int_equal(batch_seal(a), 0);
	assert_int_equal(batch_seal(b), 0);
	for (uint32_t k = 0; k < a->event_n; k++)
		refs[n++] = (struct event_ref){a, k};
	for (uint32_t k = 0; k < b->event_n; k++)
		refs[n++] = (struct event_ref){b, k};
	assert_int_equal(events_unique(refs, &n), 0);
	for (uint32_t k = 0; k < a->event_n; k++)
		if (stay_a[k] == '1')
			assert_true(i < n && refs[i].batch == a && refs[i++].index == k);
	for (uint32_t k = 0; k < b->event_n; k++)
		if (stay_b[k] == '1')
			assert_true(i < n && refs[i].batch == b && refs[i++].index == k);
	assert_int_equal(i, n);
	batch_unref(a);
	batch_unref(b);
}

static struct batch *batch_with(span_id_t first, span_id_t last, const char *point)
{
	struct batch *b = rows_new();
	uint32_t shop = rows_process(b, "shop", NULL);

	for (span_id_t id = first; id <= last; id++) {
		rows_span(b, id, 0, 10, 20, shop, 2);
		rows_attr(b, "k", "v");
		if (point) {
			rows_add(b, EVENT_POINT, id, 0, 15, shop);
			rows_attr(b, "p", point);
		}
	}
	return b;
}

static void a_span_that_came_again_is_left_out(void **state)
{
	check(batch_with(1, 3, NULL), batch_with(2, 5, NULL), "111", "0011");
	check(batch_with(1, 2, "x"), batch_with(2, 3, "x"), "1111", "0011");
}

static void a_span_that_says_something_else_stays(void **state)
{
	struct batch *a = batch_with(1, 2, NULL), *b = batch_with(1, 2, NULL);

	b->events[1].end_ns++;
	check(a, b, "11", "01");
	check(batch_with(1, 1, "x"), batch_with(1, 1, "y"), "11", "11");
	check(batch_with(1, 1, "x"), batch_with(1, 1, NULL), "11", "1");
	a = batch_with(1, 1, NULL);
	b = batch_with(1, 1, NULL);
	b->events[0].trace_id.b[3]++;
	check(a, b, "1", "1");
}

static void what_one_batch_says_twice_stays(void **state)
{
	struct batch *a = rows_new(), *b = rows_new();
	uint32_t shop_a = rows_process(a, "shop", NULL), shop_b = rows_process(b, "shop", NULL);

	rows_add(a, EVENT_LOG, 0, 0, 5, shop_a);
	rows_add(a, EVENT_LOG, 0, 0, 5, shop_a);
	rows_add(b, EVENT_LOG, 0, 0, 5, shop_b);
	rows_add(b, EVENT_LOG, 0, 0, 6, shop_b);
	check(a, b, "11", "01");
}

static void nothing_stays_nothing(void **state)
{
	check(rows_new(), rows_new(), "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_that_came_again_is_left_out),
		cmocka_unit_test(a_span_that_says_something_else_stays),
		cmocka_unit_test(what_one_batch_says_twice_stays),
		cmocka_unit_test(nothing_stays_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
