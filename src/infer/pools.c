/* infer/pools.c - locks and pools, told by calls that start when another returns.
 *
 * Per edge, events in order of time: +1 at a start, -1 at a return.  A start counts as handed over
 * when a return on the same edge came at most HAND_NS (or a hundredth of the calls' usual length)
 * before it and the edge was as full before that return as it ever is for long.  By chance it would
 * with the probability that a return falls into that moment. */
#include "infer/pools.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "infer/names.h"
#include "infer/spread.h"

#define HAND_NS      200000 /* from a return to the start it allows */
#define LEAST_CALLS  50
#define LEAST_HANDED 20
#define LEAST_SHARE  0.05 /* of the edge's calls */
#define SIGMA        6.0
#define TIMES        3.0 /* as often as by chance */
#define HOLDERS_MOST 64  /* different ones counted on an edge */

struct event {
	int64_t time_ns;
	uint32_t call;
	bool start;
};

struct holder {
	uint32_t client, name;
	uint64_t times;
};

struct edge_work {
	const struct calls *calls;
	const struct call_link *links;
	const struct radix_item *items; /* calls of the edge */
	size_t n;
	struct event *events;
	struct holder holders[HOLDERS_MOST];
	size_t holder_n;
};

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (int)x->start - (int)y->start; /* a return makes room for a start */
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
static uint32_t usual_most(const struct edge_work *w)
{
	_cleanup_(freep)
	uint64_t *at_level = calloc(w->n + 2, sizeof(*at_level));
	uint64_t above = 0;
	uint32_t open = 0, level;

	if (!at_level)
		return 0;
	for (size_t i = 0; i < 2 * w->n; i++) {
		if (w->events[i].start)
			at_level[++open]++;
		else
			open -= open > 0;
	}
	for (level = (uint32_t)w->n; level > 0; level--) {
		above += at_level[level];
		if (above * 20 >= w->n)
			break;
	}
	return level;
}

static double waiting_of(const struct edge_work *w, uint32_t call)
{
	uint32_t parent = w->links ? w->links[call].parent : LINK_NONE;

	return parent == LINK_NONE
		       ? 0
		       : (double)(w->calls->at[call].start_ns - w->calls->at[parent].recv_ns);
}

static int edge_look(struct edge_work *w, struct pool_found *f)
{
	double length = 0, span, usual, waited = 0;
	struct spread delays = {0};
	uint32_t open = 0, most, last = UINT32_MAX;
	int64_t last_end = INT64_MIN, hand;
	uint32_t before_end = 0;
	int r = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct call *c = &w->calls->at[w->items[i].value];

		w->events[2 * i] = (struct event){c->start_ns, w->items[i].value, true};
		w->events[2 * i + 1] = (struct event){c->end_ns, w->items[i].value, false};
		length += (double)(c->end_ns - c->start_ns);
		r |= spread_add(&delays, (int64_t)waiting_of(w, w->items[i].value));
	}
	qsort(w->events, 2 * w->n, sizeof(*w->events), by_time);
	most = usual_most(w);
	usual = spread_quantile(&delays, 0.25);
	spread_done(&delays);
	hand = MIN((int64_t)HAND_NS, (int64_t)(length / (double)w->n / 100) + 1);
	span = (double)(w->events[2 * w->n - 1].time_ns - w->events[0].time_ns) + 1;
	w->holder_n = 0;
	for (size_t i = 0; i < 2 * w->n; i++) {
		const struct event *e = &w->events[i];

		if (!e->start) {
			before_end = open;
			open -= open > 0;
			last_end = e->time_ns;
			last = e->call;
			continue;
		}
		open++;
		if (last != UINT32_MAX && before_end == most && open == most &&
		    e->time_ns - last_end <= hand) {
			f->handed++;
			waited += fmax(waiting_of(w, e->call) - usual, 0);
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
	return r < 0 ? -ENOMEM : 0;
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

static int edges_look(struct edge_work *w, const struct radix_item *items, size_t n,
		      struct pool_found *found)
{
	int count = 0;

	for (size_t from = 0, to; from < n; from = to) {
		struct pool_found f = {0};

		for (to = from; to < n && items[to].key == items[from].key; to++)
			;
		if (to - from < LEAST_CALLS)
			continue;
		w->items = items + from;
		w->n = to - from;
		f.caller = w->calls->at[items[from].value].caller;
		f.callee = w->calls->at[items[from].value].callee;
		if (edge_look(w, &f) < 0)
			return -ENOMEM;
		if (is_pool(&f) && count < POOLS_MAX)
			found[count++] = f;
	}
	return count;
}

int pools_find(const struct calls *calls, const struct call_link *links, struct pool_found *found)
{
	_cleanup_(freep)
	struct radix_item *items = malloc((2 * calls->n + 1) * sizeof(*items));
	_cleanup_(freep)
	struct event *events = malloc((2 * calls->n + 1) * sizeof(*events));
	struct edge_work w = {.calls = calls, .links = links, .events = events};
	size_t n = 0;
	int count;

	if (!items || !events)
		return -ENOMEM;
	for (size_t i = 0; i < calls->n; i++)
		if (call_finished(&calls->at[i]))
			items[n++] = (struct radix_item){(uint64_t)calls->at[i].caller << 32 |
								 calls->at[i].callee,
							 (uint32_t)i};
	radix_sort(items, items + calls->n, n);
	count = edges_look(&w, items, n, found);
	if (count > 1)
		qsort(found, (size_t)count, sizeof(*found), more_waiting);
	return count;
}
