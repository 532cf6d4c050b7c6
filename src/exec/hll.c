/* exec/hll.c - how many different ones there are: HyperLogLog. */
#include "exec/hll.h"

#include <math.h>

#include "base/cleanup.h"

#define RANKS (64 - HLL_BITS) /* a register holds 0 … RANKS + 1 */

static void register_add(uint8_t *registers, uint64_t hash)
{
	uint64_t rest = hash << HLL_BITS;
	uint8_t rank = (uint8_t)(rest ? __builtin_clzll(rest) + 1 : RANKS + 1);
	uint8_t *at = &registers[hash >> RANKS];

	if (rank > *at)
		*at = rank;
}

static bool to_registers(struct hll *h, struct arena *arena)
{
	uint8_t *registers = arena_zalloc(arena, HLL_REGISTERS, 1);

	if (!registers)
		return false;
	for (uint32_t i = 0; i < h->capacity; i++)
		if (h->hashes[i])
			register_add(registers, h->hashes[i]);
	h->registers = registers;
	return true;
}

/* Where it is, or would be. */
static uint64_t *place(uint64_t *hashes, uint32_t capacity, uint64_t hash)
{
	uint32_t at = (uint32_t)hash & (capacity - 1);

	while (hashes[at] && hashes[at] != hash)
		at = (at + 1) & (capacity - 1);
	return &hashes[at];
}

static bool grow(struct hll *h, struct arena *arena)
{
	uint32_t capacity = h->capacity ? h->capacity * 2 : 8;
	uint64_t *hashes = arena_zalloc(arena, capacity, sizeof(*hashes));

	if (!hashes)
		return false;
	for (uint32_t i = 0; i < h->capacity; i++)
		if (h->hashes[i])
			*place(hashes, capacity, h->hashes[i]) = h->hashes[i];
	h->hashes = hashes;
	h->capacity = capacity;
	return true;
}

bool hll_add(struct hll *h, struct arena *arena, uint64_t hash)
{
	uint64_t *at;

	hash += hash == 0;
	if (!h->registers) {
		if (h->n * 2 >= h->capacity && !grow(h, arena))
			return false;
		at = place(h->hashes, h->capacity, hash);
		if (*at == hash)
			return true;
		if (h->n < HLL_EXACT) {
			*at = hash;
			h->n++;
			return true;
		}
		if (!to_registers(h, arena))
			return false;
	}
	register_add(h->registers, hash);
	return true;
}

bool hll_merge(struct hll *to, struct arena *arena, const struct hll *from)
{
	if (!from->registers) {
		for (uint32_t i = 0; i < from->capacity; i++)
			if (from->hashes[i] && !hll_add(to, arena, from->hashes[i]))
				return false;
		return true;
	}
	if (!to->registers && !to_registers(to, arena))
		return false;
	for (uint32_t i = 0; i < HLL_REGISTERS; i++)
		to->registers[i] = MAX(to->registers[i], from->registers[i]);
	return true;
}

/* x + Σ x^(2^k) 2^(k-1): the share of registers that are 0. */
static double sigma(double x)
{
	double y = 1, z = x, before;

	if (x == 1)
		return INFINITY;
	do {
		x *= x;
		before = z;
		z += x * y;
		y += y;
	} while (z != before);
	return z;
}

/* (1 - x - Σ (1 - x^(2^-k))² 2^-k) / 3: of those that are full. */
static double tau(double x)
{
	double y = 1, z = 1 - x, before;

	if (x == 0 || x == 1)
		return 0;
	do {
		x = sqrt(x);
		before = z;
		y /= 2;
		z -= (1 - x) * (1 - x) * y;
	} while (z != before);
	return z / 3;
}

double hll_count(const struct hll *h)
{
	uint32_t of[RANKS + 2] = {0};
	const double m = HLL_REGISTERS;
	double z;

	if (!h->registers)
		return h->n;
	for (uint32_t i = 0; i < HLL_REGISTERS; i++)
		of[h->registers[i]]++;
	z = m * tau(1 - of[RANKS + 1] / m);
	for (int k = RANKS; k >= 1; k--)
		z = (z + of[k]) / 2;
	z += m * sigma(of[0] / m);
	return m * m / (2 * M_LN2 * z);
}
