/* model/critical_path.c - what the time between two instants was spent on.
 *
 * The walk stands in a block at a time and looks for what reached the block last before that time:
 * an edge into one of its points, or a child it waited for.  Back from there it goes on in the
 * sender, or in the child.  At a block's begin it goes to what caused it: an edge, the parent, a
 * link, or the block before it in its unit.
 *
 *      parent   ├──self──┤░░░░░░░░░░░░░░░░░░├─self─┤        ◀── the walk begins at the right
 *      child             ├──self──┤░░░░├self┤
 *      server                     ├self┤
 *
 * Time never goes forwards and every arrival is used once, so the walk ends; a limit on its steps
 * covers inputs whose clocks contradict their causes. */
#include "model/critical_path.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/causality.h"

/* Something that reached a block: an edge, or the end of a child. */
struct arrival {
	int64_t at_ns;
	uint32_t source; /* edge, or child block */
	bool is_edge;
	uint8_t rank; /* among equal times: lower first */
};

struct visit {
	struct arrival *list; /* latest first */
	size_t n, next;
};

/* A block that ended, by (unit, end): to find what ran before another in its unit. */
struct ended {
	int64_t end_ns;
	uint32_t unit, block;
};

struct walk {
	struct trace *t;
	uint64_t *reach; /* what follows from `from`; NULL: everything does */
	uint64_t *after; /* what follows from `to`, which clocks may deny; NULL: nothing does */
	struct trace_pos from;
	int64_t from_ns;
	uint32_t from_block;

	uint32_t *visit_of;  /* per block: its visit + 1 */
	struct ended *ended; /* made when first asked for */
	size_t ended_n;
	struct visit *visits;
	size_t visit_n, visit_capacity;
	struct path_segment *segments; /* latest first */
	size_t segment_n, segment_capacity;

	uint32_t block; /* where the walk stands */
	int64_t at_ns;
	bool from_remote; /* it came back from a child in another process */
	bool done;
};

static void walk_done(struct walk *w)
{
	for (size_t i = 0; i < w->visit_n; i++)
		free(w->visits[i].list);
	free(w->visits);
	free(w->visit_of);
	free(w->ended);
	free(w->segments);
	free(w->reach);
	free(w->after);
}

const char *segment_kind_name(enum segment_kind kind)
{
	static const char *const names[SEGMENT_KINDS] = {
		[SEGMENT_SELF] = "self",
		[SEGMENT_EDGE] = "edge",
		[SEGMENT_QUEUE] = "queue",
		[SEGMENT_IDLE] = "idle",
	};

	return (unsigned)kind < SEGMENT_KINDS ? names[kind] : "idle";
}

/* May the path lead through this position? */
static bool follows(const struct walk *w, struct trace_pos at)
{
	return (!w->reach || trace_reached(w->t, w->reach, at)) &&
	       (!w->after || !trace_reached(w->t, w->after, at));
}

/* The walk goes back to `to_ns`; what lies between was spent like this. */
static int spend(struct walk *w, int64_t to_ns, uint32_t block, enum segment_kind kind,
		 uint32_t edge)
{
	to_ns = MAX(to_ns, w->from_ns);
	if (to_ns >= w->at_ns)
		return 0;
	if (!vec_reserve(&w->segments, &w->segment_capacity, w->segment_n + 1,
			 sizeof(*w->segments)))
		return -ENOMEM;
	w->segments[w->segment_n++] = (struct path_segment){to_ns, w->at_ns, block, edge, kind};
	w->at_ns = to_ns;
	return 0;
}

/* Did the parent wait for this child?  Spans do not say, so it is assumed; native events say it by
 * edges, unless the child ran in the parent's own unit. */
static bool waited_for(const struct trace *t, uint32_t child)
{
	const struct trace_block *c = &t->blocks[child], *p = &t->blocks[c->parent];

	if (c->bits & BLOCK_MESSAGE)
		return false;
	if (c->bits & BLOCK_ENDS_IN_PARENT || c->unit == p->unit)
		return true;
	return t->units[c->unit].from_clock && t->units[p->unit].from_clock;
}

static int64_t within(const struct trace_block *b, int64_t ns)
{
	return ns < b->begin_ns ? b->begin_ns : ns > b->end_ns ? b->end_ns : ns;
}

static int arrival_cmp(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns > y->at_ns ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->source > y->source ? -1 : x->source < y->source;
}

static void list_arrivals(const struct walk *w, uint32_t block, size_t first, size_t edges,
			  struct visit *v)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[block];

	for (size_t i = first; i < first + edges; i++) {
		const struct trace_edge *e = &t->edges[i];

		if (e->row == TRACE_NONE || e->repairs & REPAIR_CYCLE || e->to.kind == POS_BEGIN ||
		    !follows(w, e->from))
			continue;
		v->list[v->n++] = (struct arrival){within(b, trace_pos_ns(t, e->to)), (uint32_t)i,
						   true, e->kind};
	}
	for (uint32_t c = block + 1; c <= b->last; c = t->blocks[c].last + 1)
		if (waited_for(t, c) && follows(w, trace_pos(POS_END, c)))
			v->list[v->n++] =
				(struct arrival){t->blocks[c].end_ns, c, false, EDGE_KINDS};
	if (v->n)
		qsort(v->list, v->n, sizeof(*v->list), arrival_cmp);
}

static int visit(struct walk *w, struct visit **ret_visit)
{
	struct visit v = {0};
	size_t first, edges;

	if (w->visit_of[w->block] == 0) {
		edges = trace_edges_into(w->t, w->block, &first);
		v.list = malloc((edges + w->t->blocks[w->block].child_n + 1) * sizeof(*v.list));
		if (!v.list || !vec_reserve(&w->visits, &w->visit_capacity, w->visit_n + 1,
					    sizeof(*w->visits))) {
			free(v.list);
			return -ENOMEM;
		}
		list_arrivals(w, w->block, first, edges, &v);
		w->visits[w->visit_n++] = v;
		w->visit_of[w->block] = (uint32_t)w->visit_n;
	}
	*ret_visit = &w->visits[w->visit_of[w->block] - 1];
	return 0;
}

static bool pos_less(struct trace_pos a, struct trace_pos b)
{
	return a.kind != b.kind ? a.kind < b.kind : a.index < b.index;
}

/* The edge made for a remote parent, or TRACE_NONE. */
static uint32_t parent_edge(const struct trace *t, struct trace_pos from, struct trace_pos to)
{
	size_t low, n = trace_edges_into(t, to.index, &low), high = low + n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct trace_edge *e = &t->edges[middle];

		if (trace_pos_eq(e->to, to) ? pos_less(e->from, from) : pos_less(e->to, to))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < t->edge_n; low++) {
		const struct trace_edge *e = &t->edges[low];

		if (!trace_pos_eq(e->to, to) || !trace_pos_eq(e->from, from))
			break;
		if (e->row == TRACE_NONE)
			return (uint32_t)low;
	}
	return TRACE_NONE;
}

/* Back over an edge: first what it lay in a queue, then its way. */
static int cross(struct walk *w, uint32_t edge)
{
	const struct trace_edge *e = &w->t->edges[edge];
	uint32_t source = trace_pos_block(w->t, e->from);
	/* a point may lie outside its block: the block is left where it ended */
	int64_t left = MIN(within(&w->t->blocks[source], trace_pos_ns(w->t, e->from)), w->at_ns);
	int64_t queued = MIN(e->queued_ns, w->at_ns - left);
	int r = 0;

	if (e->kind == EDGE_LOCK)
		queued = w->at_ns - left;
	if (queued > 0)
		r = spend(w, w->at_ns - queued, w->block, SEGMENT_QUEUE, edge);
	if (r == 0)
		r = spend(w, left, w->block, SEGMENT_EDGE, edge);
	w->block = source;
	w->from_remote = false;
	if (trace_pos_eq(e->from, w->from))
		w->done = true;
	return r;
}

/* Back into a child.  What a client did after its server had ended is the answer's way. */
static int enter(struct walk *w, uint32_t child, int64_t ended)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->block], *c = &t->blocks[child];
	int r;

	if (b->kind == KIND_CLIENT && c->bits & BLOCK_REMOTE_PARENT && w->at_ns == b->end_ns)
		r = spend(w, ended, w->block, SEGMENT_EDGE,
			  parent_edge(t, trace_pos(POS_END, child), trace_pos(POS_END, w->block)));
	else
		r = spend(w, ended, w->block, SEGMENT_SELF, TRACE_NONE);
	w->block = child;
	w->from_remote = false;
	return r;
}

/* Of the edges into a block's begin the one that was sent last: links only, or all others. */
static uint32_t last_cause(const struct walk *w, bool links)
{
	const struct trace *t = w->t;
	size_t first, n = trace_edges_into(t, w->block, &first);
	uint32_t best = TRACE_NONE;

	for (size_t i = first; i < first + n && t->edges[i].to.kind == POS_BEGIN; i++) {
		const struct trace_edge *e = &t->edges[i];

		if (e->row == TRACE_NONE || e->repairs & REPAIR_CYCLE || !follows(w, e->from) ||
		    (e->kind == EDGE_LINK) != links)
			continue;
		if (best == TRACE_NONE ||
		    trace_pos_ns(t, e->from) > trace_pos_ns(t, t->edges[best].from))
			best = (uint32_t)i;
	}
	return best;
}

static int ended_cmp(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->block > y->block ? -1 : x->block < y->block;
}

static int list_ended(struct walk *w)
{
	const struct trace *t = w->t;

	w->ended = malloc((t->block_n + 1) * sizeof(*w->ended));
	if (!w->ended)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->block_n; i++)
		if (!(t->blocks[i].bits & BLOCK_RUNNING) && follows(w, trace_pos(POS_END, i)))
			w->ended[w->ended_n++] =
				(struct ended){t->blocks[i].end_ns, t->blocks[i].unit, i};
	if (w->ended_n)
		qsort(w->ended, w->ended_n, sizeof(*w->ended), ended_cmp);
	return 0;
}

/* The block of the same unit that ended last before this one began, or TRACE_NONE.  Only blocks
 * without a parent and without an edge ask. */
static int before_in_unit(struct walk *w, uint32_t *ret_block)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->block];
	struct ended key = {b->begin_ns, b->unit, 0}; /* behind all others of that time */
	size_t low = 0, high;
	int r = w->ended ? 0 : list_ended(w);

	if (r < 0)
		return r;
	for (high = w->ended_n; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (ended_cmp(&w->ended[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_block = TRACE_NONE;
	for (; low > 0 && w->ended[low - 1].unit == b->unit; low--) {
		uint32_t i = w->ended[low - 1].block;

		if (i == w->block || trace_is_ancestor(t, w->block, i))
			continue;
		*ret_block = i;
		break;
	}
	return 0;
}

static int to_parent(struct walk *w, uint32_t parent)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->block], *p = &t->blocks[parent];
	bool remote = b->bits & BLOCK_REMOTE_PARENT;
	int r = spend(w, p->end_ns, w->block, remote ? SEGMENT_EDGE : SEGMENT_IDLE,
		      remote ? parent_edge(t, trace_pos(POS_BEGIN, parent),
					   trace_pos(POS_BEGIN, w->block))
			     : TRACE_NONE);

	w->block = parent;
	w->from_remote = remote;
	return r;
}

/* At the begin of a block: to what caused it. */
static int to_cause(struct walk *w)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->block];
	uint32_t edge = last_cause(w, false), before;
	bool parent = b->parent != TRACE_NONE &&
		      (follows(w, trace_pos(POS_BEGIN, b->parent)) || b->parent == w->from_block);
	int r;

	if (edge != TRACE_NONE)
		return cross(w, edge);
	if (parent)
		return to_parent(w, b->parent);
	edge = last_cause(w, true);
	if (edge != TRACE_NONE)
		return cross(w, edge);
	r = before_in_unit(w, &before);
	if (r < 0)
		return r;
	if (before == TRACE_NONE) {
		w->done = true;
		return 0;
	}
	r = spend(w, t->blocks[before].end_ns, w->block, SEGMENT_IDLE, TRACE_NONE);
	w->block = before;
	w->from_remote = false;
	return r;
}

static int step(struct walk *w)
{
	const struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->block];
	bool home = w->block == w->from_block;
	int64_t floor = home ? w->from_ns : b->begin_ns;
	const struct arrival *next;
	struct visit *v;
	int r = visit(w, &v);

	if (r < 0)
		return r;
	while (v->next < v->n && v->list[v->next].at_ns > w->at_ns)
		v->next++;
	next = v->next < v->n ? &v->list[v->next] : NULL;
	if (next && (next->at_ns > floor || (!home && next->at_ns == floor))) {
		v->next++;
		if (!next->is_edge)
			return enter(w, next->source, next->at_ns);
		r = spend(w, next->at_ns, w->block, SEGMENT_SELF, TRACE_NONE);
		return r < 0 ? r : cross(w, next->source);
	}
	if (w->from_remote && b->kind == KIND_CLIENT)
		r = spend(w, floor, w->block, SEGMENT_EDGE, TRACE_NONE);
	else
		r = spend(w, floor, w->block, SEGMENT_SELF, TRACE_NONE);
	if (r < 0)
		return r;
	if (home) {
		w->done = true;
		return 0;
	}
	return to_cause(w);
}

static int walk_run(struct walk *w, struct trace_pos to)
{
	size_t steps = 4 * (w->t->block_n + w->t->edge_n) + 64;

	w->visit_of = calloc(w->t->block_n + 1, sizeof(*w->visit_of));
	if (!w->visit_of)
		return -ENOMEM;
	w->block = trace_pos_block(w->t, to);
	w->at_ns = trace_pos_ns(w->t, to);
	while (!w->done && w->at_ns > w->from_ns && steps-- > 0) {
		int r = step(w);

		if (r < 0)
			return r;
	}
	/* whatever is left nobody explains */
	return spend(w, w->from_ns, w->block, SEGMENT_IDLE, TRACE_NONE);
}

static void hand_over(struct walk *w, struct trace_pos to, struct critical_path *ret_path)
{
	for (size_t i = 0; i < w->segment_n / 2; i++) {
		struct path_segment other = w->segments[w->segment_n - 1 - i];

		w->segments[w->segment_n - 1 - i] = w->segments[i];
		w->segments[i] = other;
	}
	*ret_path = (struct critical_path){
		.segments = TAKE_PTR(w->segments),
		.n = w->segment_n,
		.from = w->from,
		.to = to,
		.total_ns = trace_pos_ns(w->t, to) - w->from_ns,
	};
}

/* What `from` leads to.  Children of its block that began after it are taken to follow it, although
 * for spans only the clock says so. */
static int reach_of(struct walk *w)
{
	struct trace *t = w->t;
	const struct trace_block *b = &t->blocks[w->from_block];
	_cleanup_(freep)
	struct trace_pos *sources = malloc((b->child_n + 1) * sizeof(*sources));
	size_t n = 0;

	if (!sources)
		return -ENOMEM;
	sources[n++] = w->from;
	if (w->from.kind == POS_POINT)
		for (uint32_t c = w->from_block + 1; c <= b->last; c = t->blocks[c].last + 1)
			if (t->blocks[c].begin_ns >= w->from_ns)
				sources[n++] = trace_pos(POS_BEGIN, c);
	return trace_reach(t, sources, n, &w->reach);
}

int critical_path_between(struct trace *t, struct trace_pos from, struct trace_pos to,
			  struct critical_path *ret_path)
{
	_cleanup_(walk_done)
	struct walk w = {
		.t = t,
		.from = from,
		.from_ns = trace_pos_ns(t, from),
		.from_block = trace_pos_block(t, from),
	};
	int r;

	if (w.from_block == TRACE_NONE || trace_pos_block(t, to) == TRACE_NONE ||
	    trace_pos_eq(from, to))
		return -ENOENT;
	r = reach_of(&w);
	if (r < 0)
		return r;
	if (!trace_reached(t, w.reach, to))
		return -ENOENT;
	if (trace_pos_ns(t, to) < w.from_ns)
		return -EINVAL;
	r = trace_reach(t, &to, 1, &w.after);
	if (r == 0)
		r = walk_run(&w, to);
	if (r == 0)
		hand_over(&w, to, ret_path);
	return r;
}

/* The root the trace is about: the first that nobody else caused. */
static uint32_t main_root(const struct trace *t)
{
	for (uint32_t i = 0; i < t->block_n; i = t->blocks[i].last + 1)
		if (t->blocks[i].parent_id == 0)
			return i;
	return 0;
}

static bool has_told_edges(const struct trace *t)
{
	for (size_t i = 0; i < t->edge_n; i++)
		if (t->edges[i].row != TRACE_NONE)
			return true;
	return false;
}

int critical_path_whole(struct trace *t, struct critical_path *ret_path)
{
	_cleanup_(walk_done)
	struct walk w = {.t = t};
	struct trace_pos to;
	uint32_t last;
	int r = 0;

	if (t->block_n == 0) {
		*ret_path = (struct critical_path){0};
		return 0;
	}
	w.from_block = last = main_root(t);
	w.from = trace_pos(POS_BEGIN, w.from_block);
	w.from_ns = trace_pos_ns(t, w.from);
	if (t->roots > 1 || has_told_edges(t)) { /* else it is the tree's */
		r = reach_of(&w);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < t->block_n; i++)
		if (follows(&w, trace_pos(POS_END, i)) &&
		    t->blocks[i].end_ns > t->blocks[last].end_ns)
			last = i;
	to = trace_pos(POS_END, last);
	if (w.reach)
		r = trace_reach(t, &to, 1, &w.after);
	if (r == 0)
		r = walk_run(&w, to);
	if (r == 0)
		hand_over(&w, to, ret_path);
	return r;
}

void critical_path_done(struct critical_path *path)
{
	free(path->segments);
	*path = (struct critical_path){0};
}
