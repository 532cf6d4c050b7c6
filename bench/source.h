/* bench/source.h - the data sets of the store's benchmark, as request bodies one after the other.
 *
 *   demo      a shop's spans over half an hour (bench/demo.h)
 *   days      the same over ten days
 *   random    1 trace in 10 spans, 10 services, 10 days, 11 attributes a span over 97 keys and
 * 1,000 values: nothing repeats but by chance FILE      bodies of OTLP protobuf, each with its
 * length before it as 32 bits, little-endian */
#ifndef CAUSET_BENCH_SOURCE_H
#define CAUSET_BENCH_SOURCE_H

#include "base/buffer.h"
#include "model/batch.h"

struct source;

/* NULL, and says why on stderr, if there is no such set. */
struct source *source_open(const char *name);
struct source *source_close(struct source *s);

/* The next batch, the caller's reference, and how many spans it holds; NULL at the end of a file.
 */
struct batch *source_next(struct source *s, size_t *ret_spans);

/* The rows of a batch as an OTLP body, appended. */
void source_encode(const struct batch *b, struct buffer *out);

#endif
