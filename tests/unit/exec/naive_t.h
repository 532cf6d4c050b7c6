/* tests/unit/exec/naive_t.h - traces as lists of events, and happened-before by the letter of its
 * rules: every arc written down, and the transitive closure of all of them.
 *
 * It knows nothing of modelled traces, plans or columns, and is slow: what it says is what the
 * others are compared with.
 *
 *   inside a block     begin → its points → end; begin → the begins it causes → end
 *   a remote child     begin → begin, and end → end where it took no longer than its parent; a
 *                      message is not waited for
 *   a unit             in the order of its sequence numbers
 *   spans, no units    those of one process with the same parent and the same thread.id: one over
 *                      before the other began; points of one span by their times
 *   links, edges       as they were told
 *
 * What was told and closes a cycle orders nothing; a clock that contradicts what was told yields.
 */
#ifndef CAUSET_TESTS_UNIT_EXEC_NAIVE_T_H
#define CAUSET_TESTS_UNIT_EXEC_NAIVE_T_H

#include "query_t.h"

#include "base/rng.h"
#include "exec/value.h"

#define NAIVE_SPANS 16
#define NAIVE_EDGES 16
#define NAIVE_NODES (2 * NAIVE_SPANS + 2 * NAIVE_EDGES)
#define NAIVE_ARCS  4096
#define NO_SPAN     UINT32_MAX

struct naive_span {
	const struct event *event, *end; /* end is NULL for one that came whole */
	uint64_t begin_ns, end_ns;
	uint32_t parent; /* index, or NO_SPAN */
	bool called;     /* a request or message of its own brought it to life */
};

/* Where an arc comes from: what is dropped, is dropped with its whole origin. */
enum naive_origin { BY_STRUCTURE, BY_EDGE, BY_UNIT, BY_CLOCK };

struct naive_arc {
	uint8_t from, to, origin; /* enum naive_origin */
	uint64_t number;          /* which edge, which unit */
};

struct naive_edge {
	const struct event *event;
	uint32_t from, to; /* spans */
	uint8_t nodes[2];
	bool cut;
};

struct naive_trace {
	const struct batch *b;
	struct trace_id id;
	struct naive_span spans[NAIVE_SPANS];
	uint32_t n;
	struct naive_edge edges[NAIVE_EDGES];
	uint32_t edge_n;
	/* Nodes: 2 × span its begin, that + 1 its end, then points. */
	uint32_t node_n;
	uint32_t point_span[NAIVE_NODES];
	uint64_t point_ns[NAIVE_NODES];
	struct naive_arc arcs[NAIVE_ARCS];
	uint32_t arc_n;
	bool reach[NAIVE_NODES][NAIVE_NODES];
};

static inline uint32_t naive_find(const struct naive_trace *t, uint64_t id)
{
	for (uint32_t i = 0; id && i < t->n; i++)
		if (t->spans[i].event->id1 == id)
			return i;
	return NO_SPAN;
}

static inline struct event_place naive_place(const struct naive_trace *t, const struct event *e)
{
	return batch_place_get(t->b, (size_t)(e - t->b->events));
}

static inline uint64_t naive_thread(const struct naive_trace *t, uint32_t span)
{
	const struct attr *a =
		batch_attr_find(t->b, t->spans[span].event->attrs, SLICE("thread.id"));

	return a ? attr_bits(t->b, a) + 1 : 0;
}

static inline void naive_arc(struct naive_trace *t, uint32_t from, uint32_t to,
			     enum naive_origin origin, uint64_t number)
{
	assert_true(t->arc_n < NAIVE_ARCS);
	t->arcs[t->arc_n++] =
		(struct naive_arc){(uint8_t)from, (uint8_t)to, (uint8_t)origin, number};
}

/* --- the rules --- */

static inline bool naive_remote(const struct naive_trace *t, uint32_t child, uint32_t parent)
{
	const struct event *c = t->spans[child].event, *p = t->spans[parent].event;

	return c->resource != p->resource ||
	       ((c->kind == KIND_SERVER || c->kind == KIND_CONSUMER) &&
		(p->kind == KIND_CLIENT || p->kind == KIND_PRODUCER));
}

/* In one process: was the parent over before the child began? */
static inline bool naive_after(const struct naive_trace *t, uint32_t child, uint32_t parent)
{
	const struct naive_span *c = &t->spans[child], *p = &t->spans[parent];

	if (c->event->resource != p->event->resource)
		return false;
	if (p->end) {
		struct event_place begin = naive_place(t, c->event), end = naive_place(t, p->end);

		if (begin.unit && begin.unit == end.unit && begin.seq && end.seq)
			return begin.seq > end.seq;
	}
	return c->begin_ns > p->end_ns;
}

static inline void naive_structure(struct naive_trace *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct naive_span *s = &t->spans[i];
		uint32_t up = s->parent;
		bool remote = up != NO_SPAN && naive_remote(t, i, up);

		naive_arc(t, 2 * i, 2 * i + 1, BY_STRUCTURE, 0);
		if (up == NO_SPAN)
			continue;
		naive_arc(t, 2 * up, 2 * i, BY_STRUCTURE, 0);
		if (s->called || (remote && (s->event->kind == KIND_CONSUMER ||
					     t->spans[up].event->kind == KIND_PRODUCER)))
			continue;
		if (!naive_after(t, i, up))
			naive_arc(t, 2 * i, 2 * up + 1, BY_STRUCTURE, 0);
		if (remote && s->end_ns >= s->begin_ns &&
		    s->end_ns - s->begin_ns <= t->spans[up].end_ns - t->spans[up].begin_ns)
			naive_arc(t, 2 * i + 1, 2 * up + 1, BY_STRUCTURE, 0);
	}
	for (uint32_t p = 2 * t->n; p < t->node_n; p++) {
		naive_arc(t, 2 * t->point_span[p], p, BY_STRUCTURE, 0);
		naive_arc(t, p, 2 * t->point_span[p] + 1, BY_STRUCTURE, 0);
	}
}

/* The sequence number of a node in a unit; 0: it stands in none, or has none there. */
static inline uint64_t naive_seq(const struct naive_trace *t, uint32_t node, uint64_t unit)
{
	const struct naive_span *s;

	if (node >= 2 * t->n)
		return 0;
	s = &t->spans[node / 2];
	if (s->event->type != EVENT_BEGIN || naive_place(t, s->event).unit != unit)
		return 0;
	return naive_place(t, node % 2 == 0 ? s->event : s->end).seq;
}

/* The unit of spans without one: process, thread and parent. */
static inline uint64_t naive_unit(const struct naive_trace *t, uint32_t span)
{
	const struct naive_span *s = &t->spans[span];
	uint64_t up = s->parent == NO_SPAN ? s->event->id2 + 1000 : s->parent;

	return (s->event->resource * 100 + naive_thread(t, span)) * 10000 + up;
}

static inline void naive_units(struct naive_trace *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = 0; k < t->n; k++) {
			const struct naive_span *x = &t->spans[i], *y = &t->spans[k];

			if (x->event->type == EVENT_BEGIN) {
				uint64_t unit = naive_place(t, x->event).unit;

				for (uint32_t a = 0; a < 4; a++) {
					uint32_t from = 2 * i + a / 2, to = 2 * k + a % 2;
					uint64_t one = naive_seq(t, from, unit),
						 two = naive_seq(t, to, unit);

					if (one && two && one < two)
						naive_arc(t, from, to, BY_UNIT, unit);
				}
			} else if (i != k && y->event->type == EVENT_SPAN &&
				   naive_unit(t, i) == naive_unit(t, k) &&
				   x->end_ns < y->begin_ns) {
				naive_arc(t, 2 * i + 1, 2 * k, BY_CLOCK, naive_unit(t, i));
			}
		}
	for (uint32_t p = 2 * t->n; p < t->node_n; p++)
		for (uint32_t q = 2 * t->n; q < t->node_n; q++)
			if (t->point_span[p] == t->point_span[q] &&
			    t->spans[t->point_span[p]].event->type == EVENT_SPAN &&
			    t->point_ns[p] < t->point_ns[q])
				naive_arc(t, p, q, BY_CLOCK, naive_unit(t, t->point_span[p]));
}

/* --- the closure --- */

static inline void naive_close(struct naive_trace *t, bool clocks)
{
	memset(t->reach, 0, sizeof(t->reach));
	for (uint32_t i = 0; i < t->arc_n; i++)
		if (clocks || t->arcs[i].origin != BY_CLOCK)
			t->reach[t->arcs[i].from][t->arcs[i].to] = true;
	for (uint32_t k = 0; k < t->node_n; k++)
		for (uint32_t i = 0; i < t->node_n; i++)
			for (uint32_t j = 0; t->reach[i][k] && j < t->node_n; j++)
				t->reach[i][j] |= t->reach[k][j];
}

/* Drops whole origins of a sort of which an arc is part of a cycle. */
static inline void naive_drop(struct naive_trace *t, bool clocks)
{
	uint32_t kept = 0;
	bool drop[NAIVE_ARCS] = {false};

	for (uint32_t i = 0; i < t->arc_n; i++) {
		const struct naive_arc *a = &t->arcs[i];

		if ((clocks ? a->origin != BY_CLOCK
			    : a->origin != BY_EDGE && a->origin != BY_UNIT) ||
		    !t->reach[a->to][a->from])
			continue;
		for (uint32_t k = 0; k < t->arc_n; k++)
			drop[k] |= t->arcs[k].origin == a->origin && t->arcs[k].number == a->number;
		if (a->origin == BY_EDGE)
			t->edges[a->number].cut = true;
	}
	for (uint32_t i = 0; i < t->arc_n; i++)
		if (!drop[i])
			t->arcs[kept++] = t->arcs[i];
	t->arc_n = kept;
}

/* --- from events --- */

static inline struct slice naive_host(const struct naive_trace *t, uint32_t span)
{
	return batch_attr_text(t->b, t->b->resources[t->spans[span].event->resource].attrs,
			       SLICE("host.name"));
}

/* Among those that are not ordered: smaller raw time, host, id. */
static inline int naive_key(const struct naive_trace *t, uint32_t a, uint32_t b)
{
	const struct event *x = t->spans[a].event, *y = t->spans[b].event;
	int r;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	r = slice_cmp(naive_host(t, a), naive_host(t, b));
	return r ? r : x->id1 < y->id1 ? -1 : x->id1 > y->id1;
}

static inline uint8_t naive_touch(struct naive_trace *t, uint32_t span, uint64_t ns)
{
	if (ns == t->spans[span].begin_ns)
		return (uint8_t)(2 * span);
	if (ns == t->spans[span].end_ns)
		return (uint8_t)(2 * span + 1);
	t->point_span[t->node_n] = span;
	t->point_ns[t->node_n] = ns;
	return (uint8_t)t->node_n++;
}

static inline void naive_edges(struct naive_trace *t)
{
	for (uint32_t i = 0; i < t->b->event_n; i++) {
		const struct event *e = &t->b->events[i];
		struct slice name = batch_text(t->b, e->name);
		struct naive_edge edge = {.event = e};

		if (!trace_id_eq(e->trace_id, t->id) ||
		    (e->type != EVENT_LINK && e->type != EVENT_EDGE))
			continue;
		assert_true(t->edge_n < NAIVE_EDGES);
		/* A link is told by the one that was caused. */
		edge.from = naive_find(t, e->type == EVENT_LINK ? e->id2 : e->id1);
		edge.to = naive_find(t, e->type == EVENT_LINK ? e->id1 : e->id2);
		if (e->type == EVENT_LINK) {
			edge.nodes[0] = (uint8_t)(2 * edge.from);
			edge.nodes[1] = (uint8_t)(2 * edge.to);
		} else {
			edge.nodes[0] = naive_touch(t, edge.from, e->time_ns);
			edge.nodes[1] = naive_touch(t, edge.to, e->end_ns);
			t->spans[edge.to].called |= slice_eq(name, SLICE("message"));
		}
		t->edges[t->edge_n++] = edge;
	}
}

static inline void naive_trace(struct naive_trace *t, const struct batch *b, struct trace_id id)
{
	*t = (struct naive_trace){.b = b, .id = id};
	for (uint32_t i = 0; i < b->event_n; i++) {
		const struct event *e = &b->events[i];

		if (!trace_id_eq(e->trace_id, id))
			continue;
		if (e->type == EVENT_SPAN || e->type == EVENT_BEGIN) {
			assert_true(t->n < NAIVE_SPANS);
			t->spans[t->n++] = (struct naive_span){
				.event = e, .begin_ns = e->time_ns, .end_ns = e->end_ns};
		}
		if (e->type == EVENT_END) {
			struct naive_span *s = &t->spans[naive_find(t, e->id1)];

			s->end = e;
			s->end_ns = e->time_ns;
		}
	}
	/* In the order that settles ties: tuples come in it, too. */
	for (uint32_t i = 1; i < t->n; i++)
		for (uint32_t k = i; k > 0 && naive_key(t, k, k - 1) < 0; k--) {
			struct naive_span other = t->spans[k];

			t->spans[k] = t->spans[k - 1];
			t->spans[k - 1] = other;
		}
	t->node_n = 2 * t->n;
	for (uint32_t i = 0; i < t->n; i++)
		t->spans[i].parent = naive_find(t, t->spans[i].event->id2);
	naive_edges(t);
	naive_structure(t);
	for (uint32_t i = 0; i < t->edge_n; i++)
		naive_arc(t, t->edges[i].nodes[0], t->edges[i].nodes[1], BY_EDGE, i);
	naive_units(t);
	naive_close(t, false);
	naive_drop(t, false);
	naive_close(t, true);
	naive_drop(t, true);
	naive_close(t, true);
}

/* --- questions --- */

/* Begin of a, begin of b. */
static inline bool naive_before(const struct naive_trace *t, uint32_t a, uint32_t b)
{
	return a != b && t->reach[2 * a][2 * b];
}

static inline bool naive_direct(const struct naive_trace *t, uint32_t a, uint32_t b)
{
	bool edge = t->spans[b].parent == a;

	for (uint32_t i = 0; i < t->edge_n; i++)
		edge |= !t->edges[i].cut && t->edges[i].from == a && t->edges[i].to == b;
	return edge && naive_before(t, a, b);
}

static inline struct slice naive_name(const struct naive_trace *t, uint32_t span)
{
	return batch_text(t->b, t->spans[span].event->name);
}

static inline struct value naive_x(const struct naive_trace *t, uint32_t span)
{
	const struct attr *a = batch_attr_find(t->b, t->spans[span].event->attrs, SLICE("x"));

	return a ? value_int(attr_integer(t->b, a)) : value_nil();
}

/* Which of some comes first, or last, in causal order: its place among them; SIZE_MAX: of none.
 * Those that are `gone` do not count. */
static inline size_t naive_extreme(const struct naive_trace *t, const uint32_t *spans,
				   const bool *gone, size_t n, bool last)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		bool extreme = !gone[i];
		int r;

		for (size_t k = 0; k < n && extreme; k++)
			if (!gone[k])
				extreme = !(last ? naive_before(t, spans[i], spans[k])
						 : naive_before(t, spans[k], spans[i]));
		if (!extreme)
			continue;
		r = best == SIZE_MAX ? 0 : naive_key(t, spans[i], spans[best]);
		if (best == SIZE_MAX || (last ? r >= 0 : r < 0))
			best = i;
	}
	return best;
}

/* --- random traces --- */

#define RANDOM_TRACES 6
#define RANDOM_SPANS  14

static const char *const random_names[] = {"p", "q", "r"};
static const char *const random_hosts[] = {"h1", "h2"};

static inline uint32_t below(struct rng *rng, uint32_t n)
{
	return (uint32_t)rng_below(rng, n);
}

static inline void random_attrs(struct rng *rng, struct buffer *out)
{
	if (below(rng, 3))
		buffer_printf(out, " x=%u", below(rng, 5));
	if (below(rng, 4) == 0)
		buffer_text(out, below(rng, 2) ? " l=[u,v]" : " l=[w]");
	buffer_text(out, "\n");
}

/* What was told beside parents: from anybody to anybody, so that there are cycles, too. */
static inline void random_edge(struct rng *rng, uint32_t t, uint32_t n, const uint32_t *begin,
			       const uint32_t *end, const uint32_t *parent, struct buffer *out)
{
	static const char *const names[] = {"fork", "join", "message", "other"};
	uint32_t from = 1 + below(rng, n), to = 1 + below(rng, n), kind = below(rng, 4);

	if (from == to || (kind == 2 && parent[to] == 0)) /* it would be adopted */
		return;
	buffer_printf(out, "edge %u %u %u %s %u %u\n", t, from, to, names[kind],
		      begin[from] + below(rng, end[from] - begin[from] + 1),
		      begin[to] + below(rng, end[to] - begin[to] + 1));
}

static inline void random_spans(struct rng *rng, uint32_t t, struct buffer *out)
{
	static const char *const kinds[] = {"internal", "server", "client", "producer", "consumer"};
	uint32_t n = 1 + below(rng, RANDOM_SPANS), threads = below(rng, 3);
	uint32_t begin[RANDOM_SPANS + 1], end[RANDOM_SPANS + 1], host[RANDOM_SPANS + 1],
		parent[RANDOM_SPANS + 1];
	bool tree = below(rng, 2), kind = below(rng, 2);

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t orphan = below(rng, 20) == 0 ? 900 + below(rng, 2) : 0;

		parent[i] = i == 1 || below(rng, 12) == 0 ? orphan : 1 + below(rng, i - 1);
		host[i] = parent[i] && parent[i] < 900 && below(rng, 3) ? host[parent[i]]
									: below(rng, 2);
		begin[i] = parent[i] && parent[i] < 900
				   ? begin[parent[i]] + below(rng, below(rng, 2) ? 6 : 60)
				   : below(rng, 50);
		end[i] = begin[i] + below(rng, 40);
		buffer_printf(out, "span %u %u %u s%u@%s %s %u %u", t, i, parent[i], host[i],
			      random_hosts[host[i]], random_names[below(rng, 3)], begin[i], end[i]);
		if (kind)
			buffer_printf(out, " kind=%s", kinds[below(rng, 5)]);
		if (threads && below(rng, 4))
			buffer_printf(out, " thread.id=%u", 1 + below(rng, threads));
		random_attrs(rng, out);
		if (!tree && i > 1 && below(rng, 8) == 0)
			buffer_printf(out, "link %u %u %u\n", t, i, 1 + below(rng, i - 1));
	}
	for (uint32_t i = 0; !tree && i < 3; i++)
		if (below(rng, 3) == 0)
			random_edge(rng, t, n, begin, end, parent, out);
}

/* Blocks of two threads of work, each with an order of its own. */
static inline void random_blocks(struct rng *rng, uint32_t t, struct buffer *out)
{
	uint32_t n = 1 + below(rng, RANDOM_SPANS / 2), open[2][RANDOM_SPANS], open_n[2] = {0},
		 seq[2] = {0}, now = 10, made = 0;
	uint32_t begin[RANDOM_SPANS + 1], end[RANDOM_SPANS + 1], parent[RANDOM_SPANS + 1];

	for (uint32_t u = 0; u < 2; u++)
		buffer_printf(out, "unit %u %u 0 s%u@%s u%u\n", t, 101 + u, u, random_hosts[u], u);
	while (made < n || open_n[0] || open_n[1]) {
		uint32_t u = below(rng, 2), i;

		now += 1 + below(rng, 9);
		if (made < n && (open_n[u] == 0 || below(rng, 2))) {
			i = ++made;
			parent[i] = open_n[u]       ? open[u][open_n[u] - 1]
				    : open_n[1 - u] ? open[1 - u][open_n[1 - u] - 1]
						    : 0;
			begin[i] = now;
			open[u][open_n[u]++] = i;
			buffer_printf(out, "begin %u %u %u s%u@%s %s %u %u %u", t, i, parent[i], u,
				      random_hosts[u], random_names[below(rng, 3)], 101 + u, now,
				      ++seq[u]);
			random_attrs(rng, out);
		} else if (open_n[u]) {
			i = open[u][--open_n[u]];
			end[i] = now;
			buffer_printf(out, "end %u %u %u %u %u\n", t, i, 101 + u, now, ++seq[u]);
		}
	}
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t from = 1 + below(rng, n), to = 1 + below(rng, n);

		/* from begins and ends only: points have no number in the unit's order */
		if (from != to && below(rng, 3) == 0)
			buffer_printf(out, "edge %u %u %u fork %u %u\n", t, from, to,
				      below(rng, 2) ? begin[from] : end[from],
				      below(rng, 2) ? begin[to] : end[to]);
	}
}

static inline void random_traces(struct rng *rng, struct buffer *out)
{
	for (uint32_t t = 1; t <= RANDOM_TRACES; t++)
		if (below(rng, 5))
			random_spans(rng, t, out);
		else
			random_blocks(rng, t, out);
}

/* --- answers --- */

static inline void naive_print(struct value v, struct buffer *out)
{
	struct arena arena = {0};

	buffer_printf(out, "%.*s",
		      SLICE_ARG(value_is_nil(v) ? SLICE("nil") : value_format(&arena, v)));
	arena_done(&arena);
}

static inline int naive_row_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Groups come sorted by value from one, by text from the other: compare as sets of lines. */
static inline char *sorted_lines(const char *text)
{
	struct buffer out = {0};
	char *copy = strdup(text), *lines[4096], *save = NULL, *result;
	size_t n = 0;

	for (char *p = strtok_r(copy, "\n", &save); p && n < ARRAY_SIZE(lines);
	     p = strtok_r(NULL, "\n", &save))
		lines[n++] = p;
	if (n > 1)
		qsort(lines, n, sizeof(char *), naive_row_cmp);
	for (size_t i = 0; i < n; i++)
		buffer_printf(&out, "%s\n", lines[i]);
	result = strdup(buffer_cstr(&out));
	buffer_done(&out);
	free(copy);
	return result;
}

static inline void random_compare(struct query_t *q, const char *text, unsigned off,
				  unsigned threads, const char *want, const char *traces)
{
	struct query_text t = {0};
	int r = query_t_run(q, text, off, threads, &t);
	const char *rows = strchr(buffer_cstr(&t.out), '\n');
	char *got = sorted_lines(rows ? rows + 1 : "");

	if (r < 0 || strcmp(got, want) != 0)
		fail_msg("%s\nwithout %x, %u threads: %d %s\ngot\n%s\nwanted\n%s\ntraces\n%s", text,
			 off, threads, r, t.error.text, r < 0 ? buffer_cstr(&t.out) : got, want,
			 traces);
	free(got);
	query_text_done(&t);
}

#endif
