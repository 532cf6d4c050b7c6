/* api/tempo_tags.c - which tags there are: the keys that the newest traces have, by scope.
 *
 * With a question, those of the spans that it finds; a question that is not finished narrows
 * nothing, because it is asked while somebody types. */
#include "api/tempo_tags.h"

#include <errno.h>
#include <stdlib.h>

#include "api/tempo_hits.h"
#include "api/tempo_query.h"
#include "api/trace_pick.h"
#include "base/cleanup.h"
#include "wire/protobuf.h"

#define TRACES_MOST 500 /* that are read */
#define SPANS_MOST  256 /* of each, that a question has found */
#define KEYS_MOST   5000
#define TELL_TRACES 50 /* after so many traces what is new is told */

enum tag_scope {
	SCOPE_RESOURCE,
	SCOPE_SPAN,
	SCOPE_EVENT,
	SCOPE_LINK,
	SCOPE_INSTRUMENTATION,
	SCOPES
};

static const char *const scope_names[SCOPES] = {
	[SCOPE_RESOURCE] = "resource",
	[SCOPE_SPAN] = "span",
	[SCOPE_EVENT] = "event",
	[SCOPE_LINK] = "link",
	[SCOPE_INSTRUMENTATION] = "instrumentation",
};

static const char *const intrinsics[] = {
	"duration",
	"event:name",
	"event:timeSinceStart",
	"instrumentation:name",
	"instrumentation:version",
	"kind",
	"link:spanID",
	"link:traceID",
	"name",
	"rootName",
	"rootServiceName",
	"span:duration",
	"span:id",
	"span:kind",
	"span:name",
	"span:parentID",
	"span:status",
	"span:statusMessage",
	"status",
	"statusMessage",
	"trace:duration",
	"trace:id",
	"trace:rootName",
	"trace:rootService",
	"traceDuration",
};

struct key {
	struct slice name; /* in the arena of the query */
	bool told;
};

struct keys {
	struct key *rows; /* sorted by name */
	size_t n, room;
};

struct asked {
	bool second;
	bool intrinsic;
	unsigned scopes; /* bits of enum tag_scope */
	uint64_t limit;  /* of each scope; 0: none */
};

struct listing {
	struct tempo_query t;
	const struct asked *asked;
	struct keys keys[SCOPES];
	const struct tempo_hit *hit; /* whose spans count; NULL: all do */
	struct tempo_hits hits;
	size_t trace, span, start;
	bool failed;
	size_t read; /* traces */
	struct tempo_progress progress;
};

static int tell(struct listing *l);

static void key_add(struct listing *l, enum tag_scope scope, struct slice name)
{
	struct keys *k = &l->keys[scope];
	size_t low = 0, high = k->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int r = slice_cmp(k->rows[middle].name, name);

		if (r == 0)
			return;
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (name.n == 0 || k->n == KEYS_MOST)
		return;
	if (k->n == k->room) {
		size_t room = k->room ? k->room * 2 : 64;
		struct key *more = realloc(k->rows, room * sizeof(*more));

		if (!more) {
			l->failed = true;
			return;
		}
		k->rows = more;
		k->room = room;
	}
	name = arena_dup(&l->t.arena, name);
	if (!name.p) {
		l->failed = true;
		return;
	}
	memmove(&k->rows[low + 1], &k->rows[low], (k->n - low) * sizeof(*k->rows));
	k->rows[low] = (struct key){.name = name};
	k->n++;
}

static void attrs_add(struct listing *l, enum tag_scope scope, const struct batch *b,
		      struct attr_range range)
{
	if (!(l->asked->scopes & 1U << scope))
		return;
	for (uint32_t i = 0; i < range.count; i++)
		key_add(l, scope, batch_text(b, b->attrs[range.first + i].key));
}

static bool counts(const struct listing *l, span_id_t id)
{
	char text[SPAN_ID_HEX + 1];

	if (!l->hit)
		return true;
	span_id_format(id, text);
	for (size_t i = 0; i < l->hit->n; i++)
		if (slice_eq(value_slice(l->hit->spans[i].values[l->span]), slice_cstr(text)))
			return true;
	return false;
}

static void event_add(struct listing *l, const struct batch *b, const struct event *e)
{
	if (!counts(l, e->id1))
		return;
	switch (e->type) {
	case EVENT_SPAN:
	case EVENT_BEGIN:
	case EVENT_END:
		attrs_add(l, SCOPE_SPAN, b, e->attrs);
		break;
	case EVENT_POINT:
		attrs_add(l, SCOPE_EVENT, b, e->attrs);
		return;
	case EVENT_LINK:
		attrs_add(l, SCOPE_LINK, b, e->attrs);
		return;
	default:
		return;
	}
	if (e->resource < b->resource_n)
		attrs_add(l, SCOPE_RESOURCE, b, b->resources[e->resource].attrs);
	if (e->scope < b->scope_n)
		attrs_add(l, SCOPE_INSTRUMENTATION, b, b->scopes[e->scope].attrs);
}

static int set_add(struct listing *l, const struct event_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		event_add(l, set->refs[i].batch, &set->refs[i].batch->events[set->refs[i].index]);
	if (l->failed)
		return -ENOMEM;
	if (atomic_load(l->t.job->cancel))
		return -ECANCELED;
	return ++l->read % TELL_TRACES == 0 ? tell(l) : 0;
}

static int on_trace(void *context, const struct trace_summary *summary, struct event_set *set)
{
	return set_add(context, set);
}

static int newest_add(struct listing *l)
{
	const struct plan_range *range = &l->t.job->request.range;
	struct trace_picked picked;

	return trace_pick(
		&(struct trace_pick){.store = l->t.job->api->store,
				     .query = {.from_ns = range->from_ns, .to_ns = range->to_ns},
				     .limit = TRACES_MOST,
				     .take = on_trace,
				     .context = l},
		&picked);
}

/* --- those of a question --- */

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	return 0;
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct listing *l = context;

	if (n != l->hits.column_n)
		return -EINVAL;
	return tempo_hits_add(&l->hits, values[l->start].i, value_slice(values[l->trace]), values);
}

/* Is it a question that finds spans? */
static bool question_prepare(struct listing *l)
{
	struct slice text = tempo_without_hints(l->t.job->request.text), kept;
	const struct plan_node *root;
	struct buffer more = {0};
	unsigned found = 0;

	if (text.n == 0)
		return false;
	buffer_printf(&more, "%.*s | select(trace:start)", SLICE_ARG(text));
	kept = more.failed ? slice_of(NULL, 0) : arena_dup(&l->t.arena, buffer_get(&more));
	buffer_done(&more);
	if (!kept.p || tempo_query_prepare(&l->t, kept) < 0 || query_results(l->t.query) != 1)
		return false;
	root = query_plan(l->t.query, 0)->root;
	for (uint32_t i = 0; root->op == PLAN_SPANSET && i < root->column_n; i++) {
		const struct plan_expr *e = root->spanset.fields[i];

		if (e->kind != X_FIELD || e->field.of != OF_SELF)
			continue;
		if (e->field.field == F_TRACE_ID) {
			l->trace = i;
			found |= 1;
		} else if (e->field.field == F_SPAN_ID) {
			l->span = i;
			found |= 2;
		} else if (e->field.field == F_TRACE_START) {
			l->start = i;
			found |= 4;
		}
	}
	l->hits.column_n = root->column_n;
	return found == 7;
}

static int found_add(struct listing *l, struct error *error)
{
	struct query_run run = {.begin = on_begin, .row = on_row, .context = l};
	struct query_stats stats;
	int r;

	l->hits.limit = TRACES_MOST;
	l->hits.spans_most = SPANS_MOST;
	l->hits.id_column = l->hits.time_column = l->span;
	r = tempo_hits_init(&l->hits);
	if (r == 0)
		r = tempo_query_run(&l->t, &run, &stats, error);
	for (size_t i = 0; r == 0 && i < l->hits.n; i++) {
		struct event_set set = {0};
		struct trace_id id;

		l->hit = l->hits.rows[i];
		if (trace_id_parse(l->hit->id, &id) < 0)
			continue;
		r = store_trace(l->t.job->api->store, id, &set);
		if (r == 0)
			r = set_add(l, &set);
		else if (r == -ENOENT || r == -E2BIG)
			r = 0; /* gone meanwhile, or too large to be read whole */
		event_set_done(&set);
	}
	tempo_hits_done(&l->hits);
	return r;
}

/* --- the answer --- */

/* Everything, or what has not been told yet, which is then. */
static void put_keys(const struct listing *l, struct tempo_message *m, struct keys *k,
		     uint32_t number, bool fresh)
{
	for (size_t i = 0; i < k->n && (!l->asked->limit || i < l->asked->limit); i++) {
		if (!fresh || !k->rows[i].told)
			message_item(m, number, k->rows[i].name);
		k->rows[i].told = true;
	}
}

static bool has_fresh(const struct listing *l, const struct keys *k)
{
	for (size_t i = 0; i < k->n && (!l->asked->limit || i < l->asked->limit); i++)
		if (!k->rows[i].told)
			return true;
	return false;
}

static void put_second(struct listing *l, struct tempo_message *m, bool fresh)
{
	size_t begun;

	message_list(m, "scopes");
	for (int scope = 0; scope < SCOPES; scope++) {
		struct keys *k = &l->keys[scope];

		if (k->n == 0 || (fresh && !has_fresh(l, k)))
			continue;
		begun = message_begin(m, NULL, 1);
		message_text(m, "name", 1, slice_cstr(scope_names[scope]));
		message_list(m, "tags");
		put_keys(l, m, k, 2, fresh);
		message_list_end(m);
		message_end(m, begun);
	}
	if (l->asked->intrinsic && !fresh) {
		begun = message_begin(m, NULL, 1);
		message_text(m, "name", 1, SLICE("intrinsic"));
		message_list(m, "tags");
		for (size_t i = 0; i < ARRAY_SIZE(intrinsics); i++)
			message_item(m, 2, slice_cstr(intrinsics[i]));
		message_list_end(m);
		message_end(m, begun);
	}
	message_list_end(m);
}

/* Version 1 knows no scopes, and what is no attribute only where it is asked for. */
static void put_first(struct listing *l, struct tempo_message *m, bool fresh)
{
	for (size_t i = 0; l->asked->scopes == 0 && i < ARRAY_SIZE(intrinsics); i++)
		key_add(l, SCOPE_SPAN, slice_cstr(intrinsics[i]));
	for (int scope = 0; scope < SCOPES; scope++)
		for (size_t i = 0; scope != SCOPE_SPAN && i < l->keys[scope].n; i++)
			key_add(l, SCOPE_SPAN, l->keys[scope].rows[i].name);
	message_list(m, "tagNames");
	put_keys(l, m, &l->keys[SCOPE_SPAN], 1, fresh);
	message_list_end(m);
}

static void put(struct listing *l, struct buffer *out, bool fresh)
{
	struct tempo_message m = tempo_message(out, l->t.stream);
	size_t begun = message_begin(&m, NULL, 0);

	if (l->asked->second)
		put_second(l, &m, fresh);
	else
		put_first(l, &m, fresh);
	tempo_put_metadata_metrics(&m, &l->progress);
	message_end(&m, begun);
	out->failed |= l->failed;
}

static int tell(struct listing *l)
{
	struct buffer out = {0};

	if (!l->t.stream)
		return 0;
	l->progress.done = MIN(l->read / TELL_TRACES, l->progress.all - 1);
	put(l, &out, true);
	return tempo_query_part(&l->t, &out);
}

static void tags_run(struct query_job *job)
{
	struct listing l = {.asked = api_request(job->req)->data};
	struct buffer out = {0};
	struct error error = {0};
	int r = 0;

	tempo_query_init(&l.t, job);
	l.progress.all = TRACES_MOST / TELL_TRACES;
	if (l.asked->scopes)
		r = question_prepare(&l) ? found_add(&l, &error) : newest_add(&l);
	if (r < 0) {
		tempo_query_fail(&l.t, r, &error);
	} else {
		l.progress.done = l.progress.all;
		put(&l, &out, false);
		tempo_query_reply(&l.t, &out);
	}
	for (int scope = 0; scope < SCOPES; scope++)
		free(l.keys[scope].rows);
	tempo_query_done(&l.t);
}

static int scope_parse(struct slice text, struct asked *asked, struct error *error)
{
	asked->scopes = (1U << SCOPES) - 1;
	asked->intrinsic = true;
	if (text.n == 0 || slice_eq(text, SLICE("none")))
		return 0;
	if (slice_eq(text, SLICE("intrinsic"))) {
		asked->scopes = 0;
		return 0;
	}
	asked->intrinsic = false;
	for (int scope = 0; scope < SCOPES; scope++)
		if (slice_eq(text, slice_cstr(scope_names[scope]))) {
			asked->scopes = 1U << scope;
			return 0;
		}
	return error_set(error, -EINVAL,
			 "invalid scope: one of resource, span, event, link, instrumentation and "
			 "intrinsic is wanted");
}

static bool scope_read(struct http_request *req, struct asked *asked)
{
	struct slice text = {0};
	struct error error = {0};
	int r = http_query_get(req, "scope", &text);

	if (r < 0) /* as good as any other wrong word */
		text = SLICE("?");
	if (scope_parse(text, asked, &error) == 0)
		return true;
	http_reply_text(req, 400, "%s", error.text);
	return false;
}

static void tags_start(struct http_request *req, struct api *api, bool second)
{
	struct asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct query_request q = {0};

	if (!asked) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	asked->second = second;
	if (!scope_read(req, asked) || !tempo_number(req, "limit", &asked->limit))
		return;
	api_request(req)->data = asked;
	tempo_query_start(req, api, &q, tags_run);
}

void tempo_tags_v1(struct http_request *req, struct api *api)
{
	tags_start(req, api, false);
}

void tempo_tags_v2(struct http_request *req, struct api *api)
{
	tags_start(req, api, true);
}

/* SearchTagsRequest { scope = 1, query = 2, start = 3, end = 4, maxTagsPerScope = 5 } */
static int tags_read(struct http_request *req, struct slice question, struct query_request *q,
		     bool second, struct error *error)
{
	struct asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct pb_reader reader = pb_open(question);
	struct slice scope = {0};
	uint64_t from = 0, to = 0;
	struct pb_field f;
	int r;

	if (!asked)
		return -ENOMEM;
	asked->second = second;
	q->text = SLICE("");
	while (pb_next(&reader, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			scope = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			q->text = f.bytes;
		else if (f.tag == PB_TAG(3, PB_VARINT))
			from = f.value;
		else if (f.tag == PB_TAG(4, PB_VARINT))
			to = f.value;
		else if (f.tag == PB_TAG(5, PB_VARINT))
			asked->limit = f.value;
	}
	if (reader.bad)
		return error_set(error, -EINVAL, "the request is not well-formed protobuf");
	api_request(req)->data = asked;
	r = scope_parse(scope, asked, error);
	return r == 0 ? tempo_window(from, to, &q->range, error) : r;
}

void tempo_stream_tags_v1(struct http_request *req, struct api *api)
{
	static const struct tempo_method method = {tags_read, tags_run, false};

	tempo_stream_open(req, api, &method);
}

void tempo_stream_tags_v2(struct http_request *req, struct api *api)
{
	static const struct tempo_method method = {tags_read, tags_run, true};

	tempo_stream_open(req, api, &method);
}
