/* Files and folders: what is made of the table's calls, on a table that gives little at a time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "t.h"

/* Gives and takes at most so many bytes a call. */
struct stingy {
	struct fs fs;
	size_t most;
};

static ssize_t stingy_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	return fs_pread(fs_real(), fd, bytes, MIN(n, ((struct stingy *)fs)->most), at);
}

static ssize_t stingy_pwritev(struct fs *fs, int fd, const struct iovec *parts, int part_n,
			      uint64_t at)
{
	size_t most = ((struct stingy *)fs)->most;
	struct iovec one = {parts[0].iov_base, MIN(parts[0].iov_len, most)};

	return fs_pwritev(fs_real(), fd, &one, 1, at);
}

static struct fs_ops stingy_ops;

static struct stingy stingy(size_t most)
{
	stingy_ops = *fs_real()->ops;
	stingy_ops.pread = stingy_pread;
	stingy_ops.pwritev = stingy_pwritev;
	return (struct stingy){{&stingy_ops}, most};
}

struct folder {
	char path[64];
	char file[96];
};

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->path, "/tmp/causet-fs-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	snprintf(f->file, sizeof(f->file), "%s/file", f->path);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;
	struct fs_names names;

	assert_int_equal(fs_list(fs_real(), f->path, &names), 0);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_(freep)
		char *path = fs_path(f->path, names.items[i]);

		assert_int_equal(fs_unlink(fs_real(), path), 0);
	}
	fs_names_done(&names);
	assert_int_equal(rmdir(f->path), 0);
	free(f);
	return 0;
}

static void parts_are_written_whole_however_short_the_writes(void **state)
{
	struct folder *f = *state;
	static const char expected[] = "one, two and three";

	for (size_t most = 1; most <= 8; most++) {
		struct stingy s = stingy(most);
		char text[5][8] = {"one", ", ", "", "two and", " three"};
		struct iovec parts[] = {
			{text[0], 3}, {text[1], 2}, {text[2], 0}, {text[3], 7}, {text[4], 6}};
		int fd = fs_open(&s.fs, f->file, O_RDWR | O_CREAT | O_TRUNC, 0600);
		char back[32];

		assert_true(fd >= 0);
		assert_int_equal(fs_write_parts(&s.fs, fd, parts, ARRAY_SIZE(parts), 5), 0);
		assert_int_equal(fs_read_all(&s.fs, fd, back, sizeof(expected) - 1, 5), 0);
		assert_memory_equal(back, expected, sizeof(expected) - 1);
		assert_int_equal(fs_read_all(&s.fs, fd, back, sizeof(expected), 5), -ENODATA);
		assert_int_equal(fs_close(&s.fs, fd), 0);
	}
}

static void a_replaced_file_is_the_new_one_and_leaves_nothing_behind(void **state)
{
	struct folder *f = *state;
	struct fs_names names;
	char *bytes;
	size_t n;

	assert_int_equal(fs_replace(fs_real(), f->path, f->file, "old", 3), 0);
	assert_int_equal(fs_replace(fs_real(), f->path, f->file, "newer", 5), 0);
	assert_int_equal(fs_load(fs_real(), f->file, 5, &bytes, &n), 0);
	assert_int_equal(n, 5);
	assert_string_equal(bytes, "newer");
	free(bytes);
	assert_int_equal(fs_load(fs_real(), f->file, 4, &bytes, &n), -EFBIG);
	assert_int_equal(fs_list(fs_real(), f->path, &names), 0);
	assert_int_equal(names.n, 1);
	assert_string_equal(names.items[0], "file");
	fs_names_done(&names);
}

static void names_come_sorted(void **state)
{
	static const char *const names[] = {"b", "a", "c10", "c1"};
	static const char *const sorted[] = {"a", "b", "c1", "c10"};
	struct folder *f = *state;
	struct fs_names found;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(freep)
		char *path = fs_path(f->path, names[i]);
		int fd = fs_open(fs_real(), path, O_WRONLY | O_CREAT | O_EXCL, 0600);

		assert_true(fd >= 0);
		fs_close(fs_real(), fd);
		assert_int_equal(fs_open(fs_real(), path, O_WRONLY | O_CREAT | O_EXCL, 0600),
				 -EEXIST);
	}
	assert_int_equal(fs_list(fs_real(), f->path, &found), 0);
	assert_int_equal(found.n, ARRAY_SIZE(sorted));
	for (size_t i = 0; i < found.n; i++)
		assert_string_equal(found.items[i], sorted[i]);
	fs_names_done(&found);
	assert_int_equal(fs_list(fs_real(), "/nowhere/at/all", &found), -ENOENT);
}

static void room_that_was_allocated_reads_as_zeros_and_can_be_cut(void **state)
{
	struct folder *f = *state;
	int fd = fs_open(fs_real(), f->file, O_RDWR | O_CREAT, 0600);
	char zero[4096] = {0}, bytes[4096];
	uint64_t size;

	assert_true(fd >= 0);
	assert_int_equal(fs_allocate(fs_real(), fd, 8192), 0);
	assert_int_equal(fs_size(fs_real(), fd, &size), 0);
	assert_int_equal(size, 8192);
	assert_int_equal(fs_read_all(fs_real(), fd, bytes, sizeof(bytes), 4096), 0);
	assert_memory_equal(bytes, zero, sizeof(zero));
	assert_int_equal(fs_truncate(fs_real(), fd, 10), 0);
	assert_int_equal(fs_size(fs_real(), fd, &size), 0);
	assert_int_equal(size, 10);
	assert_int_equal(fs_sync(fs_real(), fd), 0);
	assert_int_equal(fs_close(fs_real(), fd), 0);
	assert_int_equal(fs_close(fs_real(), -1), 0);
	assert_int_equal(fs_sync_dir(fs_real(), f->path), 0);
	assert_int_equal(fs_sync_dir(fs_real(), f->file), -ENOTDIR);
}

static void failures_are_told_as_negative_errno(void **state)
{
	struct folder *f = *state;
	char other[128];

	snprintf(other, sizeof(other), "%s/other", f->path);
	assert_int_equal(fs_open(fs_real(), f->file, O_RDONLY, 0), -ENOENT);
	assert_int_equal(fs_unlink(fs_real(), f->file), -ENOENT);
	assert_int_equal(fs_rename(fs_real(), f->file, other), -ENOENT);
	assert_int_equal(fs_link(fs_real(), f->file, other), -ENOENT);
	assert_int_equal(fs_mkdir(fs_real(), f->path, 0700), -EEXIST);
	assert_int_equal(fs_make_dir(fs_real(), f->path, 0700), 0);
	assert_int_equal(fs_sync(fs_real(), -1), -EBADF);
}

#define FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER(parts_are_written_whole_however_short_the_writes),
		FOLDER(a_replaced_file_is_the_new_one_and_leaves_nothing_behind),
		FOLDER(names_come_sorted),
		FOLDER(room_that_was_allocated_reads_as_zeros_and_can_be_cut),
		FOLDER(failures_are_told_as_negative_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
