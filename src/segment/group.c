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

/* --- opening --- */

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
	return group_read_to(g, reading == READ_IDS     ? ids_end(g)
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
	g->counted_row = UINT32_MAX;
	g->code_parts = 0;
	g->error[0] = '\0';
	r = byte_room(g);
	if (r == 0)
		r = read_first(g, reading);
	if (r == 0)
		r = group_parse_directory(g);
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
		group_marks_init(g);
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
		l->row_list_capacity + l->listed_capacity + l->list_count_capacity +
		l->code_capacity + l->place_capacity) *
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
		   (g->expected_capacity + g->var_capacity + g->raw.capacity) * sizeof(uint64_t) +
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
	free(g->raw.values);
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

/* --- shapes --- */

void group_need_forms(struct segment_group *g)
{
	if (g->have & HAVE_FORMS)
		return;
	for (uint32_t i = 0; i < g->zone->shape_n; i++)
		g->forms[i] = g->tables->forms[g->zone->shapes[i]];
	g->have |= HAVE_FORMS;
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
	group_need_forms(g);
	memset(g->counts, 0, g->zone->shape_n * sizeof(*g->counts));
	for (uint32_t i = 0; i < g->zone->rows; i++)
		g->counts[g->codes[i]]++;
	g->have |= HAVE_CODES;
	return 0;
}

/* Rows from … end - 1, which begin a part; the block's other values are not read. */
static int decode_codes_part(struct segment_group *g, uint32_t from, uint32_t end)
{
	struct column_range part = {from, end - from};
	struct slice block;
	int r;

	if (g->fixed[BLOCK_SHAPE].n != g->zone->rows)
		return group_decoded(g, BLOCK_SHAPE, -EBADMSG);
	r = group_block_ranges(g, BLOCK_SHAPE, &part, 1, &block);
	/* What cannot be decoded in parts is decoded once. */
	if (r == 0 && !column_gives_parts(block))
		return group_need_codes(g);
	return r < 0 ? r
		     : group_decoded(g, BLOCK_SHAPE,
				     column_decode_codes_range(g->codec, block, g->zone->rows, from,
							       part.count, g->zone->shape_n,
							       g->codes + from));
}

int group_need_codes_part(struct segment_group *g, uint32_t first, uint32_t end)
{
	uint32_t part = first / CODE_PART, parts = (end + CODE_PART - 1) / CODE_PART;
	int r = 0;

	group_need_forms(g);
	while (part < parts && r == 0 && !(g->have & HAVE_CODES)) {
		uint32_t to = part;

		while (to < parts && !(g->code_parts >> to & 1))
			to++;
		/* Who needs one after the other is better off with all. */
		if (__builtin_popcountll(g->code_parts) + (int)(to - part) > CODE_PARTS_MOST)
			return group_need_codes(g);
		if (to > part)
			r = decode_codes_part(g, part * CODE_PART,
					      MIN(to * CODE_PART, g->zone->rows));
		for (; part < to && r == 0; part++)
			g->code_parts |= 1ULL << part;
		while (part < parts && g->code_parts >> part & 1)
			part++;
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

int group_few_indices(struct segment_group *g, const uint32_t *rows, uint32_t n,
		      const uint32_t **ret_indices)
{
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = rows[i] < g->zone->rows ? group_need_codes_part(g, rows[i], rows[i] + 1)
					    : -EINVAL;
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

uint32_t tables_types(const struct segment_tables *t, enum row_level level, uint32_t key,
		      uint32_t *ret_spelled)
{
	uint32_t types = 0;

	*ret_spelled = 0;
	for (uint32_t i = 0; i < t->column_n; i++) {
		const struct column_key *c = &t->columns[i];

		if (c->key != key || c->level != level)
			continue;
		types |= 1u << c->type;
		*ret_spelled |= (uint32_t)!c->by_code << c->type;
	}
	return types;
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
