/* tests/unit/no_memory.c - allocations that fail when told to. */
#include "no_memory.h"

#include <stdbool.h>
#include <stddef.h>

_Atomic long no_memory_after = -1;
_Atomic int no_memory_stays;

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool fails(void)
{
	if (no_memory_after < 0)
		return false;
	if (no_memory_after == 0 && no_memory_stays)
		return true;
	return no_memory_after-- == 0;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}
