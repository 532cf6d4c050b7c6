/* api/trace_pick.c - traces that answer a question the store cannot answer alone. */
#include "api/trace_pick.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/point_find.h"
#include "store/summary.h"

#define PAGE_LEAST  20
#define PAGE_MOST   1000
#define MAYBES_MOST 1000000 /* candidates that are held, newest segments first */

/* A trace that a point may have made one of those wanted. */
struct maybe {
	struct trace_id id;
	int64_t start_ns; /* or before */
};

struct picking {
	const struct trace_pick *pick;
	struct trace_picked done;
	/* Where the search stands. */
	bool after;
	struct trace_summary last; /* only its key */

	/* Found by their points: candidates, then those that fit, the newest first. */
	struct maybe *maybes;
	size_t maybe_n, maybe_capacity;
	size_t maybe_next; /* fit, and are taken already */
};

/* --- by their points --- */

static int maybe_add(void *context, struct trace_id id, int64_t start_ns)
{
	struct picking *p = context;

	if (p->maybe_n > 0 && memcmp(p->maybes[p->maybe_n - 1].id.b, id.b, sizeof(id.b)) == 0)
		return 0; /* points of a trace come together */
	if (p->maybe_n == MAYBES_MOST) {
		p->done.cut = true;
		return 0;
	}
	if (!vec_reserve(&p->maybes, &p->maybe_capacity, p->maybe_n + 1, sizeof(*p->maybes)))
		return -ENOMEM;
	p->maybes[p->maybe_n++] = (struct maybe){id, start_ns};
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct maybe *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns ? -1 : 1;
	return memcmp(x->id.b, y->id.b, sizeof(x->id.b));
}

static bool is_among(const struct picking *p, size_t n, struct trace_id id)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(p->maybes[i].id.b, id.b, sizeof(id.b)) == 0)
			return true;
	return false;
}

static bool in_window(const struct trace_pick *pick, int64_t start_ns)
{
	return (!pick->query.from_ns || start_ns >= pick->query.from_ns) &&
	       (!pick->query.to_ns || start_ns < pick->query.to_ns);
}

/* Reads a candidate: 1 with its true start when it fits, 0, or a negative errno. */
static int maybe_judge(struct picking *p, struct maybe *m)
{
	struct event_set set = {0};
	int64_t start, duration;
	int r = store_trace(p->pick->store, m->id, &set);

	p->done.looked++;
	if (r == -ENOENT || r == -E2BIG) {
		p->done.giants += r == -E2BIG;
		return 0;
	}
	if (r < 0)
		return r;
	trace_bounds(set.refs, set.n, &start, &duration);
	m->start_ns = start;
	r = in_window(p->pick, start) &&
	    (!p->pick->fits || p->pick->fits(p->pick->context, set.refs, set.n));
	event_set_done(&set);
	return r;
}

/* Keeps those that fit, as many as can be wanted, the newest first. */
static int maybes_sift(struct picking *p)
{
	size_t kept = 0, limit = p->pick->limit;
	struct trace_id last = {0};
	bool any = false;

	if (p->maybe_n > 1)
		qsort(p->maybes, p->maybe_n, sizeof(*p->maybes), newest_first);
	for (size_t i = 0; i < p->maybe_n; i++) {
		struct maybe m = p->maybes[i];
		int r;

		if (any && memcmp(last.b, m.id.b, sizeof(last.b)) == 0)
			continue; /* found twice */
		/* The others start no later than this one may. */
		if (kept >= limit && p->maybes[limit - 1].start_ns > m.start_ns)
			break;
		if (p->done.looked >= PICK_LOOKED_AT) {
			p->done.cut = true;
			break;
		}
		if (is_among(p, kept, m.id))
			continue;
		last = m.id;
		any = true;
		r = maybe_judge(p, &m);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		p->maybes[kept++] = m;
		qsort(p->maybes, kept, sizeof(*p->maybes), newest_first);
		kept = MIN(kept, limit);
	}
	p->maybe_n = kept;
	return 0;
}

static int maybes_find(struct picking *p)
{
	const struct trace_pick *pick = p->pick;
	struct point_find find = {.from_ns = pick->query.from_ns, .trace = maybe_add, .context = p};
	int r = 0;

	for (size_t i = 0; r == 0 && i < pick->point_n; i++) {
		find.tag = pick->points[i];
		r = store_point_find(pick->store, &find);
		if (r == 0 && slice_eq(find.tag.key, SLICE("event"))) {
			find.tag.key = slice_of(NULL, 0);
			r = store_point_find(pick->store, &find);
		}
	}
	return r == 0 ? maybes_sift(p) : r;
}

/* --- what the store finds --- */

static int take(struct picking *p, struct event_set *set)
{
	struct trace_summary summary;
	struct arena arena = {0};
	int r = trace_summarise(set->refs, set->n, &arena, &summary);

	if (r == 0)
		r = p->pick->take(p->pick->context, &summary, set);
	p->done.n += r == 0;
	arena_done(&arena);
	return r;
}

/* By a row of which only the key is known. */
static int judge(struct picking *p, const struct trace_summary *row)
{
	const struct trace_pick *pick = p->pick;
	struct event_set set = {0};
	int r;

	if (pick->from_ns && row->start_ns + row->duration_ns < pick->from_ns)
		return 0;
	p->done.looked++;
	r = store_trace(pick->store, row->id, &set);
	if (r == -ENOENT) /* retention has been there */
		return 0;
	if (r == -E2BIG) {
		p->done.giants++;
		return 0;
	}
	if (r == 0 && (!pick->fits || pick->fits(pick->context, set.refs, set.n)))
		r = take(p, &set);
	event_set_done(&set);
	return r;
}

static int maybe_take(struct picking *p, struct trace_id id)
{
	struct event_set set = {0};
	int r = store_trace(p->pick->store, id, &set);

	if (r == -ENOENT || r == -E2BIG)
		return 0;
	if (r == 0)
		r = take(p, &set);
	event_set_done(&set);
	return r;
}

/* Takes those found by their points that are newer than a trace; all, without one. */
static int maybes_take(struct picking *p, const struct trace_summary *before)
{
	int r = 0;

	while (r == 0 && p->maybe_next < p->maybe_n && p->done.n < p->pick->limit) {
		const struct maybe *m = &p->maybes[p->maybe_next];

		if (before && newest_first(m, &(struct maybe){before->id, before->start_ns}) > 0)
			break;
		p->maybe_next++;
		r = maybe_take(p, m->id);
	}
	return r;
}

/* Asks the store, page by page, until enough are taken or too many were seen.  Pages grow: who has
 * seen many that do not fit will see many more. */
static int walk(struct picking *p, struct store_query query)
{
	size_t seen = 0, page = MAX(p->pick->limit, (size_t)PAGE_LEAST);
	bool more = true;
	int r = 0;

	query.keys = true;
	while (r == 0 && more && seen < PICK_LOOKED_AT && p->done.n < p->pick->limit) {
		struct trace_list list;

		page = MIN(page, (size_t)PAGE_MOST);
		query.limit = MIN(page, PICK_LOOKED_AT - seen);
		query.after = p->after;
		query.after_start_ns = p->last.start_ns;
		query.after_duration_ns = p->last.duration_ns;
		query.after_id = p->last.id;
		/* Nothing newer comes any more, and groups that are newer need not be opened. */
		if (p->after && p->last.start_ns < INT64_MAX &&
		    (!query.to_ns || p->last.start_ns + 1 < query.to_ns))
			query.to_ns = MAX(p->last.start_ns + 1, (int64_t)1);
		r = store_find(p->pick->store, &query, &list);
		if (r < 0)
			return r;
		for (size_t i = 0; r == 0 && i < list.n && p->done.n < p->pick->limit; i++) {
			r = maybes_take(p, &list.rows[i]);
			if (r == 0 && p->done.n < p->pick->limit &&
			    !is_among(p, p->maybe_n, list.rows[i].id))
				r = judge(p, &list.rows[i]);
			p->last = list.rows[i];
			p->after = true;
		}
		seen += list.n;
		more = list.more && list.n > 0;
		page *= 2;
		trace_list_done(&list);
	}
	p->done.cut |= more && seen >= PICK_LOOKED_AT && p->done.n < p->pick->limit;
	return r;
}

int trace_pick(const struct trace_pick *pick, struct trace_picked *ret_picked)
{
	struct picking p = {.pick = pick};
	int r = pick->point_n ? maybes_find(&p) : 0;

	if (r == -EOPNOTSUPP)
		r = 0; /* a store in memory, for trying things out, looks at spans alone */
	if (r == 0)
		r = walk(&p, pick->query);
	if (r == 0)
		r = maybes_take(&p, NULL);
	free(p.maybes);
	if (r == 0)
		*ret_picked = p.done;
	return r;
}

void trace_picked_tell(struct http_request *req, const struct trace_picked *picked)
{
	char text[200];

	if (!picked->cut && picked->giants == 0)
		return;
	snprintf(text, sizeof(text),
		 "%zu traces were read%s; %zu too large to be shown were left out", picked->looked,
		 picked->cut ? " and there are more: ask for less time" : "", picked->giants);
	http_reply_header(req, "Causet-Notice", slice_cstr(text));
}
