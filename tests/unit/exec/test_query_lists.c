/* Random conditions over an attribute that is a list, a text, a number or missing: from heads and
 * from segments, rewritten or not, they must keep the spans that the rules say, which are written
 * down here once more.
 *
 *   one value         =, != and matches by what it is; an order with another type is nil
 *   a list            one of its elements is so; for != and !~ none is equal, none matches
 *   nothing           nil, and so is what is made of it, but for Kleene's && and || */
#include "naive_t.h"

#define SPANS     60
#define QUESTIONS 60
#define ROUNDS    4

enum truth { NO, YES, NIL };

/* Values as they are written; the last is none at all. */
static const char *const values[] = {"[u,v]", "[w]", "[]", "[1,4]", "[u,2]", "[v,v,w]",
				     "u",     "w",   "2",  "4",     NULL};

struct condition {
	enum { EQ, NE, LT, LE, GT, GE, MATCH, NO_MATCH, IN, OPS } op;
	const char *constant; /* one character; of MATCH, a class of such; of IN, some of them */
	bool negated, swapped;
};

struct question {
	struct condition conditions[2];
	bool both, either; /* the second counts, too: && or || */
	bool inner_not;    /* !( … ) around all of it */
};

static const char *const ops[] = {"=", "!=", "<", "<=", ">", ">=", "=~", "!~", "in"};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* --- the rules --- */

static enum truth truth_of(bool yes)
{
	return yes ? YES : NO;
}

static enum truth negate(enum truth t)
{
	return t == NIL ? NIL : truth_of(t == NO);
}

/* `a op b` of single values. */
static enum truth plain(int op, char a, char b)
{
	bool ordered = is_digit(a) == is_digit(b);

	switch (op) {
	case EQ:
		return truth_of(a == b);
	case NE:
		return truth_of(a != b);
	case LT:
		return ordered ? truth_of(a < b) : NIL;
	case LE:
		return ordered ? truth_of(a <= b) : NIL;
	case GT:
		return ordered ? truth_of(a > b) : NIL;
	default:
		return ordered ? truth_of(a >= b) : NIL;
	}
}

static enum truth asked(const struct condition *c, char element)
{
	if (c->op == MATCH || c->op == IN)
		return truth_of(strchr(c->constant, element) != NULL);
	if (c->op == NO_MATCH)
		return truth_of(strchr(c->constant, element) == NULL);
	return c->swapped ? plain(c->op, c->constant[0], element)
			  : plain(c->op, element, c->constant[0]);
}

static enum truth condition_truth(const struct condition *c, const char *value)
{
	struct condition positive = *c;
	bool negative = c->op == NE || c->op == NO_MATCH, some = false;
	enum truth t;

	if (!value)
		return NIL;
	if (value[0] != '[') {
		t = asked(c, value[0]);
	} else {
		positive.op = c->op == NE ? EQ : c->op == NO_MATCH ? MATCH : c->op;
		for (const char *p = value + 1; *p != ']'; p++)
			some |= *p != ',' && asked(&positive, *p) == YES;
		t = truth_of(some != negative);
	}
	return c->negated ? negate(t) : t;
}

static enum truth question_truth(const struct question *q, const char *value)
{
	enum truth a = condition_truth(&q->conditions[0], value),
		   b = condition_truth(&q->conditions[1], value);

	if (q->both)
		a = a == NO || b == NO ? NO : a == NIL || b == NIL ? NIL : YES;
	else if (q->either)
		a = a == YES || b == YES ? YES : a == NIL || b == NIL ? NIL : NO;
	return q->inner_not ? negate(a) : a;
}

/* --- random ones --- */

static struct condition random_condition(struct rng *rng)
{
	static const char *const singles[] = {"u", "v", "x", "1", "2", "4", "3"};
	static const char *const several[] = {"uv", "w", "2", "14"};
	struct condition c = {.op = below(rng, OPS), .negated = below(rng, 3) == 0};

	if (c.op < MATCH) {
		c.constant = singles[below(rng, ARRAY_SIZE(singles))];
		c.swapped = below(rng, 4) == 0;
	} else {
		c.constant = several[below(rng, ARRAY_SIZE(several))];
	}
	return c;
}

static struct question random_question(struct rng *rng)
{
	struct question q = {.conditions = {random_condition(rng), random_condition(rng)}};

	q.both = below(rng, 3) == 0;
	q.either = !q.both && below(rng, 3) == 0;
	q.inner_not = below(rng, 4) == 0;
	return q;
}

static void put_constant(char c, struct buffer *out)
{
	buffer_printf(out, is_digit(c) ? "%c" : "\"%c\"", c);
}

static void put_condition(const struct condition *c, const char *field, struct buffer *out)
{
	buffer_text(out, c->negated ? "!(" : "(");
	if (c->swapped) {
		put_constant(c->constant[0], out);
		buffer_printf(out, " %s %s", ops[c->op], field);
	} else {
		buffer_printf(out, "%s %s ", field, ops[c->op]);
		if (c->op < MATCH)
			put_constant(c->constant[0], out);
		else if (c->op != IN)
			buffer_printf(out, "\"[%s]\"", c->constant);
		for (const char *p = c->constant; c->op == IN && *p; p++) {
			buffer_text(out, p == c->constant ? "[" : ", ");
			put_constant(*p, out);
		}
		if (c->op == IN)
			buffer_text(out, "]");
	}
	buffer_text(out, ")");
}

static void put_question(const struct question *q, const char *field, struct buffer *out)
{
	buffer_text(out, q->inner_not ? "!(" : "(");
	put_condition(&q->conditions[0], field, out);
	if (q->both || q->either) {
		buffer_text(out, q->both ? " && " : " || ");
		put_condition(&q->conditions[1], field, out);
	}
	buffer_text(out, ")");
}

struct world {
	struct buffer text;
	const char *values[SPANS + 1]; /* [span id] */
	uint32_t names[SPANS + 1];
	struct query_t head, flushed;
};

static void world_open(struct world *w, struct rng *rng)
{
	*w = (struct world){0};
	for (uint32_t i = 1; i <= SPANS; i++) {
		w->values[i] = values[below(rng, ARRAY_SIZE(values))];
		w->names[i] = below(rng, 3);
		buffer_printf(&w->text, "span %u %u 0 s@h %s %u %u", 1 + i / 4, i,
			      random_names[w->names[i]], i, i + 9);
		if (below(rng, 2)) /* so that shapes are many */
			buffer_printf(&w->text, " k%u=1", below(rng, 9));
		if (w->values[i])
			buffer_printf(&w->text, " m=%s", w->values[i]);
		buffer_text(&w->text, "\n");
	}
	query_t_open(&w->head, buffer_cstr(&w->text), false);
	query_t_open(&w->flushed, buffer_cstr(&w->text), true);
}

static void world_close(struct world *w)
{
	query_t_close(&w->head);
	query_t_close(&w->flushed);
	buffer_done(&w->text);
}

static void compare_all(struct world *w, const char *query, const char *want)
{
	static const unsigned offs[] = {0,          RULES_ALL,    RULE_SELECTION,
					RULE_PRUNE, RULE_COLUMNS, RULE_TOTALS};
	char *lines = sorted_lines(want);

	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		random_compare(&w->head, query, offs[i], 1 + i % 2, lines, buffer_cstr(&w->text));
		random_compare(&w->flushed, query, offs[i], 1 + i % 2, lines,
			       buffer_cstr(&w->text));
	}
	free(lines);
}

/* Rows of spans, and counts of them. */
static void ask(struct world *w, const struct question *q)
{
	struct buffer text = {0}, rows = {0}, counts = {0};
	uint32_t counted[3] = {0};

	for (uint32_t i = 1; i <= SPANS; i++)
		if (question_truth(q, w->values[i]) == YES) {
			buffer_printf(&rows, "%016x\n", i);
			counted[w->names[i]]++;
		}
	for (uint32_t i = 0; i < 3; i++)
		if (counted[i])
			buffer_printf(&counts, "%s | %u\n", random_names[i], counted[i]);
	buffer_text(&text, "From s In { ");
	put_question(q, "span.m", &text);
	buffer_text(&text, " } Select s.span_id");
	compare_all(w, buffer_cstr(&text), buffer_cstr(&rows));
	text.n = 0;
	buffer_text(&text, "From s In spans Where ");
	put_question(q, "s.m", &text);
	buffer_text(&text, " GroupBy s.name Select s.name, COUNT");
	compare_all(w, buffer_cstr(&text), buffer_cstr(&counts));
	buffer_done(&text);
	buffer_done(&rows);
	buffer_done(&counts);
}

static void conditions_look_into_lists_by_the_rules(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct rng rng = {round};
		struct world w;

		world_open(&w, &rng);
		for (int i = 0; i < QUESTIONS; i++) {
			struct question q = random_question(&rng);

			ask(&w, &q);
		}
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_look_into_lists_by_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
