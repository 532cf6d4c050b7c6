/* Reading a folder that is in use, and leaving it as it is. */
#include "store_t.h"

#include <stdatomic.h>
#include <sys/stat.h>

#include "store/engine_int.h"

#define ROUNDS    12
#define WRITES    400 /* at most, so that merges stay small */
#define LOOKED_AT 20u

static void put_trace(struct store *s, uint32_t trace)
{
	struct batch *b = batch_for("front", trace);

	span_add(b, trace, trace + 1, 0, 1000 + trace, 2000 + trace);
	assert_int_equal(put(s, sealed(b)), 0);
}

static bool has(struct store *s, uint32_t trace)
{
	struct event_set set = {0};
	int r = store_trace(s, trace_of(trace), &set);

	assert_true(r == 0 || r == -ENOENT);
	event_set_done(&set);
	return r == 0;
}

static struct store *reader_at(const char *dir)
{
	return engine_at(dir, (struct engine_options){.read_only = true});
}

static uint64_t listing_sum; /* of one test at a time: names, sizes and times of what is there */

static int listing_add(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	listing_sum = listing_sum * 31 + hash_bytes(path, strlen(path), 0);
	listing_sum = listing_sum * 31 + (uint64_t)st->st_size;
	listing_sum = listing_sum * 31 + (uint64_t)st->st_mtim.tv_nsec;
	return 0;
}

static uint64_t listing_of(const char *dir)
{
	listing_sum = 0;
	assert_int_equal(nftw(dir, listing_add, 16, FTW_PHYS), 0);
	return listing_sum;
}

static void everything_acknowledged_is_read_beside_the_writer(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0}), *reader;
	struct batch *late = batch_for("front", 1);

	put_trace(s, 1);
	assert_int_equal(engine_flush(s), 0);
	put_trace(s, 2);
	reader = reader_at(dir);
	put_trace(s, 3);
	assert_true(has(reader, 1));
	assert_true(has(reader, 2));
	assert_false(has(reader, 3)); /* it came later */
	assert_int_equal(store_stats(reader).spans, 2);
	span_add(late, 9, 9, 0, 1, 2);
	assert_int_equal(put(reader, sealed(late)), -EROFS);
	assert_int_equal(engine_flush(reader), -EROFS);
	assert_int_equal(engine_compact(reader, true), -EROFS);

	/* What the writer merges away stays readable for who has it open. */
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(engine_compact(s, true), 0);
	assert_true(has(reader, 1));
	assert_true(has(reader, 2));
	store_close(reader);
	store_close(s);
	folder_remove(dir);
}

static void nothing_in_the_folder_changes(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0}), *reader;
	uint64_t before;

	put_trace(s, 1);
	assert_int_equal(engine_flush(s), 0);
	put_trace(s, 2);
	before = listing_of(dir);
	reader = reader_at(dir);
	assert_true(has(reader, 2));
	store_close(reader);
	assert_int_equal(listing_of(dir), before);
	store_close(s);
	folder_remove(dir);
}

struct told {
	char text[512];
	int n;
};

static void tell(void *context, const char *text)
{
	struct told *t = context;

	snprintf(t->text, sizeof(t->text), "%s", text);
	t->n++;
}

static void a_damaged_segment_is_told_once_and_left_where_it_is(void **state)
{
	char dir[64], path[160];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});
	struct told told = {0};
	struct view *v;

	put_trace(s, 1);
	assert_int_equal(engine_flush(s), 0);
	put_trace(s, 2);
	v = engine_view(engine_of(s));
	snprintf(path, sizeof(path), "%s/store/", dir);
	segment_name(v->segments[0]->row.number, path + strlen(path));
	view_unref(v);
	assert_int_equal(truncate(path, 100), 0);
	s = store_close(s);
	s = engine_at(dir,
		      (struct engine_options){.read_only = true, .report = tell, .context = &told});
	assert_int_equal(told.n, 1);
	assert_false(has(s, 1));
	assert_true(has(s, 2));
	assert_int_equal(access(path, F_OK), 0);
	store_close(s);
	folder_remove(dir);
}

static void a_folder_without_a_store_is_refused(void **state)
{
	struct engine_options options = {.read_only = true};
	struct error error = {0};
	struct store *s = NULL;
	char dir[64];

	options.dir = folder_fresh(dir);
	assert_int_equal(engine_open(&options, &s, &error), -ENOENT);
	assert_non_null(strstr(error.text, "no store"));
	folder_remove(dir);
}

struct writing {
	struct store *store;
	_Atomic uint32_t acknowledged;
	_Atomic bool stop;
};

static void *write_on(void *context)
{
	struct writing *w = context;

	for (uint32_t i = 1; i < WRITES && !atomic_load(&w->stop); i++) {
		put_trace(w->store, i);
		atomic_store(&w->acknowledged, i);
		if (i % 10 == 0)
			engine_flush(w->store);
		if (i % 50 == 0)
			engine_compact(w->store, true);
	}
	return NULL;
}

/* Flushes and merges go on all the time; no reader may miss what was there before it opened. */
static void readers_miss_nothing_while_files_come_and_go(void **state)
{
	char dir[64];
	struct writing w = {.store = engine_at(folder_fresh(dir),
					       (struct engine_options){.sync = WAL_SYNC_NEVER})};
	pthread_t thread;

	put_trace(w.store, 0);
	assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t known = atomic_load(&w.acknowledged);
		char path[128];
		struct engine_options options = {.read_only = true, .dir = path};
		struct error error = {0};
		struct store *reader;
		int r;

		snprintf(path, sizeof(path), "%s/store", dir);
		r = engine_open(&options, &reader, &error);
		if (r == -EAGAIN)
			continue; /* said, not hidden; a store that flushes all the time may do so
				   */
		assert_int_equal(r, 0);
		for (uint32_t t = known - MIN(known, LOOKED_AT); t <= known; t++)
			if (!has(reader, t))
				fail_msg("trace %u of %u is missing", t, known);
		store_close(reader);
	}
	atomic_store(&w.stop, true);
	pthread_join(thread, NULL);
	store_close(w.store);
	folder_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_acknowledged_is_read_beside_the_writer),
		cmocka_unit_test(nothing_in_the_folder_changes),
		cmocka_unit_test(a_damaged_segment_is_told_once_and_left_where_it_is),
		cmocka_unit_test(a_folder_without_a_store_is_refused),
		cmocka_unit_test(readers_miss_nothing_while_files_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
