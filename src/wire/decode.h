/* wire/decode.h - what every decoder has in common.
 *
 * A decoder is a pure function: bytes in, rows of a batch out.  Two things can be wrong:
 *  - the bytes are not of the format: the function returns a negative errno, fills `struct error`
 *    (what, and at which byte), and the batch is good for nothing but batch_unref();
 *  - single rows cannot be accepted (no trace id, a log outside any trace): they are left out and
 *    counted here, with the first reason, for OTLP's partial_success; the rest stands. */
#ifndef CAUSET_WIRE_DECODE_H
#define CAUSET_WIRE_DECODE_H

#include "base/error.h"
#include "model/batch.h"

#define DECODE_DEPTH_MAX 64 /* nesting of attribute values; deeper is refused */

struct decode_tally {
	uint64_t accepted,
		rejected; /* spans, logs or native events; points and links are not counted */
	char reason[160]; /* of the first rejected row */
};

/* Counts a rejected row. */
void decode_reject(struct decode_tally *tally, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
