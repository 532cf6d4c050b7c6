/* store/split_bounds.c - how early and how late traces in several segments can be. */
#include "store/split_bounds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group.h"

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

/* The place of a split trace in the list, or SIZE_MAX. */
static size_t place_of(const struct view *v, struct trace_id id)
{
	const struct trace_id *at;

	if (!view_split_has(v, id))
		return SIZE_MAX;
	at = bsearch(&id, v->split, v->split_n, sizeof(id), by_bytes);
	return (size_t)(at - v->split);
}

static void add_piece(struct split_bound *b, const struct group_piece *p, bool cut)
{
	int64_t end;

	if (cut || p->start_ns == 0 || __builtin_add_overflow(p->start_ns, p->duration_ns, &end)) {
		b->open = true;
		return;
	}
	b->low_ns = MIN(b->low_ns, p->start_ns);
	b->high_ns = MAX(b->high_ns, end);
}

/* A piece of a split trace, and where it is. */
struct split_piece {
	size_t at; /* in the list of split traces */
	uint32_t segment, group;
};

struct making {
	struct view *v;
	struct split_bound *bounds;
	struct split_piece *pieces;
	size_t piece_n, piece_capacity;
};

static void making_done(struct making *m)
{
	free(m->bounds);
	free(m->pieces);
}

static int add_group(struct making *m, struct segment_group *g, uint32_t segment, uint32_t group)
{
	const struct group_zone *zone = group_zone(g);
	const struct group_piece *pieces;
	uint32_t n;
	int r = group_pieces_bare(g, &pieces, &n);

	for (uint32_t i = 0; i < n && r == 0; i++) {
		size_t at = place_of(m->v, pieces[i].id);

		if (at == SIZE_MAX)
			continue;
		m->bounds[at].errors |= zone->errors > 0; /* it may be one of its rows */
		add_piece(&m->bounds[at], &pieces[i],
			  (zone->continues && i == 0) || (zone->continued && i + 1 == n));
		if (!vec_reserve(&m->pieces, &m->piece_capacity, m->piece_n + 1,
				 sizeof(*m->pieces)))
			return -ENOMEM;
		m->pieces[m->piece_n++] = (struct split_piece){at, segment, group};
	}
	return r;
}

/* Groups in which a split trace may begin; what goes on behind one is known there to be cut. */
static int add_segment(struct making *m, uint32_t number)
{
	const struct view *v = m->v;
	struct segment *s = v->segments[number]->segment;
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	uint32_t groups = segment_info(s)->groups, found[SEGMENT_CANDIDATES];
	_cleanup_(freep)
	uint8_t *marks = calloc((size_t)groups + 1, 1);
	int r = marks ? 0 : -ENOMEM;

	for (size_t i = 0; i < v->split_n && r >= 0; i++) {
		uint32_t at = 0;

		do {
			r = segment_candidates(s, v->split[i], &at, found);
			for (int k = 0; k < r; k++)
				marks[found[k]] = 1;
		} while (r == SEGMENT_CANDIDATES);
	}
	if (r > 0)
		r = 0;
	for (uint32_t i = 0; i < groups && r == 0; i++) {
		if (!marks[i])
			continue;
		r = g ? group_reopen_few(g, i) : group_open_few(s, i, &g);
		if (r == 0)
			r = add_group(m, g, number, i);
	}
	return r;
}

/* One piece of memory: an array for each segment. */
static int64_t **longest_new(const struct view *v)
{
	size_t groups = 0;
	int64_t **longest, *at;

	for (size_t i = 0; i < v->segment_n; i++)
		groups += segment_info(v->segments[i]->segment)->groups;
	longest = malloc((v->segment_n + 1) * sizeof(*longest) + groups * sizeof(**longest));
	if (!longest)
		return NULL;
	at = (int64_t *)(void *)(longest + v->segment_n + 1);
	memset(at, 0xff, groups * sizeof(*at)); /* -1 */
	for (size_t i = 0; i < v->segment_n; i++) {
		longest[i] = at;
		at += segment_info(v->segments[i]->segment)->groups;
	}
	longest[v->segment_n] = at;
	return longest;
}

static int64_t bound_length(const struct split_bound *b)
{
	return b->open || b->low_ns > b->high_ns ? INT64_MAX : b->high_ns - b->low_ns;
}

static int make(struct view *v)
{
	_cleanup_(making_done)
	struct making m = {.v = v, .bounds = malloc((v->split_n + 1) * sizeof(*m.bounds))};
	int64_t **longest = longest_new(v);
	int r = m.bounds && longest ? 0 : -ENOMEM;

	for (size_t i = 0; i < v->split_n && r == 0; i++)
		m.bounds[i] = (struct split_bound){.low_ns = INT64_MAX};
	for (uint32_t i = 0; i < v->segment_n && v->split_n > 0 && r == 0; i++)
		r = add_segment(&m, i);
	if (r == -ENOMEM) {
		free(longest);
		return r;
	}
	/* What cannot be read says nothing; whoever needs the rows themselves is told. */
	for (size_t i = 0; i < v->split_n && r < 0; i++)
		m.bounds[i].open = true;
	for (int64_t *at = (int64_t *)(void *)(longest + v->segment_n + 1);
	     r < 0 && at < longest[v->segment_n]; at++)
		*at = INT64_MAX;
	for (size_t i = 0; i < m.piece_n && r == 0; i++) {
		int64_t *at = &longest[m.pieces[i].segment][m.pieces[i].group];

		*at = MAX(*at, bound_length(&m.bounds[m.pieces[i].at]));
	}
	v->split_bounds = TAKE_PTR(m.bounds);
	v->split_longest = longest;
	return 0;
}

int view_split_bounds(struct view *v, const struct split_bound **ret_bounds)
{
	const struct trace_id *ids;
	size_t n;
	int r = view_split(v, &ids, &n);

	if (r < 0)
		return r;
	pthread_mutex_lock(&v->split_lock);
	if (!v->split_bounds)
		r = make(v);
	pthread_mutex_unlock(&v->split_lock);
	if (r == 0)
		*ret_bounds = v->split_bounds;
	return r;
}

const struct split_bound *view_split_bound(const struct view *v, struct trace_id id)
{
	size_t at = v->split_bounds ? place_of(v, id) : SIZE_MAX;

	return at == SIZE_MAX ? NULL : &v->split_bounds[at];
}

int64_t view_split_longest(const struct view *v, size_t segment, uint32_t group)
{
	return v->split_longest[segment][group];
}
