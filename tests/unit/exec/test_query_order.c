/* Random sequences and pipes over random traces: every way of running them gives what a naive
 * evaluator gives that loops over the events.  Where time is shared out (critical paths, self time)
 * there is none; whole traces and their columns must agree. */
#include "naive_t.h"

#define STEPS 5
#define LEAF                                                                                       \
	(struct leaf)                                                                              \
	{                                                                                          \
		-1, -1                                                                             \
	}

/* Spans of a name, and with at least this x; -1: any. */
struct leaf {
	int name, least;
};

static struct leaf random_leaf(struct rng *rng)
{
	return (struct leaf){below(rng, 4) ? (int)below(rng, 3) : -1,
			     below(rng, 4) ? -1 : (int)below(rng, 3)};
}

static void leaf_text(struct leaf l, struct buffer *out)
{
	buffer_text(out, "{ ");
	if (l.name >= 0)
		buffer_printf(out, "name = \"%s\"", random_names[l.name]);
	if (l.least >= 0)
		buffer_printf(out, "%sspan.x >= %d", l.name >= 0 ? " && " : "", l.least);
	buffer_text(out, " }");
}

static bool leaf_has(const struct naive_trace *t, struct leaf l, uint32_t span)
{
	struct value x = naive_x(t, span);

	return (l.name < 0 || slice_eq(naive_name(t, span), slice_cstr(random_names[l.name]))) &&
	       (l.least < 0 || (!value_is_nil(x) && x.i >= l.least));
}

/* --- sequences --- */

struct random_sequence {
	struct leaf steps[STEPS];
	bool absent[STEPS];
	uint32_t n;
	bool by_host;
	uint32_t within; /* 0: no limit */
	bool has_until;
	struct leaf until;
};

static void random_sequence(struct rng *rng, struct random_sequence *q)
{
	uint32_t told = 0;

	*q = (struct random_sequence){.n = 2 + below(rng, STEPS - 2)};
	for (uint32_t i = 0; i < q->n; i++) {
		q->steps[i] = random_leaf(rng);
		/* two at least must happen */
		q->absent[i] = told + (q->n - i) > 2 && below(rng, 3) == 0;
		told += !q->absent[i];
	}
	q->by_host = below(rng, 3) == 0;
	q->within = below(rng, 3) ? 0 : 1 + below(rng, 60);
	q->has_until = below(rng, 3) == 0;
	q->until = random_leaf(rng);
}

static void sequence_text(const struct random_sequence *q, struct buffer *out)
{
	buffer_text(out, "Sequence");
	if (q->by_host)
		buffer_text(out, " By host");
	if (q->within)
		buffer_printf(out, " Within %uns", q->within);
	for (uint32_t i = 0; i < q->n; i++) {
		if (q->absent[i])
			buffer_text(out, " ![");
		else
			buffer_printf(out, " [a%u In ", i);
		leaf_text(q->steps[i], out);
		buffer_text(out, "]");
	}
	if (q->has_until) {
		buffer_text(out, " Until [");
		leaf_text(q->until, out);
		buffer_text(out, "]");
	}
}

static bool same_key(const struct random_sequence *q, const struct naive_trace *t, uint32_t a,
		     uint32_t b)
{
	return !q->by_host || slice_eq(naive_host(t, a), naive_host(t, b));
}

/* Does a span that must not happen do so, behind `from` and before `to` (NO_SPAN: anywhere)? */
static bool spoils(const struct random_sequence *q, const struct naive_trace *t, uint32_t step,
		   uint32_t first, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (leaf_has(t, q->steps[step], i) && same_key(q, t, first, i) &&
		    (from == NO_SPAN || naive_before(t, from, i)) &&
		    (to == NO_SPAN || naive_before(t, i, to)))
			return true;
	return false;
}

static bool matches(const struct random_sequence *q, const struct naive_trace *t,
		    const uint32_t *chosen)
{
	uint32_t first = NO_SPAN, last = NO_SPAN, to;

	for (uint32_t s = 0; s < q->n; s++) {
		uint64_t a, b;

		if (q->absent[s])
			continue;
		if (first == NO_SPAN)
			first = chosen[s];
		a = t->spans[first].begin_ns;
		b = t->spans[chosen[s]].begin_ns;
		if (!leaf_has(t, q->steps[s], chosen[s]) || !same_key(q, t, first, chosen[s]) ||
		    (last != NO_SPAN && !naive_before(t, last, chosen[s])) ||
		    (q->within && (a < b ? b - a : a - b) > q->within))
			return false;
		last = chosen[s];
	}
	for (uint32_t s = 0, from = NO_SPAN; s < q->n && s + 1 < STEPS; s++) {
		if (!q->absent[s]) {
			from = chosen[s];
			continue;
		}
		to = NO_SPAN;
		for (uint32_t k = s + 1; to == NO_SPAN && k < q->n; k++)
			to = q->absent[k] ? NO_SPAN : chosen[k];
		if (spoils(q, t, s, first, from, to))
			return false;
	}
	for (uint32_t i = 0; q->has_until && i < t->n; i++)
		if (leaf_has(t, q->until, i) && naive_before(t, first, i) &&
		    naive_before(t, i, last))
			return false;
	return true;
}

static void element_text(const struct naive_trace *t, uint32_t span, struct buffer *out)
{
	char id[TRACE_ID_HEX + 1];

	trace_id_format(t->id, id);
	buffer_printf(out, "%s/%016llx", id, (unsigned long long)t->spans[span].event->id1);
}

/* Every choice of a span for each step that must happen. */
static void naive_sequence(const struct random_sequence *q, const struct naive_trace *t,
			   uint32_t step, uint32_t *chosen, struct buffer *out)
{
	bool some = false;

	if (step < q->n) {
		for (uint32_t i = 0; i < (q->absent[step] ? 1 : t->n); i++) {
			chosen[step] = i;
			naive_sequence(q, t, step + 1, chosen, out);
		}
		return;
	}
	if (!matches(q, t, chosen))
		return;
	for (uint32_t s = 0; s < q->n; s++)
		if (!q->absent[s]) {
			buffer_text(out, some ? " | " : "");
			element_text(t, chosen[s], out);
			some = true;
		}
	buffer_text(out, "\n");
}

/* --- pipes --- */

enum pipe_end { PIPE_SUM, PIPE_LEAST, PIPE_MOST, PIPE_HOW_MANY, PIPE_WHEN, PIPE_SPAN, PIPE_SINCE };

struct random_pipe {
	struct leaf head, filter, other;
	bool last, other_last;
	enum pipe_end end;
};

static void random_pipe(struct rng *rng, struct random_pipe *q)
{
	*q = (struct random_pipe){.head = LEAF,
				  .filter = below(rng, 2) ? LEAF : random_leaf(rng),
				  .other = random_leaf(rng),
				  .last = below(rng, 2),
				  .other_last = below(rng, 2),
				  .end = (enum pipe_end)below(rng, 7)};
	/* What comes behind a spanset is about spans, not about elements. */
	if (q->end != PIPE_HOW_MANY && below(rng, 2)) {
		q->head = random_leaf(rng);
		q->filter = LEAF;
	}
}

static void pipe_text(const struct random_pipe *q, struct buffer *out)
{
	static const char *const ends[] = {"Duration | Sum", "Duration | Min", "Duration | Max",
					   "Count"};

	if (q->head.name < 0 && q->head.least < 0)
		buffer_text(out, "Blocks");
	else
		leaf_text(q->head, out);
	if (q->filter.name >= 0)
		buffer_printf(out, " | Filter(name = \"%s\")", random_names[q->filter.name]);
	if (q->filter.least >= 0)
		buffer_printf(out, " | Filter(span.x >= %d)", q->filter.least);
	if (q->end < PIPE_WHEN) {
		buffer_printf(out, " | %s", ends[q->end]);
		return;
	}
	buffer_printf(out, " | %s%s", q->last ? "Last" : "First",
		      q->end == PIPE_SPAN ? "" : " | Timestamp");
	if (q->end == PIPE_SINCE) {
		buffer_text(out, " | Subtract(");
		leaf_text(q->other, out);
		buffer_printf(out, " | %s | Timestamp)", q->other_last ? "Last" : "First");
	}
}

static uint32_t extreme(const struct naive_trace *t, struct leaf a, struct leaf b, bool last)
{
	uint32_t spans[NAIVE_SPANS], n = 0;
	bool gone[NAIVE_SPANS] = {false};
	size_t best;

	for (uint32_t i = 0; i < t->n; i++)
		if (leaf_has(t, a, i) && leaf_has(t, b, i))
			spans[n++] = i;
	best = naive_extreme(t, spans, gone, n, last);
	return best == SIZE_MAX ? NO_SPAN : spans[best];
}

static int64_t took(const struct naive_span *s)
{
	return s->end_ns > s->begin_ns ? (int64_t)(s->end_ns - s->begin_ns) : 0;
}

static void naive_pipe(const struct random_pipe *q, const struct naive_trace *t, struct buffer *out)
{
	uint32_t span = extreme(t, q->head, q->filter, q->last), other;
	struct value v = value_nil();
	int64_t sum = 0, least = INT64_MAX, most = 0, n = 0;
	char id[TRACE_ID_HEX + 1];

	trace_id_format(t->id, id);
	for (uint32_t i = 0; i < t->n; i++)
		if (leaf_has(t, q->head, i) && leaf_has(t, q->filter, i)) {
			int64_t d = took(&t->spans[i]);

			n++;
			sum += d;
			least = d < least ? d : least;
			most = d > most ? d : most;
		}
	if (q->end == PIPE_HOW_MANY)
		v = value_int(n);
	else if (span == NO_SPAN)
		return;
	if (q->end < PIPE_HOW_MANY)
		v = value_of(V_DURATION, q->end == PIPE_SUM     ? sum
					 : q->end == PIPE_LEAST ? least
								: most);
	if (q->end >= PIPE_WHEN)
		v = value_int((int64_t)(t->spans[span].begin_ns - QUERY_T0));
	if (q->end == PIPE_SINCE) {
		other = extreme(t, q->other, LEAF, q->other_last);
		v = other == NO_SPAN
			    ? value_nil()
			    : value_of(V_DURATION,
				       v.i - (int64_t)(t->spans[other].begin_ns - QUERY_T0));
	}
	buffer_printf(out, "%s | ", id);
	if (q->end == PIPE_SPAN) {
		element_text(t, span, out);
		buffer_printf(out, " | %.*s | ", SLICE_ARG(naive_name(t, span)));
		naive_print(v, out);
		buffer_text(out, " | ");
		v = value_of(V_DURATION, took(&t->spans[span]));
	}
	naive_print(v, out);
	buffer_text(out, "\n");
}

/* --- the tests --- */

struct rounds {
	uint64_t at, end;
	struct rng rng;
	struct buffer traces;
	struct query_t head, flushed;
	struct batch *b;
};

static struct rounds rounds_begin(void)
{
	const char *rounds = getenv("QUERY_ROUNDS"), *seed = getenv("QUERY_SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;

	return (struct rounds){.at = first,
			       .end = first + (rounds ? strtoull(rounds, NULL, 10) : 12)};
}

static bool round_next(struct rounds *r)
{
	if (r->b) {
		batch_unref(r->b);
		query_t_close(&r->head);
		query_t_close(&r->flushed);
		buffer_done(&r->traces);
	}
	if (r->at == r->end)
		return false;
	r->rng.state = r->at++;
	random_traces(&r->rng, &r->traces);
	r->b = query_t_batch(buffer_cstr(&r->traces));
	query_t_open(&r->head, buffer_cstr(&r->traces), false);
	query_t_open(&r->flushed, buffer_cstr(&r->traces), true);
	return true;
}

/* In a head, in a segment, by columns, without, with pruning and without. */
static void all_agree(struct rounds *r, const char *text, const char *want)
{
	static const unsigned offs[] = {0, RULES_ALL, RULE_COLUMNS, RULE_PRUNE};
	char *lines = sorted_lines(want);

	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		random_compare(&r->head, text, offs[i], 1, lines, buffer_cstr(&r->traces));
		random_compare(&r->flushed, text, offs[i], 1 + (unsigned)i % 3, lines,
			       buffer_cstr(&r->traces));
	}
	free(lines);
}

static void sequences_give_every_match_and_no_other(void **state)
{
	(void)state;
	for (struct rounds r = rounds_begin(); round_next(&r);)
		for (int k = 0; k < 15; k++) {
			struct buffer text = {0}, want = {0};
			struct random_sequence q;

			random_sequence(&r.rng, &q);
			sequence_text(&q, &text);
			for (uint32_t i = 1; i <= RANDOM_TRACES; i++) {
				struct naive_trace t;
				uint32_t chosen[STEPS];

				naive_trace(&t, r.b, trace_of(i));
				naive_sequence(&q, &t, 0, chosen, &want);
			}
			all_agree(&r, buffer_cstr(&text), buffer_cstr(&want));
			buffer_done(&text);
			buffer_done(&want);
		}
}

static void pipes_give_what_loops_give(void **state)
{
	(void)state;
	for (struct rounds r = rounds_begin(); round_next(&r);)
		for (int k = 0; k < 15; k++) {
			struct buffer text = {0}, want = {0};
			struct random_pipe q;

			random_pipe(&r.rng, &q);
			pipe_text(&q, &text);
			for (uint32_t i = 1; i <= RANDOM_TRACES; i++) {
				struct naive_trace t;

				naive_trace(&t, r.b, trace_of(i));
				naive_pipe(&q, &t, &want);
			}
			all_agree(&r, buffer_cstr(&text), buffer_cstr(&want));
			buffer_done(&text);
			buffer_done(&want);
		}
}

static void columns_share_out_time_as_whole_traces_do(void **state)
{
	static const char *const texts[] = {
		"CriticalPath | Blocks | Duration | Sum",
		"CriticalPath | Duration | Sum",
		"CriticalPath | Blocks | Filter(name = \"p\") | Duration",
		"CriticalPath | Blocks | First",
		"CriticalPath | First",
		"CriticalPath | Duration",
		"CriticalPath | Edges | Duration | Sum",
		"Blocks | Filter(name = \"q\") | Counter(x) | Sum",
		"From s In spans Select s.trace_id, s.span_id, s.self",
		"{ nestedSetLeft > 2 && nestedSetRight < 9 }",
		"{ nestedSetParent < 3 } >> { name = \"q\" }",
		"From s In { parent.name = \"p\" } Join a In { root.span.x >= 1 } On a -> s Select s, a",
		"From s In spans Join a In spans On a -> s Select s.span_id, s.thread.id, a.kind",
		"From s In spans Join a In spans On a -> s Select s.span_id, a.x, a.l, a.parent.x",
	};

	(void)state;
	for (struct rounds r = rounds_begin(); round_next(&r);)
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			struct query_text t = {0};
			const char *rows;

			if (query_t_run(&r.head, texts[k], RULES_ALL, 1, &t) < 0)
				fail_msg("%s\n%s%s", texts[k], buffer_cstr(&t.out), t.error.text);
			rows = strchr(buffer_cstr(&t.out), '\n');
			all_agree(&r, texts[k], rows ? rows + 1 : "");
			query_text_done(&t);
		}
}

static void a_change_of_nothing_changes_nothing(void **state)
{
	static const char *const conditions[] = {
		"t.duration != WhatIf(Scale({ }, 1))",
		"t.duration != WhatIf(Without({ name = \"none\" }))",
		"t.duration != WhatIf(Scale({ span.x > 0 }, 2), Scale({ span.x > 0 }, 0.5))",
		"t.duration < WhatIf(Without({ name = \"p\" }))",
		"t.duration > WhatIf(Scale({ name = \"p\" }, 2))",
	};

	(void)state;
	for (struct rounds r = rounds_begin(); round_next(&r);)
		for (size_t k = 0; k < ARRAY_SIZE(conditions); k++) {
			struct buffer text = {0};

			buffer_printf(&text, "From t In traces Where %s Select t.trace_id",
				      conditions[k]);
			all_agree(&r, buffer_cstr(&text), "");
			buffer_done(&text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_give_every_match_and_no_other),
		cmocka_unit_test(pipes_give_what_loops_give),
		cmocka_unit_test(columns_share_out_time_as_whole_traces_do),
		cmocka_unit_test(a_change_of_nothing_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
