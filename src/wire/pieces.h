/* wire/pieces.h - writing many rows piece by piece, so that an export never is in memory whole. */
#ifndef CAUSET_WIRE_PIECES_H
#define CAUSET_WIRE_PIECES_H

#include "wire/codecs.h"

#define PIECE_ROWS  512                 /* in one request of the output */
#define PIECE_BYTES ((size_t)128 << 10) /* of output a call aims at */

struct pieces {
	const struct codec *codec;
	const struct event_ref *refs; /* borrowed */
	size_t n, at;
	bool done;
};

static inline struct pieces pieces_of(const struct codec *codec, const struct event_ref *refs,
				      size_t n)
{
	return (struct pieces){codec, refs, n, 0, false};
}

/* Appends the next piece; false when there was none.  Rows that belong together (a span, its points
 * and links) are never parted.  A format whose encodings cannot be put one behind the other comes
 * as one piece. */
bool pieces_next(struct pieces *p, struct buffer *out);

#endif
