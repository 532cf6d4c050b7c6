/* base/buffer.c - bytes that grow at the end. */
#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>

#define BUFFER_FIRST 256

void buffer_done(struct buffer *b)
{
	free(b->p);
	*b = (struct buffer){0};
}

char *buffer_reserve(struct buffer *b, size_t more)
{
	size_t need, capacity;
	char *p;

	if (b->failed)
		return NULL;
	if (b->capacity - b->n >= more && b->p)
		return b->p + b->n;
	if (__builtin_add_overflow(b->n, more, &need)) {
		b->failed = true;
		return NULL;
	}
	capacity = b->capacity ? b->capacity : BUFFER_FIRST;
	while (capacity < need)
		if (__builtin_mul_overflow(capacity, 2, &capacity))
			capacity = need;
	p = realloc(b->p, capacity);
	if (!p) {
		b->failed = true;
		return NULL;
	}
	b->p = p;
	b->capacity = capacity;
	return p + b->n;
}

void buffer_append(struct buffer *b, const void *bytes, size_t n)
{
	char *to;

	if (n == 0)
		return;
	to = buffer_reserve(b, n);
	if (!to)
		return;
	memcpy(to, bytes, n);
	b->n += n;
}

void buffer_text(struct buffer *b, const char *text)
{
	buffer_append(b, text, strlen(text));
}

void buffer_vprintf(struct buffer *b, const char *format, va_list args)
{
	char small[256], *to;
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(small, sizeof(small), format, args);
	if (n < 0) {
		b->failed = true;
	} else if ((size_t)n < sizeof(small)) {
		buffer_append(b, small, (size_t)n);
	} else {
		to = buffer_reserve(b, (size_t)n + 1);
		if (to) {
			vsnprintf(to, (size_t)n + 1, format, again);
			b->n += (size_t)n;
		}
	}
	va_end(again);
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buffer_vprintf(b, format, args);
	va_end(args);
}

const char *buffer_cstr(struct buffer *b)
{
	char *end = buffer_reserve(b, 1);

	if (!end)
		return "";
	*end = '\0';
	return b->p;
}
