/* The write-ahead log on an ordinary disk: what goes in comes out, in order, once. */
#include "golden.h"
#include "store/wal_t.h"

static int setup(void **state)
{
	struct log *l = malloc(sizeof(*l));

	assert_non_null(l);
	log_init(l);
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	log_done(*state);
	free(*state);
	return 0;
}

static size_t count_files(struct log *l, const char *suffix)
{
	struct fs_names names;
	size_t n = 0;

	assert_int_equal(fs_list(fs_real(), l->dir, &names), 0);
	for (size_t i = 0; i < names.n; i++)
		n += slice_ends(slice_cstr(names.items[i]), slice_cstr(suffix));
	fs_names_done(&names);
	return n;
}

static void what_was_acknowledged_is_replayed_in_order(void **state)
{
	static const enum wal_sync modes[] = {WAL_SYNC_ALWAYS, WAL_SYNC_INTERVAL, WAL_SYNC_NEVER};
	struct log *l = *state;
	uint64_t expected = 0;

	l->options.interval_ns = NS_PER_MS;
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		l->options.sync = modes[m];
		assert_int_equal(log_open(l), 0);
		assert_int_equal(l->read_n, expected);
		assert_int_equal(wal_last_seq(l->wal), expected);
		for (uint64_t i = 0; i < 20; i++) {
			uint64_t seq;

			assert_int_equal(log_put(l, expected + 1, 1 + i * 3, &seq), 0);
			assert_int_equal(seq, ++expected);
		}
		log_close(l);
	}
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, expected);
	for (uint64_t i = 0; i < expected; i++) {
		assert_int_equal(l->read[i].seq, i + 1);
		log_assert_read(l, i, i + 1, 1 + i % 20 * 3);
	}
	assert_string_equal(l->told, "");
}

static void files_change_when_full_and_a_large_record_gets_its_own(void **state)
{
	struct log *l = *state;

	l->options.file_bytes = 64 << 10;
	assert_int_equal(log_open(l), 0);
	for (uint64_t i = 0; i < 60; i++)
		assert_int_equal(log_put(l, i, i == 30 ? 2000 : 20, NULL), 0);
	assert_true(wal_stats(l->wal).files > 5);
	log_close(l);
	assert_true(count_files(l, ".log") > 5);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, 60);
	for (uint64_t i = 0; i < 60; i++)
		log_assert_read(l, i, i, i == 30 ? 2000 : 20);
	assert_string_equal(l->told, "");
}

static void what_is_elsewhere_is_not_replayed_and_its_files_go(void **state)
{
	struct log *l = *state;
	uint64_t seq;

	l->options.file_bytes = 64 << 10;
	assert_int_equal(log_open(l), 0);
	for (uint64_t i = 1; i <= 50; i++)
		assert_int_equal(log_put(l, i, 20, NULL), 0);
	assert_int_equal(wal_retire(l->wal, 30), 0);
	log_close(l);
	l->options.after_seq = 30;
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, 20);
	log_assert_read(l, 0, 31, 20);
	assert_string_equal(l->told, "");

	assert_int_equal(wal_retire(l->wal, 50), 0);
	assert_int_equal(count_files(l, ".log"), 0);
	assert_int_equal(wal_stats(l->wal).files, 0);
	log_close(l);
	l->options.after_seq = 50; /* what the manifest would say */
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, 0);
	assert_int_equal(log_put(l, 51, 5, &seq), 0);
	assert_int_equal(seq, 51);
	assert_int_equal(wal_retire(l->wal, 51), 0); /* the one being written goes too */
	assert_int_equal(count_files(l, ".log"), 0);
	assert_int_equal(log_put(l, 52, 5, &seq), 0);
	assert_int_equal(seq, 52);
}

struct hashes {
	uint64_t seeds[256];
	size_t n;
};

static void note_hash(void *context, const uint8_t hash[16], int64_t received_ns)
{
	struct hashes *h = context;

	assert_true(h->n < ARRAY_SIZE(h->seeds));
	memcpy(&h->seeds[h->n++], hash, 8);
}

static struct hashes recent(struct log *l, int64_t since)
{
	struct hashes h = {0};
	bool seen[256] = {0};

	assert_int_equal(wal_recent(l->wal, since, note_hash, &h), 0);
	for (size_t i = 0; i < h.n; i++) {
		assert_true(h.seeds[i] < 256);
		assert_false(seen[h.seeds[i]]);
		seen[h.seeds[i]] = true;
	}
	return h;
}

static void hashes_outlive_their_files_for_a_while(void **state)
{
	struct log *l = *state;
	int64_t before = clock_wall_ns();
	uint64_t seed;

	l->options.file_bytes = 64 << 10;
	assert_int_equal(log_open(l), 0);
	for (uint64_t i = 1; i <= 50; i++)
		assert_int_equal(log_put(l, i, 20, NULL), 0);
	assert_int_equal(recent(l, before).n, 50);
	assert_int_equal(wal_retire(l->wal, 50), 0);
	assert_int_equal(recent(l, before).n, 50);
	assert_int_equal(recent(l, clock_wall_ns()).n, 0);
	seed = wal_hash_seed(l->wal);
	log_close(l);
	assert_true(count_files(l, ".seen") > 0);

	l->options.after_seq = 50;
	assert_int_equal(log_open(l), 0);
	assert_int_equal(wal_hash_seed(l->wal), seed);
	assert_int_equal(recent(l, before).n, 50);
	log_close(l);

	l->options.dedup_ns = 1;
	assert_int_equal(log_open(l), 0);
	assert_int_equal(wal_retire(l->wal, 50), 0);
	assert_int_equal(count_files(l, ".seen"), 0);
	assert_int_equal(recent(l, before).n, 0);
}

static void a_cursor_is_committed_with_its_batch_or_alone(void **state)
{
	struct log *l = *state;
	char name[256];
	const struct store_cursor cursors[] = {{SLICE("features"), 41}, {SLICE(""), 7}};
	const struct store_cursor longest = {slice_of(name, 255), UINT64_MAX - 2};
	struct log_append a = {.log = l};

	memset(name, 'x', sizeof(name));
	assert_int_equal(log_open(l), 0);
	a.append.batch = log_batch(1, 3);
	a.append.cursors = cursors;
	a.append.cursor_n = 2;
	assert_int_equal(wal_append(l->wal, &a.append), 0);
	assert_int_equal(log_wait(&a), 0);
	a = (struct log_append){.log = l, .append = {.cursors = &longest, .cursor_n = 1}};
	assert_int_equal(wal_append(l->wal, &a.append), 0);
	assert_int_equal(log_wait(&a), 0);
	a = (struct log_append){
		.log = l,
		.append = {.cursors = &(struct store_cursor){slice_of(name, 256), 1},
			   .cursor_n = 1}};
	assert_int_equal(wal_append(l->wal, &a.append), -E2BIG);
	log_close(l);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, 2);
	assert_int_equal(l->read[0].cursor_n, 2);
	assert_int_equal(l->read[0].cursor_seq, 41);
	assert_string_equal(l->read[0].cursor_name, "features");
	assert_non_null(l->read[0].batch);
	assert_false(l->read[0].has_hash);
	assert_null(l->read[1].batch);
	assert_true(l->read[1].cursor_seq == UINT64_MAX - 2);
	assert_memory_equal(l->read[1].cursor_name, name, 255);
}

static void what_the_head_refuses_is_not_written(void **state)
{
	struct log *l = *state;
	uint64_t seq;

	assert_int_equal(log_open(l), 0);
	assert_int_equal(log_put(l, 1, 3, NULL), 0);
	l->refuse = -ENOBUFS;
	assert_int_equal(log_put(l, 2, 3, &seq), -ENOBUFS);
	assert_int_equal(seq, 0);
	l->refuse = 0;
	assert_int_equal(log_put(l, 3, 3, &seq), 0);
	assert_int_equal(seq, 2);
	log_close(l);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, 2);
	log_assert_read(l, 1, 3, 3);
}

static void many_at_once_share_their_syncs(void **state)
{
	struct log *l = *state;
	static struct log_append appends[1000];
	struct wal_stats stats;

	l->options.queue_count = ARRAY_SIZE(appends);
	assert_int_equal(log_open(l), 0);
	for (size_t i = 0; i < ARRAY_SIZE(appends); i++)
		assert_int_equal(log_submit(l, &appends[i], i, 2), 0);
	for (size_t i = 0; i < ARRAY_SIZE(appends); i++)
		assert_int_equal(log_wait(&appends[i]), 0);
	stats = wal_stats(l->wal);
	assert_int_equal(stats.records, ARRAY_SIZE(appends));
	assert_true(stats.groups < ARRAY_SIZE(appends));
	assert_int_equal(stats.queued_bytes, 0);
	log_close(l);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, ARRAY_SIZE(appends));
}

static void a_full_queue_refuses_and_says_so(void **state)
{
	struct log *l = *state;
	static struct log_append appends[100];
	size_t refused = 0;

	l->options.queue_count = 4;
	assert_int_equal(log_open(l), 0);
	for (size_t i = 0; i < ARRAY_SIZE(appends); i++) {
		int r = log_submit(l, &appends[i], i, 2);

		assert_true(r == 0 || r == -ENOBUFS);
		refused += r < 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(appends); i++)
		assert_int_equal(log_wait(&appends[i]), appends[i].result);
	assert_int_equal(wal_stats(l->wal).refused, refused);
	log_close(l);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, ARRAY_SIZE(appends) - refused);
}

static void closing_writes_what_is_queued(void **state)
{
	struct log *l = *state;
	static struct log_append appends[200];

	assert_int_equal(log_open(l), 0);
	for (size_t i = 0; i < ARRAY_SIZE(appends); i++)
		assert_int_equal(log_submit(l, &appends[i], i, 2), 0);
	log_close(l);
	for (size_t i = 0; i < ARRAY_SIZE(appends); i++)
		assert_int_equal(log_wait(&appends[i]), 0);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, ARRAY_SIZE(appends));
}

struct sender {
	struct log *log;
	pthread_t thread;
	uint64_t first;
};

static void *send(void *context)
{
	struct sender *s = context;

	for (uint64_t i = 0; i < 50; i++)
		assert_int_equal(log_put(s->log, s->first + i, 3, NULL), 0);
	return NULL;
}

static void several_threads_append_while_another_retires(void **state)
{
	struct log *l = *state;
	struct sender senders[4];
	bool seen[200] = {0};

	l->options.file_bytes = 32 << 10;
	l->options.sync = WAL_SYNC_INTERVAL;
	l->options.interval_ns = NS_PER_MS;
	assert_int_equal(log_open(l), 0);
	for (size_t i = 0; i < ARRAY_SIZE(senders); i++) {
		senders[i] = (struct sender){.log = l, .first = i * 50};
		assert_int_equal(pthread_create(&senders[i].thread, NULL, send, &senders[i]), 0);
	}
	for (int i = 0; i < 20; i++) {
		assert_int_equal(wal_retire(l->wal, wal_last_seq(l->wal)), 0);
		wal_stats(l->wal);
		recent(l, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(senders); i++)
		pthread_join(senders[i].thread, NULL);
	struct hashes h = recent(l, 0);
	for (size_t i = 0; i < h.n; i++)
		seen[h.seeds[i]] = true;
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		assert_true(seen[i]);
}

/* What the golden log holds: every kind of value, a point, a link, an extra, a place. */
static struct batch *golden_batch(void)
{
	struct batch *b = batch_new(0);
	struct event *e;
	struct attr list;

	assert_non_null(b);
	assert_int_equal(batch_resource(b), 0);
	batch_attr_string(b, SLICE("service.name"), SLICE("shop"));
	b->resources[0].attrs = (struct attr_range){0, 1};
	b->resources[0].schema_url = batch_string(b, SLICE("https://example.org/schema"));
	assert_int_equal(batch_scope(b), 0);
	b->scopes[0].name = batch_string(b, SLICE("scope"));
	b->scopes[0].version = batch_string(b, SLICE("1.2"));
	e = batch_event(b);
	e->trace_id = (struct trace_id){{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
	e->id1 = 0x1122334455667788;
	e->time_ns = 1700000000000000000;
	e->end_ns = 1700000000000001000;
	e->name = batch_string(b, SLICE("GET /cart"));
	e->kind = KIND_SERVER;
	e->status = STATUS_ERROR;
	e->attrs = (struct attr_range){(uint32_t)b->attr_n, 5};
	batch_attr_string(b, SLICE("http.route"), SLICE("/cart"));
	batch_attr_int(b, SLICE("size"), -5);
	batch_attr_bool(b, SLICE("cached"), true);
	batch_attr_double(b, SLICE("load"), 0.25);
	list = batch_list(b, VALUE_ARRAY, (struct value_range){batch_nested(b, 2), 2});
	list.key = batch_string(b, SLICE("list"));
	batch_attr(b, list);
	b->nested[0] = batch_int(b, INT64_MAX);
	b->nested[1] = (struct attr){.type = VALUE_STRING, .string = batch_string(b, SLICE("x"))};
	batch_extra(b, 0)->status_message = batch_string(b, SLICE("no stock"));
	e = batch_event(b);
	*e = b->events[0];
	e->type = EVENT_POINT;
	e->extra = 0;
	e->attrs = (struct attr_range){0};
	e = batch_event(b);
	*e = b->events[1];
	e->type = EVENT_LINK;
	batch_place(b, 1, (struct event_place){0x77, 5});
	batch_extra(b, 2)->link_trace = (struct trace_id){{0xff}};
	b->owner = batch_string(b, SLICE("local"));
	b->received_ns = 1700000000000002000;
	b->kept_threshold = (uint64_t)3 << 54;
	assert_int_equal(batch_seal(b), 0);
	return b;
}

/* A log of version 1: a batch with a hash, a cursor alone, both in one.  GOLDEN_WRITE=FILE makes it
 * anew, for a new version. */
static void a_log_of_version_1_stays_readable(void **state)
{
	struct log *l = *state;
	const struct store_cursor cursor = {SLICE("features"), 1};
	struct buffer bytes = {0};
	struct batch *b = golden_batch();
	_cleanup_(freep)
	char *path = fs_path(l->dir, "wal-0000000000000001.log");
	const char *to = getenv("GOLDEN_WRITE");
	uint8_t hash[16];
	int fd;

	log_hash(1, hash);
	if (to) {
		struct log_append a;
		size_t n;

		assert_int_equal(log_open(l), 0);
		for (int i = 0; i < 3; i++) {
			a = (struct log_append){.log = l};
			a.append.batch = i == 1 ? NULL : batch_ref(b);
			a.append.cursors = &cursor;
			a.append.cursor_n = i > 0;
			a.append.has_body_hash = i == 0;
			memcpy(a.append.body_hash, hash, 16);
			assert_int_equal(wal_append(l->wal, &a.append), 0);
			assert_int_equal(log_wait(&a), 0);
		}
		log_close(l);
		assert_int_equal(fs_load(fs_real(), path, SIZE_MAX, &bytes.p, &n), 0);
		fd = fs_open(fs_real(), to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		assert_int_equal(fs_write_all(fs_real(), fd, bytes.p, n, 0), 0);
		fs_close(fs_real(), fd);
		bytes.n = n;
	} else {
		assert_true(golden_load("wal/1.log", &bytes));
		fd = fs_open(fs_real(), path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		assert_true(fd >= 0);
		assert_int_equal(fs_write_all(fs_real(), fd, bytes.p, bytes.n, 0), 0);
		fs_close(fs_real(), fd);
	}
	assert_int_equal(log_open(l), 0);
	assert_string_equal(l->told, "");
	assert_int_equal(l->read_n, 3);
	assert_batch_equal(l->read[0].batch, b);
	assert_int_equal(l->read[0].batch->received_ns, b->received_ns);
	assert_int_equal(l->read[0].batch->kept_threshold, b->kept_threshold);
	assert_text(batch_text(l->read[0].batch, l->read[0].batch->owner), "local");
	assert_memory_equal(l->read[0].hash, hash, 16);
	assert_null(l->read[1].batch);
	assert_string_equal(l->read[1].cursor_name, "features");
	assert_int_equal(l->read[1].cursor_seq, 1);
	assert_batch_equal(l->read[2].batch, b);
	assert_int_equal(l->read[2].cursor_n, 1);
	batch_unref(b);
	buffer_done(&bytes);
}

/* Whatever the checks of the record say. */
static void spoil(struct batch *b, int how)
{
	const struct attr beyond = {.type = VALUE_INT, .word = ATTR_WIDE | (uint32_t)b->wide_n};
	struct attr *values = b->attrs + b->events[0].attrs.first;

	switch (how) {
	case 1:
		values[1].word = beyond.word;
		break;
	case 2:
		values[2].word = 2;
		break;
	case 3:
		values[2].word = values[1].word; /* which is wide: no truth */
		break;
	case 4:
		b->wides[values[4].word - ATTR_WIDE] = 3ULL << 32; /* of two */
		break;
	case 5:
		b->nested[1] = values[4]; /* which it is in */
		break;
	case 6:
		b->nested[1] = beyond;
		break;
	case 7:
		b->extras[1].body = beyond;
		break;
	case 8:
		b->resources[0].entities = beyond;
		break;
	}
}

static void batches_with_indices_out_of_them_are_not_read(void **state)
{
	struct log *l = *state;

	for (int how = 0; how < 9; how++) {
		struct log_append a = {.log = l};

		a.append.batch = golden_batch();
		spoil(a.append.batch, how);
		assert_int_equal(log_open(l), 0);
		assert_int_equal(wal_append(l->wal, &a.append), 0);
		assert_int_equal(log_wait(&a), 0);
		log_close(l);
		assert_int_equal(log_open(l), 0);
		assert_int_equal(l->read_n, how == 0);
		assert_int_equal(l->told[0] == '\0', how == 0);
		log_close(l);
		log_forget(l);
		folder_remove(l->dir);
		assert_int_equal(fs_mkdir(fs_real(), l->dir, 0700), 0);
	}
}

#define LOG(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG(what_was_acknowledged_is_replayed_in_order),
		LOG(files_change_when_full_and_a_large_record_gets_its_own),
		LOG(what_is_elsewhere_is_not_replayed_and_its_files_go),
		LOG(hashes_outlive_their_files_for_a_while),
		LOG(a_cursor_is_committed_with_its_batch_or_alone),
		LOG(what_the_head_refuses_is_not_written),
		LOG(many_at_once_share_their_syncs),
		LOG(a_full_queue_refuses_and_says_so),
		LOG(closing_writes_what_is_queued),
		LOG(a_log_of_version_1_stays_readable),
		LOG(batches_with_indices_out_of_them_are_not_read),
		LOG(several_threads_append_while_another_retires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
