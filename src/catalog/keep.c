/* catalog/keep.c - the share of traces that the server keeps of those it is sent. */
#include "catalog/keep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "catalog/catalog_int.h"

#define KEEP_KEY "keep_threshold"

int keep_get(struct catalog *cat, uint64_t *ret_threshold, struct error *e)
{
	sqlite3_stmt *s = NULL;
	int rc, r = 0;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_prepare_v2(cat->db, "SELECT value FROM setting WHERE key = '" KEEP_KEY "'", -1,
				&s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_DONE)
		*ret_threshold = 0;
	else if (rc != SQLITE_ROW)
		r = catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	else if (sqlite3_column_bytes(s, 0) != sizeof(*ret_threshold))
		r = error_set(e, -EBADMSG,
			      "the catalogue's share of kept traces is damaged; set it "
			      "again with 'causet keep set'");
	else
		memcpy(ret_threshold, sqlite3_column_blob(s, 0), sizeof(*ret_threshold));
	sqlite3_finalize(s);
	pthread_mutex_unlock(&cat->write_lock);
	return r;
}

static int put(struct catalog *cat, uint64_t threshold, double share, const char *by,
	       struct error *e)
{
	char detail[64];
	int r = catalog_exec(cat, e,
			     "INSERT INTO setting (key, value) VALUES ('" KEEP_KEY
			     "', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
			     "b", &threshold, sizeof(threshold));

	if (r < 0)
		return r;
	snprintf(detail, sizeof(detail), "%.17g of all traces", share);
	return audit_append(cat, by, "keep.set", detail, e);
}

int keep_set(struct catalog *cat, uint64_t threshold, double share, const char *by, struct error *e)
{
	int r = catalog_begin(cat, e);

	if (r < 0)
		return r;
	return catalog_end(cat, put(cat, threshold, share, by, e), e);
}
