/* store/summary.c - one trace in a line: what a search shows, computed from the trace's rows. */
#include "store/summary.h"
#include "base/buffer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/u64.h"
#include "store/attr_text.h"

/* SPAN and BEGIN rows are blocks; an END row says when (and how) a begun one ended. */
static bool is_block(const struct event *e)
{
	return e->type == EVENT_SPAN || e->type == EVENT_BEGIN;
}

static bool has_status(const struct event *e)
{
	return e->type == EVENT_SPAN || e->type == EVENT_END;
}

static int64_t clamp_ns(uint64_t ns)
{
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* When the row's block was last seen to be alive. */
static int64_t last_ns(const struct event *e)
{
	if (e->type == EVENT_END)
		return clamp_ns(e->time_ns > e->end_ns ? e->time_ns : e->end_ns);
	return clamp_ns(e->end_ns > e->time_ns ? e->end_ns : e->time_ns);
}

bool event_failed(const struct event *e)
{
	return has_status(e) && e->status == STATUS_ERROR;
}

/* --- what a trace is as a whole --- */

/* Only the times. */
static void fold_times(struct trace_fold *f, const struct event_ref *refs, size_t n)
{
	if (n > 0 && !f->any) {
		f->first_ns = clamp_ns(event_get(refs[0])->time_ns);
		f->any = true;
	}
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);

		if (!is_block(e) && e->type != EVENT_END)
			continue;
		if (is_block(e) && e->time_ns != 0)
			f->start_ns = MIN(f->start_ns, clamp_ns(e->time_ns));
		f->end_ns = MAX(f->end_ns, last_ns(e));
	}
}

static void fold_bounds(const struct trace_fold *f, int64_t *ret_start, int64_t *ret_duration)
{
	int64_t start = f->start_ns, end = f->end_ns;

	if (start == INT64_MAX) { /* logs or native events alone */
		start = f->first_ns;
		end = MAX(end, start);
	}
	*ret_start = start;
	*ret_duration = end > start ? end - start : 0;
}

void trace_bounds(const struct event_ref *refs, size_t n, int64_t *ret_start, int64_t *ret_duration)
{
	struct trace_fold f = {.start_ns = INT64_MAX};

	fold_times(&f, refs, n);
	fold_bounds(&f, ret_start, ret_duration);
}

static bool has_tag(const struct batch *b, const struct event *e, const struct store_tag *tag)
{
	const struct attr *a = batch_attr_find(b, e->attrs, tag->key);

	if (a && attr_has(b, a, tag->value))
		return true;
	a = batch_attr_find(b, b->resources[e->resource].attrs, tag->key);
	return a && attr_has(b, a, tag->value);
}

/* How long the row says that its block took; 0 where it does not. */
static uint64_t took_ns(const struct event *e)
{
	return e->end_ns > e->time_ns ? e->end_ns - e->time_ns : 0;
}

static bool block_matches(const struct batch *b, const struct event *e, const struct store_query *q)
{
	if (!query_takes_service(q, batch_service(b, e)))
		return false;
	if (q->operation.n && !slice_eq(batch_text(b, e->name), q->operation))
		return false;
	if (q->owner.n && !slice_eq(batch_text(b, b->owner), q->owner))
		return false;
	if ((q->span_min_ns && took_ns(e) < (uint64_t)q->span_min_ns) ||
	    (q->span_max_ns && took_ns(e) > (uint64_t)q->span_max_ns))
		return false;
	for (size_t i = 0; i < q->tag_n; i++)
		if (!has_tag(b, e, &q->tags[i]))
			return false;
	return true;
}

bool query_asks_spans(const struct store_query *q)
{
	return query_asks_service(q) || q->operation.n || q->owner.n || q->tag_n > 0 ||
	       q->span_min_ns || q->span_max_ns;
}

void trace_fold_begin(struct trace_fold *f, const struct store_query *q)
{
	*f = (struct trace_fold){
		.query = q,
		.start_ns = INT64_MAX,
		.some = !query_asks_spans(q),
	};
}

void trace_fold_add(struct trace_fold *f, const struct event_ref *refs, size_t n)
{
	const struct store_query *q = f->query;

	fold_times(f, refs, n);
	for (size_t i = 0; i < n && !(f->some && (f->errors || !q->errors)); i++) {
		const struct event *e = event_get(refs[i]);

		f->errors |= event_failed(e);
		if (!f->some && is_block(e))
			f->some = block_matches(refs[i].batch, e, q);
	}
}

bool trace_fold_matches(const struct trace_fold *f, int64_t *ret_start, int64_t *ret_duration)
{
	const struct store_query *q = f->query;

	fold_bounds(f, ret_start, ret_duration);
	return f->some && (f->errors || !q->errors) && !(q->from_ns && *ret_start < q->from_ns) &&
	       !(q->to_ns && *ret_start >= q->to_ns) &&
	       !(q->min_duration_ns && *ret_duration < q->min_duration_ns) &&
	       !(q->max_duration_ns && *ret_duration > q->max_duration_ns);
}

bool trace_matches(const struct event_ref *refs, size_t n, const struct store_query *q,
		   int64_t *ret_start_ns, int64_t *ret_duration_ns)
{
	struct trace_fold f;

	trace_fold_begin(&f, q);
	trace_fold_add(&f, refs, n);
	return trace_fold_matches(&f, ret_start_ns, ret_duration_ns);
}

/* What makes two rows the same span sent twice. */
static uint64_t row_key(const struct event *e)
{
	uint64_t key = hash_u64(e->id1, e->type);

	key = hash_u64(e->id2, key);
	key = hash_u64(e->time_ns, key);
	key = hash_u64(e->end_ns, key);
	return hash_u64((uint64_t)(uint32_t)e->kind << 32 | e->bits, key);
}

static int by_text(const void *a, const void *b)
{
	return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Sorts, drops what stands twice, returns how many are left. */
static size_t unique_texts(struct slice *texts, size_t n)
{
	size_t kept = 0;

	if (n > 1)
		qsort(texts, n, sizeof(*texts), by_text);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || !slice_eq(texts[i], texts[kept - 1]))
			texts[kept++] = texts[i];
	return kept;
}

/* Fewer than this many distinct neighbours are remembered before sorting: traces alternate between
 * a handful of services, and a million spans must not make a million texts. */
#define RECENT_SERVICES 64

static int list_services(const struct event_ref *refs, size_t n, struct arena *arena,
			 struct trace_summary *s)
{
	struct slice recent[RECENT_SERVICES] = {0};
	struct buffer all = {0};
	size_t count;

	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);
		struct slice service, *slot;

		if (!is_block(e))
			continue;
		service = batch_service(refs[i].batch, e);
		slot = &recent[hash_bytes(service.p, service.n, 0) % RECENT_SERVICES];
		if (service.n == 0 || slice_eq(*slot, service))
			continue;
		*slot = service;
		buffer_append(&all, &service, sizeof(service));
		if (all.n > 4096 * sizeof(service)) {
			count = unique_texts((struct slice *)(void *)all.p,
					     all.n / sizeof(service));
			all.n = count * sizeof(service);
		}
	}
	count = unique_texts((struct slice *)(void *)all.p, all.n / sizeof(struct slice));
	s->services = arena_zalloc(arena, count + 1, sizeof(struct slice));
	for (size_t i = 0; s->services && i < count; i++)
		s->services[i] = arena_dup(arena, ((struct slice *)(void *)all.p)[i]);
	s->service_n = count;
	buffer_done(&all);
	return s->services ? 0 : -ENOMEM;
}

struct tallies {
	uint64_t *blocks, *begun, *ended; /* keys, or ids */
	size_t block_n, begun_n, ended_n;
};

static void count_unfinished(struct tallies *t, struct trace_summary *s)
{
	size_t k = 0;

	qsort(t->begun, t->begun_n, sizeof(uint64_t), u64_order);
	qsort(t->ended, t->ended_n, sizeof(uint64_t), u64_order);
	for (size_t i = 0; i < t->begun_n; i++) {
		if (i > 0 && t->begun[i] == t->begun[i - 1])
			continue;
		while (k < t->ended_n && t->ended[k] < t->begun[i])
			k++;
		if (k == t->ended_n || t->ended[k] != t->begun[i])
			s->unfinished++;
	}
}

/* Spans, errors and unfinished ones, each counted once however often it was sent. */
static int count_blocks(const struct event_ref *refs, size_t n, struct trace_summary *s)
{
	_cleanup_(freep)
	uint64_t *room = calloc(4 * n + 1, sizeof(uint64_t));
	uint64_t *errors = room + 3 * n;
	struct tallies t = {.blocks = room, .begun = room + n, .ended = room + 2 * n};
	size_t error_n = 0;

	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);

		if (is_block(e))
			t.blocks[t.block_n++] = row_key(e);
		if (e->type == EVENT_END)
			t.ended[t.ended_n++] = e->id1;
		if (e->type == EVENT_BEGIN || (e->type == EVENT_SPAN && e->end_ns == 0))
			t.begun[t.begun_n++] = e->id1;
		if (event_failed(e))
			errors[error_n++] = e->id1;
	}
	count_unfinished(&t, s);
	qsort(t.blocks, t.block_n, sizeof(uint64_t), u64_order);
	for (size_t i = 0; i < t.block_n; i++)
		s->spans += i == 0 || t.blocks[i] != t.blocks[i - 1];
	qsort(errors, error_n, sizeof(uint64_t), u64_order);
	for (size_t i = 0; i < error_n; i++)
		s->errors += i == 0 || errors[i] != errors[i - 1];
	return 0;
}

struct event_ref trace_root(const struct event_ref *refs, size_t n)
{
	struct event_ref root = {0};

	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]),
				   *best = root.batch ? event_get(root) : NULL;

		if (!is_block(e))
			continue;
		/* Without a parent beats with one; then the earlier, then the smaller id. */
		if (!best || (e->id2 == 0) > (best->id2 == 0) ||
		    ((e->id2 == 0) == (best->id2 == 0) &&
		     (e->time_ns < best->time_ns ||
		      (e->time_ns == best->time_ns && e->id1 < best->id1))))
			root = refs[i];
	}
	return root;
}

int trace_summarise(const struct event_ref *refs, size_t n, struct arena *arena,
		    struct trace_summary *ret_summary)
{
	struct trace_summary s = {0};
	struct event_ref root = trace_root(refs, n);
	int r;

	trace_bounds(refs, n, &s.start_ns, &s.duration_ns);
	if (n > 0)
		s.id = event_get(refs[0])->trace_id;
	if (root.batch) {
		s.root_service = arena_dup(arena, batch_service(root.batch, event_get(root)));
		s.root_name = arena_dup(arena, batch_text(root.batch, event_get(root)->name));
	}
	r = count_blocks(refs, n, &s);
	if (r == 0)
		r = list_services(refs, n, arena, &s);
	if (r < 0)
		return r;
	*ret_summary = s;
	return 0;
}

int trace_key_order(enum store_order order, const struct trace_key *a, const struct trace_key *b)
{
	if (order == STORE_SLOWEST && a->duration_ns != b->duration_ns)
		return a->duration_ns > b->duration_ns ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns > b->start_ns ? -1 : 1;
	return memcmp(a->id.b, b->id.b, sizeof(a->id.b));
}

bool trace_key_is_after(const struct store_query *q, const struct trace_key *key)
{
	const struct trace_key last = {q->after_start_ns, q->after_duration_ns, q->after_id};

	return !q->after || trace_key_order(q->order, key, &last) > 0;
}
