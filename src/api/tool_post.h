/* api/tool_post.h - the tools as plain HTTP: GET /api/v1/tools, POST /api/v1/tools/{name}. */
#ifndef CAUSET_API_TOOL_POST_H
#define CAUSET_API_TOOL_POST_H

#include "api/api.h"
#include "api/query_jobs.h"
#include "api/tool.h"

void tools_get(struct http_request *req, struct api *api);
void tool_post(struct http_request *req, struct api *api);

/* Runs a tool on the job's thread, as whoever has asked; call->out or call->why, and
 * tool_call_done() is the caller's. */
int tool_run_job(struct query_job *job, const struct tool *tool, struct slice arguments,
		 struct tool_call *call);

#endif
