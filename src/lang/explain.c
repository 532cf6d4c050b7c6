/* lang/explain.c - plans as text. */
#include "lang/explain.h"

#include <inttypes.h>

#include "lang/explain_int.h"

/* --- values and expressions --- */

void plan_duration_text(int64_t ns, struct buffer *out)
{
	static const struct {
		int64_t ns;
		const char *unit;
	} units[] = {{3600000000000, "h"}, {60000000000, "m"}, {1000000000, "s"},
		     {1000000, "ms"},      {1000, "us"},       {1, "ns"}};

	for (size_t i = 0; i < 6; i++)
		if (ns % units[i].ns == 0 && (ns != 0 || units[i].ns == 1)) {
			buffer_printf(out, "%" PRId64 "%s", ns / units[i].ns, units[i].unit);
			return;
		}
}

static void value_text_of(const struct plan_value *v, struct buffer *out)
{
	static const char *const statuses[] = {"unset", "ok", "error"};
	static const char *const kinds[] = {"unspecified", "internal", "server",
					    "client",      "producer", "consumer"};

	switch (v->type) {
	case PLAN_BOOL:
		buffer_text(out, v->b ? "true" : "false");
		break;
	case PLAN_FLOAT:
		buffer_printf(out, "%.17g", v->f);
		break;
	case PLAN_STRING:
		buffer_byte(out, '"');
		for (size_t i = 0; i < v->s.n; i++) {
			if (v->s.p[i] == '"' || v->s.p[i] == '\\')
				buffer_byte(out, '\\');
			buffer_byte(out, v->s.p[i]);
		}
		buffer_byte(out, '"');
		break;
	case PLAN_LIST:
		buffer_byte(out, '[');
		for (uint32_t i = 0; i < v->list.n; i++) {
			if (i)
				buffer_text(out, ", ");
			value_text_of(&v->list.values[i], out);
		}
		buffer_byte(out, ']');
		break;
	case PLAN_DURATION:
		plan_duration_text(v->i, out);
		break;
	case PLAN_STATUS:
		buffer_text(out, v->i >= 0 && v->i < 3 ? statuses[v->i] : "?");
		break;
	case PLAN_KIND:
		buffer_text(out, v->i >= 0 && v->i < 6 ? kinds[v->i] : "?");
		break;
	case PLAN_INT:
	case PLAN_TIME:
		buffer_printf(out, "%" PRId64, v->i);
		break;
	default:
		buffer_text(out, "nil");
	}
}

static void of_text(enum plan_of of, struct buffer *out)
{
	if (of != OF_SELF)
		buffer_text(out, of == OF_PARENT ? "parent." : "root.");
}

static const char *scope_text(enum plan_scope scope)
{
	static const char *const names[] = {
		[ATTR_ANY] = ".",
		[ATTR_SPAN] = "span.",
		[ATTR_RESOURCE] = "resource.",
		[ATTR_EVENT] = "event.",
		[ATTR_LINK] = "link.",
		[ATTR_INSTRUMENTATION] = "instrumentation.",
	};

	return names[scope];
}

static void changes_text(const struct plan_expr *e, struct buffer *out)
{
	buffer_text(out, "WhatIf(");
	for (uint32_t i = 0; i < e->n; i++) {
		buffer_text(out, i ? ", " : "");
		buffer_text(out, e->changes[i].factor == 0 ? "Without(" : "Scale(");
		plan_set_text(e->changes[i].set, out);
		if (e->changes[i].factor != 0)
			buffer_printf(out, ", %g", e->changes[i].factor);
		buffer_byte(out, ')');
	}
	buffer_byte(out, ')');
}

static void list_text(const struct plan_expr *e, const struct plan_column *columns,
		      struct buffer *out)
{
	for (uint32_t i = 0; i < e->n; i++) {
		if (i)
			buffer_text(out, ", ");
		plan_expr_text(e->args[i], columns, out);
	}
}

static void operator_text(const struct plan_expr *e, const struct plan_column *columns,
			  struct buffer *out)
{
	if (e->op == XO_INDEX) {
		plan_expr_text(e->args[0], columns, out);
		buffer_byte(out, '[');
		plan_expr_text(e->args[1], columns, out);
		buffer_byte(out, ']');
		return;
	}
	if (e->n == 1) {
		bool nested = e->args[0]->kind == X_OP && e->args[0]->n == 2;

		buffer_printf(out, "%s%s", plan_operator_name(e->op), nested ? "(" : "");
		plan_expr_text(e->args[0], columns, out);
		buffer_text(out, nested ? ")" : "");
		return;
	}
	for (uint32_t i = 0; i < 2; i++) {
		bool nested = e->args[i]->kind == X_OP && e->args[i]->n == 2 &&
			      !(e->op == XO_AND && e->args[i]->op != XO_OR);

		if (i)
			buffer_printf(out, " %s ", plan_operator_name(e->op));
		buffer_text(out, nested ? "(" : "");
		plan_expr_text(e->args[i], columns, out);
		buffer_text(out, nested ? ")" : "");
	}
}

void plan_expr_text(const struct plan_expr *e, const struct plan_column *columns,
		    struct buffer *out)
{
	switch (e->kind) {
	case X_CONST:
		value_text_of(&e->value, out);
		break;
	case X_COLUMN:
		if (columns && columns[e->column].name.n)
			buffer_slice(out, columns[e->column].name);
		else
			buffer_printf(out, "#%u", e->column);
		break;
	case X_FIELD:
		of_text(e->field.of, out);
		buffer_text(out, plan_field_name(e->field.field));
		break;
	case X_ATTR:
		of_text(e->attr.of, out);
		buffer_text(out, scope_text(e->attr.scope));
		buffer_slice(out, e->attr.key);
		break;
	case X_OP:
		operator_text(e, columns, out);
		break;
	case X_CALL:
		if (e->function == CALL_WHAT_IF) {
			changes_text(e, out);
			break;
		}
		buffer_printf(out, "%s(", plan_function_name(e->function));
		list_text(e, columns, out);
		buffer_byte(out, ')');
		break;
	case X_LIST:
		buffer_byte(out, '[');
		list_text(e, columns, out);
		buffer_byte(out, ']');
		break;
	}
}

void plan_aggregate_text(const struct plan_aggregate *a, const struct plan_column *columns,
			 struct buffer *out)
{
	/* What was begun before the join is called what it is. */
	if (a->stage == AGG_COMBINE && a->arg) {
		buffer_printf(out, "combine %s(", plan_aggregate_name(a->kind));
		plan_expr_text(a->arg, columns, out);
		buffer_byte(out, ')');
		return;
	}
	buffer_text(out, plan_aggregate_name(a->kind));
	if (!a->arg && a->parameter_n == 0)
		return;
	buffer_byte(out, '(');
	if (a->arg)
		plan_expr_text(a->arg, columns, out);
	for (uint32_t i = 0; i < a->parameter_n; i++)
		buffer_printf(out, "%s%g", i || a->arg ? ", " : "", a->parameters[i]);
	buffer_byte(out, ')');
}

void plan_set_text(const struct plan_set *s, struct buffer *out)
{
	switch (s->op) {
	case SET_FILTER:
		if (s->left) {
			plan_set_text(s->left, out);
			buffer_text(out, " | ");
		}
		buffer_text(out, s->predicate ? "{ " : "{ }");
		if (s->predicate) {
			plan_expr_text(s->predicate, NULL, out);
			buffer_text(out, " }");
		}
		break;
	case SET_HAVING:
		plan_having_text(s, out);
		break;
	default:
		buffer_byte(out, '(');
		plan_set_text(s->left, out);
		buffer_printf(out, " %s ",
			      s->op == SET_AND  ? "&&"
			      : s->op == SET_OR ? "||"
						: plan_relation_name(s->relation, s->form));
		plan_set_text(s->right, out);
		buffer_byte(out, ')');
	}
}

/* --- operators --- */

static void exprs_text(const struct plan_expr *const *exprs, uint32_t n,
		       const struct plan_column *columns, struct buffer *out)
{
	for (uint32_t i = 0; i < n; i++) {
		buffer_text(out, i ? ", " : "");
		plan_expr_text(exprs[i], columns, out);
	}
}

static void group_text(const struct plan_expr *const *keys, uint32_t key_n,
		       const struct plan_aggregate *list, uint32_t n,
		       const struct plan_column *columns, struct buffer *out)
{
	if (key_n)
		buffer_text(out, " by ");
	exprs_text(keys, key_n, columns, out);
	if (n)
		buffer_text(out, ": ");
	for (uint32_t i = 0; i < n; i++) {
		buffer_text(out, i ? ", " : "");
		plan_aggregate_text(&list[i], columns, out);
	}
}

static void pack_text(const char *what, const struct plan_pack *pack,
		      const struct plan_column *columns, struct buffer *out)
{
	buffer_printf(out, ", %s", what);
	group_text((const struct plan_expr *const *)pack->keys, pack->key_n, pack->aggregates,
		   pack->aggregate_n, columns, out);
}

/* What else is asked of a pair. */
static void condition_text(const struct plan_node *n, const struct plan_expr *rest,
			   struct buffer *out)
{
	struct plan_naming names;
	const struct plan_column *columns = plan_names(n, &names);
	bool whole = n->column_n == n->inputs[0]->column_n + n->inputs[1]->column_n;

	buffer_text(out, ", if ");
	plan_expr_text(rest, whole ? columns : NULL, out);
	buffer_done(&names.text);
}

static void hbjoin_text(const struct plan_node *n, struct buffer *out)
{
	static const char *const kinds[] = {"", "left ", "anti ", "semi "};
	const char *arrow = n->hbjoin.direct ? "=>" : "->";
	struct slice alias = n->hbjoin.alias.n ? n->hbjoin.alias : SLICE("it");

	buffer_printf(out, "%shappened-before join ", kinds[n->hbjoin.join]);
	if (n->hbjoin.after)
		buffer_printf(out, ". %s %.*s", arrow, SLICE_ARG(alias));
	else
		buffer_printf(out, "%.*s %s .", SLICE_ARG(alias), arrow);
	if (n->hbjoin.pick != PICK_ALL)
		buffer_printf(out, ", %s %u", n->hbjoin.pick == PICK_FIRST ? "first" : "last",
			      n->hbjoin.pick_n);
	if (n->hbjoin.rest)
		condition_text(n, n->hbjoin.rest, out);
	if (n->hbjoin.pack)
		pack_text("pack", n->hbjoin.pack, n->inputs[1]->columns, out);
	if (n->hbjoin.pack_main)
		pack_text("aggregate", n->hbjoin.pack_main, n->inputs[0]->columns, out);
}

static void source_text(const struct plan_node *n, struct buffer *out)
{
	bool set = n->op == PLAN_SPANSET;
	const struct plan_expr *const *fields = set ? n->spanset.fields : n->source.fields;
	struct slice alias = set ? n->spanset.alias : n->source.alias;

	if (set)
		plan_set_text(n->spanset.set, out);
	else
		buffer_printf(out, "%.*s", SLICE_ARG(n->source.name));
	if (alias.n)
		buffer_printf(out, " as %.*s", SLICE_ARG(alias));
	if (!set && n->source.instant == INSTANT_END)
		buffer_text(out, " @return");
	if (!set && n->source.predicate) {
		buffer_text(out, " where ");
		plan_expr_text(n->source.predicate, NULL, out);
	}
	buffer_text(out, n->column_n ? ": " : "");
	exprs_text(fields, n->column_n, NULL, out);
}

static void project_text(const struct plan_node *n, const struct plan_column *in,
			 struct buffer *out)
{
	for (uint32_t i = 0; i < n->column_n; i++) {
		struct slice name = n->columns[i].name, written;
		size_t before;

		buffer_text(out, i ? ", " : " ");
		before = out->n;
		plan_expr_text(n->project.exprs[i], in, out);
		written = slice_from(buffer_get(out), before);
		if (name.n && !slice_eq(name, written))
			buffer_printf(out, " as %.*s", SLICE_ARG(name));
	}
}

static void node_text(const struct plan_node *n, const struct plan_column *in, struct buffer *out)
{
	if (n->op != PLAN_HBJOIN)
		buffer_text(out, plan_op_name(n->op));
	switch (n->op) {
	case PLAN_SOURCE:
	case PLAN_SPANSET:
		buffer_byte(out, ' ');
		source_text(n, out);
		break;
	case PLAN_CSV:
		buffer_printf(out, " \"%.*s\"", SLICE_ARG(n->csv.path));
		break;
	case PLAN_HBJOIN:
		hbjoin_text(n, out);
		break;
	case PLAN_EQUIJOIN:
		buffer_text(out, " on ");
		exprs_text(n->equijoin.left_keys, n->equijoin.key_n, in, out);
		buffer_text(out, " = ");
		exprs_text(n->equijoin.right_keys, n->equijoin.key_n, n->inputs[1]->columns, out);
		if (n->equijoin.within_ns) {
			buffer_text(out, " within ");
			plan_duration_text(n->equijoin.within_ns, out);
		}
		if (n->equijoin.rest)
			condition_text(n, n->equijoin.rest, out);
		break;
	case PLAN_SEQUENCE:
		plan_sequence_text(n, out);
		break;
	case PLAN_FILTER:
		buffer_byte(out, ' ');
		plan_expr_text(n->filter.predicate, in, out);
		break;
	case PLAN_PROJECT:
		project_text(n, in, out);
		break;
	case PLAN_PICK:
		buffer_printf(out, " %s %u", n->pick.pick == PICK_FIRST ? "first" : "last",
			      n->pick.n);
		break;
	case PLAN_UNNEST:
		for (uint32_t i = 0; i < n->unnest.slot_n; i++)
			buffer_printf(out, "%s%.*s", i ? ", " : " ",
				      SLICE_ARG(n->columns[n->unnest.slots[i]].name));
		break;
	case PLAN_GROUP:
		group_text(n->group.keys, n->group.key_n, n->group.aggregates, n->group.aggregate_n,
			   in, out);
		break;
	case PLAN_SERIES:
		group_text(n->series.keys, n->series.key_n, n->series.aggregates,
			   n->series.aggregate_n, in, out);
		if (n->series.step_ns) {
			buffer_text(out, ", every ");
			plan_duration_text(n->series.step_ns, out);
		}
		if (n->series.topk)
			buffer_printf(out, ", the %u %s", n->series.topk,
				      n->series.bottom ? "smallest" : "largest");
		break;
	case PLAN_SORT:
		for (uint32_t i = 0; i < n->sort.n; i++) {
			buffer_text(out, i ? ", " : " ");
			plan_expr_text(n->sort.orders[i].expr, in, out);
			buffer_text(out, n->sort.orders[i].descending ? " desc" : "");
		}
		if (n->sort.limit)
			buffer_printf(out, ", keep %" PRIu64, n->sort.limit);
		break;
	case PLAN_LIMIT:
		buffer_printf(out, " %" PRIu64, n->limit.n);
		break;
	case PLAN_COMPARE:
		plan_compare_text(n, out);
		break;
	case PLAN_PIPE:
		buffer_byte(out, ' ');
		plan_pipe_text(n->pipe, out);
		break;
	default:
		break;
	}
}

static void line(const struct plan_node *n, struct buffer *out)
{
	struct plan_naming names;

	node_text(n, n->input_n ? plan_names(n->inputs[0], &names) : NULL, out);
	if (n->input_n)
		buffer_done(&names.text);
	buffer_byte(out, '\n');
}

static void tree(const struct plan_node *n, unsigned depth, struct buffer *out)
{
	for (unsigned i = 0; i < depth; i++)
		buffer_text(out, "  ");
	line(n, out);
	for (uint32_t i = 0; i < n->input_n; i++)
		tree(n->inputs[i], depth + 1, out);
}

void plan_explain(const struct plan *plan, struct buffer *out)
{
	if (plan->share > 0)
		buffer_printf(out, "of %g %% of the traces:\n", plan->share * 100);
	tree(plan->root, 0, out);
}
