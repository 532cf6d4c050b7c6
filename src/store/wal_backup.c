/* store/wal_backup.c - a copy of the log as it is at one moment, while it goes on.
 *
 * The last file is being written.  Records are read in their order and copied when they are whole;
 * the first that is not ends the copy, unless it is damage in the middle: such a file is copied as
 * it is, for whoever opens the copy to judge. */
#include "store/wal_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/wal_int.h"

#define COPY_BYTES ((size_t)1 << 20)

struct opened {
	enum wal_name kind;
	struct wal_reader reader;
};

struct wal_backup {
	struct fs *fs;
	struct opened *files;
	size_t n, capacity;
};

struct wal_backup *wal_backup_close(struct wal_backup *b)
{
	if (!b)
		return NULL;
	for (size_t i = 0; i < b->n; i++)
		wal_reader_done(&b->files[i].reader);
	free(b->files);
	free(b);
	return NULL;
}

static int open_one(struct wal_backup *b, const char *dir, const char *name)
{
	_cleanup_(freep)
	char *path = fs_path(dir, name);
	struct opened one;
	uint64_t number;
	int r;

	if (!wal_name_parse(name, &one.kind, &number))
		return 0;
	if (!path || !vec_reserve(&b->files, &b->capacity, b->n + 1, sizeof(*b->files)))
		return -ENOMEM;
	r = wal_reader_open(&one.reader, b->fs, path, number);
	if (r == 0)
		b->files[b->n++] = one;
	return r == -ENOENT ? 0 : r; /* retired: all of it is in segments */
}

int wal_backup_open(struct fs *fs, const char *dir, struct wal_backup **ret_backup)
{
	struct wal_backup *b = calloc(1, sizeof(*b));
	struct fs_names names = {0};
	int r;

	if (!b)
		return -ENOMEM;
	b->fs = fs;
	r = fs_list(fs, dir, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = open_one(b, dir, names.items[i]);
	fs_names_done(&names);
	if (r < 0)
		wal_backup_close(b);
	else
		*ret_backup = b;
	return r;
}

/* Up to where the file is whole (0: it has nothing), and the number of its last record there. */
static int end_of(struct wal_reader *r, uint64_t *ret_end, uint64_t *ret_last)
{
	uint64_t at = sizeof(struct wal_file_header);
	struct wal_file_header header;
	enum wal_header_state state;
	int e = wal_reader_header(r, &header, &state);

	*ret_end = r->size;
	*ret_last = 0;
	if (e < 0 || state == WAL_HEADER_EMPTY) {
		*ret_end = 0;
		return e;
	}
	if (state != WAL_HEADER_GOOD)
		return 0;
	r->check_seed = wal_check_seed(header.seed, r->number);
	for (;;) {
		struct wal_record_header h;
		struct wal_loaded loaded;

		e = wal_reader_at(r, at, &h);
		if (e > 0) {
			e = wal_reader_load(r, at, &h, &loaded);
			if (e == 0)
				wal_loaded_done(&loaded);
			e = e == 0 ? 1 : e;
		}
		if (e == -ENOMEM)
			return e;
		if (e <= 0)
			break;
		at += h.bytes;
		*ret_last = h.seq;
	}
	*ret_end = at;
	return 0;
}

/* Does something follow a record that is not whole, so that it is damage and not the end?  In the
 * last file that is so if somebody says that it was durable. */
static bool goes_on(struct wal_reader *r, uint64_t end, uint64_t last, bool is_last)
{
	struct wal_record_header h;
	uint64_t at = end + 8;

	if (end >= r->size || wal_reader_zero(r, end))
		return false;
	while (wal_reader_find(r, at, &at, &h) > 0) {
		if (!is_last || h.synced > last)
			return true;
		at += h.bytes;
	}
	return false;
}

static int copy_bytes(struct wal_backup *b, struct wal_reader *r, int to, uint64_t end)
{
	_cleanup_(freep)
	char *bytes = malloc(COPY_BYTES);
	int e = bytes ? 0 : -ENOMEM;

	for (uint64_t at = 0; e == 0 && at < end;) {
		size_t n = (size_t)MIN((uint64_t)COPY_BYTES, end - at);

		e = fs_read_all(b->fs, r->fd, bytes, n, at);
		if (e == 0)
			e = fs_write_all(b->fs, to, bytes, n, at);
		at += n;
	}
	return e < 0 ? e : fs_sync(b->fs, to);
}

static int copy_one(struct wal_backup *b, size_t i, const char *to, uint64_t *bytes)
{
	struct opened *o = &b->files[i];
	_cleanup_(freep)
	char *path = wal_path(to, o->kind, o->reader.number);
	bool is_last = true;
	uint64_t end = o->reader.size, last;
	int fd, r = 0;

	if (!path)
		return -ENOMEM;
	for (size_t k = i + 1; k < b->n; k++)
		is_last &= b->files[k].kind != WAL_NAME_LOG;
	if (o->kind == WAL_NAME_LOG) {
		r = end_of(&o->reader, &end, &last);
		if (r == 0 && goes_on(&o->reader, end, last, is_last))
			end = o->reader.size;
	}
	if (r < 0 || end == 0)
		return r;
	fd = fs_open(b->fs, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fd;
	r = copy_bytes(b, &o->reader, fd, end);
	fs_close(b->fs, fd);
	*bytes += end;
	return r < 0 ? r : 1;
}

int wal_backup_copy(struct wal_backup *b, const char *to, uint64_t *ret_bytes)
{
	int files = 0;

	*ret_bytes = 0;
	for (size_t i = 0; i < b->n; i++) {
		int r = copy_one(b, i, to, ret_bytes);

		if (r < 0)
			return r;
		files += r;
	}
	return files;
}
