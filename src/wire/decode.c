/* wire/decode.c - what every decoder has in common. */
#include "wire/decode.h"

#include <stdio.h>

void decode_reject(struct decode_tally *tally, const char *format, ...)
{
	va_list args;

	if (tally->rejected++ > 0)
		return;
	va_start(args, format);
	vsnprintf(tally->reason, sizeof(tally->reason), format, args);
	va_end(args);
}
