/* api/mcp.c - messages of the Model Context Protocol: read, and answered where no data is needed.
 *
 * Only tools are offered.  Resources, prompts, sampling and progress are not: a client that asks is
 * told that there is no such method, as the protocol wants it. */
#include "api/mcp.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

/* Newest first.  What was taken out of the protocol since (several messages in one) is refused. */
static const char *const versions[] = {MCP_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
	"causet keeps distributed traces: spans of requests across services, what caused what, and "
	"where the time went. Every tool only reads. Answers are bounded by max_bytes; `truncated` "
	"and `total` say what is missing, and `next`, given back as `cursor`, reads on. A way "
	"through an incident: services (who is there, who fails) - search (errors, or order "
	"slowest) - trace_summary - critical_path and subtree - span_details of the spans that "
	"matter - compare (what is different about the bad ones) - patterns. For numbers over many "
	"traces use query with TraceQL or CausetQL; attributes says which conditions make sense, "
	"docs describes the language, explain checks a text. Durations in rows are milliseconds "
	"where the name ends in _ms.";

bool mcp_version_known(struct slice version)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (slice_eq(version, slice_cstr(versions[i])))
			return true;
	return false;
}

/* The next value as it stands. */
static struct slice raw(struct json_reader *r)
{
	const char *from;

	json_peek(r); /* past blanks */
	from = r->at;
	json_skip(r);
	return r->bad ? slice_of(NULL, 0) : slice_trim(slice_of(from, (size_t)(r->at - from)));
}

/* Unescaped, cut to what fits; false when it is no string. */
static bool text_read(struct json_reader *r, char *out, size_t room)
{
	struct buffer scratch = {0};
	struct json_string s;
	bool good = json_peek(r) == JSON_STRING && json_string(r, &s);

	if (good) {
		struct slice text = slice_first(json_text(s, &scratch), room - 1);

		/* A NUL inside ends it: nothing is called so. */
		snprintf(out, room, "%.*s", SLICE_ARG(text));
	}
	buffer_done(&scratch);
	return good;
}

/* What a message has, however wrong. */
struct parts {
	bool version, method, answer, id_wrong, method_wrong, params_wrong;
};

static void member_read(struct json_reader *r, struct slice name, struct mcp_message *m,
			struct parts *p)
{
	char text[8];
	enum json_type type = json_peek(r);

	if (slice_eq(name, SLICE("jsonrpc"))) {
		p->version = text_read(r, text, sizeof(text)) && strcmp(text, "2.0") == 0;
		if (type != JSON_STRING)
			json_skip(r);
	} else if (slice_eq(name, SLICE("id"))) {
		m->id = raw(r);
		p->id_wrong =
			(type != JSON_STRING && type != JSON_NUMBER) || m->id.n > MCP_ID_CHARS;
	} else if (slice_eq(name, SLICE("method"))) {
		p->method = true;
		p->method_wrong = !text_read(r, m->method, sizeof(m->method));
		if (type != JSON_STRING)
			json_skip(r);
	} else if (slice_eq(name, SLICE("params"))) {
		p->params_wrong = type != JSON_OBJECT && type != JSON_NULL;
		m->params = raw(r);
	} else {
		p->answer |= slice_eq(name, SLICE("result")) || slice_eq(name, SLICE("error"));
		json_skip(r);
	}
}

int mcp_read(struct slice text, struct mcp_message *ret_message, struct error *error)
{
	struct json_reader r = json_open(text);
	struct mcp_message m = {0};
	struct parts p = {0};
	struct error why = {0};
	struct slice name;
	bool object = json_peek(&r) == JSON_OBJECT;
	bool array = json_peek(&r) == JSON_ARRAY;

	*ret_message = m;
	if (text.n > MCP_MESSAGE_MOST)
		return error_set(error, MCP_INVALID_REQUEST, "a message has at most %zu bytes",
				 MCP_MESSAGE_MOST);
	if (object && json_object(&r))
		while (json_next_name(&r, &name))
			member_read(&r, name, &m, &p);
	else
		json_skip(&r);
	if (json_finish(&r, &why) < 0)
		return error_set(error, MCP_PARSE_ERROR, "this is not JSON: byte %zu: %s",
				 why.offset, why.text);
	if (p.id_wrong)
		m.id = slice_of(NULL, 0);
	ret_message->id = m.id;
	if (array)
		return error_set(error, MCP_INVALID_REQUEST,
				 "several messages in one are not taken any more: send one at a "
				 "time");
	if (!object || !p.version)
		return error_set(error, MCP_INVALID_REQUEST,
				 "a message is a JSON object with \"jsonrpc\": \"2.0\"");
	if (p.id_wrong)
		return error_set(error, MCP_INVALID_REQUEST,
				 "id is a number or a text of at most %d characters",
				 MCP_ID_CHARS - 2);
	if (p.method ? p.method_wrong : !p.answer)
		return error_set(error, MCP_INVALID_REQUEST, "method is a text");
	if (p.params_wrong)
		return error_set(error, MCP_INVALID_PARAMS, "params is an object");
	m.kind = !p.method ? MCP_RESPONSE : m.id.n ? MCP_REQUEST : MCP_NOTIFICATION;
	if (m.params.n && m.params.p[0] != '{')
		m.params = slice_of(NULL, 0); /* null */
	*ret_message = m;
	return 0;
}

bool mcp_is_call(const struct mcp_message *m)
{
	return m->kind == MCP_REQUEST && strcmp(m->method, "tools/call") == 0;
}

int mcp_call_read(const struct mcp_message *m, struct mcp_call *ret_call, struct error *error)
{
	struct json_reader r = json_open(m->params);
	char tool[64] = "";
	struct mcp_call call = {0};
	const char *near = NULL;
	struct slice name;
	bool named = false, wrong = false;

	if (m->params.n && json_object(&r))
		while (json_next_name(&r, &name)) {
			enum json_type type = json_peek(&r);

			if (slice_eq(name, SLICE("name")) && type == JSON_STRING) {
				named = text_read(&r, tool, sizeof(tool));
			} else if (slice_eq(name, SLICE("arguments"))) {
				wrong = type != JSON_OBJECT && type != JSON_NULL;
				call.arguments = raw(&r);
			} else {
				json_skip(&r); /* _meta, task, and what may come */
			}
		}
	if (!named)
		return error_set(error, MCP_INVALID_PARAMS,
				 "name is wanted: one of the tools that tools/list gives");
	if (wrong)
		return error_set(error, MCP_INVALID_PARAMS, "arguments is an object");
	if (call.arguments.n && call.arguments.p[0] != '{')
		call.arguments = slice_of(NULL, 0); /* null */
	call.tool = tool_find(slice_cstr(tool), &near);
	if (!call.tool)
		return error_set(error, MCP_INVALID_PARAMS,
				 near ? "Unknown tool: %s; did you mean %s?" : "Unknown tool: %s",
				 tool, near);
	*ret_call = call;
	return 0;
}

/* --- answers --- */

static void put_cstr(struct json_writer *w, const char *name, const char *text)
{
	json_put_name(w, name);
	json_put_cstr(w, text);
}

static void put_true(struct json_writer *w, const char *name)
{
	json_put_name(w, name);
	json_put_bool(w, true);
}

static struct json_writer answer_begin(struct slice id, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	put_cstr(&w, "jsonrpc", "2.0");
	json_put_name(&w, "id");
	json_put_json(&w, id.n ? id : SLICE("null"));
	return w;
}

void mcp_answer_error(struct slice id, int code, const char *message, struct buffer *out)
{
	struct json_writer w = answer_begin(id, out);

	json_put_name(&w, "error");
	json_begin_object(&w);
	json_put_name(&w, "code");
	json_put_i64(&w, code);
	put_cstr(&w, "message", message);
	json_end_object(&w);
	json_end_object(&w);
}

static void answer_initialize(const struct mcp_message *m, struct json_writer *w)
{
	struct json_reader r = json_open(m->params);
	char asked[32] = "";
	struct slice name;

	if (m->params.n && json_object(&r))
		while (json_next_name(&r, &name)) {
			if (slice_eq(name, SLICE("protocolVersion")) &&
			    json_peek(&r) == JSON_STRING)
				text_read(&r, asked, sizeof(asked));
			else
				json_skip(&r);
		}
	/* Ours, where we do not know theirs: the client decides whether it can live with it. */
	put_cstr(w, "protocolVersion", mcp_version_known(slice_cstr(asked)) ? asked : MCP_VERSION);
	json_put_name(w, "capabilities");
	json_begin_object(w);
	json_put_name(w, "tools");
	json_begin_object(w);
	json_end_object(w);
	json_end_object(w);
	json_put_name(w, "serverInfo");
	json_begin_object(w);
	put_cstr(w, "name", "causet");
	put_cstr(w, "title", "causet: distributed traces");
	put_cstr(w, "version", CAUSET_VERSION);
	json_end_object(w);
	put_cstr(w, "instructions", instructions);
}

static void put_tool(const struct tool *t, struct json_writer *w)
{
	json_begin_object(w);
	put_cstr(w, "name", t->name);
	put_cstr(w, "title", t->title);
	put_cstr(w, "description", t->doc);
	json_put_name(w, "inputSchema");
	tool_input_schema(t, w);
	json_put_name(w, "outputSchema");
	tool_output_schema(t, w);
	json_put_name(w, "annotations");
	json_begin_object(w);
	put_cstr(w, "title", t->title);
	put_true(w, "readOnlyHint");
	put_true(w, "idempotentHint");
	json_put_name(w, "destructiveHint");
	json_put_bool(w, false);
	json_put_name(w, "openWorldHint");
	json_put_bool(w, false);
	json_end_object(w);
	json_end_object(w);
}

static void answer_list(struct json_writer *w)
{
	json_put_name(w, "tools");
	json_begin_array(w);
	for (const struct tool *t = tools; t->name; t++)
		put_tool(t, w);
	json_end_array(w);
}

/* All tools are on one page: there is no cursor that we gave. */
static bool has_cursor(const struct mcp_message *m)
{
	struct json_reader r = json_open(m->params);
	struct slice name;
	bool has = false;

	if (m->params.n && json_object(&r))
		while (json_next_name(&r, &name)) {
			has |= slice_eq(name, SLICE("cursor")) && json_peek(&r) != JSON_NULL;
			json_skip(&r);
		}
	return has;
}

void mcp_answer(const struct mcp_message *m, struct buffer *out)
{
	bool initialize = strcmp(m->method, "initialize") == 0;
	bool list = strcmp(m->method, "tools/list") == 0;
	struct json_writer w;
	char message[120];

	if (list && has_cursor(m)) {
		mcp_answer_error(m->id, MCP_INVALID_PARAMS, "this cursor leads nowhere", out);
		return;
	}
	if (!initialize && !list && strcmp(m->method, "ping") != 0) {
		snprintf(message, sizeof(message), "there is no method %s here: only tools are",
			 m->method);
		mcp_answer_error(m->id, MCP_NO_METHOD, message, out);
		return;
	}
	w = answer_begin(m->id, out);
	json_put_name(&w, "result");
	json_begin_object(&w);
	if (initialize)
		answer_initialize(m, &w);
	else if (list)
		answer_list(&w);
	json_end_object(&w);
	json_end_object(&w);
}

void mcp_answer_call(struct slice id, struct slice answer, bool failed, struct buffer *out)
{
	struct json_writer w = answer_begin(id, out);

	json_put_name(&w, "result");
	json_begin_object(&w);
	json_put_name(&w, "content");
	json_begin_array(&w);
	json_begin_object(&w);
	put_cstr(&w, "type", "text");
	json_put_name(&w, "text");
	json_put_string(&w, answer);
	json_end_object(&w);
	json_end_array(&w);
	if (failed) {
		put_true(&w, "isError");
	} else {
		json_put_name(&w, "structuredContent");
		json_put_json(&w, answer);
	}
	json_end_object(&w);
	json_end_object(&w);
}
