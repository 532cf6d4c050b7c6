/* store/joint.c - which traces of the heads also lie elsewhere.
 *
 * What is looked up is looked up without the lock: two who ask at the same time do some of it
 * twice, but nobody waits for a thread that is kept waiting (base/leash.h). */
#include "store/joint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"

#define CHECK_EVERY 256          /* traces: is the answer still wanted? */
#define PLACES_MOST 4096         /* more are forgotten, and looked up again */
#define IS_HEAD     (1ULL << 63) /* beside numbers of segments */

/* Where traces of a head are looked for. */
struct place {
	uint64_t key;
	struct segment *segment; /* or … */
	struct head *head;
	struct runs_mark mark;
};

struct found {
	struct trace_id *ids;
	size_t n, capacity;
};

/* 1: it is there, or may be; 0: certainly not; -ENOMEM. */
static int place_has(const struct place *p, struct trace_id id)
{
	int r;

	if (p->head)
		return head_has(p->head, p->mark, id);
	r = segment_may_have(p->segment, id);
	if (r == 1)
		r = segment_has(p->segment, id);
	return r == -ENOMEM ? r : r != 0; /* what cannot be read may have it */
}

static struct head_place *place_find(struct head *h, uint64_t key)
{
	for (size_t i = 0; i < h->place_n; i++)
		if (h->places[i].key == key)
			return &h->places[i];
	return NULL;
}

static uint32_t place_looked(struct head *h, uint64_t key)
{
	const struct head_place *known;
	uint32_t looked;

	pthread_mutex_lock(&h->joint_lock);
	known = place_find(h, key);
	looked = known ? known->looked : 0;
	pthread_mutex_unlock(&h->joint_lock);
	return looked;
}

/* The first `looked` traces of the head have been looked up there, and these were found. */
static int place_note(struct head *h, uint64_t key, uint32_t looked, const struct found *found)
{
	struct head_place *known;
	int r = 0;

	pthread_mutex_lock(&h->joint_lock);
	for (size_t i = 0; r >= 0 && i < found->n; i++)
		r = id_set_add(&h->joint, found->ids[i]);
	known = r < 0 ? NULL : place_find(h, key);
	if (r >= 0 && !known) {
		h->place_n = h->place_n < PLACES_MOST ? h->place_n : 0;
		if (vec_reserve(&h->places, &h->place_capacity, h->place_n + 1,
				sizeof(*h->places))) {
			known = &h->places[h->place_n++];
			*known = (struct head_place){.key = key};
		}
	}
	if (known)
		known->looked = MAX(known->looked, looked);
	pthread_mutex_unlock(&h->joint_lock);
	return known ? 0 : -ENOMEM;
}

static int place_look(struct head *h, struct runs_mark mark, const struct place *p)
{
	uint32_t from = place_looked(h, p->key);
	struct found found = {0};
	int r = 0;

	for (uint32_t t = from; r >= 0 && t < mark.traces; t++) {
		struct trace_id id = runs_trace_id(&h->runs, t);

		r = t % CHECK_EVERY ? 0 : leash_check();
		if (r == 0)
			r = place_has(p, id);
		if (r <= 0)
			continue;
		if (!vec_reserve(&found.ids, &found.capacity, found.n + 1, sizeof(*found.ids)))
			r = -ENOMEM;
		else
			found.ids[found.n++] = id;
	}
	if (r >= 0)
		r = mark.traces > from ? place_note(h, p->key, mark.traces, &found) : 0;
	free(found.ids);
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
					       .segment = v->segments[i]->segment});
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
