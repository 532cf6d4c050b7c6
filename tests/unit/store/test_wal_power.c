/* The log when the power fails, when the disk fails, and when one fails after the other.
 *
 * A scenario runs on a file system that records it.  Then the folder is built again as of many
 * moments, as many ways as a power failure can leave it, and opened: what was acknowledged is
 * there, once, in order, and nothing is called damaged that is not. */
#include "fs_failing.h"
#include "fs_recording.h"
#include "store/wal_t.h"

#define REQUESTS 40

/* The thread sanitizer looks for races, which do not depend on the moment the power fails. */
#ifdef __SANITIZE_THREAD__
#define FEWER 6
#else
#define FEWER 1
#endif

enum { NOTE_ACKED = 1, NOTE_RETIRED = 2 };

struct scenario {
	struct log log;
	struct fs_recording *recording;
	struct fs_failing failing;
	bool may_lose;             /* and say so: power and disk fail, and syncs are rare */
	bool may_forget;           /* hashes of what has retired: there was no room for them */
	uint64_t seq_of[REQUESTS]; /* of each request, once acknowledged; 0 before */
	size_t acked;              /* requests 0 … acked - 1 are acknowledged */
	int tries;
};

static void scenario_init(struct scenario *s, enum wal_sync sync)
{
	memset(s, 0, sizeof(*s));
	log_init(&s->log);
	s->recording = fs_recording_new(s->log.dir);
	fs_failing_init(&s->failing, fs_recording_fs(s->recording));
	s->log.options.fs = &s->failing.fs;
	s->log.options.file_bytes = 24 << 10;
	s->log.options.sync = sync;
	s->log.options.interval_ns = sync == WAL_SYNC_INTERVAL ? 300 * NS_PER_US : 0;
	s->log.options.retry_ns = NS_PER_MS / 10;
}

static void scenario_done(struct scenario *s)
{
	log_done(&s->log);
	fs_recording_free(s->recording);
}

static size_t rows_of(uint64_t request)
{
	return request == 20 ? 120 : 1 + request % 5;
}

/* Sends requests from … to - 1 at once, and again those that were refused, until all are
 * acknowledged: what a client does. */
static void send_all(struct scenario *s, size_t from, size_t to)
{
	struct log_append appends[REQUESTS];

	for (size_t missing = to - from; missing > 0; s->tries++) {
		assert_true(s->tries < 100000);
		for (size_t i = from; i < to; i++)
			if (s->seq_of[i] == 0)
				log_submit(&s->log, &appends[i], i, rows_of(i));
		for (size_t i = from; i < to; i++)
			if (s->seq_of[i] == 0 && log_wait(&appends[i]) == 0) {
				s->seq_of[i] = appends[i].append.seq;
				missing--;
			}
		if (missing > 0)
			usleep(200);
	}
	/* All requests before are acknowledged too, so the count says it all. */
	s->acked = to;
	fs_recording_note(s->recording, NOTE_ACKED, to);
}

/* Requests one by one and in groups, over several files, with a retirement and a restart. */
static void scenario_run(struct scenario *s)
{
	struct log *l = &s->log;
	size_t half = REQUESTS / 2;
	uint64_t retired;

	assert_int_equal(log_open(l), 0);
	for (size_t i = 0; i < half; i += 1 + i % 4)
		send_all(s, i, MIN(i + 1 + i % 4, half));
	retired = s->seq_of[10]; /* the manifest would say so first, durably */
	fs_recording_note(s->recording, NOTE_RETIRED, retired);
	wal_retire(l->wal, retired); /* may fail: no harm */
	log_close(l);
	l->options.after_seq = retired;
	assert_int_equal(log_open(l), 0);
	for (size_t i = half; i < REQUESTS; i += 3)
		send_all(s, i, MIN(i + 3, (size_t)REQUESTS));
	log_close(l);
}

static void note_seen(void *context, const uint8_t hash[16], int64_t received_ns)
{
	bool *seen = context;
	uint64_t seed;

	memcpy(&seed, hash, 8);
	assert_true(seed < REQUESTS);
	seen[seed] = true;
}

/* Opens what is left.  Every request is there at most once; those below `acked` with numbers above
 * `after` once, under their number; bodies of all of them are known; nothing is damaged. */
static void check_folder(struct scenario *s, struct log *l, uint64_t after, size_t acked)
{
	size_t times[REQUESTS] = {0};
	bool seen[REQUESTS] = {0};
	uint64_t last = after, seq;

	l->options.after_seq = after;
	assert_int_equal(log_open(l), 0);
	if (l->unreadable || (l->damaged && !s->may_lose))
		fail_msg("called damaged: %s", l->told);
	for (size_t i = 0; i < l->read_n; i++) {
		uint64_t request;

		memcpy(&request, l->read[i].hash, 8);
		assert_true(request < REQUESTS);
		assert_true(l->read[i].seq > last);
		last = l->read[i].seq;
		log_assert_read(l, i, request, rows_of(request));
		times[request]++;
		if (request < acked)
			assert_int_equal(l->read[i].seq, s->seq_of[request]);
	}
	assert_int_equal(wal_recent(l->wal, 0, note_seen, seen), 0);
	for (size_t i = 0; i < REQUESTS; i++) {
		assert_true(times[i] <= 1);
		if (i < acked && s->seq_of[i] > after)
			assert_int_equal(times[i], 1);
		if (times[i] || (i < acked && !s->may_forget))
			assert_true(seen[i]);
	}
	/* And it goes on from here. */
	assert_int_equal(log_put(l, 1000, 2, &seq), 0);
	assert_true(seq > last);
	last = l->read_n;
	log_close(l);
	assert_int_equal(log_open(l), 0);
	if (l->unreadable || l->cut || (l->damaged && !s->may_lose))
		fail_msg("after a restart: %s", l->told);
	assert_int_equal(l->read_n, last + 1);
	log_assert_read(l, last, 1000, 2);
	log_close(l);
}

/* The power fails after the first n entries of the journal. */
static void check_moment(struct scenario *s, size_t n, enum power_failure how, struct rng *rng,
			 bool exact)
{
	static struct log l;
	uint64_t after = fs_recording_noted(s->recording, NOTE_RETIRED, n);
	size_t acked = (size_t)fs_recording_noted(s->recording, NOTE_ACKED, n);

	log_init(&l);
	rmdir(l.dir);
	fs_recording_rebuild(s->recording, n, how, rng, l.dir);
	l.options.file_bytes = s->log.options.file_bytes;
	check_folder(s, &l, after, exact ? acked : 0);
	log_done(&l);
}

/* Right before and behind each sync in every way; elsewhere, where only what is pending differs,
 * torn. */
static bool worth_it(struct scenario *s, size_t i, enum power_failure how)
{
	size_t n = fs_recording_length(s->recording);

	return how == POWER_TORN || (i < n && fs_recording_is_sync(s->recording, i)) ||
	       (i > 0 && fs_recording_is_sync(s->recording, i - 1)) || i == n;
}

static void nothing_acknowledged_is_lost_when_the_power_fails(void **state)
{
	static struct scenario s;
	struct rng rng = {7};
	size_t n;

	scenario_init(&s, WAL_SYNC_ALWAYS);
	scenario_run(&s);
	n = fs_recording_length(s.recording);
	assert_true(n > 100);
	for (size_t i = 0; i <= n; i += FEWER)
		for (enum power_failure how = 0; how < POWER_FAILURES; how++)
			if (worth_it(&s, i, how))
				check_moment(&s, i, how, &rng, true);
	scenario_done(&s);
}

static void a_kill_loses_nothing_even_when_syncs_are_rare(void **state)
{
	static const enum wal_sync modes[] = {WAL_SYNC_INTERVAL, WAL_SYNC_NEVER};
	static struct scenario s;
	struct rng rng = {8};

	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		scenario_init(&s, modes[m]);
		scenario_run(&s);
		for (size_t i = 0; i <= fs_recording_length(s.recording); i += 3 * FEWER)
			check_moment(&s, i, POWER_ALL_PENDING, &rng, true);
		scenario_done(&s);
	}
}

/* With syncs now and then the newest may be gone, but what is left is a whole log. */
static void an_interval_leaves_a_beginning_without_gaps(void **state)
{
	static struct scenario s;
	struct rng rng = {9};

	scenario_init(&s, WAL_SYNC_INTERVAL);
	scenario_run(&s);
	for (size_t i = 0; i <= fs_recording_length(s.recording); i += 3 * FEWER)
		for (enum power_failure how = 0; how < POWER_FAILURES; how++)
			check_moment(&s, i, how, &rng, false);
	scenario_done(&s);
}

static const struct {
	int error;
	bool half;
	uint64_t n; /* calls that fail */
} failures[] = {{-EIO, true, 1}, {-ENOSPC, false, 3}, {-EROFS, true, 7}};

/* One call fails, or some in a row, each in turn; the client sends again what was refused. */
static void whatever_call_fails_everything_is_kept_once(void **state)
{
	static const enum wal_sync modes[] = {WAL_SYNC_ALWAYS, WAL_SYNC_INTERVAL};
	static struct scenario s;
	struct rng rng = {10};

	for (size_t m = 0; m < ARRAY_SIZE(modes) * ARRAY_SIZE(failures); m++) {
		size_t f = m / ARRAY_SIZE(modes);
		bool reached = true;

		for (uint64_t call = 1; reached; call += FEWER + call / 12) {
			size_t n;

			scenario_init(&s, modes[m % ARRAY_SIZE(modes)]);
			s.failing.fail_at = call;
			s.failing.fail_n = failures[f].n;
			s.failing.error = failures[f].error;
			s.failing.half = failures[f].half;
			s.may_forget = failures[f].error == -ENOSPC;
			scenario_run(&s);
			reached = s.failing.failed > 0;
			n = fs_recording_length(s.recording);
			check_moment(&s, n, POWER_ALL_PENDING, &rng, true);
			s.may_lose = s.log.options.sync == WAL_SYNC_INTERVAL;
			check_moment(&s, n, POWER_NOTHING_PENDING, &rng, !s.may_lose);
			check_moment(&s, rng_below(&rng, n), POWER_TORN, &rng, !s.may_lose);
			check_moment(&s, rng_below(&rng, n), POWER_BYTES_ONLY, &rng, !s.may_lose);
			scenario_done(&s);
		}
	}
}

/* A sync that fails takes back what was written: the kernel has thrown the pages away.  Every
 * moment after it, with every way of losing power. */
static void a_failed_sync_never_lets_its_leavings_count_twice(void **state)
{
	static struct scenario s;
	struct rng rng = {11};

	for (uint64_t call = 12; call < 30; call += 7) {
		scenario_init(&s, WAL_SYNC_ALWAYS);
		s.failing.fail_at = call;
		scenario_run(&s);
		for (size_t i = call; i <= fs_recording_length(s.recording); i += 5 * FEWER)
			for (enum power_failure how = 0; how < POWER_FAILURES; how++)
				check_moment(&s, i, how, &rng, true);
		scenario_done(&s);
	}
}

/* Full or read-only for long: appends are refused with the reason, reading goes on, and all is well
 * by itself when it is over. */
static void a_full_disk_is_told_and_left_behind(void **state)
{
	static const int errors[] = {-ENOSPC, -EROFS, -EIO};
	static struct scenario s;

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct log *l = &s.log;
		size_t refused = 0;

		scenario_init(&s, WAL_SYNC_ALWAYS);
		assert_int_equal(log_open(l), 0);
		send_all(&s, 0, 5);
		s.failing.error = errors[i];
		s.failing.fail_n = UINT64_MAX;
		s.failing.fail_at = 1;
		for (int k = 0; k < 50; k++) {
			int r = log_put(l, 500, 2, NULL);

			assert_int_equal(r, errors[i]);
			refused++;
			usleep(100);
		}
		assert_int_equal(wal_stats(l->wal).error, errors[i]);
		assert_int_equal(wal_stats(l->wal).refused, refused);
		assert_int_equal(wal_last_seq(l->wal), s.seq_of[4]);
		s.failing.fail_at = 0;
		send_all(&s, 5, 10);
		assert_int_equal(wal_stats(l->wal).error, 0);
		log_close(l);
		check_folder(&s, l, 0, 10);
		scenario_done(&s);
	}
}

/* A disk that cannot even be written when the log is opened. */
static void a_log_opens_on_a_disk_that_cannot_be_written(void **state)
{
	static struct scenario s;

	scenario_init(&s, WAL_SYNC_ALWAYS);
	assert_int_equal(log_open(&s.log), 0);
	send_all(&s, 0, 5);
	log_close(&s.log);
	s.failing.error = -EROFS;
	s.failing.fail_n = UINT64_MAX;
	s.failing.fail_at = 1;
	assert_int_equal(log_open(&s.log), 0);
	assert_int_equal(s.log.read_n, 5);
	assert_int_equal(log_put(&s.log, 500, 2, NULL), -EROFS);
	s.failing.fail_at = 0;
	send_all(&s, 5, 6);
	log_close(&s.log);
	check_folder(&s, &s.log, 0, 6);
	scenario_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_acknowledged_is_lost_when_the_power_fails),
		cmocka_unit_test(a_kill_loses_nothing_even_when_syncs_are_rare),
		cmocka_unit_test(an_interval_leaves_a_beginning_without_gaps),
		cmocka_unit_test(whatever_call_fails_everything_is_kept_once),
		cmocka_unit_test(a_failed_sync_never_lets_its_leavings_count_twice),
		cmocka_unit_test(a_full_disk_is_told_and_left_behind),
		cmocka_unit_test(a_log_opens_on_a_disk_that_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
