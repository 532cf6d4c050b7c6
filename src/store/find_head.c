/* store/find_head.c - the part of a search that looks into heads.
 *
 * What is asked of spans is put to the batches, newest first and row after row as they lie in
 * memory; only the traces of rows that answer are looked at as traces.  Nearly none of them lies
 * anywhere else (store/joint.h), so nearly all are judged by the rows that the head has.  Where
 * nothing is asked of spans, the head's traces are gone through instead.  Either way the hits are
 * soon complete, and the others are ruled out by the time of one row. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "store/batch_match.h"
#include "store/find_int.h"

#define CHECK_TRACES 256  /* traces, and … */
#define CHECK_ROWS   2048 /* … rows: is the answer still wanted? */

struct heading {
	struct finding *f;
	struct head *head;
	struct runs_mark mark;
	uint32_t number;
	bool late;            /* whatever lies in it alone starts too late */
	struct event_set set; /* of the trace at hand */
};

/* Judges a trace that lies in this head alone, unless that was done before. */
static int judge_alone(struct heading *x, struct trace_id id)
{
	struct find_hit hit = {.key.id = id, .segment = FIND_IN_HEAD, .group = x->number};
	struct finding *f = x->f;
	int r = store_query_has_part(f->query, id) ? id_set_add(&f->joint, id) : 0;

	if (r <= 0 || (f->query->to_ns && head_start_ns(x->head, id) >= f->query->to_ns))
		return r < 0 ? r : 0;
	event_set_clear(&x->set);
	r = head_trace(x->head, x->mark, id, &x->set);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (trace_matches(x->set.refs, x->set.n, f->query, &hit.key.start_ns,
			  &hit.key.duration_ns) &&
	    trace_key_is_after(f->query, &hit.key))
		find_enter(f, &hit);
	return 0;
}

static int judge(struct heading *x, struct trace_id id)
{
	if (id_set_has(&x->f->in_heads, id))
		return find_whole(x->f, id);
	return x->late ? 0 : judge_alone(x, id);
}

/* Does this row rule its trace out?  A trace never starts later than one of its blocks. */
static bool starts_too_early(const struct finding *f, const struct event *e)
{
	int64_t ns = e->time_ns > INT64_MAX ? INT64_MAX : (int64_t)e->time_ns;

	if ((e->type != EVENT_SPAN && e->type != EVENT_BEGIN) || ns == 0)
		return false;
	return (f->query->from_ns && ns < f->query->from_ns) || !find_may_enter(f, ns, INT64_MAX);
}

/* --- by what is asked of spans --- */

static int look_into_batch(struct heading *x, const struct batch *b, const struct batch_match *m)
{
	int r = 0;

	for (size_t i = b->event_n; r == 0 && i-- > 0;) {
		const struct event *e = &b->events[i];

		if (i % CHECK_ROWS == 0)
			r = leash_check();
		if (r == 0 && !starts_too_early(x->f, e) && batch_match_row(m, e))
			r = judge(x, e->trace_id);
	}
	return r;
}

static int look_for_spans(struct heading *x)
{
	struct batch_match match = {0};
	int r = 0;

	for (uint32_t i = x->mark.batches; r == 0 && i-- > 0;) {
		const struct batch *b = runs_batch(&x->head->runs, i);

		r = leash_check(); /* looking up texts takes as long as looking at rows */
		if (r == 0)
			r = batch_match_ask(&match, x->f->query, b);
		if (r > 0)
			r = look_into_batch(x, b, &match);
	}
	batch_match_done(&match);
	return r;
}

/* --- every trace --- */

static int look_at_traces(struct heading *x)
{
	const struct runs *runs = &x->head->runs;
	int r = 0;

	for (uint32_t t = x->mark.traces; r == 0 && t-- > 0;) {
		const struct run *run = runs_first(runs, x->mark, t);

		if (t % CHECK_TRACES == 0)
			r = leash_check();
		if (r == 0 && run &&
		    !starts_too_early(x->f, &runs_batch(runs, run->batch)->events[run->first]))
			r = judge(x, runs_trace_id(runs, t));
	}
	return r;
}

int find_in_heads(struct finding *f)
{
	const struct view *v = f->snapshot->view;
	int r = snapshot_joint(f->snapshot, &f->in_heads);

	/* The newest one first. */
	for (size_t h = v->head_n; r == 0 && h-- > 0;) {
		struct heading x = {.f = f,
				    .head = v->heads[h],
				    .mark = f->snapshot->marks[h],
				    .number = (uint32_t)h};

		x.late = f->query->to_ns && x.head->runs.start_min_ns >= f->query->to_ns;
		if (x.late && f->in_heads.n == 0)
			continue;
		r = query_asks_spans(f->query) ? look_for_spans(&x) : look_at_traces(&x);
		event_set_done(&x.set);
	}
	return r;
}
