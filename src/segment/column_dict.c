/* segment/column_dict.c - integers of which few are distinct: the distinct ones in order, and
 * codes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "segment/bitpack.h"
#include "segment/column_int.h"

#define MAX_DISTINCT 4096 /* above, a dictionary of one block does not pay */
#define TABLE_BITS   13

struct dict_slot {
	uint64_t value;
	uint32_t code; /* + 1; 0 means free */
	uint32_t count;
};

/* Twice as many slots as values that may be entered. */
struct dict_table {
	struct dict_slot *slots;
	unsigned bits;
};

static struct dict_slot *slot_of(struct dict_table t, uint64_t value)
{
	size_t at = (size_t)(value * 0x9e3779b97f4a7c15ULL >> (64 - t.bits));

	while (t.slots[at].code && t.slots[at].value != value)
		at = (at + 1) & (((size_t)1 << t.bits) - 1);
	return &t.slots[at];
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Codes by first appearance into `codes`, their values into `distinct`; 0 if there are too many. */
static size_t gather(struct dict_table table, const uint64_t *values, size_t n, uint64_t *distinct,
		     uint64_t *codes)
{
	size_t most = n / 2 < MAX_DISTINCT ? n / 2 : MAX_DISTINCT, used = 0;

	for (size_t i = 0; i < n; i++) {
		struct dict_slot *slot = slot_of(table, values[i]);

		if (slot->code == 0) {
			if (used == most)
				return 0;
			distinct[used++] = values[i];
			slot->value = values[i];
			slot->code = (uint32_t)used;
		}
		slot->count++;
		codes[i] = slot->code - 1;
	}
	return used;
}

/* Bits of the codes if each took what its frequency deserves. */
static double entropy(struct dict_table table, const uint64_t *distinct, size_t used, size_t n)
{
	double bits = 0;

	for (size_t k = 0; k < used; k++) {
		double count = slot_of(table, distinct[k])->count;

		bits += count * log2((double)n / count);
	}
	return bits;
}

/* Sorts the distinct values and turns codes by appearance into codes by order. */
static void arrange(struct dict_table table, uint64_t *distinct, size_t used, uint64_t *codes,
		    size_t n)
{
	uint32_t order[MAX_DISTINCT];

	qsort(distinct, used, sizeof(*distinct), by_value);
	for (size_t k = 0; k < used; k++)
		order[slot_of(table, distinct[k])->code - 1] = (uint32_t)k;
	for (size_t i = 0; i < n; i++)
		codes[i] = order[codes[i]];
}

int column_dict_try(struct column_codec *c, const uint64_t *values, size_t n, double most,
		    struct buffer *out)
{
	struct dict_table table = {.bits = 4};
	uint64_t *distinct = column_scratch(c, SLOT_PARTS, MAX_DISTINCT * sizeof(*distinct));
	uint64_t *codes = column_scratch(c, SLOT_CODES, n * sizeof(*codes));
	size_t table_size, used, place;
	double packed, flat;
	int r;

	while (table.bits < TABLE_BITS && (size_t)1 << table.bits < n)
		table.bits++;
	table_size = sizeof(*table.slots) << table.bits;
	table.slots = column_scratch(c, SLOT_TABLE, table_size);
	if (!table.slots || !distinct || !codes)
		return -ENOMEM;
	memset(table.slots, 0, table_size);
	used = gather(table, values, n, distinct, codes);
	if (used == 0)
		return 0;
	packed = entropy(table, distinct, used, n) * 1.03 + 400;
	flat = (double)n * bitpack_width(used - 1) + 80;
	/* The values as if delta-packed by half the width of their range: a guess, on the high
	 * side. */
	if ((packed < flat ? packed : flat) + (double)used * 32 + 100 >= most)
		return 0;
	arrange(table, distinct, used, codes, n);
	buffer_byte(out, COLUMN_DICT);
	column_write_varint(out, used);
	place = column_open_block(out);
	r = column_integers_encode(c, distinct, used, 0, DEPTH_PART, NULL, out);
	if (r < 0)
		return r;
	column_close_block(out, place);
	r = column_integers_encode(c, codes, n, COLUMN_CODES, DEPTH_PART, NULL, out);
	return r < 0 ? r : 1;
}

int column_dict_read(struct column_codec *c, struct column_reader *r, size_t n, uint64_t *out)
{
	struct column_reader block;
	uint64_t used, size, *distinct, most = 0;
	int e;

	if (!column_read_varint(r, &used) || used == 0 || used > n || used > MAX_DISTINCT ||
	    !column_read_varint(r, &size) || !column_read_block(r, size, &block))
		return -EBADMSG;
	distinct = column_scratch(c, SLOT_PARTS, used * sizeof(*distinct));
	if (!distinct)
		return -ENOMEM;
	e = column_integers_decode(c, block, used, 0, used, DEPTH_PART, NULL, distinct);
	if (e == 0)
		e = column_integers_decode(c, *r, n, 0, n, DEPTH_PART, NULL, out);
	if (e < 0)
		return e;
	for (size_t i = 0; i < n; i++)
		most = out[i] > most ? out[i] : most;
	if (most >= used)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		out[i] = distinct[out[i]];
	return 0;
}
