/* store/background.c - the engine's own threads.
 *
 *   flusher   writes heads to segments as they are frozen, and freezes one that is old, or when
 *             nothing comes any more
 *   merger    compaction and retention; gives way to everything else: a low priority, a limit on
 *             bytes per second, and rests while batches are waiting
 *
 * What fails is tried again, ever less often, and told once. */
#include "store/background.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/heap.h"
#include "core/clock.h"
#include "segment/group_cache.h"
#include "store/compact.h"
#include "store/engine_int.h"
#include "store/feed.h"
#include "store/flush.h"
#include "store/retain.h"
#include "store/steady_clock.h"

#define TICK_NS          (NS_PER_S / 2)
#define QUIET_NS         (5 * NS_PER_S) /* nothing came for so long: it is idle */
#define CALM_NS          NS_PER_S
#define QUIET_BYTES      ((size_t)1 << 20)   /* a smaller head waits for its interval */
#define RETRY_FIRST      NS_PER_S            /* after a failure … */
#define RETRY_LAST       (30 * NS_PER_S)     /* … doubling up to here */
#define UNUSED_NS        (20 * NS_PER_S)     /* what no question has looked at since may go */
#define TABLES_MOST      ((size_t)32 << 20)  /* bytes of segments' tables kept in memory, … */
#define TABLES_USED_MOST ((size_t)384 << 20) /* … and while they are being used */
#define REST_NS          (20 * NS_PER_MS)    /* while batches are waiting */
#define REST_MOST        10                  /* rests in a row */
#define TRIM_GROUPS      4
#define NICE             15
#define IOPRIO_IDLE      (3 << 13)
#define IOPRIO_THREAD    1

struct background {
	struct engine *engine;
	pthread_t flusher, merger;
	bool has_flusher, has_merger;
	bool stop;                 /* under the engine's lock */
	int64_t paced_ns;          /* the merger's: when it may read on … */
	unsigned groups;           /* … and how many it has read */
	struct steady_clock clock; /* the merger's, to remove by */
	bool jump_told;
};

static struct timespec deadline(int64_t ns)
{
	int64_t at = clock_mono_ns() + ns;

	return (struct timespec){at / NS_PER_S, at % NS_PER_S};
}

/* Waits for a change, or so long.  With the lock held. */
static void wait_locked(struct engine *e, int64_t ns)
{
	struct timespec at = deadline(ns);

	pthread_cond_timedwait(&e->changed, &e->lock, &at);
}

/* Sleeps so long, unless we are stopping: false then. */
static bool sleep_unless_stopped(struct background *b, int64_t ns)
{
	struct engine *e = b->engine;
	int64_t until = clock_mono_ns() + ns;
	bool stop;

	pthread_mutex_lock(&e->lock);
	while (!b->stop && clock_mono_ns() < until)
		wait_locked(e, until - clock_mono_ns());
	stop = b->stop;
	pthread_mutex_unlock(&e->lock);
	return !stop;
}

/* --- the flusher --- */

static bool is_due(const struct engine *e, const struct head *h, int64_t now_ns)
{
	if (head_is_empty(h))
		return false;
	return now_ns - h->born_ns >= e->options.flush_interval_ns ||
	       (h->bytes >= QUIET_BYTES && now_ns - e->last_append_ns >= QUIET_NS);
}

/* Waits until a head is frozen, freezing one that is due; false when we are stopping. */
static bool flusher_wait(struct background *b)
{
	struct engine *e = b->engine;
	struct view *old = NULL;
	bool stop;

	pthread_mutex_lock(&e->lock);
	while (!b->stop && e->view->head_n == 1) {
		if (is_due(e, view_active(e->view), clock_mono_ns())) {
			old = engine_rotate(e);
			break;
		}
		wait_locked(e, TICK_NS);
	}
	stop = b->stop;
	pthread_mutex_unlock(&e->lock);
	view_unref(old);
	return !stop;
}

static bool is_calm(struct engine *e)
{
	bool calm;

	pthread_mutex_lock(&e->lock);
	calm = clock_mono_ns() - e->last_append_ns >= CALM_NS;
	pthread_mutex_unlock(&e->lock);
	return calm;
}

static void *flusher_run(void *argument)
{
	struct background *b = argument;
	int64_t retry = RETRY_FIRST;

	while (flusher_wait(b)) {
		int r = flush_oldest(b->engine);

		if (r == 0) {
			retry = RETRY_FIRST;
			if (is_calm(b->engine))
				heap_trim(); /* the head is not needed again soon */
			continue;
		}
		if (retry == RETRY_FIRST)
			engine_report(b->engine,
				      "writing a segment failed (%s); it is tried again, and "
				      "nothing is lost",
				      strerror(-r));
		if (!sleep_unless_stopped(b, retry))
			break;
		retry = MIN(retry * 2, RETRY_LAST);
	}
	return NULL;
}

/* --- the merger --- */

static void give_way(void)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	syscall(SYS_ioprio_set, IOPRIO_THREAD, 0, IOPRIO_IDLE);
}

static int merger_wait(void *context, uint64_t bytes)
{
	struct background *b = context;
	struct engine *e = b->engine;
	int64_t now = clock_mono_ns();

	/* Merging takes and frees megabytes in turns, and malloc would keep them all.  While much
	 * comes in, memory is needed at once again, and left alone. */
	if (++b->groups % TRIM_GROUPS == 0 && atomic_load(&e->memory) < 2 * e->options.flush_bytes)
		malloc_trim(0); /* and not the end of the heap, which is needed next */
	b->paced_ns = MAX(b->paced_ns, now) +
		      (int64_t)((double)bytes * 1e9 / (double)e->options.compact_rate);
	for (int i = 0; i < REST_MOST && wal_stats(e->wal).queued_bytes > 0; i++)
		if (!sleep_unless_stopped(b, REST_NS))
			return -ECANCELED;
	return sleep_unless_stopped(b, MAX(b->paced_ns - NS_PER_S - now, (int64_t)0)) ? 0
										      : -ECANCELED;
}

/* Tables are read again when they are needed; those of the oldest segments go first. */
static void tables_trim(struct engine *e)
{
	struct view *v = engine_view(e);
	int64_t since = clock_mono_ns() - UNUSED_NS;
	size_t sum = 0;

	for (size_t i = v->segment_n; i-- > 0;) {
		struct segment *s = v->segments[i]->segment;

		sum += segment_bytes(s);
		if (sum > (segment_used_ns(s) > since ? TABLES_USED_MOST : TABLES_MOST))
			segment_trim(s);
	}
	view_unref(v);
	group_cache_age(e->groups, since);
}

static enum compact_zeal merger_zeal(struct engine *e)
{
	bool quiet;

	pthread_mutex_lock(&e->lock);
	quiet = clock_mono_ns() - e->last_append_ns >= QUIET_NS;
	pthread_mutex_unlock(&e->lock);
	return quiet ? COMPACT_IDLE : COMPACT_BUSY;
}

static void clock_begin(struct background *b)
{
	struct view *v = engine_view(b->engine);
	int64_t newest = 0;

	for (size_t i = 0; i < v->segment_n; i++)
		newest = MAX(newest, v->segments[i]->row.received_max_ns);
	for (size_t i = 0; i < v->head_n; i++)
		newest = MAX(newest, v->heads[i]->received_max_ns);
	view_unref(v);
	steady_clock_init(&b->clock, newest, clock_wall_ns(), clock_mono_ns());
}

static int64_t clock_now(struct background *b)
{
	int64_t wall = clock_wall_ns(), now = steady_clock_now(&b->clock, wall, clock_mono_ns());
	bool jumped = b->clock.ahead_ns != 0;

	if (jumped && !b->jump_told)
		engine_report(b->engine,
			      "the clock is %lld hours ahead of the newest data and of the time "
			      "this server has run; nothing is removed by it until it has been for "
			      "a day",
			      (long long)((wall - now) / (3600 * NS_PER_S)));
	b->jump_told = jumped;
	return now;
}

static void *merger_run(void *argument)
{
	struct background *b = argument;
	struct engine *e = b->engine;
	struct compact_pace pace = {merger_wait, b, 0};
	int64_t pause = TICK_NS;

	give_way();
	while (sleep_unless_stopped(b, pause)) {
		int r;

		pace.now_ns = clock_now(b);
		r = retain(e, pace.now_ns); /* first: what goes need not be merged */
		pause = TICK_NS;
		feed_sweep(e);
		if (r >= 0)
			r = compact_once(e, merger_zeal(e), &pace);
		tables_trim(e);
		if (r > 0)
			heap_trim(); /* what a merge needed is not needed again soon */
		if (r < 0 && r != -ECANCELED) {
			engine_report(e,
				      "compaction failed (%s); it is tried again, and nothing is "
				      "lost",
				      strerror(-r));
			pause = RETRY_LAST;
		}
	}
	return NULL;
}

/* --- both --- */

int background_start(struct engine *e, struct background **ret_background, struct error *error)
{
	struct background *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_set(error, -ENOMEM, "out of memory");
	b->engine = e;
	clock_begin(b);
	r = -pthread_create(&b->flusher, NULL, flusher_run, b);
	b->has_flusher = r == 0;
	if (r == 0) {
		pthread_setname_np(b->flusher, "flusher"); /* for top and ps, and to be watched */
		r = -pthread_create(&b->merger, NULL, merger_run, b);
		b->has_merger = r == 0;
	}
	if (r < 0) {
		background_stop(b);
		return error_set(error, r, "cannot start a thread: %s", strerror(-r));
	}
	*ret_background = b;
	return 0;
}

struct background *background_stop(struct background *b)
{
	if (!b)
		return NULL;
	pthread_mutex_lock(&b->engine->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->engine->changed);
	pthread_mutex_unlock(&b->engine->lock);
	if (b->has_flusher)
		pthread_join(b->flusher, NULL);
	if (b->has_merger)
		pthread_join(b->merger, NULL);
	free(b);
	return NULL;
}
