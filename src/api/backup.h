/* api/backup.h - POST /api/v1/backup: a consistent copy of everything the server keeps. */
#ifndef CAUSET_API_BACKUP_H
#define CAUSET_API_BACKUP_H

#include "api/api.h"

#define BACKUP_FOLDER "backups" /* in the server's folder */

void backup_post(struct http_request *req, struct api *api);

#endif
