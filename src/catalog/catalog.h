/* catalog/catalog.h - the small mutable state of a server, in one SQLite file.
 *
 * Tokens, rules for redaction and thinning, alerts, tracepoints and the audit log live here; spans
 * never do.  The server and the command line open the same file at the same time: SQLite orders the
 * writers, and a running server notices another process's change within CATALOG_POLL_NS (see
 * catalog_generation).
 *
 * A handle may be used by any thread; it is internally locked. */
#ifndef CAUSET_CATALOG_CATALOG_H
#define CAUSET_CATALOG_CATALOG_H

#include <stdint.h>

#include "base/error.h"
#include "core/clock.h"

#define CATALOG_FILE         "catalog.db"
#define CATALOG_SECRET_BYTES 32

/* How often, at most, a handle asks the file whether somebody else changed it. */
#define CATALOG_POLL_NS NS_PER_S

struct catalog;

/* Opens folder/catalog.db, creating it (mode 0600) and bringing its schema up to date.  The folder
 * must exist.  Refused, with the reason in *e: -ENOTSUP a file written by a newer causet, -EBADMSG
 * a damaged file or one that is not a catalogue, -EBUSY locked for longer than a few seconds, other
 * negative errno from the file system.  A refused file is never changed. */
int catalog_open(const char *folder, struct catalog **ret_catalog, struct error *e);

/* The same to read alone: nothing is created, brought up to date, or written, then or later; the
 * secret is not there, and whatever writes is refused with -EROFS.  -ENOENT: there is no file; also
 * -ENOTSUP: its schema is an older one. */
int catalog_open_read_only(const char *folder, struct catalog **ret_catalog, struct error *e);

/* Writes what is still pending (last-used times), closes, returns NULL.  NULL is accepted.  No
 * other thread may be using the handle. */
struct catalog *catalog_close(struct catalog *cat);

static inline void catalog_closep(struct catalog **cat)
{
	catalog_close(*cat);
}

/* A number that grows when the content may have changed, through this handle or another process.
 * Whoever keeps something compiled from the catalogue compares it and recompiles.  Cheap: an
 * atomic read, and once in CATALOG_POLL_NS one question to SQLite. */
uint64_t catalog_generation(struct catalog *cat);

/* Asks the file now instead of at the next poll.  0, or a negative errno when it cannot be read;
 * what was known before stays in force then. */
int catalog_refresh(struct catalog *cat, struct error *e);

/* Writes a consistent copy to `path`, which must not be there, while others go on; durable but for
 * its name.  Negative errno, with the reason in *e. */
int catalog_backup(struct catalog *cat, const char *path, struct error *e);

/* Random bytes made once for this file, the key of redaction's hashes.  Never shown to anybody. */
void catalog_secret(const struct catalog *cat, uint8_t ret_secret[CATALOG_SECRET_BYTES]);

#endif
