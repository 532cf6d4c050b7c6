/* store/set_aside.h - damaged files are moved to set-aside/ and kept there for a person to look at;
 * nothing reads them, nothing removes them. */
#ifndef CAUSET_STORE_SET_ASIDE_H
#define CAUSET_STORE_SET_ASIDE_H

#include "base/fs.h"

#define SET_ASIDE_FOLDER "set-aside"

/* Moves dir/name to dir/set-aside/name, or name.1, name.2 … where that is taken.  Durable on
 * return. */
int set_aside(struct fs *fs, const char *dir, const char *name);

/* The same, and the file keeps its name as well: for what is still needed until a manifest says
 * otherwise. */
int set_aside_link(struct fs *fs, const char *dir, const char *name);

#endif
