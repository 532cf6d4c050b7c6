/* store/wal_read.c - reading one log file, whatever is in it.
 *
 * Small reads go through a window that moves forward over the file; a large payload is read
 * straight into the memory its batch will own. */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "store/wal_int.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define WINDOW_BYTES ((size_t)256 << 10)
#define SKIP_BYTES   4096 /* what is stepped over where the disk cannot read */

int wal_reader_open(struct wal_reader *r, struct fs *fs, const char *path, uint64_t number)
{
	int e;

	*r = (struct wal_reader){.fs = fs, .number = number};
	r->fd = fs_open(fs, path, O_RDONLY, 0);
	if (r->fd < 0)
		return r->fd;
	e = fs_size(fs, r->fd, &r->size);
	if (e == 0) {
		r->window = malloc(WINDOW_BYTES);
		e = r->window ? 0 : -ENOMEM;
	}
	if (e < 0)
		wal_reader_done(r);
	return e;
}

void wal_reader_done(struct wal_reader *r)
{
	fs_close(r->fs, r->fd);
	r->fd = -1;
	r->whole = pages_unref(r->whole);
	free(r->window);
	r->window = NULL;
}

/* Bytes at … at + n - 1, n <= WINDOW_BYTES, in the window.  -ENODATA behind the end. */
static int peek(struct wal_reader *r, uint64_t at, size_t n, const char **ret_p)
{
	if (at > r->size || n > r->size - at)
		return -ENODATA;
	if (r->whole) {
		*ret_p = r->whole->bytes + at;
		return 0;
	}
	if (at < r->window_at || at + n > r->window_at + r->window_n) {
		size_t want = (size_t)MIN((uint64_t)WINDOW_BYTES, r->size - at);
		int e;

		r->window_n = 0;
		e = fs_read_all(r->fs, r->fd, r->window, want, at);
		if (e < 0 && want > n) { /* perhaps it is only further on that it cannot be read */
			want = n;
			e = fs_read_all(r->fs, r->fd, r->window, want, at);
		}
		if (e < 0)
			return e;
		r->window_at = at;
		r->window_n = want;
	}
	*ret_p = r->window + (at - r->window_at);
	return 0;
}

static bool all_zero(const char *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		if (word)
			return false;
	}
	for (; n > 0; p++, n--)
		if (*p)
			return false;
	return true;
}

int wal_reader_header(struct wal_reader *r, struct wal_file_header *ret_header,
		      enum wal_header_state *ret_state)
{
	struct wal_file_header h;
	const char *p;
	int e = peek(r, 0, sizeof(h), &p);

	if (e == -ENODATA) {
		*ret_state = WAL_HEADER_EMPTY;
		return 0;
	}
	if (e < 0)
		return e;
	memcpy(&h, p, sizeof(h));
	if (memcmp(h.magic, "CAUSETWL", 8) == 0 && h.check == XXH3_64bits(&h, 56)) {
		*ret_state = h.version > WAL_VERSION ? WAL_HEADER_NEWER
			     : h.version == 0 || h.bytes != sizeof(h) || h.number != r->number
				     ? WAL_HEADER_DAMAGED
				     : WAL_HEADER_GOOD;
		*ret_header = h;
		return 0;
	}
	*ret_state = all_zero(p, sizeof(h)) ? WAL_HEADER_EMPTY : WAL_HEADER_DAMAGED;
	return 0;
}

int wal_reader_at(struct wal_reader *r, uint64_t at, struct wal_record_header *ret_header)
{
	struct wal_record_header h;
	const char *p;
	int e = peek(r, at, sizeof(h), &p);

	if (e == -ENODATA)
		return 0;
	if (e < 0)
		return e;
	memcpy(&h, p, sizeof(h));
	if (!wal_record_header_ok(&h, r->check_seed) || h.bytes > r->size - at)
		return 0;
	*ret_header = h;
	return 1;
}

int wal_reader_find(struct wal_reader *r, uint64_t from, uint64_t *ret_at,
		    struct wal_record_header *ret_header)
{
	for (uint64_t at = (from + 7) & ~(uint64_t)7; at < r->size;) {
		int found = wal_reader_at(r, at, ret_header);

		if (found == -ENOMEM)
			return found;
		if (found > 0) {
			*ret_at = at;
			return 1;
		}
		at += found < 0 ? SKIP_BYTES : 8;
	}
	return 0;
}

bool wal_reader_zero(struct wal_reader *r, uint64_t from)
{
	while (from < r->size) {
		size_t n = (size_t)MIN((uint64_t)WINDOW_BYTES, r->size - from);
		const char *p;

		if (peek(r, from, n, &p) < 0 || !all_zero(p, n))
			return false;
		from += n;
	}
	return true;
}

int wal_reader_load(struct wal_reader *r, uint64_t at, const struct wal_record_header *h,
		    struct wal_loaded *ret_loaded)
{
	_cleanup_(pages_unrefp)
	struct pages *own = NULL;
	size_t n = (size_t)(h->bytes - sizeof(*h));
	const char *p;
	int e;

	at += sizeof(*h);
	if (r->whole)
		return wal_record_load(h, pages_ref(r->whole), r->whole->bytes + at, ret_loaded);
	own = pages_new(n);
	if (!own)
		return -ENOMEM;
	if (n <= WINDOW_BYTES / 4) {
		e = peek(r, at, n, &p);
		if (e == 0 && n)
			memcpy(own->bytes, p, n);
	} else {
		e = fs_read_all(r->fs, r->fd, own->bytes, n, at);
	}
	if (e < 0)
		return e;
	p = own->bytes;
	return wal_record_load(h, TAKE_PTR(own), (char *)(uintptr_t)p, ret_loaded);
}
