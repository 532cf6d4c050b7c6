/* store/wal_retire.c - log files whose batches are all in segments go, and leave the hashes of
 * their bodies behind for as long as repeats are looked for. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "store/wal_state.h"

static int hashes_save(struct wal *w, const struct wal_file *file)
{
	if (w->options.dedup_ns <= 0)
		return 0;
	return wal_seen_write(w->options.fs, w->dir, file->number, w->seed, &file->hashes,
			      clock_wall_ns() - w->options.dedup_ns);
}

static int file_remove(struct wal *w, const struct wal_file *file)
{
	_cleanup_(freep)
	char *path = wal_path(w->dir, WAL_NAME_LOG, file->number);
	int r = hashes_save(w, file);
	bool full = r == -ENOSPC || r == -EDQUOT;

	if (!path)
		return -ENOMEM;
	/* On a full disk the file must not stay for want of room for its hashes: it is the room. */
	if (r < 0 && !full)
		return r;
	if (file->damaged)
		r = wal_set_aside(w->options.fs, w->dir, WAL_NAME_LOG, file->number);
	else
		r = fs_unlink(w->options.fs, path);
	if (r < 0 && r != -ENOENT)
		return r;
	if (full)
		hashes_save(w, file);
	return 0;
}

static int seen_note(struct wal *w, const struct wal_file *file)
{
	struct wal_folder *f = &w->folder;

	if (file->hashes.n == 0 || w->options.dedup_ns <= 0)
		return 0;
	if (!vec_reserve(&f->seen, &f->seen_capacity, f->seen_n + 1, sizeof(*f->seen)))
		return -ENOMEM; /* it stays in the folder until the next start */
	f->seen[f->seen_n++] = (struct wal_seen){file->number, wal_hashes_newest(&file->hashes)};
	return 0;
}

static int files_retire(struct wal *w, uint64_t seq)
{
	struct wal_folder *f = &w->folder;

	for (;;) {
		struct wal_file file;
		int r;

		pthread_mutex_lock(&w->lock);
		if (f->file_n == 0 || f->files[0].last > seq) {
			pthread_mutex_unlock(&w->lock);
			return 0;
		}
		file = f->files[0]; /* only we take from the front; its hashes do not change */
		pthread_mutex_unlock(&w->lock);
		r = file_remove(w, &file);
		if (r < 0)
			return r;
		pthread_mutex_lock(&w->lock);
		seen_note(w, &file);
		f->file_n--;
		memmove(f->files, f->files + 1, f->file_n * sizeof(*f->files));
		pthread_mutex_unlock(&w->lock);
		free(file.hashes.items);
	}
}

/* Hashes that nobody asks for any more. */
static int seen_expire(struct wal *w)
{
	struct wal_folder *f = &w->folder;
	int64_t since = clock_wall_ns() - w->options.dedup_ns;
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->seen_n;) {
		_cleanup_(freep)
		char *path = NULL;

		if (f->seen[i].newest_ns >= since) {
			i++;
			continue;
		}
		path = wal_path(w->dir, WAL_NAME_SEEN, f->seen[i].number);
		r = path ? fs_unlink(w->options.fs, path) : -ENOMEM;
		if (r < 0 && r != -ENOENT)
			break;
		r = 0;
		pthread_mutex_lock(&w->lock);
		f->seen_n--;
		memmove(f->seen + i, f->seen + i + 1, (f->seen_n - i) * sizeof(*f->seen));
		pthread_mutex_unlock(&w->lock);
	}
	return r;
}

int wal_retire(struct wal *w, uint64_t seq)
{
	int r;

	pthread_mutex_lock(&w->lock);
	w->retired = MAX(w->retired, seq);
	seq = w->retired;
	if (w->active && w->file.last <= seq && !w->first && !w->closing) {
		w->finish = true;
		pthread_cond_signal(&w->wake);
		while (w->finish)
			pthread_cond_wait(&w->finished, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	r = files_retire(w, seq);
	return r < 0 ? r : seen_expire(w);
}
