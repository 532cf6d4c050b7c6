/* store/feed_file.c - which batch each row of a segment came in.  Format: docs/format/feed.md. */
#include "store/feed_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/varint.h"

#define MAGIC     "causetF1"
#define MAGIC_N   8
#define FILE_MOST ((size_t)1 << 30) /* bytes */
#define NAME_MOST 32

void feed_runs_done(struct feed_runs *f)
{
	free(f->rows);
	*f = (struct feed_runs){0};
}

int feed_runs_add(struct feed_runs *f, uint64_t seq, uint64_t rows)
{
	if (rows == 0)
		return 0;
	if (f->n && f->rows[f->n - 1].seq == seq) {
		f->rows[f->n - 1].rows += rows;
	} else {
		if (!vec_reserve(&f->rows, &f->capacity, f->n + 1, sizeof(*f->rows)))
			return -ENOMEM;
		f->rows[f->n++] = (struct feed_run){rows, seq};
	}
	f->total += rows;
	return 0;
}

/* --- bytes --- */

static void put(struct buffer *out, uint64_t value)
{
	char *room = buffer_reserve(out, VARINT_MAX);

	if (room)
		out->n += varint_encode(value, (uint8_t *)room);
}

void feed_runs_encode(const struct feed_runs *f, struct buffer *out)
{
	size_t from = out->n;
	uint64_t last = 0, hash;

	buffer_append(out, MAGIC, MAGIC_N);
	put(out, f->total);
	put(out, f->n);
	for (size_t i = 0; i < f->n; i++) {
		put(out, f->rows[i].rows);
		put(out, zigzag_encode((int64_t)(f->rows[i].seq - last)));
		last = f->rows[i].seq;
	}
	if (out->failed)
		return;
	hash = XXH3_64bits(out->p + from, out->n - from);
	buffer_append(out, &hash, sizeof(hash));
}

static const uint8_t *run_decode(const uint8_t *p, const uint8_t *end, struct feed_runs *f,
				 size_t at, uint64_t last)
{
	uint64_t rows, difference;

	p = varint_decode(p, end, &rows);
	if (p)
		p = varint_decode(p, end, &difference);
	if (!p || rows == 0 || rows > f->total || (at > 0 && difference == 0))
		return NULL;
	f->rows[at] = (struct feed_run){rows, last + (uint64_t)zigzag_decode(difference)};
	return p;
}

int feed_runs_decode(struct slice bytes, struct feed_runs *ret_runs, struct error *error)
{
	const uint8_t *p = (const uint8_t *)bytes.p + MAGIC_N,
		      *end = (const uint8_t *)bytes.p + bytes.n - 8;
	struct feed_runs f = {0};
	uint64_t hash, runs, total = 0;

	if (bytes.n < MAGIC_N + 8 || memcmp(bytes.p, MAGIC, MAGIC_N) != 0)
		return error_at(error, -EBADMSG, 0, "not a feed's side file");
	memcpy(&hash, end, sizeof(hash));
	if (hash != XXH3_64bits(bytes.p, bytes.n - 8))
		return error_at(error, -EBADMSG, bytes.n - 8, "the checksum is wrong");
	p = varint_decode(p, end, &f.total);
	if (p)
		p = varint_decode(p, end, &runs);
	if (!p || runs > (uint64_t)(end - p) / 2)
		return error_at(error, -EBADMSG, MAGIC_N, "the counts are wrong");
	if (!vec_reserve(&f.rows, &f.capacity, runs, sizeof(*f.rows)))
		return -ENOMEM;
	for (; f.n < runs && p; f.n++) {
		p = run_decode(p, end, &f, f.n, f.n ? f.rows[f.n - 1].seq : 0);
		if (p && __builtin_add_overflow(total, f.rows[f.n].rows, &total))
			p = NULL;
	}
	if (p != end || total != f.total) {
		feed_runs_done(&f);
		return error_at(error, -EBADMSG, MAGIC_N, "the runs do not add up");
	}
	*ret_runs = f;
	return 0;
}

/* --- the file --- */

static char *path_of(const char *dir, uint64_t segment)
{
	char name[NAME_MOST];

	snprintf(name, sizeof(name), "seg-%016" PRIx64 ".feed", segment);
	return fs_path(dir, name);
}

int feed_file_save(struct fs *fs, const char *dir, uint64_t segment, const struct feed_runs *f)
{
	_cleanup_(freep)
	char *path = path_of(dir, segment);
	_cleanup_(buffer_done)
	struct buffer bytes = {0};

	feed_runs_encode(f, &bytes);
	if (!path || bytes.failed)
		return -ENOMEM;
	return fs_replace(fs, dir, path, bytes.p, bytes.n);
}

int feed_file_load(struct fs *fs, const char *dir, uint64_t segment, struct feed_runs *ret_runs,
		   struct error *error)
{
	_cleanup_(freep)
	char *path = path_of(dir, segment);
	_cleanup_(freep)
	char *bytes = NULL;
	size_t n;
	int r = path ? fs_load(fs, path, FILE_MOST, &bytes, &n) : -ENOMEM;

	return r < 0 ? r : feed_runs_decode(slice_of(bytes, n), ret_runs, error);
}

void feed_file_remove(struct fs *fs, const char *dir, uint64_t segment)
{
	_cleanup_(freep)
	char *path = path_of(dir, segment);

	if (path)
		fs_unlink(fs, path);
}
