/* store/head.c - the newest batches, in memory. */
#include "store/head.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "store/summary.h"

struct head *head_new(void)
{
	struct head *h = calloc(1, sizeof(*h));
	pthread_rwlockattr_t attr;

	if (!h)
		return NULL;
	atomic_init(&h->refs, 1);
	runs_init(&h->runs);
	id_set_init(&h->joint);
	pthread_mutex_init(&h->joint_lock, NULL);
	pthread_mutex_init(&h->services_lock, NULL);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&h->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return h;
}

struct head *head_ref(struct head *h)
{
	atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
	return h;
}

struct head *head_unref(struct head *h)
{
	if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	runs_done(&h->runs);
	free(h->cursors);
	id_set_done(&h->joint);
	pthread_mutex_destroy(&h->joint_lock);
	service_tally_free(h->services);
	pthread_mutex_destroy(&h->services_lock);
	pthread_rwlock_destroy(&h->lock);
	free(h);
	return NULL;
}

int head_add(struct head *h, struct batch *batch, const struct run_list *list, uint64_t seq,
	     int64_t received_ns)
{
	bool first = head_is_empty(h);
	int r;

	pthread_rwlock_wrlock(&h->lock);
	r = runs_add(&h->runs, batch, list, seq);
	pthread_rwlock_unlock(&h->lock);
	if (r < 0)
		return r;
	if (first) {
		h->seq_first = seq;
		h->received_min_ns = h->received_max_ns = received_ns;
		h->born_ns = clock_mono_ns();
	}
	h->seq_last = seq;
	h->bytes += batch_bytes(batch);
	h->rows += batch->event_n;
	h->strings += batch->strings;
	h->received_min_ns = MIN(h->received_min_ns, received_ns);
	h->received_max_ns = MAX(h->received_max_ns, received_ns);
	return 0;
}

static uint32_t find(struct head *h, struct trace_id id)
{
	uint32_t trace;

	pthread_rwlock_rdlock(&h->lock);
	trace = runs_find(&h->runs, id);
	pthread_rwlock_unlock(&h->lock);
	return trace;
}

int head_trace(struct head *h, struct runs_mark mark, struct trace_id id, struct event_set *set)
{
	uint32_t trace = find(h, id);

	if (trace == RUNS_NONE || !runs_first(&h->runs, mark, trace))
		return -ENOENT;
	return runs_events(&h->runs, mark, trace, set) ? 0 : -ENOMEM;
}

int64_t head_start_ns(struct head *h, struct trace_id id)
{
	int64_t start_ns = INT64_MAX;
	uint32_t trace;

	pthread_rwlock_rdlock(&h->lock);
	trace = runs_find(&h->runs, id);
	if (trace != RUNS_NONE)
		start_ns = runs_start_ns(&h->runs, trace);
	pthread_rwlock_unlock(&h->lock);
	return start_ns;
}

bool head_has(struct head *h, struct runs_mark mark, struct trace_id id)
{
	uint32_t trace = find(h, id);

	return trace != RUNS_NONE && runs_first(&h->runs, mark, trace);
}
