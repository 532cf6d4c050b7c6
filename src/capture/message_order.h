/* capture/message_order.h - messages found late, given on in the order of time.
 *
 * The end of an answer is sometimes known only when the next request comes.  Messages wait here
 * until hardly anything older can come any more (ORDER_HOLD_NS behind the packets), at most
 * ORDER_MAX of them.  What is found even later (a request that took minutes to arrive) is given on
 * with its true time, and counted.  One thread. */
#ifndef CAUSET_CAPTURE_MESSAGE_ORDER_H
#define CAUSET_CAPTURE_MESSAGE_ORDER_H

#include "infer/message.h"

#define ORDER_HOLD_NS 2000000000
#define ORDER_MAX     (1 << 20)
#define ORDER_BATCH   256

struct message_order {
	struct message_sink sink;
	struct message *heap; /* oldest first */
	size_t n, capacity;
	uint64_t early;   /* given on before their time, the heap being full */
	uint64_t late;    /* found so late that newer ones had been given on before */
	int64_t given_ns; /* the newest given on */
	int failed;       /* sticky: what the sink said, or -ENOMEM */
	struct message batch[ORDER_BATCH];
	size_t batch_n;
};

void message_order_init(struct message_order *o, struct message_sink sink);
void message_order_done(struct message_order *o);

/* 0 or the sticky error. */
int message_order_put(struct message_order *o, const struct message *m);

/* Gives on everything older than `before_ns`; INT64_MAX: everything. */
int message_order_release(struct message_order *o, int64_t before_ns);

#endif
