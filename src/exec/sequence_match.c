/* exec/sequence_match.c - ordered patterns over one trace: [a] ![b] [c] Until [d].
 *
 * A match is a tuple of each step that must happen, each happening before the next, equal in the
 * keys; between neighbours no tuple of a step that must not happen; all within a time; and no Until
 * between the first and the last.  Every match is given, with what matched. */
#include <errno.h>

#include "exec/trace_eval.h"

#define STEPS_MOST 32

struct matching {
	struct trace_at *at;
	const struct plan_node *node;
	struct tuples steps[STEPS_MOST];
	struct value **keys[STEPS_MOST]; /* [step][tuple][key] */
	struct tuples until;
	uint32_t chosen[STEPS_MOST];
	struct tuples *out;
	uint64_t asked; /* since the budget was */
};

static int keys_make(struct matching *m, uint32_t s)
{
	struct trace_at *at = m->at;
	uint32_t n = m->node->sequence.key_n;

	m->keys[s] = arena_alloc(&at->arena, (m->steps[s].n + 1) * sizeof(struct value *));
	if (!m->keys[s])
		return -ENOMEM;
	for (uint32_t i = 0; i < m->steps[s].n; i++) {
		m->keys[s][i] = arena_alloc(&at->arena, (n + 1) * sizeof(struct value));
		if (!m->keys[s][i])
			return -ENOMEM;
		at->env.columns = m->steps[s].items[i].values;
		for (uint32_t k = 0; k < n; k++)
			m->keys[s][i][k] = expr_eval(&at->env, m->node->sequence.keys[s][k]);
	}
	return at->env.failed;
}

/* Nil is equal to nothing. */
static bool keys_equal(const struct matching *m, const struct value *a, const struct value *b)
{
	for (uint32_t k = 0; k < m->node->sequence.key_n; k++)
		if (value_is_nil(a[k]) || !value_same(a[k], b[k]))
			return false;
	return true;
}

static struct element anchor(const struct matching *m, uint32_t step)
{
	return m->steps[step].items[m->chosen[step]].anchor;
}

/* The step that must happen before step s, or UINT32_MAX. */
static uint32_t step_before(const struct matching *m, uint32_t s)
{
	while (s-- > 0)
		if (!m->node->sequence.steps[s].absent)
			return s;
	return UINT32_MAX;
}

/* 1: something that must not happen did, between two steps (either may be UINT32_MAX: none). */
static int spoiled(struct matching *m, uint32_t step, uint32_t from, uint32_t to, uint32_t first)
{
	const struct tuples *t = &m->steps[step];

	for (uint32_t i = 0; i < t->n; i++) {
		int r;

		if (!keys_equal(m, m->keys[step][i], m->keys[first][m->chosen[first]]))
			continue;
		r = from == UINT32_MAX ? 1
				       : anchors_before(m->at, anchor(m, from), t->items[i].anchor);
		if (r > 0 && to != UINT32_MAX)
			r = anchors_before(m->at, t->items[i].anchor, anchor(m, to));
		if (r != 0)
			return r;
	}
	return 0;
}

static int in_time(const struct matching *m, uint32_t first, uint32_t s)
{
	uint64_t a = element_time(m->at, anchor(m, first)), b = element_time(m->at, anchor(m, s));
	int64_t within = m->node->sequence.within_ns;

	return within == 0 || (b > a ? b - a : a - b) <= (uint64_t)within;
}

static int give(struct matching *m)
{
	const struct plan_node *node = m->node;
	struct value *values = arena_alloc(&m->at->arena, (node->column_n + 1) * sizeof(*values));
	uint32_t n = 0, last = 0;

	if (!values)
		return -ENOMEM;
	for (uint32_t s = 0; s < node->sequence.step_n; s++)
		if (!node->sequence.steps[s].absent) {
			uint32_t width = node->sequence.steps[s].input->column_n;

			memcpy(values + n, m->steps[s].items[m->chosen[s]].values,
			       width * sizeof(*values));
			n += width;
			last = s;
		}
	if (node->sequence.rest) {
		m->at->env.columns = values;
		if (!value_is_true(expr_eval(&m->at->env, node->sequence.rest)))
			return m->at->env.failed;
	}
	return tuples_add(m->at, m->out, values, anchor(m, last));
}

/* Everything is chosen: what must not come behind the last, and Until. */
static int finish(struct matching *m, uint32_t first, uint32_t last)
{
	int r = 0;

	for (uint32_t s = last + 1; r == 0 && s < m->node->sequence.step_n; s++)
		r = spoiled(m, s, last, UINT32_MAX, first);
	for (uint32_t i = 0; r == 0 && i < m->until.n; i++) {
		r = anchors_before(m->at, anchor(m, first), m->until.items[i].anchor);
		if (r > 0)
			r = anchors_before(m->at, m->until.items[i].anchor, anchor(m, last));
	}
	if (r != 0)
		return r < 0 ? r : 0;
	return give(m);
}

/* Is the tuple chosen for step s a good one behind those before it?  1, 0, negative errno. */
static int fits(struct matching *m, uint32_t s, uint32_t first)
{
	uint32_t before = step_before(m, s);
	int r = 1;

	if (!keys_equal(m, m->keys[s][m->chosen[s]], m->keys[first][m->chosen[first]]) ||
	    !in_time(m, first, s))
		return 0;
	if (before != UINT32_MAX)
		r = anchors_before(m->at, anchor(m, before), anchor(m, s));
	for (uint32_t k = before == UINT32_MAX ? 0 : before + 1; r > 0 && k < s; k++) {
		r = spoiled(m, k, before, s, first);
		r = r < 0 ? r : !r;
	}
	return r;
}

static int extend(struct matching *m, uint32_t s, uint32_t first, uint32_t last)
{
	int r = 0;

	while (s < m->node->sequence.step_n && m->node->sequence.steps[s].absent)
		s++;
	if (s == m->node->sequence.step_n)
		return finish(m, first, last);
	for (uint32_t i = 0; r == 0 && i < m->steps[s].n; i++) {
		m->chosen[s] = i;
		if (++m->asked % 1024 == 0) {
			r = budget_check(&m->at->run->budget);
			if (r < 0)
				break;
		}
		r = fits(m, s, first == UINT32_MAX ? s : first);
		if (r > 0)
			r = extend(m, s + 1, first == UINT32_MAX ? s : first, s);
	}
	return r;
}

int eval_sequence(struct trace_at *at, const struct plan_node *node, bool ranged,
		  struct tuples *out)
{
	struct matching *m = arena_zalloc(&at->arena, 1, sizeof(*m));
	int r = 0;

	if (!m)
		return -ENOMEM;
	if (node->sequence.step_n > STEPS_MOST)
		return -E2BIG;
	m->at = at;
	m->node = node;
	m->out = out;
	for (uint32_t s = 0; r == 0 && s < node->sequence.step_n; s++) {
		bool absent = node->sequence.steps[s].absent;

		r = trace_eval(at, node->sequence.steps[s].input, ranged && !absent, &m->steps[s]);
		if (r == 0 && !absent && m->steps[s].n == 0)
			return 0;
		if (r == 0)
			r = keys_make(m, s);
	}
	if (r == 0 && node->sequence.until)
		r = trace_eval(at, node->sequence.until, false, &m->until);
	return r == 0 ? extend(m, 0, UINT32_MAX, UINT32_MAX) : r;
}
