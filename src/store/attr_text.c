/* store/attr_text.c - a scalar value as the text a search compares it with. */
#include "store/attr_text.h"

#include <inttypes.h>
#include <stdio.h>

struct slice attr_text(const struct batch *b, const struct attr *a, char room[ATTR_TEXT_MAX])
{
	int n = 0;

	switch (a->type) {
	case VALUE_STRING:
		return batch_text(b, a->string);
	case VALUE_BOOL:
		return a->boolean ? SLICE("true") : SLICE("false");
	case VALUE_INT:
		n = snprintf(room, ATTR_TEXT_MAX, "%" PRId64, a->integer);
		break;
	case VALUE_DOUBLE:
		n = snprintf(room, ATTR_TEXT_MAX, "%.17g", a->number);
		break;
	default:
		break;
	}
	return slice_of(room, (size_t)n);
}

bool attr_is(const struct batch *b, const struct attr *a, struct slice text)
{
	char room[ATTR_TEXT_MAX];
	int n;

	if (a->type < VALUE_STRING || a->type > VALUE_DOUBLE)
		return false;
	if (slice_eq(attr_text(b, a, room), text))
		return true;
	if (a->type != VALUE_DOUBLE)
		return false;
	n = snprintf(room, sizeof(room), "%.15g", a->number);
	return slice_eq(slice_of(room, (size_t)n), text);
}

bool attr_has(const struct batch *b, const struct attr *a, struct slice text)
{
	if (a->type != VALUE_ARRAY)
		return attr_is(b, a, text);
	for (uint32_t i = 0; i < a->children.count; i++)
		if (attr_is(b, &b->nested[a->children.first + i], text))
			return true;
	return false;
}
