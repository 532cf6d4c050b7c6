/* base/pool.c - a few threads that do what must not be done on a network thread. */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

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

static void *work(void *context)
{
	struct pool *p = context;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct pool_job *job = p->first;

		if (!job) {
			if (p->stopping)
				break;
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
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
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_start(size_t threads, size_t queue, struct pool **ret_pool)
{
	struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->threads[0]));

	if (!p)
		return -ENOMEM;
	p->last = &p->first;
	p->queue = queue;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	for (; p->thread_n < threads; p->thread_n++) {
		int r = pthread_create(&p->threads[p->thread_n], NULL, work, p);

		if (r != 0) {
			pool_stop(p);
			return -r;
		}
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
		pthread_cond_signal(&p->wake);
	}
	pthread_mutex_unlock(&p->lock);
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
	for (size_t i = 0; i < p->thread_n; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}
