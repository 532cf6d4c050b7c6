/* exec/column_rows.c - rows of a group: into groups, series or orders. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "exec/column_worker.h"

/* --- rows of the answer --- */

/* The outputs are there: they become a row, or go into their group. */
static int emit(struct column_worker *w, uint64_t time_ns)
{
	const struct column_query *q = w->query;
	uint32_t row = 0;
	int r;

	if (column_grouped(q)) {
		r = row_target_find(w->to, w->outputs, time_ns, &row);
		if (r == 0)
			r = grouping_add(w->to->groups, row, w->outputs + q->key_n, &w->sample);
		return r;
	}
	r = ordering_add(&w->out->ordering, w->outputs, w->outputs + q->key_n, NULL);
	if (r == 0 && q->kind == COLUMN_ROWS && q->limit && w->out->ordering.n >= q->limit)
		return PART_FULL;
	return r;
}

static int outputs_emit(struct column_worker *w, uint64_t time_ns)
{
	const struct column_query *q = w->query;

	if (q->where_after && !value_is_true(expr_eval(&w->env, q->where_after)))
		return w->env.failed;
	for (uint32_t i = 0; i < q->output_n; i++)
		w->outputs[i] = q->outputs[i] ? expr_eval(&w->env, q->outputs[i]) : value_nil();
	return w->env.failed < 0 ? w->env.failed : emit(w, time_ns);
}

static int unnest(struct column_worker *w, uint32_t at, uint64_t time_ns)
{
	struct value v;
	int r = 0;

	if (at == w->query->unnest_n)
		return outputs_emit(w, time_ns);
	v = expr_eval(&w->env, w->query->unnest[at]);
	if (v.type != V_LIST) {
		w->slots[at] = v;
		return unnest(w, at + 1, time_ns);
	}
	for (uint32_t i = 0; r == 0 && i < v.n; i++) {
		w->slots[at] = v.list[i];
		r = unnest(w, at + 1, time_ns);
	}
	return r;
}

int worker_emit(struct column_worker *w, uint64_t time_ns)
{
	if (w->sample.weight != 1 && !column_grouped(w->query))
		atomic_store_explicit(&w->scan->run->unweighted, true, memory_order_relaxed);
	return unnest(w, 0, time_ns);
}

/* --- one row --- */

int worker_flush(struct column_worker *w)
{
	struct row_target *to = w->scan->exact ? &w->exact : &w->part;
	int r = fast_rows_flush(&w->fast, to->groups, w->scan->arguments);

	return r == 0 && column_grouped(w->query) ? grouping_account(to->groups) : r;
}

static int fast_row(struct column_worker *w, uint32_t row, uint32_t group)
{
	int64_t ns = w->scan->durations ? row_duration(&w->group, row) : -1;
	int r = fast_rows_full(&w->fast) ? worker_flush(w) : 0;

	if (r == 0)
		r = fast_rows_room(&w->fast, w->to->groups->n);
	if (r == 0)
		fast_rows_put(&w->fast, group, ns);
	return r;
}

static int settled_row(struct column_worker *w, uint32_t row, uint32_t group)
{
	const struct column_query *q = w->query;
	int r = column_group_slots(&w->group, row, w->slots);

	/* Nothing is to be taken apart. */
	for (uint32_t i = 0; r == 0 && i < q->unnest_n; i++)
		w->slots[i] = expr_eval(&w->env, q->unnest[i]);
	for (uint32_t i = q->key_n; r == 0 && i < q->output_n; i++)
		w->outputs[i] = q->outputs[i] ? expr_eval(&w->env, q->outputs[i]) : value_nil();
	if (r == 0)
		r = w->env.failed;
	if (r == 0)
		r = grouping_add(w->to->groups, group, w->outputs + q->key_n, &w->sample);
	return r;
}

static int open_row(struct column_worker *w, uint32_t row, bool ask)
{
	int r = column_group_slots(&w->group, row, w->slots);

	if (r < 0)
		return r;
	if (ask && !value_is_true(expr_eval(&w->env, w->query->where)))
		return w->env.failed;
	return worker_emit(w, w->group.times ? w->group.times[row] : 0);
}

static bool row_in_time(const struct column_worker *w, uint32_t row)
{
	const struct plan_range *range = &w->scan->run->range;
	uint64_t time_ns = w->group.times[row];
	uint32_t step;

	if (w->query->kind == COLUMN_SERIES && !series_step(&w->scan->steps, time_ns, &step))
		return false;
	return range_has(range, time_ns);
}

/* The group of a row whose shape lacks one key, of a series its number: 1; 0 when the key is
 * nothing with a code. */
static int half_group(struct column_worker *w, uint32_t code, uint32_t row, uint32_t *ret_group)
{
	uint32_t half = w->shapes->keys[code], at, text = UINT32_MAX;
	const struct value *known = grouping_keys(&w->shapes->halves, half);
	struct leaf_column *c;
	int r = column_group_leaf(&w->group, (uint32_t)known[0].i, &c);

	if (r < 0)
		return r;
	at = c->at[row];
	if (at == LEAF_TWICE)
		return 0;
	if (at != LEAF_NOWHERE) {
		const struct group_column *column = c->columns[at >> LEAF_SHIFT];

		if (!column->by_code || column->type != VALUE_STRING)
			return 0;
		text = column->codes[at & ((1u << LEAF_SHIFT) - 1)];
	}
	r = row_target_half(w->to, half, text, ret_group);
	return r < 0 ? r : 1;
}

/* A row whose shape is settled, or nearly so. */
static int known_row(struct column_worker *w, uint32_t row, uint32_t code)
{
	uint32_t group;
	int r;

	if (w->shapes->settled[code] == SHAPE_SETTLED) {
		r = row_target_settled(w->to, w->shapes->keys[code], &group);
	} else {
		r = half_group(w, code, row, &group);
		if (r == 0)
			return open_row(w, row, false);
		r = r > 0 ? 0 : r;
	}
	if (r == 0 && w->query->kind == COLUMN_SERIES)
		r = row_target_cell(w->to, group, w->group.times[row], &group);
	if (r < 0)
		return r;
	return w->scan->fast && !w->group.weights ? fast_row(w, row, group)
						  : settled_row(w, row, group);
}

static int one_row(struct column_worker *w, uint32_t row)
{
	uint32_t code = column_group_shape(&w->group, row);
	uint8_t verdict = w->shapes->verdicts[code];
	int r = 0;

	if (verdict == SHAPE_NO ||
	    (verdict == SHAPE_ASK && w->filter.n > 0 && !w->group.few_n &&
	     !column_filter_may(&w->filter, row, w->shapes->needed[code])) ||
	    (w->check_times && !row_in_time(w, row)))
		return 0;
	if (w->group.weights || w->scan->timed)
		r = column_group_sample(&w->group, row, w->scan->timed, &w->sample);
	if (r < 0)
		return r;
	if (!column_grouped(w->query) || verdict == SHAPE_ASK ||
	    w->shapes->settled[code] == SHAPE_OPEN)
		return open_row(w, row, verdict == SHAPE_ASK);
	return known_row(w, row, code);
}

/* --- rows by their shapes alone --- */

/* What becomes of the rows of each shape of the group; *ret_leaves: leaves that rows of LOCAL_HALF
 * have their keys from. */
static int place_locals(struct column_worker *w, uint64_t *ret_leaves)
{
	const struct column_shapes *s = w->shapes;
	const struct group_zone *zone = group_zone(w->group.group);
	int r = 0;

	*ret_leaves = 0;
	for (uint32_t i = 0; r == 0 && i < zone->shape_n; i++) {
		uint32_t way = s->ways[zone->shapes[i]], *local = &w->locals[i];

		if (way < SHAPE_WAYS)
			r = row_target_settled(w->to, way, local);
		else if (way < 2 * SHAPE_WAYS) {
			*local = LOCAL_HALF;
			*ret_leaves |= 1ULL << grouping_keys(&s->halves, way - SHAPE_WAYS)[0].i;
		} else
			*local = way == SHAPE_WAY_NO ? LOCAL_NO : LOCAL_ASK;
		if (r == 0 && way < SHAPE_WAYS && *local >= LOCAL_GROUPS)
			r = -ENOSPC;
	}
	return r;
}

/* Groups of rows that have their key in this leaf's column. */
static int place_halves(struct column_worker *w, uint32_t leaf)
{
	const struct group_zone *zone = group_zone(w->group.group);
	const struct column_shapes *s = w->shapes;
	const struct group_column *c;
	struct leaf_column *column;
	uint32_t last = UINT32_MAX;
	int r = column_group_columns(&w->group, leaf, &column);

	/* Where there are several columns a row may have values in more than one. */
	if (r < 0 || column->n != 1)
		return r;
	c = column->columns[0];
	if (c->type != VALUE_STRING)
		return 0;
	for (uint32_t i = 0; r == 0 && i < c->n; i++) {
		uint32_t row = c->rows[i], local = w->group.indices[row], half, code;

		if (w->locals[local] != LOCAL_HALF)
			continue;
		half = s->ways[zone->shapes[local]] - SHAPE_WAYS;
		if (grouping_keys(&s->halves, half)[0].i != (int64_t)leaf)
			continue;
		code = c->by_code ? c->codes[i] : tables_find(s->tables, column_text(c, i));
		if (row == last || code == UINT32_MAX)
			w->halves[row] = LOCAL_ASK;
		else
			r = row_target_half(w->to, half, code, &w->halves[row]);
		if (r == 0 && w->halves[row] > LOCAL_ASK)
			r = -ENOSPC;
		last = row;
	}
	return r;
}

/* Nothing but group and duration is asked of settled rows, whatever their times. */
static bool by_shape(const struct column_worker *w)
{
	return w->query->kind == COLUMN_GROUP && w->scan->fast && !w->group.weights &&
	       !w->check_times && !w->group.few_n;
}

int worker_rows_begin(struct column_worker *w)
{
	uint64_t leaves = 0;
	int r = 0;

	w->to = w->scan->exact && !w->group.weights ? &w->exact : &w->part;
	if (column_grouped(w->query))
		r = row_target_follow(w->to, w->shapes);
	if (r < 0 || !by_shape(w))
		return r;
	if (!w->locals)
		w->locals = malloc(2 * SEGMENT_GROUP_ROWS * sizeof(*w->locals));
	if (!w->locals)
		return -ENOMEM;
	w->halves = w->locals + SEGMENT_GROUP_ROWS;
	r = place_locals(w, &leaves);
	if (leaves)
		for (uint32_t i = 0; i < w->group.row_n; i++)
			w->halves[i] = LOCAL_ASK;
	for (; r == 0 && leaves; leaves &= leaves - 1)
		r = place_halves(w, (uint32_t)__builtin_ctzll(leaves));
	return r == 0 ? fast_rows_room(&w->fast, w->to->groups->n) : r;
}

/* A duration from its column; no more than that is to be known of it. */
static int64_t plain_duration(const struct column_worker *w, uint32_t row)
{
	int64_t ns = (int64_t)w->group.durations[row];

	if (ns > 0)
		return ns;
	return ns == 0 && !column_group_ended(&w->group, row) ? -1 : 0;
}

/* Rows from *at on that need no more than their group and duration, up to one that does, to `end`,
 * or until they must be flushed. */
static void rows_by_group(struct column_worker *w, uint32_t *at, uint32_t end)
{
	const uint32_t *indices = w->group.indices, *locals = w->locals, *halves = w->halves;
	const int64_t *durations =
		w->scan->durations && w->plain_times ? (const int64_t *)w->group.durations : NULL;
	struct fast_rows fast = w->fast; /* in registers */
	uint32_t row = *at;

	for (; row < end && !fast_rows_full(&fast); row++) {
		uint32_t local = locals[indices[row]];
		int64_t ns = -1;

		if (local == LOCAL_HALF)
			local = halves[row];
		if (local == LOCAL_NO)
			continue;
		if (local > LOCAL_NO)
			break;
		if (durations) {
			ns = durations[row];
			if (ns <= 0)
				ns = plain_duration(w, row);
		} else if (w->scan->durations) {
			ns = row_duration(&w->group, row);
		}
		fast_rows_put(&fast, local, ns);
	}
	w->fast.n = fast.n;
	*at = row;
}

static int rows_by_shape(struct column_worker *w, uint32_t first, uint32_t n)
{
	uint32_t row = first, end = first + n;
	int r = 0;

	while (r == 0) {
		rows_by_group(w, &row, end);
		if (row == end)
			break;
		if (fast_rows_full(&w->fast)) {
			r = worker_flush(w);
			continue;
		}
		r = one_row(w, row++);
		if (w->arena.bytes > WORKER_ARENA_BYTES)
			arena_clear(&w->arena);
	}
	return r;
}

int worker_rows(struct column_worker *w, uint32_t first, uint32_t n)
{
	int r = 0;

	if (by_shape(w))
		r = rows_by_shape(w, first, n);
	else
		for (uint32_t row = first; r == 0 && row < first + n; row++) {
			r = one_row(w, row);
			if (w->arena.bytes > WORKER_ARENA_BYTES)
				arena_clear(&w->arena);
		}
	return r;
}

int worker_few(struct column_worker *w)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->group.few_n; i++)
		r = one_row(w, w->group.few[i]);
	return r;
}
