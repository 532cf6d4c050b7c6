/* segment/group_piecewise.c - ids, parents and times of pieces, each when it is asked for.
 *
 * For who looks at some of a group's traces, in their order: columns are decoded as a whole, but
 * what rows make of them is worked out for the pieces asked for alone. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group_window.h"

/* Values of the group's blocks: a row has one of each two at the most. */
static int raw_room(struct segment_group *g)
{
	struct raw_links *raw = &g->raw;
	size_t n = (size_t)g->zone->rows + 1;

	if (!vec_reserve(&raw->values, &raw->capacity, 4 * n, sizeof(*raw->values)))
		return -ENOMEM;
	raw->id1 = raw->values;
	raw->id2 = raw->id1 + n;
	raw->times = raw->id2 + n;
	raw->durations = raw->times + n;
	return 0;
}

static int need_raw_links(struct segment_group *g)
{
	struct raw_links *raw = &g->raw;
	struct row_window w;
	int r = g->have & HAVE_RAW_LINKS ? 0 : raw_room(g);

	if (r < 0 || g->have & HAVE_RAW_LINKS)
		return r;
	r = window_whole(g, &w);
	if (r < 0)
		return r;
	raw->backs = raw->id1 + w.total[BLOCK_ID1];
	raw->distances = (int64_t *)(raw->id2 + w.total[BLOCK_ID2]);
	r = window_get_ids(g, BLOCK_ID1, &w, 1, raw->id1);
	if (r == 0)
		r = window_get_u64(g, BLOCK_ID1_BACK, &w, 1, raw->backs);
	if (r == 0)
		r = window_get_ids(g, BLOCK_ID2, &w, 1, raw->id2);
	if (r == 0)
		r = window_get_u64(g, BLOCK_PARENT, &w, 1, (uint64_t *)raw->distances);
	if (r == 0)
		g->have |= HAVE_RAW_LINKS;
	return r;
}

static int need_raw_clocks(struct segment_group *g)
{
	struct raw_links *raw = &g->raw;
	struct row_window w;
	int r;

	if (g->have & HAVE_RAW_CLOCKS)
		return 0;
	r = window_whole(g, &w);
	if (r == 0)
		r = group_need_piece_times(g);
	if (r < 0)
		return r;
	raw->points = raw->times + w.total[BLOCK_TIME];
	r = window_get_by_shape(g, BLOCK_DURATION, &w, 1, raw->durations);
	if (r == 0)
		r = window_get_by_shape(g, BLOCK_TIME, &w, 1, raw->times);
	if (r == 0)
		r = window_get_by_shape(g, BLOCK_TIME_POINT, &w, 1, raw->points);
	if (r == 0)
		g->have |= HAVE_RAW_CLOCKS;
	return r;
}

int group_piece_links(struct segment_group *g, uint32_t piece, const uint64_t **ret_id1,
		      const uint64_t **ret_id2)
{
	const uint64_t *ids, *backs, *other;
	const int64_t *distances;
	struct row_window w;
	int r;

	*ret_id1 = g->id1;
	*ret_id2 = g->id2;
	if (g->have & HAVE_IDS)
		return 0;
	r = piece < g->zone->pieces ? need_raw_links(g) : -EINVAL;
	if (r == 0)
		r = window_of_piece(g, piece, &w);
	if (r < 0)
		return r;
	ids = g->raw.id1 + w.before[BLOCK_ID1];
	backs = g->raw.backs + w.before[BLOCK_ID1_BACK];
	other = g->raw.id2 + w.before[BLOCK_ID2];
	distances = g->raw.distances + w.before[BLOCK_PARENT];
	r = window_take_id1(g, &w, &ids, &backs);
	return r == 0 ? window_take_id2(g, &w, &distances, &other) : r;
}

int group_piece_clocks(struct segment_group *g, uint32_t piece, const uint64_t **ret_times,
		       const uint64_t **ret_durations)
{
	const uint64_t *ids, *times, *points;
	struct row_window w;
	int r;

	*ret_times = g->times;
	*ret_durations = g->durations;
	if ((g->have & HAVE_TIMES) && (g->have & HAVE_DURATIONS))
		return 0;
	r = group_piece_links(g, piece, &ids, &ids);
	if (r == 0)
		r = need_raw_clocks(g);
	if (r == 0)
		r = window_of_piece(g, piece, &w);
	if (r < 0)
		return r;
	times = g->raw.times + w.before[BLOCK_TIME];
	points = g->raw.points + w.before[BLOCK_TIME_POINT];
	window_take_durations(g, &w, g->raw.durations + w.before[BLOCK_DURATION]);
	window_take_times(g, piece, &times, &points);
	return 0;
}
