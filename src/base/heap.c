/* base/heap.c - malloc of the GNU C library, told what to keep.
 *
 * Its malloc_trim() gives back the free pages inside of all heaps, and the end of the main one. The
 * end of another thread's heap goes only when that thread frees a large piece and the end is larger
 * than M_TRIM_THRESHOLD; with ours it never is, a heap being 64 MiB at most.  So the threshold is
 * lowered for as long as such a piece takes to be freed.  (That is one word which the library
 * itself changes without a lock; another thread that sees it gives its own end back too early,
 * once.) */
#include "base/heap.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* Batches come and go by the hundred kilobytes: mapping each on its own costs more than decoding
 * it. */
#define MAPS  (32 << 20)  /* bytes from which on a piece is mapped on its own; the most there is */
#define KEEPS (128 << 20) /* bytes not given back while requests come */
#define GROWS (4 << 20)   /* bytes asked of the system at a time; untouched ones cost nothing */
/* One heap for each thread there may be; those of ended ones are used again.  Threads that share
 * one wait for each other, and the log must not wait for a query that has given way in the middle
 * of an allocation. */
#define HEAPS 256
#define LEAST (128 << 10) /* bytes that stay when a heap's end is given back */
#define LARGE (256 << 10) /* bytes of a piece that has malloc look at the end when it is freed */

static bool keeps;
static pthread_mutex_t trimming = PTHREAD_MUTEX_INITIALIZER;

void heap_keep(void)
{
	keeps = true;
	mallopt(M_MMAP_THRESHOLD, MAPS);
	mallopt(M_TRIM_THRESHOLD, KEEPS);
	mallopt(M_TOP_PAD, GROWS);
	mallopt(M_ARENA_MAX, HEAPS);
}

void heap_trim_own(void)
{
	void *volatile piece; /* or the compiler sees that nobody needs it */

	pthread_mutex_lock(&trimming);
	if (keeps)
		mallopt(M_TRIM_THRESHOLD, LEAST);
	piece = malloc(LARGE);
	free(piece);
	if (keeps)
		mallopt(M_TRIM_THRESHOLD, KEEPS);
	pthread_mutex_unlock(&trimming);
}

void heap_trim(void)
{
	heap_trim_own();
	malloc_trim(0);
}
