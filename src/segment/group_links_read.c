/* segment/group_links_read.c - ids, parents and times of a group's rows: what group_links.c wrote,
 * undone in one pass. */
#include <errno.h>

#include "base/cleanup.h"
#include "segment/group_window.h"

static size_t count_of(const struct row_window *w, size_t n, enum group_block id)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += w[i].count[id];
	return count;
}

/* The values that windows have in a block, as ranges: 1; 0 if they have none. */
static int get_ranges(struct segment_group *g, enum group_block id, const struct row_window *w,
		      size_t n, struct column_range *ranges)
{
	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct column_range){w[i].before[id], w[i].count[id]};
	if (g->fixed[id].n != w->total[id])
		return group_decoded(g, id, -EBADMSG);
	return count_of(w, n, id) > 0;
}

/* A block of integers with these values at least: the same. */
static int get_block(struct segment_group *g, enum group_block id, const struct row_window *w,
		     size_t n, struct slice *ret_block, struct column_range *ranges)
{
	int r = get_ranges(g, id, w, n, ranges), e = 0;

	if (r > 0)
		e = group_block_ranges(g, id, ranges, n, ret_block);
	return e < 0 ? e : r;
}

int window_get_u64(struct segment_group *g, enum group_block id, const struct row_window *w,
		   size_t n, uint64_t *out)
{
	struct column_range ranges[GROUP_FEW_ROWS];
	struct slice block;
	int r = get_block(g, id, w, n, &block, ranges);

	return r <= 0 ? r
		      : group_decoded(g, id,
				      column_decode_u64_ranges(g->codec, block, w->total[id], NULL,
							       0, ranges, n, out));
}

int window_get_ids(struct segment_group *g, enum group_block id, const struct row_window *w,
		   size_t n, uint64_t *out)
{
	struct column_range ranges[GROUP_FEW_ROWS];
	int r = get_ranges(g, id, w, n, ranges);

	return r <= 0 ? r : group_fixed_ranges(g, id, sizeof(*out), ranges, n, out);
}

int window_take_id1(struct segment_group *g, const struct row_window *w, const uint64_t **ids,
		    const uint64_t **backs)
{
	const uint64_t *id = *ids, *back = *backs;

	for (uint32_t p = w->piece; p < w->piece_end; p++)
		for (uint32_t i = g->piece_first[p]; i < g->piece_first[p + 1]; i++) {
			uint32_t in = i - g->piece_first[p];

			switch (group_form(g, i) & ID1_MASK) {
			case ID1_COLUMN:
				g->id1[i] = *id++;
				break;
			case ID1_SAME:
				if (in == 0)
					return group_bad(g, "ids");
				g->id1[i] = g->id1[i - 1];
				break;
			case ID1_BACK:
				if (*back == 0 || *back > in)
					return group_bad(g, "ids by distance");
				g->id1[i] = g->id1[i - *back++];
				break;
			default:
				g->id1[i] = 0;
			}
		}
	*ids = id;
	*backs = back;
	return 0;
}

static int need_id1(struct segment_group *g, const struct row_window *w, size_t n)
{
	const uint64_t *id = g->scratch, *back = g->scratch + count_of(w, n, BLOCK_ID1);
	int r = window_get_ids(g, BLOCK_ID1, w, n, g->scratch);

	if (r == 0)
		r = window_get_u64(g, BLOCK_ID1_BACK, w, n, g->scratch + count_of(w, n, BLOCK_ID1));
	for (size_t i = 0; i < n && r == 0; i++)
		r = window_take_id1(g, &w[i], &id, &back);
	return r;
}

int window_take_id2(struct segment_group *g, const struct row_window *w, const int64_t **distances,
		    const uint64_t **ids)
{
	const int64_t *distance = *distances;
	const uint64_t *id = *ids;

	for (uint32_t p = w->piece; p < w->piece_end; p++)
		for (uint32_t i = g->piece_first[p]; i < g->piece_first[p + 1]; i++) {
			int64_t at;

			g->parents[i] = -1;
			g->id2[i] = 0;
			switch (group_form(g, i) & ID2_MASK) {
			case ID2_COLUMN:
				g->id2[i] = *id++;
				break;
			case ID2_ROW:
				if (__builtin_add_overflow(*distance++, (int64_t)i, &at) ||
				    at < g->piece_first[p] || at >= g->piece_first[p + 1])
					return group_bad(g, "parents");
				g->parents[i] = (int32_t)at;
				g->id2[i] = g->id1[at];
				break;
			}
		}
	*distances = distance;
	*ids = id;
	return 0;
}

static int need_id2(struct segment_group *g, const struct row_window *w, size_t n)
{
	const int64_t *distance = (const int64_t *)g->scratch;
	const uint64_t *id = g->scratch + count_of(w, n, BLOCK_PARENT);
	int r = window_get_u64(g, BLOCK_PARENT, w, n, g->scratch);

	if (r == 0)
		r = window_get_ids(g, BLOCK_ID2, w, n, g->scratch + count_of(w, n, BLOCK_PARENT));
	for (size_t i = 0; i < n && r == 0; i++)
		r = window_take_id2(g, &w[i], &distance, &id);
	return r;
}

int window_ids(struct segment_group *g, const struct row_window *w, size_t n)
{
	int r = need_id1(g, w, n);

	return r == 0 ? need_id2(g, w, n) : r;
}

int group_need_ids(struct segment_group *g)
{
	struct row_window w;
	int r = 0;

	if (g->have & HAVE_IDS)
		return 0;
	r = window_whole(g, &w);
	if (r == 0)
		r = window_ids(g, &w, 1);
	if (r == 0)
		g->have |= HAVE_IDS;
	return r;
}

void window_take_times(struct segment_group *g, uint32_t piece, const uint64_t **times,
		       const uint64_t **points)
{
	uint32_t first = g->piece_first[piece], end = g->piece_first[piece + 1];
	uint64_t start = (uint64_t)g->piece_start[piece], last = start, owner = start;

	for (uint32_t i = first; i < end; i++)
		g->child[i] = -1;
	for (uint32_t i = first; i < end; i++) {
		uint32_t form = group_form(g, i);
		bool point = form_is_point(form);
		int32_t parent = g->parents[i];
		uint64_t base = last;

		if (parent > (int32_t)i)
			g->child[parent] = (int32_t)i;
		if (point)
			base = owner;
		else if (parent >= 0 && parent < (int32_t)i)
			base = g->times[parent];
		else if (g->child[i] >= 0)
			base = g->times[g->child[i]];
		if (base == 0)
			base = last;
		switch (form & TIME_MASK) {
		case TIME_COLUMN:
			g->times[i] = base + (point ? *(*points)++ : *(*times)++);
			break;
		case TIME_START:
			g->times[i] = start;
			break;
		case TIME_LAST:
			g->times[i] = start + (uint64_t)g->piece_duration[piece] - g->durations[i];
			break;
		default:
			g->times[i] = 0;
		}
		if (!point) {
			owner = g->times[i];
			if (owner)
				last = owner;
		}
	}
}

/* The shapes of values of a block by shape, from value `from` on to the last of a window: into
 * shapes[value]. */
static int shapes_of_values(struct segment_group *g, enum group_block id, size_t from,
			    const struct row_window *w, uint32_t *shapes)
{
	uint8_t *has = (uint8_t *)(shapes + g->zone->rows + 1);
	enum mark_lane lane = id == BLOCK_DURATION ? MARK_DURATION
			      : id == BLOCK_TIME   ? MARK_TIME
						   : MARK_TIME_POINT;
	uint32_t mark = from > 0 ? (w->end - 1) / MARK_ROWS : 0, known = 0;
	int r = mark > 0 ? group_need_marks(g) : 0;

	while (r == 0 && mark > 0 && g->marks[mark][lane] > from)
		mark--;
	if (r == 0)
		r = group_need_codes_part(g, mark * MARK_ROWS, w->end);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < g->zone->shape_n; i++)
		has[i] = form_has(g->forms[i], id);
	if (mark > 0)
		known = g->marks[mark][lane];
	/* What marks say may be wrong. */
	if (known > mark * MARK_ROWS)
		return group_decoded(g, BLOCK_MARKS, -EBADMSG);
	for (uint32_t i = mark * MARK_ROWS; i < w->end; i++) {
		shapes[known] = g->codes[i];
		known += has[g->codes[i]];
	}
	return known == w->before[id] + w->count[id] ? 0 : group_decoded(g, BLOCK_MARKS, -EBADMSG);
}

int window_get_by_shape(struct segment_group *g, enum group_block id, const struct row_window *w,
			size_t n, uint64_t *out)
{
	uint32_t *shapes = (uint32_t *)(g->scratch + g->zone->rows);
	struct column_range ranges[GROUP_FEW_ROWS];
	struct slice block;
	int r = get_block(g, id, w, n, &block, ranges);

	if (r <= 0)
		return r;
	r = 0;
	/* How they are written says how much of what is before must be known. */
	for (size_t i = 0; column_has_contexts(block) && i < n && r == 0; i++)
		if (w[i].count[id] > 0)
			r = shapes_of_values(
				g, id, column_contexts_from(block, w->total[id], w[i].before[id]),
				&w[i], shapes);
	return r < 0 ? r
		     : group_decoded(g, id,
				     column_decode_u64_ranges(g->codec, block, w->total[id], shapes,
							      g->zone->shape_n, ranges, n, out));
}

/* How long pieces take is decoded only for rows of this form, and of the windows' pieces alone. */
static int need_piece_durations(struct segment_group *g, const struct row_window *w, size_t n,
				uint32_t mask, uint32_t form)
{
	struct column_range ranges[GROUP_FEW_ROWS];
	const uint64_t *from = g->scratch;
	struct slice block;
	bool any = false;
	int r;

	for (size_t k = 0; k < n; k++)
		for (uint32_t i = w[k].first; i < w[k].end; i++)
			any |= (group_form(g, i) & mask) == form;
	if (!any || g->have & HAVE_PIECE_TIMES)
		return 0;
	if (w->whole)
		return group_need_piece_times(g);
	for (size_t k = 0; k < n; k++)
		ranges[k] = (struct column_range){w[k].piece, w[k].piece_end - w[k].piece};
	r = group_block(g, BLOCK_PIECE_DURATION, g->zone->pieces, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_PIECE_DURATION,
				  column_decode_u64_ranges(g->codec, block, g->zone->pieces, NULL,
							   0, ranges, n, g->scratch));
	for (size_t k = 0; k < n && r == 0; k++)
		for (uint32_t p = w[k].piece; p < w[k].piece_end; p++)
			g->piece_duration[p] = (int64_t)*from++;
	return r;
}

int window_times(struct segment_group *g, const struct row_window *w, size_t n)
{
	const uint64_t *times = g->scratch, *points = g->scratch + count_of(w, n, BLOCK_TIME);
	int r = need_piece_durations(g, w, n, TIME_MASK, TIME_LAST);

	if (r == 0)
		r = window_get_by_shape(g, BLOCK_TIME, w, n, g->scratch);

	if (r == 0)
		r = window_get_by_shape(g, BLOCK_TIME_POINT, w, n,
					g->scratch + count_of(w, n, BLOCK_TIME));
	for (size_t i = 0; i < n && r == 0; i++)
		for (uint32_t p = w[i].piece; p < w[i].piece_end; p++)
			window_take_times(g, p, &times, &points);
	return r;
}

/* Does a row of the group say its time by its end? */
static bool has_last(const struct segment_group *g)
{
	bool any = false;

	for (uint32_t i = 0; i < g->zone->shape_n; i++)
		any |= (g->forms[i] & TIME_MASK) == TIME_LAST;
	return any;
}

int group_need_times(struct segment_group *g)
{
	struct row_window w;
	int r = group_need_ids(g);

	if (r < 0 || g->have & HAVE_TIMES)
		return r;
	r = window_whole(g, &w);
	if (r == 0 && has_last(g))
		r = group_need_durations(g);
	if (r == 0)
		r = window_times(g, &w, 1);
	if (r == 0)
		g->have |= HAVE_TIMES;
	return r;
}

const uint64_t *window_take_durations(struct segment_group *g, const struct row_window *w,
				      const uint64_t *from)
{
	for (uint32_t p = w->piece; p < w->piece_end; p++)
		for (uint32_t i = g->piece_first[p]; i < g->piece_first[p + 1]; i++) {
			uint32_t form = group_form(g, i) & END_MASK;

			g->durations[i] = form == END_COLUMN  ? *from++
					  : form == END_WHOLE ? (uint64_t)g->piece_duration[p]
							      : 0;
		}
	return from;
}

int window_durations(struct segment_group *g, const struct row_window *w, size_t n)
{
	const uint64_t *from = g->scratch;
	int r = need_piece_durations(g, w, n, END_MASK, END_WHOLE);

	if (r == 0)
		r = window_get_by_shape(g, BLOCK_DURATION, w, n, g->scratch);

	for (size_t i = 0; i < n && r == 0; i++)
		from = window_take_durations(g, &w[i], from);
	return r;
}

int group_need_durations(struct segment_group *g)
{
	struct row_window w;
	int r;

	if (g->have & HAVE_DURATIONS)
		return 0;
	r = window_whole(g, &w);
	if (r == 0)
		r = window_durations(g, &w, 1);
	if (r < 0)
		return r;
	g->have |= HAVE_DURATIONS;
	segment_see_rows(g->segment, g->number, g->durations, g->zone->rows);
	return 0;
}

/* Numbers that few groups have: for those without, the zeros of an earlier one do. */
static int need_rare(struct segment_group *g, enum group_block id, uint32_t bit,
		     const struct row_window *w, uint64_t *to, bool *none)
{
	const uint64_t *from = g->scratch;
	int r = window_get_u64(g, id, w, 1, g->scratch);

	if (r < 0 || (w->total[id] == 0 && *none))
		return r;
	for (uint32_t i = w->first; i < w->end; i++)
		to[i] = group_form(g, i) & bit ? *from++ : 0;
	*none = w->total[id] == 0 && w->whole;
	if (*none && g->zone->rows < g->row_capacity)
		memset(to, 0, g->row_capacity * sizeof(*to));
	return 0;
}

int window_units(struct segment_group *g, const struct row_window *w)
{
	int r = need_rare(g, BLOCK_UNIT, FORM_UNIT, w, g->units, &g->no_units);

	return r == 0 ? need_rare(g, BLOCK_SEQ, FORM_SEQ, w, g->seqs, &g->no_seqs) : r;
}

int group_need_units(struct segment_group *g)
{
	struct row_window w;
	int r;

	if (g->have & HAVE_UNITS)
		return 0;
	r = window_whole(g, &w);
	if (r == 0)
		r = window_units(g, &w);
	if (r == 0)
		g->have |= HAVE_UNITS;
	return r;
}

/* The ids of the windows' pieces; nothing else of them. */
int window_piece_ids(struct segment_group *g, const struct row_window *w, size_t n)
{
	struct trace_id *ids = (struct trace_id *)(void *)g->scratch;
	struct column_range ranges[GROUP_FEW_ROWS];
	int r;

	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct column_range){w[i].piece, w[i].piece_end - w[i].piece};
	if (g->fixed[BLOCK_PIECE_ID].n != g->zone->pieces)
		return group_decoded(g, BLOCK_PIECE_ID, -EBADMSG);
	r = group_fixed_ranges(g, BLOCK_PIECE_ID, sizeof(*ids), ranges, n, ids);
	for (size_t i = 0; i < n && r == 0; i++)
		for (uint32_t p = w[i].piece; p < w[i].piece_end; p++)
			g->pieces[p].id = *ids++;
	return r;
}

/* --- for scans --- */

int group_durations(struct segment_group *g, const uint64_t **ret_durations)
{
	int r = group_need_durations(g);

	if (r == 0)
		*ret_durations = g->durations;
	return r;
}

int group_times(struct segment_group *g, const uint64_t **ret_times)
{
	int r = group_need_times(g);

	if (r == 0)
		*ret_times = g->times;
	return r;
}

int group_ids(struct segment_group *g, const uint64_t **ret_id1)
{
	int r = group_need_ids(g);

	if (r == 0)
		*ret_id1 = g->id1;
	return r;
}

int group_parents(struct segment_group *g, const uint64_t **ret_id2)
{
	int r = group_need_ids(g);

	if (r == 0)
		*ret_id2 = g->id2;
	return r;
}
