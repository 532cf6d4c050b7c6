/* Sizes, durations and moments as people write them. */
#include "t.h"

#include <errno.h>

#include "base/quantity.h"
#include "core/clock.h"

static void sizes_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} rows[] = {
		{"0", 0},
		{"4096", 4096},
		{"1k", 1024},
		{"1K", 1024},
		{"64MiB", 64 << 20},
		{"1.5G", 3LL << 29},
		{"10 KB", 10240},
		{"2TiB", 2LL << 40},
		{" 7 b ", 7},
		{"1kib", 1024},
		{"", -EINVAL},
		{"k", -EINVAL},
		{"1x", -EINVAL},
		{"1kx", -EINVAL},
		{"-1", -EINVAL},
		{"1..2", -EINVAL},
		{"1e3", -EINVAL},
		{"1bk", -EINVAL},
		{"9999999T", -ERANGE},
		{"99999999999999999999999999999999999999999999", -ERANGE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t bytes = -1;
		int r = size_parse(slice_cstr(rows[i].text), &bytes);

		assert_int_equal(r < 0 ? r : bytes, rows[i].bytes);
	}
}

static void shares_are_decimals_percentages_or_fractions(void **state)
{
	static const struct {
		const char *text;
		int r;
		double share;
	} rows[] = {
		{"0", 0, 0},           {"1", 0, 1},         {" 0.25 ", 0, 0.25},
		{"25%", 0, 0.25},      {"12.5%", 0, 0.125}, {"1/4", 0, 0.25},
		{"3/3", 0, 1},         {"1.5", -ERANGE, 0}, {"101%", -ERANGE, 0},
		{"2/1", -ERANGE, 0},   {"0/0", -ERANGE, 0}, {"", -EINVAL, 0},
		{"%", -EINVAL, 0},     {"1/", -EINVAL, 0},  {"/4", -EINVAL, 0},
		{"1/4/2", -EINVAL, 0}, {"-1", -EINVAL, 0},  {"1x", -EINVAL, 0},
		{"1%%", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double share = 0;

		assert_int_equal(share_parse(slice_cstr(rows[i].text), &share), rows[i].r);
		assert_true(share == rows[i].share);
	}
}

static void durations_are_gos(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"0", 0},
		{"7ns", 7},
		{"10us", 10000},
		{"10\xc2\xb5s", 10000},
		{"10\xce\xbcs", 10000},
		{"250ms", 250 * NS_PER_MS},
		{"1.5s", 1500 * NS_PER_MS},
		{"1h30m", 5400 * NS_PER_S},
		{"1h2m3.5s", 3723500 * NS_PER_MS},
		{"2d", 2 * 86400 * NS_PER_S},
		{"1w", 7 * 86400 * NS_PER_S},
		{"-1h", -3600 * NS_PER_S},
		{"+5m", 300 * NS_PER_S},
	};
	static const char *const bad[] = {"", "-", "5", "s", "1h5", "1 h", "1y", "1hh", "--1s"};
	int64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(duration_parse(slice_cstr(rows[i].text), &ns), 0);
		assert_int_equal(ns, rows[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(duration_parse(slice_cstr(bad[i]), &ns), -EINVAL);
	assert_int_equal(duration_parse(SLICE("999999999h"), &ns), -ERANGE);
}

#define DAY (86400 * NS_PER_S)
#define Y2K (10957 * DAY) /* 2000-01-01 */
#define NOW (20000 * DAY)

static void moments_are_read_in_every_form(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"2000-01-01T00:00:00Z", Y2K},
		{"2000-01-01", Y2K},
		{"2000-01-01 00:00", Y2K},
		{"2000-01-01t02:00:00+02:00", Y2K},
		{"1999-12-31T22:30:00-0130", Y2K},
		{"2000-01-01T02:00:00 02:00", Y2K}, /* '+' of a query left unescaped */
		{"2000-01-01T00:00:01.5Z", Y2K + 1500 * NS_PER_MS},
		{"2000-01-01T00:00:00.123456789Z", Y2K + 123456789},
		{"2000-01-01T00:00:00.1234567899Z", Y2K + 123456789},
		{"2000-03-01", Y2K + 60 * DAY}, /* a leap year */
		{"946684800", Y2K},
		{"946684800.25", Y2K + 250 * NS_PER_MS},
		{"946684800000", Y2K},
		{"946684800000000", Y2K},
		{"946684800000000001", Y2K + 1},
		{"now", NOW},
		{"-1h", NOW - 3600 * NS_PER_S},
		{"+1d", NOW + DAY},
	};
	static const char *const bad[] = {
		"",
		"yesterday",
		"2000-13-01",
		"2000-00-10",
		"2000-01-01T25:00",
		"2000-01-01T00:00:00.Z",
		"2000-01-01T00:00X",
		"12x",
		"-5",
		"2000-1-1",
	};
	int64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(moment_parse(slice_cstr(rows[i].text), NOW, &ns), 0);
		assert_int_equal(ns, rows[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(moment_parse(slice_cstr(bad[i]), NOW, &ns), -EINVAL);
	assert_int_equal(moment_parse(SLICE("9999-01-01"), NOW, &ns), -ERANGE);
	assert_int_equal(moment_parse(SLICE("18446744073709551615"), NOW, &ns), -ERANGE);
}

static void texts_have_three_digits_that_matter(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} durations[] = {
		{0, "0ns"},
		{831, "831ns"},
		{1200, "1.20\xc2\xb5s"},
		{12345, "12.3\xc2\xb5s"},
		{123456, "123\xc2\xb5s"},
		{999600, "1.00ms"},
		{1500000, "1.50ms"},
		{3400000000, "3.40s"},
		{125 * NS_PER_S, "2m05s"},
		{11220 * NS_PER_S, "3h07m"},
		{-1500000, "-1.50ms"},
		{INT64_MIN, "-2562047h47m"},
	};
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {{17, "17 B"},          {1024, "1.00 KiB"},     {1 << 20, "1.00 MiB"},
		     {1048575, "1.00 MiB"}, {64 << 20, "64.0 MiB"}, {UINT64_MAX, "16.0 EiB"}};
	char out[QUANTITY_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		assert_string_equal(duration_format(durations[i].ns, out), durations[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_string_equal(size_format(sizes[i].bytes, out), sizes[i].text);
	assert_string_equal(moment_format(Y2K + 5, out), "2000-01-01T00:00:00.000000005Z");
	assert_string_equal(moment_format(-1, out), "1969-12-31T23:59:59.999999999Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(shares_are_decimals_percentages_or_fractions),
		cmocka_unit_test(durations_are_gos),
		cmocka_unit_test(moments_are_read_in_every_form),
		cmocka_unit_test(texts_have_three_digits_that_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
