/* infer/pools.c - locks and pools, told by calls that start when another returns.
 *
 * Per edge, starts (+1) and returns (-1) are walked in order of time, two sorted lists side by
 * side.  A start counts as handed over when a return on the same edge came at most HAND_NS (or a
 * hundredth of the calls' usual length) before it and the edge was as full before that return as it
 * ever is for long.  By chance it would with the probability that a return falls into that moment.
 */
#include "infer/pools.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "infer/names.h"
#include "infer/node_view.h"
#include "infer/spread.h"

#define HAND_NS      200000 /* from a return to the start it allows */
#define LEAST_CALLS  50
#define LEAST_HANDED 20
#define LEAST_SHARE  0.05 /* of the edge's calls */
#define SIGMA        6.0
#define TIMES        3.0 /* as often as by chance */
#define HOLDERS_MOST 64  /* different ones counted on an edge */

struct holder {
	uint32_t client, name;
	uint64_t times;
};

struct edge_work {
	const struct calls *calls;
	const struct call_link *links;
	/* Calls of the edge in order of start, and in order of return. */
	uint32_t *starts, *ends;
	size_t n;
	struct holder holders[HOLDERS_MOST];
	size_t holder_n;
};

/* One start or return after the other. */
struct walk {
	size_t start, end;
};

struct event {
	int64_t time_ns;
	uint32_t call;
	bool start;
};

/* False when there are no more.  A return makes room for a start at the same time. */
static bool next_event(const struct edge_work *w, struct walk *at, struct event *ret)
{
	const struct call *calls = w->calls->at;

	if (at->end == w->n)
		return false;
	if (at->start < w->n &&
	    calls[w->starts[at->start]].start_ns < calls[w->ends[at->end]].end_ns) {
		uint32_t call = w->starts[at->start++];

		*ret = (struct event){calls[call].start_ns, call, true};
	} else {
		uint32_t call = w->ends[at->end++];

		*ret = (struct event){calls[call].end_ns, call, false};
	}
	return true;
}

/* Who asked for the call: the client of its parent, and the parent's operation. */
static void holder_count(struct edge_work *w, uint32_t call)
{
	uint32_t parent = w->links ? w->links[call].parent : LINK_NONE, client, name;

	if (parent == LINK_NONE)
		return;
	client = w->calls->at[parent].caller;
	name = w->calls->at[parent].name;
	for (size_t i = 0; i < w->holder_n; i++)
		if (w->holders[i].client == client && w->holders[i].name == name) {
			w->holders[i].times++;
			return;
		}
	if (w->holder_n < HOLDERS_MOST)
		w->holders[w->holder_n++] = (struct holder){client, name, 1};
}

/* The fullest the edge is for at least a twentieth of its calls. */
static int usual_most(const struct edge_work *w, uint32_t *ret_level)
{
	_cleanup_(freep)
	uint64_t *at_level = NULL;
	size_t capacity = 0;
	uint64_t above = 0;
	uint32_t open = 0, most = 0;
	struct walk at = {0};
	struct event e;

	while (next_event(w, &at, &e)) {
		if (!e.start) {
			open -= open > 0;
			continue;
		}
		if (++open > most) {
			if (!vec_reserve(&at_level, &capacity, (size_t)open + 1, sizeof(*at_level)))
				return -ENOMEM;
			at_level[most = open] = 0;
		}
		at_level[open]++;
	}
	for (; most > 0; most--) {
		above += at_level[most];
		if (above * 20 >= w->n)
			break;
	}
	*ret_level = most;
	return 0;
}

static double waiting_of(const struct edge_work *w, uint32_t call)
{
	uint32_t parent = w->links ? w->links[call].parent : LINK_NONE;

	return parent == LINK_NONE
		       ? 0
		       : (double)(w->calls->at[call].start_ns - call_recv_ns(w->calls, parent));
}

static int edge_look(struct edge_work *w, struct pool_found *f)
{
	double length = 0, span, usual, waited = 0;
	struct spread delays = {0};
	uint32_t open = 0, most = 0, last = UINT32_MAX;
	int64_t last_end = INT64_MIN, hand;
	uint32_t before_end = 0;
	struct walk at = {0};
	struct event e;
	int r = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct call *c = &w->calls->at[w->starts[i]];

		length += (double)(c->end_ns - c->start_ns);
		r |= spread_add(&delays, (int64_t)waiting_of(w, w->starts[i]));
	}
	usual = spread_quantile(&delays, 0.25);
	spread_done(&delays);
	if (r < 0 || usual_most(w, &most) < 0)
		return -ENOMEM;
	hand = MIN((int64_t)HAND_NS, (int64_t)(length / (double)w->n / 100) + 1);
	span = (double)(w->calls->at[w->ends[w->n - 1]].end_ns -
			w->calls->at[w->starts[0]].start_ns) +
	       1;
	w->holder_n = 0;
	while (next_event(w, &at, &e)) {
		if (!e.start) {
			before_end = open;
			open -= open > 0;
			last_end = e.time_ns;
			last = e.call;
			continue;
		}
		open++;
		if (last != UINT32_MAX && before_end == most && open == most &&
		    e.time_ns - last_end <= hand) {
			f->handed++;
			waited += fmax(waiting_of(w, e.call) - usual, 0);
			holder_count(w, last);
			last = UINT32_MAX; /* one start a return */
		}
	}
	f->calls = w->n;
	f->size = most;
	f->expected = (double)w->n * fmin(1, (double)w->n * (double)hand / span);
	f->waited_ns = waited;
	f->holder = f->holder_name = NAMES_NONE;
	for (size_t i = 0; i < w->holder_n; i++)
		if (w->holders[i].times > f->held) {
			f->held = w->holders[i].times;
			f->holder = w->holders[i].client;
			f->holder_name = w->holders[i].name;
		}
	return 0;
}

static bool is_pool(const struct pool_found *f)
{
	double handed = (double)f->handed;

	return f->handed >= LEAST_HANDED && handed >= LEAST_SHARE * (double)f->calls &&
	       handed > TIMES * f->expected &&
	       handed > f->expected + SIGMA * sqrt(f->expected + 1) && f->waited_ns > 0;
}

static int more_waiting(const void *a, const void *b)
{
	const struct pool_found *x = a, *y = b;

	return x->waited_ns > y->waited_ns ? -1 : x->waited_ns < y->waited_ns;
}

/* The calls that one node makes, edge by edge, each in order of return. */
struct made {
	uint32_t *ends, *starts; /* room for the calls of the node that makes most */
	uint32_t *place;         /* by node: where its next call goes; 0 between nodes */
	uint32_t *callees;
};

/* Returns how many callees there are; place[callee] is then where its calls end. */
static uint32_t group_by_callee(struct made *m, const struct calls *calls, const uint32_t *out,
				uint32_t n)
{
	uint32_t callee_n = 0, at = 0;

	for (uint32_t i = 0; i < n; i++)
		if (m->place[calls->at[out[i]].callee]++ == 0)
			m->callees[callee_n++] = calls->at[out[i]].callee;
	for (uint32_t k = 0; k < callee_n; k++) {
		uint32_t count = m->place[m->callees[k]];

		m->place[m->callees[k]] = at;
		at += count;
	}
	for (uint32_t i = 0; i < n; i++)
		m->ends[m->place[calls->at[out[i]].callee]++] = out[i];
	return callee_n;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Looks at every edge of one caller. */
static int caller_look(struct edge_work *w, struct made *m, const uint32_t *out, uint32_t n,
		       struct pool_found *found, int *count)
{
	uint32_t callee_n = group_by_callee(m, w->calls, out, n), from = 0;
	int r = 0;

	for (uint32_t k = 0; k < callee_n; k++) {
		uint32_t callee = m->callees[k], to = m->place[callee];
		struct pool_found f = {.callee = callee};

		m->place[callee] = 0;
		w->ends = m->ends + from;
		w->starts = m->starts;
		w->n = to - from;
		from = to;
		if (r < 0 || w->n < LEAST_CALLS)
			continue;
		/* Numbers are in order of start. */
		memcpy(w->starts, w->ends, w->n * sizeof(*w->starts));
		qsort(w->starts, w->n, sizeof(*w->starts), by_number);
		f.caller = w->calls->at[w->starts[0]].caller;
		r = edge_look(w, &f);
		if (r == 0 && is_pool(&f) && *count < POOLS_MAX)
			found[(*count)++] = f;
	}
	return r;
}

/* Those that have returned stand before the others. */
static uint32_t finished(const struct calls *calls, const uint32_t *out, uint32_t n)
{
	while (n > 0 && !call_finished(&calls->at[out[n - 1]]))
		n--;
	return n;
}

int pools_find(const struct calls *calls, const struct call_link *links, struct pool_found *found)
{
	struct edge_work w = {.calls = calls, .links = links};
	struct made m = {0};
	struct node_view view;
	uint32_t most = 0;
	int r = node_view_init(&view, calls), count = 0;

	if (r < 0)
		return r;
	for (uint32_t k = 0; k < view.node_n; k++)
		most = MAX(most, view.out_start[k + 1] - view.out_start[k]);
	m.ends = malloc(((size_t)most + 1) * sizeof(*m.ends));
	m.starts = malloc(((size_t)most + 1) * sizeof(*m.starts));
	m.place = calloc((size_t)view.node_n + 1, sizeof(*m.place));
	m.callees = malloc(((size_t)view.node_n + 1) * sizeof(*m.callees));
	if (!m.ends || !m.starts || !m.place || !m.callees)
		r = -ENOMEM;
	for (uint32_t k = 0; k < view.node_n && r == 0; k++) {
		const uint32_t *out = view.out + view.out_start[k];
		uint32_t n = view.out_start[k + 1] - view.out_start[k];

		r = caller_look(&w, &m, out, finished(calls, out, n), found, &count);
	}
	free(m.ends);
	free(m.starts);
	free(m.place);
	free(m.callees);
	node_view_done(&view);
	if (count > 1)
		qsort(found, (size_t)count, sizeof(*found), more_waiting);
	return r < 0 ? r : count;
}
