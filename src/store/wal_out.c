/* store/wal_out.c - the log file being written.
 *
 * last, synced and kept tell what is where:
 *
 *   1 …… synced        on the disk
 *   synced+1 …… last   acknowledged and kept (WAL_SYNC_INTERVAL), or just acknowledged (NEVER)
 *   last+1 ……          in nobody's hands: the group that is being written
 *
 * With WAL_SYNC_ALWAYS the page cache is no help: each group goes to the disk at once.  So it is
 * copied to an aligned buffer, past the caches, and written with O_DIRECT, in whole blocks; the
 * last block of a group is written again with the next one.  A write that is torn there leaves each
 * sector old or new, and what was acknowledged is the same in both.
 *
 * A new file says that in earlier ones nothing behind what it builds on counts, and writes again
 * what is kept. */
#include "store/wal_out.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/copy_past.h"
#include "base/vec.h"
#include "core/clock.h"

#define BLOCK_BYTES  ((size_t)4096)
#define BUFFER_BYTES ((size_t)2 << 20) /* one large page: the kernel need not look up many */

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Memory for whole blocks; none is no harm.  Touched at once: the system may take long to find a
 * large page. */
static char *buffer_new(void)
{
	char *buffer = aligned_alloc(BUFFER_BYTES, BUFFER_BYTES);

	if (buffer) {
		madvise(buffer, BUFFER_BYTES, MADV_HUGEPAGE); /* or not */
		buffer[0] = 0;
	}
	return buffer;
}

void wal_out_init(struct wal_out *out, const struct wal_options *options, uint64_t seed,
		  uint64_t last, uint64_t next_number)
{
	*out = (struct wal_out){
		.fs = options->fs,
		.dir = options->dir,
		.sync = options->sync,
		.file_bytes = options->file_bytes,
		.seed = seed,
		.fd = -1,
		.next_number = next_number,
		.next_seq = last + 1,
		.last = last,
		.synced = last,
		.buffer = options->sync == WAL_SYNC_ALWAYS ? buffer_new() : NULL,
	};
}

static void kept_done(struct wal_out *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		out->kept_bytes -= out->kept[i].item.bytes;
		batch_unref(out->kept[i].item.batch);
		free((void *)(uintptr_t)out->kept[i].item.cursors.p);
	}
	out->kept_n -= n;
	if (n && out->kept_n)
		memmove(out->kept, out->kept + n, out->kept_n * sizeof(*out->kept));
}

void wal_out_done(struct wal_out *out)
{
	kept_done(out, out->kept_n);
	free(out->kept);
	free(out->buffer);
	free(out->headers);
	free(out->parts);
}

bool wal_out_fits(const struct wal_out *out, uint64_t bytes)
{
	return out->fd >= 0 && bytes <= out->allocated - out->at;
}

/* -ENOMEM is ours alone, from before anything was written. */
static int disk_error(int r)
{
	return r == -ENOMEM ? -EIO : r;
}

static int buffer_flush(struct wal_out *out, size_t n)
{
	return fs_write_all(out->fs, out->fd, out->buffer, n, out->buffer_at);
}

/* Through the buffer, behind what it holds. */
static int write_direct(struct wal_out *out, const struct iovec *parts, size_t part_n)
{
	size_t whole, padded;
	int r;

	for (size_t i = 0; i < part_n; i++) {
		const char *p = parts[i].iov_base;

		for (size_t left = parts[i].iov_len, n; left > 0; left -= n, p += n) {
			n = MIN(left, BUFFER_BYTES - out->buffer_n);
			copy_past(out->buffer + out->buffer_n, p, n);
			out->buffer_n += n;
			if (out->buffer_n < BUFFER_BYTES)
				continue;
			r = buffer_flush(out, BUFFER_BYTES);
			if (r < 0)
				return r;
			out->buffer_at += BUFFER_BYTES;
			out->buffer_n = 0;
		}
	}
	whole = out->buffer_n & ~(BLOCK_BYTES - 1);
	padded = (out->buffer_n + BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1);
	memset(out->buffer + out->buffer_n, 0, padded - out->buffer_n);
	r = padded ? buffer_flush(out, padded) : 0;
	if (r < 0)
		return r;
	memmove(out->buffer, out->buffer + whole, out->buffer_n - whole);
	out->buffer_at += whole;
	out->buffer_n -= whole;
	return 0;
}

/* Behind everything that is written. */
static int write_parts(struct wal_out *out, struct iovec *parts, size_t part_n)
{
	return disk_error(out->buffer ? write_direct(out, parts, part_n)
				      : fs_write_parts(out->fs, out->fd, parts, part_n, out->at));
}

/* Writes records at `at`; 0 and where they end. */
static int put(struct wal_out *out, const struct wal_item *items, size_t n, uint64_t previous,
	       uint64_t *ret_end)
{
	uint64_t at = out->at, check_seed = wal_check_seed(out->seed, out->number);
	size_t part_n = 0;
	int r;

	if (!vec_reserve(&out->headers, &out->header_capacity, n, sizeof(*out->headers)) ||
	    !vec_reserve(&out->parts, &out->part_capacity, n * WAL_PARTS_MOST, sizeof(*out->parts)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		out->headers[i] =
			(struct wal_record_header){.previous = previous, .synced = out->synced};
		part_n += wal_item_parts(&items[i], check_seed, &out->headers[i],
					 out->parts + part_n);
		previous = items[i].seq;
		at += items[i].bytes;
	}
	r = write_parts(out, out->parts, part_n);
	if (r < 0)
		return r;
	*ret_end = at;
	return 0;
}

/* --- beginning --- */

static int header_write(struct wal_out *out, uint64_t base)
{
	struct wal_file_header h = {.magic = {'C', 'A', 'U', 'S', 'E', 'T', 'W', 'L'},
				    .version = WAL_VERSION,
				    .bytes = sizeof(h),
				    .number = out->number,
				    .first = base + 1,
				    .seed = out->seed,
				    .created_ns = clock_wall_ns(),
				    .previous = base};

	struct iovec part = {&h, sizeof(h)};
	int r;

	h.check = XXH3_64bits(&h, offsetof(struct wal_file_header, check));
	out->at = out->buffer_at = out->buffer_n = 0;
	r = write_parts(out, &part, 1);
	out->at = sizeof(h);
	return r;
}

static int kept_write(struct wal_out *out, uint64_t base)
{
	_cleanup_(freep)
	struct wal_item *items = NULL;

	if (out->kept_n == 0)
		return 0;
	items = malloc(out->kept_n * sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < out->kept_n; i++)
		items[i] = out->kept[i].item;
	return put(out, items, out->kept_n, base, &out->at);
}

static int fill_new(struct wal_out *out, uint64_t bytes)
{
	/* Without syncing everything that was acknowledged counts where it is. */
	uint64_t base = out->sync == WAL_SYNC_NEVER ? out->last : out->synced;
	int r = fs_allocate(out->fs, out->fd, bytes);

	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	out->allocated = bytes;
	r = header_write(out, base);
	if (r == 0)
		r = kept_write(out, base);
	if (r < 0 || out->sync == WAL_SYNC_NEVER)
		return r;
	r = fs_sync(out->fs, out->fd);
	return r < 0 ? r : fs_sync_dir(out->fs, out->dir);
}

/* A new file, open past the page cache if that is wanted and can be. */
static int open_new(struct wal_out *out, const char *path)
{
	int flags = O_RDWR | O_CREAT | O_EXCL, fd;

	if (out->sync == WAL_SYNC_ALWAYS && !out->buffer)
		out->buffer = buffer_new();
	if (out->buffer) {
		fd = fs_open(out->fs, path, flags | O_DIRECT, 0600);
		if (fd != -EINVAL)
			return fd;
		free(out->buffer); /* not here, then */
		out->buffer = NULL;
		fs_unlink(out->fs, path); /* it may have been made all the same */
	}
	return fs_open(out->fs, path, flags, 0600);
}

int wal_out_begin(struct wal_out *out, uint64_t bytes)
{
	_cleanup_(freep)
	char *path = wal_path(out->dir, WAL_NAME_LOG, out->next_number);
	int r;

	if (!path)
		return -ENOMEM;
	bytes += sizeof(struct wal_file_header) + out->kept_bytes;
	out->fd = open_new(out, path);
	if (out->fd < 0) {
		r = out->fd;
		out->fd = -1;
		out->next_number += r == -EEXIST; /* a stranger's; not in our way again */
		return r;
	}
	out->number = out->next_number++;
	r = fill_new(out, MAX(bytes, out->file_bytes));
	if (r < 0) {
		fs_close(out->fs, out->fd);
		out->fd = -1;
		fs_unlink(out->fs, path);
		return r;
	}
	if (out->sync != WAL_SYNC_NEVER)
		out->synced = out->last;
	kept_done(out, out->kept_n);
	return 0;
}

/* --- writing --- */

/* Room and copies for what will be kept, so that nothing can fail after the write. */
static int keep_reserve(struct wal_out *out, const struct wal_item *items, size_t n)
{
	if (!vec_reserve(&out->kept, &out->kept_capacity, out->kept_n + n, sizeof(*out->kept)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wal_kept *kept = &out->kept[out->kept_n + i];

		kept->item = items[i];
		kept->item.cursors.p = NULL;
		if (items[i].cursors.n) {
			char *copy = malloc(items[i].cursors.n);

			if (!copy) {
				while (i-- > 0)
					free((void *)(uintptr_t)out->kept[out->kept_n + i]
						     .item.cursors.p);
				return -ENOMEM;
			}
			memcpy(copy, items[i].cursors.p, items[i].cursors.n);
			kept->item.cursors.p = copy;
		}
	}
	return 0;
}

static void keep_commit(struct wal_out *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct wal_item *item = &out->kept[out->kept_n++].item;

		if (item->batch)
			batch_ref(item->batch);
		out->kept_bytes += item->bytes;
	}
}

static void keep_cancel(struct wal_out *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)out->kept[out->kept_n + i].item.cursors.p);
}

int wal_out_write(struct wal_out *out, const struct wal_item *items, size_t n)
{
	bool keep = out->sync == WAL_SYNC_INTERVAL;
	uint64_t end;
	int r = keep ? keep_reserve(out, items, n) : 0;

	if (r < 0)
		return r;
	r = put(out, items, n, out->last, &end);
	if (r == 0 && out->sync == WAL_SYNC_ALWAYS)
		r = disk_error(fs_sync(out->fs, out->fd));
	if (r < 0) {
		if (keep)
			keep_cancel(out, n);
		return r;
	}
	if (keep)
		keep_commit(out, n);
	out->at = end;
	out->last = items[n - 1].seq;
	if (out->sync == WAL_SYNC_ALWAYS)
		out->synced = out->last;
	return 0;
}

int wal_out_sync(struct wal_out *out)
{
	int r;

	if (out->fd < 0 || out->sync == WAL_SYNC_NEVER || out->synced == out->last)
		return 0;
	r = fs_sync(out->fs, out->fd);
	if (r < 0)
		return r;
	out->synced = out->last;
	kept_done(out, out->kept_n);
	return 0;
}

void wal_out_forget(struct wal_out *out, uint64_t seq)
{
	size_t n = 0;

	while (n < out->kept_n && out->kept[n].item.seq <= seq)
		n++;
	if (n) {
		out->synced = MAX(out->synced, out->kept[n - 1].item.seq);
		kept_done(out, n);
	}
}

/* --- ending --- */

int wal_out_end(struct wal_out *out)
{
	int r = wal_out_sync(out);

	if (r < 0)
		return r;
	fs_truncate(out->fs, out->fd,
		    out->at); /* gives back what was allocated; no matter if not */
	fs_close(out->fs, out->fd);
	out->fd = -1;
	return 0;
}

void wal_out_leave(struct wal_out *out)
{
	if (out->fd < 0)
		return;
	fs_truncate(out->fs, out->fd, out->at);
	fs_close(out->fs, out->fd);
	out->fd = -1;
}
