/* store/engine_recover.c - a folder becomes a store again, whatever happened to it.
 *
 * The manifest names the segments; what it does not name was never finished, or is no longer
 * wanted, and goes.  A segment that cannot be understood is set aside and told; one that cannot be
 * read at the moment is told and left where it is.  The log is replayed by engine_open(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/segment_files.h"
#include "store/engine_int.h"
#include "store/set_aside.h"

static const struct manifest_segment *row_of(const struct manifest *m, uint64_t number)
{
	for (size_t i = 0; i < m->segment_n; i++)
		if (m->segments[i].number == number)
			return &m->segments[i];
	return NULL;
}

/* Does the manifest know of this file, or is it none of ours? */
static bool is_wanted(const struct manifest *m, const char *name)
{
	const struct manifest_segment *row;
	uint64_t number;

	if (segment_file_number(name, ".cst", &number))
		return row_of(m, number);
	if (segment_file_number(name, ".feed", &number)) {
		row = row_of(m, number);
		return row && row->feed;
	}
	return !segment_file_number(name, ".cst.tmp", &number) &&
	       !segment_file_number(name, ".feed.tmp", &number) &&
	       strcmp(name, MANIFEST_NAME ".tmp") != 0;
}

static bool has_segments(const struct fs_names *names)
{
	uint64_t number;

	for (size_t i = 0; i < names->n; i++)
		if (segment_file_number(names->items[i], ".cst", &number))
			return true;
	return false;
}

static void leftovers_remove(struct engine *e, const struct fs_names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		_cleanup_(freep)
		char *path = fs_path(e->dir, names->items[i]);

		if (path && !is_wanted(&e->manifest, names->items[i]))
			fs_unlink(e->fs, path);
	}
}

/* A new store: its manifest is there before anything else is. */
static int manifest_make(struct engine *e, const struct fs_names *names, struct error *error)
{
	int r;

	if (has_segments(names))
		return error_set(error, -EBADMSG,
				 "%s has segments but no " MANIFEST_NAME
				 "; run 'causet store repair' on it",
				 e->dir);
	e->manifest.next = 1;
	r = manifest_save(e->fs, e->dir, &e->manifest);
	return r < 0 ? error_set(error, r, "cannot write in %s: %s", e->dir, strerror(-r)) : 0;
}

static int manifest_read(struct engine *e, const struct fs_names *names, struct error *error)
{
	struct error why = {0};
	int r = manifest_load(e->fs, e->dir, &e->manifest, &why);

	if (r == -ENOENT)
		return manifest_make(e, names, error);
	if (r == -EBADMSG)
		return error_set(error, r, "%s: %s; run 'causet store repair' on it", e->dir,
				 why.text);
	if (r < 0)
		return error_set(error, r, "cannot read %s/" MANIFEST_NAME ": %s", e->dir,
				 why.text[0] ? why.text : strerror(-r));
	return 0;
}

/* Opens one.  1: it is gone from the store.  0: it is in the view, or unreadable for now. */
static int segment_recover(struct engine *e, const struct manifest_segment *row,
			   struct error *error)
{
	struct view_segment *wrapped;
	struct segment *segment;
	struct error why = {0};
	char name[SEGMENT_NAME_MAX];
	int r = engine_open_segment(e, row->number, &segment, &why);

	if (r == -ENOMEM)
		return r;
	if (r == -EPROTONOSUPPORT) /* nothing is set aside because a program is old */
		return error_set(error, r, "%s", why.text);
	segment_name(row->number, name);
	if (r < 0) {
		atomic_fetch_add(&e->counters.damaged, 1);
		engine_report(e, "%s cannot be read (%s): %llu spans are missing%s", name,
			      why.text[0] ? why.text : strerror(-r),
			      (unsigned long long)row->blocks,
			      r == -EBADMSG ? "; the file is in " SET_ASIDE_FOLDER : "");
		if (r == -EBADMSG)
			set_aside(e->fs, e->dir, name);
		return r == -EBADMSG || r == -ENOENT;
	}
	wrapped = view_segment_new(row, segment);
	if (!wrapped)
		return -ENOMEM;
	view_add_segment(e->view, wrapped);
	view_segment_unref(wrapped);
	return 0;
}

static int segments_recover(struct engine *e, struct error *error)
{
	struct manifest *m = &e->manifest;
	struct view *fresh = view_new(m->segment_n);
	size_t kept = 0, before = m->segment_n;

	if (!fresh)
		return -ENOMEM;
	view_add_head(fresh, view_active(e->view));
	view_unref(e->view);
	e->view = fresh;
	for (size_t i = 0; i < before; i++) {
		int r = segment_recover(e, &m->segments[i], error);

		if (r < 0)
			return r;
		if (r == 0)
			m->segments[kept++] = m->segments[i];
	}
	m->segment_n = kept;
	/* On a full disk the old manifest stays: what is missing is then told again. */
	if (kept < before)
		manifest_save(e->fs, e->dir, m);
	return 0;
}

static int folder_make(struct engine *e)
{
	_cleanup_(freep)
	char *parent = strdup(e->dir);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	int r = fs_make_dir(e->fs, e->dir, 0700);

	if (r < 0)
		return r;
	if (!parent)
		return -ENOMEM;
	if (slash)
		slash[slash == parent] = 0;
	return fs_sync_dir(e->fs, slash ? parent : ".");
}

int engine_recover(struct engine *e, struct error *error)
{
	struct fs_names names = {0};
	struct manifest now = {0};
	int r = folder_make(e);

	if (r == 0)
		r = fs_list(e->fs, e->dir, &names);
	if (r < 0)
		return error_set(error, r, "cannot use %s: %s", e->dir, strerror(-r));
	r = manifest_read(e, &names, error);
	if (r == 0) {
		leftovers_remove(e, &names);
		r = segments_recover(e, error);
		if (r == 0)
			r = manifest_dup(&e->manifest, &now);
		if (r < 0 && r != -EPROTONOSUPPORT)
			error_set(error, r, "cannot open %s: %s", e->dir, strerror(-r));
	}
	fs_names_done(&names);
	if (r < 0)
		return r;
	now.segment_n = 0;
	e->cursors = now; /* the log has what came after */
	e->last_seq = e->manifest.flushed;
	return 0;
}
