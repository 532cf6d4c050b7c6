#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/arena.h"
#include "store/memory.h"

struct ack {
	struct store_append append;
	int result, calls;
};

static void acked(struct store_append *append, int result)
{
	struct ack *ack = container_of(append, struct ack, append);

	ack->result = result;
	ack->calls++;
}

static int put(struct store *s, struct batch *b)
{
	struct ack ack = {.append = {.batch = b, .done = acked}};

	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	store_append(s, &ack.append);
	assert_int_equal(ack.calls, 1);
	return ack.result;
}

static struct trace_id id_of(uint8_t n)
{
	return (struct trace_id){.b = {[15] = n}};
}

/* A batch of one service; spans are added to it. */
static struct batch *batch_for(const char *service)
{
	struct batch *b = batch_new(0);

	assert_non_null(b);
	batch_resource(b);
	batch_scope(b);
	batch_attr_string(b, SLICE("service.name"), slice_cstr(service));
	batch_attr_string(b, SLICE("host.name"), SLICE("h1"));
	b->resources[0].attrs = (struct attr_range){0, 2};
	b->owner = batch_string(b, SLICE("local"));
	return b;
}

static struct event *span(struct batch *b, uint8_t trace, span_id_t id, span_id_t parent,
			  const char *name, uint64_t start, uint64_t end)
{
	uint32_t code = batch_string(b, slice_cstr(name));
	struct event *e = batch_event(b);

	*e = (struct event){.trace_id = id_of(trace),
			    .id1 = id,
			    .id2 = parent,
			    .name = code,
			    .time_ns = start,
			    .end_ns = end,
			    .type = EVENT_SPAN};
	return e;
}

static struct store *open_store(size_t limit)
{
	struct store *s;

	assert_int_equal(memory_store_open(limit, &s), 0);
	return s;
}

static void a_trace_is_gathered_from_all_batches(void **state)
{
	struct store *s = open_store(1 << 20);
	struct batch *a = batch_for("front"), *b = batch_for("back");
	struct event_set set = {0};

	span(a, 1, 10, 0, "root", 100, 900);
	span(a, 2, 20, 0, "other", 100, 200);
	span(b, 1, 11, 10, "call", 200, 800);
	assert_int_equal(put(s, a), 0);
	assert_int_equal(put(s, b), 0);
	assert_int_equal(store_trace(s, id_of(1), &set), 0);
	assert_int_equal(set.n, 2);
	assert_int_equal(set.batch_n, 2);
	assert_true(event_get(set.refs[0])->id1 == 10);
	assert_true(event_get(set.refs[1])->id1 == 11);
	event_set_done(&set);
	assert_int_equal(store_trace(s, id_of(3), &set), -ENOENT);
	assert_int_equal(store_stats(s).traces, 2);
	assert_int_equal(store_stats(s).spans, 3);
	store_close(s);
}

static void what_was_read_outlives_the_store(void **state)
{
	struct store *s = open_store(1 << 20);
	struct batch *a = batch_for("front");
	struct event_set set = {0};

	span(a, 1, 10, 0, "root", 100, 900);
	assert_int_equal(put(s, a), 0);
	assert_int_equal(store_trace(s, id_of(1), &set), 0);
	store_close(s);
	assert_text(batch_service(set.refs[0].batch, event_get(set.refs[0])), "front");
	event_set_done(&set);
}

/* Trace n starts at 1000 n, lasts 10 n, and fails if n is even; services alternate. */
static struct store *ten_traces(void)
{
	struct store *s = open_store(1 << 20);

	for (uint8_t n = 1; n <= 10; n++) {
		struct batch *b = batch_for(n % 3 ? "front" : "back");
		uint32_t first = (uint32_t)b->attr_n;
		struct event *e;

		batch_attr_int(b, SLICE("n"), n);
		batch_attr_string(b, SLICE("colour"), n > 5 ? SLICE("red") : SLICE("blue"));
		e = span(b, n, n, 0, n == 7 ? "seven" : "work", 1000u * n, 1010u * n);
		e->attrs = (struct attr_range){first, 2};
		e->status = n % 2 ? STATUS_UNSET : STATUS_ERROR;
		assert_int_equal(put(s, b), 0);
	}
	return s;
}

static void check_find(struct store *s, struct store_query q, const char *expected)
{
	struct trace_list list = {0};
	char found[64];
	size_t n = 0;

	assert_int_equal(store_find(s, &q, &list), 0);
	for (size_t i = 0; i < list.n; i++)
		n += (size_t)snprintf(found + n, sizeof(found) - n, "%d ", list.rows[i].id.b[15]);
	found[n ? n - 1 : 0] = '\0';
	assert_string_equal(found, expected);
	trace_list_done(&list);
}

static void searches_filter_and_order_newest_first(void **state)
{
	struct store *s = ten_traces();
	const struct store_tag red = {SLICE("colour"), SLICE("red")},
			       seven = {SLICE("n"), SLICE("7")},
			       host = {SLICE("host.name"), SLICE("h1")};

	check_find(s, (struct store_query){.limit = 3}, "10 9 8");
	check_find(s, (struct store_query){.service = SLICE("back")}, "9 6 3");
	check_find(s, (struct store_query){.operation = SLICE("seven")}, "7");
	check_find(s, (struct store_query){.service = SLICE("back"), .operation = SLICE("seven")},
		   "");
	check_find(s, (struct store_query){.errors = true}, "10 8 6 4 2");
	check_find(s, (struct store_query){.tags = &red, .tag_n = 1, .errors = true}, "10 8 6");
	check_find(s, (struct store_query){.tags = &seven, .tag_n = 1}, "7");
	check_find(s, (struct store_query){.tags = &host, .tag_n = 1, .limit = 1}, "10");
	check_find(s, (struct store_query){.min_duration_ns = 80}, "10 9 8");
	check_find(s, (struct store_query){.max_duration_ns = 20}, "2 1");
	check_find(s, (struct store_query){.from_ns = 3000, .to_ns = 5000}, "4 3");
	check_find(s, (struct store_query){.owner = SLICE("nobody")}, "");
	check_find(s, (struct store_query){.order = STORE_SLOWEST, .limit = 3}, "10 9 8");
	check_find(s,
		   (struct store_query){.order = STORE_SLOWEST,
					.max_duration_ns = 50,
					.after = true,
					.after_duration_ns = 40,
					.after_start_ns = 4000,
					.after_id = {{[15] = 4}}},
		   "3 2 1");
	store_close(s);
}

static void pages_follow_each_other_without_gap_or_overlap(void **state)
{
	struct store *s = ten_traces();
	struct store_query q = {.limit = 4};
	char seen[64] = "";

	for (int page = 0; page < 3; page++) {
		struct trace_list list = {0};

		assert_int_equal(store_find(s, &q, &list), 0);
		assert_int_equal(list.more, page < 2);
		for (size_t i = 0; i < list.n; i++)
			snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%d ",
				 list.rows[i].id.b[15]);
		q.after = true;
		q.after_start_ns = list.rows[list.n - 1].start_ns;
		q.after_id = list.rows[list.n - 1].id;
		trace_list_done(&list);
	}
	assert_string_equal(seen, "10 9 8 7 6 5 4 3 2 1 ");
	store_close(s);
}

static void the_same_span_sent_twice_counts_once(void **state)
{
	struct store *s = open_store(1 << 20);
	struct trace_list list = {0};

	for (int i = 0; i < 2; i++) {
		struct batch *b = batch_for("front");

		span(b, 1, 10, 0, "root", 100, 900)->status = STATUS_ERROR;
		span(b, 1, 11, 10, "child", 200, 0);
		assert_int_equal(put(s, b), 0);
	}
	assert_int_equal(store_find(s, &(struct store_query){0}, &list), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.rows[0].spans, 2);
	assert_int_equal(list.rows[0].errors, 1);
	assert_int_equal(list.rows[0].unfinished, 1);
	assert_int_equal(list.rows[0].duration_ns, 800);
	assert_text(list.rows[0].root_name, "root");
	assert_int_equal(list.rows[0].service_n, 1);
	trace_list_done(&list);
	store_close(s);
}

static void begun_blocks_are_unfinished_until_their_end_comes(void **state)
{
	struct store *s = open_store(1 << 20);
	struct batch *b = batch_for("front"), *later = batch_for("front");
	struct trace_list list = {0};

	span(b, 1, 10, 0, "a", 100, 0)->type = EVENT_BEGIN;
	span(b, 1, 11, 10, "b", 200, 0)->type = EVENT_BEGIN;
	assert_int_equal(put(s, b), 0);
	assert_int_equal(store_find(s, &(struct store_query){0}, &list), 0);
	assert_int_equal(list.rows[0].unfinished, 2);
	trace_list_done(&list);
	span(later, 1, 11, 0, "", 700, 0)->type = EVENT_END;
	assert_int_equal(put(s, later), 0);
	assert_int_equal(store_find(s, &(struct store_query){0}, &list), 0);
	assert_int_equal(list.rows[0].unfinished, 1);
	assert_int_equal(list.rows[0].spans, 2);
	assert_int_equal(list.rows[0].duration_ns, 600);
	trace_list_done(&list);
	store_close(s);
}

static void services_and_operations_are_sorted(void **state)
{
	struct store *s = ten_traces();
	struct service_list list = {0};

	assert_int_equal(store_services(s, &list), 0);
	assert_int_equal(list.n, 2);
	assert_text(list.rows[0].name, "back");
	assert_int_equal(list.rows[0].spans, 3);
	assert_int_equal(list.rows[0].errors, 1);
	assert_text(list.rows[1].name, "front");
	assert_int_equal(list.rows[1].operation_n, 2);
	assert_text(list.rows[1].operations[0], "seven");
	service_list_done(&list);
	store_close(s);
}

static void over_the_limit_is_refused_and_nothing_is_dropped(void **state)
{
	struct store *s = open_store(8192);
	int kept = 0, r = 0;

	for (uint8_t n = 1; n < 100 && r == 0; n++) {
		struct batch *b = batch_for("front");

		span(b, n, n, 0, "work", 1000, 2000);
		r = put(s, b);
		kept += r == 0;
	}
	assert_int_equal(r, -ENOBUFS);
	assert_int_equal(store_stats(s).traces, kept);
	assert_int_equal(store_stats(s).refused[REFUSED_MEMORY], 1);
	assert_true(store_stats(s).bytes <= 8192);
	store_close(s);
}

static void an_empty_store_answers_with_nothing(void **state)
{
	struct store *s = open_store(1024);
	struct trace_list traces = {0};
	struct service_list services = {0};
	struct event_set all = {0};

	assert_int_equal(store_find(s, &(struct store_query){0}, &traces), 0);
	assert_int_equal(store_services(s, &services), 0);
	assert_int_equal(store_all(s, &all), 0);
	assert_int_equal(traces.n + services.n + all.n, 0);
	trace_list_done(&traces);
	service_list_done(&services);
	event_set_done(&all);
	store_close(s);
}

#define WRITERS 3
#define BATCHES 60

static void *write_many(void *store)
{
	for (int i = 0; i < BATCHES; i++) {
		struct batch *b = batch_for("front");

		span(b, (uint8_t)(i % 7 + 1), (span_id_t)i + 1, 0, "work", 1000, 2000);
		assert_int_equal(put(store, b), 0);
	}
	return NULL;
}

static void *read_many(void *store)
{
	for (int i = 0; i < BATCHES; i++) {
		struct trace_list list = {0};
		struct event_set set = {0};

		assert_int_equal(store_find(store, &(struct store_query){0}, &list), 0);
		trace_list_done(&list);
		if (store_trace(store, id_of(1), &set) == 0)
			assert_text(batch_service(set.refs[0].batch, event_get(set.refs[0])),
				    "front");
		event_set_done(&set);
		store_stats(store);
	}
	return NULL;
}

static void readers_and_writers_do_not_disturb_each_other(void **state)
{
	struct store *s = open_store(1 << 24);
	pthread_t threads[WRITERS + 2];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, i < WRITERS ? write_many : read_many, s),
			0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(store_stats(s).spans, WRITERS * BATCHES);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_is_gathered_from_all_batches),
		cmocka_unit_test(what_was_read_outlives_the_store),
		cmocka_unit_test(searches_filter_and_order_newest_first),
		cmocka_unit_test(pages_follow_each_other_without_gap_or_overlap),
		cmocka_unit_test(the_same_span_sent_twice_counts_once),
		cmocka_unit_test(begun_blocks_are_unfinished_until_their_end_comes),
		cmocka_unit_test(services_and_operations_are_sorted),
		cmocka_unit_test(over_the_limit_is_refused_and_nothing_is_dropped),
		cmocka_unit_test(an_empty_store_answers_with_nothing),
		cmocka_unit_test(readers_and_writers_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
