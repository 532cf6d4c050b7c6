/* segment/totals.c - spans of a segment by kind, counted while it is written. */
#include "segment/totals.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define SLOTS_FIRST 1024              /* a power of two; twice as many as keys, or more */
#define ROW_SLOTS   (4 * TOTALS_MOST) /* another */
#define CHUNKS_MOST 32768             /* 2 MiB, and 8 where all have many spans */
#define CHUNKS_SOFT 6144 /* what is counted into should stay in the processor's caches */

void totals_init(struct totals *t, const struct batch *tables)
{
	*t = (struct totals){.tables = tables, .apart = APART_ALL, .chunk_soft = CHUNKS_SOFT};
}

void totals_done(struct totals *t)
{
	free(t->rows);
	free(t->chunks);
	free(t->wide);
	free(t->wide_of);
	free(t->known);
	free(t->slots);
	free(t->row_slots);
	*t = (struct totals){0};
}

static int give_up(struct totals *t)
{
	totals_done(t);
	t->given_up = true;
	return 0;
}

/* --- rows --- */

static bool key_eq(const struct totals_key *a, const struct totals_key *b)
{
	return a->name == b->name && a->source == b->source && a->status == b->status &&
	       a->kind == b->kind && a->type == b->type;
}

static uint32_t key_hash(const struct totals_key *k)
{
	uint64_t a = (uint64_t)k->source << 32 | k->name, b = (uint64_t)(uint32_t)k->kind << 8 ^
							      (uint64_t)(uint32_t)k->status << 40 ^
							      k->type;

	return (uint32_t)((a * 0x9e3779b97f4a7c15ULL ^ b * 0xe7037ed1a0b428dbULL) *
				  0x9e3779b97f4a7c15ULL >>
			  40);
}

/* A new row; UINT32_MAX without memory. */
static uint32_t row_add(struct totals *t, const struct totals_key *key)
{
	if (!vec_reserve(&t->rows, &t->capacity, t->n + 1, sizeof(*t->rows)))
		return UINT32_MAX;
	t->rows[t->n] = (struct total){.key = *key, .shortest = INT64_MAX};
	return (uint32_t)t->n++;
}

static int relieve(struct totals *t);

int totals_room(struct totals *t, struct total *row, uint32_t octave)
{
	if (t->chunk_n == CHUNKS_MOST)
		return totals_coarsen(t);
	if (t->chunk_n == t->chunk_soft) {
		t->chunk_soft *= 2;
		return relieve(t);
	}
	if (!vec_reserve(&t->chunks, &t->chunk_capacity, t->chunk_n + 1, sizeof(*t->chunks)) ||
	    !vec_reserve(&t->wide_of, &t->wide_of_capacity, t->chunk_n + 1, sizeof(*t->wide_of)))
		return -ENOMEM;
	memset(t->chunks[t->chunk_n], 0, sizeof(*t->chunks));
	t->wide_of[t->chunk_n] = 0;
	row->chunks[octave] = (uint16_t)++t->chunk_n;
	return 0;
}

int totals_more(struct totals *t, uint16_t chunk, uint32_t place, uint32_t more)
{
	uint8_t *count = &t->chunks[chunk - 1][place];
	uint16_t *wide = &t->wide_of[chunk - 1];

	if (more <= (uint32_t)UINT8_MAX - *count) {
		*count = (uint8_t)(*count + more);
		return 0;
	}
	if (!*wide) {
		if (!vec_reserve(&t->wide, &t->wide_capacity, t->wide_n + 1, sizeof(*t->wide)))
			return -ENOMEM;
		memset(t->wide[t->wide_n], 0, sizeof(*t->wide));
		*wide = (uint16_t)++t->wide_n;
	}
	t->wide[*wide - 1][place] += *count + more - 1;
	*count = 1; /* 0 stands for none at all */
	return 0;
}

/* Adds the counts of a chunk to another; most are zero, and some at a time are looked at. */
static int chunk_merge(struct totals *to, uint16_t into, const struct totals *from, uint16_t chunk)
{
	for (uint32_t at = 0; at < PLACES_PER; at += sizeof(uint64_t)) {
		uint64_t some;

		memcpy(&some, &from->chunks[chunk - 1][at], sizeof(some));
		for (uint32_t i = at; some; i++, some >>= 8) {
			uint32_t more = some & UINT8_MAX ? totals_count(from, chunk, i) : 0;

			if (!more)
				continue;
			to->places += !to->chunks[into - 1][i];
			if (totals_more(to, into, i, more) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int row_merge(struct totals *to, struct total *into, const struct totals *from,
		     const struct total *row)
{
	into->kinds |= row->kinds;
	into->spans += row->spans;
	into->errors += row->errors;
	into->zeros += row->zeros;
	into->timed += row->timed;
	into->sum += row->sum;
	into->shortest = MIN(into->shortest, row->shortest);
	into->longest = MAX(into->longest, row->longest);
	for (uint32_t k = 0; k < PLACES_OCTAVES; k++) {
		if (!row->chunks[k])
			continue;
		/* There are no more of them than there were. */
		if (!into->chunks[k] && totals_room(to, into, k) < 0)
			return -ENOMEM;
		if (chunk_merge(to, into->chunks[k], from, row->chunks[k]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* --- taking together --- */

/* The code of the resource's service.  False if "service" could mean several things. */
static bool service_of(const struct batch *b, uint32_t resource, uint32_t *ret_code)
{
	struct attr_range range = b->resources[resource].attrs;
	bool found = false;

	*ret_code = 0;
	for (uint32_t i = 0; i < range.count; i++) {
		const struct attr *a = &b->attrs[range.first + i];

		if (!slice_eq(batch_text(b, a->key), SLICE("service.name")))
			continue;
		if (found || a->type != VALUE_STRING)
			return false;
		found = true;
		*ret_code = a->string;
	}
	return true;
}

/* A key as it came becomes one of what is kept apart.  False: it cannot. */
static bool key_coarsen(const struct totals *t, struct totals_key *key)
{
	if (!(t->apart & APART_KIND))
		key->kind = 0;
	if (!(t->apart & APART_STATUS))
		key->status = 0;
	return t->apart & APART_RESOURCE || service_of(t->tables, key->source, &key->source);
}

/* The row of a key that is kept apart, made if it is new; UINT32_MAX without memory. */
static uint32_t row_find(struct totals *t, const struct totals_key *key)
{
	uint32_t at = key_hash(key) & (ROW_SLOTS - 1), row;

	for (; (row = t->row_slots[at]); at = (at + 1) & (ROW_SLOTS - 1))
		if (key_eq(&t->rows[row - 1].key, key))
			return row - 1;
	row = row_add(t, key);
	t->row_slots[at] = row + 1; /* UINT32_MAX becomes 0 */
	return row;
}

/* Rows that are alike in what is still kept apart become one. */
static int rows_join(struct totals *t, struct totals *to, uint32_t *moved)
{
	memset(moved, 0, t->n * sizeof(*moved));
	for (size_t i = 0; i < t->known_n; i++) {
		struct totals_key key = t->known[i].key;
		uint32_t old = t->known[i].row;

		if (!moved[old]) { /* the first of its row stands for all: they are alike */
			if (!key_coarsen(to, &key))
				return -EINVAL;
			moved[old] = row_find(to, &key) + 1;
			if (moved[old] == 0 ||
			    row_merge(to, &to->rows[moved[old] - 1], t, &t->rows[old]) < 0)
				return -ENOMEM;
		}
		t->known[i].row = moved[old] - 1;
	}
	return 0;
}

static unsigned coarser(unsigned apart)
{
	return apart & APART_RESOURCE ? APART_KIND | APART_STATUS
	       : apart & APART_KIND   ? (unsigned)APART_STATUS
				      : 0;
}

int totals_coarsen(struct totals *t)
{
	struct totals to = {.tables = t->tables, .chunk_soft = SIZE_MAX};
	_cleanup_(freep)
	uint32_t *moved = NULL;
	int r;

	if (t->apart == 0)
		return give_up(t);
	to.apart = coarser(t->apart);
	to.row_slots = calloc(ROW_SLOTS, sizeof(*to.row_slots));
	moved = malloc((t->n + 1) * sizeof(*moved));
	r = to.row_slots && moved ? rows_join(t, &to, moved) : -ENOMEM;
	if (r < 0) {
		totals_done(&to);
		return r == -EINVAL ? give_up(t) : r;
	}
	free(t->rows);
	free(t->chunks);
	free(t->wide);
	free(t->wide_of);
	free(t->row_slots);
	to.known = t->known;
	to.known_n = t->known_n;
	to.known_capacity = t->known_capacity;
	to.slots = t->slots;
	to.slot_n = t->slot_n;
	to.chunk_soft = t->chunk_soft;
	*t = to;
	return 0;
}

/* How many rows there would be with less kept apart; as many as there are if it cannot be. */
static size_t rows_with(const struct totals *t, unsigned apart)
{
	struct totals to = {.tables = t->tables, .apart = apart};
	size_t n = t->n;

	to.row_slots = calloc(ROW_SLOTS, sizeof(*to.row_slots));
	for (size_t i = 0; to.row_slots && i < t->known_n; i++) {
		struct totals_key key = t->known[i].key;

		if (!key_coarsen(&to, &key) || to.n > t->n || row_find(&to, &key) == UINT32_MAX)
			break;
		if (i + 1 == t->known_n)
			n = to.n;
	}
	totals_done(&to);
	return n;
}

/* Takes together what makes half as many rows; else leaves everything as it is. */
static int relieve(struct totals *t)
{
	unsigned apart = t->apart;
	int r = 0;

	while (apart && 2 * rows_with(t, coarser(apart)) > t->n)
		apart = coarser(apart);
	if (!apart)
		return 0;
	for (apart = coarser(apart); r == 0 && t->apart != apart && !t->given_up;)
		r = totals_coarsen(t);
	return r;
}

/* --- spans as they come --- */

/* The row that a new key's spans go to. */
static uint32_t row_of(struct totals *t, const struct totals_key *key)
{
	struct totals_key coarse = *key;

	if (t->apart == APART_ALL)
		return row_add(t, key);
	if (!key_coarsen(t, &coarse)) {
		give_up(t);
		return UINT32_MAX;
	}
	return row_find(t, &coarse);
}

static uint32_t known_add(struct totals *t, const struct totals_key *key)
{
	uint32_t row;

	if (t->known_n == TOTALS_KEYS_MOST) {
		give_up(t);
		return UINT32_MAX;
	}
	while (t->n >= TOTALS_MOST && !t->given_up)
		if (totals_coarsen(t) < 0)
			return UINT32_MAX;
	if (t->given_up ||
	    !vec_reserve(&t->known, &t->known_capacity, t->known_n + 1, sizeof(*t->known)))
		return UINT32_MAX;
	row = row_of(t, key);
	if (row == UINT32_MAX)
		return row;
	t->rows[row].kinds |= kind_bit(key->kind);
	t->known[t->known_n] = (struct totals_known){*key, row};
	return (uint32_t)t->known_n++;
}

/* Room for one more key. */
static bool slots_grow(struct totals *t)
{
	size_t n = t->slot_n ? 2 * t->slot_n : SLOTS_FIRST;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < t->known_n; i++) {
		size_t at = key_hash(&t->known[i].key) & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->slot_n = n;
	return true;
}

void totals_fetch_number(const struct totals *t, const struct totals_key *key)
{
	if (t->slot_n)
		__builtin_prefetch(&t->slots[key_hash(key) & (t->slot_n - 1)]);
}

uint32_t totals_number(struct totals *t, const struct totals_key *key)
{
	uint32_t hash = key_hash(key), number;
	size_t at;

	if (t->given_up || (2 * (t->known_n + 1) > t->slot_n && !slots_grow(t)))
		return UINT32_MAX;
	for (at = hash & (t->slot_n - 1); (number = t->slots[at]); at = (at + 1) & (t->slot_n - 1))
		if (key_eq(&t->known[number - 1].key, key))
			return number - 1;
	number = known_add(t, key);
	if (number != UINT32_MAX)
		t->slots[at] = number + 1;
	return number;
}
