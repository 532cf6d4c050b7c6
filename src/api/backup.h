/* api/backup.h - POST /api/v1/backup: a consistent copy of everything the server keeps. */
#ifndef CAUSET_API_BACKUP_H
#define CAUSET_API_BACKUP_H

#include "api/api.h"

#define BACKUP_FOLDER "backups" /* in the server's folder */

void backup_post(struct http_request *req, struct api *api);

/* Removes copies that a crash has left unfinished in the server's folder.  Returns how many
 * finished ones nobody has taken away; those are left.  Before the server answers anybody. */
size_t backup_sweep(const char *data);

#endif
