/* exec/column_totals.c - segments that a query over columns counts as wholes, by their totals. */
#include "exec/column_totals.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exec/attr_value.h"
#include "exec/row_field.h"
#include "segment/totals.h"
#include "store/scan.h"

bool column_totals_fit(const struct column_scan *s)
{
	const struct column_query *q = s->query;

	if (q->kind != COLUMN_GROUP || !s->exact || s->run->threshold ||
	    (s->run->rules_off & RULE_TOTALS))
		return false;
	for (uint32_t i = 0; i < q->aggregate_n; i++)
		switch (q->aggregates[i].kind) {
		case AGG_COUNT:
			break;
		case AGG_SUM:
		case AGG_AVG:
		case AGG_MIN:
		case AGG_MAX:
		case AGG_QUANTILE:
		case AGG_HISTOGRAM:
			if (s->arguments[i] != ARGUMENT_DURATION)
				return false;
			break;
		default:
			return false;
		}
	return true;
}

/* --- is it all of the segment, and each row once? --- */

static bool in_range(const struct column_scan *s, const struct column_shapes *shapes)
{
	const struct plan_range *range = &s->run->range;
	const struct segment_info *info = segment_info(shapes->segment);
	uint64_t end = (uint64_t)info->start_max_ns + (uint64_t)info->duration_max_ns;

	if (!range_is_set(range))
		return true;
	return !shapes->timeless && info->start_min_ns > 0 &&
	       info->start_min_ns >= range->from_ns &&
	       (range->to_ns == 0 || end < (uint64_t)range->to_ns);
}

/* --- what is asked of a row of the totals --- */

struct asking {
	const struct column_query *query;
	const struct column_shapes *shapes;
	const struct totals_table *totals;
	struct expr_env env;
	struct value slots[COLUMN_SLOTS_MOST];
	struct value keys[GROUPING_KEYS_MOST];
	struct arena arena;
};

static struct value non_empty(struct slice text)
{
	return text.n ? value_text(text) : value_nil();
}

static struct value source_field(const struct asking *a, const struct totals_key *key,
				 enum plan_field field, struct arena *arena)
{
	const struct segment_tables *t = a->shapes->tables;
	const struct batch *b = tables_batch(t);

	if (a->totals->apart & APART_RESOURCE)
		return resource_field(b, &b->resources[key->source],
				      tables_text(t, tables_sender(t, key->source)), field, arena);
	return field == F_SERVICE ? non_empty(tables_text(t, key->source)) : value_unknown();
}

static struct value source_attr(const struct asking *a, const struct totals_key *totals_key,
				struct slice key, struct arena *arena)
{
	const struct segment_tables *t = a->shapes->tables;
	const struct batch *b = tables_batch(t);

	if (a->totals->apart & APART_RESOURCE)
		return range_attr(b, b->resources[totals_key->source].attrs, key, arena);
	/* Without a code it may be empty, or none. */
	return totals_key->source && slice_eq(key, SLICE("service.name"))
		       ? value_text(tables_text(t, totals_key->source))
		       : value_unknown();
}

static struct value leaf_of(const struct asking *a, const struct totals_key *key,
			    const struct plan_expr *leaf, struct arena *arena)
{
	if (leaf->kind == X_ATTR)
		return leaf->attr.scope == ATTR_RESOURCE
			       ? source_attr(a, key, leaf->attr.key, arena)
			       : value_unknown();
	switch (leaf->field.field) {
	case F_NAME:
		return value_text(tables_text(a->shapes->tables, key->name));
	case F_TRACEPOINT:
		return value_text(a->query->tracepoint);
	case F_KIND:
		return a->totals->apart & APART_KIND ? value_of(V_KIND, key->kind)
						     : value_unknown();
	case F_STATUS:
		return a->totals->apart & APART_STATUS ? value_of(V_STATUS, key->status)
						       : value_unknown();
	case F_SERVICE:
	case F_HOST:
	case F_PROC_ID:
	case F_PROC_NAME:
		return source_field(a, key, leaf->field.field, arena);
	default:
		return value_unknown();
	}
}

/* Asks a row: 1 and its keys, 0 when its spans do not match, -ENODATA when it cannot say. */
static int ask_row(struct asking *a, const struct total_row *row)
{
	const struct column_query *q = a->query;
	struct value v;

	arena_clear(&a->arena);
	if (row->key.type != EVENT_SPAN)
		return 0;
	for (uint32_t i = 0; i < q->leaf_n; i++)
		a->slots[q->unnest_n + i] = leaf_of(a, &row->key, q->leaves[i], &a->arena);
	for (uint32_t i = 0; i < q->unnest_n; i++)
		a->slots[i] = value_unknown();
	v = q->where ? expr_eval(&a->env, q->where) : value_nil();
	if (v.type == V_UNKNOWN)
		return -ENODATA;
	if (q->where && !value_is_true(v))
		return a->env.failed;
	for (uint32_t i = 0; i < q->unnest_n; i++) {
		a->slots[i] = expr_eval(&a->env, q->unnest[i]);
		/* Lists make several rows of one. */
		if (a->slots[i].type == V_LIST || a->slots[i].type == V_UNKNOWN)
			return -ENODATA;
	}
	v = q->where_after ? expr_eval(&a->env, q->where_after) : value_nil();
	if (v.type == V_UNKNOWN)
		return -ENODATA;
	if (q->where_after && !value_is_true(v))
		return a->env.failed;
	for (uint32_t i = 0; i < q->key_n; i++) {
		a->keys[i] = expr_eval(&a->env, q->outputs[i]);
		if (a->keys[i].type == V_UNKNOWN)
			return -ENODATA;
	}
	return a->env.failed < 0 ? a->env.failed : 1;
}

/* --- adding --- */

static const struct sample one = {.weight = 1, .trace = 1};

static bool sketch_row(struct agg_sketch *state, struct arena *arena, const struct total_row *row)
{
	if (state->type == V_NIL) {
		sketch_init(&state->sketch);
		state->type = V_DURATION;
	}
	return sketch_add_counts(&state->sketch, arena, row->place, row->counts, row->place_n,
				 row->shortest, row->longest);
}

static void sum_row(struct agg_sum *state, const struct total_row *row)
{
	agg_sum_whole(state, V_DURATION, 0); /* the type */
	state->whole += (__int128)row->sum;
	state->n += row->timed - 1;
}

static int add_durations(const struct aggregate *a, void *state, struct arena *arena,
			 const struct total_row *row)
{
	if (row->timed == 0)
		return 0;
	switch (a->kind) {
	case AGG_COUNT:
		agg_count_rows(state, row->timed);
		return 0;
	case AGG_SUM:
	case AGG_AVG:
		sum_row(state, row);
		return 0;
	case AGG_MIN:
	case AGG_MAX:
		return aggregate_add(
			a, state, arena,
			value_of(V_DURATION, a->kind == AGG_MIN ? row->shortest : row->longest),
			&one);
	default:
		return sketch_row(state, arena, row) ? 0 : -ENOMEM;
	}
}

static int add_row(const struct column_scan *s, struct grouping *g, const struct value *keys,
		   const struct total_row *row)
{
	uint32_t group;
	int r = grouping_find(g, keys, &group);

	for (uint32_t i = 0; r == 0 && i < g->aggregate_n; i++) {
		void *state = grouping_state(g, group, i);

		if (s->arguments[i] == ARGUMENT_DURATION)
			r = add_durations(&g->aggregates[i], state, &g->arena, row);
		else
			agg_count_rows(state, row->spans);
	}
	return r;
}

/* First all rows are asked, then added: either all of them are or none. */
static int add_rows(struct asking *a, const struct column_scan *s, struct grouping *groups)
{
	const struct totals_table *t = a->totals;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < t->n; i++)
		r = ask_row(a, &t->rows[i]);
	for (uint32_t i = 0; r >= 0 && i < t->n; i++) {
		r = ask_row(a, &t->rows[i]);
		if (r > 0)
			r = add_row(s, groups, a->keys, &t->rows[i]);
	}
	return r == -ENODATA ? 0 : r < 0 ? r : 1;
}

static struct value nothing(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_unknown();
}

int column_totals_add(struct column_scan *s, const struct column_shapes *shapes,
		      struct grouping *groups)
{
	struct query_at *run = s->run;
	const struct totals_table *totals;
	struct asking a = {.query = s->query, .shapes = shapes};
	struct expr_memo *memo = NULL;
	int r = 0;

	if (shapes->weighted || !in_range(s, shapes))
		return 0;
	r = snapshot_is_joint(run->options->snapshot, &s->in_heads, shapes->segment);
	if (r != 0)
		return r < 0 ? r : 0;
	r = segment_totals(shapes->segment, &totals);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* damage is for those who read rows */
	r = expr_memo_new(&memo);
	a.totals = totals;
	a.env = (struct expr_env){
		.columns = a.slots, .element = nothing, .arena = &a.arena, .memo = memo};
	if (r == 0)
		r = add_rows(&a, s, groups);
	expr_memo_free(memo);
	arena_done(&a.arena);
	if (r > 0) {
		const struct segment_info *info = segment_info(shapes->segment);
		int e = grouping_account(groups);

		atomic_fetch_add(&run->totalled, 1);
		atomic_fetch_add(&run->rows, info->rows);
		atomic_fetch_add(&run->traces, info->pieces);
		r = e < 0 ? e : r;
	}
	return r;
}
