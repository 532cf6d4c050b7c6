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
static const char *holder(int fd, char text[16])
{
	ssize_t n = pread(fd, text, 15, 0);

	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	return *text ? text : "unknown";
}

/* -EBUSY without a message when somebody else has it; *ret_fd is then open. */
static int lock_take(const char *path, int *ret_fd, struct error *error)
{
	char lock[PATH_MAX], pid[16];
	int n;

	if (snprintf(lock, sizeof(lock), "%s/" FOLDER_LOCK_FILE, path) >= (int)sizeof(lock))
		return error_set(error, -ENAMETOOLONG, "'%s' is too long", path);
	*ret_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*ret_fd < 0)
		return error_set(error, -errno, "cannot write in %s: %s", path, strerror(errno));
	if (flock(*ret_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY
					    : error_set(error, -errno, "cannot lock %s: %s", lock,
							strerror(errno));
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(*ret_fd, 0) < 0 || pwrite(*ret_fd, pid, (size_t)n, 0) != n)
		return error_set(error, -errno, "cannot write %s: %s", lock, strerror(errno));
	return 0;
}

int folder_open(const char *path, struct error *error)
{
	_cleanup_(closep)
	int fd = -1;
	char pid[16];
	int taken, r = folder_make(path, error);

	if (r == 0)
		r = lock_take(path, &fd, error);
	if (r == -EBUSY)
		return error_set(error, r,
				 "another causet serve (process %s) uses %s; stop it, or choose "
				 "another folder with --data",
				 holder(fd, pid), path);
	if (r < 0)
		return r;
	taken = fd;
	fd = -1;
	return taken;
}

int folder_lock(const char *path, struct error *error)
{
	_cleanup_(closep)
	int fd = -1;
	struct stat st;
	char pid[16];
	int taken, r;

	if (stat(path, &st) < 0)
		return error_set(error, -errno, "there is no folder %s", path);
	r = lock_take(path, &fd, error);
	if (r == -EBUSY)
		return error_set(error, r, "%s is in use by process %s; stop that first", path,
				 holder(fd, pid));
	if (r < 0)
		return r;
	taken = fd;
	fd = -1;
	return taken;
}
