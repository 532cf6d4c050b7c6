/* store/flush.h - heads become segments. */
#ifndef CAUSET_STORE_FLUSH_H
#define CAUSET_STORE_FLUSH_H

struct engine;

/* Writes the oldest frozen head to a segment and lets go of it and of the log behind it.  0 also
 * when there is none.  After a failure (-ENOSPC …) the head is still there: try again later.  Any
 * thread, one at a time. */
int flush_oldest(struct engine *e);

/* Freezes the active head and flushes all there are. */
int flush_all(struct engine *e);

#endif
