/* base/buffer.h - bytes that grow at the end.
 *
 * Errors are sticky: after a failed allocation every append does nothing and `failed` stays set, so
 * a writer checks once, at its end.  One thread. */
#ifndef CAUSET_BASE_BUFFER_H
#define CAUSET_BASE_BUFFER_H

#include <stdarg.h>

#include "core/slice.h"

struct buffer {
	char *p;
	size_t n, capacity;
	bool failed;
};

/* Frees the bytes and makes the buffer empty and usable again. */
void buffer_done(struct buffer *b);

/* Empties it, keeps the memory, forgets a failure. */
static inline void buffer_clear(struct buffer *b)
{
	b->n = 0;
	b->failed = false;
}

/* Room for `more` bytes behind n, or NULL (then `failed` is set).  The caller adds to n. */
char *buffer_reserve(struct buffer *b, size_t more);

void buffer_append(struct buffer *b, const void *bytes, size_t n);

static inline void buffer_slice(struct buffer *b, struct slice s)
{
	buffer_append(b, s.p, s.n);
}

static inline void buffer_byte(struct buffer *b, char c)
{
	if (b->n < b->capacity)
		b->p[b->n++] = c;
	else
		buffer_append(b, &c, 1);
}

void buffer_text(struct buffer *b, const char *text);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *b, const char *format, va_list args);

/* Puts a NUL behind the content (not counted in n) and returns it; "" after a failure. */
const char *buffer_cstr(struct buffer *b);

static inline struct slice buffer_get(const struct buffer *b)
{
	return slice_of(b->p, b->n);
}

#endif
