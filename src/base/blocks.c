/* base/blocks.c - blocks of memory in chunks that begin at a multiple of their size: a block's
 * address says where its chunk is.  What does not fit into one has a chunk of its own, larger. */
#include "base/blocks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"

#define ALIGN ((size_t)64)

/* At the start of its memory.  All but `owner` is guarded by the owner's lock. */
struct chunk {
	struct blocks *owner;
	struct chunk *next; /* spare */
	size_t bytes, used;
	size_t live; /* blocks; and one while it is the current one */
};

_Static_assert(sizeof(struct chunk) <= ALIGN, "the first block stands behind it");

struct blocks {
	pthread_mutex_t lock;
	struct chunk *current, *spare;
	size_t spare_n, chunk_n, bytes;
	bool closed;
};

struct blocks *blocks_new(void)
{
	struct blocks *b = calloc(1, sizeof(*b));

	if (b)
		pthread_mutex_init(&b->lock, NULL);
	return b;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* Memory at a multiple of CHUNK_BYTES: more is asked for, and both ends given back. */
static void *map_aligned(size_t bytes)
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
	madvise(p + before, bytes, MADV_HUGEPAGE); /* or not */
	return p + before;
}

/* With the lock, as all below. */
static struct chunk *chunk_new(struct blocks *b, size_t bytes)
{
	struct chunk *c = b->spare;

	if (bytes == BLOCKS_CHUNK_BYTES && c) {
		b->spare = c->next;
		b->spare_n--;
	} else {
		c = map_aligned(bytes);
		if (!c)
			return NULL;
		b->bytes += bytes;
		b->chunk_n++;
	}
	*c = (struct chunk){.owner = b, .bytes = bytes, .used = ALIGN, .live = 1};
	return c;
}

static void chunk_unmap(struct blocks *b, struct chunk *c)
{
	b->bytes -= c->bytes;
	b->chunk_n--;
	munmap(c, c->bytes);
}

static void chunk_done(struct blocks *b, struct chunk *c)
{
	if (--c->live > 0)
		return;
	if (!b->closed && c->bytes == BLOCKS_CHUNK_BYTES && b->spare_n < BLOCKS_SPARE) {
		c->next = b->spare;
		b->spare = c;
		b->spare_n++;
		return;
	}
	chunk_unmap(b, c);
}

/* Frees the owner when nothing is left of it. */
static void unlock(struct blocks *b)
{
	bool gone = b->closed && b->chunk_n == 0;

	pthread_mutex_unlock(&b->lock);
	if (gone) {
		pthread_mutex_destroy(&b->lock);
		free(b);
	}
}

static void spare_free(struct blocks *b)
{
	while (b->spare) {
		struct chunk *c = b->spare;

		b->spare = c->next;
		b->spare_n--;
		chunk_unmap(b, c);
	}
}

struct blocks *blocks_close(struct blocks *b)
{
	if (!b)
		return NULL;
	pthread_mutex_lock(&b->lock);
	b->closed = true;
	if (b->current)
		chunk_done(b, TAKE_PTR(b->current));
	spare_free(b);
	unlock(b);
	return NULL;
}

void blocks_trim(struct blocks *b)
{
	pthread_mutex_lock(&b->lock);
	spare_free(b);
	pthread_mutex_unlock(&b->lock);
}

void *blocks_take(struct blocks *b, size_t n)
{
	struct chunk *c;
	void *block = NULL;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = round_up(n ? n : 1, ALIGN);
	pthread_mutex_lock(&b->lock);
	if (n > BLOCKS_CHUNK_BYTES - ALIGN) {
		c = chunk_new(b, round_up(n + ALIGN, BLOCKS_CHUNK_BYTES));
		block = c ? (char *)c + ALIGN : NULL;
	} else {
		if (!b->current || n > b->current->bytes - b->current->used) {
			c = chunk_new(b, BLOCKS_CHUNK_BYTES);
			if (c && b->current)
				chunk_done(b, b->current);
			if (c)
				b->current = c;
		} else
			c = b->current;
		if (c) {
			block = (char *)c + c->used;
			c->used += n;
			c->live++;
		}
	}
	pthread_mutex_unlock(&b->lock);
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
	chunk_done(b, c);
	unlock(b);
}

size_t blocks_bytes(struct blocks *b)
{
	size_t bytes;

	pthread_mutex_lock(&b->lock);
	bytes = b->bytes;
	pthread_mutex_unlock(&b->lock);
	return bytes;
}
