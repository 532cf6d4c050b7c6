/* store/bulk.c - everything a store holds, a page of whole traces at a time.
 *
 * A scan shows rows to a callback; whoever writes to a slow client cannot wait in one.  So the scan
 * is cut into as many parts as there are groups, and each page is one part of it, all of the same
 * snapshot.  Giants are only noted, and read behind all others, part by part: memory is that of one
 * group, or of one part of a giant. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/parts.h"
#include "store/scan.h"
#include "store/store_int.h"

#define PART_ROWS ((size_t)1 << 16) /* of a giant; and of heads in one part of the scan, about */

struct bulk {
	struct snapshot snapshot;
	bool has_snapshot;
	uint32_t part, parts;
	struct event_set set; /* the page at hand … */
	size_t trace_first;   /* … and where its last trace begins */
	struct trace_id *giants;
	size_t giant_n, giant_capacity, giant;
	struct store_parts reading; /* giants[giant] */
	bool is_reading;
};

static uint32_t parts_count(const struct snapshot *s)
{
	const struct view *v = s->view;
	uint64_t n = 1;

	for (size_t i = 0; i < v->segment_n; i++)
		n += segment_info(v->segments[i]->segment)->groups;
	for (size_t i = 0; i < v->head_n; i++)
		n += s->marks[i].runs / PART_ROWS;
	return (uint32_t)MIN(n, (uint64_t)UINT32_MAX);
}

static int bulk_begin(struct store_bulk *bulk, struct bulk **ret)
{
	struct bulk *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	r = store_snapshot(bulk->store, &b->snapshot);
	b->has_snapshot = r == 0;
	if (r < 0 && r != -EOPNOTSUPP) {
		free(b);
		return r;
	}
	b->parts = b->has_snapshot ? parts_count(&b->snapshot) : 1;
	bulk->inside = *ret = b;
	return 0;
}

static int giant_note(struct bulk *b, struct trace_id id)
{
	if (!vec_reserve(&b->giants, &b->giant_capacity, b->giant_n + 1, sizeof(*b->giants)))
		return -ENOMEM;
	b->giants[b->giant_n++] = id;
	b->set.n = b->trace_first; /* from the beginning, later */
	return 0;
}

static int trace_keep(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		      bool more)
{
	struct bulk *b = context;
	bool noted = b->giant_n > 0 && trace_id_eq(b->giants[b->giant_n - 1], id);

	if (noted)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!event_set_add(&b->set, (struct batch *)(uintptr_t)refs[i].batch, refs[i].index,
				   1))
			return -ENOMEM;
	if (more && b->set.n - b->trace_first >= PART_ROWS)
		return giant_note(b, id);
	if (!more)
		b->trace_first = b->set.n;
	return 0;
}

static int part_next(struct store *store, struct bulk *b)
{
	const struct scan scan = {
		.part = b->part++, .parts = b->parts, .trace = trace_keep, .context = b};

	b->trace_first = 0;
	/* Without snapshots all of it is in memory anyway. */
	return b->has_snapshot ? snapshot_scan(&b->snapshot, &scan) : store_all(store, &b->set);
}

static int giant_next(struct store *store, struct bulk *b)
{
	int r;

	if (!b->is_reading) {
		store_parts_init(&b->reading, store, b->giants[b->giant]);
		b->is_reading = true;
		r = parts_begin(&b->reading, &b->snapshot);
		if (r < 0)
			return r;
	}
	event_set_done(&b->set); /* what is left of a part that had nothing but giants */
	r = store_parts_next(&b->reading, PART_ROWS, &b->set);
	if (r == 0) {
		store_parts_done(&b->reading);
		b->is_reading = false;
		b->giant++;
	}
	return r < 0 ? r : 0;
}

void store_bulk_init(struct store_bulk *bulk, struct store *s)
{
	*bulk = (struct store_bulk){.store = s};
}

void store_bulk_done(struct store_bulk *bulk)
{
	struct bulk *b = bulk->inside;

	if (b) {
		if (b->is_reading)
			store_parts_done(&b->reading);
		if (b->has_snapshot)
			snapshot_done(&b->snapshot);
		event_set_done(&b->set);
		free(b->giants);
		free(b);
	}
	*bulk = (struct store_bulk){0};
}

int store_bulk_next(struct store_bulk *bulk, struct event_set *ret_set)
{
	struct bulk *b = bulk->inside;
	int r = b ? 0 : bulk_begin(bulk, &b);

	while (r == 0 && b->set.n == 0) {
		if (b->part < b->parts)
			r = part_next(bulk->store, b);
		else if (b->giant < b->giant_n)
			r = giant_next(bulk->store, b);
		else
			return 0;
	}
	if (r < 0)
		return r;
	*ret_set = b->set;
	b->set = (struct event_set){0};
	return 1;
}
