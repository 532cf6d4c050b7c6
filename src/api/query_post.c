/* api/query_post.c - POST /api/query: a text in, pages of rows or a stream of lines out. */
#include "api/query_post.h"

#include <errno.h>
#include <stdio.h>

#include "api/query_jobs.h"
#include "api/query_json.h"
#include "api/query_lines.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "exec/tracepoint_names.h"

/* One query being answered, on its thread. */
struct answering {
	struct query_job *job;
	struct query *query;
	struct diags *diags;
	const struct query_column *columns; /* of the result at hand; good during the run */
	struct arena arena;                 /* keeps them */
	struct buffer line;

	struct query_lines *lines; /* a stream … */
	struct query_answer pages; /* … or pages */
	bool too_large;            /* for pages */
	uint64_t rows;
};

/* --- failures --- */

struct failure {
	int status;
	const char *code, *message;
};

static void put_error(struct json_writer *w, const struct failure *f, const struct answering *a)
{
	json_put_name(w, "error");
	json_begin_object(w);
	json_put_name(w, "code");
	json_put_cstr(w, f->code);
	json_put_name(w, "message");
	json_put_cstr(w, f->message);
	if (a && a->diags->n) {
		json_put_name(w, "diagnostics");
		query_json_diags(w, a->diags, a->job->request.text);
	}
	json_end_object(w);
}

static void fail(struct http_request *req, const struct failure *f, const struct answering *a)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	json_begin_object(&w);
	put_error(&w, f, a);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	if (f->status == 429 || f->status == 503)
		http_reply_header(req, "Retry-After", SLICE("1"));
	http_reply_buffer(req, f->status, "application/json", &out);
	buffer_done(&out);
}

/* How a run that ended with r is told. */
static struct failure failure_of(int r, const struct error *error, const struct answering *a)
{
	const char *text = error->text[0] ? error->text : strerror(-r);

	if (a->too_large)
		return (struct failure){422, "too_large",
					"the answer is too large to be kept for paging: ask for a "
					"stream (Accept: application/x-ndjson), or for less"};
	switch (r) {
	case -ECANCELED:
		return (struct failure){409, "cancelled", "the query was cancelled"};
	case -ETIMEDOUT:
		return (struct failure){422, "over_time", text};
	case -ENOSPC:
		return (struct failure){422, "over_memory", text};
	case -EPERM:
		return (struct failure){403, "forbidden", text};
	case -EINVAL:
		return (struct failure){400, "bad_query", text};
	case -EOPNOTSUPP:
		return (struct failure){
			501, "not_supported",
			error->text[0] ? error->text
				       : "this server keeps everything in memory without an index; "
					 "queries need a store on disk"};
	case -ENOMEM:
		return (struct failure){503, "unavailable", "out of memory; try again later"};
	default:
		return (struct failure){500, "internal", text};
	}
}

/* --- rows on their way --- */

static int flush_line(struct answering *a)
{
	return a->line.failed ? -ENOMEM : query_lines_add(a->lines, buffer_get(&a->line));
}

static void put_result(struct json_writer *w, size_t result, struct slice name,
		       const struct query_column *columns, size_t n)
{
	json_put_name(w, "result");
	json_put_u64(w, result);
	json_put_name(w, "name");
	json_put_string(w, name);
	json_put_name(w, "columns");
	query_json_columns(w, columns, n);
}

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	struct answering *a = context;
	struct query_column *kept;

	arena_clear(&a->arena);
	kept = arena_zalloc(&a->arena, n + 1, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	if (n)
		memcpy(kept, columns, n * sizeof(*kept)); /* only their types are used */
	a->columns = kept;
	if (a->lines) {
		struct json_writer w = json_write(&a->line);

		buffer_clear(&a->line);
		json_begin_object(&w);
		put_result(&w, result, name, columns, n);
		json_end_object(&w);
		return flush_line(a);
	}
	struct query_answer_result *r = query_answer_begin(&a->pages);
	struct json_writer w;

	if (!r)
		return -ENOMEM;
	w = json_write(&r->head);
	put_result(&w, result, name, columns, n);
	a->pages.bytes += r->head.n;
	return r->head.failed ? -ENOMEM : 0;
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct answering *a = context;
	struct json_writer w = json_write(&a->line);

	a->rows++;
	buffer_clear(&a->line);
	if (a->lines) {
		json_begin_object(&w);
		json_put_name(&w, "row");
		query_json_row(&w, a->columns, values, plus_minus, n);
		json_end_object(&w);
		return flush_line(a);
	}
	query_json_row(&w, a->columns, values, plus_minus, n);
	if (a->line.failed)
		return -ENOMEM;
	if (a->pages.bytes + a->line.n > query_jobs_limits(a->job->jobs)->page_bytes) {
		a->too_large = true;
		return -ENOSPC;
	}
	return query_answer_add(&a->pages, buffer_get(&a->line));
}

static int64_t elapsed(const struct query_job *job)
{
	return clock_mono_ns() - job->began_ns;
}

static int on_progress(void *context, const struct query_stats *stats)
{
	struct answering *a = context;
	struct json_writer w = json_write(&a->line);

	query_job_progress(a->job, stats->rows, stats->segments, stats->segments_total);
	if (!a->lines)
		return 0;
	buffer_clear(&a->line);
	json_begin_object(&w);
	json_put_name(&w, "progress");
	query_json_stats(&w, stats, elapsed(a->job));
	json_end_object(&w);
	return flush_line(a);
}

/* --- running --- */

static int run(struct answering *a, struct query_stats *stats, struct error *error)
{
	const struct query_request *q = &a->job->request;
	const struct query_limits *limits = query_jobs_limits(a->job->jobs);
	struct snapshot snapshot;
	struct query_run options = {
		.snapshot = &snapshot,
		.now_ns = a->job->started_ns,
		.range = q->range,
		.step_ns = q->step_ns,
		.time_ns = q->time_ns ? MIN(q->time_ns, limits->time_ns) : limits->time_ns,
		.memory_bytes = q->memory_bytes ? MIN(q->memory_bytes, limits->memory_bytes)
						: limits->memory_bytes,
		.sent = q->files,
		.sent_n = q->file_n,
		.rows_most = q->stream && q->limited ? q->limit : 0,
		.cancel = a->job->cancel,
		.begin = on_begin,
		.row = on_row,
		.progress = on_progress,
		.context = a,
	};
	int r = store_snapshot(a->job->api->store, &snapshot);

	if (r < 0)
		return r;
	r = query_run(a->query, &options, stats, error);
	snapshot_done(&snapshot);
	if (r < 0 && atomic_load(a->job->cancel))
		r = -ECANCELED;
	return r;
}

static void count(struct answering *a, int r)
{
	struct query_counters *c = query_jobs_counters(a->job->jobs);

	atomic_fetch_add(&c->rows, a->rows);
	if (r == -ECANCELED)
		atomic_fetch_add(&c->cancelled, 1);
	else if (r < 0)
		atomic_fetch_add(&c->failed, 1);
}

static void put_end(struct json_writer *w, struct answering *a, const struct query_stats *stats)
{
	json_put_name(w, "stats");
	query_json_stats(w, stats, elapsed(a->job));
	json_put_name(w, "diagnostics");
	query_json_diags(w, a->diags, a->job->request.text);
}

/* Lines: the id, then results and rows, progress between them, and the end or an error. */
static void answer_lines(struct answering *a)
{
	struct query_stats stats = {0};
	struct error error = {0};
	struct json_writer w = json_write(&a->line);
	int r;

	a->lines = query_lines_begin(a->job->req, a->job->cancel,
				     a->job->began_ns + query_jobs_limits(a->job->jobs)->time_ns);
	if (!a->lines) {
		fail(a->job->req, &(struct failure){503, "unavailable", "out of memory"}, NULL);
		return;
	}
	json_begin_object(&w);
	json_put_name(&w, "id");
	json_put_cstr(&w, a->job->id);
	json_end_object(&w);
	r = flush_line(a);
	if (r == 0)
		r = run(a, &stats, &error);
	count(a, r);
	buffer_clear(&a->line);
	w = json_write(&a->line);
	json_begin_object(&w);
	if (r < 0) {
		struct failure f = failure_of(r, &error, a);

		put_error(&w, &f, a);
	} else {
		json_put_name(&w, "end");
		json_begin_object(&w);
		put_end(&w, a, &stats);
		json_end_object(&w);
	}
	json_end_object(&w);
	query_lines_end(a->lines, a->line.failed ? SLICE("{\"error\":{\"code\":\"unavailable\","
							 "\"message\":\"out of memory\"}}")
						 : buffer_get(&a->line));
}

/* --- pages --- */

struct page {
	const char *id;
	uint64_t from, limit;
	struct buffer out;
	bool more;
};

static void page_write(void *context, const struct query_answer *answer)
{
	struct page *p = context;
	uint64_t end;

	buffer_printf(&p->out, "{\"id\":\"%s\",", p->id);
	end = query_answer_page(answer, p->from, p->limit, &p->out);
	p->more = end < query_answer_rows(answer);
	if (p->more)
		buffer_printf(&p->out, ",\"cursor\":\"%s.%llu\"", p->id, (unsigned long long)end);
	buffer_byte(&p->out, ',');
	buffer_slice(&p->out, buffer_get(&answer->tail));
	buffer_text(&p->out, "}\n");
}

static void answer_page(struct answering *a)
{
	struct page page = {.id = a->job->id, .limit = a->job->request.limit};
	struct query_stats stats = {0};
	struct error error = {0};
	struct json_writer w = json_write(&a->pages.tail);
	int r = run(a, &stats, &error);

	put_end(&w, a, &stats);
	a->pages.bytes += a->pages.tail.n;
	if (r == 0 && a->pages.tail.failed)
		r = -ENOMEM;
	count(a, r);
	if (r < 0) {
		struct failure f = failure_of(r, &error, a);

		fail(a->job->req, &f, a);
		return;
	}
	page_write(&page, &a->pages);
	if (page.more) {
		r = query_pages_keep(query_jobs_pages(a->job->jobs), a->job->owner, a->job->id,
				     &a->pages);
		if (r < 0) {
			a->too_large = r == -ENOSPC;
			struct failure f = failure_of(r, &error, a);

			fail(a->job->req, &f, a);
			buffer_done(&page.out);
			return;
		}
	}
	http_reply_buffer(a->job->req, 200, "application/json", &page.out);
	buffer_done(&page.out);
}

/* "ID.123" of an earlier page.  Names with a ':' are those of tools' answers (api/tool.c), which
 * have another form. */
static bool cursor_parse(struct slice cursor, struct slice *ret_id, uint64_t *ret_from)
{
	struct slice rest = cursor;

	*ret_id = slice_cut(&rest, '.');
	return ret_id->n > 0 && !memchr(ret_id->p, ':', ret_id->n) && rest.p &&
	       slice_parse_u64(rest, ret_from) == 0;
}

static void page_work(struct http_request *req, struct api *api)
{
	const struct query_request *q = api_request(req)->data;
	struct page page = {.limit = q->limit};
	struct slice id = {0};
	int r = -ENOENT;

	if (cursor_parse(q->cursor, &id, &page.from)) {
		char *text = arena_printf(&req->arena, "%.*s", SLICE_ARG(id));

		page.id = text ? text : "";
		r = query_pages_read(query_jobs_pages(api->queries), api_request(req)->who.owner,
				     id, page_write, &page);
	}
	if (r < 0)
		fail(req,
		     &(struct failure){410, "gone",
				       "there is no answer to this cursor any more: ask again"},
		     NULL);
	else
		http_reply_buffer(req, 200, "application/json", &page.out);
	buffer_done(&page.out);
}

static void answer_explain(struct answering *a)
{
	struct buffer plan = {0}, out = {0};
	struct json_writer w = json_write(&out);
	int r = query_explain(a->query, a->job->request.live, &plan);

	json_begin_object(&w);
	json_put_name(&w, "id");
	json_put_cstr(&w, a->job->id);
	json_put_name(&w, "explain");
	json_put_string(&w, buffer_get(&plan));
	json_put_name(&w, "diagnostics");
	query_json_diags(&w, a->diags, a->job->request.text);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	if (r < 0 || plan.failed)
		fail(a->job->req, &(struct failure){503, "unavailable", "out of memory"}, NULL);
	else
		http_reply_buffer(a->job->req, 200, "application/json", &out);
	buffer_done(&plan);
	buffer_done(&out);
}

static void answer_wrong(struct answering *a, int r)
{
	struct buffer message = {0};
	struct failure f = {400, "bad_query", ""};

	if (r == -EINVAL) {
		diags_sort(a->diags);
		diags_first_error(a->diags, a->job->request.text, &message);
		f.message = buffer_cstr(&message);
	} else {
		f = (struct failure){503, "unavailable", strerror(-r)};
	}
	fail(a->job->req, &f, a);
	buffer_done(&message);
}

/* On the query's own thread. */
static void answer(struct query_job *job)
{
	struct tracepoint_names names;
	struct arena arena = {0};
	struct diags diags;
	struct answering a = {.job = job, .diags = &diags};
	struct query_prepare prepare = {
		.text = job->request.text,
		.dialect = job->request.dialect,
		.check = {.names = &names.names,
			  .unknown_tracepoints = UNKNOWN_REFUSE,
			  .now_ns = job->started_ns},
	};
	int r;

	tracepoint_names_init(&names, job->api->catalog);
	diags_init(&diags, &arena);
	r = query_prepare(&prepare, &diags, &a.query);
	if (r < 0)
		answer_wrong(&a, r);
	else if (job->request.explain)
		answer_explain(&a);
	else if (job->request.stream)
		answer_lines(&a);
	else
		answer_page(&a);
	query_free(a.query);
	query_answer_done(&a.pages);
	buffer_done(&a.line);
	arena_done(&a.arena);
	arena_done(&arena);
	tracepoint_names_done(&names);
}

void query_post(struct http_request *req, struct api *api)
{
	struct query_request *q = arena_zalloc(&req->arena, 1, sizeof(*q));
	struct error error = {0};
	int r = q ? query_request_parse(req, clock_wall_ns(), q, &error) : -ENOMEM;

	if (r == -EINVAL) {
		fail(req, &(struct failure){400, "bad_request", error.text}, NULL);
		return;
	}
	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	if (q->cursor.n) {
		api_request(req)->data = q;
		api_work(req, page_work);
		return;
	}
	r = query_jobs_start(api->queries, req, q, answer, &error);
	if (r == -EEXIST)
		fail(req, &(struct failure){409, "conflict", error.text}, NULL);
	else if (r == -EBUSY)
		fail(req, &(struct failure){429, "too_many_requests", error.text}, NULL);
	else if (r < 0)
		fail(req, &(struct failure){503, "unavailable", error.text}, NULL);
}

void query_delete(struct http_request *req, struct api *api)
{
	const struct api_request *a = api_request(req);
	int r = query_jobs_cancel(api->queries, a->who.owner, roles_allow(a->who.roles, ROLE_ADMIN),
				  a->parameter);

	if (r < 0)
		api_fail(req, 404, "no query %.*s is running",
			 SLICE_ARG(slice_first(a->parameter, QUERY_ID_CHARS)));
	else
		http_reply(req, 202, "application/json", SLICE("{\"cancelled\":true}\n"));
}

static void put_job(void *context, const struct query_job *job)
{
	struct json_writer *w = context;

	json_begin_object(w);
	json_put_name(w, "id");
	json_put_cstr(w, job->id);
	json_put_name(w, "owner");
	json_put_cstr(w, job->owner);
	json_put_name(w, "query");
	json_put_string(w, job->request.text);
	json_put_name(w, "startedUnixNano");
	json_put_i64_text(w, job->started_ns);
	json_put_name(w, "elapsedNano");
	json_put_i64(w, elapsed(job));
	json_put_name(w, "rows");
	json_put_u64(w, job->rows);
	json_put_name(w, "segments");
	json_put_u64(w, job->segments);
	json_put_name(w, "segmentsTotal");
	json_put_u64(w, job->segments_total);
	json_end_object(w);
}

void queries_get(struct http_request *req, struct api *api)
{
	const struct api_request *a = api_request(req);
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	json_begin_object(&w);
	json_put_name(&w, "queries");
	json_begin_array(&w);
	query_jobs_each(api->queries, a->who.owner, roles_allow(a->who.roles, ROLE_ADMIN), put_job,
			&w);
	json_end_array(&w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}
