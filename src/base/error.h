/* base/error.h - why something from outside was refused, for a person to read.
 *
 * Functions return 0 or a negative errno.  Where the input came from a person or another program
 * they also take a `struct error *` and fill it on failure: what is wrong and at which byte.
 * Libraries never log; the edge shows the text once. */
#ifndef CAUSET_BASE_ERROR_H
#define CAUSET_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#define ERROR_NO_OFFSET ((size_t)-1)

struct error {
	int code;       /* negative errno, as returned */
	size_t offset;  /* byte in the input, or ERROR_NO_OFFSET */
	char text[240]; /* one sentence without a full stop; cut if longer */
};

/* Fills *e (which may be NULL) and returns `code`, so that one can `return error_set(...)`. */
int error_set(struct error *e, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, at a byte of the input. */
int error_at(struct error *e, int code, size_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
