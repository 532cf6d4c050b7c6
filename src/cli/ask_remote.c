/* cli/ask_remote.c - a query asked of a server: its answer comes line by line. */
#include <errno.h>
#include <stdio.h>

#include "api/query_json.h"
#include "base/cleanup.h"
#include "base/rng.h"
#include "cli/ask_int.h"
#include "cli/progress.h"
#include "cli/remote.h"
#include "core/clock.h"

#define PATH      "/api/query"
#define LINE_MOST ((size_t)64 << 20)
#define ID_BYTES  40

/* An answer on its way in. */
struct receiving {
	struct ask *ask;
	char id[ID_BYTES];
	struct buffer line; /* not whole yet */
	struct progress progress;
	struct arena columns_arena, row_arena;
	struct query_column *columns;
	struct value *values;
	double *plus_minus;
	size_t column_n;
	bool ended;
	int code; /* of the sink, or of what went wrong */
};

static void receiving_done(struct receiving *x)
{
	buffer_done(&x->line);
	arena_done(&x->columns_arena);
	arena_done(&x->row_arena);
}

static void body_write(const struct ask *ask, const struct receiving *x, bool explain, bool live,
		       const struct ask_files *files, struct buffer *out)
{
	struct json_writer w = json_write(out);
	char text[40];

	json_begin_object(&w);
	json_put_name(&w, "query");
	json_put_string(&w, ask->text.text);
	json_put_name(&w, "dialect");
	json_put_cstr(&w, ask_dialects[ask->values->dialect]);
	if (explain) {
		json_put_name(&w, "explain");
		json_put_bool(&w, true);
		json_put_name(&w, "live");
		json_put_bool(&w, live);
	}
	if (x) {
		json_put_name(&w, "id");
		json_put_cstr(&w, x->id);
	}
	if (ask->limit) {
		json_put_name(&w, "limit");
		json_put_u64(&w, ask->limit);
	}
	if (ask->range.from_ns) {
		json_put_name(&w, "start");
		json_put_i64_text(&w, ask->range.from_ns);
	}
	if (ask->range.to_ns) {
		json_put_name(&w, "end");
		json_put_i64_text(&w, ask->range.to_ns);
	}
	if (ask->values->step_ns) {
		snprintf(text, sizeof(text), "%lldns", (long long)ask->values->step_ns);
		json_put_name(&w, "step");
		json_put_cstr(&w, text);
	}
	if (ask->cli->timeout_ns) {
		snprintf(text, sizeof(text), "%lldns", (long long)ask->cli->timeout_ns);
		json_put_name(&w, "timeout");
		json_put_cstr(&w, text);
	}
	if (ask->memory_bytes) {
		json_put_name(&w, "memory");
		json_put_u64(&w, ask->memory_bytes);
	}
	if (files->n) {
		json_put_name(&w, "files");
		json_begin_object(&w);
		for (size_t i = 0; i < files->n; i++) {
			json_put_key(&w, files->items[i].name);
			json_put_string(&w, files->items[i].bytes);
		}
		json_end_object(&w);
	}
	json_end_object(&w);
}

/* {"error":…}: diagnostics with their lines, or the message. */
static int refused(struct ask *ask, struct slice body)
{
	struct arena arena = {0};
	struct slice error = {0}, code = {0}, message = {0}, list;
	struct diags diags;
	int result = EXIT_FAILED;

	diags_init(&diags, &arena);
	if (item_text(body, "error", &arena, &error)) {
		item_text(error, "code", &arena, &code);
		item_text(error, "message", &arena, &message);
		if (item_text(error, "diagnostics", &arena, &list)) {
			struct json_reader r = json_open(list);

			query_json_read_diags(&r, &diags);
		}
	}
	if (diags.errors)
		ask_show_diags(ask, &diags);
	else if (slice_eq(code, SLICE("cancelled")))
		result = EXIT_INTERRUPTED; /* said by who cancelled it */
	else
		result = cli_fail(ask->cli,
				  slice_eq(code, SLICE("over_time")) ? EXIT_TIMED_OUT : EXIT_FAILED,
				  "%.*s", SLICE_ARG(message));
	if (result == EXIT_INTERRUPTED && !atomic_load(&ask->interrupt->hit))
		cli_fail(ask->cli, result, "the query was cancelled");
	arena_done(&arena);
	return result;
}

static bool on_columns(struct receiving *x, struct slice line)
{
	struct slice text, name = {0};
	struct json_reader r;

	arena_clear(&x->columns_arena);
	if (!item_text(line, "columns", &x->columns_arena, &text))
		return false;
	item_text(line, "name", &x->columns_arena, &name);
	r = json_open(text);
	if (!query_json_read_columns(&r, &x->columns_arena, &x->columns, &x->column_n))
		return false;
	x->values = arena_zalloc(&x->columns_arena, x->column_n + 1, sizeof(*x->values));
	x->plus_minus = arena_zalloc(&x->columns_arena, x->column_n + 1, sizeof(*x->plus_minus));
	if (!x->values || !x->plus_minus)
		return false;
	x->code = x->ask->sink->begin(x->ask->sink->context, name, x->columns, x->column_n);
	return true;
}

static bool on_row(struct receiving *x, struct json_reader *r)
{
	bool estimate = false;

	if (!x->columns)
		return false;
	arena_clear(&x->row_arena);
	if (!query_json_read_row(r, x->columns, x->column_n, &x->row_arena, x->values,
				 x->plus_minus, &estimate))
		return false;
	progress_end(&x->progress);
	x->code = ask_give(x->ask, x->values, estimate ? x->plus_minus : NULL, x->column_n);
	return true;
}

static bool on_progress(struct receiving *x, struct json_reader *r)
{
	struct query_stats stats;

	if (!query_json_read_stats(r, &stats))
		return false;
	progress_rows(&x->progress, stats.rows, stats.segments, stats.segments_total);
	return true;
}

static bool on_end(struct receiving *x, struct slice line)
{
	struct arena arena = {0};
	struct slice end, stats = {0}, list = {0};
	struct json_reader r;
	struct diags diags;
	bool good = item_text(line, "end", &arena, &end) && item_text(end, "stats", &arena, &stats);

	diags_init(&diags, &arena);
	if (good) {
		r = json_open(stats);
		good = query_json_read_stats(&r, &x->ask->stats);
	}
	if (good && item_text(end, "diagnostics", &arena, &list)) {
		r = json_open(list);
		good = query_json_read_diags(&r, &diags);
	}
	progress_end(&x->progress);
	ask_show_diags(x->ask, &diags);
	x->ended = true;
	arena_done(&arena);
	return good;
}

/* One line.  What begins with a name that is not known is passed over: a newer server says more. */
static bool take_line(struct receiving *x, struct slice line)
{
	struct json_reader r = json_open(line);
	struct slice name;

	if (line.n == 0)
		return true;
	if (json_peek(&r) != JSON_OBJECT || !json_object(&r) || !json_next_name(&r, &name))
		return false;
	if (slice_eq(name, SLICE("row")))
		return on_row(x, &r);
	if (slice_eq(name, SLICE("result")))
		return on_columns(x, line);
	if (slice_eq(name, SLICE("progress")))
		return on_progress(x, &r);
	if (slice_eq(name, SLICE("end")))
		return on_end(x, line);
	if (slice_eq(name, SLICE("error"))) {
		progress_end(&x->progress);
		x->code = refused(x->ask, line);
		x->ended = true;
	}
	return true;
}

static int take(void *context, struct slice piece)
{
	struct receiving *x = context;
	struct slice rest;

	if (atomic_load(&x->ask->interrupt->hit))
		return -ECANCELED;
	buffer_slice(&x->line, piece);
	if (x->line.failed)
		return -ENOMEM;
	rest = buffer_get(&x->line);
	for (;;) {
		const char *end = rest.n ? memchr(rest.p, '\n', rest.n) : NULL;

		if (!end)
			break;
		if (!take_line(x, slice_of(rest.p, (size_t)(end - rest.p))))
			return -EBADMSG;
		if (x->code)
			return -EPIPE;
		rest = slice_from(rest, (size_t)(end - rest.p) + 1);
	}
	if (rest.n > LINE_MOST)
		return -EBADMSG;
	memmove(x->line.p, rest.p ? rest.p : x->line.p, rest.n);
	x->line.n = rest.n;
	return 0;
}

/* The connection is closed by now, which the server may notice late behind a proxy. */
static void cancel(struct receiving *x, struct remote *remote)
{
	struct http_call call = {.method = "DELETE", .url = remote_url(x->ask->cli, PATH, x->id)};
	struct http_answer answer;
	struct error error;
	const char *headers[2] = {remote->authorization, NULL};

	call.headers = headers;
	call.timeout_ms = 2000;
	if (call.url && http_client_call(remote->client, &call, &answer, &error) == 0)
		http_answer_done(&answer);
}

static int call_server(struct receiving *x, struct remote *remote, const struct buffer *body)
{
	const char *headers[4] = {"Content-Type: application/json", "Accept: application/x-ndjson",
				  remote->authorization, NULL};
	struct http_call call = {.method = "POST",
				 .url = remote_url(x->ask->cli, PATH, NULL),
				 .headers = headers,
				 .body = buffer_get(body),
				 .write = take,
				 .cancel = &x->ask->interrupt->hit,
				 .context = x};
	struct cli *cli = x->ask->cli;
	struct http_answer answer = {0};
	struct error error = {0};
	int r, code;

	if (!call.url || body->failed)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	r = http_client_call(remote->client, &call, &answer, &error);
	progress_end(&x->progress);
	if (atomic_load(&x->ask->interrupt->hit)) {
		cancel(x, remote);
		code = EXIT_INTERRUPTED;
	} else if (x->code) {
		code = x->code;
	} else if (r < 0) {
		code = remote_no_answer(remote, r, &error);
	} else if (answer.status == 400 || answer.status == 409 || answer.status == 422) {
		code = refused(x->ask, buffer_get(&answer.body));
	} else if (answer.status >= 300) {
		code = remote_refused(remote, call.url, &answer);
	} else {
		code = x->ended ? EXIT_OK
				: cli_fail(cli, EXIT_FAILED,
					   "%s: the answer breaks off before its end", call.url);
	}
	http_answer_done(&answer);
	return code;
}

int ask_remote_run(struct ask *ask)
{
	_cleanup_(receiving_done)
	struct receiving x = {.ask = ask};
	_cleanup_(buffer_done)
	struct buffer body = {0};
	struct remote remote;
	uint64_t random[2];
	_cleanup_(ask_files_done)
	struct ask_files files = {0};
	int code = ask_files_read(ask, &files);

	if (code == EXIT_OK)
		code = remote_open(ask->cli, &remote);
	if (code)
		return code;
	rng_secret((uint8_t *)random, sizeof(random));
	snprintf(x.id, sizeof(x.id), "cli-%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	x.progress = progress_start(ask->cli, "rows");
	body_write(ask, &x, false, false, &files, &body);
	code = call_server(&x, &remote, &body);
	remote_done(&remote);
	return code;
}

int ask_remote_explain(struct ask *ask, bool live, struct buffer *out)
{
	struct interrupt none = {0};
	_cleanup_(buffer_done)
	struct buffer body = {0};
	struct http_call call = {.method = "POST", .url = remote_url(ask->cli, PATH, NULL)};
	struct http_answer answer = {0};
	struct slice plan = {0};
	struct remote remote;
	int code = remote_open(ask->cli, &remote);

	if (code)
		return code;
	ask->interrupt = &none;
	body_write(ask, NULL, true, live, &(struct ask_files){0}, &body);
	call.body = buffer_get(&body);
	code = call.url && !body.failed
		       ? remote_call(&remote, &call, "Content-Type: application/json", &answer)
		       : cli_fail(ask->cli, EXIT_FAILED, "out of memory");
	if (code == EXIT_OK && answer.status == 400)
		code = refused(ask, buffer_get(&answer.body));
	else if (code == EXIT_OK && answer.status >= 300)
		code = remote_refused(&remote, call.url, &answer);
	else if (code == EXIT_OK &&
		 !item_text(buffer_get(&answer.body), "explain", &ask->cli->arena, &plan))
		code = cli_fail(ask->cli, EXIT_FAILED, "%s does not answer as causet does",
				ask->cli->server);
	buffer_slice(out, plan);
	http_answer_done(&answer);
	remote_done(&remote);
	return code;
}
