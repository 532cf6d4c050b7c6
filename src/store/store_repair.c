/* store/store_repair.c - makes a damaged store whole again, as far as it can be.
 *
 *   1. the manifest: read, or made again from the segments there are
 *   2. each segment: kept, or replaced by what can be read of it
 *   3. the new manifest is written; until then everything that was there is where it was
 *   4. the log: opening the store cuts, sets aside and replays, as after any crash
 *
 * Damaged files are linked into set-aside/ before 3 and lose their name after it, so a crash at
 * any moment leaves a store that can be repaired again. */
#include "store/store_repair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/segment_files.h"
#include "segment/segment_salvage.h"
#include "store/engine.h"
#include "store/feed_file.h"
#include "store/manifest.h"
#include "store/set_aside.h"

struct repair {
	struct fs *fs;
	const char *dir;
	store_finding_fn *report;
	void *context;
	struct store_repaired done;
	struct manifest manifest, fresh;
	char file[SEGMENT_NAME_MAX]; /* under repair */
	bool changed;
	uint64_t
		*aside; /* numbers of segments that lose their name after the manifest is written */
	size_t aside_n, aside_capacity;
};

static void repair_done(struct repair *p)
{
	manifest_done(&p->manifest);
	manifest_done(&p->fresh);
	free(p->aside);
}

__attribute__((format(printf, 3, 4))) static void tell(struct repair *p, const char *file,
						       const char *format, ...)
{
	struct store_finding finding = {.file = file};
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	finding.text = text;
	if (p->report)
		p->report(p->context, &finding);
}

static void segment_found(void *context, const char *finding)
{
	struct repair *p = context;
	struct slice text = slice_cstr(finding), name = slice_cstr(p->file);

	if (slice_starts(text, name) && text.n > name.n + 2)
		finding += name.n + 2;
	tell(p, p->file, "%s", finding);
}

/* --- a manifest made of what there is --- */

static int newest_first(const void *a, const void *b)
{
	const struct manifest_segment *x = a, *y = b;

	return x->number > y->number ? -1 : x->number < y->number;
}

static int by_arrival(const void *a, const void *b)
{
	const struct manifest_segment *x = a, *y = b;

	return x->seq_first < y->seq_first ? -1 : x->seq_first > y->seq_first;
}

static int row_add(struct manifest *m, const struct manifest_segment *row)
{
	if (!vec_reserve(&m->segments, &m->segment_capacity, m->segment_n + 1,
			 sizeof(*m->segments)))
		return -ENOMEM;
	m->segments[m->segment_n++] = *row;
	return 0;
}

static struct manifest_segment row_of(const struct segment_info *info)
{
	return (struct manifest_segment){
		.number = info->number,
		.seq_first = info->seq_first,
		.seq_last = info->seq_last,
		.received_min_ns = info->received_min_ns,
		.received_max_ns = info->received_max_ns,
		.rows = info->rows,
		.blocks = info->blocks,
		.pieces = info->pieces,
		.bytes = info->bytes,
	};
}

/* Rows of the segments that can be opened. */
static int rows_gather(struct repair *p, const struct fs_names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		_cleanup_(segment_unrefp)
		struct segment *s = NULL;
		struct manifest_segment row;
		struct error why = {0};
		uint64_t number;
		int r;

		if (!segment_file_number(names->items[i], ".cst", &number))
			continue;
		p->manifest.next = MAX(p->manifest.next, number + 1);
		r = segment_open(p->fs, p->dir, number, &s, &why);
		if (r == -ENOMEM || r == -EPROTONOSUPPORT)
			return r;
		if (r < 0) {
			tell(p, names->items[i], "%s: nothing of it can be read",
			     why.text[0] ? why.text : strerror(-r));
			r = set_aside(p->fs, p->dir, names->items[i]);
			if (r < 0)
				return r;
			p->done.set_aside++;
			p->done.lost_segments++;
			continue;
		}
		row = row_of(segment_info(s));
		row.number = number;
		r = row_add(&p->manifest, &row);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool overlaps(const struct manifest *m, size_t n, const struct manifest_segment *s)
{
	for (size_t i = 0; i < n; i++)
		if (s->seq_first <= m->segments[i].seq_last &&
		    m->segments[i].seq_first <= s->seq_last)
			return true;
	return false;
}

static void ignore(void *context, const char *finding)
{
}

/* A merge that a crash caught before its inputs were removed has left the same rows twice.  The
 * newer file is the merged one and counts if it is whole; if not, what it was made of does. */
static int overlaps_settle(struct repair *p)
{
	struct manifest *m = &p->manifest;
	size_t kept = 0;

	qsort(m->segments, m->segment_n, sizeof(*m->segments), newest_first);
	for (size_t i = 0; i < m->segment_n; i++) {
		struct manifest_segment s = m->segments[i];
		bool alone = true;
		int r;

		if (overlaps(m, kept, &s))
			continue; /* opening the store removes it */
		for (size_t k = i + 1; k < m->segment_n; k++)
			alone &= s.seq_first > m->segments[k].seq_last ||
				 m->segments[k].seq_first > s.seq_last;
		r = alone ? 0 : segment_check(p->fs, p->dir, s.number, ignore, NULL);
		if (r == -ENOMEM)
			return r;
		if (r == 0)
			m->segments[kept++] = s;
	}
	m->segment_n = kept;
	qsort(m->segments, kept, sizeof(*m->segments), by_arrival);
	for (size_t i = 0; i < kept; i++)
		m->flushed = MAX(m->flushed, m->segments[i].seq_last);
	return 0;
}

static int manifest_remake(struct repair *p, const char *why)
{
	struct fs_names names = {0};
	int r = fs_list(p->fs, p->dir, &names);

	p->manifest.next = 1;
	if (r == 0)
		r = rows_gather(p, &names);
	fs_names_done(&names);
	if (r == 0 && p->manifest.segment_n > 0)
		r = overlaps_settle(p);
	if (r < 0)
		return r;
	tell(p, MANIFEST_NAME,
	     "%s; made again from %zu segments. Positions of readers of the feed that the log does not "
	     "have are lost: these begin again",
	     why, p->manifest.segment_n);
	p->done.manifest = p->changed = true;
	return 0;
}

static int manifest_get(struct repair *p, struct error *error)
{
	struct error why = {0};
	struct fs_names names = {0};
	bool any = false;
	int r = fs_list(p->fs, p->dir, &names);

	if (r < 0)
		return error_set(error, r, "there is no store in %s: %s", p->dir, strerror(-r));
	for (size_t i = 0; i < names.n; i++)
		any |= strncmp(names.items[i], "seg-", 4) == 0 ||
		       strncmp(names.items[i], "wal-", 4) == 0 ||
		       strcmp(names.items[i], MANIFEST_NAME) == 0;
	fs_names_done(&names);
	if (!any)
		return error_set(error, -ENOENT, "there is no store in %s", p->dir);
	r = manifest_load(p->fs, p->dir, &p->manifest, &why);
	if (r == -EBADMSG) {
		r = set_aside_link(p->fs, p->dir, MANIFEST_NAME);
		if (r == 0) {
			p->done.set_aside++;
			r = manifest_remake(p, why.text);
		}
	} else if (r == -ENOENT) {
		r = manifest_remake(p, "was missing");
	}
	if (r < 0)
		error_set(error, r, "cannot repair %s: %s", p->dir,
			  why.text[0] ? why.text : strerror(-r));
	return r;
}

/* --- segments --- */

static void group_lost(void *context, uint32_t group, uint32_t rows, uint32_t pieces)
{
	struct repair *p = context;

	tell(p, p->file, "group %u is lost: %u rows of %u traces", group, rows, pieces);
}

static int put_aside(struct repair *p, uint64_t number, const char *name)
{
	int r;

	if (!vec_reserve(&p->aside, &p->aside_capacity, p->aside_n + 1, sizeof(*p->aside)))
		return -ENOMEM;
	r = set_aside_link(p->fs, p->dir, name);
	if (r < 0)
		return r;
	p->aside[p->aside_n++] = number;
	p->done.set_aside++;
	p->changed = true;
	return 0;
}

/* What can be read of it, under a new number; or nothing. */
static int segment_rebuild(struct repair *p, const struct manifest_segment *row)
{
	struct segment_info info;
	struct manifest_segment fresh;
	uint64_t number = p->fresh.next++;
	int r = segment_salvage(p->fs, p->dir, row->number, number, group_lost, p, &info);

	if (r == -ENODATA) {
		p->done.lost_segments++;
		p->done.lost_rows += row->rows;
		p->done.lost_blocks += row->blocks;
		tell(p, p->file, "nothing of it can be read: %llu spans are lost",
		     (unsigned long long)row->blocks);
		return put_aside(p, row->number, p->file);
	}
	if (r < 0)
		return r;
	fresh = row_of(&info);
	fresh.number = number;
	fresh.received_min_ns = row->received_min_ns;
	fresh.received_max_ns = row->received_max_ns;
	fresh.thinned = row->thinned; /* it must not be thinned twice */
	p->done.rebuilt++;
	p->done.lost_rows += row->rows - MIN(row->rows, info.rows);
	p->done.lost_blocks += row->blocks - MIN(row->blocks, info.blocks);
	tell(p, p->file, "written anew: %llu of %llu spans are kept",
	     (unsigned long long)info.blocks, (unsigned long long)row->blocks);
	r = put_aside(p, row->number, p->file);
	return r < 0 ? r : row_add(&p->fresh, &fresh);
}

static int feed_repair(struct repair *p, struct manifest_segment *row)
{
	struct feed_runs runs = {0};
	char name[64];
	int r;

	if (!row->feed)
		return 0;
	r = feed_file_load(p->fs, p->dir, row->number, &runs, NULL);
	if (r == 0 && runs.total != row->rows)
		r = -EBADMSG;
	feed_runs_done(&runs);
	if (r == 0 || r == -ENOMEM || r == -ENOENT)
		return r == -ENOENT ? 0 : r;
	snprintf(name, sizeof(name), "seg-%016llx.feed", (unsigned long long)row->number);
	r = set_aside(p->fs, p->dir, name);
	if (r < 0)
		return r;
	p->done.set_aside++;
	row->feed = false;
	p->changed = true;
	tell(p, name,
	     "is damaged: a reader of the feed in the middle of its segment sees it again");
	return 0;
}

/* The manifest's numbers are what the file says; only they were wrong. */
static int row_settle(struct repair *p, struct manifest_segment *row)
{
	_cleanup_(segment_unrefp)
	struct segment *s = NULL;
	const struct segment_info *i;
	int r = segment_open(p->fs, p->dir, row->number, &s, NULL);

	if (r < 0)
		return r;
	i = segment_info(s);
	if (row->rows == i->rows && row->blocks == i->blocks && row->pieces == i->pieces &&
	    row->bytes == i->bytes)
		return 0;
	tell(p, p->file, "the manifest had other counts of it");
	row->rows = i->rows;
	row->blocks = i->blocks;
	row->pieces = i->pieces;
	row->bytes = i->bytes;
	p->changed = true;
	return 0;
}

static int segment_repair(struct repair *p, struct manifest_segment row)
{
	int r;

	segment_name(row.number, p->file);
	r = segment_check(p->fs, p->dir, row.number, segment_found, p);
	if (r == -ENOMEM || r == -EPROTONOSUPPORT)
		return r;
	if (r == -ENOENT) {
		tell(p, p->file, "is missing: %llu spans are lost", (unsigned long long)row.blocks);
		p->done.lost_segments++;
		p->done.lost_rows += row.rows;
		p->done.lost_blocks += row.blocks;
		p->changed = true;
		return 0;
	}
	if (r < 0)
		return segment_rebuild(p, &row);
	r = row_settle(p, &row);
	if (r == 0)
		r = feed_repair(p, &row);
	return r < 0 ? r : row_add(&p->fresh, &row);
}

static int segments_repair(struct repair *p)
{
	int r = manifest_dup(&p->manifest, &p->fresh);

	p->fresh.segment_n = 0;
	for (size_t i = 0; r == 0 && i < p->manifest.segment_n; i++)
		r = segment_repair(p, p->manifest.segments[i]);
	return r;
}

/* Now the old files may go. */
static int install(struct repair *p)
{
	int r = p->changed ? fs_sync_dir(p->fs, p->dir) : 0;

	if (r == 0 && p->changed)
		r = manifest_save(p->fs, p->dir, &p->fresh);
	for (size_t i = 0; r == 0 && i < p->aside_n; i++) {
		_cleanup_(freep)
		char *path = NULL;
		char name[SEGMENT_NAME_MAX];

		segment_name(p->aside[i], name);
		path = fs_path(p->dir, name);
		r = path ? fs_unlink(p->fs, path) : -ENOMEM;
	}
	return r;
}

/* --- the log --- */

static void engine_said(void *context, const char *text)
{
	tell(context, "store", "%s", text);
}

static int log_repair(struct repair *p, struct error *error)
{
	const struct engine_options options = {
		.fs = p->fs,
		.dir = p->dir,
		.manual = true,
		.dedup_ns = STORE_TOOLS_DEDUP_NS,
		.report = engine_said,
		.context = p,
	};
	struct store *s;
	int r = engine_open(&options, &s, error);

	if (r < 0)
		return r;
	r = engine_flush(s);
	if (r < 0)
		error_set(error, r, "cannot write what the log holds to a segment: %s",
			  strerror(-r));
	store_close(s);
	return r;
}

int store_repair(struct fs *fs, const char *dir, store_finding_fn *report, void *context,
		 struct store_repaired *ret_repaired, struct error *error)
{
	_cleanup_(repair_done)
	struct repair p = {.fs = fs, .dir = dir, .report = report, .context = context};
	int r = manifest_get(&p, error);

	if (r < 0)
		return r;
	r = segments_repair(&p);
	if (r == -EPROTONOSUPPORT)
		return store_newer(fs, dir, p.file, error);
	if (r == 0)
		r = install(&p);
	if (r < 0)
		return error_set(error, r, "cannot repair %s: %s", dir, strerror(-r));
	r = log_repair(&p, error);
	*ret_repaired = p.done;
	return r;
}
