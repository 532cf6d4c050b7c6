/* exec/light_model.c - clocks of a light trace aligned, as model/trace_build.h does it for others.
 *
 * Times are adjusted, siblings stand in their order, and what remote parents add are edges: enough
 * for self time and for the critical path of a trace with one root, which ask nothing of rows.  All
 * blocks are in one unit: who is in which does not matter to them. */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "exec/light_int.h"
#include "model/clock_align.h"

#define PROCESSES_MOST 32 /* of one trace */
#define BOUNDS_MOST    (PROCESSES_MOST * PROCESSES_MOST / 2)
#define OFFSET_MOST    (INT64_MAX / 4)

struct modelling {
	const struct light_trace *l;
	const struct light_spans *s;
	uint32_t ranks[PROCESSES_MOST]; /* ascending: processes of the segment that are in the trace
					 */
	uint32_t process_n;
	uint8_t process[LIGHT_SPANS_MOST];
	uint16_t bits[LIGHT_SPANS_MOST];
	struct clock_bound bounds[BOUNDS_MOST];
	uint32_t bound_n;
	int64_t offsets[PROCESSES_MOST];
};

static uint32_t rank_of(const struct modelling *m, uint32_t span)
{
	const struct light_trace *l = m->l;

	return l->processes[tables_shapes(l->tables)->rows[l->codes[m->s->row[span]]].resource];
}

/* Dense numbers, in the order of the segment's. */
static int number_processes(struct modelling *m)
{
	uint32_t rank[LIGHT_SPANS_MOST];

	for (uint32_t i = 0; i < m->s->n; i++) {
		uint32_t at = 0;

		rank[i] = rank_of(m, i);
		while (at < m->process_n && m->ranks[at] < rank[i])
			at++;
		if (at < m->process_n && m->ranks[at] == rank[i])
			continue;
		if (m->process_n == PROCESSES_MOST)
			return -EAGAIN;
		memmove(&m->ranks[at + 1], &m->ranks[at],
			(m->process_n++ - at) * sizeof(*m->ranks));
		m->ranks[at] = rank[i];
	}
	for (uint32_t i = 0; i < m->s->n; i++) {
		m->process[i] = 0;
		while (m->ranks[m->process[i]] != rank[i])
			m->process[i]++;
	}
	return 0;
}

static int64_t began(const struct modelling *m, uint32_t span)
{
	return (int64_t)m->l->times[m->s->row[span]];
}

static int64_t ended(const struct modelling *m, uint32_t span)
{
	return began(m, span) + (int64_t)m->l->durations[m->s->row[span]];
}

/* --- bounds --- */

/* Bounds by (from, to), both ascending. */
static struct clock_bound *bound_of(struct modelling *m, uint32_t from, uint32_t to)
{
	uint32_t at = m->bound_n;

	while (at > 0 && (m->bounds[at - 1].from > from ||
			  (m->bounds[at - 1].from == from && m->bounds[at - 1].to > to)))
		at--;
	if (at > 0 && m->bounds[at - 1].from == from && m->bounds[at - 1].to == to)
		return &m->bounds[at - 1];
	memmove(&m->bounds[at + 1], &m->bounds[at], (m->bound_n++ - at) * sizeof(*m->bounds));
	m->bounds[at] = (struct clock_bound){
		.from = from, .to = to, .low_ns = INT64_MIN, .high_ns = INT64_MAX};
	return &m->bounds[at];
}

static void add_bound(struct modelling *m, uint32_t from, int64_t sent, uint32_t to,
		      int64_t received)
{
	struct clock_bound *b;

	if (from == to)
		return;
	b = bound_of(m, from < to ? from : to, from < to ? to : from);
	if (from < to) {
		b->requests++;
		b->low_ns = b->low_ns > sent - received ? b->low_ns : sent - received;
	} else {
		b->responses++;
		b->high_ns = b->high_ns < received - sent ? b->high_ns : received - sent;
	}
}

/* The earliest root, true roots before orphans: its clock is what all are measured by. */
static uint32_t anchor(const struct modelling *m)
{
	uint32_t best = LIGHT_NONE;

	for (uint32_t i = 0; i < m->s->n; i++) {
		bool whole = m->l->parents[m->s->row[i]] == 0, best_whole;

		if (m->s->parent[i] != LIGHT_NONE)
			continue;
		if (best == LIGHT_NONE) {
			best = i;
			continue;
		}
		best_whole = m->l->parents[m->s->row[best]] == 0;
		if (whole != best_whole             ? whole
		    : began(m, i) != began(m, best) ? began(m, i) < began(m, best)
						    : m->s->id[i] < m->s->id[best])
			best = i;
	}
	return best == LIGHT_NONE ? 0 : m->process[best];
}

static int align(struct modelling *m)
{
	for (uint32_t i = 0; i < m->s->n; i++) {
		uint32_t up = m->s->parent[i];

		m->bits[i] = 0;
		if (up == LIGHT_NONE)
			continue;
		m->bits[i] = light_row_bits(m->l, m->s->row[i], m->s->row[up]);
		if (!(m->bits[i] & BLOCK_REMOTE_PARENT))
			continue;
		add_bound(m, m->process[up], began(m, up), m->process[i], began(m, i));
		if (m->bits[i] & BLOCK_ENDS_IN_PARENT)
			add_bound(m, m->process[i], ended(m, i), m->process[up], ended(m, up));
	}
	memset(m->offsets, 0, m->process_n * sizeof(*m->offsets));
	return m->bound_n == 0
		       ? 0
		       : clock_align(m->bounds, m->bound_n, m->process_n, anchor(m), m->offsets);
}

/* --- order --- */

struct place {
	int64_t begin_ns, raw_ns;
	uint64_t id;
	uint16_t span;
};

static int place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->raw_ns != y->raw_ns)
		return x->raw_ns < y->raw_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

#define SORTED_BY_HAND 24

static void sort(struct place *places, uint32_t n)
{
	if (n > SORTED_BY_HAND) {
		qsort(places, n, sizeof(*places), place_cmp);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		struct place held = places[i];
		uint32_t at = i;

		for (; at > 0 && place_cmp(&held, &places[at - 1]) < 0; at--)
			places[at] = places[at - 1];
		places[at] = held;
	}
}

/* -EAGAIN: a time would have to be cut off at what a time can be. */
static int order_spans(const struct modelling *m, uint16_t *order)
{
	struct place places[LIGHT_SPANS_MOST];

	for (uint32_t i = 0; i < m->s->n; i++) {
		int64_t offset = m->offsets[m->process[i]], begin, end;

		if (__builtin_add_overflow(began(m, i), offset, &begin) ||
		    __builtin_add_overflow(ended(m, i), offset, &end) || begin < 0 || end < 0)
			return -EAGAIN;
		places[i] = (struct place){begin, began(m, i), m->s->id[i], (uint16_t)i};
	}
	sort(places, m->s->n);
	for (uint32_t i = 0; i < m->s->n; i++)
		order[i] = places[i].span;
	return 0;
}

/* --- blocks and edges --- */

static void fill_blocks(const struct modelling *m, struct trace *t)
{
	const struct light_trace *l = m->l;

	for (uint32_t i = 0; i < m->s->n; i++) {
		struct trace_block *b = &t->blocks[m->s->block[i]];
		int64_t offset = m->offsets[m->process[i]];

		b->id = m->s->id[i];
		b->parent_id = l->parents[m->s->row[i]];
		b->begin_ns = began(m, i) + offset;
		b->end_ns = ended(m, i) + offset;
		b->process = m->process[i];
		b->inferred = TRACE_NONE;
		b->bits = m->bits[i];
		b->kind = tables_shapes(l->tables)->rows[l->codes[m->s->row[i]]].kind;
	}
}

/* By the block they lead to, its begin before its end. */
static void fill_edges(struct trace *t)
{
	t->edge_n = 0;
	for (uint32_t i = 0; i < t->block_n; i++) {
		const struct trace_block *b = &t->blocks[i];

		if (b->bits & BLOCK_REMOTE_PARENT)
			t->edges[t->edge_n++] = (struct trace_edge){
				.from = trace_pos(POS_BEGIN, b->parent),
				.to = trace_pos(POS_BEGIN, i),
				.row = TRACE_NONE,
				.kind = b->bits & BLOCK_MESSAGE ? EDGE_MESSAGE : EDGE_PARENT,
			};
		for (uint32_t c = i + 1; c <= b->last; c = t->blocks[c].last + 1)
			if (t->blocks[c].bits & BLOCK_ENDS_IN_PARENT)
				t->edges[t->edge_n++] = (struct trace_edge){
					.from = trace_pos(POS_END, c),
					.to = trace_pos(POS_END, i),
					.row = TRACE_NONE,
					.kind = EDGE_PARENT,
				};
	}
}

int light_model(struct light_trace *l, struct light_spans *s)
{
	struct modelling m;
	uint16_t order[LIGHT_SPANS_MOST];
	int r = light_times(l) ? light_processes(l) : -EAGAIN;

	m.l = l;
	m.s = s;
	m.process_n = m.bound_n = 0;
	for (uint32_t i = 0; r == 0 && i < s->n; i++)
		if (!light_row_timed(l, s->row[i]))
			r = -EAGAIN;
	if (r == 0)
		r = number_processes(&m);
	if (r == 0)
		r = align(&m);
	if (r == 0)
		r = order_spans(&m, order);
	if (r == 0)
		r = light_tree(l, s, order);
	if (r < 0)
		return r;
	if (!vec_reserve(&l->trace.edges, &l->edge_capacity, 2 * (size_t)s->n + 1,
			 sizeof(*l->trace.edges)))
		return -ENOMEM;
	l->unit = (struct trace_unit){
		.parent = TRACE_NONE, .row = TRACE_NONE, .blocks = s->n, .from_clock = true};
	l->trace.units = &l->unit;
	l->trace.unit_n = 1;
	fill_blocks(&m, &l->trace);
	fill_edges(&l->trace);
	return 0;
}
