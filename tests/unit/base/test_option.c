/* Settings as a table: arguments, environment, file, help. */
#include "t.h"

#include <errno.h>
#include <stdlib.h>

#include "base/option.h"

struct values {
	bool flag, other;
	const char *text;
	int64_t number, size, time, port, word;
	struct option_list list;
};

static const char *const words[] = {"red", "green", NULL};

#define AT(field) .offset = offsetof(struct values, field)
static const struct option table[] = {
	{.name = "flag",
	 .letter = 'f',
	 .type = OPTION_BOOL,
	 .fallback = "on",
	 .doc = "a flag",
	 AT(flag)},
	{.name = "other", .letter = 'o', .type = OPTION_BOOL, .doc = "another", AT(other)},
	{.name = "text", .letter = 't', .type = OPTION_STRING, .doc = "a text", AT(text)},
	{.name = "number",
	 .type = OPTION_INT,
	 .fallback = "5",
	 .min = -2,
	 .max = 10,
	 .doc = "n",
	 AT(number)},
	{.name = "size", .type = OPTION_SIZE, .fallback = "1k", .doc = "size", AT(size)},
	{.name = "time", .type = OPTION_DURATION, .fallback = "1s", .doc = "time", AT(time)},
	{.name = "port", .type = OPTION_PORT, .fallback = "80", .doc = "port", AT(port)},
	{.name = "word",
	 .type = OPTION_CHOICE,
	 .choices = words,
	 .fallback = "red",
	 .doc = "word",
	 AT(word)},
	{.name = "list", .type = OPTION_LIST, .doc = "list", AT(list)},
	{.name = "now", .type = OPTION_BOOL, .once = true, .doc = "do it now", AT(other)},
	{0},
};

struct fixture {
	struct arena arena;
	struct values values;
	struct option_set set;
	struct error error;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	return option_set_init(&f->set, table, &f->values, &f->arena);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->arena);
	free(f);
	return 0;
}

static int parse(struct fixture *f, const char **argv)
{
	struct option_set *sets[] = {&f->set};
	int argc = 0;

	while (argv[argc])
		argc++;
	return option_parse_arguments(sets, 1, argc, (char **)argv, &f->error);
}

static void defaults_are_in_place(void **state)
{
	struct fixture *f = *state;

	assert_true(f->values.flag);
	assert_null(f->values.text);
	assert_int_equal(f->values.number, 5);
	assert_int_equal(f->values.size, 1024);
	assert_int_equal(f->values.time, 1000000000);
	assert_int_equal(f->values.port, 80);
	assert_int_equal(f->values.list.n, 0);
}

static void arguments_come_in_every_form(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = {"first", "--no-flag", "--text=x=y", "-ofalse-is-no-value", NULL};
	const char *good[] = {"one",        "--no-flag", "--text=x=y", "--number",   "-2",     "-o",
			      "--port=off", "--word",    "GREEN",      "--list=a,b", "--list", "c",
			      "two",        "--",        "--flag",     NULL};

	assert_int_equal(parse(f, argv), -EINVAL); /* -a is no option */
	assert_int_equal(parse(f, good), 3);
	assert_string_equal(good[0], "one");
	assert_string_equal(good[1], "two");
	assert_string_equal(good[2], "--flag");
	assert_false(f->values.flag);
	assert_true(f->values.other);
	assert_string_equal(f->values.text, "x=y");
	assert_int_equal(f->values.number, -2);
	assert_int_equal(f->values.port, OPTION_OFF);
	assert_int_equal(f->values.word, 1);
	assert_int_equal(f->values.list.n, 3);
	assert_string_equal(f->values.list.items[2], "c");
	assert_null(f->values.list.items[3]);
}

static void letters_stand_together_and_take_values(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = {"-oftabc", "-", NULL};

	assert_int_equal(parse(f, argv), 1);
	assert_string_equal(argv[0], "-");
	assert_true(f->values.other);
	assert_string_equal(f->values.text, "abc");
}

static void mistakes_name_the_source_and_the_way_out(void **state)
{
	static const struct {
		const char *argument, *text;
	} rows[] = {
		{"--nmber=1", "there is no option --nmber; did you mean --number?"},
		{"--zebra", "there is no option --zebra; --help lists them"},
		{"--number=x", "--number: 'x' is not a whole number"},
		{"--number=11", "--number: 11 is not between -2 and 10"},
		{"--size=1q", "--size: '1q' is not a size such as 64MiB"},
		{"--time=5", "--time: '5' is not a duration such as 30s or 5m"},
		{"--port=70000",
		 "--port: '70000' is not a port (0 to 65535, 0 lets the kernel choose) or off"},
		{"--port=-1",
		 "--port: '-1' is not a port (0 to 65535, 0 lets the kernel choose) or off"},
		{"--word=blue", "--word: 'blue' is not one of red, green"},
		{"--flag=maybe", "--flag: 'maybe' is neither on nor off"},
		{"--text", "--text wants a value: --text VALUE"},
		{"-x", "there is no option -x; --help lists them"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char argument[64];
		const char *argv[] = {argument, NULL};

		strcpy(argument, rows[i].argument);
		assert_true(parse(f, argv) < 0);
		assert_string_equal(f->error.text, rows[i].text);
	}
}

static void flags_beat_environment_beats_file_whatever_the_order(void **state)
{
	struct fixture *f = *state;
	struct option_set *sets[] = {&f->set};
	const char *argv[] = {"--number=1", NULL};
	const char *environment[] = {"X_NUMBER=2", "X_SIZE=2", "X_NOW=1", "X_SIZES=9", NULL};
	struct slice file = SLICE(
		"# comment\nnumber = 3\n size=3\n\ntext = \"a # b\" # c\nlist = a, b\nlist = c\n");

	assert_int_equal(parse(f, argv), 0);
	assert_int_equal(
		option_parse_environment(&f->set, "X_", (char *const *)environment, &f->error), 0);
	assert_int_equal(option_parse_file(sets, 1, NULL, 0, "file", file, &f->error), 0);
	assert_int_equal(f->values.number, 1);
	assert_int_equal(f->values.size, 2);
	assert_string_equal(f->values.text, "a # b");
	assert_int_equal(f->values.list.n, 3);
	assert_false(f->values.other);
	assert_string_equal(option_origin(&f->set, &table[2])->source, "file:5");
	assert_string_equal(option_origin(&f->set, &table[3])->source, "--number");
	assert_string_equal(option_origin(&f->set, &table[4])->source, "X_SIZE");
}

static void a_bad_line_of_a_file_is_named(void **state)
{
	static const struct {
		const char *file, *text;
	} rows[] = {
		{"a\n", "f:1: wants 'name = value', found 'a'"},
		{"\nnumbre = 1\n", "f:2: there is no setting 'numbre'; did you mean number?"},
		{"zebra = 1\n", "f:1: there is no setting 'zebra'; causet serve --help lists them"},
		{"number = 99\n", "f:1: 99 is not between -2 and 10"},
		{"now = on\n", "f:1: 'now' works only as --now"},
	};
	struct fixture *f = *state;
	struct option_set *sets[] = {&f->set};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_not_equal(option_parse_file(sets, 1, NULL, 0, "f",
						       slice_cstr(rows[i].file), &f->error),
				     0);
		assert_string_equal(f->error.text, rows[i].text);
	}
}

static void what_is_printed_can_be_read_again(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buffer_done)
	struct buffer first = {0};
	_cleanup_(buffer_done)
	struct buffer second = {0};
	const char *argv[] = {"--text=a # b", "--list=x,y", "--port=off", "--no-flag", NULL};
	struct values again = {0};
	struct option_set set, *sets[] = {&set};

	assert_int_equal(parse(f, argv), 0);
	option_print(&f->set, &first);
	assert_int_equal(option_set_init(&set, table, &again, &f->arena), 0);
	assert_int_equal(option_parse_file(sets, 1, NULL, 0, "f", buffer_get(&first), &f->error),
			 0);
	assert_string_equal(again.text, "a # b");
	assert_int_equal(again.list.n, 2);
	assert_int_equal(again.port, OPTION_OFF);
	assert_false(again.flag);
	option_print(&set, &second);
	assert_non_null(strstr(buffer_cstr(&second), "list = x,y  # f:"));
}

static void help_folds_and_aligns(void **state)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};

	option_help(table, 50, &out);
	assert_non_null(
		strstr(buffer_cstr(&out), "  -f, --flag                a flag [on; --no-flag]\n"));
	assert_non_null(
		strstr(buffer_cstr(&out), "      --word WORD           word: red, green [red]\n"));
	buffer_clear(&out);
	option_help_man(table, &out);
	assert_non_null(strstr(buffer_cstr(&out),
			       ".TP\n\\fB\\-t\\fR, \\fB\\-\\-text\\fR \\fITEXT\\fR\na text.\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(defaults_are_in_place),
		TEST(arguments_come_in_every_form),
		TEST(letters_stand_together_and_take_values),
		TEST(mistakes_name_the_source_and_the_way_out),
		TEST(flags_beat_environment_beats_file_whatever_the_order),
		TEST(a_bad_line_of_a_file_is_named),
		TEST(what_is_printed_can_be_read_again),
		TEST(help_folds_and_aligns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
