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

	if (!column_scan_in_range(w->scan, segment))
		return false;
	if (follow_segment(w, segment) < 0)
		return true; /* and fails there, with the reason */
	if (!w->shapes->possible)
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

/* Columns that every row may need, and whether its time must be looked at. */
static int open_columns(struct column_worker *w)
{
	const struct group_zone *zone = group_zone(w->group.group);
	const struct plan_range *range = &w->scan->run->range;
	bool ask = false;
	int r = column_group_indices(&w->group);

	w->check_times = w->query->kind == COLUMN_SERIES ||
			 (range->from_ns && zone->start_min_ns < range->from_ns) ||
			 (range->to_ns && zone_end(zone) >= (uint64_t)range->to_ns);
	/* Times that are neither 0 nor beyond what a time can be say nothing of a duration. */
	w->plain_times =
		zone->start_min_ns > 0 && zone_end(zone) < INT64_MAX && !w->shapes->timeless;
	if (r == 0 && (w->check_times || (w->scan->durations && !w->plain_times)))
		r = column_group_times(&w->group);
	if (r == 0 && w->scan->durations)
		r = column_group_durations(&w->group);
	for (uint32_t i = 0; !ask && i < zone->shape_n; i++)
		ask = w->shapes->verdicts[zone->shapes[i]] == SHAPE_ASK;
	if (r == 0 && ask && w->filter.n > 0)
		r = column_filter_group(&w->filter, &w->group);
	if (r == 0)
		r = column_group_weigh(&w->group);
	return r;
}

static int see_group(void *context, struct segment_group *group, const uint32_t *pieces, uint32_t n)
{
	struct column_worker *w = context;
	struct query_at *run = w->scan->run;
	const struct group_piece *all;
	uint32_t all_n;
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
	if (r == 0)
		r = open_columns(w);
	if (r == 0)
		r = worker_rows_begin(w);
	if (r < 0)
		return r;
	w->sample = (struct sample){.weight = 1, .trace = 1};
	atomic_fetch_add(&run->rows, w->group.row_n);
	atomic_fetch_add(&run->traces, pieces ? n : group_zone(group)->pieces);
	if (w->group.weights)
		atomic_store(&run->estimated, true);
	if (!pieces)
		r = worker_rows(w, 0, w->group.row_n);
	else
		r = group_pieces(group, &all, &all_n);
	for (uint32_t i = 0; r == 0 && pieces && i < n; i++)
		r = worker_rows(w, all[pieces[i]].first, all[pieces[i]].rows);
	if (r == 0 && column_grouped(w->query))
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
	if ((range->from_ns && e->time_ns < (uint64_t)range->from_ns) ||
	    (range->to_ns && e->time_ns >= (uint64_t)range->to_ns) ||
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
		.weight = trace_weight(id, once, n),
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
		.rows = true,
		.wanted = wanted,
		.group = see_group,
		.trace = see_trace,
		.context = w,
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
	}
	row_target_done(&w->part);
	return r == PART_FULL ? 0 : r;
}

int column_worker_end(struct column_worker *w)
{
	return w->scan->exact ? worker_flush(w) : 0;
}
