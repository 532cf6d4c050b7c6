/* catalog/tracepoint.c - named sets of events that queries are asked of. */
#include "catalog/tracepoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "catalog/catalog_int.h"

static int row_check(const struct tracepoint_row *row, struct error *e)
{
	size_t name = row->name ? strlen(row->name) : 0, text = row->text ? strlen(row->text) : 0;

	if (name == 0 || text == 0)
		return error_set(e, -EINVAL, "a tracepoint needs a name and a definition");
	if (name > TRACEPOINT_MAX_NAME_CHARS)
		return error_set(e, -EINVAL, "the tracepoint's name is longer than %d characters",
				 TRACEPOINT_MAX_NAME_CHARS);
	if (text > TRACEPOINT_MAX_TEXT_BYTES)
		return error_set(e, -EINVAL, "the definition of %s is longer than %d bytes",
				 row->name, TRACEPOINT_MAX_TEXT_BYTES);
	return 0;
}

/* Is it there, and may the actor change it?  1, 0 when it is not there, -EACCES, others. */
static int may_change(struct catalog *cat, const char *name, const struct tracepoint_actor *actor,
		      struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	const char *owner;
	int rc = sqlite3_prepare_v2(cat->db, "SELECT owner FROM tracepoint WHERE name = ?", -1, &s,
				    NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_DONE)
		return 0;
	owner = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (!owner)
		return catalog_fail(cat->db, rc == SQLITE_ROW ? SQLITE_NOMEM : rc, e,
				    "cannot read the catalogue");
	if (!actor->admin && strcmp(owner, actor->owner) != 0)
		return error_set(e, -EACCES,
				 "the tracepoint %s belongs to %s; only they or an admin may "
				 "change it",
				 name, owner);
	return 1;
}

static int count(struct catalog *cat, int64_t *ret_count, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(cat->db, "SELECT count(*) FROM tracepoint", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	*ret_count = sqlite3_column_int64(s, 0);
	return 0;
}

static int put(struct catalog *cat, const struct tracepoint_row *row,
	       const struct tracepoint_actor *actor, struct error *e)
{
	int r = may_change(cat, row->name, actor, e);

	if (r < 0)
		return r;
	/* An admin who mends somebody's definition does not take it away from them. */
	r = catalog_exec(cat, e,
			 "INSERT INTO tracepoint (name, text, owner, updated_ns) "
			 "VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
			 "text = excluded.text, updated_ns = excluded.updated_ns",
			 "sssi", row->name, row->text, actor->owner, clock_wall_ns());
	return r < 0 ? r : audit_append(cat, actor->by, "tracepoint.define", row->name, e);
}

static int put_all(struct catalog *cat, const struct tracepoint_row *rows, size_t n,
		   const struct tracepoint_actor *actor, struct error *e)
{
	int64_t there = 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = put(cat, &rows[i], actor, e);
	if (r == 0)
		r = count(cat, &there, e);
	if (r == 0 && there > TRACEPOINT_MAX)
		r = error_set(e, -ENOSPC, "there would be more than %d tracepoints",
			      TRACEPOINT_MAX);
	return r;
}

int tracepoint_define(struct catalog *cat, const struct tracepoint_row *rows, size_t n,
		      const struct tracepoint_actor *actor, struct error *e)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = row_check(&rows[i], e);
	if (r == 0)
		r = catalog_begin(cat, e);
	return r < 0 ? r : catalog_end(cat, put_all(cat, rows, n, actor, e), e);
}

static int remove_row(struct catalog *cat, const char *name, const struct tracepoint_actor *actor,
		      struct error *e)
{
	int r = may_change(cat, name, actor, e);

	if (r < 0)
		return r;
	if (r == 0)
		return error_set(e, -ENOENT, "there is no tracepoint %.*s",
				 TRACEPOINT_MAX_NAME_CHARS, name);
	r = catalog_exec(cat, e, "DELETE FROM tracepoint WHERE name = ?", "s", name);
	return r < 0 ? r : audit_append(cat, actor->by, "tracepoint.drop", name, e);
}

int tracepoint_drop(struct catalog *cat, const char *name, const struct tracepoint_actor *actor,
		    struct error *e)
{
	int r = catalog_begin(cat, e);

	return r < 0 ? r : catalog_end(cat, remove_row(cat, name, actor, e), e);
}

int tracepoint_list(struct catalog *cat,
		    int (*each)(void *context, const struct tracepoint_row *row), void *context,
		    struct error *e)
{
	sqlite3_stmt *s = NULL;
	int rc, r = 0;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_prepare_v2(
		cat->db, "SELECT name, text, owner, updated_ns FROM tracepoint ORDER BY name", -1,
		&s, NULL);
	while (r == 0 && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		const struct tracepoint_row row = {
			.name = (const char *)sqlite3_column_text(s, 0),
			.text = (const char *)sqlite3_column_text(s, 1),
			.owner = (const char *)sqlite3_column_text(s, 2),
			.updated_ns = sqlite3_column_int64(s, 3),
		};

		if (!row.name || !row.text || !row.owner) {
			rc = SQLITE_NOMEM;
			break;
		}
		r = each(context, &row);
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	sqlite3_finalize(s);
	pthread_mutex_unlock(&cat->write_lock);
	return r;
}
