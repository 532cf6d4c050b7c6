/* store/store_backup.c - a consistent copy of a store: segments linked, the log copied, the
 * manifest last. */
#include "store/store_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/engine_int.h"
#include "store/manifest.h"
#include "store/wal_backup.h"

#define COPY_BYTES ((size_t)1 << 20)

static int bytes_copy_file(struct fs *fs, int from, int to, uint64_t *ret_bytes)
{
	_cleanup_(freep)
	char *bytes = malloc(COPY_BYTES);
	uint64_t at = 0;

	if (!bytes)
		return -ENOMEM;
	for (;;) {
		ssize_t n = fs_pread(fs, from, bytes, COPY_BYTES, at);
		int r = n < 0 ? (int)n : n ? fs_write_all(fs, to, bytes, (size_t)n, at) : 0;

		if (r < 0)
			return r;
		if (n == 0)
			break;
		at += (uint64_t)n;
	}
	*ret_bytes = at;
	return fs_sync(fs, to);
}

int file_copy(struct fs *fs, const char *from, const char *to, bool link, uint64_t *ret_bytes)
{
	int in = fs_open(fs, from, O_RDONLY, 0), out, r;

	if (in < 0)
		return in;
	/* Another file system, or one that has no links, or too many of them: then a copy. */
	r = link ? fs_link(fs, from, to) : -EXDEV;
	if (r == 0) {
		r = fs_size(fs, in, ret_bytes);
		fs_close(fs, in);
		return r < 0 ? r : 1;
	}
	out = r == -EEXIST ? r : fs_open(fs, to, O_WRONLY | O_CREAT | O_EXCL, 0600);
	r = out < 0 ? out : bytes_copy_file(fs, in, out, ret_bytes);
	if (out >= 0)
		fs_close(fs, out);
	fs_close(fs, in);
	return r;
}

static int copy_named(struct fs *fs, const char *dir, const char *to, const char *name, bool links,
		      struct store_copied *copied)
{
	_cleanup_(freep)
	char *source = fs_path(dir, name);
	_cleanup_(freep)
	char *target = fs_path(to, name);
	uint64_t bytes = 0;
	int r = source && target ? file_copy(fs, source, target, links, &bytes) : -ENOMEM;

	if (r < 0)
		return r;
	copied->files++;
	copied->bytes += bytes;
	copied->linked += (uint64_t)r;
	return 0;
}

/* The files of the manifest's segments.  A side file that is not there is as good as none. */
static int segments_copy(struct fs *fs, const char *dir, const char *to, bool links,
			 struct manifest *m, struct store_copied *copied)
{
	for (size_t i = 0; i < m->segment_n; i++) {
		struct manifest_segment *row = &m->segments[i];
		char name[64];
		int r;

		segment_name(row->number, name);
		r = copy_named(fs, dir, to, name, links, copied);
		if (r < 0)
			return r;
		copied->segments++;
		copied->blocks += row->blocks;
		if (!row->feed)
			continue;
		snprintf(name, sizeof(name), "seg-%016llx.feed", (unsigned long long)row->number);
		r = copy_named(fs, dir, to, name, links, copied);
		if (r == -ENOENT)
			row->feed = false;
		else if (r < 0)
			return r;
	}
	return 0;
}

static int empty_check(struct fs *fs, const char *to, struct error *error)
{
	struct fs_names names = {0};
	int r = fs_list(fs, to, &names);
	size_t n = names.n;

	fs_names_done(&names);
	if (r < 0)
		return error_set(error, r, "cannot use %s: %s", to, strerror(-r));
	return n ? error_set(error, -ENOTEMPTY, "%s is not empty", to) : 0;
}

static int finish(struct fs *fs, const char *to, const struct manifest *m, struct wal_backup *log,
		  struct store_copied *copied)
{
	uint64_t bytes;
	int r = wal_backup_copy(log, to, &bytes);

	if (r < 0)
		return r;
	copied->files += (uint64_t)r + 1;
	copied->bytes += bytes;
	r = fs_sync_dir(fs, to);
	return r < 0 ? r : manifest_save(fs, to, m);
}

static int say(int r, const char *to, struct error *error)
{
	return r < 0 ? error_set(error, r, "cannot write a backup to %s: %s", to, strerror(-r)) : r;
}

int store_backup(struct fs *fs, const char *dir, const char *to, bool links,
		 struct store_copied *ret_copied, struct error *error)
{
	_cleanup_(wal_backup_closep)
	struct wal_backup *log = NULL;
	_cleanup_(manifest_done)
	struct manifest m = {0};
	struct store_copied copied = {0};
	int r = manifest_load(fs, dir, &m, error);

	if (r == -ENOENT)
		return error_set(error, r,
				 "there is no store in %s, or it has lost its " MANIFEST_NAME, dir);
	if (r < 0)
		return r;
	r = empty_check(fs, to, error);
	if (r < 0)
		return r;
	r = wal_backup_open(fs, dir, &log);
	if (r == 0)
		r = segments_copy(fs, dir, to, links, &m, &copied);
	if (r == 0)
		r = finish(fs, to, &m, log, &copied);
	if (r == 0)
		*ret_copied = copied;
	return say(r, to, error);
}

/* With `files` held nothing flushes, merges or goes away; the log is only opened meanwhile, and
 * copied when others may go on: its open files stay readable whatever becomes of their names. */
int engine_backup(struct store *s, const char *to, struct store_copied *ret_copied,
		  struct error *error)
{
	struct engine *e = engine_of(s);
	_cleanup_(wal_backup_closep)
	struct wal_backup *log = NULL;
	_cleanup_(manifest_done)
	struct manifest m = {0};
	struct store_copied copied = {0};
	int r = empty_check(e->fs, to, error);

	if (r < 0)
		return r;
	pthread_mutex_lock(&e->files);
	r = manifest_dup(&e->manifest, &m);
	if (r == 0)
		r = wal_backup_open(e->fs, e->dir, &log);
	if (r == 0)
		r = segments_copy(e->fs, e->dir, to, true, &m, &copied);
	pthread_mutex_unlock(&e->files);
	if (r == 0)
		r = finish(e->fs, to, &m, log, &copied);
	if (r == 0)
		*ret_copied = copied;
	return say(r, to, error);
}
