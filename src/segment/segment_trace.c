/* segment/segment_trace.c - one trace out of a segment, whole or by pages. */
#include <errno.h>

#include "base/cleanup.h"
#include "segment/group_int.h"
#include "segment/segment_reader_int.h"

/* A trace's piece: it begins in an open group and may go on in the next ones. */
struct place {
	struct segment_group *g; /* whole; the group it begins in */
	uint32_t first, rows;    /* in that group */
	uint64_t all;            /* rows in all groups */
};

static void place_done(struct place *p)
{
	group_close(p->g);
}

static int find_piece(struct segment_group *g, struct trace_id id, struct place *p)
{
	uint32_t i;
	/* A first piece that began in an earlier group is not found here. */
	int r = group_find_piece(g, id, g->zone->continues, &i);

	if (r <= 0)
		return r;
	p->first = g->piece_first[i];
	p->rows = g->piece_first[i + 1] - p->first;
	p->all = p->rows;
	for (uint32_t z = g->number; i == g->zone->pieces - 1 && g->tables->zones[z].continued &&
				     (z == g->number || g->tables->zones[z].pieces == 1);
	     z++)
		p->all += g->tables->places[z + 1].first_rows;
	return 1;
}

static int find(struct segment *s, struct trace_id id, enum group_reading reading,
		struct place *ret_place)
{
	uint32_t at = 0, group, last = UINT32_MAX;
	uint64_t hash = segment_id_hash(id);
	int r = segment_pin_index(s);

	if (r < 0)
		return r;
	while (r == 0 && (group = trace_index_next(&s->index, hash, &at)) != UINT32_MAX) {
		struct place p = {0};

		if (group == last)
			continue;
		last = group;
		r = group_open_int(s, group, reading, &p.g);
		if (r == 0)
			group_keep(p.g);
		if (r == 0)
			r = find_piece(p.g, id, &p);
		if (r == 1)
			*ret_place = p;
		else
			place_done(&p);
	}
	segment_unpin(s);
	return r < 0 ? r : r == 1 ? 0 : -ENOENT;
}

int segment_has(struct segment *s, struct trace_id id)
{
	struct place p;
	int r = find(s, id, READ_DIRECTORY, &p);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	place_done(&p);
	return 1;
}

static int get_page(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
		    enum group_reading reading, struct event_set *set, uint64_t *ret_rows)
{
	bool bare = reading == READ_DIRECTORY;
	struct place p;
	uint64_t skip = from;
	uint32_t group;
	int r = find(s, id, reading, &p);

	if (r < 0)
		return r;
	limit = from < p.all ? MIN(limit, p.all - from) : 0;
	group = p.g->number;
	while (limit > 0 && r == 0) {
		uint64_t n = skip < p.rows ? MIN(limit, p.rows - skip) : 0;

		if (n > 0) {
			if (p.g->number != group)
				r = group_reopen_int(p.g, group, reading);
			if (r == 0 && !bare)
				r = group_read_whole(p.g);
			if (r == 0)
				r = (bare ? group_rows_bare : group_rows)(
					p.g, (uint32_t)(p.first + skip), (uint32_t)n, set);
			limit -= n;
			skip = 0;
		} else
			skip -= p.rows;
		/* Everything there is was counted by find_piece(): there is a next one. */
		if (limit > 0) {
			group++;
			p.first = 0;
			p.rows = p.g->tables->places[group].first_rows;
		}
	}
	if (r == 0 && ret_rows)
		*ret_rows = p.all;
	place_done(&p);
	return r;
}

int segment_trace_page(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
		       struct event_set *set, uint64_t *ret_rows)
{
	return get_page(s, id, from, limit, READ_WHOLE, set, ret_rows);
}

int segment_trace_page_perhaps(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
			       struct event_set *set, uint64_t *ret_rows)
{
	return get_page(s, id, from, limit, READ_IDS, set, ret_rows);
}

int segment_trace_page_bare(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
			    struct event_set *set, uint64_t *ret_rows)
{
	return get_page(s, id, from, limit, READ_DIRECTORY, set, ret_rows);
}

int segment_trace(struct segment *s, struct trace_id id, struct event_set *set)
{
	return segment_trace_page(s, id, 0, UINT64_MAX, set, NULL);
}
