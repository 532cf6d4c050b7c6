/* Every allocation of writing and reading a segment may fail: an error, no leak, no file left. */
#include "t.h"

#include <errno.h>
#include <limits.h>

#include "batch_random.h"
#include "no_memory.h"
#include "segment/group.h"
#include "segment_fixture.h"

#define NUMBER     7
#define GROUP_ROWS 40
#define MANY_ROWS  300

static int write_pile(struct pile *p, const char *dir, uint32_t group_rows)
{
	struct segment_options options = {.group_rows = group_rows};
	struct segment_seal seal = {.split = &p->traces[0].id, .split_n = 1};
	struct segment_writer *w;
	int r = segment_writer_new(fs_real(), dir, NUMBER, &options, &w);

	for (size_t i = 0; i < p->trace_n && r == 0; i++) {
		r = segment_writer_add(w, p->traces[i].refs, p->traces[i].n);
		if (r < 0)
			segment_writer_abort(w);
	}
	return r == 0 ? segment_writer_finish(w, &seal, NULL) : r;
}

static int read_pile(struct pile *p, const char *dir)
{
	struct event_set set = {0};
	struct segment *s;
	const struct trace_id *split;
	size_t n, rows = 0;
	int r = segment_open(fs_real(), dir, NUMBER, &s, NULL);

	if (r < 0)
		return r;
	r = segment_split(s, &split, &n);
	for (size_t i = 0; i < p->trace_n && r == 0; i++) {
		r = segment_trace(s, p->traces[i].id, &set);
		rows += p->traces[i].n;
		if (r == 0)
			assert_int_equal(set.n, rows);
	}
	event_set_done(&set);
	segment_unref(s);
	return r;
}

static void pile_remove(const char *dir, uint64_t number)
{
	char name[SEGMENT_NAME_MAX], *path;

	segment_name(number, name);
	path = fs_path(dir, name);
	assert_int_equal(fs_unlink(fs_real(), path), 0);
	free(path);
}

static void make(struct pile *p)
{
	struct batch_random what = {.shape = RANDOM_EVENTS, .rows = 60};
	struct rng rng = {3};

	for (int i = 0; i < 2; i++) {
		struct batch *b = batch_random(&rng, &what);

		pile_share_traces(b, &rng, 6);
		pile_add(p, b);
	}
	pile_group(p);
}

/* Rows whose keys are there at random, for groups of MANY_ROWS: the second is LOOSE from its first
 * rows on, and many numbers of attributes are new in it, which each make a skeleton. */
static void make_loose(struct pile *p)
{
	struct batch *b = batch_new(0);
	struct rng rng = {5};

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < 2 * MANY_ROWS; i++) {
		uint32_t first = (uint32_t)b->attr_n,
			 n = 4 + (uint32_t)rng_below(&rng, i < MANY_ROWS ? 4 : 90);
		struct event *e;

		for (uint32_t k = 0; k < n; k++) {
			char key[24];

			snprintf(key, sizeof(key), "key-%u", (uint32_t)rng_below(&rng, 200));
			batch_attr_int(b, slice_cstr(key), k);
		}
		e = batch_event(b);
		e->type = EVENT_SPAN;
		e->trace_id = (struct trace_id){{1, (uint8_t)(i / 50)}};
		e->id1 = i + 1;
		e->time_ns = 1000 + i;
		e->end_ns = 2000 + i;
		e->attrs = (struct attr_range){first, n};
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(p, b);
	pile_group(p);
}

static void assert_writing_fails_cleanly(struct pile *p, const char *dir, uint32_t group_rows,
					 long coarse)
{
	bool enough = false;

	for (long after = 0; !enough; after += 1 + after / coarse) {
		struct fs_names names = {0};
		int r;

		no_memory_after = after;
		r = write_pile(p, dir, group_rows);
		/* Some failures are made up for: done is when none happened. */
		enough = no_memory_after > 0;
		no_memory_after = -1;
		assert_true(r == 0 || (r == -ENOMEM && !enough));
		if (r == 0)
			pile_remove(dir, NUMBER);
		assert_int_equal(fs_list(fs_real(), dir, &names), 0);
		assert_int_equal(names.n, 0);
		fs_names_done(&names);
	}
}

static void writing_fails_cleanly_wherever_memory_ends(void **state)
{
	struct pile p = {0};

	make(&p);
	assert_writing_fails_cleanly(&p, *state, GROUP_ROWS, 40);
	pile_done(&p);
}

static void loose_rows_fail_cleanly_wherever_memory_ends(void **state)
{
	struct pile p = {0};

	make_loose(&p);
	assert_writing_fails_cleanly(&p, *state, MANY_ROWS, LONG_MAX);
	pile_done(&p);
}

static void reading_fails_cleanly_wherever_memory_ends(void **state)
{
	struct pile p = {0};
	bool enough = false;

	make(&p);
	assert_int_equal(write_pile(&p, *state, GROUP_ROWS), 0);
	for (long after = 0; !enough; after += 1 + after / 40) {
		int r;

		no_memory_after = after;
		r = read_pile(&p, *state);
		enough = no_memory_after > 0;
		no_memory_after = -1;
		assert_true(r == 0 || (r == -ENOMEM && !enough));
	}
	pile_done(&p);
}

/* Without memory nothing is found sound that is not, nor damaged that is sound. */
static void checking_fails_cleanly_wherever_memory_ends(void **state)
{
	static const uint32_t names[2][2] = {{1, 0}, {0, 0}};

	for (int wrong = 0; wrong < 2; wrong++) {
		bool enough = false;

		pile_two_spans(*state, NUMBER, names[wrong], false);
		for (long after = 0; !enough; after++) {
			int r;

			no_memory_after = after;
			r = segment_check(fs_real(), *state, NUMBER, NULL, NULL);
			enough = no_memory_after > 0;
			no_memory_after = -1;
			assert_true(r == (wrong ? -EBADMSG : 0) || (r == -ENOMEM && !enough));
		}
	}
}

/* Rows alone, of a group with marks and restarts: what failed is asked for again, of the same
 * group.
 */
static void few_rows_fail_cleanly_wherever_memory_ends(void **state)
{
	enum { ROWS = 4500 };
	static const uint32_t rows[] = {3, 2048, 4099, ROWS - 1};
	struct batch *b = batch_new(0);
	struct rng rng = {8};
	struct pile p = {0};
	bool enough = false;

	batch_resource(b);
	batch_scope(b);
	for (uint64_t i = 0; i < ROWS; i++) {
		struct event *e = batch_event(b);

		*e = (struct event){
			.id1 = i + 1, .time_ns = 1000 * i + 1, .kind = (int32_t)(i % 3)};
		e->end_ns = e->time_ns + 1 + rng_below(&rng, 64ULL << i % 3 * 5);
		store_be64(e->trace_id.b + 8, 1 + i / 50);
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(&p, b);
	pile_write(&p, *state, NUMBER, 0);
	for (long after = 0; !enough; after++) {
		struct segment *s = pile_open(*state, NUMBER);
		struct segment_group *g = NULL;
		struct group_few few;
		int r;

		no_memory_after = after;
		r = group_open_few(s, 0, &g);
		if (r == 0)
			r = group_few_rows(g, rows, ARRAY_SIZE(rows), &few);
		enough = no_memory_after > 0;
		no_memory_after = -1;
		assert_true(r == 0 || (r == -ENOMEM && !enough));
		if (!g)
			assert_int_equal(group_open_few(s, 0, &g), 0);
		assert_int_equal(group_few_rows(g, rows, ARRAY_SIZE(rows), &few), 0);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			const struct event *e = &b->events[rows[i]];

			assert_int_equal(few.id1[rows[i]], e->id1);
			assert_int_equal(few.times[rows[i]], e->time_ns);
			assert_int_equal(few.durations[rows[i]], e->end_ns - e->time_ns);
		}
		group_close(g);
		segment_unref(s);
	}
	pile_remove(*state, NUMBER);
	pile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writing_fails_cleanly_wherever_memory_ends),
		cmocka_unit_test(few_rows_fail_cleanly_wherever_memory_ends),
		cmocka_unit_test(loose_rows_fail_cleanly_wherever_memory_ends),
		cmocka_unit_test(reading_fails_cleanly_wherever_memory_ends),
		cmocka_unit_test(checking_fails_cleanly_wherever_memory_ends),
	};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
