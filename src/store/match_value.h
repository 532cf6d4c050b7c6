/* store/match_value.h - one value a search looks for, compared with values of every type.
 *
 * A search gives text; an attribute may be a number.  The text is understood once, so that a column
 * of numbers is compared as numbers.  Equal is what attr_is() (store/attr_text.h) says. */
#ifndef CAUSET_STORE_MATCH_VALUE_H
#define CAUSET_STORE_MATCH_VALUE_H

#include "segment/group.h"

struct match_value {
	struct slice text;
	uint32_t code; /* of the text in the segment's dictionary; UINT32_MAX: it is not there */
	bool is_bool, is_int, is_double;
	bool boolean;
	int64_t integer;
	double number;
};

/* Borrows the text. */
void match_value_init(struct match_value *v, struct slice text, uint32_t code);

/* Does a value other than a string, given as attr.bits, equal it? */
bool match_value_bits(const struct match_value *v, enum value_type type, uint64_t bits);

/* Can a number or boolean of this type equal it? */
bool match_value_may_be(const struct match_value *v, enum value_type type);

/* The values of a column of numbers or booleans that equal it: their places, ascending, in `found`,
 * which has room for all. */
uint32_t match_value_find(const struct match_value *v, const struct group_column *column,
			  uint32_t *found);

#endif
