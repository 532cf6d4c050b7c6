/* infer/bins.h - delays in 340 bins, each a twentieth wider than the one before.
 *
 * Bin i holds base × 1.05^i up to base × 1.05^(i+1); the first also takes everything below, the
 * last everything above.  From 1 ms the bins reach 4 hours, from 1 µs 15 seconds. */
#ifndef CAUSET_INFER_BINS_H
#define CAUSET_INFER_BINS_H

#include <stdint.h>

#define BINS_N      340
#define BINS_GROWTH 1.05

struct bins {
	int64_t bound[BINS_N + 1]; /* lower ends; the last one is never reached */
	/* The bin of the smallest value with that highest bit and the four bits behind it. */
	uint16_t start[64][16];
};

/* base_ns > 0 */
void bins_init(struct bins *b, int64_t base_ns);

/* The base that suits delays of up to `longest_ns`: 1 µs, or 1 ms as published where that does
 * not reach. */
int64_t bins_base_for(int64_t longest_ns);

static inline unsigned bins_of(const struct bins *b, int64_t delay_ns)
{
	unsigned high, bin;

	if (delay_ns < b->bound[1])
		return 0;
	high = 63u - (unsigned)__builtin_clzll((uint64_t)delay_ns | 1);
	bin = b->start[high][high >= 4 ? delay_ns >> (high - 4) & 15 : delay_ns << (4 - high) & 15];
	while (bin < BINS_N - 1 && delay_ns >= b->bound[bin + 1])
		bin++;
	return bin;
}

/* A delay that stands for the bin: its middle. */
static inline double bins_middle(const struct bins *b, unsigned bin)
{
	return (double)b->bound[bin] * (1 + (BINS_GROWTH - 1) / 2);
}

#endif
