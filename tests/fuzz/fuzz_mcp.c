/* Any bytes as a message of the Model Context Protocol, against an empty store: one answer that is
 * JSON, or none where none is wanted; a tool's answer keeps to its bytes. */
#include "fuzz.h"

#include <stdlib.h>

#include "api/mcp.h"
#include "core/clock.h"
#include "store/memory.h"

static void check_json(const struct buffer *text)
{
	struct json_reader r = json_open(buffer_get(text));

	json_skip(&r);
	if (json_finish(&r, NULL) < 0)
		abort();
}

static void call_tool(const struct mcp_message *m, struct buffer *out)
{
	static struct tool_house house; /* for all inputs */
	struct mcp_call asked;
	struct error error = {0};
	int code = mcp_call_read(m, &asked, &error), r;
	struct tool_call call = {
		.house = &house, .owner = "fuzz", .roles = ROLE_ALL, .now_ns = NS_PER_S};

	if (code < 0) {
		mcp_answer_error(m->id, code, error.text, out);
		return;
	}
	if (!house.store) {
		house.pages = query_pages_new((size_t)8 << 20, NS_PER_S);
		if (memory_store_open((size_t)8 << 20, &house.store) < 0 || !house.pages)
			exit(1);
	}
	call.tool = asked.tool;
	r = tool_run(&call, asked.arguments);
	if (r < 0 ? call.why.n == 0 : call.out.n > (size_t)call.max_bytes)
		abort();
	mcp_answer_call(m->id, buffer_get(r < 0 ? &call.why : &call.out), r < 0, out);
	tool_call_done(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mcp_calls *calls;
	struct slice text = slice_of(data, size);
	struct buffer out = {0};
	struct error error = {0};
	struct mcp_message m;
	int code = mcp_read(text, &m, &error);

	if (!calls)
		calls = mcp_calls_new();
	if (code < 0)
		mcp_answer_error(m.id, code, error.text, &out);
	else if (mcp_is_call(&m))
		call_tool(&m, &out);
	else if (m.kind == MCP_REQUEST)
		mcp_answer(&m, &out);
	else
		mcp_calls_cancel(calls, "", &m);
	if (out.n)
		check_json(&out);
	buffer_done(&out);
	return 0;
}
