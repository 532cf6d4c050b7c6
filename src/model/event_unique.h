/* model/event_unique.h - rows that came again, left out. */
#ifndef CAUSET_MODEL_EVENT_UNIQUE_H
#define CAUSET_MODEL_EVENT_UNIQUE_H

#include "model/batch.h"

/* Leaves out of refs[0 … *n) what another batch has said before, word for word: a span with its
 * points and links counts as one, so a span that came again with one more point stays.  What one
 * batch says twice stays as well: a program may have meant it.  The order is kept.  -ENOMEM and
 * -E2BIG; then nothing is changed. */
int events_unique(struct event_ref *refs, size_t *n);

#endif
