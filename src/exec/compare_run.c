/* exec/compare_run.c - compare(A, B): what spans of one set have that those of another have not.
 *
 * Every attribute of every span (its own as span.…, its resource's as resource.…), its name, kind
 * and status, and the shape of its trace's execution (pattern) is counted on both sides; a span
 * without an attribute has nil.  A span of both sets counts as selected.
 *
 *   difference   share of the selected spans with the value, less the share of the others
 *   p            how likely so large a difference is by chance alone: of two proportions, with as
 *                many observations as there are *traces* on each side (spans of one trace are alike
 *                for one reason), times the number of values that were compared (Bonferroni's)
 *
 * Attributes come by what they explain: half the sum of the differences of their values that are
 * significant (p < 0.05), which is 1 if the value tells for certain on which side a span is; then
 * by p.  Of each attribute come the `top` values with the largest differences.
 *
 * An attribute with very many values, such as an id, tells little: values behind the first
 * VALUES_MOST are counted together as "(other)".
 *
 * Who draws lines of them (query_run.compare_steps) gets the counts themselves, by step. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "exec/attr_value.h"
#include "exec/grouping.h"
#include "exec/probability.h"
#include "exec/row_field.h"
#include "exec/series.h"
#include "exec/trace_eval.h"
#include "store/scan.h"

#define PARTS       16   /* fixed, so that the answer does not depend on the number of threads */
#define VALUES_MOST 2000 /* of an attribute, in one part */
#define TOP_DEFAULT 10
#define SIGNIFICANT 0.05

enum side { SELECTED, REST, SIDES };

static const struct aggregate counts[SIDES] = {
	[SELECTED] = {.kind = AGG_COUNT, .of_rows = true},
	[REST] = {.kind = AGG_COUNT, .of_rows = true},
};

struct part {
	struct query_at *run;
	const struct plan_node *node;
	const struct series_steps *cuts; /* NULL: no steps are asked for */
	struct trace_at at;
	struct grouping values; /* attribute, value: spans on both sides */
	struct grouping names;  /* attribute: how many values (SELECTED's count) */
	struct grouping steps;  /* attribute, value, time of the step; where they are asked for */
	struct value step;      /* of the span at hand; nil: they are not asked for */
	double spans[SIDES];    /* weighted */
	double traces[SIDES];   /* not weighted: what was observed */
	struct arena arena;
	int result;
};

struct comparison {
	struct query_at *run;
	const struct plan_node *node;
	struct series_steps steps;
	struct part parts[PARTS];
	_Atomic uint32_t next;
};

/* --- counting --- */

static int count_in(struct part *p, struct grouping *g, const struct value *keys, enum side side)
{
	uint32_t row;
	int r = grouping_find(g, keys, &row);

	return r < 0 ? r
		     : aggregate_add(&counts[side], grouping_state(g, row, side), &g->arena,
				     value_nil(), &p->at.sample);
}

static int count(struct part *p, const char *prefix, struct slice key, struct value v,
		 enum side side)
{
	struct value keys[3] = {
		value_text(slice_cstr(arena_printf(&p->arena, "%s%.*s", prefix, SLICE_ARG(key)))),
		v, p->step};
	size_t before = p->values.n;
	struct agg_count *n;
	uint32_t name;
	int r;

	if (!keys[0].p)
		return -ENOMEM;
	r = grouping_find(&p->names, keys, &name);
	if (r < 0)
		return r;
	n = grouping_state(&p->names, name, SELECTED);
	/* Those that were there before go on being counted. */
	if (n->n >= VALUES_MOST && !grouping_has(&p->values, keys))
		keys[1] = value_text(SLICE("(other)"));
	r = count_in(p, &p->values, keys, side);
	n->n += p->values.n > before;
	return r == 0 && p->cuts ? count_in(p, &p->steps, keys, side) : r;
}

/* The step that the span counts in; false: none. */
static bool step_find(struct part *p, uint64_t time_ns)
{
	uint32_t step;

	if (!p->cuts)
		return true;
	if (!series_step(p->cuts, time_ns, &step))
		return false;
	p->step = value_of(V_TIME, p->cuts->from_ns + (int64_t)step * p->cuts->step_ns);
	return true;
}

static int count_range(struct part *p, const char *prefix, const struct batch *b,
		       struct attr_range range, enum side side)
{
	int r = 0;

	for (uint32_t i = range.first; r == 0 && i < range.first + range.count; i++) {
		const struct attr *a = &b->attrs[i];

		/* The last one of a key counts. */
		if (batch_attr_find(b, range, batch_text(b, a->key)) == a)
			r = count(p, prefix, batch_text(b, a->key), attr_value(b, a, &p->arena),
				  side);
	}
	return r;
}

static int count_block(struct part *p, uint32_t block, struct slice pattern, enum side side)
{
	const struct trace *t = p->at.trace;
	uint32_t row = t->blocks[block].row;
	const struct event *e = trace_row(t, row);
	const struct batch *b = trace_row_batch(t, row);
	int r;

	arena_clear(&p->arena);
	r = count_range(p, "span.", b, e->attrs, side);
	if (r == 0)
		r = count_range(p, "resource.", b, b->resources[e->resource].attrs, side);
	if (r == 0)
		r = count(p, "", SLICE("name"), value_text(batch_text(b, e->name)), side);
	if (r == 0)
		r = count(p, "", SLICE("kind"), value_of(V_KIND, e->kind), side);
	if (r == 0)
		r = count(p, "", SLICE("status"), value_of(V_STATUS, e->status), side);
	if (r == 0)
		r = count(p, "", SLICE("pattern"), value_text(pattern), side);
	p->spans[side] += p->at.sample.weight;
	return r;
}

static int count_trace(struct part *p)
{
	const struct plan_node *node = p->node;
	const struct trace *t = p->at.trace;
	const uint64_t *selected = trace_set(&p->at, node->compare.selection);
	const uint64_t *rest =
		node->compare.baseline ? trace_set(&p->at, node->compare.baseline) : NULL;
	bool seen[SIDES] = {false};
	struct slice pattern = {0};
	int r = 0;

	if (!selected || (node->compare.baseline && !rest))
		return p->at.env.failed < 0 ? p->at.env.failed : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < t->block_n; i++) {
		uint64_t time_ns = trace_row(t, t->blocks[i].row)->time_ns;
		bool in = set_has(selected, i) && range_has(&node->compare.range, time_ns) &&
			  (!node->compare.within || set_has(rest, i));
		enum side side = in ? SELECTED : REST;

		if (t->blocks[i].inferred != TRACE_NONE || !range_has(&p->run->range, time_ns) ||
		    (!in && rest && !set_has(rest, i)) || !step_find(p, time_ns))
			continue;
		if (!pattern.n)
			r = trace_pattern(p->at.trace, &p->at.arena, &pattern);
		seen[side] = true;
		if (r == 0)
			r = count_block(p, i, pattern, side);
	}
	p->traces[SELECTED] += seen[SELECTED];
	p->traces[REST] += seen[REST];
	return r;
}

static int on_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		    bool more)
{
	struct part *p = context;
	int r = budget_check(&p->run->budget);

	if (r == 0)
		r = trace_at_set(&p->at, id, refs, n);
	if (r == -E2BIG || more)
		atomic_store(&p->run->giants, true);
	if (r == -E2BIG)
		return 0;
	if (r == 0)
		r = count_trace(p);
	trace_at_clear(&p->at);
	atomic_fetch_add(&p->run->traces, 1);
	atomic_fetch_add(&p->run->rows, n);
	if (r == 0)
		r = grouping_account(&p->values);
	return r == 0 && p->cuts ? grouping_account(&p->steps) : r;
}

/* Has the group a row in the range?  A trace over several groups is shown where it begins. */
static bool wanted(void *context, struct segment *segment, uint32_t group)
{
	const struct plan_range *range = &((struct part *)context)->run->range;
	const struct segment_tables *tables;
	const struct group_zone *zone;
	bool inside;

	if (segment_pin(segment, &tables) < 0)
		return true; /* and fails there, with the reason */
	zone = tables_zone(tables, group);
	inside = zone->continues || zone->continued ||
		 (!(range->from_ns &&
		    (uint64_t)zone->start_max_ns + (uint64_t)zone->duration_max_ns <
			    (uint64_t)range->from_ns) &&
		  !(range->to_ns && zone->start_min_ns >= range->to_ns));
	segment_unpin(segment);
	return inside;
}

static int on_group(void *context, struct segment_group *g, const uint32_t *indices, uint32_t n)
{
	const struct group_piece *pieces;
	struct event_set set = {0};
	uint32_t all;
	int r = group_pieces(g, &pieces, &all);

	for (uint32_t i = 0; r == 0 && i < (indices ? n : all); i++) {
		const struct group_piece *piece = &pieces[indices ? indices[i] : i];

		event_set_done(&set);
		r = group_rows(g, piece->first, piece->rows, &set);
		if (r == 0)
			r = on_trace(context, piece->id, set.refs, set.n, false);
	}
	event_set_done(&set);
	return r;
}

static void *work(void *argument)
{
	struct comparison *c = argument;
	bool held = leash_hold(c->run->budget.leash);
	uint32_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < PARTS) {
		struct part *p = &c->parts[i];
		const struct scan scan = {.part = i,
					  .parts = PARTS,
					  .threshold = c->run->threshold,
					  .group = on_group,
					  .trace = on_trace,
					  .wanted = wanted,
					  .context = p};

		p->result = trace_at_init(&p->at, c->run);
		if (p->result == 0) {
			p->result = snapshot_scan(c->run->options->snapshot, &scan);
			trace_at_done(&p->at);
		}
		if (p->result < 0)
			budget_stop(&c->run->budget, p->result);
	}
	if (held)
		leash_drop();
	return NULL;
}

/* --- ranking --- */

struct line {
	uint32_t attribute; /* number */
	struct value name, value;
	double share[SIDES], difference, p;
};

struct ranking {
	struct part *all;
	struct line *lines;
	size_t n, capacity;
	struct value last; /* attribute */
	double missing[SIDES];
	double *explained; /* [attribute] */
	double *least_p;
	size_t attribute_n, explained_capacity, p_capacity;
};

static int line_add(struct ranking *k, struct value name, struct value value, const double n[SIDES])
{
	struct line *l;

	if (!vec_reserve(&k->lines, &k->capacity, k->n + 1, sizeof(*l)))
		return -ENOMEM;
	l = &k->lines[k->n++];
	*l = (struct line){.attribute = (uint32_t)k->attribute_n - 1, .name = name, .value = value};
	for (int s = 0; s < SIDES; s++)
		l->share[s] = k->all->spans[s] > 0 ? n[s] / k->all->spans[s] : 0;
	l->difference = l->share[SELECTED] - l->share[REST];
	return 0;
}

/* Spans that do not have the attribute. */
static int close_attribute(struct ranking *k)
{
	if (k->attribute_n == 0 || (k->missing[SELECTED] < 0.5 && k->missing[REST] < 0.5))
		return 0;
	return line_add(k, k->last, value_nil(), k->missing);
}

static int take(void *context, const struct value *values, const struct estimate *estimates)
{
	struct ranking *k = context;
	double n[SIDES] = {value_number(values[2]), value_number(values[3])};
	int r = 0;

	(void)estimates;
	if (k->attribute_n == 0 || !value_same(k->last, values[0])) {
		r = close_attribute(k);
		k->attribute_n++;
		k->last = values[0];
		memcpy(k->missing, k->all->spans, sizeof(k->missing));
	}
	for (int s = 0; s < SIDES; s++)
		k->missing[s] -= n[s];
	return r == 0 ? line_add(k, values[0], values[1], n) : r;
}

static double chance(const struct ranking *k, const struct line *l)
{
	const double *traces = k->all->traces;
	double n = traces[SELECTED] + traces[REST], pooled, z;

	if (traces[SELECTED] == 0 || traces[REST] == 0)
		return 1;
	pooled = (l->share[SELECTED] * traces[SELECTED] + l->share[REST] * traces[REST]) / n;
	if (pooled <= 0 || pooled >= 1)
		return 1;
	z = l->difference / sqrt(pooled * (1 - pooled) * (1 / traces[SELECTED] + 1 / traces[REST]));
	return MIN(1.0, erfc(fabs(z) / M_SQRT2) * (double)k->n);
}

static int by_rank(const void *a, const void *b, void *context)
{
	const struct ranking *k = context;
	const struct line *x = a, *y = b;
	double ex = k->explained[x->attribute], ey = k->explained[y->attribute];
	double px = k->least_p[x->attribute], py = k->least_p[y->attribute];
	double dx = fabs(x->difference), dy = fabs(y->difference);

	if (ex != ey)
		return ex < ey ? 1 : -1;
	if (px != py)
		return px > py ? 1 : -1;
	if (x->attribute != y->attribute)
		return x->attribute < y->attribute ? -1 : 1;
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return value_order(x->value, y->value);
}

static int rank(struct ranking *k)
{
	if (!vec_reserve(&k->explained, &k->explained_capacity, k->attribute_n + 1,
			 sizeof(double)) ||
	    !vec_reserve(&k->least_p, &k->p_capacity, k->attribute_n + 1, sizeof(double)))
		return -ENOMEM;
	for (size_t i = 0; i < k->attribute_n; i++) {
		k->explained[i] = 0;
		k->least_p[i] = 1;
	}
	for (size_t i = 0; i < k->n; i++) {
		struct line *l = &k->lines[i];

		l->p = chance(k, l);
		if (l->p < SIGNIFICANT)
			k->explained[l->attribute] += fabs(l->difference) / 2;
		k->least_p[l->attribute] = MIN(k->least_p[l->attribute], l->p);
	}
	if (k->n > 1)
		qsort_r(k->lines, k->n, sizeof(*k->lines), by_rank, k);
	return 0;
}

static int give(struct comparison *c, struct ranking *k, const struct run_sink *sink)
{
	uint32_t top = c->node->compare.top ? c->node->compare.top : TOP_DEFAULT, given = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < k->n; i++) {
		const struct line *l = &k->lines[i];
		const struct value row[] = {
			l->name,
			l->value,
			value_float(l->share[SELECTED]),
			value_float(l->share[REST]),
			value_float(l->difference),
			value_float(l->p),
		};

		given = i > 0 && l->attribute == k->lines[i - 1].attribute ? given + 1 : 0;
		if (given < top)
			r = sink->row(sink->context, row, NULL);
	}
	return r;
}

static int merge(struct comparison *c)
{
	struct part *all = &c->parts[0];
	int r = all->result;

	for (uint32_t i = 1; r == 0 && i < PARTS; i++) {
		r = c->parts[i].result;
		if (r == 0)
			r = grouping_merge(&all->values, &c->parts[i].values);
		if (r == 0 && all->cuts)
			r = grouping_merge(&all->steps, &c->parts[i].steps);
		for (int s = 0; s < SIDES; s++) {
			all->spans[s] += c->parts[i].spans[s];
			all->traces[s] += c->parts[i].traces[s];
		}
	}
	return r;
}

static int init(struct comparison *c)
{
	int r = c->run->options->compare_steps ? series_steps_of(&c->steps, c->run, 0) : 0;

	for (uint32_t i = 0; r == 0 && i < PARTS; i++) {
		struct part *p = &c->parts[i];

		p->run = c->run;
		p->node = c->node;
		p->cuts = c->run->options->compare_steps ? &c->steps : NULL;
		r = grouping_init(&p->steps, 3, counts, SIDES, &c->run->budget);
		if (r < 0)
			break;
		r = grouping_init(&p->values, 2, counts, SIDES, &c->run->budget);
		if (r == 0)
			r = grouping_init(&p->names, 1, counts, 1, &c->run->budget);
	}
	return r;
}

static int give_step(void *context, const struct value *values, const struct estimate *estimates)
{
	const struct run_sink *sink = context;
	const struct value row[] = {values[0], values[1], values[3],
				    values[4], values[2], value_nil()};

	return sink->row(sink->context, row, NULL);
}

static int give_ranked(struct comparison *c, const struct run_sink *sink)
{
	struct ranking k = {.all = &c->parts[0]};
	int r = grouping_each(&c->parts[0].values, take, &k);

	if (r == 0)
		r = close_attribute(&k);
	if (r == 0)
		r = rank(&k);
	if (r == 0)
		r = give(c, &k, sink);
	free(k.lines);
	free(k.explained);
	free(k.least_p);
	return r;
}

int compare_run(struct query_at *run, const struct plan_node *node, const struct run_sink *sink)
{
	_cleanup_(freep)
	struct comparison *c = calloc(1, sizeof(*c));
	pthread_t threads[RUN_THREADS_MOST];
	unsigned started = 0;
	int r = c ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	c->run = run;
	c->node = node;
	r = init(c);
	while (r == 0 && started + 1 < run->threads && started < RUN_THREADS_MOST &&
	       pthread_create(&threads[started], NULL, work, c) == 0)
		started++;
	if (r == 0)
		work(c); /* what got no thread is done here */
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (r == 0)
		r = merge(c);
	if (r == 0)
		r = run->options->compare_steps
			    ? grouping_each(&c->parts[0].steps, give_step, (void *)(uintptr_t)sink)
			    : give_ranked(c, sink);
	for (uint32_t i = 0; i < PARTS; i++) {
		grouping_done(&c->parts[i].values);
		grouping_done(&c->parts[i].names);
		grouping_done(&c->parts[i].steps);
		arena_done(&c->parts[i].arena);
	}
	return r;
}
