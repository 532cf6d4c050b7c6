/* store/compact_thin.c - thinning while segments are merged: two rounds over their traces.
 *
 * A trace is judged only if all of it lies in the inputs.  One with pieces elsewhere, or in a head,
 * stays as it is, and so does one too large to be looked at in one piece: both were chosen without
 * regard to their hash, so sums stay right. */
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

/* Marks what lies elsewhere too. */
static int apart_mark(struct merge *m, const uint64_t *inputs)
{
	struct engine *e = m->engine;
	struct snapshot now;
	int r;

	engine_snapshot(e, &now);
	pthread_mutex_lock(&e->files);
	r = split_mark(now.view, m->split, m->trace_n, inputs, m->input_n);
	pthread_mutex_unlock(&e->files);
	for (size_t i = 0; r == 0 && i < m->trace_n; i++)
		m->split[i].split |= snapshot_in_heads(&now, m->split[i].id);
	snapshot_done(&now);
	return r;
}

static bool is_judged(const struct merge *m, size_t first)
{
	size_t rows = 0;

	for (size_t i = first, end = merge_trace_end(m, first); i < end; i++)
		rows += m->pieces[i].rows;
	return rows < ROWS_AT_ONCE && !m->split[place_of(m, m->pieces[first].id)].split;
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

/* Writes m->refs as rows that have passed this threshold. */
static int rows_write_passed(struct merge *m, uint64_t threshold)
{
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

int merge_thin_learn(struct merge *m, const uint64_t *inputs)
{
	int r = apart_mark(m, inputs);

	m->dropped = calloc(m->trace_n + 1, sizeof(*m->dropped));
	if (!m->dropped)
		return -ENOMEM;
	m->alone = *m->rule;
	m->alone.after_ns = 0;
	m->rules = (struct thin_rules){&m->alone, 1};
	if (r == 0)
		r = thin_new(&m->rules, clock_wall_ns(), &m->thin);
	for (size_t i = 0; r == 0 && i < m->trace_n; i++) {
		size_t first = m->traces[i].value;

		if (is_judged(m, first)) {
			r = trace_gather(m, first);
			if (r == 0)
				r = thin_observe(m->thin, m->refs, m->ref_n);
		}
		if (r == 0)
			trace_release(m, first);
	}
	if (r < 0)
		return r;
	thin_observed(m->thin);
	groups_reset(m);
	return 0;
}

int merge_thin_write(struct merge *m, size_t first)
{
	struct thin_decision d;
	int r;

	if (!is_judged(m, first)) {
		m->untouched++;
		return merge_trace_write(m, first);
	}
	r = trace_gather(m, first);
	if (r == 0)
		r = thin_decide(m->thin, m->refs, m->ref_n, &d);
	if (r < 0)
		return r;
	if (d.fate == THIN_DROP)
		m->dropped[place_of(m, m->pieces[first].id)] = true;
	else
		r = rows_write_passed(m, d.threshold);
	trace_release(m, first);
	return r;
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
