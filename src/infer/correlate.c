/* infer/correlate.c - cross-correlation of two signals of messages, and its spikes. */
#include "infer/correlate.h"

#include <errno.h>
#include <kiss_fftr.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define FFT_COST_PER_POINT 12.0 /* against one for a pair */

struct correlator {
	size_t size, lags; /* points of the transform */
	kiss_fftr_cfg forward, back;
	kiss_fft_scalar *time;
	kiss_fft_cpx *first, *second;
};

void signal_done(struct signal *s)
{
	free(s->quantum);
	free(s->height);
	*s = (struct signal){0};
}

int signal_add(struct signal *s, uint32_t quantum)
{
	size_t capacity = s->capacity;

	if (s->n > 0 && s->quantum[s->n - 1] == quantum) {
		s->height[s->n - 1] += 1;
		return 0;
	}
	if (!vec_reserve(&s->quantum, &capacity, s->n + 1, sizeof(*s->quantum)) ||
	    !vec_reserve(&s->height, &s->capacity, s->n + 1, sizeof(*s->height)))
		return -ENOMEM;
	s->quantum[s->n] = quantum;
	s->height[s->n++] = 1;
	return 0;
}

void signal_finish(struct signal *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->height[i] = sqrtf(s->height[i]);
}

void correlate_sparse(const struct signal *s1, const struct signal *s2, size_t lags, double *c)
{
	size_t from = 0;

	memset(c, 0, lags * sizeof(*c));
	for (size_t i = 0; i < s1->n; i++) {
		uint32_t at = s1->quantum[i];

		while (from < s2->n && s2->quantum[from] < at)
			from++;
		for (size_t k = from; k < s2->n && s2->quantum[k] - at < lags; k++)
			c[s2->quantum[k] - at] += (double)s1->height[i] * (double)s2->height[k];
	}
}

/* KissFFT is quick where the size has no factor above five. */
static size_t good_size(size_t least)
{
	size_t n = (size_t)kiss_fft_next_fast_size((int)((least + 1) / 2)) * 2;

	return n < 64 ? 64 : n;
}

int correlator_new(size_t quanta, size_t lags, struct correlator **ret)
{
	struct correlator *k;

	if (quanta + lags > CORRELATE_MAX_QUANTA)
		return -E2BIG;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	/* Zeros behind the signal, as many as there are lags: nothing wraps around into them. */
	k->size = good_size(quanta + lags);
	k->lags = lags;
	k->forward = kiss_fftr_alloc((int)k->size, 0, NULL, NULL);
	k->back = kiss_fftr_alloc((int)k->size, 1, NULL, NULL);
	k->time = malloc(k->size * sizeof(*k->time));
	k->first = malloc((k->size / 2 + 1) * sizeof(*k->first));
	k->second = malloc((k->size / 2 + 1) * sizeof(*k->second));
	if (!k->forward || !k->back || !k->time || !k->first || !k->second) {
		correlator_free(k);
		return -ENOMEM;
	}
	*ret = k;
	return 0;
}

struct correlator *correlator_free(struct correlator *k)
{
	if (k) {
		kiss_fftr_free(k->forward);
		kiss_fftr_free(k->back);
		free(k->time);
		free(k->first);
		free(k->second);
		free(k);
	}
	return NULL;
}

static void transform(struct correlator *k, const struct signal *s, kiss_fft_cpx *out)
{
	memset(k->time, 0, k->size * sizeof(*k->time));
	for (size_t i = 0; i < s->n; i++)
		if (s->quantum[i] < k->size)
			k->time[s->quantum[i]] = s->height[i];
	kiss_fftr(k->forward, k->time, out);
}

void correlate_fft(struct correlator *k, const struct signal *s1, const struct signal *s2,
		   double *c)
{
	transform(k, s1, k->first);
	transform(k, s2, k->second);
	/* Convolution with the time inverse: multiply by the conjugate. */
	for (size_t i = 0; i <= k->size / 2; i++) {
		kiss_fft_cpx a = k->first[i], b = k->second[i];

		k->first[i].r = b.r * a.r + b.i * a.i;
		k->first[i].i = b.i * a.r - b.r * a.i;
	}
	kiss_fftri(k->back, k->first, k->time);
	for (size_t d = 0; d < k->lags; d++)
		c[d] = (double)k->time[d] / (double)k->size;
}

bool correlate_prefers_fft(const struct signal *s1, const struct signal *s2, size_t quanta,
			   size_t lags)
{
	double size = (double)(quanta + lags);
	double pairs = (double)s1->n * (double)s2->n * fmin(1, (double)lags / (double)(quanta + 1));

	return size < CORRELATE_MAX_QUANTA && pairs > FFT_COST_PER_POINT * size * log2(size + 2);
}

size_t spikes_find(const double *c, size_t lags, double n_sigma, double s_sigma,
		   struct spike *spikes, size_t max)
{
	double sum = 0, sum2 = 0, mean, sd;
	size_t found = 0;

	for (size_t d = 0; d < lags; d++) {
		sum += c[d];
		sum2 += c[d] * c[d];
	}
	mean = sum / (double)lags;
	sd = sqrt(fmax(sum2 / (double)lags - mean * mean, 0));
	if (!(sd > 1e-9 * (mean + 1)))
		return 0; /* flat */
	for (size_t d = 0; d < lags; d++) {
		struct spike s = {.lag = (uint32_t)d, .first = (uint32_t)d};
		double weight = 0, moment = 0;

		if (c[d] < mean + s_sigma * sd)
			continue;
		for (; d < lags && c[d] >= mean + s_sigma * sd; d++) {
			if (c[d] > c[s.lag])
				s.lag = (uint32_t)d;
			weight += c[d] - mean;
			moment += (c[d] - mean) * (double)d;
		}
		s.last = (uint32_t)d - 1;
		s.height = (c[s.lag] - mean) / sd;
		s.centre = moment / weight;
		if (s.height < n_sigma)
			continue;
		if (found < max)
			spikes[found] = s;
		found++;
	}
	return found;
}
