/* tests/unit/batch_random.h - batches full of what decoders and encoders may stumble over.
 *
 * Every event type and value type, nested and empty; strings with NULs, quotes and characters from
 * all over; the extremes of every number; many and few resources and scopes.  The same seed gives
 * the same batch. */
#ifndef CAUSET_TESTS_UNIT_BATCH_RANDOM_H
#define CAUSET_TESTS_UNIT_BATCH_RANDOM_H

#include "base/rng.h"
#include "model/batch.h"

enum batch_random_shape {
	RANDOM_EVENTS, /* anything the model can hold: native events */
	RANDOM_TRACES, /* spans, with points and then links behind them: OTLP traces */
	RANDOM_LOGS,   /* log records: OTLP logs */
};

struct batch_random {
	enum batch_random_shape shape;
	size_t rows; /* about so many */
	bool json;   /* only what JSON can hold: text is UTF-8, no fields kept as protobuf bytes */
	bool huge;   /* now and then a string of a megabyte */
};

/* A batch, sealed; the caller's to unref.  Aborts when out of memory. */
struct batch *batch_random(struct rng *rng, const struct batch_random *what);

#endif
