/* exec/expr_memo.c - what evaluating expressions needs to remember: patterns, moving averages,
 * sketches. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "base/vec.h"
#include "exec/expr_int.h"

#define PATTERNS_KEPT 64 /* patterns may come from data; the oldest is forgotten */

/* Values whose hashes end alike share a counter: of many values some pass a little less often. */
#define SKETCH_COUNTERS 65536

struct expr_memo {
	struct {
		char *text;
		size_t n;
		struct pattern *pattern;
	} patterns[PATTERNS_KEPT];
	size_t pattern_n, next;

	struct average {
		const struct plan_expr *expr;
		double sum;
		uint64_t n;
	} * averages;
	size_t average_n, average_capacity;

	struct sketch_counts {
		const struct plan_expr *expr;
		uint64_t *counts; /* [SKETCH_COUNTERS] */
	} * sketches;
	size_t sketch_n, sketch_capacity;
};

int expr_memo_new(struct expr_memo **ret_memo)
{
	struct expr_memo *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret_memo = m;
	return 0;
}

struct expr_memo *expr_memo_free(struct expr_memo *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->pattern_n; i++) {
		pattern_free(m->patterns[i].pattern);
		free(m->patterns[i].text);
	}
	for (size_t i = 0; i < m->sketch_n; i++)
		free(m->sketches[i].counts);
	free(m->sketches);
	free(m->averages);
	free(m);
	return NULL;
}

static int remember(struct expr_memo *m, struct slice text, const struct pattern **ret_pattern)
{
	struct pattern *pattern;
	char *copy = malloc(text.n + 1);
	int r = copy ? pattern_new(text, true, &pattern, NULL) : -ENOMEM;
	size_t at = m->next;

	if (r < 0) {
		free(copy);
		return r;
	}
	if (at < m->pattern_n) {
		pattern_free(m->patterns[at].pattern);
		free(m->patterns[at].text);
	} else {
		m->pattern_n++;
	}
	if (text.n)
		memcpy(copy, text.p, text.n);
	m->patterns[at].text = copy;
	m->patterns[at].n = text.n;
	m->patterns[at].pattern = pattern;
	m->next = (at + 1) % PATTERNS_KEPT;
	*ret_pattern = pattern;
	return 0;
}

static int pattern_get(struct expr_memo *m, struct slice text, const struct pattern **ret_pattern)
{
	for (size_t i = 0; i < m->pattern_n; i++)
		if (slice_eq(slice_of(m->patterns[i].text, m->patterns[i].n), text)) {
			*ret_pattern = m->patterns[i].pattern;
			return 0;
		}
	return remember(m, text, ret_pattern);
}

/* Numbers and names are matched as they are written. */
struct value expr_match(struct expr_env *env, struct value text, struct value pattern)
{
	const struct pattern *p;
	struct slice s;
	int r;

	if (value_is_nil(text) || pattern.type != V_STRING)
		return value_nil();
	s = value_format(env->arena, text);
	if (!s.p)
		return expr_fail(env, -ENOMEM);
	r = pattern_get(env->memo, value_slice(pattern), &p);
	return r < 0 ? expr_fail(env, r) : value_bool(pattern_matches(p, s));
}

struct value expr_moving_average(struct expr_env *env, const struct plan_expr *e, struct value v)
{
	struct expr_memo *m = env->memo;
	struct average *a = NULL;
	double mean;

	if (!value_is_number(v))
		return value_nil();
	for (size_t i = 0; i < m->average_n; i++)
		if (m->averages[i].expr == e)
			a = &m->averages[i];
	if (!a) {
		if (!vec_reserve(&m->averages, &m->average_capacity, m->average_n + 1, sizeof(*a)))
			return expr_fail(env, -ENOMEM);
		a = &m->averages[m->average_n++];
		*a = (struct average){.expr = e};
	}
	a->sum += value_number(v);
	mean = a->sum / (double)++a->n;
	return v.type == V_DURATION || v.type == V_TIME ? value_of(v.type, (int64_t)mean)
							: value_float(mean);
}

static uint64_t *sketch_counts(struct expr_memo *m, const struct plan_expr *e)
{
	struct sketch_counts *s;

	for (size_t i = 0; i < m->sketch_n; i++)
		if (m->sketches[i].expr == e)
			return m->sketches[i].counts;
	if (!vec_reserve(&m->sketches, &m->sketch_capacity, m->sketch_n + 1, sizeof(*s)))
		return NULL;
	s = &m->sketches[m->sketch_n];
	*s = (struct sketch_counts){e, calloc(SKETCH_COUNTERS, sizeof(*s->counts))};
	if (s->counts)
		m->sketch_n++;
	return s->counts;
}

struct value expr_sketch(struct expr_env *env, const struct plan_expr *e, struct value v)
{
	uint64_t *counts = sketch_counts(env->memo, e), n;

	if (!counts)
		return expr_fail(env, -ENOMEM);
	n = ++counts[value_hash(v, 0) % SKETCH_COUNTERS];
	return value_bool((n & (n - 1)) == 0);
}
