/* segment/group_blocks.c - the bytes of an open group: its directory, and blocks that are read and
 * verified when they are asked for, whole or the chunks in which a part of them lies. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/varint.h"
#include "segment/group_int.h"

#define CHUNK_ALL  UINT32_MAX /* no block is cut */
#define CHUNK_BITS 64         /* chunks of a block that are remembered one by one */

static const char *const block_names[BLOCKS] = {"rows of pieces",
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
						"UUIDs",
						"marks"};

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

/* --- reading --- */

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

int group_read_to(struct segment_group *g, size_t n)
{
	int r = n <= g->byte_n ? 0 : read_range(g, g->byte_n, n);

	if (r == 0)
		g->byte_n = MAX(g->byte_n, n);
	return r;
}

int group_read_whole(struct segment_group *g)
{
	return group_read_to(g, g->zone->bytes);
}

/* --- the directory --- */

/* Checksums of a block. */
static size_t chunks_of(const struct segment_group *g, size_t bytes)
{
	return g->chunk == CHUNK_ALL ? 1 : block_chunks(bytes);
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

static int add_block(struct segment_group *g, uint64_t id, struct block_place place)
{
	if (id == BLOCK_MARKS_ID)
		id = BLOCK_MARKS;
	else if (id > UINT32_MAX)
		return group_bad(g, "directory");
	else if (id >= BLOCK_VALUES)
		return add_column(g, (uint32_t)id - BLOCK_VALUES, place);
	if (g->fixed[id].n)
		return group_bad(g, "directory");
	g->fixed[id] = place;
	return 0;
}

int group_parse_directory(struct segment_group *g)
{
	const uint8_t *p = (const uint8_t *)g->bytes, *end = p + g->zone_place->directory_bytes;
	uint64_t id, n, bytes, at = 0, room = g->zone->bytes - g->zone_place->directory_bytes;

	if (!segment_checksum_ok(g->zone_place->directory_checksum,
				 segment_checksum(p, (size_t)(end - p))))
		return group_bad(g, "directory");
	memset(g->fixed, 0, sizeof(g->fixed));
	g->column_n = 0;
	g->chunk = CHUNK_ALL;
	if (p < end && *p == DIRECTORY_BY_CHUNK) {
		g->chunk = BLOCK_CHUNK;
		p++;
	} else if (p < end && *p != BLOCK_PIECE_ROWS) {
		return group_bad(g, "directory"); /* of a kind that is not known */
	}
	while (p < end) {
		struct block_place place;
		int r;

		if (!(p = varint_decode(p, end, &id)) || !(p = varint_decode(p, end, &n)) ||
		    !(p = varint_decode(p, end, &bytes)) || bytes > room - at ||
		    (size_t)(end - p) < chunks_of(g, bytes) * sizeof(uint32_t) ||
		    n > COLUMN_MAX_VALUES || n == 0)
			return group_bad(g, "directory");
		place = (struct block_place){.at = (uint32_t)at,
					     .bytes = (uint32_t)bytes,
					     .n = (uint32_t)n,
					     .sums = (uint32_t)(p - (const uint8_t *)g->bytes)};
		p += chunks_of(g, bytes) * sizeof(uint32_t);
		at += bytes;
		r = add_block(g, id, place);
		if (r < 0)
			return r;
	}
	return at == room ? 0 : group_bad(g, "directory");
}

/* --- blocks --- */

/* Chunks first … end - 1, of which none was verified. */
static int read_chunks(struct segment_group *g, const struct block_place *place, size_t first,
		       size_t end, const char *what)
{
	size_t from = (size_t)g->zone_place->directory_bytes + place->at;
	size_t last = MIN(end * g->chunk, place->bytes);
	int r = 0;

	if (from + last > g->byte_n)
		r = read_range(g, from + first * g->chunk, from + last);
	for (size_t i = first; i < end && r == 0; i++) {
		size_t at = i * g->chunk, n = MIN(g->chunk, place->bytes - at);
		uint32_t sum;

		memcpy(&sum, g->bytes + place->sums + i * sizeof(sum), sizeof(sum));
		if (!segment_checksum_ok(sum, (uint32_t)segment_checksum(g->bytes + from + at, n)))
			r = group_bad(g, what);
	}
	return r;
}

/* Chunks first … end - 1 that are not there yet, neighbours in one read. */
static int need_chunks(struct segment_group *g, struct block_place *place, size_t first, size_t end,
		       const char *what)
{
	int r = 0;

	while (first < end && r == 0) {
		size_t to = first;

		while (to < end && !(place->chunks >> to & 1))
			to++;
		if (to > first)
			r = read_chunks(g, place, first, to, what);
		for (; first < to && r == 0; first++)
			place->chunks |= 1ULL << first;
		while (first < end && place->chunks >> first & 1)
			first++;
	}
	return r;
}

int group_block_at(struct segment_group *g, struct block_place *place, const char *what,
		   struct slice *ret_block)
{
	size_t n = chunks_of(g, place->bytes);
	int r = 0;

	if (!place->verified)
		r = n > CHUNK_BITS ? read_chunks(g, place, 0, n, what)
				   : need_chunks(g, place, 0, n, what);
	if (r < 0)
		return r;
	place->verified = true;
	*ret_block = slice_of(g->bytes + g->zone_place->directory_bytes + place->at, place->bytes);
	return 0;
}

int group_block_part(struct segment_group *g, enum group_block block, size_t from, size_t to,
		     struct slice *ret_block)
{
	struct block_place *place = &g->fixed[block];
	int r = 0;

	if (chunks_of(g, place->bytes) > CHUNK_BITS)
		return group_block_at(g, place, block_names[block], ret_block);
	to = MIN(to, place->bytes);
	if (from < to && !place->verified)
		r = need_chunks(g, place, from / g->chunk, chunks_of(g, to), block_names[block]);
	if (r == 0)
		*ret_block = slice_of(g->bytes + g->zone_place->directory_bytes + place->at,
				      place->bytes);
	return r;
}

int group_block_ranges(struct segment_group *g, enum group_block block,
		       const struct column_range *ranges, size_t n, struct slice *ret_block)
{
	size_t values = g->fixed[block].n, bytes = g->fixed[block].bytes;
	struct column_need need;
	int r = group_block_part(g, block, 0, BLOCK_CHUNK, ret_block);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct slice head = slice_of(ret_block->p, MIN(bytes, BLOCK_CHUNK));

		if (ranges[i].count == 0)
			continue;
		if (!column_part_bytes(head, values, ranges[i], &need))
			return group_block(g, block, values, ret_block);
		r = group_block_part(g, block, need.from, need.to, ret_block);
	}
	return r;
}

int group_fixed_ranges(struct segment_group *g, enum group_block block, size_t width,
		       const struct column_range *ranges, size_t n, void *out)
{
	size_t values = g->fixed[block].n;
	struct slice bytes;
	char *to = out;
	int r = 0;

	/* Files of one checksum a block may have others of this size. */
	if (g->fixed[block].bytes != column_raw_bytes(values, width) || g->chunk == CHUNK_ALL) {
		r = group_block(g, block, values, &bytes);
		return r < 0 ? r
			     : group_decoded(g, block,
					     column_decode_fixed_ranges(g->codec, bytes, width,
									values, ranges, n, out));
	}
	for (size_t i = 0; i < n && r == 0; i++) {
		size_t from = column_raw_bytes(ranges[i].first, width),
		       size = ranges[i].count * width;

		if (ranges[i].first > values || ranges[i].count > values - ranges[i].first)
			return -EINVAL;
		r = group_block_part(g, block, from, from + size, &bytes);
		if (r == 0 && size > 0)
			memcpy(to, bytes.p + from, size);
		to += size;
	}
	return r;
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
