/* store/span_walk.c - every span of the traces in a window, from columns where that is possible. */
#include "store/span_walk.h"

#include <errno.h>

#include "base/cleanup.h"
#include "store/scan.h"
#include "store/span_gather_int.h"
#include "store/store_int.h"
#include "store/summary.h"

#define ROWS_TOGETHER ((size_t)1 << 17) /* of one trace */

struct walking {
	const struct store_walk *walk;
	struct span_gather spans;
	struct event_set held;
};

static bool starts_inside(const struct store_walk *w, int64_t start_ns)
{
	return !(w->from_ns && start_ns < w->from_ns) && !(w->to_ns && start_ns >= w->to_ns);
}

/* The columns of a group that spans are read from. */
struct columns {
	const struct segment_tables *tables;
	const struct shapes *shapes;
	const uint32_t *codes;
	const uint64_t *times, *durations, *ids, *parents;
	const struct group_column *names; /* NULL: all are in shapes */
	uint32_t next_name;
	/* The walk's keys: UINT32_MAX and NULL where the segment, the group has none. */
	size_t key_n;
	uint32_t keys[WALK_KEYS_MOST], next_text[WALK_KEYS_MOST];
	const struct group_column *texts[WALK_KEYS_MOST];
};

static int keys_read(struct segment_group *g, const struct store_walk *walk, struct columns *c)
{
	c->key_n = walk->key_n;
	for (size_t k = 0; k < walk->key_n; k++) {
		int r = -ENOENT;

		c->keys[k] = tables_find(c->tables, walk->keys[k]);
		if (c->keys[k] != UINT32_MAX)
			r = group_column(g, LEVEL_BLOCK, c->keys[k], VALUE_STRING, &c->texts[k]);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

static int columns_read(struct segment_group *g, const struct store_walk *walk, struct columns *c)
{
	int r;

	*c = (struct columns){.tables = group_tables(g), .shapes = tables_shapes(group_tables(g))};
	if ((r = group_shapes(g, &c->codes)) < 0 || (r = group_times(g, &c->times)) < 0 ||
	    (r = group_durations(g, &c->durations)) < 0 || (r = group_ids(g, &c->ids)) < 0 ||
	    (r = group_parents(g, &c->parents)) < 0)
		return r;
	r = group_column(g, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &c->names);
	return r < 0 && r != -ENOENT ? r : keys_read(g, walk, c);
}

/* Rows are asked for in order. */
static struct slice name_of(struct columns *c, const struct shape *s, uint32_t row)
{
	const struct group_column *names = c->names;

	if (s->name != NAME_VARIES)
		return tables_text(c->tables, s->name);
	while (names && c->next_name < names->n && names->rows[c->next_name] < row)
		c->next_name++;
	if (!names || c->next_name == names->n || names->rows[c->next_name] != row)
		return slice_of("", 0);
	return column_text(names, c->next_name);
}

/* The first text of a key in the group's column.  Rows are asked for in order. */
static struct slice column_first(struct columns *c, size_t key, uint32_t row)
{
	const struct group_column *texts = c->texts[key];
	uint32_t *next = &c->next_text[key];

	while (texts && *next < texts->n && texts->rows[*next] < row)
		++*next;
	if (!texts || *next == texts->n || texts->rows[*next] != row)
		return slice_of(NULL, 0);
	return text_there(column_text(texts, *next));
}

static void texts_fill(struct columns *c, const struct shape *s, uint32_t row, struct slice *texts)
{
	const struct shape_entry *entries = c->shapes->entries + s->entry_first;

	for (uint32_t i = 0; i < s->entry_n; i++)
		for (size_t k = 0; k < c->key_n; k++) {
			const struct shape_entry *e = &entries[i];

			if (texts[k].p)
				continue;
			if (e->class == ENTRY_LOOSE)
				texts[k] = column_first(c, k, row);
			else if (e->key != c->keys[k] || e->type != VALUE_STRING)
				continue;
			else if (e->class == ENTRY_VAR)
				texts[k] = column_first(c, k, row);
			else
				texts[k] = text_there(tables_text(c->tables, (uint32_t)e->value));
		}
}

static int gather_rows(struct span_gather *spans, struct columns *c, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct shape *s = &c->shapes->rows[c->codes[i]];
		struct slice *texts;

		if (!shape_is_block(s))
			continue;
		texts = span_gather_add(
			spans,
			&(struct span_seen){.id = c->ids[i],
					    .parent_id = c->parents[i],
					    .service = tables_service(c->tables, s->resource),
					    .name = name_of(c, s, i),
					    .time_ns = c->times[i],
					    .duration_ns = c->durations[i],
					    .ended = s->type == EVENT_SPAN,
					    .kind = s->kind,
					    .status = s->status,
					    .shared = event_is_shared(s->format, s->bits),
					    .format = s->format,
					    .bits = s->bits},
			c->key_n);
		if (!texts)
			return -ENOMEM;
		if (c->key_n > 0)
			texts_fill(c, s, i, texts);
	}
	return 0;
}

/* No trace begins later than one of its pieces: where all of them are outside, on the same side or
 * not, it is, too.  One that goes on in other groups is shown where its rows begin, and may begin
 * earlier by its time further on. */
static bool zone_wanted(void *context, struct segment *segment, uint32_t group)
{
	const struct store_walk *walk = ((struct walking *)context)->walk;
	const struct segment_tables *tables;
	const struct group_zone *zone;
	bool wanted;

	if (segment_pin(segment, &tables) < 0)
		return true; /* whoever opens it tells */
	zone = tables_zone(tables, group);
	wanted = zone->continues || zone->continued ||
		 (!(walk->from_ns && zone->start_max_ns < walk->from_ns) &&
		  !(walk->to_ns && zone->start_min_ns >= walk->to_ns));
	segment_unpin(segment);
	return wanted;
}

static int walk_group(void *context, struct segment_group *g, const uint32_t *indices, uint32_t n)
{
	struct walking *w = context;
	const struct group_piece *pieces;
	const struct group_zone *zone = group_zone(g);
	struct columns c;
	uint32_t all;
	int r;

	/* Every piece here is a whole trace, so the zone map speaks of whole traces. */
	if ((w->walk->from_ns && zone->start_max_ns < w->walk->from_ns) ||
	    (w->walk->to_ns && zone->start_min_ns >= w->walk->to_ns))
		return 0;
	r = group_pieces(g, &pieces, &all);
	if (r == 0)
		r = columns_read(g, w->walk, &c);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct group_piece *p = &pieces[indices[i]];

		if (!starts_inside(w->walk, p->start_ns))
			continue;
		r = gather_rows(&w->spans, &c, p->first, p->rows);
		if (r == 0)
			r = span_gather_show(&w->spans, p->id, w->walk);
	}
	return r;
}

/* A trace put together from several places comes in pages, which are held until all are there; of a
 * giant, as many as may be held: a parent in other pages is not seen then. */
static int hold(struct walking *w, const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!event_set_add(&w->held, (struct batch *)(uintptr_t)refs[i].batch,
				   refs[i].index, 1))
			return -ENOMEM;
	return 0;
}

static int show_rows(struct walking *w, struct trace_id id, const struct event_ref *refs, size_t n)
{
	int64_t start_ns, duration_ns;
	int r;

	trace_bounds(refs, n, &start_ns, &duration_ns);
	if (!starts_inside(w->walk, start_ns))
		return 0;
	r = span_gather_rows(&w->spans, w->walk, refs, n);
	return r < 0 ? r : span_gather_show(&w->spans, id, w->walk);
}

static int walk_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		      bool more)
{
	struct walking *w = context;
	int r;

	if (!more && w->held.n == 0)
		return show_rows(w, id, refs, n);
	r = hold(w, refs, n);
	if (r < 0 || (more && w->held.n < ROWS_TOGETHER))
		return r;
	r = show_rows(w, id, w->held.refs, w->held.n);
	event_set_clear(&w->held);
	return r;
}

int snapshot_spans(const struct snapshot *s, const struct store_walk *walk)
{
	struct walking w = {.walk = walk};
	const struct scan scan = {
		.group = walk_group, .trace = walk_trace, .wanted = zone_wanted, .context = &w};
	int r = snapshot_scan(s, &scan);

	span_gather_done(&w.spans);
	event_set_done(&w.held);
	return r;
}
