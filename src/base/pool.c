/* base/pool.c - a few threads that do what must not be done on a network thread.
 *
 * A thread that has given way cannot have its priority back: when there is something left of the
 * share again, another thread takes its place.  The minder starts that one, because threads inherit
 * the priority of who starts them; and it looks at jobs that run, while any do, and takes the
 * priority of those that take long. */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define LOOK_NS (20 * NS_PER_MS) /* at jobs that run */

struct worker {
	struct pool *pool;
	pid_t id;
	bool low;         /* has given way */
	bool vacant;      /* no thread; one is to be started */
	int64_t began_ns; /* its job; 0: it has none */
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t wake, ended, mind;
	struct pool_job *first, **last;
	size_t queue;
	struct pool_stats stats;
	struct share *share;
	bool stopping;
	size_t alive;  /* threads, the minder among them */
	size_t vacant; /* workers */
	size_t worker_n;
	struct worker workers[];
};

/* Signals are for the main thread.  Negative errno. */
static int start(struct pool *p, void *(*run)(void *), void *context)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&thread, &attributes, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	p->alive += r == 0;
	return r;
}

/* With the lock held, before a job: the priority that it is to have.  False: another thread, with
 * the ordinary one, is to take this one's place. */
static bool take_priority(struct pool *p, struct worker *w)
{
	bool left = !p->share || share_left(p->share, clock_mono_ns());

	if (!left && !w->low) {
		w->low = true;
		share_give_way(w->id);
	}
	if (!left || !w->low || p->stopping)
		return true;
	w->vacant = true;
	p->vacant++;
	pthread_cond_signal(&p->mind);
	pthread_cond_signal(&p->wake); /* the job was this one's: somebody else may take it */
	return false;
}

/* With the lock held, which is let go meanwhile. */
static void run_next(struct pool *p, struct worker *w)
{
	struct pool_job *job = p->first;
	int64_t before = share_thread_ns();

	p->first = job->next;
	if (!p->first)
		p->last = &p->first;
	p->stats.waiting--;
	if (p->stats.running++ == 0)
		pthread_cond_signal(&p->mind);
	w->began_ns = clock_mono_ns();
	pthread_mutex_unlock(&p->lock);
	job->run(job); /* the job may be gone after this */
	pthread_mutex_lock(&p->lock);
	if (p->share && !w->low)
		share_take(p->share, share_thread_ns() - before);
	p->stats.gave_way += w->low;
	w->began_ns = 0;
	p->stats.running--;
	p->stats.done++;
}

static void leave(struct pool *p)
{
	p->alive--;
	pthread_cond_broadcast(&p->ended); /* with the lock held: who waits frees all of this */
	pthread_mutex_unlock(&p->lock);
}

static void *work(void *context)
{
	struct worker *w = context;
	struct pool *p = w->pool;

	pthread_mutex_lock(&p->lock);
	w->id = gettid();
	while (p->first || !p->stopping) {
		if (!p->first)
			pthread_cond_wait(&p->wake, &p->lock);
		else if (take_priority(p, w))
			run_next(p, w);
		else
			break;
	}
	leave(p);
	return NULL;
}

static void look(struct pool *p, int64_t now_ns)
{
	for (size_t i = 0; i < p->worker_n; i++) {
		struct worker *w = &p->workers[i];

		if (w->vacant && start(p, work, w) == 0) {
			w->low = w->vacant = false;
			p->vacant--;
		}
		if (w->low || w->began_ns == 0 || now_ns - w->began_ns < POOL_PATIENCE_NS)
			continue;
		w->low = true;
		share_give_way(w->id);
		share_take(p->share, POOL_PATIENCE_NS);
	}
}

static void *mind(void *context)
{
	struct pool *p = context;

	pthread_mutex_lock(&p->lock);
	while (!p->stopping || p->vacant > 0) {
		int64_t next = clock_mono_ns() + LOOK_NS;
		struct timespec until = {next / NS_PER_S, next % NS_PER_S};

		look(p, clock_mono_ns());
		if (p->stats.running == 0 && p->vacant == 0 && !p->stopping)
			pthread_cond_wait(&p->mind, &p->lock);
		else
			pthread_cond_timedwait(&p->mind, &p->lock, &until);
	}
	leave(p);
	return NULL;
}

int pool_start(size_t threads, size_t queue, struct share *share, struct pool **ret_pool)
{
	struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->workers[0]));
	pthread_condattr_t monotonic;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->last = &p->first;
	p->queue = queue;
	p->share = share;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->ended, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->mind, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_lock(&p->lock);
	for (; p->worker_n < threads && r == 0; p->worker_n += r == 0) {
		p->workers[p->worker_n].pool = p;
		r = start(p, work, &p->workers[p->worker_n]);
	}
	if (r == 0 && share)
		r = start(p, mind, p);
	pthread_mutex_unlock(&p->lock);
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
	pthread_cond_broadcast(&p->mind);
	while (p->alive > 0)
		pthread_cond_wait(&p->ended, &p->lock);
	pthread_mutex_unlock(&p->lock);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->ended);
	pthread_cond_destroy(&p->mind);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}
