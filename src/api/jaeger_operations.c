/* api/jaeger_operations.c - services by the names that Jaeger gives them, and their operations. */
#include "api/jaeger_operations.h"

#include <errno.h>

#include "api/jaeger_question.h"

/* --- services --- */

/* The operations of both, sorted, into one of them. */
static int operations_join(struct service_summary *to, const struct service_summary *more,
			   struct arena *arena)
{
	size_t most = to->operation_n + more->operation_n, n = 0;
	struct slice *names = arena_zalloc(arena, most + 1, sizeof(*names));
	uint32_t *kinds = arena_zalloc(arena, most + 1, sizeof(*kinds));

	if (!names || !kinds)
		return -ENOMEM;
	for (size_t i = 0, k = 0; i < to->operation_n || k < more->operation_n; n++) {
		int c = i == to->operation_n ? 1
			: k == more->operation_n
				? -1
				: slice_cmp(to->operations[i], more->operations[k]);

		names[n] = c <= 0 ? to->operations[i] : more->operations[k];
		kinds[n] = (c <= 0 ? to->kinds[i] : 0) | (c >= 0 ? more->kinds[k] : 0);
		i += c <= 0;
		k += c >= 0;
	}
	to->operations = names;
	to->kinds = kinds;
	to->operation_n = n;
	return 0;
}

/* The service without a name is the first; it gets one, and the place that goes with it. */
static int name_unnamed(struct service_list *list)
{
	struct service_summary unnamed;
	size_t at = 1;

	if (list->n == 0 || list->rows[0].name.n > 0)
		return 0;
	unnamed = list->rows[0];
	unnamed.name = SLICE(JAEGER_UNNAMED);
	while (at < list->n && slice_cmp(list->rows[at].name, unnamed.name) < 0)
		at++;
	if (at < list->n && slice_eq(list->rows[at].name, unnamed.name)) {
		struct service_summary *same = &list->rows[at];

		same->spans += unnamed.spans;
		same->errors += unnamed.errors;
		list->rows++;
		list->n--;
		return operations_join(same, &unnamed, list->arena);
	}
	memmove(list->rows, list->rows + 1, (at - 1) * sizeof(*list->rows));
	list->rows[at - 1] = unnamed;
	return 0;
}

int jaeger_service_list(struct store *store, struct service_list *ret_list)
{
	struct service_list list;
	int r = store_services(store, &list);

	if (r < 0)
		return r;
	r = name_unnamed(&list);
	if (r < 0)
		service_list_done(&list);
	else
		*ret_list = list;
	return r;
}

int64_t jaeger_service_list_put(struct store *store, struct json_writer *w)
{
	struct service_list list;
	int r = jaeger_service_list(store, &list);
	int64_t n;

	if (r < 0)
		return r;
	json_begin_array(w);
	for (size_t i = 0; i < list.n; i++)
		json_put_string(w, list.rows[i].name);
	json_end_array(w);
	n = (int64_t)list.n;
	service_list_done(&list);
	return n;
}

const struct service_summary *service_find(const struct service_list *list, struct slice name)
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

/* --- operations --- */

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
