/* infer/best_fifo.h - servers that keep the order: event loops, queues.
 *
 * Where calls leave in the order in which their parents came, order says more than delay does: a
 * burst waits together, and its delays vary together. */
#ifndef CAUSET_INFER_BEST_FIFO_H
#define CAUSET_INFER_BEST_FIFO_H

#include "infer/best_single.h"

/* Places everybody by the present answer and judges whether the node keeps order; sets the model's
 * order_price.  -ENOMEM. */
int fifo_fit(struct single *s);

#endif
