/* api/tempo_search.c - Tempo's search: traces that TraceQL, or tags of the older form, find.
 *
 * The question is asked with a stage more, which brings along what the answer shows besides the
 * spans: root, begin and duration of the trace, and every attribute that the question names.
 *
 * Grafana reads the answer with a decoder that refuses fields it does not know. */
#include "api/tempo_search.h"

#include <errno.h>

#include "api/tempo_hits.h"
#include "api/tempo_legacy.h"
#include "api/tempo_query.h"
#include "base/cleanup.h"

#define LIMIT        20
#define LIMIT_MOST   10000
#define SPANS        3
#define SPANS_MOST   10000
#define NAMED_MOST   64 /* attributes of the question that are shown */
#define WALK_DEPTH   256
#define NOT_RECEIVED "<root span not yet received>"

struct asked {
	uint64_t limit, spans;
	bool legacy; /* no sets of spans in the answer */
};

/* --- what the question names --- */

struct named {
	struct slice text; /* of the question */
	struct buffer *out;
	struct slice seen[NAMED_MOST];
	size_t n;
};

static void named_add(struct named *d, const struct plan_expr *e)
{
	struct slice text;

	if (e->end <= e->at || e->end > d->text.n || d->n == NAMED_MOST)
		return;
	text = slice_of(d->text.p + e->at, e->end - e->at);
	for (size_t i = 0; i < d->n; i++)
		if (slice_eq(d->seen[i], text))
			return;
	d->seen[d->n++] = text;
	buffer_text(d->out, ", ");
	buffer_slice(d->out, text);
}

static void expr_walk(struct named *d, const struct plan_expr *e, int depth)
{
	if (!e || depth > WALK_DEPTH)
		return;
	if (e->kind == X_ATTR || e->kind == X_FIELD)
		named_add(d, e);
	if (e->kind == X_OP || e->kind == X_LIST ||
	    (e->kind == X_CALL && e->function != CALL_WHAT_IF))
		for (uint32_t i = 0; i < e->n; i++)
			expr_walk(d, e->args[i], depth + 1);
}

static void set_walk(struct named *d, const struct plan_set *s, int depth)
{
	if (!s || depth > WALK_DEPTH)
		return;
	expr_walk(d, s->predicate, depth + 1);
	set_walk(d, s->left, depth + 1);
	set_walk(d, s->right, depth + 1);
}

/* --- the run --- */

struct searching {
	struct tempo_query t;
	const struct asked *asked;
	const struct plan_node *node; /* of the spans */
	struct tempo_hits hits;
	size_t trace, start, root_service, root_name, duration, span, name, time, took;
	bool named, stated; /* the question speaks of names, of status */
};

static size_t column_of(const struct plan_node *node, enum plan_field field)
{
	for (uint32_t i = 0; i < node->column_n; i++) {
		const struct plan_expr *e = node->spanset.fields[i];

		if (e->kind == X_FIELD && e->field.field == field && e->field.of == OF_SELF)
			return i;
	}
	return SIZE_MAX;
}

static bool columns_find(struct searching *s)
{
	const struct {
		size_t *column;
		enum plan_field field;
	} wanted[] = {
		{&s->trace, F_TRACE_ID},
		{&s->start, F_TRACE_START},
		{&s->root_service, F_TRACE_ROOT_SERVICE},
		{&s->root_name, F_TRACE_ROOT},
		{&s->duration, F_TRACE_DURATION},
		{&s->span, F_SPAN_ID},
		{&s->name, F_NAME},
		{&s->time, F_TIME},
		{&s->took, F_DURATION},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		*wanted[i].column = column_of(s->node, wanted[i].field);
		if (*wanted[i].column == SIZE_MAX)
			return false;
	}
	return true;
}

static void question_speaks(struct searching *s, struct slice of)
{
	s->named |= slice_eq(of, SLICE("name")) || slice_eq(of, SLICE("span:name"));
	s->stated |= slice_eq(of, SLICE("status")) || slice_eq(of, SLICE("span:status"));
}

/* Prepares the question with the stage more.  -EINVAL: refused, with diagnostics; -ENOTSUP: it
 * gives no spans. */
static int question_prepare(struct searching *s, struct slice text)
{
	struct buffer more = {0};
	struct named named = {.text = text, .out = &more};
	const struct plan_node *root;
	int r = tempo_query_prepare(&s->t, text);

	if (r < 0)
		return r;
	if (query_results(s->t.query) != 1)
		return -ENOTSUP;
	root = query_plan(s->t.query, 0)->root;
	if (root->op != PLAN_SPANSET)
		return -ENOTSUP;
	buffer_slice(&more, tempo_without_hints(text));
	buffer_text(&more, " | select(rootServiceName, rootName, traceDuration, trace:start");
	set_walk(&named, root->spanset.set, 0);
	buffer_byte(&more, ')');
	for (size_t i = 0; i < named.n; i++)
		question_speaks(s, named.seen[i]);
	r = more.failed ? -ENOMEM : 0;
	if (r == 0) {
		struct slice kept = arena_dup(&s->t.arena, buffer_get(&more));

		r = kept.p ? tempo_query_prepare(&s->t, kept) : -ENOMEM;
	}
	buffer_done(&more);
	if (r < 0)
		return r;
	s->node = query_plan(s->t.query, 0)->root;
	return s->node->op == PLAN_SPANSET && columns_find(s) ? 0 : -ENOTSUP;
}

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	return 0;
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct searching *s = context;

	if (n != s->hits.column_n)
		return -EINVAL;
	return tempo_hits_add(&s->hits, values[s->start].i, value_slice(values[s->trace]), values);
}

/* --- the answer --- */

/* What protobuf's JSON has only when it says something. */
static void put_text(struct json_writer *w, const char *name, struct slice text)
{
	if (text.n == 0)
		return;
	json_put_name(w, name);
	json_put_string(w, text);
}

static struct slice text_of(struct value v)
{
	return v.type == V_STRING ? value_slice(v) : slice_of(NULL, 0);
}

/* As what an answer shows a column; empty: not among the attributes, it has a place of its own. */
static struct slice key_of(const struct plan_expr *e)
{
	static const struct {
		enum plan_field field;
		const char *key;
	} keys[] = {
		{F_STATUS_MESSAGE, "statusMessage"},
		{F_KIND, "kind"},
		{F_NESTED_LEFT, "nestedSetLeft"},
		{F_NESTED_RIGHT, "nestedSetRight"},
		{F_NESTED_PARENT, "nestedSetParent"},
		{F_EVENT_NAME, "event:name"},
		{F_EVENT_SINCE_START, "event:timeSinceStart"},
		{F_LINK_SPAN_ID, "link:spanID"},
		{F_LINK_TRACE_ID, "link:traceID"},
		{F_SCOPE_NAME, "instrumentation:name"},
		{F_SCOPE_VERSION, "instrumentation:version"},
		{F_PARENT_ID, "span:parentID"},
		{F_CHILD_COUNT, "childCount"},
	};

	if (e->kind == X_ATTR)
		return e->attr.key;
	for (size_t i = 0; e->kind == X_FIELD && i < ARRAY_SIZE(keys); i++)
		if (keys[i].field == e->field.field)
			return slice_cstr(keys[i].key);
	return slice_of(NULL, 0);
}

/* Of events and links there are several: the first that has it. */
static struct value one_of(const struct plan_expr *e, struct value v)
{
	bool several = e->kind == X_ATTR ? e->attr.scope == ATTR_EVENT || e->attr.scope == ATTR_LINK
					 : e->field.field == F_EVENT_NAME ||
						   e->field.field == F_EVENT_SINCE_START ||
						   e->field.field == F_LINK_SPAN_ID ||
						   e->field.field == F_LINK_TRACE_ID;

	if (!several || v.type != V_LIST)
		return v;
	for (uint32_t i = 0; i < v.n; i++)
		if (!value_is_nil(v.list[i]))
			return v.list[i];
	return value_nil();
}

static void put_attribute(struct json_writer *w, struct slice key, struct value v,
			  struct arena *arena)
{
	json_begin_object(w);
	json_put_name(w, "key");
	json_put_string(w, key);
	json_put_name(w, "value");
	tempo_put_any(w, v, arena);
	json_end_object(w);
}

static void put_attributes(struct searching *s, struct json_writer *w, const struct value *values)
{
	bool begun = false;

	for (uint32_t i = 0; i < s->node->column_n; i++) {
		const struct plan_expr *e = s->node->spanset.fields[i];
		struct slice key = key_of(e);
		struct value v = one_of(e, values[i]);

		if (s->stated && e->kind == X_FIELD && e->field.field == F_STATUS)
			key = SLICE("status");
		if (key.n == 0 || value_is_nil(v))
			continue;
		if (!begun) {
			json_put_name(w, "attributes");
			json_begin_array(w);
			begun = true;
		}
		put_attribute(w, key, v, &s->t.arena);
	}
	if (begun)
		json_end_array(w);
}

static void put_span(struct searching *s, struct json_writer *w, const struct value *values)
{
	json_begin_object(w);
	json_put_name(w, "spanID");
	json_put_string(w, text_of(values[s->span]));
	if (s->named)
		put_text(w, "name", text_of(values[s->name]));
	json_put_name(w, "startTimeUnixNano");
	json_put_i64_text(w, values[s->time].i);
	if (values[s->took].type == V_DURATION && values[s->took].i > 0) {
		json_put_name(w, "durationNanos");
		json_put_i64_text(w, values[s->took].i);
	}
	put_attributes(s, w, values);
	json_end_object(w);
}

static void put_set(struct searching *s, struct json_writer *w, const struct tempo_hit *hit)
{
	json_begin_object(w);
	json_put_name(w, "spans");
	json_begin_array(w);
	for (size_t i = 0; i < hit->n; i++)
		put_span(s, w, hit->spans[i].values);
	json_end_array(w);
	json_put_name(w, "matched");
	json_put_u64(w, MIN(hit->matched, UINT32_MAX));
	json_end_object(w);
}

static void put_trace(struct searching *s, struct json_writer *w, const struct tempo_hit *hit)
{
	const struct value *v = hit->spans[0].values;
	struct slice id = hit->id;
	int64_t ms = v[s->duration].type == V_DURATION ? v[s->duration].i / 1000000 : 0;

	while (id.n > 1 && id.p[0] == '0')
		id = slice_of(id.p + 1, id.n - 1);
	json_begin_object(w);
	json_put_name(w, "traceID");
	json_put_string(w, id);
	if (value_is_nil(v[s->root_service]) && value_is_nil(v[s->root_name])) {
		put_text(w, "rootServiceName", SLICE(NOT_RECEIVED));
	} else {
		put_text(w, "rootServiceName", text_of(v[s->root_service]));
		put_text(w, "rootTraceName", text_of(v[s->root_name]));
	}
	json_put_name(w, "startTimeUnixNano");
	json_put_i64_text(w, hit->start_ns);
	if (ms > 0) {
		json_put_name(w, "durationMs");
		json_put_u64(w, MIN((uint64_t)ms, UINT32_MAX));
	}
	if (!s->asked->legacy) {
		json_put_name(w, "spanSet"); /* of older clients */
		put_set(s, w, hit);
		json_put_name(w, "spanSets");
		json_begin_array(w);
		put_set(s, w, hit);
		json_end_array(w);
	}
	json_end_object(w);
}

static void answer(struct searching *s)
{
	struct query_run run = {.begin = on_begin, .row = on_row, .context = s};
	struct query_stats stats = {0};
	struct error error = {0};
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	int r;

	s->hits = (struct tempo_hits){
		.limit = s->asked->limit,
		.spans_most = s->asked->spans,
		.column_n = s->node->column_n,
		.time_column = s->time,
		.id_column = s->span,
	};
	r = tempo_hits_init(&s->hits);
	if (r == 0)
		r = tempo_query_run(&s->t, &run, &stats, &error);
	if (r < 0) {
		tempo_query_fail(&s->t, r, &error);
	} else {
		json_begin_object(&w);
		json_put_name(&w, "traces");
		json_begin_array(&w);
		for (size_t i = 0; i < s->hits.n; i++)
			put_trace(s, &w, s->hits.rows[i]);
		json_end_array(&w);
		tempo_put_metrics(&w, &stats);
		json_end_object(&w);
		tempo_query_reply(&s->t, &out);
	}
	tempo_hits_done(&s->hits);
}

static void search_run(struct query_job *job)
{
	struct searching s = {.asked = api_request(job->req)->data};
	int r;

	tempo_query_init(&s.t, job);
	r = question_prepare(&s, job->request.text);
	if (r == -ENOTSUP)
		http_reply_text(job->req, 400,
				"invalid TraceQL query: a search wants spans; metrics are asked "
				"at /api/metrics/query_range");
	else if (r < 0)
		tempo_query_refuse(&s.t, r, job->request.text);
	else
		answer(&s);
	tempo_query_done(&s.t);
}

void tempo_search(struct http_request *req, struct api *api)
{
	struct asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct query_request q = {0};
	struct slice text;
	int r;

	if (!asked) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*asked = (struct asked){.limit = LIMIT, .spans = SPANS};
	if (!tempo_number(req, "limit", &asked->limit) || !tempo_number(req, "spss", &asked->spans))
		return;
	if (asked->limit == 0 || asked->limit > LIMIT_MOST) {
		http_reply_text(req, 400, "invalid limit: 1 to %d traces can be asked for",
				LIMIT_MOST);
		return;
	}
	if (asked->spans == 0 || asked->spans > SPANS_MOST)
		asked->spans = SPANS_MOST; /* 0: all of them */
	r = http_query_get(req, "q", &text);
	if (r == 0 || (r > 0 && slice_trim(text).n == 0)) {
		asked->legacy = true;
		if (!tempo_legacy_read(req, &q.text))
			return;
	}
	api_request(req)->data = asked;
	tempo_query_start(req, api, &q, search_run);
}
