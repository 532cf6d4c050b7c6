/* model/trace_rows.c - the rows of a trace in canonical order, the same row once.
 *
 * Sorted by id first (radix: ids are random and many), and among equal ids by what the rows say.  A
 * row that came again in another batch is dropped and counted.  Within one batch a program may well
 * have said the same thing twice (two equal log lines in one tick), so of points and the like as
 * many are kept as the batch with the most of them holds. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "base/vec.h"
#include "model/event_order.h"
#include "model/trace_int.h"

struct item {
	struct event_ref ref;
	uint32_t process;
};

static int item_cmp(const void *a, const void *b)
{
	return event_cmp(((const struct item *)a)->ref, ((const struct item *)b)->ref);
}

static int by_place_cmp(const void *a, const void *b)
{
	const struct event_ref *x = &((const struct item *)a)->ref;
	const struct event_ref *y = &((const struct item *)b)->ref;

	if (x->batch != y->batch)
		return x->batch < y->batch ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int i64_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* When arrivals pause for TRACE_LATE_NS, what comes after the first such pause may be late: its
 * arrival time, or INT64_MAX. */
static int late_from(const struct event_ref *refs, size_t n, int64_t *ret_from)
{
	_cleanup_(freep)
	int64_t *received = NULL;
	size_t count = 0, capacity = 0;

	*ret_from = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && refs[i].batch == refs[i - 1].batch)
			continue;
		if (!vec_reserve(&received, &capacity, count + 1, sizeof(*received)))
			return -ENOMEM;
		received[count++] = refs[i].batch->received_ns;
	}
	if (count)
		qsort(received, count, sizeof(*received), i64_cmp);
	for (size_t i = 1; i < count; i++) {
		int64_t gap;

		if (__builtin_sub_overflow(received[i], received[i - 1], &gap) ||
		    gap > TRACE_LATE_NS) {
			*ret_from = received[i];
			return 0;
		}
	}
	return 0;
}

/* Late also means late for what it tells: an end that comes minutes after its begin is not. */
static bool is_late(const struct event *e, int64_t received, int64_t from)
{
	int64_t begin = raw_time(e->time_ns), end = raw_time(e->end_ns), own = MAX(begin, end), ago;

	if (received < from)
		return false;
	if (own == TIME_UNKNOWN)
		return true;
	return !__builtin_sub_overflow(received, own, &ago) && ago > TRACE_LATE_NS;
}

/* How many of a run of equal rows are kept. */
static size_t multiplicity(struct item *run, size_t n)
{
	size_t most = 1, here = 1;

	switch (event_get(run[0].ref)->type) {
	case EVENT_SPAN:
	case EVENT_BEGIN:
	case EVENT_END:
	case EVENT_UNIT:
		return 1;
	}
	if (n == 1)
		return 1;
	qsort(run, n, sizeof(*run), by_place_cmp);
	for (size_t i = 1; i < n; i++) {
		if (run[i].ref.batch != run[i - 1].ref.batch)
			here = 1;
		else if (run[i].ref.index != run[i - 1].ref.index)
			here++;
		most = MAX(most, here);
	}
	return most;
}

static void keep_run(struct build *b, struct item *run, size_t n, int64_t late)
{
	size_t kept = multiplicity(run, n);
	struct item *first = &run[0];
	struct row_info info = {.copies = (uint16_t)MIN(n - kept + 1, (size_t)UINT16_MAX)};

	for (size_t i = 1; i < n; i++)
		if (run[i].ref.batch->received_ns < first->ref.batch->received_ns)
			first = &run[i];
	info.process = first->process;
	if (n > kept)
		info.repairs |= REPAIR_DUPLICATE;
	if (is_late(event_get(first->ref), first->ref.batch->received_ns, late))
		info.repairs |= REPAIR_LATE;
	b->t->duplicates += n - kept;
	for (size_t i = 0; i < kept; i++) {
		b->rows[b->t->row_n] = first->ref;
		b->info[b->t->row_n++] = info;
	}
}

static void keep_group(struct build *b, struct item *group, size_t n, int64_t late)
{
	if (n > 1)
		qsort(group, n, sizeof(*group), item_cmp);
	for (size_t i = 0; i < n;) {
		size_t end = i + 1;

		while (end < n && item_cmp(&group[i], &group[end]) == 0)
			end++;
		keep_run(b, group + i, end - i, late);
		i = end;
	}
}

/* Puts the refs of equal ids together. */
static int sort_by_id(const struct event_ref *refs, const uint32_t *process, size_t n,
		      struct item *out)
{
	_cleanup_(freep)
	struct radix_item *keys = malloc((n + 1) * sizeof(*keys));
	_cleanup_(freep)
	struct radix_item *spare = malloc((n + 1) * sizeof(*spare));

	if (!keys || !spare)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct radix_item){event_get(refs[i])->id1, (uint32_t)i};
	radix_sort(keys, spare, n);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct item){refs[keys[i].value], process[keys[i].value]};
	return 0;
}

int build_rows(struct build *b, const struct event_ref *refs, size_t n)
{
	_cleanup_(freep)
	uint32_t *process = malloc((n + 1) * sizeof(*process));
	_cleanup_(freep)
	struct item *items = NULL;
	int64_t late;
	int r;

	if (!process)
		return -ENOMEM;
	r = build_processes(b, refs, n, process);
	if (r == 0)
		r = late_from(refs, n, &late);
	if (r < 0)
		return r;
	items = malloc((n + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	r = sort_by_id(refs, process, n, items);
	if (r < 0)
		return r;

	b->rows = arena_alloc(&b->t->arena, n * sizeof(*b->rows));
	b->info = malloc((n + 1) * sizeof(*b->info));
	if (!b->rows || !b->info)
		return -ENOMEM;
	b->t->rows = b->rows;
	for (size_t i = 0; i < n;) {
		span_id_t id = event_get(items[i].ref)->id1;
		size_t end = i + 1;

		while (end < n && event_get(items[end].ref)->id1 == id)
			end++;
		keep_group(b, items + i, end - i, late);
		i = end;
	}
	return 0;
}
