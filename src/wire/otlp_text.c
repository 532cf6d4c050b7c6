/* wire/otlp_text.c - a string of the input that was not found among the recent ones. */
#include "wire/otlp_text_int.h"

const uint8_t otlp_text_back[OTLP_PAIR_MAX] = {
	[0 ... 7] = 8,
	[8 ... 15] = 12,
	[16 ... OTLP_PAIR_MAX - 1] = 16,
};

uint32_t otlp_text_learn(struct batch *b, uint32_t *entry, const uint8_t *p, size_t n)
{
	size_t strings = b->strings;
	uint32_t code = batch_string_wide(b, slice_of(p, n));

	/* What is new may be new every time: it takes a free place, but drives nothing out. */
	if (code < strings || *entry == 0)
		*entry = code;
	return code;
}
