/* api/bulk_get.c - /api/v1/bulk: every modelled trace of a window, for programs that want them all.
 *
 * Lines of JSON, newest first:
 *
 *   {"cursor":"…","trace":{…}}                 the modelled trace (docs/format/api.md)
 *   {"cursor":"…","traceId":"…","error":"…"}   one that is too large to be modelled
 *   {"end":true,"traces":12}                   everything was given
 *   {"end":false,"traces":5,"next":"…"}        the limit was reached; the next one's `cursor`
 *
 * A stream that ends without the last line was cut off: ask again with the last cursor that came.
 * Several workers take a partition each; a trace is in one of them. */
#include "api/bulk_get.h"

#include <errno.h>
#include <stdlib.h>

#include "api/params.h"
#include "api/trace_json.h"
#include "api/work_stream.h"
#include "base/cleanup.h"
#include "core/clock.h"

#define PAGE        128                 /* traces looked up at a time */
#define PIECE_BYTES ((size_t)128 << 10) /* of output a call aims at */

struct bulk {
	struct store *store;
	struct store_query query;
	struct arena arena; /* the query's texts */
	size_t limit, given;
	/* The page under way. */
	struct trace_list list;
	size_t at;
	bool listed, last; /* `last`: no page follows */
	/* The trace under way. */
	struct event_set set;
	struct trace *trace;
	struct critical_path path;
	struct trace_json json;
	bool ended;
};

static void trace_close(struct bulk *b)
{
	critical_path_done(&b->path);
	b->path = (struct critical_path){0};
	b->trace = trace_free(b->trace);
	event_set_done(&b->set);
}

static void bulk_free(void *state)
{
	struct bulk *b = state;

	trace_close(b);
	trace_list_done(&b->list);
	arena_done(&b->arena);
	free(b);
}

/* The next page of traces; each begins where the last ended. */
static int page_open(struct bulk *b)
{
	int r;

	if (b->listed) {
		const struct trace_summary *row = &b->list.rows[b->list.n - 1];

		b->query.after = true;
		b->query.after_start_ns = row->start_ns;
		b->query.after_duration_ns = row->duration_ns;
		b->query.after_id = row->id;
		if (b->query.order == STORE_NEWEST && row->start_ns < INT64_MAX)
			b->query.to_ns = row->start_ns + 1; /* newer groups need not be opened */
		trace_list_done(&b->list);
	}
	b->listed = false;
	b->at = 0;
	b->query.limit = PAGE;
	b->query.keys = true;
	r = store_find(b->store, &b->query, &b->list);
	if (r == 0) {
		b->listed = b->list.n > 0;
		b->last = !b->list.more || b->list.n == 0;
	}
	return r;
}

static void put_cursor(struct json_writer *w, const char *name, const struct trace_summary *row)
{
	char cursor[CURSOR_TEXT_BYTES];

	cursor_format(row, cursor);
	json_put_name(w, name);
	json_put_cstr(w, cursor);
}

static void put_giant(struct buffer *out, const struct trace_summary *row)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	put_cursor(&w, "cursor", row);
	json_put_name(&w, "traceId");
	json_put_hex(&w, row->id.b, sizeof(row->id.b));
	json_put_name(&w, "error");
	json_put_cstr(&w, "too large to be modelled at once; /api/v1/export gives its rows");
	json_end_object(&w);
	buffer_byte(out, '\n');
}

/* Opens the next trace of the page and begins its line. */
static int trace_open(struct bulk *b, struct buffer *out)
{
	const struct trace_summary *row = &b->list.rows[b->at++];
	struct json_writer w = json_write(out);
	int r = store_trace(b->store, row->id, &b->set);

	if (r == -ENOENT) /* retention has been there */
		return 0;
	if (r == 0)
		r = trace_build(b->set.refs, b->set.n, 0, &b->trace);
	if (r == 0 && b->trace->block_n > 0) {
		r = critical_path_whole(b->trace, &b->path);
		if (r != -ENOMEM)
			r = 0;
	}
	b->given += r == 0 || r == -E2BIG;
	if (r == -E2BIG) {
		put_giant(out, row);
		trace_close(b);
		return 0;
	}
	if (r < 0)
		return r;
	b->json = trace_json_of(b->trace, &b->path);
	json_begin_object(&w);
	put_cursor(&w, "cursor", row);
	json_put_name(&w, "trace");
	return 0;
}

/* The object's end is its only newline, which would be the end of the line. */
static void trace_go_on(struct bulk *b, struct buffer *out)
{
	bool more = trace_json_next(&b->json, out);

	if (more && !out->failed && out->p[out->n - 1] != '\n')
		return;
	if (more && !out->failed)
		out->n--;
	buffer_text(out, "}\n");
	trace_close(b);
}

static void put_end(struct bulk *b, struct buffer *out)
{
	struct json_writer w = json_write(out);
	bool all = b->last && b->at == b->list.n;

	json_begin_object(&w);
	json_put_name(&w, "end");
	json_put_bool(&w, all);
	json_put_name(&w, "traces");
	json_put_u64(&w, b->given);
	if (!all && b->at > 0)
		put_cursor(&w, "next", &b->list.rows[b->at - 1]);
	json_end_object(&w);
	buffer_byte(out, '\n');
	b->ended = true;
}

static int bulk_next(void *state, struct buffer *out)
{
	struct bulk *b = state;
	int r = 0;

	while (r == 0 && !b->ended && out->n < PIECE_BYTES && !out->failed) {
		if (b->trace)
			trace_go_on(b, out);
		else if ((b->limit && b->given == b->limit) || (b->last && b->at == b->list.n))
			put_end(b, out);
		else if (b->at == b->list.n)
			r = page_open(b);
		else
			r = trace_open(b, out);
	}
	if (out->failed)
		r = -ENOMEM;
	return r < 0 ? r : !b->ended;
}

/* The answer outlives the request's arena. */
static int query_keep(struct bulk *b, const struct store_query *query)
{
	struct store_tag *tags = arena_zalloc(&b->arena, query->tag_n + 1, sizeof(*tags));

	b->query = *query;
	if (!tags)
		return -ENOMEM;
	for (size_t i = 0; i < query->tag_n; i++)
		tags[i] = (struct store_tag){arena_dup(&b->arena, query->tags[i].key),
					     arena_dup(&b->arena, query->tags[i].value)};
	b->query.tags = tags;
	b->query.service = arena_dup(&b->arena, query->service);
	b->query.operation = arena_dup(&b->arena, query->operation);
	return b->query.service.p && b->query.operation.p ? 0 : -ENOMEM;
}

static void work(struct http_request *req, struct api *api)
{
	struct bulk *b = calloc(1, sizeof(*b));
	struct work_pieces pieces = {bulk_next, bulk_free, b};
	int64_t now_ns = clock_wall_ns();
	struct params params = {0};
	struct error error = {0};
	int r = b ? params_parse(req, now_ns, &params, &error) : -ENOMEM;

	if (r == 0 && params.query.to_ns == 0)
		params.query.to_ns = now_ns; /* what comes meanwhile does not make it endless */
	if (r == 0)
		r = query_keep(b, &params.query);
	if (r < 0) {
		if (b)
			bulk_free(b);
		if (r == -EINVAL)
			api_fail(req, 400, "%s", error.text);
		else
			api_fail_errno(req, r);
		return;
	}
	b->store = api->store;
	b->limit = params.query.limit;
	work_stream_send(req, api, "application/x-ndjson", &pieces);
}

void bulk_get(struct http_request *req, struct api *api)
{
	api_work(req, work);
}
