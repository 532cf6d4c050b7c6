#include "store_t.h"

#include "store/feed_file.h"

static void runs_of_one_batch_are_joined(void **state)
{
	struct feed_runs f = {0};

	assert_int_equal(feed_runs_add(&f, 7, 2), 0);
	assert_int_equal(feed_runs_add(&f, 7, 3), 0);
	assert_int_equal(feed_runs_add(&f, 8, 0), 0);
	assert_int_equal(feed_runs_add(&f, 3, 1), 0);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.total, 6);
	feed_runs_done(&f);
}

static void fill(struct feed_runs *f)
{
	assert_int_equal(feed_runs_add(f, UINT64_MAX, 2), 0);
	assert_int_equal(feed_runs_add(f, 0, 300), 0);
	assert_int_equal(feed_runs_add(f, 1000000, 1), 0);
}

static void what_is_written_is_read_again_and_damage_is_noticed(void **state)
{
	struct feed_runs f = {0}, back = {0};
	struct buffer bytes = {0};

	fill(&f);
	feed_runs_encode(&f, &bytes);
	assert_int_equal(feed_runs_decode(buffer_get(&bytes), &back, NULL), 0);
	assert_int_equal(back.n, f.n);
	assert_int_equal(back.total, f.total);
	assert_memory_equal(back.rows, f.rows, f.n * sizeof(*f.rows));
	for (size_t i = 0; i < bytes.n; i++) {
		struct feed_runs none = {0};

		assert_int_equal(feed_runs_decode(slice_of(bytes.p, i), &none, NULL), -EBADMSG);
		bytes.p[i] ^= 4;
		assert_int_equal(feed_runs_decode(buffer_get(&bytes), &none, NULL), -EBADMSG);
		bytes.p[i] ^= 4;
	}
	buffer_done(&bytes);
	feed_runs_done(&f);
	feed_runs_done(&back);
}

static void the_file_comes_and_goes(void **state)
{
	struct feed_runs f = {0}, back = {0};
	char dir[64];

	fill(&f);
	folder_fresh(dir);
	assert_int_equal(feed_file_load(fs_real(), dir, 5, &back, NULL), -ENOENT);
	assert_int_equal(feed_file_save(fs_real(), dir, 5, &f), 0);
	assert_int_equal(feed_file_load(fs_real(), dir, 5, &back, NULL), 0);
	assert_int_equal(back.total, 303);
	feed_file_remove(fs_real(), dir, 5);
	feed_file_remove(fs_real(), dir, 5);
	feed_runs_done(&back);
	assert_int_equal(feed_file_load(fs_real(), dir, 5, &back, NULL), -ENOENT);
	feed_runs_done(&f);
	folder_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_of_one_batch_are_joined),
		cmocka_unit_test(what_is_written_is_read_again_and_damage_is_noticed),
		cmocka_unit_test(the_file_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
