/* base/pool.c - a few threads that do what must not be done on a network thread. */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/heap.h"

#define IDLE_S 5 /* after so long a worker gives back what its jobs have left */

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct pool_job *first, **last;
	size_t queue;
	struct pool_stats stats;
	bool stopping;
	size_t thread_n;
	pthread_t threads[];
};

/* With the lock held, which is let go meanwhile. */
static void run_next(struct pool *p)
{
	struct pool_job *job = p->first;

	p->first = job->next;
	if (!p->first)
		p->last = &p->first;
	p->stats.waiting--;
	p->stats.running++;
	pthread_mutex_unlock(&p->lock);
	job->run(job); /* the job may be gone after this */
	pthread_mutex_lock(&p->lock);
	p->stats.running--;
	p->stats.done++;
}

/* With the lock held, which is let go meanwhile.  True: it was long. */
static bool wait_a_while(struct pool *p)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += IDLE_S;
	return pthread_cond_clockwait(&p->wake, &p->lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT;
}

/* The same. */
static void tidy(struct pool *p)
{
	pthread_mutex_unlock(&p->lock);
	heap_trim_own();
	pthread_mutex_lock(&p->lock);
}

static void *work(void *context)
{
	struct pool *p = context;
	bool tidied = true;

	pthread_mutex_lock(&p->lock);
	while (p->first || !p->stopping) {
		if (p->first) {
			run_next(p);
			tidied = false;
		} else if (tidied) {
			pthread_cond_wait(&p->wake, &p->lock);
		} else if (wait_a_while(p)) {
			tidy(p);
			tidied = true;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_start(size_t threads, size_t queue, struct pool **ret_pool)
{
	struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->threads[0]));
	sigset_t all, before;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->last = &p->first;
	p->queue = queue;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; p->thread_n < threads && r == 0; p->thread_n += r == 0)
		r = -pthread_create(&p->threads[p->thread_n], NULL, work, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		pool_stop(p);
		return r;
	}
	*ret_pool = p;
	return 0;
}

int pool_submit(struct pool *p, struct pool_job *job)
{
	int r = 0;

	job->next = NULL;
	pthread_mutex_lock(&p->lock);
	if (p->stats.waiting >= p->queue) {
		p->stats.refused++;
		r = -EBUSY;
	} else {
		*p->last = job;
		p->last = &job->next;
		p->stats.waiting++;
	}
	pthread_mutex_unlock(&p->lock);
	if (r == 0)
		pthread_cond_signal(&p->wake);
	return r;
}

struct pool_stats pool_stats(struct pool *p)
{
	struct pool_stats stats;

	pthread_mutex_lock(&p->lock);
	stats = p->stats;
	pthread_mutex_unlock(&p->lock);
	return stats;
}

struct pool *pool_stop(struct pool *p)
{
	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	while (p->thread_n > 0)
		pthread_join(p->threads[--p->thread_n], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}
