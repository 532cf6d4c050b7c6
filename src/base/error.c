/* base/error.c - why something from outside was refused, for a person to read. */
#include "base/error.h"

#include <stdio.h>

static int fill(struct error *e, int code, size_t offset, const char *format, va_list args)
{
	if (e) {
		e->code = code;
		e->offset = offset;
		vsnprintf(e->text, sizeof(e->text), format, args);
	}
	return code;
}

int error_set(struct error *e, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(e, code, ERROR_NO_OFFSET, format, args);
	va_end(args);
	return code;
}

int error_at(struct error *e, int code, size_t offset, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fill(e, code, offset, format, args);
	va_end(args);
	return code;
}
