/* lang/lower_source.c - what stands behind In: built-in sources, tracepoints, spansets, queries. */
#include "lang/lower_int.h"

bool lower_binding_is_relation(const struct ast_binding *binding)
{
	return binding->type.tag == TYPE_RELATION &&
	       (binding->n_sources == 0 || binding->sources[0]->kind != AST_SOURCE_TRACEPOINT) &&
	       !(binding->n_sources && binding->sources[0]->kind == AST_SOURCE_FILTER &&
		 binding->sources[0]->of->kind == AST_SOURCE_TRACEPOINT);
}

static struct plan_column *ref_columns(struct lower *l, const struct refs *refs)
{
	struct plan_column *columns = build_alloc(&l->b, refs->n, sizeof(*columns));

	for (uint32_t i = 0; columns && i < refs->n; i++) {
		columns[i].name = refs->items[i].name;
		columns[i].type = refs->items[i].expr->type;
	}
	return columns;
}

static const struct plan_expr **ref_fields(struct lower *l, const struct refs *refs,
					   const struct ast_tracepoint *definition)
{
	const struct plan_expr **fields = build_alloc(&l->b, refs->n, sizeof(*fields));

	for (uint32_t i = 0; fields && i < refs->n; i++) {
		const struct ref *r = &refs->items[i];

		fields[i] = r->expr;
		if (!r->export || !definition)
			continue;
		for (size_t k = 0; k < definition->n_exports; k++)
			if (slice_eq(definition->exports[k].name, r->name))
				fields[i] = lower_expr(l, NULL, definition->exports[k].expr);
		if (!fields[i])
			return NULL;
	}
	return fields;
}

static struct plan_node *source_node(struct lower *l, enum plan_source kind, struct slice name,
				     const struct refs *refs,
				     const struct ast_tracepoint *definition, struct slice alias)
{
	struct plan_node *node = build_node(&l->b, PLAN_SOURCE, NULL, 0);

	if (!node)
		return NULL;
	node->source.kind = kind;
	node->source.name = name;
	node->source.alias = alias;
	node->source.fields = ref_fields(l, refs, definition);
	node->columns = ref_columns(l, refs);
	node->column_n = refs->n;
	node->anchored = true;
	return node->source.fields && node->columns ? node : NULL;
}

static const struct plan_node *union_of(struct lower *l, const struct plan_node *const *inputs,
					uint32_t n)
{
	struct plan_node *node;

	if (n == 1)
		return inputs[0];
	node = build_node(&l->b, PLAN_UNION, inputs, n);
	if (!node)
		return NULL;
	node->columns = inputs[0]->columns;
	node->column_n = inputs[0]->column_n;
	node->anchored = true;
	for (uint32_t i = 0; i < n; i++)
		node->anchored &= inputs[i]->anchored;
	return node;
}

/* A glob of tracepoint names as a regular expression over event names. */
static struct slice glob_regex(struct lower *l, struct slice glob)
{
	char *out = build_alloc(&l->b, 2 * glob.n + 1, 1);
	size_t n = 0;

	for (size_t i = 0; out && i < glob.n; i++) {
		char c = glob.p[i];

		if (c == '*') {
			out[n++] = '.';
			out[n++] = '*';
		} else if (c == '?') {
			out[n++] = '.';
		} else {
			if (strchr(".+()|^$\\{}", c))
				out[n++] = '\\';
			out[n++] = c;
		}
	}
	return slice_of(out, n);
}

/* Events of a name: what a site that nobody defined is over the past. */
static const struct plan_expr *named(struct lower *l, const struct ast_source *source)
{
	struct plan_value v = {.type = PLAN_STRING, .s = source->name};

	if (source->glob)
		v.s = glob_regex(l, source->name);
	return build_op(&l->b, source->glob ? XO_MATCH : XO_EQ, PLAN_BOOL,
			build_field(&l->b, F_NAME, OF_SELF, PLAN_STRING), build_const(&l->b, v));
}

static enum plan_instant instant_of(const struct ast_source *source)
{
	return source->place == AST_PLACE_RETURN || source->place == AST_PLACE_FINALLY
		       ? INSTANT_END
		       : INSTANT_BEGIN;
}

#define MAX_SITES 64 /* spansets and sites of one tracepoint */

static const struct plan_node *tracepoint_node(struct lower *l, const struct ast_source *source,
					       const struct refs *refs, struct slice alias)
{
	const struct ast_tracepoint *t = source->statement ? source->statement->tracepoint : NULL;
	const struct plan_node *inputs[MAX_SITES];
	const struct plan_expr *any = NULL;
	struct plan_node *node;
	uint32_t n = 0;
	enum plan_instant instant = instant_of(source);

	for (size_t i = 0; t && i < t->n_sources; i++) {
		const struct ast_source *site = t->sources[i];
		const struct plan_expr *predicate;

		if (site->kind == AST_SOURCE_SPANSET && site->expr->kind != AST_SPANSET) {
			const struct plan_set *set = lower_set(l, site->expr);
			struct refs mine = {0};

			/* A set that looks at other spans: its members are the events. */
			if (n == MAX_SITES - 1)
				return lower_refuse(l, site->range,
						    "more than %d sets in one "
						    "tracepoint",
						    MAX_SITES);
			mine = *refs;
			node = (struct plan_node *)(uintptr_t)lower_set_node(l, set, &mine, alias);
			if (!node)
				return NULL;
			node->spanset.fields = ref_fields(l, refs, t);
			if (!node->spanset.fields)
				return NULL;
			inputs[n++] = node;
			continue;
		}
		if (site->kind == AST_SOURCE_SPANSET)
			predicate =
				site->expr->spanset.condition
					? lower_expr(l, NULL, site->expr->spanset.condition)
					: build_const(&l->b, (struct plan_value){.type = PLAN_BOOL,
										 .b = true});
		else
			predicate = named(l, site);
		if (!predicate)
			return NULL;
		if (site->kind != AST_SOURCE_SPANSET && source->place == AST_PLACE_NONE)
			instant = instant_of(site);
		any = any ? build_op(&l->b, XO_OR, PLAN_BOOL, any, predicate) : predicate;
		if (!any)
			return NULL;
	}
	if (!t)
		any = named(l, source);
	if (any) {
		node = source_node(l, FROM_EVENTS, source->name, refs, t, alias);
		if (!node)
			return NULL;
		node->source.predicate = any;
		node->source.instant = instant;
		inputs[n++] = node;
	}
	if (l->b.no_memory || l->failed)
		return NULL;
	return union_of(l, inputs, n);
}

static const struct plan_node *builtin_node(struct lower *l, const struct ast_source *source,
					    const struct refs *refs, struct slice alias)
{
	static const enum plan_source kinds[] = {
		[WS_SPANS] = FROM_SPANS,   [WS_BLOCKS] = FROM_BLOCKS, [WS_POINTS] = FROM_POINTS,
		[WS_EDGES] = FROM_EDGES,   [WS_UNITS] = FROM_UNITS,   [WS_COUNTERS] = FROM_COUNTERS,
		[WS_TRACES] = FROM_TRACES,
	};
	enum plan_source kind = kinds[source->builtin->id];

	return source_node(l, kind, slice_cstr(source->builtin->name), refs, NULL, alias);
}

static const struct plan_node *csv_node(struct lower *l, const struct ast_source *source,
					const struct refs *refs, struct slice alias)
{
	struct plan_node *node = build_node(&l->b, PLAN_CSV, NULL, 0);

	if (!node)
		return NULL;
	node->csv.path = source->file;
	node->csv.alias = alias;
	node->columns = ref_columns(l, refs);
	node->column_n = refs->n;
	return node->columns ? node : NULL;
}

/* A query that gives spans or elements, with the columns asked for. */
static const struct plan_node *elements_of(struct lower *l, const struct ast_query *q,
					   const struct refs *refs, struct slice alias)
{
	if (q->type.tag == TYPE_SPANSET)
		return lower_set_node(l, lower_set_query(l, q), refs, alias);
	return lower_refuse(l, q->range,
			    "a pipe over elements cannot be joined; use a source and "
			    "Where");
}

const struct plan_node *lower_source(struct lower *l, const struct ast_source *source,
				     const struct refs *refs, struct slice alias)
{
	const struct ast_query *query = NULL;
	struct plan_node *node;

	switch (source->kind) {
	case AST_SOURCE_BUILTIN:
		return builtin_node(l, source, refs, alias);
	case AST_SOURCE_TRACEPOINT:
		return tracepoint_node(l, source, refs, alias);
	case AST_SOURCE_SPANSET:
		return lower_set_node(l, lower_set(l, source->expr), refs, alias);
	case AST_SOURCE_CSV:
		return csv_node(l, source, refs, alias);
	case AST_SOURCE_STATEMENT:
		if (source->statement->kind == AST_STATEMENT_QUERY)
			query = source->statement->query;
		break;
	case AST_SOURCE_QUERY:
		query = source->query;
		break;
	case AST_SOURCE_FILTER: /* not of a join: of each trace */
		node = build_over(&l->b, PLAN_PICK, lower_source(l, source->of, refs, alias));
		if (!node)
			return NULL;
		if (!node->anchored)
			return lower_refuse(l, source->range,
					    "First and MostRecent need tuples of single traces");
		node->pick.pick = source->filter == AST_FILTER_FIRST ? PICK_FIRST : PICK_LAST;
		node->pick.n = (uint32_t)source->n;
		return node;
	default:
		break;
	}
	if (!query)
		return lower_refuse(l, source->range, "no such source over stored traces");
	return query->type.tag == TYPE_RELATION || query->type.tag == TYPE_SERIES
		       ? lower_query(l, query)
		       : elements_of(l, query, refs, alias);
}

const struct plan_node *lower_binding(struct lower *l, const struct ast_binding *binding,
				      const struct refs *refs, enum plan_pick *ret_pick,
				      uint32_t *ret_pick_n)
{
	const struct plan_node *inputs[MAX_SITES];

	if (binding->n_sources > MAX_SITES)
		return lower_refuse(l, binding->range, "more than %d sources at once", MAX_SITES);
	if (ret_pick && binding->n_sources == 1 && binding->sources[0]->kind == AST_SOURCE_FILTER) {
		const struct ast_source *filter = binding->sources[0];

		*ret_pick = filter->filter == AST_FILTER_FIRST ? PICK_FIRST : PICK_LAST;
		*ret_pick_n = (uint32_t)filter->n;
		return lower_source(l, filter->of, refs, binding->name);
	}
	for (size_t i = 0; i < binding->n_sources; i++) {
		inputs[i] = lower_source(l, binding->sources[i], refs, binding->name);
		if (!inputs[i])
			return NULL;
	}
	return union_of(l, inputs, (uint32_t)binding->n_sources);
}
