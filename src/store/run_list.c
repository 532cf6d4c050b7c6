/* store/run_list.c - the traces of one batch and their runs.
 *
 * Which traces were met a moment ago is remembered in a small table without probing: where two
 * want the same slot the later one has it, and the other becomes a second entry when it comes
 * again.  So it costs the same for any batch, and nothing is allocated for it. */
#include "store/run_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"

#define COUNT_FROM 4096 /* rows: below, room is made for as many runs */
#define SLOTS      2048 /* a power of two, some times the traces of a request */
#define SLOT_NONE  UINT16_MAX

struct finder {
	struct run_list *list;
	uint64_t seed;
	uint16_t slots[SLOTS]; /* traces */
};

size_t run_list_count(const struct batch *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->event_n; i++)
		n += i == 0 || !trace_id_eq(b->events[i].trace_id, b->events[i - 1].trace_id);
	return n;
}

static struct run_list *list_new(size_t runs)
{
	struct run_list *list =
		malloc(sizeof(*list) + runs * (sizeof(*list->traces) + sizeof(*list->pieces)));

	if (list)
		*list = (struct run_list){.pieces = (void *)&list->traces[runs]};
	return list;
}

/* The trace's entry, with a new run that begins at this row. */
static struct run_trace *run_begin(struct finder *f, struct trace_id id, uint32_t row)
{
	struct run_list *list = f->list;
	uint32_t hash = run_hash(id, f->seed), piece = list->n++;
	uint16_t *slot = &f->slots[hash % SLOTS];
	struct run_trace *trace = *slot == SLOT_NONE ? NULL : &list->traces[*slot];

	list->pieces[piece] = (struct run_piece){row, 0, RUNS_NONE};
	if (trace && trace_id_eq(trace->id, id)) {
		list->pieces[trace->last].next = piece;
		trace->last = piece;
		return trace;
	}
	*slot = (uint16_t)MIN(list->trace_n, (uint32_t)SLOT_NONE);
	trace = &list->traces[list->trace_n++];
	*trace = (struct run_trace){
		.id = id, .start_ns = INT64_MAX, .hash = hash, .first = piece, .last = piece};
	return trace;
}

static bool is_block(const struct event *e)
{
	return e->type == EVENT_SPAN || e->type == EVENT_BEGIN;
}

struct run_list *run_list_new(const struct batch *b)
{
	size_t most = b->event_n < COUNT_FROM ? b->event_n : run_list_count(b);
	struct finder f = {.list = b->event_n < RUNS_MOST ? list_new(most) : NULL,
			   .seed = rng_process_seed()};
	struct run_trace *trace = NULL;

	if (!f.list)
		return NULL;
	memset(f.slots, 0xff, sizeof(f.slots));
	for (uint32_t i = 0; i < b->event_n; i++) {
		const struct event *e = &b->events[i];

		if (!trace || !trace_id_eq(trace->id, e->trace_id))
			trace = run_begin(&f, e->trace_id, i);
		f.list->pieces[trace->last].count++;
		if (!is_block(e))
			continue;
		f.list->span_n++;
		trace->rooted |= e->id2 == 0;
		if (e->time_ns != 0)
			trace->start_ns = MIN(trace->start_ns, run_time(e->time_ns));
	}
	return f.list;
}
