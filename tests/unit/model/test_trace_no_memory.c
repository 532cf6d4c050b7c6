/* Every allocation of building a trace and asking of it fails once: each time -ENOMEM is the
 * answer, and nothing is lost (the sanitizers watch). */
#include "t.h"

#include "no_memory.h"

#include "model/causality.h"
#include "model/critical_path.h"
#include "model/random_rows.h"

/* Builds and asks; the first error, or 0. */
static int scenario(const struct event_ref *refs, size_t n)
{
	_cleanup_(trace_freep)
	struct trace *t = NULL;
	_cleanup_(batch_unrefp)
	struct batch *out = NULL;
	struct critical_path path;
	bool clock;
	int r = trace_build(refs, n, 0, &t);

	if (r < 0)
		return r;
	if (t->block_n == 0)
		return 0;
	r = trace_happened_before(t, trace_pos(POS_END, (uint32_t)t->block_n - 1),
				  trace_pos(POS_BEGIN, 0), &clock);
	if (r < 0)
		return r;
	r = critical_path_whole(t, &path);
	if (r < 0)
		return r;
	critical_path_done(&path);
	return trace_to_batch(t, &out);
}

static void every_failure_is_answered_and_nothing_leaks(void **state)
{
	struct rng rng = {61};

	for (int round = 0; round < 30; round++) {
		_cleanup_(random_rows_done)
		struct random_rows r =
			random_rows(&rng, (enum random_taste)(round % RANDOM_TASTES), 40);
		struct event_ref refs[256];
		size_t n = 0;
		int result = -ENOMEM;

		for (int i = 0; i < RANDOM_BATCHES; i++)
			for (uint32_t j = 0; j < r.batches[i]->event_n; j++)
				refs[n++] = (struct event_ref){r.batches[i], j};
		for (long allowed = 0; result != 0; allowed++) {
			no_memory_stays = round % 2; /* or only the one fails */
			no_memory_after = allowed;
			result = scenario(refs, n);
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
