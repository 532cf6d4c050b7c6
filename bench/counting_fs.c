/* bench/counting_fs.c - counts reads on their way to the file system. */
#include "bench/counting_fs.h"

static struct fs_ops ops;

static ssize_t count_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	struct counting_fs *c = (struct counting_fs *)fs;

	atomic_fetch_add(&c->reads, 1);
	atomic_fetch_add(&c->bytes, n);
	return fs_pread(fs_real(), fd, bytes, n, at);
}

void counting_fs_init(struct counting_fs *c)
{
	/* The real operations need nothing of the object they are called on. */
	ops = *fs_real()->ops;
	ops.pread = count_pread;
	*c = (struct counting_fs){.fs = {&ops}};
}
