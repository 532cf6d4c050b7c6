/* api/query_jobs.h - queries that run: who asked, under which name, how many, and how to stop one.
 *
 * Each runs on a thread of its own, on a leash (base/leash.h).  How many run at once is limited,
 * for each owner and in all.  Any thread may call anything here. */
#ifndef CAUSET_API_QUERY_JOBS_H
#define CAUSET_API_QUERY_JOBS_H

#include <stdatomic.h>

#include "api/query_pages.h"
#include "api/query_request.h"
#include "catalog/token.h"

struct api;
struct share;

struct query_limits {
	int64_t time_ns;     /* of one query */
	size_t memory_bytes; /* of one query */
	unsigned owner_most; /* at once, of one owner */
	unsigned most;       /* at once, of all */
	size_t page_bytes;   /* of one answer that is kept for paging */
	size_t pages_bytes;  /* of all of them */
	int64_t page_age_ns; /* since one was last used */
};

#define QUERY_LIMITS_DEFAULT                                                                       \
	((struct query_limits){.time_ns = 60 * NS_PER_S,                                           \
			       .memory_bytes = (size_t)1 << 30,                                    \
			       .owner_most = 4,                                                    \
			       .most = 16,                                                         \
			       .page_bytes = (size_t)64 << 20,                                     \
			       .pages_bytes = (size_t)256 << 20,                                   \
			       .page_age_ns = 600 * NS_PER_S})

struct query_jobs;

/* One query on its way. */
struct query_job {
	struct query_jobs *jobs;
	struct api *api;
	struct http_request *req; /* a reference: its memory; belongs to the job until answered */
	struct query_request request;
	char id[QUERY_ID_CHARS + 1];
	char owner[OWNER_MAX_CHARS + 1];
	int64_t started_ns;   /* wall clock */
	int64_t began_ns;     /* monotonic */
	_Atomic bool *cancel; /* lies in the request's arena: the network may set it late */
	/* As the run last said; under the lock of all jobs. */
	uint64_t rows, segments, segments_total;

	struct query_job *next;
	void (*run)(struct query_job *job);
};

/* `share` is borrowed: queries have their part of it.  May be NULL. */
struct query_jobs *query_jobs_new(const struct query_limits *limits, struct share *share);

/* Cancels what runs, waits for it, frees.  NULL is fine. */
struct query_jobs *query_jobs_free(struct query_jobs *jobs);

const struct query_limits *query_jobs_limits(const struct query_jobs *jobs);
struct query_pages *query_jobs_pages(struct query_jobs *jobs);

/* Starts run(job) on a thread; it must answer the request.  The request's client going away cancels
 * it.  On the loop thread.  -EBUSY the owner has too many, -EAGAIN there are too many, -EEXIST
 * there is one of this id, -ENOMEM; the error says so. */
int query_jobs_start(struct query_jobs *jobs, struct http_request *req,
		     const struct query_request *request, void (*run)(struct query_job *job),
		     struct error *error);

/* Notes how far it has come. */
void query_job_progress(struct query_job *job, uint64_t rows, uint64_t segments,
			uint64_t segments_total);

/* -ENOENT when the owner (an admin: anybody) has none of that id. */
int query_jobs_cancel(struct query_jobs *jobs, const char *owner, bool admin, struct slice id);

/* Calls each() for every query of the owner (an admin: of all), oldest first; with a lock held. */
void query_jobs_each(struct query_jobs *jobs, const char *owner, bool admin,
		     void (*each)(void *context, const struct query_job *job), void *context);

/* Only ever added to; for /metrics. */
struct query_counters {
	_Atomic uint64_t started, refused, failed, cancelled, rows;
};
struct query_counters *query_jobs_counters(struct query_jobs *jobs);
unsigned query_jobs_running(struct query_jobs *jobs);

#endif
