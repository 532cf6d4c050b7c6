/* api/tempo_query.c - TraceQL as Tempo's clients send it. */
#include "api/tempo_query.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define SECONDS_MOST 9000000000ULL /* beyond it a number of seconds is no int64 of nanoseconds */
#define SAID_BYTES   1024

void tempo_query_init(struct tempo_query *t, struct query_job *job)
{
	*t = (struct tempo_query){.job = job, .stream = tempo_stream_of(job)};
	diags_init(&t->diags, &t->arena);
	tracepoint_names_init(&t->names, job->api->catalog);
}

void tempo_query_done(struct tempo_query *t)
{
	query_free(t->query);
	if (t->snapped)
		snapshot_done(&t->snapshot);
	tracepoint_names_done(&t->names);
	arena_done(&t->arena);
}

int tempo_query_prepare(struct tempo_query *t, struct slice text)
{
	struct query_prepare prepare = {
		.text = text,
		.dialect = DIALECT_TRACEQL,
		.check = {.names = &t->names.names,
			  .unknown_tracepoints = UNKNOWN_REFUSE,
			  .now_ns = t->job->started_ns},
	};

	t->query = query_free(t->query);
	diags_init(&t->diags, &t->arena);
	return query_prepare(&prepare, &t->diags, &t->query);
}

int tempo_query_snapshot(struct tempo_query *t, const struct snapshot **ret_snapshot)
{
	int r = t->snapped ? 0 : store_snapshot(t->job->api->store, &t->snapshot);

	if (r < 0)
		return r;
	t->snapped = true;
	*ret_snapshot = &t->snapshot;
	return 0;
}

int tempo_query_run(struct tempo_query *t, struct query_run *run, struct query_stats *ret_stats,
		    struct error *error)
{
	const struct query_limits *limits = query_jobs_limits(t->job->jobs);
	int r = tempo_query_snapshot(t, &run->snapshot);

	if (r < 0)
		return r;
	run->now_ns = t->job->started_ns;
	if (!run->range.from_ns && !run->range.to_ns)
		run->range = t->job->request.range;
	run->step_ns = t->job->request.step_ns;
	run->time_ns =
		MAX(limits->time_ns - (clock_mono_ns() - t->job->began_ns), (int64_t)1000000);
	run->memory_bytes = limits->memory_bytes;
	run->cancel = t->job->cancel;
	r = query_run(t->query, run, ret_stats, error);
	if (r < 0 && atomic_load(t->job->cancel))
		r = -ECANCELED;
	return r;
}

static enum grpc_status status_of(int status)
{
	static const struct {
		int http;
		enum grpc_status grpc;
	} known[] = {
		{400, GRPC_INVALID_ARGUMENT},   {409, GRPC_CANCELLED},
		{422, GRPC_RESOURCE_EXHAUSTED}, {501, GRPC_UNIMPLEMENTED},
		{503, GRPC_UNAVAILABLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].http == status)
			return known[i].grpc;
	return GRPC_INTERNAL;
}

void tempo_query_say(struct tempo_query *t, int status, const char *format, ...)
{
	char text[SAID_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (t->stream)
		tempo_stream_end(t->stream, status_of(status), text);
	else
		http_reply_text(t->job->req, status, "%s", text);
}

/* No failure of the question's. */
static void say_errno(struct tempo_query *t, int error)
{
	if (!t->stream)
		api_fail_errno(t->job->req, error);
	else if (error == -ENOMEM)
		tempo_query_say(t, 503, "out of memory; try again later");
	else
		tempo_query_say(t, 500, "%s", strerror(-error));
}

void tempo_query_refuse(struct tempo_query *t, int r, struct slice text)
{
	struct buffer message = {0};

	if (r != -EINVAL) {
		say_errno(t, r);
		return;
	}
	diags_sort(&t->diags);
	diags_first_error(&t->diags, text, &message);
	tempo_query_say(t, 400, "invalid TraceQL query: %s", buffer_cstr(&message));
	buffer_done(&message);
}

void tempo_query_fail(struct tempo_query *t, int r, const struct error *error)
{
	const char *text =
		error->text[0] ? error->text
		: r == -ETIMEDOUT
			? "stopped after the time it may take: ask about a shorter range, "
			  "or read the answer faster"
			: strerror(-r);

	switch (r) {
	case -ECANCELED:
		tempo_query_say(t, 409, "the query was cancelled");
		break;
	case -ETIMEDOUT:
	case -ENOSPC:
	case -EPERM:
		tempo_query_say(t, 422, "%s", text);
		break;
	case -EINVAL:
		tempo_query_say(t, 400, "%s", text);
		break;
	case -EOPNOTSUPP:
		tempo_query_say(t, 501, "%s", text);
		break;
	default:
		say_errno(t, r);
	}
}

int tempo_query_part(struct tempo_query *t, struct buffer *out)
{
	int r = out->failed ? -ENOMEM : tempo_stream_send(t->stream, buffer_get(out));

	buffer_done(out);
	return r;
}

void tempo_query_reply(struct tempo_query *t, struct buffer *out)
{
	int r = out->failed ? -ENOMEM : 0;

	if (r == 0 && !t->stream) {
		http_reply_buffer(t->job->req, 200, "application/json", out);
	} else {
		if (r == 0)
			r = tempo_stream_send(t->stream, buffer_get(out));
		if (r < 0)
			tempo_query_fail(t, r, &(struct error){0});
		else
			tempo_stream_end(t->stream, GRPC_OK, NULL);
	}
	buffer_done(out);
}

bool tempo_number(struct http_request *req, const char *name, uint64_t *value)
{
	struct slice text;
	int r = http_query_get(req, name, &text);

	if (r == -ENOMEM) {
		api_fail_errno(req, r);
		return false;
	}
	if (r == 0 || (r > 0 && text.n == 0))
		return true;
	if (r > 0 && slice_parse_u64(text, value) == 0)
		return true;
	http_reply_text(req, 400, "invalid %s: '%.*s' is no whole number", name,
			r > 0 ? (int)slice_first(text, 80).n : 0, r > 0 ? text.p : "");
	return false;
}

static bool moment_of(uint64_t n, int64_t *ret_ns)
{
	if (n > INT64_MAX)
		return false;
	*ret_ns = n > SECONDS_MOST ? (int64_t)n : (int64_t)n * NS_PER_S;
	return true;
}

int tempo_window(uint64_t from, uint64_t to, struct plan_range *ret_range, struct error *error)
{
	struct plan_range range;

	if (!moment_of(from, &range.from_ns) || !moment_of(to, &range.to_ns))
		return error_set(error, -EINVAL,
				 "invalid start or end: seconds since 1970 are wanted");
	if (range.to_ns && range.from_ns >= range.to_ns)
		return error_set(error, -EINVAL, "start must be before end");
	*ret_range = range;
	return 0;
}

int tempo_query_check(struct query_request *q, struct error *error)
{
	if (q->text.n > TEMPO_TEXT_MOST)
		return error_set(error, -EINVAL, "invalid q: more than %d bytes", TEMPO_TEXT_MOST);
	q->dialect = DIALECT_TRACEQL;
	q->for_many = true;
	return 0;
}

void tempo_query_start(struct http_request *req, struct api *api, struct query_request *q,
		       void (*run)(struct query_job *job))
{
	struct error error = {0};
	uint64_t from = 0, to = 0;
	int r = 0;

	if (!tempo_number(req, "start", &from) || !tempo_number(req, "end", &to))
		return;
	if (!q->text.p) {
		r = http_query_get(req, "q", &q->text);
		if (r == -ENOMEM) {
			api_fail_errno(req, r);
			return;
		}
		if (r < 0) {
			http_reply_text(req, 400, "invalid q: bad percent encoding");
			return;
		}
		if (r == 0)
			q->text = SLICE("");
	}
	if (tempo_window(from, to, &q->range, &error) < 0 || tempo_query_check(q, &error) < 0) {
		http_reply_text(req, 400, "%s", error.text);
		return;
	}
	r = query_jobs_start(api->queries, req, q, run, &error);
	if (r < 0) {
		http_reply_header(req, "Retry-After", SLICE("1"));
		http_reply_text(req, r == -EBUSY ? 429 : 503, "%s", error.text);
	}
}

/* `with(…)` stands behind the last stage; the store's order needs no hint, so it is left out. */
struct slice tempo_without_hints(struct slice text)
{
	text = slice_trim(text);
	if (text.n == 0 || text.p[text.n - 1] != ')')
		return text;
	for (size_t i = text.n; i-- > 4;) {
		struct slice left = slice_trim(slice_of(text.p, i));

		if (text.p[i] == '"' || text.p[i] == '`' || text.p[i] == '}' || text.p[i] == '|')
			break;
		if (text.p[i] == '(')
			return left.n > 4 && memcmp(left.p + left.n - 4, "with", 4) == 0 &&
					       strchr(" })\t\n", left.p[left.n - 5])
				       ? slice_trim(slice_of(left.p, left.n - 4))
				       : text;
	}
	return text;
}

void tempo_put_metrics(struct tempo_message *m, const struct tempo_progress *progress)
{
	size_t begun = message_begin(m, "metrics", 2);

	message_u32(m, "inspectedTraces", 1, progress->traces);
	message_u32(m, "completedJobs", 4, progress->done);
	message_u32(m, "totalJobs", 5, progress->all);
	message_end(m, begun);
}

void tempo_put_metadata_metrics(struct tempo_message *m, const struct tempo_progress *progress)
{
	size_t begun = message_begin(m, "metrics", 2);

	message_u32(m, "totalJobs", 2, progress->all);
	message_u32(m, "completedJobs", 3, progress->done);
	message_end(m, begun);
}
