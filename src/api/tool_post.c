/* api/tool_post.c - the tools as plain HTTP. */
#include "api/tool_post.h"

#include <errno.h>

#include "base/cleanup.h"

int tool_run_job(struct query_job *job, const struct tool *tool, struct slice arguments,
		 struct tool_call *call)
{
	const struct query_limits *limits = query_jobs_limits(job->jobs);
	const struct tool_house house = {
		.store = job->api->store,
		.catalog = job->api->catalog,
		.pages = query_jobs_pages(job->jobs),
		.time_ns = limits->time_ns,
		.memory_bytes = limits->memory_bytes,
	};
	int r;

	*call = (struct tool_call){.house = &house,
				   .tool = tool,
				   .owner = job->owner,
				   .roles = api_request(job->req)->who.roles,
				   .cancel = job->cancel,
				   .now_ns = job->started_ns};
	r = tool_run(call, arguments);
	call->house = NULL;
	return r;
}

static int status_of(int r)
{
	switch (r) {
	case -EINVAL:
	case -EPERM:
		return 400;
	case -EACCES:
		return 403;
	case -ENOENT:
		return 404;
	case -ECANCELED:
		return 409;
	case -E2BIG:
	case -ETIMEDOUT:
	case -ENOSPC:
	case -EOPNOTSUPP:
		return 422;
	case -ENOMEM:
		return 503;
	default:
		return 500;
	}
}

/* On a thread of its own. */
static void answer(struct query_job *job)
{
	struct tool_call call;
	int r = tool_run_job(job, api_request(job->req)->data, job->req->body, &call);

	if (r < 0) {
		api_fail(job->req, status_of(r), "%s", buffer_cstr(&call.why));
	} else {
		buffer_byte(&call.out, '\n');
		http_reply_buffer(job->req, 200, "application/json", &call.out);
	}
	tool_call_done(&call);
}

void tool_post(struct http_request *req, struct api *api)
{
	struct query_request request = {0};
	struct error error = {0};
	const char *near = NULL;
	struct slice name;
	const struct tool *tool;
	int r = http_path_decode(req, api_request(req)->parameter, &name);

	if (r < 0) {
		api_fail(req, r == -ENOMEM ? 503 : 400, "the name of a tool is wanted");
		return;
	}
	tool = tool_find(name, &near);
	if (!tool) {
		api_fail(req, 404, "there is no tool %.*s%s%s; GET /api/v1/tools lists them",
			 SLICE_ARG(slice_first(name, 64)), near ? "; did you mean " : "",
			 near ? near : "");
		return;
	}
	api_request(req)->data = (void *)tool;
	request.text = slice_cstr(tool->name);
	r = query_jobs_start(api->queries, req, &request, answer, &error);
	if (r < 0)
		api_fail(req, r == -EBUSY ? 429 : 503, "%s", error.text);
}

void tools_get(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	char role[ROLES_TEXT_BYTES];

	json_begin_object(&w);
	json_put_name(&w, "tools");
	json_begin_array(&w);
	for (const struct tool *t = tools; t->name; t++) {
		json_begin_object(&w);
		json_put_name(&w, "name");
		json_put_cstr(&w, t->name);
		json_put_name(&w, "description");
		json_put_cstr(&w, t->doc);
		json_put_name(&w, "role");
		roles_format(t->role, role);
		json_put_cstr(&w, role);
		json_put_name(&w, "inputSchema");
		tool_input_schema(t, &w);
		json_put_name(&w, "outputSchema");
		tool_output_schema(t, &w);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}
