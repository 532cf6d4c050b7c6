/* exec/series_run.c - series over what only whole traces tell: sets by structure, fields of traces.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/expr.h"
#include "exec/series.h"

struct part {
	struct grouping groups;
	struct expr_env env;
	struct arena arena;
};

struct series {
	const struct plan_node *node;
	struct series_steps steps;
	struct aggregate aggregates[AGGREGATES_MOST];
	struct part *parts;
	unsigned part_n;
};

static struct value no_element(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_nil();
}

static int add(void *context, unsigned thread, const struct tuple *tuple)
{
	struct series *s = context;
	const struct plan_node *node = s->node;
	struct part *p = &s->parts[thread];
	struct value keys[GROUPING_KEYS_MOST + 1], args[AGGREGATES_MOST];
	uint32_t step, row;
	int r;

	if (!series_step(&s->steps, tuple->sample.time_ns, &step))
		return 0;
	arena_clear(&p->arena);
	p->env.columns = tuple->values;
	keys[0] = value_of(V_TIME, s->steps.from_ns + (int64_t)step * s->steps.step_ns);
	for (uint32_t i = 0; i < node->series.key_n; i++)
		keys[1 + i] = expr_eval(&p->env, node->series.keys[i]);
	for (uint32_t i = 0; i < node->series.aggregate_n; i++)
		args[i] = node->series.aggregates[i].arg
				  ? expr_eval(&p->env, node->series.aggregates[i].arg)
				  : value_nil();
	r = p->env.failed;
	if (r == 0)
		r = grouping_find(&p->groups, keys, &row);
	return r == 0 ? grouping_add(&p->groups, row, args, &tuple->sample) : r;
}

static int parts_init(struct series *s, struct query_at *run)
{
	const struct plan_node *node = s->node;
	int r = 0;

	s->part_n = tuples_threads(run);
	s->parts = calloc(s->part_n, sizeof(*s->parts));
	if (!s->parts)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < node->series.aggregate_n; i++)
		r = aggregate_from_plan(&node->series.aggregates[i], (double)s->steps.step_ns / 1e9,
					&s->aggregates[i]);
	for (unsigned i = 0; r == 0 && i < s->part_n; i++) {
		struct part *p = &s->parts[i];

		p->env = (struct expr_env){.element = no_element, .arena = &p->arena};
		r = expr_memo_new(&p->env.memo);
		if (r == 0)
			r = grouping_init(&p->groups, 1 + node->series.key_n, s->aggregates,
					  node->series.aggregate_n, &run->budget);
	}
	return r;
}

int series_run(struct query_at *run, const struct plan_node *node, const struct run_sink *sink)
{
	_cleanup_(freep)
	struct series *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	s->node = node;
	if (node->series.key_n >= GROUPING_KEYS_MOST || node->series.aggregate_n > AGGREGATES_MOST)
		return error_set(run->error, -E2BIG, "more than %d keys or %d aggregates",
				 GROUPING_KEYS_MOST - 1, AGGREGATES_MOST);
	if (!node_is_per_trace(node->inputs[0]))
		return error_set(run->error, -EOPNOTSUPP, "a series is over spans, not over this");
	r = series_steps_init(&s->steps, run, node);
	if (r == 0)
		r = parts_init(s, run);
	if (r == 0)
		r = tuples_scan(run, node->inputs[0], add, s);
	for (unsigned i = 1; r == 0 && i < s->part_n; i++)
		r = grouping_merge(&s->parts[0].groups, &s->parts[i].groups);
	if (r == 0)
		r = series_give(run, node, &s->steps, &s->parts[0].groups, sink);
	for (unsigned i = 0; s->parts && i < s->part_n; i++) {
		grouping_done(&s->parts[i].groups);
		arena_done(&s->parts[i].arena);
		expr_memo_free(s->parts[i].env.memo);
	}
	free(s->parts);
	return r;
}
