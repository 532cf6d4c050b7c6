/* api/tempo_values.c - the values of a tag: the keys of a grouping.
 *
 * They are asked for while somebody types, so a question that is not finished narrows nothing, and
 * a tag that nobody knows has no values: neither is an error. */
#include "api/tempo_values.h"

#include <errno.h>
#include <stdlib.h>

#include "api/tempo_query.h"
#include "api/tempo_slices.h"
#include "base/cleanup.h"
#include "wire/protobuf.h"

#define VALUES_MOST   10000
#define KEPT_MOST     (4 * VALUES_MOST) /* before those that stand twice are left out */
#define ELEMENTS_MOST 1024              /* of one list, such as the names of a span's events */

struct listed {
	struct value value; /* in the arena of the query */
	bool told;
};

struct listing {
	struct tempo_query t;
	bool second; /* version 2: with types */
	size_t limit;
	struct listed *values;
	size_t n, room;
	struct tempo_progress progress;
};

static int listing_put(struct listing *l, struct value v)
{
	if (value_is_nil(v))
		return 0;
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct listed *more = realloc(l->values, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->values = more;
		l->room = room;
	}
	l->values[l->n] = (struct listed){0};
	if (!value_dup(&l->t.arena, v, &l->values[l->n].value))
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

	if (l->n >= KEPT_MOST)
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
	const struct listed *x = a, *y = b;
	int r = value_order(x->value, y->value);

	return r ? r : y->told - x->told;
}

/* Sorts, and leaves out what stands twice, and what is too much. */
static void tidy(struct listing *l)
{
	size_t kept = 0;

	if (l->n > 1)
		qsort(l->values, l->n, sizeof(*l->values), order);
	for (size_t i = 0; i < l->n; i++)
		if (kept == 0 || value_order(l->values[kept - 1].value, l->values[i].value) != 0)
			l->values[kept++] = l->values[i];
	l->n = MIN(kept, (size_t)VALUES_MOST);
}

static const char *tag_type(struct value v)
{
	static const char *const names[V_TYPES] = {
		[V_BOOL] = "bool",         [V_INT] = "int",        [V_FLOAT] = "float",
		[V_DURATION] = "duration", [V_STATUS] = "keyword", [V_KIND] = "keyword",
	};

	return names[v.type] ? names[v.type] : "string";
}

static void put_value(struct listing *l, struct tempo_message *m, struct value v)
{
	struct slice text = v.type == V_STRING ? value_slice(v) : value_format(&l->t.arena, v);
	size_t begun;

	if (!l->second) {
		message_item(m, 1, text);
		return;
	}
	begun = message_begin(m, NULL, 1);
	message_text(m, "type", 1, slice_cstr(tag_type(v)));
	message_text(m, "value", 2, text);
	message_end(m, begun);
}

/* All of them, or those that have not been told yet, which are then. */
static void put(struct listing *l, struct buffer *out, bool fresh)
{
	struct tempo_message m = tempo_message(out, l->t.stream);
	size_t begun = message_begin(&m, NULL, 0);

	message_list(&m, "tagValues");
	for (size_t i = 0; i < l->n && i < l->limit; i++) {
		if (!fresh || !l->values[i].told)
			put_value(l, &m, l->values[i].value);
		l->values[i].told = true;
	}
	message_list_end(&m);
	tempo_put_metadata_metrics(&m, &l->progress);
	message_end(&m, begun);
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

/* Version 1 knows attributes of any scope, and a few names for what is none. */
static bool first_word(struct slice tag, struct slice *ret_field)
{
	static const char *const fields[][2] = {
		{"name", "name"},
		{"root.name", "rootName"},
		{"root.service.name", "rootServiceName"},
		{"rootServiceName", "rootServiceName"},
		{"rootName", "rootName"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (slice_eq(tag, slice_cstr(fields[i][0]))) {
			*ret_field = slice_cstr(fields[i][1]);
			return true;
		}
	return false;
}

/* What is no name by itself is tried in quotes, as all of version 1 is: there `kind` is an
 * attribute. */
static int question_prepare(struct listing *l, struct slice tag)
{
	struct slice of = tempo_without_hints(l->t.job->request.text);
	int r = -EINVAL;

	if (of.n == 0 || tempo_query_prepare(&l->t, of) < 0 || query_results(l->t.query) != 1 ||
	    query_plan(l->t.query, 0)->root->op != PLAN_SPANSET)
		of = SLICE("{}");
	if (l->second || has_prefix(tag) || first_word(tag, &tag)) {
		r = group_prepare(l, of, tag, false);
	} else {
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

/* What TraceQL has words for is listed whole; version 1 has one name for it, and takes the others
 * for attributes. */
static bool listed_whole(struct listing *l, struct slice tag)
{
	bool status =
		l->second ? slice_eq(tag, SLICE("status")) || slice_eq(tag, SLICE("span:status"))
			  : slice_eq(tag, SLICE("status.code"));
	bool kind =
		l->second && (slice_eq(tag, SLICE("kind")) || slice_eq(tag, SLICE("span:kind")));

	if (!status && !kind)
		return false;
	for (int64_t i = 0; i < (status ? 3 : 6); i++)
		if (listing_put(l, value_of(status ? V_STATUS : V_KIND, i)) < 0)
			return false;
	return true;
}

/* A slice of time after the other where somebody waits for the first; else all at once. */
static int values_find(struct listing *l, struct error *error)
{
	struct tempo_slices slices = {.ranges = {l->t.job->request.range}, .n = 1};
	const struct snapshot *snapshot;
	int r = 0;

	if (l->t.stream) {
		r = tempo_query_snapshot(&l->t, &snapshot);
		if (r == 0)
			r = tempo_slices(snapshot, l->t.job->request.range, 0, &slices);
	}
	l->progress.all = slices.n;
	for (size_t i = 0; r == 0 && i < slices.n; i++) {
		struct query_run run = {
			.range = slices.ranges[i], .begin = on_begin, .row = on_row, .context = l};
		struct query_stats stats = {0};
		struct buffer out = {0};

		r = tempo_query_run(&l->t, &run, &stats, error);
		l->progress.done++;
		if (r < 0)
			break;
		tidy(l);
		if (!l->t.stream || i + 1 == slices.n)
			continue;
		put(l, &out, true);
		r = tempo_query_part(&l->t, &out);
	}
	return r;
}

static void values_run(struct query_job *job)
{
	const struct asked *asked = api_request(job->req)->data;
	struct listing l = {.second = asked->second, .progress = {.done = 1, .all = 1}};
	struct buffer out = {0};
	struct error error = {0};
	int r = 0;

	tempo_query_init(&l.t, job);
	l.limit = asked->limit && asked->limit < VALUES_MOST ? asked->limit : VALUES_MOST;
	if (listed_whole(&l, asked->tag)) {
		tidy(&l);
	} else {
		r = question_prepare(&l, asked->tag);
		l.progress.done = r == 0 ? 0 : 1;
		if (r == 0)
			r = values_find(&l, &error);
		else if (r == -EINVAL)
			r = 0; /* there is no such tag */
	}
	if (r < 0) {
		tempo_query_fail(&l.t, r, &error);
	} else {
		put(&l, &out, false);
		tempo_query_reply(&l.t, &out);
	}
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

/* SearchTagValuesRequest { tagName = 1, query = 2, start = 4, end = 5, maxTagValues = 6 } */
static int values_read(struct http_request *req, struct slice question, struct query_request *q,
		       bool second, struct error *error)
{
	struct asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct pb_reader reader = pb_open(question);
	uint64_t from = 0, to = 0;
	struct pb_field f;

	if (!asked)
		return -ENOMEM;
	asked->second = second;
	q->text = SLICE("");
	while (pb_next(&reader, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			asked->tag = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			q->text = f.bytes;
		else if (f.tag == PB_TAG(4, PB_VARINT))
			from = f.value;
		else if (f.tag == PB_TAG(5, PB_VARINT))
			to = f.value;
		else if (f.tag == PB_TAG(6, PB_VARINT))
			asked->limit = f.value;
	}
	if (reader.bad)
		return error_set(error, -EINVAL, "the request is not well-formed protobuf");
	if (asked->tag.n == 0 || asked->tag.n > TEMPO_TEXT_MOST)
		return error_set(error, -EINVAL, "invalid tagName");
	api_request(req)->data = asked;
	return tempo_window(from, to, &q->range, error);
}

void tempo_stream_values_v1(struct http_request *req, struct api *api)
{
	static const struct tempo_method method = {values_read, values_run, false};

	tempo_stream_open(req, api, &method);
}

void tempo_stream_values_v2(struct http_request *req, struct api *api)
{
	static const struct tempo_method method = {values_read, values_run, true};

	tempo_stream_open(req, api, &method);
}
