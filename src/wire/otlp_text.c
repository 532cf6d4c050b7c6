/* wire/otlp_text.c - a string of the input that was not found among the recent ones. */
#include "wire/otlp_text_int.h"

uint32_t otlp_text_learn(struct batch *b, struct otlp_recent *r, const uint8_t *p, size_t n)
{
	size_t strings = b->strings;
	uint32_t code = batch_string_wide(b, slice_of(p, n));

	/* What is new may be new every time, and would drive out what is not. */
	if (code < strings)
		*r = (struct otlp_recent){p, (uint32_t)n + 1, code};
	return code;
}
