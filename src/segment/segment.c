/* segment/segment.c - an open segment: the footer at once, tables when first asked for. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "segment/group_cache.h"
#include "segment/segment_reader_int.h"
#include "segment/totals.h"

/* --- opening --- */

static bool section_ok(const struct segment_footer *f, int i, uint64_t bytes)
{
	uint64_t at = i ? f->sections[i - 1].offset + f->sections[i - 1].bytes : 0;
	const struct section_place *p = &f->sections[i];

	return p->bytes <= SEGMENT_MOST_SECTION && p->offset >= SEGMENT_HEADER_BYTES &&
	       p->offset <= bytes && p->bytes <= bytes - p->offset && (i == 0 || p->offset == at);
}

static int footer_check(struct segment *s, uint64_t bytes, struct error *error)
{
	const struct segment_footer *f = &s->footer;
	uint32_t counts[] = {f->groups, f->strings, f->sources,   f->resources, f->scopes, f->attrs,
			     f->nested, f->columns, f->skeletons, f->fields,    f->shapes};

	if (memcmp(f->magic, SEGMENT_MAGIC, SEGMENT_MAGIC_N) != 0)
		return error_set(error, -EBADMSG, "%s: not a segment, or its end is missing",
				 s->name);
	if (!segment_checksum_ok(f->checksum,
				 segment_checksum(f, offsetof(struct segment_footer, checksum))))
		return error_set(error, -EBADMSG, "%s: the footer is damaged", s->name);
	if (f->version != SEGMENT_VERSION)
		return error_set(error, -EBADMSG, "%s: there is no format %u", s->name, f->version);
	for (int i = 0; i < SECTIONS; i++)
		if (!section_ok(f, i, bytes - sizeof(*f)))
			return error_set(error, -EBADMSG, "%s: the footer makes no sense", s->name);
	if (f->totals_bytes >
	    bytes - sizeof(*f) - f->sections[SECTIONS - 1].offset - f->sections[SECTIONS - 1].bytes)
		return error_set(error, -EBADMSG, "%s: the footer makes no sense", s->name);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i] > COLUMN_MAX_VALUES)
			return error_set(error, -EBADMSG, "%s: the footer makes no sense", s->name);
	if (f->groups > SEGMENT_MOST_GROUPS || f->rows > f->groups * (uint64_t)GROUP_MOST_ROWS ||
	    f->pieces > f->rows || f->blocks > f->rows ||
	    f->split > COLUMN_MAX_VALUES || /* more than pieces, perhaps: dropped ones */
	    f->pieces > COLUMN_MAX_VALUES * (uint64_t)8)
		return error_set(error, -EBADMSG, "%s: the footer makes no sense", s->name);
	return 0;
}

/* The first and the last bytes of a file say its version, in every version: where both agree on a
 * newer one it is no damage, and the rest of the footer may look different. */
static bool is_newer(struct segment *s)
{
	const struct segment_footer *f = &s->footer;
	char header[SEGMENT_HEADER_BYTES];
	uint32_t version;

	if (memcmp(f->magic, SEGMENT_MAGIC, SEGMENT_MAGIC_N) != 0 ||
	    f->version <= SEGMENT_VERSION ||
	    fs_read_all(s->fs, s->fd, header, sizeof(header), 0) < 0 ||
	    memcmp(header, SEGMENT_MAGIC, SEGMENT_MAGIC_N) != 0)
		return false;
	memcpy(&version, header + SEGMENT_MAGIC_N, sizeof(version));
	return version == f->version;
}

static int footer_read(struct segment *s, struct error *error)
{
	uint64_t bytes;
	int r = fs_size(s->fs, s->fd, &bytes);

	if (r < 0)
		return error_set(error, r, "%s: cannot find out its size", s->name);
	if (bytes < SEGMENT_HEADER_BYTES + sizeof(s->footer))
		return error_set(error, -EBADMSG, "%s: too short to be a segment", s->name);
	r = fs_read_all(s->fs, s->fd, &s->footer, sizeof(s->footer), bytes - sizeof(s->footer));
	if (r < 0)
		return error_set(error, r, "%s: cannot be read", s->name);
	if (is_newer(s))
		return error_set(error, -EPROTONOSUPPORT,
				 "%s: written in format %u by a newer program; this one knows up "
				 "to %u",
				 s->name, s->footer.version, SEGMENT_VERSION);
	r = footer_check(s, bytes, error);
	if (r == 0)
		segment_info_fill(&s->footer, bytes, &s->info);
	return r;
}

int segment_open(struct fs *fs, const char *dir, uint64_t number, struct segment **ret_segment,
		 struct error *error)
{
	_cleanup_(segment_unrefp)
	struct segment *s = calloc(1, sizeof(*s));
	_cleanup_(freep)
	char *path = NULL;
	int r;

	if (!s)
		return error_set(error, -ENOMEM, "out of memory");
	s->refs = 1;
	s->fs = fs;
	s->fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	segment_name(number, s->name);
	path = fs_path(dir, s->name);
	if (!path)
		return error_set(error, -ENOMEM, "out of memory");
	s->fd = fs_open(fs, path, O_RDONLY, 0);
	if (s->fd < 0)
		return error_set(error, s->fd, "%s: cannot be opened", s->name);
	fs_at_random(fs, s->fd);
	r = footer_read(s, error);
	if (r < 0)
		return r;
	*ret_segment = TAKE_PTR(s);
	return 0;
}

struct segment *segment_ref(struct segment *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

struct segment *segment_unref(struct segment *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	if (s->cache)
		group_cache_forget(s->cache, s);
	group_cache_unref(s->cache);
	trace_index_done(&s->index);
	free(s->split);
	free(s->longest);
	segment_tables_free(s->tables);
	totals_free(s->totals);
	fs_close(s->fs, s->fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

void segment_set_cache(struct segment *s, struct group_cache *cache)
{
	s->cache = cache ? group_cache_ref(cache) : NULL;
}

const struct segment_info *segment_info(const struct segment *s)
{
	return &s->info;
}

/* --- tables, when first asked for --- */

int section_read(struct segment *s, enum segment_section section, char **ret_bytes,
		 struct error *error)
{
	static const char *const names[SECTIONS] = {"index",   "split list", "zone maps", "strings",
						    "sources", "columns",    "shapes"};
	const struct section_place *p = &s->footer.sections[section];
	_cleanup_(freep)
	char *bytes = malloc(p->bytes + 1);
	int r;

	if (!bytes)
		return error_set(error, -ENOMEM, "out of memory");
	r = fs_read_all(s->fs, s->fd, bytes, p->bytes, p->offset);
	if (r < 0)
		return error_set(error, r, "%s: the %s cannot be read", s->name, names[section]);
	if (!segment_checksum_ok(p->checksum, segment_checksum(bytes, p->bytes)))
		return error_set(error, -EBADMSG, "%s: the %s are damaged", s->name,
				 names[section]);
	*ret_bytes = TAKE_PTR(bytes);
	return 0;
}

static int index_read(struct segment *s, struct trace_index *ret_index)
{
	_cleanup_(column_codec_freep)
	struct column_codec *codec = column_codec_new();
	_cleanup_(freep)
	char *bytes = NULL;
	int r;

	if (!codec)
		return -ENOMEM;
	r = section_read(s, SECTION_INDEX, &bytes, NULL);
	return r < 0 ? r
		     : trace_index_decode(codec,
					  slice_of(bytes, s->footer.sections[SECTION_INDEX].bytes),
					  s->footer.pieces, s->footer.groups, ret_index);
}

/* Files are read without the lock; who comes second throws his copy away. */
int segment_pin_index(struct segment *s)
{
	struct trace_index index;
	int r;

	pthread_mutex_lock(&s->lock);
	s->pins++;
	s->pinned_ns = clock_mono_ns();
	if (s->has_index) {
		pthread_mutex_unlock(&s->lock);
		return 0;
	}
	pthread_mutex_unlock(&s->lock);
	r = index_read(s, &index);
	pthread_mutex_lock(&s->lock);
	if (r < 0)
		s->pins--;
	else if (s->has_index)
		trace_index_done(&index);
	else {
		s->index = index;
		s->has_index = true;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int segment_pin_error(struct segment *s, const struct segment_tables **ret_tables,
		      struct error *error)
{
	struct segment_tables *t = NULL;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	s->pins++;
	s->pinned_ns = clock_mono_ns();
	t = s->tables;
	pthread_mutex_unlock(&s->lock);
	if (!t) {
		r = segment_tables_read(s, &t, error);
		pthread_mutex_lock(&s->lock);
		if (r == 0 && !s->longest)
			s->longest = calloc((size_t)t->zone_n + 1, sizeof(*s->longest));
		if (r == 0 && !s->longest) {
			segment_tables_free(t);
			r = -ENOMEM;
		}
		if (r < 0)
			s->pins--;
		else if (s->tables) {
			segment_tables_free(t);
			t = s->tables;
		} else
			s->tables = t;
		pthread_mutex_unlock(&s->lock);
	}
	if (r == 0)
		*ret_tables = t;
	return r;
}

int segment_pin(struct segment *s, const struct segment_tables **ret_tables)
{
	return segment_pin_error(s, ret_tables, NULL);
}

void segment_unpin(struct segment *s)
{
	pthread_mutex_lock(&s->lock);
	s->pins--;
	pthread_mutex_unlock(&s->lock);
}

int64_t segment_longest_row(const struct segment *s, uint32_t group)
{
	uint64_t more = atomic_load_explicit(&s->longest[group], memory_order_relaxed);

	return more == 0 || more > INT64_MAX ? INT64_MAX : (int64_t)more - 1;
}

void segment_see_rows(struct segment *s, uint32_t group, const uint64_t *durations, uint32_t n)
{
	uint64_t longest = 0;

	if (atomic_load_explicit(&s->longest[group], memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < n; i++)
		longest = MAX(longest, durations[i]);
	atomic_store_explicit(&s->longest[group], MIN(longest, UINT64_MAX - 1) + 1,
			      memory_order_relaxed);
}

size_t segment_bytes(const struct segment *s)
{
	struct segment *open = (struct segment *)(uintptr_t)s; /* for its lock */
	size_t n;

	pthread_mutex_lock(&open->lock);
	n = sizeof(*s) + (s->tables ? s->tables->bytes : 0) +
	    (s->has_index ? trace_index_bytes(&s->index) : 0) + (s->totals ? s->totals->bytes : 0) +
	    (s->split ? s->footer.split * sizeof(*s->split) : 0);
	pthread_mutex_unlock(&open->lock);
	return n;
}

int64_t segment_used_ns(const struct segment *s)
{
	struct segment *open = (struct segment *)(uintptr_t)s; /* for its lock */
	int64_t ns;

	pthread_mutex_lock(&open->lock);
	ns = s->pinned_ns;
	pthread_mutex_unlock(&open->lock);
	return ns;
}

void segment_trim(struct segment *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->pins == 0) {
		if (s->cache)
			group_cache_forget(s->cache, s);
		s->tables = segment_tables_free(s->tables);
		s->totals = totals_free(s->totals);
		trace_index_done(&s->index);
		s->has_index = false;
	}
	pthread_mutex_unlock(&s->lock);
}

/* --- looking up --- */

int segment_may_have(struct segment *s, struct trace_id id)
{
	uint32_t at = 0;
	int r = segment_pin_index(s);

	if (r < 0)
		return r;
	r = trace_index_next(&s->index, segment_id_hash(id), &at) != UINT32_MAX;
	segment_unpin(s);
	return r;
}

bool segment_index_has(const struct segment *s, uint64_t hash)
{
	uint32_t at = 0;

	return trace_index_next(&s->index, hash, &at) != UINT32_MAX;
}

int segment_candidates(struct segment *s, struct trace_id id, uint32_t *at,
		       uint32_t ret_groups[SEGMENT_CANDIDATES])
{
	uint64_t hash = segment_id_hash(id);
	uint32_t group;
	int n = 0, r = segment_pin_index(s);

	if (r < 0)
		return r;
	while (n < SEGMENT_CANDIDATES &&
	       (group = trace_index_next(&s->index, hash, at)) != UINT32_MAX)
		ret_groups[n++] = group;
	segment_unpin(s);
	return n;
}

int segment_split(struct segment *s, const struct trace_id **ret_ids, size_t *ret_n)
{
	_cleanup_(column_codec_freep)
	struct column_codec *codec = NULL;
	_cleanup_(freep)
	struct trace_id *ids = NULL;
	_cleanup_(freep)
	char *bytes = NULL;
	size_t n = s->footer.split;
	int r;

	pthread_mutex_lock(&s->lock);
	*ret_ids = s->split;
	pthread_mutex_unlock(&s->lock);
	if (!*ret_ids) {
		codec = column_codec_new();
		ids = calloc(n + 1, sizeof(*ids));
		if (!codec || !ids)
			return -ENOMEM;
		r = section_read(s, SECTION_SPLIT, &bytes, NULL);
		if (r == 0 && n)
			r = column_decode_fixed(
				codec, slice_of(bytes, s->footer.sections[SECTION_SPLIT].bytes),
				sizeof(*ids), n, ids);
		if (r < 0)
			return r;
		pthread_mutex_lock(&s->lock);
		if (!s->split)
			s->split = TAKE_PTR(ids);
		*ret_ids = s->split;
		pthread_mutex_unlock(&s->lock);
	}
	*ret_n = n;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

int segment_is_split(struct segment *s, struct trace_id id)
{
	const struct trace_id *ids;
	size_t n;
	int r = segment_split(s, &ids, &n);

	return r < 0 ? r : n > 0 && bsearch(&id, ids, n, sizeof(*ids), by_bytes) != NULL;
}
