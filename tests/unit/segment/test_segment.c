/* What goes into a segment comes out of it. */
#include "t.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "batch_equal.h"
#include "batch_random.h"
#include "model/batch_copy.h"
#include "segment/group.h"
#include "segment/totals.h"
#include "segment/trace_index.h"
#include "segment_fixture.h"

static void fill(struct pile *p, struct rng *rng, enum batch_random_shape shape, size_t batches,
		 size_t rows, size_t traces)
{
	for (size_t i = 0; i < batches; i++) {
		struct batch_random what = {.shape = shape, .rows = rows};
		struct batch *b = batch_random(rng, &what);

		pile_share_traces(b, rng, traces);
		pile_add(p, b);
	}
}

static void assert_all_there(struct pile *p, struct segment *s)
{
	for (size_t i = 0; i < p->trace_n; i++) {
		struct event_set set = {0};

		assert_int_equal(segment_may_have(s, p->traces[i].id), 1);
		assert_int_equal(segment_trace(s, p->traces[i].id, &set), 0);
		assert_rows_equal(p->traces[i].refs, p->traces[i].n, set.refs, set.n);
		event_set_done(&set);
	}
}

static void anything_random_comes_back_as_it_went_in(void **state)
{
	static const struct {
		enum batch_random_shape shape;
		size_t batches, rows, traces;
		uint32_t group_rows;
	} table[] = {
		{RANDOM_EVENTS, 1, 1, 1, 0},      {RANDOM_EVENTS, 3, 50, 7, 0},
		{RANDOM_EVENTS, 5, 400, 60, 64},  {RANDOM_EVENTS, 2, 700, 2, 50},
		{RANDOM_TRACES, 4, 300, 40, 0},   {RANDOM_TRACES, 3, 300, 1, 100},
		{RANDOM_TRACES, 2, 200, 200, 16}, {RANDOM_LOGS, 3, 200, 20, 0},
		{RANDOM_EVENTS, 3, 100, 30, 1},
	};

	for (uint64_t seed = 1; seed <= 3; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
			struct rng rng = {seed * 100 + i};
			struct pile p = {0};
			struct segment *s;

			fill(&p, &rng, table[i].shape, table[i].batches, table[i].rows,
			     table[i].traces);
			pile_write(&p, *state, 7, table[i].group_rows);
			s = pile_open(*state, 7);
			assert_all_there(&p, s);
			segment_unref(s);
			pile_done(&p);
		}
}

static void every_row_comes_once_group_by_group(void **state)
{
	struct rng rng = {5};
	struct pile p = {0};
	struct segment *s;
	struct event_set set = {0};
	struct segment_group *g = NULL;
	const struct segment_info *info;

	fill(&p, &rng, RANDOM_TRACES, 4, 500, 50);
	pile_write(&p, *state, 1, 128);
	s = pile_open(*state, 1);
	info = segment_info(s);
	assert_true(info->groups > 5);
	assert_int_equal(info->pieces, p.trace_n);
	for (uint32_t i = 0; i < info->groups; i++) {
		assert_int_equal(i ? group_reopen(g, i) : group_open(s, i, &g), 0);
		assert_int_equal(group_rows(g, 0, group_zone(g)->rows, &set), 0);
	}
	group_close(g);
	assert_int_equal(set.n, info->rows);
	assert_rows_equal(p.in_order, p.row_n, set.refs, set.n);
	event_set_done(&set);
	segment_unref(s);
	pile_done(&p);
}

static void a_trace_larger_than_a_group_is_read_by_pages(void **state)
{
	struct rng rng = {9};
	struct pile p = {0};
	struct segment *s;
	uint64_t rows = 0;

	fill(&p, &rng, RANDOM_TRACES, 4, 200, 3);
	pile_write(&p, *state, 2, 32);
	s = pile_open(*state, 2);
	for (size_t i = 0; i < p.trace_n; i++)
		for (uint64_t page = 1; page < 300; page = page * 3 + 1) {
			struct event_set set = {0};

			for (uint64_t from = 0; from < p.traces[i].n; from += page)
				assert_int_equal(segment_trace_page(s, p.traces[i].id, from, page,
								    &set, &rows),
						 0);
			assert_int_equal(rows, p.traces[i].n);
			assert_rows_equal(p.traces[i].refs, p.traces[i].n, set.refs, set.n);
			assert_int_equal(
				segment_trace_page(s, p.traces[i].id, rows, 1, &set, &rows), 0);
			assert_int_equal(set.n, p.traces[i].n);
			event_set_done(&set);
		}
	segment_unref(s);
	pile_done(&p);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct rng rng = {11};
	struct pile p = {0};
	struct segment *s;
	struct event_set set = {0};
	int maybe = 0;

	fill(&p, &rng, RANDOM_EVENTS, 2, 2000, 4000);
	pile_write(&p, *state, 3, 256);
	s = pile_open(*state, 3);
	for (int i = 0; i < 1000; i++) {
		struct trace_id id;

		store_be64(id.b, rng_next(&rng));
		store_be64(id.b + 8, rng_next(&rng));
		maybe += segment_may_have(s, id);
		assert_int_equal(segment_has(s, id), 0);
		assert_int_equal(segment_trace(s, id, &set), -ENOENT);
	}
	assert_true(maybe < 30);
	assert_int_equal(set.n, 0);
	segment_unref(s);
	pile_done(&p);
}

static void tables_are_forgotten_and_read_again(void **state)
{
	struct rng rng = {13};
	struct pile p = {0};
	const struct segment_tables *tables;
	const struct totals_table *totals, *again;
	struct segment *s;
	size_t before, with_tables;

	fill(&p, &rng, RANDOM_TRACES, 2, 100, 10);
	pile_write(&p, *state, 4, 0);
	s = pile_open(*state, 4);
	before = segment_bytes(s);
	assert_all_there(&p, s);
	assert_true(segment_bytes(s) > before);
	assert_int_equal(segment_pin(s, &tables), 0);
	with_tables = segment_bytes(s);
	assert_int_equal(segment_totals(s, &totals), 0);
	assert_int_equal(segment_bytes(s), with_tables + totals->bytes);
	segment_trim(s); /* somebody looks at it */
	assert_int_equal(segment_totals(s, &again), 0);
	assert_ptr_equal(again, totals);
	segment_unpin(s);
	segment_trim(s);
	assert_int_equal(segment_bytes(s), before);
	assert_all_there(&p, s);
	segment_unref(s);
	pile_done(&p);
}

static void the_same_row_of_another_batch_is_left_out(void **state)
{
	struct rng rng = {17};
	struct rng again = {17};
	struct pile p = {0};
	struct segment *s;
	struct batch_random what = {.shape = RANDOM_TRACES, .rows = 60};
	struct batch *a = batch_random(&rng, &what), *b = batch_random(&again, &what);
	struct event_set set = {0};

	pile_one_trace(a);
	pile_one_trace(b);
	pile_add(&p, a);
	pile_add(&p, b);
	pile_write(&p, *state, 5, 0);
	s = pile_open(*state, 5);
	assert_int_equal(segment_info(s)->rows, a->event_n);
	assert_int_equal(segment_trace(s, p.traces[0].id, &set), 0);
	assert_rows_equal(p.traces[0].refs, a->event_n, set.refs, set.n);
	event_set_done(&set);
	segment_unref(s);
	pile_done(&p);
}

static void split_traces_are_listed(void **state)
{
	struct rng rng = {19};
	struct pile p = {0};
	struct segment *s;
	const struct trace_id *ids;
	size_t n;

	fill(&p, &rng, RANDOM_TRACES, 2, 100, 20);
	p.split_n = 5;
	pile_write(&p, *state, 6, 0);
	s = pile_open(*state, 6);
	assert_int_equal(segment_split(s, &ids, &n), 0);
	assert_int_equal(n, 5);
	for (size_t i = 0; i < p.trace_n; i++)
		assert_int_equal(segment_is_split(s, p.traces[i].id), i < 5);
	segment_unref(s);
	pile_done(&p);
}

/* Somebody may choose ids that the index cannot tell apart. */
static void ids_that_look_alike_are_all_found(void **state)
{
	enum { ALIKE = 20, ROWS = 16 };
	struct trace_id ids[ALIKE], id = {{7}};
	struct rng rng = {23};
	struct pile p = {0};
	struct segment *s;

	/* Few traces are one bucket; of the hash, the index then keeps the top INDEX_REST_BITS. */
	for (uint64_t i = 1, n = 0; n < ALIKE; i++) {
		store_be64(id.b + 8, i);
		if (n == 0 || segment_id_hash(id) >> (64 - INDEX_REST_BITS) ==
				      segment_id_hash(ids[0]) >> (64 - INDEX_REST_BITS))
			ids[n++] = id;
	}
	for (size_t i = 0; i < ALIKE; i++) {
		struct batch_random what = {.shape = RANDOM_TRACES, .rows = ROWS};
		struct batch *b = batch_random(&rng, &what);

		for (size_t k = 0; k < b->event_n; k++)
			b->events[k].trace_id = ids[i];
		pile_add(&p, b);
	}
	pile_write(&p, *state, 7, ROWS);
	s = pile_open(*state, 7);
	for (size_t i = 0; i < ALIKE; i++) {
		uint32_t groups[SEGMENT_CANDIDATES], at = 0, last = 0;
		int n, all = 0;

		do {
			n = segment_candidates(s, ids[i], &at, groups);
			assert_true(n >= 0);
			for (int k = 0; k < n; k++)
				last = MAX(last, groups[k]);
			all += n;
		} while (n == SEGMENT_CANDIDATES);
		assert_int_equal(all, ALIKE);
		assert_true(last >= ALIKE - 1);
	}
	assert_all_there(&p, s);
	segment_unref(s);
	pile_done(&p);
}

/* … or even such as have the same hash: of 16 bytes XXH3 mixes a word with a sum of both, so that
 * whoever makes one of them 0 knows the rest.  They are traces like others. */
static void ids_with_the_same_hash_are_two_traces(void **state)
{
	static const struct trace_id ids[] = {
		{{0xb9, 0x39, 0x42, 0xea, 0x7b, 0x73, 0x82, 0x67, 0xd5, 0x9f, 0x3d, 0x99, 0x43,
		  0xea, 0x62, 0xbd}},
		{{0xab, 0x0d, 0x14, 0x92, 0xeb, 0xd8, 0x4f, 0x88, 0x3a, 0x52, 0x96, 0x09, 0x3b,
		  0xbc, 0x56, 0xaf}},
	};
	struct rng rng = {29};
	struct pile p = {0};
	struct segment *s;

	assert_true(segment_id_hash(ids[0]) == segment_id_hash(ids[1]));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct batch_random what = {.shape = RANDOM_TRACES, .rows = 16};
		struct batch *b = batch_random(&rng, &what);

		for (size_t k = 0; k < b->event_n; k++)
			b->events[k].trace_id = ids[i];
		pile_add(&p, b);
	}
	pile_write(&p, *state, 8, 16);
	s = pile_open(*state, 8);
	assert_all_there(&p, s);
	segment_unref(s);
	pile_done(&p);
}

static void a_trace_that_comes_again_is_refused(void **state)
{
	const struct segment_options options = {0};
	const struct segment_seal seal = {.seq_first = 1, .seq_last = 1};
	struct segment_writer *w;
	struct segment_info info;
	struct rng rng = {31};
	struct batch_random what = {.shape = RANDOM_TRACES, .rows = 3};
	struct batch *b = batch_random(&rng, &what);

	for (uint32_t i = 0; i < b->event_n; i++)
		b->events[i].trace_id = (struct trace_id){{1 + i % 2}};
	assert_int_equal(segment_writer_new(fs_real(), *state, 9, &options, &w), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(segment_writer_add(w, &(struct event_ref){b, i}, 1), 0);
	assert_int_equal(segment_writer_finish(w, &seal, &info), -EINVAL);
	batch_unref(b);
}

struct reader {
	struct segment *s;
	const struct pile *p;
	int failed;
};

static void *read_all(void *context)
{
	struct reader *r = context;

	for (size_t i = 0; i < r->p->trace_n; i++) {
		struct event_set set = {0};

		if (segment_trace(r->s, r->p->traces[i].id, &set) < 0 ||
		    set.n != r->p->traces[i].n ||
		    segment_is_split(r->s, r->p->traces[i].id) != (i < 3))
			r->failed++;
		event_set_done(&set);
		if (i % 5 == 0)
			segment_trim(r->s);
	}
	segment_unref(r->s);
	return NULL;
}

static void many_threads_read_while_tables_come_and_go(void **state)
{
	struct rng rng = {23};
	struct pile p = {.split_n = 3};
	struct reader readers[4];
	pthread_t threads[4];
	struct segment *s;

	fill(&p, &rng, RANDOM_TRACES, 2, 150, 40);
	pile_write(&p, *state, 8, 64);
	s = pile_open(*state, 8);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		readers[i] = (struct reader){segment_ref(s), &p, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
	}
	segment_unref(s);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].failed, 0);
	}
	pile_done(&p);
}

/* A key that the segment has not seen is not the empty one, which it has. */
static void a_new_key_is_not_the_empty_one(void **state)
{
	static const char *const keys[] = {"", "new", "", "newer"};
	struct batch *b = batch_new(0);
	struct pile p = {0};
	struct segment *s;

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct event *e;

		batch_attr_string(b, slice_cstr(keys[i]), SLICE("value"));
		e = batch_event(b);
		*e = (struct event){.id1 = 1 + i, .time_ns = 1 + i, .end_ns = 9, .attrs = {i, 1}};
		e->trace_id.b[0] = 7;
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(&p, b);
	pile_write(&p, *state, 10, 64);
	s = pile_open(*state, 10);
	assert_all_there(&p, s);
	segment_unref(s);
	pile_done(&p);
}

/* 97 keys at random, 1,000 values: nothing to make a shape of. */
static struct batch *random_keys(struct rng *rng, size_t rows)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (size_t i = 0; i < rows; i++) {
		struct attr_range range = {(uint32_t)b->attr_n, 11};
		uint32_t name = batch_string(b, SLICE("operation"));
		struct event *e;

		for (int a = 0; a < 11; a++) {
			char key[24], value[24];

			snprintf(key, sizeof(key), "key-%d", (int)rng_below(rng, 97));
			snprintf(value, sizeof(value), "value-%d", (int)rng_below(rng, 1000));
			if (a == 5)
				batch_attr_int(b, slice_cstr(key), (int64_t)rng_next(rng));
			else
				batch_attr_string(b, slice_cstr(key), slice_cstr(value));
		}
		e = batch_event(b);
		*e = (struct event){.id1 = rng_next(rng) | 1,
				    .time_ns = 1700000000000000000ULL + rng_below(rng, 1000000000),
				    .name = name,
				    .attrs = range};
		e->end_ns = e->time_ns + rng_below(rng, 1000000);
		store_be64(e->trace_id.b + 8, 1 + i / 10);
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static void random_sets_of_keys_are_kept_loose(void **state)
{
	struct rng rng = {29};
	struct pile p = {0};
	struct segment *s;

	pile_add(&p, random_keys(&rng, 3000));
	pile_write(&p, *state, 9, 512);
	s = pile_open(*state, 9);
	assert_true(segment_info(s)->shapes < 1200); /* far fewer than rows */
	assert_all_there(&p, s);
	segment_unref(s);
	pile_done(&p);
}

static struct event *add_span(struct batch *b, uint32_t i, uint32_t name, uint32_t attrs)
{
	struct event *e = batch_event(b);

	*e = (struct event){.type = EVENT_SPAN,
			    .trace_id = {{1, (uint8_t)(i / 5000), (uint8_t)(i / 20)}},
			    .id1 = i + 1,
			    .name = name,
			    .time_ns = 1000 + i,
			    .end_ns = 2000 + i,
			    .attrs = {(uint32_t)b->attr_n - attrs, attrs}};
	return e;
}

/* Writes the batch, finds it again, and returns how many strings the segment has for it. */
static uint32_t strings_of(const char *dir, struct batch *b, uint32_t group_rows)
{
	struct pile p = {0};
	struct segment *s;

	assert_int_equal(batch_seal(b), 0);
	pile_add(&p, b);
	pile_write(&p, dir, 7, group_rows);
	s = pile_open(dir, 7);
	assert_all_there(&p, s);
	segment_unref(s);
	pile_done(&p);
	return pile_strings(dir, 7);
}

/* Keys in any order: what is a route in one row is a user in the next, where a shape is guessed. */
static void values_are_not_learnt_by_looking_for_shapes(void **state)
{
	struct batch *b = batch_new(0);
	struct rng rng = {4};

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < 2000; i++) {
		struct slice keys[] = {SLICE("http.route"), SLICE("user.id")};
		char texts[2][40];
		size_t first = rng_below(&rng, 2);

		snprintf(texts[0], sizeof(texts[0]), "/route/%c", 'a' + (char)rng_below(&rng, 8));
		snprintf(texts[1], sizeof(texts[1]), "user-%016llx",
			 (unsigned long long)rng_next(&rng));
		batch_attr_string(b, keys[first], slice_cstr(texts[first]));
		batch_attr_string(b, keys[!first], slice_cstr(texts[!first]));
		batch_attr_string(b, SLICE("http.method"), SLICE("GET"));
		add_span(b, i, batch_string(b, SLICE("GET /")), 3);
	}
	assert_in_range(strings_of(*state, b, 200), 8 + 5, 8 + 20);
}

/* Names that are all different are in the dictionary only as long as they are counted. */
static void names_are_not_learnt_by_looking_for_skeletons(void **state)
{
	const uint32_t group_rows = 1000;
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < 2 * TOTALS_MOST; i++) {
		char name[40];

		snprintf(name, sizeof(name), "GET /item/%u", 1000000 + i * 7919);
		batch_attr_string(b, SLICE("http.method"), SLICE("GET"));
		add_span(b, i, batch_string(b, slice_cstr(name)), 1);
	}
	assert_in_range(strings_of(*state, b, group_rows), 2, TOTALS_MOST + group_rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anything_random_comes_back_as_it_went_in),
		cmocka_unit_test(every_row_comes_once_group_by_group),
		cmocka_unit_test(a_trace_larger_than_a_group_is_read_by_pages),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(tables_are_forgotten_and_read_again),
		cmocka_unit_test(the_same_row_of_another_batch_is_left_out),
		cmocka_unit_test(split_traces_are_listed),
		cmocka_unit_test(ids_that_look_alike_are_all_found),
		cmocka_unit_test(ids_with_the_same_hash_are_two_traces),
		cmocka_unit_test(a_trace_that_comes_again_is_refused),
		cmocka_unit_test(many_threads_read_while_tables_come_and_go),
		cmocka_unit_test(random_sets_of_keys_are_kept_loose),
		cmocka_unit_test(a_new_key_is_not_the_empty_one),
		cmocka_unit_test(values_are_not_learnt_by_looking_for_shapes),
		cmocka_unit_test(names_are_not_learnt_by_looking_for_skeletons),
	};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
