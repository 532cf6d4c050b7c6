/* segment/segment_salvage.c - what can still be read of a damaged segment, as a new one.
 *
 * Groups depend on nothing but the tables behind them.  Where these are whole, a damaged group
 * costs its own rows and no others; indexes, zone maps and lists of split traces are made again. */
#include "segment/segment_salvage.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group.h"

struct salvage {
	struct segment *from;
	struct segment_group *group;
	struct segment_writer *writer;
	uint64_t rows;
	struct trace_id *ids; /* of the pieces that were saved */
	size_t id_n, id_capacity;
};

static void salvage_done(struct salvage *s)
{
	group_close(s->group);
	segment_writer_abort(s->writer);
	segment_unref(s->from);
	free(s->ids);
}

/* All rows of a group, piece by piece.  1: done; 0: it cannot be read. */
static int group_save(struct salvage *s, uint32_t number)
{
	struct event_set set = {0};
	const struct group_piece *pieces;
	uint32_t n;
	int r = s->group ? group_reopen(s->group, number) : group_open(s->from, number, &s->group);

	if (r == 0)
		r = group_pieces(s->group, &pieces, &n);
	if (r == 0)
		r = group_rows(s->group, 0, group_zone(s->group)->rows, &set);
	if (r < 0) {
		event_set_done(&set);
		return r == -ENOMEM ? r : 0;
	}
	if (!vec_reserve(&s->ids, &s->id_capacity, s->id_n + n, sizeof(*s->ids)))
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		s->ids[s->id_n++] = pieces[i].id;
		r = segment_writer_add(s->writer, set.refs + pieces[i].first, pieces[i].rows);
	}
	s->rows += set.n;
	event_set_done(&set);
	return r < 0 ? r : 1;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

/* Those of the list that were saved.  Where the list cannot be read all traces are on the new one:
 * that makes searches slower, and a trace that is missing from it would make them wrong. */
static int split_save(struct salvage *s)
{
	const struct trace_id *list;
	size_t n, kept = 0;
	int r = segment_split(s->from, &list, &n);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	qsort(s->ids, s->id_n, sizeof(*s->ids), by_bytes);
	for (size_t i = 0; i < s->id_n; i++)
		if (n > 0 && bsearch(&s->ids[i], list, n, sizeof(*list), by_bytes))
			s->ids[kept++] = s->ids[i];
	s->id_n = kept;
	return 0;
}

int segment_salvage(struct fs *fs, const char *dir, uint64_t from, uint64_t to,
		    void (*lost)(void *context, uint32_t group, uint32_t rows, uint32_t pieces),
		    void *context, struct segment_info *ret_info)
{
	_cleanup_(salvage_done)
	struct salvage s = {0};
	const struct segment_options options = {0};
	const struct segment_tables *tables;
	struct segment_seal seal = {0};
	int r = segment_open(fs, dir, from, &s.from, NULL);

	if (r == 0)
		r = segment_pin(s.from, &tables);
	if (r < 0)
		return r == -ENOMEM ? r : -ENODATA;
	r = segment_writer_new(fs, dir, to, &options, &s.writer);
	for (uint32_t i = 0; r >= 0 && i < tables_groups(tables); i++) {
		r = group_save(&s, i);
		if (r == 0)
			lost(context, i, tables_zone(tables, i)->rows,
			     tables_zone(tables, i)->pieces);
	}
	segment_unpin(s.from);
	if (r < 0)
		return r;
	if (s.rows == 0)
		return -ENODATA;
	seal.seq_first = segment_info(s.from)->seq_first;
	seal.seq_last = segment_info(s.from)->seq_last;
	seal.received_min_ns = segment_info(s.from)->received_min_ns;
	seal.received_max_ns = segment_info(s.from)->received_max_ns;
	r = split_save(&s);
	if (r < 0)
		return r;
	seal.split = s.ids;
	seal.split_n = s.id_n;
	return segment_writer_finish(TAKE_PTR(s.writer), &seal, ret_info);
}
