/* exec/sketch.c - how numbers are spread: logarithmic buckets. */
#include "exec/sketch.h"

#include <math.h>

#include "base/cleanup.h"

#define MANTISSA_BITS  52
#define BINS_SPARE     16
#define BUCKET_SHIFT   (MANTISSA_BITS - 6)
#define BUCKET_LARGEST (0x7ff * SKETCH_PER - 1)

_Static_assert(SKETCH_PER == 1 << 6, "six bits of the mantissa");

void sketch_init(struct sketch *s)
{
	*s = (struct sketch){.min = INFINITY, .max = -INFINITY};
}

/* Bucket k > 0 of positive numbers holds those whose upper bits are k; -k is its mirror. */
static int32_t bucket_of(double number)
{
	uint64_t bits;
	int32_t k;

	memcpy(&bits, &number, sizeof(bits));
	k = (int32_t)((bits & INT64_MAX) >> BUCKET_SHIFT);
	k = MIN(k, BUCKET_LARGEST); /* infinity is there, too */
	return bits >> 63 ? -k : k;
}

static double bound_of(int32_t bucket)
{
	uint64_t bits = (uint64_t)bucket << BUCKET_SHIFT;
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* Makes room for the bucket, and for its neighbours: what comes next is near. */
static bool cover(struct sketch *s, struct arena *arena, int32_t bucket)
{
	int32_t first = s->n ? MIN(s->first, bucket) : bucket;
	int32_t end = s->n ? MAX(s->first + (int32_t)s->n, bucket + 1) : bucket + 1;
	uint32_t n = (uint32_t)(end - first), spare = n / 2 + BINS_SPARE;
	double *bins;

	if (s->n && first == s->first && n <= s->capacity) {
		s->n = n;
		return true;
	}
	if (s->n && first < s->first)
		first -= (int32_t)spare; /* it grows downwards */
	n = (uint32_t)(end - first);
	bins = arena_zalloc(arena, n + spare, sizeof(*bins));
	if (!bins)
		return false;
	if (s->n)
		memcpy(bins + (s->first - first), s->bins, s->n * sizeof(*bins));
	s->bins = bins;
	s->first = first;
	s->n = n;
	s->capacity = n + spare;
	return true;
}

static double *bin_get(struct sketch *s, struct arena *arena, int32_t bucket)
{
	if ((uint32_t)(bucket - s->first) >= s->n && !cover(s, arena, bucket))
		return NULL;
	return &s->bins[bucket - s->first];
}

bool sketch_add(struct sketch *s, struct arena *arena, double number, double weight)
{
	int32_t bucket;
	double *bin;

	if (isnan(number))
		return true;
	bucket = bucket_of(number);
	if (bucket > -SKETCH_PER && bucket < SKETCH_PER) {
		s->zero += weight;
	} else {
		bin = bin_get(s, arena, bucket);
		if (!bin)
			return false;
		*bin += weight;
	}
	s->weight += weight;
	if (number < s->min)
		s->min = number;
	if (number > s->max)
		s->max = number;
	return true;
}

bool sketch_add_places(struct sketch *s, struct arena *arena, const uint16_t *places, size_t n,
		       int64_t low, int64_t high)
{
	size_t none = 0, zeros = 0;
	ptrdiff_t one;

	for (size_t i = 0; i < n; i++) {
		none += places[i] == SKETCH_PLACE_NONE;
		zeros += places[i] == 0;
	}
	if (none == n)
		return true;
	s->zero += (double)zeros;
	s->weight += (double)(n - none);
	s->min = MIN(s->min, (double)low);
	s->max = MAX(s->max, (double)high);
	if (high == 0)
		return true;
	/* From 1 on where there are smaller ones: it is as good as the smallest. */
	if (!bin_get(s, arena, bucket_of((double)high)) ||
	    !bin_get(s, arena, bucket_of((double)MAX(low, 1))))
		return false;
	one = (ptrdiff_t)SKETCH_PLACE_ONE - 1 - s->first;
	for (size_t i = 0; i < n; i++)
		if ((uint16_t)(places[i] - 1) < SKETCH_PLACE_NONE - 1)
			s->bins[one + places[i]] += 1;
	return true;
}

bool sketch_add_counts(struct sketch *s, struct arena *arena, uint32_t first,
		       const uint32_t *counts, size_t n, int64_t low, int64_t high)
{
	uint64_t all = 0;
	double *bins;

	s->min = MIN(s->min, (double)low);
	s->max = MAX(s->max, (double)high);
	if (n > 0 && first == 0) {
		s->zero += counts[0];
		s->weight += counts[0];
		first++;
		counts++;
		n--;
	}
	if (high == 0 || n == 0)
		return true;
	if (!bin_get(s, arena, SKETCH_PLACE_ONE + (int32_t)(first + n) - 2) ||
	    !bin_get(s, arena, SKETCH_PLACE_ONE + (int32_t)first - 1))
		return false;
	bins = s->bins + (SKETCH_PLACE_ONE + (int32_t)first - 1 - s->first);
	for (size_t i = 0; i < n; i++) {
		bins[i] += counts[i];
		all += counts[i];
	}
	s->weight += (double)all;
	return true;
}

bool sketch_add_whole(struct sketch *s, struct arena *arena, const int64_t *numbers, size_t n)
{
	uint16_t places[256];
	bool ok = true;

	for (size_t at = 0, k; ok && at < n; at += k) {
		int64_t low = INT64_MAX, high = 0;

		k = MIN(n - at, ARRAY_SIZE(places));
		for (size_t i = 0; i < k; i++) {
			int64_t number = numbers[at + i];

			places[i] = sketch_place(number);
			high = MAX(high, number);
			low = number >= 0 ? MIN(low, number) : low;
		}
		ok = sketch_add_places(s, arena, places, k, low, high);
	}
	return ok;
}

bool sketch_merge(struct sketch *to, struct arena *arena, const struct sketch *from)
{
	for (uint32_t i = 0; i < from->n; i++) {
		double *bin;

		if (from->bins[i] == 0)
			continue;
		bin = bin_get(to, arena, from->first + (int32_t)i);
		if (!bin)
			return false;
		*bin += from->bins[i];
	}
	to->zero += from->zero;
	to->weight += from->weight;
	to->min = MIN(to->min, from->min);
	to->max = MAX(to->max, from->max);
	return true;
}

static void bounds(int32_t bucket, double *low, double *high)
{
	if (bucket > 0) {
		*low = bound_of(bucket);
		*high = bound_of(bucket + 1);
	} else {
		*low = -bound_of(-bucket + 1);
		*high = -bound_of(-bucket);
	}
}

void sketch_each(const struct sketch *s,
		 void (*each)(void *context, double low, double high, double weight), void *context)
{
	bool zero = s->zero == 0;

	for (uint32_t i = 0; i < s->n; i++) {
		int32_t bucket = s->first + (int32_t)i;
		double low, high;

		if (s->bins[i] == 0)
			continue;
		if (bucket > 0 && !zero) {
			each(context, 0, 0, s->zero);
			zero = true;
		}
		bounds(bucket, &low, &high);
		each(context, low, high, s->bins[i]);
	}
	if (!zero)
		each(context, 0, 0, s->zero);
}

struct seeking {
	double rank, seen, found;
	bool done;
};

static void seek(void *context, double low, double high, double weight)
{
	struct seeking *k = context;

	if (k->done)
		return;
	k->seen += weight;
	k->found = isinf(high) ? low : isinf(low) ? high : low + (high - low) / 2;
	k->done = k->seen > k->rank;
}

double sketch_quantile(const struct sketch *s, double q)
{
	struct seeking k = {.rank = q * s->weight, .found = NAN};

	if (!(s->weight > 0))
		return NAN;
	if (q <= 0 || q >= 1)
		return q <= 0 ? s->min : s->max;
	sketch_each(s, seek, &k);
	return MAX(s->min, MIN(s->max, k.found));
}
