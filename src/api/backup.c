/* api/backup.c - POST /api/v1/backup: a consistent copy of everything the server keeps.
 *
 * The copy is made inside the server's own folder, under a name of the server's choice: segments
 * are linked, so it takes little time and room, and nobody can make the server write anywhere
 * else.  Whoever asked takes it away; `causet store backup` does.  It has its name only when it is
 * finished, so what a crash has left can be told from what somebody may still want. */
#include "api/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "core/clock.h"
#include "store/store_backup.h"
#include "wire/json_writer.h"

#define NAME_BYTES 48
#define UNFINISHED ".unfinished"
#define WALK_FILES 16

/* "20260102T030405Z-1a2b3c4d": sorted by time, and never the same twice. */
static void name_make(char name[NAME_BYTES])
{
	time_t now = (time_t)(clock_wall_ns() / NS_PER_S);
	struct tm parts;
	uint32_t random;
	size_t n;

	gmtime_r(&now, &parts);
	rng_secret((uint8_t *)&random, sizeof(random));
	n = strftime(name, NAME_BYTES, "%Y%m%dT%H%M%SZ", &parts);
	snprintf(name + n, NAME_BYTES - n, "-%08x", random);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

static void folder_remove(const char *path)
{
	nftw(path, remove_one, WALK_FILES, FTW_DEPTH | FTW_PHYS);
}

size_t backup_sweep(const char *data)
{
	_cleanup_(freep)
	char *folder = fs_path(data, BACKUP_FOLDER);
	struct fs_names names = {0};
	size_t finished = 0;

	if (!folder || fs_list(fs_real(), folder, &names) < 0)
		return 0;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_(freep)
		char *path = fs_path(folder, names.items[i]);

		if (!slice_ends(slice_cstr(names.items[i]), SLICE(UNFINISHED)))
			finished++;
		else if (path)
			folder_remove(path);
	}
	fs_names_done(&names);
	return finished;
}

static int folder_new(const char *path, bool may_exist, struct error *error)
{
	if (mkdir(path, 0700) == 0 || (may_exist && errno == EEXIST))
		return 0;
	return error_set(error, -errno, "cannot make %s: %s", path, strerror(errno));
}

static int copy_all(struct api *api, const char *folder, struct store_copied *copied,
		    struct error *error)
{
	char path[PATH_MAX + 64];
	int r;

	snprintf(path, sizeof(path), "%s/store", folder);
	r = folder_new(path, false, error);
	if (r == 0)
		r = engine_backup(api->store, path, copied, error);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/" CATALOG_FILE, folder);
	r = catalog_backup(api->catalog, path, error);
	if (r == 0) {
		copied->files++;
		r = fs_sync_dir(fs_real(), folder);
	}
	return r;
}

static int backup_finish(const char *making, const char *folder, struct error *error)
{
	int r = fs_rename(fs_real(), making, folder);

	return r < 0 ? error_set(error, r, "cannot make %s: %s", folder, strerror(-r)) : 0;
}

static void answer(struct http_request *req, const char *name, const struct store_copied *c)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	json_begin_object(&w);
	json_put_name(&w, "name");
	json_put_cstr(&w, name);
	json_put_name(&w, "folder");
	json_put_cstr(&w, BACKUP_FOLDER);
	json_put_name(&w, "files");
	json_put_u64(&w, c->files);
	json_put_name(&w, "linked");
	json_put_u64(&w, c->linked);
	json_put_name(&w, "bytes");
	json_put_u64(&w, c->bytes);
	json_put_name(&w, "segments");
	json_put_u64(&w, c->segments);
	json_end_object(&w);
	http_reply_buffer(req, 200, "application/json", &out);
}

static void backup_work(struct http_request *req, struct api *api)
{
	char folder[PATH_MAX], making[PATH_MAX + sizeof(UNFINISHED)], name[NAME_BYTES];
	struct store_copied copied = {0};
	struct error error = {0};
	int r;

	if (!store_stats(api->store).durable) {
		api_fail(req, 400,
			 "this server keeps everything in memory; there is nothing to "
			 "make a backup of");
		return;
	}
	name_make(name);
	if (snprintf(folder, sizeof(folder), "%s/" BACKUP_FOLDER, api->data) + (int)sizeof(name) +
		    1 >=
	    (int)sizeof(folder)) {
		api_fail(req, 500, "the path of the server's folder is too long");
		return;
	}
	r = folder_new(folder, true, &error);
	if (r == 0) {
		strcat(folder, "/");
		strcat(folder, name);
		snprintf(making, sizeof(making), "%s" UNFINISHED, folder);
		r = folder_new(making, false, &error);
	}
	if (r == 0) {
		r = copy_all(api, making, &copied, &error);
		if (r == 0)
			r = backup_finish(making, folder, &error);
		if (r < 0)
			folder_remove(making);
	}
	if (r < 0)
		api_fail(req, r == -ENOSPC || r == -ENOMEM ? 503 : 500, "%s", error.text);
	else
		answer(req, name, &copied);
}

void backup_post(struct http_request *req, struct api *api)
{
	api_work(req, backup_work);
}
