/* infer/calls.h - calls: a call message and its return.
 *
 * Where a message was seen at both ends both times are kept, so that a node is judged by its own
 * clock: as a callee by recv_ns and reply_ns, as a caller by start_ns and end_ns.  Calls are what a
 * stream keeps in memory, 40 bytes each; the callee's times stand apart, because most sources see a
 * message once.
 *
 *   caller   start_ns ─┐                       ┌─▶ end_ns
 *   callee             └─▶ recv_ns … reply_ns ─┘
 *
 * One thread. */
#ifndef CAUSET_INFER_CALLS_H
#define CAUSET_INFER_CALLS_H

#include "infer/message.h"

/* end_ns and reply_ns of a call whose return was not seen. */
#define CALL_UNFINISHED INT64_MAX

#define CALLS_MAX       0x7ffffffeU /* numbers of calls have 31 bits */

enum call_flags {
	CALL_SAW_SENT = 1 << 0,     /* the call, leaving its caller */
	CALL_SAW_RECV = 1 << 1,     /* the call, reaching its callee */
	CALL_SAW_RET_SENT = 1 << 2, /* the return, leaving the callee */
	CALL_SAW_RET_RECV = 1 << 3, /* the return, reaching the caller */
};

struct call {
	int64_t start_ns, end_ns; /* as the caller sees it */
	uint64_t id;
	uint32_t caller, callee;
	uint32_t name;  /* of the operation; NAMES_NONE when unknown */
	uint32_t flags; /* enum call_flags: sightings at one end alone */
};

static_assert(sizeof(struct call) == 40, "memory per message in flight is promised");

/* A call as its callee sees it. */
struct call_served {
	int64_t recv_ns, reply_ns;
};

static inline bool call_finished(const struct call *c)
{
	return c->end_ns != CALL_UNFINISHED;
}

/* Calls in the order of start_ns (equal ones in the order of the input) after pairing_finish(). */
struct calls {
	struct call *at;
	struct call_served *served; /* NULL: callees see what callers see, as far as is known */
	size_t n, capacity, served_capacity;
};

static inline struct call_served call_served(const struct calls *calls, size_t i)
{
	return calls->served ? calls->served[i]
			     : (struct call_served){calls->at[i].start_ns, calls->at[i].end_ns};
}

static inline int64_t call_recv_ns(const struct calls *calls, size_t i)
{
	return calls->served ? calls->served[i].recv_ns : calls->at[i].start_ns;
}

static inline int64_t call_reply_ns(const struct calls *calls, size_t i)
{
	return calls->served ? calls->served[i].reply_ns : calls->at[i].end_ns;
}

/* Adds a call that its callee sees as its caller does; -ENOMEM. */
int calls_add(struct calls *calls, const struct call *call);

/* Adds a copy of call i of another list; -ENOMEM. */
int calls_add_from(struct calls *calls, const struct calls *other, size_t i);

/* Gives callees times of their own, for now those of the callers; -ENOMEM. */
int calls_tell_apart(struct calls *calls);

/* Puts call `from` in the place of call `to`. */
void calls_move(struct calls *calls, size_t to, size_t from);

/* The new number of each call in the order of start; NULL when they are in order already.
 * -ENOMEM. */
int calls_order(const struct calls *calls, uint32_t **ret_new_index);

/* Puts each call where new_index says.  -ENOMEM; nothing has changed then. */
int calls_reorder(struct calls *calls, const uint32_t *new_index);

/* Lets go of calls: new_index is UINT32_MAX for those; the others, `left` of them, move up in the
 * order they have. */
void calls_forget(struct calls *calls, const uint32_t *new_index, size_t left);

void calls_done(struct calls *calls);

#endif
