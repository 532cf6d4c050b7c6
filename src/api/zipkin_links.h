/* api/zipkin_links.h - who called whom, as Zipkin counts it.
 *
 * A server's span is a call from whoever it answers: the nearest span above it that has a kind,
 * else the peer it names.  A client's span counts only at the bottom of a trace, as a call of the
 * peer it names, which sent nothing itself.  Messages go between a service and its broker. */
#ifndef CAUSET_API_ZIPKIN_LINKS_H
#define CAUSET_API_ZIPKIN_LINKS_H

#include "api/call_tally.h"

/* Counts the traces that start in [from, to) and sorts the pairs by name.  As call_tally_add(), and
 * what the store says. */
int zipkin_links_store(struct call_tally *t, struct store *store, int64_t from_ns, int64_t to_ns);

#endif
