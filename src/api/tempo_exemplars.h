/* api/tempo_exemplars.h - from a question for a series to the spans that it counts. */
#ifndef CAUSET_API_TEMPO_EXEMPLARS_H
#define CAUSET_API_TEMPO_EXEMPLARS_H

#include "base/buffer.h"
#include "core/slice.h"

/* Writes the question for the spans of `{…} | rate() by (a, b)`, with what the series is about and
 * grouped by as columns: `{…} | select(a, b)`.  False: the text has no such form, arithmetic
 * between series for one. */
bool tempo_exemplars_ask(struct slice text, struct buffer *out);

#endif
