/* store/manifest.c - which files are the store.  Format: docs/format/manifest.md.
 *
 * Reading is strict: whatever the encoder would not have written is damage. */
#include "store/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/ids.h"
#include "store/store.h"

#define TEXT_MOST ((size_t)512 << 20) /* bytes: more segments than are allowed have no more */

void manifest_done(struct manifest *m)
{
	free(m->segments);
	free(m->cursors);
	*m = (struct manifest){0};
}

int manifest_dup(const struct manifest *m, struct manifest *ret_manifest)
{
	struct manifest copy = *m;

	copy.segments = malloc((m->segment_n + 1) * sizeof(*m->segments));
	copy.cursors = malloc((m->cursor_n + 1) * sizeof(*m->cursors));
	copy.segment_capacity = m->segment_n + 1;
	copy.cursor_capacity = m->cursor_n + 1;
	if (!copy.segments || !copy.cursors) {
		manifest_done(&copy);
		return -ENOMEM;
	}
	if (m->segment_n)
		memcpy(copy.segments, m->segments, m->segment_n * sizeof(*m->segments));
	if (m->cursor_n)
		memcpy(copy.cursors, m->cursors, m->cursor_n * sizeof(*m->cursors));
	*ret_manifest = copy;
	return 0;
}

/* --- cursors --- */

bool cursor_name_is_good(struct slice name)
{
	if (name.n == 0 || name.n > CURSOR_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '.' || c == '_' || c == '-'))
			return false;
	}
	return true;
}

/* Where the name is, or where it belongs. */
static size_t cursor_place(const struct manifest *m, struct slice name)
{
	size_t at = 0;

	while (at < m->cursor_n && slice_cmp(slice_cstr(m->cursors[at].name), name) < 0)
		at++;
	return at;
}

const struct manifest_cursor *manifest_find_cursor(const struct manifest *m, struct slice name)
{
	size_t at = cursor_place(m, name);

	return at < m->cursor_n && slice_eq(slice_cstr(m->cursors[at].name), name) ? &m->cursors[at]
										   : NULL;
}

int manifest_set_cursor(struct manifest *m, struct slice name, uint64_t seq)
{
	size_t at = cursor_place(m, name);

	if (!cursor_name_is_good(name))
		return -EINVAL;
	if (!manifest_find_cursor(m, name)) {
		if (m->cursor_n >= MANIFEST_CURSORS)
			return -E2BIG;
		if (!vec_reserve(&m->cursors, &m->cursor_capacity, m->cursor_n + 1,
				 sizeof(*m->cursors)))
			return -ENOMEM;
		memmove(&m->cursors[at + 1], &m->cursors[at],
			(m->cursor_n++ - at) * sizeof(*m->cursors));
		m->cursors[at] = (struct manifest_cursor){0};
		memcpy(m->cursors[at].name, name.p, name.n);
	}
	m->cursors[at].seq = seq;
	return 0;
}

int manifest_drop_cursor(struct manifest *m, struct slice name)
{
	size_t at = cursor_place(m, name);

	if (!manifest_find_cursor(m, name))
		return -ENOENT;
	memmove(&m->cursors[at], &m->cursors[at + 1], (--m->cursor_n - at) * sizeof(*m->cursors));
	return 0;
}

int manifest_check_cursors(const struct manifest *m, const struct store_cursor *cursors, size_t n)
{
	size_t more = 0;

	for (size_t i = 0; i < n; i++) {
		if (!cursor_name_is_good(cursors[i].name))
			return -EINVAL;
		more += !manifest_find_cursor(m, cursors[i].name);
	}
	return m->cursor_n + more > MANIFEST_CURSORS ? -E2BIG : 0;
}

int manifest_apply_cursors(struct manifest *m, const struct store_cursor *cursors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = cursors[i].seq == STORE_CURSOR_GONE
				? manifest_drop_cursor(m, cursors[i].name)
				: manifest_set_cursor(m, cursors[i].name, cursors[i].seq);

		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

/* --- text --- */

void manifest_encode(const struct manifest *m, struct buffer *out)
{
	size_t from = out->n;

	buffer_printf(out, "causet store %d\nnext %" PRIu64 "\nflushed %" PRIu64 "\n",
		      MANIFEST_VERSION, m->next, m->flushed);
	for (size_t i = 0; i < m->segment_n; i++) {
		const struct manifest_segment *s = &m->segments[i];

		buffer_printf(out,
			      "segment %" PRIu64 " seq=%" PRIu64 "..%" PRIu64 " received=%" PRId64
			      "..%" PRId64 " rows=%" PRIu64 " blocks=%" PRIu64 " pieces=%" PRIu64
			      " bytes=%" PRIu64 " feed=%d",
			      s->number, s->seq_first, s->seq_last, s->received_min_ns,
			      s->received_max_ns, s->rows, s->blocks, s->pieces, s->bytes, s->feed);
		if (s->thinned)
			buffer_printf(out, " thinned=%016" PRIx64, s->thinned);
		buffer_byte(out, '\n');
	}
	for (size_t i = 0; i < m->cursor_n; i++)
		buffer_printf(out, "cursor %s %" PRIu64 "\n", m->cursors[i].name,
			      m->cursors[i].seq);
	if (!out->failed)
		buffer_printf(out, "end %016" PRIx64 "\n",
			      (uint64_t)XXH3_64bits(out->p + from, out->n - from));
}

struct reader {
	struct slice rest;
	struct slice line;
	size_t number; /* of the line */
	struct error *error;
};

static bool next_line(struct reader *r)
{
	if (r->rest.n == 0 || !memchr(r->rest.p, '\n', r->rest.n))
		return false;
	r->line = slice_cut(&r->rest, '\n');
	r->number++;
	return true;
}

static int damaged(struct reader *r, const char *what)
{
	return error_set(r->error, -EBADMSG, "MANIFEST, line %zu: %s", r->number, what);
}

/* One number as the encoder writes it: no sign but '-', no leading zeros. */
static bool take_number(struct slice text, uint64_t *ret)
{
	return slice_parse_u64(text, ret) == 0 && (text.n == 1 || text.p[0] != '0');
}

static bool take_signed(struct slice text, int64_t *ret)
{
	bool negative = text.n > 1 && text.p[0] == '-';
	uint64_t value;

	if (!take_number(negative ? slice_from(text, 1) : text, &value) ||
	    value > (uint64_t)INT64_MAX + negative || (negative && value == 0))
		return false;
	*ret = (int64_t)(negative ? 0 - value : value);
	return true;
}

/* "name=A" */
static bool take_field(struct slice *rest, const char *name, struct slice *ret_value)
{
	struct slice word = slice_cut(rest, ' '), prefix = slice_cstr(name);

	if (!slice_starts(word, prefix) || word.n <= prefix.n || word.p[prefix.n] != '=')
		return false;
	*ret_value = slice_from(word, prefix.n + 1);
	return true;
}

static bool take_field_number(struct slice *rest, const char *name, uint64_t *ret)
{
	struct slice value;

	return take_field(rest, name, &value) && take_number(value, ret);
}

/* "A..B" */
static bool take_range(struct slice text, struct slice *ret_a, struct slice *ret_b)
{
	const char *dots = text.n ? memmem(text.p, text.n, "..", 2) : NULL;

	if (!dots)
		return false;
	*ret_a = slice_of(text.p, (size_t)(dots - text.p));
	*ret_b = slice_from(text, ret_a->n + 2);
	return true;
}

/* The last field, which only segments have that were thinned. */
static bool take_thinned(struct slice rest, uint64_t *ret)
{
	uint8_t bytes[8];
	struct slice value;

	if (!take_field(&rest, "thinned", &value) || rest.p || value.n != 16 ||
	    hex_decode(value, bytes, sizeof(bytes)) < 0)
		return false;
	*ret = load_be64(bytes);
	return *ret != 0;
}

static bool decode_segment(struct slice rest, struct manifest_segment *s)
{
	struct slice seq, received, a, b, c, d;
	uint64_t feed;

	if (!take_number(slice_cut(&rest, ' '), &s->number) || !take_field(&rest, "seq", &seq) ||
	    !take_range(seq, &a, &b) || !take_number(a, &s->seq_first) ||
	    !take_number(b, &s->seq_last) || !take_field(&rest, "received", &received) ||
	    !take_range(received, &c, &d) || !take_signed(c, &s->received_min_ns) ||
	    !take_signed(d, &s->received_max_ns) || !take_field_number(&rest, "rows", &s->rows) ||
	    !take_field_number(&rest, "blocks", &s->blocks) ||
	    !take_field_number(&rest, "pieces", &s->pieces) ||
	    !take_field_number(&rest, "bytes", &s->bytes) ||
	    !take_field_number(&rest, "feed", &feed) || feed > 1)
		return false;
	s->feed = feed == 1;
	return !rest.p || take_thinned(rest, &s->thinned);
}

static int read_segment(struct reader *r, struct manifest *m)
{
	const struct manifest_segment *last = m->segment_n ? &m->segments[m->segment_n - 1] : NULL;
	struct manifest_segment s = {0};

	if (!decode_segment(slice_from(r->line, 8), &s))
		return damaged(r, "not a segment");
	if (s.number >= m->next || s.seq_first > s.seq_last || s.seq_last > m->flushed ||
	    (last && s.seq_first <= last->seq_last))
		return damaged(r, "a segment that cannot be there");
	if (m->segment_n >= MANIFEST_SEGMENTS)
		return damaged(r, "too many segments");
	if (!vec_reserve(&m->segments, &m->segment_capacity, m->segment_n + 1, sizeof(s)))
		return -ENOMEM;
	m->segments[m->segment_n++] = s;
	return 0;
}

static int read_cursor(struct reader *r, struct manifest *m)
{
	struct slice rest = slice_from(r->line, 7), name = slice_cut(&rest, ' ');
	size_t before = m->cursor_n;
	uint64_t seq;
	int error;

	if (!rest.p || !take_number(rest, &seq) || !cursor_name_is_good(name) ||
	    cursor_place(m, name) != m->cursor_n)
		return damaged(r, "not a cursor");
	error = manifest_set_cursor(m, name, seq);
	if (error == -E2BIG)
		return damaged(r, "too many cursors");
	return error < 0 || m->cursor_n == before + 1 ? error : damaged(r, "a cursor twice");
}

static int read_head(struct reader *r, struct manifest *m)
{
	static const struct slice first = {"causet store ", 13};
	uint64_t version;

	if (!next_line(r) || !slice_starts(r->line, first) ||
	    !take_number(slice_from(r->line, first.n), &version))
		return damaged(r, "this is not a store's manifest");
	if (version != MANIFEST_VERSION)
		return error_set(r->error, -EPROTONOSUPPORT,
				 "the store has format version %" PRIu64 "; this program knows %d",
				 version, MANIFEST_VERSION);
	if (!next_line(r) || !slice_starts(r->line, SLICE("next ")) ||
	    !take_number(slice_from(r->line, 5), &m->next))
		return damaged(r, "no next number");
	if (!next_line(r) || !slice_starts(r->line, SLICE("flushed ")) ||
	    !take_number(slice_from(r->line, 8), &m->flushed))
		return damaged(r, "no number of the last batch");
	return 0;
}

/* The last line, and nothing behind it. */
static int read_end(struct reader *r, struct slice text)
{
	uint8_t said[8];
	uint64_t hash = XXH3_64bits(text.p, (size_t)(r->line.p - text.p));

	if (!slice_starts(r->line, SLICE("end ")) ||
	    hex_decode(slice_from(r->line, 4), said, sizeof(said)) < 0)
		return damaged(r, "not a line of a manifest");
	if (load_be64(said) != hash)
		return damaged(r, "the checksum is wrong");
	return r->rest.n ? damaged(r, "something stands behind the end") : 0;
}

static int decode(struct reader *r, struct manifest *m)
{
	struct slice text = r->rest;
	int error = read_head(r, m);

	while (error == 0) {
		if (!next_line(r))
			return damaged(r, "the end is missing");
		if (m->cursor_n == 0 && slice_starts(r->line, SLICE("segment ")))
			error = read_segment(r, m);
		else if (slice_starts(r->line, SLICE("cursor ")))
			error = read_cursor(r, m);
		else
			return read_end(r, text);
	}
	return error;
}

int manifest_decode(struct slice text, struct manifest *ret_manifest, struct error *error)
{
	struct reader r = {.rest = text, .error = error};
	struct manifest m = {0};
	int e = decode(&r, &m);

	if (e < 0)
		manifest_done(&m);
	else
		*ret_manifest = m;
	return e;
}

/* --- the file --- */

int manifest_load(struct fs *fs, const char *dir, struct manifest *ret_manifest,
		  struct error *error)
{
	_cleanup_(freep)
	char *path = fs_path(dir, MANIFEST_NAME);
	_cleanup_(freep)
	char *text = NULL;
	size_t n;
	int r = path ? fs_load(fs, path, TEXT_MOST, &text, &n) : -ENOMEM;

	if (r < 0)
		return r;
	return manifest_decode(slice_of(text, n), ret_manifest, error);
}

int manifest_save(struct fs *fs, const char *dir, const struct manifest *m)
{
	_cleanup_(freep)
	char *path = fs_path(dir, MANIFEST_NAME);
	_cleanup_(buffer_done)
	struct buffer text = {0};

	manifest_encode(m, &text);
	if (!path || text.failed)
		return -ENOMEM;
	return fs_replace(fs, dir, path, text.p, text.n);
}
