/* api/jaeger_operations.h - a service's operations as {"name":…,"spanKind":…}. */
#ifndef CAUSET_API_JAEGER_OPERATIONS_H
#define CAUSET_API_JAEGER_OPERATIONS_H

#include "store/store.h"
#include "wire/json_writer.h"

/* NULL when there is none of that name. */
const struct service_summary *service_find(const struct service_list *list, struct slice name);

/* Calls `each` for every operation and kind (a name that spans of two kinds have comes twice) that
 * the text `kind` lets through; empty: all.  A kind nobody knows lets nothing through. */
void operations_each(const struct service_summary *service, struct slice kind,
		     void (*each)(void *context, struct slice name, const char *kind),
		     void *context);

/* The same as items of an array; returns how many.  `service` may be NULL. */
size_t operations_put(struct json_writer *w, const struct service_summary *service,
		      struct slice kind);

#endif
