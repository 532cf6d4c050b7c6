/* base/quantity.c - sizes, durations and moments as people write them. */
#include "base/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define NUMBER_MAX_CHARS 40

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* An unsigned decimal with an optional fraction at the start of *rest, which moves behind it. */
static int number_take(struct slice *rest, double *ret_value)
{
	char text[NUMBER_MAX_CHARS];
	size_t n = 0, digits = 0;

	while (n < rest->n && (is_digit(rest->p[n]) || rest->p[n] == '.')) {
		digits += is_digit(rest->p[n]);
		if (n + 1 >= sizeof(text))
			return -ERANGE;
		text[n] = rest->p[n];
		n++;
	}
	text[n] = 0;
	if (digits == 0 || n - digits > 1)
		return -EINVAL;
	*ret_value = strtod(text, NULL);
	*rest = slice_from(*rest, n);
	return 0;
}

int size_parse(struct slice text, int64_t *ret_bytes)
{
	static const char units[] = "kmgt";
	struct slice rest = slice_trim(text);
	double value;
	int r;

	r = number_take(&rest, &value);
	if (r < 0)
		return r;
	rest = slice_trim(rest);
	if (rest.n > 0) {
		const char *unit = memchr(units, rest.p[0] | 0x20, sizeof(units) - 1);

		if (unit) {
			value = ldexp(value, 10 * (int)(unit - units + 1));
			rest = slice_from(rest, 1);
			if (rest.n > 1 && (rest.p[0] | 0x20) == 'i')
				rest = slice_from(rest, 1);
		}
		if (rest.n > 0 && !slice_eq_nocase(rest, SLICE("b")))
			return -EINVAL;
	}
	if (value >= 0x1p63)
		return -ERANGE;
	*ret_bytes = (int64_t)value;
	return 0;
}

static const struct {
	struct slice name;
	int64_t ns;
} duration_units[] = {
	/* the longer of two that start alike stands first */
	{SLICE("ns"), 1},
	{SLICE("us"), NS_PER_US},
	{SLICE("\xc2\xb5s"), NS_PER_US}, /* the micro sign */
	{SLICE("\xce\xbcs"), NS_PER_US}, /* the Greek letter mu */
	{SLICE("ms"), NS_PER_MS},
	{SLICE("s"), NS_PER_S},
	{SLICE("m"), 60 * NS_PER_S},
	{SLICE("h"), 3600 * NS_PER_S},
	{SLICE("d"), 86400 * NS_PER_S},
	{SLICE("w"), 7 * 86400 * NS_PER_S},
};

static int64_t unit_take(struct slice *rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++)
		if (slice_starts(*rest, duration_units[i].name)) {
			*rest = slice_from(*rest, duration_units[i].name.n);
			return duration_units[i].ns;
		}
	return 0;
}

int duration_parse(struct slice text, int64_t *ret_ns)
{
	struct slice rest = slice_trim(text);
	bool negative = false;
	double total = 0;

	if (rest.n > 0 && (rest.p[0] == '-' || rest.p[0] == '+')) {
		negative = rest.p[0] == '-';
		rest = slice_from(rest, 1);
	}
	if (rest.n == 0)
		return -EINVAL;
	if (slice_eq(rest, SLICE("0"))) {
		*ret_ns = 0;
		return 0;
	}
	while (rest.n > 0) {
		double value;
		int64_t unit;
		int r = number_take(&rest, &value);

		if (r < 0)
			return r;
		unit = unit_take(&rest);
		if (unit == 0)
			return -EINVAL;
		total += value * (double)unit;
	}
	if (total >= 0x1p63)
		return -ERANGE;
	*ret_ns = negative ? -(int64_t)llround(total) : (int64_t)llround(total);
	return 0;
}

int share_parse(struct slice text, double *ret_share)
{
	struct slice rest = slice_trim(text);
	double share, whole = 1;
	int r = number_take(&rest, &share);

	if (r < 0)
		return r;
	if (slice_eq(rest, SLICE("%"))) {
		whole = 100;
	} else if (rest.n > 0) {
		if (rest.p[0] != '/')
			return -EINVAL;
		rest = slice_from(rest, 1);
		r = number_take(&rest, &whole);
		if (r < 0 || rest.n > 0)
			return r < 0 ? r : -EINVAL;
	}
	if (!(share <= whole && whole > 0))
		return -ERANGE;
	*ret_share = share / whole;
	return 0;
}

static int digits_take(struct slice *rest, size_t n, int *ret_value)
{
	int value = 0;

	if (rest->n < n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(rest->p[i]))
			return -EINVAL;
		value = value * 10 + (rest->p[i] - '0');
	}
	*rest = slice_from(*rest, n);
	*ret_value = value;
	return 0;
}

static bool char_take(struct slice *rest, char c)
{
	if (rest->n == 0 || rest->p[0] != c)
		return false;
	*rest = slice_from(*rest, 1);
	return true;
}

/* Days since 1970 of a date in the Gregorian calendar (Howard Hinnant's days_from_civil). */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;

	return era * 146097 + doe - 719468;
}

/* "Z", "+02:00", or nothing (UTC): seconds to take away. */
static int zone_take(struct slice *rest, int64_t *ret_seconds)
{
	int hours, minutes, sign;

	*ret_seconds = 0;
	if (rest->n == 0 || char_take(rest, 'Z') || char_take(rest, 'z'))
		return 0;
	/* A '+' of an unescaped query arrives as a blank. */
	sign = char_take(rest, '-') ? -1 : char_take(rest, '+') || char_take(rest, ' ') ? 1 : 0;
	if (!sign || digits_take(rest, 2, &hours) < 0)
		return -EINVAL;
	char_take(rest, ':');
	if (digits_take(rest, 2, &minutes) < 0 || hours > 23 || minutes > 59)
		return -EINVAL;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return 0;
}

static int fraction_take(struct slice *rest, int64_t *ret_ns)
{
	int64_t ns = 0, unit = NS_PER_S / 10;
	size_t n = 0;

	for (; n < rest->n && is_digit(rest->p[n]); n++, unit /= 10)
		ns += unit * (rest->p[n] - '0'); /* below a nanosecond the unit is 0 */
	*rest = slice_from(*rest, n);
	*ret_ns = ns;
	return n == 0 ? -EINVAL : 0;
}

static int calendar_parse(struct slice rest, int64_t *ret_ns)
{
	int year, month, day, hour = 0, minute = 0, second = 0;
	int64_t ns = 0, zone = 0, seconds;

	if (digits_take(&rest, 4, &year) < 0 || !char_take(&rest, '-') ||
	    digits_take(&rest, 2, &month) < 0 || !char_take(&rest, '-') ||
	    digits_take(&rest, 2, &day) < 0)
		return -EINVAL;
	if (char_take(&rest, 'T') || char_take(&rest, 't') || char_take(&rest, ' ')) {
		if (digits_take(&rest, 2, &hour) < 0 || !char_take(&rest, ':') ||
		    digits_take(&rest, 2, &minute) < 0)
			return -EINVAL;
		if (char_take(&rest, ':')) {
			if (digits_take(&rest, 2, &second) < 0)
				return -EINVAL;
			if (char_take(&rest, '.') && fraction_take(&rest, &ns) < 0)
				return -EINVAL;
		}
		if (zone_take(&rest, &zone) < 0)
			return -EINVAL;
	}
	if (rest.n > 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
	    minute > 59 || second > 60)
		return -EINVAL;
	seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - zone;
	if (__builtin_mul_overflow(seconds, NS_PER_S, ret_ns) ||
	    __builtin_add_overflow(*ret_ns, ns, ret_ns))
		return -ERANGE;
	return 0;
}

/* A number since 1970 whose unit follows from its magnitude: 1e11 seconds are the year 5138, 1e11
 * milliseconds are 1973, and so on up by thousands. */
static int epoch_parse(struct slice text, int64_t *ret_ns)
{
	double value;
	uint64_t whole;
	int r;

	if (slice_parse_u64(text, &whole) == 0 && whole >= 100000000000000000ULL) {
		if (whole > INT64_MAX)
			return -ERANGE;
		*ret_ns = (int64_t)whole; /* exactly: a double has not the digits */
		return 0;
	}
	r = number_take(&text, &value);
	if (r < 0)
		return r;
	if (text.n > 0)
		return -EINVAL;
	if (value >= 1e17)
		return -ERANGE;
	if (value < 1e11)
		*ret_ns = (int64_t)llround(value * 1e9);
	else if (value < 1e14)
		*ret_ns = (int64_t)llround(value * 1e6);
	else
		*ret_ns = (int64_t)llround(value * 1e3);
	return 0;
}

int moment_parse(struct slice text, int64_t now_ns, int64_t *ret_ns)
{
	struct slice s = slice_trim(text);
	int64_t ns;
	int r;

	if (slice_eq(s, SLICE("now"))) {
		*ret_ns = now_ns;
		return 0;
	}
	if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+')) {
		r = duration_parse(s, &ns);
		if (r < 0)
			return r;
		return __builtin_add_overflow(now_ns, ns, ret_ns) ? -ERANGE : 0;
	}
	if (s.n > 4 && s.p[4] == '-')
		return calendar_parse(s, ret_ns);
	return epoch_parse(s, ret_ns);
}

const char *size_format(uint64_t bytes, char out[QUANTITY_TEXT_BYTES])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(out, QUANTITY_TEXT_BYTES, "%d B", (int)bytes);
		return out;
	}
	for (value /= 1024; value >= 1023.95 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1024;
	snprintf(out, QUANTITY_TEXT_BYTES, value < 9.995 ? "%.2f %s" : "%.1f %s", value,
		 units[unit]);
	return out;
}

const char *duration_format(int64_t ns, char out[QUANTITY_TEXT_BYTES])
{
	const char *sign = ns < 0 ? "-" : "";
	uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	double value = (double)u;
	const char *unit;

	if (u < 1000) {
		snprintf(out, QUANTITY_TEXT_BYTES, "%s%dns", sign, (int)u);
		return out;
	}
	if (u >= 3600 * (uint64_t)NS_PER_S) {
		snprintf(out, QUANTITY_TEXT_BYTES, "%s%lluh%02dm", sign,
			 (unsigned long long)(u / (3600 * NS_PER_S)),
			 (int)(u / (60 * NS_PER_S) % 60));
		return out;
	}
	if (u >= 60 * (uint64_t)NS_PER_S) {
		snprintf(out, QUANTITY_TEXT_BYTES, "%s%dm%02ds", sign, (int)(u / (60 * NS_PER_S)),
			 (int)(u / NS_PER_S % 60));
		return out;
	}
	if (u < 999500) {
		value /= 1e3;
		unit = "\xc2\xb5s";
	} else if (u < 999500000) {
		value /= 1e6;
		unit = "ms";
	} else {
		value /= 1e9;
		unit = "s";
	}
	snprintf(out, QUANTITY_TEXT_BYTES, "%s%.*f%s", sign,
		 value < 9.995   ? 2
		 : value < 99.95 ? 1
				 : 0,
		 value, unit);
	return out;
}

const char *moment_format(int64_t ns, char out[QUANTITY_TEXT_BYTES])
{
	int64_t rest = ns % NS_PER_S;
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm t;
	size_t n;

	if (rest < 0) {
		rest += NS_PER_S;
		seconds--;
	}
	gmtime_r(&seconds, &t);
	n = strftime(out, QUANTITY_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &t);
	snprintf(out + n, QUANTITY_TEXT_BYTES - n, ".%09dZ", (int)rest);
	return out;
}
