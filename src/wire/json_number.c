/* wire/json_number.c - text to numbers and back, whatever the locale.
 *
 * Doubles: up to 15 digits and powers of ten up to 22 are exact in a double, so one multiplication
 * or division rounds correctly (Clinger's fast path).  The rest goes through strtod() as digits and
 * an exponent, never with a point, which is the one character a locale could change. */
#include "wire/json_number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS_EXACT 15 /* below 2^53 */
#define DIGITS_U64   19 /* fit into 64 bits */
#define DIGITS_DECIDE                                                                              \
	780 /* a tie between doubles has at most 768 digits: of those behind, only                 \
	       "all zero or not" matters */
#define EXPONENT_CUTOFF 5000 /* far beyond what digits can make up for */

/* A number taken apart: ± whole.fraction × 10^exponent. */
struct decimal {
	bool negative;
	struct slice whole, fraction; /* digits before and behind the point */
	int64_t exponent;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct slice take_digits(struct slice *s)
{
	struct slice d = {s->p, 0};

	while (d.n < s->n && is_digit(s->p[d.n]))
		d.n++;
	*s = slice_from(*s, d.n);
	return d;
}

static bool take(struct slice *s, char c)
{
	if (s->n == 0 || *s->p != c)
		return false;
	*s = slice_from(*s, 1);
	return true;
}

static int take_apart(struct slice s, struct decimal *ret)
{
	struct decimal d = {.negative = take(&s, '-')};

	d.whole = take_digits(&s);
	if (d.whole.n == 0)
		return -EINVAL;
	if (take(&s, '.')) {
		d.fraction = take_digits(&s);
		if (d.fraction.n == 0)
			return -EINVAL;
	}
	if (take(&s, 'e') || take(&s, 'E')) {
		bool negative = take(&s, '-');
		struct slice e;

		if (!negative)
			take(&s, '+');
		e = take_digits(&s);
		if (e.n == 0)
			return -EINVAL;
		for (size_t i = 0; i < e.n; i++) {
			d.exponent = d.exponent * 10 + (e.p[i] - '0');
			if (d.exponent > INT32_MAX)
				d.exponent = INT32_MAX;
		}
		if (negative)
			d.exponent = -d.exponent;
	}
	if (s.n != 0)
		return -EINVAL;
	*ret = d;
	return 0;
}

/* Digit i of whole and fraction together. */
static unsigned digit_at(const struct decimal *d, size_t i)
{
	char c = i < d->whole.n ? d->whole.p[i] : d->fraction.p[i - d->whole.n];

	return (unsigned)(c - '0');
}

/* The digits up to the (moved) point as one number; those behind it must be zero. */
static int to_integer(const struct decimal *d, uint64_t *ret_value)
{
	size_t n = d->whole.n + d->fraction.n;
	int64_t point = (int64_t)d->whole.n + d->exponent;
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned c = digit_at(d, i);

		if ((int64_t)i >= point) {
			if (c != 0)
				return -EINVAL;
			continue;
		}
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, c, &value))
			return -ERANGE;
	}
	if (value != 0)
		for (int64_t i = (int64_t)n; i < point; i++)
			if (__builtin_mul_overflow(value, 10, &value))
				return -ERANGE;
	*ret_value = value;
	return 0;
}

/* Nothing but digits, few enough not to overflow: nearly every number there is. */
static bool plain_digits(const char *p, size_t n, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (n == 0 || n > DIGITS_U64)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned c = (unsigned char)p[i] - (unsigned)'0';

		if (c > 9)
			return false;
		value = value * 10 + c;
	}
	*ret_value = value;
	return true;
}

static int parse_magnitude(struct slice text, bool *ret_negative, uint64_t *ret_value)
{
	struct decimal d;
	int r;

	*ret_negative = false;
	if (plain_digits(text.p, text.n, ret_value))
		return 0;
	r = take_apart(text, &d);
	if (r < 0)
		return r;
	*ret_negative = d.negative;
	return to_integer(&d, ret_value);
}

int number_parse_u64(struct slice text, uint64_t *ret_value)
{
	uint64_t value;
	bool negative;
	int r = parse_magnitude(text, &negative, &value);

	if (r < 0)
		return r;
	if (negative && value != 0)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int number_parse_i64(struct slice text, int64_t *ret_value)
{
	uint64_t value;
	bool negative;
	int r = parse_magnitude(text, &negative, &value);

	if (r < 0)
		return r;
	if (value > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret_value = (int64_t)(negative ? 0 - value : value);
	return 0;
}

static double parse_exactly(const struct decimal *d)
{
	char text[DIGITS_DECIDE + 32];
	size_t n = d->whole.n + d->fraction.n, i = 0, kept = 0;
	int64_t exponent = d->exponent - (int64_t)d->fraction.n;
	bool more = false;

	while (i < n && digit_at(d, i) == 0)
		i++;
	for (; i < n; i++) {
		if (kept < DIGITS_DECIDE) {
			text[kept++] = (char)('0' + digit_at(d, i));
		} else {
			more |= digit_at(d, i) != 0;
			exponent++;
		}
	}
	if (kept == 0)
		return 0;
	if (more)
		text[kept - 1] |= 1; /* '0' becomes '1', '8' '9': no longer a tie */
	if (exponent > EXPONENT_CUTOFF)
		return HUGE_VAL;
	if (exponent < -EXPONENT_CUTOFF)
		return 0;
	snprintf(text + kept, sizeof(text) - kept, "e%d", (int)exponent);
	return strtod(text, NULL);
}

int number_parse_double(struct slice text, double *ret_value)
{
	static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
					1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	struct decimal d;
	int64_t exponent;
	double value;

	if (take_apart(text, &d) < 0) {
		if (slice_eq(text, SLICE("NaN")))
			*ret_value = (double)NAN;
		else if (slice_eq(text, SLICE("Infinity")))
			*ret_value = HUGE_VAL;
		else if (slice_eq(text, SLICE("-Infinity")))
			*ret_value = -HUGE_VAL;
		else
			return -EINVAL;
		return 0;
	}
	exponent = d.exponent - (int64_t)d.fraction.n;
	if (d.whole.n + d.fraction.n <= DIGITS_EXACT && exponent >= -22 && exponent <= 22) {
		uint64_t digits = 0;

		for (size_t i = 0; i < d.whole.n + d.fraction.n; i++)
			digits = digits * 10 + digit_at(&d, i);
		value = (double)digits;
		value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
	} else {
		value = parse_exactly(&d);
	}
	*ret_value = d.negative ? -value : value;
	return 0;
}

size_t number_format_double(double value, char out[NUMBER_TEXT_MAX])
{
	char text[64];
	size_t n = 0;

	for (int digits = 15; digits <= 17; digits++) {
		double again;

		n = 0;
		snprintf(text, sizeof(text), "%.*g", digits, value);
		for (const char *p = text; *p && n < NUMBER_TEXT_MAX; p++) {
			if (is_digit(*p) || *p == '-' || *p == '+' || *p == 'e')
				out[n++] = *p;
			else if (n > 0 && out[n - 1] != '.')
				out[n++] = '.'; /* whatever the locale's point is */
		}
		if (digits == 17 ||
		    (number_parse_double(slice_of(out, n), &again) == 0 && again == value))
			break;
	}
	return n;
}
