/* api/plain.h - rows for formats that know only spans: native begins and ends are joined first. */
#ifndef CAUSET_API_PLAIN_H
#define CAUSET_API_PLAIN_H

#include "wire/codecs.h"

struct plain {
	struct event_ref *refs;
	size_t n, capacity;
	struct batch **batches; /* made here; each holds one reference */
	size_t batch_n, batch_capacity;
};

/* Rows that `codec` can hold, in the order of `refs`, each once however often it came; traces with
 * native events come last, as the spans they amount to.  The batches of `refs` are borrowed.
 * -ENOMEM, -E2BIG. */
int plain_rows(const struct codec *codec, const struct event_ref *refs, size_t n,
	       struct plain *ret_plain);

void plain_done(struct plain *p);

#endif
