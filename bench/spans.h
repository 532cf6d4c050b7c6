/* bench/spans.h - made-up spans that look like a shop's: what the benchmarks send.
 *
 * Seventeen services, some hundred operations, ten attributes a span by OpenTelemetry's conventions
 * (six strings of which one is a fresh UUID and one an address with a fresh port, three integers,
 * one boolean), now and then an event; about 480 bytes a span in OTLP protobuf. */
#ifndef CAUSET_BENCH_SPANS_H
#define CAUSET_BENCH_SPANS_H

#include "base/rng.h"
#include "model/batch.h"

#define BENCH_ATTRIBUTES 10

/* A sealed batch of `n` spans in traces of about ten; the same generator state gives the same
 * spans. NULL when out of memory. */
struct batch *bench_spans(struct rng *rng, size_t n);

/* CPU time of this process in seconds, and the median of n figures (sorts them). */
double bench_cpu(void);
double bench_median(double *figures, size_t n);

#endif
