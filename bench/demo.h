/* bench/demo.h - spans like those of a small shop under load, for measuring what storing them
 * costs.
 *
 * A shop of seventeen services (bench/demo_plan.c) is played minute by minute: some thousand
 * requests of eighteen kinds, each a tree of 1 to 30 spans with about ten attributes each.  What is
 * random in real traces is random here, and by about as much: ids, a UUID per request and per
 * session that stands in several attributes, ports of connection pools, sizes, starts and
 * durations; what repeats there repeats here.  Services export every few seconds and a collector
 * sends what it has, so a trace arrives in two or three requests. */
#ifndef CAUSET_BENCH_DEMO_H
#define CAUSET_BENCH_DEMO_H

#include "base/rng.h"
#include "model/batch.h"

struct demo;

/* Minutes are laid at random into `window_ns` from `first_ns` on.  NULL when out of memory. */
struct demo *demo_new(uint64_t seed, uint64_t first_ns, uint64_t window_ns);
struct demo *demo_free(struct demo *d);

/* The next request body's batch, sealed; the caller's reference.  *ret_spans: how many spans are in
 * it. NULL when out of memory. */
struct batch *demo_next(struct demo *d, size_t *ret_spans);

#endif
