/* sampling/threshold.c - consistent probability sampling as OpenTelemetry defines it. */
#include "sampling/threshold.h"

#include <errno.h>

#define DIGIT_BITS 4

uint64_t threshold_thin(uint64_t first, uint64_t second)
{
	uint64_t kept_first, kept_second, kept;

	if (first == THRESHOLD_UNKNOWN || second == THRESHOLD_UNKNOWN)
		return THRESHOLD_UNKNOWN;
	kept_first = first < THRESHOLD_NEVER ? THRESHOLD_NEVER - first : 0;
	kept_second = second < THRESHOLD_NEVER ? THRESHOLD_NEVER - second : 0;
	kept = (uint64_t)(((__uint128_t)kept_first * kept_second + THRESHOLD_NEVER / 2) >>
			  THRESHOLD_BITS);
	return THRESHOLD_NEVER - kept;
}

double threshold_probability(uint64_t threshold)
{
	if (threshold >= THRESHOLD_NEVER)
		return 0;
	return (double)(THRESHOLD_NEVER - threshold) * 0x1p-56;
}

double threshold_weight(uint64_t threshold)
{
	if (threshold >= THRESHOLD_NEVER)
		return 0;
	return 0x1p56 / (double)(THRESHOLD_NEVER - threshold);
}

int threshold_from_probability(double probability, uint64_t *ret_threshold)
{
	double scaled = probability * 0x1p56; /* exact: only the exponent changes */
	uint64_t kept;

	if (!(probability >= 0 && probability <= 1) || (probability > 0 && probability < 0x1p-56))
		return -ERANGE;
	kept = (uint64_t)scaled;
	/* Not (scaled + 0.5): between 2^52 and 2^53 that sum itself rounds. */
	if (scaled - (double)kept >= 0.5)
		kept++;
	*ret_threshold = THRESHOLD_NEVER - kept;
	return 0;
}

/* How many leading hex digits of a number in (0, 1) are 0. */
static unsigned leading_zeros(double number)
{
	unsigned digits = 0;

	while (number < 0x1p-4 && digits < THRESHOLD_DIGITS) {
		number *= 16;
		digits++;
	}
	return digits;
}

int threshold_from_probability_short(double probability, unsigned precision,
				     uint64_t *ret_threshold)
{
	unsigned near_zero, near_one, digits, shift;
	uint64_t threshold, rounded;
	int r;

	if (precision < 1 || precision > THRESHOLD_DIGITS)
		return -ERANGE;
	r = threshold_from_probability(probability, &threshold);
	if (r < 0)
		return r;
	near_zero = leading_zeros(probability);    /* T starts with f's */
	near_one = leading_zeros(1 - probability); /* T starts with 0's */
	digits = precision + (near_zero > near_one ? near_zero : near_one);
	if (threshold == THRESHOLD_ALWAYS || threshold == THRESHOLD_NEVER ||
	    digits >= THRESHOLD_DIGITS) {
		*ret_threshold = threshold;
		return 0;
	}
	shift = DIGIT_BITS * (THRESHOLD_DIGITS - digits);
	rounded = (threshold + (1ULL << (shift - 1))) >> shift << shift;
	/* Rounding must not turn "some" into "none". */
	*ret_threshold = rounded < THRESHOLD_NEVER ? rounded : threshold;
	return 0;
}

static int parse_digits(struct slice text, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a' + 10);
		else
			return -EINVAL;
		value = value << DIGIT_BITS | digit;
	}
	*ret_value = value;
	return 0;
}

int threshold_parse(struct slice text, uint64_t *ret_threshold)
{
	uint64_t value = 0;

	if (text.n < 1 || text.n > THRESHOLD_DIGITS || parse_digits(text, &value) < 0)
		return -EINVAL;
	*ret_threshold = value << DIGIT_BITS * (THRESHOLD_DIGITS - text.n);
	return 0;
}

void randomness_format(uint64_t randomness, char out[THRESHOLD_DIGITS + 1])
{
	uint8_t bytes[8];

	store_be64(bytes, randomness);
	hex_encode(bytes + 1, sizeof(bytes) - 1, out);
	out[THRESHOLD_DIGITS] = '\0';
}

size_t threshold_format(uint64_t threshold, char out[THRESHOLD_DIGITS + 1])
{
	size_t n = THRESHOLD_DIGITS;

	if (threshold >= THRESHOLD_NEVER) {
		out[0] = '\0';
		return 0;
	}
	randomness_format(threshold, out);
	while (n > 1 && out[n - 1] == '0')
		n--;
	out[n] = '\0';
	return n;
}

int randomness_parse(struct slice text, uint64_t *ret_randomness)
{
	if (text.n != THRESHOLD_DIGITS)
		return -EINVAL;
	return parse_digits(text, ret_randomness);
}
