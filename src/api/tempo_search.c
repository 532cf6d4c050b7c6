/* api/tempo_search.c - Tempo's search: traces that TraceQL, or tags of the older form, find.
 *
 * The question is asked with a stage more, which brings along what the answer shows besides the
 * spans: root, begin and duration of the trace, and every attribute that the question names.
 *
 * The newest traces are wanted, so they are looked for from the newest on, and it ends when there
 * are enough:
 *
 *   1. the store finds traces that may answer (api/tempo_narrow.h), a page at a time, and the
 *      question is put to them;
 *   2. where many of those did not answer, the question is put to everything, a slice of time after
 *      the other (api/tempo_slices.h).
 *
 * A trace is told when nothing newer can come and all of it has been seen, so what a stream has
 * told stays true; and the same question has the same answer every time. */
#include "api/tempo_search.h"

#include <errno.h>
#include <stdlib.h>

#include "api/tempo_legacy.h"
#include "api/tempo_narrow.h"
#include "api/tempo_search_int.h"
#include "api/tempo_slices.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "store/find.h"
#include "wire/protobuf.h"

#define LIMIT       20
#define LIMIT_MOST  10000
#define SPANS       3
#define SPANS_MOST  10000
#define NAMED_MOST  64 /* attributes of the question that are shown */
#define WALK_DEPTH  256
#define PAGE_LEAST  20
#define PAGE_MOST   1000
#define LOOKED_MOST 20000 /* candidates, of a question that the store narrows … */
#define LOOKED_WIDE 2000  /* … and of another, before everything is looked at */
#define ALONE_MOST  100   /* candidates that one thread looks at */

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
	for (uint32_t i = 0; s->having && i < s->having->key_n; i++)
		expr_walk(d, s->having->keys[i], depth + 1);
	for (uint32_t i = 0; s->having && i < s->having->aggregate_n; i++)
		expr_walk(d, s->having->aggregates[i].arg, depth + 1);
	set_walk(d, s->left, depth + 1);
	set_walk(d, s->right, depth + 1);
}

/* --- the question --- */

static size_t column_of(const struct plan_node *node, enum plan_field field)
{
	for (uint32_t i = 0; i < node->column_n; i++) {
		const struct plan_expr *e = node->spanset.fields[i];

		if (e->kind == X_FIELD && e->field.field == field && e->field.of == OF_SELF)
			return i;
	}
	return SIZE_MAX;
}

static bool columns_find(struct tempo_searching *s)
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

static bool is_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == ':' || c == '-';
}

/* Does the question speak of the field, in a condition, a group or a selection?  Texts in quotes
 * and keys of attributes do not count. */
static bool question_names(struct slice text, struct slice field)
{
	char quote = 0;

	for (size_t i = 0; i < text.n;) {
		size_t n = 0;

		if (quote) {
			if (text.p[i] == '\\' && quote == '"')
				i++;
			else if (text.p[i] == quote)
				quote = 0;
			i++;
			continue;
		}
		if (text.p[i] == '"' || text.p[i] == '`') {
			quote = text.p[i++];
			continue;
		}
		while (i + n < text.n && is_of_word(text.p[i + n]))
			n++;
		if (slice_eq(slice_of(text.p + i, n), field) ||
		    (n > 5 && memcmp(text.p + i, "span:", 5) == 0 &&
		     slice_eq(slice_of(text.p + i + 5, n - 5), field)))
			return true;
		i += n ? n : 1;
	}
	return false;
}

/* Prepares the question with the stage more.  -EINVAL: refused, with diagnostics; -ENOTSUP: it
 * gives no spans. */
static int question_prepare(struct tempo_searching *s, struct slice text)
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
	s->named = question_names(text, SLICE("name"));
	s->stated = question_names(text, SLICE("status"));
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

static bool is_judged(const struct tempo_searching *s, int64_t start_ns, struct slice id)
{
	if (!s->after || start_ns != s->after_ns)
		return s->after && start_ns > s->after_ns;
	return slice_cmp(id, slice_cstr(s->after_id)) <= 0;
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct tempo_searching *s = context;
	struct slice id = value_slice(values[s->trace]);

	if (n != s->hits.column_n)
		return -EINVAL;
	if (is_judged(s, values[s->start].i, id))
		return 0;
	return tempo_hits_add(&s->hits, values[s->start].i, id, values);
}

/* Tells the client of hits that will not change any more, and how far it is. */
static int tell(struct tempo_searching *s, size_t n)
{
	struct buffer out = {0};
	size_t from = s->told;

	if (!s->t.stream)
		return 0;
	s->told = MAX(n, from);
	tempo_search_put(s, from, s->told, &out);
	return tempo_query_part(&s->t, &out);
}

static int on_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n)
{
	return tempo_counts_add(&((struct tempo_searching *)context)->counts, id, refs, n);
}

static int ask(struct tempo_searching *s, struct query_run *run, struct error *error)
{
	struct query_stats stats = {0};
	int r;

	run->begin = on_begin;
	run->row = on_row;
	run->context = s;
	r = tempo_query_run(&s->t, run, &stats, error);
	s->progress.traces += stats.traces;
	return r;
}

/* --- 1: candidates --- */

struct walking {
	const struct snapshot *snapshot;
	size_t seen, most, page;
};

/* Puts the question to a page of candidates. */
static int page_judge(struct tempo_searching *s, const struct trace_list *list, struct error *error)
{
	struct trace_id *ids = calloc(list->n + 1, sizeof(*ids));
	struct query_run run = {
		.only = ids, .only_n = list->n, .threads = list->n <= ALONE_MOST ? 1 : 0};
	int r = ids ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < list->n; i++)
		ids[i] = list->rows[i].id;
	if (run.threads == 1)
		run.trace = on_trace;
	if (r == 0 && list->n > 0) {
		r = ask(s, &run, error);
		if (r == 0)
			r = tempo_counts_give(&s->counts, &s->hits);
		s->after = true;
		s->after_ns = list->rows[list->n - 1].start_ns;
		trace_id_format(list->rows[list->n - 1].id, s->after_id);
	}
	free(ids);
	return r;
}

/* All candidates of one stretch of time, newest first, until there are enough hits or too many were
 * looked at. */
static int stretch_walk(struct tempo_searching *s, struct walking *w, struct store_query query,
			struct error *error)
{
	bool more = true;
	int r = 0;

	while (r == 0 && more && s->hits.n < s->hits.limit && w->seen < w->most) {
		struct trace_list list;

		query.limit = w->page;
		query.keys = true;
		query.after = s->after;
		query.after_start_ns = s->after_ns;
		if (s->after)
			trace_id_parse(slice_cstr(s->after_id), &query.after_id);
		/* Groups that are newer need not be opened. */
		if (s->after && s->after_ns < INT64_MAX &&
		    (!query.to_ns || s->after_ns + 1 < query.to_ns))
			query.to_ns = MAX(s->after_ns + 1, (int64_t)1);
		r = snapshot_find(w->snapshot, &query, &list);
		if (r < 0)
			return r;
		r = page_judge(s, &list, error);
		w->seen += list.n;
		more = list.more && list.n > 0;
		w->page = MIN(w->page * 2, (size_t)PAGE_MOST);
		trace_list_done(&list);
		if (r == 0)
			r = tell(s, s->hits.n);
	}
	return r;
}

/* A trace that began before the window counts if it has spans in it: the longer before, the longer
 * it must be. */
static int candidates_walk(struct tempo_searching *s, bool *ret_done, struct error *error)
{
	static const int64_t backs[] = {0, 60 * NS_PER_S, 3600 * NS_PER_S, 86400 * NS_PER_S};
	const struct plan_range *range = &s->t.job->request.range;
	struct walking w = {.page = MAX(s->hits.limit, (size_t)PAGE_LEAST)};
	struct tempo_narrow narrow;
	int64_t to = range->to_ns;
	int r = tempo_query_snapshot(&s->t, &w.snapshot), plain;

	if (r < 0)
		return r;
	plain = snapshot_is_plain(w.snapshot);
	if (plain < 0)
		return plain;
	tempo_narrow(&narrow, s->node->spanset.set, plain);
	w.most = narrow.narrows >= 2 ? LOOKED_MOST : LOOKED_WIDE;
	w.page = MIN(w.page, (size_t)PAGE_MOST);
	for (size_t i = 0; r == 0 && i <= ARRAY_SIZE(backs); i++) {
		struct store_query query = narrow.query;

		query.to_ns = to;
		query.from_ns =
			i < ARRAY_SIZE(backs) ? MAX(range->from_ns - backs[i], (int64_t)0) : 0;
		if (i > 0)
			query.min_duration_ns = MAX(query.min_duration_ns, backs[i - 1]);
		r = stretch_walk(s, &w, query, error);
		if (query.from_ns == 0)
			break;
		to = query.from_ns;
	}
	*ret_done = s->hits.n >= s->hits.limit || w.seen < w.most;
	return r;
}

/* --- 2: slices --- */

static size_t hits_since(const struct tempo_searching *s, int64_t from_ns)
{
	size_t n = 0;

	while (n < s->hits.n && s->hits.rows[n]->start_ns >= from_ns)
		n++;
	return n;
}

static int slices_walk(struct tempo_searching *s, struct error *error)
{
	const struct snapshot *snapshot;
	struct tempo_slices slices;
	int r = tempo_query_snapshot(&s->t, &snapshot);

	if (r == 0)
		r = tempo_slices(snapshot, s->t.job->request.range, 0, &slices);
	if (r < 0)
		return r;
	s->progress.done = 1;
	s->progress.all = 1 + slices.n;
	for (size_t i = 0; r == 0 && i < slices.n; i++) {
		struct query_run run = {.range = slices.ranges[i]};
		size_t sure;

		r = ask(s, &run, error);
		s->progress.done++;
		sure = hits_since(s, slices.ranges[i].from_ns);
		if (r == 0)
			r = tell(s, sure);
		if (sure >= s->hits.limit)
			break;
	}
	return r;
}

/* --- the run --- */

static void answer(struct tempo_searching *s)
{
	struct error error = {0};
	struct buffer out = {0};
	bool done = false;
	int r;

	s->hits = (struct tempo_hits){
		.limit = s->asked->limit,
		.spans_most = s->asked->spans,
		.column_n = s->node->column_n,
		.time_column = s->time,
		.id_column = s->span,
	};
	s->progress.all = 1;
	r = tempo_hits_init(&s->hits);
	if (r == 0)
		r = candidates_walk(s, &done, &error);
	if (r == 0 && !done)
		r = slices_walk(s, &error);
	if (r < 0) {
		tempo_query_fail(&s->t, r, &error);
	} else {
		s->progress.done = s->progress.all;
		tempo_search_put(s, 0, s->hits.n, &out);
		tempo_query_reply(&s->t, &out);
	}
	tempo_hits_done(&s->hits);
	tempo_counts_done(&s->counts);
}

static void search_run(struct query_job *job)
{
	struct tempo_searching s = {.asked = api_request(job->req)->data};
	int r;

	tempo_query_init(&s.t, job);
	r = question_prepare(&s, job->request.text);
	if (r == -ENOTSUP)
		tempo_query_say(&s.t, 400,
				"invalid TraceQL query: a search wants spans; metrics are asked "
				"at /api/metrics/query_range");
	else if (r < 0)
		tempo_query_refuse(&s.t, r, job->request.text);
	else
		answer(&s);
	tempo_query_done(&s.t);
}

/* --- the request --- */

static int asked_check(struct tempo_search_asked *asked, struct error *error)
{
	if (asked->limit == 0 || asked->limit > LIMIT_MOST)
		return error_set(error, -EINVAL, "invalid limit: 1 to %d traces can be asked for",
				 LIMIT_MOST);
	if (asked->spans == 0 || asked->spans > SPANS_MOST)
		asked->spans = SPANS_MOST; /* 0: all of them */
	return 0;
}

void tempo_search(struct http_request *req, struct api *api)
{
	struct tempo_search_asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct query_request q = {0};
	struct error error = {0};
	struct slice text;
	int r;

	if (!asked) {
		api_fail_errno(req, -ENOMEM);
		return;
	}
	*asked = (struct tempo_search_asked){.limit = LIMIT, .spans = SPANS};
	if (!tempo_number(req, "limit", &asked->limit) || !tempo_number(req, "spss", &asked->spans))
		return;
	if (asked_check(asked, &error) < 0) {
		http_reply_text(req, 400, "%s", error.text);
		return;
	}
	r = http_query_get(req, "q", &text);
	if (r == 0 || (r > 0 && slice_trim(text).n == 0)) {
		asked->legacy = true;
		if (!tempo_legacy_read(req, &q.text))
			return;
	}
	api_request(req)->data = asked;
	tempo_query_start(req, api, &q, search_run);
}

/* SearchRequest { map<string, string> Tags = 1, MinDurationMs = 2, MaxDurationMs = 3, Limit = 4,
 * start = 5, end = 6, Query = 8, SpansPerSpanSet = 9 } */
static int search_read(struct http_request *req, struct slice question, struct query_request *q,
		       bool second, struct error *error)
{
	struct tempo_search_asked *asked = arena_zalloc(&req->arena, 1, sizeof(*asked));
	struct pb_reader reader = pb_open(question);
	struct tempo_legacy legacy = {0};
	uint64_t from = 0, to = 0;
	struct pb_field f;
	int r;

	if (!asked)
		return -ENOMEM;
	*asked = (struct tempo_search_asked){.spans = SPANS};
	q->text = SLICE("");
	while (pb_next(&reader, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES)) {
			if (legacy.n == TEMPO_LEGACY_TAGS)
				return error_set(error, -EINVAL, "more than %d tags",
						 TEMPO_LEGACY_TAGS);
			legacy.tags[legacy.n++] = f.bytes;
		} else if (f.tag == PB_TAG(2, PB_VARINT))
			legacy.min_ms = f.value;
		else if (f.tag == PB_TAG(3, PB_VARINT))
			legacy.max_ms = f.value;
		else if (f.tag == PB_TAG(4, PB_VARINT))
			asked->limit = f.value;
		else if (f.tag == PB_TAG(5, PB_VARINT))
			from = f.value;
		else if (f.tag == PB_TAG(6, PB_VARINT))
			to = f.value;
		else if (f.tag == PB_TAG(8, PB_BYTES))
			q->text = f.bytes;
		else if (f.tag == PB_TAG(9, PB_VARINT) && f.value)
			asked->spans = f.value;
	}
	if (reader.bad)
		return error_set(error, -EINVAL, "the request is not well-formed protobuf");
	if (!asked->limit)
		asked->limit = LIMIT;
	asked->legacy = slice_trim(q->text).n == 0;
	r = asked->legacy ? tempo_legacy_text(&legacy, &req->arena, &q->text, error) : 0;
	if (r == 0)
		r = asked_check(asked, error);
	api_request(req)->data = asked;
	return r == 0 ? tempo_window(from, to, &q->range, error) : r;
}

void tempo_stream_search(struct http_request *req, struct api *api)
{
	static const struct tempo_method method = {search_read, search_run};

	tempo_stream_open(req, api, &method);
}
