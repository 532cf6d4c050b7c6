/* api/jaeger_operations.h - services by the names that Jaeger gives them, and their operations as
 * {"name":…,"spanKind":…}. */
#ifndef CAUSET_API_JAEGER_OPERATIONS_H
#define CAUSET_API_JAEGER_OPERATIONS_H

#include "store/store.h"
#include "wire/json_writer.h"

/* What Jaeger calls the service of spans that have not said theirs. */
#define JAEGER_UNNAMED "missing-service-name"

/* The name by which Jaeger's clients know a service. */
static inline struct slice jaeger_service_name(struct slice name)
{
	return name.n > 0 ? name : SLICE(JAEGER_UNNAMED);
}

/* What store_services() gives, by these names: sorted, each once, also where some spans are of a
 * service that is really called so. */
int jaeger_service_list(struct store *store, struct service_list *ret_list);

/* Their names as [ … ].  How many there are, or a negative errno: then nothing was written. */
int64_t jaeger_service_list_put(struct store *store, struct json_writer *w);

/* One of those.  NULL when there is none of that name. */
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
