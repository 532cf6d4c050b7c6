/* api/search.c - which services and traces there are.  The form is docs/format/api.md. */
#include "api/search.h"

#include <errno.h>

#include "api/params.h"
#include "api/service_lists.h"
#include "core/clock.h"

void service_summary_write(const struct service_summary *row, struct json_writer *w)
{
	json_begin_object(w);
	json_put_name(w, "name");
	json_put_string(w, row->name);
	json_put_name(w, "spans");
	json_put_u64(w, row->spans);
	json_put_name(w, "errors");
	json_put_u64(w, row->errors);
	json_put_name(w, "operations");
	json_begin_array(w);
	for (size_t i = 0; i < row->operation_n; i++)
		json_put_string(w, row->operations[i]);
	json_end_array(w);
	json_end_object(w);
}

void trace_summary_write(const struct trace_summary *row, struct json_writer *w)
{
	json_begin_object(w);
	json_put_name(w, "traceId");
	json_put_hex(w, row->id.b, sizeof(row->id.b));
	json_put_name(w, "rootService");
	json_put_string(w, row->root_service);
	json_put_name(w, "rootName");
	json_put_string(w, row->root_name);
	json_put_name(w, "startUnixNano");
	json_put_i64_text(w, row->start_ns);
	json_put_name(w, "durationNano");
	json_put_i64(w, row->duration_ns);
	json_put_name(w, "spans");
	json_put_u64(w, row->spans);
	json_put_name(w, "errors");
	json_put_u64(w, row->errors);
	json_put_name(w, "unfinished");
	json_put_u64(w, row->unfinished);
	json_put_name(w, "services");
	json_begin_array(w);
	for (size_t i = 0; i < row->service_n; i++)
		json_put_string(w, row->services[i]);
	json_end_array(w);
	json_end_object(w);
}

static bool service_put_summary(const struct service_summary *service, struct json_writer *w)
{
	service_summary_write(service, w);
	return true;
}

static void services_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	int64_t n;

	json_begin_object(&w);
	json_put_name(&w, "services");
	n = service_lists_put(api->store, service_put_summary, &w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	if (n < 0)
		api_fail_errno(req, (int)n);
	else
		http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

void services_get(struct http_request *req, struct api *api)
{
	api_work(req, services_work);
}

static void traces_work(struct http_request *req, struct api *api)
{
	struct params params;
	struct error error;
	struct trace_list list;
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	int r = params_parse(req, clock_wall_ns(), &params, &error);

	if (r == -EINVAL) {
		api_fail(req, 400, "%s", error.text);
		return;
	}
	if (r == 0)
		r = store_find(api->store, &params.query, &list);
	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	json_begin_object(&w);
	json_put_name(&w, "traces");
	json_begin_array(&w);
	for (size_t i = 0; i < list.n; i++)
		trace_summary_write(&list.rows[i], &w);
	json_end_array(&w);
	if (list.more && list.n > 0) {
		char cursor[CURSOR_TEXT_BYTES];

		cursor_format(&list.rows[list.n - 1], cursor);
		json_put_name(&w, "next");
		json_put_cstr(&w, cursor);
	}
	json_end_object(&w);
	buffer_byte(&out, '\n');
	trace_list_done(&list);
	http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

void traces_get(struct http_request *req, struct api *api)
{
	api_work(req, traces_work);
}
