/* tests/unit/segment/test_group_cache.c - a group that was read before says the same again. */
#include "t.h"

#include "base/cleanup.h"
#include "core/clock.h"
#include "segment/group.h"
#include "segment/group_cache.h"
#include "segment_fixture.h"

#define ROWS       3000
#define GROUP_ROWS 128
#define PLENTY     ((size_t)64 << 20)

static struct batch *some_batch(struct rng *rng)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (size_t i = 0; i < ROWS; i++) {
		char text[24];
		struct attr_range range = {(uint32_t)b->attr_n, 1};
		uint32_t name = batch_string(b, SLICE("name"));
		struct event *e;

		snprintf(text, sizeof(text), "%x", (unsigned)rng_below(rng, 100000));
		batch_attr_string(b, SLICE("key"), slice_cstr(text));
		e = batch_event(b);
		*e = (struct event){.id1 = rng_next(rng) | 1,
				    .time_ns = 1000 + i,
				    .name = name,
				    .attrs = range};
		e->end_ns = e->time_ns + rng_below(rng, 1000);
		store_be64(e->trace_id.b + 8, 1 + i / 4);
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static struct segment *make(struct pile *p, const char *dir, uint64_t number,
			    struct group_cache *cache)
{
	struct rng rng = {number};
	struct segment *s;

	pile_add(p, some_batch(&rng));
	pile_write(p, dir, number, GROUP_ROWS);
	s = pile_open(dir, number);
	segment_set_cache(s, cache);
	return s;
}

/* Reads a part of a group, in a way that `how` picks, and compares it with what was written. */
static void read_some(const struct pile *p, struct segment *s, uint32_t number, unsigned how)
{
	const struct group_zone *zone;
	struct segment_group *g;
	struct event_set set = {0};
	size_t before = 0;

	assert_int_equal(how % 2 ? group_open_few(s, number, &g) : group_open(s, number, &g), 0);
	group_keep(g);
	zone = group_zone(g);
	for (uint32_t i = 0; i < number; i++)
		before += tables_zone(group_tables(g), i)->rows;
	assert_int_equal(group_rows(g, how % 3, zone->rows - how % 3 - how % 7, &set), 0);
	if (set.n > 0)
		assert_rows_equal(p->in_order + before + how % 3, zone->rows - how % 3 - how % 7,
				  set.refs, set.n);
	event_set_done(&set);
	group_close(g);
}

/* A cache that has room for all, for a few, for none. */
static void what_is_kept_is_what_was_written(void **state)
{
	static const size_t sizes[] = {PLENTY, (size_t)1 << 20, 1000};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct group_cache *cache = group_cache_new(sizes[i]);
		struct pile p[2] = {0};
		struct segment *s[2];
		struct rng rng = {i + 1};

		for (unsigned k = 0; k < 2; k++)
			s[k] = make(&p[k], *state, 2 * i + k + 1, cache);
		cache = group_cache_unref(cache); /* the segments have it */
		for (unsigned n = 0; n < 600; n++) {
			unsigned k = (unsigned)rng_below(&rng, 2);

			read_some(&p[k], s[k],
				  (uint32_t)rng_below(&rng, segment_info(s[k])->groups), n);
			if (n % 97 == 0)
				segment_trim(s[k]); /* takes the tables away, and the groups */
		}
		for (unsigned k = 0; k < 2; k++) {
			segment_unref(s[k]);
			pile_done(&p[k]);
		}
	}
}

static const uint64_t *ids_of(struct segment *s, uint32_t number)
{
	struct segment_group *g;
	const uint64_t *ids;

	assert_int_equal(group_open_few(s, number, &g), 0);
	assert_int_equal(group_ids(g, &ids), 0);
	group_close(g);
	return ids;
}

static void the_same_group_comes_back_until_it_is_forgotten(void **state)
{
	struct group_cache *cache = group_cache_new(PLENTY);
	struct pile p = {0};
	struct segment *s = make(&p, *state, 20, cache);
	struct segment_group *g, *h;

	assert_ptr_equal(ids_of(s, 1), ids_of(s, 1));
	assert_int_equal(group_open_few(s, 1, &g), 0);
	assert_int_equal(group_open_few(s, 1, &h), 0); /* two readers have one each */
	assert_ptr_not_equal(g, h);
	segment_trim(s); /* it is being read: nothing is taken away */
	group_close(g);
	group_close(h);
	group_cache_age(cache, clock_mono_ns() + NS_PER_S);
	assert_null(group_cache_take(cache, s, 1));
	ids_of(s, 1);
	segment_trim(s);
	assert_null(group_cache_take(cache, s, 1));
	ids_of(s, 1);
	segment_unref(s); /* with a group of it inside */
	group_cache_unref(cache);
	pile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_what_was_written),
		cmocka_unit_test(the_same_group_comes_back_until_it_is_forgotten),
	};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
