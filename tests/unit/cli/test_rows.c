/* Results of queries in the forms of the command line. */
#include "t.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "cli/rows.h"
#include "cli/sparkline.h"

static const struct query_column columns[] = {{.name = SLICE("service"), .type = PLAN_STRING},
					      {.name = SLICE("n"), .type = PLAN_INT},
					      {.name = SLICE("p99"), .type = PLAN_DURATION}};

/* What is printed meanwhile. */
struct printed {
	int saved;
	FILE *file;
};

static struct printed catch (void)
{
	struct printed p = {.file = tmpfile()};

	assert_non_null(p.file);
	fflush(stdout);
	p.saved = dup(STDOUT_FILENO);
	assert_true(dup2(fileno(p.file), STDOUT_FILENO) >= 0);
	return p;
}

static const char *caught(struct printed *p, char *out, size_t room)
{
	size_t n;

	fflush(stdout);
	dup2(p->saved, STDOUT_FILENO);
	close(p->saved);
	rewind(p->file);
	n = fread(out, 1, room - 1, p->file);
	out[n] = 0;
	fclose(p->file);
	return out;
}

static void print_two(struct cli *cli, enum rows_form form, char *out, size_t room)
{
	const struct value first[] = {value_text(SLICE("front, \"end\"")), value_int(3),
				      value_of(V_DURATION, 1500000)},
			   second[] = {value_text(SLICE("cart")), value_int(12), value_nil()};
	const double plus_minus[] = {0, 2.5, 0};
	struct printed p = catch ();
	struct rows rows;

	rows_init(&rows, cli, form);
	assert_int_equal(rows_begin(&rows, slice_of("", 0), columns, 3), 0);
	assert_int_equal(rows_add(&rows, first, NULL), 0);
	assert_int_equal(rows_add(&rows, second, plus_minus), 0);
	assert_int_equal(rows_end(&rows), 0);
	assert_int_equal(rows.n, 2);
	rows_done(&rows);
	caught(&p, out, room);
}

static void each_form_is_what_its_readers_expect(void **state)
{
	struct cli cli = {.columns = 80};
	char out[4096];

	print_two(&cli, ROWS_TABLE, out, sizeof(out));
	assert_string_equal(out, "service             n     p99\n"
				 "front, \"end\"        3  1.50ms\n"
				 "cart          12 ±2.5        \n");
	print_two(&cli, ROWS_CSV, out, sizeof(out));
	assert_string_equal(out, "service,n,p99\r\n"
				 "\"front, \"\"end\"\"\",3,1500000\r\n"
				 "cart,12,\r\n");
	print_two(&cli, ROWS_JSON, out, sizeof(out));
	assert_string_equal(out, "{\"service\":\"front, \\\"end\\\"\",\"n\":3,\"p99\":1500000}\n"
				 "{\"service\":\"cart\",\"n\":12,\"n ±\":2.5,\"p99\":null}\n");
}

static void columns_of_one_name_have_keys_of_their_own(void **state)
{
	const struct query_column same[] = {{.name = SLICE("n"), .type = PLAN_INT},
					    {.name = SLICE("n"), .type = PLAN_INT}};
	const struct value values[] = {value_int(1), value_int(2)};
	struct cli cli = {.columns = 80};
	struct printed p = catch ();
	struct rows rows;
	char out[200];

	rows_init(&rows, &cli, ROWS_JSON);
	assert_int_equal(rows_begin(&rows, slice_of("", 0), same, 2), 0);
	assert_int_equal(rows_add(&rows, values, NULL), 0);
	assert_int_equal(rows_end(&rows), 0);
	rows_done(&rows);
	assert_string_equal(caught(&p, out, sizeof(out)), "{\"n\":1,\"n 2\":2}\n");
}

static void a_table_fits_the_terminal(void **state)
{
	struct cli cli = {.columns = 26, .terminal = true};
	char out[4096];

	print_two(&cli, ROWS_TABLE, out, sizeof(out));
	assert_string_equal(out, "service          n     p99\n"
				 "front, \"…        3  1.50ms\n"
				 "cart       12 ±2.5        \n");
}

static void more_columns_than_a_line_holds_are_written_upright(void **state)
{
	struct cli cli = {.columns = 40, .terminal = true};
	struct query_column many[20];
	struct value values[20];
	struct printed p;
	struct rows rows;
	char out[4096];

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = (struct query_column){.name = SLICE("c"), .type = PLAN_STRING};
		values[i] = value_text(SLICE("0123456789"));
	}
	p = catch ();
	rows_init(&rows, &cli, ROWS_TABLE);
	assert_int_equal(rows_begin(&rows, SLICE("Q"), many, 20), 0);
	assert_int_equal(rows_add(&rows, values, NULL), 0);
	assert_int_equal(rows_end(&rows), 0);
	rows_done(&rows);
	caught(&p, out, sizeof(out));
	assert_int_equal(strncmp(out, "Q:\nrow 1\n  c  0123456789\n  c  ", 30), 0);
}

static void rows_behind_the_first_thousand_are_written_as_they_come(void **state)
{
	struct cli cli = {.columns = 80};
	static char out[100000];
	struct printed p = catch ();
	struct rows rows;
	size_t lines = 0;

	rows_init(&rows, &cli, ROWS_TABLE);
	assert_int_equal(rows_begin(&rows, slice_of("", 0), columns, 3), 0);
	for (int i = 0; i < 1500; i++) {
		const struct value row[] = {value_text(SLICE("x")), value_int(i), value_nil()};

		assert_int_equal(rows_add(&rows, row, NULL), 0);
	}
	assert_int_equal(rows_end(&rows), 0);
	rows_done(&rows);
	caught(&p, out, sizeof(out));
	for (const char *c = out; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 1501);
	assert_non_null(strstr(out, "1499"));
}

static void series_are_sparklines(void **state)
{
	const struct query_column series[] = {
		{.name = SLICE("time"), .type = PLAN_TIME, .series = true},
		{.name = SLICE("service"), .type = PLAN_STRING},
		{.name = SLICE("rate"), .type = PLAN_FLOAT, .series = true}};
	struct cli cli = {.columns = 80};
	struct printed p = catch ();
	struct rows rows;
	char out[4096];

	rows_init(&rows, &cli, ROWS_TABLE);
	assert_int_equal(rows_begin(&rows, slice_of("", 0), series, 3), 0);
	for (int i = 0; i < 8; i++) {
		const struct value row[] = {value_of(V_TIME, i),
					    value_text(i < 4 ? SLICE("a") : SLICE("b")),
					    i == 5 ? value_nil() : value_float(i)};

		assert_int_equal(rows_add(&rows, row, NULL), 0);
	}
	assert_int_equal(rows_end(&rows), 0);
	rows_done(&rows);
	caught(&p, out, sizeof(out));
	assert_string_equal(out, "service  rate      least   greatest       last\n"
				 "a        ▁▃▆█          0          3          3\n"
				 "b        ▅ ▇█          4          7          7\n");
}

static void sparklines_keep_peaks_and_gaps(void **state)
{
	const double values[] = {0, 0, 9, 0, NAN, NAN, 4.5, 0}, none[] = {NAN}, flat[] = {0, 0};
	struct buffer out = {0};

	sparkline_put(&out, values, 8, 4);
	assert_string_equal(buffer_cstr(&out), "▁█ ▅");
	buffer_clear(&out);
	sparkline_put(&out, none, 1, 4);
	assert_string_equal(buffer_cstr(&out), " ");
	buffer_clear(&out);
	sparkline_put(&out, flat, 2, 4);
	assert_string_equal(buffer_cstr(&out), "▁▁");
	buffer_clear(&out);
	sparkline_put(&out, flat, 0, 4);
	assert_string_equal(buffer_cstr(&out), "");
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_what_its_readers_expect),
		cmocka_unit_test(columns_of_one_name_have_keys_of_their_own),
		cmocka_unit_test(a_table_fits_the_terminal),
		cmocka_unit_test(more_columns_than_a_line_holds_are_written_upright),
		cmocka_unit_test(rows_behind_the_first_thousand_are_written_as_they_come),
		cmocka_unit_test(series_are_sparklines),
		cmocka_unit_test(sparklines_keep_peaks_and_gaps),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
