/* store/store_backup.h - a consistent copy of a store, and back.
 *
 * A backup is a store like any other: a server can be started on it.  Segments never change, so
 * they are linked where the file system allows and copied where not.  The log is copied up to the
 * last record that is whole: everything that was acknowledged before the backup began is in it.
 * The manifest is written last: a folder without one is a backup that was not finished. */
#ifndef CAUSET_STORE_STORE_BACKUP_H
#define CAUSET_STORE_STORE_BACKUP_H

#include "base/error.h"
#include "base/fs.h"

struct store;

struct store_copied {
	uint64_t files, bytes; /* in all */
	uint64_t linked;       /* files that took no room */
	uint64_t segments, blocks;
};

/* Of a store at rest.  `to` must be there and be empty.  -ENOTEMPTY, -ENOENT when there is no store
 * (the error says so), -ENOSPC …; what was written by then is left. */
int store_backup(struct fs *fs, const char *dir, const char *to, bool links,
		 struct store_copied *ret_copied, struct error *error);

/* The same of a store that engine_open() has opened and that goes on working.  Any thread. */
int engine_backup(struct store *s, const char *to, struct store_copied *ret_copied,
		  struct error *error);

/* Copies one file, durably but for its name; -EEXIST.  Links it where `link` says so and the file
 * system can.  Returns 1 when it was linked, 0 when copied. */
int file_copy(struct fs *fs, const char *from, const char *to, bool link, uint64_t *ret_bytes);

#endif
