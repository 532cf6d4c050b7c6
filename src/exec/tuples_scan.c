/* exec/tuples_scan.c - the trace path: every trace of a snapshot, on all cores. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/vec.h"
#include "exec/light_trace.h"
#include "store/scan.h"

#define GIANT_ROWS  STORE_TRACE_ROWS /* a trace with more is left out, and that is said */
#define CHUNK_ROWS  16384            /* made at once … */
#define GAP_ROWS    512  /* … with at most so many that nobody asked for between two traces */
#define LIGHT_TRIAL 4096 /* traces after which it is clear whether light ones will do */
#define FEW_NAMED   16   /* of a group: rows are made at once, its columns are not worth it */
#define CHECK_EVERY 64   /* traces between two looks at the budget */

struct shared {
	struct query_at *run;
	const struct plan_node *node;
	tuples_add_fn *add;
	void *context;
	_Atomic bool stop; /* somebody has failed, or has enough */
};

struct part {
	struct shared *shared;
	unsigned number;
	uint32_t parts;
	struct trace_at at;
	struct trace_prune prune;
	struct light_trace light;
	bool light_on;
	uint64_t light_tried, light_failed, traces_light, rows_light;
	uint64_t seen;
	int result;
	uint32_t *left; /* pieces of the group at hand that were not ruled out */
	size_t left_capacity;
	uint32_t left_n;

	/* A giant, page by page. */
	struct event_ref *refs;
	size_t ref_n, ref_capacity;
	struct batch **batches;
	size_t batch_n, batch_capacity;
	bool too_large;
};

/* What looks at all rows so far is for one thread, and for rows in their order. */
static bool has_state(const struct plan_node *node)
{
	if (node->op == PLAN_FILTER)
		return plan_expr_has_state(node->filter.predicate);
	for (uint32_t i = 0; node->op == PLAN_PROJECT && i < node->column_n; i++)
		if (plan_expr_has_state(node->project.exprs[i]))
			return true;
	return false;
}

bool node_is_per_trace(const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SOURCE:
	case PLAN_SPANSET:
	case PLAN_HBJOIN:
	case PLAN_SEQUENCE:
	case PLAN_PIPE:
		return true;
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
	case PLAN_UNION:
		for (uint32_t i = 0; i < node->input_n; i++)
			if (!node_is_per_trace(node->inputs[i]))
				return false;
		return !has_state(node);
	default:
		return false;
	}
}

unsigned tuples_threads(const struct query_at *run)
{
	return run->threads ? run->threads : 1;
}

/* --- one trace --- */

static int give_tuples(struct part *p, const struct tuples *tuples)
{
	struct trace_at *at = &p->at;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < tuples->n; i++) {
		struct tuple t = {tuples->items[i].values, at->sample};

		t.sample.time_ns = element_time(at, tuples->items[i].anchor);
		t.sample.id = element_id(at, tuples->items[i].anchor);
		r = p->shared->add(p->shared->context, p->number, &t);
	}
	return r;
}

static int visit(struct part *p, struct trace_id id, const struct event_ref *refs, size_t n)
{
	struct query_at *run = p->shared->run;
	const struct query_run *options = run->options;
	struct tuples tuples = {0};
	int r = options->trace && options->only && p->parts == 1
			? options->trace(options->context, id, refs, n)
			: 0;

	if (r != 0)
		return r;
	r = trace_at_set(&p->at, id, refs, n);
	if (r == 0)
		r = trace_eval(&p->at, p->shared->node, true, &tuples);
	if (r == 0)
		r = p->at.env.failed;
	if (r == 0)
		r = give_tuples(p, &tuples);
	trace_at_clear(&p->at);
	atomic_fetch_add_explicit(&run->traces, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&run->rows, n, memory_order_relaxed);
	return r;
}

static int look_around(struct part *p)
{
	if (atomic_load_explicit(&p->shared->stop, memory_order_relaxed))
		return SINK_FULL;
	return ++p->seen % CHECK_EVERY == 0 ? budget_check(&p->shared->run->budget) : 0;
}

/* --- giants come in pages --- */

static void giant_forget(struct part *p)
{
	for (size_t i = 0; i < p->batch_n; i++)
		batch_unref(p->batches[i]);
	p->batch_n = p->ref_n = 0;
	p->too_large = false;
}

static int giant_add(struct part *p, const struct event_ref *refs, size_t n)
{
	if (p->too_large || p->ref_n + n > GIANT_ROWS) {
		p->too_large = true;
		return 0;
	}
	if (!vec_reserve(&p->refs, &p->ref_capacity, p->ref_n + n, sizeof(*p->refs)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (p->batch_n == 0 || p->batches[p->batch_n - 1] != refs[i].batch) {
			if (!vec_reserve(&p->batches, &p->batch_capacity, p->batch_n + 1,
					 sizeof(struct batch *)))
				return -ENOMEM;
			p->batches[p->batch_n++] =
				batch_ref((struct batch *)(uintptr_t)refs[i].batch);
		}
		p->refs[p->ref_n++] = refs[i];
	}
	return 0;
}

static int on_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		    bool more)
{
	struct part *p = context;
	int r = look_around(p);

	if (r != 0)
		return r;
	if (!more && p->ref_n == 0 && !p->too_large)
		return visit(p, id, refs, n);
	r = giant_add(p, refs, n);
	if (r == 0 && !more) {
		if (p->too_large)
			atomic_store_explicit(&p->shared->run->giants, true, memory_order_relaxed);
		else
			r = visit(p, id, p->refs, p->ref_n);
		giant_forget(p);
	}
	return r;
}

/* --- groups of whole traces --- */

/* By columns alone, if that will do: else -EAGAIN. */
static int visit_light(struct part *p, const struct group_piece *piece)
{
	struct tuples tuples = {0};
	int r = look_around(p);

	if (r == 0)
		r = light_set(&p->light, &p->at, piece);
	if (r != 0)
		return r;
	p->at.env.failed = 0;
	r = trace_eval(&p->at, p->shared->node, true, &tuples);
	if (r == 0)
		r = p->at.env.failed;
	if (r == 0)
		r = give_tuples(p, &tuples);
	trace_at_clear(&p->at);
	p->at.env.failed = 0;
	/* Where it nearly never will do, trying costs more than it saves. */
	p->light_tried++;
	p->light_failed += r == -EAGAIN;
	if (p->light_tried >= LIGHT_TRIAL && p->light_failed * 8 > p->light_tried * 7)
		p->light_on = false;
	if (r == 0) {
		p->rows_light += piece->rows;
		p->traces_light++;
	}
	return r;
}

/* Rows from the first to the last of some traces are made at once: what it costs to find the first
 * of them is paid once. */
static int visit_pieces(struct part *p, struct segment_group *g, const struct group_piece *pieces,
			const uint32_t *indices, uint32_t n)
{
	const struct group_piece *last = &pieces[indices[n - 1]];
	uint32_t first = pieces[indices[0]].first;
	struct event_set set = {0};
	int r = group_rows(g, first, last->first + last->rows - first, &set);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct group_piece *piece = &pieces[indices[i]];

		r = look_around(p);
		if (r == 0)
			r = visit(p, piece->id, set.refs + (piece->first - first), piece->rows);
	}
	event_set_done(&set);
	return r;
}

/* Looks at traces by columns, and leaves those for which that will not do. */
static int sift(struct part *p, struct segment_group *g, const struct group_piece *pieces,
		const uint32_t *indices, uint32_t n)
{
	struct query_at *run = p->shared->run;
	uint32_t pruned = 0;
	int r = trace_prune_group(&p->prune, g);

	if (r == 0 && p->light_on)
		r = light_group(&p->light, &p->prune, g);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (!trace_prune_possible(&p->prune, &pieces[indices[i]])) {
			pruned++;
			continue;
		}
		r = p->light_on ? visit_light(p, &pieces[indices[i]]) : -EAGAIN;
		if (p->light.failed)
			r = p->light.failed;
		if (r == -EAGAIN) {
			p->left[p->left_n++] = indices[i];
			r = 0;
		}
	}
	atomic_fetch_add_explicit(&run->traces_pruned, pruned, memory_order_relaxed);
	atomic_fetch_add_explicit(&run->traces, pruned + p->traces_light, memory_order_relaxed);
	atomic_fetch_add_explicit(&run->rows, p->rows_light, memory_order_relaxed);
	p->traces_light = p->rows_light = 0;
	return r;
}

static int on_group(void *context, struct segment_group *g, const uint32_t *indices, uint32_t n)
{
	struct part *p = context;
	const struct group_piece *pieces;
	uint32_t all, from = 0, to;
	int r = group_pieces_bare(g, &pieces, &all);

	if (r == 0 && !vec_reserve(&p->left, &p->left_capacity, n + 1, sizeof(*p->left)))
		r = -ENOMEM;
	if (r < 0)
		return r;
	p->left_n = 0;
	if (p->shared->run->options->only && n <= FEW_NAMED) {
		memcpy(p->left, indices, n * sizeof(*indices));
		p->left_n = n;
	} else {
		r = sift(p, g, pieces, indices, n);
	}
	for (; r == 0 && from < p->left_n; from = to) {
		const struct group_piece *first = &pieces[p->left[from]];

		for (to = from + 1; to < p->left_n; to++) {
			const struct group_piece *next = &pieces[p->left[to]],
						 *before = &pieces[p->left[to - 1]];

			if (next->first - (before->first + before->rows) > GAP_ROWS ||
			    next->first + next->rows - first->first > CHUNK_ROWS)
				break;
		}
		r = visit_pieces(p, g, pieces, p->left + from, to - from);
	}
	return r;
}

/* Has the group a trace with spans in the range? */
static bool is_wanted(void *context, struct segment *segment, uint32_t group)
{
	struct part *p = context;
	const struct segment_tables *tables;
	bool wanted;

	if (!trace_prune_segment(&p->prune, segment))
		return false;
	if (segment_pin(segment, &tables) < 0)
		return true; /* opening it will say why */
	wanted = trace_prune_zone(&p->prune, tables_zone(tables, group));
	segment_unpin(segment);
	return wanted;
}

static void *work(void *argument)
{
	struct part *p = argument;
	const struct scan scan = {
		.part = p->number,
		.parts = p->parts,
		.threshold = p->shared->run->threshold,
		.only = p->shared->run->options->only,
		.only_n = p->shared->run->options->only_n,
		.group = on_group,
		.trace = on_trace,
		.wanted = is_wanted,
		.context = p,
	};
	bool held = leash_hold(p->shared->run->budget.leash);

	p->result = snapshot_scan(p->shared->run->options->snapshot, &scan);
	giant_forget(p);
	if (p->result < 0)
		atomic_store_explicit(&p->shared->stop, true, memory_order_relaxed);
	if (held)
		leash_drop();
	return NULL;
}

static int part_init(struct part *p, struct shared *shared, unsigned number, unsigned parts)
{
	int r;

	*p = (struct part){.shared = shared, .number = number, .parts = parts};
	p->light_on =
		!(shared->run->rules_off & (RULE_COLUMNS | RULE_PRUNE)) && light_plan(shared->node);
	p->light.modelled = p->light_on && light_plan_clocked(shared->node);
	r = trace_prune_init(&p->prune, shared->run, shared->node);
	return r == 0 ? trace_at_init(&p->at, shared->run) : r;
}

static void part_done(struct part *p)
{
	trace_at_done(&p->at);
	light_trace_done(&p->light);
	trace_prune_done(&p->prune);
	free(p->refs);
	free(p->batches);
	free(p->left);
}

int tuples_scan(struct query_at *run, const struct plan_node *node, tuples_add_fn *add,
		void *context)
{
	struct shared shared = {.run = run, .node = node, .add = add, .context = context};
	unsigned n = tuples_threads(run);
	struct part *parts = calloc(n, sizeof(*parts));
	pthread_t threads[RUN_THREADS_MOST];
	bool started[RUN_THREADS_MOST] = {false};
	int r = parts ? 0 : -ENOMEM;

	if (!run->options->snapshot) {
		free(parts);
		return r;
	}
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = part_init(&parts[i], &shared, i, n);
	for (unsigned i = 1; r == 0 && i < n; i++)
		started[i] = pthread_create(&threads[i], NULL, work, &parts[i]) == 0;
	for (unsigned i = 0; r == 0 && i < n; i++) /* the first, and what got no thread */
		if (!started[i])
			work(&parts[i]);
	for (unsigned i = 0; i < n; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
	for (unsigned i = 0; parts && i < n; i++) {
		if (r == 0 || (r == SINK_FULL && parts[i].result < 0))
			r = parts[i].result;
		part_done(&parts[i]);
	}
	free(parts);
	return r;
}
