/* api/tempo_values.c - the values of a tag: the keys of a grouping.
 *
 * They are asked for while somebody types, so a question that is not finished narrows nothing, and
 * a tag that nobody knows has no values: neither is an error. */
#include "api/tempo_values.h"

#include <errno.h>
#include <stdlib.h>

#include "api/tempo_query.h"
#include "base/cleanup.h"

#define VALUES_MOST   10000
#define ELEMENTS_MOST 1024 /* of one list, such as the names of a span's events */

struct listing {
	struct tempo_query t;
	bool second; /* version 2: with types */
	size_t limit;
	struct value *values; /* in t.arena */
	size_t n, room;
};

static int listing_put(struct listing *l, struct value v)
{
	if (value_is_nil(v))
		return 0;
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct value *more = realloc(l->values, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->values = more;
		l->room = room;
	}
	if (!value_dup(&l->t.arena, v, &l->values[l->n]))
		return -ENOMEM;
	l->n++;
	return 0;
}

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	return 0;
}

/* Rows are groups: the key, and how many.  A span's events make a list of their values. */
static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct listing *l = context;
	int r = 0;

	if (l->n >= VALUES_MOST)
		return 0;
	if (values[0].type != V_LIST)
		return listing_put(l, values[0]);
	for (uint32_t i = 0; r == 0 && i < values[0].n && i < ELEMENTS_MOST; i++)
		if (values[0].list[i].type != V_LIST)
			r = listing_put(l, values[0].list[i]);
	return r;
}

static int order(const void *a, const void *b)
{
	return value_order(*(const struct value *)a, *(const struct value *)b);
}

static void sort(struct listing *l)
{
	size_t kept = 0;

	if (l->n > 1)
		qsort(l->values, l->n, sizeof(*l->values), order);
	for (size_t i = 0; i < l->n; i++)
		if (kept == 0 || value_order(l->values[kept - 1], l->values[i]) != 0)
			l->values[kept++] = l->values[i];
	l->n = MIN(kept, l->limit);
}

static const char *tag_type(struct value v)
{
	static const char *const names[V_TYPES] = {
		[V_BOOL] = "bool",         [V_INT] = "int",        [V_FLOAT] = "float",
		[V_DURATION] = "duration", [V_STATUS] = "keyword", [V_KIND] = "keyword",
	};

	return names[v.type] ? names[v.type] : "string";
}

static void put_value(struct listing *l, struct json_writer *w, struct value v)
{
	struct slice text = v.type == V_STRING ? value_slice(v) : value_format(&l->t.arena, v);

	if (!l->second) {
		json_put_string(w, text);
		return;
	}
	json_begin_object(w);
	json_put_name(w, "type");
	json_put_cstr(w, tag_type(v));
	if (text.n) {
		json_put_name(w, "value");
		json_put_string(w, text);
	}
	json_end_object(w);
}

static void reply(struct listing *l, const struct query_stats *stats)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);

	sort(l);
	json_begin_object(&w);
	json_put_name(&w, "tagValues");
	json_begin_array(&w);
	for (size_t i = 0; i < l->n; i++)
		put_value(l, &w, l->values[i]);
	json_end_array(&w);
	json_put_name(&w, "metrics");
	json_begin_object(&w);
	json_end_object(&w);
	json_end_object(&w);
	tempo_query_reply(&l->t, &out);
}

/* --- the question --- */

static int group_prepare(struct listing *l, struct slice of, struct slice tag, bool quoted)
{
	struct slice scope = slice_of(NULL, 0), rest = tag, kept;
	struct buffer text = {0};
	const struct plan_node *root;
	int r;

	buffer_printf(&text, "%.*s | count() by (", SLICE_ARG(of));
	if (quoted) {
		scope = slice_cut(&rest, '.');
		buffer_slice(&text, rest.p ? scope : slice_of(NULL, 0));
		buffer_text(&text, ".\"");
		for (size_t i = 0; i < (rest.p ? rest.n : tag.n); i++) {
			char c = rest.p ? rest.p[i] : tag.p[i];

			if (c == '"' || c == '\\')
				buffer_byte(&text, '\\');
			buffer_byte(&text, c);
		}
		buffer_byte(&text, '"');
	} else {
		buffer_slice(&text, tag);
	}
	buffer_byte(&text, ')');
	kept = text.failed ? slice_of(NULL, 0) : arena_dup(&l->t.arena, buffer_get(&text));
	buffer_done(&text);
	r = kept.p ? tempo_query_prepare(&l->t, kept) : -ENOMEM;
	if (r < 0)
		return r;
	/* A tag is one name, whatever else has been written there. */
	root = query_results(l->t.query) == 1 ? query_plan(l->t.query, 0)->root : NULL;
	return root && root->op == PLAN_GROUP && root->group.key_n == 1 ? 0 : -EINVAL;
}

static bool has_prefix(struct slice tag)
{
	static const char *const prefixes[] = {
		".", "span.", "resource.", "event.", "link.", "instrumentation.", "parent."};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (slice_starts(tag, slice_cstr(prefixes[i])))
			return true;
	return false;
}

/* Version 1 knows attributes of any scope alone; what is no name by itself is tried in quotes. */
static int question_prepare(struct listing *l, struct slice tag)
{
	struct slice of = tempo_without_hints(l->t.job->request.text);
	int r = -EINVAL;

	if (of.n == 0 || tempo_query_prepare(&l->t, of) < 0 || query_results(l->t.query) != 1 ||
	    query_plan(l->t.query, 0)->root->op != PLAN_SPANSET)
		of = SLICE("{}");
	if (l->second || has_prefix(tag))
		r = group_prepare(l, of, tag, false);
	if (r == -EINVAL && !l->second && !has_prefix(tag)) {
		struct buffer dotted = {0};
		struct slice kept;

		buffer_byte(&dotted, '.');
		buffer_slice(&dotted, tag);
		kept = dotted.failed ? slice_of(NULL, 0)
				     : arena_dup(&l->t.arena, buffer_get(&dotted));
		buffer_done(&dotted);
		if (!kept.p)
			return -ENOMEM;
		tag = kept;
		r = group_prepare(l, of, tag, false);
	}
	if (r == -EINVAL)
		r = group_prepare(l, of, tag, true);
	return r;
}

struct asked {
	struct slice tag;
	uint64_t limit;
	bool second;
};

/* What TraceQL has words for is listed whole. */
static bool listed_whole(struct listing *l, struct slice tag)
{
	bool status = slice_eq(tag, SLICE("status")) || slice_eq(tag, SLICE("span:status"));
	bool kind = slice_eq(tag, SLICE("kind")) || slice_eq(tag, SLICE("span:kind"));

	if (!status && !kind)
		return false;
	for (int64_t i = 0; i < (status ? 3 : 6); i++)
		if (listing_put(l, value_of(status ? V_STATUS : V_KIND, i)) < 0)
			return false;
	return true;
}

static void values_run(struct query_job *job)
{
	const struct asked *asked = api_request(job->req)->data;
	struct listing l = {.second = asked->second};
	struct query_run run = {.begin = on_begin, .row = on_row, .context = &l};
	struct query_stats stats = {0};
	struct error error = {0};
	int r = 0;

	tempo_query_init(&l.t, job);
	l.limit = asked->limit && asked->limit < VALUES_MOST ? asked->limit : VALUES_MOST;
	if (!listed_whole(&l, asked->tag)) {
		r = question_prepare(&l, asked->tag);
		if (r == 0)
			r = tempo_query_run(&l.t, &run, &stats, &error);
		else if (r == -EINVAL)
			r = 0; /* there is no such tag */
	}
	if (r < 0)
		tempo_query_fail(&l.t, r, &error);
	else
		reply(&l, &stats);
	free(l.values);
	tempo_query_done(&l.t);
}

static void values_start(struct http_request *req, struct api *api, bool second)
{
	struct asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct query_request q = {0};
	int r = asked ? http_path_decode(req, api_request(req)->parameter, &asked->tag) : -ENOMEM;

	if (r == -EINVAL || (r == 0 && asked->tag.n > TEMPO_TEXT_MOST)) {
		http_reply_text(req, 400, "invalid tag");
		return;
	}
	if (r < 0) {
		api_fail_errno(req, r);
		return;
	}
	asked->second = second;
	if (!tempo_number(req, "limit", &asked->limit))
		return;
	api_request(req)->data = asked;
	tempo_query_start(req, api, &q, values_run);
}

void tempo_values_v1(struct http_request *req, struct api *api)
{
	values_start(req, api, false);
}

void tempo_values_v2(struct http_request *req, struct api *api)
{
	values_start(req, api, true);
}
