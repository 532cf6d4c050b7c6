/* api/mcp_post.c - the Model Context Protocol over streamable HTTP.
 *
 * One message a POST, its answer as JSON.  The server never begins a conversation, so there is no
 * stream to GET (405), which the protocol allows.
 *
 * A session is a name that the server can recognise, not something it remembers: 128 random bits
 * and a MAC over them and the owner.  So there is nothing to fill up, nobody can use the name of
 * another owner's session, and after a restart old names are answered with 404, upon which clients
 * begin anew.  It says whose request a notifications/cancelled is about.
 *
 * A page in a browser must not talk to a server on the same machine: Origin, where there is one,
 * must be the server's own or an allowed one.  (Host is looked at by http/guard.c.) */
#include "api/mcp_post.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "api/mcp.h"
#include "api/tool_post.h"
#include "base/cleanup.h"
#include "base/rng.h"

#define NONCE_BYTES 16
#define MAC_BYTES   16
#define TYPE        "application/json"

_Static_assert((NONCE_BYTES + MAC_BYTES) * 2 == MCP_SESSION_CHARS, "both in hex");

/* A message on its way. */
struct posted {
	struct mcp_message message;
	struct mcp_call call;
	char session[MCP_SESSION_CHARS + 1];
	_Atomic bool cancel; /* by a notification, which may come before the job runs */
	int ticket;
};

int mcp_door_init(struct mcp_door *door, const char *const *origins)
{
	*door = (struct mcp_door){.origins = origins, .calls = mcp_calls_new()};
	rng_secret(door->key, sizeof(door->key));
	return door->calls ? 0 : -ENOMEM;
}

void mcp_door_done(struct mcp_door *door)
{
	door->calls = mcp_calls_free(door->calls);
}

/* --- sessions --- */

static bool mac_make(const struct mcp_door *door, const uint8_t nonce[NONCE_BYTES],
		     const char *owner, uint8_t out[MAC_BYTES])
{
	uint8_t text[NONCE_BYTES + OWNER_MAX_CHARS + 1], mac[EVP_MAX_MD_SIZE];
	size_t n = strlen(owner) + 1;
	unsigned mac_n = 0;

	memcpy(text, nonce, NONCE_BYTES);
	memcpy(text + NONCE_BYTES, owner, n);
	if (!HMAC(EVP_sha256(), door->key, sizeof(door->key), text, NONCE_BYTES + n, mac, &mac_n))
		return false;
	memcpy(out, mac, MAC_BYTES);
	return true;
}

static bool session_make(const struct mcp_door *door, const char *owner,
			 char out[MCP_SESSION_CHARS + 1])
{
	uint8_t bytes[NONCE_BYTES + MAC_BYTES];

	rng_secret(bytes, NONCE_BYTES);
	if (!mac_make(door, bytes, owner, bytes + NONCE_BYTES))
		return false;
	hex_encode(bytes, sizeof(bytes), out);
	out[MCP_SESSION_CHARS] = 0;
	return true;
}

static bool session_good(const struct mcp_door *door, const char *owner, struct slice name)
{
	uint8_t bytes[NONCE_BYTES + MAC_BYTES], mac[MAC_BYTES];

	return name.n == MCP_SESSION_CHARS && hex_decode(name, bytes, sizeof(bytes)) == 0 &&
	       mac_make(door, bytes, owner, mac) &&
	       CRYPTO_memcmp(mac, bytes + NONCE_BYTES, MAC_BYTES) == 0;
}

/* --- who may ask, and how --- */

static bool origin_good(const struct mcp_door *door, const struct http_request *req)
{
	struct slice origin = http_header_get(req, "origin"), rest;

	if (!origin.p)
		return true; /* no browser */
	for (const char *const *o = door->origins; o && *o; o++)
		if (strcmp(*o, "*") == 0 || slice_eq_nocase(slice_cstr(*o), origin))
			return true;
	rest = slice_from(origin, req->is_tls ? 8 : 7);
	return slice_starts(origin, req->is_tls ? SLICE("https://") : SLICE("http://")) &&
	       rest.n > 0 && slice_eq_nocase(rest, req->authority);
}

/* "a/b; q=1, c/d": is there one of the type, or of everything? */
static bool accepts(struct slice header, struct slice type)
{
	while (header.n > 0) {
		struct slice one = slice_cut(&header, ',');

		one = slice_trim(slice_cut(&one, ';'));
		if (slice_eq_nocase(one, type) || slice_eq(one, SLICE("*/*")))
			return true;
	}
	return false;
}

static void refuse(struct http_request *req, int status, struct slice id, int code,
		   const char *message)
{
	struct buffer out = {0};

	mcp_answer_error(id, code, message, &out);
	http_reply_buffer(req, status, TYPE, &out);
	buffer_done(&out);
}

/* True when the request may be looked at; otherwise it has been answered. */
static bool let_in(struct http_request *req, const struct mcp_door *door)
{
	struct slice accept = http_header_get(req, "accept");
	struct slice version = http_header_get(req, "mcp-protocol-version");
	const struct slice none = {0};

	if (!door)
		api_fail(req, 404,
			 "MCP over HTTP is off: 'causet serve --mcp' turns it on; 'causet mcp' "
			 "speaks it without");
	else if (!origin_good(door, req))
		refuse(req, 403, none, MCP_INVALID_REQUEST,
		       "this web page may not ask: --cors-origins names those that may");
	else if (accept.p && !accepts(accept, SLICE(TYPE)))
		refuse(req, 406, none, MCP_INVALID_REQUEST,
		       "the answer is application/json: send 'Accept: application/json, "
		       "text/event-stream'");
	else if (version.p && !mcp_version_known(version))
		refuse(req, 400, none, MCP_INVALID_REQUEST,
		       "MCP-Protocol-Version is one that is not known here; " MCP_VERSION
		       " is the newest that is");
	else
		return true;
	return false;
}

/* The session that the message belongs to; an initialize gets a new one. */
static bool session_settle(struct http_request *req, const struct mcp_door *door, struct posted *p)
{
	const char *owner = api_request(req)->who.owner;
	struct slice name = http_header_get(req, "mcp-session-id");

	if (p->message.kind == MCP_REQUEST && strcmp(p->message.method, "initialize") == 0) {
		if (session_make(door, owner, p->session) &&
		    http_reply_header(req, "Mcp-Session-Id", slice_cstr(p->session)) == 0 &&
		    /* or a page of an allowed origin would not see it */
		    http_reply_header(req, "Access-Control-Expose-Headers",
				      SLICE("Mcp-Session-Id")) == 0)
			return true;
		api_fail_errno(req, -ENOMEM);
	} else if (!name.p) {
		refuse(req, 400, p->message.id, MCP_INVALID_REQUEST,
		       "Mcp-Session-Id is wanted: begin with initialize, whose answer has it");
	} else if (!session_good(door, owner, name)) {
		refuse(req, 404, p->message.id, MCP_INVALID_REQUEST,
		       "there is no such session (any more): begin with initialize");
	} else {
		snprintf(p->session, sizeof(p->session), "%.*s", SLICE_ARG(name));
		return true;
	}
	return false;
}

/* --- calls --- */

static void reply(struct http_request *req, struct buffer *out)
{
	http_reply_buffer(req, 200, TYPE, out);
	buffer_done(out);
}

static void reply_failed(struct http_request *req, struct slice id, const char *why)
{
	struct buffer out = {0};

	mcp_answer_call(id, slice_cstr(why), true, &out);
	reply(req, &out);
}

/* On a thread of its own. */
static void answer_call(struct query_job *job)
{
	const struct posted *p = api_request(job->req)->data;
	struct mcp_calls *calls = job->api->mcp->calls;
	struct buffer out = {0};
	struct tool_call call = {0};
	int r = -ECANCELED;

	mcp_calls_run(calls, p->ticket, job->cancel);
	if (!atomic_load(job->cancel))
		r = tool_run_job(job, p->call.tool, p->call.arguments, &call);
	mcp_calls_end(calls, p->ticket);
	if (r == -ECANCELED)
		mcp_answer_error(p->message.id, MCP_CANCELLED, "cancelled", &out);
	else
		mcp_answer_call(p->message.id, buffer_get(r < 0 ? &call.why : &call.out), r < 0,
				&out);
	tool_call_done(&call);
	reply(job->req, &out);
}

static void call_start(struct http_request *req, struct api *api, struct posted *p)
{
	struct query_request request = {0};
	struct error error = {0};
	int code = mcp_call_read(&p->message, &p->call, &error);

	if (code < 0) {
		refuse(req, 200, p->message.id, code, error.text);
		return;
	}
	/* From here on a notification finds it, whenever the job may run. */
	p->ticket = mcp_calls_begin(api->mcp->calls, p->session, p->message.id, &p->cancel);
	if (p->ticket == -EEXIST) {
		refuse(req, 200, p->message.id, MCP_INVALID_REQUEST,
		       "a request of this id is under way");
		return;
	}
	if (p->ticket < 0) {
		reply_failed(req, p->message.id, "too many calls are under way; try again");
		return;
	}
	api_request(req)->data = p;
	request.text = slice_cstr(p->call.tool->name);
	if (query_jobs_start(api->queries, req, &request, answer_call, &error) < 0) {
		mcp_calls_end(api->mcp->calls, p->ticket);
		reply_failed(req, p->message.id, error.text);
	}
}

void mcp_post(struct http_request *req, struct api *api)
{
	struct posted *p = arena_zalloc(&req->arena, 1, sizeof(*p));
	struct error error = {0};
	struct buffer out = {0};
	int code;

	if (!p) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	if (!let_in(req, api->mcp))
		return;
	code = mcp_read(req->body, &p->message, &error);
	if (code < 0) {
		refuse(req, 400, p->message.id, code, error.text);
		return;
	}
	if (!session_settle(req, api->mcp, p))
		return;
	if (mcp_is_call(&p->message)) {
		call_start(req, api, p);
	} else if (p->message.kind == MCP_REQUEST) {
		mcp_answer(&p->message, &out);
		reply(req, &out);
	} else {
		if (strcmp(p->message.method, "notifications/cancelled") == 0)
			mcp_calls_cancel(api->mcp->calls, p->session, &p->message);
		http_reply_static(req, 202, NULL, slice_of(NULL, 0));
	}
}
