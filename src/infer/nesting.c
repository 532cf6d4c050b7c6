/* infer/nesting.c - the nesting algorithm, as published (Aguilera et al., SOSP 2003, §5.1).
 *
 * A call (B,C) may have been caused by any call (A,B) that encloses it.  Every such nesting is a
 * vote for its delay, 1/N when there are N of them; then each call goes to the parent whose delay
 * has the most votes, times penalties for what that parent already has to do.
 *
 * The published form keeps a list of candidates per call.  Here candidates are found twice instead:
 * node by node (what happens at one node says nothing about another) two sweeps go over the node's
 * calls in the order of their returns, with the calls still open in an array:
 *
 *   open parents, by time of arrival   p1 p2 p3 | p4 p5        a child returns:
 *                                      ────────                those that came before it was
 *                                      its candidates          called are a prefix
 *
 * The first sweep votes, the second chooses.  Where the text leaves a choice:
 *   - c^-x of zero children is undefined in the text; (1 + c)^-x is used
 *   - children are assigned in the order of their returns
 *   - a parent must have been called before its child; with equal times, before it in the trace
 *   - with a skew window w, both comparisons are loosened by w, and delays are counted from -w on
 *   - a node that replies before it is done (§5.3.1, left open there) may be given time for calls
 * after its reply; such a parent is chosen only where nobody encloses the call
 *   - Figure 4 stores the return's time in line 9, and the parents' calls in line 12 are compared
 *     with the time of the child's call, as §5.1.1.1 says */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "infer/infer.h"
#include "infer/node_view.h"
#include "infer/scoreboard.h"

#define PENALTIES  64 /* counts with a penalty of their own */
#define NO_CHILD   UINT32_MAX
#define FAR_FUTURE (INT64_MAX / 4) /* leaves room to add a window */

struct open_call {
	int64_t open_ns, close_ns;
	uint32_t call;
	uint32_t rank;
	uint32_t last_child; /* of those assigned; in `siblings` */
	uint32_t child_n;
};

struct sibling {
	uint32_t call;
	uint32_t before; /* the one assigned before it, or NO_CHILD */
};

struct nesting {
	struct infer_options options;
	struct scoreboard board;
	bool started;        /* the board has its bins */
	bool only_enclosing; /* of the child at hand: some open call encloses it */
	double overlap[PENALTIES], same[PENALTIES], any[PENALTIES];

	/* Of the node at hand. */
	struct open_call *open;
	size_t open_n, open_capacity;
	int64_t soonest_ns; /* no open call closes before that */
	struct sibling *siblings;
	size_t sibling_n, sibling_capacity;
};

/* What one call of nesting_link() works on. */
struct job {
	struct nesting *n;
	const struct calls *calls;
	struct node_view view;
	int64_t cut_ns;
	struct call_link *links;
	bool choosing; /* the second sweep */
};

static void penalties_init(double *table, double exponent)
{
	for (int c = 0; c < PENALTIES; c++)
		table[c] = pow(1 + c, -exponent);
}

static int nesting_open(const struct infer_options *options, void **ret_state)
{
	struct nesting *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->options = *options;
	penalties_init(n->overlap, options->penalty_overlap < 0 ? 2 : options->penalty_overlap);
	penalties_init(n->same, options->penalty_same);
	penalties_init(n->any, options->penalty_any);
	*ret_state = n;
	return 0;
}

static void nesting_close(void *state)
{
	struct nesting *n = state;

	if (!n)
		return;
	if (n->started)
		scoreboard_done(&n->board);
	free(n->open);
	free(n->siblings);
	free(n);
}

static int board_start(struct nesting *n, const struct calls *calls)
{
	int64_t base = n->options.bin_base_ns, longest = 0;

	if (n->started)
		return 0;
	for (size_t i = 0; i < calls->n && base <= 0; i++)
		if (call_finished(&calls->at[i]))
			longest = MAX(longest, call_reply_ns(calls, i) - call_recv_ns(calls, i));
	scoreboard_init(&n->board, base > 0 ? base : bins_base_for(longest));
	n->started = true;
	return 0;
}

/* May the call have children?  One without a return may while the stream goes on; when it has
 * ended the call was lost. */
static bool may_be_parent(const struct job *j, const struct call *c)
{
	return call_finished(c) || j->cut_ns != INT64_MAX;
}

/* Adds the parents that were called before `until`; `*at` walks through the node's list. */
static int parents_enter(struct job *j, uint32_t *at, uint32_t end, int64_t until)
{
	struct nesting *n = j->n;

	for (; *at < end; ++*at) {
		uint32_t index = j->view.in[*at], edge;
		const struct call *c = &j->calls->at[index];
		struct call_served served = call_served(j->calls, index);

		if (served.recv_ns >= until)
			break;
		if (!may_be_parent(j, c))
			continue;
		if (!vec_reserve(&n->open, &n->open_capacity, n->open_n + 1, sizeof(*n->open)) ||
		    scoreboard_edge(&n->board, c->caller, c->callee, &edge) < 0)
			return -ENOMEM;
		n->open[n->open_n++] = (struct open_call){
			.open_ns = served.recv_ns,
			.close_ns = MIN(served.reply_ns, FAR_FUTURE),
			.call = index,
			.rank = n->board.edges[edge].rank,
			.last_child = NO_CHILD,
		};
		n->soonest_ns = MIN(n->soonest_ns, n->open[n->open_n - 1].close_ns);
	}
	return 0;
}

/* Takes out the parents that returned before `now`. */
static void parents_leave(struct nesting *n, int64_t now)
{
	size_t kept = 0;

	if (n->soonest_ns >= now)
		return;
	n->soonest_ns = INT64_MAX;
	for (size_t i = 0; i < n->open_n; i++)
		if (n->open[i].close_ns >= now) {
			n->soonest_ns = MIN(n->soonest_ns, n->open[i].close_ns);
			n->open[kept++] = n->open[i];
		}
	n->open_n = kept;
}

/* How many of the open calls came before the child was called.  They are a prefix. */
static size_t candidates(const struct nesting *n, int64_t start_ns, uint32_t child)
{
	size_t k = n->open_n;

	while (k > 0 && (n->open[k - 1].open_ns > start_ns ||
			 (n->open[k - 1].open_ns == start_ns && n->open[k - 1].call >= child)))
		k--;
	return k;
}

static bool encloses(const struct nesting *n, const struct open_call *p, const struct call *c)
{
	return p->close_ns + n->options.skew_ns >= c->end_ns;
}

/* Is this one of the possible parents?  A call of a node to itself is among the open ones, but not
 * its own cause; and parents that have replied are for children that nobody encloses. */
static bool counts(const struct nesting *n, const struct open_call *p, const struct call *c,
		   uint32_t child)
{
	return p->call != child && (!n->only_enclosing || encloses(n, p, c));
}

static void only_enclosing_set(struct nesting *n, const struct call *c, uint32_t child, size_t k)
{
	n->only_enclosing = false;
	for (size_t i = 0; i < k && !n->only_enclosing; i++)
		n->only_enclosing = n->open[i].call != child && encloses(n, &n->open[i], c);
}

/* With a window the clocks may make a delay negative, down to the window; counted from there it has
 * a bin like any other. */
static unsigned bin_of(const struct nesting *n, const struct open_call *p, const struct call *c)
{
	return bins_of(&n->board.bins, c->start_ns - p->open_ns + n->options.skew_ns);
}

static int vote(struct job *j, const struct call *c, uint32_t child, uint32_t edge, size_t k)
{
	struct nesting *n = j->n;
	size_t possible = k;
	double share;

	if (c->caller == c->callee || n->only_enclosing) {
		possible = 0;
		for (size_t i = 0; i < k; i++)
			possible += counts(n, &n->open[i], c, child);
	}
	share = 1.0 / (double)possible;
	for (size_t i = 0; i < k; i++) {
		const struct open_call *p = &n->open[i];
		const struct edge *e = &n->board.edges[edge];
		struct histogram *h;

		if (!counts(n, p, c, child))
			continue;
		h = p->rank < e->by_n ? e->by[p->rank] : NULL;
		if (!h)
			h = scoreboard_histogram(&n->board, edge, p->rank);
		if (!h)
			return -ENOMEM;
		h->raw[bin_of(n, p, c)] += share;
	}
	return 0;
}

static double penalty(const struct job *j, const struct open_call *p, const struct call *c)
{
	const struct nesting *n = j->n;
	const struct call *calls = j->calls->at;
	uint32_t overlapping = 0, same = 0;
	double score = 1;

	if (p->child_n == 0)
		return 1;
	/* Assigned in the order of return: the last ones are those that may overlap. */
	for (uint32_t s = p->last_child;
	     s != NO_CHILD && calls[n->siblings[s].call].end_ns > c->start_ns &&
	     overlapping < PENALTIES - 1;
	     s = n->siblings[s].before)
		overlapping++;
	score *= n->overlap[overlapping];
	if (n->options.penalty_same != 0) {
		for (uint32_t s = p->last_child; s != NO_CHILD && same < PENALTIES - 1;
		     s = n->siblings[s].before)
			same += calls[n->siblings[s].call].callee == c->callee;
		score *= n->same[same];
	}
	return score * n->any[MIN(p->child_n, PENALTIES - 1u)];
}

static int assign(struct nesting *n, struct open_call *p, uint32_t child)
{
	if (!vec_reserve(&n->siblings, &n->sibling_capacity, n->sibling_n + 1,
			 sizeof(*n->siblings)))
		return -ENOMEM;
	n->siblings[n->sibling_n] = (struct sibling){.call = child, .before = p->last_child};
	p->last_child = (uint32_t)n->sibling_n++;
	p->child_n++;
	return 0;
}

static int choose(struct job *j, const struct call *c, uint32_t child, uint32_t edge, size_t k)
{
	struct nesting *n = j->n;
	const struct edge *e = &n->board.edges[edge];
	struct open_call *best = NULL;
	double most = 0, sum = 0;

	for (size_t i = 0; i < k; i++) {
		struct open_call *p = &n->open[i];
		const struct histogram *h = p->rank < e->by_n ? e->by[p->rank] : NULL;
		double score;

		if (!h || !counts(n, p, c, child))
			continue;
		score = (h->smooth ? h->smooth : h->raw)[bin_of(n, p, c)] * penalty(j, p, c);
		sum += score;
		if (score > most) {
			most = score;
			best = p;
		}
	}
	j->links[child] = (struct call_link){.parent = best ? best->call : LINK_NONE,
					     .confidence = best ? (float)(most / sum) : 1,
					     .decided = true};
	return best ? assign(n, best, child) : 0;
}

/* A child decided in an earlier window still counts against its parent. */
static int decided_before(struct job *j, uint32_t child)
{
	struct nesting *n = j->n;

	for (size_t i = 0; i < n->open_n && j->choosing; i++)
		if (n->open[i].call == j->links[child].parent)
			return assign(n, &n->open[i], child);
	return 0;
}

static int child_returns(struct job *j, uint32_t child, uint32_t *parent_at, uint32_t parents_end)
{
	const struct call *c = &j->calls->at[child];
	int64_t w = j->n->options.skew_ns, after = j->n->options.after_reply_ns, now;
	uint32_t edge;
	size_t k;

	if (parents_enter(j, parent_at, parents_end, c->end_ns + w) < 0)
		return -ENOMEM;
	/* With calls after the reply in mind parents stay until none can come any more. */
	now = c->end_ns - w;
	if (after > 0)
		now = MIN(now, c->start_ns - after);
	parents_leave(j->n, now);
	if (j->links[child].decided)
		return decided_before(j, child);
	k = candidates(j->n, c->start_ns + w, child);
	if (after > 0)
		only_enclosing_set(j->n, c, child, k);
	if (k == 0 || (k == 1 && j->n->open[0].call == child)) {
		j->links[child] = (struct call_link){LINK_NONE, j->choosing, 1};
		return 0;
	}
	if (scoreboard_edge(&j->n->board, c->caller, c->callee, &edge) < 0)
		return -ENOMEM;
	return j->choosing ? choose(j, c, child, edge, k) : vote(j, c, child, edge, k);
}

static int sweep(struct job *j, uint32_t node)
{
	uint32_t parent_at = j->view.in_start[node], parents_end = j->view.in_start[node + 1];

	j->n->open_n = j->n->sibling_n = 0;
	j->n->soonest_ns = INT64_MAX;
	for (uint32_t i = j->view.out_start[node]; i < j->view.out_start[node + 1]; i++) {
		uint32_t child = j->view.out[i];
		int64_t end_ns = j->calls->at[child].end_ns;

		if (end_ns > j->cut_ns || end_ns > FAR_FUTURE)
			break; /* in order of end: nor do the others */
		if (child_returns(j, child, &parent_at, parents_end) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* One sweep over every node that makes calls. */
static int sweep_all(struct job *j, bool choosing)
{
	int r = 0;

	j->choosing = choosing;
	for (uint32_t node = 0; r == 0 && node < j->view.node_n; node++)
		if (j->view.out_start[node] < j->view.out_start[node + 1])
			r = sweep(j, node);
	return r;
}

static int smooth_all(struct nesting *n)
{
	int r = 0;

	for (uint32_t e = 0; r == 0 && e < n->board.n && n->options.smooth > 0; e++)
		r = scoreboard_smooth(&n->board, e, n->options.smooth);
	return r;
}

static int nesting_link(void *state, const struct calls *calls, int64_t cut_ns,
			struct call_link *links, struct error *error)
{
	struct job j = {.n = state, .calls = calls, .cut_ns = cut_ns, .links = links};
	int r = board_start(j.n, calls);

	if (r == 0)
		r = node_view_init(&j.view, calls);
	if (r == 0)
		r = sweep_all(&j, false);
	if (r == 0)
		r = smooth_all(j.n);
	if (r == 0)
		r = sweep_all(&j, true);
	/* Lost calls: nobody knows. */
	for (size_t i = 0; r == 0 && cut_ns == INT64_MAX && i < calls->n; i++)
		if (!links[i].decided)
			links[i] = (struct call_link){LINK_NONE, true, 0};
	node_view_done(&j.view);
	if (r == 0)
		r = links_break_cycles(links, calls->n);
	return r < 0 ? error_set(error, r, "out of memory") : 0;
}

const struct infer_mode nesting_mode = {
	.name = "nesting",
	.summary = "a call belongs to the enclosing call whose delay is most common",
	.open = nesting_open,
	.link = nesting_link,
	.close = nesting_close,
};
