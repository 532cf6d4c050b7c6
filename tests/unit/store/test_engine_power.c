/* The engine when the power fails, and when the disk does.
 *
 * A scenario of appends, flushes, merges and restarts runs on a file system that records it.  Then
 * the folder is built again as of each moment, as many ways as a power failure can leave it, and
 * opened: every span that was acknowledged is there, once.  The same with each call failing in
 * turn. */
#include "store_t.h"

#include "core/clock.h"
#include "fs_failing.h"
#include "fs_recording.h"

enum { NOTE_ACKED = 1 };

struct scenario {
	char dir[64]; /* the recorded folder; the store is in dir/store */
	struct fs_recording *recording;
	struct fs_failing failing;
	struct store *store;
	uint32_t acked; /* traces 0 … acked - 1, one span each */
};

static void scenario_init(struct scenario *s)
{
	memset(s, 0, sizeof(*s));
	folder_fresh(s->dir);
	s->recording = fs_recording_new(s->dir);
	fs_failing_init(&s->failing, fs_recording_fs(s->recording));
}

static void scenario_done(struct scenario *s)
{
	store_close(s->store);
	fs_recording_free(s->recording);
	folder_remove(s->dir);
}

static int scenario_open(struct scenario *s)
{
	char path[128];
	struct engine_options options = {
		.dir = path, .fs = &s->failing.fs, .manual = true, .wal_file_bytes = 64 << 10};

	snprintf(path, sizeof(path), "%s/store", s->dir);
	return engine_open(&options, &s->store, NULL);
}

/* As a client does: again until it is acknowledged. */
static void add(struct scenario *s)
{
	struct batch *b = batch_for("front", (int64_t)s->acked + 1);
	int r;

	span_add(b, s->acked, s->acked + 1, 0, 1000 + s->acked, 2000);
	if (s->acked > 3) /* and one more for an older trace: it is split */
		span_add(b, s->acked / 2, 1000000 + s->acked, s->acked / 2 + 1, 1500, 1600);
	sealed(b);
	for (int tries = 0; (r = put(s->store, batch_ref(b))) != 0; tries++) {
		assert_true(tries < 1000);
		usleep(1000);
	}
	batch_unref(b);
	s->acked++;
	fs_recording_note(s->recording, NOTE_ACKED, s->acked);
}

/* Spans of a trace after `acked` rounds of add(): its own, and those of later ones. */
static size_t spans_of(uint32_t trace, uint32_t acked)
{
	size_t n = trace < acked;

	for (uint32_t i = 4; i < acked; i++)
		n += i / 2 == trace;
	return n;
}

static size_t rows_of(struct store *s, uint32_t trace)
{
	struct event_set set = {0};
	int r = store_trace(s, trace_of(trace), &set);
	size_t n = set.n;

	assert_true(r == 0 || r == -ENOENT);
	event_set_done(&set);
	return n;
}

/* All that was acknowledged is there once; of what was under way, the next one may be too. */
static void assert_whole(struct store *s, uint32_t acked, bool more)
{
	for (uint32_t i = 0; i <= acked; i++) {
		size_t n = rows_of(s, i);

		if (more && n == spans_of(i, acked + 1))
			continue;
		assert_int_equal(n, spans_of(i, acked));
	}
}

/* Does what may fail until it does not. */
#define UNTIL_DONE(call)                                                                           \
	do {                                                                                       \
		int tries_ = 0;                                                                    \
		while ((call) < 0)                                                                 \
			assert_true(++tries_ < 100);                                               \
	} while (0)

static void scenario_run(struct scenario *s, int rounds)
{
	UNTIL_DONE(scenario_open(s));
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < 4; i++)
			add(s);
		UNTIL_DONE(engine_flush(s->store));
		add(s);
		UNTIL_DONE(engine_flush(s->store));
		add(s);
		UNTIL_DONE(engine_compact(s->store, true));
		s->store = store_close(s->store);
		UNTIL_DONE(scenario_open(s));
		add(s);
	}
	assert_whole(s->store, s->acked, false);
}

/* Opens what is left of it with the ordinary file system. */
static void check_folder(const char *dir, uint32_t acked, bool more)
{
	struct store *s = engine_at(dir, (struct engine_options){0});

	assert_whole(s, acked, more);
	/* And it works: what was left over is in nobody's way. */
	assert_int_equal(engine_flush(s), 0);
	assert_int_equal(engine_compact(s, true), 0);
	assert_whole(s, acked, more);
	store_close(s);
}

static void a_power_failure_at_any_moment_loses_nothing(void **state)
{
	struct scenario s;
	struct rng rng = {7};
	size_t length;

	scenario_init(&s);
	scenario_run(&s, 2);
	s.store = store_close(s.store);
	length = fs_recording_length(s.recording);
	for (size_t n = 0; n <= length; n++) {
		for (int how = 0; how < POWER_FAILURES; how++) {
			char dir[64];

			/* Between syncs, one way is enough. */
			if (n < length && !fs_recording_is_sync(s.recording, n) &&
			    how != POWER_TORN)
				continue;
			folder_fresh(dir);
			rmdir(dir);
			fs_recording_rebuild(s.recording, n, how, &rng, dir);
			check_folder(dir, (uint32_t)fs_recording_noted(s.recording, NOTE_ACKED, n),
				     true);
			folder_remove(dir);
		}
	}
	scenario_done(&s);
}

static void any_call_may_fail_once(void **state)
{
	static const int errors[] = {-ENOSPC, -EIO};
	uint64_t calls;
	struct scenario s;

	scenario_init(&s);
	scenario_run(&s, 1);
	calls = s.failing.calls;
	scenario_done(&s);
	for (uint64_t n = 1; n <= calls; n++) {
		scenario_init(&s);
		s.failing.fail_at = n;
		s.failing.fail_n = 1 + n % 3;
		s.failing.error = errors[n % 2];
		s.failing.half = n % 4 < 2;
		scenario_run(&s, 1);
		s.store = store_close(s.store);
		check_folder(s.dir, s.acked, false);
		scenario_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_power_failure_at_any_moment_loses_nothing),
		cmocka_unit_test(any_call_may_fail_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
