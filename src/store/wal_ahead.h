/* store/wal_ahead.h - a log file is read into memory while the one before it is worked through.
 *
 * Recovery has two halves that do not wait for each other: bringing bytes from the disk into
 * memory, and making batches of them.  Each gets a core. */
#ifndef CAUSET_STORE_WAL_AHEAD_H
#define CAUSET_STORE_WAL_AHEAD_H

#include "base/fs.h"
#include "base/pages.h"

/* Files of other sizes are read piece by piece, when their turn comes. */
#define WAL_AHEAD_MIN  ((uint64_t)1 << 20)
#define WAL_AHEAD_MOST ((uint64_t)256 << 20)

struct wal_ahead;

/* Begins to read a file of that size.  NULL: it is not for us, or there is no memory or no thread
 * to spare; the file is then read as others are. */
struct wal_ahead *wal_ahead_start(struct fs *fs, const char *dir, uint64_t number, uint64_t size);

/* Waits for it and frees it.  All bytes of the file, or NULL when there was anything wrong: then
 * whoever reads it piece by piece finds out what.  Accepts NULL. */
struct pages *wal_ahead_take(struct wal_ahead *ahead);

#endif
