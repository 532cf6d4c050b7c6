/* Two halves of a call find each other in any order; memory does not depend on how many wait. */
#include "rows.h"

#include "core/clock.h"
#include "feature/service_graph.h"

static struct service_graph *graph(void)
{
	static struct service_graph g;

	assert_int_equal(service_graph_init(&g), 0);
	return &g;
}

/* Adds the only row of a sealed batch and lets go of it. */
static void add(struct service_graph *g, struct batch *b, int64_t now_ns)
{
	assert_int_equal(batch_seal(b), 0);
	assert_int_equal(service_graph_add(g, (struct event_ref){b, 0}, 1, now_ns), 0);
	batch_unref(b);
}

static struct batch *client(uint64_t trace, span_id_t id)
{
	struct batch *b = batch_for("front");

	add_span(b, trace, id, 0, KIND_CLIENT);
	return b;
}

static struct batch *server(uint64_t trace, span_id_t parent)
{
	struct batch *b = batch_for("back");

	add_span(b, trace, 1000 + parent, parent, KIND_SERVER);
	return b;
}

static void halves_are_paired_in_any_order(void **state)
{
	struct service_graph *g = graph();

	add(g, client(1, 7), 0);
	add(g, server(1, 7), 0);
	add(g, server(2, 7), 0);
	add(g, client(2, 7), 0);
	add(g, client(3, 7), 0); /* another trace, */
	add(g, server(4, 7), 0); /* and yet another */
	assert_int_equal(g->edges.n, 1);
	assert_text(g->edges.rows[0].labels[GRAPH_CLIENT], "front");
	assert_text(g->edges.rows[0].labels[GRAPH_SERVER], "back");
	assert_text(g->edges.rows[0].labels[GRAPH_TYPE], "");
	assert_true(g->edges.rows[0].calls == 2);
	assert_int_equal(g->paired, 4);
	service_graph_done(g);
}

static void either_side_may_say_that_a_call_failed(void **state)
{
	struct service_graph *g = graph();
	struct batch *b;

	for (uint64_t trace = 1; trace <= 4; trace++) {
		b = client(trace, 7);
		b->events[0].status = trace & 1 ? STATUS_ERROR : STATUS_OK;
		add(g, b, 0);
		b = server(trace, 7);
		b->events[0].status = trace & 2 ? STATUS_ERROR : STATUS_UNSET;
		add(g, b, 0);
	}
	assert_true(g->edges.rows[0].calls == 4);
	assert_true(g->edges.rows[0].failed == 3);
	service_graph_done(g);
}

static void both_sides_of_a_shared_id_are_paired(void **state)
{
	struct service_graph *g = graph();
	struct batch *b = batch_for("back");

	add(g, client(1, 7), 0);
	add_span(b, 1, 7, 3, KIND_SERVER);
	b->events[0].format = FORMAT_ZIPKIN;
	b->events[0].bits = EVENT_SHARED;
	add(g, b, 0);
	assert_int_equal(g->edges.n, 1);
	service_graph_done(g);
}

static void a_peer_that_sent_nothing_counts_when_it_was_named(void **state)
{
	static const struct {
		const char *key, *type;
	} rows[] = {{"peer.service", "virtual_node"}, {"db.system", "database"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct service_graph *g = graph();
		struct batch *b = batch_for("front");

		batch_attr_string(b, slice_cstr(rows[i].key), SLICE("mystery"));
		add_span(b, 1, 7, 0, KIND_CLIENT)->attrs = (struct attr_range){1, 1};
		add(g, b, 0);
		add(g, client(2, 7), 0); /* names nobody */
		assert_int_equal(service_graph_expire(g, GRAPH_WAIT_NS - 1), 0);
		assert_int_equal(g->edges.n, 0);
		assert_int_equal(service_graph_expire(g, GRAPH_WAIT_NS), 0);
		assert_int_equal(g->edges.n, 1);
		assert_text(g->edges.rows[0].labels[GRAPH_SERVER], "mystery");
		assert_text(g->edges.rows[0].labels[GRAPH_TYPE], rows[i].type);
		assert_int_equal(g->unpaired, 2);
		service_graph_done(g);
	}
}

static void the_oldest_gives_way_when_too_many_wait(void **state)
{
	struct service_graph *g = graph();

	for (uint64_t i = 0; i < 2 * GRAPH_HALVES + 5; i++)
		add(g, client(1, 1 + i), 0);
	assert_int_equal(g->unpaired, GRAPH_HALVES + 5);
	add(g, server(1, 1), 0); /* gone */
	assert_int_equal(g->edges.n, 0);
	add(g, server(1, 2 * GRAPH_HALVES), 0); /* still there */
	assert_int_equal(g->edges.n, 1);
	service_graph_done(g);
}

static void spans_that_are_no_half_are_passed_over(void **state)
{
	static const enum span_kind kinds[] = {KIND_UNSPECIFIED, KIND_INTERNAL, KIND_SERVER};
	struct service_graph *g = graph();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct batch *b = batch_for("front");

		add_span(b, 1, 7, 0, kinds[i]); /* a server without a parent is nobody's */
		add(g, b, 0);
	}
	assert_int_equal(service_graph_expire(g, INT64_MAX), 0);
	assert_int_equal(g->unpaired, 0);
	service_graph_done(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_are_paired_in_any_order),
		cmocka_unit_test(either_side_may_say_that_a_call_failed),
		cmocka_unit_test(both_sides_of_a_shared_id_are_paired),
		cmocka_unit_test(a_peer_that_sent_nothing_counts_when_it_was_named),
		cmocka_unit_test(the_oldest_gives_way_when_too_many_wait),
		cmocka_unit_test(spans_that_are_no_half_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
