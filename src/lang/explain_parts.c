/* lang/explain_parts.c - the longer pieces of plans as text: pipes over elements, sequences,
 * comparisons. */
#include "lang/explain_int.h"

static struct buffer *name_begin(struct plan_naming *names)
{
	names->begins[names->n] = names->text.n;
	return &names->text;
}

static void name_end(struct plan_naming *names)
{
	if (names->n < PLAN_NAMES_MOST)
		names->begins[++names->n] = names->text.n;
}

/* The text is complete only now: slices of it may be taken. */
static const struct plan_column *names_done(struct plan_naming *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		names->columns[i].name = slice_of(names->text.p + names->begins[i],
						  names->begins[i + 1] - names->begins[i]);
	return names->text.failed ? NULL : names->columns;
}

/* ---- columns of joins, with their aliases where one name is there twice ---- */

static bool is_join(const struct plan_node *n)
{
	return (n->op == PLAN_EQUIJOIN &&
		n->column_n == n->inputs[0]->column_n + n->inputs[1]->column_n) ||
	       (n->op == PLAN_HBJOIN && !n->hbjoin.pack && !n->hbjoin.pack_main &&
		n->column_n == n->inputs[0]->column_n + n->inputs[1]->column_n);
}

static struct slice leaf_alias(const struct plan_node *n)
{
	return n->op == PLAN_SOURCE    ? n->source.alias
	       : n->op == PLAN_SPANSET ? n->spanset.alias
	       : n->op == PLAN_CSV     ? n->csv.alias
				       : SLICE("");
}

static bool passes_on(const struct plan_node *n)
{
	return n->input_n == 1 && n->columns == n->inputs[0]->columns;
}

/* Names of the columns of `n`, told apart among those of `all`. */
static void add_names(const struct plan_node *n, const struct plan_node *all,
		      struct plan_naming *names)
{
	while (passes_on(n))
		n = n->inputs[0];
	if (is_join(n)) {
		add_names(n->inputs[0], all, names);
		add_names(n->inputs[1], all, names);
		return;
	}
	for (uint32_t i = 0; i < n->column_n; i++) {
		struct slice name = n->columns[i].name, alias = leaf_alias(n);
		struct buffer *text = name_begin(names);
		unsigned same = 0;

		for (uint32_t k = 0; k < all->column_n; k++)
			same += slice_eq(all->columns[k].name, name);
		if (same > 1 && alias.n)
			buffer_printf(text, "%.*s.", SLICE_ARG(alias));
		buffer_slice(text, name);
		name_end(names);
	}
}

const struct plan_column *plan_names(const struct plan_node *n, struct plan_naming *names)
{
	*names = (struct plan_naming){.n = 0};
	while (passes_on(n))
		n = n->inputs[0];
	if (!is_join(n) || n->column_n > PLAN_NAMES_MOST)
		return n->columns;
	add_names(n, n, names);
	return names->n == n->column_n ? names_done(names) : n->columns;
}

static void having_condition(const struct plan_having *h, struct buffer *out)
{
	struct plan_naming names = {.n = 0};

	if (h->key_n + h->aggregate_n > PLAN_NAMES_MOST) {
		plan_expr_text(h->condition, NULL, out);
		return;
	}
	for (uint32_t i = 0; i < h->key_n; i++) {
		plan_expr_text(h->keys[i], NULL, name_begin(&names));
		name_end(&names);
	}
	for (uint32_t i = 0; i < h->aggregate_n; i++) {
		struct buffer *text = name_begin(&names);

		if (h->sets) {
			buffer_byte(text, '(');
			plan_set_text(h->sets[i], text);
			buffer_text(text, " | ");
		}
		plan_aggregate_text(&h->aggregates[i], NULL, text);
		buffer_text(text, h->sets ? ")" : "");
		name_end(&names);
	}
	plan_expr_text(h->condition, names_done(&names), out);
	buffer_done(&names.text);
}

void plan_having_text(const struct plan_set *s, struct buffer *out)
{
	const struct plan_having *h = s->having;

	if (h->sets) {
		buffer_text(out, "(traces having ");
	} else {
		buffer_byte(out, '(');
		plan_set_text(s->left, out);
		buffer_text(out, h->key_n ? " | by(" : " | ");
		for (uint32_t i = 0; i < h->key_n; i++) {
			buffer_text(out, i ? ", " : "");
			plan_expr_text(h->keys[i], NULL, out);
		}
		buffer_text(out, h->key_n ? ") | " : "");
	}
	having_condition(h, out);
	buffer_byte(out, ')');
}

/* ---- pipes ---- */

static void with_pipe(const char *name, const struct plan_pipe *pipe, struct buffer *out)
{
	buffer_printf(out, "%s(", name);
	if (pipe)
		plan_pipe_text(pipe, out);
	buffer_byte(out, ')');
}

static void stage_text(const struct pipe_stage *s, struct buffer *out)
{
	static const char *const names[] = {
		[PIPE_UNITS] = "ExecUnits", [PIPE_BLOCKS] = "Blocks",     [PIPE_POINTS] = "Points",
		[PIPE_EDGES] = "Edges",     [PIPE_COUNTERS] = "Counters", [PIPE_TRACE] = "Traces",
		[PIPE_FIRST] = "First",     [PIPE_LAST] = "Last",
	};

	switch (s->kind) {
	case PIPE_SET:
		plan_set_text(s->set, out);
		break;
	case PIPE_CRITICAL_PATH:
		buffer_text(out, "CriticalPath(");
		if (s->pipes[0] && s->pipes[1]) {
			plan_pipe_text(s->pipes[0], out);
			buffer_text(out, " -> ");
			plan_pipe_text(s->pipes[1], out);
		}
		buffer_byte(out, ')');
		break;
	case PIPE_FILTER:
		buffer_text(out, "Filter(");
		plan_expr_text(s->expr, NULL, out);
		buffer_byte(out, ')');
		break;
	case PIPE_CONST:
	case PIPE_FIELD:
		plan_expr_text(s->expr, NULL, out);
		break;
	case PIPE_COUNTER_VALUE:
		buffer_printf(out, "Counter(%.*s)", SLICE_ARG(s->name));
		break;
	case PIPE_ADD:
		with_pipe("Add", s->pipes[0], out);
		break;
	case PIPE_SUBTRACT:
		with_pipe("Subtract", s->pipes[0], out);
		break;
	case PIPE_MULTIPLY:
		with_pipe("Multiply", s->pipes[0], out);
		break;
	case PIPE_DIVIDE:
		with_pipe("Divide", s->pipes[0], out);
		break;
	case PIPE_AGGREGATE:
		plan_aggregate_text(s->aggregate, NULL, out);
		break;
	case PIPE_COMPARE:
		buffer_printf(out, "%s ", plan_operator_name(s->op));
		if (s->pipes[0])
			plan_pipe_text(s->pipes[0], out);
		break;
	case PIPE_RECORD:
		buffer_printf(out, "RecordAs(\"%.*s\")", SLICE_ARG(s->name));
		break;
	default:
		buffer_text(out, names[s->kind]);
		break;
	}
}

void plan_pipe_text(const struct plan_pipe *pipe, struct buffer *out)
{
	for (uint32_t i = 0; i < pipe->n; i++) {
		buffer_text(out, i ? " | " : "");
		stage_text(&pipe->stages[i], out);
	}
}

/* ---- sequences ---- */

/* The alias of a step: of what is below its filters. */
static struct slice alias_of(const struct plan_node *n)
{
	while (n->input_n == 1)
		n = n->inputs[0];
	return leaf_alias(n);
}

void plan_sequence_text(const struct plan_node *n, struct buffer *out)
{
	struct plan_naming names = {.n = 0};

	if (n->sequence.key_n)
		buffer_text(out, " by ");
	for (uint32_t i = 0; i < n->sequence.key_n; i++) {
		buffer_text(out, i ? ", " : "");
		plan_expr_text(n->sequence.keys[0][i], n->sequence.steps[0].input->columns, out);
	}
	if (n->sequence.within_ns) {
		buffer_text(out, " within ");
		plan_duration_text(n->sequence.within_ns, out);
	}
	buffer_byte(out, ':');
	for (uint32_t i = 0; i < n->sequence.step_n; i++) {
		const struct plan_step *step = &n->sequence.steps[i];
		struct slice alias = alias_of(step->input);

		buffer_text(out, step->absent ? " ![" : " [");
		if (alias.n)
			buffer_slice(out, alias);
		else
			buffer_printf(out, "%u", i + 1);
		buffer_byte(out, ']');
		for (uint32_t k = 0; !step->absent && k < step->input->column_n; k++) {
			buffer_printf(name_begin(&names), "%.*s%s%.*s", SLICE_ARG(alias),
				      alias.n ? "." : "", SLICE_ARG(step->input->columns[k].name));
			name_end(&names);
		}
	}
	buffer_text(out, n->sequence.until ? ", until the last" : "");
	if (n->sequence.rest) {
		buffer_text(out, ", if ");
		plan_expr_text(n->sequence.rest,
			       n->column_n <= PLAN_NAMES_MOST ? names_done(&names) : NULL, out);
	}
	buffer_done(&names.text);
}

/* ---- comparisons ---- */

void plan_compare_text(const struct plan_node *n, struct buffer *out)
{
	buffer_byte(out, ' ');
	plan_set_text(n->compare.selection, out);
	buffer_text(out, " with ");
	if (n->compare.baseline)
		plan_set_text(n->compare.baseline, out);
	else
		buffer_text(out, "the rest");
	if (n->compare.top)
		buffer_printf(out, ", %u values an attribute", n->compare.top);
}
