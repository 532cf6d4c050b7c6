/* Happened-before, by hand and against a reference that writes out every pair. */
#include "t.h"

#include "model/causality.h"
#include "model/random_rows.h"

#define ROUNDS 6000
#define NODES  256 /* more positions than a random trace has */
#define WORDS  (NODES / 64)

/* --- the reference: a matrix of pairs, closed by Warshall's algorithm --- */

struct order {
	uint64_t after[NODES][WORDS];
	size_t n;
};

static void put(struct order *o, uint32_t a, uint32_t b)
{
	o->after[a][b / 64] |= 1ULL << (b % 64);
}

static bool has(const struct order *o, uint32_t a, uint32_t b)
{
	return o->after[a][b / 64] >> (b % 64) & 1;
}

static void close_order(struct order *o)
{
	for (uint32_t k = 0; k < o->n; k++)
		for (uint32_t i = 0; i < o->n; i++)
			if (has(o, i, k))
				for (int w = 0; w < WORDS; w++)
					o->after[i][w] |= o->after[k][w];
}

static int64_t said(uint64_t ns)
{
	return ns == 0 || ns > INT64_MAX ? -1 : (int64_t)ns;
}

static int64_t raw_begin(const struct trace *t, const struct trace_block *b)
{
	return said(trace_row(t, b->row)->time_ns);
}

static int64_t raw_end(const struct trace *t, const struct trace_block *b)
{
	const struct event *e;

	if (b->end_row == TRACE_NONE)
		return -1;
	e = trace_row(t, b->end_row);
	return said(e->type == EVENT_END ? e->time_ns : e->end_ns);
}

static void blocks_and_edges(const struct trace *t, struct order *o, bool marked)
{
	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *b = &t->blocks[i];

		put(o, 2 * i, 2 * i + 1);
		for (uint32_t p = 0; p < t->point_n; p++)
			if (t->points[p].block == i) {
				put(o, 2 * i, (uint32_t)(2 * t->block_n + p));
				put(o, (uint32_t)(2 * t->block_n + p), 2 * i + 1);
			}
		if (b->parent == TRACE_NONE)
			continue;
		put(o, 2 * b->parent, 2 * i);
		if (b->bits & BLOCK_IN_PARENT)
			put(o, 2 * i, 2 * b->parent + 1);
	}
	for (size_t i = 0; i < t->edge_n; i++)
		if (marked || !(t->edges[i].repairs & REPAIR_CYCLE))
			put(o, trace_pos_number(t, t->edges[i].from),
			    trace_pos_number(t, t->edges[i].to));
}

/* A position of a native unit: its sequence number and time, 0 if not said. */
struct spot {
	uint32_t unit;
	uint64_t seq;
	int64_t time;
	bool placed, foreign; /* foreign: what it says of order is not this unit's */
};

static struct spot spot_of(const struct trace *t, uint32_t node)
{
	const struct trace_block *b;
	const struct event *e;
	struct event_place place;
	struct spot s = {0};

	if (node >= 2 * t->block_n) {
		const struct trace_point *p = &t->points[node - 2 * t->block_n];

		e = trace_row(t, p->row);
		place = trace_row_place(t, p->row);
		return (struct spot){p->unit, place.seq, p->time_ns,
				     p->unit != TRACE_NONE &&
					     (!(p->repairs & REPAIR_TIME_RANGE) || place.seq),
				     e->type == EVENT_EDGE};
	}
	b = &t->blocks[node / 2];
	s.unit = b->unit;
	if (node % 2 == 0) {
		s.seq = trace_row_place(t, b->row).seq;
		s.time = b->begin_ns;
		s.placed = said(trace_row(t, b->row)->time_ns) >= 0 || s.seq;
		s.foreign = b->repairs & REPAIR_MISSING_BEGIN;
	} else if (b->bits & BLOCK_IMPLIED) {
		s.time = b->end_ns;
		s.placed = s.foreign = true;
	} else if (b->end_row != TRACE_NONE) {
		e = trace_row(t, b->end_row);
		place = trace_row_place(t, b->end_row);
		s.seq = place.seq;
		s.time = b->end_ns;
		s.placed = (said(e->time_ns) >= 0 || place.seq) &&
			   (place.unit == 0 || place.unit == t->units[b->unit].id);
	}
	return s;
}

static void native_units(const struct trace *t, struct order *o, bool marked)
{
	for (uint32_t u = 0; u < t->unit_n; u++) {
		bool by_seq = true, any = false;

		if (t->units[u].from_clock || (!marked && t->units[u].repairs & REPAIR_CYCLE))
			continue;
		for (uint32_t a = 0; a < o->n; a++) {
			struct spot s = spot_of(t, a);

			if (s.placed && s.unit == u && !s.foreign) {
				by_seq &= s.seq != 0;
				any = true;
			}
		}
		by_seq &= any;
		for (uint32_t a = 0; a < o->n; a++)
			for (uint32_t b = 0; b < o->n; b++) {
				struct spot x = spot_of(t, a), y = spot_of(t, b);

				if (!x.placed || !y.placed || x.unit != u || y.unit != u)
					continue;
				if (by_seq ? !x.foreign && !y.foreign && x.seq < y.seq
					   : x.time < y.time)
					put(o, a, b);
			}
	}
}

static bool one_unit(const struct trace *t, const struct trace_block *a,
		     const struct trace_block *b)
{
	const struct batch *p = trace_row_batch(t, a->row), *q = trace_row_batch(t, b->row);

	return t->units[a->unit].from_clock && t->units[b->unit].from_clock &&
	       a->process == b->process && a->parent == b->parent &&
	       (a->parent != TRACE_NONE || a->parent_id == b->parent_id) &&
	       a->inferred == TRACE_NONE && b->inferred == TRACE_NONE &&
	       slice_eq(batch_attr_text(p, trace_row(t, a->row)->attrs, SLICE("thread.id")),
			batch_attr_text(q, trace_row(t, b->row)->attrs, SLICE("thread.id")));
}

static uint32_t unit_at(const struct trace *t, uint32_t node)
{
	return node < 2 * t->block_n ? t->blocks[node / 2].unit
				     : t->blocks[t->points[node - 2 * t->block_n].block].unit;
}

static void clocks(const struct trace *t, struct order *o)
{
	for (uint32_t i = 0; i < t->block_n; i++)
		for (uint32_t j = 0; j < t->block_n; j++) {
			const struct trace_block *a = &t->blocks[i], *b = &t->blocks[j];
			int64_t ended = MAX(raw_end(t, a), raw_begin(t, a));

			if (raw_end(t, a) >= 0 && raw_begin(t, b) >= 0 && one_unit(t, a, b) &&
			    ended < raw_begin(t, b))
				put(o, 2 * i + 1, 2 * j);
		}
	for (uint32_t i = 0; i < t->point_n; i++)
		for (uint32_t j = 0; j < t->point_n; j++) {
			const struct trace_point *a = &t->points[i], *b = &t->points[j];

			if (a->block == TRACE_NONE || a->block != b->block ||
			    !t->units[t->blocks[a->block].unit].from_clock ||
			    a->unit != t->blocks[a->block].unit || a->unit != b->unit ||
			    (a->repairs | b->repairs) & REPAIR_TIME_RANGE ||
			    a->time_ns >= b->time_ns)
				continue;
			put(o, (uint32_t)(2 * t->block_n) + i, (uint32_t)(2 * t->block_n) + j);
		}
}

/* Without clocks, and with those of units whose clock contradicts nothing. */
static void reference(const struct trace *t, struct order *plain, struct order *full)
{
	static struct order cyclic, by_clock;
	bool wrong[NODES] = {0};

	*plain = (struct order){.n = 2 * t->block_n + t->point_n};
	assert_true(plain->n <= NODES);
	by_clock = *plain;
	blocks_and_edges(t, plain, false);
	native_units(t, plain, false);
	clocks(t, &by_clock);
	*full = *plain;
	close_order(plain);
	cyclic = *full;
	for (uint32_t i = 0; i < full->n; i++)
		for (int w = 0; w < WORDS; w++)
			cyclic.after[i][w] |= by_clock.after[i][w];
	close_order(&cyclic);
	for (uint32_t i = 0; i < full->n; i++)
		for (uint32_t j = 0; j < full->n; j++)
			if (has(&by_clock, i, j) && has(&cyclic, j, i))
				wrong[unit_at(t, i)] = true;
	for (uint32_t i = 0; i < full->n; i++)
		for (uint32_t j = 0; j < full->n; j++)
			if (has(&by_clock, i, j) && !wrong[unit_at(t, i)])
				put(full, i, j);
	close_order(full);
}

static struct trace_pos pos_at(const struct trace *t, uint32_t node)
{
	if (node >= 2 * t->block_n)
		return trace_pos(POS_POINT, node - (uint32_t)(2 * t->block_n));
	return trace_pos(node % 2 ? POS_END : POS_BEGIN, node / 2);
}

static void agrees_with_the_reference_on_random_traces(void **state)
{
	static struct order plain, full;
	struct rng rng = {21};
	size_t yes = 0, leaned = 0, marked = 0;

	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(round % RANDOM_TASTES), 25);
		struct trace *t = rows_build(r.batches, RANDOM_BATCHES, 0, 0);

		reference(t, &plain, &full);
		for (uint32_t a = 0; a < plain.n; a++) {
			uint64_t *reach;
			struct trace_pos from = pos_at(t, a);

			assert_false(has(&full, a, a)); /* cycles were cut */
			assert_int_equal(trace_reach(t, &from, 1, &reach), 0);
			for (uint32_t b = 0; b < plain.n; b++) {
				bool clock;
				int before = trace_happened_before(t, from, pos_at(t, b), &clock);

				assert_int_equal(before, a != b && has(&full, a, b));
				assert_int_equal(clock, before && !has(&plain, a, b));
				assert_int_equal(trace_reached(t, reach, pos_at(t, b)),
						 a == b || before);
				yes += before > 0;
				leaned += clock;
			}
			free(reach);
		}
		for (size_t i = 0; i < t->edge_n; i++)
			marked += !!(t->edges[i].repairs & REPAIR_CYCLE);
		trace_free(t);
	}
	/* the random traces have something of everything */
	assert_true(yes > 10000 && leaned > 1000 && marked > 100);
}

/* An edge is only marked if it lies on a cycle. */
static void only_what_closes_a_cycle_is_cut(void **state)
{
	static struct order all;
	struct rng rng = {22};

	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(round % RANDOM_TASTES), 25);
		struct trace *t = rows_build(r.batches, RANDOM_BATCHES, 0, 0);

		all = (struct order){.n = 2 * t->block_n + t->point_n};
		blocks_and_edges(t, &all, true);
		native_units(t, &all, true);
		close_order(&all);
		for (size_t i = 0; i < t->edge_n; i++) {
			uint32_t from = trace_pos_number(t, t->edges[i].from);
			uint32_t to = trace_pos_number(t, t->edges[i].to);

			if (t->edges[i].row == TRACE_NONE) /* follows from the tree, and stays */
				continue;
			assert_int_equal(!!(t->edges[i].repairs & REPAIR_CYCLE),
					 from == to || has(&all, to, from));
		}
		trace_free(t);
	}
}

/* --- by hand --- */

static bool before(struct trace *t, enum trace_pos_kind x, span_id_t a, enum trace_pos_kind y,
		   span_id_t b, bool *clock)
{
	return trace_happened_before(t, trace_pos(x, trace_find(t, a)),
				     trace_pos(y, trace_find(t, b)), clock) == 1;
}

static void siblings_of_one_process_follow_its_clock(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL);
	struct trace *t;
	bool clock;

	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 20, p, KIND_INTERNAL);
	rows_span(b, 3, 1, 15, 30, p, KIND_INTERNAL); /* overlaps 2 */
	rows_span(b, 4, 1, 40, 50, p, KIND_INTERNAL); /* after both */
	rows_span(b, 5, 1, 60, 70, q, KIND_INTERNAL); /* elsewhere */
	rows_span(b, 6, 1, 60, 70, p, KIND_INTERNAL); /* another thread */
	rows_attr(b, "thread.id", "7");
	rows_span(b, 7, 2, 12, 14, p, KIND_INTERNAL);
	rows_span(b, 8, 4, 42, 44, p, KIND_INTERNAL);
	t = rows_trace(b);
	assert_true(before(t, POS_BEGIN, 1, POS_BEGIN, 8, &clock));
	assert_false(clock);
	assert_true(before(t, POS_BEGIN, 7, POS_END, 2, &clock));
	assert_false(clock);
	assert_true(before(t, POS_END, 2, POS_BEGIN, 4, &clock));
	assert_true(clock);
	assert_true(before(t, POS_BEGIN, 7, POS_BEGIN, 8, &clock)); /* through 2 → 4 */
	assert_true(clock);
	assert_false(before(t, POS_END, 2, POS_BEGIN, 3, &clock));
	assert_false(clock);
	assert_false(before(t, POS_END, 4, POS_BEGIN, 5, NULL));
	assert_false(before(t, POS_END, 4, POS_BEGIN, 6, NULL));
	assert_false(before(t, POS_BEGIN, 4, POS_BEGIN, 2, NULL));
	assert_false(before(t, POS_BEGIN, 4, POS_BEGIN, 4, NULL));
	trace_free(t);
}

static void ends_that_touch_begins_are_concurrent(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct trace *t;

	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 20, p, KIND_INTERNAL);
	rows_span(b, 3, 1, 20, 30, p, KIND_INTERNAL);
	t = rows_trace(b);
	assert_false(before(t, POS_END, 2, POS_BEGIN, 3, NULL));
	assert_true(before(t, POS_BEGIN, 2, POS_END, 1, NULL));
	trace_free(t);
}

static void between_processes_only_edges_order(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL),
		 r = rows_process(b, "c", NULL);
	struct trace *t;
	bool clock;

	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 20, q, KIND_SERVER);
	rows_span(b, 3, 1, 50, 60, r, KIND_SERVER);
	rows_span(b, 4, 1, 70, 80, q, KIND_SERVER);
	t = rows_trace(b);
	assert_false(before(t, POS_END, 2, POS_BEGIN, 3, NULL));  /* whatever the clocks say */
	assert_true(before(t, POS_END, 2, POS_BEGIN, 4, &clock)); /* one process */
	assert_true(clock);
	assert_true(before(t, POS_END, 3, POS_END, 1, &clock)); /* the pair of a remote parent */
	assert_false(clock);
	trace_free(t);

	rows_add(b, EVENT_LINK, 3, 2, -1, r);
	t = rows_trace(b);
	assert_true(before(t, POS_BEGIN, 2, POS_BEGIN, 3, &clock));
	assert_false(clock);
	trace_free(t);
}

static void what_a_message_starts_is_not_before_the_producers_end(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL);
	struct trace *t;

	rows_span(b, 1, 0, 0, 10, p, KIND_PRODUCER);
	rows_span(b, 2, 1, 50, 60, q, KIND_CONSUMER);
	rows_span(b, 3, 0, 0, 10, p, KIND_INTERNAL);
	rows_span(b, 4, 3, 50, 60, p, KIND_INTERNAL); /* started there, ran later */
	t = rows_trace(b);
	assert_true(before(t, POS_BEGIN, 1, POS_BEGIN, 2, NULL));
	assert_false(before(t, POS_BEGIN, 2, POS_END, 1, NULL));
	assert_true(before(t, POS_BEGIN, 3, POS_BEGIN, 4, NULL));
	assert_false(before(t, POS_BEGIN, 4, POS_END, 3, NULL));
	trace_free(t);
}

static void units_follow_sequence_numbers_not_clocks(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct trace *t;
	bool clock;

	for (span_id_t id = 1; id <= 3; id++)
		for (int end = 0; end < 2; end++) { /* all at one time */
			rows_add(b, end ? EVENT_END : EVENT_BEGIN, id, 0, 10, p);
			rows_place(b, 9, 2 * (4 - id) + (uint64_t)end);
		}
	t = rows_trace(b);
	assert_true(before(t, POS_END, 3, POS_BEGIN, 2, &clock));
	assert_false(clock);
	assert_true(before(t, POS_BEGIN, 3, POS_END, 1, NULL));
	assert_false(before(t, POS_END, 1, POS_BEGIN, 2, NULL));
	trace_free(t);
}

static void a_deep_chain_is_answered(void **state)
{
	enum { N = 200000 };
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct trace *t;

	for (span_id_t i = 1; i <= N; i++)
		rows_span(b, i, i - 1, (int64_t)i, 3 * N - (int64_t)i, p, KIND_INTERNAL);
	rows_span(b, N + 1, 1, 4 * N, 5 * N, p, KIND_INTERNAL);
	t = rows_trace(b);
	assert_true(before(t, POS_BEGIN, 1, POS_BEGIN, N, NULL));
	assert_false(before(t, POS_BEGIN, N, POS_BEGIN, 1, NULL));
	assert_true(before(t, POS_BEGIN, 2, POS_BEGIN, N + 1, NULL));
	assert_false(before(t, POS_BEGIN, N, POS_BEGIN, N + 1, NULL)); /* only its parent waits */
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_reference_on_random_traces),
		cmocka_unit_test(only_what_closes_a_cycle_is_cut),
		cmocka_unit_test(siblings_of_one_process_follow_its_clock),
		cmocka_unit_test(ends_that_touch_begins_are_concurrent),
		cmocka_unit_test(between_processes_only_edges_order),
		cmocka_unit_test(what_a_message_starts_is_not_before_the_producers_end),
		cmocka_unit_test(units_follow_sequence_numbers_not_clocks),
		cmocka_unit_test(a_deep_chain_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
