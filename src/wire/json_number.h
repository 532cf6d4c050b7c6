/* wire/json_number.h - text to numbers and back, whatever the locale.
 *
 * The text is JSON's form: an optional minus, digits, perhaps a fraction, perhaps an exponent. */
#ifndef CAUSET_WIRE_JSON_NUMBER_H
#define CAUSET_WIRE_JSON_NUMBER_H

#include "core/slice.h"

#define NUMBER_TEXT_MAX 32 /* bytes that number_format_double() may need */

/* Exact.  "1e3" and "2.0" are integers.  -EINVAL when it is no integer, -ERANGE when it does not
 * fit. */
int number_parse_i64(struct slice text, int64_t *ret_value);
int number_parse_u64(struct slice text, uint64_t *ret_value);

/* Correctly rounded (ties to even); too large becomes an infinity.  Also the names "NaN",
 * "Infinity", "-Infinity".  -EINVAL when it is no number. */
int number_parse_double(struct slice text, double *ret_value);

/* The shortest of 15, 16 or 17 digits that reads back as the same finite double; returns its
 * length.  No NUL. */
size_t number_format_double(double value, char out[NUMBER_TEXT_MAX]);

#endif
