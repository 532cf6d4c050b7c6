/* ingest/recent.h - bodies seen lately, by hash: the same request again is acknowledged, not
 * stored.
 *
 * A client that got no answer sends again; so does a proxy.  Remembers a body for at least the
 * window and less than twice as long, in bounded memory: when too many come, the older half is
 * forgotten early (the store then keeps both, and readers collapse them).  Any thread, internally
 * locked. */
#ifndef CAUSET_INGEST_RECENT_H
#define CAUSET_INGEST_RECENT_H

#include "core/slice.h"

struct recent;

/* 128 bits of what makes a request the same request. */
struct recent_key {
	uint64_t low, high;
};

/* `most` bodies are remembered at least half of, however fast they come.  The seed must be one that
 * strangers do not know, and the same in runs that are to know each other's keys.  -ENOMEM. */
int recent_new(int64_t window_ns, size_t most, uint64_t seed, struct recent **ret_recent);
struct recent *recent_free(struct recent *r);

/* The key of a body posted by an owner as one kind. */
struct recent_key recent_key(const struct recent *r, struct slice body, struct slice owner,
			     int kind);

enum recent_state {
	RECENT_NEW,       /* nobody has it: now it is under way, and recent_end() must follow */
	RECENT_KNOWN,     /* it was kept within the window */
	RECENT_UNDER_WAY, /* somebody else is at it, and nobody knows yet how that ends */
};

/* A request begins.  `now_ns` is monotonic. */
enum recent_state recent_begin(struct recent *r, struct recent_key key, int64_t now_ns);

/* It has ended: kept, and so to be remembered, or not. */
void recent_end(struct recent *r, struct recent_key key, bool kept, int64_t now_ns);

/* Remembers what an earlier run has kept. */
void recent_add(struct recent *r, struct recent_key key, int64_t now_ns);

#endif
