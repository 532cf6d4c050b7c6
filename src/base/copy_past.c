/* base/copy_past.c - copying past the caches. */
#include "base/copy_past.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

#define LINE      ((size_t)64)
#define PAST_FROM 2048 /* bytes: less is over before it matters */

/* Whole lines, or the processor has to read what it does not write. */
static void copy_lines(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i += LINE) {
		const __m128i *in = (const __m128i *)(from + i);
		__m128i *out = (__m128i *)(to + i);
		__m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1),
			c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

		_mm_stream_si128(out, a);
		_mm_stream_si128(out + 1, b);
		_mm_stream_si128(out + 2, c);
		_mm_stream_si128(out + 3, d);
	}
	_mm_sfence();
}

void copy_past(void *to, const void *from, size_t n)
{
	char *out = to;
	const char *in = from;
	size_t before = -(uintptr_t)out & (LINE - 1), lines;

	if (n < PAST_FROM) {
		if (n)
			memcpy(out, in, n);
		return;
	}
	lines = (n - before) & ~(LINE - 1);
	memcpy(out, in, before);
	copy_lines(out + before, in + before, lines);
	memcpy(out + before + lines, in + before + lines, n - before - lines);
}
#else
void copy_past(void *to, const void *from, size_t n)
{
	if (n)
		memcpy(to, from, n);
}
#endif
