/* store/compact_joint.c - thinning traces that have pieces in other segments, too.
 *
 * Each segment is rewritten by itself, at its own time, and a trace must fare the same in all of
 * them.  The first that is rewritten decides, looking at the whole trace; the others follow:
 *
 *   the trace is in a segment the rule has been at      it was kept: so it is here
 *   such a segment lists it and has none of its rows    it was dropped: so it is here
 *
 * The list is the segment's list of split traces; what was dropped stays on it as long as somebody
 * else has rows of it.  A trace of which some piece is too young for the rule is left as it is. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/compact_int.h"

static bool is_input(const struct merge *m, uint64_t number)
{
	for (size_t i = 0; i < m->input_n; i++)
		if (m->inputs[i].segment->row.number == number)
			return true;
	return false;
}

/* Has this segment rows of the trace?  What cannot be read may have. */
static int holds(struct segment *s, struct trace_id id)
{
	int r = segment_may_have(s, id);

	if (r == 1)
		r = segment_has(s, id);
	return r == -ENOMEM ? r : r != 0;
}

int merge_joint_elsewhere(const struct merge *m, const struct view *v, struct trace_id id)
{
	for (size_t i = 0; i < v->segment_n; i++) {
		int r = is_input(m, v->segments[i]->row.number)
				? 0
				: holds(v->segments[i]->segment, id);

		if (r != 0)
			return r;
	}
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

/* What segments list that the rule has been at. */
int merge_joint_begin(struct merge *m)
{
	const struct view *v = m->now.view;

	for (size_t i = 0; i < v->segment_n; i++) {
		const struct view_segment *s = v->segments[i];
		const struct trace_id *ids;
		size_t n;
		int r;

		if (s->row.thinned != m->mark || is_input(m, s->row.number))
			continue;
		r = segment_split(s->segment, &ids, &n);
		if (r < 0)
			return r;
		if (!vec_reserve(&m->listed, &m->listed_capacity, m->listed_n + n, sizeof(*ids)))
			return -ENOMEM;
		memcpy(m->listed + m->listed_n, ids, n * sizeof(*ids));
		m->listed_n += n;
	}
	if (m->listed_n > 1)
		qsort(m->listed, m->listed_n, sizeof(*m->listed), by_bytes);
	return 0;
}

static bool is_listed(const struct merge *m, struct trace_id id)
{
	return m->listed_n > 0 && bsearch(&id, m->listed, m->listed_n, sizeof(id), by_bytes);
}

/* Would the rule be at this segment now? */
static bool is_of_age(const struct merge *m, const struct manifest_segment *row)
{
	uint64_t mark;

	return thinning_rule(m->thinning, row->received_max_ns, m->now_ns, &mark) &&
	       mark == m->mark;
}

int merge_joint(const struct merge *m, const struct split_trace *t, enum joint *ret_joint)
{
	const struct view *v = m->now.view;
	bool young = false, others = false, kept = false, dropped = false;

	*ret_joint = JOINT_NONE;
	if (!t->split && !is_listed(m, t->id))
		return 0;
	for (size_t i = 0; i < v->segment_n; i++) {
		const struct view_segment *s = v->segments[i];
		int r;

		if (is_input(m, s->row.number))
			continue;
		r = holds(s->segment, t->id);
		if (r < 0)
			return r;
		others |= r == 1;
		if (s->row.thinned == m->mark) {
			kept |= r == 1;
			if (r == 0 && segment_is_split(s->segment, t->id) == 1)
				dropped = true;
		} else if (r == 1) {
			young |= !is_of_age(m, &s->row);
		}
	}
	if (kept)
		*ret_joint = JOINT_KEPT;
	else if (dropped)
		*ret_joint = JOINT_DROPPED;
	else if (young || snapshot_in_heads(&m->now, t->id))
		*ret_joint = JOINT_YOUNG;
	else if (others)
		*ret_joint = JOINT_WHOLE;
	return 0;
}

/* --- the list of the new segment --- */

int merge_dropped_add(struct merge *m, struct trace_id id)
{
	if (!vec_reserve(&m->gone, &m->gone_capacity, m->gone_n + 1, sizeof(*m->gone)))
		return -ENOMEM;
	m->gone[m->gone_n++] = id;
	return 0;
}

static bool is_here(const struct merge *m, struct trace_id id)
{
	size_t low = 0, high = m->piece_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_bytes(&m->pieces[middle].id, &id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->piece_n && trace_id_eq(m->pieces[low].id, id);
}

/* What the inputs list and have no rows of was dropped from them earlier. */
static int inherit(struct merge *m)
{
	for (size_t i = 0; i < m->input_n; i++) {
		const struct view_segment *s = m->inputs[i].segment;
		const struct trace_id *ids;
		size_t n;
		int r = s->row.thinned ? segment_split(s->segment, &ids, &n) : -ENOENT;

		if (r == -ENOENT)
			continue;
		for (size_t k = 0; r == 0 && k < n; k++)
			if (!is_here(m, ids[k]))
				r = merge_dropped_add(m, ids[k]);
		if (r < 0)
			return r;
	}
	return 0;
}

int merge_dropped_list(struct merge *m, const struct view *now, struct trace_id **ids, size_t *n)
{
	struct trace_id *all;
	size_t kept = 0, total;
	int r = inherit(m);

	if (r < 0 || m->gone_n == 0)
		return r;
	all = realloc(*ids, (*n + m->gone_n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	*ids = all;
	total = *n;
	for (size_t i = 0; i < m->gone_n; i++) {
		r = merge_joint_elsewhere(m, now, m->gone[i]);
		if (r < 0)
			return r;
		if (r > 0)
			all[total++] = m->gone[i];
	}
	if (total > 1)
		qsort(all, total, sizeof(*all), by_bytes);
	for (size_t i = 0; i < total; i++)
		if (kept == 0 || !trace_id_eq(all[i], all[kept - 1]))
			all[kept++] = all[i];
	*n = kept;
	return 0;
}
