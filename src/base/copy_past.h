/* base/copy_past.h - copying what nobody here will read again.
 *
 * What goes to a device from a buffer need not be in the processor's caches: there it drives out
 * what is needed, and the old lines are fetched only to be overwritten. */
#ifndef CAUSET_BASE_COPY_PAST_H
#define CAUSET_BASE_COPY_PAST_H

#include <stddef.h>

/* As memcpy(); long copies go past the caches where the processor can.  Everything is in memory on
 * return, as others see it. */
void copy_past(void *to, const void *from, size_t n);

#endif
