/* The question for spans is made from the outermost stages alone, whatever stands in quotes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/tempo_exemplars.h"

static void a_series_becomes_its_spans(void **state)
{
	static const struct {
		const char *text, *asked; /* NULL: it has no such form */
	} rows[] = {
		{"{} | rate()", "{} "},
		{"{}|rate()by(a)", "{}| select(a)"},
		{"{} | rate() by (name, span.a) | topk(3)", "{} | select(name, span.a)"},
		{"{} | quantile_over_time(duration, .5, .9)", "{} | select(duration)"},
		{"{} | max_over_time(span.n) by (kind)", "{} | select(kind, span.n)"},
		{"{ name = \"| rate()\" } || { `}` } | rate()",
		 "{ name = \"| rate()\" } || { `}` } "},
		{"{} | select(a) | rate() with(sample=true)", "{} | select(a) "},
		{"{ \"\\\"|rate()\" } | rate()", "{ \"\\\"|rate()\" } "},
		{"({}|rate()) / ({}|rate())", NULL},
		{"{} | count() > 2", NULL},
		{"{} | rate", NULL},
		{"{} | rate(", "{} "},
		{"{} | rate() by", "{} "},
		{"{} | rate() by (", "{} "},
		{"{} |", NULL},
		{"|", NULL},
		{"\"", NULL},
		{"\"\\", NULL},
		{"))|rate()", "))"},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buffer out = {0};
		bool asked = tempo_exemplars_ask(slice_cstr(rows[i].text), &out);

		assert_int_equal(asked, rows[i].asked != NULL);
		if (asked)
			assert_string_equal(buffer_cstr(&out), rows[i].asked);
		buffer_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_series_becomes_its_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
