#include "fs_failing.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"

static struct fs_failing *failing(struct fs *fs)
{
	return container_of(fs, struct fs_failing, fs);
}

/* 0, or the error this call is to fail with. */
static int counted(struct fs *fs)
{
	struct fs_failing *f = failing(fs);
	uint64_t call = atomic_fetch_add(&f->calls, 1) + 1, at = atomic_load(&f->fail_at);

	if (at == 0 || call < at || call - at >= atomic_load(&f->fail_n))
		return 0;
	atomic_fetch_add(&f->failed, 1);
	return atomic_load(&f->error);
}

static int failing_open(struct fs *fs, const char *path, int flags, mode_t mode)
{
	int r = (flags & O_ACCMODE) != O_RDONLY || failing(fs)->reads ? counted(fs) : 0;

	return r < 0 ? r : fs_open(failing(fs)->inner, path, flags, mode);
}

static int failing_close(struct fs *fs, int fd)
{
	return fs_close(failing(fs)->inner, fd);
}

static ssize_t failing_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	int r = failing(fs)->reads ? counted(fs) : 0;

	return r < 0 ? r : fs_pread(failing(fs)->inner, fd, bytes, n, at);
}

static ssize_t failing_pwritev(struct fs *fs, int fd, const struct iovec *parts, int part_n,
			       uint64_t at)
{
	struct fs_failing *f = failing(fs);
	int r = counted(fs);

	if (r == 0)
		return fs_pwritev(f->inner, fd, parts, part_n, at);
	if (f->half) {
		/* Half of the first part, by blocks so that it suits O_DIRECT, and whatever comes
		 * next fails too. */
		struct iovec half = {parts[0].iov_base, parts[0].iov_len / 2 & ~(size_t)4095};

		if (half.iov_len)
			fs_pwritev(f->inner, fd, &half, 1, at);
	}
	return r;
}

static int failing_sync(struct fs *fs, int fd)
{
	int r = counted(fs);

	return r < 0 ? r : fs_sync(failing(fs)->inner, fd);
}

static int failing_sync_dir(struct fs *fs, const char *path)
{
	int r = counted(fs);

	return r < 0 ? r : fs_sync_dir(failing(fs)->inner, path);
}

static int failing_rename(struct fs *fs, const char *from, const char *to)
{
	int r = counted(fs);

	return r < 0 ? r : fs_rename(failing(fs)->inner, from, to);
}

static int failing_link(struct fs *fs, const char *from, const char *to)
{
	int r = counted(fs);

	return r < 0 ? r : fs_link(failing(fs)->inner, from, to);
}

static int failing_unlink(struct fs *fs, const char *path)
{
	int r = counted(fs);

	return r < 0 ? r : fs_unlink(failing(fs)->inner, path);
}

static int failing_truncate(struct fs *fs, int fd, uint64_t size)
{
	int r = counted(fs);

	return r < 0 ? r : fs_truncate(failing(fs)->inner, fd, size);
}

static int failing_allocate(struct fs *fs, int fd, uint64_t size)
{
	int r = counted(fs);

	return r < 0 ? r : fs_allocate(failing(fs)->inner, fd, size);
}

static int failing_mkdir(struct fs *fs, const char *path, mode_t mode)
{
	int r = counted(fs);

	return r < 0 ? r : fs_mkdir(failing(fs)->inner, path, mode);
}

static int failing_list(struct fs *fs, const char *path, struct fs_names *ret_names)
{
	int r = failing(fs)->reads ? counted(fs) : 0;

	return r < 0 ? r : fs_list(failing(fs)->inner, path, ret_names);
}

static int failing_size(struct fs *fs, int fd, uint64_t *ret_size)
{
	return fs_size(failing(fs)->inner, fd, ret_size);
}

void fs_failing_init(struct fs_failing *f, struct fs *inner)
{
	static const struct fs_ops ops = {
		.open = failing_open,
		.close = failing_close,
		.pread = failing_pread,
		.pwritev = failing_pwritev,
		.sync = failing_sync,
		.sync_dir = failing_sync_dir,
		.rename = failing_rename,
		.link = failing_link,
		.unlink = failing_unlink,
		.truncate = failing_truncate,
		.allocate = failing_allocate,
		.mkdir = failing_mkdir,
		.list = failing_list,
		.size = failing_size,
	};

	*f = (struct fs_failing){.fs = {&ops}, .inner = inner, .fail_n = 1, .error = -EIO};
}
