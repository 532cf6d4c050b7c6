/* segment/codes_find.h - where a code stands among many. */
#ifndef CAUSET_SEGMENT_CODES_FIND_H
#define CAUSET_SEGMENT_CODES_FIND_H

#include <stddef.h>
#include <stdint.h>

/* Places of the code, ascending, into `out`, which has room for n + 1; returns how many.  Eight at
 * a time on processors that can: it mostly stands in few places. */
uint32_t codes_find(const uint32_t *codes, uint32_t n, uint32_t code, uint32_t *out);

#endif
