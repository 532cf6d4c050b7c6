/* Every allocation of the log may fail: an error, no leak, and what was acknowledged is there. */
#include "no_memory.h"
#include "store/wal_t.h"

#define BATCHES 4

struct outcome {
	bool acked[BATCHES];
	uint64_t retired;
};

/* Sends a batch that is there already; without memory only the log can fail. */
static int put(struct log *l, struct batch *batch, uint64_t seed, const struct store_cursor *cursor,
	       uint64_t *ret_seq)
{
	struct log_append a = {.log = l};
	int r;

	a.append.batch = batch_ref(batch);
	a.append.has_body_hash = true;
	a.append.cursors = cursor;
	a.append.cursor_n = 1;
	log_hash(seed, a.append.body_hash);
	r = wal_append(l->wal, &a.append);
	if (r < 0) {
		batch_unref(batch);
		return r;
	}
	r = log_wait(&a);
	*ret_seq = a.append.seq;
	return r;
}

static void session(struct log *l, struct batch **batches, struct outcome *o)
{
	const struct store_cursor cursor = {SLICE("reader"), 3};
	struct error error;
	uint64_t seq = 0;

	if (wal_open(&l->options, &l->wal, &error) < 0)
		return;
	for (uint64_t i = 0; i < BATCHES; i++) {
		o->acked[i] = put(l, batches[i], i, &cursor, &seq) == 0;
		if (i == 1 && o->acked[i]) {
			o->retired = seq;
			wal_retire(l->wal, seq); /* may fail: no harm */
		}
	}
	l->wal = wal_close(l->wal);
}

static void without_memory_the_log_refuses_and_keeps_its_word(void **state)
{
	static const enum wal_sync modes[] = {WAL_SYNC_ALWAYS, WAL_SYNC_INTERVAL};
	static struct log l;
	struct batch *batches[BATCHES];

	for (uint64_t i = 0; i < BATCHES; i++)
		batches[i] = log_batch(i, 3);
	for (size_t m = 0; m < ARRAY_SIZE(modes) * 2; m++) {
		bool failed = true;

		for (long n = 0; failed; n++) {
			struct outcome o = {0};

			log_init(&l);
			l.options.sync = modes[m / 2];
			l.options.interval_ns = NS_PER_MS;
			l.options.retry_ns = 1;
			l.options.file_bytes = 4096;
			no_memory_stays = m % 2;
			no_memory_after = n;
			session(&l, batches, &o);
			/* Where it stays it is still 0. */
			failed = no_memory_after < (m % 2 ? 1 : 0);
			no_memory_after = -1;
			no_memory_stays = 0;

			l.options.after_seq = o.retired;
			assert_int_equal(log_open(&l), 0);
			assert_int_equal(l.damaged, 0);
			for (uint64_t i = 0, times; i < BATCHES; i++) {
				times = 0;
				for (size_t k = 0; k < l.read_n; k++)
					times += l.read[k].hash[0] == i;
				assert_true(times <= 1);
				if (o.acked[i] && (i > 1 || o.retired == 0))
					assert_int_equal(times, 1);
			}
			log_done(&l);
		}
	}
	for (uint64_t i = 0; i < BATCHES; i++)
		batch_unref(batches[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_the_log_refuses_and_keeps_its_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
