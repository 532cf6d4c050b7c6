/* store/operations.c - what every operation of every service costs.
 *
 * Segments that have a table of totals are not looked into; of others, and of heads, all rows are
 * counted. */
#include "store/operations.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"
#include "segment/totals.h"
#include "store/operation_tally.h"
#include "store/scan.h"

#define THREADS_MOST   16
#define RESOURCES_MOST ((1u << 29) - 1) /* TABLE_MOST is less */

#define NAMES_BITS     12 /* of the cache of rows by service and name */

/* A row of the tally that was asked for by a service and the code of a name. */
struct known_name {
	uint32_t resource, name, row; /* row MAP_NONE: none */
};

/* What a shape says of its spans. */
struct shape_kind {
	uint32_t row; /* of the tally; MAP_NONE: the name is not in the shape */
	uint32_t resource : 29, block : 1, error : 1, ended : 1;
};

struct counting {
	const struct snapshot *snapshot;
	bool *counted;       /* [segment]: by its totals; shared, each part asks its own */
	size_t at;           /* the segment at hand */
	struct leash *leash; /* of who asks */
	uint32_t part, parts;
	struct operation_tally tally;
	/* Of each shape of the segment at hand. */
	const struct segment *segment;
	struct shape_kind *kinds;
	struct shape_kind *local; /* of the group at hand, by index */
	size_t local_capacity;
	struct known_name names[1 << NAMES_BITS];
	/* Spans of the group at hand that have ended. */
	uint32_t *rows;
	uint64_t *durations;
	size_t row_capacity, duration_capacity;
	int result;
};

static void forget_names(struct counting *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->names); i++)
		c->names[i].row = MAP_NONE;
}

/* The tally's row for a service and a name; `code` stands for the name as long as names are not
 * forgotten.  MAP_NONE without memory. */
static uint32_t row_of(struct counting *c, const struct segment_tables *t, uint32_t resource,
		       uint32_t code, struct slice name)
{
	size_t at = (code ^ resource * 0x9e3779b1U) & (ARRAY_SIZE(c->names) - 1);
	struct known_name *known = &c->names[at];

	if (known->row == MAP_NONE || known->name != code || known->resource != resource)
		*known = (struct known_name){
			resource, code,
			operation_tally_row(&c->tally, tables_service(t, resource), name)};
	return known->row;
}

static int follow_segment(struct counting *c, const struct segment_group *g)
{
	const struct segment_tables *t = group_tables(g);
	const struct shapes *shapes = tables_shapes(t);
	struct shape_kind *kinds;

	if (c->segment == group_segment(g))
		return 0;
	c->segment = NULL;
	forget_names(c);
	kinds = realloc(c->kinds, (shapes->n + 1) * sizeof(*kinds));
	if (!kinds)
		return -ENOMEM;
	c->kinds = kinds;
	for (uint32_t i = 0; i < shapes->n; i++) {
		const struct shape *s = &shapes->rows[i];

		kinds[i] = (struct shape_kind){.row = MAP_NONE,
					       .resource = s->resource & RESOURCES_MOST,
					       .block = shape_is_block(s),
					       .error = s->status == STATUS_ERROR,
					       .ended = s->type == EVENT_SPAN && s->has_time &&
							s->has_end};
		if (!kinds[i].block || s->name == NAME_VARIES)
			continue;
		kinds[i].row = row_of(c, t, s->resource, s->name, tables_text(t, s->name));
		if (kinds[i].row == MAP_NONE)
			return -ENOMEM;
	}
	c->segment = group_segment(g);
	return 0;
}

/* What a group has to be counted by. */
struct rows_at {
	const uint32_t *shapes; /* indices */
	const uint64_t *durations;
	const uint64_t *times; /* NULL: all of them make sense */
	size_t n;              /* spans that have ended, so far */
};

/* Fills in the tally's rows of spans whose names are not in their shapes. */
static int name_rows(struct counting *c, struct segment_group *g, const uint32_t *shapes)
{
	const struct group_column *names;
	int r = group_column(g, LEVEL_BLOCK, FIELD_NAME, VALUE_STRING, &names);

	if (r == 0 && !names->by_code)
		forget_names(c); /* codes are the group's own */
	for (uint32_t i = 0; r == 0 && i < names->n; i++) {
		uint32_t row = names->rows[i];

		c->rows[row] = row_of(c, group_tables(g), c->local[shapes[row]].resource,
				      names->codes ? names->codes[i] : i, column_text(names, i));
	}
	if (r == 0 && !names->by_code)
		forget_names(c);
	return r == -ENOENT ? 0 : r;
}

/* The row's duration, if it has one: as span_duration(). */
static int64_t row_duration(const struct rows_at *at, uint32_t i)
{
	if (at->times)
		return span_duration(at->times[i], at->times[i] + at->durations[i]);
	return MAX((int64_t)at->durations[i], (int64_t)0);
}

/* Spans that have ended move to the front of rows and durations. */
static int count_rows(struct counting *c, struct rows_at *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct shape_kind kind = c->local[at->shapes[i]];
		uint32_t row = c->rows[i];
		int64_t duration;

		if (!kind.block)
			continue;
		if (row == MAP_NONE)
			return -ENOMEM;
		if (kind.error)
			c->tally.rows[row].errors++;
		duration = kind.ended ? row_duration(at, i) : -1;
		if (duration >= 0) {
			c->rows[at->n] = row;
			c->durations[at->n++] = (uint64_t)duration;
		} else
			c->tally.rows[row].spans++;
	}
	return 0;
}

static int open_group(struct counting *c, struct segment_group *g, struct rows_at *at)
{
	const struct group_zone *zone = group_zone(g);
	uint32_t n = zone->rows;
	int r = follow_segment(c, g);

	if (r < 0 || (r = group_shape_indices(g, &at->shapes)) < 0 ||
	    (r = group_durations(g, &at->durations)) < 0)
		return r;
	if (zone->start_min_ns <= 0 || zone->start_max_ns >= INT64_MAX - zone->duration_max_ns)
		r = group_times(g, &at->times);
	if (r < 0)
		return r;
	if (!vec_reserve(&c->rows, &c->row_capacity, n, sizeof(*c->rows)) ||
	    !vec_reserve(&c->durations, &c->duration_capacity, n, sizeof(*c->durations)) ||
	    !vec_reserve(&c->local, &c->local_capacity, zone->shape_n, sizeof(*c->local)))
		return -ENOMEM;
	for (uint32_t i = 0; i < zone->shape_n; i++)
		c->local[i] = c->kinds[zone->shapes[i]];
	for (uint32_t i = 0; i < n; i++)
		c->rows[i] = c->local[at->shapes[i]].row;
	return name_rows(c, g, at->shapes);
}

/* All rows of a group: `indices` is NULL. */
static int count_group(void *context, struct segment_group *g, const uint32_t *indices, uint32_t n)
{
	struct counting *c = context;
	struct rows_at at = {0};
	int r = open_group(c, g, &at);

	(void)indices;
	(void)n;
	if (r == 0)
		r = count_rows(c, &at, group_zone(g)->rows);
	return r == 0 ? operation_tally_ended(&c->tally, c->rows, c->durations, at.n) : r;
}

static int count_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		       bool more)
{
	struct counting *c = context;

	(void)id;
	(void)more;
	return operation_tally_rows(&c->tally, refs, n);
}

/* --- totals of whole segments --- */

static int count_totals(struct counting *c, const struct segment_tables *t,
			const struct totals_table *totals)
{
	struct operation_tally *tally = &c->tally;

	for (uint32_t i = 0; i < totals->n; i++) {
		const struct total_row *total = &totals->rows[i];
		uint32_t source = total->key.source,
			 row = operation_tally_row(tally,
						   totals->apart & APART_RESOURCE
							   ? tables_service(t, source)
							   : tables_text(t, source),
						   tables_text(t, total->key.name));

		if (row == MAP_NONE ||
		    !octaves_add_counts(&tally->rows[row].durations, &tally->arena, total->place,
					total->counts, total->place_n, (uint64_t)total->longest))
			return -ENOMEM;
		tally->rows[row].spans += total->spans;
		tally->rows[row].errors += total->errors;
	}
	return 0;
}

/* Counts a segment by its totals: 1; 0 when it has none that can be read. */
static int count_segment(struct counting *c, struct segment *segment)
{
	const struct totals_table *totals;
	const struct segment_tables *t;
	int r = segment_pin(segment, &t);

	if (r < 0)
		return r;
	r = segment_totals(segment, &totals);
	if (r == 0)
		r = count_totals(c, t, totals) < 0 ? -ENOMEM : 1;
	else if (r != -ENOMEM)
		r = 0;
	segment_unpin(segment);
	return r;
}

static void *count_segments(void *argument)
{
	struct counting *c = argument;
	const struct view *v = c->snapshot->view;
	bool held = leash_hold(c->leash);

	for (size_t i = c->part; c->result == 0 && i < v->segment_n; i += c->parts) {
		int r = leash_check();

		if (r == 0)
			r = count_segment(c, v->segments[i]->segment);
		c->counted[i] = r > 0;
		c->result = MIN(r, 0);
	}
	if (held)
		leash_drop();
	return NULL;
}

/* --- rows of the others --- */

static bool wanted(void *context, struct segment *segment, uint32_t group)
{
	struct counting *c = context;
	const struct view *v = c->snapshot->view;

	(void)group;
	if (c->at >= v->segment_n || v->segments[c->at]->segment != segment)
		for (c->at = 0; v->segments[c->at]->segment != segment;)
			c->at++;
	return !c->counted[c->at];
}

static void *count_part(void *argument)
{
	struct counting *c = argument;
	const struct scan scan = {
		.part = c->part,
		.parts = c->parts,
		.rows = true,
		.apart = true,
		.wanted = wanted,
		.group = count_group,
		.trace = count_trace,
		.context = c,
	};
	bool held = leash_hold(c->leash);

	forget_names(c);
	c->result = snapshot_scan(c->snapshot, &scan);
	if (c->result == 0)
		c->result = operation_tally_settle(&c->tally);
	free(c->kinds);
	free(c->local);
	free(c->rows);
	free(c->durations);
	if (held)
		leash_drop();
	return NULL;
}

/* Does it for all parts, each on a thread; the first, and what got no thread, here. */
static int each_part(struct counting *parts, uint32_t n, void *(*run)(void *))
{
	pthread_t threads[THREADS_MOST];
	bool started[THREADS_MOST] = {false};
	int r = 0;

	for (uint32_t i = 1; i < n; i++)
		started[i] = pthread_create(&threads[i], NULL, run, &parts[i]) == 0;
	for (uint32_t i = 0; i < n; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			run(&parts[i]);
		if (r == 0)
			r = parts[i].result;
	}
	return r;
}

int snapshot_operations(const struct snapshot *s, struct operation_list *ret_list)
{
	_cleanup_(freep)
	struct counting *parts = NULL;
	_cleanup_(freep)
	bool *counted = calloc(s->view->segment_n + 1, sizeof(*counted));
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t n = processors < 1 ? 1 : (uint32_t)MIN(processors, THREADS_MOST);
	int r;

	parts = calloc(n, sizeof(*parts));
	if (!parts || !counted)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		parts[i].snapshot = s;
		parts[i].counted = counted;
		parts[i].leash = leash_held();
		parts[i].part = i;
		parts[i].parts = n;
		operation_tally_init(&parts[i].tally);
	}
	r = each_part(parts, n, count_segments);
	if (r == 0)
		r = each_part(parts, n, count_part);
	for (uint32_t i = 1; r == 0 && i < n; i++)
		r = operation_tally_merge(&parts[0].tally, &parts[i].tally);
	if (r == 0)
		r = operation_tally_list(&parts[0].tally, ret_list);
	for (uint32_t i = 0; i < n; i++)
		operation_tally_done(&parts[i].tally);
	return r;
}
