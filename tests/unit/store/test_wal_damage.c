/* The log after its bytes were changed behind its back: ends torn off at any byte, bits flipped
 * anywhere, files gone, files that are no log files. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/wal_t.h"

#define RECORDS       12
#define RECORD_HEADER 144 /* bytes: docs/format/wal.md */

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

/* The bytes of the log files, to be put back and changed. */
struct files {
	char *paths[16], *bytes[16];
	size_t sizes[16], n;
};

static void files_load(struct log *l, struct files *f)
{
	struct fs_names names;

	f->n = 0;
	assert_int_equal(fs_list(fs_real(), l->dir, &names), 0);
	for (size_t i = 0; i < names.n; i++) {
		assert_true(f->n < ARRAY_SIZE(f->paths));
		f->paths[f->n] = fs_path(l->dir, names.items[i]);
		assert_int_equal(fs_load(fs_real(), f->paths[f->n], SIZE_MAX, &f->bytes[f->n],
					 &f->sizes[f->n]),
				 0);
		f->n++;
	}
	fs_names_done(&names);
}

static void put_file(const char *path, const char *bytes, size_t n)
{
	int fd = fs_open(fs_real(), path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fs_real(), fd, bytes, n, 0), 0);
	fs_close(fs_real(), fd);
}

/* The folder as it was. */
static void files_restore(struct log *l, const struct files *f)
{
	folder_remove(l->dir);
	assert_int_equal(fs_mkdir(fs_real(), l->dir, 0700), 0);
	for (size_t i = 0; i < f->n; i++)
		put_file(f->paths[i], f->bytes[i], f->sizes[i]);
}

static void files_done(struct files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->paths[i]);
		free(f->bytes[i]);
	}
}

/* RECORDS records in several files, or in one. */
static void fill(struct log *l, size_t file_bytes, struct files *ret_files)
{
	l->options.file_bytes = file_bytes;
	assert_int_equal(log_open(l), 0);
	for (uint64_t i = 0; i < RECORDS; i++)
		assert_int_equal(log_put(l, i, 2, NULL), 0);
	log_close(l);
	files_load(l, ret_files);
}

static void an_end_torn_off_at_any_byte_costs_only_the_last_record(void **state)
{
	struct log *l = *state;
	struct files f;
	size_t end, last;

	fill(l, 1 << 20, &f);
	assert_int_equal(f.n, 1);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, RECORDS);
	log_close(l);
	/* Where does the last record begin?  Cut byte by byte until it is gone. */
	end = f.sizes[0];
	for (last = end - 1;; last--) {
		put_file(f.paths[0], f.bytes[0], last);
		assert_int_equal(log_open(l), 0);
		log_close(l);
		if (l->read_n < RECORDS - 1)
			break;
		assert_int_equal(l->read_n, RECORDS - 1);
		for (size_t i = 0; i < l->read_n; i += 5)
			log_assert_read(l, i, i, 2);
		assert_int_equal(l->damaged, 0);
		if (l->cut == 0) {
			last++; /* exactly there */
			break;
		}
	}
	assert_true(end - last > 128);
	assert_int_equal((last - 1) % 8, 0);
	/* The same with zeros behind, as of a file that was allocated in advance. */
	for (size_t cut = last + 3; cut < end; cut += 7) {
		char *bytes = calloc(1, end + 5000);

		assert_non_null(bytes);
		memcpy(bytes, f.bytes[0], cut);
		put_file(f.paths[0], bytes, end + 5000);
		free(bytes);
		assert_int_equal(log_open(l), 0);
		assert_true(l->read_n == RECORDS - 1 || (l->read_n == RECORDS && cut > end - 8));
		assert_int_equal(l->damaged, 0);
		assert_int_equal(l->cut, l->read_n == RECORDS ? 0 : 1);
		log_close(l);
		assert_int_equal(log_open(l), 0); /* it was cut off */
		assert_string_equal(l->told, "");
		log_close(l);
	}
	files_done(&f);
}

/* Is what was read a part of what was written, in order? */
static size_t assert_subset(struct log *l)
{
	uint64_t last = 0;

	for (size_t i = 0; i < l->read_n; i++) {
		uint64_t seq = l->read[i].seq;

		assert_true(seq > last && seq <= RECORDS);
		log_assert_read(l, i, seq - 1, 2);
		last = seq;
	}
	return l->read_n;
}

static void a_flipped_bit_costs_one_record_and_is_told(void **state)
{
	struct log *l = *state;
	struct rng rng = {3};
	struct files f;

	fill(l, 8 << 10, &f);
	assert_true(f.n >= 3);
	for (int round = 0; round < 400; round++) {
		size_t file = rng_below(&rng, f.n), at = rng_below(&rng, f.sizes[file]);
		char bit = (char)(1 << rng_below(&rng, 8));
		bool newest;

		files_restore(l, &f);
		f.bytes[file][at] ^= bit;
		put_file(f.paths[file], f.bytes[file], f.sizes[file]);
		f.bytes[file][at] ^= bit;
		assert_int_equal(log_open(l), 0);
		newest = assert_subset(l) == RECORDS - 1 &&
			 l->read[l->read_n - 1].seq == RECORDS - 1;
		assert_true(l->read_n >= RECORDS - 1);
		assert_int_equal(l->read_n == RECORDS ? 0 : 1, RECORDS - l->read_n);
		/* Only the newest record may pass for one that was never durable. */
		if (l->read_n < RECORDS || at < 64)
			assert_true(l->damaged > 0 || (newest && l->cut > 0));
		log_close(l);
	}
	files_done(&f);
}

static void bits_flipped_all_over_leave_what_is_whole(void **state)
{
	struct log *l = *state;
	struct rng rng = {4};
	struct files f;

	fill(l, 8 << 10, &f);
	for (int round = 0; round < 200; round++) {
		size_t flips = 1 + rng_below(&rng, 60);

		files_restore(l, &f);
		for (size_t i = 0; i < f.n; i++) {
			char *bytes = malloc(f.sizes[i] + 1);

			assert_non_null(bytes);
			memcpy(bytes, f.bytes[i], f.sizes[i]);
			for (size_t k = 0; k < flips; k++)
				bytes[rng_below(&rng, f.sizes[i])] ^=
					(char)(1 << rng_below(&rng, 8));
			put_file(f.paths[i], bytes, f.sizes[i]);
			free(bytes);
		}
		assert_int_equal(log_open(l), 0);
		assert_subset(l);
		assert_true(l->damaged + l->cut > 0);
		assert_int_equal(log_put(l, 77, 2, NULL), 0); /* and it goes on */
		log_close(l);
	}
	files_done(&f);
}

static void a_missing_file_is_told(void **state)
{
	struct log *l = *state;
	struct files f;

	fill(l, 8 << 10, &f);
	assert_true(f.n >= 3);
	for (size_t gone = 0; gone + 1 < f.n; gone++) {
		files_restore(l, &f);
		assert_int_equal(fs_unlink(fs_real(), f.paths[gone]), 0);
		assert_int_equal(log_open(l), 0);
		assert_subset(l);
		assert_true(l->read_n < RECORDS);
		assert_int_equal(l->damaged, 1);
		log_close(l);
	}
	files_done(&f);
}

static void a_damaged_file_is_set_aside_when_it_retires(void **state)
{
	struct log *l = *state;
	struct files f;
	_cleanup_(freep)
	char *aside = NULL;
	struct fs_names names;

	fill(l, 8 << 10, &f);
	f.bytes[0][300] ^= 1;
	put_file(f.paths[0], f.bytes[0], f.sizes[0]);
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, RECORDS - 1);
	assert_int_equal(wal_retire(l->wal, RECORDS), 0);
	log_close(l);
	aside = fs_path(l->dir, "set-aside");
	assert_int_equal(fs_list(fs_real(), aside, &names), 0);
	assert_int_equal(names.n, 1);
	assert_string_equal(names.items[0], "wal-0000000000000001.log");
	fs_names_done(&names);
	l->options.after_seq = RECORDS;
	assert_int_equal(log_open(l), 0);
	assert_int_equal(l->read_n, 0);
	assert_string_equal(l->told, "");
	files_done(&f);
}

static void strangers_in_the_folder_do_no_harm(void **state)
{
	static const struct {
		const char *name, *bytes;
		size_t n;
	} strangers[] = {
		{"wal-0000000000000001.log", "", 0},
		{"wal-0000000000000001.log", "hello", 5},
		{"wal-00000000000000ff.log", "\0\0\0\0", 4},
		{"wal-.log", "x", 1},
		{"wal-000000000000000G.log", "x", 1},
		{"wal-0000000000000003.seen", "rubbish", 7},
		{"wal-0000000000000002.seen.tmp", "x", 1},
		{"notes.txt", "x", 1},
	};
	struct log *l = *state;

	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		_cleanup_(freep)
		char *path = fs_path(l->dir, strangers[i].name);

		put_file(path, strangers[i].bytes, strangers[i].n);
		assert_int_equal(log_open(l), 0);
		assert_int_equal(l->read_n, 0);
		assert_int_equal(log_put(l, 1, 2, NULL), 0);
		log_close(l);
		assert_int_equal(log_open(l), 0);
		assert_int_equal(l->read_n, 1);
		log_close(l);
		folder_remove(l->dir);
		assert_int_equal(fs_mkdir(fs_real(), l->dir, 0700), 0);
	}
}

/* A header from the future: version 2, well formed. */
static void a_newer_version_stops_the_opening(void **state)
{
	struct log *l = *state;
	struct error error = {0};
	struct files f;
	struct wal *wal;
	uint64_t check;

	fill(l, 1 << 20, &f);
	f.bytes[0][8] = 2;
	check = XXH3_64bits(f.bytes[0], 56);
	memcpy(f.bytes[0] + 56, &check, 8);
	put_file(f.paths[0], f.bytes[0], f.sizes[0]);
	assert_int_equal(wal_open(&l->options, &wal, &error), -EPROTONOSUPPORT);
	assert_non_null(strstr(error.text, "version 2"));
	files_done(&f);
}

static void checking_changes_nothing(void **state)
{
	struct log *l = *state;
	struct error error = {0};
	struct files f, after;

	fill(l, 8 << 10, &f);
	f.sizes[f.n - 1] -= 20;
	f.bytes[0][400] ^= 4;
	files_restore(l, &f);
	log_forget(l);
	assert_int_equal(wal_check(&l->options, &error), 0);
	assert_int_equal(l->damaged, 1);
	assert_int_equal(l->cut, 1);
	assert_int_equal(l->read_n, RECORDS - 2);
	files_load(l, &after);
	assert_int_equal(after.n, f.n);
	for (size_t i = 0; i < f.n; i++) {
		assert_int_equal(after.sizes[i], f.sizes[i]);
		assert_memory_equal(after.bytes[i], f.bytes[i], f.sizes[i]);
	}
	files_done(&f);
	files_done(&after);
}

/* Files that are read ahead as a whole: the same findings, and batches that outlive the log. */
static void large_files_are_read_ahead_and_judged_alike(void **state)
{
	struct log *l = *state;
	struct files f;

	l->options.file_bytes = 3 << 20;
	assert_int_equal(log_open(l), 0);
	for (uint64_t i = 0; i < RECORDS; i++)
		assert_int_equal(log_put(l, i, 6000, NULL), 0);
	log_close(l);
	files_load(l, &f);
	assert_true(f.n >= 3);
	assert_true(f.sizes[0] >= 1 << 20 && f.sizes[1] >= 1 << 20);
	assert_int_equal(log_open(l), 0);
	log_close(l);
	assert_int_equal(l->read_n, RECORDS);
	assert_int_equal(l->damaged + l->cut, 0);
	log_assert_read(l, 0, 0, 6000);
	log_assert_read(l, RECORDS - 1, RECORDS - 1, 6000);

	f.bytes[1][f.sizes[1] / 2] ^= 1;
	files_restore(l, &f);
	assert_int_equal(log_open(l), 0);
	log_close(l);
	assert_int_equal(l->read_n, RECORDS - 1);
	assert_int_equal(l->damaged, 1);
	log_assert_read(l, RECORDS - 2, RECORDS - 1, 6000);
	files_done(&f);
}

/* The file with one record of n events, with so many places instead of n, and lengths and checks
 * put right: offsets are those of docs/format/wal.md. */
static size_t with_places(const char *from, size_t size, uint32_t places, char *to)
{
	char *record = to + 64, *payload = record + RECORD_HEADER;
	uint64_t bytes, seed, number, check;
	uint32_t n, low;
	size_t old, now = places * sizeof(struct event_place), at;

	memcpy(&n, from + 64 + 100, 4);
	at = n * sizeof(struct event);
	old = n * sizeof(struct event_place);
	memset(to, 0, size + now);
	memcpy(to, from, 64 + RECORD_HEADER + at + MIN(old, now));
	memcpy(payload + at + now, from + 64 + RECORD_HEADER + at + old,
	       size - 64 - RECORD_HEADER - at - old);
	memcpy(&bytes, record + 16, 8);
	bytes = bytes - old + now;
	memcpy(record + 16, &bytes, 8);
	memcpy(record + 124, &places, 4);
	check = XXH3_64bits(payload, bytes - RECORD_HEADER);
	memcpy(record + 8, &check, 8);
	memcpy(&number, to + 16, 8);
	memcpy(&seed, to + 32, 8);
	low = (uint32_t)XXH3_64bits_withSeed(record + 8, RECORD_HEADER - 8, seed ^ number);
	memcpy(record + 4, &low, 4);
	return size - old + now;
}

static void places_are_none_or_as_many_as_events(void **state)
{
	static const uint32_t counts[] = {0, 1, 19, 20, 21, 40};
	struct log *l = *state;
	struct files f;
	uint32_t n;

	assert_int_equal(log_open(l), 0);
	assert_int_equal(log_put(l, 1, 20, NULL), 0);
	log_close(l);
	files_load(l, &f);
	assert_int_equal(f.n, 1);
	memcpy(&n, f.bytes[0] + 64 + 124, 4);
	assert_int_equal(n, 20);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		_cleanup_(freep)
		char *bytes = malloc(f.sizes[0] + 40 * sizeof(struct event_place));
		bool good = counts[i] == 0 || counts[i] == n;

		assert_non_null(bytes);
		files_restore(l, &f);
		put_file(f.paths[0], bytes, with_places(f.bytes[0], f.sizes[0], counts[i], bytes));
		assert_int_equal(log_open(l), 0);
		assert_int_equal(l->read_n, good);
		assert_int_equal(l->cut, !good);
		if (counts[i] == n)
			log_assert_read(l, 0, 1, 20);
		log_close(l);
	}
	files_done(&f);
}

#define LOG(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOG(an_end_torn_off_at_any_byte_costs_only_the_last_record),
		LOG(a_flipped_bit_costs_one_record_and_is_told),
		LOG(bits_flipped_all_over_leave_what_is_whole),
		LOG(a_missing_file_is_told),
		LOG(a_damaged_file_is_set_aside_when_it_retires),
		LOG(strangers_in_the_folder_do_no_harm),
		LOG(a_newer_version_stops_the_opening),
		LOG(checking_changes_nothing),
		LOG(large_files_are_read_ahead_and_judged_alike),
		LOG(places_are_none_or_as_many_as_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
