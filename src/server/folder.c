/* server/folder.c - the folder that holds everything a server keeps, and its lock. */
#include "server/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int folder_make(const char *path, struct error *error)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	struct stat st;

	if (n == 0 || n >= sizeof(part))
		return error_set(error, -ENAMETOOLONG, "'%s' is not a path for a folder", path);
	memcpy(part, path, n + 1);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return error_set(error, -errno,
					 "cannot make %s: %s; choose another with --data", part,
					 strerror(errno));
		*slash = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set(error, -errno, "cannot make %s: %s; choose another with --data",
				 path, strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(error, -ENOTDIR, "%s is not a folder; choose another with --data",
				 path);
	return 0;
}

/* Whoever holds the lock has written its number. */
static int held_by_other(int fd, const char *path, struct error *error)
{
	char text[16] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	return error_set(error, -EBUSY,
			 "another causet serve (process %s) uses %s; stop it, or choose another "
			 "folder with --data",
			 *text ? text : "unknown", path);
}

int folder_open(const char *path, struct error *error)
{
	char lock[PATH_MAX], pid[16];
	int fd, n, r = folder_make(path, error);

	if (r < 0)
		return r;
	if (snprintf(lock, sizeof(lock), "%s/" FOLDER_LOCK_FILE, path) >= (int)sizeof(lock))
		return error_set(error, -ENAMETOOLONG, "'%s' is too long", path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(error, -errno, "cannot write in %s: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK
			    ? held_by_other(fd, path, error)
			    : error_set(error, -errno, "cannot lock %s: %s", lock, strerror(errno));
		close(fd);
		return r;
	}
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n) {
		r = error_set(error, -errno, "cannot write %s: %s", lock, strerror(errno));
		close(fd);
		return r;
	}
	return fd;
}
