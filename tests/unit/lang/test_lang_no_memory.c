/* Every allocation of compiling and formatting fails once: each time -ENOMEM is the answer, and
 * nothing is lost (the sanitizers watch). */
#include "t.h"

#include <errno.h>

#include "golden.h"
#include "lang/check.h"
#include "lang/format.h"
#include "no_memory.h"

static int scenario(struct slice text)
{
	_cleanup_(arena_done)
	struct arena arena = {0};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct ast_program *program;
	struct diags diags;
	int r;

	diags_init(&diags, &arena);
	r = lang_compile(text, DIALECT_CAUSETQL, NULL, &arena, &diags, &program);
	if (r < 0)
		return r;
	return lang_format(text, DIALECT_CAUSETQL, &arena, &diags, &out);
}

static void every_failure_is_answered_and_nothing_leaks(void **state)
{
	static const char *const files[] = {"paper_queries", "clauses", "dataset",
					    "traceql_metrics"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		for (int stays = 0; stays < 2; stays++) {
			_cleanup_(buffer_done)
			struct buffer text = {0};
			int result = -ENOMEM;
			char path[100];

			snprintf(path, sizeof(path), "lang/%s.cq", files[i]);
			assert_true(golden_load(path, &text));
			for (long allowed = 0; result != 0; allowed++) {
				no_memory_stays = stays;
				no_memory_after = allowed;
				result = scenario(buffer_get(&text));
				no_memory_after = -1;
				assert_true(result == 0 || result == -ENOMEM);
				assert_true(allowed < 10000);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failure_is_answered_and_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
