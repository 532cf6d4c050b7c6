/* infer/convolution_int.h - what the parts of convolution share. */
#ifndef CAUSET_INFER_CONVOLUTION_INT_H
#define CAUSET_INFER_CONVOLUTION_INT_H

#include "infer/convolution.h"

/* A message, by when it left and when it arrived: the same where it was seen once. */
struct passage {
	int64_t sent_ns, recv_ns;
	uint32_t from, to;
};

/* Messages in order of when they left, two sightings of one joined; freed by the caller.
 * -ENOMEM. */
int events_make(const struct message_list *messages, struct passage **ret_events, size_t *ret_n);

/* Says of each vertex whether it is a short cut that longer paths explain. */
void convolution_mark_derived(struct convolution *c);

#endif
