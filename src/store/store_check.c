/* store/store_check.c - is a store at rest sound?
 *
 * Each file is checked by the code that knows it; what stands here is how they fit together: the
 * manifest names what is there, rows say what the files say, and split traces are on the lists. */
#include "store/store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/segment_files.h"
#include "store/feed_file.h"
#include "store/manifest.h"
#include "store/set_aside.h"
#include "store/split_check.h"
#include "store/wal.h"

struct checking {
	struct fs *fs;
	const char *dir;
	store_finding_fn *report;
	void *context;
	struct store_totals totals;
	struct manifest manifest;
	struct fs_names names;
	char file[SEGMENT_NAME_MAX]; /* being checked */
	struct split_check split;
};

static void checking_done(struct checking *c)
{
	manifest_done(&c->manifest);
	fs_names_done(&c->names);
	split_check_done(&c->split);
}

static void tell(struct checking *c, const char *file, bool harmless, const char *text)
{
	const struct store_finding finding = {file, text, harmless};

	if (harmless)
		c->totals.harmless++;
	else
		c->totals.findings++;
	if (c->report)
		c->report(c->context, &finding);
}

/* --- what a folder holds --- */

static uint64_t file_bytes(struct checking *c, const char *name)
{
	_cleanup_(freep)
	char *path = fs_path(c->dir, name);
	uint64_t bytes = 0;
	int fd = path ? fs_open(c->fs, path, O_RDONLY, 0) : -ENOMEM;

	if (fd < 0 || fs_size(c->fs, fd, &bytes) < 0)
		bytes = 0;
	if (fd >= 0)
		fs_close(c->fs, fd);
	return bytes;
}

static bool has_name(const struct checking *c, const char *name)
{
	for (size_t i = 0; i < c->names.n; i++)
		if (strcmp(c->names.items[i], name) == 0)
			return true;
	return false;
}

static const struct manifest_segment *row_of(const struct checking *c, uint64_t number)
{
	for (size_t i = 0; i < c->manifest.segment_n; i++)
		if (c->manifest.segments[i].number == number)
			return &c->manifest.segments[i];
	return NULL;
}

static bool is_store(const struct checking *c)
{
	for (size_t i = 0; i < c->names.n; i++) {
		const char *name = c->names.items[i];

		if (strcmp(name, MANIFEST_NAME) == 0 || strncmp(name, "seg-", 4) == 0 ||
		    strncmp(name, "wal-", 4) == 0)
			return true;
	}
	return false;
}

/* Files that no manifest names, and counts of the others. */
static void check_names(struct checking *c)
{
	for (size_t i = 0; i < c->names.n; i++) {
		const char *name = c->names.items[i];
		const struct manifest_segment *row;
		struct slice s = slice_cstr(name);
		uint64_t number;

		if (segment_file_number(name, ".feed", &number)) {
			row = row_of(c, number);
			if (row && row->feed)
				c->totals.feed_bytes += file_bytes(c, name);
			else
				tell(c, name, true, "belongs to no segment; opening removes it");
		} else if (segment_file_number(name, ".cst", &number)) {
			if (!row_of(c, number))
				tell(c, name, true,
				     "is not in the manifest: left by a crash; opening removes it");
		} else if (slice_ends(s, SLICE(".tmp"))) {
			tell(c, name, true, "was never finished; opening removes it");
		} else if (slice_starts(s, SLICE("wal-"))) {
			c->totals.log_files += slice_ends(s, SLICE(".log"));
			c->totals.log_bytes += file_bytes(c, name);
		}
	}
}

static void count_set_aside(struct checking *c)
{
	struct fs_names names = {0};
	_cleanup_(freep)
	char *path = fs_path(c->dir, SET_ASIDE_FOLDER);

	if (path && fs_list(c->fs, path, &names) == 0)
		c->totals.set_aside = names.n;
	fs_names_done(&names);
}

static int folder_read(struct checking *c, struct error *error)
{
	int r = fs_list(c->fs, c->dir, &c->names);

	if (r == 0 && !is_store(c))
		r = -ENOENT;
	if (r == -ENOENT)
		return error_set(error, r, "there is no store in %s", c->dir);
	if (r < 0)
		return error_set(error, r, "cannot read %s: %s", c->dir, strerror(-r));
	count_set_aside(c);
	return 0;
}

/* --- segments --- */

static void count_row(struct store_totals *t, const struct manifest_segment *row)
{
	t->received_min_ns =
		t->segments ? MIN(t->received_min_ns, row->received_min_ns) : row->received_min_ns;
	t->received_max_ns =
		t->segments ? MAX(t->received_max_ns, row->received_max_ns) : row->received_max_ns;
	t->segments++;
	t->rows += row->rows;
	t->blocks += row->blocks;
	t->pieces += row->pieces;
	t->segment_bytes += row->bytes;
}

static void count_info(struct store_totals *t, const struct segment_info *info)
{
	t->split += info->split;
	if (info->start_max_ns == 0)
		return;
	t->start_min_ns =
		t->start_min_ns ? MIN(t->start_min_ns, info->start_min_ns) : info->start_min_ns;
	t->start_max_ns = MAX(t->start_max_ns, info->start_max_ns);
}

/* Segments begin their findings with their own name. */
static void segment_found(void *context, const char *finding)
{
	struct checking *c = context;
	struct slice text = slice_cstr(finding), name = slice_cstr(c->file);

	if (slice_starts(text, name) && text.n > name.n + 2)
		finding += name.n + 2;
	tell(c, c->file, false, finding);
}

static void check_row(struct checking *c, const struct manifest_segment *row,
		      const struct segment_info *info)
{
	static const char *const what = "the manifest says %s=%llu of it, the file %llu";
	const struct {
		const char *name;
		uint64_t row, file;
	} pairs[] = {
		{"rows", row->rows, info->rows},          {"blocks", row->blocks, info->blocks},
		{"pieces", row->pieces, info->pieces},    {"bytes", row->bytes, info->bytes},
		{"seq", row->seq_first, info->seq_first}, {"seq", row->seq_last, info->seq_last},
	};
	char text[160];

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (pairs[i].row == pairs[i].file)
			continue;
		snprintf(text, sizeof(text), what, pairs[i].name, (unsigned long long)pairs[i].row,
			 (unsigned long long)pairs[i].file);
		tell(c, c->file, false, text);
	}
}

/* What is on the list of split traces is in the segment; or was, before thinning. */
static int check_split(struct checking *c, struct segment *s, bool thinned)
{
	size_t missing = 0;
	char text[100];
	int r = split_check_add(&c->split, s, &missing);

	if (missing > 0 && !thinned) {
		snprintf(text, sizeof(text), "%zu of its list of split traces are not in it",
			 missing);
		tell(c, c->file, false, text);
	}
	return r;
}

/* Searches judge the pieces of traces that no list names one by one. */
static void check_apart(struct checking *c)
{
	size_t n = split_check_apart(&c->split);
	char text[160];

	if (c->split.too_many)
		tell(c, MANIFEST_NAME, true,
		     "too many traces to look for those with pieces in several segments");
	if (n == 0)
		return;
	snprintf(text, sizeof(text),
		 "%zu traces have pieces in several segments and are on no list: searches judge "
		 "these pieces one by one",
		 n);
	tell(c, MANIFEST_NAME, true, text);
}

static int check_feed(struct checking *c, const struct manifest_segment *row)
{
	struct feed_runs runs = {0};
	struct error why = {0};
	char name[64];
	int r;

	if (!row->feed)
		return 0;
	snprintf(name, sizeof(name), "seg-%016llx.feed", (unsigned long long)row->number);
	r = feed_file_load(c->fs, c->dir, row->number, &runs, &why);
	if (r == -ENOMEM)
		return r;
	if (r == -ENOENT)
		tell(c, name, true, "is not there; readers in its middle see the segment again");
	else if (r < 0)
		tell(c, name, false, why.text[0] ? why.text : strerror(-r));
	else if (runs.total != row->rows)
		tell(c, name, false, "does not have a number for each row of its segment");
	feed_runs_done(&runs);
	return 0;
}

static int check_segment(struct checking *c, const struct manifest_segment *row)
{
	_cleanup_(segment_unrefp)
	struct segment *s = NULL;
	const char *name = c->file;
	struct error why = {0};
	char text[160];
	int r;

	segment_name(row->number, c->file);
	if (!has_name(c, name)) {
		snprintf(text, sizeof(text), "is missing, with %llu spans",
			 (unsigned long long)row->blocks);
		tell(c, name, false, text);
		return 0;
	}
	r = segment_check(c->fs, c->dir, row->number, segment_found, c);
	if (r == -ENOMEM || r == -EPROTONOSUPPORT)
		return r;
	if (r < 0 && r != -EBADMSG) {
		snprintf(text, sizeof(text), "cannot be read: %s", strerror(-r));
		tell(c, name, false, text);
	}
	if (r == 0)
		r = segment_open(c->fs, c->dir, row->number, &s, &why);
	if (r == 0) {
		count_row(&c->totals, row);
		count_info(&c->totals, segment_info(s));
		check_row(c, row, segment_info(s));
		r = check_split(c, s, row->thinned != 0);
	}
	if (r == -ENOMEM)
		return r;
	return check_feed(c, row);
}

/* --- the log --- */

static void log_found(void *context, const struct wal_finding *finding)
{
	struct checking *c = context;
	char text[300];

	snprintf(text, sizeof(text), "byte %llu: %s", (unsigned long long)finding->offset,
		 finding->text);
	tell(c, finding->file, finding->kind == WAL_TAIL_CUT, text);
}

static int log_replayed(void *context, const struct wal_record *record)
{
	struct checking *c = context;

	c->totals.log_records++;
	c->totals.log_events += record->batch ? record->batch->event_n : 0;
	return 0;
}

static int check_log(struct checking *c, struct error *error)
{
	const struct wal_options options = {
		.fs = c->fs,
		.dir = c->dir,
		.after_seq = c->manifest.flushed,
		.replay = log_replayed,
		.finding = log_found,
		.context = c,
	};

	return wal_check(&options, error);
}

/* --- all of it --- */

int store_newer(struct fs *fs, const char *dir, const char *file, struct error *error)
{
	struct segment *s;
	uint64_t number;

	if (segment_file_number(file, ".cst", &number) &&
	    segment_open(fs, dir, number, &s, error) == 0)
		segment_unref(s);
	return -EPROTONOSUPPORT;
}

static int check_manifest(struct checking *c, struct error *error)
{
	struct error why = {0};
	int r = manifest_load(c->fs, c->dir, &c->manifest, &why);

	if (r == -ENOENT || r == -EBADMSG) {
		tell(c, MANIFEST_NAME, false, r == -ENOENT ? "is missing" : why.text);
		return 0;
	}
	return r < 0 ? error_set(error, r, "cannot read %s/" MANIFEST_NAME ": %s", c->dir,
				 why.text[0] ? why.text : strerror(-r))
		     : 0;
}

/* Without a manifest every segment there is is checked for itself. */
static int check_unnamed(struct checking *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->names.n; i++) {
		uint64_t number;

		if (!segment_file_number(c->names.items[i], ".cst", &number))
			continue;
		segment_name(number, c->file);
		r = segment_check(c->fs, c->dir, number, segment_found, c);
		r = r == -EBADMSG ? 0 : r;
	}
	return r;
}

static int check_all(struct checking *c, struct error *error)
{
	bool has_manifest;
	int r = folder_read(c, error);

	if (r == 0)
		r = check_manifest(c, error);
	if (r < 0)
		return r;
	has_manifest = c->totals.findings == 0;
	if (has_manifest)
		check_names(c);
	else
		r = check_unnamed(c);
	for (size_t i = 0; r == 0 && i < c->manifest.segment_n; i++)
		r = check_segment(c, &c->manifest.segments[i]);
	if (r == -EPROTONOSUPPORT)
		return store_newer(c->fs, c->dir, c->file, error);
	if (r < 0)
		return error_set(error, r, "cannot check %s: %s", c->dir, strerror(-r));
	check_apart(c);
	return check_log(c, error);
}

int store_check(struct fs *fs, const char *dir, store_finding_fn *report, void *context,
		struct store_totals *ret_totals, struct error *error)
{
	_cleanup_(checking_done)
	struct checking c = {.fs = fs, .dir = dir, .report = report, .context = context};
	int r = check_all(&c, error);

	*ret_totals = c.totals;
	return r < 0 ? r : c.totals.findings ? -EBADMSG : 0;
}

int store_measure(struct fs *fs, const char *dir, struct store_totals *ret_totals,
		  struct error *error)
{
	_cleanup_(checking_done)
	struct checking c = {.fs = fs, .dir = dir};
	int r = folder_read(&c, error);

	if (r == 0)
		r = manifest_load(fs, dir, &c.manifest, error);
	if (r == -ENOENT)
		error_set(error, r, "there is no store in %s", dir);
	if (r < 0)
		return r;
	check_names(&c);
	for (size_t i = 0; i < c.manifest.segment_n; i++) {
		struct segment *s;

		count_row(&c.totals, &c.manifest.segments[i]);
		if (segment_open(fs, dir, c.manifest.segments[i].number, &s, NULL) < 0) {
			c.totals.findings++;
			continue;
		}
		count_info(&c.totals, segment_info(s));
		segment_unref(s);
	}
	r = check_log(&c, error);
	*ret_totals = c.totals;
	return r;
}
