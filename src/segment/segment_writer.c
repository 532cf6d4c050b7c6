/* segment/segment_writer.c - pieces of traces become a segment file.
 *
 * Pieces are cut into groups; a group is written as soon as it is full, so memory holds one group,
 * the tables, and 16 bytes a trace. */
#include "segment/segment_writer_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/event_unique.h"

#define GROUP_WEIGHT_MOST ((size_t)64 << 20) /* of text in a group, unless one row has more */
#define UNIQUE_SMALL      32
#define UNIQUE_BITS       1024
/* A table of totals may take a byte for so many rows, or so much in any case: so the smallest
 * segments that compaction leaves alone have one, with two hundred operations of random times. */
#define TOTALS_ROWS_PER_BYTE 4
#define TOTALS_BYTES_ALWAYS  4096

void segment_name(uint64_t number, char out[SEGMENT_NAME_MAX])
{
	snprintf(out, SEGMENT_NAME_MAX, "seg-%016" PRIx64 ".cst", number);
}

uint64_t segment_id_hash(struct trace_id id)
{
	return XXH3_64bits(id.b, sizeof(id.b));
}

static int writer_start(struct segment_writer *w, const char *dir)
{
	static const char header[SEGMENT_HEADER_BYTES] = SEGMENT_MAGIC "\1";
	char name[SEGMENT_NAME_MAX];
	int r;

	segment_name(w->footer.number, name);
	w->path = fs_path(dir, name);
	if (!w->path || asprintf(&w->path_tmp, "%s.tmp", w->path) < 0) {
		w->path_tmp = NULL;
		return -ENOMEM;
	}
	r = fs_open(w->fs, w->path_tmp, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (r < 0)
		return r;
	w->fd = r;
	w->at = sizeof(header);
	return fs_write_all(w->fs, w->fd, header, sizeof(header), 0);
}

int segment_writer_new(struct fs *fs, const char *dir, uint64_t number,
		       const struct segment_options *options, struct segment_writer **ret_writer)
{
	struct segment_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->fs = fs;
	w->fd = -1;
	w->footer.number = number;
	w->footer.received_min_ns = INT64_MAX;
	w->values = options->values ? options->values : COLUMN_MAX_VALUES;
	r = group_writer_init(&w->group, options);
	if (r == 0)
		r = writer_start(w, dir);
	if (r < 0) {
		segment_writer_abort(w);
		return r;
	}
	*ret_writer = w;
	return 0;
}

static void writer_free(struct segment_writer *w)
{
	group_writer_done(&w->group);
	fs_close(w->fs, w->fd);
	free(w->path);
	free(w->path_tmp);
	free(w->items);
	free(w->split);
	free(w->unique);
	free(w->ids);
	free(w);
}

struct segment_writer *segment_writer_abort(struct segment_writer *w)
{
	if (!w)
		return NULL;
	if (w->fd >= 0)
		fs_unlink(w->fs, w->path_tmp);
	writer_free(w);
	return NULL;
}

/* --- groups --- */

static void footer_add(struct segment_footer *f, const struct zone_row *z)
{
	f->rows += z->rows;
	f->blocks += z->blocks;
	f->errors += z->errors;
	f->duration_max_ns = MAX(f->duration_max_ns, z->duration_max_ns);
	f->start_max_ns = MAX(f->start_max_ns, z->start_max_ns);
}

static void footer_start(struct segment_footer *f, int64_t start)
{
	if (start > 0 && (f->start_min_ns == 0 || start < f->start_min_ns))
		f->start_min_ns = start;
}

/* The last piece has all its rows, at least in this group. */
static int end_piece(struct segment_writer *w)
{
	struct group_writer *g = &w->group;
	int r = group_writer_piece(g);

	footer_start(&w->footer, g->pieces[g->piece_n - 1].start_ns);
	return r;
}

static int close_group(struct segment_writer *w)
{
	struct group_writer *g = &w->group;
	struct iovec parts[2];
	struct zone_row *z;
	bool continues;
	int r;

	if (g->row_n == 0)
		return 0;
	if (g->zone_n >= SEGMENT_MOST_GROUPS)
		return -E2BIG;
	continues = g->pieces[0].continues;
	r = end_piece(w);
	if (r == 0)
		r = group_writer_close(g);
	if (r < 0)
		return r;
	z = &g->zones[g->zone_n - 1];
	z->offset = w->at;
	z->continues = continues;
	if (continues)
		z[-1].continued = true;
	footer_add(&w->footer, z);
	parts[0] = (struct iovec){g->directory.p, g->directory.n};
	parts[1] = (struct iovec){g->blocks_out.p, g->blocks_out.n};
	w->at += g->directory.n + g->blocks_out.n;
	return fs_write_parts(w->fs, w->fd, parts, 2, z->offset);
}

/* Ids with the same segment_id_hash() can be chosen, such with this one as well cannot. */
static uint32_t secret_hash(const struct segment_writer *w, struct trace_id id)
{
	return (uint32_t)wide_hash_bytes((const char *)id.b, sizeof(id.b), w->group.shapes.seed);
}

static int begin_piece(struct segment_writer *w, struct trace_id id, bool continues)
{
	struct group_writer *g = &w->group;

	if (g->piece_n > 0) {
		int r = end_piece(w);

		if (r < 0)
			return r;
	}
	g->pieces[g->piece_n++] =
		(struct piece_row){.id = id, .first = g->row_n, .continues = continues};
	if (continues)
		return 0;
	if (!vec_reserve(&w->items, &w->item_capacity, w->item_n + 1, sizeof(*w->items)))
		return -ENOMEM;
	w->items[w->item_n++] =
		(struct radix_item){segment_id_hash(id), (uint32_t)g->zone_n, secret_hash(w, id)};
	return 0;
}

static bool group_is_full(const struct group_writer *g)
{
	return g->row_n >= group_room(g) || (g->row_n > 0 && g->weight > GROUP_WEIGHT_MOST);
}

static int add_rows(struct segment_writer *w, const struct event_ref *refs, size_t n,
		    bool continues)
{
	struct group_writer *g = &w->group;
	size_t i = 0;
	int r = 0;

	if (g->row_n > 0 && !continues && g->row_n + n > group_room(g))
		r = close_group(w);
	if (r == 0 && (!continues || g->piece_n == 0))
		r = begin_piece(w, event_get(refs[0])->trace_id, continues);
	if (r == 0)
		r = group_writer_rows(g, refs, n, GROUP_WEIGHT_MOST, &i);
	if (r == 0)
		g->pieces[g->piece_n - 1].rows += (uint32_t)i;
	for (; i < n && r == 0; i++) {
		if (group_is_full(g)) {
			r = close_group(w);
			if (r == 0)
				r = begin_piece(w, event_get(refs[0])->trace_id, true);
		}
		if (r == 0)
			r = group_writer_row(g, refs[i]);
		if (r == 0)
			g->pieces[g->piece_n - 1].rows++;
	}
	return r;
}

/* --- the same row twice --- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool has_before(const uint64_t *ids, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (ids[i] == ids[j])
			return true;
	return false;
}

/* Few ids are as a rule told apart by some of their bits. */
static bool has_twice(uint64_t *ids, size_t n)
{
	uint64_t seen[UNIQUE_BITS / 64] = {0};

	if (n > UNIQUE_SMALL) {
		qsort(ids, n, sizeof(*ids), by_number);
		for (size_t i = 1; i < n; i++)
			if (ids[i] == ids[i - 1])
				return true;
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t *word = &seen[ids[i] / 64 % (UNIQUE_BITS / 64)], bit = 1ULL << ids[i] % 64;

		if (*word & bit && has_before(ids, i))
			return true;
		*word |= bit;
	}
	return false;
}

/* Notes when rows were received.  Might some have come twice, in different batches?  Spans have ids
 * of their own; of other rows it is not known. */
static bool look_at(struct segment_writer *w, const struct event_ref *refs, size_t n)
{
	const struct batch *batch = NULL;
	bool one = true, spans = true;
	uint64_t *ids = w->ids, id = 0;

	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);

		if (refs[i].batch != batch) {
			one = i == 0;
			batch = refs[i].batch;
			w->footer.received_min_ns =
				MIN(w->footer.received_min_ns, batch->received_ns);
			w->footer.received_max_ns =
				MAX(w->footer.received_max_ns, batch->received_ns);
		}
		if (e->type == EVENT_SPAN)
			*ids++ = e->id1;
		else if (i == 0 || (e->type != EVENT_POINT && e->type != EVENT_LINK) ||
			 id != e->id1)
			spans = false;
		id = e->id1;
	}
	return !one && (!spans || has_twice(w->ids, (size_t)(ids - w->ids)));
}

static int add_unique(struct segment_writer *w, const struct event_ref *refs, size_t n,
		      bool continues)
{
	int r;

	if (!vec_reserve(&w->ids, &w->id_capacity, n, sizeof(*w->ids)))
		return -ENOMEM;
	if (!look_at(w, refs, n))
		return add_rows(w, refs, n, continues);
	if (!vec_reserve(&w->unique, &w->unique_capacity, n, sizeof(*w->unique)))
		return -ENOMEM;
	memcpy(w->unique, refs, n * sizeof(*refs));
	r = events_unique(w->unique, &n);
	return r < 0 ? r : add_rows(w, w->unique, n, continues);
}

int segment_writer_add(struct segment_writer *w, const struct event_ref *refs, size_t n)
{
	struct trace_id id;
	bool continues;

	if (w->failed || n == 0)
		return w->failed;
	id = event_get(refs[0])->trace_id;
	continues = w->any && trace_id_eq(w->last, id);
	w->last = id;
	w->any = true;
	return w->failed = add_unique(w, refs, n, continues);
}

/* --- the end --- */

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

static int take_split(struct segment_writer *w, const struct segment_seal *seal)
{
	size_t n = seal ? seal->split_n : 0;

	w->split = malloc((n + 1) * sizeof(*w->split));
	if (!w->split)
		return -ENOMEM;
	if (n == 0)
		return 0;
	memcpy(w->split, seal->split, n * sizeof(*w->split));
	qsort(w->split, n, sizeof(*w->split), by_bytes);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || !trace_id_eq(w->split[i], w->split[w->split_n - 1]))
			w->split[w->split_n++] = w->split[i];
	return 0;
}

static void fill_footer(struct segment_writer *w, const struct segment_seal *seal)
{
	struct segment_footer *f = &w->footer;
	const struct batch *b = w->group.dictionary.tables;
	const struct shape_table *t = &w->group.shapes;

	f->pieces = w->item_n;
	f->split = w->split_n;
	if (f->rows == 0)
		f->received_min_ns = 0;
	if (seal) {
		f->seq_first = seal->seq_first;
		f->seq_last = seal->seq_last;
		if (seal->received_min_ns || seal->received_max_ns) {
			f->received_min_ns = seal->received_min_ns;
			f->received_max_ns = seal->received_max_ns;
		}
	}
	f->groups = (uint32_t)w->group.zone_n;
	f->strings = (uint32_t)b->strings;
	f->sources = (uint32_t)w->group.dictionary.source_n;
	f->resources = (uint32_t)b->resource_n;
	f->scopes = (uint32_t)b->scope_n;
	f->attrs = (uint32_t)b->attr_n;
	f->nested = (uint32_t)b->nested_n;
	f->columns = (uint32_t)t->column_n;
	f->shapes = (uint32_t)t->shape_n;
	f->values = (uint32_t)t->value_n;
	memcpy(f->magic, SEGMENT_MAGIC, SEGMENT_MAGIC_N);
	f->version = SEGMENT_VERSION;
}

/* What a reader would refuse to load must not be written. */
static int check_limits(const struct segment_writer *w)
{
	const struct segment_footer *f = &w->footer;
	const struct shape_table *t = &w->group.shapes;
	uint32_t counts[] = {f->strings, f->sources, f->resources, f->scopes, f->attrs,
			     f->nested,  f->columns, f->skeletons, f->fields, f->shapes};
	uint64_t entries = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i] > w->values)
			return -E2BIG;
	for (int i = 0; i < SECTIONS; i++)
		if (f->sections[i].bytes > SEGMENT_MOST_SECTION)
			return -E2BIG;
	for (size_t i = 0; i < t->shape_n; i++)
		entries += t->skeletons[t->shapes[i].skeleton].field_n;
	return entries > w->values || w->group.zone_shape_n > w->values ? -E2BIG : 0;
}

/* Small, or left out: what it answers can be answered from the rows. */
static int put_totals(struct segment_writer *w, struct buffer *out)
{
	size_t from = out->n, most = (size_t)MAX(w->footer.rows / TOTALS_ROWS_PER_BYTE,
						 (uint64_t)TOTALS_BYTES_ALWAYS);
	uint64_t checksum;
	int r = totals_encode(&w->group.totals, w->group.codec, most, out);

	if (r < 0 || out->n == from)
		return r;
	checksum = segment_checksum(out->p + from, out->n - from);
	buffer_append(out, &checksum, sizeof(checksum));
	w->footer.totals_bytes = (uint32_t)(out->n - from);
	return out->failed ? -ENOMEM : 0;
}

static int write_end(struct segment_writer *w, const struct segment_seal *seal)
{
	struct buffer out = {0};
	int r = take_split(w, seal);

	if (r == 0)
		r = dictionary_failed(&w->group.dictionary);
	if (r == 0) {
		fill_footer(w, seal);
		r = segment_tables_put(w, &out);
	}
	if (r == 0)
		r = put_totals(w, &out);
	if (r == 0)
		r = check_limits(w);
	/* The index has sorted them. */
	for (size_t i = 1; i < w->item_n && r == 0; i++)
		if (w->items[i].key == w->items[i - 1].key &&
		    w->items[i].more == w->items[i - 1].more)
			r = -EINVAL;
	if (r == 0) {
		w->footer.checksum =
			segment_checksum(&w->footer, offsetof(struct segment_footer, checksum));
		buffer_append(&out, &w->footer, sizeof(w->footer));
		r = out.failed ? -ENOMEM : fs_write_all(w->fs, w->fd, out.p, out.n, w->at);
		w->at += out.n;
	}
	buffer_done(&out);
	return r;
}

void segment_info_fill(const struct segment_footer *f, uint64_t bytes, struct segment_info *info)
{
	*info = (struct segment_info){
		.number = f->number,
		.version = f->version,
		.bytes = bytes,
		.rows = f->rows,
		.blocks = f->blocks,
		.errors = f->errors,
		.pieces = f->pieces,
		.split = f->split,
		.groups = f->groups,
		.shapes = f->shapes,
		.strings = f->strings,
		.resources = f->resources,
		.scopes = f->scopes,
		.start_min_ns = f->start_min_ns,
		.start_max_ns = f->start_max_ns,
		.duration_max_ns = f->duration_max_ns,
		.received_min_ns = f->received_min_ns,
		.received_max_ns = f->received_max_ns,
		.seq_first = f->seq_first,
		.seq_last = f->seq_last,
	};
}

int segment_writer_finish(struct segment_writer *w, const struct segment_seal *seal,
			  struct segment_info *ret_info)
{
	struct segment_info info;
	int r = w->failed;

	if (r == 0)
		r = close_group(w);
	if (r == 0)
		r = write_end(w, seal);
	if (r == 0)
		r = fs_sync(w->fs, w->fd);
	if (r == 0)
		r = fs_rename(w->fs, w->path_tmp, w->path);
	if (r < 0) {
		segment_writer_abort(w);
		return r;
	}
	segment_info_fill(&w->footer, w->at, &info);
	writer_free(w);
	if (ret_info)
		*ret_info = info;
	return 0;
}
