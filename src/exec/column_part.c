/* exec/column_part.c - one part of a query over columns: groups of rows in, one answer out. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/column_worker.h"
#include "exec/probability.h"
#include "exec/row_field.h"
#include "model/event_unique.h"
#include "store/scan.h"

#define CHECK_ROWS 4096 /* between two looks at the budget, where rows come one by one */

/* --- groups --- */

static int follow_segment(struct column_worker *w, const struct segment *segment)
{
	if (w->shapes && w->shapes->segment == segment)
		return 0;
	w->shapes = NULL;
	return column_scan_shapes(w->scan, segment, &w->shapes);
}

/* No span begins later. */
static uint64_t zone_end(const struct group_zone *zone)
{
	return (uint64_t)zone->start_max_ns + (uint64_t)zone->duration_max_ns;
}

static bool wanted(void *context, struct segment *segment, uint32_t group)
{
	struct column_worker *w = context;
	const struct plan_range *range = &w->scan->run->range;
	const struct group_zone *zone;
	bool possible = false;

	if (!query_meets(w->scan->run, segment))
		return false;
	if (follow_segment(w, segment) < 0)
		return true; /* and fails there, with the reason */
	if (!w->shapes->possible || w->shapes->counted)
		return false;
	zone = tables_zone(w->shapes->tables, group);
	/* A piece without a time counts as 0, and has no row in any range. */
	if ((range->from_ns && zone_end(zone) < (uint64_t)range->from_ns) ||
	    (range->to_ns && zone->start_min_ns >= range->to_ns))
		return false;
	for (uint32_t i = 0; !possible && i < zone->shape_n; i++)
		possible = w->shapes->verdicts[zone->shapes[i]] != SHAPE_NO;
	return possible;
}

/* One row of a trace may say how all of them were sampled, and they are one sample. */
static bool wholes(void *context, struct segment *segment)
{
	struct column_worker *w = context;

	if (!query_meets(w->scan->run, segment))
		return false; /* no group is wanted */
	return w->scan->run->threshold || follow_segment(w, segment) < 0 || w->shapes->weighted;
}

/* Drivers that every row of the group must fit which may match at all. */
static uint8_t always_needed(const struct column_worker *w, const struct group_zone *zone)
{
	const struct column_shapes *s = w->shapes;
	uint8_t always = UINT8_MAX;

	if (s->always || w->filter.n == 0)
		return w->filter.n ? s->always : 0;
	for (uint32_t i = 0; always && i < zone->shape_n; i++) {
		uint32_t code = zone->shapes[i];

		if (s->verdicts[code] != SHAPE_NO)
			always &= s->verdicts[code] == SHAPE_ASK ? s->needed[code] : 0;
	}
	return always;
}

/* What is known of the group before a row is looked at. */
static void look_at_zone(struct column_worker *w)
{
	const struct group_zone *zone = group_zone(w->group.group);
	const struct plan_range *range = &w->scan->run->range;

	w->check_times = w->query->kind == COLUMN_SERIES ||
			 (range_is_set(range) && w->shapes->timeless) ||
			 (range->from_ns && zone->start_min_ns < range->from_ns) ||
			 (range->to_ns && zone_end(zone) >= (uint64_t)range->to_ns);
	/* Times that are neither 0 nor beyond what a time can be say nothing of a duration. */
	w->plain_times =
		zone->start_min_ns > 0 && zone_end(zone) < INT64_MAX && !w->shapes->timeless;
}

/* Columns that every row may need. */
static int open_columns(struct column_worker *w)
{
	const struct group_zone *zone = group_zone(w->group.group);
	bool ask = false;
	int r = column_group_indices(&w->group);

	if (r == 0 && (w->check_times || (w->scan->durations && !w->plain_times)))
		r = column_group_times(&w->group);
	if (r == 0 && w->scan->durations)
		r = column_group_durations(&w->group);
	for (uint32_t i = 0; !ask && i < zone->shape_n; i++)
		ask = w->shapes->verdicts[zone->shapes[i]] == SHAPE_ASK;
	if (r == 0 && ask && w->filter.n > 0)
		r = column_filter_group(&w->filter, &w->group);
	if (r == 0)
		r = column_group_weigh(&w->group, w->scan->run->threshold);
	return r;
}

/* Where rows that may match are few they are found first, and nothing is read of the others.
 * FEW_DONE, PART_FULL, negative errno; 0: it is not one of those. */
#define FEW_DONE 2
static int see_few(struct column_worker *w)
{
	struct column_group *g = &w->group;
	uint8_t always = always_needed(w, group_zone(g->group));
	int r;

	if (!always || w->shapes->weighted)
		return 0;
	r = column_filter_few(&w->filter, g, always);
	if (r <= 0 || g->few_n == 0)
		return r > 0 ? FEW_DONE : r;
	r = group_few_indices(g->group, g->few, g->few_n, &g->indices);
	if (r == 0 && (w->check_times || w->scan->durations))
		r = column_group_times(g);
	if (r == 0)
		r = worker_rows_begin(w);
	if (r == 0)
		r = worker_few(w);
	return r == 0 ? FEW_DONE : r;
}

static int see_rows(struct column_worker *w, const uint32_t *pieces, uint32_t n)
{
	const struct group_piece *all;
	uint32_t all_n;
	int r = open_columns(w);

	if (r == 0)
		r = worker_rows_begin(w);
	if (r < 0)
		return r;
	if (w->group.weights)
		atomic_store(&w->scan->run->estimated, true);
	if (!pieces)
		return worker_rows(w, 0, w->group.row_n);
	r = group_pieces(w->group.group, &all, &all_n);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = worker_rows(w, all[pieces[i]].first, all[pieces[i]].rows);
	return r;
}

static int see_group(void *context, struct segment_group *group, const uint32_t *pieces, uint32_t n)
{
	struct column_worker *w = context;
	struct query_at *run = w->scan->run;
	int r = atomic_load_explicit(&w->scan->failed, memory_order_relaxed);

	if (r == 0)
		r = budget_check(&run->budget);
	if (r == 0)
		r = follow_segment(w, group_segment(group));
	arena_clear(&w->arena);
	if (r == 0)
		r = column_group_open(&w->group, w->shapes, group,
				      w->groups++ * COLUMN_PARTS +
					      (uint64_t)(w->out - w->scan->parts));
	if (r < 0)
		return r;
	look_at_zone(w);
	w->sample = (struct sample){.weight = 1, .trace = 1};
	atomic_fetch_add(&run->rows, w->group.row_n);
	atomic_fetch_add(&run->traces, pieces ? n : group_zone(group)->pieces);
	r = pieces ? 0 : see_few(w);
	if (r == 0)
		r = see_rows(w, pieces, n);
	else if (r == FEW_DONE)
		r = 0;
	if (r == 0 && column_grouped(w->query) && w->to)
		r = grouping_account(w->to->groups);
	return r;
}

/* --- traces that lie in several places, and heads --- */

static int see_row(struct column_worker *w, struct event_ref ref)
{
	const struct plan_range *range = &w->scan->run->range;
	const struct event *e = event_get(ref);
	const struct column_query *q = w->query;
	uint32_t step;

	if (!q->only_spans &&
	    (e->type == EVENT_BEGIN || e->type == EVENT_END || e->format == FORMAT_NATIVE))
		return -EOPNOTSUPP;
	if (e->type != EVENT_SPAN)
		return 0;
	if (!range_has(range, e->time_ns) ||
	    (q->kind == COLUMN_SERIES && !series_step(&w->scan->steps, e->time_ns, &step)))
		return 0;
	for (uint32_t i = 0; i < q->leaf_n; i++)
		w->slots[q->unnest_n + i] = row_field(ref, q->leaves[i], q->tracepoint, &w->arena);
	if (q->where && !value_is_true(expr_eval(&w->env, q->where)))
		return w->env.failed;
	w->sample.time_ns = e->time_ns;
	w->sample.id = e->id1;
	return worker_emit(w, e->time_ns);
}

static int see_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		     bool more)
{
	struct column_worker *w = context;
	struct query_at *run = w->scan->run;
	_cleanup_(freep)
	struct event_ref *once = malloc((n + 1) * sizeof(*once));
	int r = once ? budget_check(&run->budget) : -ENOMEM;

	if (r < 0)
		return r;
	if (n)
		memcpy(once, refs, n * sizeof(*once));
	r = events_unique(once, &n);
	w->sample = (struct sample){
		.weight = trace_weight(id, once, n, run->threshold),
		.trace = load_be64(id.b) ^ load_be64(id.b + 8),
	};
	w->sample.trace += w->sample.trace == 0;
	w->to = w->scan->exact && w->sample.weight == 1 ? &w->exact : &w->part;
	if (w->sample.weight != 1)
		atomic_store(&run->estimated, true);
	atomic_fetch_add(&run->rows, n);
	atomic_fetch_add(&run->traces, !more);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = see_row(w, once[i]);
		if (i % CHECK_ROWS == CHECK_ROWS - 1 && r == 0)
			r = budget_check(&run->budget);
		if (w->arena.bytes > WORKER_ARENA_BYTES)
			arena_clear(&w->arena);
	}
	return r;
}

/* --- the part --- */

static struct value nothing(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_nil();
}

int column_worker_new(struct column_scan *s, struct grouping *exact,
		      struct column_worker **ret_worker)
{
	struct column_worker *w = calloc(1, sizeof(*w));
	int r = w ? expr_memo_new(&w->memo) : -ENOMEM;

	if (r == 0) {
		w->scan = s;
		w->query = s->query;
		w->group.query = s->query;
		w->group.arena = &w->arena;
		w->env = (struct expr_env){
			.columns = w->slots,
			.element = nothing,
			.arena = &w->arena,
			.memo = w->memo,
		};
		column_filter_init(&w->filter, s->query, w->memo, &w->arena);
		w->fast.keeps =
			fast_rows_need(s->query->aggregates, s->arguments, s->query->aggregate_n);
		r = row_target_init(&w->exact, s->query, &s->steps, exact, &s->run->budget);
	}
	if (r < 0)
		column_worker_free(w);
	else
		*ret_worker = w;
	return r;
}

struct column_worker *column_worker_free(struct column_worker *w)
{
	if (!w)
		return NULL;
	row_target_done(&w->exact);
	row_target_done(&w->part);
	fast_rows_done(&w->fast);
	column_filter_done(&w->filter);
	column_group_done(&w->group);
	expr_memo_free(w->memo);
	arena_done(&w->arena);
	free(w->locals);
	group_close(w->room);
	free(w);
	return NULL;
}

int column_worker_part(struct column_worker *w, uint32_t part)
{
	struct column_scan *s = w->scan;
	const struct scan scan = {
		.part = part,
		.parts = COLUMN_PARTS,
		.threshold = s->run->threshold,
		.rows = true,
		.wholes = wholes,
		.wanted = wanted,
		.group = see_group,
		.trace = see_trace,
		.context = w,
		.few = w->filter.n > 0,
		.room = &w->room,
	};
	int r;

	w->out = &s->parts[part];
	w->groups = 0;
	r = row_target_init(&w->part, s->query, &s->steps, &w->out->groups, &s->run->budget);
	if (r == 0)
		r = snapshot_scan(s->run->options->snapshot, &scan);
	if (r >= 0 && !s->exact) {
		int e = worker_flush(w);

		r = e < 0 ? e : r;
		w->fast.group_n = 0; /* the next part has others */
	}
	row_target_done(&w->part);
	return r == PART_FULL ? 0 : r;
}

int column_worker_end(struct column_worker *w)
{
	return w->scan->exact ? worker_flush(w) : 0;
}
