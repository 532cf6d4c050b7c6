/* catalog/catalog_backup.c - a consistent copy of the catalogue while it is used. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "catalog/catalog_int.h"

/* SQLite makes the copy in one transaction and does not sync it. */
static int copy_into(sqlite3 *db, const char *path, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	return rc == SQLITE_DONE ? 0 : catalog_fail(db, rc, e, "cannot copy the catalogue");
}

int catalog_backup(struct catalog *cat, const char *path, struct error *e)
{
	/* It holds a secret: made by us, not by the process's umask; SQLite takes an empty file. */
	_cleanup_(closep)
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return error_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	pthread_mutex_lock(&cat->write_lock);
	r = copy_into(cat->db, path, e);
	pthread_mutex_unlock(&cat->write_lock);
	if (r == 0 && fsync(fd) < 0)
		r = error_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	return r;
}
