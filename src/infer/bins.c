/* infer/bins.c - delays in 340 bins: the table of their bounds, and where to start looking. */
#include "infer/bins.h"

#include <math.h>

#include "core/clock.h"

void bins_init(struct bins *b, int64_t base_ns)
{
	for (int i = 0; i < BINS_N; i++) {
		double bound = (double)base_ns * pow(BINS_GROWTH, i);

		b->bound[i] = bound < 9e18 ? (int64_t)bound : INT64_MAX - 1;
	}
	b->bound[BINS_N] = INT64_MAX;
	for (unsigned high = 0; high < 64; high++)
		for (unsigned low = 0; low < 16; low++) {
			/* Bit 63 is the sign; those cells are never asked for. */
			uint64_t least = high >= 4 ? (1ULL << high) + ((uint64_t)low << (high - 4))
						   : (1ULL << high) + (low >> (4 - high));
			unsigned bin = 0;

			while (bin < BINS_N - 1 &&
			       (int64_t)(least & INT64_MAX) >= b->bound[bin + 1])
				bin++;
			b->start[high][low] = (uint16_t)bin;
		}
}

int64_t bins_base_for(int64_t longest_ns)
{
	return (double)longest_ns < (double)NS_PER_US * pow(BINS_GROWTH, BINS_N - 1) ? NS_PER_US
										     : NS_PER_MS;
}
