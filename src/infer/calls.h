/* infer/calls.h - calls: a call message and its return, paired.
 *
 * Pairs are found by (caller, callee, id); several with the same key are answered first come first
 * served.  Where a message was seen at both ends both times are kept, so that a node is judged by
 * its own clock: as a callee by recv_ns and reply_ns, as a caller by start_ns and end_ns.
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

enum call_flags {
	CALL_SAW_SENT = 1 << 0,     /* the call, leaving its caller */
	CALL_SAW_RECV = 1 << 1,     /* the call, reaching its callee */
	CALL_SAW_RET_SENT = 1 << 2, /* the return, leaving the callee */
	CALL_SAW_RET_RECV = 1 << 3, /* the return, reaching the caller */
};

struct call {
	int64_t start_ns, end_ns;  /* as the caller sees it */
	int64_t recv_ns, reply_ns; /* as the callee sees it; the same where nothing else is known */
	uint64_t id;
	uint32_t caller, callee;
	uint32_t name;  /* of the operation; NAMES_NONE when unknown */
	uint32_t flags; /* enum call_flags: sightings at one end alone */
};

static inline bool call_finished(const struct call *c)
{
	return c->end_ns != CALL_UNFINISHED;
}

/* Calls in the order of start_ns (equal ones in the order of the input) after pairing_finish(). */
struct calls {
	struct call *at;
	size_t n, capacity;
};

void calls_done(struct calls *calls);

/* What did not fit, for people. */
struct pairing_tally {
	uint64_t messages;
	uint64_t lonely_returns; /* a return without its call: dropped */
	uint64_t forwarded;      /* returns that came from another node than was called */
	uint64_t unfinished;     /* calls without a return, when finished */
	uint64_t free_form;      /* MSG: not for pairing, passed over */
	uint64_t unordered;      /* messages older than one before them */
};

struct pairing;

/* Calls are added to `calls`, which must outlive the pairing. */
int pairing_new(struct calls *calls, struct pairing **ret_pairing);
struct pairing *pairing_free(struct pairing *p);

/* -ENOMEM; -E2BIG beyond 2^32-2 calls. */
int pairing_put(struct pairing *p, const struct message *messages, size_t n);

/* No more messages: sorts the calls.  Unfinished ones stay, with CALL_UNFINISHED. */
int pairing_finish(struct pairing *p);

/* The newest time seen so far; INT64_MIN before the first message. */
int64_t pairing_newest_ns(const struct pairing *p);

/* The owner has moved calls around in the list, or taken some out: new_index says for each old
 * number the new one, UINT32_MAX for those that are gone.  The list must be as the new numbers say.
 * -ENOMEM; nothing has changed then. */
int pairing_renumber(struct pairing *p, const uint32_t *new_index);

const struct pairing_tally *pairing_tally(const struct pairing *p);

/* A sink that feeds the pairing. */
struct message_sink pairing_sink(struct pairing *p);

#endif
