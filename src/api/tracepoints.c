/* api/tracepoints.c - the catalogue's tracepoints. */
#include "api/tracepoints.h"

#include <errno.h>

#include "api/query_json.h"
#include "api/tracepoint_text.h"
#include "base/cleanup.h"

static struct tracepoint_actor actor_of(struct http_request *req)
{
	const struct token_identity *who = &api_request(req)->who;

	return (struct tracepoint_actor){who->owner, roles_allow(who->roles, ROLE_ADMIN),
					 who->owner};
}

static void fail(struct http_request *req, int r, const struct error *error)
{
	int status = r == -EACCES                  ? 403
		     : r == -ENOENT                ? 404
		     : r == -EINVAL                ? 400
		     : r == -ENOSPC                ? 422
		     : r == -EBUSY || r == -ENOMEM ? 503
						   : 500;

	api_fail(req, status, "%s", error->text[0] ? error->text : strerror(-r));
}

void tracepoint_write(struct json_writer *w, const struct tracepoint_row *row)
{
	json_begin_object(w);
	json_put_name(w, "name");
	json_put_cstr(w, row->name);
	json_put_name(w, "text");
	json_put_cstr(w, row->text);
	json_put_name(w, "owner");
	json_put_cstr(w, row->owner);
	json_put_name(w, "updatedUnixNano");
	json_put_i64_text(w, row->updated_ns);
	json_end_object(w);
}

static int put_row(void *context, const struct tracepoint_row *row)
{
	tracepoint_write(context, row);
	return 0;
}

static void list_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct error error = {0};
	int r;

	json_begin_object(&w);
	json_put_name(&w, "tracepoints");
	json_begin_array(&w);
	r = tracepoint_list(api->catalog, put_row, &w, &error);
	json_end_array(&w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	if (r < 0)
		fail(req, r, &error);
	else
		http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

/* {"text":"Tracepoint …"} */
static int body_text(struct http_request *req, struct slice *ret_text, struct error *error)
{
	struct json_reader r = json_open(req->body);
	struct buffer scratch = {0};
	struct slice name, text = {0};
	struct json_string s;
	int result = 0;

	if (json_peek(&r) == JSON_OBJECT && json_object(&r))
		while (json_next_name(&r, &name)) {
			if (!slice_eq(name, SLICE("text")) || json_peek(&r) != JSON_STRING ||
			    !json_string(&r, &s)) {
				json_stop(&r, r.at, "not the text of definitions");
				break;
			}
			text = arena_dup(&req->arena, json_text(s, &scratch));
		}
	if (json_finish(&r, NULL) < 0 || !text.p)
		result = error_set(
			error, -EINVAL,
			"the body is a JSON object: {\"text\": \"Tracepoint X = { … }\"}");
	buffer_done(&scratch);
	*ret_text = text;
	return result;
}

static void answer_wrong(struct http_request *req, const struct diags *diags, struct slice text)
{
	struct buffer out = {0}, message = {0};
	struct json_writer w = json_write(&out);

	diags_first_error(diags, text, &message);
	json_begin_object(&w);
	json_put_name(&w, "error");
	json_begin_object(&w);
	json_put_name(&w, "code");
	json_put_cstr(&w, "bad_query");
	json_put_name(&w, "message");
	json_put_string(&w, buffer_get(&message));
	json_put_name(&w, "diagnostics");
	query_json_diags(&w, diags, text);
	json_end_object(&w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	http_reply_buffer(req, 400, "application/json", &out);
	buffer_done(&message);
	buffer_done(&out);
}

static void answer_defined(struct http_request *req, const struct tracepoint_row *rows, size_t n)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	json_begin_object(&w);
	json_put_name(&w, "defined");
	json_begin_array(&w);
	for (size_t i = 0; i < n; i++)
		json_put_cstr(&w, rows[i].name);
	json_end_array(&w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

static void define_work(struct http_request *req, struct api *api)
{
	struct tracepoint_actor actor = actor_of(req);
	struct tracepoint_row *rows = NULL;
	struct error error = {0};
	struct diags diags;
	struct slice text;
	size_t n = 0;
	int r = body_text(req, &text, &error);

	if (r < 0) {
		fail(req, r, &error);
		return;
	}
	diags_init(&diags, &req->arena);
	r = tracepoint_text_read(text, api->catalog, &req->arena, &diags, &rows, &n);
	if (r == -EINVAL) {
		answer_wrong(req, &diags, text);
		return;
	}
	if (r == 0)
		r = tracepoint_define(api->catalog, rows, n, &actor, &error);
	if (r < 0)
		fail(req, r, &error);
	else
		answer_defined(req, rows, n);
}

static void drop_work(struct http_request *req, struct api *api)
{
	struct tracepoint_actor actor = actor_of(req);
	struct slice name = arena_dup(&req->arena, api_request(req)->parameter);
	struct error error = {0};
	int r = name.p ? tracepoint_drop(api->catalog, name.p, &actor, &error) : -ENOMEM;

	if (r < 0)
		fail(req, r, &error);
	else
		http_reply(req, 200, "application/json", SLICE("{\"dropped\":true}\n"));
}

void tracepoints_get(struct http_request *req, struct api *api)
{
	api_work(req, list_work);
}

void tracepoints_post(struct http_request *req, struct api *api)
{
	api_work(req, define_work);
}

void tracepoint_delete(struct http_request *req, struct api *api)
{
	api_work(req, drop_work);
}
