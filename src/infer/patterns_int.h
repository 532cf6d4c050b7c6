/* infer/patterns_int.h - what the parts of the patterns share. */
#ifndef CAUSET_INFER_PATTERNS_INT_H
#define CAUSET_INFER_PATTERNS_INT_H

#include "infer/patterns.h"

/* Adds a pattern of another table, its nodes renumbered by `map`.  -ENOMEM. */
int patterns_take(struct patterns *p, const struct pattern *from, const uint32_t *map);

#endif
