/* segment/group_links.c - how each row of a group refers to others: ids, parents, times.
 *
 * Per piece: who is whose parent, as a distance in rows; times as distances to the time that says
 * most about them, in this order:
 *
 *   a point           the block it belongs to (the row that gave the id)
 *   parent before it  the parent's time
 *   a child before it the last such child's time
 *   else              the last time of the piece; at first its start
 *
 * The row that begins the piece and the one that ends it need no time: the piece's own say it.
 *
 * All of it looks back only, so that reading is one pass (group_rows.c does the same). */
#include "segment/group_writer.h"
#include "segment/trace_bounds.h"

#define SMALL_PIECE 24
#define NONE        UINT32_MAX

static bool is_block(const struct event *e)
{
	return e->type == EVENT_SPAN || e->type == EVENT_BEGIN;
}

static void put(struct stage *s, uint64_t value)
{
	s->v[s->n++] = value;
}

struct linking {
	struct group_writer *g;
	const struct piece_row *piece;
	const struct group_row *rows; /* of the piece */
	uint32_t slots;               /* 0: small, no table */
	uint64_t ids[SMALL_PIECE];    /* of a small one's blocks; 0: it is none */
};

static uint32_t slot_of(const struct linking *l, uint64_t id)
{
	return (uint32_t)(hash_u64(id, l->g->shapes.seed) >> 32) & (l->slots - 1);
}

/* Blocks of a large piece, by id; the first of equal ones stays. */
static void table_build(struct linking *l)
{
	uint32_t *table = l->g->row_of_id;

	for (l->slots = 64; l->slots < 2 * l->piece->rows; l->slots *= 2)
		;
	memset(table, 0, l->slots * sizeof(*table));
	for (uint32_t i = 0; i < l->piece->rows; i++) {
		uint32_t at;

		if (!is_block(l->rows[i].e))
			continue;
		for (at = slot_of(l, l->rows[i].e->id1); table[at]; at = (at + 1) & (l->slots - 1))
			if (l->rows[table[at] - 1].e->id1 == l->rows[i].e->id1)
				break;
		if (!table[at])
			table[at] = i + 1;
	}
}

/* The first block of the piece with this id, which is not 0, or NONE. */
static uint32_t find_block(const struct linking *l, uint64_t id)
{
	if (l->slots == 0) {
		for (uint32_t i = 0; i < l->piece->rows; i++)
			if (l->ids[i] == id)
				return i;
		return NONE;
	}
	for (uint32_t at = slot_of(l, id), row; (row = l->g->row_of_id[at]);
	     at = (at + 1) & (l->slots - 1))
		if (l->rows[row - 1].e->id1 == id)
			return row - 1;
	return NONE;
}

static uint32_t link_id1(struct linking *l, uint32_t i)
{
	const struct event *e = l->rows[i].e;

	if (e->id1 == 0)
		return ID1_ZERO;
	if (!is_block(e)) {
		uint32_t at;

		if (i > 0 && l->rows[i - 1].e->id1 == e->id1)
			return ID1_SAME;
		at = find_block(l, e->id1);
		if (at != NONE && at < i) {
			put(&l->g->id1_back, i - at);
			return ID1_BACK;
		}
	}
	put(&l->g->id1, e->id1);
	return ID1_COLUMN;
}

/* *ret_parent is the row of the parent, or NONE. */
static uint32_t link_id2(struct linking *l, uint32_t i, uint32_t *ret_parent)
{
	const struct event *e = l->rows[i].e;

	*ret_parent = NONE;
	if (e->id2 == 0)
		return ID2_ZERO;
	*ret_parent = find_block(l, e->id2);
	if (*ret_parent == NONE) {
		put(&l->g->id2, e->id2);
		return ID2_COLUMN;
	}
	put(&l->g->parents, (uint64_t)((int64_t)*ret_parent - (int64_t)i));
	if (*ret_parent > i)
		l->g->child[*ret_parent] = (int32_t)i;
	return ID2_ROW;
}

/* Only rows that are all there have a start. */
static void measure_piece(struct linking *l, struct piece_row *p)
{
	struct trace_bounds b = trace_bounds_begin();
	bool small = p->rows <= SMALL_PIECE;

	for (uint32_t i = 0; i < p->rows; i++) {
		const struct event *e = l->rows[i].e;

		trace_bounds_add(&b, e);
		l->g->child[i] = -1;
		if (small)
			l->ids[i] = is_block(e) ? e->id1 : 0;
	}
	trace_bounds_end(&b, &p->start_ns, &p->duration_ns);
	if (!small)
		table_build(l);
}

static void link_places(struct group_writer *g, const struct piece_row *p)
{
	for (struct group_row *row = g->rows + p->first; row < g->rows + p->first + p->rows;
	     row++) {
		const struct batch *b = g->dictionary.remaps[row->remap].batch;
		struct event_place place = batch_place_get(b, (size_t)(row->e - b->events));

		if (place.unit) {
			row->form |= FORM_UNIT;
			put(&g->units, place.unit);
		}
		if (place.seq) {
			row->form |= FORM_SEQ;
			put(&g->seqs, place.seq);
		}
	}
}

void group_links(struct group_writer *g, struct piece_row *p)
{
	struct linking l;
	uint64_t start, end, last, owner_time;

	l.g = g;
	l.piece = p;
	l.rows = g->rows + p->first;
	l.slots = 0;
	measure_piece(&l, p);
	start = last = owner_time = (uint64_t)p->start_ns;
	end = start + (uint64_t)p->duration_ns;
	for (uint32_t i = 0; i < p->rows; i++) {
		const struct event *e = l.rows[i].e;
		uint32_t parent, form = link_id1(&l, i) | link_id2(&l, i, &parent);
		bool point = form_is_point(form);
		uint64_t base = last;

		if (point)
			base = owner_time;
		else if (parent != NONE && parent < i)
			base = l.rows[parent].e->time_ns;
		else if (g->child[i] >= 0)
			base = l.rows[g->child[i]].e->time_ns;
		if (base == 0)
			base = last;
		if (e->time_ns == 0)
			form |= TIME_ZERO;
		else if (e->time_ns == start)
			form |= TIME_START;
		else if (e->end_ns == end && end != 0 && !point)
			form |= TIME_LAST; /* durations are read without times: they stay */
		else {
			form |= TIME_COLUMN;
			put(point ? &g->point_times : &g->times, e->time_ns - base);
		}
		if (e->end_ns == 0)
			form |= END_ZERO;
		else if ((form & TIME_MASK) == TIME_START &&
			 e->end_ns - e->time_ns == (uint64_t)p->duration_ns)
			form |= END_WHOLE;
		else {
			form |= END_COLUMN;
			put(&g->durations, e->end_ns - e->time_ns);
		}
		if (!point) {
			owner_time = e->time_ns;
			if (e->time_ns)
				last = e->time_ns;
		}
		g->rows[p->first + i].form = form;
		g->blocks += is_block(e);
		g->errors += row_failed(e->type, e->status);
	}
	if (g->placed)
		link_places(g, p);
}
