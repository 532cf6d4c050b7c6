/* infer/pairing.c - calls paired from messages.
 *
 * A call is put into the list when it is first seen, so the list is in order of start already when
 * the messages were.  Open calls are in a hash table by (caller, callee, id); under one key they
 * form a queue, oldest first:
 *
 *   slot ──▶ entry ──▶ entry ──▶ …      entry: which call, what of it has been seen
 *
 * An entry leaves when everything that can be expected of the call was seen.  A return seen at one
 * end alone, of a call that was seen at both, may still be seen at the other: such an entry lingers
 * for a while (LINGER_NS of the trace's time) and then leaves. */
#include "infer/pairing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/clock.h"
#include "core/hash.h"
#include "infer/names.h"

#define LINGER_NS   (10 * NS_PER_S)
#define SLOTS_FIRST 1024
#define NO_ENTRY    UINT32_MAX
#define ANYBODY     UINT32_MAX

/* Returns without their call that are looked for among all open calls; a trace with more of them
 * has lost messages and not forwarded ones. */
#define SEARCHES_MAX 10000

struct entry {
	uint32_t call;
	uint32_t next; /* in the queue of its key, or in the list of free ones */
	uint32_t key;  /* upper half of the key's hash */
	bool waiting;  /* returned, lingering */
};

struct slot {
	uint32_t key;        /* upper half of the hash, which also chooses the slot */
	uint32_t head, tail; /* entries; NO_ENTRY: the slot is empty */
};

struct lingerer {
	int64_t since_ns;
	uint32_t entry, call;
};

struct pairing {
	struct calls *calls;
	struct slot *slots;
	size_t slot_n, slots_used; /* slot_n is a power of two */
	struct entry *entries;
	size_t entry_n, entries_capacity;
	uint32_t free_entry;
	/* A queue of entries that linger; those before `linger_at` are gone. */
	struct lingerer *lingering;
	size_t linger_at, linger_n, linger_capacity;
	int64_t newest_ns;
	uint64_t seed;
	uint64_t searches;
	uint8_t sights; /* a bit for each enum message_sight that some call came with */
	struct pairing_tally tally;
};

int pairing_new(struct calls *calls, struct pairing **ret_pairing)
{
	struct pairing *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->calls = calls;
	p->free_entry = NO_ENTRY;
	p->newest_ns = INT64_MIN;
	p->seed = rng_process_seed();
	*ret_pairing = p;
	return 0;
}

struct pairing *pairing_free(struct pairing *p)
{
	if (p) {
		free(p->slots);
		free(p->entries);
		free(p->lingering);
		free(p);
	}
	return NULL;
}

const struct pairing_tally *pairing_tally(const struct pairing *p)
{
	return &p->tally;
}

static uint32_t key_of(const struct pairing *p, uint32_t caller, uint32_t callee, uint64_t id)
{
	return (uint32_t)(hash_u64(id ^ hash_fold((uint64_t)caller << 32 | callee,
						  0x9e3779b97f4a7c15ULL),
				   p->seed) >>
			  32);
}

/* The slot of a key, or the empty one where it belongs. */
static struct slot *slot_find(const struct pairing *p, uint32_t key, uint32_t caller,
			      uint32_t callee, uint64_t id)
{
	size_t mask = p->slot_n - 1;

	for (size_t at = key & mask;; at = (at + 1) & mask) {
		struct slot *s = &p->slots[at];
		const struct call *c;

		if (s->head == NO_ENTRY)
			return s;
		c = &p->calls->at[p->entries[s->head].call];
		if (s->key == key && c->id == id && c->caller == caller && c->callee == callee)
			return s;
	}
}

static int slots_grow(struct pairing *p)
{
	size_t n = p->slot_n ? p->slot_n * 2 : SLOTS_FIRST;
	struct slot *old = p->slots, *slots = malloc(n * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		slots[i].head = NO_ENTRY;
	for (size_t i = 0; i < p->slot_n; i++)
		if (old[i].head != NO_ENTRY) {
			size_t at = old[i].key & (n - 1);

			while (slots[at].head != NO_ENTRY)
				at = (at + 1) & (n - 1);
			slots[at] = old[i];
		}
	p->slots = slots;
	p->slot_n = n;
	free(old);
	return 0;
}

/* Empties a slot; those behind it that were pushed on by it move up. */
static void slot_empty(struct pairing *p, struct slot *s)
{
	size_t mask = p->slot_n - 1, hole = (size_t)(s - p->slots);

	p->slots_used--;
	for (size_t at = (hole + 1) & mask; p->slots[at].head != NO_ENTRY; at = (at + 1) & mask) {
		size_t home = p->slots[at].key & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			p->slots[hole] = p->slots[at];
			hole = at;
		}
	}
	p->slots[hole].head = NO_ENTRY;
}

static int entry_add(struct pairing *p, struct slot *s, uint32_t key, uint32_t call)
{
	uint32_t e = p->free_entry;

	if (e != NO_ENTRY) {
		p->free_entry = p->entries[e].next;
	} else {
		if (!vec_reserve(&p->entries, &p->entries_capacity, p->entry_n + 1,
				 sizeof(*p->entries)))
			return -ENOMEM;
		e = (uint32_t)p->entry_n++;
	}
	p->entries[e] = (struct entry){.call = call, .next = NO_ENTRY, .key = key};
	if (s->head == NO_ENTRY) {
		*s = (struct slot){.key = key, .head = e};
		p->slots_used++;
	} else {
		p->entries[s->tail].next = e;
	}
	s->tail = e;
	return 0;
}

/* Takes `e`, which follows `before` (NO_ENTRY: it is the head), out of its queue. */
static void entry_remove(struct pairing *p, struct slot *s, uint32_t before, uint32_t e)
{
	uint32_t next = p->entries[e].next;

	if (before != NO_ENTRY)
		p->entries[before].next = next;
	else
		s->head = next;
	if (s->tail == e)
		s->tail = before;
	p->entries[e].next = p->free_entry;
	p->entries[e].call = UINT32_MAX;
	p->free_entry = e;
	if (before == NO_ENTRY && next == NO_ENTRY)
		slot_empty(p, s);
}

/* The oldest entry of the queue that has neither `flags` nor, unless `even_waiting`, returned. */
static uint32_t entry_without(const struct pairing *p, const struct slot *s, uint32_t flags,
			      bool even_waiting, uint32_t *ret_before)
{
	uint32_t before = NO_ENTRY;

	for (uint32_t e = s->head; e != NO_ENTRY; before = e, e = p->entries[e].next) {
		const struct entry *entry = &p->entries[e];

		if (!(p->calls->at[entry->call].flags & flags) &&
		    (even_waiting || !entry->waiting)) {
			*ret_before = before;
			return e;
		}
	}
	return NO_ENTRY;
}

static int linger(struct pairing *p, uint32_t entry, int64_t time_ns)
{
	if (p->linger_at > 0 && p->linger_at >= p->linger_n / 2) {
		memmove(p->lingering, p->lingering + p->linger_at,
			(p->linger_n - p->linger_at) * sizeof(*p->lingering));
		p->linger_n -= p->linger_at;
		p->linger_at = 0;
	}
	if (!vec_reserve(&p->lingering, &p->linger_capacity, p->linger_n + 1,
			 sizeof(*p->lingering)))
		return -ENOMEM;
	p->lingering[p->linger_n++] = (struct lingerer){time_ns, entry, p->entries[entry].call};
	p->entries[entry].waiting = true;
	return 0;
}

/* Lets go of entries that have lingered long enough. */
static void lingering_expire(struct pairing *p, int64_t now_ns)
{
	while (p->linger_at < p->linger_n &&
	       p->lingering[p->linger_at].since_ns < now_ns - LINGER_NS) {
		struct lingerer *l = &p->lingering[p->linger_at++];
		const struct call *c;
		struct slot *s;
		uint32_t before = NO_ENTRY, e;

		if (p->entries[l->entry].call != l->call)
			continue; /* it left long ago */
		c = &p->calls->at[l->call];
		s = slot_find(p, p->entries[l->entry].key, c->caller, c->callee, c->id);
		for (e = s->head; e != l->entry; e = p->entries[e].next)
			before = e;
		entry_remove(p, s, before, e);
	}
}

static int call_add(struct pairing *p, struct slot *s, uint32_t key, const struct message *m)
{
	const struct call call = {
		.start_ns = m->time_ns,
		.end_ns = CALL_UNFINISHED,
		.id = m->id,
		.caller = m->sender,
		.callee = m->receiver,
		.name = m->name,
		.flags = m->sight == MESSAGE_SENT   ? CALL_SAW_SENT
			 : m->sight == MESSAGE_RECV ? CALL_SAW_RECV
						    : 0,
	};
	int r;

	if (p->calls->n >= CALLS_MAX)
		return -E2BIG;
	r = calls_add(p->calls, &call);
	if (r == 0 && (r = entry_add(p, s, key, (uint32_t)p->calls->n - 1)) < 0)
		p->calls->n--;
	return r;
}

static int call_put(struct pairing *p, const struct message *m)
{
	uint32_t key = key_of(p, m->sender, m->receiver, m->id), e, before;
	struct slot *s;
	struct call *c;

	p->sights |= (uint8_t)(1 << m->sight);
	if (p->slots_used * 4 >= p->slot_n * 3 && slots_grow(p) < 0)
		return -ENOMEM;
	s = slot_find(p, key, m->sender, m->receiver, m->id);
	if (m->sight == MESSAGE_SEEN || s->head == NO_ENTRY)
		return call_add(p, s, key, m);

	/* The other end's sighting of a call we know? */
	e = entry_without(p, s, m->sight == MESSAGE_SENT ? CALL_SAW_SENT : CALL_SAW_RECV, true,
			  &before);
	if (e == NO_ENTRY || !(p->calls->at[p->entries[e].call].flags &
			       (m->sight == MESSAGE_SENT ? CALL_SAW_RECV : CALL_SAW_SENT)))
		return call_add(p, s, key, m);
	if (calls_tell_apart(p->calls) < 0)
		return -ENOMEM;
	c = &p->calls->at[p->entries[e].call];
	if (m->sight == MESSAGE_SENT) {
		c->start_ns = m->time_ns;
		c->flags |= CALL_SAW_SENT;
	} else {
		p->calls->served[p->entries[e].call].recv_ns = m->time_ns;
		c->flags |= CALL_SAW_RECV;
	}
	if (c->name == NAMES_NONE)
		c->name = m->name;
	return 0;
}

/* The first open call with this id that `fits`, or NO_ENTRY. */
static uint32_t open_with_id(const struct pairing *p, uint64_t id, uint32_t caller, uint32_t callee,
			     struct slot **ret_slot)
{
	for (size_t i = 0; i < p->slot_n; i++) {
		const struct call *c;

		if (p->slots[i].head == NO_ENTRY || p->entries[p->slots[i].head].waiting)
			continue;
		c = &p->calls->at[p->entries[p->slots[i].head].call];
		if (c->id == id && (caller == ANYBODY || c->caller == caller) &&
		    (callee == ANYBODY || c->callee == callee)) {
			*ret_slot = &p->slots[i];
			return p->slots[i].head;
		}
	}
	return NO_ENTRY;
}

/* The return was seen by the caller, by the callee, or by somebody who stands for both. */
static int return_set(struct calls *calls, uint32_t call, int64_t time_ns, bool ends, bool replies)
{
	if (ends != replies && calls_tell_apart(calls) < 0)
		return -ENOMEM;
	if (ends)
		calls->at[call].end_ns = time_ns;
	if (replies && calls->served)
		calls->served[call].reply_ns = time_ns;
	return 0;
}

/* A asks B, B hands the request on to C, C answers A: the answer carries the id of A's call, comes
 * from somebody who was not called by A, and ends the calls of both. */
static bool forwarded_put(struct pairing *p, const struct message *m)
{
	uint32_t callers[2] = {m->receiver, ANYBODY}, callees[2] = {ANYBODY, m->sender};
	bool found = false;

	if (m->id == MESSAGE_NO_ID || p->searches >= SEARCHES_MAX)
		return false;
	p->searches++;
	for (int i = 0; i < 2; i++) {
		struct slot *s = NULL;
		uint32_t e = open_with_id(p, m->id, callers[i], callees[i], &s);

		if (e == NO_ENTRY)
			return found;
		return_set(p->calls, p->entries[e].call, m->time_ns, true, true);
		entry_remove(p, s, NO_ENTRY, e);
		p->tally.forwarded += !found;
		found = true;
	}
	return found;
}

static int ret_put(struct pairing *p, const struct message *m)
{
	const uint32_t both = CALL_SAW_RET_SENT | CALL_SAW_RET_RECV;
	const uint8_t sent_and_recv = 1 << MESSAGE_SENT | 1 << MESSAGE_RECV;
	uint32_t key = key_of(p, m->receiver, m->sender, m->id), flag, e, before;
	struct slot *s;
	struct call *c;

	if (p->slot_n == 0 ||
	    (s = slot_find(p, key, m->receiver, m->sender, m->id))->head == NO_ENTRY) {
		if (!forwarded_put(p, m))
			p->tally.lonely_returns++;
		return 0;
	}
	flag = m->sight == MESSAGE_SENT   ? CALL_SAW_RET_SENT
	       : m->sight == MESSAGE_RECV ? CALL_SAW_RET_RECV
					  : both;
	e = entry_without(p, s, flag, m->sight != MESSAGE_SEEN, &before);
	if (e == NO_ENTRY) {
		p->tally.lonely_returns++;
		return 0;
	}
	c = &p->calls->at[p->entries[e].call];
	if (return_set(p->calls, p->entries[e].call, m->time_ns,
		       m->sight != MESSAGE_SENT || !(c->flags & CALL_SAW_RET_RECV),
		       m->sight != MESSAGE_RECV || !(c->flags & CALL_SAW_RET_SENT)) < 0)
		return -ENOMEM;
	if (m->sight != MESSAGE_SEEN)
		c->flags |= flag;
	/* Seen at both ends, or at as many as can be expected.  Where clocks differ a return may
	 * be seen at one end before the call is seen at the other. */
	if (m->sight == MESSAGE_SEEN || (c->flags & both) == both ||
	    (p->sights & sent_and_recv) != sent_and_recv) {
		entry_remove(p, s, before, e);
		return 0;
	}
	return linger(p, e, m->time_ns);
}

int pairing_put(struct pairing *p, const struct message *messages, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct message *m = &messages[i];
		int r = 0;

		p->tally.messages++;
		if (m->time_ns < p->newest_ns)
			p->tally.unordered++;
		else
			p->newest_ns = m->time_ns;
		if (p->linger_at < p->linger_n)
			lingering_expire(p, p->newest_ns);
		if (m->op == MESSAGE_CALL)
			r = call_put(p, m);
		else if (m->op == MESSAGE_RET)
			r = ret_put(p, m);
		else
			p->tally.free_form++;
		if (r < 0)
			return r;
	}
	return 0;
}

int pairing_finish(struct pairing *p)
{
	_cleanup_(freep)
	uint32_t *new_index = NULL;
	int r;

	p->tally.unfinished = 0;
	for (size_t i = 0; i < p->calls->n; i++)
		p->tally.unfinished += !call_finished(&p->calls->at[i]);
	/* The sort moves calls: nothing may point to them any more. */
	for (size_t i = 0; i < p->slot_n; i++)
		p->slots[i].head = NO_ENTRY;
	p->slots_used = p->entry_n = p->linger_at = p->linger_n = 0;
	p->free_entry = NO_ENTRY;
	r = calls_order(p->calls, &new_index);
	return r == 0 && new_index ? calls_reorder(p->calls, new_index) : r;
}

static int sink_put(void *context, const struct message *messages, size_t n)
{
	return pairing_put(context, messages, n);
}

struct message_sink pairing_sink(struct pairing *p)
{
	return (struct message_sink){sink_put, p};
}

int64_t pairing_newest_ns(const struct pairing *p)
{
	return p->newest_ns;
}

/* Gives the entries of one queue their new numbers and takes out those that are gone. */
static void queue_renumber(struct pairing *p, struct slot *s, const uint32_t *new_index)
{
	uint32_t e = s->head, last = NO_ENTRY;

	s->head = NO_ENTRY;
	while (e != NO_ENTRY) {
		struct entry *entry = &p->entries[e];
		uint32_t next = entry->next, number = new_index[entry->call];

		if (number == UINT32_MAX) {
			entry->call = UINT32_MAX;
			entry->next = p->free_entry;
			p->free_entry = e;
		} else {
			entry->call = number;
			entry->next = NO_ENTRY;
			if (last == NO_ENTRY)
				s->head = e;
			else
				p->entries[last].next = e;
			last = e;
		}
		e = next;
	}
	s->tail = last;
}

int pairing_renumber(struct pairing *p, const uint32_t *new_index)
{
	struct slot *slots = malloc((p->slot_n ? p->slot_n : 1) * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->slot_n; i++)
		slots[i].head = NO_ENTRY;
	for (size_t i = p->linger_at; i < p->linger_n; i++) {
		struct lingerer *l = &p->lingering[i];

		/* One that left long ago stays so: no entry has that number. */
		l->call = p->entries[l->entry].call == l->call ? new_index[l->call] : CALLS_MAX;
		if (l->call == UINT32_MAX)
			l->call = CALLS_MAX;
	}
	p->slots_used = 0;
	for (size_t i = 0; i < p->slot_n; i++) {
		struct slot s = p->slots[i];
		size_t at = s.key & (p->slot_n - 1);

		if (s.head == NO_ENTRY)
			continue;
		queue_renumber(p, &s, new_index);
		if (s.head == NO_ENTRY)
			continue;
		while (slots[at].head != NO_ENTRY)
			at = (at + 1) & (p->slot_n - 1);
		slots[at] = s;
		p->slots_used++;
	}
	free(p->slots);
	p->slots = slots;
	return 0;
}
