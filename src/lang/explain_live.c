/* lang/explain_live.c - the advice a plan would be woven as, and what cannot be.
 *
 * Each source is a tracepoint with one advice: OBSERVE what it exports, UNPACK what its partners
 * packed, FILTER, then PACK for who comes later, or EMIT.  Partners come first, as they do in the
 * request. */
#include <stdio.h>

#include "lang/explain_int.h"
#include "lang/plan_build.h"

/* Names of a relation's columns as advice speaks of them, in the plan's arena of the explanation.
 */
struct names {
	struct slice *items;
	uint32_t n;
};

struct live {
	struct arena arena;
	struct buffer *out;
	bool failed;
	unsigned refusals;
};

static struct slice keep(struct live *l, struct buffer *b)
{
	struct slice s = arena_dup(&l->arena, buffer_get(b));

	if (!s.p || b->failed)
		l->failed = true;
	buffer_done(b);
	return s;
}

/* The expression with columns called by their names. */
static struct slice text_of(struct live *l, const struct plan_expr *e, const struct names *names)
{
	struct plan_column *columns = arena_zalloc(&l->arena, names->n + 1, sizeof(*columns));
	struct buffer b = {0};

	if (!columns) {
		l->failed = true;
		return SLICE("");
	}
	for (uint32_t i = 0; i < names->n; i++)
		columns[i].name = names->items[i];
	plan_expr_text(e, columns, &b);
	return keep(l, &b);
}

static struct slice aggregate_of(struct live *l, const struct plan_aggregate *a,
				 const struct names *names)
{
	struct buffer b = {0};
	struct slice arg = a->arg ? text_of(l, a->arg, names) : SLICE("");

	if (a->stage == AGG_COMBINE && a->arg)
		return arg; /* it is what it was when it was begun */
	buffer_text(&b, plan_aggregate_name(a->kind));
	if (a->arg || a->parameter_n) {
		buffer_printf(&b, "(%.*s", SLICE_ARG(arg));
		for (uint32_t i = 0; i < a->parameter_n; i++)
			buffer_printf(&b, "%s%g", i || a->arg ? ", " : "", a->parameters[i]);
		buffer_byte(&b, ')');
	}
	return keep(l, &b);
}

static struct names new_names(struct live *l, uint32_t n)
{
	struct names names = {arena_zalloc(&l->arena, n + 1, sizeof(struct slice)), n};

	if (!names.items) {
		l->failed = true;
		names.n = 0;
	}
	return names;
}

static void line(struct buffer *out, const char *what, const struct names *names)
{
	buffer_printf(out, "  %s", what);
	for (uint32_t i = 0; i < names->n; i++)
		buffer_printf(out, "%s%.*s", i ? ", " : " ", SLICE_ARG(names->items[i]));
	buffer_byte(out, '\n');
}

static struct names pack_names(struct live *l, const struct plan_pack *pack, const struct names *in)
{
	struct names out = new_names(l, pack->key_n + pack->aggregate_n);

	for (uint32_t i = 0; i < out.n; i++)
		out.items[i] = i < pack->key_n
				       ? text_of(l, pack->keys[i], in)
				       : aggregate_of(l, &pack->aggregates[i - pack->key_n], in);
	return out;
}

static struct names joined(struct live *l, const struct names *a, const struct names *b)
{
	struct names out = new_names(l, a->n + b->n);

	for (uint32_t i = 0; i < out.n; i++)
		out.items[i] = i < a->n ? a->items[i] : b->items[i - a->n];
	return out;
}

/* Writes advice of partners to l->out, the advice of this relation's own tracepoint to `own`;
 * returns the names of its columns. */
static struct names advice(struct live *l, const struct plan_node *node, struct buffer *own,
			   struct slice *ret_tracepoint);

static void packs_line(struct live *l, const struct plan_node *join)
{
	if (join->hbjoin.pick != PICK_ALL)
		buffer_printf(l->out, "  # at most %u tuple%s travel%s with a request\n",
			      join->hbjoin.pick_n, join->hbjoin.pick_n == 1 ? "" : "s",
			      join->hbjoin.pick_n == 1 ? "s" : "");
	else if (join->hbjoin.pack)
		buffer_text(l->out,
			    join->hbjoin.pack->key_n
				    ? "  # one tuple for each group travels with a request\n"
				    : "  # one tuple travels with a request\n");
	else
		buffer_text(l->out, "  # one tuple for each event travels with a request\n");
}

static struct names partner_advice(struct live *l, const struct plan_node *join)
{
	struct buffer own = {0};
	struct slice tracepoint = SLICE("");
	struct names names = advice(l, join->inputs[1], &own, &tracepoint);
	char what[40];

	if (join->hbjoin.pack)
		names = pack_names(l, join->hbjoin.pack, &names);
	if (join->hbjoin.pick == PICK_ALL)
		snprintf(what, sizeof(what), "PACK");
	else
		snprintf(what, sizeof(what), join->hbjoin.pick_n > 1 ? "PACK-%s %u" : "PACK-%s",
			 join->hbjoin.pick == PICK_FIRST ? "FIRST" : "RECENT", join->hbjoin.pick_n);
	buffer_printf(l->out, "%.*s:\n", SLICE_ARG(tracepoint));
	buffer_slice(l->out, keep(l, &own));
	line(l->out, what, &names);
	packs_line(l, join);
	return names;
}

static struct names hbjoin_advice(struct live *l, const struct plan_node *node, struct buffer *own,
				  struct slice *ret_tracepoint)
{
	struct names partner = partner_advice(l, node);
	struct names main = advice(l, node->inputs[0], own, ret_tracepoint), both;
	bool alone = node->hbjoin.join == PLAN_JOIN_ANTI || node->hbjoin.join == PLAN_JOIN_SEMI;

	line(own, node->hbjoin.join == PLAN_JOIN_LEFT ? "UNPACK-OR-NIL" : "UNPACK", &partner);
	if (alone)
		buffer_printf(own, "  FILTER bag is %sempty\n",
			      node->hbjoin.join == PLAN_JOIN_SEMI ? "not " : "");
	if (node->hbjoin.rest) {
		both = joined(l, &main, &partner);
		buffer_printf(own, "  FILTER %.*s\n",
			      SLICE_ARG(text_of(l, node->hbjoin.rest, &both)));
	}
	if (node->hbjoin.pack_main)
		main = pack_names(l, node->hbjoin.pack_main, &main);
	return alone ? main : joined(l, &main, &partner);
}

static struct names source_advice(struct live *l, const struct plan_node *node, struct buffer *own,
				  struct slice *ret_tracepoint)
{
	bool set = node->op == PLAN_SPANSET;
	struct names names = new_names(l, node->column_n);
	struct buffer b = {0};

	for (uint32_t i = 0; i < names.n; i++)
		names.items[i] = node->columns[i].name;
	if (set) {
		plan_set_text(node->spanset.set, &b);
		*ret_tracepoint = keep(l, &b);
	} else {
		*ret_tracepoint = node->source.name;
	}
	line(own, "OBSERVE", &names);
	return names;
}

static struct names project_advice(struct live *l, const struct plan_node *node,
				   const struct names *in)
{
	struct names out = new_names(l, node->column_n);

	for (uint32_t i = 0; i < out.n; i++)
		out.items[i] = text_of(l, node->project.exprs[i], in);
	return out;
}

static struct names advice(struct live *l, const struct plan_node *node, struct buffer *own,
			   struct slice *ret_tracepoint)
{
	struct names in;

	switch (node->op) {
	case PLAN_SOURCE:
	case PLAN_SPANSET:
		return source_advice(l, node, own, ret_tracepoint);
	case PLAN_HBJOIN:
		return hbjoin_advice(l, node, own, ret_tracepoint);
	case PLAN_FILTER:
		in = advice(l, node->inputs[0], own, ret_tracepoint);
		buffer_printf(own, "  FILTER %.*s\n",
			      SLICE_ARG(text_of(l, node->filter.predicate, &in)));
		return in;
	case PLAN_PROJECT:
		in = advice(l, node->inputs[0], own, ret_tracepoint);
		return project_advice(l, node, &in);
	case PLAN_UNNEST:
	case PLAN_PICK:
		return advice(l, node->inputs[0], own, ret_tracepoint);
	default:
		*ret_tracepoint = SLICE("?");
		return new_names(l, node->column_n);
	}
}

/* --- what leaves the process --- */

static struct names emitted(struct live *l, const struct plan_node *node, struct buffer *own,
			    struct slice *ret_tracepoint)
{
	struct names in, out;

	switch (node->op) {
	case PLAN_GROUP:
		in = emitted(l, node->inputs[0], own, ret_tracepoint);
		out = new_names(l, node->column_n);
		for (uint32_t i = 0; i < out.n; i++)
			out.items[i] =
				i < node->group.key_n
					? text_of(l, node->group.keys[i], &in)
					: aggregate_of(
						  l, &node->group.aggregates[i - node->group.key_n],
						  &in);
		return out;
	case PLAN_PROJECT:
		in = emitted(l, node->inputs[0], own, ret_tracepoint);
		return project_advice(l, node, &in);
	case PLAN_FILTER:
		if (!node->anchored) { /* Having: at the aggregator */
			return emitted(l, node->inputs[0], own, ret_tracepoint);
		}
		return advice(l, node, own, ret_tracepoint);
	case PLAN_SORT:
	case PLAN_LIMIT:
	case PLAN_DISTINCT:
	case PLAN_SERIES:
		return emitted(l, node->inputs[0], own, ret_tracepoint);
	default:
		return advice(l, node, own, ret_tracepoint);
	}
}

static void at_server(const struct plan_node *node, struct buffer *out)
{
	for (; node; node = node->input_n == 1 ? node->inputs[0] : NULL)
		if (node->op == PLAN_SORT || node->op == PLAN_LIMIT || node->op == PLAN_DISTINCT ||
		    (node->op == PLAN_FILTER && !node->anchored))
			buffer_printf(out, "# at the aggregator, every interval: %s\n",
				      plan_op_name(node->op));
}

/* --- what cannot run live --- */

static void refuse(struct live *l, const char *construct, const char *why, const char *instead)
{
	l->refusals++;
	buffer_printf(l->out, "refused live: %s: %s; instead: %s\n", construct, why, instead);
}

static bool needs_trace(const struct plan_expr *e)
{
	if (e->kind == X_FIELD)
		return (e->field.field >= F_TRACE_ROOT && e->field.field <= F_TRACE_PROBABILITY) ||
		       e->field.field == F_SLACK || e->field.field == F_CRITICAL ||
		       e->field.field == F_SELF || e->field.of != OF_SELF;
	if (e->kind == X_CALL && e->function == CALL_WHAT_IF)
		return true;
	if (e->kind != X_OP && e->kind != X_CALL && e->kind != X_LIST)
		return false;
	for (uint32_t i = 0; i < e->n; i++)
		if (needs_trace(e->args[i]))
			return true;
	return false;
}

static void refuse_set(struct live *l, const struct plan_set *s)
{
	if (s->op == SET_RELATION && s->relation == REL_SIBLING)
		refuse(l, "~", "siblings are known only when the trace is whole",
		       "Join a In … On a -> b, or ask over stored traces");
	else if (s->op == SET_RELATION)
		refuse(l, plan_relation_name(s->relation, s->form),
		       "a spanset is a set of stored spans",
		       "From b In … Join a In … On a -> b with tracepoints");
	else if (s->op == SET_HAVING || s->op == SET_AND)
		refuse(l, "a set over a whole trace", "it is known only at the trace's end",
		       "GroupBy trace_id and Having, over an interval");
}

static void refuse_fields(struct live *l, const struct plan_node *node)
{
	const struct plan_expr *const *fields =
		node->op == PLAN_SOURCE ? node->source.fields : node->spanset.fields;
	struct buffer b = {0};

	for (uint32_t i = 0; i < node->column_n; i++)
		if (needs_trace(fields[i])) {
			plan_expr_text(fields[i], NULL, &b);
			refuse(l, buffer_cstr(&b), "it needs the whole trace",
			       "a difference of times: Join a In MostRecent(…) On a -> b Select "
			       "b.time - a.time");
			buffer_done(&b);
			return;
		}
}

static void refuse_source(struct live *l, const struct plan_node *node)
{
	switch (node->source.kind) {
	case FROM_EDGES:
		refuse(l, "edges", "an edge is known when both its ends are",
		       "Join a In send On a -> receive");
		break;
	case FROM_TRACES:
		refuse(l, "traces", "a trace is known when it is over",
		       "From the root's return: From r In root@return");
		break;
	case FROM_UNITS:
	case FROM_COUNTERS:
		refuse(l, plan_source_name(node->source.kind), "they are stored, not passed by",
		       "a tracepoint that exports the value");
		break;
	default:
		break;
	}
}

static void refusals(struct live *l, const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SOURCE:
		refuse_source(l, node);
		refuse_fields(l, node);
		break;
	case PLAN_SPANSET:
		refuse_set(l, node->spanset.set);
		refuse_fields(l, node);
		break;
	case PLAN_HBJOIN:
		if (node->hbjoin.after)
			refuse(l, "a partner after From", "tuples travel forwards only",
			       "swap the two: From the later one, Join the earlier one On it -> "
			       "the later");
		if (node->hbjoin.direct)
			refuse(l, "=>", "only span contexts mark direct edges",
			       "MostRecent(…) On a -> b");
		break;
	case PLAN_SEQUENCE:
		if (node->sequence.steps[node->sequence.step_n - 1].absent)
			refuse(l, "a trailing ![ ]", "it needs the end of the trace",
			       "end with the step that closes the request");
		break;
	case PLAN_PIPE:
		refuse(l, "a pipe over elements", "it needs the whole trace",
		       "a Dataset, which computes it when the trace is over");
		break;
	case PLAN_PICK:
		refuse(l, "From First(…)", "which is first is known at the trace's end",
		       "use First in a Join");
		break;
	case PLAN_CSV:
		refuse(l, "csv", "processes cannot read your file",
		       "join the file with what Into has kept");
		break;
	case PLAN_EQUIJOIN:
		if (node->equijoin.within_ns == 0)
			refuse(l, "a join without Within",
			       "the server would keep every tuple for "
			       "ever",
			       "add Within 5s");
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < node->input_n; i++)
		refusals(l, node->inputs[i]);
}

void plan_explain_live(const struct plan *plan, struct buffer *out)
{
	struct live l = {.out = out};
	struct buffer own = {0};
	struct slice tracepoint = SLICE("");
	struct names names;

	refusals(&l, plan->root);
	if (l.refusals == 0) {
		names = emitted(&l, plan->root, &own, &tracepoint);
		buffer_printf(out, "%.*s:\n", SLICE_ARG(tracepoint));
		buffer_slice(out, keep(&l, &own));
		line(out, "EMIT", &names);
		at_server(plan->root, out);
	}
	if (l.failed)
		out->failed = true;
	buffer_done(&own);
	arena_done(&l.arena);
}
