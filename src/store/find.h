/* store/find.h - questions about many traces, asked of a snapshot. */
#ifndef CAUSET_STORE_FIND_H
#define CAUSET_STORE_FIND_H

#include "store/view.h"

/* As store_find(), store_services() and store_all(); store_operations() is in store/operations.h.
 */
int snapshot_find(const struct snapshot *s, const struct store_query *query,
		  struct trace_list *ret_list);
int snapshot_services(const struct snapshot *s, struct service_list *ret_list);
int snapshot_all(const struct snapshot *s, struct event_set *ret_set);

#endif
