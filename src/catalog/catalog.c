/* catalog/catalog.c - the small mutable state of a server, in one SQLite file.
 *
 * WAL mode, so that readers never wait for a writer; synchronous=FULL, so that a revoked token
 * stays revoked after a power failure.  The file holds few rows and changes rarely: every change is
 * a transaction of its own, statements are prepared anew each time. */
#include "catalog/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "catalog/catalog_int.h"

#define WAL_RETRY_MS   10
#define MAX_PATH_BYTES 4096
#define SECRET_SETTING "secret"

static int errno_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	default:
		return -EIO;
	}
}

int catalog_fail(sqlite3 *db, int rc, struct error *e, const char *what)
{
	const char *path = db ? sqlite3_db_filename(db, "main") : NULL;

	return error_set(e, errno_of(rc), "%s %s: %s", what, path ? path : "",
			 db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

static int connection_open(const char *path, bool read_only, sqlite3 **ret_db, struct error *e)
{
	int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	sqlite3 *db = NULL;
	int rc, r;

	rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_timeout(db, CATALOG_BUSY_TIMEOUT_MS);
		/* The file is ours but lies in a folder others may write to: believe no schema. */
		sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		rc = sqlite3_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL",
				  NULL, NULL, NULL);
	}
	if (rc != SQLITE_OK) {
		r = catalog_fail(db, rc, e, "cannot open the catalogue");
		sqlite3_close(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

/* Two processes that switch a new file at once can be told "busy" without the busy handler being
 * asked (SQLite sees a deadlock), so the waiting is ours. */
static int enter_wal_mode(sqlite3 *db, struct error *e)
{
	int rc = SQLITE_BUSY;

	for (int waited = 0; waited <= CATALOG_BUSY_TIMEOUT_MS; waited += WAL_RETRY_MS) {
		rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if ((rc & 0xff) != SQLITE_BUSY)
			break;
		sqlite3_sleep(WAL_RETRY_MS);
	}
	return rc == SQLITE_OK ? 0 : catalog_fail(db, rc, e, "cannot open the catalogue");
}

/* The file is small, so all of it is looked at: better a refusal now than half the tokens later. */
static int check_integrity(sqlite3 *db, const char *path, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(db, rc, e, "cannot read the catalogue");
	if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
		return error_set(e, -EBADMSG, "the catalogue %s is damaged: %s", path,
				 sqlite3_column_text(s, 0));
	return 0;
}

/* SQLite would create the file by the process's umask; it holds a secret, so we do.  What root
 * makes in a server's folder belongs to the server. */
static int create_file(const char *folder, const char *path, struct error *e)
{
	_cleanup_(closep)
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0) {
		if (geteuid() == 0 && stat(folder, &st) == 0 &&
		    fchown(fd, st.st_uid, st.st_gid) < 0)
			return error_set(e, -errno, "cannot give %s to its server: %s", path,
					 strerror(errno));
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	return error_set(e, -errno, "cannot open the catalogue %s: %s", path, strerror(errno));
}

static int secret_load(struct catalog *cat, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	uint8_t fresh[CATALOG_SECRET_BYTES];
	int rc, r;

	rng_secret(fresh, sizeof(fresh));
	r = catalog_begin(cat, e);
	if (r < 0)
		return r;
	r = catalog_exec(cat, e, "INSERT OR IGNORE INTO setting (key, value) VALUES (?, ?)", "sb",
			 SECRET_SETTING, fresh, sizeof(fresh));
	r = catalog_end(cat, r, e);
	if (r < 0)
		return r;

	rc = sqlite3_prepare_v2(cat->db,
				"SELECT value FROM setting WHERE key = '" SECRET_SETTING "'", -1,
				&s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	if (sqlite3_column_bytes(s, 0) != CATALOG_SECRET_BYTES)
		return error_set(e, -EBADMSG, "the catalogue's secret has the wrong length");
	memcpy(cat->secret, sqlite3_column_blob(s, 0), CATALOG_SECRET_BYTES);
	return 0;
}

static int open_connections(struct catalog *cat, const char *path, struct error *e)
{
	int r;

	/* Examined before the journal mode is set: a file we refuse is not touched. */
	if ((r = connection_open(path, cat->read_only, &cat->db, e)) < 0 ||
	    (r = check_integrity(cat->db, path, e)) < 0)
		return r;
	if (cat->read_only)
		r = catalog_is_current(cat->db, path, e);
	else if ((r = catalog_migrate(cat->db, path, e)) == 0)
		r = enter_wal_mode(cat->db, e);
	return r < 0 ? r : connection_open(path, cat->read_only, &cat->watch, e);
}

static int open_as(const char *folder, bool read_only, struct catalog **ret_catalog,
		   struct error *e)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	char path[MAX_PATH_BYTES];
	int r;

	if (snprintf(path, sizeof(path), "%s/" CATALOG_FILE, folder) >= (int)sizeof(path))
		return error_set(e, -ENAMETOOLONG, "the folder's path is too long");
	cat = calloc(1, sizeof(*cat));
	if (!cat)
		return error_set(e, -ENOMEM, "out of memory");
	cat->read_only = read_only;
	pthread_mutex_init(&cat->write_lock, NULL);
	pthread_mutex_init(&cat->watch_lock, NULL);
	pthread_rwlock_init(&cat->tokens_lock, NULL);

	if (read_only)
		r = access(path, F_OK) < 0
			    ? error_set(e, -errno, "cannot open the catalogue %s: %s", path,
					strerror(errno))
			    : 0;
	else
		r = create_file(folder, path, e);
	if (r < 0 || (r = open_connections(cat, path, e)) < 0 || (r = catalog_refresh(cat, e)) < 0)
		return r;
	if (!read_only && (r = secret_load(cat, e)) < 0)
		return r;
	*ret_catalog = TAKE_PTR(cat);
	return 0;
}

int catalog_open(const char *folder, struct catalog **ret_catalog, struct error *e)
{
	return open_as(folder, false, ret_catalog, e);
}

int catalog_open_read_only(const char *folder, struct catalog **ret_catalog, struct error *e)
{
	return open_as(folder, true, ret_catalog, e);
}

struct catalog *catalog_close(struct catalog *cat)
{
	if (!cat)
		return NULL;
	if (cat->tokens)
		tokens_flush_used(cat, true);
	tokens_free(cat);
	sqlite3_close(cat->watch);
	sqlite3_close(cat->db);
	pthread_rwlock_destroy(&cat->tokens_lock);
	pthread_mutex_destroy(&cat->watch_lock);
	pthread_mutex_destroy(&cat->write_lock);
	explicit_bzero(cat->secret, sizeof(cat->secret));
	free(cat);
	return NULL;
}

int catalog_begin(struct catalog *cat, struct error *e)
{
	int rc;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_exec(cat->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		int r = catalog_fail(cat->db, rc, e, "cannot write to the catalogue");

		pthread_mutex_unlock(&cat->write_lock);
		return r;
	}
	return 0;
}

int catalog_end(struct catalog *cat, int r, struct error *e)
{
	if (r >= 0) {
		int rc = sqlite3_exec(cat->db, "COMMIT", NULL, NULL, NULL);

		if (rc != SQLITE_OK)
			r = catalog_fail(cat->db, rc, e, "cannot write to the catalogue");
	}
	if (r < 0 && !sqlite3_get_autocommit(cat->db))
		sqlite3_exec(cat->db, "ROLLBACK", NULL, NULL, NULL);
	pthread_mutex_unlock(&cat->write_lock);
	/* The caller's next token_check must know; if this fails, the next poll tries again. */
	if (r >= 0 && catalog_refresh(cat, NULL) < 0)
		atomic_store(&cat->next_poll_ns, 0);
	return r;
}

static int bind_all(sqlite3_stmt *s, const char *format, va_list args)
{
	int rc = SQLITE_OK;

	for (int at = 1; *format && rc == SQLITE_OK; format++, at++) {
		const void *bytes;

		switch (*format) {
		case 'i':
			rc = sqlite3_bind_int64(s, at, va_arg(args, int64_t));
			break;
		case 'd':
			rc = sqlite3_bind_double(s, at, va_arg(args, double));
			break;
		case 's':
			rc = sqlite3_bind_text(s, at, va_arg(args, const char *), -1,
					       SQLITE_STATIC);
			break;
		case 'b':
			bytes = va_arg(args, const void *);
			rc = sqlite3_bind_blob64(s, at, bytes, va_arg(args, size_t), SQLITE_STATIC);
			break;
		default:
			rc = SQLITE_MISUSE;
		}
	}
	return rc;
}

int catalog_exec(struct catalog *cat, struct error *e, const char *sql, const char *format, ...)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	va_list args;
	int rc;

	rc = sqlite3_prepare_v2(cat->db, sql, -1, &s, NULL);
	if (rc == SQLITE_OK) {
		va_start(args, format);
		rc = bind_all(s, format, args);
		va_end(args);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	return rc == SQLITE_DONE ? 0
				 : catalog_fail(cat->db, rc, e, "cannot write to the catalogue");
}

static int read_data_version(struct catalog *cat, int64_t *ret_version, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(cat->watch, "PRAGMA data_version", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(cat->watch, rc, e, "cannot read the catalogue");
	*ret_version = sqlite3_column_int64(s, 0);
	return 0;
}

int catalog_refresh(struct catalog *cat, struct error *e)
{
	int64_t version = 0;
	int r;

	pthread_mutex_lock(&cat->watch_lock);
	atomic_store(&cat->next_poll_ns, clock_mono_ns() + CATALOG_POLL_NS);
	r = read_data_version(cat, &version, e);
	if (r == 0 && (version != cat->data_version || !cat->tokens)) {
		/* The version is read first: a change between the two is seen again next time. */
		r = tokens_reload(cat, e);
		if (r == 0) {
			cat->data_version = version;
			atomic_fetch_add(&cat->generation, 1);
		}
	}
	if (cat->tokens)
		tokens_flush_used(cat, false);
	pthread_mutex_unlock(&cat->watch_lock);
	return r;
}

void catalog_poll(struct catalog *cat)
{
	int64_t due = atomic_load_explicit(&cat->next_poll_ns, memory_order_relaxed);
	int64_t now = clock_mono_ns();

	/* One thread asks; the others go on with what is known. */
	if (now >= due &&
	    atomic_compare_exchange_strong(&cat->next_poll_ns, &due, now + CATALOG_POLL_NS))
		catalog_refresh(cat, NULL);
}

uint64_t catalog_generation(struct catalog *cat)
{
	catalog_poll(cat);
	return atomic_load(&cat->generation);
}

void catalog_secret(const struct catalog *cat, uint8_t ret_secret[CATALOG_SECRET_BYTES])
{
	memcpy(ret_secret, cat->secret, CATALOG_SECRET_BYTES);
}
