/* base/folder.h - folders that are made when they are needed. */
#ifndef CAUSET_BASE_FOLDER_H
#define CAUSET_BASE_FOLDER_H

#include "base/error.h"

/* Makes the folder and those above it, for its owner alone (mode 0700); existing ones stay as they
 * are.  A negative errno with the reason, -ENOTDIR when something else has the name. */
int folder_make(const char *path, struct error *e);

#endif
