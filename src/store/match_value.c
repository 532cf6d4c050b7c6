/* store/match_value.c - one value a search looks for, compared with values of every type. */
#include "store/match_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/attr_text.h"

/* The most that two doubles with the same 15 digits lie apart. */
#define NEAR 0x1p-46

void match_value_init(struct match_value *v, struct slice text, uint32_t code)
{
	char copy[ATTR_TEXT_MAX], *end;

	*v = (struct match_value){.text = text, .code = code};
	v->boolean = slice_eq(text, SLICE("true"));
	v->is_bool = v->boolean || slice_eq(text, SLICE("false"));
	if (text.n == 0 || text.n >= sizeof(copy))
		return;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	if (strlen(copy) != text.n)
		return;
	errno = 0;
	v->integer = strtoll(copy, &end, 10);
	if (*end == '\0' && errno == 0) { /* only as attr_text() would write it */
		char again[ATTR_TEXT_MAX];

		snprintf(again, sizeof(again), "%" PRId64, v->integer);
		v->is_int = strcmp(again, copy) == 0;
	}
	v->number = strtod(copy, &end);
	v->is_double = end != copy && *end == '\0';
}

static bool equals_double(const struct match_value *v, uint64_t bits)
{
	double number;

	if (!v->is_double)
		return false;
	memcpy(&number, &bits, sizeof(number));
	/* Nearly all are ruled out by a subtraction; what is left is compared as text. */
	if (isfinite(number) && isfinite(v->number) &&
	    !(fabs(number - v->number) <= fabs(v->number) * NEAR))
		return false;
	return double_is(number, v->text);
}

bool match_value_bits(const struct match_value *v, enum value_type type, uint64_t bits)
{
	switch (type) {
	case VALUE_BOOL:
		return v->is_bool && (bool)(bits & 1) == v->boolean;
	case VALUE_INT:
		return v->is_int && (int64_t)bits == v->integer;
	case VALUE_DOUBLE:
		return equals_double(v, bits);
	default:
		return false;
	}
}

bool match_value_may_be(const struct match_value *v, enum value_type type)
{
	return (type == VALUE_BOOL && v->is_bool) || (type == VALUE_INT && v->is_int) ||
	       (type == VALUE_DOUBLE && v->is_double);
}

uint32_t match_value_find(const struct match_value *v, const struct group_column *c,
			  uint32_t *found)
{
	uint32_t n = 0;

	if (!c->values || !match_value_may_be(v, c->type))
		return 0;
	for (uint32_t i = 0; i < c->n; i++) {
		found[n] = i;
		n += match_value_bits(v, c->type, c->values[i]);
	}
	return n;
}
