/* api/service_lists.c - the services that are known, as a list of JSON. */
#include "api/service_lists.h"

int64_t service_lists_put(struct store *store, service_put_fn *put, struct json_writer *w)
{
	struct service_list list;
	int64_t n = 0;
	int r = store_services(store, &list);

	if (r < 0)
		return r;
	json_begin_array(w);
	for (size_t i = 0; i < list.n; i++)
		n += put(&list.rows[i], w);
	json_end_array(w);
	service_list_done(&list);
	return n;
}
