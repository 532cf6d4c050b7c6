/* catalog/migrate.c - from any older schema to the one this program knows.
 *
 * PRAGMA user_version counts the steps a file has had.  A step is never edited once released: a
 * change of mind is a further step.  All missing steps run in one transaction, so a file is either
 * as old as it was or wholly new. */
#include "catalog/catalog_int.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#define CATALOG_APPLICATION_ID 0x63736574 /* "cset", so that file(1) and we can tell it is ours */

static const char *const steps[] = {
	/* 1: tokens, redaction rules, the audit log */
	"CREATE TABLE setting ("
	" key TEXT PRIMARY KEY,"
	" value BLOB NOT NULL"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE token ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT," /* never used again: the audit log names it */
	" owner TEXT NOT NULL,"
	" hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),"
	" roles INTEGER NOT NULL,"
	" created_ns INTEGER NOT NULL,"
	" expires_ns INTEGER NOT NULL," /* 0: never */
	" used_ns INTEGER NOT NULL"     /* 0: never */
	") STRICT;"
	"CREATE INDEX token_owner ON token (owner);"
	"CREATE TABLE redact_rule ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" owner TEXT NOT NULL,"
	" key TEXT NOT NULL,"
	" value TEXT,"
	" action INTEGER NOT NULL,"
	" level INTEGER NOT NULL,"
	" created_ns INTEGER NOT NULL"
	") STRICT;"
	"CREATE TABLE audit ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" at_ns INTEGER NOT NULL,"
	" who TEXT NOT NULL,"
	" action TEXT NOT NULL,"
	" detail TEXT NOT NULL"
	") STRICT;"
	"CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit"
	" BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;"
	"CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit"
	" BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;",

	/* 2: rules for thinning old traces */
	"CREATE TABLE thin_rule ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" after_ns INTEGER NOT NULL UNIQUE,"
	" threshold INTEGER NOT NULL,"
	" errors INTEGER NOT NULL,"
	" slow_ppm INTEGER NOT NULL," /* quantile in millionths; 0: not looked at */
	" rare INTEGER NOT NULL,"     /* 0: not looked at */
	" attributes TEXT NOT NULL,"  /* one a line */
	" created_ns INTEGER NOT NULL"
	") STRICT;",

	/* 3: tracepoints */
	"CREATE TABLE tracepoint ("
	" name TEXT PRIMARY KEY,"
	" text TEXT NOT NULL,"
	" owner TEXT NOT NULL,"
	" updated_ns INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;",

	/* 4: alerts: rules, what they have found, and what is still to be told */
	"CREATE TABLE alert_rule ("
	" name TEXT PRIMARY KEY,"
	" text TEXT NOT NULL,"
	" owner TEXT NOT NULL,"
	" updated_ns INTEGER NOT NULL,"
	" dropped INTEGER NOT NULL DEFAULT 0," /* until what fired is resolved */
	" evaluated_ns INTEGER NOT NULL DEFAULT 0,"
	" overflow INTEGER NOT NULL DEFAULT 0,"
	" late INTEGER NOT NULL DEFAULT 0,"
	" error TEXT NOT NULL DEFAULT ''"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE alert_state ("
	" rule TEXT NOT NULL,"
	" labels TEXT NOT NULL,"
	" state INTEGER NOT NULL,"
	" value REAL NOT NULL,"
	" since_ns INTEGER NOT NULL,"
	" fired_ns INTEGER NOT NULL,"
	" resolved_ns INTEGER NOT NULL,"
	" told_ns INTEGER NOT NULL,"
	" PRIMARY KEY (rule, labels)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE alert_delivery ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" rule TEXT NOT NULL,"
	" webhook TEXT NOT NULL,"
	" body TEXT NOT NULL,"
	" created_ns INTEGER NOT NULL,"
	" next_ns INTEGER NOT NULL,"
	" tries INTEGER NOT NULL DEFAULT 0,"
	" error TEXT NOT NULL DEFAULT ''"
	") STRICT;"
	"CREATE INDEX alert_delivery_rule ON alert_delivery (rule, id);",
};

static int read_number(sqlite3 *db, const char *sql, int64_t *ret_value, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(db, rc, e, "cannot read the catalogue");
	*ret_value = sqlite3_column_int64(s, 0);
	return 0;
}

/* Reads the version; refuses what is newer, and what is somebody else's database. */
static int examine(sqlite3 *db, const char *path, int64_t *ret_version, struct error *e)
{
	int64_t version = 0, application = 0, tables = 0;
	int r;

	if ((r = read_number(db, "PRAGMA user_version", &version, e)) < 0 ||
	    (r = read_number(db, "PRAGMA application_id", &application, e)) < 0 ||
	    (r = read_number(db, "SELECT count(*) FROM sqlite_schema", &tables, e)) < 0)
		return r;
	if (application != CATALOG_APPLICATION_ID && (application || version || tables))
		return error_set(e, -EBADMSG, "%s is an SQLite database but not a catalogue", path);
	if (version < 0 || version > (int64_t)ARRAY_SIZE(steps))
		return error_set(
			e, -ENOTSUP,
			"%s has schema version %lld, newer than the %zu this program knows: "
			"it was written by a newer causet",
			path, (long long)version, ARRAY_SIZE(steps));
	*ret_version = version;
	return 0;
}

static int run(sqlite3 *db, const char *sql, struct error *e)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : catalog_fail(db, rc, e, "cannot update the catalogue");
}

static int run_missing_steps(sqlite3 *db, const char *path, struct error *e)
{
	char pragma[96];
	int64_t version = 0;
	int r;

	/* Again, now that nobody else can write: another process may have been faster. */
	r = examine(db, path, &version, e);
	if (r < 0)
		return r;
	for (size_t i = (size_t)version; i < ARRAY_SIZE(steps); i++) {
		r = run(db, steps[i], e);
		if (r < 0)
			return r;
	}
	snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d; PRAGMA user_version = %zu",
		 CATALOG_APPLICATION_ID, ARRAY_SIZE(steps));
	return run(db, pragma, e);
}

/* The same as of one moment: another process may be making the tables just now. */
static int examine_at_once(sqlite3 *db, const char *path, int64_t *ret_version, struct error *e)
{
	int r = run(db, "BEGIN", e);

	if (r < 0)
		return r;
	r = examine(db, path, ret_version, e);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int catalog_is_current(sqlite3 *db, const char *path, struct error *e)
{
	int64_t version = 0;
	int r = examine_at_once(db, path, &version, e);

	if (r < 0 || version == (int64_t)ARRAY_SIZE(steps))
		return r;
	return error_set(e, -ENOTSUP,
			 "%s was written by an older causet: start 'causet serve' on it once",
			 path);
}

int catalog_migrate(sqlite3 *db, const char *path, struct error *e)
{
	int64_t version = 0;
	int r;

	r = examine_at_once(db, path, &version, e);
	if (r < 0 || version == (int64_t)ARRAY_SIZE(steps))
		return r;
	r = run(db, "BEGIN IMMEDIATE", e);
	if (r < 0)
		return r;
	r = run_missing_steps(db, path, e);
	if (r == 0)
		r = run(db, "COMMIT", e);
	if (r < 0)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
