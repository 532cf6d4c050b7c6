/* server/folder.h - the folder that holds everything a server keeps, and its lock. */
#ifndef CAUSET_SERVER_FOLDER_H
#define CAUSET_SERVER_FOLDER_H

#include "base/error.h"

#define FOLDER_LOCK_FILE "lock"
#define FOLDER_STORE     "store" /* events: docs/format/manifest.md */

/* Makes the folder and those above it (mode 0700); existing ones stay as they are.  A negative
 * errno, -ENOTDIR when something else has the name; the error says what to do. */
int folder_make(const char *path, struct error *error);

/* Makes the folder (and its parents, mode 0700) if needed and locks it against a second server.
 * The lock ends with the process, however it ends; closing the returned descriptor gives it up.
 * -EBUSY: another server has it; other negative errno; the error says what to do. */
int folder_open(const char *path, struct error *error);

/* Locks a folder that is there, for a tool that works on it at rest.  -ENOENT when it is not; else
 * as folder_open(). */
int folder_lock(const char *path, struct error *error);

#endif
