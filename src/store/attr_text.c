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
		return a->word ? SLICE("true") : SLICE("false");
	case VALUE_INT:
		n = snprintf(room, ATTR_TEXT_MAX, "%" PRId64, attr_integer(b, a));
		break;
	case VALUE_DOUBLE:
		n = snprintf(room, ATTR_TEXT_MAX, "%.17g", attr_number(b, a));
		break;
	default:
		break;
	}
	return slice_of(room, (size_t)n);
}

bool double_is(double number, struct slice text)
{
	char room[ATTR_TEXT_MAX];
	int n = snprintf(room, sizeof(room), "%.17g", number);

	if (slice_eq(slice_of(room, (size_t)n), text))
		return true;
	n = snprintf(room, sizeof(room), "%.15g", number);
	return slice_eq(slice_of(room, (size_t)n), text);
}

bool attr_is(const struct batch *b, const struct attr *a, struct slice text)
{
	char room[ATTR_TEXT_MAX];

	if (a->type == VALUE_DOUBLE)
		return double_is(attr_number(b, a), text);
	return a->type >= VALUE_STRING && a->type < VALUE_DOUBLE &&
	       slice_eq(attr_text(b, a, room), text);
}

bool attr_has(const struct batch *b, const struct attr *a, struct slice text)
{
	struct value_range children = attr_children(b, a);

	if (a->type != VALUE_ARRAY)
		return attr_is(b, a, text);
	for (uint32_t i = 0; i < children.count; i++)
		if (attr_is(b, &b->nested[children.first + i], text))
			return true;
	return false;
}
