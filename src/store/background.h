/* store/background.h - the engine's own threads: one flushes, one merges and removes. */
#ifndef CAUSET_STORE_BACKGROUND_H
#define CAUSET_STORE_BACKGROUND_H

#include "base/error.h"

struct background;
struct engine;

/* Starts both.  -EAGAIN and the like from the system. */
int background_start(struct engine *e, struct background **ret_background, struct error *error);

/* Ends both; a merge under way is given up.  NULL-safe; returns NULL. */
struct background *background_stop(struct background *b);

#endif
