/* base/heap.h - how much freed memory malloc keeps in a process that serves. */
#ifndef CAUSET_BASE_HEAP_H
#define CAUSET_BASE_HEAP_H

/* Once, before there are threads: what is freed under load is kept for the next request. */
void heap_keep(void);

/* Gives back to the system what nobody uses: all that malloc_trim() can, and the free end of the
 * calling thread's heap, which it cannot.  Holds up who allocates meanwhile. */
void heap_trim(void);

/* Only the end of the calling thread's heap.  The ends of other threads' heaps are out of reach, so
 * each thread that lasts has to do this itself when it has nothing else to do. */
void heap_trim_own(void);

#endif
