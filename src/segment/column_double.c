/* segment/column_double.c - doubles, every bit kept.
 *
 * Most doubles that people measure are decimals of few digits (0.25, 12.5, 3.0): where all of a
 * block are, they are stored as integers and a power of ten, by which they are divided again.
 * Division is correctly rounded, so what came out equal once comes out equal always.  Others go as
 * their bits. */
#include <errno.h>
#include <math.h>

#include "segment/column_int.h"

#define MAX_DIGITS 9
#define LARGEST    9007199254740992.0 /* 2^53: integers up to here are exact */
#define LOOK       16

static const double powers[MAX_DIGITS + 1] = {1, 10, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

static bool is_decimal(double value, unsigned digits, int64_t *ret_scaled)
{
	double scaled = nearbyint(value * powers[digits]), back;

	if (!(fabs(scaled) <= LARGEST))
		return false;
	back = scaled / powers[digits];
	*ret_scaled = (int64_t)scaled;
	/* Bits, so that -0 and NaN are told from 0. */
	return memcmp(&back, &value, sizeof(back)) == 0 &&
	       memcmp(&(double){(double)*ret_scaled}, &scaled, sizeof(scaled)) == 0;
}

/* Digits that are enough for all values; MAX_DIGITS + 1 if none are. */
static unsigned digits_of(const double *values, size_t n, int64_t *scaled)
{
	unsigned digits = 0;

	for (size_t i = 0; i < n && digits <= MAX_DIGITS; i++)
		while (digits <= MAX_DIGITS && !is_decimal(values[i], digits, &scaled[i]))
			digits++;
	for (size_t i = 0; i < n && digits <= MAX_DIGITS; i++)
		if (!is_decimal(values[i], digits, &scaled[i]))
			return MAX_DIGITS + 1;
	return digits;
}

int column_encode_f64(struct column_codec *c, const double *values, size_t n, struct buffer *out)
{
	int64_t *scaled;
	unsigned digits;

	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	if (n == 0)
		return 0;
	scaled = column_scratch(c, SLOT_FLOAT, n * sizeof(*scaled));
	if (!scaled)
		return -ENOMEM;
	digits = digits_of(values, n < LOOK ? n : LOOK, scaled);
	if (digits <= MAX_DIGITS)
		digits = digits_of(values, n, scaled);
	if (digits <= MAX_DIGITS) {
		buffer_byte(out, COLUMN_DECIMAL);
		buffer_byte(out, (char)digits);
		return column_integers_encode(c, (const uint64_t *)scaled, n, COLUMN_SIGNED,
					      DEPTH_SCALED, NULL, out);
	}
	memcpy(scaled, values, n * sizeof(*scaled));
	buffer_byte(out, COLUMN_DOUBLE);
	return column_integers_encode(c, (const uint64_t *)scaled, n, COLUMN_BITS64, DEPTH_SCALED,
				      NULL, out);
}

int column_decode_f64_range(struct column_codec *c, struct slice block, size_t n, size_t first,
			    size_t count, double *out)
{
	struct column_reader r = column_reader_of(block);
	uint8_t form, digits = 0;
	int64_t *scaled;
	int e;

	if (n > COLUMN_MAX_VALUES || first > n || count > n - first)
		return -EINVAL;
	if (count == 0)
		return 0;
	if (!column_read_byte(&r, &form) || (form != COLUMN_DECIMAL && form != COLUMN_DOUBLE))
		return -EBADMSG;
	if (form == COLUMN_DECIMAL && (!column_read_byte(&r, &digits) || digits > MAX_DIGITS))
		return -EBADMSG;
	scaled = column_scratch(c, SLOT_FLOAT, count * sizeof(*scaled));
	if (!scaled)
		return -ENOMEM;
	e = column_integers_decode(c, r, n, first, count, DEPTH_SCALED, NULL, (uint64_t *)scaled);
	if (e < 0)
		return e;
	if (form == COLUMN_DOUBLE) {
		memcpy(out, scaled, count * sizeof(*out));
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		out[i] = (double)scaled[i] / powers[digits];
	return 0;
}

int column_decode_f64(struct column_codec *c, struct slice block, size_t n, double *out)
{
	return column_decode_f64_range(c, block, n, 0, n, out);
}
