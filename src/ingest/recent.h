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

/* `most` bodies are remembered at least half of, however fast they come.  -ENOMEM. */
int recent_new(int64_t window_ns, size_t most, struct recent **ret_recent);
struct recent *recent_free(struct recent *r);

/* The key of a body posted by an owner as one kind.  Seeded per process. */
struct recent_key recent_key(const struct recent *r, struct slice body, struct slice owner,
			     int kind);

/* Was it kept within the window?  `now_ns` is monotonic. */
bool recent_has(struct recent *r, struct recent_key key, int64_t now_ns);

/* Remembers it: call when the store has acknowledged. */
void recent_add(struct recent *r, struct recent_key key, int64_t now_ns);

#endif
