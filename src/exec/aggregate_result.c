/* exec/aggregate_result.c - what came out of an aggregate, and how far off it may be. */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "exec/aggregate.h"

#define NS_PER_S 1e9

static double plus_minus(double variance)
{
	return ESTIMATE_Z * sqrt(variance > 0 ? variance : 0);
}

/* A number as the type its operands had, where it can be said in it. */
static struct value typed(uint8_t type, double number)
{
	if (type == V_FLOAT || type == V_NIL || !(fabs(number) < 0x1p63))
		return value_float(number);
	return value_of(type, (int64_t)nearbyint(number));
}

static struct value count_result(struct agg_count *c, struct estimate *e)
{
	if (!c->cluster)
		return value_int((int64_t)c->n);
	cluster_flush(c->cluster);
	*e = (struct estimate){true, plus_minus(c->cluster->xx)};
	return typed(V_INT, (double)c->n + c->cluster->total_x);
}

/* Sums of times mean nothing; averages of them do. */
static struct value sum_result(struct agg_sum *a, struct estimate *e)
{
	double sum = (double)a->whole + a->fraction;

	if (a->type == V_NIL)
		return value_nil();
	if (a->cluster) {
		cluster_flush(a->cluster);
		*e = (struct estimate){true, plus_minus(a->cluster->yy)};
		return typed(a->type, sum + a->cluster->total_y);
	}
	if (a->type != V_FLOAT && a->whole == (__int128)(int64_t)a->whole)
		return value_of(a->type, (int64_t)a->whole);
	return value_float(sum);
}

static struct value avg_result(struct agg_sum *a, struct estimate *e)
{
	double x = (double)a->n, y = (double)a->whole + a->fraction, ratio;
	const struct cluster *c = a->cluster;

	if (a->type == V_NIL)
		return value_nil();
	if (c) {
		cluster_flush(a->cluster);
		x += c->total_x;
		y += c->total_y;
	}
	ratio = y / x;
	if (c)
		*e = (struct estimate){
			true, plus_minus((c->yy - 2 * ratio * c->xy + ratio * ratio * c->xx)) / x};
	/* The average of integers is a float; of times and durations, such a one. */
	return typed(a->type == V_INT ? V_FLOAT : a->type, ratio);
}

static struct value rate_result(const struct aggregate *a, struct agg_rate *r, struct estimate *e)
{
	double seconds = a->seconds, number;
	struct value sum = sum_result(&r->sum, e);

	if (value_is_nil(sum))
		return value_float(0);
	if (seconds <= 0)
		seconds = (double)(r->last_ns - r->first_ns) / NS_PER_S;
	if (seconds <= 0)
		return value_nil(); /* one instant has no rate */
	number = value_number(sum) / (sum.type == V_DURATION ? NS_PER_S : 1);
	e->plus_minus /= seconds * (sum.type == V_DURATION ? NS_PER_S : 1);
	return value_float(number / seconds);
}

static struct value spread_result(const struct agg_spread *a, struct estimate *e)
{
	if (a->weight == 0)
		return value_nil();
	if (a->sampled)
		*e = (struct estimate){true, NAN};
	return typed(a->durations && !a->others ? V_DURATION : V_FLOAT,
		     sqrt(a->squares / a->weight));
}

/* What is seen of a sample is at most what there is. */
static struct value distinct_result(const struct agg_distinct *a, struct estimate *e)
{
	double n = hll_count(&a->hll);

	if (a->sampled)
		*e = (struct estimate){true, NAN};
	else if (!hll_is_exact(&a->hll))
		*e = (struct estimate){true, ESTIMATE_Z * HLL_ERROR * n};
	return value_int((int64_t)nearbyint(n));
}

/* Woodruff's: the interval of the share, read off the sketch.  Traces count as if all rows of one
 * were on the same side, so it is rather too wide. */
static void quantile_estimate(struct agg_sketch *a, double q, double at, struct estimate *e)
{
	double off, below, above;

	if (!a->cluster)
		return;
	cluster_flush(a->cluster);
	off = plus_minus(q * (1 - q) * a->cluster->xx) / a->sketch.weight;
	below = sketch_quantile(&a->sketch, MAX(q - off, 0.0));
	above = sketch_quantile(&a->sketch, MIN(q + off, 1.0));
	*e = (struct estimate){true, MAX(at - below, above - at)};
}

static int quantile_result(const struct aggregate *a, struct agg_sketch *s, struct arena *arena,
			   struct value *ret, struct estimate *e)
{
	struct value *list;

	if (s->type == V_NIL) {
		*ret = value_nil();
		return 0;
	}
	list = arena_zalloc(arena, a->q_n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->q_n; i++) {
		double at = sketch_quantile(&s->sketch, a->q[i]);

		list[i] = typed(s->type == V_INT ? V_FLOAT : s->type, at);
		if (a->q_n == 1)
			quantile_estimate(s, a->q[i], at, e);
		else if (s->cluster)
			*e = (struct estimate){true, NAN};
	}
	*ret = a->q_n == 1 ? list[0] : value_list(list, a->q_n);
	return 0;
}

/* Doublings: [upper bound, weight] each, from below. */
struct doublings {
	struct value *rows;
	struct arena *arena;
	uint32_t n, capacity;
	uint8_t type;
	double bound; /* of the last */
	bool failed;
};

static double doubling_above(double low, double high)
{
	if (high > 0)
		return exp2(floor(log2(low)) + 1);
	return high == 0 ? 0 : -exp2(ceil(log2(-low)) - 1);
}

static void doubling_add(void *context, double low, double high, double weight)
{
	struct doublings *d = context;
	double bound = doubling_above(low, high);
	struct value *pair;

	if (d->n > 0 && bound == d->bound) {
		pair = (struct value *)d->rows[d->n - 1].list;
		pair[1].f += weight;
		return;
	}
	if (d->n == d->capacity)
		return;
	pair = arena_zalloc(d->arena, 2, sizeof(*pair));
	if (!pair) {
		d->failed = true;
		return;
	}
	pair[0] = typed(d->type, bound);
	pair[1] = value_float(weight);
	d->bound = bound;
	d->rows[d->n++] = value_list(pair, 2);
}

#define DOUBLINGS_MOST 4200 /* exponents of both signs, and 0 */

static void count_doublings(void *context, double low, double high, double weight)
{
	struct doublings *d = context;
	double bound = doubling_above(low, high);

	(void)weight;
	d->n += d->n == 0 || bound != d->bound;
	d->bound = bound;
}

static int histogram_result(struct agg_sketch *s, struct arena *arena, struct value *ret,
			    struct estimate *e)
{
	struct doublings count = {.n = 0}, d = {.arena = arena, .type = s->type};

	*ret = value_list(NULL, 0);
	if (s->type == V_NIL)
		return 0;
	sketch_each(&s->sketch, count_doublings, &count);
	d.capacity = MIN(count.n, (uint32_t)DOUBLINGS_MOST);
	d.rows = arena_zalloc(arena, d.capacity + 1, sizeof(*d.rows));
	if (!d.rows)
		return -ENOMEM;
	sketch_each(&s->sketch, doubling_add, &d);
	if (d.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < d.n; i++) {
		struct value *pair = (struct value *)d.rows[i].list;

		pair[1] = typed(V_INT, pair[1].f);
	}
	if (s->cluster)
		*e = (struct estimate){true, NAN};
	*ret = value_list(d.rows, d.n);
	return 0;
}

/* [value, count] each, the most frequent first. */
static int topk_result(const struct aggregate *a, struct agg_topk *t, struct arena *arena,
		       struct value *ret, struct estimate *e)
{
	uint32_t n = MIN(a->k, t->heavy.n);
	struct value *rows = arena_zalloc(arena, n + 1, sizeof(*rows));
	struct value *pairs = arena_zalloc(arena, 2 * (size_t)n + 1, sizeof(*pairs));

	if (!rows || !pairs)
		return -ENOMEM;
	heavy_sort(&t->heavy);
	for (uint32_t i = 0; i < n; i++) {
		pairs[2 * i] = t->heavy.rows[i].value;
		pairs[2 * i + 1] = typed(V_INT, t->heavy.rows[i].weight);
		rows[i] = value_list(pairs + 2 * (size_t)i, 2);
	}
	if (t->sampled || t->heavy.error > 0)
		*e = (struct estimate){true, t->sampled ? NAN : t->heavy.error};
	*ret = value_list(rows, n);
	return 0;
}

int aggregate_result(const struct aggregate *a, void *state, struct arena *arena,
		     struct value *ret_value, struct estimate *ret_estimate)
{
	struct estimate e = {0};
	int r = 0;

	switch (a->kind) {
	case AGG_COUNT:
		*ret_value = count_result(state, &e);
		break;
	case AGG_SUM:
		*ret_value = sum_result(state, &e);
		break;
	case AGG_AVG:
		*ret_value = avg_result(state, &e);
		break;
	case AGG_RATE:
		*ret_value = rate_result(a, state, &e);
		break;
	case AGG_STDDEV:
		*ret_value = spread_result(state, &e);
		break;
	case AGG_DISTINCT:
		*ret_value = distinct_result(state, &e);
		break;
	case AGG_QUANTILE:
		r = quantile_result(a, state, arena, ret_value, &e);
		break;
	case AGG_HISTOGRAM:
		r = histogram_result(state, arena, ret_value, &e);
		break;
	case AGG_TOPK:
		r = topk_result(a, state, arena, ret_value, &e);
		break;
	default:
		*ret_value = ((struct agg_value *)state)->value;
		break;
	}
	if (r == 0)
		*ret_estimate = e;
	return r;
}
