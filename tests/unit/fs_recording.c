#include "fs_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define SECTOR   512
#define FDS_MOST 4096

enum entry_type { WRITE, RESIZE, SYNC, NAME, SYNC_DIR, NOTE };

struct entry {
	enum entry_type type;
	int kind;       /* NOTE */
	uint32_t inode; /* WRITE, RESIZE, SYNC; NAME: the file it leads to, 0: to nothing */
	char *path;     /* NAME: below the root; SYNC_DIR: the folder */
	char *other;    /* NAME of a rename: the name that goes in the same step */
	char *bytes;    /* WRITE */
	size_t n;
	uint64_t at; /* WRITE; RESIZE: the length; NOTE: the value */
	bool grow;   /* RESIZE: never shorter */
	bool folder; /* NAME of a folder */
};

struct fs_recording {
	struct fs fs;
	char *root;
	pthread_mutex_t lock;
	struct entry *entries;
	size_t n, capacity;
	uint32_t inodes;
	uint32_t inode_of_fd[FDS_MOST];
	/* The names as they are now. */
	struct name {
		char *path;
		uint32_t inode;
	} * names;
	size_t name_n, name_capacity;
};

static void must(bool ok)
{
	if (!ok)
		abort();
}

static struct fs_recording *recording(struct fs *fs)
{
	return container_of(fs, struct fs_recording, fs);
}

/* The path below the root, "" for the root itself; NULL: elsewhere. */
static const char *below(const struct fs_recording *r, const char *path)
{
	size_t n = strlen(r->root);

	if (strncmp(path, r->root, n) != 0)
		return NULL;
	return path[n] == '\0' ? path + n : path[n] == '/' ? path + n + 1 : NULL;
}

static void add(struct fs_recording *r, struct entry e)
{
	must(vec_reserve(&r->entries, &r->capacity, r->n + 1, sizeof(*r->entries)));
	r->entries[r->n++] = e;
}

static char *copy(const char *text)
{
	char *p = strdup(text);

	must(p);
	return p;
}

static struct name *name_find(struct fs_recording *r, const char *path)
{
	for (size_t i = 0; i < r->name_n; i++)
		if (strcmp(r->names[i].path, path) == 0)
			return &r->names[i];
	return NULL;
}

static void name_set(struct fs_recording *r, const char *path, uint32_t inode)
{
	struct name *name = name_find(r, path);

	if (!name) {
		must(vec_reserve(&r->names, &r->name_capacity, r->name_n + 1, sizeof(*r->names)));
		name = &r->names[r->name_n++];
		name->path = copy(path);
	}
	name->inode = inode;
}

static uint32_t inode_of(struct fs_recording *r, const char *path)
{
	struct name *name = name_find(r, path);

	return name ? name->inode : 0;
}

static int recording_open(struct fs *fs, const char *path, int flags, mode_t mode)
{
	struct fs_recording *r = recording(fs);
	const char *name = below(r, path);
	int fd;

	if (!name)
		return fs_open(fs_real(), path, flags, mode);
	pthread_mutex_lock(&r->lock);
	fd = fs_open(fs_real(), path, flags, mode);
	if (fd >= 0) {
		uint32_t inode = inode_of(r, name);

		must(fd < FDS_MOST);
		if (inode == 0 && (flags & O_CREAT)) {
			inode = ++r->inodes;
			name_set(r, name, inode);
			add(r, (struct entry){.type = NAME, .inode = inode, .path = copy(name)});
		} else if (flags & O_TRUNC) {
			add(r, (struct entry){.type = RESIZE, .inode = inode});
		}
		r->inode_of_fd[fd] = inode;
	}
	pthread_mutex_unlock(&r->lock);
	return fd;
}

static int recording_close(struct fs *fs, int fd)
{
	struct fs_recording *r = recording(fs);
	int e;

	pthread_mutex_lock(&r->lock);
	must(fd < FDS_MOST);
	r->inode_of_fd[fd] = 0;
	e = fs_close(fs_real(), fd);
	pthread_mutex_unlock(&r->lock);
	return e;
}

static ssize_t recording_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	return fs_pread(fs_real(), fd, bytes, n, at);
}

static ssize_t recording_pwritev(struct fs *fs, int fd, const struct iovec *parts, int part_n,
				 uint64_t at)
{
	struct fs_recording *r = recording(fs);
	ssize_t n;

	pthread_mutex_lock(&r->lock);
	n = fs_pwritev(fs_real(), fd, parts, part_n, at);
	if (n > 0 && r->inode_of_fd[fd]) {
		struct entry e = {
			.type = WRITE, .inode = r->inode_of_fd[fd], .at = at, .n = (size_t)n};
		size_t done = 0;

		e.bytes = malloc(e.n);
		must(e.bytes);
		for (int i = 0; i < part_n && done < e.n; i++) {
			size_t some = MIN(parts[i].iov_len, e.n - done);

			memcpy(e.bytes + done, parts[i].iov_base, some);
			done += some;
		}
		add(r, e);
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* Nothing is synced for real: it would only take time. */
static int recording_sync(struct fs *fs, int fd)
{
	struct fs_recording *r = recording(fs);

	pthread_mutex_lock(&r->lock);
	add(r, (struct entry){.type = SYNC, .inode = r->inode_of_fd[fd]});
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static int recording_sync_dir(struct fs *fs, const char *path)
{
	struct fs_recording *r = recording(fs);
	const char *name = below(r, path);

	pthread_mutex_lock(&r->lock);
	if (name)
		add(r, (struct entry){.type = SYNC_DIR, .path = copy(name)});
	pthread_mutex_unlock(&r->lock);
	return 0;
}

static int recording_rename(struct fs *fs, const char *from, const char *to)
{
	struct fs_recording *r = recording(fs);
	int e;

	pthread_mutex_lock(&r->lock);
	e = fs_rename(fs_real(), from, to);
	if (e == 0) {
		uint32_t inode = inode_of(r, below(r, from));

		name_set(r, below(r, from), 0);
		name_set(r, below(r, to), inode);
		add(r, (struct entry){.type = NAME,
				      .inode = inode,
				      .path = copy(below(r, to)),
				      .other = copy(below(r, from))});
	}
	pthread_mutex_unlock(&r->lock);
	return e;
}

static int recording_link(struct fs *fs, const char *from, const char *to)
{
	struct fs_recording *r = recording(fs);
	int e;

	pthread_mutex_lock(&r->lock);
	e = fs_link(fs_real(), from, to);
	if (e == 0 && below(r, to)) {
		uint32_t inode = inode_of(r, below(r, from));

		name_set(r, below(r, to), inode);
		add(r, (struct entry){.type = NAME, .inode = inode, .path = copy(below(r, to))});
	}
	pthread_mutex_unlock(&r->lock);
	return e;
}

static int recording_unlink(struct fs *fs, const char *path)
{
	struct fs_recording *r = recording(fs);
	int e;

	pthread_mutex_lock(&r->lock);
	e = fs_unlink(fs_real(), path);
	if (e == 0 && below(r, path)) {
		name_set(r, below(r, path), 0);
		add(r, (struct entry){.type = NAME, .path = copy(below(r, path))});
	}
	pthread_mutex_unlock(&r->lock);
	return e;
}

static int resize(struct fs *fs, int fd, uint64_t size, bool grow)
{
	struct fs_recording *r = recording(fs);
	int e;

	pthread_mutex_lock(&r->lock);
	e = grow ? fs_allocate(fs_real(), fd, size) : fs_truncate(fs_real(), fd, size);
	if (e == 0 && r->inode_of_fd[fd])
		add(r,
		    (struct entry){
			    .type = RESIZE, .inode = r->inode_of_fd[fd], .at = size, .grow = grow});
	pthread_mutex_unlock(&r->lock);
	return e;
}

static int recording_truncate(struct fs *fs, int fd, uint64_t size)
{
	return resize(fs, fd, size, false);
}

static int recording_allocate(struct fs *fs, int fd, uint64_t size)
{
	return resize(fs, fd, size, true);
}

static int recording_mkdir(struct fs *fs, const char *path, mode_t mode)
{
	struct fs_recording *r = recording(fs);
	int e;

	pthread_mutex_lock(&r->lock);
	e = fs_mkdir(fs_real(), path, mode);
	if (e == 0 && below(r, path))
		add(r, (struct entry){.type = NAME,
				      .inode = ++r->inodes,
				      .path = copy(below(r, path)),
				      .folder = true});
	pthread_mutex_unlock(&r->lock);
	return e;
}

static int recording_list(struct fs *fs, const char *path, struct fs_names *ret_names)
{
	return fs_list(fs_real(), path, ret_names);
}

static int recording_size(struct fs *fs, int fd, uint64_t *ret_size)
{
	return fs_size(fs_real(), fd, ret_size);
}

struct fs_recording *fs_recording_new(const char *root)
{
	static const struct fs_ops ops = {
		.open = recording_open,
		.close = recording_close,
		.pread = recording_pread,
		.pwritev = recording_pwritev,
		.sync = recording_sync,
		.sync_dir = recording_sync_dir,
		.rename = recording_rename,
		.link = recording_link,
		.unlink = recording_unlink,
		.truncate = recording_truncate,
		.allocate = recording_allocate,
		.mkdir = recording_mkdir,
		.list = recording_list,
		.size = recording_size,
	};
	struct fs_recording *r = calloc(1, sizeof(*r));

	must(r);
	r->fs.ops = &ops;
	r->root = copy(root);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

struct fs_recording *fs_recording_free(struct fs_recording *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->n; i++) {
		free(r->entries[i].path);
		free(r->entries[i].other);
		free(r->entries[i].bytes);
	}
	for (size_t i = 0; i < r->name_n; i++)
		free(r->names[i].path);
	free(r->names);
	free(r->entries);
	free(r->root);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

struct fs *fs_recording_fs(struct fs_recording *r)
{
	return &r->fs;
}

void fs_recording_note(struct fs_recording *r, int kind, uint64_t value)
{
	pthread_mutex_lock(&r->lock);
	add(r, (struct entry){.type = NOTE, .kind = kind, .at = value});
	pthread_mutex_unlock(&r->lock);
}

size_t fs_recording_length(struct fs_recording *r)
{
	size_t n;

	pthread_mutex_lock(&r->lock);
	n = r->n;
	pthread_mutex_unlock(&r->lock);
	return n;
}

uint64_t fs_recording_noted(struct fs_recording *r, int kind, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n && i < r->n; i++)
		if (r->entries[i].type == NOTE && r->entries[i].kind == kind)
			most = MAX(most, r->entries[i].at);
	return most;
}

bool fs_recording_is_sync(struct fs_recording *r, size_t n)
{
	return r->entries[n].type == SYNC || r->entries[n].type == SYNC_DIR;
}

/* --- the folder again --- */

/* Is this entry durable within the first n?  Somebody synced its file or folder behind it. */
static bool is_durable(const struct fs_recording *r, size_t at, size_t n)
{
	const struct entry *e = &r->entries[at];

	for (size_t i = at + 1; i < n; i++) {
		const struct entry *s = &r->entries[i];

		if (e->type == NAME && s->type == SYNC_DIR) {
			const char *slash = strrchr(e->path, '/');
			size_t length = slash ? (size_t)(slash - e->path) : 0;

			if (strlen(s->path) == length && strncmp(s->path, e->path, length) == 0)
				return true;
		}
		if (e->type != NAME && s->type == SYNC && s->inode == e->inode)
			return true;
	}
	return false;
}

struct file {
	char *bytes;
	size_t n, capacity;
	const char **names; /* that lead to it */
	size_t name_n, name_capacity;
	bool folder;
};

static void file_resize(struct file *f, uint64_t n)
{
	must(vec_reserve(&f->bytes, &f->capacity, n + 1, 1));
	if (n > f->n)
		memset(f->bytes + f->n, 0, n - f->n);
	f->n = n;
}

static void file_write(struct file *f, const char *p, size_t n, uint64_t at)
{
	if (at + n > f->n)
		file_resize(f, at + n);
	memcpy(f->bytes + at, p, n);
}

/* Sector by sector, as the file's sectors lie. */
static void file_write_torn(struct file *f, const struct entry *e, struct rng *rng)
{
	uint64_t kind = rng_below(rng, 4); /* nothing, a beginning, an end, any */
	uint64_t cut = rng_below(rng, e->n + 1);

	for (size_t done = 0; done < e->n;) {
		size_t some = MIN(SECTOR - (e->at + done) % SECTOR, e->n - done);
		bool keep = kind == 1   ? done + some <= cut
			    : kind == 2 ? done >= cut
			    : kind == 3 ? rng_below(rng, 2)
					: false;

		if (keep)
			file_write(f, e->bytes + done, some, e->at + done);
		done += some;
	}
}

static void name_remove(struct file *files, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < files[i].name_n; k++)
			if (strcmp(files[i].names[k], path) == 0)
				files[i].names[k--] = files[i].names[--files[i].name_n];
}

static void apply(struct file *files, size_t n, const struct entry *e, bool torn, struct rng *rng)
{
	struct file *f = &files[e->inode];

	switch (e->type) {
	case WRITE:
		if (torn)
			file_write_torn(f, e, rng);
		else
			file_write(f, e->bytes, e->n, e->at);
		break;
	case RESIZE:
		if (!e->grow || e->at > f->n)
			file_resize(f, e->at);
		break;
	case NAME:
		name_remove(files, n, e->path);
		if (e->other)
			name_remove(files, n, e->other);
		if (e->inode) {
			must(vec_reserve(&f->names, &f->name_capacity, f->name_n + 1,
					 sizeof(*f->names)));
			f->names[f->name_n++] = e->path;
			f->folder |= e->folder;
		}
		break;
	default:
		break;
	}
}

static void file_build(const struct file *f, const char *dir)
{
	for (size_t i = 0; i < f->name_n; i++) {
		_cleanup_(freep)
		char *path = fs_path(dir, f->names[i]);
		int fd;

		must(path);
		if (f->folder) {
			/* One in a folder that is not there is not there. */
			must(mkdir(path, 0700) == 0 || errno == ENOENT);
			continue;
		}
		fd = fs_open(fs_real(), path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd == -ENOENT)
			continue; /* its folder is not there */
		must(fd >= 0);
		must(fs_write_all(fs_real(), fd, f->bytes, f->n, 0) == 0);
		fs_close(fs_real(), fd);
	}
}

void fs_recording_rebuild(struct fs_recording *r, size_t n, enum power_failure how, struct rng *rng,
			  const char *dir)
{
	size_t file_n = r->inodes + 1;
	struct file *files = calloc(file_n, sizeof(*files));

	must(files);
	must(mkdir(dir, 0700) == 0);
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &r->entries[i];
		bool durable = is_durable(r, i, n);
		bool name = e->type == NAME;
		bool keep = durable || how == POWER_ALL_PENDING ||
			    (how == POWER_NAMES_ONLY && name) ||
			    (how == POWER_BYTES_ONLY && !name) ||
			    (how == POWER_TORN && (e->type == WRITE || rng_below(rng, 2)));

		if (keep)
			apply(files, file_n, e, how == POWER_TORN && !durable, rng);
	}
	for (int folders = 1; folders >= 0; folders--)
		for (size_t i = 1; i < file_n; i++)
			if (files[i].folder == folders)
				file_build(&files[i], dir);
	for (size_t i = 0; i < file_n; i++) {
		free(files[i].bytes);
		free(files[i].names);
	}
	free(files);
}
