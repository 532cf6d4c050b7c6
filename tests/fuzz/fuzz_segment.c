/* A segment file of any bytes: refused, or read without harm; what comes out is a sound batch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "fuzz.h"
#include "segment/group.h"

#define GROUPS_MOST 16
#define ROWS_MOST   65536

/* A file system with one file. */
struct one_file {
	struct fs fs;
	const uint8_t *data;
	size_t n;
};

static int file_open(struct fs *fs, const char *path, int flags, mode_t mode)
{
	return 3;
}

static int file_close(struct fs *fs, int fd)
{
	return 0;
}

static ssize_t file_pread(struct fs *fs, int fd, void *bytes, size_t n, uint64_t at)
{
	const struct one_file *f = (const struct one_file *)fs;

	if (at >= f->n)
		return 0;
	n = n < f->n - at ? n : f->n - at;
	memcpy(bytes, f->data + at, n);
	return (ssize_t)n;
}

static int file_size(struct fs *fs, int fd, uint64_t *ret_size)
{
	*ret_size = ((const struct one_file *)fs)->n;
	return 0;
}

static const struct fs_ops file_ops = {
	.open = file_open, .close = file_close, .pread = file_pread, .size = file_size};

static void read_group(struct segment *s, struct segment_group *g)
{
	const struct group_piece *pieces;
	const struct group_column *column;
	struct event_set set = {0};
	uint32_t n;

	if (group_rows(g, 0, group_zone(g)->rows, &set) == 0 && group_pieces(g, &pieces, &n) == 0) {
		struct event_set trace = {0};

		segment_trace(s, pieces[n / 2].id, &trace);
		for (size_t i = 0; i < trace.batch_n; i++)
			if (!batch_check(trace.batches[i]))
				abort();
		event_set_done(&trace);
	}
	for (size_t i = 0; i < set.batch_n; i++)
		if (!batch_check(set.batches[i]))
			abort();
	for (uint32_t i = 0; group_column_at(g, i, &column) == 0; i++)
		for (uint32_t j = 0; j < column->n; j++)
			if (column->rows[j] >= group_zone(g)->rows)
				abort();
	event_set_done(&set);
}

/* Some rows alone, as a search reads them: of a sound segment they are what all rows say. */
static void read_few(struct segment *s, uint32_t number, bool sound)
{
	struct segment_group *few_group = NULL, *g = NULL;
	const uint64_t *times, *durations, *ids, *parents;
	uint32_t rows[3], n, shape;
	struct group_few few;
	struct slice name;
	int r = group_open_few(s, number, &few_group);

	if (r < 0 || group_open(s, number, &g) < 0) {
		group_close(few_group);
		FUZZ_CHECK(!sound);
		return;
	}
	n = group_zone(few_group)->rows;
	rows[0] = n / 5;
	rows[1] = n / 2;
	rows[2] = n - 1;
	r = group_few_rows(few_group, rows, 3, &few);
	for (int i = 0; i < 3; i++)
		if (group_row_shape(few_group, rows[i], &shape) == 0)
			group_row_name(few_group, rows[i], &name);
	FUZZ_CHECK(r == 0 || !sound);
	if (sound) {
		FUZZ_CHECK(group_times(g, &times) == 0 && group_durations(g, &durations) == 0 &&
			   group_ids(g, &ids) == 0 && group_parents(g, &parents) == 0);
		for (int i = 0; i < 3; i++)
			FUZZ_CHECK(few.times[rows[i]] == times[rows[i]] &&
				   few.durations[rows[i]] == durations[rows[i]] &&
				   few.id1[rows[i]] == ids[rows[i]] &&
				   few.id2[rows[i]] == parents[rows[i]]);
	}
	group_close(few_group);
	group_close(g);
}

static void ignore(void *context, const char *finding)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct one_file file = {{&file_ops}, data, size};
	struct segment_group *g = NULL;
	const struct trace_id *split;
	struct segment *s;
	size_t split_n;
	bool sound = segment_check(&file.fs, "", 1, ignore, NULL) == 0;

	if (segment_open(&file.fs, "", 1, &s, NULL) < 0)
		return 0;
	segment_split(s, &split, &split_n);
	for (uint32_t i = 0; i < segment_info(s)->groups && i < GROUPS_MOST; i++)
		if ((g ? group_reopen(g, i) : group_open(s, i, &g)) == 0)
			read_group(s, g);
	for (uint32_t i = 0; i < segment_info(s)->groups && i < GROUPS_MOST; i++)
		read_few(s, i, sound);
	group_close(g);
	segment_unref(s);
	return 0;
}
