/* store/joint.c - which traces of the heads also lie elsewhere.
 *
 * Whoever asks looks up what nobody has yet, a slice at a time and with the head's lock: many who
 * ask at the same time share the work.  Between slices they may be kept waiting (base/leash.h), and
 * nobody waits for them then. */
#include "store/joint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"
#include "segment/group.h"

#define SLICE_TRACES 4096         /* traces; a millisecond at most, but for what must be read */
#define PLACES_MOST  4096         /* more are forgotten, and looked up again */
#define IS_HEAD      (1ULL << 63) /* beside numbers of segments */

/* Where traces of a head are looked for. */
struct place {
	uint64_t key;
	struct view_segment *segment; /* or … */
	struct head *head;
	struct runs_mark mark;
};

/* 1: it is there, or may be; 0: certainly not; -ENOMEM. */
static int segment_asked(struct view_segment *s, struct trace_id id)
{
	uint64_t hash = segment_id_hash(id);
	int r;

	if (!segment_index_has(s->segment, hash))
		return 0;
	r = view_segment_knows(s, hash);
	if (r < 0)
		r = segment_has(s->segment, id);
	return r == -ENOMEM ? r : r != 0; /* what cannot be read may have it */
}

/* Looks up some traces of the head, with its lock, and notes those that are there. */
static int slice_look(struct head *h, uint32_t from, uint32_t end, const struct place *p)
{
	int r = p->segment ? segment_pin_index(p->segment->segment) : 0;
	bool readable = r == 0;

	if (r == -ENOMEM)
		return r;
	for (r = 0; r >= 0 && from < end; from++) {
		struct trace_id id = runs_trace_id(&h->runs, from);

		if (p->head)
			r = head_has(p->head, p->mark, id);
		else
			r = readable ? segment_asked(p->segment, id) : 1;
		if (r > 0)
			r = id_set_add(&h->joint, id);
	}
	if (p->segment && readable)
		segment_unpin(p->segment->segment);
	return r < 0 ? r : 0;
}

/* What is known about a place; with the head's lock.  NULL: out of memory. */
static struct head_place *place_get(struct head *h, uint64_t key)
{
	for (size_t i = 0; i < h->place_n; i++)
		if (h->places[i].key == key)
			return &h->places[i];
	h->place_n = h->place_n < PLACES_MOST ? h->place_n : 0;
	if (!vec_reserve(&h->places, &h->place_capacity, h->place_n + 1, sizeof(*h->places)))
		return NULL;
	h->places[h->place_n] = (struct head_place){.key = key};
	return &h->places[h->place_n++];
}

/* Looks up a slice of what nobody has yet: 1 when there is more. */
static int place_step(struct head *h, struct runs_mark mark, const struct place *p)
{
	struct head_place *known;
	uint32_t end;
	int r = 0;

	pthread_mutex_lock(&h->joint_lock);
	known = place_get(h, p->key);
	if (!known)
		r = -ENOMEM;
	else if (known->looked < mark.traces) {
		end = known->looked + MIN(mark.traces - known->looked, (uint32_t)SLICE_TRACES);
		r = slice_look(h, known->looked, end, p);
		if (r == 0) {
			known->looked = end;
			r = end < mark.traces;
		}
	}
	pthread_mutex_unlock(&h->joint_lock);
	return r;
}

static int place_look(struct head *h, struct runs_mark mark, const struct place *p)
{
	int r;

	while ((r = place_step(h, mark, p)) > 0) {
		r = leash_check();
		if (r < 0)
			break;
	}
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
	const struct view *v = s->view;
	struct head *h = v->heads[number];
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->segment_n; i++)
		r = place_look(h, s->marks[number],
			       &(struct place){.key = v->segments[i]->row.number,
					       .segment = v->segments[i]});
	/* Those before it take nothing in any more. */
	for (size_t i = 0; r == 0 && i < number; i++)
		r = place_look(h, s->marks[number],
			       &(struct place){.key = IS_HEAD | v->heads[i]->seq_first,
					       .head = v->heads[i],
					       .mark = s->marks[i]});
	return r < 0 ? r : head_found(h, s->marks[number], out);
}

int snapshot_joint(const struct snapshot *s, struct id_set *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->view->head_n; i++)
		if (s->marks[i].traces > 0)
			r = head_joint(s, i, out);
	return r;
}
