/* cli/cmd_mcp.c - `causet mcp`: the tools for language models on standard input and output.
 *
 * One JSON-RPC message a line, both ways; standard error is for people.  A call of a tool runs on a
 * thread of its own, so that the next line (a cancellation, a ping) is read meanwhile.  The tools
 * run beside the data: in the server (POST /api/v1/tools/NAME), or here on a folder, which is read
 * as it is when the call begins. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/mcp.h"
#include "base/cleanup.h"
#include "catalog/token.h"
#include "cli/commands.h"
#include "cli/remote.h"
#include "core/clock.h"
#include "server/folder.h"
#include "store/engine.h"
#include "wire/json_reader.h"

#define CALLS_AT_ONCE 8
#define STACK_BYTES   ((size_t)8 << 20) /* plans and expressions are walked by recursion */
#define READ_BYTES    65536
#define PAGES_BYTES   ((size_t)64 << 20) /* answers kept for cursors */
#define PAGES_AGE_NS  (600 * NS_PER_S)

struct mcp_values {
	const char *data;
};

static const struct option mcp_options[] = {
	{.name = "data",
	 .type = OPTION_STRING,
	 .value = "DIR",
	 .doc = "ask this folder instead of a server; one may be running on it",
	 .offset = offsetof(struct mcp_values, data)},
	{0},
};

/* What all calls share. */
struct station {
	struct cli *cli;
	const char *data;          /* the folder, or NULL: a server */
	const char *authorization; /* for the server, a whole header; or NULL */
	struct query_pages *pages;
	struct mcp_calls *calls;
	pthread_mutex_t lock; /* of what follows, and of standard output */
	pthread_cond_t ended;
	unsigned running;
	_Atomic bool broken; /* nobody reads our answers any more */
};

struct stdio_call {
	struct station *station;
	struct buffer text; /* the message and the call point into it */
	struct mcp_message message;
	struct mcp_call call;
	int ticket;
	_Atomic bool cancel;
};

/* One line.  The answer's own line ends are blanks between its parts: text has them escaped. */
static void line_write(struct station *s, struct buffer *out)
{
	for (size_t i = 0; i < out->n; i++)
		if (out->p[i] == '\n' || out->p[i] == '\r')
			out->p[i] = ' ';
	buffer_byte(out, '\n');
	pthread_mutex_lock(&s->lock);
	if (!out->failed && !s->broken)
		s->broken = fwrite(out->p, 1, out->n, stdout) != out->n || fflush(stdout) != 0;
	pthread_mutex_unlock(&s->lock);
	buffer_done(out);
}

/* --- on a folder --- */

static int store_open_at(const char *data, struct store **ret_store, struct buffer *why)
{
	char *dir = NULL;
	struct engine_options options = {.read_only = true};
	struct error error = {0};
	struct stat st;
	int r;

	if (asprintf(&dir, "%s/" FOLDER_STORE, data) < 0)
		return -ENOMEM;
	options.dir = dir;
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
		buffer_printf(why, "there is no store in %s", data);
		r = -ENOENT;
	} else {
		r = engine_open(&options, ret_store, &error);
		if (r < 0)
			buffer_text(why, error.text);
	}
	free(dir);
	return r;
}

static int call_here(struct stdio_call *c, struct buffer *answer)
{
	struct tool_house house = {.pages = c->station->pages};
	struct error error = {0};
	struct tool_call call = {.house = &house,
				 .tool = c->call.tool,
				 .owner = OWNER_LOCAL,
				 .roles = ROLE_ALL,
				 .cancel = &c->cancel,
				 .now_ns = clock_wall_ns()};
	int r = store_open_at(c->station->data, &house.store, answer);

	if (r < 0)
		return r;
	r = catalog_open_read_only(c->station->data, &house.catalog, &error);
	if (r < 0 && r != -ENOENT)
		house.catalog_why = error.text; /* without its tracepoints, then */
	r = tool_run(&call, c->call.arguments);
	buffer_slice(answer, buffer_get(r < 0 ? &call.why : &call.out));
	tool_call_done(&call);
	catalog_close(house.catalog);
	store_close(house.store);
	return r;
}

/* --- on a server --- */

static void refusal_read(const struct http_answer *answer, const char *url, struct buffer *out)
{
	struct arena arena = {0};
	struct slice error, message;

	if (item_text(buffer_get(&answer->body), "error", &arena, &error) &&
	    item_text(error, "message", &arena, &message))
		buffer_slice(out, message);
	else
		buffer_printf(out, "%s answers %d", url, answer->status);
	if (answer->status == 401)
		buffer_text(out, "; causet mcp takes it from --token-file or CAUSET_TOKEN");
	arena_done(&arena);
}

static bool is_object(struct slice text)
{
	struct json_reader r = json_open(text);

	if (json_peek(&r) != JSON_OBJECT)
		return false;
	json_skip(&r);
	return json_finish(&r, NULL) == 0;
}

static int call_there(struct stdio_call *c, struct buffer *answer)
{
	struct cli *cli = c->station->cli;
	const struct http_client_options options = {
		.ca = cli->ca, .certificate = cli->cert, .key = cli->key};
	const char *headers[3] = {"Content-Type: application/json", c->station->authorization,
				  NULL};
	struct slice base = slice_cstr(cli->server);
	struct buffer url = {0};
	struct http_call call = {.method = "POST", .headers = headers, .cancel = &c->cancel};
	struct http_client *client = NULL;
	struct http_answer got = {0};
	struct error error = {0};
	int r = http_client_new(&options, &client, &error);

	while (base.n > 0 && base.p[base.n - 1] == '/')
		base.n--;
	buffer_printf(&url, "%.*s/api/v1/tools/%s", SLICE_ARG(base), c->call.tool->name);
	call.url = buffer_cstr(&url);
	call.body = c->call.arguments.n ? c->call.arguments : SLICE("{}");
	call.timeout_ms = (int)MIN(cli->timeout_ns / NS_PER_MS, (int64_t)INT32_MAX);
	if (r == 0)
		r = http_client_call(client, &call, &got, &error);
	if (r < 0) {
		buffer_printf(answer, "%s%s", error.text,
			      r == -ECONNREFUSED ? "; is 'causet serve' running there? (--server "
						   "says where, --data asks a folder)"
						 : "");
	} else if (got.status != 200) {
		r = -EREMOTEIO;
		refusal_read(&got, call.url, answer);
	} else if (!is_object(buffer_get(&got.body))) {
		r = -EBADMSG;
		buffer_printf(answer,
			      "%s answers 200, but not with a JSON object: is --server causet's "
			      "own address?",
			      call.url);
	} else {
		buffer_slice(answer, slice_trim(buffer_get(&got.body)));
	}
	http_answer_done(&got);
	http_client_free(client);
	buffer_done(&url);
	return r;
}

/* --- calls --- */

static void call_free(struct stdio_call *c)
{
	buffer_done(&c->text);
	free(c);
}

static void *call_main(void *argument)
{
	struct stdio_call *c = argument;
	struct station *s = c->station;
	struct buffer answer = {0}, out = {0};
	int r = s->data ? call_here(c, &answer) : call_there(c, &answer);
	bool cancelled;

	mcp_calls_end(s->calls, c->ticket);
	cancelled = atomic_load(&c->cancel);
	if (r == -ENOMEM || answer.failed) {
		buffer_clear(&answer);
		buffer_text(&answer, "out of memory");
		r = -ENOMEM;
	}
	mcp_answer_call(c->message.id, buffer_get(&answer), r < 0, &out);
	if (!cancelled) /* who cancels wants no answer */
		line_write(s, &out);
	buffer_done(&out);
	buffer_done(&answer);
	call_free(c);
	pthread_mutex_lock(&s->lock);
	s->running--;
	pthread_cond_broadcast(&s->ended);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int thread_start(struct stdio_call *c)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	r = -pthread_create(&thread, &attributes, call_main, c);
	pthread_attr_destroy(&attributes);
	return r;
}

static void failed(struct station *s, struct slice id, const char *why)
{
	struct buffer out = {0};

	mcp_answer_call(id, slice_cstr(why), true, &out);
	line_write(s, &out);
}

static void wrong(struct station *s, struct slice id, int code, const char *why)
{
	struct buffer out = {0};

	mcp_answer_error(id, code, why, &out);
	line_write(s, &out);
}

static void call_begin(struct station *s, struct slice line)
{
	struct stdio_call *c = calloc(1, sizeof(*c));
	struct error error = {0};
	int code;

	if (c) {
		c->station = s;
		buffer_slice(&c->text, line);
	}
	if (!c || c->text.failed ||
	    mcp_read(buffer_get(&c->text), &c->message, &error) < 0) { /* read once before */
		free(c);
		wrong(s, slice_of(NULL, 0), MCP_INTERNAL, "out of memory");
		return;
	}
	code = mcp_call_read(&c->message, &c->call, &error);
	if (code < 0) {
		wrong(s, c->message.id, code, error.text);
		call_free(c);
		return;
	}
	pthread_mutex_lock(&s->lock);
	code = s->running < CALLS_AT_ONCE ? 0 : -EBUSY;
	s->running += code == 0;
	pthread_mutex_unlock(&s->lock);
	c->ticket = code ? code : mcp_calls_begin(s->calls, "", c->message.id, &c->cancel);
	if (c->ticket >= 0 && thread_start(c) == 0)
		return;
	if (c->ticket >= 0)
		mcp_calls_end(s->calls, c->ticket);
	if (code == 0) {
		pthread_mutex_lock(&s->lock);
		s->running--;
		pthread_mutex_unlock(&s->lock);
	}
	if (c->ticket == -EEXIST)
		wrong(s, c->message.id, MCP_INVALID_REQUEST, "a request of this id is under way");
	else
		failed(s, c->message.id, "too many calls are under way; wait for one");
	call_free(c);
}

/* --- lines --- */

static void line_take(struct station *s, struct slice line)
{
	struct mcp_message m;
	struct error error = {0};
	struct buffer out = {0};
	int code;

	line = slice_trim(line);
	if (line.n == 0)
		return;
	code = mcp_read(line, &m, &error);
	if (code < 0) {
		wrong(s, m.id, code, error.text);
	} else if (mcp_is_call(&m)) {
		call_begin(s, line);
	} else if (m.kind == MCP_REQUEST) {
		mcp_answer(&m, &out);
		line_write(s, &out);
	} else if (strcmp(m.method, "notifications/cancelled") == 0) {
		mcp_calls_cancel(s->calls, "", &m);
	}
}

/* Takes whole lines out of what was read; what is left stays. */
static void lines_take(struct station *s, struct buffer *input, bool *skipping)
{
	struct slice rest = buffer_get(input);

	for (;;) {
		const char *end = rest.n ? memchr(rest.p, '\n', rest.n) : NULL;

		if (!end)
			break;
		if (!*skipping)
			line_take(s, slice_of(rest.p, (size_t)(end - rest.p)));
		*skipping = false;
		rest = slice_from(rest, (size_t)(end - rest.p) + 1);
	}
	if (rest.n > MCP_MESSAGE_MOST || *skipping) {
		if (!*skipping)
			wrong(s, slice_of(NULL, 0), MCP_INVALID_REQUEST,
			      "a message has at most a mebibyte");
		*skipping = true;
		rest.n = 0;
	}
	if (rest.n)
		memmove(input->p, rest.p, rest.n);
	input->n = rest.n;
}

static int listen_in(struct station *s)
{
	struct buffer input = {0};
	bool skipping = false;
	ssize_t n = 0;

	while (!s->broken) {
		char *room = buffer_reserve(&input, READ_BYTES);

		if (!room)
			break;
		n = read(STDIN_FILENO, room, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		input.n += (size_t)n;
		lines_take(s, &input, &skipping);
	}
	if (n == 0 && input.n && !skipping)
		line_take(s, buffer_get(&input)); /* the last without its end */
	pthread_mutex_lock(&s->lock);
	while (s->running > 0)
		pthread_cond_wait(&s->ended, &s->lock);
	pthread_mutex_unlock(&s->lock);
	n = input.failed ? -1 : n;
	buffer_done(&input);
	return n < 0 ? cli_fail(s->cli, EXIT_FAILED, "cannot read standard input") : EXIT_OK;
}

static int mcp_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct mcp_values *v = values;
	struct station s = {.cli = cli,
			    .data = v->data,
			    .pages = query_pages_new(PAGES_BYTES, PAGES_AGE_NS),
			    .calls = mcp_calls_new(),
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .ended = PTHREAD_COND_INITIALIZER};
	struct remote remote = {0};
	int code = EXIT_OK;

	if (argc > 0)
		code = cli_usage(cli, "takes no argument, found '%s'", argv[0]);
	else if (!s.pages || !s.calls)
		code = cli_fail(cli, EXIT_FAILED, "out of memory");
	else if (!s.data)
		code = remote_open(cli, &remote); /* for the token; each call has a client */
	s.authorization = remote.authorization;
	if (code == EXIT_OK)
		code = listen_in(&s);
	remote_done(&remote);
	query_pages_free(s.pages);
	mcp_calls_free(s.calls);
	return code;
}

const struct command command_mcp = {
	.name = "mcp",
	.summary = "let a language model ask about traces (Model Context Protocol)",
	.details =
		"Speaks the Model Context Protocol on standard input and output: the program that runs a language model "
		"starts it and gets tools that search traces, look into one, find what is different about the bad ones, and run "
		"queries. Tools only read. Every answer is bounded and says what is missing and how to read on.\n\n"
		"It asks a server (--server, with a token that has the roles read and query), or with --data a folder, which "
		"is only read: a server may be running on it. A server can also be asked directly, at /api/mcp, when it is "
		"started with --mcp.",
	.examples = "causet mcp\n"
		    "causet mcp --server https://causet.example.org --token-file ~/.causet-token\n"
		    "causet mcp --data /var/lib/causet\n"
		    "claude mcp add causet -- causet mcp --server http://127.0.0.1:16686\n",
	.options = mcp_options,
	.values_size = sizeof(struct mcp_values),
	.flags = COMMAND_CONNECT,
	.run = mcp_run,
};
