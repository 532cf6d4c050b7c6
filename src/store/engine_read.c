/* store/engine_read.c - a folder is read as it is, and nothing in it is changed.
 *
 * A server may be running on it meanwhile.  What can happen under a reader, and what it does:
 *
 *   a segment is merged away between the manifest and its opening   -ENOENT: once more
 *   ... after its opening                                           the open file stays readable
 *   a head is flushed between the manifest and the log, whose       the manifest read again says
 *   files then go                                                   so: once more
 *   the log is being written                                        what is not whole yet is left
 *                                                                   out: nobody was told it is kept
 *
 * So the answer is of one moment between opening and returning, and holds everything that had been
 * acknowledged when opening began. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "segment/segment_files.h"
#include "store/engine_int.h"

#define READ_TRIES    50
#define READ_PAUSE_NS (20 * NS_PER_MS) /* a flush or a merge ends in such a while */

/* One attempt. */
struct reading {
	struct engine *e;
	struct view *view;
	bool missing;        /* a segment was not there */
	struct buffer wrong; /* a sentence a line: told when the attempt counts */
};

static int segment_read(struct reading *x, const struct manifest_segment *row, struct error *error)
{
	struct engine *e = x->e;
	struct view_segment *wrapped;
	struct segment *segment;
	struct error why = {0};
	int r = engine_open_segment(e, row->number, &segment, &why);

	if (r == -ENOMEM || r == -EPROTONOSUPPORT || r == -EACCES || r == -EMFILE)
		return error_set(error, r, "%s", why.text[0] ? why.text : strerror(-r));
	x->missing |= r == -ENOENT;
	if (r < 0) {
		char name[SEGMENT_NAME_MAX];

		segment_name(row->number, name);
		buffer_printf(&x->wrong, "%s cannot be read (%s): %llu spans are missing\n", name,
			      why.text[0] ? why.text : strerror(-r),
			      (unsigned long long)row->blocks);
		return 0;
	}
	wrapped = view_segment_new(row, segment);
	if (!wrapped)
		return -ENOMEM;
	view_add_segment(x->view, wrapped);
	view_segment_unref(wrapped);
	return 0;
}

static int record_read(void *context, const struct wal_record *record)
{
	struct reading *x = context;
	int r;

	if (!record->batch)
		return 0;
	batch_ref(record->batch);
	r = head_add(view_active(x->view), record->batch, NULL, record->seq, record->received_ns);
	if (r < 0)
		batch_unref(record->batch);
	else
		x->e->last_seq = record->seq;
	return r;
}

static void found(void *context, const struct wal_finding *finding)
{
	struct reading *x = context;

	/* An unfinished end is what a log has that is being written. */
	if (finding->kind == WAL_TAIL_CUT)
		return;
	buffer_printf(&x->wrong, "%s, byte %llu: %s\n", finding->file,
		      (unsigned long long)finding->offset, finding->text);
}

static int log_read(struct reading *x, struct error *error)
{
	const struct wal_options options = {
		.fs = x->e->fs,
		.dir = x->e->dir,
		.after_seq = x->e->manifest.flushed,
		.replay = record_read,
		.finding = found,
		.context = x,
	};

	return wal_check(&options, error);
}

static int view_make(struct reading *x)
{
	struct head *head = head_new();

	x->view = view_new(x->e->manifest.segment_n);
	if (x->view && head)
		view_add_head(x->view, head);
	head_unref(head);
	return x->view && head ? 0 : -ENOMEM;
}

/* Has the manifest changed in what this reader depends on?  0, 1, negative errno. */
static int has_changed(struct reading *x, struct error *error)
{
	const struct manifest *then = &x->e->manifest;
	struct manifest now = {0};
	int r = manifest_load(x->e->fs, x->e->dir, &now, error);

	if (r == 0)
		r = now.flushed != then->flushed || (x->missing && now.next != then->next);
	for (size_t i = 0; r == 0 && x->missing && i < then->segment_n; i++)
		r = i >= now.segment_n || now.segments[i].number != then->segments[i].number;
	manifest_done(&now);
	return r;
}

/* Reads everything.  1: it has changed meanwhile. */
static int attempt(struct reading *x, struct error *error)
{
	struct engine *e = x->e;
	int r;

	manifest_done(&e->manifest);
	r = manifest_load(e->fs, e->dir, &e->manifest, error);
	if (r == -ENOENT)
		return error_set(error, r, "there is no store in %s", e->dir);
	if (r == 0)
		r = view_make(x);
	for (size_t i = 0; r == 0 && i < e->manifest.segment_n; i++)
		r = segment_read(x, &e->manifest.segments[i], error);
	if (r == 0 && x->missing)
		r = has_changed(x, error);
	if (r != 0)
		return r;
	e->last_seq = e->manifest.flushed;
	r = log_read(x, error);
	return r < 0 ? r : has_changed(x, error);
}

/* The view becomes the engine's, and what is wrong with it is told. */
static void settle(struct reading *x)
{
	struct slice rest = buffer_get(&x->wrong);

	while (rest.n > 0) {
		struct slice line = slice_cut(&rest, '\n');

		atomic_fetch_add(&x->e->counters.damaged, 1);
		engine_report(x->e, "%.*s", SLICE_ARG(line));
	}
	view_unref(x->e->view);
	x->e->view = TAKE_PTR(x->view);
}

int engine_read(struct engine *e, struct error *error)
{
	static const struct timespec pause = {0, READ_PAUSE_NS};
	int r = 1;

	for (int i = 0; r > 0 && i < READ_TRIES; i++) {
		struct reading x = {.e = e};

		if (i > 0)
			nanosleep(&pause, NULL);
		r = attempt(&x, error);
		if (r == 0)
			settle(&x);
		view_unref(x.view);
		buffer_done(&x.wrong);
	}
	if (r > 0)
		return error_set(error, -EAGAIN, "%s changes faster than it can be read", e->dir);
	if (r < 0 && error && !error->text[0])
		error_set(error, r, "cannot read %s: %s", e->dir, strerror(-r));
	return r;
}
