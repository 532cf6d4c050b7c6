/* segment/group.c - an open group: bytes, blocks and the columns that scans use. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/varint.h"
#include "segment/group_cache.h"
#include "segment/group_int.h"

#define TIME_BYTES 4 /* of a row */

static const char *const block_names[BLOCK_VALUES] = {"rows of pieces",
						      "starts of pieces",
						      "durations of pieces",
						      "shapes",
						      "durations",
						      "times",
						      "times of points",
						      "trace ids",
						      "ids",
						      "ids by distance",
						      "parents",
						      "other ids",
						      "units",
						      "sequence numbers",
						      "loose attributes",
						      "UUIDs"};

int group_bad(struct segment_group *g, const char *what)
{
	snprintf(g->error, sizeof(g->error), "%s: group %u: the %s are damaged", g->segment->name,
		 g->number, what);
	return -EBADMSG;
}

const char *group_error(const struct segment_group *g)
{
	return g->error;
}

/* --- opening --- */

static int read_range(struct segment_group *g, size_t from, size_t to)
{
	int r;

	r = fs_read_all(g->segment->fs, g->segment->fd, g->bytes + from, to - from,
			g->zone->offset + from);
	if (r < 0) {
		snprintf(g->error, sizeof(g->error), "%s: group %u cannot be read",
			 g->segment->name, g->number);
		return r == -ENODATA ? -EBADMSG : r;
	}
	return 0;
}

/* Everything up to here. */
static int read_to(struct segment_group *g, size_t n)
{
	int r = n <= g->byte_n ? 0 : read_range(g, g->byte_n, n);

	if (r == 0)
		g->byte_n = MAX(g->byte_n, n);
	return r;
}

int group_read_whole(struct segment_group *g)
{
	return read_to(g, g->zone->bytes);
}

static int add_column(struct segment_group *g, uint32_t column, struct block_place place)
{
	struct loaded_column *c;

	if (column >= g->tables->column_n || place.n == 0 ||
	    (g->column_n > 0 && g->columns[g->column_n - 1].column >= column))
		return group_bad(g, "directory");
	/* Columns of an earlier group keep their memory for this one. */
	if (g->column_n == g->column_used) {
		if (!vec_reserve(&g->columns, &g->column_capacity, g->column_n + 1,
				 sizeof(*g->columns)))
			return -ENOMEM;
		g->columns[g->column_used++] = (struct loaded_column){0};
	}
	c = &g->columns[g->column_n++];
	c->column = column;
	c->place = place;
	c->decoded = c->has_rows = c->counted = false;
	c->window = 0;
	return 0;
}

static int parse_directory(struct segment_group *g)
{
	const uint8_t *p = (const uint8_t *)g->bytes, *end = p + g->zone_place->directory_bytes;
	uint64_t id, n, bytes, at = 0, room = g->zone->bytes - g->zone_place->directory_bytes;

	if (!segment_checksum_ok(g->zone_place->directory_checksum,
				 segment_checksum(p, (size_t)(end - p))))
		return group_bad(g, "directory");
	memset(g->fixed, 0, sizeof(g->fixed));
	g->column_n = 0;
	while (p < end) {
		struct block_place place;
		int r = 0;

		if (!(p = varint_decode(p, end, &id)) || !(p = varint_decode(p, end, &n)) ||
		    !(p = varint_decode(p, end, &bytes)) || end - p < 4 || bytes > room - at ||
		    n > COLUMN_MAX_VALUES || n == 0)
			return group_bad(g, "directory");
		place = (struct block_place){
			.at = (uint32_t)at, .bytes = (uint32_t)bytes, .n = (uint32_t)n};
		memcpy(&place.checksum, p, 4);
		p += 4;
		at += bytes;
		if (id >= BLOCK_VALUES)
			r = id - BLOCK_VALUES > UINT32_MAX
				    ? group_bad(g, "directory")
				    : add_column(g, (uint32_t)(id - BLOCK_VALUES), place);
		else if (g->fixed[id].n)
			r = group_bad(g, "directory");
		else
			g->fixed[id] = place;
		if (r < 0)
			return r;
	}
	return at == room ? 0 : group_bad(g, "directory");
}

static int row_room(struct segment_group *g)
{
	size_t n = g->zone->rows;
	uint64_t *wide;
	uint32_t *narrow;

	if (n <= g->row_capacity)
		return 0;
	g->row_capacity = 0;
	free(g->durations);
	free(g->codes);
	free(g->pieces);
	/* One piece of memory for all arrays of one width. */
	wide = g->durations = malloc((10 * n + 10) * sizeof(*wide));
	narrow = g->codes = malloc((7 * n + 7) * sizeof(*narrow));
	g->pieces = malloc((n + 1) * sizeof(*g->pieces));
	if (!wide || !narrow || !g->pieces)
		return -ENOMEM;
	g->times = wide += n + 1;
	g->id1 = wide += n + 1;
	g->id2 = wide += n + 1;
	g->units = wide += n + 1;
	g->seqs = wide += n + 1;
	g->scratch = wide += n + 1; /* two a row */
	g->piece_start = (int64_t *)(wide += 2 * n + 2);
	g->piece_duration = (int64_t *)(wide += n + 1);
	g->shapes = narrow += n + 1;
	g->piece_first = narrow += n + 1;
	g->parents = (int32_t *)(narrow += n + 1);
	g->child = (int32_t *)(narrow += n + 1);
	g->counts = narrow += n + 1;
	g->forms = (uint16_t *)(narrow += n + 1);
	g->no_units = g->no_seqs = false;
	g->row_capacity = n;
	return 0;
}

/* Room for all of it: blocks that are read later must not move those that are there.  What the
 * memory held belongs to an earlier group. */
static int byte_room(struct segment_group *g)
{
	size_t n = g->zone->bytes + g->zone->bytes / 4;

	if (g->zone->bytes <= g->byte_capacity)
		return 0;
	free(g->bytes);
	g->byte_capacity = 0;
	g->bytes = malloc(n);
	if (!g->bytes)
		return -ENOMEM;
	g->byte_capacity = n;
	return 0;
}

/* Where the ids of traces end, at the most, if times take no more than they use to. */
static size_t ids_end(const struct segment_group *g)
{
	size_t n = g->zone_place->hot_bytes + g->zone->rows * TIME_BYTES +
		   g->zone->pieces * (sizeof(struct trace_id) + 1);

	return MIN(n, g->zone->bytes);
}

static int read_first(struct segment_group *g, enum group_reading reading)
{
	return read_to(g, reading == READ_IDS     ? ids_end(g)
			  : reading == READ_WHOLE ? g->zone->bytes
			  : reading == READ_HOT   ? g->zone_place->hot_bytes
						  : g->zone_place->directory_bytes);
}

int group_reopen_int(struct segment_group *g, uint32_t number, enum group_reading reading)
{
	int r;

	if (number >= g->tables->zone_n)
		return -EINVAL;
	g->number = number;
	g->zone = &g->tables->zones[number];
	g->zone_place = &g->tables->places[number];
	column_codec_models(g->codec, &g->tables->models, g->zone->shapes);
	g->byte_n = 0;
	g->have = 0;
	g->column_n = 0;
	g->windows = 0;
	g->code_parts = 0;
	g->error[0] = '\0';
	r = byte_room(g);
	if (r == 0)
		r = read_first(g, reading);
	if (r == 0)
		r = parse_directory(g);
	if (r == 0)
		r = row_room(g);
	if (r < 0)
		g->kept = false; /* half of it is there: nobody else may find it */
	return r;
}

/* A group out of the cache: this one, or another whose memory is used again. */
static int open_cached(struct segment *s, const struct segment_tables *tables, uint32_t number,
		       enum group_reading reading, struct segment_group *g)
{
	bool same = g->segment == s && g->number == number;

	g->segment = segment_ref(s);
	g->tables = tables;
	g->kept = false; /* until it is whole again */
	return same ? read_first(g, reading) : group_reopen_int(g, number, reading);
}

int group_open_int(struct segment *s, uint32_t number, enum group_reading reading,
		   struct segment_group **ret_group)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	const struct segment_tables *tables;
	struct error error;
	int r = segment_pin_error(s, &tables, &error);

	if (r < 0)
		return r;
	g = s->cache ? group_cache_take(s->cache, s, number) : NULL;
	if (g) {
		r = open_cached(s, tables, number, reading, g);
	} else {
		g = calloc(1, sizeof(*g));
		if (!g) {
			segment_unpin(s);
			return -ENOMEM;
		}
		g->segment = segment_ref(s);
		g->tables = tables;
		g->codec = column_codec_new();
		r = g->codec ? group_reopen_int(g, number, reading) : -ENOMEM;
	}
	if (r < 0)
		return r;
	*ret_group = TAKE_PTR(g);
	return 0;
}

/* To a group of any segment, with the memory of the one before. */
static int turn(struct segment_group *g, struct segment *s, uint32_t number,
		enum group_reading reading)
{
	const struct segment_tables *tables;
	int r;

	if (s == g->segment)
		return group_reopen_int(g, number, reading);
	r = segment_pin(s, &tables);
	if (r < 0)
		return r;
	segment_unpin(g->segment);
	segment_unref(g->segment);
	g->segment = segment_ref(s);
	g->tables = tables;
	return group_reopen_int(g, number, reading);
}

int group_turn(struct segment *s, uint32_t number, bool few, struct segment_group **group)
{
	enum group_reading reading = few ? READ_DIRECTORY : READ_HOT;

	return *group ? turn(*group, s, number, reading)
		      : group_open_int(s, number, reading, group);
}

int group_open(struct segment *s, uint32_t number, struct segment_group **ret_group)
{
	return group_open_int(s, number, READ_HOT, ret_group);
}

int group_reopen(struct segment_group *g, uint32_t number)
{
	return group_reopen_int(g, number, READ_HOT);
}

int group_open_few(struct segment *s, uint32_t number, struct segment_group **ret_group)
{
	int r = group_open_int(s, number, READ_DIRECTORY, ret_group);

	if (r == 0)
		group_keep(*ret_group);
	return r;
}

int group_reopen_few(struct segment_group *g, uint32_t number)
{
	return group_reopen_int(g, number, READ_DIRECTORY);
}

void group_keep(struct segment_group *g)
{
	g->kept = true;
}

struct segment_group *group_close(struct segment_group *g)
{
	struct segment *s = g ? g->segment : NULL;

	if (!g)
		return NULL;
	if (g->kept && s->cache && !g->error[0])
		group_cache_give(s->cache, g);
	else
		group_free(g);
	segment_unpin(s);
	segment_unref(s);
	return NULL;
}

static size_t list_bytes(const struct loose_list *l)
{
	return l->chunk_capacity * sizeof(*l->chunks) +
	       (l->column_capacity + l->before_capacity + l->list_capacity + l->list_code_capacity +
		l->row_list_capacity + l->code_capacity + l->place_capacity) *
		       sizeof(uint32_t);
}

size_t group_bytes(const struct segment_group *g)
{
	size_t n = sizeof(*g) + g->byte_capacity + column_codec_bytes(g->codec) +
		   g->row_capacity * (10 * sizeof(uint64_t) + 7 * sizeof(uint32_t)) +
		   g->zone->pieces * sizeof(*g->pieces) + /* the rest was never touched */
		   g->column_capacity * sizeof(*g->columns) +
		   (g->loose_capacity + g->found_capacity) * sizeof(uint32_t) +
		   g->uuid_capacity * UUID_BYTES +
		   (g->expected_capacity + g->var_capacity) * sizeof(uint64_t) +
		   list_bytes(&g->list);

	for (size_t i = 0; i < g->column_used; i++) {
		const struct loaded_column *c = &g->columns[i];

		n += c->number_capacity * sizeof(*c->numbers) + c->text.text.capacity +
		     (c->row_capacity + c->text.code_capacity + c->text.offset_capacity) *
			     sizeof(uint32_t);
	}
	return n;
}

struct segment_group *group_free(struct segment_group *g)
{
	for (size_t i = 0; i < g->column_used; i++) {
		free(g->columns[i].numbers);
		free(g->columns[i].rows);
		text_column_done(&g->columns[i].text);
	}
	free(g->columns);
	free(g->bytes);
	free(g->durations);
	free(g->codes);
	free(g->pieces);
	free(g->loose);
	free(g->found);
	loose_list_done(&g->list);
	free(g->uuids);
	free(g->expected);
	free(g->vars);
	column_codec_free(g->codec);
	free(g);
	return NULL;
}

struct segment *group_segment(const struct segment_group *g)
{
	return g->segment;
}

const struct segment_tables *group_tables(const struct segment_group *g)
{
	return g->tables;
}

const struct group_zone *group_zone(const struct segment_group *g)
{
	return g->zone;
}

/* --- blocks --- */

int group_block_at(struct segment_group *g, struct block_place *place, const char *what,
		   struct slice *ret_block)
{
	size_t from = (size_t)g->zone_place->directory_bytes + place->at;
	int r = 0;

	if (!place->verified) {
		if (from + place->bytes > g->byte_n)
			r = read_range(g, from, from + place->bytes);
		if (r < 0)
			return r;
		if (!segment_checksum_ok(place->checksum,
					 (uint32_t)segment_checksum(g->bytes + from, place->bytes)))
			return group_bad(g, what);
		place->verified = true;
	}
	*ret_block = slice_of(g->bytes + from, place->bytes);
	return 0;
}

int group_block(struct segment_group *g, enum group_block block, size_t n, struct slice *ret_block)
{
	if (g->fixed[block].n != n)
		return group_bad(g, block_names[block]);
	*ret_block = slice_of(NULL, 0);
	return n ? group_block_at(g, &g->fixed[block], block_names[block], ret_block) : 0;
}

/* What a decoder said, with the block's name where it is damage. */
int group_decoded(struct segment_group *g, enum group_block block, int r)
{
	return r == -EBADMSG ? group_bad(g, block_names[block]) : r;
}

int group_need_codes(struct segment_group *g)
{
	struct slice block;
	int r;

	if (g->have & HAVE_CODES)
		return 0;
	r = group_block(g, BLOCK_SHAPE, g->zone->rows, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_SHAPE,
				  column_decode_codes(g->codec, block, g->zone->rows,
						      g->zone->shape_n, g->codes));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < g->zone->shape_n; i++)
		g->forms[i] = g->tables->forms[g->zone->shapes[i]];
	memset(g->counts, 0, g->zone->shape_n * sizeof(*g->counts));
	for (uint32_t i = 0; i < g->zone->rows; i++)
		g->counts[g->codes[i]]++;
	g->have |= HAVE_CODES;
	return 0;
}

int group_need_codes_part(struct segment_group *g, uint32_t first, uint32_t end)
{
	struct slice block;
	int r = 0;

	for (uint32_t part = first / CODE_PART; part * CODE_PART < end && r == 0; part++) {
		uint32_t from = part * CODE_PART, n = MIN(CODE_PART, g->zone->rows - from);

		if (g->have & HAVE_CODES || g->code_parts >> part & 1)
			continue;
		/* Who needs one after the other is better off with all. */
		if (__builtin_popcountll(g->code_parts) == CODE_PARTS_MOST)
			return group_need_codes(g);
		r = group_block(g, BLOCK_SHAPE, g->zone->rows, &block);
		if (r == 0)
			r = group_decoded(g, BLOCK_SHAPE,
					  column_decode_codes_range(g->codec, block, g->zone->rows,
								    from, n, g->zone->shape_n,
								    g->codes + from));
		if (r == 0)
			g->code_parts |= 1ULL << part;
	}
	return r;
}

int group_row_shape(struct segment_group *g, uint32_t row, uint32_t *ret_shape)
{
	int r = row < g->zone->rows ? group_need_codes_part(g, row, row + 1) : -EINVAL;

	if (r == 0)
		*ret_shape = g->zone->shapes[g->codes[row]];
	return r;
}

int group_shape_indices(struct segment_group *g, const uint32_t **ret_indices)
{
	int r = group_need_codes(g);

	if (r == 0)
		*ret_indices = g->codes;
	return r;
}

int group_shapes(struct segment_group *g, const uint32_t **ret_codes)
{
	int r = group_need_codes(g);

	if (r < 0)
		return r;
	if (!(g->have & HAVE_SHAPES))
		for (uint32_t i = 0; i < g->zone->rows; i++)
			g->shapes[i] = g->zone->shapes[g->codes[i]];
	g->have |= HAVE_SHAPES;
	*ret_codes = g->shapes;
	return 0;
}

/* --- tables --- */

const struct shapes *tables_shapes(const struct segment_tables *t)
{
	return &t->shapes;
}

uint32_t tables_skeletons(const struct segment_tables *t)
{
	return t->skeleton_n;
}

uint32_t tables_skeleton(const struct segment_tables *t, uint32_t shape)
{
	return t->skeletons[shape];
}

uint32_t tables_strings(const struct segment_tables *t)
{
	return (uint32_t)t->batch->strings;
}

struct slice tables_text(const struct segment_tables *t, uint32_t code)
{
	return batch_text(t->batch, code);
}

bool tables_has_empty(const struct segment_tables *t, enum row_level level, uint32_t key)
{
	for (uint32_t i = 0; i < t->column_n; i++)
		if (t->columns[i].key == key && t->columns[i].type == VALUE_EMPTY &&
		    t->columns[i].level == level)
			return true;
	return false;
}

const struct batch *tables_batch(const struct segment_tables *t)
{
	return t->batch;
}

struct slice tables_service(const struct segment_tables *t, uint32_t resource)
{
	return batch_attr_text(t->batch, t->batch->resources[resource].attrs,
			       SLICE("service.name"));
}

const struct shape_brief *tables_briefs(const struct segment_tables *t)
{
	return t->briefs;
}

uint32_t tables_owner(const struct segment_tables *t, uint32_t resource)
{
	return t->sources[t->resource_source[resource]].owner;
}

uint32_t tables_sender(const struct segment_tables *t, uint32_t resource)
{
	return t->sources[t->resource_source[resource]].sender;
}

uint64_t tables_threshold(const struct segment_tables *t, uint32_t resource)
{
	return t->sources[t->resource_source[resource]].kept_threshold;
}

uint32_t tables_groups(const struct segment_tables *t)
{
	return t->zone_n;
}

const struct group_zone *tables_zone(const struct segment_tables *t, uint32_t group)
{
	return &t->zones[group];
}

/* --- pieces --- */

int group_need_piece_times(struct segment_group *g)
{
	uint32_t n = g->zone->pieces, row = 0;
	struct slice block;
	int r;

	if (g->have & HAVE_PIECE_TIMES)
		return 0;
	r = group_block(g, BLOCK_PIECE_ROWS, n, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_PIECE_ROWS,
				  column_decode_u64(g->codec, block, n, g->scratch));
	for (uint32_t i = 0; i < n && r == 0; i++) {
		g->piece_first[i] = row;
		if (g->scratch[i] == 0 || g->scratch[i] > g->zone->rows - row)
			return group_bad(g, block_names[BLOCK_PIECE_ROWS]);
		row += (uint32_t)g->scratch[i];
	}
	if (r == 0 && row != g->zone->rows)
		return group_bad(g, block_names[BLOCK_PIECE_ROWS]);
	g->piece_first[n] = row;
	if (r == 0)
		r = group_block(g, BLOCK_PIECE_START, n, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_PIECE_START,
				  column_decode_i64(g->codec, block, n, g->piece_start));
	for (uint32_t i = 1; i < n && r == 0; i++)
		g->piece_start[i] =
			(int64_t)((uint64_t)g->piece_start[i] + (uint64_t)g->piece_start[i - 1]);
	if (r == 0)
		r = group_block(g, BLOCK_PIECE_DURATION, n, &block);
	if (r == 0)
		r = group_decoded(
			g, BLOCK_PIECE_DURATION,
			column_decode_u64(g->codec, block, n, (uint64_t *)g->piece_duration));
	if (r == 0)
		g->have |= HAVE_PIECE_TIMES;
	return r;
}

int group_piece_times(struct segment_group *g, const int64_t **ret_start_ns,
		      const int64_t **ret_duration_ns, const uint32_t **ret_first, uint32_t *ret_n)
{
	int r = group_need_piece_times(g);

	if (r < 0)
		return r;
	*ret_start_ns = g->piece_start;
	*ret_duration_ns = g->piece_duration;
	*ret_first = g->piece_first;
	*ret_n = g->zone->pieces;
	return 0;
}

static int need_pieces(struct segment_group *g)
{
	uint32_t n = g->zone->pieces;
	struct trace_id *ids = (struct trace_id *)(void *)g->scratch;
	struct slice block;
	int r = group_need_piece_times(g);

	if (r < 0 || g->have & HAVE_PIECES)
		return r;
	r = group_block(g, BLOCK_PIECE_ID, n, &block);
	if (r == 0)
		r = group_decoded(g, BLOCK_PIECE_ID,
				  column_decode_fixed(g->codec, block, sizeof(*ids), n, ids));
	for (uint32_t i = 0; i < n && r == 0; i++) {
		struct group_piece *p = &g->pieces[i];

		*p = (struct group_piece){.id = ids[i],
					  .first = g->piece_first[i],
					  .rows = g->piece_first[i + 1] - g->piece_first[i],
					  .start_ns = g->piece_start[i],
					  .duration_ns = g->piece_duration[i]};
	}
	if (r == 0)
		g->have |= HAVE_PIECES;
	return r;
}

static int need_piece_errors(struct segment_group *g)
{
	int r = need_pieces(g);

	if (r < 0 || g->have & HAVE_PIECE_ERRORS)
		return r;
	r = g->zone->errors ? group_need_codes(g) : 0;
	for (uint32_t i = 0; i < g->zone->pieces && g->zone->errors && r == 0; i++) {
		struct group_piece *p = &g->pieces[i];

		for (uint32_t j = p->first; j < p->first + p->rows; j++)
			p->errors |= (group_form(g, j) & FORM_FAILED) != 0;
	}
	if (r == 0)
		g->have |= HAVE_PIECE_ERRORS;
	return r;
}

int group_find_piece(struct segment_group *g, struct trace_id id, uint32_t from,
		     uint32_t *ret_piece)
{
	const struct trace_id *ids = (const struct trace_id *)(void *)g->scratch;
	uint32_t n = g->zone->pieces;
	struct slice block;
	int r = group_need_piece_times(g);

	if (r == 0)
		r = group_block(g, BLOCK_PIECE_ID, n, &block);
	if (r == 0)
		r = group_decoded(
			g, BLOCK_PIECE_ID,
			column_decode_fixed(g->codec, block, sizeof(*ids), n, g->scratch));
	for (uint32_t i = from; i < n && r == 0; i++)
		if (trace_id_eq(ids[i], id)) {
			*ret_piece = i;
			return 1;
		}
	return r;
}

int group_pieces_bare(struct segment_group *g, const struct group_piece **ret_pieces,
		      uint32_t *ret_n)
{
	int r = need_pieces(g);

	if (r < 0)
		return r;
	*ret_pieces = g->pieces;
	*ret_n = g->zone->pieces;
	return 0;
}

int group_pieces(struct segment_group *g, const struct group_piece **ret_pieces, uint32_t *ret_n)
{
	int r = need_piece_errors(g);

	return r < 0 ? r : group_pieces_bare(g, ret_pieces, ret_n);
}
