/* store/wal_record.c - one record of the log: from an append to parts to write, and back.
 *
 * A batch is written as its arrays lie in memory and read back in one piece: nothing is encoded.
 * Sums over counts are 64 bits wide and counts 32, so they do not overflow. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/long_hash.h"
#include "store/wal_int.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define RECORD_MAGIC 0x31525743U /* "CWR1" */

static uint64_t padded(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

/* The arrays of a batch in the order of the file. */
enum { ARRAYS = 10 };

struct arrays {
	struct {
		const void *p;
		uint64_t bytes;
	} rows[ARRAYS];
};

static struct arrays arrays_of(const struct batch *b)
{
	if (b->block) /* they lie there as they will lie in the file */
		return (struct arrays){{{b->block, batch_arrays_bytes(b)}}};
	return (struct arrays){{
		{b->events, b->event_n * sizeof(*b->events)},
		{b->places, b->place_n * sizeof(*b->places)},
		{b->attrs, b->attr_n * sizeof(*b->attrs)},
		{b->nested, b->nested_n * sizeof(*b->nested)},
		{b->wides, b->wide_n * sizeof(*b->wides)},
		{b->extras, b->extra_n * sizeof(*b->extras)},
		{b->resources, b->resource_n * sizeof(*b->resources)},
		{b->scopes, b->scope_n * sizeof(*b->scopes)},
		{b->offset, (b->strings + 1) * sizeof(*b->offset)},
		{b->text, b->text_n},
	}};
}

static const char zeros[8];

static int cursors_measure(const struct store_append *a, uint64_t *ret_bytes)
{
	uint64_t bytes = 0;

	if (a->cursor_n > WAL_CURSORS_MOST)
		return -E2BIG;
	for (size_t i = 0; i < a->cursor_n; i++) {
		if (a->cursors[i].name.n > WAL_CURSOR_NAME_MOST)
			return -E2BIG;
		bytes += 8 + 4 + a->cursors[i].name.n;
	}
	*ret_bytes = bytes;
	return 0;
}

static void cursor_put(const struct store_cursor *cursor, char **at)
{
	uint32_t n = (uint32_t)cursor->name.n;

	memcpy(*at, &cursor->seq, 8);
	memcpy(*at + 8, &n, 4);
	if (n)
		memcpy(*at + 12, cursor->name.p, n);
	*at += 12 + n;
}

static void hash_cursors(XXH3_state_t *state, const struct store_append *a, uint64_t bytes)
{
	char one[12 + WAL_CURSOR_NAME_MOST];

	for (size_t i = 0; i < a->cursor_n; i++) {
		char *at = one;

		cursor_put(&a->cursors[i], &at);
		XXH3_64bits_update(state, one, (size_t)(at - one));
	}
	XXH3_64bits_update(state, zeros, padded(bytes) - bytes);
}

int wal_append_measure(struct store_append *a)
{
	uint64_t bytes = sizeof(struct wal_record_header), cursors;
	XXH3_state_t state;
	int r = cursors_measure(a, &cursors);

	if (r < 0)
		return r;
	if (a->batch && a->batch->block && cursors == 0) { /* nearly always */
		uint64_t n = batch_arrays_bytes(a->batch);

		a->bytes = bytes + n;
		a->checksum = long_hash_64(a->batch->block, n);
		return 0;
	}
	XXH3_64bits_reset(&state);
	if (a->batch) {
		struct arrays arrays = arrays_of(a->batch);

		for (int i = 0; i < ARRAYS; i++) {
			uint64_t n = arrays.rows[i].bytes;

			XXH3_64bits_update(&state, arrays.rows[i].p, n);
			XXH3_64bits_update(&state, zeros, padded(n) - n);
			bytes += padded(n);
		}
	}
	hash_cursors(&state, a, cursors);
	a->bytes = bytes + padded(cursors);
	a->checksum = XXH3_64bits_digest(&state);
	return 0;
}

bool wal_item_of(const struct store_append *a, struct arena *arena, struct wal_item *ret_item)
{
	struct wal_item item = {
		.seq = a->seq,
		.checksum = a->checksum,
		.bytes = a->bytes,
		.batch = a->batch,
		.has_body_hash = a->has_body_hash,
		.cursor_n = (uint32_t)a->cursor_n,
	};

	if (a->has_body_hash)
		memcpy(item.body_hash, a->body_hash, sizeof(item.body_hash));
	if (a->cursor_n) {
		char *p, *at;

		cursors_measure(a, &item.cursors.n);
		p = at = arena_alloc(arena, item.cursors.n);
		if (!p)
			return false;
		for (size_t i = 0; i < a->cursor_n; i++)
			cursor_put(&a->cursors[i], &at);
		item.cursors.p = p;
	}
	*ret_item = item;
	return true;
}

static size_t part_put(struct iovec *parts, size_t n, const void *p, uint64_t bytes)
{
	uint64_t padding = padded(bytes) - bytes;

	if (bytes)
		parts[n++] = (struct iovec){(void *)(uintptr_t)p, bytes};
	if (padding)
		parts[n++] = (struct iovec){(void *)(uintptr_t)zeros, padding};
	return n;
}

static uint32_t header_check(const struct wal_record_header *h, uint64_t check_seed)
{
	return (uint32_t)XXH3_64bits_withSeed((const char *)h + 8, sizeof(*h) - 8, check_seed);
}

size_t wal_item_parts(const struct wal_item *item, uint64_t check_seed, struct wal_record_header *h,
		      struct iovec parts[WAL_PARTS_MOST])
{
	const struct batch *b = item->batch;
	size_t n = 0;

	h->magic = RECORD_MAGIC;
	h->payload_check = item->checksum;
	h->bytes = item->bytes;
	h->seq = item->seq;
	memcpy(h->body_hash, item->body_hash, sizeof(h->body_hash));
	h->bits = (item->has_body_hash ? WAL_HAS_HASH : 0) | (b ? WAL_HAS_BATCH : 0);
	h->cursor_n = item->cursor_n;
	h->cursor_bytes = (uint32_t)item->cursors.n;
	n = part_put(parts, n, h, sizeof(*h));
	if (b) {
		struct arrays arrays = arrays_of(b);

		h->received_ns = b->received_ns;
		h->owner = b->owner;
		h->sender = b->sender;
		h->kept_threshold = b->kept_threshold;
		h->strings = (uint32_t)b->strings;
		h->text_n = (uint32_t)b->text_n;
		h->event_n = (uint32_t)b->event_n;
		h->attr_n = (uint32_t)b->attr_n;
		h->nested_n = (uint32_t)b->nested_n;
		h->wide_n = (uint32_t)b->wide_n;
		h->extra_n = (uint32_t)b->extra_n;
		h->resource_n = (uint32_t)b->resource_n;
		h->scope_n = (uint32_t)b->scope_n;
		h->place_n = (uint32_t)b->place_n;
		for (int i = 0; i < ARRAYS; i++)
			n = part_put(parts, n, arrays.rows[i].p, arrays.rows[i].bytes);
	}
	n = part_put(parts, n, item->cursors.p, item->cursors.n);
	h->header_check = header_check(h, check_seed);
	return n;
}

/* --- and back --- */

uint64_t wal_payload_bytes(const struct wal_record_header *h)
{
	uint64_t cursors = padded(h->cursor_bytes);

	if (!(h->bits & WAL_HAS_BATCH))
		return cursors;
	return padded((uint64_t)h->event_n * sizeof(struct event)) +
	       padded((uint64_t)h->place_n * sizeof(struct event_place)) +
	       padded((uint64_t)h->attr_n * sizeof(struct attr)) +
	       padded((uint64_t)h->nested_n * sizeof(struct attr)) +
	       padded((uint64_t)h->wide_n * sizeof(uint64_t)) +
	       padded((uint64_t)h->extra_n * sizeof(struct event_extra)) +
	       padded((uint64_t)h->resource_n * sizeof(struct resource)) +
	       padded((uint64_t)h->scope_n * sizeof(struct scope)) +
	       padded(((uint64_t)h->strings + 1) * sizeof(uint32_t)) + padded(h->text_n) + cursors;
}

bool wal_record_header_ok(const struct wal_record_header *h, uint64_t check_seed)
{
	return h->magic == RECORD_MAGIC && h->header_check == header_check(h, check_seed) &&
	       h->bytes == sizeof(*h) + wal_payload_bytes(h) && h->seq > h->previous &&
	       h->seq < UINT64_MAX && h->cursor_n <= WAL_CURSORS_MOST;
}

static void *array_take(char **at, uint64_t bytes)
{
	char *p = *at;

	*at += padded(bytes);
	return p;
}

static struct batch *batch_of(const struct wal_record_header *h, char **at)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->refs = 1;
	b->owner = h->owner;
	b->sender = h->sender;
	b->kept_threshold = h->kept_threshold;
	b->received_ns = h->received_ns;
	b->event_n = b->event_capacity = h->event_n;
	b->place_n = b->place_capacity = h->place_n;
	b->attr_n = b->attr_capacity = h->attr_n;
	b->nested_n = b->nested_capacity = h->nested_n;
	b->wide_n = b->wide_capacity = h->wide_n;
	b->extra_n = b->extra_capacity = h->extra_n;
	b->resource_n = b->resource_capacity = h->resource_n;
	b->scope_n = b->scope_capacity = h->scope_n;
	b->strings = h->strings;
	b->offset_capacity = b->strings + 1;
	b->text_n = b->text_capacity = h->text_n;
	b->events = array_take(at, b->event_n * sizeof(*b->events));
	b->places = array_take(at, b->place_n * sizeof(*b->places));
	b->attrs = array_take(at, b->attr_n * sizeof(*b->attrs));
	b->nested = array_take(at, b->nested_n * sizeof(*b->nested));
	b->wides = array_take(at, b->wide_n * sizeof(*b->wides));
	b->extras = array_take(at, b->extra_n * sizeof(*b->extras));
	b->resources = array_take(at, b->resource_n * sizeof(*b->resources));
	b->scopes = array_take(at, b->scope_n * sizeof(*b->scopes));
	b->offset = array_take(at, b->offset_capacity * sizeof(*b->offset));
	b->text = array_take(at, b->text_n);
	return b;
}

/* What batch_check() does not ask, since decoders cannot get it wrong: truth values are 0 or 1, and
 * nested values lie behind what they are nested in, so nothing contains itself. */
static bool bool_ok(const struct attr *a)
{
	return a->type != VALUE_BOOL || a->word <= 1;
}

static bool nested_ok(const struct batch *b, size_t i)
{
	const struct attr *a = &b->nested[i];
	struct value_range children;

	if (a->type != VALUE_ARRAY && a->type != VALUE_KVLIST)
		return bool_ok(a);
	children = attr_children(b, a);
	return children.count == 0 || children.first > i;
}

static bool values_ok(const struct batch *b)
{
	for (size_t i = 0; i < b->attr_n; i++)
		if (!bool_ok(&b->attrs[i]))
			return false;
	for (size_t i = 0; i < b->nested_n; i++)
		if (!nested_ok(b, i))
			return false;
	for (size_t i = 0; i < b->extra_n; i++)
		if (!bool_ok(&b->extras[i].body))
			return false;
	for (size_t i = 0; i < b->resource_n; i++)
		if (!bool_ok(&b->resources[i].entities))
			return false;
	return true;
}

static bool cursors_load(const struct wal_record_header *h, const char *p,
			 struct store_cursor cursors[WAL_CURSORS_MOST])
{
	const char *end = p + h->cursor_bytes;

	for (uint32_t i = 0; i < h->cursor_n; i++) {
		uint32_t n;

		if (end - p < 12)
			return false;
		memcpy(&cursors[i].seq, p, 8);
		memcpy(&n, p + 8, 4);
		p += 12;
		if (n > WAL_CURSOR_NAME_MOST || n > (size_t)(end - p))
			return false;
		cursors[i].name = slice_of(p, n);
		p += n;
	}
	return p == end;
}

int wal_record_load(const struct wal_record_header *h, struct pages *pages, char *payload,
		    struct wal_loaded *ret)
{
	_cleanup_(wal_loaded_done)
	struct wal_loaded loaded = {.pages = pages};
	char *at = payload;

	if (long_hash_64(payload, h->bytes - sizeof(*h)) != h->payload_check)
		return -EBADMSG;
	if (h->bits & WAL_HAS_BATCH) {
		struct batch *b = batch_of(h, &at);

		if (!b)
			return -ENOMEM;
		b->pages = TAKE_PTR(loaded.pages);
		loaded.batch = b;
		if (b->strings == 0 || b->extra_n == 0 || !batch_check(b) || !values_ok(b))
			return -EBADMSG;
	}
	if (!cursors_load(h, at, loaded.cursors))
		return -EBADMSG;
	*ret = loaded;
	loaded = (struct wal_loaded){0};
	return 0;
}

void wal_loaded_done(struct wal_loaded *loaded)
{
	batch_unref(loaded->batch);
	pages_unref(loaded->pages);
	loaded->batch = NULL;
	loaded->pages = NULL;
}
