/* store/attr_text.h - a scalar value as the text a search compares it with. */
#ifndef CAUSET_STORE_ATTR_TEXT_H
#define CAUSET_STORE_ATTR_TEXT_H

#include "model/batch.h"

#define ATTR_TEXT_MAX 40

/* Strings as they are, true and false, numbers in decimal (doubles to 17 digits); empty for what
 * is no scalar.  Borrowed from the batch or written to `room`. */
struct slice attr_text(const struct batch *b, const struct attr *a, char room[ATTR_TEXT_MAX]);

/* Is this the value's text?  A double may also be given to 15 digits. */
bool attr_is(const struct batch *b, const struct attr *a, struct slice text);
bool double_is(double number, struct slice text);

/* The same, or one of a list's elements is it. */
bool attr_has(const struct batch *b, const struct attr *a, struct slice text);

#endif
