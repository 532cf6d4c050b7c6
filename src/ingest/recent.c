/* ingest/recent.c - bodies seen lately, by hash.
 *
 * Two sets of keys, young and old.  New keys go to the young one; when the window has passed, or it
 * is full, the old set is emptied and the two change places.  A look-up asks both.  A third set
 * holds what is under way: the same body that comes again before the first has been answered is
 * neither stored a second time nor acknowledged on the strength of a first that may yet fail. */
#include "ingest/recent.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/long_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct key_set {
	struct recent_key *slots; /* {0, 0} is free */
	size_t n, capacity;       /* a power of two */
};

struct recent {
	pthread_mutex_t lock; /* guards all below but the constants */
	int64_t window_ns;    /* constant, as are most and seed */
	size_t most;          /* entries of a set */
	uint64_t seed;
	int64_t turned_ns; /* when the sets last changed places */
	struct key_set young, old, under_way;
};

#define SLOTS_FIRST 1024

static bool set_init(struct key_set *set, size_t capacity)
{
	*set = (struct key_set){calloc(capacity, sizeof(*set->slots)), 0, capacity};
	return set->slots;
}

int recent_new(int64_t window_ns, size_t most, uint64_t seed, struct recent **ret_recent)
{
	struct recent *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	r->window_ns = window_ns;
	r->most = most / 2;
	r->seed = seed;
	if (!set_init(&r->young, SLOTS_FIRST) || !set_init(&r->old, SLOTS_FIRST) ||
	    !set_init(&r->under_way, SLOTS_FIRST)) {
		recent_free(r);
		return -ENOMEM;
	}
	*ret_recent = r;
	return 0;
}

struct recent *recent_free(struct recent *r)
{
	if (!r)
		return NULL;
	pthread_mutex_destroy(&r->lock);
	free(r->young.slots);
	free(r->old.slots);
	free(r->under_way.slots);
	free(r);
	return NULL;
}

struct recent_key recent_key(const struct recent *r, struct slice body, struct slice owner,
			     int kind)
{
	struct long_hash hash = long_hash_128(body.p, body.n, r->seed);
	struct recent_key key;

	key.low = hash.low ^ XXH3_64bits_withSeed(owner.p, owner.n, r->seed + (uint64_t)kind);
	key.high = hash.high | 1; /* never the free slot */
	return key;
}

/* Where the key is, or the free slot where it would be. */
static struct recent_key *find(const struct key_set *set, struct recent_key key)
{
	for (size_t at = key.low & (set->capacity - 1);; at = (at + 1) & (set->capacity - 1)) {
		struct recent_key *slot = &set->slots[at];

		if (slot->high == 0 || (slot->low == key.low && slot->high == key.high))
			return slot;
	}
}

/* Twice the room; false when there is no memory for it. */
static bool grow(struct key_set *set)
{
	struct key_set larger;

	if (!set_init(&larger, set->capacity * 2))
		return false;
	for (size_t i = 0; i < set->capacity; i++)
		if (set->slots[i].high != 0)
			*find(&larger, set->slots[i]) = set->slots[i];
	larger.n = set->n;
	free(set->slots);
	*set = larger;
	return true;
}

static void turn(struct recent *r, int64_t now_ns)
{
	struct key_set emptied = r->old;

	if (emptied.n)
		memset(emptied.slots, 0, emptied.capacity * sizeof(*emptied.slots));
	emptied.n = 0;
	r->old = r->young;
	r->young = emptied;
	r->turned_ns = now_ns;
}

/* Out of date is out: both sets, when nothing came for long. */
static void pass_time(struct recent *r, int64_t now_ns)
{
	int64_t age = now_ns - r->turned_ns;

	if (age >= r->window_ns)
		turn(r, now_ns);
	if (age >= 2 * r->window_ns)
		turn(r, now_ns);
}

static void remember(struct recent *r, struct recent_key key, int64_t now_ns)
{
	struct recent_key *slot;

	if (r->young.n >= r->most)
		turn(r, now_ns);
	/* Half full at most; without memory to grow the older half is forgotten early. */
	if (r->young.n >= r->young.capacity / 2 && !grow(&r->young))
		turn(r, now_ns);
	slot = find(&r->young, key);
	r->young.n += slot->high == 0;
	*slot = key;
}

/* Takes a key out, and moves up those behind it that would not be found any more. */
static void forget(struct key_set *set, struct recent_key key)
{
	size_t mask = set->capacity - 1, hole = (size_t)(find(set, key) - set->slots);

	if (set->slots[hole].high == 0)
		return;
	set->n--;
	for (size_t at = (hole + 1) & mask; set->slots[at].high != 0; at = (at + 1) & mask) {
		size_t home = set->slots[at].low & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			set->slots[hole] = set->slots[at];
			hole = at;
		}
	}
	set->slots[hole] = (struct recent_key){0};
}

enum recent_state recent_begin(struct recent *r, struct recent_key key, int64_t now_ns)
{
	enum recent_state state = RECENT_NEW;

	pthread_mutex_lock(&r->lock);
	pass_time(r, now_ns);
	if (find(&r->young, key)->high != 0 || find(&r->old, key)->high != 0)
		state = RECENT_KNOWN;
	else if (find(&r->under_way, key)->high != 0)
		state = RECENT_UNDER_WAY;
	else if (r->under_way.n < r->under_way.capacity / 2 || grow(&r->under_way)) {
		*find(&r->under_way, key) = key; /* without memory it is not watched over */
		r->under_way.n++;
	}
	pthread_mutex_unlock(&r->lock);
	return state;
}

void recent_end(struct recent *r, struct recent_key key, bool kept, int64_t now_ns)
{
	pthread_mutex_lock(&r->lock);
	forget(&r->under_way, key);
	if (kept)
		remember(r, key, now_ns);
	pthread_mutex_unlock(&r->lock);
}

void recent_add(struct recent *r, struct recent_key key, int64_t now_ns)
{
	pthread_mutex_lock(&r->lock);
	pass_time(r, now_ns); /* or the first request would find it out of date */
	remember(r, key, now_ns);
	pthread_mutex_unlock(&r->lock);
}
