/* The consumer counts what comes after its start, once, and leaves its cursor behind. */
#include "rows.h"

#include <errno.h>

#include "feature/span_consumer.h"
#include "store/memory.h"

static void acked(struct store_append *append, int result)
{
	assert_int_equal(result, 0);
}

static void put(struct store *s, uint64_t trace)
{
	struct batch *b = batch_for("front");
	struct store_append append = {.batch = b, .done = acked};

	add_span(b, trace, 1, 0, KIND_SERVER);
	assert_int_equal(batch_seal(b), 0);
	store_append(s, &append);
}

static uint64_t seen(struct span_consumer *c)
{
	struct span_metrics *m = span_consumer_metrics(c);
	uint64_t n;

	assert_int_equal(span_consumer_catch_up(c), 0);
	pthread_mutex_lock(&m->lock);
	n = m->seen;
	pthread_mutex_unlock(&m->lock);
	return n;
}

static void every_span_after_the_start_is_counted_once(void **state)
{
	struct span_consumer *c;
	struct store *s;
	uint64_t cursor;

	assert_int_equal(memory_store_open(1 << 20, &s), 0);
	put(s, 1);
	put(s, 2);
	assert_int_equal(span_consumer_start(s, &c), 0);
	assert_int_equal(store_cursor_get(s, SLICE(SPAN_CONSUMER_CURSOR), &cursor), -ENOENT);
	assert_int_equal(seen(c), 0);
	for (uint64_t i = 3; i <= 40; i++) {
		put(s, i);
		assert_int_equal(seen(c), i - 2); /* while its thread reads, too */
	}
	assert_int_equal(store_cursor_get(s, SLICE(SPAN_CONSUMER_CURSOR), &cursor), 0);
	assert_null(span_consumer_stop(c));
	assert_int_equal(store_cursor_get(s, SLICE(SPAN_CONSUMER_CURSOR), &cursor), -ENOENT);
	store_close(s);
}

static void what_came_before_the_first_question_counts_too(void **state)
{
	struct span_consumer *c;
	struct store *s;

	assert_int_equal(memory_store_open(1 << 20, &s), 0);
	assert_int_equal(span_consumer_start(s, &c), 0);
	for (uint64_t i = 1; i <= 10; i++)
		put(s, i);
	assert_int_equal(seen(c), 10);
	assert_int_equal(seen(c), 10);
	assert_null(span_consumer_stop(c));
	store_close(s);
}

static void it_stops_without_having_been_asked_for_anything(void **state)
{
	struct span_consumer *c;
	struct store *s;

	assert_int_equal(memory_store_open(1 << 20, &s), 0);
	assert_int_equal(span_consumer_start(s, &c), 0);
	assert_null(span_consumer_stop(c));
	assert_null(span_consumer_stop(NULL));
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_span_after_the_start_is_counted_once),
		cmocka_unit_test(what_came_before_the_first_question_counts_too),
		cmocka_unit_test(it_stops_without_having_been_asked_for_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
