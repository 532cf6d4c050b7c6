/* api/trace_get.c - whole traces in any format, streamed: what is sent is made piece by piece, when
 * the client has taken what came before. */
#include "api/trace_get.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/params.h"
#include "api/plain.h"
#include "api/trace_json.h"
#include "api/work_stream.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/clock.h"
#include "wire/pieces.h"

#define FORMATS_TEXT_BYTES 256

/* Everything an answer is made from; freed when it has been sent. */
struct download {
	struct event_set set;
	struct plain plain;
	struct pieces pieces;
	struct trace *trace; /* the modelled form, or NULL */
	struct critical_path path;
	struct trace_json json;
};

static void download_free(void *context)
{
	struct download *d = context;

	if (!d)
		return;
	critical_path_done(&d->path);
	trace_free(d->trace);
	plain_done(&d->plain);
	event_set_done(&d->set);
	free(d);
}

static enum http_pull download_pull(void *context, struct buffer *out)
{
	struct download *d = context;
	bool more = d->trace ? trace_json_next(&d->json, out) : pieces_next(&d->pieces, out);

	if (out->failed)
		return HTTP_PULL_ABORT;
	return more ? HTTP_PULL_MORE : HTTP_PULL_END;
}

static void download_send(struct http_request *req, const char *type, struct download *d)
{
	const struct http_stream stream = {download_pull, download_free, d};

	http_reply_stream(req, 200, type, &stream);
}

/* NULL after having answered. */
static const struct codec *codec_of(struct http_request *req, struct slice name)
{
	const struct codec *found = codec_find(name);
	char all[FORMATS_TEXT_BYTES] = "";
	size_t n, used = 0;
	const struct codec *list = codec_list(&n);

	if (found)
		return found;
	for (size_t i = 0; i < n && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, ", %s", list[i].name);
	api_fail(req, 400, "format: '%.*s' is not one of causet%s",
		 SLICE_ARG(slice_first(name, 60)), all);
	return NULL;
}

int trace_id_read(struct slice text, struct trace_id *ret_id)
{
	struct slice rest = text, version = slice_cut(&rest, '-');

	if (rest.p && version.n == 2) /* 00-TRACE-SPAN-FLAGS */
		return trace_id_parse(slice_cut(&rest, '-'), ret_id);
	return trace_id_parse(text, ret_id);
}

static int model_make(struct download *d)
{
	int r = trace_build(d->set.refs, d->set.n, 0, &d->trace);

	if (r < 0)
		return r;
	if (d->trace->block_n > 0) {
		r = critical_path_whole(d->trace, &d->path);
		if (r == -ENOMEM)
			return r;
	}
	d->json = trace_json_of(d->trace, &d->path);
	return 0;
}

static int rows_make(struct download *d, const struct codec *codec)
{
	int r = plain_rows(codec, d->set.refs, d->set.n, &d->plain);

	if (r < 0)
		return r;
	free(d->set.refs); /* not needed any more; the batches are */
	d->set.refs = NULL;
	d->set.n = d->set.capacity = 0;
	d->pieces = pieces_of(codec, d->plain.refs, d->plain.n);
	return 0;
}

/* The traces a filter lets through. */
struct chosen {
	struct map map;
	struct trace_id *ids;
	size_t n, capacity;
};

static bool chosen_equal(const void *context, uint32_t value, const void *key)
{
	const struct chosen *c = context;

	return trace_id_eq(c->ids[value], *(const struct trace_id *)key);
}

static uint64_t chosen_hash(const struct chosen *c, const struct trace_id *id)
{
	return hash_bytes(id->b, sizeof(id->b), c->map.seed);
}

static int chosen_add(struct chosen *c, struct trace_id id)
{
	if (!vec_reserve(&c->ids, &c->capacity, c->n + 1, sizeof(*c->ids)) ||
	    !map_put(&c->map, chosen_hash(c, &id), (uint32_t)c->n))
		return -ENOMEM;
	c->ids[c->n++] = id;
	return 0;
}

static void chosen_free(struct chosen *c)
{
	if (!c)
		return;
	map_done(&c->map);
	free(c->ids);
	free(c);
}

static void chosen_filter(const struct chosen *c, struct event_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->n; i++) {
		const struct trace_id *id = &event_get(set->refs[i])->trace_id;

		if (map_get(&c->map, chosen_hash(c, id), chosen_equal, c, id) != MAP_NONE)
			set->refs[kept++] = set->refs[i];
	}
	set->n = kept;
}

/* Pages through the search; with a limit it stops there. */
static int chosen_find(struct chosen *c, struct store *store, struct store_query query)
{
	size_t limit = query.limit;
	bool more = true;

	query.keys = true;
	while (more && (limit == 0 || c->n < limit)) {
		struct trace_list list;
		int r;

		query.limit =
			limit ? MIN(limit - c->n, (size_t)PARAMS_MAX_LIMIT) : PARAMS_MAX_LIMIT;
		r = store_find(store, &query, &list);
		for (size_t i = 0; r == 0 && i < list.n; i++)
			r = chosen_add(c, list.rows[i].id);
		if (r < 0)
			return r;
		more = list.more && list.n > 0;
		if (more) {
			query.after = true;
			query.after_start_ns = list.rows[list.n - 1].start_ns;
			query.after_duration_ns = list.rows[list.n - 1].duration_ns;
			query.after_id = list.rows[list.n - 1].id;
		}
		trace_list_done(&list);
	}
	return 0;
}

/* A trace too large to be held, or everything: page by page. */
struct paged {
	const struct codec *codec;
	struct store_parts parts; /* of one trace, or */
	struct store_bulk bulk;   /* of all, */
	struct chosen *chosen;    /* or these of them */
};

#define PAGE_ROWS 16384 /* of one trace */

static void paged_free(void *state)
{
	struct paged *p = state;

	if (p->parts.store)
		store_parts_done(&p->parts);
	store_bulk_done(&p->bulk);
	chosen_free(p->chosen);
	free(p);
}

static int paged_next(void *state, struct buffer *out)
{
	struct paged *p = state;
	struct event_set set = {0};
	_cleanup_(plain_done)
	struct plain plain = {0};
	struct pieces pieces;
	int r = p->parts.store ? store_parts_next(&p->parts, PAGE_ROWS, &set)
			       : store_bulk_next(&p->bulk, &set);

	if (r > 0 && p->chosen)
		chosen_filter(p->chosen, &set);
	if (r > 0 && set.n > 0) {
		int e = plain_rows(p->codec, set.refs, set.n, &plain);

		if (e < 0)
			r = e;
	}
	pieces = pieces_of(p->codec, plain.refs, plain.n);
	while (r > 0 && plain.n > 0 && pieces_next(&pieces, out))
		;
	event_set_done(&set);
	return r;
}

static void paged_send(struct http_request *req, struct api *api, struct paged *p)
{
	const struct work_pieces pieces = {paged_next, paged_free, p};

	work_stream_send(req, api, p->codec->content_type, &pieces);
}

static int export_choose(struct paged *p, struct store *store, const struct params *params)
{
	p->chosen = calloc(1, sizeof(*p->chosen));
	if (!p->chosen)
		return -ENOMEM;
	map_init(&p->chosen->map);
	return chosen_find(p->chosen, store, params->query);
}

static void export_work(struct http_request *req, struct api *api)
{
	const struct codec *codec;
	struct params params;
	struct error error;
	struct paged *p;
	int r = params_parse_export(req, clock_wall_ns(), &params, &error);

	if (r == -EINVAL) {
		api_fail(req, 400, "%s", error.text);
		return;
	}
	codec = codec_of(req, params.format.n ? params.format : SLICE("otlp-json"));
	if (!codec)
		return;
	p = calloc(1, sizeof(*p));
	if (!p) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	p->codec = codec;
	store_bulk_init(&p->bulk, api->store);
	r = params.filtered || params.query.limit || params.query.after
		    ? export_choose(p, api->store, &params)
		    : 0;
	if (r < 0) {
		paged_free(p);
		api_fail_errno(req, r);
		return;
	}
	paged_send(req, api, p);
}

void export_get(struct http_request *req, struct api *api)
{
	api_work_any_time(req, export_work);
}

/* --- one trace --- */

static void trace_fail(struct http_request *req, int error)
{
	if (error == -ENOENT)
		api_fail(req, 404, "there is no trace %.*s",
			 SLICE_ARG(slice_first(api_request(req)->parameter, 80)));
	else if (error == -E2BIG)
		api_fail(req, 413,
			 "the trace has more events than can be modelled at once; ask for pages of "
			 "it (?limit=10000&offset=0), or for a format (?format=otlp-json), which "
			 "has no limit");
	else
		api_fail_errno(req, error);
}

/* Spans as they are can be written without seeing all of them. */
static void giant_send(struct http_request *req, struct api *api, const struct codec *codec,
		       struct trace_id id)
{
	struct paged *p = calloc(1, sizeof(*p));

	if (!p) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	p->codec = codec;
	store_parts_init(&p->parts, api->store, id);
	paged_send(req, api, p);
}

/* Some rows of the trace, in order of arrival, and where the next page is. */
static int page_get(struct http_request *req, struct api *api, struct trace_id id,
		    const struct params *params, struct event_set *set)
{
	size_t limit = params->query.limit ? params->query.limit : PARAMS_MAX_LIMIT;
	char link[300], hex[TRACE_ID_HEX + 1];
	struct store_parts parts;
	int r;

	store_parts_init(&parts, api->store, id);
	parts.skip = params->offset;
	r = store_parts_next(&parts, limit + 1, set);
	store_parts_done(&parts);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (set->n <= limit)
		return 0;
	set->n = limit;
	trace_id_format(id, hex);
	snprintf(link, sizeof(link),
		 "</api/v1/traces/%s?limit=%zu&offset=%" PRIu64 "%s%.*s>; rel=\"next\"", hex, limit,
		 params->offset + limit, params->format.n ? "&format=" : "",
		 SLICE_ARG(slice_first(params->format, 40)));
	return http_reply_header(req, "Link", slice_cstr(link));
}

static void trace_work(struct http_request *req, struct api *api)
{
	const struct codec *codec = NULL;
	struct params params;
	struct error error;
	struct trace_id id;
	struct download *d;
	int r;

	if (trace_id_read(api_request(req)->parameter, &id) < 0) {
		api_fail(req, 400,
			 "'%.*s' is not a trace id: 1 to 32 hex digits, or a whole traceparent",
			 SLICE_ARG(slice_first(api_request(req)->parameter, 80)));
		return;
	}
	r = params_parse(req, clock_wall_ns(), &params, &error);
	if (r == -EINVAL) {
		api_fail(req, 400, "%s", error.text);
		return;
	}
	if (params.format.n > 0 && !slice_eq(params.format, SLICE("causet"))) {
		codec = codec_of(req, params.format);
		if (!codec)
			return;
	}
	d = calloc(1, sizeof(*d));
	if (d && (params.query.limit || params.offset))
		r = page_get(req, api, id, &params, &d->set);
	else
		r = d ? store_trace(api->store, id, &d->set) : -ENOMEM;
	if (r == -E2BIG && codec) {
		download_free(d);
		giant_send(req, api, codec, id);
		return;
	}
	if (r == 0)
		r = codec ? rows_make(d, codec) : model_make(d);
	if (r < 0) {
		download_free(d);
		trace_fail(req, r);
		return;
	}
	download_send(req, codec ? codec->content_type : "application/json", d);
}

void trace_get(struct http_request *req, struct api *api)
{
	api_work(req, trace_work);
}
