/* exec/sketch.c - how numbers are spread: logarithmic buckets. */
#include "exec/sketch.h"

#include <math.h>

#include "base/cleanup.h"

#define MANTISSA_BITS  52
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

/* Numbers of buckets may be negative: division rounds down. */
static int32_t page_of(int32_t bucket)
{
	return bucket >> 4;
}

_Static_assert(SKETCH_PAGE == 1 << 4, "page_of");

/* Makes the directory cover the page. */
static bool cover(struct sketch *s, struct arena *arena, int32_t page)
{
	int32_t first = s->page_n ? MIN(s->first, page) : page;
	int32_t end = s->page_n ? MAX(s->first + (int32_t)s->page_n, page + 1) : page + 1;
	uint32_t n = (uint32_t)(end - first), at = s->page_n ? (uint32_t)(s->first - first) : 0;

	if (n > s->capacity || at > 0) {
		uint32_t capacity = n > s->capacity ? n + n / 2 + 4 : s->capacity;
		double **pages = arena_zalloc(arena, capacity, sizeof(*pages));

		if (!pages)
			return false;
		if (s->page_n)
			memcpy(pages + at, s->pages, s->page_n * sizeof(*pages));
		s->pages = pages;
		s->capacity = capacity;
	}
	s->first = first;
	s->page_n = n;
	return true;
}

static double *page_get(struct sketch *s, struct arena *arena, int32_t page)
{
	double **at;

	if ((uint32_t)(page - s->first) >= s->page_n && !cover(s, arena, page))
		return NULL;
	at = &s->pages[page - s->first];
	if (!*at)
		*at = arena_zalloc(arena, SKETCH_PAGE, sizeof(double));
	return *at;
}

bool sketch_add(struct sketch *s, struct arena *arena, double number, double weight)
{
	int32_t bucket;
	double *page;

	if (isnan(number))
		return true;
	bucket = bucket_of(number);
	if (bucket > -SKETCH_PER && bucket < SKETCH_PER) {
		s->zero += weight;
	} else {
		page = page_get(s, arena, page_of(bucket));
		if (!page)
			return false;
		page[bucket & (SKETCH_PAGE - 1)] += weight;
	}
	s->weight += weight;
	if (number < s->min)
		s->min = number;
	if (number > s->max)
		s->max = number;
	return true;
}

bool sketch_merge(struct sketch *to, struct arena *arena, const struct sketch *from)
{
	for (uint32_t i = 0; i < from->page_n; i++) {
		double *page;

		if (!from->pages[i])
			continue;
		page = page_get(to, arena, from->first + (int32_t)i);
		if (!page)
			return false;
		for (uint32_t k = 0; k < SKETCH_PAGE; k++)
			page[k] += from->pages[i][k];
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

	for (uint32_t i = 0; i < s->page_n; i++) {
		for (uint32_t k = 0; s->pages[i] && k < SKETCH_PAGE; k++) {
			int32_t bucket = (s->first + (int32_t)i) * SKETCH_PAGE + (int32_t)k;
			double low, high;

			if (s->pages[i][k] == 0)
				continue;
			if (bucket > 0 && !zero) {
				each(context, 0, 0, s->zero);
				zero = true;
			}
			bounds(bucket, &low, &high);
			each(context, low, high, s->pages[i][k]);
		}
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
