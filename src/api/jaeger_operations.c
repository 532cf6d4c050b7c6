/* api/jaeger_operations.c - a service's operations with their kinds. */
#include "api/jaeger_operations.h"

#include "api/jaeger_question.h"

struct slice jaeger_service_name(const struct service_summary *service)
{
	return service->name.n > 0 ? service->name : SLICE(JAEGER_UNNAMED);
}

static const struct service_summary *find(const struct service_list *list, struct slice name)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (slice_cmp(list->rows[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->n && slice_eq(list->rows[low].name, name) ? &list->rows[low] : NULL;
}

const struct service_summary *service_find(const struct service_list *list, struct slice name)
{
	const struct service_summary *found = find(list, name);

	if (!found && slice_eq(name, SLICE(JAEGER_UNNAMED)))
		found = find(list, slice_of(NULL, 0));
	return found;
}

void operations_each(const struct service_summary *service, struct slice kind,
		     void (*each)(void *context, struct slice name, const char *kind),
		     void *context)
{
	int32_t wanted = -1;

	if (!service || (kind.n > 0 && jaeger_kind_parse(kind, &wanted) < 0))
		return;
	for (size_t i = 0; i < service->operation_n; i++)
		for (int32_t k = KIND_UNSPECIFIED; k <= KIND_CONSUMER; k++)
			if (service->kinds[i] & 1U << k && (wanted < 0 || wanted == k))
				each(context, service->operations[i], jaeger_kind_name(k));
}

struct putting {
	struct json_writer *w;
	bool sparse;
	size_t n;
};

static void put(void *context, struct slice name, const char *kind)
{
	struct putting *p = context;

	json_begin_object(p->w);
	if (!p->sparse || name.n > 0) {
		json_put_name(p->w, "name");
		json_put_string(p->w, name);
	}
	if (!p->sparse || kind[0]) {
		json_put_name(p->w, "spanKind");
		json_put_cstr(p->w, kind);
	}
	json_end_object(p->w);
	p->n++;
}

size_t operations_put(struct json_writer *w, const struct service_summary *service,
		      struct slice kind, bool sparse)
{
	struct putting p = {w, sparse, 0};

	operations_each(service, kind, put, &p);
	return p.n;
}
