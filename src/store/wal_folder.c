/* store/wal_folder.c - what lies in the log's folder: reading all of it in order, and deciding what
 * counts, what is an unfinished end, and what is damage.
 *
 * Reading changes nothing, so that a folder at rest can be checked; wal_folder_tidy() then does
 * what reading has decided. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/set_aside.h"
#include "store/wal_ahead.h"
#include "store/wal_int.h"

#define NAME_BYTES 25 /* "wal-0123456789abcdef.seen" */

static const char *const suffixes[] = {[WAL_NAME_LOG] = "log", [WAL_NAME_SEEN] = "seen"};

static void name_format(char name[NAME_BYTES + 1], enum wal_name kind, uint64_t number)
{
	snprintf(name, NAME_BYTES + 1, "wal-%016" PRIx64 ".%s", number, suffixes[kind]);
}

char *wal_path(const char *dir, enum wal_name kind, uint64_t number)
{
	char name[NAME_BYTES + 1];

	name_format(name, kind, number);
	return fs_path(dir, name);
}

bool wal_name_parse(const char *name, enum wal_name *ret_kind, uint64_t *ret_number)
{
	char again[NAME_BYTES + 1];
	uint64_t number = 0;

	if (strncmp(name, "wal-", 4) != 0)
		return false;
	for (int i = 4; i < 20; i++) {
		char c = name[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;

		if (digit < 0)
			return false;
		number = number << 4 | (uint64_t)digit;
	}
	for (enum wal_name kind = WAL_NAME_LOG; kind <= WAL_NAME_SEEN; kind++) {
		name_format(again, kind, number);
		if (strcmp(name, again) == 0) {
			*ret_kind = kind;
			*ret_number = number;
			return true;
		}
	}
	return false;
}

int wal_set_aside(struct fs *fs, const char *dir, enum wal_name kind, uint64_t number)
{
	char name[NAME_BYTES + 1];

	name_format(name, kind, number);
	return set_aside(fs, dir, name);
}

void wal_folder_done(struct wal_folder *f)
{
	for (size_t i = 0; i < f->file_n; i++)
		free(f->files[i].hashes.items);
	free(f->files);
	free(f->seen);
	*f = (struct wal_folder){0};
}

/* --- reading --- */

struct scan {
	const struct wal_options *options;
	struct wal_folder *folder;
	struct error *error;
	/* Of the file being read. */
	struct wal_file *file;
	bool is_last;
	uint64_t limit;    /* records from this number on do not count */
	uint64_t previous; /* the record before this file, as far as its header says */
	/* Missing records: has the stretch they were in been told, and up to where have they been?
	 */
	bool gap_told;
	uint64_t gap_end;
};

__attribute__((format(printf, 5, 6))) static void tell(struct scan *s, int kind, uint64_t offset,
						       uint64_t bytes, const char *format, ...)
{
	struct wal_finding finding = {.kind = kind, .offset = offset, .bytes = bytes};
	char name[NAME_BYTES + 1], text[200];
	va_list args;

	if (!s->options->finding)
		return;
	name_format(name, WAL_NAME_LOG, s->file->number);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	finding.file = name;
	finding.text = text;
	s->options->finding(s->options->context, &finding);
}

static void damage(struct scan *s, uint64_t offset, uint64_t bytes, const char *what)
{
	s->file->damaged = true;
	s->gap_told = true;
	tell(s, WAL_DAMAGED, offset, bytes, "%s", what);
}

/* Does somebody say that everything up to `previous` is there, when we have less? */
static void check_gap(struct scan *s, uint64_t previous, uint64_t offset)
{
	uint64_t have = MAX(s->folder->last, s->gap_end);

	if (previous > have) {
		if (!s->gap_told) {
			s->file->damaged = true;
			tell(s, WAL_DAMAGED, offset, 0,
			     "records %" PRIu64 " to %" PRIu64
			     ", which should come before, are missing",
			     have + 1, previous);
		}
		s->gap_end = previous;
	}
	s->gap_told = false;
}

static int take(struct scan *s, uint64_t at, const struct wal_record_header *h,
		struct wal_loaded *loaded)
{
	const struct wal_options *o = s->options;
	struct wal_record record = {
		.seq = h->seq,
		.batch = loaded->batch,
		.body_hash = h->bits & WAL_HAS_HASH ? h->body_hash : NULL,
		.received_ns = h->received_ns,
		.cursors = loaded->cursors,
		.cursor_n = h->cursor_n,
	};

	check_gap(s, h->previous, at);
	if (record.body_hash && !wal_hashes_add(&s->file->hashes, h->body_hash, h->received_ns))
		return -ENOMEM;
	s->folder->last = MAX(s->folder->last, h->seq);
	s->file->last = h->seq;
	s->file->bytes = at + h->bytes;
	if (h->seq <= o->after_seq || !o->replay)
		return 0;
	return o->replay(o->context, &record);
}

/* The next record from `at` on that is whole: 1, with its place; 0: there is none.  What does not
 * count because a later file says so is passed over. */
static int next_whole(struct scan *s, struct wal_reader *r, uint64_t *at,
		      struct wal_record_header *h, struct wal_loaded *ret_loaded)
{
	for (;;) {
		int e = wal_reader_find(r, *at, at, h);

		if (e <= 0)
			return e;
		if (h->seq < s->limit && h->seq > s->file->last) {
			e = wal_reader_load(r, *at, h, ret_loaded);
			if (e == 0)
				return 1;
			if (e == -ENOMEM)
				return e;
			*at += h->bytes; /* its length is true: nothing inside is a record */
		} else {
			*at += h->bytes;
		}
	}
}

/* Was the record behind the last one we have durable once?  Some header further on may say so. */
static int was_durable(struct wal_reader *r, uint64_t from, uint64_t last)
{
	struct wal_record_header h;
	uint64_t at = from;
	int found;

	while ((found = wal_reader_find(r, at, &at, &h)) > 0) {
		if (h.synced > last)
			return 1;
		at += h.bytes;
	}
	return found;
}

/* What stands at `at` is no record.  1: reading goes on at *ret_at, with that record; 0: this is
 * the end of the file. */
static int behind_bad(struct scan *s, struct wal_reader *r, uint64_t at, uint64_t *ret_at,
		      struct wal_record_header *h, struct wal_loaded *ret_loaded)
{
	struct wal_record_header bad;
	uint64_t from = at;
	int e = 1;

	if (at >= r->size || wal_reader_zero(r, at))
		return 0;
	if (wal_reader_at(r, at, &bad) > 0)
		from += bad.bytes;
	else
		from += 8;
	if (s->is_last)
		e = was_durable(r, from, MAX(s->file->last, s->previous));
	if (e > 0) {
		*ret_at = from;
		e = next_whole(s, r, ret_at, h, ret_loaded);
	}
	if (e > 0 && h->previous > s->options->after_seq)
		damage(s, at, *ret_at - at, "a damaged stretch; what was in it is lost");
	else if (e == 0 && s->is_last)
		tell(s, WAL_TAIL_CUT, at, r->size - at,
		     "an unfinished end, never acknowledged as durable, is left out");
	return e;
}

static int read_records(struct scan *s, struct wal_reader *r)
{
	uint64_t at = sizeof(struct wal_file_header);

	s->file->bytes = at;
	for (;;) {
		struct wal_record_header h;
		struct wal_loaded loaded;
		int e = wal_reader_at(r, at, &h);

		if (e == -ENOMEM)
			return e;
		if (e > 0 && h.seq >= s->limit)
			return 0; /* the leavings of a file that was given up */
		e = e > 0 && h.seq > s->file->last ? wal_reader_load(r, at, &h, &loaded) : -EBADMSG;
		if (e == -ENOMEM)
			return e;
		if (e < 0) {
			e = behind_bad(s, r, at, &at, &h, &loaded);
			if (e <= 0)
				return e;
		}
		e = take(s, at, &h, &loaded);
		wal_loaded_done(&loaded);
		if (e < 0)
			return e;
		at += h.bytes;
	}
}

/* What the headers say, read before any record. */
struct head {
	struct wal_file_header header;
	enum wal_header_state state;
	int error; /* it could not be read at all */
};

static int read_head(struct scan *s, uint64_t number, struct head *ret)
{
	_cleanup_(freep)
	char *path = wal_path(s->options->dir, WAL_NAME_LOG, number);
	struct wal_reader r;
	int e;

	if (!path)
		return -ENOMEM;
	e = wal_reader_open(&r, s->options->fs, path, number);
	if (e == 0) {
		s->file->size = r.size;
		e = wal_reader_header(&r, &ret->header, &ret->state);
		wal_reader_done(&r);
	}
	if (e == -ENOMEM)
		return e;
	if (e < 0) {
		ret->state = WAL_HEADER_DAMAGED;
		ret->error = e;
	}
	if (ret->state == WAL_HEADER_NEWER)
		return error_set(
			s->error, -EPROTONOSUPPORT,
			"%s is of version %u of the log; this program knows versions up to %d",
			path, ret->header.version, WAL_VERSION);
	if (ret->state == WAL_HEADER_GOOD) {
		if (s->folder->seed == 0)
			s->folder->seed = ret->header.seed;
	}
	return 0;
}

/* `ahead` may be NULL; it is taken over. */
static int read_file(struct scan *s, const struct head *head, struct wal_ahead *ahead)
{
	_cleanup_(freep)
	char *path = wal_path(s->options->dir, WAL_NAME_LOG, s->file->number);
	_cleanup_(pages_unrefp)
	struct pages *whole = wal_ahead_take(ahead);
	bool good = head->state == WAL_HEADER_GOOD;
	uint64_t seed = good ? head->header.seed : s->folder->seed;
	struct wal_reader r;
	int e;

	if (!path)
		return -ENOMEM;
	if (head->state == WAL_HEADER_EMPTY)
		return 0;
	if (head->error < 0) {
		damage(s, 0, s->file->size, strerror(-head->error));
		return 0;
	}
	e = wal_reader_open(&r, s->options->fs, path, s->file->number);
	if (e < 0) {
		damage(s, 0, s->file->size, strerror(-e));
		return e == -ENOMEM ? e : 0;
	}
	if (whole && whole->n == r.size)
		r.whole = TAKE_PTR(whole);
	else
		fs_will_read(s->options->fs, r.fd);
	r.check_seed = wal_check_seed(seed, s->file->number);
	s->previous = good ? head->header.previous : 0;
	if (good)
		check_gap(s, head->header.previous, 0);
	else
		damage(s, 0, sizeof(struct wal_file_header), "the file's header is damaged");
	e = read_records(s, &r);
	wal_reader_done(&r);
	if (e == 0 && !good && s->file->last == 0)
		tell(s, WAL_UNREADABLE, 0, s->file->size, "nothing in this file can be read");
	return e;
}

static struct wal_ahead *start_reading(struct scan *s, size_t at, const struct head *heads)
{
	const struct wal_folder *f = s->folder;

	if (at >= f->file_n || heads[at].state != WAL_HEADER_GOOD)
		return NULL;
	return wal_ahead_start(s->options->fs, s->options->dir, f->files[at].number,
			       f->files[at].size);
}

static int read_logs(struct scan *s)
{
	struct wal_folder *f = s->folder;
	_cleanup_(freep)
	struct head *heads = calloc(f->file_n + 1, sizeof(*heads));
	struct wal_ahead *ahead = NULL, *next;
	uint64_t limit = UINT64_MAX;
	int e = 0;

	if (!heads)
		return -ENOMEM;
	for (size_t i = 0; e == 0 && i < f->file_n; i++) {
		s->file = &f->files[i];
		e = read_head(s, f->files[i].number, &heads[i]);
	}
	/* From the last to the first: what the later ones say about the earlier. */
	for (size_t i = f->file_n; e == 0 && i-- > 0;) {
		uint64_t first = heads[i].header.first;

		heads[i].header.first = limit;
		if (heads[i].state == WAL_HEADER_GOOD)
			limit = MIN(limit, first);
	}
	for (size_t i = 0; e == 0 && i < f->file_n; i++) {
		s->file = &f->files[i];
		s->limit = heads[i].header.first;
		s->is_last = true;
		for (size_t k = i + 1; k < f->file_n; k++)
			s->is_last &= heads[k].state == WAL_HEADER_EMPTY;
		if (i == 0)
			ahead = start_reading(s, 0, heads);
		next = start_reading(s, i + 1, heads);
		e = read_file(s, &heads[i], ahead);
		ahead = next;
	}
	pages_unref(wal_ahead_take(ahead));
	return e;
}

static int read_seen(struct scan *s)
{
	struct wal_folder *f = s->folder;

	for (size_t i = 0; i < f->seen_n; i++) {
		struct wal_hashes hashes = {0};
		uint64_t seed;
		int e = wal_seen_read(s->options->fs, s->options->dir, f->seen[i].number, &seed,
				      &hashes);

		f->seen[i].newest_ns = INT64_MIN;
		if (e == 0) {
			f->seen[i].newest_ns = wal_hashes_newest(&hashes);
			f->seed = f->seed ? f->seed : seed;
		} else if (e == -ENOMEM) {
			return e;
		} else if (s->options->finding) {
			char name[NAME_BYTES + 1];
			struct wal_finding finding = {
				.kind = WAL_DAMAGED,
				.file = name,
				.text = "hashes of earlier requests cannot be read; one of these "
					"sent again is stored again",
			};

			name_format(name, WAL_NAME_SEEN, f->seen[i].number);
			s->options->finding(s->options->context, &finding);
		}
		free(hashes.items);
	}
	return 0;
}

/* Names come sorted, and so do the numbers in them. */
static int collect(struct wal_folder *f, const struct fs_names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		enum wal_name kind;
		uint64_t number;

		if (!wal_name_parse(names->items[i], &kind, &number))
			continue;
		f->next_number = MAX(f->next_number, number + 1);
		if (kind == WAL_NAME_LOG) {
			if (!vec_reserve(&f->files, &f->file_capacity, f->file_n + 1,
					 sizeof(*f->files)))
				return -ENOMEM;
			f->files[f->file_n++] = (struct wal_file){.number = number};
		} else {
			if (!vec_reserve(&f->seen, &f->seen_capacity, f->seen_n + 1,
					 sizeof(*f->seen)))
				return -ENOMEM;
			f->seen[f->seen_n++] = (struct wal_seen){.number = number};
		}
	}
	return 0;
}

int wal_folder_read(const struct wal_options *options, struct wal_folder *ret_folder,
		    struct error *error)
{
	_cleanup_(wal_folder_done)
	struct wal_folder folder = {.last = options->after_seq, .next_number = 1};
	_cleanup_(fs_names_done)
	struct fs_names names = {0};
	struct scan s = {.options = options, .folder = &folder, .error = error};
	int e = fs_list(options->fs, options->dir, &names);

	if (e < 0)
		return error_set(error, e, "cannot read %s: %s", options->dir, strerror(-e));
	e = collect(&folder, &names);
	if (e == 0)
		e = read_seen(&s);
	if (e == 0)
		e = read_logs(&s);
	if (e < 0) {
		if (e != -EPROTONOSUPPORT)
			error_set(error, e, "cannot read the log in %s: %s", options->dir,
				  strerror(-e));
		return e;
	}
	*ret_folder = folder;
	folder = (struct wal_folder){0};
	return 0;
}

/* --- tidying --- */

/* Cuts off what does not count, and syncs what does: it was read from the kernel's memory, perhaps,
 * and a sender may soon be told that it need not send it again. */
static int settle_file(const struct wal_options *o, struct wal_file *file)
{
	_cleanup_(freep)
	char *path = wal_path(o->dir, WAL_NAME_LOG, file->number);
	bool cut = file->size > file->bytes && !file->damaged;
	int r, fd = path ? fs_open(o->fs, path, cut ? O_RDWR : O_RDONLY, 0) : -ENOMEM;

	if (fd < 0)
		return fd;
	r = cut ? fs_truncate(o->fs, fd, file->bytes) : 0;
	if (r == 0 && cut)
		file->size = file->bytes;
	if (r == 0 && o->sync != WAL_SYNC_NEVER)
		r = fs_sync(o->fs, fd);
	fs_close(o->fs, fd);
	return r;
}

static bool away(const struct wal_options *o, const struct wal_file *file)
{
	_cleanup_(freep)
	char *path = wal_path(o->dir, WAL_NAME_LOG, file->number);

	return path && fs_unlink(o->fs, path) == 0;
}

void wal_folder_tidy(const struct wal_options *o, struct wal_folder *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->file_n; i++) {
		struct wal_file file = f->files[i];
		bool gone = false;

		if (file.last == 0 && file.damaged)
			gone = wal_set_aside(o->fs, o->dir, WAL_NAME_LOG, file.number) == 0;
		else if (file.last == 0)
			gone = away(o, &file);
		else if (settle_file(o, &file) < 0)
			file.hashes.n = 0; /* what is sent again is stored again, to be sure */
		if (gone)
			free(file.hashes.items);
		else
			f->files[kept++] = file;
	}
	f->file_n = kept;
}
