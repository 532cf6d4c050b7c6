/* Spans become a tree of blocks; what is wrong with them is repaired where everybody can see it. */
#include "t.h"

#include "model/rows.h"

static void nothing_makes_an_empty_trace(void **state)
{
	struct trace *t = NULL;

	assert_int_equal(trace_build(NULL, 0, 0, &t), 0);
	assert_true(trace_check(t));
	assert_int_equal(t->block_n, 0);
	assert_int_equal(trace_find(t, 1), TRACE_NONE);
	trace_free(t);
	trace_free(NULL);
}

static void blocks_stand_in_pre_order_by_begin(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	static const span_id_t expected[] = {1, 4, 5, 2, 3};
	struct trace *t;

	rows_span(b, 2, 1, 50, 60, p, KIND_INTERNAL);
	rows_span(b, 3, 2, 52, 58, p, KIND_INTERNAL);
	rows_span(b, 1, 0, 0, 100, p, KIND_SERVER);
	rows_span(b, 5, 4, 11, 19, p, KIND_INTERNAL);
	rows_span(b, 4, 1, 10, 20, p, KIND_INTERNAL);
	t = rows_trace(b);
	assert_int_equal(t->block_n, 5);
	assert_int_equal(t->roots, 1);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(t->blocks[i].id, expected[i]);
		assert_int_equal(trace_find(t, expected[i]), i);
	}
	assert_int_equal(t->blocks[0].last, 4);
	assert_int_equal(t->blocks[1].last, 2);
	assert_true(trace_is_ancestor(t, 0, 4));
	assert_true(trace_is_ancestor(t, 3, 4));
	assert_false(trace_is_ancestor(t, 1, 4));
	assert_false(trace_is_ancestor(t, 4, 4));
	assert_int_equal(t->blocks[2].depth, 2);
	assert_int_equal(t->blocks[0].child_n, 2);
	assert_int_equal(t->blocks[0].self_ns, 80);
	assert_int_equal(t->blocks[1].self_ns, 2);
	assert_text(trace_block_name(t, 1), "op4");
	assert_text(trace_block_service(t, 1), "a");
	assert_int_equal(t->begin_ns, ROWS_T0);
	assert_int_equal(t->end_ns, ROWS_T0 + 100);
	assert_int_equal(t->repairs, 0);
	assert_int_equal(t->edge_n, 0);
	/* siblings in one process form a unit */
	assert_int_equal(t->blocks[1].unit, t->blocks[3].unit);
	assert_int_not_equal(t->blocks[0].unit, t->blocks[1].unit);
	trace_free(t);
}

static void overlapping_children_are_counted_once_in_self_time(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct trace *t;

	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 40, p, KIND_INTERNAL);
	rows_span(b, 3, 1, 20, 30, p, KIND_INTERNAL);
	rows_span(b, 4, 1, 35, 50, p, KIND_INTERNAL);
	rows_span(b, 5, 1, 90, 150, p, KIND_INTERNAL); /* outlives its parent */
	t = rows_trace(b);
	assert_int_equal(t->blocks[0].self_ns, 100 - 40 - 10);
	assert_int_equal(t->blocks[trace_find(t, 5)].self_ns, 60);
	trace_free(t);
}

static void a_remote_parent_is_a_pair_of_edges(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "front", NULL), q = rows_process(b, "back", NULL);
	struct trace *t;

	rows_span(b, 1, 0, 0, 100, p, KIND_CLIENT);
	rows_span(b, 2, 1, 10, 90, q, KIND_SERVER);
	t = rows_trace(b);
	assert_int_equal(t->block_n, 2);
	assert_int_equal(t->edge_n, 2);
	assert_int_equal(rows_edges(t, EDGE_PARENT), 2);
	assert_true(trace_pos_eq(t->edges[0].from, trace_pos(POS_END, 1)));
	assert_true(trace_pos_eq(t->edges[0].to, trace_pos(POS_END, 0)));
	assert_true(trace_pos_eq(t->edges[1].from, trace_pos(POS_BEGIN, 0)));
	assert_true(trace_pos_eq(t->edges[1].to, trace_pos(POS_BEGIN, 1)));
	assert_true(t->blocks[1].bits & BLOCK_REMOTE_PARENT);
	assert_int_equal(t->inferred_n, 0);
	trace_free(t);
}

static void a_message_is_one_edge_and_nobody_waits(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "front", NULL), q = rows_process(b, "back", NULL);
	struct trace *t;

	rows_span(b, 1, 0, 0, 10, p, KIND_PRODUCER);
	rows_span(b, 2, 1, 500, 900, q, KIND_CONSUMER);
	t = rows_trace(b);
	assert_int_equal(t->edge_n, 1);
	assert_int_equal(t->edges[0].kind, EDGE_MESSAGE);
	assert_int_equal(t->blocks[0].self_ns, 10);
	assert_int_equal(t->repairs, 0);
	trace_free(t);
}

static void a_shared_id_gives_a_client_and_its_server(void **state)
{
	static const struct {
		int32_t server_kind;
		uint16_t bits;
	} rows[] = {
		{KIND_SERVER, EVENT_SHARED}, {KIND_SERVER, 0}, {KIND_UNSPECIFIED, EVENT_SHARED}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = rows_new();
		uint32_t p = rows_process(b, "front", NULL), q = rows_process(b, "back", NULL);
		struct trace *t;

		rows_span(b, 9, 8, 12, 88, q, rows[i].server_kind)->bits = rows[i].bits;
		rows_span(b, 9, 8, 10, 90, p, KIND_CLIENT);
		rows_span(b, 8, 0, 0, 100, p, KIND_SERVER);
		rows_span(b, 7, 9, 20, 30, q, KIND_INTERNAL); /* a child of the server side */
		rows_add(b, EVENT_POINT, 9, 0, 15, q);
		rows_add(b, EVENT_POINT, 9, 0, 11, p);
		t = rows_trace(b);
		assert_int_equal(t->block_n, 4);
		assert_int_equal(t->blocks[1].id, 9);
		assert_int_equal(t->blocks[1].kind, KIND_CLIENT);
		assert_int_equal(t->blocks[2].id, 9);
		assert_int_equal(t->blocks[2].parent, 1);
		assert_true(t->blocks[2].bits & BLOCK_SHARED);
		assert_int_equal(t->blocks[3].id, 7);
		assert_int_equal(t->blocks[3].parent, 2);
		assert_int_equal(t->repairs, 0);
		assert_int_equal(trace_find(t, 9), 1);
		assert_int_equal(t->blocks[1].point_n, 1);
		assert_int_equal(t->blocks[2].point_n, 1);
		assert_int_equal(t->points[t->blocks[2].point_first].time_ns, ROWS_T0 + 15);
		trace_free(t);
	}
}

static void the_same_row_again_collapses_another_is_kept(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *a = rows_new();
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	struct batch *both[2] = {a, b};
	struct trace *t;

	for (int i = 0; i < 2; i++) {
		uint32_t p;

		if (i == 1) /* other codes, the same content */
			batch_string(both[i], SLICE("something else first"));
		p = rows_process(both[i], "a", NULL);
		rows_span(both[i], 1, 0, 0, 100, p, KIND_INTERNAL);
		rows_attr(both[i], "key", "value");
		rows_add(both[i], EVENT_POINT, 1, 0, 5, p);
		rows_span(both[i], 2, 1, 10, 20 + i, p, KIND_INTERNAL); /* differs */
	}
	rows_add(a, EVENT_POINT, 1, 0, 5, 0); /* said twice in one batch: both are meant */
	t = rows_build(both, 2, 0, 0);
	assert_int_equal(t->block_n, 3);
	assert_int_equal(t->duplicates, 2);
	assert_true(t->blocks[0].repairs & REPAIR_DUPLICATE);
	assert_int_equal(t->blocks[0].point_n, 2);
	assert_int_equal(t->blocks[1].repairs, REPAIR_CONFLICT);
	assert_int_equal(t->blocks[2].repairs, REPAIR_CONFLICT);
	assert_int_equal(rows_end(t, 1), 20);
	assert_int_equal(rows_end(t, 2), 21);
	trace_free(t);
}

static void orphans_are_roots_and_say_so(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct trace *t;

	rows_span(b, 1, 0, 10, 100, p, KIND_INTERNAL);
	rows_span(b, 3, 2, 0, 20, p, KIND_INTERNAL);
	rows_add(b, EVENT_LOG, 77, 0, 30, p);
	rows_add(b, EVENT_LOG, 0, 0, 30, p);
	t = rows_trace(b);
	assert_int_equal(t->roots, 2);
	assert_int_equal(t->blocks[0].id, 3);
	assert_int_equal(t->blocks[0].repairs, REPAIR_ORPHAN);
	assert_int_equal(t->blocks[0].parent_id, 2);
	assert_int_equal(t->blocks[1].repairs, 0);
	assert_int_equal(t->point_n, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(t->points[i].block, TRACE_NONE);
		assert_int_equal(t->points[i].repairs & REPAIR_ORPHAN,
				 trace_row(t, t->points[i].row)->id1 ? REPAIR_ORPHAN : 0);
	}
	trace_free(t);
}

static void cycles_are_cut_at_their_earliest_block(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct trace *t;

	rows_span(b, 1, 3, 30, 40, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 20, p, KIND_INTERNAL);
	rows_span(b, 3, 2, 20, 30, p, KIND_INTERNAL);
	rows_span(b, 5, 5, 50, 60, p, KIND_INTERNAL); /* its own parent */
	t = rows_trace(b);
	assert_int_equal(t->roots, 2);
	assert_int_equal(t->blocks[0].id, 2);
	assert_int_equal(t->blocks[0].repairs, REPAIR_CYCLE);
	assert_int_equal(t->blocks[1].id, 3);
	assert_int_equal(t->blocks[2].id, 1);
	assert_int_equal(t->blocks[3].repairs, REPAIR_CYCLE);
	trace_free(t);
}

static void times_that_cannot_be_are_marked_and_the_raw_row_stays(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), i;
	struct trace *t;

	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 40, 30, p, KIND_INTERNAL);
	rows_span(b, 3, 1, -1, 50, p, KIND_INTERNAL);
	rows_span(b, 4, 1, 60, 60, p, KIND_INTERNAL)->end_ns = 10000000000000000000ULL;
	rows_span(b, 5, 1, -1, -1, p, KIND_INTERNAL);
	rows_span(b, 6, 1, 70, -1, p, KIND_INTERNAL);
	rows_span(b, 7, 6, 80, 130, p, KIND_INTERNAL);
	t = rows_trace(b);
	i = trace_find(t, 2);
	assert_int_equal(t->blocks[i].repairs, REPAIR_END_BEFORE_BEGIN);
	assert_int_equal(rows_end(t, i), 40);
	assert_int_equal(trace_row(t, t->blocks[i].row)->end_ns, ROWS_T0 + 30);
	i = trace_find(t, 3);
	assert_int_equal(t->blocks[i].repairs, REPAIR_TIME_RANGE);
	assert_int_equal(rows_begin(t, i), 50);
	i = trace_find(t, 4);
	assert_int_equal(t->blocks[i].repairs, REPAIR_TIME_RANGE);
	assert_int_equal(rows_end(t, i), 60);
	assert_false(t->blocks[i].bits & BLOCK_RUNNING);
	i = trace_find(t, 5);
	assert_int_equal(t->blocks[i].repairs, REPAIR_TIME_RANGE | REPAIR_MISSING_END);
	assert_int_equal(rows_begin(t, i), 0);
	i = trace_find(t, 6);
	assert_int_equal(t->blocks[i].repairs, REPAIR_MISSING_END);
	assert_true(t->blocks[i].bits & BLOCK_RUNNING);
	assert_int_equal(rows_end(t, i), 130); /* as late as its child */
	assert_int_equal(t->running, 2);
	trace_free(t);
}

static void what_arrives_long_after_the_rest_is_late(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *a = rows_new();
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	struct batch *both[2] = {a, b};
	struct trace *t;
	uint32_t p;

	a->received_ns = ROWS_T0 + 1000000000;
	b->received_ns = a->received_ns + TRACE_LATE_NS + 1;
	p = rows_process(a, "a", NULL);
	rows_span(a, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_add(a, EVENT_BEGIN, 3, 1, 10, p);
	p = rows_process(b, "a", NULL);
	rows_span(b, 2, 1, 10, 20, p, KIND_INTERNAL);
	/* an end that comes when the block has only just ended is not late */
	rows_add(b, EVENT_END, 3, 0, TRACE_LATE_NS, p);
	t = rows_build(both, 2, 0, 0);
	assert_int_equal(t->blocks[0].repairs, 0);
	assert_int_equal(t->blocks[trace_find(t, 2)].repairs, REPAIR_LATE);
	assert_int_equal(t->blocks[trace_find(t, 3)].repairs, 0);
	trace_free(t);
}

static void a_client_alone_gets_an_inferred_peer(void **state)
{
	static const struct {
		const char *key, *value;
	} rows[] = {{"peer.service", "billing"},
		    {"server.address", "10.0.0.7"},
		    {"db.system", "pg"},
		    {"messaging.system", "kafka"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = rows_new();
		uint32_t p = rows_process(b, "a", NULL);
		struct trace *t;

		rows_span(b, 1, 0, 0, 100, p, KIND_SERVER);
		rows_span(b, 2, 1, 10, 60, p, i == 3 ? KIND_PRODUCER : KIND_CLIENT);
		rows_attr(b, rows[i].key, rows[i].value);
		t = rows_trace(b);
		assert_int_equal(t->block_n, 3);
		assert_int_equal(t->blocks[2].repairs, REPAIR_INFERRED);
		assert_int_equal(t->blocks[2].parent, 1);
		assert_int_equal(rows_begin(t, 2), 10);
		assert_int_equal(rows_end(t, 2), 60);
		assert_text(trace_block_service(t, 2), rows[i].value);
		assert_text(t->inferred[t->blocks[2].inferred].key, rows[i].key);
		assert_true(t->processes[t->blocks[2].process].inferred);
		for (size_t j = 0; j < t->edge_n; j++)
			assert_true(t->edges[j].repairs & REPAIR_INFERRED);
		trace_free(t);
		t = rows_build(&b, 1, TRACE_NO_INFER, 0);
		assert_int_equal(t->block_n, 2);
		trace_free(t);
	}
}

static void links_inside_the_trace_are_edges_others_are_kept(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct trace *t;

	rows_span(b, 1, 0, 0, 10, p, KIND_INTERNAL);
	rows_span(b, 2, 0, 20, 30, p, KIND_INTERNAL);
	rows_add(b, EVENT_LINK, 2, 1, -1, p);
	rows_add(b, EVENT_LINK, 2, 1, -1, p);
	batch_extra(b, (uint32_t)b->event_n - 1)->link_trace.b[3] = 9; /* of another trace */
	rows_add(b, EVENT_LINK, 2, 99, -1, p);                         /* never came */
	t = rows_trace(b);
	assert_int_equal(t->edge_n, 1);
	assert_int_equal(t->edges[0].kind, EDGE_LINK);
	assert_true(trace_pos_eq(t->edges[0].from, trace_pos(POS_BEGIN, 0)));
	assert_true(trace_pos_eq(t->edges[0].to, trace_pos(POS_BEGIN, 1)));
	assert_int_equal(t->link_n, 2);
	assert_int_equal(t->links[0].block, 1);
	trace_free(t);
}

static void processes_are_told_apart_by_what_identifies_them(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *a = rows_new();
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	struct batch *both[2] = {a, b};
	struct trace *t;

	rows_span(a, 1, 0, 0, 9, rows_process(a, "s", "h1"), KIND_INTERNAL);
	rows_span(a, 2, 1, 1, 8, rows_process(a, "s", "h2"), KIND_INTERNAL);
	rows_span(b, 3, 2, 2, 7, rows_process(b, "s", "h1"), KIND_INTERNAL);
	t = rows_build(both, 2, 0, 0);
	assert_int_equal(t->process_n, 2);
	assert_int_equal(t->blocks[0].process, t->blocks[2].process);
	assert_text(trace_block_host(t, 1), "h2");
	assert_true(t->blocks[1].bits & BLOCK_REMOTE_PARENT);
	trace_free(t);
}

static void the_root_says_how_the_trace_was_sampled(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), code;
	struct trace *t;

	rows_span(b, 1, 0, 0, 10, p, KIND_INTERNAL);
	/* the id's low 56 bits are 0x07070707070707, so R is given: above the threshold */
	code = batch_string(b, SLICE("x=y,ot=th:8;rv:ffffffffffffff"));
	batch_extra(b, 0)->trace_state = code;
	rows_span(b, 2, 1, 1, 9, p, KIND_INTERNAL);
	code = batch_string(b, SLICE("ot=th:c;rv:ffffffffffffff"));
	batch_extra(b, 1)->trace_state = code;
	t = rows_trace(b);
	assert_true(t->threshold_known);
	assert_true(t->threshold == 0x80000000000000ULL);
	assert_true(t->probability == 0.5);
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_makes_an_empty_trace),
		cmocka_unit_test(blocks_stand_in_pre_order_by_begin),
		cmocka_unit_test(overlapping_children_are_counted_once_in_self_time),
		cmocka_unit_test(a_remote_parent_is_a_pair_of_edges),
		cmocka_unit_test(a_message_is_one_edge_and_nobody_waits),
		cmocka_unit_test(a_shared_id_gives_a_client_and_its_server),
		cmocka_unit_test(the_same_row_again_collapses_another_is_kept),
		cmocka_unit_test(orphans_are_roots_and_say_so),
		cmocka_unit_test(cycles_are_cut_at_their_earliest_block),
		cmocka_unit_test(times_that_cannot_be_are_marked_and_the_raw_row_stays),
		cmocka_unit_test(what_arrives_long_after_the_rest_is_late),
		cmocka_unit_test(a_client_alone_gets_an_inferred_peer),
		cmocka_unit_test(links_inside_the_trace_are_edges_others_are_kept),
		cmocka_unit_test(the_root_says_how_the_trace_was_sampled),
		cmocka_unit_test(processes_are_told_apart_by_what_identifies_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
