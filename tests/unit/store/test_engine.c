#include "engine_t.h"

#include <fcntl.h>

#include "core/clock.h"
#include "store/compact.h"

#define DAY (24 * 3600 * NS_PER_S)

static void what_was_acknowledged_is_there_after_a_restart(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	put_traces(s, 1, 3, 1);
	assert_int_equal(rows_of(s, 2), 1);
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(rows_of(s, 2), 1);
	assert_int_equal(rows_of(s, 4), 0);
	put_traces(s, 2, 3, 2);
	assert_int_equal(rows_of(s, 2), 2);
	assert_int_equal(segments_of(s), 0);
	store_close(s);
	folder_remove(dir);
}

static void a_flush_takes_the_log_away_and_nothing_else(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});
	struct wal_stats log;

	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(segments_of(s), 0); /* nothing to write */
	put_traces(s, 1, 3, 1);
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(segments_of(s), 1);
	assert_int_equal(store_stats(s).spans, 3);
	assert_int_equal(store_stats(s).bytes, 0); /* of memory */
	put_traces(s, 3, 2, 2);
	assert_int_equal(rows_of(s, 3), 2);
	assert_int_equal(engine_flush(s), 0);
	log = wal_stats(engine_of(s)->wal);
	assert_true(log.files <= 1);
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(segments_of(s), 2);
	assert_int_equal(rows_of(s, 3), 2);
	assert_true(head_is_empty(view_active(engine_of(s)->view)));
	store_close(s);
	folder_remove(dir);
}

static void large_segments_are_not_written_again(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	put_traces(s, 1, 5000, 1);
	assert_int_equal(engine_flush(s), 0);
	for (uint32_t i = 0; i < 3; i++) {
		put_traces(s, 10000 + i, 1, 2);
		assert_int_equal(engine_flush(s), 0);
	}
	assert_int_equal(engine_compact(s, false), 0);
	/* The three small ones became one; the large one stayed. */
	assert_int_equal(segments_of(s), 2);
	assert_int_equal(engine_of(s)->counters.compacted_rows, 3);
	store_close(s);
	folder_remove(dir);
}

/* A segment of spans that all have other names. */
static void put_names(struct store *s, uint32_t *number, uint32_t n)
{
	struct batch *b = batch_for("front", 1);

	for (uint32_t i = 0; i < n; i++) {
		char name[32];
		uint32_t code;

		snprintf(name, sizeof(name), "%u", ++*number);
		code = batch_string(b, slice_cstr(name));
		span_add(b, *number, 1, 0, 1, 2)->name = code;
	}
	assert_int_equal(put(s, sealed(b)), 0);
	assert_int_equal(engine_flush(s), 0);
}

static void segments_with_too_many_strings_for_one_become_several(void **state)
{
	enum { NAMES = 100 };
	const struct engine_options options = {.segment_values = 5 * NAMES / 2};
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), options);
	uint32_t number = 0;

	for (int i = 0; i < 4; i++)
		put_names(s, &number, NAMES);
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 2); /* two of them are few enough, three are not */
	put_names(s, &number, NAMES);
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 3);
	assert_int_equal(engine_of(s)->counters.compactions, 2);
	assert_int_equal(engine_of(s)->counters.compaction_failures, 0);
	/* Nor is it tried again and again. */
	assert_int_equal(compact_once(engine_of(s), COMPACT_ALL, &(struct compact_pace){0}), 0);
	store_close(s);
	s = engine_at(dir, options);
	for (uint32_t i = 1; i <= number; i++)
		assert_int_equal(rows_of(s, i), 1);
	assert_int_equal(files_of(dir, ".cst"), 3);
	store_close(s);
	folder_remove(dir);
}

static void retention_goes_by_arrival_whatever_spans_say(void **state)
{
	char dir[64];
	int64_t now = clock_wall_ns();
	struct engine_options options = {.retention_age_ns = 7 * DAY};
	struct store *s = engine_at(folder_fresh(dir), options);
	struct batch *b = batch_for("front", now - 8 * DAY);

	span_add(b, 1, 1, 0, UINT64_MAX, UINT64_MAX); /* says 2554, came last week */
	assert_int_equal(put(s, sealed(b)), 0);
	assert_int_equal(engine_flush(s), 0);
	b = batch_for("front", now);
	span_add(b, 2, 1, 0, 0, 0); /* says 1970, came today */
	assert_int_equal(put(s, sealed(b)), 0);
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(engine_retain(s), 1);
	assert_int_equal(rows_of(s, 1), 0);
	assert_int_equal(rows_of(s, 2), 1);
	assert_int_equal(engine_retain(s), 0);
	assert_int_equal(files_of(dir, ".cst"), 1);
	store_close(s);
	s = engine_at(dir, options);
	assert_int_equal(rows_of(s, 1), 0);
	assert_int_equal(rows_of(s, 2), 1);
	store_close(s);
	folder_remove(dir);
}

static void too_much_goes_oldest_first(void **state)
{
	char dir[64];
	struct engine_options options = {.retention_bytes = 1};
	struct store *s = engine_at(folder_fresh(dir), options);

	for (uint32_t i = 0; i < 3; i++) {
		put_traces(s, 10 * i, 10, 1);
		assert_int_equal(engine_flush(s), 0);
	}
	assert_int_equal(engine_retain(s), 2);
	assert_int_equal(rows_of(s, 5), 0);
	assert_int_equal(rows_of(s, 15), 0);
	assert_int_equal(rows_of(s, 25), 1);
	assert_int_equal(engine_of(s)->counters.removed_rows, 20);
	store_close(s);
	folder_remove(dir);
}

static void over_the_memory_limit_is_refused_until_flushed(void **state)
{
	char dir[64];
	struct engine_options options = {.memory_bytes = 1 << 20, .flush_bytes = 1 << 20};
	struct store *s = engine_at(folder_fresh(dir), options);
	uint32_t kept = 0;
	int r;

	do {
		struct batch *b = batch_for("front", 1);

		for (uint32_t i = 0; i < 100; i++)
			span_add(b, kept * 100 + i, i + 1, 0, 1, 2);
		r = put(s, sealed(b));
		kept += r == 0;
	} while (r == 0);
	assert_int_equal(r, -ENOBUFS);
	assert_true(kept > 10);
	assert_int_equal(store_stats(s).spans, kept * 100);
	assert_int_equal(store_stats(s).refused[REFUSED_MEMORY], 1);
	assert_int_equal(engine_flush(s), 0);
	put_traces(s, 1000000, 100, 1);
	assert_int_equal(store_stats(s).spans, kept * 100 + 100);
	store_close(s);
	folder_remove(dir);
}

static void a_head_has_no_more_strings_than_a_segment_may(void **state)
{
	enum { EACH = 40 };
	char dir[64];
	struct engine_options options = {.flush_strings = 100};
	struct store *s = engine_at(folder_fresh(dir), options);
	uint32_t kept = 0;
	int r;

	do {
		struct batch *b = batch_for("front", 1);

		for (uint32_t i = 0; i < EACH; i++) {
			char name[32];
			uint32_t code;

			snprintf(name, sizeof(name), "%u", kept * EACH + i);
			code = batch_string(b, slice_cstr(name));
			span_add(b, kept * EACH + i, i + 1, 0, 1, 2)->name = code;
		}
		r = put(s, sealed(b));
		kept += r == 0;
	} while (r == 0);
	assert_int_equal(r, -ENOBUFS);
	/* Three batches are enough for a head; some wait to be flushed, none is larger. */
	assert_int_equal(kept, 3 * VIEW_HEADS);
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(store_stats(s).segments, VIEW_HEADS);
	assert_int_equal(store_stats(s).spans, kept * EACH);
	put_traces(s, 1000000, 100, 1);
	assert_int_equal(store_stats(s).spans, kept * EACH + 100);
	store_close(s);
	folder_remove(dir);
}

static void a_head_is_written_soon_if_none_is_and_grows_meanwhile(void **state)
{
	static const struct {
		size_t bytes, rows;
		uint64_t segments;
	} rows[] = {
		{1, 500, 2},       /* the first of them is frozen, the second waits for it */
		{1, 1501, 1},      /* a segment of so few rows would be merged */
		{1 << 30, 500, 1}, /* there is memory */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char dir[64];
		struct engine_options options = {.flush_bytes_soon = rows[i].bytes,
						 .flush_rows_soon = rows[i].rows};
		struct store *s = engine_at(folder_fresh(dir), options);

		for (uint32_t k = 0; k < 15; k++)
			put_traces(s, 1000 * k, 100, 1);
		assert_int_equal(engine_flush(s), 0);
		assert_int_equal(store_stats(s).segments, rows[i].segments);
		assert_int_equal(store_stats(s).spans, 1500);
		store_close(s);
		folder_remove(dir);
	}
}

static void leftovers_of_a_crash_are_removed(void **state)
{
	static const char *const names[] = {"seg-00000000000000ff.cst",
					    "seg-0000000000000001.cst.tmp",
					    "seg-0000000000000001.feed", "MANIFEST.tmp"};
	char dir[64], path[160];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	put_traces(s, 1, 3, 1);
	assert_int_equal(engine_flush(s), 0);
	store_close(s);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/store/%s", dir, names[i]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(rows_of(s, 2), 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/store/%s", dir, names[i]);
		assert_int_equal(access(path, F_OK), -1);
	}
	store_close(s);
	folder_remove(dir);
}

static void note(void *context, const char *text)
{
	snprintf(context, 512, "%s", text);
}

static void a_missing_segment_is_told_and_the_rest_is_there(void **state)
{
	char dir[64], path[160], told[512] = "";
	struct engine_options options = {.report = note, .context = told};
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	put_traces(s, 1, 3, 1);
	assert_int_equal(engine_flush(s), 0);
	put_traces(s, 11, 3, 1);
	assert_int_equal(engine_flush(s), 0);
	store_close(s);
	snprintf(path, sizeof(path), "%s/store/seg-0000000000000001.cst", dir);
	assert_int_equal(unlink(path), 0);
	s = engine_at(dir, options);
	assert_non_null(strstr(told, "seg-0000000000000001.cst"));
	assert_non_null(strstr(told, "3 spans"));
	assert_int_equal(rows_of(s, 2), 0);
	assert_int_equal(rows_of(s, 12), 1);
	store_close(s);
	told[0] = 0;
	s = engine_at(dir, options); /* said once */
	assert_string_equal(told, "");
	store_close(s);
	folder_remove(dir);
}

static void a_store_without_its_manifest_is_not_taken_for_empty(void **state)
{
	char dir[64], path[160], folder[128];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});
	struct engine_options options = {.dir = folder, .manual = true};
	struct error error = {0};

	put_traces(s, 1, 3, 1);
	assert_int_equal(engine_flush(s), 0);
	store_close(s);
	snprintf(folder, sizeof(folder), "%s/store", dir);
	snprintf(path, sizeof(path), "%s/MANIFEST", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(engine_open(&options, &s, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "repair"));
	assert_int_equal(files_of(dir, ".cst"), 1);
	folder_remove(dir);
}

/* --- the feed --- */

static size_t feed_count(struct store *s, uint64_t after, uint64_t *ret_cursor)
{
	struct event_set set = {0};
	size_t n;

	feed_gather(s, after, &set, ret_cursor);
	n = set.n;
	event_set_done(&set);
	return n;
}

static void the_feed_gives_each_row_once_through_flush_and_compaction(void **state)
{
	const struct store_cursor start = {SLICE("test"), 0};
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});
	uint64_t cursor = 0, stored;

	assert_int_equal(store_cursor_get(s, SLICE("test"), &stored), -ENOENT);
	assert_int_equal(store_commit(s, &start, 1), 0);
	put_traces(s, 1, 10, 1);
	assert_int_equal(feed_count(s, cursor, &cursor), 10);
	assert_int_equal(feed_count(s, cursor, &cursor), 0);
	put_traces(s, 5, 10, 2); /* the same traces again: rows that are the same, and others */
	/* The cursor now stands in the middle of a head, which becomes a segment. */
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(files_of(dir, ".feed"), 1);
	{
		struct event_set set = {0};

		feed_gather(s, cursor, &set, NULL);
		/* Traces 5 to 10 came again word for word, and collapsed. */
		assert_int_equal(set.n, 4);
		event_set_done(&set);
	}
	assert_int_equal(feed_count(s, 0, NULL), 14);
	put_traces(s, 100, 3, 3);
	assert_int_equal(feed_count(s, cursor, &cursor), 7);
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(feed_count(s, cursor, NULL), 0);
	put_traces(s, 200, 3, 3);
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(feed_count(s, cursor, &cursor), 3);
	/* The stored cursor stands before all of it: side files are kept, and nothing is merged. */
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 3);
	{
		const struct store_cursor now = {SLICE("test"), cursor};

		assert_int_equal(store_commit(s, &now, 1), 0);
	}
	put_traces(s, 300, 1, 3);
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(store_cursor_get(s, SLICE("test"), &stored), 0);
	assert_true(stored == cursor);
	assert_int_equal(engine_flush(s), 0); /* the manifest now knows the cursor */
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(store_cursor_get(s, SLICE("test"), &stored), 0);
	assert_true(stored == cursor);
	assert_int_equal(feed_count(s, stored, NULL), 1);
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 2); /* the last one has not been taken */
	assert_int_equal(feed_count(s, stored, NULL), 1);
	assert_int_equal(feed_count(s, 0, NULL), 21);
	store_close(s);
	folder_remove(dir);
}

static void a_dropped_cursor_holds_nothing_up(void **state)
{
	const struct store_cursor start = {SLICE("test"), 0},
				  gone = {SLICE("test"), STORE_CURSOR_GONE};
	const struct store_cursor bad = {SLICE("no good"), 0};
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});
	uint64_t stored;

	assert_int_equal(store_commit(s, &bad, 1), -EINVAL);
	assert_int_equal(store_commit(s, &start, 1), 0);
	for (uint32_t i = 0; i < 2; i++) {
		put_traces(s, i, 1, 1);
		assert_int_equal(engine_flush(s), 0);
	}
	assert_int_equal(files_of(dir, ".feed"), 2);
	assert_int_equal(store_commit(s, &gone, 1), 0);
	put_traces(s, 7, 1, 1);
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(store_cursor_get(s, SLICE("test"), &stored), -ENOENT);
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 1);
	assert_int_equal(files_of(dir, ".feed"), 0);
	assert_int_equal(feed_count(s, 0, NULL), 3);
	store_close(s);
	folder_remove(dir);
}

/* --- ids that compress --- */

/* Ids of 64 bits, one behind the other: a list of them takes far less than their own bytes. */
static void traces_with_simple_ids_may_all_be_split(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	for (uint32_t half = 0; half < 2; half++) {
		struct batch *b = batch_for("front", 1);

		for (uint32_t i = 0; i < 3000; i++)
			span_add(b, i, 2 * i + half + 1, 0, 1000, 2000);
		assert_int_equal(put(s, sealed(b)), 0);
		assert_int_equal(engine_flush(s), 0);
	}
	assert_int_equal(rows_of(s, 77), 2);
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(segments_of(s), 2);
	assert_int_equal(rows_of(s, 2999), 2);
	store_close(s);
	folder_remove(dir);
}

/* --- a giant --- */

#define GIANT_SPANS 160000
#define GIANT_PARTS 4

/* It is more than is held at once, and has its line in a list all the same. */
static void assert_giant_line(struct store *s)
{
	const struct store_query q = {.order = STORE_SLOWEST};
	struct trace_list list;

	assert_int_equal(store_find(s, &q, &list), 0);
	assert_int_equal(list.n, 2);
	assert_true(trace_id_eq(list.rows[0].id, trace_of(1)));
	assert_int_equal(list.rows[0].spans, GIANT_SPANS);
	assert_int_equal(list.rows[0].start_ns, 1000);
	assert_int_equal(list.rows[0].duration_ns, 1000 + GIANT_SPANS - 1);
	assert_int_equal(list.rows[0].service_n, 1);
	assert_text(list.rows[0].root_service, "front");
	trace_list_done(&list);
}

/* Of everything, it comes last, in pages. */
static void assert_giant_last(struct store *s)
{
	struct event_set all = {0};

	assert_in_range(bulk_gather(s, &all), GIANT_SPANS / 65536, 100);
	assert_int_equal(all.n, GIANT_SPANS + GIANT_PARTS);
	for (size_t i = 0; i < all.n; i++)
		assert_true(trace_id_eq(event_get(all.refs[i])->trace_id,
					trace_of(i < GIANT_PARTS ? 2 : 1)));
	event_set_done(&all);
}

/* The rows come in parts, in the order in which they were sent. */
static void assert_giant(struct store *s)
{
	struct store_parts parts;
	struct event_set part;
	uint64_t rows = 0;
	int r;

	store_parts_init(&parts, s, trace_of(1));
	while ((r = store_parts_next(&parts, 10000, &part)) > 0) {
		assert_in_range(part.n, 1, 10000);
		for (size_t i = 0; i < part.n; i++)
			assert_true(event_get(part.refs[i])->id1 == ++rows);
		event_set_done(&part);
	}
	assert_int_equal(r, 0);
	assert_int_equal(rows, GIANT_SPANS);
	store_parts_done(&parts);
	assert_giant_last(s);
	assert_int_equal(rows_of(s, 2), GIANT_PARTS);
	assert_giant_line(s);
}

static void a_giant_passes_through_everything_in_parts(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	for (uint32_t part = 0, id = 0; part < GIANT_PARTS; part++) {
		struct batch *b = batch_for("front", 1);

		span_add(b, 2, part + 1, 0, 1000, 2000);
		for (uint32_t i = 0; i < GIANT_SPANS / GIANT_PARTS; i++, id++)
			span_add(b, 1, id + 1, id / 10, 1000 + id, 2000 + id);
		assert_int_equal(put(s, sealed(b)), 0);
		if (part < GIANT_PARTS - 1)
			assert_int_equal(engine_flush(s), 0);
	}
	assert_giant(s);
	assert_int_equal(engine_flush(s), 0);
	assert_giant(s);
	assert_int_equal(segments_of(s), GIANT_PARTS);
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 1);
	assert_giant(s);
	store_close(s);
	folder_remove(dir);
}

/* --- with threads of its own --- */

struct crowd {
	struct store *store;
	uint32_t from;
};

#define CROWD_BATCHES 150

static void *crowd_write(void *argument)
{
	struct crowd *c = argument;

	for (uint32_t i = 0; i < CROWD_BATCHES; i++) {
		struct batch *b = batch_for("front", clock_wall_ns());
		int r;

		for (uint32_t k = 0; k < 20; k++)
			span_add(b, c->from + (i * 20 + k) / 3, i * 20 + k + 1, 0, 1000, 2000);
		sealed(b);
		do { /* as a client would */
			r = put(c->store, batch_ref(b));
			if (r == -ENOBUFS)
				usleep(1000);
		} while (r == -ENOBUFS);
		assert_int_equal(r, 0);
		batch_unref(b);
	}
	return NULL;
}

static void *crowd_read(void *argument)
{
	struct crowd *c = argument;

	for (uint32_t i = 0; i < 40; i++) {
		struct trace_list list;
		struct service_list services;
		const struct store_query all = {.limit = 5},
					 by_service = {.limit = 5, .service = SLICE("front")};

		rows_of(c->store, c->from + i);
		assert_int_equal(store_find(c->store, &all, &list), 0);
		trace_list_done(&list);
		assert_int_equal(store_find(c->store, &by_service, &list), 0);
		for (size_t k = 0; k < list.n; k++) {
			assert_true(list.rows[k].spans > 0 && list.rows[k].spans <= 3);
			for (size_t m = 0; m < k; m++)
				assert_false(trace_id_eq(list.rows[k].id, list.rows[m].id));
		}
		trace_list_done(&list);
		assert_int_equal(store_services(c->store, &services), 0);
		service_list_done(&services);
		store_stats(c->store);
		feed_count(c->store, 0, NULL);
	}
	return NULL;
}

static void writers_readers_and_background_work_do_not_disturb_each_other(void **state)
{
	char dir[64], path[128];
	struct engine_options options = {.dir = path,
					 .sync = WAL_SYNC_NEVER,
					 .memory_bytes = 512 << 10,
					 .flush_bytes = 32 << 10,
					 .flush_bytes_most = 32 << 10};
	struct crowd crowds[2] = {{.from = 0}, {.from = 1000000}};
	pthread_t threads[4];
	struct store *s;

	folder_fresh(dir);
	snprintf(path, sizeof(path), "%s/store", dir);
	assert_int_equal(engine_open(&options, &s, NULL), 0);
	for (int i = 0; i < 2; i++) {
		crowds[i].store = s;
		pthread_create(&threads[2 * i], NULL, crowd_write, &crowds[i]);
		pthread_create(&threads[2 * i + 1], NULL, crowd_read, &crowds[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(store_stats(s).spans, 2 * CROWD_BATCHES * 20);
	assert_int_equal(engine_settle(s), 0);
	assert_int_equal(store_stats(s).spans, 2 * CROWD_BATCHES * 20);
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	assert_int_equal(store_stats(s).spans, 2 * CROWD_BATCHES * 20);
	assert_int_equal(rows_of(s, 500), 3);
	store_close(s);
	folder_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_acknowledged_is_there_after_a_restart),
		cmocka_unit_test(a_flush_takes_the_log_away_and_nothing_else),
		cmocka_unit_test(large_segments_are_not_written_again),
		cmocka_unit_test(segments_with_too_many_strings_for_one_become_several),
		cmocka_unit_test(retention_goes_by_arrival_whatever_spans_say),
		cmocka_unit_test(too_much_goes_oldest_first),
		cmocka_unit_test(over_the_memory_limit_is_refused_until_flushed),
		cmocka_unit_test(a_head_has_no_more_strings_than_a_segment_may),
		cmocka_unit_test(a_head_is_written_soon_if_none_is_and_grows_meanwhile),
		cmocka_unit_test(leftovers_of_a_crash_are_removed),
		cmocka_unit_test(a_missing_segment_is_told_and_the_rest_is_there),
		cmocka_unit_test(a_store_without_its_manifest_is_not_taken_for_empty),
		cmocka_unit_test(the_feed_gives_each_row_once_through_flush_and_compaction),
		cmocka_unit_test(a_dropped_cursor_holds_nothing_up),
		cmocka_unit_test(traces_with_simple_ids_may_all_be_split),
		cmocka_unit_test(a_giant_passes_through_everything_in_parts),
		cmocka_unit_test(writers_readers_and_background_work_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
