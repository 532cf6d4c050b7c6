/* store/wal.c - the write-ahead log: opened, closed, and what anybody may ask of it. */
#include "store/wal.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "store/wal_state.h"

/* --- opening and closing --- */

static int start(struct wal *w)
{
	pthread_condattr_t attr;
	int r;

	w->items = malloc(WAL_GROUP_MOST * sizeof(*w->items));
	if (!w->items)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_cond_init(&w->finished, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&w->thread, NULL, wal_write_on, w);
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
	w->sync_due_ns = WAL_NEVER_NS;
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
