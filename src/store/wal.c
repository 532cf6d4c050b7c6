/* store/wal.c - the write-ahead log: the queue, its writer, and the files that have been written.
 *
 * The writer takes the whole queue at once, cuts it into groups that fit their file, and settles
 * each group when it is written and synced.  While it waits for the disk the next group gathers, so
 * the busier the server the more requests share a sync.
 *
 * Failure is a state: `error` is set, everything queued is settled with it, wal_append() refuses,
 * and the writer tries to begin a new file now and then, which must have all its room before it is
 * believed in. */
#include "store/wal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/clock.h"
#include "store/wal_gather.h"
#include "store/wal_int.h"
#include "store/wal_out.h"

#define GROUP_MOST      256                /* records in one write */
#define KEPT_BYTES_MOST ((size_t)32 << 20) /* acknowledged, unsynced: sync early */
#define RETRY_MOST_NS   (5 * NS_PER_S)
#define NEVER_NS        INT64_MAX

struct wal {
	struct wal_options options; /* constant, as is seed */
	char *dir;
	uint64_t seed;
	pthread_t thread;

	/* The writer's alone. */
	struct wal_out out;
	struct arena arena; /* of one group */
	struct wal_item *items;
	int64_t sync_due_ns, retry_ns, pause_ns;
	struct wal_gather gather; /* read by others with the lock */

	pthread_mutex_t lock; /* guards all below but the atomics */
	pthread_cond_t wake, finished;
	bool started, waiting, closing;
	bool finish; /* wal_retire() wants the file ended, if nothing came meanwhile */
	struct store_append *first, **last;
	size_t queued_n, queued_bytes; /* until they are settled */
	uint64_t retired;
	struct wal_folder folder; /* ended files, and hashes of gone ones */
	bool active;
	struct wal_file file; /* being written */
	struct wal_stats stats;

	_Atomic int error; /* negative errno, or 0 */
	_Atomic uint64_t last_seq;
};

/* --- the writer --- */

static void settle(struct wal *w, struct store_append *chain, size_t n, size_t bytes, int result)
{
	if (!chain)
		return;
	w->options.settle(w->options.context, chain, result);
	pthread_mutex_lock(&w->lock);
	w->queued_n -= n;
	w->queued_bytes -= bytes;
	w->stats.refused += result < 0 ? n : 0;
	pthread_mutex_unlock(&w->lock);
}

static void settle_all(struct wal *w, struct store_append *chain, int result)
{
	size_t n = 0, bytes = 0;

	for (struct store_append *a = chain; a; a = a->next) {
		n++;
		bytes += a->bytes;
	}
	settle(w, chain, n, bytes, result);
}

/* The file that was being written joins the ended ones.  Room for it was made when it was begun. */
static void file_push(struct wal *w)
{
	pthread_mutex_lock(&w->lock);
	if (w->active) {
		w->folder.files[w->folder.file_n++] = w->file;
		w->file = (struct wal_file){0};
		w->active = false;
	}
	pthread_mutex_unlock(&w->lock);
}

static void fail(struct wal *w, int error)
{
	wal_out_leave(&w->out);
	file_push(w);
	w->pause_ns = w->pause_ns ? MIN(w->pause_ns * 2, RETRY_MOST_NS) : w->options.retry_ns;
	w->retry_ns = clock_mono_ns() + w->pause_ns;
	atomic_store(&w->error, error);
	pthread_mutex_lock(&w->lock);
	w->stats.failures++;
	pthread_mutex_unlock(&w->lock);
}

static int file_begin(struct wal *w, uint64_t bytes)
{
	bool again; /* are records of the file before written again? */
	int r;

	pthread_mutex_lock(&w->lock);
	wal_out_forget(&w->out, w->retired);
	again = w->out.kept_n > 0;
	r = vec_reserve(&w->folder.files, &w->folder.file_capacity, w->folder.file_n + 1,
			sizeof(*w->folder.files))
		    ? 0
		    : -ENOMEM;
	pthread_mutex_unlock(&w->lock);
	if (r == 0)
		r = wal_out_begin(&w->out, bytes);
	if (r < 0) {
		fail(w, r);
		return r;
	}
	w->pause_ns = 0;
	pthread_mutex_lock(&w->lock);
	w->active = true;
	w->file = (struct wal_file){.number = w->out.number,
				    .last = again ? w->out.last : 0,
				    .bytes = w->out.at,
				    .size = w->out.allocated};
	w->stats.syncs += w->options.sync != WAL_SYNC_NEVER;
	pthread_mutex_unlock(&w->lock);
	atomic_store(&w->error, 0);
	return 0;
}

static int file_end(struct wal *w)
{
	int r = wal_out_end(&w->out);

	if (r < 0) {
		fail(w, r);
		return r;
	}
	file_push(w);
	return 0;
}

struct group {
	struct store_append *first, **last;
	size_t n, bytes;
};

/* Takes appends from the chain while they fit into the file (the first always), have room in the
 * head, and memory is there.  Those that are refused are settled at once. */
static void group_take(struct wal *w, struct store_append **chain, struct group *g)
{
	*g = (struct group){.last = &g->first};
	arena_clear(&w->arena);
	while (*chain && g->n < GROUP_MOST) {
		struct store_append *a = *chain;
		int r = 0;

		if (g->n > 0 && !wal_out_fits(&w->out, g->bytes + a->bytes))
			break;
		*chain = a->next;
		a->next = NULL;
		if (w->options.prepare)
			r = w->options.prepare(w->options.context, a);
		if (r < 0) {
			settle(w, a, 1, a->bytes, r);
			continue;
		}
		a->seq = w->out.next_seq++;
		if (!wal_item_of(a, &w->arena, &w->items[g->n])) {
			settle(w, a, 1, a->bytes, -ENOMEM);
			continue;
		}
		*g->last = a;
		g->last = &a->next;
		g->n++;
		g->bytes += a->bytes;
	}
}

/* What the others may know, before anybody is told. */
static int hashes_reserve(struct wal *w, size_t n)
{
	bool ok;

	pthread_mutex_lock(&w->lock);
	ok = vec_reserve(&w->file.hashes.items, &w->file.hashes.capacity, w->file.hashes.n + n,
			 sizeof(*w->file.hashes.items));
	pthread_mutex_unlock(&w->lock);
	return ok ? 0 : -ENOMEM;
}

static void group_note(struct wal *w, const struct group *g)
{
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < g->n; i++)
		if (w->items[i].has_body_hash)
			wal_hashes_add(&w->file.hashes, w->items[i].body_hash,
				       w->items[i].batch ? w->items[i].batch->received_ns : 0);
	w->file.last = w->out.last;
	w->file.bytes = w->out.at;
	w->stats.records += g->n;
	w->stats.bytes += g->bytes;
	w->stats.groups++;
	w->stats.syncs += w->options.sync == WAL_SYNC_ALWAYS;
	pthread_mutex_unlock(&w->lock);
	atomic_store(&w->last_seq, w->out.last);
}

static int group_write(struct wal *w, const struct group *g)
{
	int r = hashes_reserve(w, g->n);

	if (r < 0)
		return r;
	r = wal_out_write(&w->out, w->items, g->n);
	if (r < 0 && r != -ENOMEM)
		fail(w, r);
	if (r < 0)
		return r;
	group_note(w, g);
	if (w->options.sync == WAL_SYNC_INTERVAL && w->sync_due_ns == NEVER_NS)
		w->sync_due_ns = clock_mono_ns() + w->options.interval_ns;
	return 0;
}

static void chain_write(struct wal *w, struct store_append *chain)
{
	while (chain) {
		struct group g;
		int r = 0;

		if (w->out.fd >= 0 && !wal_out_fits(&w->out, chain->bytes))
			r = file_end(w);
		if (r == 0 && w->out.fd < 0)
			r = atomic_load(&w->error) ? atomic_load(&w->error)
						   : file_begin(w, chain->bytes);
		if (r < 0) {
			settle_all(w, chain, r);
			return;
		}
		group_take(w, &chain, &g);
		if (g.n == 0)
			continue;
		r = group_write(w, &g);
		settle(w, g.first, g.n, g.bytes, r);
		if (r < 0 && r != -ENOMEM) {
			settle_all(w, chain, r);
			return;
		}
	}
}

static void sync_now(struct wal *w)
{
	int r = wal_out_sync(&w->out);

	w->sync_due_ns = NEVER_NS;
	if (r < 0) {
		fail(w, r);
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->stats.syncs++;
	pthread_mutex_unlock(&w->lock);
}

/* Ends the file when all of it is elsewhere.  What is kept of it need not be synced then. */
static void file_finish(struct wal *w)
{
	uint64_t retired;

	pthread_mutex_lock(&w->lock);
	retired = w->retired;
	pthread_mutex_unlock(&w->lock);
	if (w->out.fd < 0 || w->out.last > retired)
		return;
	wal_out_forget(&w->out, retired);
	file_end(w);
}

/* When the writer must look up again though nobody calls. */
static int64_t due_ns(const struct wal *w)
{
	return atomic_load(&w->error) ? w->retry_ns : w->sync_due_ns;
}

/* Should the writer wait for more to come before it takes what is queued? */
static bool gathering(const struct wal *w)
{
	return w->options.sync == WAL_SYNC_ALWAYS && !w->closing && atomic_load(&w->error) == 0 &&
	       !wal_gather_enough(&w->gather, w->queued_n, w->queued_bytes) &&
	       clock_mono_ns() < w->gather.until_ns;
}

static void wait_until(struct wal *w, int64_t ns)
{
	struct timespec at = {ns / NS_PER_S, ns % NS_PER_S};

	w->waiting = true;
	if (ns == NEVER_NS)
		pthread_cond_wait(&w->wake, &w->lock);
	else
		pthread_cond_timedwait(&w->wake, &w->lock, &at);
	w->waiting = false;
}

static void on_time(struct wal *w)
{
	int64_t now = clock_mono_ns();

	if (atomic_load(&w->error)) {
		if (now >= w->retry_ns)
			file_begin(w, 0);
	} else if (now >= w->sync_due_ns || w->out.kept_bytes >= KEPT_BYTES_MOST) {
		sync_now(w);
	}
}

static void *write_on(void *context)
{
	struct wal *w = context;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct store_append *chain = w->first;
		bool finish = w->finish && !chain, closing = w->closing && !chain;
		size_t n = w->queued_n; /* all of them in the chain */
		int64_t began_ns;

		if (!chain && !finish && !closing && clock_mono_ns() < due_ns(w)) {
			wait_until(w, due_ns(w));
			continue;
		}
		if (chain && gathering(w)) {
			wait_until(w, w->gather.until_ns);
			continue;
		}
		w->first = NULL;
		w->last = &w->first;
		pthread_mutex_unlock(&w->lock);
		began_ns = clock_mono_ns();
		if (chain)
			chain_write(w, chain);
		on_time(w);
		if (finish)
			file_finish(w);
		pthread_mutex_lock(&w->lock);
		if (chain)
			wal_gather_note(&w->gather, n, w->queued_n, began_ns, clock_mono_ns());
		/* Done; or something came before it could be, and there is no use in it any more.
		 */
		if (w->finish && (finish || w->first)) {
			w->finish = false;
			pthread_cond_broadcast(&w->finished);
		}
		if (closing)
			break;
	}
	pthread_mutex_unlock(&w->lock);
	if (w->out.fd >= 0)
		file_end(w);
	if (w->out.kept_n > 0 && file_begin(w, 0) == 0) /* acknowledged, not durable: a last try */
		file_end(w);
	return NULL;
}

/* --- opening and closing --- */

static int start(struct wal *w)
{
	pthread_condattr_t attr;
	int r;

	w->items = malloc(GROUP_MOST * sizeof(*w->items));
	if (!w->items)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_cond_init(&w->finished, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&w->thread, NULL, write_on, w);
	w->started = r == 0;
	if (w->started)
		pthread_setname_np(w->thread, "log"); /* for top and ps */
	if (!w->started) {
		pthread_mutex_destroy(&w->lock);
		pthread_cond_destroy(&w->wake);
		pthread_cond_destroy(&w->finished);
	}
	return -r;
}

static void wal_free(struct wal *w)
{
	if (!w)
		return;
	if (w->started) {
		pthread_mutex_destroy(&w->lock);
		pthread_cond_destroy(&w->wake);
		pthread_cond_destroy(&w->finished);
	}
	wal_out_done(&w->out);
	wal_folder_done(&w->folder);
	arena_done(&w->arena);
	free(w->items);
	free(w->dir);
	free(w);
}

static void wal_freep(struct wal **w)
{
	wal_free(*w);
}

int wal_open(const struct wal_options *options, struct wal **ret_wal, struct error *error)
{
	_cleanup_(wal_freep)
	struct wal *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_set(error, -ENOMEM, "out of memory");
	w->options = *options;
	w->options.dir = w->dir = strdup(options->dir);
	if (!w->dir)
		return error_set(error, -ENOMEM, "out of memory");
	if (w->options.file_bytes == 0)
		w->options.file_bytes = WAL_FILE_BYTES;
	if (w->options.queue_bytes == 0)
		w->options.queue_bytes = WAL_QUEUE_BYTES;
	if (w->options.queue_count == 0)
		w->options.queue_count = WAL_QUEUE_COUNT;
	if (w->options.retry_ns == 0)
		w->options.retry_ns = WAL_RETRY_NS;
	r = wal_folder_read(&w->options, &w->folder, error);
	if (r < 0)
		return r;
	wal_folder_tidy(&w->options, &w->folder);
	w->seed = w->folder.seed;
	while (w->seed == 0)
		rng_secret(&w->seed, sizeof(w->seed));
	wal_out_init(&w->out, &w->options, w->seed, w->folder.last, w->folder.next_number);
	w->last = &w->first;
	w->retired = options->after_seq;
	w->sync_due_ns = NEVER_NS;
	atomic_store(&w->last_seq, w->folder.last);
	r = start(w);
	if (r < 0)
		return error_set(error, r, "cannot start the log's writer: %s", strerror(-r));
	*ret_wal = TAKE_PTR(w);
	return 0;
}

struct wal *wal_close(struct wal *w)
{
	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	wal_free(w);
	return NULL;
}

int wal_check(const struct wal_options *options, struct error *error)
{
	_cleanup_(wal_folder_done)
	struct wal_folder folder = {0};

	return wal_folder_read(options, &folder, error);
}

/* --- what anybody may call --- */

int wal_append(struct wal *w, struct store_append *append)
{
	int r = atomic_load_explicit(&w->error, memory_order_relaxed);
	bool wake = false;

	append->next = NULL;
	append->seq = 0;
	if (r == 0)
		r = wal_append_measure(append);
	pthread_mutex_lock(&w->lock);
	if (r == 0 && w->closing)
		r = -ESHUTDOWN;
	else if (r == 0 &&
		 (w->queued_n >= w->options.queue_count ||
		  (w->queued_n > 0 && w->queued_bytes + append->bytes > w->options.queue_bytes)))
		r = -ENOBUFS;
	if (r < 0) {
		w->stats.refused++;
	} else {
		*w->last = append;
		w->last = &append->next;
		w->queued_n++;
		w->queued_bytes += append->bytes;
		wake = w->waiting && (w->queued_n == 1 ||
				      wal_gather_enough(&w->gather, w->queued_n, w->queued_bytes));
	}
	pthread_mutex_unlock(&w->lock);
	if (wake)
		pthread_cond_signal(&w->wake);
	return r;
}

uint64_t wal_hash_seed(const struct wal *w)
{
	return w->seed;
}

uint64_t wal_last_seq(const struct wal *w)
{
	return atomic_load(&w->last_seq);
}

struct wal_stats wal_stats(struct wal *w)
{
	struct wal_stats stats;

	pthread_mutex_lock(&w->lock);
	stats = w->stats;
	stats.queued_bytes = w->queued_bytes;
	stats.files = w->folder.file_n + w->active;
	stats.live_bytes = w->active ? w->file.bytes : 0;
	for (size_t i = 0; i < w->folder.file_n; i++)
		stats.live_bytes += w->folder.files[i].bytes;
	pthread_mutex_unlock(&w->lock);
	stats.error = atomic_load(&w->error);
	return stats;
}

static void each_since(const struct wal_hashes *hashes, int64_t since_ns, store_recent_fn *each,
		       void *context)
{
	for (size_t i = 0; i < hashes->n; i++)
		if (hashes->items[i].received_ns >= since_ns)
			each(context, hashes->items[i].hash, hashes->items[i].received_ns);
}

/* Of files that are gone.  One that is damaged was told when the folder was read. */
static int recent_gone(struct wal *w, const struct wal_seen *seen, size_t n, int64_t since_ns,
		       store_recent_fn *each, void *context)
{
	for (size_t i = 0; i < n; i++) {
		struct wal_hashes hashes = {0};
		uint64_t seed;
		int r = 0;

		if (seen[i].newest_ns >= since_ns)
			r = wal_seen_read(w->options.fs, w->dir, seen[i].number, &seed, &hashes);
		if (r == 0 && seen[i].newest_ns >= since_ns && seed == w->seed)
			each_since(&hashes, since_ns, each, context);
		free(hashes.items);
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

int wal_recent(struct wal *w, int64_t since_ns, store_recent_fn *each, void *context)
{
	_cleanup_(freep)
	struct wal_seen *seen = NULL;
	size_t n;

	pthread_mutex_lock(&w->lock);
	n = w->folder.seen_n;
	seen = malloc((n + 1) * sizeof(*seen));
	if (seen && n)
		memcpy(seen, w->folder.seen, n * sizeof(*seen));
	for (size_t i = 0; i < w->folder.file_n; i++)
		each_since(&w->folder.files[i].hashes, since_ns, each, context);
	each_since(&w->file.hashes, since_ns, each, context);
	pthread_mutex_unlock(&w->lock);
	return seen ? recent_gone(w, seen, n, since_ns, each, context) : -ENOMEM;
}

/* --- retiring --- */

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
