/* Random queries over random traces: the plan as it was written, every rewrite alone and all of
 * them together, from heads and from segments, on one thread and on three, must give what a naive
 * evaluator gives that loops over the events and knows nothing of plans. */
#include "naive_t.h"

#define ALIASES 3
#define ROWS    20000 /* of one query; more are not compared */

/* --- queries --- */

enum pick { ALL, FIRST, RECENT };
enum kind { INNER, LEFT, ANTI, NEVER };

struct alias {
	int name;       /* of the spans; -1: any */
	int least;      /* x is at least this; -1: any */
	uint32_t under; /* which alias it happened before */
	enum pick pick;
	uint32_t n;
	enum kind kind;
	bool direct;
};

enum field { F_IS_NAME, F_IS_HOST, F_IS_X, F_IS_L, F_FIELDS };
static const char *const field_names[] = {"name", "host", "x", "l"};

struct item {
	uint32_t alias;
	enum field field;
};

struct random_query {
	struct alias aliases[ALIASES];
	uint32_t n;
	bool where, constant;    /* compared with a constant */
	struct item left, right; /* Where left != right */
	struct item items[3];
	uint32_t item_n;
	bool grouped;
	struct item sum, least, most;
};

static bool visible(const struct random_query *q, uint32_t alias)
{
	for (; alias; alias = q->aliases[alias].under)
		if (q->aliases[alias].kind == ANTI || q->aliases[alias].kind == NEVER)
			return false;
	return true;
}

static struct item random_item(struct rng *rng, const struct random_query *q, uint32_t fields)
{
	struct item item;

	do
		item.alias = below(rng, q->n);
	while (!visible(q, item.alias));
	item.field = below(rng, fields);
	return item;
}

static void random_query(struct rng *rng, struct random_query *q)
{
	*q = (struct random_query){.n = 1 + below(rng, ALIASES)};
	for (uint32_t i = 0; i < q->n; i++) {
		struct alias *a = &q->aliases[i];

		a->name = below(rng, 3) ? (int)below(rng, 3) : -1;
		a->least = below(rng, 3) ? -1 : (int)below(rng, 4);
		if (i == 0)
			continue;
		a->under = below(rng, i);
		a->kind = below(rng, 2) ? INNER : (enum kind)below(rng, 4);
		if (a->kind != NEVER)
			a->pick = below(rng, 2) ? ALL : (enum pick)below(rng, 3);
		a->n = 1 + below(rng, 2);
		a->direct = below(rng, 4) == 0;
	}
	q->where = below(rng, 3);
	q->constant = below(rng, 2);
	q->left = random_item(rng, q, 3);
	q->right = random_item(rng, q, 3);
	q->right.field = q->left.field;
	q->grouped = below(rng, 2);
	q->item_n = 1 + below(rng, q->grouped ? 2 : 3);
	for (uint32_t i = 0; i < q->item_n; i++)
		q->items[i] = random_item(rng, q, F_FIELDS);
	q->sum = random_item(rng, q, 1);
	q->least = random_item(rng, q, 1);
	q->most = random_item(rng, q, 1);
	q->sum.field = q->least.field = q->most.field = F_IS_X;
}

static void item_text(struct item item, struct buffer *out)
{
	buffer_printf(out, "a%u.%s", item.alias, field_names[item.field]);
}

static void source_text(const struct alias *a, struct buffer *out)
{
	buffer_text(out, "{ ");
	if (a->name >= 0)
		buffer_printf(out, "name = \"%s\"", random_names[a->name]);
	if (a->least >= 0)
		buffer_printf(out, "%sspan.x >= %d", a->name >= 0 ? " && " : "", a->least);
	buffer_text(out, " }");
}

static void query_text_of(const struct random_query *q, struct buffer *out)
{
	buffer_text(out, "From a0 In ");
	source_text(&q->aliases[0], out);
	for (uint32_t i = 1; i < q->n; i++) {
		const struct alias *a = &q->aliases[i];

		buffer_printf(out, "\n%sJoin a%u In ",
			      a->kind == LEFT   ? "Left "
			      : a->kind == ANTI ? "Anti "
						: "",
			      i);
		if (a->pick != ALL)
			buffer_text(out, a->pick == FIRST ? "First(" : "MostRecent(");
		source_text(a, out);
		if (a->pick != ALL)
			buffer_printf(out, ", %u)", a->n);
		buffer_printf(out, " On a%u %s a%u", i,
			      a->kind == NEVER ? (a->direct ? "!=>" : "!->")
			      : a->direct      ? "=>"
					       : "->",
			      a->under);
	}
	if (q->where) {
		buffer_text(out, "\nWhere ");
		item_text(q->left, out);
		buffer_text(out, " != ");
		if (!q->constant)
			item_text(q->right, out);
		else
			buffer_text(out, q->left.field == F_IS_X ? "2" : "\"p\"");
	}
	for (int select = !q->grouped; select < 2; select++) {
		buffer_text(out, select ? "\nSelect " : "\nGroupBy ");
		for (uint32_t i = 0; i < q->item_n; i++) {
			buffer_text(out, i ? ", " : "");
			item_text(q->items[i], out);
		}
	}
	if (!q->grouped)
		return;
	buffer_text(out, ", COUNT");
	for (uint32_t i = 0; i < 3; i++) {
		buffer_text(out, i == 0 ? ", SUM(" : i == 1 ? "), MIN(" : "), MAX(");
		item_text(i == 0 ? q->sum : i == 1 ? q->least : q->most, out);
	}
	buffer_text(out, ")");
}

/* --- the naive evaluator --- */

struct match {
	uint32_t span[ALIASES]; /* NO_SPAN: nil */
};

struct matches {
	struct match *items;
	size_t n;
};

struct naive {
	const struct random_query *q;
	struct naive_trace t;
	char **rows;
	size_t n, capacity;
	/* Of a grouped query: its rows before they are grouped. */
	bool too_many;
};

static struct value naive_field(const struct naive *n, struct item item, const struct match *m)
{
	uint32_t span = m->span[item.alias];

	if (span == NO_SPAN)
		return value_nil();
	switch (item.field) {
	case F_IS_NAME:
		return value_text(naive_name(&n->t, span));
	case F_IS_HOST:
		return value_text(naive_host(&n->t, span));
	case F_IS_X:
		return naive_x(&n->t, span);
	default:
		return value_nil();
	}
}

/* The list of a span: how many elements, or -1 when it has none. */
static int naive_list(const struct naive *n, struct item item, const struct match *m, uint32_t i,
		      struct value *ret)
{
	uint32_t span = m->span[item.alias];
	const struct batch *b = n->t.b;
	struct value_range children;
	const struct attr *a;

	if (span == NO_SPAN)
		return -1;
	a = batch_attr_find(b, n->t.spans[span].event->attrs, SLICE("l"));
	if (!a)
		return -1;
	children = attr_children(b, a);
	if (i < children.count)
		*ret = value_text(batch_text(b, b->nested[children.first + i].string));
	return (int)children.count;
}

static bool naive_member(const struct naive *n, const struct alias *a, uint32_t span)
{
	struct value x = naive_x(&n->t, span);

	return (a->name < 0 ||
		slice_eq(naive_name(&n->t, span), slice_cstr(random_names[a->name]))) &&
	       (a->least < 0 || (!value_is_nil(x) && x.i >= a->least));
}

/* Moves the first or last few to the front. */
static size_t naive_pick(struct naive *n, uint32_t alias, struct match *items, size_t count)
{
	const struct alias *a = &n->q->aliases[alias];
	bool *gone = calloc(count + 1, sizeof(*gone));
	uint32_t *spans = calloc(count + 1, sizeof(*spans));
	size_t out = 0;

	for (size_t i = 0; i < count; i++)
		spans[i] = items[i].span[alias];
	for (uint32_t round = 0; a->pick != ALL && count > a->n && round < a->n; round++) {
		size_t best = naive_extreme(&n->t, spans, gone, count, a->pick == RECENT);

		if (best != SIZE_MAX)
			gone[best] = true;
	}
	for (size_t i = 0; i < count; i++)
		if (gone[i] || a->pick == ALL || count <= a->n)
			items[out++] = items[i];
	free(gone);
	free(spans);
	return out;
}

static struct matches naive_relation(struct naive *n, uint32_t alias)
{
	struct matches out = {calloc(ROWS + 1, sizeof(struct match)), 0};

	for (uint32_t i = 0; i < n->t.n; i++)
		if (naive_member(n, &n->q->aliases[alias], i)) {
			struct match m = {{NO_SPAN, NO_SPAN, NO_SPAN}};

			m.span[alias] = i;
			out.items[out.n++] = m;
		}
	for (uint32_t j = alias + 1; j < n->q->n; j++) {
		const struct alias *a = &n->q->aliases[j];
		struct matches partners, joined = {calloc(ROWS + 1, sizeof(struct match)), 0};

		if (a->under != alias) {
			free(joined.items);
			continue;
		}
		partners = naive_relation(n, j);
		for (size_t i = 0; i < out.n; i++) {
			struct match *some = calloc(partners.n + 1, sizeof(*some));
			size_t count = 0;

			for (size_t k = 0; k < partners.n; k++) {
				uint32_t p = partners.items[k].span[j],
					 m = out.items[i].span[alias];

				if (a->direct ? naive_direct(&n->t, p, m)
					      : naive_before(&n->t, p, m))
					some[count++] = partners.items[k];
			}
			count = naive_pick(n, j, some, count);
			if (a->kind == ANTI || a->kind == NEVER ? count == 0
								: count == 0 && a->kind == LEFT)
				joined.items[joined.n++] = out.items[i];
			for (size_t k = 0; (a->kind == INNER || a->kind == LEFT) && k < count;
			     k++) {
				struct match both = out.items[i];

				for (uint32_t s = 0; s < ALIASES; s++)
					if (some[k].span[s] != NO_SPAN)
						both.span[s] = some[k].span[s];
				if (joined.n < ROWS)
					joined.items[joined.n++] = both;
				else
					n->too_many = true;
			}
			free(some);
		}
		free(partners.items);
		free(out.items);
		out = joined;
	}
	return out;
}

static void naive_add(struct naive *n, const char *text)
{
	if (n->n == n->capacity) {
		n->capacity = n->capacity ? 2 * n->capacity : 64;
		n->rows = realloc(n->rows, n->capacity * sizeof(char *));
		assert_non_null(n->rows);
	}
	n->rows[n->n++] = strdup(text);
}

/* Every combination of the items' lists (R4); each distinct list is taken apart once. */
static void naive_rows(struct naive *n, const struct match *m, uint32_t at, struct value *values)
{
	const struct random_query *q = n->q;

	if (at == q->item_n) {
		struct buffer line = {0};

		for (uint32_t i = 0; i < q->item_n; i++) {
			buffer_text(&line, i ? " | " : "");
			naive_print(values[i], &line);
		}
		if (q->grouped) {
			buffer_text(&line, " # ");
			naive_print(naive_field(n, q->sum, m), &line);
			buffer_text(&line, " ");
			naive_print(naive_field(n, q->least, m), &line);
			buffer_text(&line, " ");
			naive_print(naive_field(n, q->most, m), &line);
		}
		naive_add(n, buffer_cstr(&line));
		buffer_done(&line);
		return;
	}
	for (uint32_t i = 0; i < at; i++)
		if (q->items[i].alias == q->items[at].alias &&
		    q->items[i].field == q->items[at].field) {
			values[at] = values[i];
			naive_rows(n, m, at + 1, values);
			return;
		}
	values[at] = naive_field(n, q->items[at], m);
	if (q->items[at].field == F_IS_L) {
		struct value v;
		int count = naive_list(n, q->items[at], m, 0, &v);

		for (int i = 0; i < count; i++) {
			naive_list(n, q->items[at], m, (uint32_t)i, &values[at]);
			naive_rows(n, m, at + 1, values);
		}
		if (count >= 0)
			return;
	}
	naive_rows(n, m, at + 1, values);
}

/* Groups the sorted rows "keys # sum least most". */
static void naive_group(struct naive *n, struct buffer *out)
{
	for (size_t i = 0; i < n->n;) {
		size_t keys = (size_t)(strstr(n->rows[i], " # ") - n->rows[i]), k = i;
		long long sum = 0, least = 0, most = 0;
		bool some[3] = {false};

		for (; k < n->n && strncmp(n->rows[k], n->rows[i], keys + 3) == 0; k++) {
			char *p = n->rows[k] + keys + 3;

			for (int f = 0; f < 3; f++) {
				char *next;
				long long v = strtoll(p, &next, 10);

				if (next == p) { /* nil */
					p += 3;
				} else {
					if (f == 0)
						sum += v;
					if (f == 1 && (!some[1] || v < least))
						least = v;
					if (f == 2 && (!some[2] || v > most))
						most = v;
					some[f] = true;
					p = next;
				}
				p += *p == ' ';
			}
		}
		buffer_printf(out, "%.*s | %zu", (int)keys, n->rows[i], k - i);
		for (int f = 0; f < 3; f++)
			if (some[f])
				buffer_printf(out, " | %lld", f == 0 ? sum : f == 1 ? least : most);
			else
				buffer_text(out, " | nil");
		buffer_text(out, "\n");
		i = k;
	}
}

static struct value naive_constant(const struct random_query *q)
{
	return q->left.field == F_IS_X ? value_int(2) : value_text(SLICE("p"));
}

static bool naive_run(const struct random_query *q, const struct batch *b, struct buffer *out)
{
	struct naive n = {.q = q};

	for (uint32_t t = 1; t <= RANDOM_TRACES; t++) {
		struct matches all;

		naive_trace(&n.t, b, trace_of(t));
		all = naive_relation(&n, 0);
		for (size_t i = 0; i < all.n; i++) {
			struct value values[3];

			if (q->where &&
			    !value_is_true(value_compare(
				    VALUE_NE, naive_field(&n, q->left, &all.items[i]),
				    q->constant ? naive_constant(q)
						: naive_field(&n, q->right, &all.items[i]))))
				continue;
			naive_rows(&n, &all.items[i], 0, values);
		}
		free(all.items);
	}
	if (n.n > 1)
		qsort(n.rows, n.n, sizeof(char *), naive_row_cmp);
	if (q->grouped)
		naive_group(&n, out);
	for (size_t i = 0; i < n.n; i++) {
		if (!q->grouped)
			buffer_printf(out, "%s\n", n.rows[i]);
		free(n.rows[i]);
	}
	free(n.rows);
	return !n.too_many;
}

static void every_way_of_running_gives_the_naive_answer(void **state)
{
	static const unsigned offs[] = {0,
					RULES_ALL,
					RULES_ALL & ~RULE_PROJECTION,
					RULES_ALL & ~RULE_SELECTION,
					RULES_ALL & ~RULE_AGGREGATION,
					RULES_ALL & ~RULE_PRUNE,
					RULE_PROJECTION,
					RULE_SELECTION,
					RULE_AGGREGATION,
					RULE_COLUMNS,
					RULE_TOTALS};
	const char *rounds = getenv("QUERY_ROUNDS"), *seed = getenv("QUERY_SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;

	(void)state;
	for (uint64_t round = first; round < first + (rounds ? strtoull(rounds, NULL, 10) : 12);
	     round++) {
		struct rng rng;
		struct buffer traces = {0};
		struct query_t head, flushed;
		struct batch *b;

		rng.state = round;
		random_traces(&rng, &traces);
		b = query_t_batch(buffer_cstr(&traces));
		query_t_open(&head, buffer_cstr(&traces), false);
		query_t_open(&flushed, buffer_cstr(&traces), true);
		for (int k = 0; k < 12; k++) {
			struct random_query q;
			struct buffer text = {0}, want = {0};
			char *lines;

			random_query(&rng, &q);
			query_text_of(&q, &text);
			if (naive_run(&q, b, &want)) {
				lines = sorted_lines(buffer_cstr(&want));
				for (size_t i = 0; i < ARRAY_SIZE(offs); i++)
					random_compare(i % 2 ? &head : &flushed, buffer_cstr(&text),
						       offs[i], i % 3 ? 1 : 3, lines,
						       buffer_cstr(&traces));
				free(lines);
			}
			buffer_done(&text);
			buffer_done(&want);
		}
		batch_unref(b);
		query_t_close(&head);
		query_t_close(&flushed);
		buffer_done(&traces);
	}
}

/* --- spansets --- */

struct random_set {
	struct alias leaf;
	int op; /* -1: a leaf; 0 … 14 structural, form × 5 + relation; 15 &&; 16 || */
	uint32_t left, right;
};

static uint32_t random_set(struct rng *rng, struct random_set *sets, uint32_t *n, int depth)
{
	uint32_t at = (*n)++;

	sets[at] = (struct random_set){.op = depth > 0 && below(rng, 3) ? (int)below(rng, 17) : -1};
	if (depth == 2)
		sets[at].op = (int)below(rng, 17);
	sets[at].leaf.name = below(rng, 4) ? (int)below(rng, 3) : -1;
	sets[at].leaf.least = below(rng, 4) ? -1 : (int)below(rng, 3);
	if (sets[at].op >= 0) {
		sets[at].left = random_set(rng, sets, n, depth - 1);
		sets[at].right = random_set(rng, sets, n, depth - 1);
	}
	return at;
}

static void set_text(const struct random_set *sets, uint32_t at, struct buffer *out)
{
	static const char *const ops[] = {">",  ">>", "<",   "<<", "~",   "!>", "!>>", "!<", "!<<",
					  "!~", "&>", "&>>", "&<", "&<<", "&~", "&&",  "||"};

	if (sets[at].op < 0) {
		source_text(&sets[at].leaf, out);
		return;
	}
	buffer_text(out, "(");
	set_text(sets, sets[at].left, out);
	buffer_printf(out, " %s ", ops[sets[at].op]);
	set_text(sets, sets[at].right, out);
	buffer_text(out, ")");
}

/* Does b stand so to a? */
static bool naive_related(const struct naive_trace *t, int relation, uint32_t a, uint32_t b)
{
	uint32_t up;

	switch (relation) {
	case 0:
		return t->spans[b].parent == a;
	case 1:
		for (up = t->spans[b].parent; up != NO_SPAN; up = t->spans[up].parent)
			if (up == a)
				return true;
		return false;
	case 2:
	case 3:
		return naive_related(t, relation - 2, b, a);
	default:
		return a != b && t->spans[a].parent != NO_SPAN &&
		       t->spans[a].parent == t->spans[b].parent;
	}
}

static void naive_set(struct naive *n, const struct random_set *sets, uint32_t at, bool *out)
{
	bool left[NAIVE_SPANS] = {false}, right[NAIVE_SPANS] = {false}, some[2] = {false};
	uint32_t count = n->t.n;

	if (sets[at].op < 0) {
		for (uint32_t i = 0; i < count; i++)
			out[i] = naive_member(n, &sets[at].leaf, i);
		return;
	}
	naive_set(n, sets, sets[at].left, left);
	naive_set(n, sets, sets[at].right, right);
	for (uint32_t i = 0; i < count; i++) {
		some[0] |= left[i];
		some[1] |= right[i];
	}
	for (uint32_t i = 0; i < count; i++) {
		int form = sets[at].op / 5, relation = sets[at].op % 5;
		bool right_of = false, left_of = false;

		if (sets[at].op >= 15) {
			out[i] = (left[i] || right[i]) &&
				 (sets[at].op == 16 || (some[0] && some[1]));
			continue;
		}
		for (uint32_t k = 0; k < count; k++) {
			right_of |= left[k] && naive_related(&n->t, relation, k, i);
			left_of |= right[k] && naive_related(&n->t, relation, i, k);
		}
		out[i] = form == 0   ? right[i] && right_of
			 : form == 1 ? right[i] && !right_of
				     : (right[i] && right_of) || (left[i] && left_of);
	}
}

static void naive_sets(const struct random_set *sets, const struct batch *b, struct buffer *out)
{
	struct naive n = {0};

	for (uint32_t t = 1; t <= RANDOM_TRACES; t++) {
		bool in[NAIVE_SPANS] = {false};
		char id[TRACE_ID_HEX + 1];

		naive_trace(&n.t, b, trace_of(t));
		naive_set(&n, sets, 0, in);
		trace_id_format(trace_of(t), id);
		for (uint32_t i = 0; i < n.t.n; i++)
			if (in[i])
				buffer_printf(out, "%s | %016llx\n", id,
					      (unsigned long long)n.t.spans[i].event->id1);
	}
}

static void structural_operators_are_exact(void **state)
{
	static const unsigned offs[] = {0, RULES_ALL, RULE_COLUMNS, RULE_PRUNE};
	const char *rounds = getenv("QUERY_ROUNDS");

	(void)state;
	for (uint64_t round = 1; round < (rounds ? strtoull(rounds, NULL, 10) : 12); round++) {
		struct rng rng = {round};
		struct buffer traces = {0};
		struct query_t head, flushed;
		struct batch *b;

		random_traces(&rng, &traces);
		b = query_t_batch(buffer_cstr(&traces));
		query_t_open(&head, buffer_cstr(&traces), false);
		query_t_open(&flushed, buffer_cstr(&traces), true);
		for (int k = 0; k < 30; k++) {
			struct random_set sets[16];
			struct buffer text = {0}, want = {0};
			uint32_t n = 0;
			char *lines;

			random_set(&rng, sets, &n, 2);
			buffer_text(&text, "From s In ");
			set_text(sets, 0, &text);
			buffer_text(&text, " Select s.trace_id, s.span_id");
			naive_sets(sets, b, &want);
			lines = sorted_lines(buffer_cstr(&want));
			for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
				random_compare(&head, buffer_cstr(&text), offs[i], 1, lines,
					       buffer_cstr(&traces));
				random_compare(&flushed, buffer_cstr(&text), offs[i], 2, lines,
					       buffer_cstr(&traces));
			}
			free(lines);
			buffer_done(&text);
			buffer_done(&want);
		}
		batch_unref(b);
		query_t_close(&head);
		query_t_close(&flushed);
		buffer_done(&traces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structural_operators_are_exact),
		cmocka_unit_test(every_way_of_running_gives_the_naive_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
