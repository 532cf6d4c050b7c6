/* exec/kept_rows.c - rows kept for a while: what a join builds on, what waits for its turn. */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "exec/run.h"

void kept_rows_init(struct kept_rows *k, uint32_t column_n, struct budget *budget)
{
	*k = (struct kept_rows){.column_n = column_n, .budget = budget};
}

void kept_rows_done(struct kept_rows *k)
{
	free(k->rows);
	arena_done(&k->arena);
	if (k->budget)
		budget_give(k->budget, k->held);
	*k = (struct kept_rows){0};
}

int kept_rows_add(struct kept_rows *k, const struct value *values, const double *plus_minus,
		  uint64_t time_ns)
{
	uint32_t n = k->column_n;
	struct kept_row row = {.time_ns = time_ns};
	size_t bytes;

	if (!vec_reserve(&k->rows, &k->capacity, k->n + 1, sizeof(*k->rows)))
		return -ENOMEM;
	row.values = arena_alloc(&k->arena, (n + 1) * sizeof(*row.values));
	if (!row.values)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (!value_dup(&k->arena, values[i], &row.values[i]))
			return -ENOMEM;
	if (plus_minus) {
		row.plus_minus = arena_alloc(&k->arena, (n + 1) * sizeof(double));
		if (!row.plus_minus)
			return -ENOMEM;
		memcpy(row.plus_minus, plus_minus, n * sizeof(double));
	}
	k->rows[k->n++] = row;
	bytes = k->arena.bytes + k->capacity * sizeof(*k->rows);
	return k->budget && bytes != k->held ? budget_hold(k->budget, &k->held, bytes) : 0;
}

/* --- from threads --- */

struct keeping {
	struct query_at *run;
	struct kept_rows parts[RUN_THREADS_MOST];
	uint64_t most;
};

static int keep_tuple(void *context, unsigned thread, const struct tuple *t)
{
	struct keeping *k = context;
	struct kept_rows *part = &k->parts[thread];
	int r = kept_rows_add(part, t->values, NULL, t->sample.time_ns);

	if (t->sample.weight != 1)
		atomic_store_explicit(&k->run->unweighted, true, memory_order_relaxed);
	if (r < 0)
		return r;
	return k->most && part->n >= k->most ? SINK_FULL : 0;
}

static int keep_row(void *context, const struct value *values, const double *plus_minus)
{
	struct kept_rows *k = context;

	return kept_rows_add(k, values, plus_minus, 0);
}

static int from_threads(struct kept_rows *k, struct query_at *run, const struct plan_node *node,
			uint64_t most)
{
	struct keeping *keeping = calloc(1, sizeof(*keeping));
	unsigned n = tuples_threads(run);
	int r;

	if (!keeping)
		return -ENOMEM;
	keeping->run = run;
	keeping->most = most;
	for (unsigned i = 0; i < n; i++)
		kept_rows_init(&keeping->parts[i], k->column_n, &run->budget);
	r = tuples_scan(run, node, keep_tuple, keeping);
	if (r == SINK_FULL)
		r = 0;
	for (unsigned i = 0; i < n; i++) {
		struct kept_rows *part = &keeping->parts[i];

		for (size_t row = 0; r == 0 && row < part->n && (!most || k->n < most); row++)
			r = kept_rows_add(k, part->rows[row].values, NULL, part->rows[row].time_ns);
		kept_rows_done(part);
	}
	free(keeping);
	return r;
}

int kept_rows_run(struct kept_rows *k, struct query_at *run, const struct plan_node *node,
		  uint64_t most)
{
	struct run_sink sink = {keep_row, k};
	int r;

	if (node_is_per_trace(node))
		return from_threads(k, run, node, most);
	r = run_node(run, node, &sink);
	return r == SINK_FULL ? 0 : r;
}
