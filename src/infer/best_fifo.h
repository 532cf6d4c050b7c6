/* infer/best_fifo.h - servers that keep the order: event loops, queues.
 *
 * Where calls leave in the order in which their parents came, order says more than delay does: a
 * burst waits together, and its delays vary together.  Endpoints that never share a parent (a load
 * balancer's targets) form one queue. */
#ifndef CAUSET_INFER_BEST_FIFO_H
#define CAUSET_INFER_BEST_FIFO_H

#include "infer/best_single.h"

/* Finds the queues of a node from the present answer, places everybody in them, and judges whether
 * the node keeps order; sets the model's order_price.  -ENOMEM. */
int fifo_fit(struct single *s);

#endif
