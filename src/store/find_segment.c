/* store/find_segment.c - the part of a search that looks into segments. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"
#include "store/find_int.h"
#include "store/split_bounds.h"

/* --- which groups --- */

/* Do whole traces decide, so that a piece alone may mislead? */
static bool asks_wholes(const struct store_query *q)
{
	return q->to_ns || q->errors || q->min_duration_ns || q->order == STORE_SLOWEST;
}

#define NOT_OPEN (-1)

/* What a zone map rules out.  An open group holds pieces of traces that take up to `longest`, and
 * may have failed or begun earlier elsewhere; a trace never starts later than one of its pieces. */
static bool zone_fits(const struct store_query *q, const struct group_zone *zone, int64_t longest)
{
	if (q->from_ns && zone->start_max_ns < q->from_ns)
		return false;
	if (q->min_duration_ns && MAX(zone->duration_max_ns, longest) < q->min_duration_ns)
		return false;
	if (longest != NOT_OPEN)
		return true;
	return !(q->errors && zone->errors == 0) && !(q->to_ns && zone->start_min_ns >= q->to_ns);
}

static int add_group(struct finding *f, uint32_t segment, uint32_t group,
		     const struct group_zone *zone, int64_t longest)
{
	bool slowest = f->query->order == STORE_SLOWEST;
	int64_t bound = slowest ? MAX(zone->duration_max_ns, longest) : zone->start_max_ns;

	if (!vec_reserve(&f->groups, &f->group_capacity, f->group_n + 1, sizeof(*f->groups)))
		return -ENOMEM;
	f->groups[f->group_n++] =
		(struct find_group){segment, group, zone, bound, longest != NOT_OPEN, longest};
	return 0;
}

/* Marks the groups of a segment in which a trace may lie. */
static int mark_groups(struct segment *s, struct trace_id id, uint64_t *marks)
{
	uint32_t groups[SEGMENT_CANDIDATES], at = 0;
	int n;

	do {
		n = segment_candidates(s, id, &at, groups);
		for (int i = 0; i < n; i++)
			marks[groups[i] / 64] |= 1ULL << groups[i] % 64;
	} while (n == SEGMENT_CANDIDATES);
	return n < 0 ? n : 0;
}

/* Groups with pieces of traces that also lie in a head. */
static int mark_joint(struct finding *f, struct segment *s, uint64_t *marks)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->in_heads.n; i++)
		r = mark_groups(s, f->in_heads.ids[i], marks);
	return r;
}

int find_ask_segment(struct finding *f, uint32_t number)
{
	struct find_segment *s = &f->segments[number];
	int r = 0;

	if (s->asked)
		return 0;
	if (query_asks_spans(f->query)) {
		r = match_new(f->query, f->snapshot->view->segments[number]->segment, &s->match);
		if (r == 0)
			s->impossible = !match_possible(s->match);
	}
	s->asked = r == 0;
	return r;
}

/* How long traces that have a piece in the group, and others elsewhere, can be; or NOT_OPEN. */
static int64_t longest_in(const struct finding *f, uint32_t segment, uint32_t group,
			  const struct group_zone *zone, const uint64_t *marks)
{
	if (zone->continues || zone->continued || marks[group / 64] >> group % 64 & 1)
		return INT64_MAX;
	return asks_wholes(f->query) ? view_split_longest(f->snapshot->view, segment, group)
				     : NOT_OPEN;
}

static int list_segment(struct finding *f, uint32_t number)
{
	struct segment *s = f->snapshot->view->segments[number]->segment;
	const struct segment_tables *tables;
	_cleanup_(freep)
	uint64_t *marks = NULL;
	int r;

	if (f->query->from_ns && segment_info(s)->start_max_ns < f->query->from_ns)
		return 0;
	r = segment_pin(s, &tables);
	if (r < 0)
		return r;
	f->segments[number].pinned = true;
	marks = calloc(tables_groups(tables) / 64 + 1, sizeof(*marks));
	r = marks ? 0 : -ENOMEM;
	/* Where nothing is asked of spans, the heads have judged theirs as wholes. */
	if (r == 0 && asks_wholes(f->query) && query_asks_spans(f->query))
		r = mark_joint(f, s, marks);
	for (uint32_t g = 0; r == 0 && g < tables_groups(tables); g++) {
		const struct group_zone *zone = tables_zone(tables, g);
		int64_t longest = longest_in(f, number, g, zone, marks);

		if (zone_fits(f->query, zone, longest) &&
		    !(f->query->span_min_ns && segment_longest_row(s, g) < f->query->span_min_ns))
			r = add_group(f, number, g, zone, longest);
	}
	return r;
}

static int by_bound(const void *a, const void *b)
{
	const struct find_group *x = a, *y = b;

	return x->bound_ns > y->bound_ns ? -1 : x->bound_ns < y->bound_ns;
}

int find_list_groups(struct finding *f)
{
	const struct split_bound *bounds;
	/* Made before they are asked for. */
	int r = asks_wholes(f->query) ? view_split_bounds(f->snapshot->view, &bounds) : 0;

	for (uint32_t i = 0; r == 0 && i < f->snapshot->view->segment_n; i++) {
		r = leash_check();
		if (r == 0)
			r = list_segment(f, i);
	}
	if (r == 0 && f->group_n > 1)
		qsort(f->groups, f->group_n, sizeof(*f->groups), by_bound);
	return r;
}

/* --- which pieces --- */

/* Is a bit in [first, first + n) set? */
static bool any_bit(const uint64_t *words, uint32_t first, uint32_t n)
{
	for (uint32_t at = first, end = first + n; at < end;) {
		uint32_t in_word = at % 64, take = MIN(64 - in_word, end - at);
		uint64_t mask = (take == 64 ? ~0ULL : (1ULL << take) - 1) << in_word;

		if (words[at / 64] & mask)
			return true;
		at += take;
	}
	return false;
}

/* Judges a piece that is a whole trace by what the group says. */
static bool piece_fits(const struct store_query *q, const struct group_piece *p)
{
	return !(q->errors && !p->errors) && !(q->to_ns && p->start_ns >= q->to_ns) &&
	       !(q->min_duration_ns && p->duration_ns < q->min_duration_ns) &&
	       !(q->max_duration_ns && p->duration_ns > q->max_duration_ns);
}

/* Do the bounds of a trace in several segments rule it out?  What a head has of it is not in them.
 */
static bool bounds_rule_out(const struct finding *f, const struct group_piece *p)
{
	const struct store_query *q = f->query;
	const struct split_bound *b =
		asks_wholes(q) ? view_split_bound(f->snapshot->view, p->id) : NULL;
	int64_t longest;

	if (!b || b->open || b->low_ns > b->high_ns || id_set_has(&f->in_heads, p->id))
		return false;
	longest = b->high_ns - b->low_ns;
	return (q->errors && !b->errors) || (q->to_ns && b->low_ns >= q->to_ns) ||
	       (q->min_duration_ns && longest < q->min_duration_ns) ||
	       !find_may_enter(f, p->start_ns, longest);
}

static int judge(struct finding *f, const struct find_group *at, const struct group_zone *zone,
		 const struct group_piece *pieces, uint32_t n, uint32_t i, bool sure)
{
	const struct group_piece *p = &pieces[i];
	const struct find_hit hit = {.key = {p->start_ns, p->duration_ns, p->id},
				     .segment = at->segment,
				     .group = at->group,
				     .first = p->first,
				     .rows = p->rows};
	bool fits = piece_fits(f->query, p);
	int r;

	if (f->query->from_ns && p->start_ns < f->query->from_ns)
		return 0;
	if (!store_query_has_part(f->query, p->id))
		return 0;
	/* Longer than this it may be, if it goes on elsewhere; later it cannot begin. */
	if (!find_may_enter(f, p->start_ns, at->open ? INT64_MAX : p->duration_ns))
		return 0;
	if (at->open ? bounds_rule_out(f, p) : !fits)
		return 0;
	if (!sure || (zone->continues && i == 0) || (zone->continued && i + 1 == n))
		return find_whole(f, p->id);
	r = find_is_elsewhere(f, p->id);
	if (r != 0)
		return r < 0 ? r : find_whole(f, p->id);
	if (fits && trace_key_is_after(f->query, &hit.key))
		find_enter(f, &hit);
	return 0;
}

/* Is a high threshold, of the query or of the hits so far, likely to rule out every piece? */
static bool times_may_rule_out(const struct finding *f, const struct find_group *at)
{
	return f->query->order == STORE_SLOWEST ||
	       f->query->min_duration_ns > at->zone->duration_max_ns / 2;
}

static void set_bits(uint64_t *words, uint32_t first, uint32_t n)
{
	for (uint32_t at = first; at < first + n; at++)
		words[at / 64] |= 1ULL << at % 64;
}

/* Can a piece of the group be a hit, by its times?  1, 0, negative errno.  *ret_within: rows of
 * those that can, as bits; NULL: it is not known. */
static int times_fit(struct finding *f, const struct find_group *at, struct segment_group *group,
		     struct match_room *room, const uint64_t **ret_within)
{
	const int64_t *start, *duration;
	const uint32_t *first;
	uint32_t n, fit_n = 0;
	uint64_t *within;
	bool fits;
	int r;

	*ret_within = NULL;
	pthread_mutex_lock(&f->lock);
	fits = at->open && at->longest_ns >= f->query->min_duration_ns &&
	       find_may_enter(f, at->zone->start_max_ns, at->longest_ns);
	pthread_mutex_unlock(&f->lock);
	if (fits)
		return 1;
	r = group_piece_times(group, &start, &duration, &first, &n);
	if (r < 0)
		return r;
	within = match_room_within(room, at->zone->rows);
	if (!within)
		return -ENOMEM;
	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 0; i < n; i++)
		if (duration[i] >= f->query->min_duration_ns &&
		    find_may_enter(f, start[i], duration[i])) {
			set_bits(within, first[i], first[i + 1] - first[i]);
			fit_n++;
		}
	pthread_mutex_unlock(&f->lock);
	*ret_within = fit_n < n ? within : NULL;
	return fit_n > 0;
}

int find_in_group(struct finding *f, const struct find_group *at, struct segment_group *group,
		  const struct match_asked *asked, struct match_room *room)
{
	const struct match *match = f->segments[at->segment].match;
	const struct group_piece *pieces;
	const uint64_t *within = NULL;
	struct match_rows rows = {0};
	uint32_t n;
	int r = times_may_rule_out(f, at) ? times_fit(f, at, group, room, &within) : 1;

	if (r <= 0)
		return r;
	r = 0;
	if (match) {
		r = match_group(match, room, group, asked, within, &rows);
		if (r < 0 || !rows.any)
			return r;
	}
	r = f->query->errors ? group_pieces(group, &pieces, &n)
			     : group_pieces_bare(group, &pieces, &n);
	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		bool sure = match ? any_bit(rows.sure, pieces[i].first, pieces[i].rows)
				  : !within || any_bit(within, pieces[i].first, 1);

		if (sure ||
		    (rows.any_unsure && any_bit(rows.unsure, pieces[i].first, pieces[i].rows)))
			r = judge(f, at, group_zone(group), pieces, n, i, sure);
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}
