/* capture/message_order.c - a binary heap of messages by time; equal times keep their order by id,
 * which counts up, calls before returns. */
#include "capture/message_order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

void message_order_init(struct message_order *o, struct message_sink sink)
{
	*o = (struct message_order){.sink = sink, .given_ns = INT64_MIN};
}

void message_order_done(struct message_order *o)
{
	free(o->heap);
	o->heap = NULL;
	o->n = o->capacity = o->batch_n = 0;
}

static bool before(const struct message *a, const struct message *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->op != b->op && a->id == b->id)
		return a->op < b->op;
	return a->id < b->id;
}

static int flush(struct message_order *o)
{
	if (o->batch_n > 0 && o->failed == 0) {
		int r = o->sink.put(o->sink.context, o->batch, o->batch_n);

		if (r < 0)
			o->failed = r;
	}
	o->batch_n = 0;
	return o->failed;
}

/* Gives on the oldest. */
static void pop(struct message_order *o)
{
	struct message last = o->heap[--o->n];
	size_t at = 0;

	o->batch[o->batch_n++] = o->n > 0 ? o->heap[0] : last;
	if (o->batch[o->batch_n - 1].time_ns < o->given_ns)
		o->late++;
	else
		o->given_ns = o->batch[o->batch_n - 1].time_ns;
	if (o->batch_n == ORDER_BATCH)
		flush(o);
	for (;;) {
		size_t child = at * 2 + 1;

		if (child >= o->n)
			break;
		if (child + 1 < o->n && before(&o->heap[child + 1], &o->heap[child]))
			child++;
		if (!before(&o->heap[child], &last))
			break;
		o->heap[at] = o->heap[child];
		at = child;
	}
	if (o->n > 0)
		o->heap[at] = last;
}

int message_order_put(struct message_order *o, const struct message *m)
{
	size_t at;

	if (o->failed < 0)
		return o->failed;
	if (o->n >= ORDER_MAX) {
		o->early++;
		pop(o);
	}
	if (!vec_reserve(&o->heap, &o->capacity, o->n + 1, sizeof(*o->heap)))
		return o->failed = -ENOMEM;
	for (at = o->n++; at > 0; at = (at - 1) / 2) {
		if (!before(m, &o->heap[(at - 1) / 2]))
			break;
		o->heap[at] = o->heap[(at - 1) / 2];
	}
	o->heap[at] = *m;
	return o->failed;
}

int message_order_release(struct message_order *o, int64_t before_ns)
{
	while (o->n > 0 && (o->heap[0].time_ns < before_ns || before_ns == INT64_MAX))
		pop(o);
	return flush(o);
}
