/* exec/equi_join.c - joins by equal keys, within a time of each other if so asked. */
#include "exec/equi_join.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "exec/expr.h"

#define KEYS_MOST 64

struct equi {
	struct query_at *run;
	const struct plan_node *node;
	const struct run_sink *sink;
	struct kept_rows right;
	struct value *keys; /* of the right rows, key_n each */
	uint32_t *next;     /* right rows with the same keys */
	uint32_t *tail;     /* of the first of such rows: the last */
	struct map by_key;  /* keys to the first of them */
	struct expr_env env;
	struct arena arena;
	struct value *values;
	uint32_t left_n, right_n;
	uint64_t seen;
};

static struct value no_element(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_nil();
}

/* False: one of them is nil. */
static bool keys_of(struct equi *q, const struct plan_expr *const *exprs,
		    const struct value *values, struct value *keys, uint64_t *ret_hash)
{
	uint64_t hash = q->by_key.seed;
	bool whole = true;

	q->env.columns = values;
	for (uint32_t i = 0; i < q->node->equijoin.key_n; i++) {
		keys[i] = expr_eval(&q->env, exprs[i]);
		whole &= !value_is_nil(keys[i]);
		hash = value_hash(keys[i], hash);
	}
	*ret_hash = hash;
	return whole;
}

static bool same_keys(const void *context, uint32_t row, const void *key)
{
	const struct equi *q = context;
	const struct value *a = q->keys + (size_t)row * q->node->equijoin.key_n, *b = key;

	for (uint32_t i = 0; i < q->node->equijoin.key_n; i++)
		if (!value_same(a[i], b[i]))
			return false;
	return true;
}

static int build(struct equi *q)
{
	uint32_t key_n = q->node->equijoin.key_n;

	if (q->right.n >= UINT32_MAX)
		return -E2BIG;
	q->keys = calloc(q->right.n * key_n + 1, sizeof(*q->keys));
	q->next = calloc(q->right.n + 1, sizeof(*q->next));
	q->tail = calloc(q->right.n + 1, sizeof(*q->tail));
	if (!q->keys || !q->next || !q->tail || !map_reserve(&q->by_key, q->right.n))
		return -ENOMEM;
	for (uint32_t i = 0; i < q->right.n; i++) {
		struct value *keys = q->keys + (size_t)i * key_n;
		uint64_t hash;
		uint32_t first;

		q->next[i] = MAP_NONE;
		if (!keys_of(q, q->node->equijoin.right_keys, q->right.rows[i].values, keys, &hash))
			continue;
		first = map_get(&q->by_key, hash, same_keys, q, keys);
		if (first != MAP_NONE) { /* behind the others, so that they come in their order */
			q->next[q->tail[first]] = i;
			q->tail[first] = i;
			continue;
		}
		if (!map_put(&q->by_key, hash, i))
			return -ENOMEM;
		q->tail[i] = i;
	}
	return q->env.failed;
}

static bool in_time(const struct equi *q, uint64_t a, uint64_t b)
{
	int64_t within = q->node->equijoin.within_ns;

	return within == 0 || (a > b ? a - b : b - a) <= (uint64_t)within;
}

static int give(struct equi *q, const struct value *left, const struct kept_row *right)
{
	bool alone = q->node->equijoin.join == PLAN_JOIN_ANTI ||
		     q->node->equijoin.join == PLAN_JOIN_SEMI;

	memcpy(q->values, left, q->left_n * sizeof(*left));
	for (uint32_t i = 0; !alone && i < q->right_n; i++)
		q->values[q->left_n + i] = right ? right->values[i] : value_nil();
	return q->sink->row(q->sink->context, q->values, NULL);
}

static bool rest_holds(struct equi *q, const struct value *left, const struct kept_row *right)
{
	if (!q->node->equijoin.rest)
		return true;
	memcpy(q->values, left, q->left_n * sizeof(*left));
	memcpy(q->values + q->left_n, right->values, q->right_n * sizeof(*left));
	q->env.columns = q->values;
	return value_is_true(expr_eval(&q->env, q->node->equijoin.rest));
}

static int probe(struct equi *q, const struct value *left, uint64_t time_ns)
{
	struct value keys[KEYS_MOST];
	enum plan_join kind = q->node->equijoin.join;
	uint64_t hash;
	uint32_t found = MAP_NONE;
	bool any = false;
	int r = 0;

	arena_clear(&q->arena);
	if (++q->seen % 1024 == 0 && (r = budget_check(&q->run->budget)) < 0)
		return r;
	if (keys_of(q, q->node->equijoin.left_keys, left, keys, &hash))
		found = map_get(&q->by_key, hash, same_keys, q, keys);
	for (; r == 0 && found != MAP_NONE; found = q->next[found]) {
		const struct kept_row *right = &q->right.rows[found];

		if (!in_time(q, time_ns, right->time_ns) || !rest_holds(q, left, right))
			continue;
		any = true;
		if (kind == PLAN_JOIN_ANTI || kind == PLAN_JOIN_SEMI)
			break;
		r = give(q, left, right);
	}
	if (q->env.failed)
		return q->env.failed;
	if (r == 0 && ((!any && (kind == PLAN_JOIN_LEFT || kind == PLAN_JOIN_ANTI)) ||
		       (any && kind == PLAN_JOIN_SEMI)))
		r = give(q, left, NULL);
	return r;
}

static int probe_row(void *context, const struct value *values, const double *plus_minus)
{
	(void)plus_minus;
	return probe(context, values, 0);
}

static int probe_all(struct equi *q)
{
	struct run_sink sink = {probe_row, q};
	struct kept_rows left;
	int r;

	if (!node_is_per_trace(q->node->inputs[0]))
		return run_node(q->run, q->node->inputs[0], &sink);
	kept_rows_init(&left, q->left_n, &q->run->budget);
	r = kept_rows_run(&left, q->run, q->node->inputs[0], 0);
	for (size_t i = 0; r == 0 && i < left.n; i++)
		r = probe(q, left.rows[i].values, left.rows[i].time_ns);
	kept_rows_done(&left);
	return r;
}

int run_equi_join(struct query_at *run, const struct plan_node *node, const struct run_sink *sink)
{
	struct equi q = {.run = run,
			 .node = node,
			 .sink = sink,
			 .left_n = node->inputs[0]->column_n,
			 .right_n = node->inputs[1]->column_n};
	int r;

	if (node->equijoin.key_n > KEYS_MOST)
		return error_set(run->error, -E2BIG, "joined by more than %d keys", KEYS_MOST);
	map_init(&q.by_key);
	kept_rows_init(&q.right, q.right_n, &run->budget);
	q.env = (struct expr_env){.element = no_element, .arena = &q.arena};
	q.values = calloc(q.left_n + q.right_n + 1, sizeof(*q.values));
	r = q.values ? expr_memo_new(&q.env.memo) : -ENOMEM;
	if (r == 0)
		r = kept_rows_run(&q.right, run, node->inputs[1], 0);
	if (r == 0)
		r = build(&q);
	if (r == 0)
		r = probe_all(&q);
	kept_rows_done(&q.right);
	map_done(&q.by_key);
	free(q.keys);
	free(q.next);
	free(q.tail);
	free(q.values);
	arena_done(&q.arena);
	expr_memo_free(q.env.memo);
	return r;
}
