/* api/jaeger_operations.h - a service's operations as {"name":…,"spanKind":…}. */
#ifndef CAUSET_API_JAEGER_OPERATIONS_H
#define CAUSET_API_JAEGER_OPERATIONS_H

#include "store/store.h"
#include "wire/json_writer.h"

/* What Jaeger calls the service of spans that have not said theirs. */
#define JAEGER_UNNAMED "missing-service-name"

/* The name by which Jaeger's clients know the service. */
struct slice jaeger_service_name(const struct service_summary *service);

/* The same the other way.  NULL when there is none of that name. */
const struct service_summary *service_find(const struct service_list *list, struct slice name);

/* Calls `each` for every operation and kind (a name that spans of two kinds have comes twice) that
 * the text `kind` lets through; empty: all.  A kind nobody knows lets nothing through. */
void operations_each(const struct service_summary *service, struct slice kind,
		     void (*each)(void *context, struct slice name, const char *kind),
		     void *context);

/* The same as items of an array; returns how many.  `service` may be NULL.  `sparse`: what is empty
 * is left out, as version 3 does. */
size_t operations_put(struct json_writer *w, const struct service_summary *service,
		      struct slice kind, bool sparse);

#endif
