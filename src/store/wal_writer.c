/* store/wal_writer.c - the thread that writes the log.
 *
 * It takes the whole queue at once, cuts it into groups that fit their file, and settles each group
 * when it is written and synced.  While it waits for the disk the next group gathers, so the busier
 * the server the more requests share a sync.
 *
 * Failure is a state: `error` is set, everything queued is settled with it, wal_append() refuses,
 * and the writer tries to begin a new file now and then, which must have all its room before it is
 * believed in. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "store/wal_state.h"

#define KEPT_BYTES_MOST ((size_t)32 << 20) /* acknowledged, unsynced: sync early */
#define RETRY_MOST_NS   (5 * NS_PER_S)

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
	while (*chain && g->n < WAL_GROUP_MOST) {
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
	if (w->options.sync == WAL_SYNC_INTERVAL && w->sync_due_ns == WAL_NEVER_NS)
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

	w->sync_due_ns = WAL_NEVER_NS;
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
	if (ns == WAL_NEVER_NS)
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

void *wal_write_on(void *context)
{
	struct wal *w = context;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct store_append *chain = w->first;
		bool finish = w->finish && !chain, closing = w->closing && !chain;
		size_t n = w->queued_n, bytes = w->queued_bytes; /* all of them in the chain */
		int64_t began_ns;

		if (!chain && !finish && !closing && clock_mono_ns() < due_ns(w)) {
			wait_until(w, due_ns(w));
			continue;
		}
		if (chain && gathering(w)) {
			wait_until(w, w->gather.until_ns);
			continue;
		}
		if (chain && !w->closing && clock_mono_ns() < w->paced_ns) {
			wait_until(w, w->paced_ns);
			continue;
		}
		w->first = NULL;
		w->last = &w->first;
		pthread_mutex_unlock(&w->lock);
		began_ns = clock_mono_ns();
		if (chain && w->options.pace)
			w->paced_ns = began_ns + w->options.pace(w->options.context, bytes);
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
