/* exec/aggregate.h - what can be said about many rows in one value, each with a merge.
 *
 * Every aggregate has a state that rows are added to and that merges with another state of its
 * kind, so threads, segments and machines can work apart:
 *
 *   aggregate   state                                  merge                   error
 *   count       number, variance                       addition                none; ± when sampled
 *   sum         128-bit integer, double, variance      addition                none; ± when sampled
 *   avg         sum and count, their covariance        addition                none; ± when sampled
 *   min, max    value                                  the smaller, larger     none
 *   stddev      weight, mean, squares around it        Chan et al.             none
 *   distinct    hashes, then HyperLogLog               union                   none up to 256, then
 * ± 3.2 % quantile    logarithmic buckets                    addition                1/128 of the
 * value histogram   logarithmic buckets                    addition                none (counts)
 *   topk        Misra and Gries' counters              addition, pruning       none up to
 * TOPK_COUNTERS values first,last  value with its time and id             the earlier, later none
 *   rate        count or sum, first and last time      addition                none; ± when sampled
 *
 * A state is plain memory that starts as zeroes; what it points to lies in the arena it is used
 * with, but for topk, whose aggregate_done() frees.  Missing values are passed over.  One thread.
 */
#ifndef CAUSET_EXEC_AGGREGATE_H
#define CAUSET_EXEC_AGGREGATE_H

#include "exec/heavy.h"
#include "exec/hll.h"
#include "exec/sketch.h"
#include "exec/value.h"
#include "exec/weight.h"
#include "lang/plan.h"

#define TOPK_COUNTERS   1024 /* kept for each topk, or 8 × n if that is more */
#define TOPK_MOST       10000
#define QUANTILES_MOST  32
#define AGGREGATES_MOST 64 /* in one grouping */

struct aggregate {
	enum plan_aggregate_kind kind;
	bool of_rows;             /* count() and rate(): rows, not values */
	double q[QUANTILES_MOST]; /* QUANTILE: one gives a number, several a list */
	uint32_t q_n;
	uint32_t k;     /* TOPK */
	double seconds; /* RATE: the range asked about; 0: from the first row to the last */
};

struct agg_count {
	uint64_t n; /* rows with weight 1 */
	struct cluster *cluster;
};

struct agg_sum {
	__int128 whole;  /* integers, times and durations with weight 1 */
	double fraction; /* floats with weight 1 */
	uint64_t n;
	struct cluster *cluster;
	uint8_t type; /* what they all are; V_FLOAT: mixed */
};

struct agg_value {
	struct value value; /* NIL: none yet */
	uint64_t time_ns, id;
};

struct agg_spread {
	double weight, mean, squares;
	bool sampled;
	bool durations, others; /* seen; of durations alone it is a duration */
};

struct agg_sketch {
	struct sketch sketch;
	struct cluster *cluster; /* of rows */
	uint8_t type;
};

struct agg_distinct {
	struct hll hll;
	bool sampled;
};

struct agg_topk {
	struct heavy heavy;
	bool sampled;
};

struct agg_rate {
	struct agg_sum sum;
	uint64_t first_ns, last_ns;
};

/* Bytes of a state, a multiple of 16; states must lie at multiples of 16. */
size_t aggregate_bytes(const struct aggregate *a);

/* -ENOMEM. */
int aggregate_add(const struct aggregate *a, void *state, struct arena *arena, struct value v,
		  const struct sample *sample);

/* Adds what a partial aggregate over rows of the same trace came to (enum plan_stage), `times`
 * times (NIL: once): of COUNT a number, of SUM the sum, of AVG a list of sum and count, of MIN and
 * MAX themselves.  -ENOMEM. */
int aggregate_combine(const struct aggregate *a, void *state, struct arena *arena,
		      struct value partial, struct value times, const struct sample *sample);

/* The result is in `to`; `from` must not be used but for aggregate_done().  Text that `from` has
 * in its arena is copied.  -ENOMEM. */
int aggregate_merge(const struct aggregate *a, void *to, struct arena *arena, void *from);

/* A result whose texts live as long as the state's arena.  Lists come from `arena`.  Nothing may be
 * added afterwards.  -ENOMEM. */
int aggregate_result(const struct aggregate *a, void *state, struct arena *arena,
		     struct value *ret_value, struct estimate *ret_estimate);

void aggregate_done(const struct aggregate *a, void *state);

/* How two of them become one, for explanations: "addition". */
const char *aggregate_merge_name(enum plan_aggregate_kind kind);

/* --- for loops over columns: the same as aggregate_add() with weight 1 --- */

static inline void agg_count_rows(struct agg_count *c, uint64_t n)
{
	c->n += n;
}

static inline void agg_sum_whole(struct agg_sum *s, enum value_is type, int64_t v)
{
	s->whole += v;
	s->n++;
	if (s->type != type)
		s->type = s->type == V_NIL ? (uint8_t)type : V_FLOAT;
}

#endif
