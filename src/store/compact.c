/* store/compact.c - several segments become one.
 *
 * The pieces of all inputs are listed and sorted by trace, so that those of one trace stand next to
 * each other; then the traces by their starts.  In that order their rows are read and written:
 *
 *   pieces   (id, input, group, first row, rows)  sorted by id, then by arrival
 *   traces   (start, first piece)                 sorted by start
 *
 * A group is decoded once and held until its last piece has been written.  Inputs are neighbours
 * in arrival and hold traces of their time, so few groups are open at any moment; a trace larger
 * than a group passes through in parts. */
#include "store/compact.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "store/compact_int.h"

/* Of zstd: what is merged is not merged again soon, and nobody waits for it. */
#define MERGE_LEVEL 9

static void merge_done(struct merge *m)
{
	segment_writer_abort(m->writer);
	group_close(m->group);
	for (size_t i = 0; i < m->input_n; i++) {
		for (uint32_t k = 0; m->inputs[i].groups && k < m->inputs[i].group_n; k++)
			event_set_done(&m->inputs[i].groups[k].set);
		free(m->inputs[i].groups);
	}
	free(m->pieces);
	free(m->traces);
	free(m->split);
	free(m->refs);
	thin_free(m->thin);
	thinning_unref(m->thinning);
	free(m->dropped);
	free(m->joint);
	free(m->listed);
	free(m->gone);
	if (m->has_now)
		snapshot_done(&m->now);
	view_unref(m->view);
}

/* --- what there is --- */

static int group_list(struct merge *m, uint32_t input, uint32_t group)
{
	const struct group_piece *rows;
	uint32_t n;
	int r = m->group ? group_reopen(m->group, group)
			 : group_open(m->inputs[input].segment->segment, group, &m->group);

	if (r == 0)
		r = group_pieces(m->group, &rows, &n);
	if (r < 0)
		return r;
	if (!vec_reserve(&m->pieces, &m->piece_capacity, m->piece_n + n, sizeof(*m->pieces)))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		m->pieces[m->piece_n++] = (struct piece){
			rows[i].id, input, group, rows[i].first, rows[i].rows, rows[i].start_ns};
	m->inputs[input].groups[group].left = n;
	return 0;
}

/* Damage stays where it is; it must not keep the others from being merged. */
static void damage_note(struct merge *m, struct input *in, int r)
{
	if (r != -EBADMSG || atomic_exchange(&in->segment->damaged, true))
		return;
	atomic_fetch_add(&m->engine->counters.damaged, 1);
	engine_report(m->engine, "segment %llu is damaged: %s",
		      (unsigned long long)in->segment->row.number,
		      m->group ? group_error(m->group) : "a table");
}

static int input_list(struct merge *m, uint32_t input)
{
	struct input *in = &m->inputs[input];
	int r = 0;

	in->group_n = segment_info(in->segment->segment)->groups;
	in->groups = calloc(in->group_n + 1, sizeof(*in->groups));
	if (!in->groups)
		return -ENOMEM;
	for (uint32_t g = 0; r == 0 && g < in->group_n; g++)
		r = group_list(m, input, g);
	damage_note(m, in, r);
	m->group = group_close(m->group);
	return r;
}

static int by_id(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = memcmp(x->id.b, y->id.b, sizeof(x->id.b));

	if (c == 0)
		c = x->input < y->input ? -1 : x->input > y->input;
	if (c == 0)
		c = x->group < y->group ? -1 : x->group > y->group;
	return c ? c : x->first < y->first ? -1 : x->first > y->first;
}

size_t merge_trace_end(const struct merge *m, size_t first)
{
	size_t end = first + 1;

	while (end < m->piece_n && trace_id_eq(m->pieces[end].id, m->pieces[first].id))
		end++;
	return end;
}

/* Was a trace of pieces[first … end) found in other segments when one of the inputs was written?
 * 0, 1, negative errno. */
static int is_listed(struct merge *m, size_t first, size_t end)
{
	int r = 0;

	for (size_t i = first; r == 0 && i < end; i++) {
		struct input *in = &m->inputs[m->pieces[i].input];

		if (i > first && m->pieces[i].input == m->pieces[i - 1].input)
			continue;
		r = segment_is_split(in->segment->segment, m->pieces[i].id);
		damage_note(m, in, r);
	}
	return r;
}

static int traces_sort(struct merge *m)
{
	_cleanup_(freep)
	struct radix_item *spare = malloc((m->piece_n + 1) * sizeof(*spare));

	m->traces = malloc((m->piece_n + 1) * sizeof(*m->traces));
	m->split = malloc((m->piece_n + 1) * sizeof(*m->split));
	if (!spare || !m->traces || !m->split)
		return -ENOMEM;
	if (m->piece_n > 1)
		qsort(m->pieces, m->piece_n, sizeof(*m->pieces), by_id);
	for (size_t i = 0, end; i < m->piece_n; i = end) {
		struct trace_id id = m->pieces[i].id;
		int64_t start = m->pieces[i].start_ns;
		int listed;

		end = merge_trace_end(m, i);
		listed = is_listed(m, i, end);
		if (listed < 0)
			return listed;
		for (size_t k = i; k < end; k++)
			start = MIN(start, m->pieces[k].start_ns);
		m->traces[m->trace_n] = (struct radix_item){(uint64_t)MAX(start, 0), (uint32_t)i};
		m->split[m->trace_n++] = (struct split_trace){
			.hash = segment_id_hash(id),
			.id = id,
			.start_ns = start,
			.whole = !listed,
			.apart = listed && m->pieces[i].input == m->pieces[end - 1].input,
		};
	}
	radix_sort(m->traces, spare, m->trace_n);
	return 0;
}

/* --- rows --- */

int merge_group_fetch(struct merge *m, const struct piece *p, struct opened **ret_group)
{
	struct input *in = &m->inputs[p->input];
	struct opened *o = &in->groups[p->group];
	const struct group_zone *zone;
	int r = 0;

	*ret_group = o;
	if (o->open)
		return 0;
	r = group_open(in->segment->segment, p->group, &m->group);
	if (r < 0)
		return r;
	zone = group_zone(m->group);
	if (m->pace->wait)
		r = m->pace->wait(m->pace->context, zone->bytes);
	if (r == 0)
		r = group_rows(m->group, 0, zone->rows, &o->set);
	damage_note(m, in, r);
	m->group = group_close(m->group); /* its columns are as large as its rows */
	o->open = r == 0;
	return r;
}

static int rows_flush(struct merge *m)
{
	int r = m->ref_n == 0 ? 0
		: m->passing  ? merge_rows_write_passed(m)
			      : segment_writer_add(m->writer, m->refs, m->ref_n);

	m->ref_n = 0;
	return r;
}

/* Its last piece has been written: the writer holds what it still needs. */
void merge_group_release(struct merge *m, const struct piece *p)
{
	struct opened *o = &m->inputs[p->input].groups[p->group];

	if (!o->open || o->left > 0)
		return;
	event_set_done(&o->set);
	o->open = false;
}

int merge_trace_write(struct merge *m, size_t first)
{
	size_t end = merge_trace_end(m, first), from = first;

	for (size_t i = first; i < end; i++) {
		const struct piece *p = &m->pieces[i];
		struct opened *o;
		int r = merge_group_fetch(m, p, &o);

		if (r < 0)
			return r;
		if (!vec_reserve(&m->refs, &m->ref_capacity, m->ref_n + p->rows, sizeof(*m->refs)))
			return -ENOMEM;
		memcpy(m->refs + m->ref_n, o->set.refs + p->first, p->rows * sizeof(*m->refs));
		m->ref_n += p->rows;
		o->left--;
		if (m->ref_n < ROWS_AT_ONCE && i + 1 < end)
			continue;
		r = rows_flush(m);
		if (r < 0)
			return r;
		for (; from <= i; from++)
			merge_group_release(m, &m->pieces[from]);
	}
	return 0;
}

static int rows_write(struct merge *m)
{
	const struct segment_options options = {.values = m->engine->options.segment_values,
						.level = MERGE_LEVEL};
	int r = segment_writer_new(m->engine->fs, m->engine->dir, m->number, &options, &m->writer);

	for (size_t i = 0; r == 0 && i < m->trace_n; i++)
		r = m->rule ? merge_thin_write(m, m->traces[i].value)
			    : merge_trace_write(m, m->traces[i].value);
	return r;
}

/* --- the new segment --- */

static struct manifest_segment row_make(const struct merge *m, const struct segment_info *info)
{
	const struct manifest_segment *first = &m->inputs[0].segment->row,
				      *last = &m->inputs[m->input_n - 1].segment->row;
	struct manifest_segment row = {
		.number = m->number,
		.seq_first = first->seq_first,
		.seq_last = last->seq_last,
		.received_min_ns = first->received_min_ns,
		.received_max_ns = first->received_max_ns,
		.rows = info->rows,
		.blocks = info->blocks,
		.pieces = info->pieces,
		.bytes = info->bytes,
		.thinned = m->mark,
	};

	for (size_t i = 1; i < m->input_n; i++) {
		const struct manifest_segment *in = &m->inputs[i].segment->row;

		row.received_min_ns = MIN(row.received_min_ns, in->received_min_ns);
		row.received_max_ns = MAX(row.received_max_ns, in->received_max_ns);
	}
	return row;
}

/* With `files` held, so that no segment comes in between: one that a flush adds later looks for
 * itself which traces it shares with this one. */
static int finish(struct merge *m, const uint64_t *inputs, struct segment_info *info)
{
	struct segment_seal seal = {
		.seq_first = m->inputs[0].segment->row.seq_first,
		.seq_last = m->inputs[m->input_n - 1].segment->row.seq_last,
	};
	_cleanup_(freep)
	struct trace_id *split = NULL;
	struct view *now = engine_view(m->engine);
	int r = split_mark(now, m->split, m->trace_n, inputs, m->input_n, &m->engine->filter);

	if (r == 0)
		r = split_list(m->split, m->trace_n, &split, &seal.split_n);
	if (r == 0)
		r = merge_dropped_list(m, now, &split, &seal.split_n);
	view_unref(now);
	if (r < 0)
		return r;
	seal.split = split;
	return segment_writer_finish(TAKE_PTR(m->writer), &seal, info);
}

static int install(struct merge *m, const uint64_t *inputs, const struct segment_info *info)
{
	struct engine *e = m->engine;
	const struct manifest_segment row = row_make(m, info);
	struct engine_change change = {.remove = inputs, .remove_n = m->input_n};
	struct segment *segment;
	int r = engine_open_segment(e, m->number, &segment, NULL);

	if (r == 0) {
		change.add = view_segment_new(&row, segment);
		r = change.add ? 0 : -ENOMEM;
	}
	if (r < 0) {
		engine_discard(e, m->number);
		return r;
	}
	split_keep(change.add, m->split, m->trace_n, &e->filter);
	r = engine_change(e, &change);
	view_segment_unref(change.add);
	return r;
}

/* Nothing is left of the inputs. */
static int remove_all(struct merge *m, const uint64_t *inputs)
{
	const struct engine_change change = {.remove = inputs, .remove_n = m->input_n};

	m->writer = segment_writer_abort(m->writer);
	return engine_change(m->engine, &change);
}

static int merge_run(struct merge *m)
{
	struct engine *e = m->engine;
	uint64_t inputs[COMPACT_INPUTS];
	struct segment_info info = {0};
	int r = 0;

	for (size_t i = 0; i < m->input_n; i++)
		inputs[i] = m->inputs[i].segment->row.number;
	for (uint32_t i = 0; r == 0 && i < m->input_n; i++)
		r = input_list(m, i);
	if (r == 0)
		r = traces_sort(m);
	if (r == 0 && m->rule)
		r = merge_thin_learn(m, inputs);
	if (r == 0)
		r = rows_write(m);
	if (r < 0)
		return r;
	if (m->rule)
		merge_thin_forget(m);
	pthread_mutex_lock(&e->files);
	if (m->trace_n == 0) {
		r = remove_all(m, inputs);
	} else {
		r = finish(m, inputs, &info);
		if (r == 0)
			r = install(m, inputs, &info);
	}
	pthread_mutex_unlock(&e->files);
	if (r == 0) {
		if (m->rule)
			merge_thin_count(m);
		atomic_fetch_add(&e->counters.compactions, 1);
		atomic_fetch_add(&e->counters.compacted_rows, info.rows);
		atomic_fetch_add(&e->counters.compacted_bytes, info.bytes);
	}
	return r;
}

/* The inputs have more distinct strings or shapes than one segment may: from now on they are merged
 * as two halves, or, if there are only two, not at all.  Each failure puts a boundary somewhere, so
 * there is an end to it; a restart forgets them, and finds out again.  False: there is one. */
static bool set_apart(struct merge *m)
{
	if (m->input_n < 2)
		return false;
	atomic_store(&m->inputs[m->input_n / 2].segment->apart, true);
	return true;
}

/* With `merges` held. */
static int merge(struct engine *e, enum compact_zeal zeal, const struct compact_pace *pace)
{
	struct merge m = {.engine = e, .pace = pace};
	size_t first = 0;
	int r;

	m.now_ns = pace->now_ns ? pace->now_ns : clock_wall_ns();
	pthread_mutex_lock(&e->files);
	r = engine_tidy(e);
	m.view = engine_view(e);
	m.thinning = engine_thinning(e);
	m.input_n = r == 0 ? compact_pick(e, m.view, zeal, &first) : 0;
	if (m.input_n > 0)
		m.mark = m.view->segments[first]->row.thinned;
	else if (r == 0 && m.thinning)
		m.input_n = compact_pick_thin(e, m.view, m.thinning, m.now_ns, &first, &m.rule,
					      &m.mark);
	if (m.input_n > 0)
		m.number = engine_number(e);
	pthread_mutex_unlock(&e->files);
	for (size_t i = 0; i < m.input_n; i++)
		m.inputs[i].segment = m.view->segments[first + i];
	if (m.input_n > 0) {
		r = merge_run(&m);
		if (r == -E2BIG && set_apart(&m))
			r = 0; /* the halves may be merged, and others */
		if (r < 0 && r != -ECANCELED)
			atomic_fetch_add(&e->counters.compaction_failures, 1);
		r = r == 0 ? 1 : r;
	}
	merge_done(&m);
	return r;
}

int compact_once(struct engine *e, enum compact_zeal zeal, const struct compact_pace *pace)
{
	int r;

	pthread_mutex_lock(&e->merges);
	r = merge(e, zeal, pace);
	pthread_mutex_unlock(&e->merges);
	return r;
}

int compact_until_done(struct engine *e, bool all)
{
	static const struct compact_pace at_once = {0};
	int r;

	do {
		r = compact_once(e, all ? COMPACT_ALL : COMPACT_IDLE, &at_once);
	} while (r > 0);
	return r;
}
