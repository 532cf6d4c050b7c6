/* infer/convolution.c - the convolution algorithm.
 *
 * Figure 6 of the paper, with these decisions where the text leaves them open:
 *   - only shifts from 0 on: "edges with negative apparent delay" are never looked for
 *   - line 26 says messages to k in Z; those in Z' are meant
 *   - a destination's shift is that of its own messages in the spike: C is of all that a node
 * sends, and a call a few quanta before another melts into one run with it
 *   - v, line 22: by default as wide as the spike, the run of shifts above S sigma, so that
 * messages are not lost because a delay varies by more than a quantum
 *   - messages that only chance has put there ("noise") are told by a count: as many as would fall
 *     into the spike anyway, and N times the root of that, do not make a branch
 *   - a branch ends where fewer messages are left than least, or than least_share of the root's;
 *     where the same edge with the same shift is on the path already; and at the root, whose next
 *     request is its own decision
 *
 * A message is known by when it left and when it arrived (the same where it was seen once). */
#include "infer/convolution.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "infer/convolution_int.h"
#include "infer/correlate.h"

#define QUANTA_WANTED  50000.0 /* when nobody says how long a quantum is */
#define LAGS_LOW       500     /* the spikes' own height is in the deviation: more is better, */
#define LAGS_HIGH      20000
#define PAIRS_WANTED   8e6 /* as long as it costs no more than so many pairs a correlation */
#define LAGS_LEAST     16
#define SPIKE_WIDTH    256 /* quanta: a wider one keeps the middle of all its messages */
#define LEAST_MESSAGES 10

/* Numbers of events, in order of when they left. */
struct set {
	uint32_t *at;
	size_t n, capacity;
};

struct destination {
	uint32_t node;
	uint32_t count;
};

/* To whom a node sends, in order of their numbers. */
struct sender {
	struct destination *to;
	size_t n, capacity;
};

struct run {
	const struct convolution_options *options;
	struct convolution *result;
	struct passage *events; /* in order of sent_ns */
	size_t event_n;
	struct set *by_sender;  /* by node */
	struct sender *senders; /* by node */
	uint32_t *tally;        /* by node: scratch, all 0 */
	size_t node_n;
	int64_t start_ns;
	size_t quanta, lags;
	uint32_t longest; /* shift that is accepted, in quanta */
	uint64_t least;
	struct correlator *correlator;
	struct signal *sent; /* by node: of all it sends */
	bool *sent_known;
	double *c; /* lags */
	uint32_t root;
};

static void set_done(struct set *s)
{
	free(s->at);
	*s = (struct set){0};
}

static int set_add(struct set *s, uint32_t item)
{
	if (!vec_reserve(&s->at, &s->capacity, s->n + 1, sizeof(*s->at)))
		return -ENOMEM;
	s->at[s->n++] = item;
	return 0;
}

/* --- sizes from the data --- */

/* 1, 2 or 5 times a power of ten, not below x. */
static int64_t round_up(double x)
{
	double p = pow(10, floor(log10(fmax(x, 1))));

	return (int64_t)(x <= p ? p : x <= 2 * p ? 2 * p : x <= 5 * p ? 5 * p : 10 * p);
}

static size_t lags_choose(const struct run *r)
{
	_cleanup_(freep)
	uint32_t *sent = calloc(r->node_n + 1, sizeof(*sent));
	double most = 1, lags;

	for (size_t i = 0; sent && i < r->event_n; i++)
		most = fmax(most, ++sent[r->events[i].from]);
	lags = PAIRS_WANTED * (double)r->quanta / (most * most);
	lags = fmin(fmax(lags, LAGS_LOW), LAGS_HIGH);
	return MIN((size_t)lags, r->quanta / 4);
}

static int sizes_choose(struct run *r, struct error *error)
{
	const struct convolution_options *o = r->options;
	int64_t first = INT64_MAX, last = INT64_MIN, quantum = o->quantum_ns, span;

	for (size_t i = 0; i < r->event_n; i++) {
		first = MIN(first, r->events[i].sent_ns);
		first = MIN(first, r->events[i].recv_ns);
		last = MAX(last, r->events[i].sent_ns);
		last = MAX(last, r->events[i].recv_ns);
	}
	if (__builtin_sub_overflow(last, first, &span))
		return error_set(error, -EINVAL, "the messages span more than 292 years");
	if (quantum <= 0)
		quantum = round_up((double)span / QUANTA_WANTED);
	if (span / quantum > UINT32_MAX / 2)
		return error_set(error, -E2BIG, "a quantum of %lld ns is too short for %lld s",
				 (long long)quantum, (long long)(span / NS_PER_S));
	r->start_ns = first;
	r->quanta = (size_t)(span / quantum) + 1;
	r->lags = o->max_lag_ns > 0 ? (size_t)(o->max_lag_ns / quantum) + 1 : lags_choose(r);
	r->lags = MAX(r->lags, (size_t)LAGS_LEAST);
	r->lags = MIN(r->lags, r->quanta + LAGS_LEAST);
	r->longest = o->longest_ns > 0 ? (uint32_t)MIN(o->longest_ns / quantum, (int64_t)UINT32_MAX)
				       : UINT32_MAX;
	r->result->quantum_ns = quantum;
	r->result->max_lag_ns = (int64_t)r->lags * quantum;
	return 0;
}

static uint32_t quantum_of(const struct run *r, int64_t time_ns)
{
	return (uint32_t)((time_ns - r->start_ns) / r->result->quantum_ns);
}

/* --- Figure 6 --- */

static int order_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Quanta in which the messages of a set arrive, in order; freed by the caller. */
static uint32_t *arrivals(const struct run *r, const struct set *v)
{
	uint32_t *q = malloc((v->n + 1) * sizeof(*q));
	bool ordered = true;

	for (size_t i = 0; q && i < v->n; i++) {
		q[i] = quantum_of(r, r->events[v->at[i]].recv_ns);
		ordered &= i == 0 || q[i - 1] <= q[i];
	}
	if (q && !ordered)
		qsort(q, v->n, sizeof(*q), order_u32);
	return q;
}

static int signal_of(const uint32_t *quanta, size_t n, struct signal *s)
{
	for (size_t i = 0; i < n; i++)
		if (signal_add(s, quanta[i]) < 0)
			return -ENOMEM;
	signal_finish(s);
	return 0;
}

/* The signal of all that a node sends; made once. */
static int sent_signal(struct run *r, uint32_t node)
{
	struct signal *s = &r->sent[node];
	const struct set *z = &r->by_sender[node];

	if (r->sent_known[node])
		return 0;
	for (size_t i = 0; i < z->n; i++)
		if (signal_add(s, quantum_of(r, r->events[z->at[i]].sent_ns)) < 0)
			return -ENOMEM;
	signal_finish(s);
	r->sent_known[node] = true;
	return 0;
}

static int correlate(struct run *r, const struct signal *s1, const struct signal *s2)
{
	const struct convolution_options *o = r->options;
	bool fft = o->always_fft ||
		   (!o->always_sparse && correlate_prefers_fft(s1, s2, r->quanta, r->lags));

	r->result->correlations++;
	if (fft && !r->correlator) {
		int e = correlator_new(r->quanta, r->lags, &r->correlator);

		if (e == -E2BIG && !o->always_fft)
			fft = false;
		else if (e < 0)
			return e;
	}
	r->result->by_fft += fft;
	if (fft)
		correlate_fft(r->correlator, s1, s2, r->c);
	else
		correlate_sparse(s1, s2, r->lags, r->c);
	return 0;
}

/* Messages in Z that come first … last quanta after one that arrived: both in order, so two
 * fingers are enough. */
static int caused(const struct run *r, const uint32_t *arrived, size_t n, const struct set *z,
		  int64_t first, int64_t last, struct set *out)
{
	size_t from = 0;

	for (size_t i = 0; i < z->n; i++) {
		int64_t q = quantum_of(r, r->events[z->at[i]].sent_ns);

		while (from < n && (int64_t)arrived[from] < q - last)
			from++;
		if (from < n && (int64_t)arrived[from] <= q - first && set_add(out, z->at[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int process_node(struct run *r, uint32_t vertex, const struct set *v);

static bool on_path_already(const struct run *r, uint32_t vertex, uint32_t to, int64_t delay_ns)
{
	const struct vertex *all = r->result->at;
	uint32_t from = all[vertex].node;

	for (uint32_t x = vertex; all[x].parent != NAMES_NONE; x = all[x].parent)
		if (all[x].node == to && all[all[x].parent].node == from &&
		    all[x].delay_ns == delay_ns)
			return true;
	return false;
}

static int vertex_add(struct run *r, const struct vertex *x, uint32_t *ret)
{
	struct convolution *c = r->result;

	if (c->n >= CONVOLUTION_MAX_VERTICES) {
		c->cut = true;
		return 1;
	}
	if (!vec_reserve(&c->at, &c->capacity, c->n + 1, sizeof(*c->at)))
		return -ENOMEM;
	*ret = (uint32_t)c->n;
	c->at[c->n++] = *x;
	return 0;
}

/* Messages from one node to another. */
static uint64_t sent_to(const struct run *r, uint32_t node, uint32_t to)
{
	const struct sender *s = &r->senders[node];
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->to[middle].node < to)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n && s->to[low].node == to ? s->to[low].count : 0;
}

/* Would as many messages to `to` fall into the spike if they had nothing to do with those that
 * arrived?  Each of them would with the probability that something arrived in the right quanta. */
static bool is_chance(const struct run *r, uint32_t vertex, uint32_t to, const struct spike *s,
		      size_t found, size_t v_n)
{
	double width = (double)(s->last - s->first + 1);
	double hit = 1 - exp(-(double)v_n * width / (double)r->quanta);
	double expected = (double)sent_to(r, r->result->at[vertex].node, to) * hit;

	return (double)found < expected + r->options->n_sigma * sqrt(expected + 1);
}

/* When the messages of a set arrived, in quanta and in order. */
struct arrivals {
	const uint32_t *at;
	size_t n;
};

/* Where in a spike the messages to one destination stand: a node that calls first one and then, a
 * few quanta later, another has them in the same run of C. */
static void spike_of(const struct run *r, const struct arrivals *v, const struct set *w,
		     struct spike *s)
{
	double counts[SPIKE_WIDTH] = {0}, weight = 0, moment = 0;
	/* As many would stand at any shift. */
	double by_chance = (double)w->n * (double)v->n / (double)r->quanta;
	size_t width = (size_t)s->last - s->first + 1, from = 0, best = 0;

	if (width > SPIKE_WIDTH)
		return;
	for (size_t i = 0; i < w->n; i++) {
		int64_t q = quantum_of(r, r->events[w->at[i]].sent_ns);

		while (from < v->n && (int64_t)v->at[from] < q - (int64_t)s->last)
			from++;
		for (size_t k = from; k < v->n && (int64_t)v->at[k] <= q - (int64_t)s->first; k++)
			counts[q - (int64_t)v->at[k] - (int64_t)s->first]++;
	}
	for (size_t d = 0; d < width; d++) {
		double caused = fmax(counts[d] - by_chance, 0);

		best = counts[d] > counts[best] ? d : best;
		weight += caused;
		moment += caused * (double)(s->first + d);
	}
	if (weight <= 0)
		return;
	s->lag = s->first + (uint32_t)best;
	s->centre = moment / weight;
}

/* One destination of one spike: a vertex, and on from there. */
static int branch(struct run *r, uint32_t vertex, uint32_t to, const struct spike *s,
		  const struct set *w, const struct arrivals *v)
{
	struct convolution *c = r->result;
	struct spike own = *s;
	int64_t mu = c->quantum_ns;
	struct vertex x = {.node = to,
			   .parent = vertex,
			   .depth = c->at[vertex].depth + 1,
			   .count = w->n,
			   .delay_ns = (int64_t)s->lag * mu,
			   .centre_ns = s->centre * (double)mu,
			   .height = s->height};
	uint32_t child;
	int e;

	spike_of(r, v, w, &own);
	x.delay_ns = (int64_t)own.lag * mu;
	x.centre_ns = own.centre * (double)mu;
	if (w->n < r->least || is_chance(r, vertex, to, s, w->n, v->n) ||
	    on_path_already(r, vertex, to, x.delay_ns))
		return 0;
	e = vertex_add(r, &x, &child);
	if (e != 0)
		return MIN(e, 0);
	if (to == r->root)
		return 0;
	if (x.depth >= CONVOLUTION_MAX_DEPTH) {
		c->cut = true;
		return 0;
	}
	return process_node(r, child, w);
}

/* The messages of one spike, destination by destination. */
static int spike_follow(struct run *r, uint32_t vertex, const struct spike *s, const struct set *z1,
			const struct arrivals *v)
{
	const struct sender *sender = &r->senders[r->result->at[vertex].node];
	_cleanup_(freep)
	struct destination *to = malloc((sender->n + 1) * sizeof(*to));
	struct set w = {0};
	size_t n = 0;
	int e = 0;

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < z1->n; i++)
		r->tally[r->events[z1->at[i]].to]++;
	for (size_t i = 0; i < sender->n; i++) {
		uint32_t *count = &r->tally[sender->to[i].node];

		if (*count >= r->least)
			to[n++] = (struct destination){sender->to[i].node, *count};
		*count = 0;
	}
	for (size_t k = 0; k < n && e == 0; k++) {
		w.n = 0;
		for (size_t i = 0; e == 0 && i < z1->n; i++)
			if (r->events[z1->at[i]].to == to[k].node)
				e = set_add(&w, z1->at[i]);
		if (e == 0)
			e = branch(r, vertex, to[k].node, s, &w, v);
	}
	set_done(&w);
	return e;
}

static int process_node(struct run *r, uint32_t vertex, const struct set *v)
{
	uint32_t node = r->result->at[vertex].node;
	const struct set *z = &r->by_sender[node];
	struct spike spikes[CONVOLUTION_MAX_SPIKES];
	_cleanup_(freep)
	uint32_t *arrived = NULL;
	struct signal s1 = {0};
	size_t n = 0;
	int e = 0;

	if (z->n == 0 || v->n == 0)
		return 0;
	arrived = arrivals(r, v);
	e = arrived ? signal_of(arrived, v->n, &s1) : -ENOMEM;
	if (e == 0)
		e = sent_signal(r, node);
	if (e == 0)
		e = correlate(r, &s1, &r->sent[node]);
	signal_done(&s1);
	if (e == 0)
		n = MIN(spikes_find(r->c, r->lags, r->options->n_sigma, r->options->s_sigma, spikes,
				    CONVOLUTION_MAX_SPIKES),
			(size_t)CONVOLUTION_MAX_SPIKES);
	for (size_t i = 0; i < n && e == 0 && spikes[i].first <= r->longest; i++) {
		int64_t tolerance = r->options->tolerance_ns / r->result->quantum_ns;
		bool wide = r->options->tolerance_ns < 0;
		struct set z1 = {0};

		e = caused(r, arrived, v->n, z,
			   wide ? spikes[i].first : (int64_t)spikes[i].lag - tolerance,
			   wide ? spikes[i].last : (int64_t)spikes[i].lag + tolerance, &z1);
		if (e == 0)
			e = spike_follow(r, vertex, &spikes[i], &z1,
					 &(struct arrivals){arrived, v->n});
		set_done(&z1);
	}
	return e;
}

/* Of what a root sends, what begins in the time that counts; a part of a set, not to be freed. */
static struct set roots_of(const struct run *r, uint32_t root)
{
	const struct convolution_options *o = r->options;
	struct set t = r->by_sender[root];

	if (o->roots_from_ns == 0 && o->roots_until_ns == 0)
		return t;
	while (t.n > 0 && r->events[t.at[0]].sent_ns < o->roots_from_ns) {
		t.at++;
		t.n--;
	}
	while (t.n > 0 && r->events[t.at[t.n - 1]].sent_ns >= o->roots_until_ns)
		t.n--;
	return t;
}

static int from_root(struct run *r, uint32_t root)
{
	const struct set begin = roots_of(r, root), *t = &begin;
	struct vertex x = {.node = root, .parent = NAMES_NONE, .count = t->n};
	struct set w = {0};
	uint32_t vertex, child;
	int e;

	r->root = root;
	r->least = r->options->least ? r->options->least : LEAST_MESSAGES;
	r->least = MAX(r->least, (uint64_t)(r->options->least_share * (double)t->n));
	if (t->n < r->least)
		return 0;
	e = vertex_add(r, &x, &vertex);
	for (size_t k = 0; e == 0 && k < r->senders[root].n; k++) {
		uint32_t to = r->senders[root].to[k].node;

		w.n = 0;
		for (size_t i = 0; e == 0 && i < t->n; i++)
			if (r->events[t->at[i]].to == to)
				e = set_add(&w, t->at[i]);
		if (e < 0 || w.n < r->least)
			continue;
		x = (struct vertex){.node = to, .parent = vertex, .depth = 1, .count = w.n};
		e = vertex_add(r, &x, &child);
		if (e == 0 && to != root)
			e = process_node(r, child, &w);
	}
	set_done(&w);
	return MIN(e, 0);
}

/* --- roots --- */

/* To whom each node sends, how often. */
static int senders_make(struct run *r)
{
	for (size_t node = 0; node < r->node_n; node++) {
		const struct set *z = &r->by_sender[node];
		struct sender *s = &r->senders[node];

		for (size_t i = 0; i < z->n; i++) {
			uint32_t to = r->events[z->at[i]].to;

			if (r->tally[to]++ > 0)
				continue;
			if (!vec_reserve(&s->to, &s->capacity, s->n + 1, sizeof(*s->to)))
				return -ENOMEM;
			s->to[s->n++].node = to;
		}
		for (size_t i = 0; i < s->n; i++) {
			s->to[i].count = r->tally[s->to[i].node];
			r->tally[s->to[i].node] = 0;
		}
		if (s->n > 1)
			qsort(s->to, s->n, sizeof(*s->to), order_u32); /* node comes first */
	}
	return 0;
}

/* Nodes that call and are not called; where everybody is called, the busiest sender. */
static int all_roots(struct run *r, const struct message_list *messages)
{
	_cleanup_(freep)
	bool *called = calloc(r->node_n + 1, sizeof(*called));
	uint32_t busiest = 0;
	size_t roots = 0;
	int e = 0;

	if (!called)
		return -ENOMEM;
	for (size_t i = 0; i < messages->n; i++)
		if (messages->at[i].op != MESSAGE_RET)
			called[messages->at[i].receiver] = true;
	for (uint32_t k = 0; k < r->node_n && e == 0; k++) {
		if (r->by_sender[k].n > r->by_sender[busiest].n)
			busiest = k;
		if (!called[k] && r->by_sender[k].n > 0) {
			roots++;
			e = from_root(r, k);
		}
	}
	return roots == 0 && e == 0 && r->node_n > 0 ? from_root(r, busiest) : e;
}

int convolution_infer(const struct message_list *messages, size_t node_n,
		      const struct convolution_options *options, struct convolution *ret,
		      struct error *error)
{
	struct convolution result = {.messages = messages->n};
	struct run r = {.options = options, .result = &result, .node_n = node_n};
	int e = events_make(messages, &r.events, &r.event_n);

	if (e == 0 && r.event_n > 0)
		e = sizes_choose(&r, error);
	r.by_sender = calloc(node_n + 1, sizeof(*r.by_sender));
	r.senders = calloc(node_n + 1, sizeof(*r.senders));
	r.tally = calloc(node_n + 1, sizeof(*r.tally));
	r.sent = calloc(node_n + 1, sizeof(*r.sent));
	r.sent_known = calloc(node_n + 1, sizeof(*r.sent_known));
	r.c = malloc((r.lags + 1) * sizeof(*r.c));
	if (e == 0 && (!r.by_sender || !r.senders || !r.tally || !r.sent || !r.sent_known || !r.c))
		e = -ENOMEM;
	for (size_t i = 0; e == 0 && i < r.event_n; i++)
		e = set_add(&r.by_sender[r.events[i].from], (uint32_t)i);
	if (e == 0)
		e = senders_make(&r);
	if (e == 0 && r.event_n > 0)
		e = options->root != NAMES_NONE ? from_root(&r, options->root)
						: all_roots(&r, messages);
	if (e == 0 && !options->keep_derived)
		convolution_mark_derived(&result);
	for (size_t i = 0; i < node_n && r.by_sender && r.sent && r.senders; i++) {
		set_done(&r.by_sender[i]);
		free(r.senders[i].to);
		signal_done(&r.sent[i]);
	}
	free(r.by_sender);
	free(r.senders);
	free(r.tally);
	free(r.sent);
	free(r.sent_known);
	free(r.c);
	free(r.events);
	correlator_free(r.correlator);
	if (e < 0) {
		convolution_done(&result);
		return e == -ENOMEM ? error_set(error, e, "out of memory") : e;
	}
	*ret = result;
	return 0;
}

void convolution_done(struct convolution *c)
{
	free(c->at);
	*c = (struct convolution){0};
}

void vertex_path(const struct convolution *c, uint32_t vertex, const struct names *nodes,
		 struct buffer *out)
{
	uint32_t path[CONVOLUTION_MAX_DEPTH + 2];
	size_t n = 0;

	for (; vertex != NAMES_NONE && n < ARRAY_SIZE(path); vertex = c->at[vertex].parent)
		path[n++] = c->at[vertex].node;
	while (n-- > 0) {
		buffer_slice(out, names_get(nodes, path[n]));
		if (n > 0)
			buffer_byte(out, '>');
	}
}

bool vertex_is_end(const struct convolution *c, uint32_t vertex)
{
	for (size_t i = (size_t)vertex + 1; i < c->n && c->at[i].depth > c->at[vertex].depth; i++)
		if (c->at[i].parent == vertex && !c->at[i].derived)
			return false;
	return true;
}
