/* Segments of every version of the format stay readable.
 *
 * tests/golden/segment/<version>.cst is a segment as that version wrote it, <version>.pb the same
 * rows in the native wire format.  With GOLDEN_WRITE=1 the files of the current version are written
 * anew: only before a version is released. */
#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "batch_random.h"
#include "golden.h"
#include "segment/group.h"
#include "segment_fixture.h"
#include "wire/events_proto.h"

#define NUMBER 1

/* What files of version 1 have come to hold; the last is written now. */
static const char *const goldens[] = {
	"1",        /* as the first ones were */
	"1-models", /* models, times told by ends, an index with slots, totals */
	"1-marks",  /* checksums by chunk, marks, restarts */
};

static struct batch *decode(struct buffer *bytes)
{
	struct batch *b = batch_new(bytes->n);
	struct decode_tally tally = {0};

	assert_int_equal(events_proto_decode(buffer_get(bytes), b, &tally, NULL), 0);
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static void save(const char *name, const char *suffix, const void *bytes, size_t n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/segment/%s.%s", getenv("GOLDEN"), name, suffix);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Texts that repeat from group to group, UUIDs, numbers in texts, random keys, and a bit of
 * everything that is strange. */
static void usual(struct pile *p, struct rng *rng)
{
	struct batch *b = batch_new(0);

	batch_attr_string(b, SLICE("service.name"), SLICE("shop"));
	b->resources[batch_resource(b)].attrs = (struct attr_range){0, 1};
	batch_scope(b);
	for (int i = 0; i < 300; i++) {
		struct attr_range range = {(uint32_t)b->attr_n, 3};
		uint32_t name = batch_string(b, SLICE("GET /cart"));
		struct event *e;
		char text[80];

		batch_attr_string(b, SLICE("method"), SLICE("GET"));
		snprintf(text, sizeof(text),
			 i % 3 ? "/cart?s=%08x-1234-4321-abcd-0123456789ab" : "%u",
			 (unsigned)rng_below(rng, 40));
		batch_attr_string(b, SLICE("target"), slice_cstr(text));
		snprintf(text, sizeof(text), "key-%d", (int)rng_below(rng, i < 100 ? 2 : 90));
		batch_attr_string(b, slice_cstr(text), i % 2 ? SLICE("red") : SLICE("blue"));
		e = batch_event(b);
		*e = (struct event){.id1 = rng_next(rng) | 1,
				    .id2 = i % 5 ? b->events[i / 5 * 5].id1 : 0,
				    .time_ns = 1700000000000000000ULL + (uint64_t)i * 1000,
				    .name = name,
				    .attrs = range,
				    .kind = KIND_SERVER};
		e->end_ns = e->time_ns + 1 + rng_below(rng, 100000);
		store_be64(e->trace_id.b + 8, 1000 + (uint64_t)i / 5);
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(p, b);
}

/* Calls of a few kinds: what is the same in many rows is learnt. */
static void calls(struct pile *p, struct rng *rng)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (uint64_t i = 0; i < 400; i++) {
		struct event *e = batch_event(b);

		*e = (struct event){.id1 = rng_next(rng) | 1,
				    .id2 = i % 4 ? b->events[i - 1].id1 : 0,
				    .time_ns = 1700000000000000000ULL + i * 100000 +
					       rng_below(rng, 1000 << i % 4),
				    .kind = (int32_t)(i % 4)};
		e->end_ns = e->time_ns + 1 + rng_below(rng, 10000 << i % 4 * 3);
		store_be64(e->trace_id.b + 8, 1 + i / 4);
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(p, b);
}

/* So long that it has marks, and blocks have chunks and restarts. */
static void a_long_trace(struct pile *p, struct rng *rng)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (uint64_t i = 0; i < 4300; i++) {
		struct event *e = batch_event(b);

		*e = (struct event){.id1 = rng_next(rng) | 1,
				    .id2 = i ? b->events[i - 1 - i % 3 % i].id1 : 0,
				    .time_ns = 1700000000000000000ULL + i * 1000 +
					       rng_below(rng, 100 << i % 4),
				    .kind = (int32_t)(i % 4)};
		e->end_ns = e->time_ns + 1 + rng_below(rng, 1000 << i % 4 * 3);
		store_be64(e->trace_id.b + 8, 5000);
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(p, b);
}

static void write_current(const char *dir)
{
	struct batch_random what = {.shape = RANDOM_EVENTS, .rows = 40};
	struct rng rng = {2026};
	struct pile p = {.split_n = 2};
	struct batch *b = batch_random(&rng, &what);
	struct buffer rows = {0};
	char name[SEGMENT_NAME_MAX], *path, *bytes;
	size_t n;

	pile_share_traces(b, &rng, 9);
	pile_add(&p, b);
	usual(&p, &rng);
	calls(&p, &rng);
	a_long_trace(&p, &rng);
	pile_write(&p, dir, NUMBER, 4400);
	segment_name(NUMBER, name);
	path = fs_path(dir, name);
	assert_int_equal(fs_load(fs_real(), path, 1 << 20, &bytes, &n), 0);
	save(goldens[ARRAY_SIZE(goldens) - 1], "cst", bytes, n);
	events_proto_encode(p.in_order, p.row_n, &rows);
	save(goldens[ARRAY_SIZE(goldens) - 1], "pb", rows.p, rows.n);
	free(bytes);
	free(path);
	buffer_done(&rows);
	pile_done(&p);
}

static void place(const char *dir, const struct buffer *bytes)
{
	char name[SEGMENT_NAME_MAX], *path;

	segment_name(NUMBER, name);
	path = fs_path(dir, name);
	assert_int_equal(fs_replace(fs_real(), dir, path, bytes->p, bytes->n), 0);
	free(path);
}

static void tell(void *context, const char *finding)
{
	fprintf(stderr, "%s\n", finding);
}

static void a_segment_of_every_version_is_read(void **state)
{
	if (getenv("GOLDEN_WRITE"))
		write_current(*state);
	for (size_t k = 0; k < ARRAY_SIZE(goldens); k++) {
		struct buffer file = {0}, rows = {0};
		struct segment_group *g = NULL;
		struct event_set set = {0};
		struct batch *expected, *found;
		struct segment *s;
		char name[64];

		snprintf(name, sizeof(name), "segment/%s.cst", goldens[k]);
		assert_true(golden_load(name, &file));
		snprintf(name, sizeof(name), "segment/%s.pb", goldens[k]);
		assert_true(golden_load(name, &rows));
		place(*state, &file);
		assert_int_equal(segment_check(fs_real(), *state, NUMBER, tell, NULL), 0);
		s = pile_open(*state, NUMBER);
		for (uint32_t i = 0; i < segment_info(s)->groups; i++) {
			assert_int_equal(g ? group_reopen(g, i) : group_open(s, i, &g), 0);
			assert_int_equal(group_rows(g, 0, group_zone(g)->rows, &set), 0);
		}
		expected = decode(&rows);
		found = rows_batch(set.refs, set.n);
		assert_batch_equal(expected, found);
		batch_unref(expected);
		batch_unref(found);
		event_set_done(&set);
		group_close(g);
		segment_unref(s);
		buffer_done(&file);
		buffer_done(&rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_of_every_version_is_read),
	};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
