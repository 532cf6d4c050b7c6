/* store/joint.c - which traces of the heads also lie elsewhere.
 *
 * Whoever asks looks up what nobody has yet, a slice at a time and with the head's lock: many who
 * ask at the same time share the work.  Between slices they may be kept waiting (base/leash.h), and
 * nobody waits for them then.
 *
 * A trace is looked up once: what came before the head is complete in every view that has the head,
 * in segments or in heads before it, and moves from one to the other; nothing is added to it. */
#include "store/joint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "segment/segment.h"
#include "store/elsewhere.h"

#define SLICE_TRACES 1024 /* a millisecond at most, but for what must be read */
#define AHEAD        8    /* traces whose place in the filters is fetched */

/* 1: it lies before the head, too, or may; 0: certainly not; -ENOMEM. */
static int lies_before(const struct snapshot *s, size_t number, struct elsewhere *e,
		       struct trace_id id)
{
	int r = elsewhere_has(e, id, segment_id_hash(id));

	for (size_t i = 0; r == 0 && i < number; i++)
		r = head_has(s->view->heads[i], s->marks[i], id);
	return r;
}

/* Looks up some traces of the head, with its lock, and notes those that are elsewhere. */
static int slice_look(const struct snapshot *s, size_t number, uint32_t from, uint32_t end)
{
	struct head *h = s->view->heads[number];
	struct elsewhere e;
	int r = elsewhere_init(&e, s->view);

	for (; r >= 0 && from < end; from++) {
		struct trace_id id = runs_trace_id(&h->runs, from);

		if (from + AHEAD < end)
			elsewhere_fetch(&e, segment_id_hash(runs_trace_id(&h->runs, from + AHEAD)));
		r = lies_before(s, number, &e, id);
		if (r > 0)
			r = id_set_add(&h->joint, id);
	}
	elsewhere_done(&e);
	return r < 0 ? r : 0;
}

/* Looks up a slice of what nobody has yet: 1 when there is more. */
static int head_step(const struct snapshot *s, size_t number)
{
	struct head *h = s->view->heads[number];
	uint32_t traces = s->marks[number].traces, end;
	int r = 0;

	pthread_mutex_lock(&h->joint_lock);
	if (h->joint_looked < traces) {
		end = h->joint_looked + MIN(traces - h->joint_looked, (uint32_t)SLICE_TRACES);
		r = slice_look(s, number, h->joint_looked, end);
		if (r == 0) {
			h->joint_looked = end;
			r = end < traces;
		}
	}
	pthread_mutex_unlock(&h->joint_lock);
	return r;
}

/* Adds what has been found of the traces that the mark shows.  Others have come since: whoever
 * holds the snapshot does not see them there. */
static int head_found(struct head *h, struct runs_mark mark, struct id_set *out)
{
	_cleanup_(freep)
	struct trace_id *ids = NULL;
	size_t n;
	int r = 0;

	pthread_mutex_lock(&h->joint_lock);
	n = h->joint.n;
	ids = malloc((n + 1) * sizeof(*ids));
	if (ids && n)
		memcpy(ids, h->joint.ids, n * sizeof(*ids));
	pthread_mutex_unlock(&h->joint_lock);
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (head_has(h, mark, ids[i]))
			r = id_set_add(out, ids[i]);
	return r < 0 ? r : 0;
}

static int head_joint(const struct snapshot *s, size_t number, struct id_set *out)
{
	int r;

	while ((r = head_step(s, number)) > 0) {
		r = leash_check();
		if (r < 0)
			return r;
	}
	return r < 0 ? r : head_found(s->view->heads[number], s->marks[number], out);
}

int snapshot_joint(const struct snapshot *s, struct id_set *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->view->head_n; i++)
		if (s->marks[i].traces > 0)
			r = head_joint(s, i, out);
	return r;
}
