/* Traces whose pieces lie in several places are known to. */
#include "engine_t.h"

#include "core/clock.h"
#include "store/compact.h"
#include "store/joint.h"
#include "store/scan.h"
#include "store/store_check.h"

#define DAY (24 * 3600 * NS_PER_S)

static void split_traces_are_known_until_compaction_joins_them(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});
	struct view *v;

	put_traces(s, 1, 10, 1);
	assert_int_equal(engine_flush(s), 0);
	put_traces(s, 8, 10, 2);
	assert_int_equal(engine_flush(s), 0);
	for (int round = 0; round < 2; round++) {
		v = engine_view(engine_of(s));
		for (uint32_t i = 1; i < 20; i++)
			assert_int_equal(view_is_split(v, trace_of(i)), i >= 8 && i <= 10);
		view_unref(v);
		/* Another segment, in a process that has no hashes in memory. */
		store_close(s);
		s = engine_at(dir, (struct engine_options){0});
	}
	put_traces(s, 1, 1, 3);
	assert_int_equal(engine_flush(s), 0);
	v = engine_view(engine_of(s));
	assert_int_equal(view_is_split(v, trace_of(1)), 1);
	view_unref(v);
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 1);
	v = engine_view(engine_of(s));
	for (uint32_t i = 1; i < 20; i++)
		assert_int_equal(view_is_split(v, trace_of(i)), 0);
	view_unref(v);
	assert_int_equal(rows_of(s, 9), 1); /* the same span, once */
	assert_int_equal(files_of(dir, ".cst"), 1);
	store_close(s);
	folder_remove(dir);
}

/* Three hours later, and the segments between are more than are always asked. */
/* Twenty segments lie between a trace's beginning and a piece of it that comes three hours later,
 * and that the store no longer has the hashes of in memory.  The first segment arrived so much
 * earlier that it is not merged with the others. */
static struct store *engine_with_a_late_piece(const char *dir)
{
	const uint64_t start = 1700000000 * NS_PER_S, late = start + 3 * 3600 * NS_PER_S;
	struct store *s = engine_at(dir, (struct engine_options){0});
	struct batch *b = batch_for("front", 1);

	span_add(b, 1, 1, 0, start, late);
	span_add(b, 2, 1, 0, start, late);
	assert_int_equal(put(s, sealed(b)), 0);
	assert_int_equal(engine_flush(s), 0);
	for (uint32_t i = 0; i < 20; i++) {
		b = batch_for("front", 2 * DAY);
		span_add(b, 10 + i, 1, 0, late, late + 1);
		assert_int_equal(put(s, sealed(b)), 0);
		assert_int_equal(engine_flush(s), 0);
	}
	store_close(s);
	s = engine_at(dir, (struct engine_options){0});
	b = batch_for("back", 2 * DAY);
	span_add(b, 1, 2, 1, late, late + 1);
	span_add(b, 2, 2, 0, late, late + 1); /* another beginning */
	span_add(b, 3, 2, 1, late, late + 1);
	assert_int_equal(put(s, sealed(b)), 0);
	assert_int_equal(engine_flush(s), 0);
	return s;
}

static void assert_first_is_split(struct store *s)
{
	struct view *v = engine_view(engine_of(s));

	assert_int_equal(view_is_split(v, trace_of(1)), 1);
	assert_int_equal(view_is_split(v, trace_of(2)), 0); /* docs/design/store.md */
	assert_int_equal(view_is_split(v, trace_of(3)), 0);
	view_unref(v);
}

static void a_piece_without_a_beginning_is_looked_for_everywhere(void **state)
{
	char dir[64];
	struct store *s = engine_with_a_late_piece(folder_fresh(dir));

	assert_first_is_split(s);
	store_close(s);
	folder_remove(dir);
}

static void a_merge_remembers_what_was_found_far_away(void **state)
{
	char dir[64];
	struct store *s = engine_with_a_late_piece(folder_fresh(dir));

	store_close(s);
	s = engine_at(dir, (struct engine_options){0}); /* without hashes in memory */
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 2);
	assert_first_is_split(s);
	store_close(s);
	folder_remove(dir);
}

static int count_traces(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
			bool more)
{
	*(size_t *)context += !more && n > 0;
	return 0;
}

/* What another snapshot has found out since is not for this one. */
static void an_older_snapshot_sees_every_trace(void **state)
{
	char dir[64];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});
	struct snapshot before, after;
	struct id_set joint;
	size_t seen = 0;

	put_traces(s, 1, 3, 1);
	assert_int_equal(engine_flush(s), 0);
	put_traces(s, 10, 1, 1);
	assert_int_equal(store_snapshot(s, &before), 0);
	put_traces(s, 2, 1, 2); /* one that is in the segment comes to the head */
	assert_int_equal(store_snapshot(s, &after), 0);
	id_set_init(&joint);
	assert_int_equal(snapshot_joint(&after, &joint), 0);
	assert_true(id_set_has(&joint, trace_of(2)));
	id_set_done(&joint);
	assert_int_equal(
		snapshot_scan(&before, &(struct scan){.trace = count_traces, .context = &seen}), 0);
	assert_int_equal(seen, 4);
	snapshot_done(&before);
	snapshot_done(&after);
	store_close(s);
	folder_remove(dir);
}

static void finding_fail(void *context, const struct store_finding *finding)
{
	fail_msg("%s: %s", finding->file, finding->text);
}

/* Two ids that the index cannot tell apart: see test_segment.c. */
static void ids_with_the_same_hash_are_flushed_and_merged(void **state)
{
	static const struct trace_id ids[] = {
		{{0xb9, 0x39, 0x42, 0xea, 0x7b, 0x73, 0x82, 0x67, 0xd5, 0x9f, 0x3d, 0x99, 0x43,
		  0xea, 0x62, 0xbd}},
		{{0xab, 0x0d, 0x14, 0x92, 0xeb, 0xd8, 0x4f, 0x88, 0x3a, 0x52, 0x96, 0x09, 0x3b,
		  0xbc, 0x56, 0xaf}},
	};
	struct store_totals totals;
	struct error error = {0};
	char dir[64], path[128];
	struct store *s = engine_at(folder_fresh(dir), (struct engine_options){0});

	for (uint32_t round = 0; round < 2; round++) {
		struct batch *b = batch_for("front", 1);

		for (uint32_t i = 0; i < 2; i++) {
			span_add(b, 1, 1 + i + round * 2, 0, NS_PER_S, 2 * NS_PER_S);
			b->events[b->event_n - 1].trace_id = ids[i];
		}
		assert_int_equal(put(s, sealed(b)), 0);
		assert_int_equal(engine_flush(s), 0);
	}
	assert_int_equal(engine_compact(s, true), 0);
	assert_int_equal(segments_of(s), 1);
	store_close(s);
	snprintf(path, sizeof(path), "%s/store", dir);
	assert_int_equal(store_check(fs_real(), path, finding_fail, NULL, &totals, &error), 0);
	assert_int_equal(totals.pieces, 2);
	folder_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split_traces_are_known_until_compaction_joins_them),
		cmocka_unit_test(a_piece_without_a_beginning_is_looked_for_everywhere),
		cmocka_unit_test(an_older_snapshot_sees_every_trace),
		cmocka_unit_test(a_merge_remembers_what_was_found_far_away),
		cmocka_unit_test(ids_with_the_same_hash_are_flushed_and_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
