/* cli/upload.c - sending requests to a server's ingest ports. */
#include "cli/upload.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "wire/json_reader.h"
#include "wire/pieces.h"
#include "wire/protobuf.h"

#define WAIT_MAX_S 30

enum port { PORT_OTLP, PORT_ZIPKIN };

struct target {
	const char *codec;
	enum port port;
	const char *path;
	const char *type; /* a whole header */
	const char *key;  /* JSON: only where this key stands in the object */
};

#define PROTOBUF "Content-Type: application/x-protobuf"
#define JSON     "Content-Type: application/json"

/* Where requests go as they are. */
static const struct target targets[] = {
	{"otlp", PORT_OTLP, "/v1/traces", PROTOBUF, NULL},
	{"otlp-logs", PORT_OTLP, "/v1/logs", PROTOBUF, NULL},
	{"otlp-json", PORT_OTLP, "/v1/traces", JSON, "resourceSpans"},
	{"otlp-json", PORT_OTLP, "/v1/logs", JSON, "resourceLogs"},
	{"otlp-json", PORT_OTLP, "/v1/metrics", JSON, "resourceMetrics"},
	{"events", PORT_OTLP, "/v1/events", PROTOBUF, NULL},
	{"events-json", PORT_OTLP, "/v1/events", JSON, NULL},
	{"zipkin-json", PORT_ZIPKIN, "/api/v2/spans", JSON, NULL},
	{"zipkin-proto", PORT_ZIPKIN, "/api/v2/spans", PROTOBUF, NULL},
};

static void reject(struct upload *u, uint64_t n, struct slice reason)
{
	if (u->rejected == 0)
		snprintf(u->reason, sizeof(u->reason), "%.*s", SLICE_ARG(reason));
	u->rejected += n;
}

/* Export…Response { PartialSuccess partial_success = 1 { int64 rejected = 1; string message = 2 } }
 */
static void partial_proto(struct upload *u, struct slice body)
{
	struct pb_reader outer = pb_open(body);
	struct pb_field f;

	while (pb_next(&outer, &f)) {
		struct pb_reader inner;
		struct slice reason = {0};
		uint64_t n = 0;

		if (f.tag != PB_TAG(1, PB_BYTES))
			continue;
		inner = pb_open(f.bytes);
		while (pb_next(&inner, &f)) {
			if (f.tag == PB_TAG(1, PB_VARINT))
				n = f.value;
			else if (f.tag == PB_TAG(2, PB_BYTES))
				reason = f.bytes;
		}
		if (n > 0)
			reject(u, n, reason);
	}
}

static void partial_json(struct upload *u, struct slice body)
{
	static const char *const counts[] = {"rejectedSpans", "rejectedLogRecords",
					     "rejectedDataPoints", "rejectedEvents"};
	struct slice partial, reason = {0};
	uint64_t n = 0;

	if (!item_text(body, "partialSuccess", &u->remote->cli->arena, &partial))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counts) && n == 0; i++)
		item_u64(partial, counts[i], &n);
	item_text(partial, "errorMessage", &u->remote->cli->arena, &reason);
	if (n > 0)
		reject(u, n, reason);
}

static bool is_retryable(int status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

/* One POST, again while the server asks for patience.  *ret_status is 413 where the request should
 * be sent in smaller pieces. */
static int post(struct upload *u, const struct target *t, struct slice body, int *ret_status)
{
	struct cli *cli = u->remote->cli;
	const char *base = t->port == PORT_ZIPKIN ? cli->zipkin : cli->otlp;
	size_t base_n = strlen(base);
	_cleanup_(buffer_done)
	struct buffer url = {0};
	struct http_call call = {.method = "POST", .body = body};

	while (base_n > 0 && base[base_n - 1] == '/')
		base_n--;
	buffer_printf(&url, "%.*s%s", (int)base_n, base, t->path);
	call.url = buffer_cstr(&url);
	for (int tries = 1;; tries++) {
		struct http_answer answer = {0};
		int code = remote_call(u->remote, &call, t->type, &answer), wait_s;

		if (code) {
			u->unreachable = true;
			return code;
		}
		*ret_status = answer.status;
		if (answer.status >= 200 && answer.status < 300) {
			if (strcmp(t->type, JSON) == 0)
				partial_json(u, buffer_get(&answer.body));
			else if (t->port == PORT_OTLP)
				partial_proto(u, buffer_get(&answer.body));
			u->requests++;
			u->bytes += body.n;
			http_answer_done(&answer);
			return EXIT_OK;
		}
		if (answer.status == 413) {
			http_answer_done(&answer);
			return EXIT_OK;
		}
		if (!is_retryable(answer.status) || tries == UPLOAD_TRIES) {
			_cleanup_(buffer_done)
			struct buffer what = {0};

			buffer_printf(&what, "%s: %s", u->where, call.url);
			code = remote_refused(u->remote, buffer_cstr(&what), &answer);
			http_answer_done(&answer);
			return code == EXIT_NOTHING ? EXIT_FAILED : code;
		}
		wait_s = MIN(MAX(answer.retry_after_s, 1), WAIT_MAX_S);
		http_answer_done(&answer);
		u->waits++;
		if (cli->verbose)
			cli_note(cli, "the server is busy; trying again in %d s", wait_s);
		nanosleep(&(struct timespec){.tv_sec = wait_s}, NULL);
	}
}

static bool has_key(struct slice object, const char *key)
{
	struct json_reader r = json_open(object);
	struct slice name;

	if (json_peek(&r) != JSON_OBJECT || !json_object(&r))
		return false;
	while (json_next_name(&r, &name)) {
		if (slice_eq(name, slice_cstr(key)))
			return true;
		json_skip(&r);
	}
	return false;
}

/* Every row as native events, a few hundred at a time. */
static int post_pieces(struct upload *u, const struct event_ref *refs, size_t n)
{
	static const struct target target = {"events", PORT_OTLP, "/v1/events", PROTOBUF, NULL};
	_cleanup_(buffer_done)
	struct buffer piece = {0};
	struct pieces pieces = pieces_of(codec_find(SLICE("events")), refs, n);

	while (pieces_next(&pieces, &piece)) {
		int status = 0, code;

		if (piece.failed)
			return cli_fail(u->remote->cli, EXIT_FAILED, "out of memory");
		code = post(u, &target, buffer_get(&piece), &status);
		if (code)
			return code;
		if (status == 413)
			return cli_fail(u->remote->cli, EXIT_FAILED,
					"the server refuses %zu bytes as too large; raise its "
					"max-body",
					piece.n);
		buffer_clear(&piece);
	}
	return EXIT_OK;
}

static int send_decoded(struct upload *u, const struct codec *codec, struct slice request)
{
	_cleanup_(batch_unrefp)
	struct batch *batch = batch_new(request.n);
	_cleanup_(freep)
	struct event_ref *refs = NULL;
	struct decode_tally tally = {0};
	struct error error = {0};
	int r;

	if (!batch)
		return cli_fail(u->remote->cli, EXIT_FAILED, "out of memory");
	r = codec->decode(request, batch, &tally, &error);
	if (r == 0)
		r = batch_seal(batch);
	if (r < 0)
		return cli_fail(u->remote->cli, EXIT_FAILED, "%s, byte %zu: %s", u->where,
				error.offset == ERROR_NO_OFFSET ? 0 : error.offset,
				error.text[0] ? error.text : strerror(-r));
	if (tally.rejected)
		reject(u, tally.rejected, slice_cstr(tally.reason));
	refs = malloc(MAX(batch->event_n, (size_t)1) * sizeof(*refs));
	if (!refs)
		return cli_fail(u->remote->cli, EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < batch->event_n; i++)
		refs[i] = (struct event_ref){batch, (uint32_t)i};
	return post_pieces(u, refs, batch->event_n);
}

int upload_request(struct upload *u, const struct codec *codec, struct slice request)
{
	bool sent = false;

	if (request.n > UPLOAD_DIRECT_MAX)
		return send_decoded(u, codec, request);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		const struct target *t = &targets[i];
		int status = 0, code;

		if (strcmp(t->codec, codec->name) != 0 || (t->key && !has_key(request, t->key)))
			continue;
		code = post(u, t, request, &status);
		if (code)
			return code;
		if (status == 413)
			return send_decoded(u, codec, request);
		sent = true;
	}
	return sent ? EXIT_OK : send_decoded(u, codec, request);
}
