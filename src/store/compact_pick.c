/* store/compact_pick.c - which segments are worth merging. */
#include "store/compact_int.h"

#include "base/cleanup.h"
#include "core/clock.h"

#define SEGMENTS_MANY 256                 /* with more, larger ones are merged, too: */
#define ROWS_LARGE    ((uint64_t)4 << 20) /* up to here, of at most half of it */
#define PIECES_MOST   ((uint64_t)1 << 20) /* of one merge: its memory */
#define FAN_IN        4                   /* segments in one merge, when there is much to do */
#define FEED_BACKLOG  64                  /* segments that may wait for a cursor */
#define JOINT_LAG_NS  (3600 * NS_PER_S)
#define SPAN_LEAST_NS (3600 * NS_PER_S)
#define SPAN_MOST_NS  (24 * 3600 * NS_PER_S)

/* Rows that arrived so far apart stay apart: retention removes whole segments. */
static int64_t span_most(const struct engine *e)
{
	int64_t age = e->options.retention_age_ns;

	return age ? MAX(SPAN_LEAST_NS, MIN(SPAN_MOST_NS, age / 8)) : SPAN_MOST_NS;
}

/* A cursor that stands before its end still needs to know which row came when. */
static bool feed_waits(const struct engine *e, const struct view *v, const struct view_segment *s)
{
	if (!s->row.feed || v->segment_n > FEED_BACKLOG)
		return false;
	for (size_t i = 0; i < e->manifest.cursor_n; i++)
		if (e->manifest.cursors[i].seq < s->row.seq_last)
			return true;
	return false;
}

static bool may_merge(const struct engine *e, const struct view *v, const struct view_segment *s,
		      enum compact_zeal zeal)
{
	if (atomic_load(&s->damaged) || feed_waits(e, v, s))
		return false;
	if (v->segment_n > SEGMENTS_MANY)
		return s->row.rows < ROWS_LARGE / 2;
	return s->row.rows < (zeal == COMPACT_ALL ? COMPACT_ROWS : COMPACT_ROWS_SMALL);
}

/* Or is there a segment of the manifest between the two, which the view does not have? */
static bool are_neighbours(const struct engine *e, const struct view_segment *a,
			   const struct view_segment *b)
{
	const struct manifest *m = &e->manifest;
	size_t low = 0, high = m->segment_n; /* the first that begins behind a */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->segments[middle].seq_first > a->row.seq_last)
			high = middle;
		else
			low = middle + 1;
	}
	return low < m->segment_n && m->segments[low].number == b->row.number;
}

struct window {
	size_t first, n;
	uint64_t rows, pieces, largest;
};

/* As many as fit, from `first` on. */
static struct window window_at(const struct engine *e, const struct view *v, size_t first,
			       enum compact_zeal zeal)
{
	struct window w = {.first = first};
	size_t most = zeal == COMPACT_BUSY   ? FAN_IN
		      : zeal == COMPACT_IDLE ? 2 * FAN_IN
					     : COMPACT_INPUTS;
	uint64_t rows = v->segment_n > SEGMENTS_MANY ? ROWS_LARGE : COMPACT_ROWS;

	for (size_t i = first; i < v->segment_n && w.n < most; i++) {
		const struct view_segment *s = v->segments[i];

		if (!may_merge(e, v, s, zeal) || w.rows + s->row.rows > rows ||
		    w.pieces + s->row.pieces > PIECES_MOST)
			break;
		/* What one rule has thinned stays apart from what it has not: twice would not be
		 * once for what is judged by comparison. */
		if (i > first &&
		    (atomic_load(&s->apart) || !are_neighbours(e, v->segments[i - 1], s) ||
		     s->row.thinned != v->segments[first]->row.thinned ||
		     s->row.received_max_ns - v->segments[first]->row.received_min_ns >
			     span_most(e)))
			break;
		w.rows += s->row.rows;
		w.pieces += s->row.pieces;
		w.largest = MAX(w.largest, s->row.rows);
		w.n++;
	}
	return w;
}

/* Does it save more than it costs?  A row should be written again only into something much larger
 * than what it came from. */
static bool is_worth(const struct window *w, enum compact_zeal zeal)
{
	switch (zeal) {
	case COMPACT_BUSY:
		return w->n == FAN_IN && w->largest * 2 <= w->rows;
	case COMPACT_IDLE:
		return (w->n >= 4 && w->largest * 2 <= w->rows) ||
		       (w->n >= 2 && w->largest * 3 <= w->rows * 2);
	case COMPACT_ALL:
		return w->n >= 2;
	}
	return false;
}

size_t compact_pick(const struct engine *e, const struct view *v, enum compact_zeal zeal,
		    size_t *ret_first)
{
	for (size_t i = 0; i + 1 < v->segment_n; i++) {
		struct window w = window_at(e, v, i, zeal);

		if (is_worth(&w, zeal)) {
			*ret_first = w.first;
			return w.n;
		}
	}
	return 0;
}

static bool may_thin(const struct engine *e, const struct view *v, size_t i,
		     const struct thinning *t, int64_t now_ns, const struct thin_rule **ret_rule,
		     uint64_t *ret_mark)
{
	const struct view_segment *s = v->segments[i];

	*ret_rule = thinning_rule(t, s->row.received_max_ns, now_ns, ret_mark);
	if (*ret_rule) /* what came a little later should be old enough, too */
		*ret_rule = thinning_rule(t, s->row.received_max_ns,
					  now_ns - MIN((*ret_rule)->after_ns / 8, JOINT_LAG_NS),
					  ret_mark);
	return *ret_rule && *ret_mark != s->row.thinned && !atomic_load(&s->damaged) &&
	       !feed_waits(e, v, s);
}

/* Neighbours go together, so that small ones become fewer; a large one goes alone. */
size_t compact_pick_thin(const struct engine *e, const struct view *v, const struct thinning *t,
			 int64_t now_ns, size_t *ret_first, const struct thin_rule **ret_rule,
			 uint64_t *ret_mark)
{
	for (size_t i = 0; i < v->segment_n; i++) {
		const struct thin_rule *rule, *next;
		struct window w = {.first = i, .n = 1, .rows = v->segments[i]->row.rows};
		uint64_t mark, next_mark;

		w.pieces = v->segments[i]->row.pieces;
		if (!may_thin(e, v, i, t, now_ns, &rule, &mark))
			continue;
		for (size_t k = i + 1; k < v->segment_n && w.n < COMPACT_INPUTS; k++) {
			const struct manifest_segment *row = &v->segments[k]->row;

			if (!may_thin(e, v, k, t, now_ns, &next, &next_mark) || next_mark != mark ||
			    row->thinned != v->segments[i]->row.thinned ||
			    atomic_load(&v->segments[k]->apart) ||
			    w.rows + row->rows > COMPACT_ROWS ||
			    w.pieces + row->pieces > PIECES_MOST ||
			    !are_neighbours(e, v->segments[k - 1], v->segments[k]) ||
			    row->received_max_ns - v->segments[i]->row.received_min_ns >
				    span_most(e))
				break;
			w.rows += row->rows;
			w.pieces += row->pieces;
			w.n++;
		}
		*ret_first = i;
		*ret_rule = rule;
		*ret_mark = mark;
		return w.n;
	}
	return 0;
}
