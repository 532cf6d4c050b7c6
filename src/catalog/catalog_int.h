/* catalog/catalog_int.h - what the files of this folder share: the two connections and their locks.
 *
 *   db     reads and writes, one thread at a time under `write_lock`
 *   watch  only reads; asks PRAGMA data_version and loads the token snapshot, under `watch_lock`
 *
 * Two, because data_version reports changes by *other* connections: through `watch` a change by
 * this handle and one by another process look the same.  And because a writer may wait seconds for
 * another process's lock, which must not hold up token_check. */
#ifndef CAUSET_CATALOG_CATALOG_INT_H
#define CAUSET_CATALOG_CATALOG_INT_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "catalog/catalog.h"

/* How long a writer waits for another process before -EBUSY. */
#define CATALOG_BUSY_TIMEOUT_MS 20000 /* a disk that others keep busy syncs slowly */

struct token_snapshot;

struct catalog {
	bool read_only;
	pthread_mutex_t write_lock;
	sqlite3 *db;

	pthread_mutex_t watch_lock;
	sqlite3 *watch;
	int64_t data_version;  /* as `watch` last saw it; under watch_lock */
	int64_t used_flush_ns; /* when last-used times were last written; under watch_lock */

	pthread_rwlock_t tokens_lock; /* held only to look up or to swap, never across I/O */
	struct token_snapshot *tokens;

	_Atomic int64_t next_poll_ns; /* monotonic */
	_Atomic uint64_t generation;
	uint8_t secret[CATALOG_SECRET_BYTES];
};

/* Turns SQLite's answer into a negative errno and a sentence that starts with `what`. */
int catalog_fail(sqlite3 *db, int rc, struct error *e, const char *what);

/* Every change: begin (takes write_lock, and the file's write lock), statements, end.  `r` is how
 * the statements went: 0 commits, negative rolls back and is returned.  The next token_check and
 * catalog_generation see what was committed. */
int catalog_begin(struct catalog *cat, struct error *e);
int catalog_end(struct catalog *cat, int r, struct error *e);

/* Runs one statement that gives no rows.  `format` takes the letters of the arguments:
 * i int64_t, d double, s const char * (NULL is SQL NULL), b pointer and size_t.  Must be in a
 * transaction. */
int catalog_exec(struct catalog *cat, struct error *e, const char *sql, const char *format, ...);

/* Asks whether the file has changed if a poll is due. */
void catalog_poll(struct catalog *cat);

static inline void sqlite_finalizep(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

/* catalog/token.c's part of a handle. */
int tokens_reload(struct catalog *cat, struct error *e);    /* under watch_lock */
void tokens_flush_used(struct catalog *cat, bool may_wait); /* under watch_lock, or alone */
void tokens_free(struct catalog *cat);

/* catalog/audit.c: one line of the log, inside the transaction of the change it tells of. */
int audit_append(struct catalog *cat, const char *who, const char *action, const char *detail,
		 struct error *e);

/* catalog/migrate.c */
int catalog_migrate(sqlite3 *db, const char *path, struct error *e);
/* -ENOTSUP unless the schema is the one this program knows. */
int catalog_is_current(sqlite3 *db, const char *path, struct error *e);

#endif
