/* bench/counting_fs.c - counts reads on their way to the file system. */
#include "bench/counting_fs.h"

static struct fs_ops ops;

static ssize_t count_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	struct counting_fs *c = (struct counting_fs *)fs;

	atomic_fetch_add(&c->reads, 1);
	atomic_fetch_add(&c->bytes, n);
	atomic_fetch_add(&c->of_file[fd % COUNTING_FILES], 1);
	return fs_pread(fs_real(), fd, bytes, n, at);
}

void counting_fs_init(struct counting_fs *c)
{
	/* The real operations need nothing of the object they are called on. */
	ops = *fs_real()->ops;
	ops.pread = count_pread;
	*c = (struct counting_fs){.fs = {&ops}};
}

void counting_fs_begin(struct counting_fs *c)
{
	for (size_t i = 0; i < COUNTING_FILES; i++)
		atomic_store_explicit(&c->of_file[i], 0, memory_order_relaxed);
}

uint32_t counting_fs_deepest(const struct counting_fs *c)
{
	uint32_t most = 0;

	for (size_t i = 0; i < COUNTING_FILES; i++) {
		uint32_t n = atomic_load_explicit(&c->of_file[i], memory_order_relaxed);

		most = n > most ? n : most;
	}
	return most;
}
