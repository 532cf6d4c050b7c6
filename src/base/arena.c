/* base/arena.c - memory with one lifetime: take many pieces, free them all at once. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_FIRST ((size_t)4096)
#define ARENA_MOST  ((size_t)1 << 20) /* blocks double up to this; larger pieces get their own */
#define ARENA_ALIGN ((size_t)16)
#define ARENA_KEPT  ((size_t)64 << 10) /* by arena_clear() */

struct arena_block {
	struct arena_block *older;
	_Alignas(16) char data[];
};

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *block;
	size_t size;
	char *p = a->at;

	if (n > SIZE_MAX - sizeof(*block) - ARENA_ALIGN)
		return NULL;
	n = (n + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	if ((size_t)(a->end - p) >= n && p) {
		a->at += n;
		return p;
	}

	size = a->bytes < ARENA_FIRST ? ARENA_FIRST : a->bytes > ARENA_MOST ? ARENA_MOST : a->bytes;
	if (size < n)
		size = n;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return NULL;
	a->bytes += sizeof(*block) + size;
	block->older = a->newest;
	a->newest = block;
	a->at = block->data + n;
	a->end = block->data + size;
	return block->data;
}

void *arena_zalloc(struct arena *a, size_t count, size_t size)
{
	size_t n;
	void *p;

	if (__builtin_mul_overflow(count, size, &n))
		return NULL;
	p = arena_alloc(a, n);
	if (p)
		memset(p, 0, n);
	return p;
}

struct slice arena_dup(struct arena *a, struct slice s)
{
	char *p = arena_alloc(a, s.n + 1);

	if (!p)
		return slice_of(NULL, 0);
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return slice_of(p, s.n);
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;
	char *p;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	p = arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(args, format);
	vsnprintf(p, (size_t)n + 1, format, args);
	va_end(args);
	return p;
}

void arena_clear(struct arena *a)
{
	struct arena_block *block = a->newest;

	if (!block)
		return;
	if ((size_t)(a->end - block->data) > ARENA_KEPT) {
		arena_done(a);
		return;
	}
	while (block->older) {
		struct arena_block *older = block->older;

		block->older = older->older;
		free(older);
	}
	a->at = block->data;
	a->bytes = sizeof(*block) + (size_t)(a->end - block->data);
}

void arena_done(struct arena *a)
{
	while (a->newest) {
		struct arena_block *older = a->newest->older;

		free(a->newest);
		a->newest = older;
	}
	*a = (struct arena){0};
}
