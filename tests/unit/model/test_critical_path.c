/* The critical path, by hand and against a walk that searches everything anew at every step. */
#include "t.h"

#include "model/causality.h"
#include "model/critical_path.h"
#include "model/random_rows.h"

/* "1:self 10-20" … one word per segment: id, kind, times. */
static char *told(const struct trace *t, const struct critical_path *path, char out[1024])
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < path->n && at < 900; i++) {
		const struct path_segment *s = &path->segments[i];

		at += (size_t)snprintf(out + at, 1024 - at, "%s%llu:%s %lld-%lld", i ? ", " : "",
				       (unsigned long long)t->blocks[s->block].id,
				       segment_kind_name(s->kind), s->from_ns - ROWS_T0,
				       s->to_ns - ROWS_T0);
	}
	return out;
}

static void assert_whole(struct batch *b, const char *expected)
{
	struct trace *t = rows_trace(b);
	struct critical_path path;
	char text[1024];

	assert_int_equal(critical_path_whole(t, &path), 0);
	assert_string_equal(told(t, &path, text), expected);
	critical_path_done(&path);
	trace_free(t);
}

static void a_lonely_block_works_all_the_time(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);

	assert_whole(b, "");
	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	assert_whole(b, "1:self 0-100");
}

static void children_that_end_last_are_waited_for(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);

	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 40, p, KIND_INTERNAL);
	rows_span(b, 3, 1, 10, 60, p, KIND_INTERNAL); /* at the same time, longer */
	rows_span(b, 4, 3, 20, 50, p, KIND_INTERNAL);
	rows_span(b, 5, 1, 70, 90, p, KIND_INTERNAL);
	assert_whole(b, "1:self 0-10, 3:self 10-20, 4:self 20-50, 3:self 50-60, 1:self 60-70, "
			"5:self 70-90, 1:self 90-100");
}

static void a_calls_way_is_an_edge(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL);

	rows_span(b, 1, 0, 0, 100, p, KIND_SERVER);
	rows_span(b, 2, 1, 10, 90, p, KIND_CLIENT);
	rows_span(b, 3, 2, 15, 80, q, KIND_SERVER);
	assert_whole(b, "1:self 0-10, 2:edge 10-15, 3:self 15-80, 2:edge 80-90, 1:self 90-100");
}

static void the_path_ends_with_what_outlives_the_root(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL);

	rows_span(b, 1, 0, 0, 50, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 20, p, KIND_PRODUCER);
	rows_span(b, 3, 2, 60, 90, q, KIND_CONSUMER); /* picked up later */
	rows_span(b, 4, 1, 30, 70, p, KIND_INTERNAL); /* asynchronous */
	assert_whole(b, "1:self 0-10, 2:self 10-20, 3:edge 20-60, 3:self 60-90");
}

static void running_blocks_count_as_far_as_they_are_known(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);

	rows_span(b, 1, 0, 0, -1, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 20, -1, p, KIND_INTERNAL);
	rows_add(b, EVENT_POINT, 2, 0, 70, p);
	assert_whole(b, "1:self 0-20, 2:self 20-70");
}

static void skewed_clocks_are_adjusted_first(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL), q = rows_process(b, "b", NULL);

	rows_span(b, 1, 0, 1000, 1100, p, KIND_CLIENT);
	rows_span(b, 2, 1, 10, 90, q, KIND_SERVER);
	assert_whole(b, "1:edge 1000-1010, 2:self 1010-1090, 1:edge 1090-1100");
}

static void of_several_causes_the_last_decides(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct event *e;

	rows_span(b, 1, 0, 0, 200, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 50, p, KIND_INTERNAL);
	rows_span(b, 3, 1, 10, 80, p, KIND_INTERNAL);
	rows_span(b, 4, 1, 100, 190, p, KIND_INTERNAL);
	for (span_id_t from = 2; from <= 3; from++) {
		e = rows_add(b, EVENT_EDGE, from, 4, from == 2 ? 50 : 80, p);
		e->end_ns = rows_time(100);
		e->name = batch_string(b, SLICE("join"));
	}
	assert_whole(b, "1:self 0-10, 3:self 10-80, 4:edge 80-100, 4:self 100-190, "
			"1:self 190-200");
}

static void waiting_for_queues_and_locks_is_told(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);

	for (span_id_t i = 1; i <= 2; i++) {
		rows_add(b, EVENT_BEGIN, i, i - 1, i == 1 ? 0 : 30, p);
		rows_place(b, i, 0);
		rows_add(b, EVENT_END, i, 0, i == 1 ? 25 : 100, p);
		rows_place(b, i, 0);
	}
	rows_add(b, EVENT_ENQUEUE, 1, 70, 10, p);
	rows_add(b, EVENT_DEQUEUE, 2, 70, 30, p);
	assert_whole(b, "1:self 0-10, 2:queue 10-30, 2:self 30-100");
}

static void idle_units_are_idle(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);

	for (span_id_t i = 1; i <= 2; i++) {
		rows_add(b, EVENT_BEGIN, i, 0, i == 1 ? 0 : 60, p);
		rows_place(b, 7, 0);
		rows_add(b, EVENT_END, i, 0, i == 1 ? 20 : 100, p);
		rows_place(b, 7, 0);
	}
	assert_whole(b, "1:self 0-20, 2:idle 20-60, 2:self 60-100");
}

static void between_two_positions_only_what_follows_the_first_counts(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct critical_path path;
	struct trace *t;
	char text[1024];

	rows_span(b, 1, 0, 0, 100, p, KIND_INTERNAL);
	rows_span(b, 2, 1, 10, 40, p, KIND_INTERNAL);
	rows_span(b, 3, 1, 10, 60, p, KIND_INTERNAL);
	rows_add(b, EVENT_POINT, 1, 0, 5, p);
	rows_add(b, EVENT_POINT, 1, 0, 30, p);
	t = rows_trace(b);
	/* from 2's begin to the root's end: by way of 2, although 3 took longer */
	assert_int_equal(critical_path_between(t, trace_pos(POS_BEGIN, trace_find(t, 2)),
					       trace_pos(POS_END, 0), &path),
			 0);
	assert_string_equal(told(t, &path, text), "2:self 10-40, 1:self 40-100");
	assert_int_equal(path.total_ns, 90);
	critical_path_done(&path);
	/* from a point of the root: children begun since count */
	assert_int_equal(
		critical_path_between(t, trace_pos(POS_POINT, 0), trace_pos(POS_END, 0), &path), 0);
	assert_string_equal(told(t, &path, text), "1:self 5-10, 3:self 10-60, 1:self 60-100");
	critical_path_done(&path);
	assert_int_equal(
		critical_path_between(t, trace_pos(POS_POINT, 1), trace_pos(POS_END, 0), &path), 0);
	assert_string_equal(told(t, &path, text), "1:self 30-100");
	critical_path_done(&path);
	/* concurrent ones have none */
	assert_int_equal(critical_path_between(t, trace_pos(POS_BEGIN, trace_find(t, 2)),
					       trace_pos(POS_BEGIN, trace_find(t, 3)), &path),
			 -ENOENT);
	trace_free(t);
}

/* --- the reference --- */

struct naive {
	struct trace *t;
	uint64_t *reach, *after;
	struct trace_pos from;
	bool edge_used[512], child_used[512];
	struct path_segment list[2048]; /* latest first */
	size_t n;
	int64_t at;
	uint32_t block;
};

static bool ok(const struct naive *w, struct trace_pos at)
{
	return trace_reached(w->t, w->reach, at) && !trace_reached(w->t, w->after, at);
}

static void back_to(struct naive *w, int64_t to, enum segment_kind kind)
{
	int64_t floor = trace_pos_ns(w->t, w->from);

	to = MAX(to, floor);
	if (to >= w->at)
		return;
	assert_true(w->n < ARRAY_SIZE(w->list));
	w->list[w->n++] = (struct path_segment){to, w->at, w->block, 0, kind};
	w->at = to;
}

static bool waits(const struct trace *t, uint32_t child)
{
	const struct trace_block *c = &t->blocks[child], *p = &t->blocks[c->parent];

	return !(c->bits & BLOCK_MESSAGE) &&
	       (c->bits & BLOCK_ENDS_IN_PARENT || c->unit == p->unit ||
		(t->units[c->unit].from_clock && t->units[p->unit].from_clock));
}

static bool sends(const struct naive *w, size_t i)
{
	const struct trace_edge *e = &w->t->edges[i];

	return e->row != TRACE_NONE && !(e->repairs & REPAIR_CYCLE) && ok(w, e->from) &&
	       trace_pos_block(w->t, e->to) == w->block;
}

/* The latest unused arrival at or before now: 1 + edge, -1 - child, 0 for none. */
static int64_t latest(struct naive *w, int64_t *when)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->block];
	int64_t best = 0, best_rank = 0;

	*when = INT64_MIN;
	for (size_t i = 0; i < t->edge_n; i++) {
		int64_t at = trace_pos_ns(t, t->edges[i].to);

		at = MAX(b->begin_ns, MIN(at, b->end_ns));
		if (!sends(w, i) || t->edges[i].to.kind == POS_BEGIN || w->edge_used[i])
			continue;
		if (at > w->at) {
			w->edge_used[i] = true; /* time does not go forwards again */
			continue;
		}
		if (at > *when || (at == *when && t->edges[i].kind <= best_rank)) {
			*when = at;
			best = 1 + (int64_t)i;
			best_rank = t->edges[i].kind;
		}
	}
	for (uint32_t c = 0; c < t->block_n; c++) {
		if (t->blocks[c].parent != w->block || w->child_used[c] || !waits(t, c) ||
		    !ok(w, trace_pos(POS_END, c)))
			continue;
		if (t->blocks[c].end_ns > w->at) {
			w->child_used[c] = true;
			continue;
		}
		if (t->blocks[c].end_ns > *when || (t->blocks[c].end_ns == *when && best < 0)) {
			*when = t->blocks[c].end_ns;
			best = -1 - (int64_t)c;
		}
	}
	return best;
}

static bool naive_cross(struct naive *w, size_t i)
{
	const struct trace_edge *e = &w->t->edges[i];
	const struct trace_block *b = &w->t->blocks[trace_pos_block(w->t, e->from)];
	int64_t inside = MIN(trace_pos_ns(w->t, e->from), b->end_ns);
	int64_t later = MAX(b->begin_ns, inside), left = MIN(later, w->at);
	int64_t queued = e->kind == EDGE_LOCK ? w->at - left : MIN(e->queued_ns, w->at - left);

	back_to(w, w->at - queued, SEGMENT_QUEUE);
	back_to(w, left, SEGMENT_EDGE);
	w->block = trace_pos_block(w->t, e->from);
	return trace_pos_eq(e->from, w->from);
}

static size_t naive_cause(const struct naive *w, bool links)
{
	const struct trace *t = w->t;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < t->edge_n; i++)
		if (sends(w, i) && t->edges[i].to.kind == POS_BEGIN &&
		    (t->edges[i].kind == EDGE_LINK) == links &&
		    (best == SIZE_MAX ||
		     trace_pos_ns(t, t->edges[i].from) > trace_pos_ns(t, t->edges[best].from)))
			best = i;
	return best;
}

static bool naive_begin(struct naive *w)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->block];
	uint32_t best = TRACE_NONE, parent = b->parent;
	size_t edge = naive_cause(w, false);

	if (edge != SIZE_MAX)
		return naive_cross(w, edge);
	if (parent != TRACE_NONE &&
	    (ok(w, trace_pos(POS_BEGIN, parent)) || parent == trace_pos_block(t, w->from))) {
		back_to(w, t->blocks[parent].end_ns,
			b->bits & BLOCK_REMOTE_PARENT ? SEGMENT_EDGE : SEGMENT_IDLE);
		w->block = parent;
		return false;
	}
	edge = naive_cause(w, true);
	if (edge != SIZE_MAX)
		return naive_cross(w, edge);
	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *x = &t->blocks[i];

		if (i != w->block && x->unit == b->unit && !(x->bits & BLOCK_RUNNING) &&
		    x->end_ns <= b->begin_ns && ok(w, trace_pos(POS_END, i)) &&
		    !trace_is_ancestor(t, w->block, i) &&
		    (best == TRACE_NONE || x->end_ns > t->blocks[best].end_ns))
			best = i;
	}
	if (best == TRACE_NONE)
		return true;
	back_to(w, t->blocks[best].end_ns, SEGMENT_IDLE);
	w->block = best;
	return false;
}

static void naive_walk(struct naive *w, struct trace_pos to)
{
	const struct trace *t = w->t;
	int64_t from_ns = trace_pos_ns(t, w->from);

	w->block = trace_pos_block(t, to);
	w->at = trace_pos_ns(t, to);
	for (int steps = 0; w->at > from_ns && steps < 2000; steps++) {
		bool home = w->block == trace_pos_block(t, w->from);
		int64_t floor = home ? from_ns : t->blocks[w->block].begin_ns, when;
		int64_t next = latest(w, &when);

		if (next != 0 && (when > floor || (!home && when == floor))) {
			back_to(w, when, SEGMENT_SELF);
			if (next > 0) {
				w->edge_used[next - 1] = true;
				if (naive_cross(w, (size_t)next - 1))
					break;
			} else {
				w->child_used[-next - 1] = true;
				w->block = (uint32_t)(-next - 1);
			}
			continue;
		}
		back_to(w, floor, SEGMENT_SELF);
		if (home || naive_begin(w))
			break;
	}
	back_to(w, from_ns, SEGMENT_IDLE);
}

/* The way of a client's call is told as an edge or as its own work: not the reference's business.
 */
static enum segment_kind plain(const struct trace *t, const struct path_segment *s)
{
	return s->kind == SEGMENT_EDGE && t->blocks[s->block].kind == KIND_CLIENT ? SEGMENT_SELF
										  : s->kind;
}

static void assert_path(struct naive *w, const struct critical_path *path)
{
	const struct trace *t = w->t;
	int64_t at = trace_pos_ns(t, path->from);

	naive_walk(w, path->to);
	assert_int_equal(path->n, w->n);
	for (size_t i = 0; i < path->n; i++) {
		const struct path_segment *s = &path->segments[i], *r = &w->list[w->n - 1 - i];
		const struct trace_block *b = &t->blocks[s->block];

		assert_int_equal(s->from_ns, at); /* contiguous */
		assert_true(s->to_ns > s->from_ns);
		at = s->to_ns;
		assert_int_equal(s->from_ns, r->from_ns);
		assert_int_equal(s->to_ns, r->to_ns);
		assert_int_equal(s->block, r->block);
		assert_int_equal(plain(t, s), plain(t, r));
		if (s->kind == SEGMENT_SELF) /* nobody works outside its own time */
			assert_true(s->from_ns >= MIN(b->begin_ns, trace_pos_ns(t, path->to)) &&
				    s->to_ns <= b->end_ns);
		assert_true(s->edge == TRACE_NONE || s->edge < t->edge_n);
		/* nothing on the path came after its end */
		assert_int_equal(
			trace_happened_before(w->t, path->to, trace_pos(POS_BEGIN, s->block), NULL),
			0);
	}
	assert_int_equal(at, trace_pos_ns(t, path->from) + path->total_ns); /* sums up */
	assert_int_equal(path->total_ns, trace_pos_ns(t, path->to) - trace_pos_ns(t, path->from));
}

static void agrees_with_the_reference_on_random_traces(void **state)
{
	struct rng rng = {41};
	size_t found = 0;

	for (int round = 0; round < 4000; round++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(round % RANDOM_TASTES), 25);
		struct trace *t = rows_build(r.batches, RANDOM_BATCHES, 0, 0);

		for (int pair = 0; t->block_n && pair < 12; pair++) {
			static struct naive w;
			uint32_t a = (uint32_t)rng_below(&rng, t->block_n);
			uint32_t b = (uint32_t)rng_below(&rng, t->block_n);
			struct trace_pos from =
				trace_pos(rng_below(&rng, 4) ? POS_BEGIN : POS_END, a);
			struct trace_pos to =
				trace_pos(rng_below(&rng, 4) ? POS_END : POS_BEGIN, b);
			struct critical_path path;
			int error;

			w = (struct naive){.t = t, .from = from};
			error = critical_path_between(t, from, to, &path);
			if (error == -ENOENT) {
				assert_int_equal(trace_happened_before(t, from, to, NULL), 0);
				continue;
			}
			assert_int_equal(trace_happened_before(t, from, to, NULL), 1);
			if (error == -EINVAL) {
				assert_true(trace_pos_ns(t, to) < trace_pos_ns(t, from));
				continue;
			}
			assert_int_equal(error, 0);
			assert_int_equal(trace_reach(t, &from, 1, &w.reach), 0);
			assert_int_equal(trace_reach(t, &to, 1, &w.after), 0);
			assert_path(&w, &path);
			free(w.reach);
			free(w.after);
			critical_path_done(&path);
			found++;
		}
		trace_free(t);
	}
	assert_true(found > 2000);
}

static void the_whole_path_reaches_from_the_root_to_the_last_end(void **state)
{
	struct rng rng = {42};

	for (int round = 0; round < 4000; round++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(round % RANDOM_TASTES), 25);
		struct trace *t = rows_build(r.batches, RANDOM_BATCHES, 0, 0);
		struct critical_path path;
		int64_t sum = 0;

		assert_int_equal(critical_path_whole(t, &path), 0);
		for (size_t i = 0; i < path.n; i++) {
			sum += path.segments[i].to_ns - path.segments[i].from_ns;
			if (i)
				assert_int_equal(path.segments[i].from_ns,
						 path.segments[i - 1].to_ns);
		}
		assert_int_equal(sum, path.total_ns);
		if (t->roots == 1)
			for (size_t i = 0; i < t->block_n; i++)
				assert_true(t->blocks[i].end_ns <= trace_pos_ns(t, path.to));
		critical_path_done(&path);
		trace_free(t);
	}
}

static void a_deep_chain_has_a_path(void **state)
{
	enum { N = 200000 };
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct critical_path path;
	struct trace *t;

	for (span_id_t i = 1; i <= N; i++)
		rows_span(b, i, i - 1, (int64_t)i, 3 * N - (int64_t)i, p, KIND_INTERNAL);
	t = rows_trace(b);
	assert_int_equal(critical_path_whole(t, &path), 0);
	assert_int_equal(path.n, 2 * N - 1);
	critical_path_done(&path);
	trace_free(t);
}

static void a_long_unit_has_a_path(void **state)
{
	enum { N = 100000 };
	_cleanup_(batch_unrefp)
	struct batch *b = rows_new();
	uint32_t p = rows_process(b, "a", NULL);
	struct critical_path path;
	struct trace *t;

	for (span_id_t i = 1; i <= N; i++) {
		rows_add(b, EVENT_BEGIN, i, 0, 10 * (int64_t)i, p);
		rows_place(b, 7, 0);
		rows_add(b, EVENT_END, i, 0, 10 * (int64_t)i + 5, p);
		rows_place(b, 7, 0);
	}
	t = rows_trace(b);
	assert_int_equal(critical_path_whole(t, &path), 0);
	assert_int_equal(path.n, 2 * N - 1); /* at work, idle, at work … */
	critical_path_done(&path);
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lonely_block_works_all_the_time),
		cmocka_unit_test(children_that_end_last_are_waited_for),
		cmocka_unit_test(a_calls_way_is_an_edge),
		cmocka_unit_test(the_path_ends_with_what_outlives_the_root),
		cmocka_unit_test(running_blocks_count_as_far_as_they_are_known),
		cmocka_unit_test(skewed_clocks_are_adjusted_first),
		cmocka_unit_test(of_several_causes_the_last_decides),
		cmocka_unit_test(waiting_for_queues_and_locks_is_told),
		cmocka_unit_test(idle_units_are_idle),
		cmocka_unit_test(between_two_positions_only_what_follows_the_first_counts),
		cmocka_unit_test(agrees_with_the_reference_on_random_traces),
		cmocka_unit_test(the_whole_path_reaches_from_the_root_to_the_last_end),
		cmocka_unit_test(a_deep_chain_has_a_path),
		cmocka_unit_test(a_long_unit_has_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
