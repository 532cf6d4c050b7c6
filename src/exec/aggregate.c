/* exec/aggregate.c - what can be said about many rows: adding and merging. */
#include "exec/aggregate.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"

#define DISTINCT_SEED 0x63617573657431ULL /* part of no format: sketches are not stored */

static const struct {
	const char *merge;
	size_t bytes;
} kinds[AGG_KINDS] = {
	[AGG_COUNT] = {"addition", sizeof(struct agg_count)},
	[AGG_SUM] = {"addition", sizeof(struct agg_sum)},
	[AGG_MIN] = {"the smaller", sizeof(struct agg_value)},
	[AGG_MAX] = {"the larger", sizeof(struct agg_value)},
	[AGG_AVG] = {"addition of sum and count", sizeof(struct agg_sum)},
	[AGG_STDDEV] = {"addition around the common mean", sizeof(struct agg_spread)},
	[AGG_DISTINCT] = {"union", sizeof(struct agg_distinct)},
	[AGG_QUANTILE] = {"addition of buckets", sizeof(struct agg_sketch)},
	[AGG_HISTOGRAM] = {"addition of buckets", sizeof(struct agg_sketch)},
	[AGG_TOPK] = {"addition of counters", sizeof(struct agg_topk)},
	[AGG_FIRST] = {"the earlier", sizeof(struct agg_value)},
	[AGG_LAST] = {"the later", sizeof(struct agg_value)},
	[AGG_RATE] = {"addition", sizeof(struct agg_rate)},
};

const char *aggregate_merge_name(enum plan_aggregate_kind kind)
{
	return kinds[kind].merge;
}

size_t aggregate_bytes(const struct aggregate *a)
{
	return (kinds[a->kind].bytes + 15) & ~(size_t)15;
}

void aggregate_done(const struct aggregate *a, void *state)
{
	if (a->kind == AGG_TOPK)
		heavy_done(&((struct agg_topk *)state)->heavy);
}

static struct cluster *cluster_get(struct cluster **c, struct arena *arena)
{
	if (!*c)
		*c = arena_zalloc(arena, 1, sizeof(**c));
	return *c;
}

/* --- adding --- */

static int count_add(struct agg_count *c, struct arena *arena, const struct sample *s)
{
	if (s->weight == 1) {
		c->n++;
		return 0;
	}
	if (!cluster_get(&c->cluster, arena))
		return -ENOMEM;
	cluster_add(c->cluster, s, 1, 0);
	return 0;
}

/* The type all have in common. */
static void type_join(uint8_t *type, uint8_t with)
{
	if (*type != with)
		*type = *type == V_NIL ? with : with == V_NIL ? *type : (uint8_t)V_FLOAT;
}

static int sum_add(struct agg_sum *a, struct arena *arena, struct value v, const struct sample *s)
{
	if (!value_is_number(v))
		return 0;
	type_join(&a->type, v.type);
	if (s->weight != 1) {
		if (!cluster_get(&a->cluster, arena))
			return -ENOMEM;
		cluster_add(a->cluster, s, 1, value_number(v));
		return 0;
	}
	a->n++;
	if (v.type == V_FLOAT)
		a->fraction += v.f;
	else
		a->whole += v.i;
	return 0;
}

static int rate_add(struct agg_rate *r, struct arena *arena, struct value v, const struct sample *s)
{
	if (value_is_nil(v))
		return 0;
	if (r->sum.type == V_NIL || s->time_ns < r->first_ns)
		r->first_ns = s->time_ns;
	r->last_ns = MAX(r->last_ns, s->time_ns);
	return sum_add(&r->sum, arena, v, s);
}

static int extreme_add(struct agg_value *a, struct arena *arena, struct value v, int sign)
{
	if (value_is_nil(v) || (!value_is_nil(a->value) && sign * value_order(v, a->value) <= 0))
		return 0;
	return value_dup(arena, v, &a->value) ? 0 : -ENOMEM;
}

static int order_samples(const struct agg_value *a, const struct sample *s)
{
	if (s->time_ns != a->time_ns)
		return s->time_ns > a->time_ns ? 1 : -1;
	return (s->id > a->id) - (s->id < a->id);
}

/* Among rows of the same time and id the larger value is taken, so the order of rows is nothing. */
static int ends_add(struct agg_value *a, struct arena *arena, struct value v,
		    const struct sample *s, int sign)
{
	int c;

	if (value_is_nil(v))
		return 0;
	if (!value_is_nil(a->value)) {
		c = sign * order_samples(a, s);
		if (c == 0)
			c = value_order(v, a->value);
		if (c <= 0)
			return 0;
	}
	a->time_ns = s->time_ns;
	a->id = s->id;
	return value_dup(arena, v, &a->value) ? 0 : -ENOMEM;
}

/* West's and Welford's: the mean moves, squares are kept around it. */
static void spread_add(struct agg_spread *a, struct value v, double weight)
{
	double x = value_number(v), off;

	if (!value_is_number(v) || isnan(x))
		return;
	a->weight += weight;
	off = x - a->mean;
	a->mean += off * weight / a->weight;
	a->squares += weight * off * (x - a->mean);
	a->sampled |= weight != 1;
	a->durations |= v.type == V_DURATION;
	a->others |= v.type != V_DURATION;
}

static int sketch_of(struct agg_sketch *a, struct arena *arena, struct value v,
		     const struct sample *s)
{
	if (!value_is_number(v))
		return 0;
	if (a->type == V_NIL)
		sketch_init(&a->sketch);
	type_join(&a->type, v.type);
	if (!sketch_add(&a->sketch, arena, value_number(v), s->weight))
		return -ENOMEM;
	if (s->weight != 1) {
		if (!cluster_get(&a->cluster, arena))
			return -ENOMEM;
		cluster_add(a->cluster, s, 1, 0);
	}
	return 0;
}

static int distinct_add(struct agg_distinct *a, struct arena *arena, struct value v, double weight)
{
	if (value_is_nil(v))
		return 0;
	a->sampled |= weight != 1;
	return hll_add(&a->hll, arena, value_hash(v, DISTINCT_SEED)) ? 0 : -ENOMEM;
}

static uint32_t topk_counters(const struct aggregate *a)
{
	return MAX((uint32_t)TOPK_COUNTERS, MIN(a->k, (uint32_t)TOPK_MOST) * 8);
}

static int topk_add(const struct aggregate *a, struct agg_topk *t, struct arena *arena,
		    struct value v, double weight)
{
	if (value_is_nil(v))
		return 0;
	if (t->heavy.capacity == 0)
		heavy_init(&t->heavy, topk_counters(a));
	t->sampled |= weight != 1;
	return heavy_add(&t->heavy, arena, v, weight) ? 0 : -ENOMEM;
}

int aggregate_add(const struct aggregate *a, void *state, struct arena *arena, struct value v,
		  const struct sample *s)
{
	switch (a->kind) {
	case AGG_COUNT:
		return a->of_rows || !value_is_nil(v) ? count_add(state, arena, s) : 0;
	case AGG_SUM:
	case AGG_AVG:
		return sum_add(state, arena, v, s);
	case AGG_RATE:
		return rate_add(state, arena, a->of_rows ? value_int(1) : v, s);
	case AGG_MIN:
		return extreme_add(state, arena, v, -1);
	case AGG_MAX:
		return extreme_add(state, arena, v, 1);
	case AGG_FIRST:
		return ends_add(state, arena, v, s, -1);
	case AGG_LAST:
		return ends_add(state, arena, v, s, 1);
	case AGG_STDDEV:
		spread_add(state, v, s->weight);
		return 0;
	case AGG_DISTINCT:
		return distinct_add(state, arena, v, s->weight);
	case AGG_TOPK:
		return topk_add(a, state, arena, v, s->weight);
	default:
		return sketch_of(state, arena, v, s);
	}
}

/* --- partial ones --- */

static int count_many(struct agg_count *c, struct arena *arena, struct value n,
		      const struct sample *s)
{
	if (!value_is_number(n))
		return 0;
	if (s->weight == 1 && n.type != V_FLOAT) {
		c->n += (uint64_t)n.i;
		return 0;
	}
	if (!cluster_get(&c->cluster, arena))
		return -ENOMEM;
	cluster_add(c->cluster, s, value_number(n), 0);
	return 0;
}

static int avg_many(struct agg_sum *a, struct arena *arena, struct value sum, struct value n,
		    const struct sample *s)
{
	if (!value_is_number(sum) || !value_is_number(n))
		return 0;
	if (s->weight == 1) {
		a->n += (uint64_t)n.i - 1; /* sum_add() counts one */
		return sum_add(a, arena, sum, s);
	}
	type_join(&a->type, sum.type);
	if (!cluster_get(&a->cluster, arena))
		return -ENOMEM;
	cluster_add(a->cluster, s, value_number(n), value_number(sum));
	return 0;
}

int aggregate_combine(const struct aggregate *a, void *state, struct arena *arena,
		      struct value partial, struct value times, const struct sample *s)
{
	if (value_is_nil(times))
		times = value_int(1);
	switch (a->kind) {
	case AGG_COUNT:
		return count_many(state, arena, value_arithmetic(VALUE_MUL, partial, times), s);
	case AGG_SUM:
		return sum_add(state, arena, value_arithmetic(VALUE_MUL, partial, times), s);
	case AGG_AVG:
		if (partial.type != V_LIST || partial.n != 2)
			return 0;
		return avg_many(state, arena, value_arithmetic(VALUE_MUL, partial.list[0], times),
				value_arithmetic(VALUE_MUL, partial.list[1], times), s);
	default:
		return aggregate_add(a, state, arena, partial, s);
	}
}

/* --- merging --- */

static int clusters_merge(struct cluster **to, struct arena *arena, struct cluster *from)
{
	if (!from)
		return 0;
	if (!cluster_get(to, arena))
		return -ENOMEM;
	cluster_merge(*to, from);
	return 0;
}

static int sums_merge(struct agg_sum *to, struct arena *arena, struct agg_sum *from)
{
	type_join(&to->type, from->type);
	to->whole += from->whole;
	to->fraction += from->fraction;
	to->n += from->n;
	return clusters_merge(&to->cluster, arena, from->cluster);
}

static int rates_merge(struct agg_rate *to, struct arena *arena, struct agg_rate *from)
{
	if (from->sum.type == V_NIL)
		return 0;
	if (to->sum.type == V_NIL || from->first_ns < to->first_ns)
		to->first_ns = from->first_ns;
	to->last_ns = MAX(to->last_ns, from->last_ns);
	return sums_merge(&to->sum, arena, &from->sum);
}

static void spreads_merge(struct agg_spread *to, const struct agg_spread *from)
{
	double weight = to->weight + from->weight, off = from->mean - to->mean;

	if (from->weight == 0)
		return;
	to->squares += from->squares + off * off * to->weight * from->weight / weight;
	to->mean += off * from->weight / weight;
	to->weight = weight;
	to->sampled |= from->sampled;
	to->durations |= from->durations;
	to->others |= from->others;
}

static int sketches_merge(struct agg_sketch *to, struct arena *arena, struct agg_sketch *from)
{
	if (from->type == V_NIL)
		return 0;
	if (to->type == V_NIL)
		sketch_init(&to->sketch);
	type_join(&to->type, from->type);
	if (!sketch_merge(&to->sketch, arena, &from->sketch))
		return -ENOMEM;
	return clusters_merge(&to->cluster, arena, from->cluster);
}

static int topks_merge(const struct aggregate *a, struct agg_topk *to, struct arena *arena,
		       const struct agg_topk *from)
{
	if (from->heavy.capacity == 0)
		return 0;
	if (to->heavy.capacity == 0)
		heavy_init(&to->heavy, topk_counters(a));
	to->sampled |= from->sampled;
	return heavy_merge(&to->heavy, arena, &from->heavy) ? 0 : -ENOMEM;
}

static int ends_merge(struct agg_value *to, struct arena *arena, const struct agg_value *from,
		      int sign)
{
	const struct sample s = {.weight = 1, .time_ns = from->time_ns, .id = from->id};

	return ends_add(to, arena, from->value, &s, sign);
}

static int counts_merge(struct agg_count *to, struct arena *arena, struct agg_count *from)
{
	to->n += from->n;
	return clusters_merge(&to->cluster, arena, from->cluster);
}

static int distincts_merge(struct agg_distinct *to, struct arena *arena,
			   const struct agg_distinct *from)
{
	to->sampled |= from->sampled;
	return hll_merge(&to->hll, arena, &from->hll) ? 0 : -ENOMEM;
}

int aggregate_merge(const struct aggregate *a, void *to, struct arena *arena, void *from)
{
	switch (a->kind) {
	case AGG_COUNT:
		return counts_merge(to, arena, from);
	case AGG_SUM:
	case AGG_AVG:
		return sums_merge(to, arena, from);
	case AGG_RATE:
		return rates_merge(to, arena, from);
	case AGG_MIN:
		return extreme_add(to, arena, ((struct agg_value *)from)->value, -1);
	case AGG_MAX:
		return extreme_add(to, arena, ((struct agg_value *)from)->value, 1);
	case AGG_FIRST:
		return ends_merge(to, arena, from, -1);
	case AGG_LAST:
		return ends_merge(to, arena, from, 1);
	case AGG_STDDEV:
		spreads_merge(to, from);
		return 0;
	case AGG_DISTINCT:
		return distincts_merge(to, arena, from);
	case AGG_TOPK:
		return topks_merge(a, to, arena, from);
	default:
		return sketches_merge(to, arena, from);
	}
}
