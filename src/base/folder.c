/* base/folder.c - folders that are made when they are needed. */
#include "base/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PATH_BYTES 4096

static int make_one(const char *path, struct error *e)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return error_set(e, -errno, "cannot make the folder %s: %s", path, strerror(errno));
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return error_set(e, -ENOTDIR, "%s is not a folder", path);
	return 0;
}

int folder_make(const char *path, struct error *e)
{
	char copy[MAX_PATH_BYTES];
	size_t n = strlen(path);
	int r;

	if (n >= sizeof(copy))
		return error_set(e, -ENAMETOOLONG, "the folder's path is too long");
	memcpy(copy, path, n + 1);
	for (char *slash = strchr(copy + (*copy != '\0'), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = make_one(copy, e);
		if (r < 0)
			return r;
		*slash = '/';
	}
	return make_one(copy, e);
}
