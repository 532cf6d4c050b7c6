/* base/arena.h - memory with one lifetime: take many pieces, free them all at once.
 *
 * For a request, a query, a trace; never for what lives on.  One thread. */
#ifndef CAUSET_BASE_ARENA_H
#define CAUSET_BASE_ARENA_H

#include "core/slice.h"

struct arena_block;

struct arena {
	struct arena_block *newest;
	char *at, *end;
	size_t bytes; /* taken from malloc */
};

/* 16-byte aligned, not cleared; NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t n);

/* The same, cleared; NULL also when count × size overflows. */
void *arena_zalloc(struct arena *a, size_t count, size_t size);

/* A copy of the bytes, with a NUL behind them; p is NULL when out of memory. */
struct slice arena_dup(struct arena *a, struct slice s);

/* "printf" into the arena; NULL when out of memory. */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forgets everything; keeps one block of up to 64 KiB for what comes next. */
void arena_clear(struct arena *a);

/* Frees everything; the arena is empty and usable again. */
void arena_done(struct arena *a);

#endif
