/* infer/best_slots.h - which endpoints are alternatives of each other. */
#ifndef CAUSET_INFER_BEST_SLOTS_H
#define CAUSET_INFER_BEST_SLOTS_H

#include "infer/best_single.h"

/* Groups endpoints that share parents far more rarely, in the present answer, than chance would
 * have it: slot[e] for each, numbered from 0.  True when any two are in one.  -ENOMEM. */
int slots_find(const struct view *v, uint8_t *slot);

#endif
