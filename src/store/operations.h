/* store/operations.h - what every operation of every service costs: counts and durations of all
 * spans of a snapshot. */
#ifndef CAUSET_STORE_OPERATIONS_H
#define CAUSET_STORE_OPERATIONS_H

#include "store/view.h"

/* As store_operations().  Uses as many threads as there are processors. */
int snapshot_operations(const struct snapshot *s, struct operation_list *ret_list);

#endif
