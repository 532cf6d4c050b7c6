/* segment/group_pieces.c - the pieces of an open group: whose they are, where they begin, how long
 * they take. */
#include <errno.h>

#include "base/cleanup.h"
#include "segment/group_int.h"

int group_need_piece_firsts(struct segment_group *g)
{
	uint32_t n = g->zone->pieces, row = 0;
	struct slice block;
	int r;

	if (g->have & HAVE_PIECE_FIRSTS)
		return 0;
	r = group_block(g, BLOCK_PIECE_ROWS, n, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_PIECE_ROWS,
				  column_decode_u64(g->codec, block, n, g->scratch));
	for (uint32_t i = 0; i < n && r == 0; i++) {
		g->piece_first[i] = row;
		if (g->scratch[i] == 0 || g->scratch[i] > g->zone->rows - row)
			return group_decoded(g, BLOCK_PIECE_ROWS, -EBADMSG);
		row += (uint32_t)g->scratch[i];
	}
	if (r == 0 && row != g->zone->rows)
		return group_decoded(g, BLOCK_PIECE_ROWS, -EBADMSG);
	g->piece_first[n] = row;
	if (r == 0)
		g->have |= HAVE_PIECE_FIRSTS;
	return r;
}

int group_need_piece_starts(struct segment_group *g)
{
	uint32_t n = g->zone->pieces;
	struct slice block;
	int r = group_need_piece_firsts(g);

	if (r < 0 || g->have & HAVE_PIECE_STARTS)
		return r;
	r = group_block(g, BLOCK_PIECE_START, n, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_PIECE_START,
				  column_decode_i64(g->codec, block, n, g->piece_start));
	for (uint32_t i = 1; i < n && r == 0; i++)
		g->piece_start[i] =
			(int64_t)((uint64_t)g->piece_start[i] + (uint64_t)g->piece_start[i - 1]);
	if (r == 0)
		g->have |= HAVE_PIECE_STARTS;
	return r;
}

int group_need_piece_times(struct segment_group *g)
{
	uint32_t n = g->zone->pieces;
	struct slice block;
	int r = group_need_piece_starts(g);

	if (r < 0 || g->have & HAVE_PIECE_TIMES)
		return r;
	r = group_block(g, BLOCK_PIECE_DURATION, n, &block);
	if (r == 0)
		r = group_decoded(
			g, BLOCK_PIECE_DURATION,
			column_decode_u64(g->codec, block, n, (uint64_t *)g->piece_duration));
	if (r == 0)
		g->have |= HAVE_PIECE_TIMES;
	return r;
}

int group_piece_firsts(struct segment_group *g, const uint32_t **ret_first, uint32_t *ret_n)
{
	int r = group_need_piece_firsts(g);

	if (r < 0)
		return r;
	*ret_first = g->piece_first;
	*ret_n = g->zone->pieces;
	return 0;
}

int group_piece_times(struct segment_group *g, const int64_t **ret_start_ns,
		      const int64_t **ret_duration_ns, const uint32_t **ret_first, uint32_t *ret_n)
{
	int r = group_need_piece_times(g);

	if (r < 0)
		return r;
	*ret_start_ns = g->piece_start;
	*ret_duration_ns = g->piece_duration;
	*ret_first = g->piece_first;
	*ret_n = g->zone->pieces;
	return 0;
}

static int need_pieces(struct segment_group *g)
{
	uint32_t n = g->zone->pieces;
	struct trace_id *ids = (struct trace_id *)(void *)g->scratch;
	struct slice block;
	int r = group_need_piece_times(g);

	if (r < 0 || g->have & HAVE_PIECES)
		return r;
	r = group_block(g, BLOCK_PIECE_ID, n, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_PIECE_ID,
				  column_decode_fixed(g->codec, block, sizeof(*ids), n, ids));
	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct group_piece *p = &g->pieces[i];

		*p = (struct group_piece){.id = ids[i],
					  .first = g->piece_first[i],
					  .rows = g->piece_first[i + 1] - g->piece_first[i],
					  .start_ns = g->piece_start[i],
					  .duration_ns = g->piece_duration[i]};
	}
	if (r == 0)
		g->have |= HAVE_PIECES;
	return r;
}

static int need_piece_errors(struct segment_group *g)
{
	int r = need_pieces(g);

	if (r < 0 || g->have & HAVE_PIECE_ERRORS)
		return r;
	r = g->zone->errors ? group_need_codes(g) : 0;
	for (uint32_t i = 0; i < g->zone->pieces && g->zone->errors && r == 0; i++) {
		struct group_piece *p = &g->pieces[i];

		for (uint32_t j = p->first; j < p->first + p->rows; j++)
			p->errors |= (group_form(g, j) & FORM_FAILED) != 0;
	}
	if (r == 0)
		g->have |= HAVE_PIECE_ERRORS;
	return r;
}

int group_find_piece(struct segment_group *g, struct trace_id id, uint32_t from,
		     uint32_t *ret_piece)
{
	const struct trace_id *ids = (const struct trace_id *)(void *)g->scratch;
	uint32_t n = g->zone->pieces;
	struct slice block;
	int r = group_need_piece_times(g);

	if (r == 0)
		r = group_block(g, BLOCK_PIECE_ID, n, &block);
	if (r == 0)
		r = group_decoded(
			g, BLOCK_PIECE_ID,
			column_decode_fixed(g->codec, block, sizeof(*ids), n, g->scratch));
	for (uint32_t i = from; i < n && r == 0; i++)
		if (trace_id_eq(ids[i], id)) {
			*ret_piece = i;
			return 1;
		}
	return r;
}

int group_pieces_bare(struct segment_group *g, const struct group_piece **ret_pieces,
		      uint32_t *ret_n)
{
	int r = need_pieces(g);

	if (r < 0)
		return r;
	*ret_pieces = g->pieces;
	*ret_n = g->zone->pieces;
	return 0;
}

int group_pieces(struct segment_group *g, const struct group_piece **ret_pieces, uint32_t *ret_n)
{
	int r = need_piece_errors(g);

	return r < 0 ? r : group_pieces_bare(g, ret_pieces, ret_n);
}
