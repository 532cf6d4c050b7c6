/* exec/column_part.c - one part of a query over columns: groups of rows in, one answer out.
 *
 * Rows take one of three ways.  A *settled* shape says everything but what aggregates are of: its
 * group is looked up once, and if aggregates are of rows or durations alone nothing else is read
 * (fast).  If they are of something else, only that is evaluated (settled).  All other rows have
 * their slots filled and are asked everything (open). */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"
#include "exec/column_scan.h"
#include "exec/probability.h"
#include "exec/row_field.h"
#include "model/event_unique.h"
#include "store/scan.h"

#define ARENA_BYTES   (1 << 20) /* of texts made while rows are looked at, before it is cleared */
#define GROUPS_SORTED 16384     /* with more, rows of a group are hardly neighbours */
#define CHECK_ROWS    4096      /* between two looks at the budget, where rows come one by one */

enum argument {
	ARGUMENT_ROWS,     /* none: rows are counted */
	ARGUMENT_DURATION, /* the span's */
	ARGUMENT_OTHER,
};

struct part {
	struct column_scan *scan;
	const struct column_query *query;
	struct column_part *out;
	const struct column_shapes *shapes; /* of the segment at hand */
	uint32_t *key_rows;                 /* [key of settled shapes] group, or MAP_NONE */
	size_t key_row_capacity;
	/* Groups of shapes that lack a key, by the dictionary's code of the key; of this segment.
	 */
	struct half {
		uint64_t key; /* half << 32 | code + 1, or 0: free */
		uint32_t group;
	} * halves;
	size_t half_n, half_capacity; /* a power of two */
	/* SERIES: groups by series and step. */
	struct grouping series; /* keys alone */
	uint32_t *cells;        /* [series][step]: group, or MAP_NONE */
	size_t cell_capacity, cell_n;

	/* Fast rows of the group at hand: they are added group by group, since many groups with
	 * their sketches do not fit into a cache. */
	struct fast {
		uint32_t group;
		int64_t ns; /* -1: no duration */
	} * waiting, *sorted;
	uint32_t waiting_n;
	uint32_t *places;
	size_t place_capacity;

	uint8_t arguments[AGGREGATES_MOST]; /* enum argument */
	bool fast;                          /* no argument is ARGUMENT_OTHER */
	bool durations;                     /* one is */
	uint64_t groups;                    /* seen */

	struct column_group group;
	struct column_filter filter;
	struct expr_env env;
	struct arena arena;
	struct value slots[COLUMN_SLOTS_MOST];
	struct value outputs[COLUMN_OUTPUTS_MOST];
	struct sample sample;
	bool check_times; /* of rows of the group at hand */
};

/* Enough of them. */
#define PART_FULL 1

/* --- rows of the answer --- */

/* The group of a series at a step. */
static int cell_find(struct part *p, uint32_t series, const struct value *keys, uint64_t time_ns,
		     uint32_t *ret_row)
{
	const struct series_steps *s = &p->scan->steps;
	size_t need = ((size_t)series + 1) * s->n;
	uint32_t step, *cell;
	struct value all[GROUPING_KEYS_MOST + 1];
	int r = 0;

	if (!series_step(s, time_ns, &step))
		return -EINVAL; /* rows were asked for their time before */
	if (need > p->cell_n) {
		r = budget_take(&p->scan->run->budget, (need - p->cell_n) * sizeof(*p->cells));
		if (r == 0 && !vec_reserve(&p->cells, &p->cell_capacity, need, sizeof(*p->cells)))
			r = -ENOMEM;
		if (r < 0)
			return r;
		memset(p->cells + p->cell_n, 0xff, (need - p->cell_n) * sizeof(*p->cells));
		p->cell_n = need;
	}
	cell = &p->cells[(size_t)series * s->n + step];
	if (*cell == MAP_NONE) {
		all[0] = value_of(V_TIME, s->from_ns + (int64_t)step * s->step_ns);
		if (p->query->key_n)
			memcpy(all + 1, keys, p->query->key_n * sizeof(*keys));
		r = grouping_find(&p->out->groups, all, cell);
	}
	*ret_row = *cell;
	return r;
}

static int group_find(struct part *p, const struct value *keys, uint64_t time_ns, uint32_t *ret_row)
{
	uint32_t series = 0;
	int r;

	if (p->query->kind != COLUMN_SERIES)
		return grouping_find(&p->out->groups, keys, ret_row);
	r = grouping_find(&p->series, keys, &series);
	return r == 0 ? cell_find(p, series, keys, time_ns, ret_row) : r;
}

/* The outputs are there: they become a row, or go into their group. */
static int emit(struct part *p, uint64_t time_ns)
{
	const struct column_query *q = p->query;
	uint32_t row;
	int r;

	if (q->kind == COLUMN_GROUP || q->kind == COLUMN_SERIES) {
		r = group_find(p, p->outputs, time_ns, &row);
		if (r == 0)
			r = grouping_add(&p->out->groups, row, p->outputs + q->key_n, &p->sample);
		return r;
	}
	r = ordering_add(&p->out->ordering, p->outputs, p->outputs + q->key_n, NULL);
	if (r == 0 && q->kind == COLUMN_ROWS && q->limit && p->out->ordering.n >= q->limit)
		return PART_FULL;
	return r;
}

/* Slots of leaves are filled: what is left of the condition, lists taken apart, outputs. */
static int outputs_emit(struct part *p, uint64_t time_ns)
{
	const struct column_query *q = p->query;

	if (q->where_after && !value_is_true(expr_eval(&p->env, q->where_after)))
		return p->env.failed;
	for (uint32_t i = 0; i < q->output_n; i++)
		p->outputs[i] = q->outputs[i] ? expr_eval(&p->env, q->outputs[i]) : value_nil();
	return p->env.failed < 0 ? p->env.failed : emit(p, time_ns);
}

static int unnest(struct part *p, uint32_t at, uint64_t time_ns)
{
	struct value v;
	int r = 0;

	if (at == p->query->unnest_n)
		return outputs_emit(p, time_ns);
	v = expr_eval(&p->env, p->query->unnest[at]);
	if (v.type != V_LIST) {
		p->slots[at] = v;
		return unnest(p, at + 1, time_ns);
	}
	for (uint32_t i = 0; r == 0 && i < v.n; i++) {
		p->slots[at] = v.list[i];
		r = unnest(p, at + 1, time_ns);
	}
	return r;
}

/* --- groups --- */

static int follow_segment(struct part *p, const struct segment *segment)
{
	size_t n;
	int r;

	if (p->shapes && p->shapes->segment == segment)
		return 0;
	p->shapes = NULL;
	r = column_scan_shapes(p->scan, segment, &p->shapes);
	if (r < 0)
		return r;
	n = p->shapes->groups.n;
	if (!vec_reserve(&p->key_rows, &p->key_row_capacity, n + 1, sizeof(uint32_t))) {
		p->shapes = NULL;
		return -ENOMEM;
	}
	memset(p->key_rows, 0xff, n * sizeof(uint32_t));
	if (p->halves)
		memset(p->halves, 0, p->half_capacity * sizeof(*p->halves));
	p->half_n = 0;
	return 0;
}

/* No span begins later. */
static uint64_t zone_end(const struct group_zone *zone)
{
	return (uint64_t)zone->start_max_ns + (uint64_t)zone->duration_max_ns;
}

static bool wanted(void *context, struct segment *segment, uint32_t group)
{
	struct part *p = context;
	const struct plan_range *range = &p->scan->run->range;
	const struct group_zone *zone;
	bool possible = false;

	if (follow_segment(p, segment) < 0)
		return true; /* and fails there, with the reason */
	if (!p->shapes->possible)
		return false;
	zone = tables_zone(p->shapes->tables, group);
	/* A piece without a time counts as 0, and has no row in any range. */
	if ((range->from_ns && zone_end(zone) < (uint64_t)range->from_ns) ||
	    (range->to_ns && zone->start_min_ns >= range->to_ns))
		return false;
	for (uint32_t i = 0; !possible && i < zone->shape_n; i++)
		possible = p->shapes->verdicts[zone->shapes[i]] != SHAPE_NO;
	return possible;
}

static struct half *half_place(struct half *halves, size_t capacity, uint64_t key)
{
	size_t at = (size_t)hash_u64(key, 0) & (capacity - 1);

	while (halves[at].key && halves[at].key != key)
		at = (at + 1) & (capacity - 1);
	return &halves[at];
}

static int halves_grow(struct part *p)
{
	size_t capacity = p->half_capacity ? p->half_capacity * 2 : 4096;
	struct half *halves = calloc(capacity, sizeof(*halves));

	if (!halves)
		return -ENOMEM;
	for (size_t i = 0; i < p->half_capacity; i++)
		if (p->halves[i].key)
			*half_place(halves, capacity, p->halves[i].key) = p->halves[i];
	free(p->halves);
	p->halves = halves;
	p->half_capacity = capacity;
	return 0;
}

/* The group of a row whose shape lacks one key.  1 and the group (of a series: its number); 0 when
 * the key is nothing with a code. */
static int half_group(struct part *p, uint32_t code, uint32_t row, const struct value **ret_keys,
		      struct value keys[GROUPING_KEYS_MOST], uint32_t *ret_group)
{
	const struct value *half = grouping_keys(&p->shapes->halves, p->shapes->keys[code]);
	const struct group_column *column = NULL;
	struct leaf_column *c;
	struct half *place;
	uint64_t key = 0;
	uint32_t at, i = 0;
	int r = column_group_leaf(&p->group, (uint32_t)half[0].i, &c);

	if (r < 0)
		return r;
	at = c->at[row];
	if (at == LEAF_TWICE)
		return 0;
	if (at != LEAF_NOWHERE) {
		column = c->columns[at >> LEAF_SHIFT];
		i = at & ((1u << LEAF_SHIFT) - 1);
		if (!column->by_code || column->type != VALUE_STRING)
			return 0;
		key = (uint64_t)column->codes[i] + 1;
	}
	key = (uint64_t)p->shapes->keys[code] << 32 | (key + 1);
	if (p->half_n * 2 >= p->half_capacity) {
		r = halves_grow(p);
		if (r < 0)
			return r;
	}
	memcpy(keys, half + 2, p->query->key_n * sizeof(*keys));
	if (column)
		keys[half[1].i] = value_text(column_text(column, i));
	*ret_keys = keys;
	place = half_place(p->halves, p->half_capacity, key);
	if (!place->key) {
		r = grouping_find(p->query->kind == COLUMN_SERIES ? &p->series : &p->out->groups,
				  keys, &place->group);
		if (r < 0)
			return r;
		place->key = key;
		p->half_n++;
	}
	*ret_group = place->group;
	return 1;
}

/* The group of a settled shape's row; for a series, of its time as well. */
static int settled_group(struct part *p, uint32_t code, uint32_t row, uint32_t *ret_group)
{
	uint32_t key = p->shapes->keys[code], *known = &p->key_rows[key];
	const struct value *keys = grouping_keys(&p->shapes->groups, key);
	bool series = p->query->kind == COLUMN_SERIES;
	int r = 0;

	if (*known == MAP_NONE)
		r = grouping_find(series ? &p->series : &p->out->groups, keys, known);
	*ret_group = *known;
	if (r == 0 && series)
		r = cell_find(p, *known, keys, p->group.times[row], ret_group);
	return r;
}

static int duration_add(struct part *p, const struct aggregate *a, void *state, int64_t ns)
{
	static const struct sample one = {.weight = 1, .trace = 1};
	struct agg_sketch *sketch;

	switch (a->kind) {
	case AGG_COUNT:
		agg_count_rows(state, 1);
		return 0;
	case AGG_SUM:
	case AGG_AVG:
		agg_sum_whole(state, V_DURATION, ns);
		return 0;
	case AGG_QUANTILE:
	case AGG_HISTOGRAM:
		sketch = state;
		if (sketch->type == V_NIL) {
			sketch_init(&sketch->sketch);
			sketch->type = V_DURATION;
		}
		return sketch_add(&sketch->sketch, &p->out->groups.arena, (double)ns, 1) ? 0
											 : -ENOMEM;
	default:
		return aggregate_add(a, state, &p->out->groups.arena, value_of(V_DURATION, ns),
				     &one);
	}
}

/* Rows of one group, of which nothing but perhaps the duration is needed; nothing is sampled. */
static int fast_add(struct part *p, const struct fast *rows, uint32_t n)
{
	const struct column_query *q = p->query;
	struct grouping *g = &p->out->groups;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < q->aggregate_n; i++) {
		void *state = grouping_state(g, rows[0].group, i);

		if (p->arguments[i] == ARGUMENT_ROWS && q->aggregates[i].kind == AGG_COUNT) {
			agg_count_rows(state, n);
			continue;
		}
		for (uint32_t k = 0; r == 0 && k < n; k++) {
			if (p->arguments[i] == ARGUMENT_ROWS)
				r = aggregate_add(&q->aggregates[i], state, &g->arena, value_nil(),
						  &p->sample);
			else if (rows[k].ns >= 0)
				r = duration_add(p, &q->aggregates[i], state, rows[k].ns);
		}
	}
	return r;
}

static int fast_flush(struct part *p)
{
	uint32_t n = p->waiting_n, groups = (uint32_t)p->out->groups.n, from = 0;
	int r = 0;

	p->waiting_n = 0;
	if (n == 0)
		return 0;
	for (uint32_t i = 0; r == 0 && groups > GROUPS_SORTED && i < n; i++)
		r = fast_add(p, &p->waiting[i], 1);
	if (r < 0 || groups > GROUPS_SORTED)
		return r;
	if (!vec_reserve(&p->places, &p->place_capacity, (size_t)groups + 1, sizeof(*p->places)))
		return -ENOMEM;
	memset(p->places, 0, ((size_t)groups + 1) * sizeof(*p->places));
	for (uint32_t i = 0; i < n; i++)
		p->places[p->waiting[i].group + 1]++;
	for (uint32_t i = 0; i < groups; i++)
		p->places[i + 1] += p->places[i];
	for (uint32_t i = 0; i < n; i++)
		p->sorted[p->places[p->waiting[i].group]++] = p->waiting[i];
	for (uint32_t i = 1; r == 0 && i <= n; i++)
		if (i == n || p->sorted[i].group != p->sorted[from].group) {
			r = fast_add(p, &p->sorted[from], i - from);
			from = i;
		}
	return r;
}

static int fast_row(struct part *p, uint32_t row, uint32_t group)
{
	int64_t ns = p->durations ? row_duration(&p->group, row) : -1;
	int r = p->waiting_n == SEGMENT_GROUP_ROWS ? fast_flush(p) : 0;

	if (!p->waiting) {
		p->waiting = malloc(SEGMENT_GROUP_ROWS * sizeof(*p->waiting));
		p->sorted = malloc(SEGMENT_GROUP_ROWS * sizeof(*p->sorted));
	}
	if (!p->waiting || !p->sorted)
		return -ENOMEM;
	p->waiting[p->waiting_n++] = (struct fast){group, ns};
	return r;
}

static int settled_row(struct part *p, uint32_t row, uint32_t group)
{
	const struct column_query *q = p->query;
	int r = column_group_slots(&p->group, row, p->slots);

	/* Nothing is to be taken apart. */
	for (uint32_t i = 0; r == 0 && i < q->unnest_n; i++)
		p->slots[i] = expr_eval(&p->env, q->unnest[i]);
	for (uint32_t i = q->key_n; r == 0 && i < q->output_n; i++)
		p->outputs[i] = q->outputs[i] ? expr_eval(&p->env, q->outputs[i]) : value_nil();
	if (r == 0)
		r = p->env.failed;
	if (r == 0)
		r = grouping_add(&p->out->groups, group, p->outputs + q->key_n, &p->sample);
	return r;
}

static int open_row(struct part *p, uint32_t row, bool ask)
{
	int r = column_group_slots(&p->group, row, p->slots);

	if (r < 0)
		return r;
	if (ask && !value_is_true(expr_eval(&p->env, p->query->where)))
		return p->env.failed;
	return unnest(p, 0, p->group.times ? p->group.times[row] : 0);
}

static bool row_in_time(const struct part *p, uint32_t row)
{
	const struct plan_range *range = &p->scan->run->range;
	uint64_t time_ns = p->group.times[row];
	uint32_t step;

	if (p->query->kind == COLUMN_SERIES && !series_step(&p->scan->steps, time_ns, &step))
		return false;
	return time_ns >= (uint64_t)range->from_ns &&
	       (!range->to_ns || time_ns < (uint64_t)range->to_ns);
}

static int one_row(struct part *p, uint32_t row)
{
	uint32_t code = p->group.codes[row], group;
	uint8_t verdict = p->shapes->verdicts[code];
	bool grouped = p->query->kind == COLUMN_GROUP || p->query->kind == COLUMN_SERIES;
	struct value room[GROUPING_KEYS_MOST];
	const struct value *keys;
	int r = 0;

	if (verdict == SHAPE_NO ||
	    (verdict == SHAPE_ASK && p->filter.n > 0 &&
	     !column_filter_may(&p->filter, row, p->shapes->needed[code])) ||
	    (p->check_times && !row_in_time(p, row)))
		return 0;
	if (p->group.weights || p->scan->timed)
		r = column_group_sample(&p->group, row, p->scan->timed, &p->sample);
	if (r < 0)
		return r;
	if (!grouped || verdict == SHAPE_ASK || p->shapes->settled[code] == SHAPE_OPEN)
		return open_row(p, row, verdict == SHAPE_ASK);
	if (p->shapes->settled[code] == SHAPE_SETTLED) {
		r = settled_group(p, code, row, &group);
	} else {
		r = half_group(p, code, row, &keys, room, &group);
		if (r == 0)
			return open_row(p, row, false);
		r = r > 0 ? 0 : r;
		if (r == 0 && p->query->kind == COLUMN_SERIES)
			r = cell_find(p, group, keys, p->group.times[row], &group);
	}
	if (r < 0)
		return r;
	if (p->fast && !p->group.weights)
		return fast_row(p, row, group);
	return settled_row(p, row, group);
}

static int rows_in(struct part *p, uint32_t first, uint32_t n)
{
	int r = 0;

	for (uint32_t row = first; r == 0 && row < first + n; row++) {
		r = one_row(p, row);
		if (p->arena.bytes > ARENA_BYTES)
			arena_clear(&p->arena);
	}
	return r;
}

/* Columns that every row may need, and whether its time must be looked at. */
static int open_columns(struct part *p)
{
	const struct group_zone *zone = group_zone(p->group.group);
	const struct plan_range *range = &p->scan->run->range;
	bool ask = false;
	int r = 0;

	p->check_times = p->query->kind == COLUMN_SERIES ||
			 (range->from_ns && zone->start_min_ns < range->from_ns) ||
			 (range->to_ns && zone_end(zone) >= (uint64_t)range->to_ns);
	if (p->check_times || p->durations)
		r = column_group_times(&p->group);
	if (r == 0 && p->durations)
		r = column_group_durations(&p->group);
	for (uint32_t i = 0; !ask && i < zone->shape_n; i++)
		ask = p->shapes->verdicts[zone->shapes[i]] == SHAPE_ASK;
	if (r == 0 && ask && p->filter.n > 0)
		r = column_filter_group(&p->filter, &p->group);
	if (r == 0)
		r = column_group_weigh(&p->group);
	return r;
}

static int see_group(void *context, struct segment_group *group, const uint32_t *pieces, uint32_t n)
{
	struct part *p = context;
	struct query_at *run = p->scan->run;
	const struct group_piece *all;
	uint32_t all_n;
	int r = atomic_load_explicit(&p->scan->failed, memory_order_relaxed);

	if (r == 0)
		r = budget_check(&run->budget);
	if (r == 0)
		r = follow_segment(p, group_segment(group));
	arena_clear(&p->arena);
	if (r == 0)
		r = column_group_open(&p->group, p->shapes, group,
				      p->groups++ * COLUMN_PARTS +
					      (uint64_t)(p->out - p->scan->parts));
	if (r == 0)
		r = open_columns(p);
	if (r < 0)
		return r;
	p->sample = (struct sample){.weight = 1, .trace = 1};
	atomic_fetch_add(&run->rows, p->group.row_n);
	atomic_fetch_add(&run->traces, pieces ? n : group_zone(group)->pieces);
	if (p->group.weights)
		atomic_store(&run->estimated, true);
	if (!pieces)
		r = rows_in(p, 0, p->group.row_n);
	else
		r = group_pieces(group, &all, &all_n);
	for (uint32_t i = 0; r == 0 && pieces && i < n; i++)
		r = rows_in(p, all[pieces[i]].first, all[pieces[i]].rows);
	if (r == 0)
		r = fast_flush(p);
	if (r == 0 && (p->query->kind == COLUMN_GROUP || p->query->kind == COLUMN_SERIES))
		r = grouping_account(&p->out->groups);
	return r;
}

/* --- traces that lie in several places, and heads --- */

static int see_row(struct part *p, struct event_ref ref)
{
	const struct plan_range *range = &p->scan->run->range;
	const struct event *e = event_get(ref);
	const struct column_query *q = p->query;
	uint32_t step;

	if (!q->only_spans &&
	    (e->type == EVENT_BEGIN || e->type == EVENT_END || e->format == FORMAT_NATIVE))
		return -EOPNOTSUPP;
	if (e->type != EVENT_SPAN)
		return 0;
	if ((range->from_ns && e->time_ns < (uint64_t)range->from_ns) ||
	    (range->to_ns && e->time_ns >= (uint64_t)range->to_ns) ||
	    (q->kind == COLUMN_SERIES && !series_step(&p->scan->steps, e->time_ns, &step)))
		return 0;
	for (uint32_t i = 0; i < q->leaf_n; i++)
		p->slots[q->unnest_n + i] = row_field(ref, q->leaves[i], q->tracepoint, &p->arena);
	if (q->where && !value_is_true(expr_eval(&p->env, q->where)))
		return p->env.failed;
	p->sample.time_ns = e->time_ns;
	p->sample.id = e->id1;
	return unnest(p, 0, e->time_ns);
}

static int see_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		     bool more)
{
	struct part *p = context;
	struct query_at *run = p->scan->run;
	_cleanup_(freep)
	struct event_ref *once = malloc((n + 1) * sizeof(*once));
	int r = once ? budget_check(&run->budget) : -ENOMEM;

	if (r < 0)
		return r;
	if (n)
		memcpy(once, refs, n * sizeof(*once));
	r = events_unique(once, &n);
	p->sample = (struct sample){
		.weight = trace_weight(id, once, n),
		.trace = load_be64(id.b) ^ load_be64(id.b + 8),
	};
	p->sample.trace += p->sample.trace == 0;
	if (p->sample.weight != 1)
		atomic_store(&run->estimated, true);
	atomic_fetch_add(&run->rows, n);
	atomic_fetch_add(&run->traces, !more);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = see_row(p, once[i]);
		if (i % CHECK_ROWS == CHECK_ROWS - 1 && r == 0)
			r = budget_check(&run->budget);
		if (p->arena.bytes > ARENA_BYTES)
			arena_clear(&p->arena);
	}
	return r;
}

/* --- the part --- */

static void place_arguments(struct part *p)
{
	const struct column_query *q = p->query;

	p->fast = true;
	for (uint32_t i = 0; i < q->aggregate_n; i++) {
		const struct plan_expr *e = q->outputs[q->key_n + i];

		p->arguments[i] = ARGUMENT_OTHER;
		if (!e)
			p->arguments[i] = ARGUMENT_ROWS;
		else if (e->kind == X_COLUMN && e->column >= q->unnest_n &&
			 q->leaves[e->column - q->unnest_n]->kind == X_FIELD &&
			 q->leaves[e->column - q->unnest_n]->field.field == F_DURATION)
			p->arguments[i] = ARGUMENT_DURATION;
		p->fast &= p->arguments[i] != ARGUMENT_OTHER;
		p->durations |= p->arguments[i] == ARGUMENT_DURATION;
	}
	p->fast &= !p->scan->timed;
}

static struct value nothing(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_nil();
}

int column_part_run(struct column_scan *s, uint32_t part)
{
	_cleanup_(expr_memo_freep)
	struct expr_memo *memo = NULL;
	_cleanup_(freep)
	struct part *p = calloc(1, sizeof(*p));
	struct scan scan = {
		.part = part,
		.parts = COLUMN_PARTS,
		.rows = true,
		.wanted = wanted,
		.group = see_group,
		.trace = see_trace,
		.context = p,
	};
	int r = p ? expr_memo_new(&memo) : -ENOMEM;

	if (r < 0)
		return r;
	p->scan = s;
	p->query = s->query;
	p->out = &s->parts[part];
	p->group.query = s->query;
	p->group.arena = &p->arena;
	p->env = (struct expr_env){
		.columns = p->slots,
		.element = nothing,
		.arena = &p->arena,
		.memo = memo,
	};
	column_filter_init(&p->filter, s->query, memo, &p->arena);
	place_arguments(p);
	r = grouping_init(&p->series, s->query->key_n, NULL, 0, &s->run->budget);
	if (r == 0)
		r = snapshot_scan(s->run->options->snapshot, &scan);
	budget_give(&s->run->budget, p->cell_n * sizeof(*p->cells));
	grouping_done(&p->series);
	column_filter_done(&p->filter);
	column_group_done(&p->group);
	arena_done(&p->arena);
	free(p->cells);
	free(p->key_rows);
	free(p->halves);
	free(p->waiting);
	free(p->sorted);
	free(p->places);
	return r == PART_FULL ? 0 : r;
}
