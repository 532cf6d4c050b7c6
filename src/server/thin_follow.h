/* server/thin_follow.h - the catalogue's rules for thinning reach the store while it runs. */
#ifndef CAUSET_SERVER_THIN_FOLLOW_H
#define CAUSET_SERVER_THIN_FOLLOW_H

#include "catalog/catalog.h"
#include "store/store.h"

/* Gives the rules to the engine if the catalogue has changed since *generation; 0: for the first
 * time.  A catalogue that cannot be read leaves what was in force; the error says why.  The store
 * must be one that engine_open() made. */
int thin_follow(struct catalog *cat, struct store *store, uint64_t *generation,
		struct error *error);

#endif
