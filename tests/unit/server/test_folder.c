#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "server/folder.h"

static void folders_above_are_made_too(void **state)
{
	char top[] = "/tmp/causet-test-XXXXXX", path[100];
	struct error e = {0};
	struct stat st;

	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof(path), "%s/a//b/c/", top);
	assert_int_equal(folder_make(path, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(folder_make(path, &e), 0);
	assert_int_equal(chdir(top), 0);
	assert_int_equal(folder_make("x/y", &e), 0);
	assert_int_equal(stat("x/y", &st), 0);
	assert_int_equal(folder_make("/", &e), 0);
	assert_int_equal(folder_make("", &e), -ENAMETOOLONG);
	assert_int_equal(chdir("/"), 0);

	snprintf(path, sizeof(path), "rm -r '%s'", top);
	assert_int_equal(system(path), 0);
}

static void what_is_in_the_way_is_named(void **state)
{
	struct error e = {0};

	assert_int_equal(folder_make("/dev/null/x", &e), -ENOTDIR);
	assert_non_null(strstr(e.text, "/dev/null"));
	assert_int_equal(folder_make("/dev/null", &e), -ENOTDIR);
	assert_int_equal(folder_make("/proc/nothing/here", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/proc/nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_above_are_made_too),
		cmocka_unit_test(what_is_in_the_way_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
