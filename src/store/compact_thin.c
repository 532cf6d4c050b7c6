/* store/compact_thin.c - thinning while segments are merged: two rounds over their traces.
 *
 * Whole traces are judged: those with pieces in other segments by all of their rows
 * (store/compact_joint.c), giants page by page.  One of which something is too young for the rule
 * stays as it is; that has nothing to do with its hash, so sums stay right. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "model/batch_copy.h"
#include "store/compact_int.h"

/* --- which traces are whole --- */

static size_t place_of(const struct merge *m, struct trace_id id)
{
	uint64_t hash = segment_id_hash(id);
	size_t low = 0, high = m->trace_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->split[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < m->trace_n && !trace_id_eq(m->split[low].id, id))
		low++;
	return low; /* it is there: the list was made of the same pieces */
}

/* What is to be said of each trace with regard to others that have it, too. */
static int joints_find(struct merge *m, const uint64_t *inputs)
{
	struct engine *e = m->engine;
	int r;

	engine_snapshot(e, &m->now);
	m->has_now = true;
	pthread_mutex_lock(&e->files);
	r = split_mark(m->now.view, m->split, m->trace_n, inputs, m->input_n, &e->filter);
	pthread_mutex_unlock(&e->files);
	if (r == 0)
		r = merge_joint_begin(m);
	for (size_t i = 0; r == 0 && i < m->trace_n; i++) {
		enum joint joint;

		m->split[i].split |= snapshot_in_heads(&m->now, m->split[i].id);
		r = merge_joint(m, &m->split[i], &joint);
		if (r == 0)
			m->joint[i] = (uint8_t)joint;
	}
	return r;
}

static bool is_large(const struct merge *m, size_t first)
{
	size_t rows = 0;

	for (size_t i = first, end = merge_trace_end(m, first); i < end; i++)
		rows += m->pieces[i].rows;
	return rows >= ROWS_AT_ONCE;
}

/* --- rows --- */

/* All rows of a trace in m->refs; the groups stay open until trace_release(). */
static int trace_gather(struct merge *m, size_t first)
{
	m->ref_n = 0;
	for (size_t i = first, end = merge_trace_end(m, first); i < end; i++) {
		const struct piece *p = &m->pieces[i];
		struct opened *o;
		int r = merge_group_fetch(m, p, &o);

		if (r < 0)
			return r;
		if (!vec_reserve(&m->refs, &m->ref_capacity, m->ref_n + p->rows, sizeof(*m->refs)))
			return -ENOMEM;
		memcpy(m->refs + m->ref_n, o->set.refs + p->first, p->rows * sizeof(*m->refs));
		m->ref_n += p->rows;
	}
	return 0;
}

static void trace_release(struct merge *m, size_t first)
{
	m->ref_n = 0;
	for (size_t i = first, end = merge_trace_end(m, first); i < end; i++) {
		const struct piece *p = &m->pieces[i];

		m->inputs[p->input].groups[p->group].left--;
		merge_group_release(m, p);
	}
}

/* Rows of one batch that stand together, in a batch that says what its traces have passed. */
static int rows_copy(const struct event_ref *refs, size_t n, uint64_t threshold,
		     struct batch **ret_batch)
{
	_cleanup_(batch_unrefp)
	struct batch *to = batch_new(0);
	const struct batch *from = refs[0].batch;
	struct batch_copy copy;
	int r;

	if (!to)
		return -ENOMEM;
	batch_copy_init(&copy, to);
	for (size_t i = 0; i < n; i++)
		batch_copy_event(&copy, refs[i]);
	batch_copy_done(&copy);
	to->owner = batch_string(to, batch_text(from, from->owner));
	to->sender = batch_string(to, batch_text(from, from->sender));
	to->received_ns = from->received_ns;
	to->kept_threshold = threshold;
	r = batch_seal(to);
	if (r == 0)
		*ret_batch = TAKE_PTR(to);
	return r;
}

int merge_rows_write_passed(struct merge *m)
{
	uint64_t threshold = m->threshold;
	struct batch **made = calloc(m->ref_n + 1, sizeof(*made));
	size_t made_n = 0;
	int r = 0;

	if (!made)
		return -ENOMEM;
	for (size_t i = 0, end; r == 0 && i < m->ref_n; i = end) {
		const struct batch *from = m->refs[i].batch;

		for (end = i + 1; end < m->ref_n && m->refs[end].batch == from;)
			end++;
		if (from->kept_threshold == threshold)
			continue;
		r = rows_copy(m->refs + i, end - i, threshold, &made[made_n]);
		if (r < 0)
			break;
		for (size_t k = i; k < end; k++)
			m->refs[k] = (struct event_ref){made[made_n], (uint32_t)(k - i)};
		made_n++;
	}
	if (r == 0)
		r = segment_writer_add(m->writer, m->refs, m->ref_n);
	while (made_n > 0)
		batch_unref(made[--made_n]);
	free(made);
	return r;
}

/* --- the two rounds --- */

/* What the first round has let go of is wanted again. */
static void groups_reset(struct merge *m)
{
	for (size_t i = 0; i < m->piece_n; i++)
		m->inputs[m->pieces[i].input].groups[m->pieces[i].group].left++;
}

/* --- looking at a trace, wherever its rows are --- */

static int page_add(void *context, const struct event_ref *refs, size_t n)
{
	return thin_pages_add(context, refs, n);
}

static int pages_look(struct merge *m, struct trace_id id)
{
	thin_pages_begin(m->thin);
	return snapshot_trace_pages(&m->now, id, page_add, m->thin);
}

/* Rows from here when all are here, otherwise from everywhere; page by page if there are many. */
static int trace_look(struct merge *m, size_t first, struct thin_decision *decision)
{
	struct trace_id id = m->pieces[first].id;
	bool here = m->joint[place_of(m, id)] == JOINT_NONE;
	struct event_set set = {0};
	int r = is_large(m, first) ? -E2BIG
		: here             ? trace_gather(m, first)
				   : snapshot_trace_most(&m->now, id, ROWS_AT_ONCE, &set);

	if (r == -E2BIG) {
		r = pages_look(m, id);
		if (r == 0 && decision)
			thin_decide_pages(m->thin, decision);
		else if (r == 0)
			r = thin_observe_pages(m->thin);
	} else if (r == 0) {
		const struct event_ref *refs = here ? m->refs : set.refs;
		size_t n = here ? m->ref_n : set.n;

		r = decision ? thin_decide(m->thin, refs, n, decision)
			     : thin_observe(m->thin, refs, n);
	}
	m->ref_n = 0;
	event_set_done(&set);
	return r;
}

static bool is_judged(const struct merge *m, size_t first)
{
	enum joint joint = m->joint[place_of(m, m->pieces[first].id)];

	return joint == JOINT_NONE || joint == JOINT_WHOLE;
}

/* What cannot be read elsewhere must not keep the rest from being thinned: such a trace is left. */
static bool is_elsewhere_bad(struct merge *m, size_t first, int error)
{
	uint8_t *joint = &m->joint[place_of(m, m->pieces[first].id)];

	if (*joint == JOINT_NONE || error == -ENOMEM || error == -ECANCELED)
		return false;
	*joint = JOINT_YOUNG;
	return true;
}

int merge_thin_learn(struct merge *m, const uint64_t *inputs)
{
	int r;

	m->dropped = calloc(m->trace_n + 1, sizeof(*m->dropped));
	m->joint = calloc(m->trace_n + 1, sizeof(*m->joint));
	if (!m->dropped || !m->joint)
		return -ENOMEM;
	r = joints_find(m, inputs);
	m->alone = *m->rule;
	m->alone.after_ns = 0;
	m->rules = (struct thin_rules){&m->alone, 1};
	if (r == 0)
		r = thin_new(&m->rules, INT64_MAX, &m->thin);
	for (size_t i = 0; r == 0 && i < m->trace_n; i++) {
		size_t first = m->traces[i].value;

		if (is_judged(m, first))
			r = trace_look(m, first, NULL);
		if (r < 0 && is_elsewhere_bad(m, first, r))
			r = 0;
		if (r == 0)
			trace_release(m, first);
	}
	if (r < 0)
		return r;
	thin_observed(m->thin);
	groups_reset(m);
	return 0;
}

/* --- the second round --- */

struct passed {
	uint64_t most;
};

static int passed_add(void *context, const struct event_ref *refs, size_t n)
{
	struct passed *p = context;

	for (size_t i = 0; i < n; i++)
		p->most = MAX(p->most, refs[i].batch->kept_threshold);
	return 0;
}

static int trace_drop(struct merge *m, size_t first)
{
	struct trace_id id = m->pieces[first].id;
	size_t place = place_of(m, id);

	m->dropped[place] = true;
	trace_release(m, first);
	return m->joint[place] == JOINT_NONE ? 0 : merge_dropped_add(m, id);
}

static int trace_keep(struct merge *m, size_t first, uint64_t threshold)
{
	int r;

	m->passing = true;
	m->threshold = threshold;
	r = merge_trace_write(m, first);
	m->passing = false;
	return r;
}

int merge_thin_write(struct merge *m, size_t first)
{
	struct trace_id id = m->pieces[first].id;
	struct thin_decision d = {0};
	struct passed passed = {0};
	int r;

	switch ((enum joint)m->joint[place_of(m, id)]) {
	case JOINT_YOUNG:
		m->untouched++;
		return merge_trace_write(m, first);
	case JOINT_KEPT:
		r = snapshot_trace_pages(&m->now, id, passed_add, &passed);
		if (r < 0 && is_elsewhere_bad(m, first, r))
			return merge_trace_write(m, first);
		return r < 0 ? r : trace_keep(m, first, passed.most);
	case JOINT_DROPPED:
		return trace_drop(m, first);
	default:
		r = trace_look(m, first, &d);
		if (r < 0)
			return r;
		return d.fate == THIN_DROP ? trace_drop(m, first)
					   : trace_keep(m, first, d.threshold);
	}
}

void merge_thin_forget(struct merge *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->trace_n; i++)
		if (!m->dropped[i])
			m->split[kept++] = m->split[i];
	m->trace_n = kept;
	for (size_t i = 0; i < kept; i++)
		m->split[i].split = false; /* marked anew, for the segment's list */
}

void merge_thin_count(struct merge *m)
{
	struct thin_counts c = thin_counts(m->thin);
	const uint64_t counts[THIN_FATES] = {
		[THINNED_ERROR] = c.errors,    [THINNED_SLOW] = c.slow,
		[THINNED_RARE] = c.rare,       [THINNED_CHOSEN] = c.chosen,
		[THINNED_SAMPLED] = c.sampled, [THINNED_UNTOUCHED] = m->untouched + c.young,
		[THINNED_DROPPED] = c.dropped,
	};

	for (int i = 0; i < THIN_FATES; i++)
		atomic_fetch_add(&m->engine->counters.thinned[i], counts[i]);
}
