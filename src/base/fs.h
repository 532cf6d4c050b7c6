/* base/fs.h - files and folders, behind one small table of operations.
 *
 * Whatever must survive a crash writes through here and nowhere else, so that a test can stand in
 * between: record every write and sync and rebuild the folder as a power failure would have left
 * it, or make the n-th call fail.  The real table is fs_real().
 *
 * Calls return 0 (or what they count) or a negative errno; -EINTR is never seen.  Any thread may
 * call; two threads may not change one file at the same time.
 *
 * What is durable when:
 *   the bytes of a file    after fs_sync(); a file's new length too
 *   a new, renamed or removed name    after fs_sync_dir() of its folder
 * After fs_sync() has failed the kernel may have thrown the bytes away and will not say so again:
 * that file must not be synced again and believed. */
#ifndef CAUSET_BASE_FS_H
#define CAUSET_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct fs;

/* Names in a folder, sorted, without "." and "..". */
struct fs_names {
	char **items;
	size_t n, capacity;
};

struct fs_ops {
	int (*open)(struct fs *fs, const char *path, int flags, mode_t mode);
	int (*close)(struct fs *fs, int fd);
	ssize_t (*pread)(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at);
	ssize_t (*pwritev)(struct fs *fs, int fd, const struct iovec *parts, int part_n,
			   uint64_t at);
	int (*sync)(struct fs *fs, int fd);
	int (*sync_dir)(struct fs *fs, const char *path);
	int (*rename)(struct fs *fs, const char *from, const char *to);
	int (*link)(struct fs *fs, const char *from, const char *to);
	int (*unlink)(struct fs *fs, const char *path);
	int (*truncate)(struct fs *fs, int fd, uint64_t size);
	int (*allocate)(struct fs *fs, int fd, uint64_t size);
	int (*mkdir)(struct fs *fs, const char *path, mode_t mode);
	int (*list)(struct fs *fs, const char *path, struct fs_names *ret_names);
	int (*size)(struct fs *fs, int fd, uint64_t *ret_size);
	void (*will_read)(struct fs *fs, int fd); /* may be NULL */
	void (*at_random)(struct fs *fs, int fd); /* may be NULL */
};

/* Embedded in whatever implements it. */
struct fs {
	const struct fs_ops *ops;
};

/* The file system itself.  Never NULL, never freed. */
struct fs *fs_real(void);

/* As open(2), always close-on-exec: a descriptor. */
static inline int fs_open(struct fs *fs, const char *path, int flags, mode_t mode)
{
	return fs->ops->open(fs, path, flags, mode);
}

/* Accepts -1.  What it returns matters only to who has not synced. */
static inline int fs_close(struct fs *fs, int fd)
{
	return fd < 0 ? 0 : fs->ops->close(fs, fd);
}

/* May be short, like pread(2); 0 at the end of the file. */
static inline ssize_t fs_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	return fs->ops->pread(fs, fd, bytes, n, at);
}

/* May be short, like pwritev(2). */
static inline ssize_t fs_pwritev(struct fs *fs, int fd, const struct iovec *parts, int part_n,
				 uint64_t at)
{
	return fs->ops->pwritev(fs, fd, parts, part_n, at);
}

/* fdatasync(2): the bytes, and the length where it changed. */
static inline int fs_sync(struct fs *fs, int fd)
{
	return fs->ops->sync(fs, fd);
}

/* Makes the names in a folder durable. */
static inline int fs_sync_dir(struct fs *fs, const char *path)
{
	return fs->ops->sync_dir(fs, path);
}

/* Replaces `to` in one step. */
static inline int fs_rename(struct fs *fs, const char *from, const char *to)
{
	return fs->ops->rename(fs, from, to);
}

static inline int fs_link(struct fs *fs, const char *from, const char *to)
{
	return fs->ops->link(fs, from, to);
}

static inline int fs_unlink(struct fs *fs, const char *path)
{
	return fs->ops->unlink(fs, path);
}

static inline int fs_truncate(struct fs *fs, int fd, uint64_t size)
{
	return fs->ops->truncate(fs, fd, size);
}

/* Makes the file `size` bytes long at least, with room for them on the disk; new bytes are zero.
 * -EOPNOTSUPP where the file system cannot. */
static inline int fs_allocate(struct fs *fs, int fd, uint64_t size)
{
	return fs->ops->allocate(fs, fd, size);
}

static inline int fs_mkdir(struct fs *fs, const char *path, mode_t mode)
{
	return fs->ops->mkdir(fs, path, mode);
}

/* The answer must be given back with fs_names_done(). */
static inline int fs_list(struct fs *fs, const char *path, struct fs_names *ret_names)
{
	return fs->ops->list(fs, path, ret_names);
}

static inline int fs_size(struct fs *fs, int fd, uint64_t *ret_size)
{
	return fs->ops->size(fs, fd, ret_size);
}

/* A hint: the whole file will be read, from its beginning.  Makes a disk several times faster than
 * reading it piece by piece. */
static inline void fs_will_read(struct fs *fs, int fd)
{
	if (fs->ops->will_read)
		fs->ops->will_read(fs, fd);
}

/* A hint: parts of the file will be read, each at once and in no order.  Nothing is read ahead, and
 * what is asked for is asked of the disk at once, not window by window. */
static inline void fs_at_random(struct fs *fs, int fd)
{
	if (fs->ops->at_random)
		fs->ops->at_random(fs, fd);
}

/* --- made of the above --- */

void fs_names_done(struct fs_names *names);
/* Appends a copy; for implementations of `list`.  -ENOMEM. */
int fs_names_add(struct fs_names *names, const char *name);
/* By bytes; for implementations of `list`. */
void fs_names_sort(struct fs_names *names);

/* All n bytes, or -ENODATA when the file ends before, or the error. */
int fs_read_all(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at);

/* All of it, however many short writes that takes.  Changes `parts`.  Any number of parts. */
int fs_write_parts(struct fs *fs, int fd, struct iovec *parts, size_t part_n, uint64_t at);
int fs_write_all(struct fs *fs, int fd, const void *bytes, size_t n, uint64_t at);

/* Opens, writes, syncs and closes `path`.tmp, renames it to `path` and syncs the folder `dir` it
 * lies in: after a crash the old content is there or the new, whole.  After a failure the old
 * content is there, unless it was the last sync that failed: then either may be. */
int fs_replace(struct fs *fs, const char *dir, const char *path, const void *bytes, size_t n);

/* The whole of a small file, for free(), with a NUL behind it that is not counted.  -EFBIG when it
 * is larger than `most`. */
int fs_load(struct fs *fs, const char *path, size_t most, char **ret_bytes, size_t *ret_n);

/* A folder that may be there already. */
int fs_make_dir(struct fs *fs, const char *path, mode_t mode);

/* "dir/name" for free(); NULL when out of memory. */
char *fs_path(const char *dir, const char *name);

#endif
