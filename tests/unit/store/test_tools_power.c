/* Repair, backup and thinning when the power fails at any moment, and when any call of the disk
 * does: nothing that was there before, and was not to go, is lost. */
#include "store_t.h"

#include <fcntl.h>

#include "core/clock.h"
#include "fs_failing.h"
#include "fs_recording.h"
#include "sampling/second.h"
#include "segment/segment_int.h"
#include "store/store_backup.h"
#include "store/store_repair.h"

#define TRACES 48

struct disk {
	char dir[64]; /* the store is in dir/store */
	struct fs_recording *recording;
	struct fs_failing failing;
};

static void disk_init(struct disk *d)
{
	memset(d, 0, sizeof(*d));
	folder_fresh(d->dir);
	d->recording = fs_recording_new(d->dir);
	fs_failing_init(&d->failing, fs_recording_fs(d->recording));
}

static void disk_done(struct disk *d)
{
	fs_recording_free(d->recording);
	folder_remove(d->dir);
}

/* The n-th call from now on fails, and one or two behind it. */
static void disk_fail(struct disk *d, uint64_t n)
{
	d->failing.fail_at = d->failing.calls + n;
	d->failing.fail_n = 1 + n % 3;
	d->failing.error = n % 2 ? -EIO : -ENOSPC;
	d->failing.half = n % 4 < 2;
}

static void disk_heal(struct disk *d)
{
	d->failing.fail_at = 0;
}

static char *path_in(const char *dir, const char *name, char room[192])
{
	snprintf(room, 192, "%s/%s", dir, name);
	return room;
}

static struct store *disk_open(struct disk *d)
{
	char path[192];
	struct engine_options options = {.dir = path_in(d->dir, "store", path),
					 .fs = &d->failing.fs,
					 .manual = true,
					 .wal_file_bytes = 256 << 10};
	struct store *s;
	struct error error = {0};

	if (engine_open(&options, &s, &error) < 0)
		fail_msg("%s", error.text);
	return s;
}

/* Two spans each; every eighth fails.  What it is about arrived two hours ago. */
static void put_traces(struct store *s, uint32_t first, uint32_t n)
{
	struct batch *b = batch_for("front", clock_wall_ns() - 7200 * NS_PER_S);

	for (uint32_t i = first; i < first + n; i++) {
		span_add(b, i, 2 * i + 1, 0, 1000 + i, 5000);
		span_add(b, i, 2 * i + 2, 2 * i + 1, 1500, 2000)->status =
			i % 8 == 0 ? STATUS_ERROR : STATUS_UNSET;
	}
	assert_int_equal(put(s, sealed(b)), 0);
}

/* Three segments, and a log that is in none. */
static void fill(struct store *s)
{
	for (uint32_t i = 0; i < 3; i++) {
		put_traces(s, i * TRACES / 4, TRACES / 4);
		assert_int_equal(engine_flush(s), 0);
	}
	put_traces(s, TRACES / 4 * 3, TRACES / 4);
}

/* How many rows each trace has. */
struct held {
	size_t rows[TRACES];
};

static struct held held_by(struct store *s)
{
	struct held h;

	for (uint32_t i = 0; i < TRACES; i++) {
		struct event_set set = {0};
		int r = store_trace(s, trace_of(i), &set);

		assert_true(r == 0 || r == -ENOENT);
		h.rows[i] = set.n;
		event_set_done(&set);
	}
	return h;
}

static void assert_held(const char *dir, const struct held *expected)
{
	struct store *s = engine_at(dir, (struct engine_options){0});
	struct held h = held_by(s);

	for (uint32_t i = 0; i < TRACES; i++)
		assert_int_equal(h.rows[i], expected->rows[i]);
	store_close(s);
}

static const struct held whole = {.rows = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
					   2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
					   2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}};

/* The folder as a power failure after `n` calls left it, in each way that differs. */
typedef void left_fn(const char *dir, const void *context);

static void each_failure(struct disk *d, size_t from, left_fn *left, const void *context)
{
	size_t length = fs_recording_length(d->recording);
	struct rng rng = {11};

	assert_true(length > from);
	for (size_t n = from; n <= length; n++)
		for (int how = 0; how < POWER_FAILURES; how++) {
			char dir[64];

			if (n < length && !fs_recording_is_sync(d->recording, n) &&
			    how != POWER_TORN)
				continue;
			folder_fresh(dir);
			rmdir(dir);
			fs_recording_rebuild(d->recording, n, how, &rng, dir);
			left(dir, context);
			folder_remove(dir);
		}
}

/* --- repair --- */

static bool has(const char *dir, const char *name, size_t size)
{
	char path[192];
	struct stat st;

	return stat(path_in(dir, name, path), &st) == 0 && (size_t)st.st_size == size;
}

/* What is wrong with the file. */
enum wrong {
	WRONG_BYTE,  /* one, somewhere */
	WRONG_INDEX, /* one, in a segment's index: its rows can be read */
	WRONG_GONE,
};

static uint64_t wrong_at(struct fs *fs, int fd, enum wrong wrong, uint64_t size)
{
	struct segment_footer footer;

	if (wrong != WRONG_INDEX)
		return size / 3;
	assert_int_equal(fs_read_all(fs, fd, &footer, sizeof(footer), size - sizeof(footer)), 0);
	assert_true(footer.sections[SECTION_INDEX].bytes > 0);
	return footer.sections[SECTION_INDEX].offset;
}

/* Damages the file through the file system, durably. */
static size_t damage(struct disk *d, const char *name, enum wrong wrong)
{
	struct fs *fs = fs_recording_fs(d->recording);
	char path[192], byte;
	int fd = fs_open(fs, path_in(d->dir, name, path), O_RDWR, 0);
	uint64_t size, at;

	assert_true(fd >= 0);
	assert_int_equal(fs_size(fs, fd, &size), 0);
	at = wrong_at(fs, fd, wrong, size);
	assert_int_equal(fs_pread(fs, fd, &byte, 1, at), 1);
	byte ^= 0x55;
	assert_int_equal(fs_write_all(fs, fd, &byte, 1, at), 0);
	assert_int_equal(fs_sync(fs, fd), 0);
	fs_close(fs, fd);
	if (wrong == WRONG_GONE) {
		assert_int_equal(fs_unlink(fs, path), 0);
		assert_int_equal(fs_sync_dir(fs, path_in(d->dir, "store", path)), 0);
	}
	return size;
}

static const struct repair_case {
	const char *file;
	enum wrong wrong;
	size_t loses;      /* traces */
	const char *aside; /* where the damaged file is kept, or NULL */
} repair_cases[] = {
	{"store/seg-0000000000000002.cst", WRONG_BYTE, TRACES / 4,
	 "store/set-aside/seg-0000000000000002.cst"},
	{"store/seg-0000000000000002.cst", WRONG_INDEX, 0,
	 "store/set-aside/seg-0000000000000002.cst"},
	{"store/MANIFEST", WRONG_BYTE, 0, "store/set-aside/MANIFEST"},
	{"store/MANIFEST", WRONG_GONE, 0, NULL},
};

static void disk_broken(struct disk *d, const struct repair_case *c, size_t *ret_size)
{
	struct store *s;

	disk_init(d);
	s = disk_open(d);
	fill(s);
	store_close(s);
	*ret_size = damage(d, c->file, c->wrong);
}

static int repair(const char *dir, struct fs *fs)
{
	struct store_repaired done;
	struct error error = {0};
	char path[192];

	return store_repair(fs, path_in(dir, "store", path), NULL, NULL, &done, &error);
}

struct repaired {
	const struct repair_case *c;
	struct held expected;
	size_t size; /* of the damaged file */
};

/* What was interrupted is done again. */
static void repair_again(const char *dir, const void *context)
{
	const struct repaired *r = context;

	assert_int_equal(repair(dir, fs_real()), 0);
	assert_held(dir, &r->expected);
	if (r->c->aside) /* nothing is thrown away */
		assert_true(has(dir, r->c->aside, r->size));
}

/* Breaks a store and repairs it; what is recorded from *ret_from on is the repair. */
static void repaired_init(struct repaired *r, const struct repair_case *c, struct disk *d,
			  size_t *ret_from)
{
	struct store *s;
	size_t lost = 0;

	*r = (struct repaired){.c = c};
	disk_broken(d, c, &r->size);
	*ret_from = fs_recording_length(d->recording);
	assert_int_equal(repair(d->dir, &d->failing.fs), 0);
	s = engine_at(d->dir, (struct engine_options){0});
	r->expected = held_by(s);
	store_close(s);
	for (uint32_t i = 0; i < TRACES; i++)
		lost += r->expected.rows[i] < 2;
	assert_int_equal(lost, c->loses);
}

static void a_repair_that_the_power_interrupts_is_done_again(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(repair_cases); i++) {
		struct repaired r;
		struct disk d;
		size_t from;

		repaired_init(&r, &repair_cases[i], &d, &from);
		each_failure(&d, from, repair_again, &r);
		disk_done(&d);
	}
}

static void a_repair_of_which_any_call_fails_is_done_again(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(repair_cases); i++) {
		struct repaired r;
		struct disk d;
		bool failed = true;
		size_t from;

		repaired_init(&r, &repair_cases[i], &d, &from);
		disk_done(&d);
		for (uint64_t n = 1; failed; n++) {
			disk_broken(&d, r.c, &r.size);
			disk_fail(&d, n);
			repair(d.dir, &d.failing.fs);
			failed = d.failing.failed > 0;
			disk_heal(&d);
			repair_again(d.dir, &r);
			disk_done(&d);
		}
	}
}

/* --- backup --- */

/* The store has everything; so has the copy, if it says that it is one. */
static void assert_copied(const char *dir, const void *context)
{
	char path[192], copy[192];
	struct stat st;

	assert_held(dir, &whole);
	if (stat(path_in(dir, "copy/store/MANIFEST", path), &st) < 0)
		return;
	assert_held(path_in(dir, "copy", copy), &whole);
}

static int backup(struct disk *d, struct store *s)
{
	struct fs *fs = &d->failing.fs;
	struct store_copied copied;
	struct error error = {0};
	char copy[192], path[192];
	int r = fs_mkdir(fs, path_in(d->dir, "copy", copy), 0700);

	if (r == 0)
		r = fs_mkdir(fs, path_in(d->dir, "copy/store", path), 0700);
	if (r == 0)
		r = fs_sync_dir(fs, copy);
	if (r == 0)
		r = fs_sync_dir(fs, d->dir);
	if (r == 0 && s)
		r = engine_backup(s, path, &copied, &error);
	else if (r == 0)
		r = store_backup(fs, path_in(d->dir, "store", copy), path, false, &copied, &error);
	return r;
}

/* Of a store at work and of one at rest. */
static struct store *disk_filled(struct disk *d, bool at_work)
{
	struct store *s;

	disk_init(d);
	s = disk_open(d);
	fill(s);
	return at_work ? s : store_close(s);
}

static void a_backup_that_the_power_interrupts_is_whole_or_none(void **state)
{
	for (int at_work = 0; at_work < 2; at_work++) {
		struct disk d;
		struct store *s = disk_filled(&d, at_work);
		size_t from = fs_recording_length(d.recording);
		char path[192];

		assert_int_equal(backup(&d, s), 0);
		store_close(s);
		each_failure(&d, from, assert_copied, NULL);
		/* And one that has succeeded is there. */
		assert_held(path_in(d.dir, "copy", path), &whole);
		disk_done(&d);
	}
}

static void a_backup_of_which_any_call_fails_is_whole_or_none(void **state)
{
	for (int at_work = 0; at_work < 2; at_work++) {
		bool failed = true;

		for (uint64_t n = 1; failed; n++) {
			struct disk d;
			struct store *s = disk_filled(&d, at_work);
			struct stat st;
			char path[192];
			int r;

			disk_fail(&d, n);
			r = backup(&d, s);
			failed = d.failing.failed > 0;
			disk_heal(&d);
			store_close(s);
			if (r == 0)
				assert_int_equal(
					stat(path_in(d.dir, "copy/store/MANIFEST", path), &st), 0);
			assert_copied(d.dir, NULL);
			disk_done(&d);
		}
	}
}

/* --- thinning --- */

static void rules_set(struct store *s)
{
	struct thin_rule rule = {.after_ns = 3600 * NS_PER_S, .errors = true};
	struct thin_rules rules = {&rule, 1};
	struct error error = {0};

	assert_int_equal(threshold_from_probability(0.25, &rule.threshold), 0);
	assert_int_equal(engine_set_thinning(s, &rules, &error), 0);
}

/* Each trace is as it was, or gone if it is to go; and thinning goes on from there. */
static void assert_thinned(const char *dir, const void *context)
{
	const struct held *expected = context;
	struct store *s = engine_at(dir, (struct engine_options){0});
	struct held h = held_by(s);

	for (uint32_t i = 0; i < TRACES; i++)
		assert_true(h.rows[i] == 2 || (h.rows[i] == 0 && expected->rows[i] == 0));
	rules_set(s);
	assert_int_equal(engine_settle(s), 0);
	h = held_by(s);
	for (uint32_t i = 0; i < TRACES; i++)
		assert_int_equal(h.rows[i], expected->rows[i]);
	store_close(s);
}

static struct held thinned(void)
{
	struct disk d;
	struct store *s = disk_filled(&d, true);
	struct held h;
	size_t kept = 0;

	rules_set(s);
	assert_int_equal(engine_settle(s), 0);
	h = held_by(s);
	store_close(s);
	disk_done(&d);
	for (uint32_t i = 0; i < TRACES; i++) {
		kept += h.rows[i] == 2;
		assert_true(i % 8 || h.rows[i] == 2);
	}
	assert_in_range(kept, TRACES / 8, TRACES / 2);
	return h;
}

static void thinning_that_the_power_interrupts_takes_nothing_else(void **state)
{
	struct held expected = thinned();
	struct disk d;
	struct store *s = disk_filled(&d, true);
	size_t from = fs_recording_length(d.recording);

	rules_set(s);
	assert_int_equal(engine_settle(s), 0);
	store_close(s);
	each_failure(&d, from, assert_thinned, &expected);
	disk_done(&d);
}

static void thinning_of_which_any_call_fails_takes_nothing_else(void **state)
{
	struct held expected = thinned();
	bool failed = true;

	for (uint64_t n = 1; failed; n++) {
		struct disk d;
		struct store *s = disk_filled(&d, true);

		rules_set(s);
		disk_fail(&d, n);
		engine_settle(s);
		failed = d.failing.failed > 0;
		disk_heal(&d);
		store_close(s);
		assert_thinned(d.dir, &expected);
		disk_done(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repair_that_the_power_interrupts_is_done_again),
		cmocka_unit_test(a_repair_of_which_any_call_fails_is_done_again),
		cmocka_unit_test(a_backup_that_the_power_interrupts_is_whole_or_none),
		cmocka_unit_test(a_backup_of_which_any_call_fails_is_whole_or_none),
		cmocka_unit_test(thinning_that_the_power_interrupts_takes_nothing_else),
		cmocka_unit_test(thinning_of_which_any_call_fails_takes_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
