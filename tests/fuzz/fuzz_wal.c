/* Any bytes as a log file: they are read, or told, and what is read is a batch in order.
 *
 * The first byte says how: 0, the rest is the file; otherwise the rest becomes records behind a
 * good header, with lengths and checks put right, so that what lies behind them is reached. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "store/wal_int.h"

#define SEED 42

/* One file, in memory. */
struct memory_fs {
	struct fs fs;
	const char *bytes;
	size_t n;
};

static int memory_open(struct fs *fs, const char *path, int flags, mode_t mode)
{
	return (flags & O_ACCMODE) == O_RDONLY ? 3 : -EROFS;
}

static int memory_close(struct fs *fs, int fd)
{
	return 0;
}

static ssize_t memory_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	const struct memory_fs *m = (const struct memory_fs *)fs;
	size_t some = at < m->n ? MIN(n, m->n - at) : 0;

	if (some)
		memcpy(bytes, m->bytes + at, some);
	return (ssize_t)some;
}

static int memory_list(struct fs *fs, const char *path, struct fs_names *ret_names)
{
	*ret_names = (struct fs_names){0};
	return fs_names_add(ret_names, "wal-0000000000000001.log");
}

static int memory_size(struct fs *fs, int fd, uint64_t *ret_size)
{
	*ret_size = ((const struct memory_fs *)fs)->n;
	return 0;
}

struct reading {
	uint64_t last, sum;
};

/* Touches whatever a reader would. */
static int replay(void *context, const struct wal_record *record)
{
	struct reading *r = context;
	const struct batch *b = record->batch;

	if (record->seq <= r->last)
		abort();
	r->last = record->seq;
	for (size_t i = 0; i < record->cursor_n; i++)
		r->sum += XXH3_64bits(record->cursors[i].name.p, record->cursors[i].name.n);
	if (!b)
		return 0;
	if (!batch_check(b))
		abort();
	for (size_t i = 0; i < b->event_n; i++)
		r->sum += batch_text(b, b->events[i].name).n + batch_service(b, &b->events[i]).n +
			  batch_place_get(b, i).seq;
	for (size_t i = 0; i < b->attr_n; i++)
		r->sum += attr_bits(b, &b->attrs[i]);
	for (size_t i = 0; i < b->nested_n; i++)
		r->sum += attr_bits(b, &b->nested[i]);
	return 0;
}

static void finding(void *context, const struct wal_finding *f)
{
	struct reading *r = context;

	r->sum += strlen(f->text) + strlen(f->file);
}

static void header_put(char *p)
{
	struct wal_file_header h = {.magic = {'C', 'A', 'U', 'S', 'E', 'T', 'W', 'L'},
				    .version = WAL_VERSION,
				    .bytes = sizeof(h),
				    .number = 1,
				    .first = 1,
				    .seed = SEED};

	h.check = XXH3_64bits(&h, 56);
	memcpy(p, &h, sizeof(h));
}

/* Makes records of the bytes, one behind the other, as far as they go. */
static void records_put(char *p, size_t n)
{
	uint64_t seq = 1;

	for (size_t at = 0; n - at >= sizeof(struct wal_record_header); seq++) {
		struct wal_record_header h;
		uint32_t *counts[] = {&h.strings,    &h.text_n,   &h.event_n, &h.place_n,
				      &h.attr_n,     &h.nested_n, &h.wide_n,  &h.extra_n,
				      &h.resource_n, &h.scope_n};

		memcpy(&h, p + at, sizeof(h));
		memcpy(&h.magic, "CWR1", 4);
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
			*counts[i] &= 15;
		h.cursor_bytes &= 63;
		h.bits &= 3;
		h.bytes = sizeof(h) + wal_payload_bytes(&h);
		h.seq = seq;
		h.previous = seq - 1;
		if (h.bytes > n - at)
			return;
		h.payload_check = XXH3_64bits(p + at + sizeof(h), h.bytes - sizeof(h));
		h.header_check = (uint32_t)XXH3_64bits_withSeed((char *)&h + 8, sizeof(h) - 8,
								wal_check_seed(SEED, 1));
		memcpy(p + at, &h, sizeof(h));
		at += h.bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fs_ops ops = {.open = memory_open,
					  .close = memory_close,
					  .pread = memory_pread,
					  .list = memory_list,
					  .size = memory_size};
	bool made = size > 0 && data[0] != 0;
	size_t header = made ? sizeof(struct wal_file_header) : 0, n = size ? size - 1 : 0;
	char *bytes = malloc(header + n + 1);
	struct memory_fs m = {{&ops}, bytes, header + n};
	struct reading reading = {0};
	const struct wal_options options = {
		.fs = &m.fs, .dir = "x", .replay = replay, .finding = finding, .context = &reading};
	struct error error;
	int r;

	if (!bytes)
		return 0;
	if (n)
		memcpy(bytes + header, data + 1, n);
	if (made) {
		header_put(bytes);
		records_put(bytes + header, n);
	}
	r = wal_check(&options, &error);
	if (r != 0 && r != -EPROTONOSUPPORT)
		abort();
	free(bytes);
	return 0;
}
