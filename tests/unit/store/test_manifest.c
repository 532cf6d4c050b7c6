#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/manifest.h"

static struct manifest sample(void)
{
	static const struct manifest_segment segments[] = {
		{17, 1, 31007, -5, 1762000000000000000, 1048576, 980211, 98021, 24117248, false},
		{18, 31008, 48211, 0, INT64_MAX, 610233, 571002, 57114, 14155776, true},
	};
	struct manifest m = {.next = 19, .flushed = 48211};

	m.segments = malloc(sizeof(segments));
	assert_non_null(m.segments);
	memcpy(m.segments, segments, sizeof(segments));
	m.segment_n = m.segment_capacity = ARRAY_SIZE(segments);
	assert_int_equal(manifest_set_cursor(&m, SLICE("span-metrics"), 5), 0);
	assert_int_equal(manifest_set_cursor(&m, SLICE("alerts"), 48002), 0);
	assert_int_equal(manifest_set_cursor(&m, SLICE("span-metrics"), UINT64_MAX), 0);
	return m;
}

static void check_same(const struct manifest *a, const struct manifest *b)
{
	assert_int_equal(a->next, b->next);
	assert_int_equal(a->flushed, b->flushed);
	assert_int_equal(a->segment_n, b->segment_n);
	for (size_t i = 0; i < a->segment_n; i++) {
		const struct manifest_segment *x = &a->segments[i], *y = &b->segments[i];

		assert_true(x->number == y->number && x->seq_first == y->seq_first &&
			    x->seq_last == y->seq_last &&
			    x->received_min_ns == y->received_min_ns &&
			    x->received_max_ns == y->received_max_ns && x->rows == y->rows &&
			    x->blocks == y->blocks && x->pieces == y->pieces &&
			    x->bytes == y->bytes && x->feed == y->feed);
	}
	assert_int_equal(a->cursor_n, b->cursor_n);
	for (size_t i = 0; i < a->cursor_n; i++) {
		assert_string_equal(a->cursors[i].name, b->cursors[i].name);
		assert_true(a->cursors[i].seq == b->cursors[i].seq);
	}
}

static void what_is_written_is_read_again(void **state)
{
	struct manifest m = sample(), back = {0}, copy = {0};
	struct buffer text = {0};

	manifest_encode(&m, &text);
	assert_int_equal(manifest_decode(buffer_get(&text), &back, NULL), 0);
	check_same(&m, &back);
	assert_int_equal(manifest_dup(&m, &copy), 0);
	check_same(&m, &copy);
	buffer_done(&text);
	manifest_done(&m);
	manifest_done(&back);
	manifest_done(&copy);
}

static void every_changed_byte_is_noticed(void **state)
{
	struct manifest m = sample(), back = {0};
	struct buffer text = {0};

	manifest_encode(&m, &text);
	for (size_t i = 0; i < text.n; i++) {
		struct error error = {0};

		text.p[i] ^= 1;
		assert_true(manifest_decode(buffer_get(&text), &back, &error) < 0);
		assert_true(error.text[0]);
		text.p[i] ^= 1;
		assert_true(manifest_decode(slice_of(text.p, i), &back, NULL) < 0);
	}
	buffer_byte(&text, '\n');
	assert_int_equal(manifest_decode(buffer_get(&text), &back, NULL), -EBADMSG);
	buffer_done(&text);
	manifest_done(&m);
}

static void a_version_from_the_future_is_named(void **state)
{
	struct manifest m = {0};
	struct error error = {0};

	assert_int_equal(manifest_decode(SLICE("causet store 7\n"), &m, &error), -EPROTONOSUPPORT);
	assert_non_null(strstr(error.text, "7"));
}

static void segments_out_of_order_are_refused(void **state)
{
	struct manifest m = sample(), back = {0};
	struct buffer text = {0};
	struct error error = {0};

	m.segments[1].seq_first = 31007;
	manifest_encode(&m, &text);
	assert_int_equal(manifest_decode(buffer_get(&text), &back, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "line 5"));
	buffer_done(&text);
	manifest_done(&m);
}

static void cursors_are_found_moved_and_dropped(void **state)
{
	struct manifest m = sample();
	char name[16];

	assert_true(manifest_find_cursor(&m, SLICE("alerts"))->seq == 48002);
	assert_null(manifest_find_cursor(&m, SLICE("alert")));
	assert_int_equal(manifest_drop_cursor(&m, SLICE("alerts")), 0);
	assert_int_equal(manifest_drop_cursor(&m, SLICE("alerts")), -ENOENT);
	assert_int_equal(manifest_set_cursor(&m, SLICE("a b"), 1), -EINVAL);
	assert_int_equal(manifest_set_cursor(&m, SLICE(""), 1), -EINVAL);
	for (int i = 1; i < MANIFEST_CURSORS; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		assert_int_equal(manifest_set_cursor(&m, slice_cstr(name), 1), 0);
	}
	assert_int_equal(manifest_set_cursor(&m, SLICE("z"), 1), -E2BIG);
	assert_int_equal(manifest_set_cursor(&m, SLICE("c7"), 2), 0);
	manifest_done(&m);
}

static void the_file_is_replaced_and_read(void **state)
{
	char dir[] = "/tmp/causet-manifest-XXXXXX";
	struct manifest m = sample(), back = {0};
	_cleanup_(freep)
	char *path = NULL;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(manifest_load(fs_real(), dir, &back, NULL), -ENOENT);
	assert_int_equal(manifest_save(fs_real(), dir, &m), 0);
	m.flushed++;
	assert_int_equal(manifest_save(fs_real(), dir, &m), 0);
	assert_int_equal(manifest_load(fs_real(), dir, &back, NULL), 0);
	check_same(&m, &back);
	path = fs_path(dir, MANIFEST_NAME);
	assert_int_equal(fs_unlink(fs_real(), path), 0);
	assert_int_equal(rmdir(dir), 0);
	manifest_done(&m);
	manifest_done(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(every_changed_byte_is_noticed),
		cmocka_unit_test(a_version_from_the_future_is_named),
		cmocka_unit_test(segments_out_of_order_are_refused),
		cmocka_unit_test(cursors_are_found_moved_and_dropped),
		cmocka_unit_test(the_file_is_replaced_and_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
