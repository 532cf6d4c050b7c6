/* store/wal_backup.h - a copy of the log as it is at one moment, while it goes on. */
#ifndef CAUSET_STORE_WAL_BACKUP_H
#define CAUSET_STORE_WAL_BACKUP_H

#include "base/fs.h"

struct wal_backup;

/* Opens every file of the log.  They can be copied afterwards even if they are retired meanwhile.
 * -ENOMEM, or what the file system says. */
int wal_backup_open(struct fs *fs, const char *dir, struct wal_backup **ret_backup);

/* Copies each up to the last record that is whole.  Returns how many files were written. */
int wal_backup_copy(struct wal_backup *b, const char *to, uint64_t *ret_bytes);

/* Accepts NULL, returns NULL. */
struct wal_backup *wal_backup_close(struct wal_backup *b);

static inline void wal_backup_closep(struct wal_backup **b)
{
	wal_backup_close(*b);
}

#endif
