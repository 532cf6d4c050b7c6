/* store/feed.c - the durable engine's feed.
 *
 * In heads, batches are as they came and have their numbers: pages are exact.  A segment is in
 * trace order: it is given group by group, and only its end can be committed.
 *
 *   cursor before the segment          all rows
 *   in its middle, with a side file    rows of batches behind the cursor
 *   in its middle, without one         all rows, marked `again`
 *
 * Between pages only the segment under way is held, no heads. */
#include "store/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/group.h"
#include "store/engine_int.h"
#include "store/feed_file.h"

/* A segment under way. */
struct reading {
	struct view_segment *segment;
	struct segment_group *group;
	uint32_t next; /* group */
	bool again;
	bool filtered;
	struct feed_runs runs; /* if filtered */
	size_t run;            /* the run of the next row … */
	uint64_t used;         /* … and how many of its rows are past */
};

static void reading_free(struct reading *r)
{
	if (!r)
		return;
	group_close(r->group);
	view_segment_unref(r->segment);
	feed_runs_done(&r->runs);
	free(r);
}

void feed_done(struct store *s, struct store_feed *f)
{
	reading_free(f->inside);
	f->inside = NULL;
}

/* Begins the segment; what of it was given before is known if there is a side file for it. */
static int reading_begin(struct engine *e, struct view_segment *s, uint64_t cursor,
			 struct reading **ret_reading)
{
	struct reading *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return -ENOMEM;
	r->segment = view_segment_ref(s);
	if (cursor >= s->row.seq_first) {
		error = feed_file_load(e->fs, e->dir, s->row.number, &r->runs, NULL);
		if (error == -ENOMEM) {
			reading_free(r);
			return error;
		}
		r->filtered = error == 0 && r->runs.total == segment_info(s->segment)->rows;
		r->again = !r->filtered;
	}
	*ret_reading = r;
	return 0;
}

/* Keeps of the rows just added, from `from` on, those that came after the cursor. */
static void rows_filter(struct reading *r, struct event_set *set, size_t from, uint64_t cursor)
{
	size_t kept = from;

	for (size_t i = from; i < set->n; i++) {
		while (r->used >= r->runs.rows[r->run].rows) {
			r->run++;
			r->used = 0;
		}
		r->used++;
		if (r->runs.rows[r->run].seq > cursor)
			set->refs[kept++] = set->refs[i];
	}
	set->n = kept;
}

static int group_read(struct reading *r, uint64_t cursor, struct event_set *set)
{
	size_t from = set->n;
	int error = r->group ? group_reopen(r->group, r->next)
			     : group_open(r->segment->segment, r->next, &r->group);

	if (error == 0)
		error = group_rows(r->group, 0, group_zone(r->group)->rows, set);
	if (error < 0)
		return error;
	if (r->filtered)
		rows_filter(r, set, from, cursor);
	r->next++;
	return 0;
}

/* Groups until there are rows; at the segment's end the cursor moves. */
static int segment_next(struct store_feed *f, struct feed_page *page)
{
	struct reading *r = f->inside;
	uint32_t groups = segment_info(r->segment->segment)->groups;

	page->again = r->again;
	while (r->next < groups && page->set.n == 0) {
		int error = group_read(r, f->cursor, &page->set);

		if (error < 0)
			return error;
	}
	if (r->next < groups)
		return 0;
	page->cursor = r->segment->row.seq_last;
	f->inside = NULL;
	reading_free(r);
	return 0;
}

static int heads_next(const struct snapshot *s, struct feed_page *page)
{
	for (size_t i = 0; i < s->view->head_n; i++) {
		const struct runs *runs = &s->view->heads[i]->runs;

		for (uint32_t k = 0; k < s->marks[i].batches; k++) {
			struct batch *b = runs_batch(runs, k);

			if (runs_seq(runs, k) <= page->cursor)
				continue;
			if (page->set.n >= FEED_PAGE_ROWS)
				return 0;
			if (!event_set_add(&page->set, b, 0, (uint32_t)b->event_n))
				return -ENOMEM;
			page->cursor = runs_seq(runs, k);
		}
	}
	return 0;
}

/* What the cursor stands before: a segment, or batches of the heads. */
static int next(struct engine *e, struct store_feed *f, struct feed_page *page)
{
	struct view_segment *segment = NULL;
	struct reading *reading;
	struct snapshot s;
	int r;

	engine_snapshot(e, &s);
	for (size_t i = 0; i < s.view->segment_n && !segment; i++)
		if (s.view->segments[i]->row.seq_last > f->cursor)
			segment = s.view->segments[i];
	if (segment) {
		r = reading_begin(e, segment, f->cursor, &reading);
		if (r == 0)
			f->inside = reading;
	} else {
		r = heads_next(&s, page);
	}
	snapshot_done(&s);
	return r;
}

int feed_next(struct store *s, struct store_feed *f, struct feed_page *ret_page)
{
	struct engine *e = engine_of(s);
	struct feed_page page;
	int r;

	do {
		page = (struct feed_page){.cursor = f->cursor};
		r = f->inside ? 0 : next(e, f, &page);
		if (r == 0 && f->inside)
			r = segment_next(f, &page);
		if (r < 0) {
			event_set_done(&page.set);
			return r;
		}
		/* A segment that had nothing new is passed over. */
		if (page.set.n > 0 || page.cursor == f->cursor)
			break;
		f->cursor = page.cursor;
	} while (page.set.n == 0);
	f->cursor = page.cursor;
	if (page.set.n == 0) {
		event_set_done(&page.set);
		return 0;
	}
	*ret_page = page;
	return 1;
}

void feed_sweep(struct engine *e)
{
	pthread_mutex_lock(&e->files);
	for (size_t i = 0; i < e->manifest.segment_n; i++) {
		struct manifest_segment *s = &e->manifest.segments[i];
		bool needed = false;

		for (size_t k = 0; k < e->manifest.cursor_n; k++)
			needed |= e->manifest.cursors[k].seq < s->seq_last;
		if (!s->feed || needed)
			continue;
		/* The manifest says so at its next change; a side file that is named and not there
		 * is as good as none. */
		feed_file_remove(e->fs, e->dir, s->number);
		s->feed = false;
	}
	pthread_mutex_unlock(&e->files);
}
