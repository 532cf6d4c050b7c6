/* store/wal_out.h - the log file being written: begun, written, synced, ended, or given up.
 *
 * Knows nothing of threads; all of it belongs to the writer's.  After a call has failed with
 * anything but -ENOMEM the file is to be given up with wal_out_leave(). */
#ifndef CAUSET_STORE_WAL_OUT_H
#define CAUSET_STORE_WAL_OUT_H

#include "store/wal_int.h"

/* Acknowledged, not yet synced: written again should the sync fail. */
struct wal_kept {
	struct wal_item item; /* with a reference to its batch, and its cursors on the heap */
};

struct wal_out {
	struct fs *fs;
	const char *dir;
	enum wal_sync sync;
	uint64_t file_bytes, seed;

	int fd; /* -1: no file */
	uint64_t number, next_number;
	uint64_t at;        /* behind the last record that was acknowledged */
	uint64_t allocated; /* a group ends here at the latest */

	uint64_t next_seq; /* never given yet */
	uint64_t last;     /* the last record that counts */
	uint64_t synced;   /* the last record known to be durable */

	struct wal_kept *kept; /* WAL_SYNC_INTERVAL only */
	size_t kept_n, kept_capacity, kept_bytes;

	/* Past the page cache, where the file system can and every group is synced anyway: halves
	 * the kernel's work.  Whole blocks are written from here; between groups it holds what is
	 * in the last, begun one. */
	char *buffer;       /* NULL: not so */
	uint64_t buffer_at; /* in the file; a multiple of the block */
	size_t buffer_n;

	/* For one write. */
	struct wal_record_header *headers;
	size_t header_capacity;
	struct iovec *parts;
	size_t part_capacity;
};

void wal_out_init(struct wal_out *out, const struct wal_options *options, uint64_t seed,
		  uint64_t last, uint64_t next_number);
/* Frees; the file must have been ended or left. */
void wal_out_done(struct wal_out *out);

/* Would so many bytes more still lie in the file? */
bool wal_out_fits(const struct wal_out *out, uint64_t bytes);

/* Begins a file with room for `bytes` of records at least, makes its name durable, and writes again
 * what is kept.  No file may be open. */
int wal_out_begin(struct wal_out *out, uint64_t bytes);

/* Writes items (their numbers grow) and does what makes them acknowledgeable: syncs, or keeps
 * them.  -ENOMEM: nothing was written. */
int wal_out_write(struct wal_out *out, const struct wal_item *items, size_t n);

/* Syncs what is kept. */
int wal_out_sync(struct wal_out *out);

/* What is kept up to this number is durable elsewhere. */
void wal_out_forget(struct wal_out *out, uint64_t seq);

/* Ends the file as it should be: everything synced (unless that is off), spare room given back. */
int wal_out_end(struct wal_out *out);

/* Gives the file up: never written, never synced again. */
void wal_out_leave(struct wal_out *out);

#endif
