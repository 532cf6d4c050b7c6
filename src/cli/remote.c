/* cli/remote.c - asking a server. */
#include "cli/remote.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define TOKEN_FILE_MAX 4096

static int token_file_read(struct cli *cli, const char **ret_token)
{
	char text[TOKEN_FILE_MAX];
	FILE *file = fopen(cli->token_file, "re");
	struct slice token;
	size_t n;

	if (!file)
		return cli_fail(cli, EXIT_FAILED, "cannot read the token in %s: %s",
				cli->token_file, strerror(errno));
	n = fread(text, 1, sizeof(text), file);
	fclose(file);
	token = slice_trim(slice_of(text, n));
	if (token.n == 0 || token.n >= sizeof(text) || memchr(token.p, '\n', token.n))
		return cli_fail(cli, EXIT_FAILED, "%s does not hold one token", cli->token_file);
	*ret_token = arena_dup(&cli->arena, token).p;
	return *ret_token ? EXIT_OK : cli_fail(cli, EXIT_FAILED, "out of memory");
}

int remote_open(struct cli *cli, struct remote *ret_remote)
{
	const struct http_client_options options = {
		.ca = cli->ca, .certificate = cli->cert, .key = cli->key};
	struct remote r = {.cli = cli};
	const char *token = cli->token;
	struct error error;
	int code;

	if (!token && cli->token_file) {
		code = token_file_read(cli, &token);
		if (code)
			return code;
	}
	if (token && *token) {
		r.authorization = arena_printf(&cli->arena, "Authorization: Bearer %s", token);
		if (!r.authorization)
			return cli_fail(cli, EXIT_FAILED, "out of memory");
	}
	if (cli->timeout_ns > 0)
		r.deadline_ns = clock_mono_ns() + cli->timeout_ns;
	if (http_client_new(&options, &r.client, &error) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", error.text);
	*ret_remote = r;
	return EXIT_OK;
}

void remote_done(struct remote *r)
{
	r->client = http_client_free(r->client);
}

/* What to try, too. */
int remote_no_answer(struct remote *r, int code, const struct error *error)
{
	if (code == -ETIMEDOUT)
		return cli_fail(r->cli, EXIT_TIMED_OUT, "%s", error->text);
	if (code == -ECONNREFUSED)
		return cli_fail(
			r->cli, EXIT_FAILED,
			"%s; is 'causet serve' running there? (--server, --otlp and --zipkin "
			"say where)",
			error->text);
	if (code == -EACCES)
		return cli_fail(r->cli, EXIT_FAILED, "%s; --ca names authorities to trust",
				error->text);
	return cli_fail(r->cli, EXIT_FAILED, "%s", error->text);
}

int remote_call(struct remote *r, struct http_call *call, const char *type,
		struct http_answer *ret_answer)
{
	const char *headers[3] = {NULL};
	size_t n = 0;
	struct error error = {0};
	int code;

	if (r->authorization)
		headers[n++] = r->authorization;
	if (type)
		headers[n++] = type;
	call->headers = headers;
	if (r->deadline_ns) {
		int64_t left = (r->deadline_ns - clock_mono_ns()) / NS_PER_MS;

		if (left <= 0)
			return cli_fail(r->cli, EXIT_TIMED_OUT, "timed out");
		call->timeout_ms = (int)MIN(left, (int64_t)INT32_MAX);
	}
	code = http_client_call(r->client, call, ret_answer, &error);
	call->headers = NULL;
	return code < 0 ? remote_no_answer(r, code, &error) : EXIT_OK;
}

/* The sentence in {"error":{"message":…}} or {"message":…}, else the text as it is. */
static struct slice message_of(struct slice body, struct arena *arena)
{
	struct slice text, inner = body;

	if (item_text(body, "message", arena, &text))
		return text;
	if (item_text(body, "error", arena, &inner) && item_text(inner, "message", arena, &text))
		return text;
	return slice_trim(slice_first(body, 500));
}

int remote_refused(struct remote *r, const char *url, const struct http_answer *answer)
{
	struct slice text = message_of(buffer_get(&answer->body), &r->cli->arena);

	if (answer->status == 401)
		return cli_fail(r->cli, EXIT_FAILED,
				"%s: %.*s; give it with --token, --token-file or "
				"CAUSET_TOKEN",
				url, SLICE_ARG(text));
	if (answer->status == 404)
		return cli_fail(r->cli, EXIT_NOTHING, "%.*s", SLICE_ARG(text));
	return cli_fail(r->cli, EXIT_FAILED, "%s answers %d: %.*s", url, answer->status,
			SLICE_ARG(text));
}

int remote_get(struct remote *r, const char *base, const char *path, const struct buffer *query,
	       int (*write)(void *context, struct slice piece), void *context,
	       struct http_answer *ret_answer)
{
	size_t base_n = strlen(base);
	_cleanup_(buffer_done)
	struct buffer url = {0};
	struct http_call call = {.method = "GET", .write = write, .context = context};
	int code;

	while (base_n > 0 && base[base_n - 1] == '/')
		base_n--;
	buffer_append(&url, base, base_n);
	buffer_text(&url, path);
	if (query)
		buffer_slice(&url, buffer_get(query));
	call.url = buffer_cstr(&url);
	if (url.failed || (query && query->failed))
		return cli_fail(r->cli, EXIT_FAILED, "out of memory");
	code = remote_call(r, &call, NULL, ret_answer);
	if (code)
		return code;
	if (ret_answer->status >= 200 && ret_answer->status < 300)
		return EXIT_OK;
	code = remote_refused(r, call.url, ret_answer);
	http_answer_done(ret_answer);
	return code;
}

void query_add(struct buffer *query, const char *name, struct slice value)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	buffer_printf(query, "%c%s=", query->n ? '&' : '?', name);
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] && strchr(plain, value.p[i]))
			buffer_byte(query, value.p[i]);
		else
			buffer_printf(query, "%%%02X", (unsigned char)value.p[i]);
	}
}

char *remote_url(struct cli *cli, const char *path, const char *name)
{
	_cleanup_(buffer_done)
	struct buffer url = {0};
	struct slice base = slice_cstr(cli->server);

	while (base.n > 0 && base.p[base.n - 1] == '/')
		base.n--;
	buffer_slice(&url, base);
	buffer_text(&url, path);
	if (name)
		buffer_byte(&url, '/');
	for (; name && *name; name++) {
		unsigned char c = (unsigned char)*name;

		if (c == '/' || c == '%' || c == '?' || c == '#' || c <= ' ' || c >= 0x7f)
			buffer_printf(&url, "%%%02X", c);
		else
			buffer_byte(&url, *name);
	}
	return url.failed ? NULL : arena_printf(&cli->arena, "%s", buffer_cstr(&url));
}

int remote_delete(struct remote *r, const char *path, const char *name)
{
	struct http_call call = {.method = "DELETE", .url = remote_url(r->cli, path, name)};
	struct http_answer answer = {0};
	int code = call.url ? remote_call(r, &call, NULL, &answer)
			    : cli_fail(r->cli, EXIT_FAILED, "out of memory");

	if (code == EXIT_OK && answer.status >= 300)
		code = remote_refused(r, call.url, &answer);
	http_answer_done(&answer);
	return code;
}
