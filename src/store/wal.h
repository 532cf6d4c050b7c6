/* store/wal.h - the write-ahead log: batches in the order of their acknowledgement.
 *
 * Format: docs/format/wal.md.  One writer thread takes everything that is queued, writes it with as
 * few calls as possible, syncs once, and settles all of it: many requests share one sync.
 *
 *   network threads ──wal_append()──▶ queue ──▶ writer: prepare, write, sync, settle ──▶ head,
 * done()
 *
 * Guarantees
 *   settled with 0      WAL_SYNC_ALWAYS: on the disk.  The others: given to the kernel, so a killed
 *                       process loses nothing; a power failure may lose what was not synced yet.
 *   settled with < 0    not acknowledged; the sender may send it again.  Whatever of it did reach
 *                       the disk counts only if nothing was acknowledged after it and the process
 *                       then died; its body hash is then known, so sending it again adds nothing.
 *   seq                 grows, is never given twice to two things that were settled with 0, and may
 *                       skip numbers.
 *   failures            A file that failed to be written or synced is left and never synced again.
 *                       What it held that was acknowledged but not synced is written again, to a
 *                       new file.  Until one can be made, appends are refused with the errno (retry
 *                       later); the writer tries again by itself, ever less often. */
#ifndef CAUSET_STORE_WAL_H
#define CAUSET_STORE_WAL_H

#include "base/error.h"
#include "base/fs.h"
#include "store/store.h"

struct wal;

enum wal_sync {
	WAL_SYNC_ALWAYS,   /* before it is acknowledged */
	WAL_SYNC_INTERVAL, /* at most so long after */
	WAL_SYNC_NEVER,    /* when the kernel likes */
};

/* One record, as recovery finds it. */
struct wal_record {
	uint64_t seq;
	struct batch *batch;      /* NULL: only cursors.  Borrowed: batch_ref() to keep it */
	const uint8_t *body_hash; /* 16 bytes, or NULL */
	int64_t received_ns;
	const struct store_cursor *cursors;
	size_t cursor_n;
};

/* Something found wrong, with what was done about it. */
struct wal_finding {
	enum {
		WAL_TAIL_CUT,   /* an unfinished end: never acknowledged as durable, cut off */
		WAL_DAMAGED,    /* durable records that cannot be read any more */
		WAL_UNREADABLE, /* a file that is no log file, or of a version we do not know */
	} kind;
	const char *file; /* its name in the folder */
	uint64_t offset;
	uint64_t bytes;
	const char *text; /* one sentence for a person */
};

struct wal_options {
	struct fs *fs;
	const char *dir; /* must be there; copied */
	enum wal_sync sync;
	int64_t interval_ns; /* WAL_SYNC_INTERVAL */
	uint64_t file_bytes; /* a file's size; 0: WAL_FILE_BYTES */
	size_t queue_bytes;  /* of batches waiting for the writer; 0: WAL_QUEUE_BYTES */
	size_t queue_count;  /* 0: WAL_QUEUE_COUNT */
	int64_t dedup_ns;    /* how long body hashes outlive their file */
	int64_t retry_ns;    /* after a failure of the disk, at first; 0: WAL_RETRY_NS */

	/* What is already elsewhere: records up to this number are not replayed. */
	uint64_t after_seq;

	/* On the writer's thread, before an append is written: 0, or a negative errno to settle it
	 * with at once (-ENOBUFS: the head is full).  Room taken here is kept until `settle`.  May
	 * be NULL. */
	int (*prepare)(void *context, struct store_append *append);
	/* Exactly once for every append that wal_append() has taken: a chain by `next`, in the
	 * order of seq (0 where `prepare` refused it or was not reached).  On the writer's thread.
	 * With result 0 publish the batches first; then, in any case, call done(): the records are
	 * their callers' from there, so read `next` before. */
	void (*settle)(void *context, struct store_append *chain, int result);

	/* On the writer's thread, when so many bytes are about to be written: how long until it
	 * takes the next ones.  Callers wait meanwhile.  May be NULL. */
	int64_t (*pace)(void *context, size_t bytes);

	/* During wal_open() only, on its thread; records in the order of seq.  A negative return
	 * ends wal_open() with it. */
	int (*replay)(void *context, const struct wal_record *record);
	/* What was wrong; during wal_open() only.  May be NULL. */
	void (*finding)(void *context, const struct wal_finding *finding);
	void *context;
};

#define WAL_FILE_BYTES  ((uint64_t)64 << 20)
#define WAL_QUEUE_BYTES ((size_t)32 << 20)
#define WAL_RETRY_NS    ((int64_t)100 * 1000 * 1000)
#define WAL_QUEUE_COUNT ((size_t)4096)

/* Recovers what is there (replay, findings), cuts unfinished ends, moves what cannot be read to
 * set-aside/, and starts the writer.  A disk that is full or read-only is no reason to fail: the
 * log then opens and refuses appends until that is over.  Negative errno: -EIO and the like when
 * the folder cannot be read, -ENOMEM, what `replay` returned. */
int wal_open(const struct wal_options *options, struct wal **ret_wal, struct error *error);

/* Queues an append.  0: `settle` will be called.  Otherwise it is not taken: -ENOBUFS when the
 * queue is full, -ENOSPC, -EIO, -EROFS … while the disk refuses, -ESHUTDOWN after wal_close() has
 * begun.  Any thread.  Hashes the batch on the caller's thread. */
int wal_append(struct wal *wal, struct store_append *append);

/* Everything up to `seq` is durable elsewhere: files without anything newer are removed (their body
 * hashes stay for a while), the one being written too when nothing is waiting.  Damaged ones go to
 * set-aside/.  Any thread but the writer's, one at a time.  Failures are harmless: the next call
 * tries again. */
int wal_retire(struct wal *wal, uint64_t seq);

/* Calls `each` for the body hashes of all records received at `since_ns` (wall clock) or later, of
 * this run and of earlier ones.  Any thread. */
int wal_recent(struct wal *wal, int64_t since_ns, store_recent_fn *each, void *context);

/* The seed that body hashes of this folder are made with. */
uint64_t wal_hash_seed(const struct wal *wal);

/* The highest number settled with 0 (or replayed, or after_seq).  Any thread. */
uint64_t wal_last_seq(const struct wal *wal);

struct wal_stats {
	uint64_t records, bytes; /* written */
	uint64_t groups, syncs;
	uint64_t failures;   /* of the disk */
	uint64_t refused;    /* appends, because the queue was full or the disk refused */
	uint64_t live_bytes; /* of files that are not retired, about */
	size_t files;
	size_t queued_bytes;
	int error; /* why appends are refused just now, or 0 */
};

struct wal_stats wal_stats(struct wal *wal);

/* Writes and settles what is queued, syncs (not with WAL_SYNC_NEVER), ends the writer, frees.
 * NULL-safe; returns NULL. */
struct wal *wal_close(struct wal *wal);

/* Reads every log file of a folder at rest and changes nothing: `replay` (may be NULL) and
 * `finding` as in wal_open().  0, also with findings. */
int wal_check(const struct wal_options *options, struct error *error);

#endif
