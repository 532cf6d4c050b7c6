/* api/tempo_query.c - TraceQL as Tempo's clients send it. */
#include "api/tempo_query.h"

#include <errno.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define SECONDS_MOST 9000000000ULL /* beyond it a number of seconds is no int64 of nanoseconds */
#define ANY_DEPTH    16

void tempo_query_init(struct tempo_query *t, struct query_job *job)
{
	*t = (struct tempo_query){.job = job};
	diags_init(&t->diags, &t->arena);
	tracepoint_names_init(&t->names, job->api->catalog);
}

void tempo_query_done(struct tempo_query *t)
{
	query_free(t->query);
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

int tempo_query_run(struct tempo_query *t, struct query_run *run, struct query_stats *ret_stats,
		    struct error *error)
{
	const struct query_limits *limits = query_jobs_limits(t->job->jobs);
	struct snapshot snapshot;
	int r = store_snapshot(t->job->api->store, &snapshot);

	if (r < 0)
		return r;
	run->snapshot = &snapshot;
	run->now_ns = t->job->started_ns;
	run->range = t->job->request.range;
	run->step_ns = t->job->request.step_ns;
	run->time_ns = limits->time_ns;
	run->memory_bytes = limits->memory_bytes;
	run->gives_way = true;
	run->cancel = t->job->cancel;
	r = query_run(t->query, run, ret_stats, error);
	snapshot_done(&snapshot);
	if (r < 0 && atomic_load(t->job->cancel))
		r = -ECANCELED;
	return r;
}

void tempo_query_refuse(struct tempo_query *t, int r, struct slice text)
{
	struct buffer message = {0};

	if (r != -EINVAL) {
		api_fail_errno(t->job->req, r);
		return;
	}
	diags_sort(&t->diags);
	diags_first_error(&t->diags, text, &message);
	http_reply_text(t->job->req, 400, "invalid TraceQL query: %s", buffer_cstr(&message));
	buffer_done(&message);
}

void tempo_query_fail(struct tempo_query *t, int r, const struct error *error)
{
	struct http_request *req = t->job->req;
	const char *text = error->text[0] ? error->text : strerror(-r);

	switch (r) {
	case -ECANCELED:
		http_reply_text(req, 409, "the query was cancelled");
		break;
	case -ETIMEDOUT:
	case -ENOSPC:
	case -EPERM:
		http_reply_text(req, 422, "%s", text);
		break;
	case -EINVAL:
		http_reply_text(req, 400, "%s", text);
		break;
	case -EOPNOTSUPP:
		http_reply_text(req, 501, "%s", text);
		break;
	default:
		api_fail_errno(req, r);
	}
}

void tempo_query_reply(struct tempo_query *t, struct buffer *out)
{
	if (out->failed)
		api_fail_errno(t->job->req, -ENOMEM);
	else
		http_reply_buffer(t->job->req, 200, "application/json", out);
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

static bool window_get(struct http_request *req, const char *name, int64_t *ret_ns)
{
	uint64_t n = 0;

	if (!tempo_number(req, name, &n))
		return false;
	if (n > SECONDS_MOST && n > INT64_MAX) {
		http_reply_text(req, 400, "invalid %s: seconds since 1970 are wanted", name);
		return false;
	}
	*ret_ns = n > SECONDS_MOST ? (int64_t)n : (int64_t)n * NS_PER_S;
	return true;
}

void tempo_query_start(struct http_request *req, struct api *api, struct query_request *q,
		       void (*run)(struct query_job *job))
{
	struct error error = {0};
	int r;

	if (!window_get(req, "start", &q->range.from_ns) ||
	    !window_get(req, "end", &q->range.to_ns))
		return;
	if (q->range.to_ns && q->range.from_ns >= q->range.to_ns) {
		http_reply_text(req, 400, "start must be before end");
		return;
	}
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
	if (q->text.n > TEMPO_TEXT_MOST) {
		http_reply_text(req, 400, "invalid q: more than %d bytes", TEMPO_TEXT_MOST);
		return;
	}
	q->dialect = DIALECT_TRACEQL;
	q->for_many = true;
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

static void put_any(struct json_writer *w, struct value v, struct arena *arena, int depth)
{
	json_begin_object(w);
	switch (v.type) {
	case V_BOOL:
		json_put_name(w, "boolValue");
		json_put_bool(w, v.b);
		break;
	case V_INT:
	case V_TIME:
		json_put_name(w, "intValue");
		json_put_i64_text(w, v.i);
		break;
	case V_FLOAT:
		json_put_name(w, "doubleValue");
		json_put_double(w, v.f);
		break;
	case V_LIST:
		json_put_name(w, "arrayValue");
		json_begin_object(w);
		json_put_name(w, "values");
		json_begin_array(w);
		for (uint32_t i = 0; depth < ANY_DEPTH && i < v.n; i++)
			put_any(w, v.list[i], arena, depth + 1);
		json_end_array(w);
		json_end_object(w);
		break;
	case V_BYTES:
		json_put_name(w, "bytesValue");
		json_put_base64(w, value_slice(v));
		break;
	case V_NIL:
		json_put_name(w, "stringValue");
		json_put_cstr(w, "nil");
		break;
	case V_STRING:
		json_put_name(w, "stringValue");
		json_put_string(w, value_slice(v));
		break;
	default: /* durations, status, kind: as TraceQL writes them */
		json_put_name(w, "stringValue");
		json_put_string(w, value_format(arena, v));
	}
	json_end_object(w);
}

void tempo_put_any(struct json_writer *w, struct value v, struct arena *arena)
{
	put_any(w, v, arena, 0);
}

void tempo_put_metrics(struct json_writer *w, const struct query_stats *stats)
{
	json_put_name(w, "metrics");
	json_begin_object(w);
	if (stats->traces) {
		json_put_name(w, "inspectedTraces");
		json_put_u64(w, MIN(stats->traces, UINT32_MAX));
	}
	json_put_name(w, "completedJobs");
	json_put_u64(w, 1);
	json_put_name(w, "totalJobs");
	json_put_u64(w, 1);
	json_end_object(w);
}
