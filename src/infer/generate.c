/* infer/generate.c - makes up a trace from a spec.
 *
 * Two heaps by time: instances, by when they next begin, and messages not yet given out.  An
 * invocation makes all its messages at once; a message is given out when no invocation can begin
 * before it (give or take the clocks' skew, which may move it back). */
#include "infer/generate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/clock.h"

#define LEAST_NS 1000 /* delays are cut off above zero */
#define BATCH    256
/* Delays may be drawn so long that nothing would ever come after them. */
#define LATEST_NS 2000000000000000000LL

#define EPOCH_S   1700000000LL /* traces have a date */

struct instance {
	int64_t at_ns;
	const struct spec_tracelet *tracelet;
};

struct pending {
	struct message m;
	uint64_t order; /* of equal times */
};

struct generator {
	const struct spec *spec;
	const struct generate_sink *sink;
	struct generate_tally tally;
	struct rng rng;
	struct instance *instances; /* a heap */
	size_t instance_n;
	struct pending *pending; /* a heap */
	size_t pending_n, pending_capacity;
	struct message batch[BATCH];
	size_t batch_n;
	int64_t skew_back_ns; /* the slowest clock */
	double sniffer_queue;
	int64_t sniffer_ns;
	uint64_t order, next_id, path;
};

static double normal(struct rng *r)
{
	double u = 1 - rng_unit(r), v = rng_unit(r);

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static int64_t draw(struct generator *g, const struct dist *d)
{
	double v = d->a;

	switch (d->kind) {
	case DIST_CONSTANT:
		break;
	case DIST_UNIFORM:
		v = d->a + (d->b - d->a) * rng_unit(&g->rng);
		break;
	case DIST_NORMAL:
		v = d->a + d->b * normal(&g->rng);
		break;
	case DIST_LOGNORMAL:
		if (d->a > 0) {
			double s2 = log(1 + d->b * d->b / (d->a * d->a));

			v = exp(log(d->a) - s2 / 2 + sqrt(s2) * normal(&g->rng));
		}
		break;
	case DIST_EXPONENTIAL:
		v = -d->a * log(1 - rng_unit(&g->rng));
		break;
	case DIST_PARETO:
		v = d->a / pow(1 - rng_unit(&g->rng), 1 / d->b);
		break;
	}
	return v > LEAST_NS ? v < 1e15 ? (int64_t)v : (int64_t)1e15 : LEAST_NS;
}

/* Ids say nothing about order: a bijection of the counter's 32 bits. */
static uint64_t id_next(struct generator *g)
{
	uint32_t x = (uint32_t)++g->next_id;
	char text[16];
	size_t n = 0;

	x ^= x >> 16;
	x *= 0x7feb352dU;
	x ^= x >> 15;
	x *= 0x846ca68bU;
	x ^= x >> 16;
	text[n++] = 'r';
	for (int i = 7; i >= 0; i--)
		text[n++] = "0123456789abcdef"[x >> (4 * i) & 15];
	return message_id_of_text(slice_of(text, n));
}

static bool before(const struct pending *a, const struct pending *b)
{
	return a->m.time_ns != b->m.time_ns ? a->m.time_ns < b->m.time_ns : a->order < b->order;
}

static int pending_push(struct generator *g, const struct message *m)
{
	struct pending item = {*m, g->order++};
	size_t i;

	if (!vec_reserve(&g->pending, &g->pending_capacity, g->pending_n + 1, sizeof(*g->pending)))
		return -ENOMEM;
	for (i = g->pending_n++; i > 0 && before(&item, &g->pending[(i - 1) / 2]); i = (i - 1) / 2)
		g->pending[i] = g->pending[(i - 1) / 2];
	g->pending[i] = item;
	return 0;
}

static struct message pending_pop(struct generator *g)
{
	struct message top = g->pending[0].m;
	struct pending last = g->pending[--g->pending_n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < g->pending_n) {
		if (child + 1 < g->pending_n && before(&g->pending[child + 1], &g->pending[child]))
			child++;
		if (!before(&g->pending[child], &last))
			break;
		g->pending[i] = g->pending[child];
		i = child;
	}
	g->pending[i] = last;
	return top;
}

static bool sniffed(struct generator *g, const struct message *m)
{
	const struct spec *s = g->spec;

	if (s->loss_share > 0 && rng_unit(&g->rng) < s->loss_share)
		return false;
	if (s->loss_rate <= 0)
		return true;
	g->sniffer_queue -= (double)(m->time_ns - g->sniffer_ns) / (double)NS_PER_S * s->loss_rate;
	g->sniffer_queue = MAX(g->sniffer_queue, 0.0);
	g->sniffer_ns = m->time_ns;
	if (g->sniffer_queue + 1 > (double)s->loss_queue)
		return false;
	g->sniffer_queue += 1;
	return true;
}

static int batch_give(struct generator *g)
{
	size_t n = g->batch_n;

	g->batch_n = 0;
	return n ? g->sink->messages.put(g->sink->messages.context, g->batch, n) : 0;
}

static int give_until(struct generator *g, int64_t time_ns)
{
	while (g->pending_n > 0 && g->pending[0].m.time_ns < time_ns) {
		struct message m = pending_pop(g);
		int r;

		if (!sniffed(g, &m)) {
			g->tally.lost++;
			continue;
		}
		g->tally.messages++;
		g->batch[g->batch_n++] = m;
		if (g->batch_n == BATCH && (r = batch_give(g)) < 0)
			return r;
	}
	return 0;
}

static int64_t skew_of(const struct generator *g, uint32_t node)
{
	return g->spec->nodes[node].skew_ns;
}

/* A message that leaves at `sent` and arrives at `recv` by a perfect clock, as it is seen. */
static int message_send(struct generator *g, uint8_t op, uint32_t from, uint32_t to, uint64_t id,
			int64_t sent, int64_t recv)
{
	enum spec_sightings s = g->spec->sightings;
	struct message m = {.time_ns = sent + skew_of(g, from) + EPOCH_S * NS_PER_S,
			    .id = g->spec->no_ids ? MESSAGE_NO_ID : id,
			    .sender = from,
			    .receiver = to,
			    .name = NAMES_NONE,
			    .op = op,
			    .sight = s == SPEC_PLAIN ? MESSAGE_SEEN : MESSAGE_SENT};
	int r = 0;

	if (s != SPEC_RECV)
		r = pending_push(g, &m);
	if (r == 0 && (s == SPEC_BOTH || s == SPEC_RECV)) {
		m.time_ns = recv + skew_of(g, to) + EPOCH_S * NS_PER_S;
		m.sight = MESSAGE_RECV;
		r = pending_push(g, &m);
	}
	return r;
}

static int64_t on_the_way(struct generator *g, uint32_t from, uint32_t to)
{
	for (const struct spec_link *l = g->spec->links; l; l = l->next)
		if ((l->from == from && l->to == to) || (l->from == to && l->to == from))
			return draw(g, &l->delay);
	return 0;
}

static int64_t extra(struct generator *g, uint32_t node, uint32_t after)
{
	int64_t sum = 0;

	for (const struct spec_extra *x = g->spec->extras; x; x = x->next)
		if (x->node == node && x->after == after &&
		    (x->share >= 1 || rng_unit(&g->rng) < x->share))
			sum += x->delay_ns;
	return sum;
}

static int64_t call_delay(struct generator *g, uint32_t node, uint32_t after)
{
	const struct spec_node *n = &g->spec->nodes[node];

	return draw(g, n->has_call ? &n->call : &g->spec->call) +
	       (after != NAMES_NONE ? extra(g, node, after) : 0);
}

static int64_t ret_delay(struct generator *g, uint32_t node)
{
	const struct spec_node *n = &g->spec->nodes[node];

	return draw(g, n->has_ret ? &n->ret : &g->spec->ret) + extra(g, node, NAMES_NONE);
}

static int truth_tell(struct generator *g, uint64_t id, uint64_t parent)
{
	struct truth t = {id, parent, g->path};

	g->tally.calls++;
	return g->sink->truth ? g->sink->truth(g->sink->context, &t) : 0;
}

static int call_run(struct generator *g, const struct spec_call *c, uint32_t caller, uint32_t *node,
		    uint64_t parent, int64_t start, int64_t *ret_end);

/* Makes the calls of one node, those before its reply or those after it.  *now moves on. */
static int children_run(struct generator *g, const struct spec_call *first, bool after_reply,
			uint32_t node, uint64_t id, int64_t *now)
{
	int64_t start = *now, group_end = *now;
	uint32_t after = NAMES_NONE, callee;
	int r;

	for (const struct spec_call *c = first; c; c = c->next) {
		if (c->after_reply != after_reply)
			continue;
		for (uint32_t i = 0; i < c->repeat; i++) {
			int64_t end;

			if (c->probability < 1 && rng_unit(&g->rng) >= c->probability)
				continue;
			/* In parallel: from the same moment as the one before. */
			if (!c->parallel || i > 0)
				start = group_end;
			r = call_run(g, c, node, &callee, id, start + call_delay(g, node, after),
				     &end);
			if (r < 0)
				return r;
			group_end = MAX(group_end, end);
			after = callee;
		}
	}
	*now = group_end;
	return 0;
}

static int call_run(struct generator *g, const struct spec_call *c, uint32_t caller,
		    uint32_t *ret_node, uint64_t parent, int64_t start, int64_t *ret_end)
{
	uint32_t node = c->choices[c->choice_n > 1 ? rng_below(&g->rng, c->choice_n) : 0];
	uint64_t id = id_next(g);
	int64_t arrived, now, back;
	int r = truth_tell(g, id, parent);

	start = MIN(start, LATEST_NS);
	now = arrived = start + on_the_way(g, caller, node);
	if (r == 0)
		r = message_send(g, MESSAGE_CALL, caller, node, id, start, arrived);
	if (r == 0)
		r = children_run(g, c->children, false, node, id, &now);
	now = MIN(now, LATEST_NS) + ret_delay(g, node);
	back = now + on_the_way(g, node, caller);
	if (r == 0)
		r = message_send(g, MESSAGE_RET, node, caller, id, now, back);
	if (r == 0)
		r = children_run(g, c->children, true, node, id, &now);
	*ret_node = node;
	*ret_end = back;
	return r;
}

static int route_run(struct generator *g, const struct spec_tracelet *t, int64_t *now)
{
	uint32_t from = t->client;
	uint64_t parent = MESSAGE_NO_ID;

	for (const struct spec_call *c = t->call; c; c = c->children) {
		uint32_t to = c->choices[c->choice_n > 1 ? rng_below(&g->rng, c->choice_n) : 0];
		int64_t arrived = *now + on_the_way(g, from, to);
		uint64_t id = id_next(g);
		int r;

		if (c->probability < 1 && rng_unit(&g->rng) >= c->probability)
			break;
		r = truth_tell(g, id, parent);
		if (r == 0)
			r = message_send(g, MESSAGE_MSG, from, to, id, *now, arrived);
		if (r < 0)
			return r;
		*now = MIN(arrived, LATEST_NS) + call_delay(g, to, from) + extra(g, to, NAMES_NONE);
		from = to;
		parent = id;
	}
	return 0;
}

static void instance_sink(struct generator *g, size_t i)
{
	struct instance item = g->instances[i];
	size_t child;

	while ((child = 2 * i + 1) < g->instance_n) {
		if (child + 1 < g->instance_n &&
		    g->instances[child + 1].at_ns < g->instances[child].at_ns)
			child++;
		if (g->instances[child].at_ns >= item.at_ns)
			break;
		g->instances[i] = g->instances[child];
		i = child;
	}
	g->instances[i] = item;
}

static int run(struct generator *g)
{
	int r = 0;

	while (r == 0 && g->instances[0].at_ns < g->spec->duration_ns) {
		struct instance *next = &g->instances[0];
		const struct spec_tracelet *t = next->tracelet;
		int64_t now = next->at_ns;
		uint32_t node;

		r = give_until(g, EPOCH_S * NS_PER_S + now + g->skew_back_ns);
		g->path++;
		g->tally.paths++;
		if (r == 0)
			r = t->route ? route_run(g, t, &now)
				     : call_run(g, t->call, t->client, &node, MESSAGE_NO_ID, now,
						&now);
		next->at_ns = now + draw(g, &t->think);
		instance_sink(g, 0);
	}
	if (r == 0)
		r = give_until(g, INT64_MAX);
	return r == 0 ? batch_give(g) : r;
}

int generate(const struct spec *spec, const struct generate_sink *sink,
	     struct generate_tally *ret_tally)
{
	struct generator *g = calloc(1, sizeof(*g));
	size_t n = 0;
	int r = -ENOMEM;

	for (const struct spec_tracelet *t = spec->tracelets; t; t = t->next)
		n += (size_t)t->instances;
	if (g)
		g->instances = malloc(n * sizeof(*g->instances));
	if (g && g->instances) {
		g->spec = spec;
		g->sink = sink;
		g->rng.state = spec->seed;
		for (size_t i = 0; i < spec->node_n; i++)
			g->skew_back_ns = MIN(g->skew_back_ns, spec->nodes[i].skew_ns);
		for (const struct spec_tracelet *t = spec->tracelets; t; t = t->next)
			for (int64_t i = 0; i < t->instances; i++)
				g->instances[g->instance_n++] =
					(struct instance){draw(g, &t->think), t};
		for (size_t i = n / 2; i-- > 0;)
			instance_sink(g, i);
		r = run(g);
		if (r == 0)
			*ret_tally = g->tally;
	}
	if (g) {
		free(g->instances);
		free(g->pending);
	}
	free(g);
	return r;
}
