/* base/fs.c - files and folders: the real table, and what is made of any table. */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define PARTS_MOST IOV_MAX /* of one call */

/* Repeats a call that a signal interrupted; its value, or -errno. */
#define UNINTERRUPTED(call)                                                                        \
	__extension__({                                                                            \
		ssize_t value_;                                                                    \
		do                                                                                 \
			value_ = (ssize_t)(call);                                                  \
		while (value_ < 0 && errno == EINTR);                                              \
		value_ < 0 ? -(ssize_t)errno : value_;                                             \
	})

/* --- the real table --- */

static int real_open(struct fs *fs, const char *path, int flags, mode_t mode)
{
	return (int)UNINTERRUPTED(open(path, flags | O_CLOEXEC, mode));
}

static int real_close(struct fs *fs, int fd)
{
	return close(fd) < 0 && errno != EINTR ? -errno : 0; /* closed in any case */
}

static ssize_t real_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	return UNINTERRUPTED(pread(fd, bytes, n, (off_t)at));
}

static ssize_t real_pwritev(struct fs *fs, int fd, const struct iovec *parts, int part_n,
			    uint64_t at)
{
	return UNINTERRUPTED(pwritev(fd, parts, part_n, (off_t)at));
}

static int real_sync(struct fs *fs, int fd)
{
	return (int)UNINTERRUPTED(fdatasync(fd));
}

static int real_sync_dir(struct fs *fs, const char *path)
{
	_cleanup_(closep)
	int fd = real_open(fs, path, O_RDONLY | O_DIRECTORY, 0);

	return fd < 0 ? fd : (int)UNINTERRUPTED(fsync(fd));
}

static int real_rename(struct fs *fs, const char *from, const char *to)
{
	return rename(from, to) < 0 ? -errno : 0;
}

static int real_link(struct fs *fs, const char *from, const char *to)
{
	return link(from, to) < 0 ? -errno : 0;
}

static int real_unlink(struct fs *fs, const char *path)
{
	return unlink(path) < 0 ? -errno : 0;
}

static int real_truncate(struct fs *fs, int fd, uint64_t size)
{
	return (int)UNINTERRUPTED(ftruncate(fd, (off_t)size));
}

static int real_allocate(struct fs *fs, int fd, uint64_t size)
{
	return (int)UNINTERRUPTED(fallocate(fd, 0, 0, (off_t)size));
}

static int real_mkdir(struct fs *fs, const char *path, mode_t mode)
{
	return mkdir(path, mode) < 0 ? -errno : 0;
}

static int read_names(DIR *dir, struct fs_names *names)
{
	for (;;) {
		struct dirent *entry;
		int r;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return -errno;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = fs_names_add(names, entry->d_name);
		if (r < 0)
			return r;
	}
}

static int real_list(struct fs *fs, const char *path, struct fs_names *ret_names)
{
	_cleanup_(fs_names_done)
	struct fs_names names = {0};
	DIR *dir = opendir(path);
	int r;

	if (!dir)
		return -errno;
	r = read_names(dir, &names);
	closedir(dir);
	if (r < 0)
		return r;
	fs_names_sort(&names);
	*ret_names = names;
	names = (struct fs_names){0};
	return 0;
}

static int real_size(struct fs *fs, int fd, uint64_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

static void real_will_read(struct fs *fs, int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
}

static void real_at_random(struct fs *fs, int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

static const struct fs_ops real_ops = {
	.open = real_open,
	.close = real_close,
	.pread = real_pread,
	.pwritev = real_pwritev,
	.sync = real_sync,
	.sync_dir = real_sync_dir,
	.rename = real_rename,
	.link = real_link,
	.unlink = real_unlink,
	.truncate = real_truncate,
	.allocate = real_allocate,
	.mkdir = real_mkdir,
	.list = real_list,
	.size = real_size,
	.will_read = real_will_read,
	.at_random = real_at_random,
};

struct fs *fs_real(void)
{
	static struct fs real = {&real_ops}; /* nobody changes it */

	return &real;
}

/* --- made of any table --- */

void fs_names_done(struct fs_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct fs_names){0};
}

int fs_names_add(struct fs_names *names, const char *name)
{
	char *copy;

	if (!vec_reserve(&names->items, &names->capacity, names->n + 1, sizeof(*names->items)))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	names->items[names->n++] = copy;
	return 0;
}

static int name_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void fs_names_sort(struct fs_names *names)
{
	if (names->n > 1)
		qsort(names->items, names->n, sizeof(*names->items), name_cmp);
}

int fs_read_all(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = fs_pread(fs, fd, (char *)bytes + done, n - done, at + done);

		if (got < 0)
			return (int)got;
		if (got == 0)
			return -ENODATA;
		done += (size_t)got;
	}
	return 0;
}

int fs_write_parts(struct fs *fs, int fd, struct iovec *parts, size_t part_n, uint64_t at)
{
	while (part_n > 0) {
		ssize_t wrote = 0;
		size_t left;

		if (parts[0].iov_len > 0)
			wrote = fs_pwritev(fs, fd, parts, (int)MIN(part_n, (size_t)PARTS_MOST), at);
		if (wrote < 0)
			return (int)wrote;
		if (wrote == 0 && parts[0].iov_len > 0)
			return -EIO; /* nothing written and nothing wrong: do not go on for ever */
		at += (uint64_t)wrote;
		left = (size_t)wrote;
		while (part_n > 0 && left >= parts[0].iov_len) {
			left -= parts[0].iov_len;
			parts++;
			part_n--;
		}
		if (left > 0) {
			parts[0].iov_base = (char *)parts[0].iov_base + left;
			parts[0].iov_len -= left;
		}
	}
	return 0;
}

int fs_write_all(struct fs *fs, int fd, const void *bytes, size_t n, uint64_t at)
{
	struct iovec part = {(void *)(uintptr_t)bytes, n};

	return fs_write_parts(fs, fd, &part, 1, at);
}

static int write_file(struct fs *fs, const char *path, const void *bytes, size_t n)
{
	int fd = fs_open(fs, path, O_WRONLY | O_CREAT | O_TRUNC, 0600), r, closed;

	if (fd < 0)
		return fd;
	r = fs_write_all(fs, fd, bytes, n, 0);
	if (r == 0)
		r = fs_sync(fs, fd);
	closed = fs_close(fs, fd);
	return r < 0 ? r : closed;
}

int fs_replace(struct fs *fs, const char *dir, const char *path, const void *bytes, size_t n)
{
	_cleanup_(freep)
	char *temporary = NULL;
	int r;

	if (asprintf(&temporary, "%s.tmp", path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	r = write_file(fs, temporary, bytes, n);
	if (r == 0)
		r = fs_rename(fs, temporary, path);
	if (r < 0) {
		fs_unlink(fs, temporary);
		return r;
	}
	return fs_sync_dir(fs, dir);
}

static int load(struct fs *fs, int fd, size_t most, char **ret_bytes, size_t *ret_n)
{
	_cleanup_(freep)
	char *bytes = NULL;
	uint64_t size;
	int r = fs_size(fs, fd, &size);

	if (r < 0)
		return r;
	if (size > most)
		return -EFBIG;
	bytes = malloc((size_t)size + 1);
	if (!bytes)
		return -ENOMEM;
	r = fs_read_all(fs, fd, bytes, (size_t)size, 0);
	if (r < 0)
		return r;
	bytes[size] = '\0';
	*ret_n = (size_t)size;
	*ret_bytes = TAKE_PTR(bytes);
	return 0;
}

int fs_load(struct fs *fs, const char *path, size_t most, char **ret_bytes, size_t *ret_n)
{
	int fd = fs_open(fs, path, O_RDONLY, 0), r;

	if (fd < 0)
		return fd;
	r = load(fs, fd, most, ret_bytes, ret_n);
	fs_close(fs, fd);
	return r;
}

int fs_make_dir(struct fs *fs, const char *path, mode_t mode)
{
	int r = fs_mkdir(fs, path, mode);

	return r == -EEXIST ? 0 : r;
}

char *fs_path(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}
