/* store/retain.h - what is too old, or too much, goes.
 *
 * By whole segments, and by when they arrived, not by what their spans say of the time: a clock
 * that is wrong, 1970 or 2262, neither keeps a segment for ever nor loses it at once. */
#ifndef CAUSET_STORE_RETAIN_H
#define CAUSET_STORE_RETAIN_H

#include <stdint.h>

struct engine;

/* Removes segments whose last batch was received before now - retention_age, and the oldest ones
 * while all together are larger than retention_bytes; the newest segment stays in any case.
 * Returns how many, or a negative errno.  Any thread. */
int retain(struct engine *e, int64_t now_ns);

#endif
