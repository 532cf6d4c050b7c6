/* A modelled trace written out as plain spans says the same when it is modelled again. */
#include "t.h"

#include "model/batch_copy.h"
#include "model/random_rows.h"

static void begins_and_ends_are_joined(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	_cleanup_(batch_unrefp)
	struct batch *out = NULL;
	uint32_t p = rows_process(b, "front", "h1"), q = rows_process(b, "back", NULL), code;
	struct trace *t;
	struct event *e;

	e = rows_add(b, EVENT_BEGIN, 1, 0, 10, p);
	e->kind = KIND_SERVER;
	rows_attr(b, "at.begin", "x");
	code = batch_string(b, SLICE("handle"));
	b->events[b->event_n - 1].name = code;
	rows_add(b, EVENT_CLIENT_SEND, 1, 50, 20, p);
	rows_add(b, EVENT_SERVER_RECEIVE, 2, 50, 30, q); /* 2 is only implied */
	rows_add(b, EVENT_SERVER_SEND, 2, 50, 40, q);
	rows_add(b, EVENT_CLIENT_RECEIVE, 1, 50, 50, p);
	e = rows_add(b, EVENT_END, 1, 0, 60, p);
	e->status = STATUS_ERROR;
	rows_attr(b, "at.end", "y");
	code = batch_string(b, SLICE("gone wrong"));
	batch_extra(b, (uint32_t)b->event_n - 1)->status_message = code;
	rows_add(b, EVENT_BEGIN, 3, 1, 55, p); /* runs on */
	rows_add(b, EVENT_COUNTER, 3, 0, 56, p);
	batch_extra(b, (uint32_t)b->event_n - 1)->body = batch_int(b, -7);
	t = rows_trace(b);
	assert_int_equal(trace_to_batch(t, &out), 0);
	assert_true(batch_check(out));

	e = &out->events[0];
	assert_int_equal(e->type, EVENT_SPAN);
	assert_int_equal(e->id1, 1);
	assert_int_equal(e->time_ns, ROWS_T0 + 10);
	assert_int_equal(e->end_ns, ROWS_T0 + 60);
	assert_int_equal(e->kind, KIND_SERVER);
	assert_int_equal(e->status, STATUS_ERROR);
	assert_text(batch_text(out, e->name), "handle");
	assert_text(batch_service(out, e), "front");
	assert_text(batch_attr_text(out, e->attrs, SLICE("at.begin")), "x");
	assert_text(batch_attr_text(out, e->attrs, SLICE("at.end")), "y");
	assert_text(batch_text(out, batch_extra_get(out, e)->status_message), "gone wrong");
	assert_int_equal(out->events[1].type, EVENT_POINT);
	assert_text(batch_text(out, out->events[1].name), event_type_name(EVENT_CLIENT_SEND));
	for (size_t i = 0; i < out->event_n; i++) {
		e = &out->events[i];
		if (e->type == EVENT_SPAN && e->id1 == 2) {
			assert_int_equal(e->id2, 1); /* the caller */
			assert_int_equal(e->time_ns, ROWS_T0 + 30);
			assert_int_equal(e->end_ns, ROWS_T0 + 40);
			assert_text(batch_service(out, e), "back");
		} else if (e->type == EVENT_SPAN && e->id1 == 3) {
			assert_int_equal(e->end_ns, 0);
		} else if (e->id1 == 3) {
			assert_int_equal(e->type, EVENT_POINT);
			assert_int_equal(
				attr_integer(out, batch_attr_find(out, e->attrs, SLICE("value"))),
				-7);
		}
	}
	trace_free(t);
}

static void causet_adds_nothing_to_an_export(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	_cleanup_(batch_unrefp)
	struct batch *again = NULL;
	_cleanup_(batch_unrefp)
	struct batch *out = NULL;
	uint32_t p = rows_process(b, "front", NULL), q = rows_process(b, "back", NULL);
	struct batch *both[2];
	struct trace *t;

	rows_span(b, 1, 0, 1000, 2000, p, KIND_SERVER);
	rows_span(b, 2, 1, 100, 200, q, KIND_CLIENT); /* skewed, and nobody answers */
	again = batch_ref(b);
	both[0] = b;
	both[1] = again;
	t = rows_build(both, 2, 0, 0); /* everything twice */
	assert_int_equal(t->block_n, 3);
	assert_true(t->repairs & REPAIR_CLOCK);
	assert_int_equal(trace_to_batch(t, &out), 0);
	assert_int_equal(out->event_n, 2);
	assert_int_equal(out->events[1].time_ns, ROWS_T0 + 100);
	trace_free(t);
}

static void edges_become_links(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	_cleanup_(batch_unrefp)
	struct batch *out = NULL;
	uint32_t p = rows_process(b, "a", NULL);
	struct event *e;
	struct trace *t;

	rows_span(b, 1, 0, 0, 10, p, KIND_INTERNAL);
	rows_span(b, 2, 0, 20, 30, p, KIND_INTERNAL);
	rows_add(b, EVENT_LINK, 2, 1, -1, p);
	rows_add(b, EVENT_LINK, 2, 77, -1, p);
	e = rows_add(b, EVENT_EDGE, 1, 2, 10, p);
	e->end_ns = rows_time(20);
	e->name = batch_string(b, SLICE("fork"));
	t = rows_trace(b);
	assert_int_equal(trace_to_batch(t, &out), 0);
	assert_true(batch_check(out));
	assert_int_equal(out->event_n, 5);
	for (size_t i = 2; i < 5; i++) {
		e = &out->events[i];
		assert_int_equal(e->type, EVENT_LINK);
		assert_int_equal(e->id1, 2);
		if (e->attrs.count)
			assert_text(batch_attr_text(out, e->attrs, SLICE("causet.edge")), "fork");
		assert_true(e->id2 == 1 || e->id2 == 77);
	}
	trace_free(t);
}

/* Spans in, spans out: the same blocks, raw times and points. */
static void spans_survive_the_way_out_and_back(void **state)
{
	struct rng rng = {51};

	for (int round = 0; round < 1500; round++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(round % RANDOM_TASTES), 25);
		_cleanup_(batch_unrefp)
		struct batch *out = NULL;
		struct trace *t = rows_build(r.batches, RANDOM_BATCHES, TRACE_NO_INFER, 0), *back;

		assert_int_equal(trace_to_batch(t, &out), 0);
		assert_true(batch_check(out));
		for (size_t i = 0; i < out->event_n; i++)
			assert_true(out->events[i].type == EVENT_SPAN ||
				    out->events[i].type == EVENT_POINT ||
				    out->events[i].type == EVENT_LOG ||
				    out->events[i].type == EVENT_LINK);
		back = rows_build(&out, 1, TRACE_NO_INFER, 0);
		if (round % RANDOM_TASTES == RANDOM_SPANS) {
			assert_int_equal(back->block_n, t->block_n);
			assert_int_equal(back->point_n, t->point_n);
			for (size_t i = 0; i < t->block_n; i++) {
				assert_int_equal(back->blocks[i].id, t->blocks[i].id);
				assert_int_equal(back->blocks[i].begin_ns, t->blocks[i].begin_ns);
				assert_int_equal(back->blocks[i].end_ns, t->blocks[i].end_ns);
				assert_int_equal(back->blocks[i].parent, t->blocks[i].parent);
			}
		}
		trace_free(back);
		trace_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_and_ends_are_joined),
		cmocka_unit_test(causet_adds_nothing_to_an_export),
		cmocka_unit_test(edges_become_links),
		cmocka_unit_test(spans_survive_the_way_out_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
