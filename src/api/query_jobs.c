/* api/query_jobs.c - queries that run. */
#include "api/query_jobs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/leash.h"
#include "base/rng.h"
#include "core/clock.h"

#define STACK_BYTES ((size_t)8 << 20) /* plans and expressions are walked by recursion */

struct query_jobs {
	struct query_limits limits;
	struct share *share;
	struct query_pages *pages;
	struct query_counters counters;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct query_job *first, **last; /* in order of their start */
	unsigned n;
	bool closing;
};

struct query_jobs *query_jobs_new(const struct query_limits *limits, struct share *share)
{
	struct query_jobs *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->limits = *limits;
	j->share = share;
	j->pages = query_pages_new(limits->pages_bytes, limits->page_age_ns);
	if (!j->pages) {
		free(j);
		return NULL;
	}
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->ended, NULL);
	j->last = &j->first;
	return j;
}

struct query_jobs *query_jobs_free(struct query_jobs *j)
{
	if (!j)
		return NULL;
	pthread_mutex_lock(&j->lock);
	j->closing = true;
	for (struct query_job *job = j->first; job; job = job->next)
		atomic_store(job->cancel, true);
	while (j->n > 0)
		pthread_cond_wait(&j->ended, &j->lock);
	pthread_mutex_unlock(&j->lock);
	query_pages_free(j->pages);
	pthread_cond_destroy(&j->ended);
	pthread_mutex_destroy(&j->lock);
	free(j);
	return NULL;
}

const struct query_limits *query_jobs_limits(const struct query_jobs *j)
{
	return &j->limits;
}

struct query_pages *query_jobs_pages(struct query_jobs *j)
{
	return j->pages;
}

struct query_counters *query_jobs_counters(struct query_jobs *j)
{
	return &j->counters;
}

unsigned query_jobs_running(struct query_jobs *j)
{
	unsigned n;

	pthread_mutex_lock(&j->lock);
	n = j->n;
	pthread_mutex_unlock(&j->lock);
	return n;
}

/* With the lock held. */
static int admit(struct query_jobs *j, const struct query_job *fresh, struct error *error)
{
	unsigned own = 0;

	if (j->closing)
		return error_set(error, -EAGAIN, "the server is about to stop");
	for (const struct query_job *job = j->first; job; job = job->next) {
		if (strcmp(job->owner, fresh->owner) != 0)
			continue;
		if (strcmp(job->id, fresh->id) == 0)
			return error_set(error, -EEXIST, "a query with the id %s is running",
					 job->id);
		own += !job->request.for_many;
	}
	if (!fresh->request.for_many && own >= j->limits.owner_most)
		return error_set(error, -EBUSY,
				 "%s has %u queries running, as many as may run at once; wait for "
				 "one or cancel one (GET /api/query lists them)",
				 fresh->owner, own);
	if (j->n >= j->limits.most)
		return error_set(error, -EAGAIN,
				 "%u queries are running, as many as may run at once; try again "
				 "soon",
				 j->n);
	return 0;
}

static void leave(struct query_jobs *j, struct query_job *job)
{
	pthread_mutex_lock(&j->lock);
	for (struct query_job **at = &j->first; *at; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			if (j->last == &job->next)
				j->last = at;
			break;
		}
	j->n--;
	/* With the lock held: who waits frees all of this. */
	pthread_cond_broadcast(&j->ended);
	pthread_mutex_unlock(&j->lock);
}

static void *job_main(void *argument)
{
	struct query_job *job = argument;
	struct http_request *req = job->req;
	struct query_jobs *j = job->jobs;
	struct leash leash;

	leash_begin(&leash, j->share, job->cancel, job->began_ns + j->limits.time_ns);
	leash_check(); /* its turn; whoever works for it sees whether it is stopped */
	job->run(job);
	leash_end(&leash);
	leave(job->jobs, job);
	free(job);
	http_request_unref(req);
	return NULL;
}

/* Signals are for the main thread. */
static int thread_start(struct query_job *job)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&thread, &attributes, job_main, job);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return r;
}

/* On the loop thread. */
static void client_gone(struct http_request *req, void *context)
{
	atomic_store((_Atomic bool *)context, true);
}

static void id_make(char out[QUERY_ID_CHARS + 1])
{
	uint64_t random[2];

	rng_secret((uint8_t *)random, sizeof(random));
	snprintf(out, QUERY_ID_CHARS + 1, "%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
}

static struct query_job *job_new(struct query_jobs *j, struct http_request *req,
				 const struct query_request *request)
{
	struct query_job *job = calloc(1, sizeof(*job));
	_Atomic bool *cancel = arena_zalloc(&req->arena, 1, sizeof(*cancel));

	if (!job || !cancel) {
		free(job);
		return NULL;
	}
	job->jobs = j;
	job->api = api_request(req)->api;
	job->req = req;
	job->request = *request;
	job->cancel = cancel;
	job->started_ns = clock_wall_ns();
	job->began_ns = clock_mono_ns();
	snprintf(job->owner, sizeof(job->owner), "%s", api_request(req)->who.owner);
	if (request->id.n)
		snprintf(job->id, sizeof(job->id), "%.*s", SLICE_ARG(request->id));
	else
		id_make(job->id);
	return job;
}

int query_jobs_start(struct query_jobs *j, struct http_request *req,
		     const struct query_request *request, void (*run)(struct query_job *job),
		     struct error *error)
{
	struct query_job *job = job_new(j, req, request);
	int r;

	if (!job)
		return error_set(error, -ENOMEM, "out of memory");
	job->run = run;
	pthread_mutex_lock(&j->lock);
	r = admit(j, job, error);
	if (r == 0) {
		*j->last = job;
		j->last = &job->next;
		j->n++;
	}
	pthread_mutex_unlock(&j->lock);
	if (r < 0) {
		atomic_fetch_add(&j->counters.refused, 1);
		free(job);
		return r;
	}
	atomic_fetch_add(&j->counters.started, 1);
	http_request_ref(req);
	http_request_on_cancel(req, client_gone, (void *)job->cancel);
	r = thread_start(job);
	if (r < 0) {
		error_set(error, -EAGAIN, "no thread for it: %s", strerror(-r));
		leave(j, job);
		free(job);
		http_request_unref(req);
		return -EAGAIN;
	}
	return 0;
}

void query_job_progress(struct query_job *job, uint64_t rows, uint64_t segments,
			uint64_t segments_total)
{
	pthread_mutex_lock(&job->jobs->lock);
	job->rows = rows;
	job->segments = segments;
	job->segments_total = segments_total;
	pthread_mutex_unlock(&job->jobs->lock);
}

int query_jobs_cancel(struct query_jobs *j, const char *owner, bool admin, struct slice id)
{
	int r = -ENOENT;

	pthread_mutex_lock(&j->lock);
	for (struct query_job *job = j->first; job; job = job->next)
		if (slice_eq(slice_cstr(job->id), id) &&
		    (admin || strcmp(job->owner, owner) == 0)) {
			atomic_store(job->cancel, true);
			r = 0;
		}
	pthread_mutex_unlock(&j->lock);
	return r;
}

void query_jobs_each(struct query_jobs *j, const char *owner, bool admin,
		     void (*each)(void *context, const struct query_job *job), void *context)
{
	pthread_mutex_lock(&j->lock);
	for (const struct query_job *job = j->first; job; job = job->next)
		if (admin || strcmp(job->owner, owner) == 0)
			each(context, job);
	pthread_mutex_unlock(&j->lock);
}
