/* tests/unit/no_memory.h - allocations that fail when told to.
 *
 * For tests whose name ends in no_memory: they are linked with --wrap for malloc, calloc and
 * realloc and with no_memory.c. */
#ifndef CAUSET_TESTS_UNIT_NO_MEMORY_H
#define CAUSET_TESTS_UNIT_NO_MEMORY_H

/* So many allocations succeed and the next one fails; negative: none fails.  Counts down. */
extern _Atomic long no_memory_after;

/* Also fail every one behind it. */
extern _Atomic int no_memory_stays;

#endif
