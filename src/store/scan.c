/* store/scan.c - visits every trace of a snapshot once: bulk access.
 *
 * Groups are dealt out to the parts in turns.  Traces in several places (split between segments, in
 * a head, larger than a group) belong to a part by the hash of their ids. */
#include "store/scan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "sampling/second.h"
#include "store/id_set.h"
#include "store/store_int.h"

struct scanning {
	const struct snapshot *snapshot;
	const struct scan *scan;
	/* Traces visited as wholes. */
	struct id_set seen;
	/* Pieces of the group at hand that are whole traces. */
	uint32_t *pieces;
	size_t piece_capacity;
	/* For rows: traces in several places, and the groups of the segment at hand in which they
	 * have rows, or may. */
	size_t joint_n;
	uint8_t *joint_groups;
	size_t joint_capacity;
};

#define JOINT_LOOKED_UP 2000 /* traces; with more of them every group is looked at */

static bool in_part(const struct scan *scan, struct trace_id id)
{
	return scan->parts <= 1 ||
	       ((__uint128_t)second_randomness(id) * scan->parts) >> THRESHOLD_BITS == scan->part;
}

/* --- traces put together --- */

/* Pages come one late, so that the last can be told from the others. */
struct paging {
	const struct scan *scan;
	struct trace_id id;
	struct event_set held;
};

static int page_hold(void *context, const struct event_ref *refs, size_t n)
{
	struct paging *p = context;
	int r = 0;

	if (p->held.n > 0)
		r = p->scan->trace(p->scan->context, p->id, p->held.refs, p->held.n, true);
	event_set_clear(&p->held);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!event_set_add(&p->held, (struct batch *)refs[i].batch, refs[i].index, 1))
			r = -ENOMEM;
	return r;
}

static int visit_whole(struct scanning *s, struct trace_id id)
{
	struct paging p = {.scan = s->scan, .id = id};
	int r = id_set_add(&s->seen, id);

	if (r <= 0)
		return r;
	if (s->scan->rows) {
		r = snapshot_trace_most(s->snapshot, id, SCAN_WHOLE_ROWS, &p.held);
		if (r == -E2BIG)
			event_set_clear(&p.held);
	}
	if (!s->scan->rows || r == -E2BIG)
		r = snapshot_trace_pages(s->snapshot, id, page_hold, &p);
	if (r == 0 && p.held.n > 0)
		r = s->scan->trace(s->scan->context, id, p.held.refs, p.held.n, false);
	event_set_done(&p.held);
	return r == -ENOENT ? 0 : r; /* an index may promise what is not there */
}

/* What the heads have of the part's traces. */
static int scan_heads(struct scanning *s)
{
	const struct view *v = s->snapshot->view;
	struct event_set set = {0};
	int r = 0;

	for (size_t h = 0; h < v->head_n; h++)
		for (uint32_t t = 0; r == 0 && t < s->snapshot->marks[h].traces; t++) {
			struct trace_id id = runs_trace_id(&v->heads[h]->runs, t);

			if (!in_part(s->scan, id))
				continue;
			event_set_clear(&set);
			if (!runs_events(&v->heads[h]->runs, s->snapshot->marks[h], t, &set))
				r = -ENOMEM;
			else if (set.n > 0)
				r = s->scan->trace(s->scan->context, id, set.refs, set.n, false);
		}
	event_set_done(&set);
	return r;
}

static int scan_joint(struct scanning *s)
{
	const struct view *v = s->snapshot->view;
	const struct trace_id *split;
	size_t n;
	int r = view_split(s->snapshot->view, &split, &n);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (in_part(s->scan, split[i]))
			r = visit_whole(s, split[i]);
	for (size_t h = 0; h < v->head_n; h++)
		for (uint32_t t = 0; r == 0 && t < s->snapshot->marks[h].traces; t++) {
			struct trace_id id = runs_trace_id(&v->heads[h]->runs, t);

			if (in_part(s->scan, id))
				r = visit_whole(s, id);
		}
	return r;
}

/* --- groups --- */

static int show_pieces(struct scanning *s, struct segment_group *g,
		       const struct group_piece *pieces, uint32_t n)
{
	struct event_set set = {0};
	int r = 0;

	if (s->scan->group)
		return n > 0 ? s->scan->group(s->scan->context, g, s->pieces, n) : 0;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct group_piece *p = &pieces[s->pieces[i]];

		event_set_clear(&set);
		r = group_rows(g, p->first, p->rows, &set);
		if (r == 0)
			r = s->scan->trace(s->scan->context, p->id, set.refs, set.n, false);
	}
	event_set_done(&set);
	return r;
}

static int scan_group(struct scanning *s, struct segment_group *g)
{
	const struct group_zone *zone = group_zone(g);
	const struct group_piece *pieces;
	uint32_t n, whole = 0;
	int r = group_pieces(g, &pieces, &n);

	if (r == 0 && !vec_reserve(&s->pieces, &s->piece_capacity, n + 1, sizeof(*s->pieces)))
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (view_split_has(s->snapshot->view, pieces[i].id) ||
		    snapshot_in_heads(s->snapshot, pieces[i].id))
			continue; /* its turn comes by the hash of its id */
		if (!s->scan->rows && zone->continues && i == 0)
			continue; /* shown where it begins */
		if (!s->scan->rows && zone->continued && i + 1 == n)
			r = visit_whole(s, pieces[i].id);
		else
			s->pieces[whole++] = i;
	}
	return r == 0 ? show_pieces(s, g, pieces, whole) : r;
}

/* --- rows one by one --- */

static void joint_count(struct scanning *s, size_t split_n)
{
	const struct view *v = s->snapshot->view;

	s->joint_n = split_n;
	for (size_t h = 0; h < v->head_n; h++)
		s->joint_n += s->snapshot->marks[h].traces;
}

static int mark_candidates(struct scanning *s, struct segment *segment, struct trace_id id)
{
	uint32_t groups[SEGMENT_MAX_CANDIDATES];
	int n = segment_candidates(segment, id, groups);

	for (int i = 0; i < n; i++)
		s->joint_groups[groups[i]] = 1;
	return n < 0 ? n : 0;
}

/* Which groups of the segment hold rows of traces in several places?  A trace that goes on in the
 * next group is marked there, too. */
static int mark_joint(struct scanning *s, struct segment *segment)
{
	const struct view *v = s->snapshot->view;
	uint32_t groups = segment_info(segment)->groups;
	const struct segment_tables *tables;
	const struct trace_id *split;
	size_t n;
	int r = view_split(s->snapshot->view, &split, &n);

	if (r < 0)
		return r;
	joint_count(s, n);
	if (!vec_reserve(&s->joint_groups, &s->joint_capacity, groups + 1, 1))
		return -ENOMEM;
	memset(s->joint_groups, s->joint_n > JOINT_LOOKED_UP, groups + 1);
	if (s->joint_n == 0 || s->joint_n > JOINT_LOOKED_UP)
		return 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = mark_candidates(s, segment, split[i]);
	for (size_t h = 0; h < v->head_n; h++)
		for (uint32_t t = 0; r == 0 && t < s->snapshot->marks[h].traces; t++)
			r = mark_candidates(s, segment, runs_trace_id(&v->heads[h]->runs, t));
	if (r == 0)
		r = segment_pin(segment, &tables);
	if (r < 0)
		return r;
	for (uint32_t i = 1; i < groups; i++)
		if (tables_zone(tables, i)->continues && s->joint_groups[i - 1])
			s->joint_groups[i] = 1;
	segment_unpin(segment);
	return 0;
}

/* One group of the part's share. */
static int scan_one(struct scanning *s, struct segment *segment, uint32_t number,
		    struct segment_group **g)
{
	const struct scan *scan = s->scan;
	int r;

	if (scan->wanted && !scan->wanted(scan->context, segment, number))
		return 0;
	r = group_turn(segment, number, scan->few, g);
	if (r < 0)
		return r;
	group_keep(*g);
	if (scan->apart || (scan->rows && !s->joint_groups[number]))
		return scan->group(scan->context, *g, NULL, 0);
	return scan_group(s, *g);
}

static int scan_groups(struct scanning *s)
{
	struct view *v = s->snapshot->view;
	_cleanup_(group_closep)
	struct segment_group *own = NULL;
	struct segment_group **g = s->scan->room ? s->scan->room : &own;
	const struct trace_id *split;
	size_t split_n;
	uint64_t number = 0;
	int r = view_split(v, &split, &split_n); /* made before it is asked for */

	for (size_t i = 0; r == 0 && i < v->segment_n; i++) {
		struct segment *segment = v->segments[i]->segment;
		uint32_t groups = segment_info(segment)->groups;

		if (s->scan->rows && !s->scan->apart)
			r = mark_joint(s, segment);
		for (uint32_t k = 0; r == 0 && k < groups; k++, number++)
			if (s->scan->parts <= 1 || number % s->scan->parts == s->scan->part)
				r = scan_one(s, segment, k, g);
	}
	return r;
}

int snapshot_scan(const struct snapshot *snapshot, const struct scan *scan)
{
	struct scanning s = {.snapshot = snapshot, .scan = scan};
	int r;

	id_set_init(&s.seen);
	r = scan_groups(&s);
	if (r == 0)
		r = scan->apart ? scan_heads(&s) : scan_joint(&s);
	id_set_done(&s.seen);
	free(s.pieces);
	free(s.joint_groups);
	return r;
}
