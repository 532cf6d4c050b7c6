/* store/scan.c - visits every trace of a snapshot once: bulk access.
 *
 * Groups are dealt out to the parts in turns.  Traces split between segments are, too, in stretches
 * that lie together; those in a head belong to a part by the hash of their ids. */
#include "store/scan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"
#include "sampling/second.h"
#include "store/id_set.h"
#include "store/joint.h"
#include "store/store_int.h"

struct scanning {
	const struct snapshot *snapshot;
	const struct scan *scan;
	/* Traces visited as wholes. */
	struct id_set seen;
	/* Pieces of the group at hand that are whole traces. */
	uint32_t *pieces;
	size_t piece_capacity;
	/* Traces in a head that lie elsewhere, too. */
	struct id_set in_heads;
	/* For rows: traces in several places, and the groups of the segment at hand in which they
	 * have rows, or may. */
	size_t joint_n;
	uint8_t *joint_groups;
	size_t joint_capacity;
	/* Traces in several groups of the segment at hand are put together. */
	bool wholes;
	/* For traces in several places: by segment, which groups are wanted; NULL where none is. */
	uint8_t **wanted;
};

#define CHECK_EVERY     256  /* traces of a head */
#define JOINT_LOOKED_UP 2000 /* traces; with more of them every group is looked at */

static bool in_part(const struct scan *scan, struct trace_id id)
{
	return scan->parts <= 1 ||
	       ((__uint128_t)second_randomness(id) * scan->parts) >> THRESHOLD_BITS == scan->part;
}

static bool in_sample(const struct scan *scan, struct trace_id id)
{
	return scan->threshold == 0 || second_randomness(id) >= scan->threshold;
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
	int r = id_set_add(&s->seen, id), over;

	if (r > 0 && (over = leash_check()) < 0)
		r = over;
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
			if (t % CHECK_EVERY == 0)
				r = leash_check();
			if (r == 0 &&
			    !runs_events(&v->heads[h]->runs, s->snapshot->marks[h], t, &set))
				r = -ENOMEM;
			else if (r == 0 && set.n > 0)
				r = s->scan->trace(s->scan->context, id, set.refs, set.n, false);
		}
	event_set_done(&set);
	return r;
}

/* A trace is looked up where it begins; it is wanted there when a group is that it goes on in. */
static int continuations_want(struct segment *segment, uint32_t groups, uint8_t *wanted)
{
	const struct segment_tables *tables;
	int r = segment_pin(segment, &tables);

	if (r < 0)
		return r;
	for (uint32_t k = groups; k-- > 1;)
		wanted[k - 1] |= wanted[k] && tables_zone(tables, k)->continues;
	segment_unpin(segment);
	return 0;
}

/* Only segments with a group that is wanted are looked into: the others may be many. */
static int wanted_groups(struct scanning *s, size_t i)
{
	struct segment *segment = s->snapshot->view->segments[i]->segment;
	uint32_t groups = segment_info(segment)->groups;
	uint8_t *wanted = calloc(groups + 1, 1);
	bool any = false;
	int r = 0;

	if (!wanted)
		return -ENOMEM;
	for (uint32_t k = 0; k < groups; k++) {
		wanted[k] = s->scan->wanted(s->scan->context, segment, k);
		any |= wanted[k];
	}
	if (any)
		r = continuations_want(segment, groups, wanted);
	if (any && r == 0)
		s->wanted[i] = wanted;
	else
		free(wanted);
	return r;
}

static int wanted_find(struct scanning *s)
{
	const struct view *v = s->snapshot->view;
	int r = 0;

	if (!s->scan->wanted)
		return 0;
	s->wanted = calloc(v->segment_n + 1, sizeof(*s->wanted));
	if (!s->wanted)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < v->segment_n; i++)
		r = wanted_groups(s, i);
	return r;
}

static void wanted_done(struct scanning *s)
{
	for (size_t i = 0; s->wanted && i < s->snapshot->view->segment_n; i++)
		free(s->wanted[i]);
	free(s->wanted);
}

/* 1: one of the groups that may have the trace is wanted. */
static int joint_wanted(const struct scanning *s, struct trace_id id)
{
	const struct view *v = s->snapshot->view;

	if (!s->wanted)
		return 1;
	for (size_t i = 0; i < v->segment_n; i++) {
		uint32_t groups[SEGMENT_CANDIDATES], at = 0;
		int n = s->wanted[i] ? SEGMENT_CANDIDATES : 0;

		while (n == SEGMENT_CANDIDATES) {
			n = segment_candidates(v->segments[i]->segment, id, &at, groups);
			if (n < 0)
				return n;
			for (int k = 0; k < n; k++)
				if (s->wanted[i][groups[k]])
					return 1;
		}
	}
	return 0;
}

/* Most traces of a head lie there alone. */
static int visit_in_head(struct scanning *s, size_t head, uint32_t trace, struct trace_id id,
			 struct event_set *set)
{
	const struct runs *runs = &s->snapshot->view->heads[head]->runs;

	if (id_set_has(&s->in_heads, id))
		return visit_whole(s, id);
	event_set_clear(set);
	if (!runs_events(runs, s->snapshot->marks[head], trace, set))
		return -ENOMEM;
	if (s->scan->rows && set->n > SCAN_WHOLE_ROWS)
		return visit_whole(s, id);
	return set->n > 0 ? s->scan->trace(s->scan->context, id, set->refs, set->n, false) : 0;
}

static int scan_joint(struct scanning *s)
{
	const struct view *v = s->snapshot->view;
	struct event_set set = {0};
	const struct trace_id *split = NULL;
	size_t n = 0;
	uint32_t parts = s->scan->parts ? s->scan->parts : 1;
	int r = view_split_placed(s->snapshot->view, &split, &n);

	if (r == 0 && n > 0)
		r = wanted_find(s);
	/* Neighbours are on one thread: a group that two had open would be decoded twice. */
	for (size_t i = r == 0 ? n * s->scan->part / parts : n;
	     r == 0 && i < n * (s->scan->part + 1) / parts; i++) {
		if (!in_sample(s->scan, split[i]) || id_set_has(&s->in_heads, split[i]))
			continue;
		r = joint_wanted(s, split[i]);
		if (r > 0)
			r = visit_whole(s, split[i]);
	}
	for (size_t h = 0; h < v->head_n; h++)
		for (uint32_t t = 0; r == 0 && t < s->snapshot->marks[h].traces; t++) {
			struct trace_id id = runs_trace_id(&v->heads[h]->runs, t);

			if (t % CHECK_EVERY == CHECK_EVERY - 1)
				r = leash_check();
			if (r == 0 && in_part(s->scan, id) && in_sample(s->scan, id))
				r = visit_in_head(s, h, t, id, &set);
		}
	event_set_done(&set);
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
	int r = group_pieces_bare(g, &pieces, &n);

	if (r == 0 && !vec_reserve(&s->pieces, &s->piece_capacity, n + 1, sizeof(*s->pieces)))
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (!in_sample(s->scan, pieces[i].id))
			continue;
		if (view_split_has(s->snapshot->view, pieces[i].id) ||
		    id_set_has(&s->in_heads, pieces[i].id))
			continue; /* its turn comes with those like it */
		if (s->wholes && zone->continues && i == 0)
			continue; /* shown where it begins */
		if (s->wholes && zone->continued && i + 1 == n)
			r = visit_whole(s, pieces[i].id);
		else
			s->pieces[whole++] = i;
	}
	return r == 0 ? show_pieces(s, g, pieces, whole) : r;
}

/* --- rows one by one --- */

static int mark_candidates(struct scanning *s, struct segment *segment, struct trace_id id)
{
	uint32_t groups[SEGMENT_CANDIDATES], at = 0;
	int n;

	do {
		n = segment_candidates(segment, id, &at, groups);
		for (int i = 0; i < n; i++)
			s->joint_groups[groups[i]] = 1;
	} while (n == SEGMENT_CANDIDATES);
	return n < 0 ? n : 0;
}

/* Which groups of the segment hold rows of traces in several places?  A trace that goes on in the
 * next group is marked there, too. */
static int mark_joint(struct scanning *s, struct segment *segment)
{
	uint32_t groups = segment_info(segment)->groups;
	const struct segment_tables *tables;
	const struct trace_id *split;
	size_t n;
	int r = view_split(s->snapshot->view, &split, &n);

	if (r < 0)
		return r;
	s->joint_n = n + s->in_heads.n;
	if (!vec_reserve(&s->joint_groups, &s->joint_capacity, groups + 1, 1))
		return -ENOMEM;
	memset(s->joint_groups, s->joint_n > JOINT_LOOKED_UP, groups + 1);
	if (s->joint_n == 0 || s->joint_n > JOINT_LOOKED_UP)
		return 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = mark_candidates(s, segment, split[i]);
	for (size_t i = 0; r == 0 && i < s->in_heads.n; i++)
		r = mark_candidates(s, segment, s->in_heads.ids[i]);
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

int snapshot_is_joint(const struct snapshot *snapshot, const struct id_set *in_heads,
		      struct segment *segment)
{
	const struct scan scan = {0};
	struct scanning s = {.snapshot = snapshot, .scan = &scan, .in_heads = *in_heads};
	int r = mark_joint(&s, segment);

	if (r == 0 && s.joint_n > 0)
		r = memchr(s.joint_groups, 1, segment_info(segment)->groups) != NULL;
	free(s.joint_groups);
	return r;
}

/* Is the group, or, for rows, one that its last trace goes on in?  1, 0, negative errno. */
static int is_wanted(const struct scanning *s, struct segment *segment, uint32_t number)
{
	const struct scan *scan = s->scan;
	const struct segment_tables *tables;
	int r;

	if (!scan->wanted || scan->wanted(scan->context, segment, number))
		return 1;
	if (!scan->rows || !s->wholes) /* tables of many segments would be loaded for it */
		return 0;
	r = segment_pin(segment, &tables);
	if (r < 0)
		return r;
	while (r == 0 && number + 1 < tables_groups(tables) &&
	       tables_zone(tables, number)->continued)
		r = scan->wanted(scan->context, segment, ++number);
	segment_unpin(segment);
	return r;
}

/* Are some pieces of the group shown elsewhere, or not at all?  For rows. */
static bool has_apart(const struct scanning *s, const struct segment_group *g, uint32_t number)
{
	const struct group_zone *zone = group_zone(g);

	return s->joint_groups[number] || s->scan->threshold ||
	       (s->wholes && (zone->continues || zone->continued));
}

/* One group of the part's share. */
static int scan_one(struct scanning *s, struct segment *segment, uint32_t number,
		    struct segment_group **g)
{
	const struct scan *scan = s->scan;
	int r;

	s->wholes = !scan->rows || (scan->wholes && scan->wholes(scan->context, segment));
	r = is_wanted(s, segment, number);
	if (r <= 0)
		return r;
	r = leash_check();
	if (r == 0)
		r = group_turn(segment, number, scan->few, g);
	if (r < 0)
		return r;
	group_keep(*g);
	if (scan->apart || (scan->rows && !has_apart(s, *g, number)))
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

/* --- traces that somebody has named --- */

/* Where one of them may begin. */
struct whereabouts {
	uint32_t segment, group;
	struct trace_id id;
};

static int by_place(const void *a, const void *b)
{
	const struct whereabouts *x = a, *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return memcmp(x->id.b, y->id.b, sizeof(x->id.b));
}

static int by_id(const void *key, const void *element)
{
	const struct whereabouts *w = element;

	return memcmp(((const struct trace_id *)key)->b, w->id.b, sizeof(w->id.b));
}

struct named {
	struct whereabouts *places;
	size_t n, capacity;
};

/* Finds the groups, or visits the trace where it lies in several places. */
static int name_look_up(struct scanning *s, struct trace_id id, struct named *named)
{
	struct view *v = s->snapshot->view;
	int r = in_sample(s->scan, id) ? view_is_split(v, id) : 0;

	if (r < 0 || !in_sample(s->scan, id))
		return r;
	if (r > 0 || snapshot_in_heads(s->snapshot, id))
		return visit_whole(s, id);
	for (size_t i = 0; i < v->segment_n; i++) {
		uint32_t groups[SEGMENT_CANDIDATES], at = 0;
		int n;

		do {
			n = segment_candidates(v->segments[i]->segment, id, &at, groups);
			if (n < 0)
				return n;
			if (!vec_reserve(&named->places, &named->capacity, named->n + (size_t)n,
					 sizeof(*named->places)))
				return -ENOMEM;
			for (int k = 0; k < n; k++)
				named->places[named->n++] =
					(struct whereabouts){(uint32_t)i, groups[k], id};
		} while (n == SEGMENT_CANDIDATES);
	}
	return 0;
}

/* Those of one group. */
static int names_visit(struct scanning *s, struct segment_group *g,
		       const struct whereabouts *places, size_t n)
{
	const struct group_zone *zone = group_zone(g);
	const struct group_piece *pieces;
	uint32_t all, whole = 0;
	int r = group_pieces_bare(g, &pieces, &all);

	if (r == 0 && !vec_reserve(&s->pieces, &s->piece_capacity, all + 1, sizeof(*s->pieces)))
		r = -ENOMEM;
	for (uint32_t i = zone->continues ? 1 : 0; r == 0 && i < all; i++) {
		if (!bsearch(&pieces[i].id, places, n, sizeof(*places), by_id))
			continue;
		if (zone->continued && i + 1 == all)
			r = visit_whole(s, pieces[i].id);
		else
			s->pieces[whole++] = i;
	}
	return r == 0 ? show_pieces(s, g, pieces, whole) : r;
}

static int scan_names(struct scanning *s)
{
	const struct scan *scan = s->scan;
	size_t parts = MAX(scan->parts, 1U), to;
	struct named named = {0};
	int r = 0;

	/* Neighbours stay together: they may lie in one group. */
	for (size_t i = scan->only_n * scan->part / parts;
	     r == 0 && i < scan->only_n * (scan->part + 1) / parts; i++)
		r = name_look_up(s, scan->only[i], &named);
	if (r == 0 && named.n > 1)
		qsort(named.places, named.n, sizeof(*named.places), by_place);
	for (size_t from = 0; r == 0 && from < named.n; from = to) {
		const struct whereabouts *first = &named.places[from];
		_cleanup_(group_closep)
		struct segment_group *g = NULL;

		for (to = from + 1; to < named.n && named.places[to].segment == first->segment &&
				    named.places[to].group == first->group;)
			to++;
		r = leash_check();
		if (r == 0)
			r = group_open(s->snapshot->view->segments[first->segment]->segment,
				       first->group, &g);
		if (r == 0)
			r = names_visit(s, g, first, to - from);
	}
	free(named.places);
	return r;
}

int snapshot_scan(const struct snapshot *snapshot, const struct scan *scan)
{
	struct scanning s = {.snapshot = snapshot, .scan = scan};
	int r;

	id_set_init(&s.seen);
	id_set_init(&s.in_heads);
	r = scan->only || scan->apart ? 0 : snapshot_joint(snapshot, &s.in_heads);
	if (r == 0)
		r = scan->only ? scan_names(&s) : scan_groups(&s);
	if (r == 0 && !scan->only)
		r = scan->apart ? scan_heads(&s) : scan_joint(&s);
	id_set_done(&s.seen);
	id_set_done(&s.in_heads);
	free(s.pieces);
	free(s.joint_groups);
	wanted_done(&s);
	return r;
}
