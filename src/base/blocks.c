/* base/blocks.c - blocks of memory in chunks that begin at a multiple of their size: a block's
 * address says where its chunk is.  What does not fit into one has a chunk of its own, larger.
 *
 * A large page is cleared in 0.3 ms, 512 small ones in 0.8 ms.  But a virtual machine that gives
 * free memory back to its host does so by large pages, and the host takes 2 to 5 ms to find one
 * again, while small pages are mostly still there.  So it is measured, and chunks are made of small
 * pages as long as large ones come so slowly, which is tried ever less often.
 *
 * Small pages are asked for block by block, all of one at once, which saves a fault for each.  Who
 * takes a block fills it: what the system has just cleared is still in the cache then, which that
 * of a whole chunk would not be. */
#include "base/blocks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cleanup.h"

#define ALIGN       ((size_t)64)
#define SLOW_NS     1500000        /* of CPU: small pages are faster than that */
#define SMALL_TURNS 255            /* chunks of small pages before a large one is tried again */
#define SMALL_MOST  4095U          /* the same, after it was slow time and again */
#define TRIM_SHARE  8              /* one of so many empty chunks goes at a time */
#define PAGE        ((size_t)4096) /* larger ones come as they are touched */
#define POPULATE    (4 * PAGE)     /* bytes of a block whose pages are asked for */

/* At the start of its memory.  All but `owner` is guarded by the owner's lock. */
struct chunk {
	struct blocks *owner;
	struct chunk *next; /* spare */
	size_t bytes, used;
	size_t live; /* blocks; and one while it is the current one */
	bool bare;   /* of small pages, and filled for the first time */
};

_Static_assert(sizeof(struct chunk) <= ALIGN, "the first block stands behind it");

struct blocks {
	pthread_mutex_t lock;
	struct chunk *current, *spare;
	size_t spare_n, chunk_n, bytes;
	size_t spare_least; /* since the last blocks_trim() */
	unsigned small;     /* chunks still to be made of small pages */
	unsigned turns;     /* as many the next time a large one is slow */
	bool closed;
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* Memory at a multiple of CHUNK_BYTES: more is asked for, and both ends given back. */
static void *map_aligned(size_t bytes, bool large)
{
	size_t room = bytes + BLOCKS_CHUNK_BYTES;
	char *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = round_up((uintptr_t)p, BLOCKS_CHUNK_BYTES) - (uintptr_t)p;
	if (before > 0)
		munmap(p, before);
	munmap(p + before + bytes, room - before - bytes);
	if (large) /* or not, where the system cannot */
		madvise(p + before, bytes, MADV_HUGEPAGE);
	return p + before;
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Without the lock: the system clears the memory when it is first touched, and others need not wait
 * for that.  *ret_slow says whether that took long. */
static struct chunk *chunk_map(size_t bytes, bool large, bool *ret_slow)
{
	int64_t start = cpu_ns();
	struct chunk *c = map_aligned(bytes, large);

	if (c)
		*c = (struct chunk){.bytes = bytes, .bare = !large};
	*ret_slow = cpu_ns() - start > SLOW_NS;
	return c;
}

/* With the lock, as all below. */
static void chunk_begin(struct blocks *b, struct chunk *c)
{
	*c = (struct chunk){
		.owner = b, .bytes = c->bytes, .used = ALIGN, .live = 1, .bare = c->bare};
}

static void chunk_count(struct blocks *b, const struct chunk *c)
{
	b->bytes += c->bytes;
	b->chunk_n++;
}

/* Of a chunk that is about to be unmapped. */
static void chunk_forget(struct blocks *b, const struct chunk *c)
{
	b->bytes -= c->bytes;
	b->chunk_n--;
}

static void spare_push(struct blocks *b, struct chunk *c)
{
	c->next = b->spare;
	b->spare = c;
	b->spare_n++;
}

static struct chunk *spare_pop(struct blocks *b)
{
	struct chunk *c = b->spare;

	b->spare = c->next;
	b->spare_n--;
	b->spare_least = MIN(b->spare_least, b->spare_n);
	return c;
}

/* A block of it has gone, or it is no longer the current one.  Returns it when it is to be
 * unmapped, which is done without the lock: it takes a millisecond. */
static struct chunk *chunk_done(struct blocks *b, struct chunk *c)
{
	if (--c->live > 0)
		return NULL;
	if (!b->closed && c->bytes == BLOCKS_CHUNK_BYTES && b->spare_n < BLOCKS_SPARE) {
		c->bare = false;
		spare_push(b, c);
		return NULL;
	}
	chunk_forget(b, c);
	c->next = NULL;
	return c;
}

/* The empty chunks above so many, to be unmapped. */
static struct chunk *spare_cut(struct blocks *b, size_t keep)
{
	struct chunk *cut = NULL;

	while (b->spare_n > keep) {
		struct chunk *c = spare_pop(b);

		chunk_forget(b, c);
		c->next = cut;
		cut = c;
	}
	return cut;
}

/* Unlocks, and frees the owner when nothing is left of it. */
static void unlock(struct blocks *b)
{
	bool gone = b->closed && b->chunk_n == 0;

	pthread_mutex_unlock(&b->lock);
	if (gone) {
		pthread_mutex_destroy(&b->lock);
		free(b);
	}
}

/* Without the lock. */
static void chunks_unmap(struct chunk *c)
{
	while (c) {
		struct chunk *next = c->next;

		munmap(c, c->bytes);
		c = next;
	}
}

struct blocks *blocks_close(struct blocks *b)
{
	struct chunk *cut, *last = NULL;

	if (!b)
		return NULL;
	pthread_mutex_lock(&b->lock);
	b->closed = true;
	if (b->current)
		last = chunk_done(b, TAKE_PTR(b->current));
	cut = spare_cut(b, 0);
	unlock(b);
	chunks_unmap(last);
	chunks_unmap(cut);
	return NULL;
}

void blocks_trim(struct blocks *b)
{
	struct chunk *cut;

	pthread_mutex_lock(&b->lock);
	cut = spare_cut(b, MAX((size_t)BLOCKS_KEEP, b->spare_n - b->spare_least / TRIM_SHARE));
	b->spare_least = b->spare_n;
	pthread_mutex_unlock(&b->lock);
	chunks_unmap(cut);
}

/* What the last chunk of a large page says about the next ones. */
static void large_tried(struct blocks *b, bool slow)
{
	if (slow) {
		b->small = b->turns;
		b->turns = MIN(b->turns * 2 + 1, SMALL_MOST);
	} else {
		b->turns = SMALL_TURNS;
	}
}

struct blocks *blocks_new(void)
{
	struct blocks *b = calloc(1, sizeof(*b));
	struct chunk *c;
	bool slow;

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	b->turns = SMALL_TURNS;
	/* The first one now: the system may take long, and nobody waits yet.  Or later. */
	c = chunk_map(BLOCKS_CHUNK_BYTES, true, &slow);
	large_tried(b, slow);
	if (c) {
		chunk_count(b, c);
		spare_push(b, c);
	}
	return b;
}

/* One that is too large for a chunk that others share. */
static void *take_large(struct blocks *b, size_t n)
{
	bool slow;
	struct chunk *c = chunk_map(round_up(n + ALIGN, BLOCKS_CHUNK_BYTES), true, &slow);

	if (!c)
		return NULL;
	pthread_mutex_lock(&b->lock);
	chunk_begin(b, c);
	chunk_count(b, c);
	pthread_mutex_unlock(&b->lock);
	return (char *)c + ALIGN;
}

static bool has_room(const struct blocks *b, size_t n)
{
	return b->current && n <= b->current->bytes - b->current->used;
}

/* The chunk that is filled from now on. */
static void chunk_next(struct blocks *b, struct chunk *c)
{
	if (b->current) /* seldom with anything to unmap */
		chunks_unmap(chunk_done(b, b->current));
	chunk_begin(b, c);
	b->current = c;
}

/* Makes room for n bytes in the current chunk.  The lock is let go meanwhile. */
static bool make_room(struct blocks *b, size_t n)
{
	struct chunk *c;
	bool large = b->small == 0, slow;

	if (b->spare) {
		chunk_next(b, spare_pop(b));
		return true;
	}
	b->small -= !large;
	pthread_mutex_unlock(&b->lock);
	c = chunk_map(BLOCKS_CHUNK_BYTES, large, &slow);
	pthread_mutex_lock(&b->lock);
	if (large)
		large_tried(b, slow);
	if (c)
		chunk_count(b, c);
	if (c && has_room(b, n)) /* somebody was faster */
		spare_push(b, c);
	else if (c)
		chunk_next(b, c);
	return has_room(b, n);
}

/* The pages of a block, without the lock; or not, where the system cannot. */
static void populate(void *block, size_t n)
{
	uintptr_t from = (uintptr_t)block & ~(PAGE - 1), to = round_up((uintptr_t)block + n, PAGE);

	madvise((void *)from, to - from, MADV_POPULATE_WRITE);
}

void *blocks_take(struct blocks *b, size_t n)
{
	void *block = NULL;
	bool bare = false;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = round_up(n ? n : 1, ALIGN);
	if (n > BLOCKS_CHUNK_BYTES - ALIGN)
		return take_large(b, n);
	pthread_mutex_lock(&b->lock);
	if (has_room(b, n) || make_room(b, n)) {
		block = (char *)b->current + b->current->used;
		b->current->used += n;
		b->current->live++;
		bare = b->current->bare;
	}
	pthread_mutex_unlock(&b->lock);
	if (bare && n >= POPULATE)
		populate(block, n);
	return block;
}

void blocks_free(void *block)
{
	struct chunk *c;
	struct blocks *b;

	if (!block)
		return;
	c = (struct chunk *)((uintptr_t)block & ~(uintptr_t)(BLOCKS_CHUNK_BYTES - 1));
	b = c->owner;
	pthread_mutex_lock(&b->lock);
	c = chunk_done(b, c);
	unlock(b);
	chunks_unmap(c);
}

size_t blocks_bytes(struct blocks *b)
{
	size_t bytes;

	pthread_mutex_lock(&b->lock);
	bytes = b->bytes;
	pthread_mutex_unlock(&b->lock);
	return bytes;
}
