/* base/blocks.h - memory for what comes by the hundred kilobytes, lives for minutes, and goes in
 * about the order in which it came.
 *
 * Blocks lie one behind the other in chunks of CHUNK_BYTES, which the system gives as one large
 * page if it can, and as long as that is not slow: a page fault every two megabytes instead of
 * every four kilobytes, and one entry in the processor's tables for all of it.  A chunk is used
 * again when its last block has gone: the system would clear it once more, which costs as much as
 * filling it.  Any thread may call anything here. */
#ifndef CAUSET_BASE_BLOCKS_H
#define CAUSET_BASE_BLOCKS_H

#include <stddef.h>

#define BLOCKS_CHUNK_BYTES ((size_t)2 << 20)
#define BLOCKS_SPARE       512 /* empty chunks that are kept, at most */
#define BLOCKS_KEEP        16  /* … and for good: trimming leaves them */

struct blocks;

/* NULL when out of memory. */
struct blocks *blocks_new(void);

/* Nothing more is taken; what was taken stays good until it is freed.  NULL is fine; returns NULL.
 */
struct blocks *blocks_close(struct blocks *b);

/* A block of n bytes, aligned to 64, not cleared.  NULL when out of memory. */
void *blocks_take(struct blocks *b, size_t n);

/* Gives back what blocks_take() returned.  NULL is fine. */
void blocks_free(void *block);

/* Gives some of the chunks that have been empty ever since the last call back to the system: to be
 * called now and then.  Each time an eighth of them goes, so a rush that comes again soon finds
 * most of its memory where it left it, neither unmapped nor to be cleared. */
void blocks_trim(struct blocks *b);

/* Bytes of all chunks, the empty ones too. */
size_t blocks_bytes(struct blocks *b);

#endif
