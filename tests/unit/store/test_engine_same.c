/* Random workloads through every way of asking, and a few that chance does not make: the durable
 * engine answers as the one in memory does, in the head, after flushes, compaction and restarts. */
#include "store_t.h"

#include "batch_random.h"
#include "core/clock.h"
#include "store/memory.h"

#define TRACES 20

/* Few traces, so that they meet again in other batches; some rows stay what they were. */
static struct batch *workload_batch(struct rng *rng, const struct batch_random *what)
{
	struct batch *b = batch_random(rng, what);

	for (size_t i = 0; i < b->event_n; i++) {
		struct event *e = &b->events[i];
		uint64_t hash = hash_bytes(e->trace_id.b, sizeof(e->trace_id.b), 5);

		e->trace_id = trace_of((uint32_t)(hash % TRACES));
	}
	b->received_ns = (int64_t)(1700000000000000000 + rng_below(rng, 1000000000));
	return b;
}

static void assert_same(struct store *a, struct store *b)
{
	static const struct slice words[] = {
		{"", 0}, {"a", 1}, {"service.name", 12}, {"x", 1}, {"GET /", 5}};

	for (uint32_t i = 0; i <= TRACES; i++) {
		assert_same_trace(a, b, trace_of(i));
		assert_whole_in_parts(b, trace_of(i), 1 + i % 9);
	}
	assert_same_all(a, b);
	assert_same_find(a, b, (struct store_query){.limit = 7});
	assert_same_find(a, b, (struct store_query){.limit = 7, .order = STORE_SLOWEST});
	assert_same_find(a, b, (struct store_query){.limit = 3, .errors = true});
	assert_same_find(a, b, (struct store_query){.min_duration_ns = 1000});
	assert_same_find(a, b, (struct store_query){.max_duration_ns = 1000000});
	assert_same_find(a, b, (struct store_query){.from_ns = 1, .to_ns = INT64_MAX});
	assert_same_find(a, b, (struct store_query){.to_ns = 1700000000000000000});
	for (size_t i = 1; i < ARRAY_SIZE(words); i++) {
		assert_same_find(a, b, (struct store_query){.operation = words[i]});
		assert_same_find(a, b, (struct store_query){.service = words[i]});
	}
}

/* Services, operations and attributes that are there. */
static void assert_same_found(struct store *a, struct store *b)
{
	struct event_set all = {0};

	assert_int_equal(store_all(a, &all), 0);
	for (size_t i = 0; i < all.n; i += 1 + all.n / 5) {
		const struct batch *x = all.refs[i].batch;
		const struct event *e = event_get(all.refs[i]);
		struct store_query q = {.operation = batch_text(x, e->name)};

		assert_same_find(a, b, q);
		q.service = batch_service(x, e);
		assert_same_find(a, b, q);
		q.owner = batch_text(x, x->owner);
		assert_same_find(a, b, q);
		for (uint32_t k = 0; k < e->attrs.count && k < 3; k++) {
			const struct attr *attr = &x->attrs[e->attrs.first + k];
			struct store_tag tag = {.key = batch_text(x, attr->key)};

			if (attr->type == VALUE_STRING)
				tag.value = batch_text(x, attr->string);
			else if (attr->type == VALUE_BOOL)
				tag.value = attr->word ? SLICE("true") : SLICE("false");
			else
				continue;
			assert_same_find(a, b, (struct store_query){.tags = &tag, .tag_n = 1});
		}
	}
	event_set_done(&all);
}

static void run_workload(uint64_t seed, bool repeats)
{
	struct rng rng = {seed};
	char dir[64];
	struct store *memory, *engine;

	assert_int_equal(memory_store_open((size_t)1 << 30, &memory), 0);
	engine = engine_at(folder_fresh(dir), (struct engine_options){0});
	for (int round = 0; round < 7; round++) {
		const struct batch_random what = {
			.shape = (enum batch_random_shape)rng_below(&rng, 3),
			.rows = 1 + rng_below(&rng, 60)};
		struct rng same = rng;
		struct batch *b = workload_batch(&rng, &what);

		assert_int_equal(put(memory, batch_ref(b)), 0);
		assert_int_equal(put(engine, batch_ref(b)), 0);
		if (repeats && rng_below(&rng, 3) == 0) { /* in another batch, that is */
			struct batch *again = workload_batch(&same, &what);

			assert_int_equal(put(memory, batch_ref(again)), 0);
			assert_int_equal(put(engine, again), 0);
		}
		batch_unref(b);
		switch (rng_below(&rng, 6)) {
		case 0:
		case 1:
			assert_int_equal(engine_flush(engine), 0);
			break;
		case 2:
			assert_int_equal(engine_compact(engine, rng_below(&rng, 2)), 0);
			break;
		case 3:
			store_close(engine);
			engine = engine_at(dir, (struct engine_options){0});
			break;
		}
		assert_same(memory, engine);
	}
	assert_same_found(memory, engine);
	assert_int_equal(engine_flush(engine), 0);
	assert_same(memory, engine);
	assert_same_found(memory, engine);
	assert_int_equal(engine_compact(engine, true), 0);
	assert_same(memory, engine);
	assert_same_found(memory, engine);
	if (!repeats) {
		assert_same_services(memory, engine);
		assert_same_operations(memory, engine);
	}
	store_close(engine);
	store_close(memory);
	folder_remove(dir);
}

static void random_workloads_get_the_same_answers(void **state)
{
	for (uint64_t seed = 1; seed <= 2; seed++)
		run_workload(seed, false);
}

static void repeats_collapse_the_same(void **state)
{
	for (uint64_t seed = 101; seed <= 101; seed++)
		run_workload(seed, true);
}

/* --- what chance does not make --- */

#define T0 ((uint64_t)1700000000 * NS_PER_S)

struct pair {
	char dir[64];
	struct store *memory, *engine;
};

static void pair_open(struct pair *p)
{
	assert_int_equal(memory_store_open((size_t)1 << 30, &p->memory), 0);
	p->engine = engine_at(folder_fresh(p->dir), (struct engine_options){0});
}

static void pair_put(struct pair *p, struct batch *b)
{
	assert_int_equal(put(p->memory, batch_ref(sealed(b))), 0);
	assert_int_equal(put(p->engine, b), 0);
}

static void pair_close(struct pair *p)
{
	store_close(p->engine);
	store_close(p->memory);
	folder_remove(p->dir);
}

static int count_span(void *context, const struct span_seen *span)
{
	++*(uint64_t *)context;
	return 0;
}

static uint64_t spans_between(struct store *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t n = 0;
	const struct store_walk walk = {.from_ns = (int64_t)from_ns,
					.to_ns = (int64_t)to_ns,
					.span = count_span,
					.context = &n};

	assert_int_equal(store_spans(s, &walk), 0);
	return n;
}

/* Of a trace over several groups the span that began first came last. */
static void a_walk_has_large_traces_whose_beginning_came_last(void **state)
{
	enum { CHILDREN = 20000 };
	const uint64_t windows[][3] = {
		{T0 - 10 * NS_PER_S, T0 + NS_PER_S / 2, CHILDREN + 1},
		{T0, T0 + 1, CHILDREN + 1},
		{T0 + NS_PER_S / 2, T0 + 10 * NS_PER_S, 0},
		{T0 - 10 * NS_PER_S, T0, 0},
	};
	struct pair p;
	struct batch *b = batch_for("front", 1);

	pair_open(&p);
	for (uint32_t i = 0; i < CHILDREN; i++)
		span_add(b, 1, i + 2, 1, T0 + NS_PER_S + i, T0 + 2 * NS_PER_S);
	pair_put(&p, b);
	b = batch_for("front", 1);
	span_add(b, 1, 1, 0, T0, T0 + 3 * NS_PER_S);
	pair_put(&p, b);
	assert_int_equal(engine_flush(p.engine), 0);
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		assert_int_equal(spans_between(p.memory, windows[i][0], windows[i][1]),
				 windows[i][2]);
		assert_int_equal(spans_between(p.engine, windows[i][0], windows[i][1]),
				 windows[i][2]);
	}
	pair_close(&p);
}

/* Ends minus starts, as unsigned numbers, are about a millisecond. */
static void spans_that_end_centuries_before_they_begin_are_not_short(void **state)
{
	const int64_t ms = NS_PER_S / 1000;
	const uint64_t times[][2] = {
		{UINT64_MAX, (uint64_t)ms - 1},
		{UINT64_MAX - 5, (uint64_t)ms},
		{T0, T0 + (uint64_t)ms},
		{INT64_MAX, INT64_MAX},
	};
	const struct store_query asked[] = {
		{.span_min_ns = ms},
		{.span_min_ns = ms / 2, .span_max_ns = 2 * ms},
		{.span_max_ns = ms / 2},
		{.span_max_ns = 2 * ms},
		{.span_min_ns = ms, .operation = SLICE("work")},
	};
	const size_t found[] = {1, 1, 3, 4, 1};

	/* Each in a group of its own; all in one; beside one that began earlier. */
	for (int together = 0; together < 3; together++) {
		struct pair p;

		pair_open(&p);
		for (uint32_t i = 0; i < ARRAY_SIZE(times); i++) {
			struct batch *b = batch_for("front", 1);

			span_add(b, i + 1, 1, 0, times[i][0], times[i][1]);
			if (together == 2)
				span_add(b, i + 1, 2, 1, T0, T0);
			pair_put(&p, b);
			if (!together)
				assert_int_equal(engine_flush(p.engine), 0);
		}
		assert_int_equal(engine_flush(p.engine), 0);
		for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
			for (int again = 0; again < 2; again++) /* what was learnt is used */
				assert_int_equal(assert_same_find(p.memory, p.engine, asked[i]),
						 together == 2 && !asked[i].span_min_ns ? 4
											: found[i]);
		assert_same_operations(p.memory, p.engine);
		pair_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_workloads_get_the_same_answers),
		cmocka_unit_test(repeats_collapse_the_same),
		cmocka_unit_test(a_walk_has_large_traces_whose_beginning_came_last),
		cmocka_unit_test(spans_that_end_centuries_before_they_begin_are_not_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
