/* store/operations.c - what every operation of every service costs. */
#include "store/operations.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/operation_tally.h"
#include "store/scan.h"

#define THREADS_MOST 16

struct counting {
	const struct snapshot *snapshot;
	uint32_t part, parts;
	struct operation_tally tally;
	/* The row of each shape of the segment at hand; MAP_NONE where it is no span, and where the
	 * name is not in the shape. */
	const struct segment *segment;
	uint32_t *rows;
	int result;
};

static int follow_segment(struct counting *c, const struct segment_group *g)
{
	const struct segment_tables *t = group_tables(g);
	const struct shapes *shapes = tables_shapes(t);
	uint32_t *rows;

	if (c->segment == group_segment(g))
		return 0;
	c->segment = NULL;
	rows = realloc(c->rows, (shapes->n + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	c->rows = rows;
	for (uint32_t i = 0; i < shapes->n; i++) {
		const struct shape *s = &shapes->rows[i];

		rows[i] = MAP_NONE;
		if (!shape_is_block(s) || s->name == NAME_VARIES)
			continue;
		rows[i] = operation_tally_row(&c->tally, tables_service(t, s->resource),
					      tables_text(t, s->name));
		if (rows[i] == MAP_NONE)
			return -ENOMEM;
	}
	c->segment = group_segment(g);
	return 0;
}

/* What a group has to be counted by. */
struct rows_at {
	struct segment_group *group;
	const uint32_t *codes;
	const uint64_t *durations;
	const struct group_column *names; /* of rows whose shape has none; NULL: all have */
	uint32_t next_name;
};

/* The tally's row for a span whose name is not in its shape.  Rows are asked for in order. */
static uint32_t row_by_name(struct counting *c, struct rows_at *at, const struct shape *s,
			    uint32_t row)
{
	const struct group_column *names = at->names;

	while (names && at->next_name < names->n && names->rows[at->next_name] < row)
		at->next_name++;
	if (!names || at->next_name == names->n || names->rows[at->next_name] != row)
		return MAP_NONE;
	return operation_tally_row(&c->tally, tables_service(group_tables(at->group), s->resource),
				   column_text(names, at->next_name));
}

static int count_rows(struct counting *c, struct rows_at *at, uint32_t first, uint32_t n)
{
	const struct shapes *shapes = tables_shapes(group_tables(at->group));

	for (uint32_t i = first; i < first + n; i++) {
		const struct shape *s = &shapes->rows[at->codes[i]];
		uint32_t row = c->rows[at->codes[i]];

		if (!shape_is_block(s))
			continue;
		if (row == MAP_NONE)
			row = row_by_name(c, at, s, i);
		if (row == MAP_NONE ||
		    !operation_tally_span(&c->tally, row, s->status == STATUS_ERROR,
					  s->type == EVENT_SPAN && (int64_t)at->durations[i] >= 0,
					  at->durations[i]))
			return -ENOMEM;
	}
	return 0;
}

static int count_group(void *context, struct segment_group *g, const uint32_t *indices, uint32_t n)
{
	struct counting *c = context;
	struct rows_at at = {.group = g};
	const struct group_piece *pieces;
	uint32_t all;
	int r = follow_segment(c, g);

	if (r < 0 || (r = group_shapes(g, &at.codes)) < 0 ||
	    (r = group_durations(g, &at.durations)) < 0 || (r = group_pieces(g, &pieces, &all)) < 0)
		return r;
	r = group_column(g, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &at.names);
	if (r == -ENOENT)
		r = 0;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = count_rows(c, &at, pieces[indices[i]].first, pieces[indices[i]].rows);
	return r;
}

static int count_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		       bool more)
{
	struct counting *c = context;

	(void)id;
	(void)more;
	return operation_tally_rows(&c->tally, refs, n);
}

static void *count_part(void *argument)
{
	struct counting *c = argument;
	const struct scan scan = {
		.part = c->part,
		.parts = c->parts,
		.group = count_group,
		.trace = count_trace,
		.context = c,
	};

	c->result = snapshot_scan(c->snapshot, &scan);
	free(c->rows);
	return NULL;
}

int snapshot_operations(const struct snapshot *s, struct operation_list *ret_list)
{
	struct counting parts[THREADS_MOST];
	pthread_t threads[THREADS_MOST];
	bool started[THREADS_MOST] = {false};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t n = processors < 1 ? 1 : (uint32_t)MIN(processors, THREADS_MOST);
	int r = 0;

	for (uint32_t i = 0; i < n; i++) {
		parts[i] = (struct counting){.snapshot = s, .part = i, .parts = n};
		operation_tally_init(&parts[i].tally);
		if (i > 0)
			started[i] = pthread_create(&threads[i], NULL, count_part, &parts[i]) == 0;
	}
	for (uint32_t i = 0; i < n; i++) { /* the first, and what got no thread, is done here */
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			count_part(&parts[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (r == 0)
			r = parts[i].result;
		if (r == 0 && i > 0)
			r = operation_tally_merge(&parts[0].tally, &parts[i].tally);
	}
	if (r == 0)
		r = operation_tally_list(&parts[0].tally, ret_list);
	for (uint32_t i = 0; i < n; i++)
		operation_tally_done(&parts[i].tally);
	return r;
}
