/* api/mcp.h - the Model Context Protocol: the tools of api/tool.h for language models.
 *
 * JSON-RPC 2.0 messages, one at a time, whatever carries them: lines on standard input (`causet
 * mcp`) or POSTs (api/mcp_post.c).  A message is read here, answered here, and a tool is called
 * through the transport, which knows where the data is. */
#ifndef CAUSET_API_MCP_H
#define CAUSET_API_MCP_H

#include <stdatomic.h>

#include "api/tool.h"
#include "wire/json_reader.h"

#define MCP_MESSAGE_MOST  ((size_t)1 << 20) /* bytes of one message */
#define MCP_ID_CHARS      128               /* of a request's id, as JSON */
#define MCP_VERSION       "2025-11-25"      /* the newest that is spoken */
#define MCP_CALLS_MOST    64                /* calls under way at once */
#define MCP_SESSION_CHARS 64

enum mcp_error {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_CANCELLED = -32800,
};

enum mcp_kind {
	MCP_REQUEST,
	MCP_NOTIFICATION, /* wants no answer */
	MCP_RESPONSE,     /* to a question that we never ask */
};

/* A message, read.  Slices lie in the text it was read from. */
struct mcp_message {
	enum mcp_kind kind;
	struct slice id;     /* as JSON: 7, "a" */
	char method[64];     /* longer ones are cut, and known by nobody */
	struct slice params; /* as JSON; empty: none */
};

/* 0, or one of enum mcp_error with a sentence; the id is then there if it could be read. */
int mcp_read(struct slice text, struct mcp_message *ret_message, struct error *error);

/* Does the protocol have this version? */
bool mcp_version_known(struct slice version);

/* A tools/call, read from a message's params. */
struct mcp_call {
	const struct tool *tool;
	struct slice arguments; /* as JSON; empty: none */
};

/* 0, or an mcp_error with a sentence. */
int mcp_call_read(const struct mcp_message *m, struct mcp_call *ret_call, struct error *error);

/* Is it one that mcp_answer() cannot answer: a call of a tool? */
bool mcp_is_call(const struct mcp_message *m);

/* Answers a request other than a call: initialize, ping, tools/list, or that there is no such
 * method. */
void mcp_answer(const struct mcp_message *m, struct buffer *out);

/* What a call came to: the tool's answer, or with `failed` the sentence why there is none, which
 * the model gets to read. */
void mcp_answer_call(struct slice id, struct slice answer, bool failed, struct buffer *out);

/* {"jsonrpc":"2.0","id":…,"error":…}; an empty id is null. */
void mcp_answer_error(struct slice id, int code, const char *message, struct buffer *out);

/* --- calls under way, so that notifications/cancelled finds them; any thread --- */

struct mcp_calls;

struct mcp_calls *mcp_calls_new(void);
struct mcp_calls *mcp_calls_free(struct mcp_calls *calls); /* NULL-safe; returns NULL */

/* Notes a call; `cancel` is set when its request is cancelled.  A ticket for mcp_calls_end(), or
 * -EBUSY: MCP_CALLS_MOST are under way; -EEXIST: the session has one of this id. */
int mcp_calls_begin(struct mcp_calls *calls, const char *session, struct slice id,
		    _Atomic bool *cancel);
void mcp_calls_end(struct mcp_calls *calls, int ticket);

/* The call's job runs, and looks at this `cancel` from now on; it is set if the request was
 * cancelled before. */
void mcp_calls_run(struct mcp_calls *calls, int ticket, _Atomic bool *cancel);

/* A notifications/cancelled of this session; what names no call is passed over. */
void mcp_calls_cancel(struct mcp_calls *calls, const char *session, const struct mcp_message *m);

/* All of them. */
void mcp_calls_cancel_all(struct mcp_calls *calls);

#endif
