/* infer/pairing.h - pairs call messages with their returns.
 *
 * Pairs are found by (caller, callee, id); several with the same key are answered first come first
 * served.  One thread. */
#ifndef CAUSET_INFER_PAIRING_H
#define CAUSET_INFER_PAIRING_H

#include "infer/calls.h"

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

/* -ENOMEM; -E2BIG beyond CALLS_MAX calls. */
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
