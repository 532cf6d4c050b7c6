/* base/pool.h - a few threads that do what must not be done on a network thread.
 *
 * Jobs wait in one bounded queue, first come first served; a full queue is said at once, so that
 * the caller can answer "try later" instead of piling up work.
 */
#ifndef CAUSET_BASE_POOL_H
#define CAUSET_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool;

/* Embedded in whatever the job works on; the pool's from pool_submit() until run() is called, the
 * owner's from then on. */
struct pool_job {
	void (*run)(struct pool_job *job);
	struct pool_job *next;
};

struct pool_stats {
	uint64_t done, refused; /* jobs */
	size_t waiting, running;
};

/* Starts `threads` threads; at most `queue` jobs wait.  -ENOMEM, -EAGAIN from the system. */
int pool_start(size_t threads, size_t queue, struct pool **ret_pool);

/* 0, or -EBUSY when the queue is full (the job stays the caller's).  Any thread. */
int pool_submit(struct pool *pool, struct pool_job *job);

/* Any thread. */
struct pool_stats pool_stats(struct pool *pool);

/* Runs what is queued, waits for it, frees the pool.  NULL is fine; returns NULL.  Nobody may
 * submit any more. */
struct pool *pool_stop(struct pool *pool);

#endif
