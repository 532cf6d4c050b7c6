/* tests/unit/segment/test_group.c - a part of a group is what the whole of it says. */
#include "t.h"

#include <errno.h>

#include "base/cleanup.h"
#include "batch_random.h"
#include "segment/group_int.h"
#include "segment_fixture.h"

#define ROWS       6000
#define GROUP_ROWS 4096
#define KEYS       60
#define VALUES     300
#define LISTS      40 /* of keys, with kinds and flags at random */

static void value_text(struct rng *rng, char *out, size_t size)
{
	unsigned n = (unsigned)rng_below(rng, VALUES);

	switch (rng_below(rng, 4)) {
	case 0:
		snprintf(out, size, "%u", n);
		break;
	case 1:
		snprintf(out, size, "/u/0123%04x-aaaa-4bbb-8ccc-0123456789ab/x", n);
		break;
	default:
		snprintf(out, size, "value-%u", n);
	}
}

/* Some rows have one set of keys, some one of their own, some a key twice; or, with `lists`, one of
 * so many lists. */
static struct batch *mixed_keys(struct rng *rng, unsigned lists)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (size_t i = 0; i < ROWS; i++) {
		bool same = rng_below(rng, 3) == 0;
		struct attr_range range = {(uint32_t)b->attr_n, 9};
		uint32_t name = batch_string(b, same ? SLICE("same") : SLICE("other"));
		unsigned list = lists ? (unsigned)rng_below(rng, lists) : 0;
		struct event *e;

		for (unsigned a = 0; a < range.count; a++) {
			char key[24], value[64];

			snprintf(key, sizeof(key), "key-%u",
				 same    ? a
				 : lists ? (list * 7 + a * 3) % KEYS
					 : (unsigned)rng_below(rng, KEYS));
			value_text(rng, value, sizeof(value));
			if (a == 5)
				batch_attr_int(b, slice_cstr(key), (int64_t)rng_below(rng, VALUES));
			else
				batch_attr_string(b, slice_cstr(key), slice_cstr(value));
		}
		e = batch_event(b);
		*e = (struct event){.id1 = rng_next(rng) | 1,
				    .time_ns = 1700000000000000000ULL + rng_below(rng, 1000000000),
				    .name = name,
				    .kind = lists && !same ? (int32_t)rng_below(rng, 6) : 0,
				    .flags = lists && !same ? (uint32_t)rng_below(rng, 8) : 0,
				    .attrs = range};
		e->end_ns = e->time_ns + rng_below(rng, 1000000);
		store_be64(e->trace_id.b + 8, 1 + i / 10);
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static struct segment *make(struct pile *p, const char *dir, uint64_t number, unsigned seed,
			    unsigned lists)
{
	struct rng rng = {seed};

	pile_add(p, mixed_keys(&rng, lists));
	pile_write(p, dir, number, GROUP_ROWS);
	return pile_open(dir, number);
}

static void assert_parts(const char *dir, unsigned lists)
{
	struct pile p = {0};
	struct segment *s = make(&p, dir, 1, 3, lists);
	struct rng rng = {7};

	for (uint32_t number = 0; number < segment_info(s)->groups; number++) {
		struct segment_group *whole;
		struct event_set all = {0};

		assert_int_equal(group_open(s, number, &whole), 0);
		assert_int_equal(group_rows(whole, 0, group_zone(whole)->rows, &all), 0);
		for (int i = 0; i < 60; i++) {
			uint32_t rows = group_zone(whole)->rows,
				 first = (uint32_t)rng_below(&rng, rows),
				 n = (uint32_t)rng_below(&rng, MIN(rows - first, 200u)) + 1;
			struct segment_group *g;
			struct event_set some = {0};

			/* Groups opened anew decode no more than they must. */
			assert_int_equal(group_open(s, number, &g), 0);
			assert_int_equal(group_rows(g, first, n, &some), 0);
			assert_rows_equal(all.refs + first, n, some.refs, some.n);
			event_set_done(&some);
			/* A second part of the same, behind or before it. */
			first = (uint32_t)rng_below(&rng, rows);
			assert_int_equal(group_rows(g, first, 1, &some), 0);
			assert_rows_equal(all.refs + first, 1, some.refs, some.n);
			event_set_done(&some);
			group_close(g);
		}
		event_set_done(&all);
		group_close(whole);
	}
	segment_unref(s);
	pile_done(&p);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* In groups of this size rows stand before the first mark and behind the last, and behind a restart
 * or not. */
static void assert_few_rows(const char *dir, uint64_t file, uint32_t most)
{
	struct pile p = {0};
	struct rng made = {13};
	struct segment *s;
	struct segment_group *g = NULL;
	struct rng rng = {17};

	pile_add(&p, mixed_keys(&made, LISTS));
	pile_write(&p, dir, file, most);
	s = pile_open(dir, file);
	for (int i = 0; i < 200; i++) {
		uint32_t number = (uint32_t)rng_below(&rng, segment_info(s)->groups), rows[8], n;
		struct event_set set = {0};
		struct group_few few;

		/* One memory for all groups. */
		assert_int_equal(group_turn(s, number, i % 2, &g), 0);
		n = (uint32_t)rng_below(&rng, 8) + 1;
		for (uint32_t k = 0; k < n; k++)
			rows[k] = (uint32_t)rng_below(&rng, group_zone(g)->rows);
		qsort(rows, n, sizeof(*rows), by_number);
		assert_int_equal(group_few_rows(g, rows, n, &few), 0);
		for (uint32_t k = 0; k < n; k++) {
			const struct event *e;
			const uint32_t *firsts;
			const int64_t *starts, *durations;
			uint32_t pieces, piece = 0;

			assert_int_equal(group_rows(g, rows[k], 1, &set), 0);
			e = event_get(set.refs[0]);
			assert_int_equal(few.times[rows[k]], e->time_ns);
			assert_int_equal(few.durations[rows[k]], e->end_ns - e->time_ns);
			assert_int_equal(few.id1[rows[k]], e->id1);
			assert_int_equal(few.id2[rows[k]], e->id2);
			assert_int_equal(
				group_piece_times(g, &starts, &durations, &firsts, &pieces), 0);
			while (firsts[piece + 1] <= rows[k])
				piece++;
			assert_true(trace_id_eq(few.pieces[piece].id, e->trace_id));
			event_set_done(&set);
			set = (struct event_set){0};
		}
	}
	group_close(g);
	segment_unref(s);
	pile_done(&p);
}

static void few_rows_are_what_all_rows_say(void **state)
{
	assert_few_rows(*state, 4, GROUP_ROWS);
	assert_few_rows(*state, 5, 2048);
	assert_few_rows(*state, 6, 2049);
	assert_few_rows(*state, 7, 0);
}

/* Pieces that are asked for have what all of them have, in their order or not, whatever was asked
 * before. */
static void assert_pieces(struct segment *s, uint32_t number, struct rng *rng)
{
	const uint64_t *all[4], *some[4];
	const struct group_piece *pieces;
	struct segment_group *g = NULL, *whole;
	uint32_t n;

	assert_int_equal(group_open(s, number, &whole), 0);
	assert_int_equal(group_pieces(whole, &pieces, &n), 0);
	assert_int_equal(group_ids(whole, &all[0]), 0);
	assert_int_equal(group_parents(whole, &all[1]), 0);
	assert_int_equal(group_times(whole, &all[2]), 0);
	assert_int_equal(group_durations(whole, &all[3]), 0);
	assert_int_equal(group_turn(s, number, true, &g), 0);
	assert_int_equal(group_piece_links(g, n, &some[0], &some[1]), -EINVAL);
	for (uint32_t i = 0, piece = 0; i < 300; i++) {
		piece = rng_below(rng, 4) ? (piece + (uint32_t)rng_below(rng, 5)) % n
					  : (uint32_t)rng_below(rng, n);
		if (rng_below(rng, 2))
			assert_int_equal(group_piece_links(g, piece, &some[0], &some[1]), 0);
		assert_int_equal(group_piece_clocks(g, piece, &some[2], &some[3]), 0);
		assert_int_equal(group_piece_links(g, piece, &some[0], &some[1]), 0);
		for (int k = 0; k < 4; k++)
			assert_memory_equal(some[k] + pieces[piece].first,
					    all[k] + pieces[piece].first,
					    pieces[piece].rows * sizeof(**all));
		if (i == 250)
			assert_int_equal(group_times(g, &some[2]), 0);
	}
	group_close(g);
	group_close(whole);
}

static void pieces_are_what_all_rows_say(void **state)
{
	struct pile p = {0};
	struct rng made = {19}, rng = {23};
	struct segment *s;

	pile_add(&p, mixed_keys(&made, LISTS));
	/* With parents, points and links. */
	for (int i = 0; i < 4; i++) {
		struct batch_random what = {.shape = i % 2 ? RANDOM_TRACES : RANDOM_EVENTS,
					    .rows = 1000};
		struct batch *b = batch_random(&made, &what);

		pile_share_traces(b, &made, 90);
		pile_add(&p, b);
	}
	pile_write(&p, *state, 9, GROUP_ROWS);
	s = pile_open(*state, 9);
	for (uint32_t number = 0; number < segment_info(s)->groups; number++)
		assert_pieces(s, number, &rng);
	segment_unref(s);
	pile_done(&p);
}

/* Wrong marks are found by who counts them; who does not gets rows or an error, and no harm. */
static void marks_that_lie_are_found(void **state)
{
	static const uint32_t lies[] = {1, UINT32_MAX, 1000, MARK_ROWS, 1u << 31};
	struct pile p = {0};
	struct rng made = {13};
	struct segment *s;

	pile_add(&p, mixed_keys(&made, LISTS));
	pile_write(&p, *state, 8, 0);
	s = pile_open(*state, 8);
	for (uint32_t i = 0; i < ARRAY_SIZE(lies) * MARK_LANES; i++) {
		struct segment_group *g;
		const uint64_t *times, *durations;
		struct group_few few;
		struct slice name;

		assert_int_equal(group_open_int(s, 0, READ_DIRECTORY, &g), 0);
		assert_true(marks_of(g->zone->rows) > 1);
		assert_int_equal(group_need_marks(g), 0);
		g->marks[1][i % MARK_LANES] += lies[i / MARK_LANES];
		for (uint32_t row = 0; row < g->zone->rows; row += 500) {
			int r = group_few_rows(g, &row, 1, &few);

			assert_true(r == 0 || r == -EBADMSG);
			r = group_row_name(g, row, &name);
			assert_true(r == 0 || r == -EBADMSG);
			r = group_piece_clocks(g, row * 7 % g->zone->pieces, &times, &durations);
			assert_true(r == 0 || r == -EBADMSG);
		}
		assert_int_equal(group_check_marks(g), -EBADMSG);
		g->marks[1][i % MARK_LANES] -= lies[i / MARK_LANES];
		assert_int_equal(group_check_marks(g), 0);
		group_close(g);
	}
	segment_unref(s);
	pile_done(&p);
}

static void some_rows_are_what_all_rows_say(void **state)
{
	assert_parts(*state, 0);
	assert_parts(*state, LISTS);
}

/* Rows that have the text under the key, from the rows themselves; each as often as it has it. */
static uint32_t rows_with(const struct event_set *set, struct slice key, struct slice text,
			  uint32_t *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < set->n; i++) {
		const struct batch *b = set->refs[i].batch;
		const struct event *e = event_get(set->refs[i]);

		for (uint32_t a = e->attrs.first; a < e->attrs.first + e->attrs.count; a++)
			if (b->attrs[a].type == VALUE_STRING &&
			    slice_eq(batch_text(b, b->attrs[a].key), key) &&
			    slice_eq(batch_text(b, b->attrs[a].string), text))
				out[n++] = i;
	}
	return n;
}

static uint32_t keys_of(const struct event_set *set, uint32_t row, struct slice key)
{
	const struct batch *b = set->refs[row].batch;
	const struct event *e = event_get(set->refs[row]);
	uint32_t n = 0;

	for (uint32_t a = e->attrs.first; a < e->attrs.first + e->attrs.count; a++)
		n += slice_eq(batch_text(b, b->attrs[a].key), key);
	return n;
}

static void assert_found(const char *dir, unsigned lists)
{
	static uint32_t expected[ROWS * 9], rows[ROWS * 9];
	struct pile p = {0};
	struct segment *s = make(&p, dir, 2, 5, lists);
	struct rng rng = {11};
	size_t found = 0, loose = 0;

	for (uint32_t number = 0; number < segment_info(s)->groups; number++) {
		struct segment_group *whole;
		struct event_set all = {0};

		assert_int_equal(group_open(s, number, &whole), 0);
		assert_int_equal(group_rows(whole, 0, group_zone(whole)->rows, &all), 0);
		for (int i = 0; i < 300; i++) {
			const struct segment_tables *t = group_tables(whole);
			char key_text[24], text[64];
			const uint32_t *values;
			struct segment_group *g;
			uint32_t key, n = 0, expected_n;
			int r;

			snprintf(key_text, sizeof(key_text), "key-%u",
				 (unsigned)rng_below(&rng, KEYS));
			value_text(&rng, text, sizeof(text));
			key = tables_find(t, slice_cstr(key_text));
			expected_n =
				rows_with(&all, slice_cstr(key_text), slice_cstr(text), expected);
			assert_int_equal(group_open(s, number, &g), 0);
			r = group_find_text(g, LEVEL_BLOCK, key, slice_cstr(text),
					    tables_find(t, slice_cstr(text)), &values, &n);
			assert_int_equal(r, 0);
			assert_int_equal(n, expected_n);
			if (n > 0)
				assert_int_equal(group_value_rows(g, LEVEL_BLOCK, key, VALUE_STRING,
								  values, n, rows),
						 0);
			for (uint32_t k = 0; k < n; k++) {
				uint32_t times;

				assert_int_equal(rows[k], expected[k]);
				assert_int_equal(group_row_loose(g, rows[k], key, &times), 0);
				assert_true(times == 0 ||
					    times == keys_of(&all, rows[k], slice_cstr(key_text)));
				loose += times > 0;
			}
			found += n;
			group_close(g);
		}
		event_set_done(&all);
		group_close(whole);
	}
	/* Both kinds were there. */
	assert_true(loose > 10 && found > loose + 10);
	segment_unref(s);
	pile_done(&p);
}

/* What group_rows_bare() leaves of a row. */
static void assert_bare(struct event_ref all, struct event_ref bare)
{
	const struct event *a = event_get(all), *b = event_get(bare);

	assert_true(trace_id_eq(a->trace_id, b->trace_id));
	assert_true(a->id1 == b->id1 && a->id2 == b->id2);
	assert_true(a->time_ns == b->time_ns && a->end_ns == b->end_ns);
	assert_true(a->type == b->type && a->kind == b->kind && a->status == b->status);
	assert_true(a->bits == b->bits && a->flags == b->flags && a->format == b->format);
	assert_true(slice_eq(batch_text(all.batch, a->name), batch_text(bare.batch, b->name)));
	assert_true(slice_eq(batch_service(all.batch, a), batch_service(bare.batch, b)));
	assert_int_equal(b->attrs.count, 0);
}

static void bare_rows_are_rows_without_attributes(void **state)
{
	struct pile p = {0};
	struct segment *s = make(&p, *state, 3, 5, 0);
	struct rng rng = {9};
	struct segment_group *whole;
	struct event_set all = {0};

	assert_int_equal(group_open(s, 0, &whole), 0);
	assert_int_equal(group_rows(whole, 0, group_zone(whole)->rows, &all), 0);
	for (int i = 0; i < 60; i++) {
		uint32_t first = (uint32_t)rng_below(&rng, all.n), n = 1 + (uint32_t)i % 3 * 400;
		struct event_set some = {0};
		struct segment_group *g;

		n = MIN(n, (uint32_t)all.n - first);
		assert_int_equal(group_open_few(s, 0, &g), 0);
		assert_int_equal(group_rows_bare(g, first, n, &some), 0);
		assert_int_equal(some.n, n);
		for (uint32_t k = 0; k < n; k++) {
			assert_true(batch_check(some.refs[k].batch));
			assert_bare(all.refs[first + k], some.refs[k]);
		}
		event_set_done(&some);
		/* The same group gives all of it as well. */
		assert_int_equal(group_rows(g, first, n, &some), 0);
		assert_rows_equal(all.refs + first, n, some.refs, some.n);
		event_set_done(&some);
		group_close(g);
	}
	event_set_done(&all);
	group_close(whole);
	segment_unref(s);
	pile_done(&p);
}

static void values_are_found_where_they_stand(void **state)
{
	assert_found(*state, 0);
	assert_found(*state, LISTS);
}

/* Texts that repeat, texts that never do, and numbers. */
static struct batch *three_keys(struct rng *rng)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (size_t i = 0; i < ROWS; i++) {
		struct attr_range range = {(uint32_t)b->attr_n, 3};
		struct event *e;
		char value[64];

		snprintf(value, sizeof(value), "city %u", (unsigned)rng_below(rng, ROWS / 12));
		batch_attr_string(b, SLICE("repeats"), slice_cstr(value));
		snprintf(value, sizeof(value), "word %zu of many", i);
		batch_attr_string(b, SLICE("differs"), slice_cstr(value));
		batch_attr_int(b, SLICE("number"), (int64_t)rng_next(rng));
		e = batch_event(b);
		*e = (struct event){.id1 = rng_next(rng) | 1, .time_ns = 1 + i, .attrs = range};
		store_be64(e->trace_id.b + 8, 1 + i);
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

/* What is not among a segment's strings is in no column of which that is said. */
static void columns_say_that_they_have_codes(void **state)
{
	struct pile p = {0};
	struct rng rng = {29};
	const struct segment_tables *t;
	struct segment_group *g;
	struct segment *s;
	uint32_t spelled;

	pile_add(&p, three_keys(&rng));
	pile_write(&p, *state, 90, GROUP_ROWS / 2);
	s = pile_open(*state, 90);
	assert_int_equal(segment_pin(s, &t), 0);
	assert_int_equal(tables_types(t, LEVEL_BLOCK, tables_find(t, SLICE("repeats")), &spelled),
			 1u << VALUE_STRING);
	assert_int_equal(spelled, 0);
	assert_int_equal(tables_types(t, LEVEL_BLOCK, tables_find(t, SLICE("differs")), &spelled),
			 1u << VALUE_STRING);
	assert_int_equal(spelled, 1u << VALUE_STRING);
	assert_int_equal(tables_types(t, LEVEL_BLOCK, tables_find(t, SLICE("number")), &spelled),
			 1u << VALUE_INT);
	assert_int_equal(tables_types(t, LEVEL_POINT, tables_find(t, SLICE("number")), &spelled),
			 0);
	/* One that says so and has texts is damaged. */
	for (uint32_t i = 0; i < t->column_n; i++)
		t->columns[i].by_code |= t->columns[i].type == VALUE_STRING;
	assert_int_equal(group_open(s, 1, &g), 0);
	assert_int_equal(g->column_n, 3);
	for (size_t i = 0; i < g->column_n; i++) {
		const struct column_key *key = &t->columns[g->columns[i].column];

		assert_int_equal(group_need_column(g, &g->columns[i]),
				 slice_eq(tables_text(t, key->key), SLICE("differs")) ? -EBADMSG
										      : 0);
	}
	group_close(g);
	segment_unpin(s);
	segment_unref(s);
	pile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_rows_are_what_all_rows_say),
		cmocka_unit_test(few_rows_are_what_all_rows_say),
		cmocka_unit_test(pieces_are_what_all_rows_say),
		cmocka_unit_test(marks_that_lie_are_found),
		cmocka_unit_test(bare_rows_are_rows_without_attributes),
		cmocka_unit_test(values_are_found_where_they_stand),
		cmocka_unit_test(columns_say_that_they_have_codes),
	};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
