/* A damaged segment is found out, block by block, and never believed. */
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "batch_random.h"
#include "segment/group.h"
#include "segment_fixture.h"

#define NUMBER 7

static void count_findings(void *context, const char *finding)
{
	assert_true(finding[0] != '\0');
	++*(int *)context;
}

static int check(const char *dir, int *findings)
{
	*findings = 0;
	return segment_check(fs_real(), dir, NUMBER, count_findings, findings);
}

static void make(const char *dir, uint64_t seed, enum batch_random_shape shape, size_t rows,
		 uint32_t group_rows)
{
	struct batch_random what = {.shape = shape, .rows = rows};
	struct rng rng = {seed};
	struct pile p = {.split_n = 2};

	for (int i = 0; i < 3; i++) {
		struct batch *b = batch_random(&rng, &what);

		pile_share_traces(b, &rng, 20);
		pile_add(&p, b);
	}
	pile_write(&p, dir, NUMBER, group_rows);
	pile_done(&p);
}

static int open_file(const char *dir, int flags)
{
	char name[SEGMENT_NAME_MAX], *path;
	int fd;

	segment_name(NUMBER, name);
	path = fs_path(dir, name);
	fd = open(path, flags | O_CLOEXEC);
	free(path);
	assert_true(fd >= 0);
	return fd;
}

/* Everything the reader can do, whatever comes of it. */
static void read_everything(const char *dir)
{
	struct segment *s;
	struct segment_group *g = NULL;
	struct event_set set = {0};
	struct trace_id id = {{0}};

	if (segment_open(fs_real(), dir, NUMBER, &s, NULL) < 0)
		return;
	for (uint64_t i = 1; i <= 20; i++) {
		store_be64(id.b, 77);
		store_be64(id.b + 8, i);
		segment_trace(s, id, &set);
	}
	for (uint32_t i = 0; i < segment_info(s)->groups && i < 100; i++)
		if ((g ? group_reopen(g, i) : group_open(s, i, &g)) == 0) {
			uint32_t last = group_zone(g)->rows - 1;
			struct group_few few;

			group_few_rows(g, &last, 1, &few);
			group_rows(g, 0, group_zone(g)->rows, &set);
		}
	for (size_t i = 0; i < set.batch_n; i++)
		assert_true(batch_check(set.batches[i]));
	group_close(g);
	event_set_done(&set);
	segment_unref(s);
}

static void what_was_just_written_is_sound(void **state)
{
	int findings;

	for (uint64_t seed = 1; seed < 6; seed++) {
		make(*state, seed, (enum batch_random_shape)(seed % 3), 300,
		     seed % 2 ? 0 : 1 + (uint32_t)seed * 7);
		assert_int_equal(check(*state, &findings), 0);
		assert_int_equal(findings, 0);
	}
}

static void totals_that_are_not_of_the_rows_are_found(void **state)
{
	static const struct {
		uint32_t names[2];
		int findings;
	} rows[] = {{{0, 1}, 0}, {{1, 0}, 0}, {{0, 0}, 1}, {{1, 1}, 1}};
	int findings;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		pile_two_spans(*state, NUMBER, rows[i / 2].names, i % 2);
		assert_int_equal(check(*state, &findings), rows[i / 2].findings ? -EBADMSG : 0);
		assert_int_equal(findings, rows[i / 2].findings);
	}
}

static void every_flipped_bit_is_found(void **state)
{
	struct stat st;
	int fd, findings;

	make(*state, 3, RANDOM_TRACES, 40, 50);
	fd = open_file(*state, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	/* A prime step: in the end every part of the file is hit. */
	for (off_t at = 0; at < st.st_size; at += 37) {
		uint8_t byte, flipped;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		flipped = byte ^ (uint8_t)(1 << at % 8);
		assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
		assert_int_equal(check(*state, &findings), -EBADMSG);
		assert_true(findings > 0);
		read_everything(*state);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(check(*state, &findings), 0);
	close(fd);
}

/* Where rows of a group are, of which some lie in a damaged chunk of a block. */
static int few_ids(const char *dir, uint32_t row, uint64_t *ret_id, char *ret_error, size_t size)
{
	struct segment *s = pile_open(dir, NUMBER);
	struct segment_group *g;
	struct group_few few;
	int r;

	assert_int_equal(group_open_few(s, 0, &g), 0);
	r = group_few_rows(g, &row, 1, &few);
	if (r == 0)
		*ret_id = few.id1[row];
	snprintf(ret_error, size, "%s", group_error(g));
	group_close(g);
	segment_unref(s);
	return r;
}

static void what_lies_in_other_chunks_is_read(void **state)
{
	enum { ROWS = 6000 };
	struct batch *b = batch_new(0);
	struct pile p = {0};
	struct rng rng = {9};
	uint64_t ids[ROWS], id;
	char error[200], *bytes, *path, *at = NULL, name[SEGMENT_NAME_MAX];
	int fd, findings;
	size_t n;

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < ROWS; i++) {
		struct event *e = batch_event(b);

		*e = (struct event){.id1 = ids[i] = rng_next(&rng) | 1,
				    .time_ns = 1700000000000000000ULL + i * 1000,
				    .end_ns = 1700000000000000000ULL + i * 1000 + i % 77};
		store_be64(e->trace_id.b + 8, 1 + i);
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(&p, b);
	pile_write(&p, *state, NUMBER, 0);
	pile_done(&p);
	segment_name(NUMBER, name);
	path = fs_path(*state, name);
	assert_int_equal(fs_load(fs_real(), path, 1 << 20, &bytes, &n), 0);
	at = memmem(bytes, n, &ids[3000], sizeof(ids[0]));
	assert_non_null(at);
	fd = open_file(*state, O_RDWR);
	assert_int_equal(pwrite(fd, &ids[0], 1, at - bytes + 1), 1);
	close(fd);
	/* A chunk has 1,024 ids. */
	for (uint32_t row = 0; row < ROWS; row += 100) {
		int r = few_ids(*state, row, &id, error, sizeof(error));

		if (row > 3000 - 1024 && row < 3000 + 1024 && r < 0) {
			assert_int_equal(r, -EBADMSG);
			assert_non_null(strstr(error, "the ids are damaged"));
			continue;
		}
		assert_true(row != 3000);
		assert_int_equal(r, 0);
		assert_int_equal(id, ids[row]);
	}
	assert_int_equal(check(*state, &findings), -EBADMSG);
	assert_int_equal(findings, 1);
	free(bytes);
	free(path);
}

static void a_file_cut_short_is_found(void **state)
{
	struct stat st;
	int fd, findings;

	make(*state, 4, RANDOM_EVENTS, 40, 50);
	fd = open_file(*state, O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t n = st.st_size - 1; n >= 0; n = n > 1000 ? n - n / 7 : n - 97) {
		assert_int_equal(ftruncate(fd, n), 0);
		assert_int_equal(check(*state, &findings), -EBADMSG);
		read_everything(*state);
	}
	close(fd);
}

static void a_damaged_group_leaves_the_others_readable(void **state)
{
	struct segment *s;
	const struct segment_tables *t;
	struct segment_group *g;
	struct event_set set = {0};
	struct group_zone zone;
	int fd, findings;
	uint32_t groups;

	make(*state, 5, RANDOM_TRACES, 200, 64);
	s = pile_open(*state, NUMBER);
	assert_int_equal(segment_pin(s, &t), 0);
	groups = tables_groups(t);
	zone = *tables_zone(t, 1);
	segment_unpin(s);
	fd = open_file(*state, O_RDWR);
	assert_int_equal(pwrite(fd, "damage", 6, (off_t)(zone.offset + zone.bytes / 2)), 6);
	close(fd);
	for (uint32_t i = 0; i < groups; i++) {
		assert_int_equal(group_open(s, i, &g), 0);
		assert_int_equal(group_rows(g, 0, group_zone(g)->rows, &set),
				 i == 1 ? -EBADMSG : 0);
		if (i == 1)
			assert_non_null(strstr(group_error(g), "group 1"));
		group_close(g);
	}
	assert_int_equal(check(*state, &findings), -EBADMSG);
	assert_int_equal(findings, 1);
	event_set_done(&set);
	segment_unref(s);
}

static void a_segment_of_another_version_is_refused_by_name(void **state)
{
	struct segment *s;
	struct error error = {0};
	int fd;

	make(*state, 6, RANDOM_TRACES, 20, 0);
	fd = open_file(*state, O_RDWR);
	assert_int_equal(ftruncate(fd, 100), 0);
	close(fd);
	assert_int_equal(segment_open(fs_real(), *state, NUMBER, &s, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "seg-0000000000000007.cst"));
	assert_int_equal(segment_open(fs_real(), *state, 99, &s, &error), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_just_written_is_sound),
		cmocka_unit_test(totals_that_are_not_of_the_rows_are_found),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(what_lies_in_other_chunks_is_read),
		cmocka_unit_test(a_file_cut_short_is_found),
		cmocka_unit_test(a_damaged_group_leaves_the_others_readable),
		cmocka_unit_test(a_segment_of_another_version_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, pile_folder_make, pile_folder_remove);
}
