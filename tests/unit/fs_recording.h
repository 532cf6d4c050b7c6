/* tests/unit/fs_recording.h - a file system that writes down all that is done to one folder, so
 * that the folder can be built again as a power failure would have left it.
 *
 * Calls go to the real file system too.  What is durable follows base/fs.h to the letter:
 *   bytes, lengths       by fs_sync() of the file
 *   names                by fs_sync_dir() of the folder they are in
 * All else is pending, and after the failure any part of it may be there: a write by sectors of 512
 * bytes, a name by itself, in any combination. */
#ifndef CAUSET_TESTS_UNIT_FS_RECORDING_H
#define CAUSET_TESTS_UNIT_FS_RECORDING_H

#include "base/fs.h"
#include "base/rng.h"

struct fs_recording;

/* Records what happens below `root`, which must be empty.  Aborts when out of memory. */
struct fs_recording *fs_recording_new(const char *root);
struct fs_recording *fs_recording_free(struct fs_recording *r);
struct fs *fs_recording_fs(struct fs_recording *r);

/* Notes something of the test's own at this place of the journal; `kind` is the test's too.  Any
 * thread. */
void fs_recording_note(struct fs_recording *r, int kind, uint64_t value);

/* Entries of the journal so far; and the highest value of a kind noted among the first n. */
size_t fs_recording_length(struct fs_recording *r);
uint64_t fs_recording_noted(struct fs_recording *r, int kind, size_t n);
/* Is the entry n (from 0) a sync, of a file or a folder? */
bool fs_recording_is_sync(struct fs_recording *r, size_t n);

enum power_failure {
	POWER_NOTHING_PENDING, /* nothing of what was pending is there */
	POWER_NAMES_ONLY,      /* pending names are there, pending bytes are not */
	POWER_BYTES_ONLY,      /* the other way round */
	POWER_ALL_PENDING,     /* as after a mere kill */
	POWER_TORN,            /* random sectors, random names */
	POWER_FAILURES
};

/* Builds into `dir` (which must not exist) what is left when the power fails after the first n
 * entries. */
void fs_recording_rebuild(struct fs_recording *r, size_t n, enum power_failure how, struct rng *rng,
			  const char *dir);

#endif
