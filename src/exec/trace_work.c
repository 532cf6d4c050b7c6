/* exec/trace_work.c - what the causal order says about time: slack, WhatIf, pattern.
 *
 * Each position of a trace waits for its causes; what passes between the last of them and itself is
 * work: of the block it is in, for the begin of a block its parent's (network and queues included).
 * Change the work, keep the order, and every position has a new time:
 *
 *   t'(v) = max over causes u of t'(u) + work(v)          t'(v) of what has no cause stays
 *
 * Slack is the same backwards: how much later a position could be before the end of the trace is.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"
#include "exec/trace_at.h"
#include "model/causality.h"
#include "model/causality_graph.h"
#include "model/critical_path.h"

/* Positions in causal order, with the arcs between them. */
struct work {
	struct graph graph;
	uint32_t position_n; /* nodes below are positions, the others ticks */
	uint32_t *order;     /* all nodes, causes first */
	int64_t *time;       /* of every node: adjusted; of a tick, of its last cause */
	int64_t *ready;      /* when its last cause was there; INT64_MIN: it has none */
};

static void work_done(struct work *w)
{
	graph_done(&w->graph);
	free(w->order);
	free(w->time);
	free(w->ready);
}

static int64_t position_time(const struct trace *t, uint32_t node)
{
	if (node >= 2 * t->block_n)
		return t->points[node - 2 * t->block_n].time_ns;
	return node % 2 ? t->blocks[node / 2].end_ns : t->blocks[node / 2].begin_ns;
}

/* Components end after everything they lead to: backwards is causes first.  1; 0: there is a cycle.
 */
static int sort_nodes(struct work *w)
{
	_cleanup_(freep)
	uint32_t *component = NULL;
	uint32_t n = w->graph.node_n, count = 0;
	int r;

	component = malloc(((size_t)n + 1) * sizeof(*component));
	if (!component)
		return -ENOMEM;
	r = graph_components(&w->graph, component, &count);
	if (r < 0)
		return r;
	if (count != n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		w->order[count - 1 - component[i]] = i;
	return 1;
}

/* Spans do not say whether a parent waited for a child; as on the critical path it is assumed where
 * the child ended in time. */
static bool waited_for(const struct trace *t, const struct trace_block *child)
{
	const struct trace_block *parent = &t->blocks[child->parent];

	if (child->bits & (BLOCK_MESSAGE | BLOCK_RUNNING) || child->end_ns > parent->end_ns)
		return false;
	return child->unit == parent->unit ||
	       (t->units[child->unit].from_clock && t->units[parent->unit].from_clock);
}

static void add_waits(const struct trace *t, struct arc_list *arcs)
{
	for (uint32_t i = 0; i < t->block_n && !arcs->failed; i++) {
		const struct trace_block *b = &t->blocks[i];

		if (b->parent == TRACE_NONE || !waited_for(t, b))
			continue;
		if (!vec_reserve(&arcs->arcs, &arcs->capacity, arcs->n + 1, sizeof(*arcs->arcs)))
			arcs->failed = true;
		else
			arcs->arcs[arcs->n++] =
				(struct arc){2 * i + 1, 2 * b->parent + 1, ARC_STRUCTURE};
	}
}

/* The arcs, without what makes a cycle of them: first the waiting, then the clocks. */
static int graph_of(struct trace *t, struct work *w)
{
	int r = 0;

	for (int attempt = 0; attempt < 3; attempt++) {
		struct arc_list arcs = {0};

		arcs_collect(t, attempt < 2, &arcs);
		if (attempt == 0)
			add_waits(t, &arcs);
		r = arcs.failed ? -ENOMEM : graph_build(&arcs, &w->graph);
		free(arcs.arcs);
		if (r < 0)
			return r;
		free(w->order);
		w->order = malloc(((size_t)w->graph.node_n + 1) * sizeof(*w->order));
		r = w->order ? sort_nodes(w) : -ENOMEM;
		if (r != 0)
			return r < 0 ? r : 0;
		graph_done(&w->graph);
	}
	return -EINVAL; /* structure and edges have no cycles: they are cut */
}

static int work_init(struct trace *t, struct work *w)
{
	uint32_t n;
	int r;

	*w = (struct work){.position_n = (uint32_t)(2 * t->block_n + t->point_n)};
	r = graph_of(t, w);
	if (r < 0)
		return r;
	n = w->graph.node_n;
	w->time = malloc(((size_t)n + 1) * sizeof(*w->time));
	w->ready = malloc(((size_t)n + 1) * sizeof(*w->ready));
	if (!w->time || !w->ready)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		w->ready[i] = INT64_MIN;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t at = w->order[k];

		w->time[at] = at < w->position_n          ? position_time(t, at)
			      : w->ready[at] == INT64_MIN ? t->begin_ns
							  : w->ready[at];
		for (uint32_t i = w->graph.first[at]; i < w->graph.first[at + 1]; i++) {
			uint32_t to = w->graph.to[i] & ~ARC_CLOCK;

			if (w->time[at] > w->ready[to])
				w->ready[to] = w->time[at];
		}
	}
	return r;
}

int trace_slacks(struct trace *t, struct arena *arena, int64_t **ret_slacks)
{
	_cleanup_(work_done)
	struct work w = {0};
	_cleanup_(freep)
	int64_t *slack = NULL;
	int64_t *out = arena_alloc(arena, (t->block_n + 1) * sizeof(*out));
	int r = out ? work_init(t, &w) : -ENOMEM;

	if (r < 0)
		return r;
	slack = malloc(((size_t)w.graph.node_n + 1) * sizeof(*slack));
	if (!slack)
		return -ENOMEM;
	for (uint32_t k = w.graph.node_n; k-- > 0;) {
		uint32_t at = w.order[k];

		slack[at] = t->end_ns - w.time[at];
		for (uint32_t i = w.graph.first[at]; i < w.graph.first[at + 1]; i++) {
			uint32_t to = w.graph.to[i] & ~ARC_CLOCK;
			int64_t room = w.ready[to] - w.time[at] + slack[to];

			if (room < slack[at])
				slack[at] = room;
		}
		if (slack[at] < 0)
			slack[at] = 0;
	}
	for (uint32_t i = 0; i < t->block_n; i++)
		out[i] = slack[2 * i + 1];
	*ret_slacks = out;
	return 0;
}

/* Whose work comes before a position; TRACE_NONE: nobody's. */
static uint32_t worker(const struct trace *t, uint32_t node)
{
	if (node >= 2 * t->block_n)
		return t->points[node - 2 * t->block_n].block;
	return node % 2 ? node / 2 : t->blocks[node / 2].parent;
}

static bool nothing_changes(const struct trace *t, const double *factors)
{
	for (size_t i = 0; i < t->block_n; i++)
		if (factors[i] != 1)
			return false;
	return true;
}

int trace_what_if(struct trace *t, const double *factors, int64_t *ret_saved_ns)
{
	_cleanup_(work_done)
	struct work w = {0};
	_cleanup_(freep)
	double *after = NULL, *ready = NULL;
	double was = -INFINITY, is = -INFINITY; /* the last of all positions */
	int r;

	*ret_saved_ns = 0;
	if (nothing_changes(t, factors))
		return 0;
	r = work_init(t, &w);
	if (r < 0)
		return r;
	after = malloc(((size_t)w.graph.node_n + 1) * sizeof(*after));
	ready = malloc(((size_t)w.graph.node_n + 1) * sizeof(*ready));
	if (!after || !ready)
		return -ENOMEM;
	for (uint32_t i = 0; i < w.graph.node_n; i++)
		ready[i] = -INFINITY;
	for (uint32_t k = 0; k < w.graph.node_n; k++) {
		uint32_t at = w.order[k], who = at < w.position_n ? worker(t, at) : TRACE_NONE;
		bool caused = w.ready[at] != INT64_MIN;
		double spent = caused ? (double)(w.time[at] - w.ready[at]) : 0;

		/* Counted from the trace's begin: what is left of a double is fine enough.  Less
		 * than nothing is what clocks could not explain: nobody's work. */
		if (who != TRACE_NONE && spent > 0)
			spent *= factors[who];
		after[at] = caused ? ready[at] + spent : (double)(w.time[at] - t->begin_ns);
		for (uint32_t i = w.graph.first[at]; i < w.graph.first[at + 1]; i++) {
			uint32_t to = w.graph.to[i] & ~ARC_CLOCK;

			if (after[at] > ready[to])
				ready[to] = after[at];
		}
		if (at < w.position_n) {
			was = fmax(was, (double)(w.time[at] - t->begin_ns));
			is = fmax(is, after[at]);
		}
	}
	if (w.position_n)
		*ret_saved_ns = llround(was - is);
	return 0;
}

int trace_critical(struct trace *t, struct arena *arena, int64_t **ret_times)
{
	int64_t *out = arena_zalloc(arena, t->block_n + 1, sizeof(*out));
	struct critical_path path = {0};
	int r = out ? critical_path_whole(t, &path) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < path.n; i++)
		if (path.segments[i].block != TRACE_NONE && path.segments[i].kind == SEGMENT_SELF)
			out[path.segments[i].block] +=
				path.segments[i].to_ns - path.segments[i].from_ns;
	critical_path_done(&path);
	*ret_times = out;
	return 0;
}

/* --- pattern --- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	return hash_fold(a ^ 0xa0761d6478bd642fULL, b ^ 0xe7037ed1a0b428dbULL) + b;
}

static uint64_t own_hash(const struct trace *t, uint32_t block)
{
	struct slice service = trace_block_service(t, block), name = trace_block_name(t, block);

	return mix(mix(hash_bytes(service.p, service.n, 1), hash_bytes(name.p, name.n, 2)),
		   (uint64_t)(uint32_t)t->blocks[block].kind);
}

/* The shape does not depend on when children began, so their hashes are sorted: blocks lie in
 * pre-order, and so each one's are ready when it is reached from behind. */
int trace_pattern(struct trace *t, struct arena *arena, struct slice *ret_pattern)
{
	_cleanup_(freep)
	uint64_t *hash = NULL, *scratch = NULL;
	uint64_t whole = 0x9e3779b97f4a7c15ULL;
	size_t most = (t->block_n > t->edge_n ? t->block_n : t->edge_n) + 1, n = 0;
	char *text;

	hash = malloc((t->block_n + 1) * sizeof(*hash));
	scratch = malloc(most * sizeof(*scratch));
	if (!hash || !scratch)
		return -ENOMEM;
	for (uint32_t i = (uint32_t)t->block_n; i-- > 0;) {
		size_t children = 0;

		for (uint32_t c = i + 1; c <= t->blocks[i].last; c = t->blocks[c].last + 1)
			scratch[children++] = hash[c];
		qsort(scratch, children, sizeof(*scratch), by_number);
		hash[i] = own_hash(t, i);
		for (size_t c = 0; c < children; c++)
			hash[i] = mix(hash[i], scratch[c]);
	}
	for (uint32_t i = 0; i < t->block_n; i = t->blocks[i].last + 1)
		scratch[n++] = hash[i];
	qsort(scratch, n, sizeof(*scratch), by_number);
	for (size_t i = 0; i < n; i++)
		whole = mix(whole, scratch[i]);
	n = 0;
	for (size_t i = 0; i < t->edge_n; i++) { /* causes beyond the tree */
		const struct trace_edge *e = &t->edges[i];
		uint32_t from = trace_pos_block(t, e->from), to = trace_pos_block(t, e->to);

		if (e->row != TRACE_NONE && from != TRACE_NONE && to != TRACE_NONE)
			scratch[n++] = mix(mix(own_hash(t, from), own_hash(t, to)), e->kind);
	}
	qsort(scratch, n, sizeof(*scratch), by_number);
	for (size_t i = 0; i < n; i++)
		whole = mix(whole, scratch[i]);
	text = arena_printf(arena, "%016llx", (unsigned long long)whole);
	if (!text)
		return -ENOMEM;
	*ret_pattern = slice_cstr(text);
	return 0;
}
