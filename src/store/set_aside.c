/* store/set_aside.c - moving damaged files out of the way, without losing any. */
#include "store/set_aside.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#define NAMESAKES_MOST 1000 /* files of one name that are set aside */

int set_aside_link(struct fs *fs, const char *dir, const char *name)
{
	_cleanup_(freep)
	char *folder = fs_path(dir, SET_ASIDE_FOLDER);
	_cleanup_(freep)
	char *from = fs_path(dir, name);
	_cleanup_(freep)
	char *to = folder ? fs_path(folder, name) : NULL;
	int r;

	if (!from || !to)
		return -ENOMEM;
	r = fs_make_dir(fs, folder, 0700);
	if (r < 0)
		return r;
	r = fs_link(fs, from, to); /* never replaces what is there, a rename would */
	for (int i = 1; r == -EEXIST && i < NAMESAKES_MOST; i++) {
		_cleanup_(freep)
		char *other = NULL;

		if (asprintf(&other, "%s.%d", to, i) < 0) {
			other = NULL;
			return -ENOMEM;
		}
		r = fs_link(fs, from, other);
	}
	if (r == 0)
		r = fs_sync_dir(fs, folder);
	return r < 0 ? r : fs_sync_dir(fs, dir);
}

int set_aside(struct fs *fs, const char *dir, const char *name)
{
	_cleanup_(freep)
	char *path = fs_path(dir, name);
	int r = path ? set_aside_link(fs, dir, name) : -ENOMEM;

	if (r == 0)
		r = fs_unlink(fs, path);
	return r < 0 ? r : fs_sync_dir(fs, dir);
}
