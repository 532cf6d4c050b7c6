/* store/wal_ahead.c - reading the next log file on a thread of its own. */
#include "store/wal_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/cleanup.h"
#include "store/wal_int.h"

#define BLOCK      4096
#define READ_BYTES ((size_t)4 << 20)

struct wal_ahead {
	struct fs *fs;
	char *path;
	struct pages *pages;
	bool read;
	pthread_t thread;
};

/* Past the page cache, where the log was written past it, too: its bytes are wanted once, and one
 * copy of them in memory is enough.  Reads end at whole blocks, so the last may ask for more than
 * there is; the pages have room for that. */
static bool read_direct(struct wal_ahead *a)
{
	size_t room = a->pages->mapped, at = 0;
	ssize_t n = 1;
	int fd = room ? fs_open(a->fs, a->path, O_RDONLY | O_DIRECT, 0) : -EINVAL;

	if (fd < 0)
		return false;
	for (; at < a->pages->n && at % BLOCK == 0 && n > 0; at += (size_t)MAX(n, (ssize_t)0))
		n = fs_pread(a->fs, fd, a->pages->bytes + at, MIN(room - at, READ_BYTES), at);
	fs_close(a->fs, fd);
	return at >= a->pages->n;
}

static bool read_cached(struct wal_ahead *a)
{
	int r, fd = fs_open(a->fs, a->path, O_RDONLY, 0);

	if (fd < 0)
		return false;
	fs_will_read(a->fs, fd);
	r = fs_read_all(a->fs, fd, a->pages->bytes, a->pages->n, 0);
	fs_close(a->fs, fd);
	return r == 0;
}

static void *ahead_run(void *context)
{
	struct wal_ahead *a = context;

	a->read = read_direct(a) || read_cached(a);
	return NULL;
}

static void ahead_free(struct wal_ahead *a)
{
	pages_unref(a->pages);
	free(a->path);
	free(a);
}

struct wal_ahead *wal_ahead_start(struct fs *fs, const char *dir, uint64_t number, uint64_t size)
{
	struct wal_ahead *a;

	if (size < WAL_AHEAD_MIN || size > WAL_AHEAD_MOST)
		return NULL;
	a = malloc(sizeof(*a));
	if (!a)
		return NULL;
	*a = (struct wal_ahead){.fs = fs};
	a->path = wal_path(dir, WAL_NAME_LOG, number);
	a->pages = pages_new((size_t)size);
	if (a->path && a->pages && pthread_create(&a->thread, NULL, ahead_run, a) == 0)
		return a;
	ahead_free(a);
	return NULL;
}

struct pages *wal_ahead_take(struct wal_ahead *a)
{
	struct pages *pages = NULL;

	if (!a)
		return NULL;
	pthread_join(a->thread, NULL);
	if (a->read)
		pages = TAKE_PTR(a->pages);
	ahead_free(a);
	return pages;
}
