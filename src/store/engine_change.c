/* store/engine_change.c - the store goes from one set of files to the next.
 *
 *   1. new files are complete and synced      (whoever asks for the change)
 *   2. MANIFEST is replaced                   a crash before: the old store; after: the new one
 *   3. readers get the new view
 *   4. files that are no longer named go      a crash before: removed when the store is opened
 *
 * When 2 fails nobody knows which manifest a crash would leave, so neither the new files nor the
 * old ones are removed until a later manifest is known to be there. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/engine_int.h"
#include "store/feed_file.h"

uint64_t engine_number(struct engine *e)
{
	return e->manifest.next++;
}

static bool is_removed(const struct engine_change *c, uint64_t number)
{
	for (size_t i = 0; i < c->remove_n; i++)
		if (c->remove[i] == number)
			return true;
	return false;
}

/* What is taken away, what is put in between by its number of arrival, what was flushed. */
static int manifest_edit(struct manifest *m, const struct engine_change *c)
{
	const struct manifest_cursor *cursors = c->flushed ? c->flushed->cursors : c->cursors;
	size_t cursor_n = c->flushed ? c->flushed->cursor_n : c->cursor_n, kept = 0, at = 0;
	uint64_t seq = c->flushed ? c->flushed->seq_last : c->flushed_seq;

	for (size_t i = 0; i < m->segment_n; i++)
		if (!is_removed(c, m->segments[i].number))
			m->segments[kept++] = m->segments[i];
	m->segment_n = kept;
	if (c->add) {
		if (!vec_reserve(&m->segments, &m->segment_capacity, m->segment_n + 1,
				 sizeof(*m->segments)))
			return -ENOMEM;
		while (at < m->segment_n && m->segments[at].seq_first < c->add->row.seq_first)
			at++;
		memmove(&m->segments[at + 1], &m->segments[at],
			(m->segment_n++ - at) * sizeof(*m->segments));
		m->segments[at] = c->add->row;
	}
	if (seq == 0)
		return 0;
	if (!vec_reserve(&m->cursors, &m->cursor_capacity, cursor_n, sizeof(*m->cursors)))
		return -ENOMEM;
	if (cursor_n)
		memcpy(m->cursors, cursors, cursor_n * sizeof(*cursors));
	m->cursor_n = cursor_n;
	m->flushed = MAX(m->flushed, seq);
	return 0;
}

/* Cannot fail: there was room for one more. */
static void view_edit(struct view *fresh, const struct view *old, const struct engine_change *c)
{
	bool added = !c->add;

	for (size_t i = 0; i < old->segment_n; i++) {
		struct view_segment *s = old->segments[i];

		if (!added && s->row.seq_first > c->add->row.seq_last) {
			view_add_segment(fresh, c->add);
			added = true;
		}
		if (!is_removed(c, s->row.number))
			view_add_segment(fresh, s);
	}
	if (!added)
		view_add_segment(fresh, c->add);
	for (size_t i = 0; i < old->head_n; i++)
		if (old->heads[i] != c->flushed)
			view_add_head(fresh, old->heads[i]);
}

void engine_discard(struct engine *e, uint64_t number)
{
	char name[SEGMENT_NAME_MAX];
	_cleanup_(freep)
	char *path = NULL;

	segment_name(number, name);
	path = fs_path(e->dir, name);
	if (path) /* what cannot be removed now is, when the store is opened */
		fs_unlink(e->fs, path);
	feed_file_remove(e->fs, e->dir, number);
}

static void orphans_remove(struct engine *e)
{
	for (size_t i = 0; i < e->orphan_n; i++)
		engine_discard(e, e->orphans[i]);
	e->orphan_n = 0;
}

int engine_tidy(struct engine *e)
{
	int r = e->orphan_n > 0 ? manifest_save(e->fs, e->dir, &e->manifest) : 0;

	if (r == 0)
		orphans_remove(e);
	return r;
}

int engine_change(struct engine *e, const struct engine_change *c)
{
	struct manifest m = {0};
	struct view *fresh, *old;
	int r;

	if (!vec_reserve(&e->orphans, &e->orphan_capacity, e->orphan_n + c->remove_n + 1,
			 sizeof(*e->orphans)))
		return -ENOMEM;
	old = engine_view(e);
	fresh = view_new(old->segment_n + 1);
	view_unref(old);
	r = fresh ? manifest_dup(&e->manifest, &m) : -ENOMEM;
	if (r == 0)
		r = manifest_edit(&m, c);
	/* A manifest must never be there before the files it names. */
	if (r == 0 && c->add)
		r = fs_sync_dir(e->fs, e->dir);
	if (r == 0)
		r = manifest_save(e->fs, e->dir, &m);
	if (r < 0) {
		if (c->add)
			e->orphans[e->orphan_n++] = c->add->row.number;
		manifest_done(&m);
		view_unref(fresh);
		return r;
	}
	manifest_done(&e->manifest);
	e->manifest = m;
	pthread_mutex_lock(&e->lock);
	old = e->view;
	view_edit(fresh, old, c);
	e->view = fresh;
	if (c->flushed)
		atomic_fetch_sub(&e->memory, c->flushed->bytes);
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	view_unref(old);
	for (size_t i = 0; i < c->remove_n; i++)
		e->orphans[e->orphan_n++] = c->remove[i];
	orphans_remove(e);
	return 0;
}
