/* tests/unit/segment/test_group_blocks.c - directories of groups, and blocks by them, where files
 * are not what the writer makes today. */
#include "t.h"

#include <errno.h>

#include "core/varint.h"
#include "segment/group_int.h"

/* A group of these bytes: a directory, and blocks behind it. */
struct bare {
	struct segment segment;
	struct segment_tables tables;
	struct group_zone zone;
	struct zone_place place;
	struct segment_group g;
	char bytes[1000];
};

static void bare_make(struct bare *b, const uint8_t *directory, size_t n, const uint8_t *blocks,
		      size_t block_n)
{
	*b = (struct bare){.zone = {.rows = 9, .pieces = 9, .bytes = n + block_n},
			   .place = {.directory_bytes = (uint32_t)n,
				     .directory_checksum = segment_checksum(directory, n)}};
	assert_true(n + block_n <= sizeof(b->bytes));
	memcpy(b->bytes, directory, n);
	memcpy(b->bytes + n, blocks, block_n);
	b->g = (struct segment_group){.segment = &b->segment,
				      .tables = &b->tables,
				      .codec = column_codec_new(),
				      .zone = &b->zone,
				      .zone_place = &b->place,
				      .bytes = b->bytes,
				      .byte_n = n + block_n};
	assert_non_null(b->g.codec);
}

static void directories_of_an_unknown_kind_are_refused(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t n;
		int r;
	} rows[] = {
		{{0, 9, 4, 1, 2, 3, 4}, 7, 0},           /* a block, one checksum */
		{{1, 0, 9, 4, 1, 2, 3, 4}, 8, 0},        /* the same by chunk */
		{{2, 9, 4, 1, 2, 3, 4}, 7, -EBADMSG},    /* no group is without block 0 */
		{{2, 0, 9, 4, 1, 2, 3, 4}, 8, -EBADMSG}, /* of another kind */
		{{1, 0, 9, 4, 1, 2, 3}, 7, -EBADMSG},    /* half a checksum */
		{{1, 0, 0, 4, 1, 2, 3, 4}, 8, -EBADMSG}, /* no values */
		{{1, 0, 9, 5, 1, 2, 3, 4}, 8, -EBADMSG}, /* more than there is */
		{{1, 0, 9, 3, 1, 2, 3, 4}, 8, -EBADMSG}, /* less */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static struct bare b;

		bare_make(&b, rows[i].bytes, rows[i].n, (const uint8_t *)"blck", 4);
		assert_int_equal(group_parse_directory(&b.g), rows[i].r);
		column_codec_free(b.g.codec);
	}
}

/* Nine values of eight bytes, byte by byte, of which the last are all the same: 1 + 7 × (1 + 9) +
 * 2 bytes, as many as if they were raw. */
static void ids_by_bytes_are_not_taken_for_raw_ones_in_old_files(void **state)
{
	enum { VALUES = 9, WIDTH = 8 };
	static struct bare b;
	const struct column_range ranges[] = {{1, 2}, {8, 1}};
	uint8_t block[200] = {12}, directory[32] = {BLOCK_PIECE_ROWS, 1, 0};
	size_t n = 1, at = 3 + sizeof(uint32_t);
	uint32_t sum = (uint32_t)segment_checksum(block, 0);
	uint64_t out[3], values[VALUES] = {0};

	for (unsigned k = 0; k < WIDTH; k++) {
		block[n++] = k < WIDTH - 1 ? 0 : 2;
		for (unsigned i = 0; i < (k < WIDTH - 1 ? VALUES : 1U); i++)
			block[n++] = (uint8_t)(16 * k + i);
	}
	for (unsigned i = 0; i < VALUES; i++)
		for (unsigned k = 0; k < WIDTH; k++)
			values[i] |= (16ULL * k + (k < WIDTH - 1 ? i : 0)) << 8 * k;
	assert_int_equal(n, column_raw_bytes(VALUES, WIDTH));
	memcpy(directory + 3, &sum, sizeof(sum));
	directory[at++] = BLOCK_ID1;
	directory[at++] = VALUES;
	at += varint_encode(n, directory + at);
	sum = (uint32_t)segment_checksum(block, n);
	memcpy(directory + at, &sum, sizeof(sum));
	bare_make(&b, directory, at + sizeof(sum), block, n);
	assert_int_equal(group_parse_directory(&b.g), 0);
	assert_int_equal(group_fixed_ranges(&b.g, BLOCK_ID1, WIDTH, ranges, 2, out), 0);
	assert_int_equal(out[0], values[1]);
	assert_int_equal(out[1], values[2]);
	assert_int_equal(out[2], values[8]);
	column_codec_free(b.g.codec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_of_an_unknown_kind_are_refused),
		cmocka_unit_test(ids_by_bytes_are_not_taken_for_raw_ones_in_old_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
