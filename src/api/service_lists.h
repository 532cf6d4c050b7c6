/* api/service_lists.h - the services that are known, as a list of JSON: each API has its own form
 * around it. */
#ifndef CAUSET_API_SERVICE_LISTS_H
#define CAUSET_API_SERVICE_LISTS_H

#include "store/store.h"
#include "wire/json_writer.h"

/* Writes one, if it is to be listed. */
typedef bool service_put_fn(const struct service_summary *service, struct json_writer *w);

/* Writes the list [ … ], sorted by name.  On a worker.  How many are listed, or a negative errno:
 * then nothing was written. */
int64_t service_lists_put(struct store *store, service_put_fn *put, struct json_writer *w);

#endif
