/* Four generations of RPC instrumentation, one model (Canopy, Figure 11 a-e).
 *
 * The same call is told five times, in the events each generation had.  Every telling must give the
 * blocks, units and edges it can tell, and all must agree on where the time went:
 *
 *   client  0 ──A── 10 ╲                              ╱ 90 or 95 ── 100
 *   server              20 ────────────────────── 80                          */
#include "t.h"

#include "model/causality.h"
#include "model/critical_path.h"
#include "model/rows.h"

enum { CALL = 50, A = 1, B = 2, C = 3, D = 4, N = 5, MAIN = 101, SERVER = 102, NETWORK = 103 };

struct told {
	enum event_type type;
	span_id_t id1, id2, unit;
	int64_t time;
	bool server;
};

struct generation {
	const char *name; /* what the figure shows */
	struct told rows[24];
	size_t blocks, units; /* units that were sent */
	int64_t queued;
};

static const struct generation generations[] = {
	{"11a: blocks only",
	 {{EVENT_BEGIN, A, 0, 0, 0},
	  {EVENT_CLIENT_SEND, A, CALL, 0, 10},
	  {EVENT_SERVER_RECEIVE, B, CALL, 0, 20, true},
	  {EVENT_SERVER_SEND, B, CALL, 0, 80, true},
	  {EVENT_CLIENT_RECEIVE, A, CALL, 0, 90},
	  {EVENT_END, A, 0, 0, 100}},
	 2,
	 0,
	 0},
	{"11b: execution units; the answer is received in another block",
	 {{EVENT_UNIT, MAIN, 0, MAIN, 0},
	  {EVENT_UNIT, SERVER, 0, SERVER, 20, true},
	  {EVENT_BEGIN, A, 0, MAIN, 0},
	  {EVENT_CLIENT_SEND, A, CALL, MAIN, 10},
	  {EVENT_END, A, 0, MAIN, 15},
	  {EVENT_BEGIN, B, 0, SERVER, 20, true},
	  {EVENT_SERVER_RECEIVE, B, CALL, SERVER, 20, true},
	  {EVENT_SERVER_SEND, B, CALL, SERVER, 80, true},
	  {EVENT_END, B, 0, SERVER, 80, true},
	  {EVENT_BEGIN, C, 0, MAIN, 90},
	  {EVENT_CLIENT_RECEIVE, C, CALL, MAIN, 90},
	  {EVENT_END, C, 0, MAIN, 100}},
	 3,
	 2,
	 0},
	{"11c: a network thread queues the answer while the main thread is busy",
	 {{EVENT_BEGIN, A, 0, MAIN, 0},
	  {EVENT_CLIENT_SEND, A, CALL, MAIN, 10},
	  {EVENT_END, A, 0, MAIN, 15},
	  {EVENT_BEGIN, D, 0, MAIN, 15},
	  {EVENT_END, D, 0, MAIN, 92},
	  {EVENT_BEGIN, B, 0, SERVER, 20, true},
	  {EVENT_SERVER_RECEIVE, B, CALL, SERVER, 20, true},
	  {EVENT_SERVER_SEND, B, CALL, SERVER, 80, true},
	  {EVENT_END, B, 0, SERVER, 81, true},
	  {EVENT_BEGIN, N, 0, NETWORK, 84},
	  {EVENT_CLIENT_QUEUE, N, CALL, NETWORK, 85},
	  {EVENT_END, N, 0, NETWORK, 86},
	  {EVENT_BEGIN, C, 0, MAIN, 95},
	  {EVENT_CLIENT_RECEIVE, C, CALL, MAIN, 95},
	  {EVENT_END, C, 0, MAIN, 100}},
	 5,
	 3,
	 10},
	{"11d: the same thread reads the answer and defers its handler",
	 {{EVENT_BEGIN, A, 0, MAIN, 0},
	  {EVENT_CLIENT_SEND, A, CALL, MAIN, 10},
	  {EVENT_END, A, 0, MAIN, 15},
	  {EVENT_BEGIN, B, 0, SERVER, 20, true},
	  {EVENT_SERVER_RECEIVE, B, CALL, SERVER, 20, true},
	  {EVENT_SERVER_SEND, B, CALL, SERVER, 80, true},
	  {EVENT_END, B, 0, SERVER, 81, true},
	  {EVENT_BEGIN, N, 0, MAIN, 85},
	  {EVENT_CLIENT_QUEUE, N, CALL, MAIN, 85},
	  {EVENT_END, N, 0, MAIN, 86},
	  {EVENT_BEGIN, D, 0, MAIN, 87},
	  {EVENT_END, D, 0, MAIN, 94},
	  {EVENT_BEGIN, C, 0, MAIN, 95},
	  {EVENT_CLIENT_RECEIVE, C, CALL, MAIN, 95},
	  {EVENT_END, C, 0, MAIN, 100}},
	 5,
	 2,
	 10},
	{"11e: sends and receives between any blocks",
	 {{EVENT_BEGIN, A, 0, MAIN, 0},
	  {EVENT_SEND, A, 61, MAIN, 10},
	  {EVENT_END, A, 0, MAIN, 15},
	  {EVENT_BEGIN, B, 0, SERVER, 20, true},
	  {EVENT_RECEIVE, B, 61, SERVER, 20, true},
	  {EVENT_END, B, 0, SERVER, 50, true},
	  {EVENT_BEGIN, D, 0, SERVER, 50, true},
	  {EVENT_SEND, D, 62, SERVER, 80, true},
	  {EVENT_END, D, 0, SERVER, 85, true},
	  {EVENT_BEGIN, C, 0, MAIN, 90},
	  {EVENT_RECEIVE, C, 62, MAIN, 90},
	  {EVENT_END, C, 0, MAIN, 100}},
	 4,
	 2,
	 0},
};

static struct batch *tell(const struct generation *g)
{
	struct batch *b = rows_new();
	uint32_t client = rows_process(b, "client", NULL), server = rows_process(b, "server", NULL);

	for (const struct told *row = g->rows; row->id1 != 0; row++) {
		rows_add(b, row->type, row->id1, row->id2, row->time,
			 row->server ? server : client);
		rows_place(b, row->unit, 0);
	}
	return b;
}

/* The edge that leads from a block of one service into one of the other. */
static const struct trace_edge *edge_between(const struct trace *t, const char *from,
					     const char *to)
{
	const struct trace_edge *found = NULL;

	for (size_t i = 0; i < t->edge_n; i++) {
		const struct trace_edge *e = &t->edges[i];

		if (e->kind == EDGE_QUEUE ||
		    !slice_eq(trace_block_service(t, trace_pos_block(t, e->from)),
			      slice_cstr(from)) ||
		    !slice_eq(trace_block_service(t, trace_pos_block(t, e->to)), slice_cstr(to)))
			continue;
		assert_null(found); /* exactly one */
		found = e;
	}
	assert_non_null(found);
	return found;
}

static void gives_its_blocks_units_and_edges(size_t i)
{
	const struct generation *g = &generations[i];
	_cleanup_(batch_unrefp)
	struct batch *b = tell(g);
	struct trace *t = rows_trace(b);
	const struct trace_edge *request, *response;
	size_t units = 0;

	assert_int_equal(t->block_n, g->blocks);
	for (size_t j = 0; j < t->unit_n; j++)
		units += !t->units[j].from_clock;
	assert_int_equal(units, g->units);

	request = edge_between(t, "client", "server");
	assert_int_equal(t->blocks[trace_pos_block(t, request->from)].id, A);
	assert_int_equal(t->blocks[trace_pos_block(t, request->to)].id, B);
	assert_int_equal(trace_pos_ns(t, request->from), ROWS_T0 + 10);
	assert_int_equal(trace_pos_ns(t, request->to), ROWS_T0 + 20);
	/* who was called hangs below who called, although nobody named a parent */
	assert_int_equal(t->blocks[trace_find(t, B)].parent, trace_find(t, A));

	response = edge_between(t, "server", "client");
	assert_int_equal(trace_pos_ns(t, response->from), ROWS_T0 + 80);
	assert_int_equal(trace_pos_ns(t, response->to), ROWS_T0 + (g->queued ? 95 : 90));
	assert_int_equal(response->queued_ns, g->queued);
	assert_int_equal(t->blocks[trace_pos_block(t, response->to)].id, i == 0 ? A : C);
	trace_free(t);
}

static void figure_11a_blocks_only(void **state)
{
	gives_its_blocks_units_and_edges(0);
}

static void figure_11b_execution_units_and_idle_time(void **state)
{
	gives_its_blocks_units_and_edges(1);
}

static void figure_11c_a_network_thread_queues_the_answer(void **state)
{
	gives_its_blocks_units_and_edges(2);
}

static void figure_11d_a_deferred_handler_in_the_same_thread(void **state)
{
	gives_its_blocks_units_and_edges(3);
}

static void figure_11e_general_sends_and_receives(void **state)
{
	gives_its_blocks_units_and_edges(4);
}

static void blocks_that_only_instants_tell_of_are_implied(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = tell(&generations[0]);
	struct trace *t = rows_trace(b);
	const struct trace_block *server = &t->blocks[trace_find(t, B)];

	assert_true(server->bits & BLOCK_IMPLIED);
	assert_int_equal(server->repairs, REPAIR_MISSING_BEGIN | REPAIR_MISSING_END);
	assert_int_equal(server->begin_ns, ROWS_T0 + 20);
	assert_int_equal(server->end_ns, ROWS_T0 + 80);
	trace_free(t);
}

static void idle_time_shows_between_the_blocks_of_a_unit(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = tell(&generations[1]);
	struct trace *t = rows_trace(b);
	uint32_t a = trace_find(t, A), c = trace_find(t, C);

	assert_int_equal(t->blocks[a].unit, t->blocks[c].unit);
	assert_int_equal(t->units[t->blocks[a].unit].id, MAIN);
	assert_int_equal(t->blocks[c].begin_ns - t->blocks[a].end_ns, 75);
	assert_int_not_equal(t->units[t->blocks[a].unit].row, TRACE_NONE);
	trace_free(t);
}

static void all_generations_agree_on_the_order(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = tell(&generations[i]);
		struct trace *t = rows_trace(b);
		uint32_t a = trace_find(t, A), s = trace_find(t, B);
		uint32_t last = i == 0 ? a : trace_find(t, C);
		bool clock;

		assert_int_equal(trace_happened_before(t, trace_pos(POS_BEGIN, a),
						       trace_pos(POS_BEGIN, s), &clock),
				 1);
		assert_int_equal(trace_happened_before(t, trace_pos(POS_BEGIN, s),
						       trace_pos(POS_END, last), &clock),
				 1);
		assert_false(clock); /* native events carry their order */
		assert_int_equal(trace_happened_before(t, trace_pos(POS_END, last),
						       trace_pos(POS_BEGIN, s), NULL),
				 0);
		trace_free(t);
	}
}

static void all_generations_agree_on_where_the_time_went(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(generations); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = tell(&generations[i]);
		struct trace *t = rows_trace(b);
		struct critical_path path;
		int64_t client = 0, server = 0, kinds[SEGMENT_KINDS] = {0};

		assert_int_equal(critical_path_whole(t, &path), 0);
		assert_int_equal(path.total_ns, 100);
		for (size_t j = 0; j < path.n; j++) {
			const struct path_segment *s = &path.segments[j];
			int64_t took = s->to_ns - s->from_ns;

			kinds[s->kind] += took;
			if (s->kind != SEGMENT_SELF)
				continue;
			if (slice_eq(trace_block_service(t, s->block), SLICE("client")))
				client += took;
			else
				server += took;
		}
		assert_int_equal(server, 60);
		assert_int_equal(client, generations[i].queued ? 15 : 20);
		assert_int_equal(kinds[SEGMENT_EDGE], generations[i].queued ? 15 : 20);
		assert_int_equal(kinds[SEGMENT_QUEUE], generations[i].queued);
		assert_int_equal(kinds[SEGMENT_IDLE], 0);
		critical_path_done(&path);
		trace_free(t);
	}
}

static void one_way_calls_and_several_answers_are_edges_too(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "client", NULL), q = rows_process(b, "server", NULL);
	struct trace *t;

	rows_add(b, EVENT_CLIENT_SEND, A, CALL, 10, p);
	rows_add(b, EVENT_SERVER_RECEIVE, B, CALL, 20, q);
	rows_add(b, EVENT_CLIENT_SEND, A, CALL + 1, 11, p);
	rows_add(b, EVENT_SERVER_RECEIVE, B, CALL + 1, 21, q);
	for (int i = 0; i < 3; i++) {
		rows_add(b, EVENT_SERVER_SEND, B, CALL + 1, 30 + i, q);
		rows_add(b, EVENT_CLIENT_RECEIVE, A, CALL + 1, 40 + i, p);
	}
	rows_add(b, EVENT_CLIENT_SEND, A, CALL + 2, 50, p); /* nobody answers */
	t = rows_trace(b);
	assert_int_equal(rows_edges(t, EDGE_REQUEST), 2);
	assert_int_equal(rows_edges(t, EDGE_RESPONSE), 3);
	for (size_t i = 0; i < t->edge_n; i++)
		assert_int_equal(
			trace_pos_ns(t, t->edges[i].to) - trace_pos_ns(t, t->edges[i].from), 10);
	assert_int_equal(t->points[t->blocks[trace_find(t, A)].point_first + 5].repairs,
			 REPAIR_ORPHAN);
	trace_free(t);
}

static void queues_and_locks_are_edges_with_the_time_waited(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "s", NULL);
	struct trace *t;

	for (span_id_t i = A; i <= B; i++) {
		rows_add(b, EVENT_BEGIN, i, 0, 0, p);
		rows_place(b, i, 0);
		rows_add(b, EVENT_END, i, 0, 100, p);
		rows_place(b, i, 0);
	}
	rows_add(b, EVENT_ENQUEUE, A, 70, 10, p);
	rows_add(b, EVENT_DEQUEUE, B, 70, 25, p);
	rows_add(b, EVENT_COMPLETE, B, 70, 30, p);
	rows_add(b, EVENT_LOCK_REQUEST, A, 71, 40, p);
	rows_add(b, EVENT_LOCK_ACQUIRE, A, 71, 40, p);
	rows_add(b, EVENT_LOCK_REQUEST, B, 71, 45, p);
	rows_add(b, EVENT_LOCK_RELEASE, A, 71, 60, p);
	rows_add(b, EVENT_LOCK_ACQUIRE, B, 71, 61, p);
	rows_add(b, EVENT_LOCK_RELEASE, B, 71, 65, p);
	t = rows_trace(b);
	assert_int_equal(rows_edges(t, EDGE_QUEUE), 2);
	assert_int_equal(rows_edges(t, EDGE_LOCK), 1);
	for (size_t i = 0; i < t->edge_n; i++) {
		if (t->edges[i].kind == EDGE_LOCK) {
			assert_int_equal(t->edges[i].queued_ns, 16);
			assert_int_equal(trace_pos_ns(t, t->edges[i].from), ROWS_T0 + 60);
		} else if (trace_pos_ns(t, t->edges[i].from) == ROWS_T0 + 10) {
			assert_int_equal(t->edges[i].queued_ns, 15);
		}
	}
	trace_free(t);
}

static void an_end_may_come_first_and_in_another_batch(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *early = rows_new();
	_cleanup_(batch_unrefp)
	struct batch *late = rows_new();
	struct batch *both[2] = {early, late};
	struct trace *t;

	rows_add(early, EVENT_END, A, 0, 100, rows_process(early, "s", NULL))->status =
		STATUS_ERROR;
	t = rows_trace(early);
	assert_int_equal(t->blocks[0].repairs, REPAIR_MISSING_BEGIN);
	trace_free(t);
	rows_add(late, EVENT_BEGIN, A, 0, 40, rows_process(late, "s", NULL));
	t = rows_build(both, 2, 0, 0);
	assert_int_equal(t->block_n, 1);
	assert_int_equal(t->repairs, 0);
	assert_int_equal(rows_begin(t, 0), 40);
	assert_int_equal(rows_end(t, 0), 100);
	assert_int_equal(t->errors, 1);
	trace_free(t);
}

static void edge_rows_touch_blocks_where_their_times_say(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "s", NULL);
	struct event *e;
	struct trace *t;

	rows_span(b, A, 0, 0, 50, p, KIND_INTERNAL);
	rows_span(b, B, 0, 60, 90, p, KIND_INTERNAL);
	e = rows_add(b, EVENT_EDGE, A, B, 50, p);
	e->end_ns = rows_time(60);
	e->name = batch_string(b, SLICE("fork"));
	e = rows_add(b, EVENT_EDGE, A, B, 20, p);
	e->end_ns = rows_time(70);
	e->name = batch_string(b, SLICE("carrier pigeon"));
	e = rows_add(b, EVENT_EDGE, A, 99, 20, p); /* to nowhere */
	e->name = batch_string(b, SLICE("join"));
	t = rows_trace(b);
	assert_int_equal(t->edge_n, 2);
	assert_int_equal(t->edges[0].kind, EDGE_FORK);
	assert_true(trace_pos_eq(t->edges[0].from, trace_pos(POS_END, 0)));
	assert_true(trace_pos_eq(t->edges[0].to, trace_pos(POS_BEGIN, 1)));
	assert_int_equal(t->edges[1].kind, EDGE_OTHER);
	assert_int_equal(t->edges[1].to.kind, POS_POINT);
	assert_int_equal(trace_pos_ns(t, t->edges[1].to), ROWS_T0 + 70);
	assert_int_equal(t->link_n, 1);
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figure_11a_blocks_only),
		cmocka_unit_test(figure_11b_execution_units_and_idle_time),
		cmocka_unit_test(figure_11c_a_network_thread_queues_the_answer),
		cmocka_unit_test(figure_11d_a_deferred_handler_in_the_same_thread),
		cmocka_unit_test(figure_11e_general_sends_and_receives),
		cmocka_unit_test(blocks_that_only_instants_tell_of_are_implied),
		cmocka_unit_test(idle_time_shows_between_the_blocks_of_a_unit),
		cmocka_unit_test(all_generations_agree_on_the_order),
		cmocka_unit_test(all_generations_agree_on_where_the_time_went),
		cmocka_unit_test(one_way_calls_and_several_answers_are_edges_too),
		cmocka_unit_test(queues_and_locks_are_edges_with_the_time_waited),
		cmocka_unit_test(an_end_may_come_first_and_in_another_batch),
		cmocka_unit_test(edge_rows_touch_blocks_where_their_times_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
