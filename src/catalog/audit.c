/* catalog/audit.c - who changed what in the catalogue, and when. */
#include "catalog/audit.h"

#include "catalog/catalog_int.h"

int audit_append(struct catalog *cat, const char *who, const char *action, const char *detail,
		 struct error *e)
{
	return catalog_exec(cat, e,
			    "INSERT INTO audit (at_ns, who, action, detail) VALUES (?, ?, ?, ?)",
			    "isss", clock_wall_ns(), who && *who ? who : "unknown", action, detail);
}

static int list_rows(sqlite3_stmt *s, int (*each)(void *context, const struct audit_entry *entry),
		     void *context, int *ret_rc)
{
	int r = 0;

	while (r == 0 && (*ret_rc = sqlite3_step(s)) == SQLITE_ROW) {
		const struct audit_entry entry = {
			.id = sqlite3_column_int64(s, 0),
			.at_ns = sqlite3_column_int64(s, 1),
			.who = (const char *)sqlite3_column_text(s, 2),
			.action = (const char *)sqlite3_column_text(s, 3),
			.detail = (const char *)sqlite3_column_text(s, 4),
		};

		if (!entry.who || !entry.action || !entry.detail) {
			*ret_rc = SQLITE_NOMEM;
			break;
		}
		r = each(context, &entry);
	}
	return r;
}

int audit_list(struct catalog *cat, int64_t after,
	       int (*each)(void *context, const struct audit_entry *entry), void *context,
	       struct error *e)
{
	sqlite3_stmt *s = NULL;
	int rc, r = 0;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_prepare_v2(
		cat->db,
		"SELECT id, at_ns, who, action, detail FROM audit WHERE id > ? ORDER BY id", -1, &s,
		NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(s, 1, after);
	if (rc == SQLITE_OK)
		r = list_rows(s, each, context, &rc);
	if (r == 0 && rc != SQLITE_DONE)
		r = catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	sqlite3_finalize(s);
	pthread_mutex_unlock(&cat->write_lock);
	return r;
}
