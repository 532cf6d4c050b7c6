/* model/trace_rows.c - the rows of a trace in canonical order, the same row once.
 *
 * Rows of one id stand together, sorted by what they say; the ids by their earliest begin, then by
 * number.  Sorting by number alone would do as well, but time is near the order in which rows came
 * and lie in memory, and a builder that jumps about in a gigabyte of rows waits for every one.  A
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
	uint32_t input; /* where it stood among the refs */
};

/* What is read off the events while they are passed in the order they lie in. */
struct input {
	uint64_t thread;
	uint64_t time_ns; /* when a block began, by this row */
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

static void keep_run(struct build *b, const struct input *input, struct item *run, size_t n,
		     int64_t late)
{
	size_t kept = multiplicity(run, n);
	struct item *first = &run[0];
	struct row_info info = {.copies = (uint16_t)MIN(n - kept + 1, (size_t)UINT16_MAX)};
	const struct event *e;

	for (size_t i = 1; i < n; i++)
		if (run[i].ref.batch->received_ns < first->ref.batch->received_ns)
			first = &run[i];
	e = event_get(first->ref);
	info.id = e->id1;
	info.type = e->type;
	info.process = input[first->input].process;
	info.thread = input[first->input].thread;
	if (n > kept)
		info.repairs |= REPAIR_DUPLICATE;
	if (late != INT64_MAX && is_late(e, first->ref.batch->received_ns, late))
		info.repairs |= REPAIR_LATE;
	b->t->duplicates += n - kept;
	for (size_t i = 0; i < kept; i++) {
		b->rows[b->t->row_n] = first->ref;
		b->info[b->t->row_n++] = info;
	}
}

static void keep_group(struct build *b, const struct input *input, struct item *group, size_t n,
		       int64_t late)
{
	if (n > 1)
		qsort(group, n, sizeof(*group), item_cmp);
	for (size_t i = 0; i < n;) {
		size_t end = i + 1;

		while (end < n && item_cmp(&group[i], &group[end]) == 0)
			end++;
		keep_run(b, input, group + i, end - i, late);
		i = end;
	}
}

/* thread.id as a number: as it is, or a hash of its text.  0 without one. */
static uint64_t thread_of(const struct batch *b, const struct event *e)
{
	const struct attr *a = batch_attr_find(b, e->attrs, SLICE("thread.id"));
	struct slice text;

	if (!a)
		return 0;
	if (a->type == VALUE_INT)
		return attr_bits(b, a);
	if (a->type != VALUE_STRING)
		return 0;
	text = batch_text(b, a->string);
	return hash_bytes(text.p, text.n, 1);
}

static int read_input(struct build *b, const struct event_ref *refs, size_t n, struct input *input)
{
	_cleanup_(freep)
	uint32_t *process = malloc((n + 1) * sizeof(*process));
	int r;

	if (!process)
		return -ENOMEM;
	r = build_processes(b, refs, n, process);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct event *e = event_get(refs[i]);

		bool begins = e->type == EVENT_SPAN || e->type == EVENT_BEGIN;
		bool instant = e->type == EVENT_END ||
			       (e->type >= EVENT_SEND && e->type <= EVENT_LOCK_RELEASE);

		input[i] = (struct input){
			.thread = begins || instant ? thread_of(refs[i].batch, e) : 0,
			.time_ns = begins ? e->time_ns : UINT64_MAX,
			.process = process[i],
		};
		b->has_state |= batch_extra_get(refs[i].batch, e)->trace_state != 0;
	}
	return r;
}

/* The groups of equal ids in `keys`, which is sorted, with their earliest begin: key is that time,
 * value where the group begins. */
static size_t list_groups(const struct radix_item *keys, size_t n, const struct input *input,
			  struct radix_item *groups)
{
	size_t group_n = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t time = input[keys[i].value].time_ns;

		if (i > 0 && keys[i].key == keys[i - 1].key)
			groups[group_n - 1].key = MIN(groups[group_n - 1].key, time);
		else
			groups[group_n++] = (struct radix_item){time, (uint32_t)i};
	}
	return group_n;
}

/* Hands the refs on, group by group. */
static int keep_all(struct build *b, const struct event_ref *refs, size_t n,
		    const struct input *input, int64_t late)
{
	_cleanup_(freep)
	struct radix_item *keys = malloc((n + 1) * sizeof(*keys));
	_cleanup_(freep)
	struct radix_item *groups = malloc((n + 1) * sizeof(*groups));
	_cleanup_(freep)
	struct radix_item *spare = malloc((n + 1) * sizeof(*spare));
	_cleanup_(freep)
	struct item *group = NULL;
	size_t capacity = 0, group_n;

	if (!keys || !groups || !spare)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct radix_item){event_get(refs[i])->id1, (uint32_t)i};
	radix_sort(keys, spare, n);
	group_n = list_groups(keys, n, input, groups);
	radix_sort(groups, spare, group_n); /* stable: equal times stay in order of ids */
	for (size_t i = 0; i < group_n; i++) {
		size_t at = groups[i].value, count = 0;

		for (; at + count < n && keys[at + count].key == keys[at].key; count++) {
			uint32_t from = keys[at + count].value;

			if (!vec_reserve(&group, &capacity, count + 1, sizeof(*group)))
				return -ENOMEM;
			group[count] = (struct item){refs[from], from};
		}
		keep_group(b, input, group, count, late);
	}
	return 0;
}

int build_rows(struct build *b, const struct event_ref *refs, size_t n)
{
	_cleanup_(freep)
	struct input *input = malloc((n + 1) * sizeof(*input));
	int64_t late;
	int r;

	b->rows = arena_alloc(&b->t->arena, n * sizeof(*b->rows));
	b->info = malloc((n + 1) * sizeof(*b->info));
	if (!input || !b->rows || !b->info)
		return -ENOMEM;
	b->t->rows = b->rows;
	r = read_input(b, refs, n, input);
	if (r == 0)
		r = late_from(refs, n, &late);
	return r < 0 ? r : keep_all(b, refs, n, input, late);
}
