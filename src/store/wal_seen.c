/* store/wal_seen.c - hashes of request bodies: kept beside a log file in memory, and in a small
 * file of their own when the log file goes. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/wal_int.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SEEN_BYTES_MOST ((size_t)1 << 30) /* far more than a log file can hold */

bool wal_hashes_add(struct wal_hashes *h, const uint8_t hash[16], int64_t received_ns)
{
	if (!vec_reserve(&h->items, &h->capacity, h->n + 1, sizeof(*h->items)))
		return false;
	memcpy(h->items[h->n].hash, hash, 16);
	h->items[h->n++].received_ns = received_ns;
	return true;
}

int64_t wal_hashes_newest(const struct wal_hashes *h)
{
	int64_t newest = INT64_MIN;

	for (size_t i = 0; i < h->n; i++)
		newest = MAX(newest, h->items[i].received_ns);
	return newest;
}

static uint64_t seen_check(const struct wal_seen_header *h, const void *entries)
{
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, h, offsetof(struct wal_seen_header, check));
	XXH3_64bits_update(&state, entries, h->entries * sizeof(struct wal_hash));
	return XXH3_64bits_digest(&state);
}

int wal_seen_write(struct fs *fs, const char *dir, uint64_t number, uint64_t seed,
		   const struct wal_hashes *hashes, int64_t since_ns)
{
	_cleanup_(freep)
	char *bytes = malloc(sizeof(struct wal_seen_header) + hashes->n * sizeof(struct wal_hash));
	_cleanup_(freep)
	char *path = wal_path(dir, WAL_NAME_SEEN, number);
	struct wal_seen_header h = {.magic = {'C', 'A', 'U', 'S', 'E', 'T', 'S', 'N'},
				    .version = WAL_VERSION,
				    .bytes = sizeof(h),
				    .number = number,
				    .seed = seed};

	if (!bytes || !path)
		return -ENOMEM;
	for (size_t i = 0; i < hashes->n; i++)
		if (hashes->items[i].received_ns >= since_ns)
			memcpy(bytes + sizeof(h) + h.entries++ * sizeof(struct wal_hash),
			       &hashes->items[i], sizeof(struct wal_hash));
	if (h.entries == 0)
		return 0;
	h.check = seen_check(&h, bytes + sizeof(h));
	memcpy(bytes, &h, sizeof(h));
	return fs_replace(fs, dir, path, bytes, sizeof(h) + h.entries * sizeof(struct wal_hash));
}

int wal_seen_read(struct fs *fs, const char *dir, uint64_t number, uint64_t *ret_seed,
		  struct wal_hashes *ret_hashes)
{
	_cleanup_(freep)
	char *path = wal_path(dir, WAL_NAME_SEEN, number);
	_cleanup_(freep)
	char *bytes = NULL;
	struct wal_hashes hashes = {0};
	struct wal_seen_header h;
	size_t n;
	int r;

	if (!path)
		return -ENOMEM;
	r = fs_load(fs, path, SEEN_BYTES_MOST, &bytes, &n);
	if (r < 0)
		return r;
	if (n < sizeof(h))
		return -EBADMSG;
	memcpy(&h, bytes, sizeof(h));
	if (memcmp(h.magic, "CAUSETSN", 8) != 0 || h.version > WAL_VERSION ||
	    h.bytes != sizeof(h) || h.number != number ||
	    (n - sizeof(h)) % sizeof(struct wal_hash) != 0 ||
	    h.entries != (n - sizeof(h)) / sizeof(struct wal_hash) ||
	    h.check != seen_check(&h, bytes + sizeof(h)))
		return -EBADMSG;
	if (!vec_reserve(&hashes.items, &hashes.capacity, h.entries + 1, sizeof(*hashes.items)))
		return -ENOMEM;
	memcpy(hashes.items, bytes + sizeof(h), n - sizeof(h));
	hashes.n = h.entries;
	*ret_seed = h.seed;
	*ret_hashes = hashes;
	return 0;
}
