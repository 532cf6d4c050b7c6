/* infer/message_list.h - messages in memory: collected from several sources, put in order, and
 * each kept once. */
#ifndef CAUSET_INFER_MESSAGE_LIST_H
#define CAUSET_INFER_MESSAGE_LIST_H

#include "infer/message.h"

struct message_list {
	struct message *at;
	size_t n, capacity;
};

void message_list_done(struct message_list *l);

/* A sink that collects. */
struct message_sink message_list_sink(struct message_list *l);

/* Puts them in order of time; equal times keep their order.  -ENOMEM. */
int message_list_sort(struct message_list *l);

/* Where capture points overlap, the same message comes from two files: the same operation,
 * sighting, nodes and id (or, without ids, the same number in the row of such messages), within
 * `window_ns`. The first one is kept.  The list must be in order.  Messages of one file are never
 * the same: a retransmission is two messages.  -ENOMEM. */
int message_list_unique(struct message_list *l, int64_t window_ns, uint64_t *ret_dropped);

#endif
