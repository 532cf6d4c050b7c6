/* store/feed_file.h - which batch each row of a segment came in: a segment's side file.
 *
 * A segment is in trace order; the feed gives what came after a batch.  As long as a cursor stands
 * before the end of a segment, seg-%016x.feed says for its rows, in their order, the number of
 * their batch.  Format: docs/format/feed.md. */
#ifndef CAUSET_STORE_FEED_FILE_H
#define CAUSET_STORE_FEED_FILE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/fs.h"

/* Rows of one batch that stand next to each other in the segment. */
struct feed_run {
	uint64_t rows;
	uint64_t seq;
};

struct feed_runs {
	struct feed_run *rows;
	size_t n, capacity;
	uint64_t total; /* of rows */
};

void feed_runs_done(struct feed_runs *f);

/* Appends; joins with the last where it is the same batch.  -ENOMEM. */
int feed_runs_add(struct feed_runs *f, uint64_t seq, uint64_t rows);

void feed_runs_encode(const struct feed_runs *f, struct buffer *out);
/* -EBADMSG with the byte, -ENOMEM. */
int feed_runs_decode(struct slice bytes, struct feed_runs *ret_runs, struct error *error);

/* Written and synced under its name.  The folder is the caller's to sync. */
int feed_file_save(struct fs *fs, const char *dir, uint64_t segment, const struct feed_runs *f);
/* -ENOENT, -EBADMSG, -ENOMEM, or what reading said. */
int feed_file_load(struct fs *fs, const char *dir, uint64_t segment, struct feed_runs *ret_runs,
		   struct error *error);
/* One that is not there is fine. */
void feed_file_remove(struct fs *fs, const char *dir, uint64_t segment);

#endif
