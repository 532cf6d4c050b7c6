/* model/self_time.h - the part of each block's time that no child in its causal flow covers. */
#ifndef CAUSET_MODEL_SELF_TIME_H
#define CAUSET_MODEL_SELF_TIME_H

#include "model/trace.h"

/* Fills self_ns of every block; parents, bits and adjusted times must be there.  -ENOMEM. */
int trace_self_time(struct trace *t);

#endif
