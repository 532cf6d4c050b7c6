/* model/trace_edges.c - instants that belong together become edges.
 *
 *   SEND … RECEIVE of one edge id              MESSAGE
 *   CLIENT_SEND … SERVER_RECEIVE of one call   REQUEST
 *   SERVER_SEND … CLIENT_RECEIVE               RESPONSE; with a CLIENT_QUEUE before it, the time
 *                                              from there on was spent in a queue
 *   ENQUEUE … DEQUEUE … COMPLETE of one item   QUEUE
 *   LOCK_RELEASE … the next LOCK_ACQUIRE       LOCK; waited for since its LOCK_REQUEST
 *   EDGE                                       what its name says
 *   LINK                                       LINK, if the linked block is in this trace
 *
 * Where an id was used several times (a stream, a retry), the i-th of one side goes with the i-th
 * of the other, what is left over with the last.  A side without the other is marked REPAIR_ORPHAN.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/trace_int.h"

enum family { FAMILY_MESSAGE, FAMILY_CALL, FAMILY_ITEM, FAMILY_LOCK };

struct instant {
	uint64_t id; /* of the edge, call, item or lock */
	int64_t time_ns;
	uint64_t seq;
	int64_t queued_ns; /* locks: since the request */
	uint32_t point, process;
	uint8_t family, type;
};

/* Instants of one id and type, by time. */
struct side {
	struct instant *at;
	size_t n;
};

#define CMP(a, b) ((a) < (b) ? -1 : (a) > (b))

static int instant_cmp(const void *a, const void *b)
{
	const struct instant *x = a, *y = b;

	if (x->family != y->family)
		return CMP(x->family, y->family);
	if (x->id != y->id)
		return CMP(x->id, y->id);
	if (x->family == FAMILY_LOCK && x->process != y->process)
		return CMP(x->process, y->process);
	if (x->type != y->type)
		return CMP(x->type, y->type);
	if (x->time_ns != y->time_ns)
		return CMP(x->time_ns, y->time_ns);
	if (x->seq != y->seq)
		return CMP(x->seq, y->seq);
	return CMP(x->point, y->point);
}

static int family_of(uint8_t type)
{
	switch (type) {
	case EVENT_SEND:
	case EVENT_RECEIVE:
		return FAMILY_MESSAGE;
	case EVENT_CLIENT_SEND:
	case EVENT_SERVER_RECEIVE:
	case EVENT_SERVER_SEND:
	case EVENT_CLIENT_RECEIVE:
	case EVENT_CLIENT_QUEUE:
		return FAMILY_CALL;
	case EVENT_ENQUEUE:
	case EVENT_DEQUEUE:
	case EVENT_COMPLETE:
		return FAMILY_ITEM;
	case EVENT_LOCK_REQUEST:
	case EVENT_LOCK_ACQUIRE:
	case EVENT_LOCK_RELEASE:
		return FAMILY_LOCK;
	default:
		return -1;
	}
}

static int add_edge(struct build *b, struct trace_edge edge)
{
	if (!vec_reserve(&b->edges, &b->edge_capacity, b->edge_n + 1, sizeof(*b->edges)))
		return -ENOMEM;
	if (trace_pos_eq(edge.from, edge.to))
		edge.repairs |= REPAIR_CYCLE;
	b->edges[b->edge_n++] = edge;
	return 0;
}

static int join(struct build *b, enum trace_edge_kind kind, const struct instant *from,
		const struct instant *to, int64_t queued_ns)
{
	struct trace_point *points = b->t->points;

	return add_edge(
		b, (struct trace_edge){
			   .from = trace_pos(POS_POINT, from->point),
			   .to = trace_pos(POS_POINT, to->point),
			   .kind = (uint8_t)kind,
			   .row = points[from->point].row,
			   .queued_ns = queued_ns,
			   .repairs = (points[from->point].repairs | points[to->point].repairs) &
				      REPAIR_LATE,
		   });
}

static int64_t waited(const struct instant *from, const struct instant *to)
{
	if (from->process != to->process || from->time_ns == TIME_UNKNOWN ||
	    to->time_ns == TIME_UNKNOWN || to->time_ns < from->time_ns)
		return 0;
	return to->time_ns - from->time_ns;
}

static void orphans(struct build *b, struct side side, size_t from)
{
	for (size_t i = from; i < side.n; i++)
		b->t->points[side.at[i].point].repairs |= REPAIR_ORPHAN;
}

static int pair(struct build *b, enum trace_edge_kind kind, struct side from, struct side to)
{
	int r = 0;

	if (from.n == 0 || to.n == 0) {
		orphans(b, from, 0);
		orphans(b, to, 0);
		return 0;
	}
	orphans(b, from, to.n);
	for (size_t i = 0; r == 0 && i < to.n; i++) {
		const struct instant *source = &from.at[MIN(i, from.n - 1)];

		r = join(b, kind, source, &to.at[i],
			 kind == EDGE_QUEUE ? waited(source, &to.at[i]) : 0);
	}
	return r;
}

/* Cuts the instants of one type out of a sorted run. */
static struct side side_of(struct instant *run, size_t n, enum event_type type)
{
	struct side side = {0};

	for (size_t i = 0; i < n; i++) {
		if (run[i].type != type)
			continue;
		if (side.n++ == 0)
			side.at = &run[i];
	}
	return side;
}

/* The answer was read from the network (and queued) before it was handled: the way of the response
 * leads there first, and how long it lay is said on the response's edge. */
static int pair_queued(struct build *b, struct side send, struct side queue, struct side receive)
{
	int r = pair(b, EDGE_RESPONSE, send, receive.n ? receive : queue);

	if (receive.n == 0 || queue.n == 0)
		return r;
	for (size_t i = 0; r == 0 && i < receive.n; i++) {
		const struct instant *queued = &queue.at[MIN(i, queue.n - 1)];
		int64_t wait = waited(queued, &receive.at[i]);

		if (send.n) /* the edges of this response are the newest: one per receive */
			b->edges[b->edge_n - receive.n + i].queued_ns = wait;
	}
	for (size_t i = 0; r == 0 && i < receive.n; i++) {
		const struct instant *queued = &queue.at[MIN(i, queue.n - 1)];

		r = join(b, EDGE_QUEUE, queued, &receive.at[i], waited(queued, &receive.at[i]));
	}
	for (size_t i = 0; r == 0 && send.n && i < queue.n; i++)
		r = join(b, EDGE_QUEUE, &send.at[MIN(i, send.n - 1)], &queue.at[i], 0);
	return r;
}

static int by_block_cmp(const void *a, const void *b)
{
	const struct instant *x = a, *y = b;

	if (x->seq != y->seq) /* borrowed: the block */
		return CMP(x->seq, y->seq);
	if (x->time_ns != y->time_ns)
		return CMP(x->time_ns, y->time_ns);
	if (x->type != y->type)
		return CMP(x->type, y->type);
	return CMP(x->point, y->point);
}

static int by_time_cmp(const void *a, const void *b)
{
	const struct instant *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return CMP(x->time_ns, y->time_ns);
	if (x->type != y->type) /* in one tick: released, then acquired */
		return CMP(y->type, x->type);
	return CMP(x->point, y->point);
}

/* One lock of one process: how long each acquire had waited, and who gave it the lock. */
static int pair_lock(struct build *b, struct instant *run, size_t n)
{
	const struct instant *request = NULL, *release = NULL;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		run[i].seq = b->t->points[run[i].point].block;
	qsort(run, n, sizeof(*run), by_block_cmp);
	for (size_t i = 0; i < n; i++) {
		if (run[i].type == EVENT_LOCK_REQUEST) {
			request = &run[i];
		} else if (run[i].type == EVENT_LOCK_ACQUIRE) {
			if (request && request->seq == run[i].seq)
				run[i].queued_ns = waited(request, &run[i]);
			request = NULL;
		}
	}
	qsort(run, n, sizeof(*run), by_time_cmp);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (run[i].time_ns == TIME_UNKNOWN)
			continue;
		if (run[i].type == EVENT_LOCK_RELEASE) {
			release = &run[i];
		} else if (run[i].type == EVENT_LOCK_ACQUIRE && release) {
			r = join(b, EDGE_LOCK, release, &run[i], run[i].queued_ns);
			release = NULL;
		}
	}
	return r;
}

static int pair_run(struct build *b, struct instant *run, size_t n)
{
	int r;

	switch (run[0].family) {
	case FAMILY_MESSAGE:
		return pair(b, EDGE_MESSAGE, side_of(run, n, EVENT_SEND),
			    side_of(run, n, EVENT_RECEIVE));
	case FAMILY_CALL:
		r = pair(b, EDGE_REQUEST, side_of(run, n, EVENT_CLIENT_SEND),
			 side_of(run, n, EVENT_SERVER_RECEIVE));
		return r < 0 ? r
			     : pair_queued(b, side_of(run, n, EVENT_SERVER_SEND),
					   side_of(run, n, EVENT_CLIENT_QUEUE),
					   side_of(run, n, EVENT_CLIENT_RECEIVE));
	case FAMILY_ITEM: {
		struct side taken = side_of(run, n, EVENT_DEQUEUE);
		struct side complete = side_of(run, n, EVENT_COMPLETE);

		r = pair(b, EDGE_QUEUE, side_of(run, n, EVENT_ENQUEUE), taken);
		/* the work on it is no waiting */
		for (size_t i = 0; r == 0 && taken.n && i < complete.n; i++)
			r = join(b, EDGE_QUEUE, &taken.at[MIN(i, taken.n - 1)], &complete.at[i], 0);
		if (taken.n == 0)
			orphans(b, complete, 0);
		return r;
	}
	default:
		return pair_lock(b, run, n);
	}
}

static bool same_run(const struct instant *a, const struct instant *b)
{
	return a->family == b->family && a->id == b->id &&
	       (a->family != FAMILY_LOCK || a->process == b->process);
}

static int from_instants(struct build *b)
{
	struct trace *t = b->t;
	_cleanup_(freep)
	struct instant *list = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < t->point_n; i++)
		n += family_of(b->info[t->points[i].row].type) >= 0;
	list = malloc((n + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < t->point_n; i++) {
		const struct event *e = trace_row(t, t->points[i].row);
		int family = family_of(e->type);

		if (family < 0 || t->points[i].block == TRACE_NONE)
			continue;
		list[n++] = (struct instant){
			.id = e->id2,
			.time_ns = t->points[i].time_ns,
			.seq = trace_row_place(t, t->points[i].row).seq,
			.point = (uint32_t)i,
			.process = b->info[t->points[i].row].process,
			.family = (uint8_t)family,
			.type = e->type,
		};
	}
	if (n)
		qsort(list, n, sizeof(*list), instant_cmp);
	for (size_t i = 0; r == 0 && i < n;) {
		size_t end = i + 1;

		while (end < n && same_run(&list[i], &list[end]))
			end++;
		r = pair_run(b, list + i, end - i);
		i = end;
	}
	return r;
}

static enum trace_edge_kind kind_named(struct slice name)
{
	for (int kind = 0; kind < EDGE_OTHER; kind++)
		if (slice_eq_nocase(name,
				    slice_cstr(trace_edge_kind_name((enum trace_edge_kind)kind))))
			return (enum trace_edge_kind)kind;
	return EDGE_OTHER;
}

/* Where an EDGE row touches a block: at its begin or end if the time says so, else at a point made
 * for it.  Without a time: joins from end to end, all others from begin to begin. */
static struct trace_pos touch(struct build *b, uint32_t block, uint32_t row, uint64_t ns,
			      enum trace_edge_kind kind)
{
	struct trace *t = b->t;
	const struct trace_block *at = &b->blocks[block];
	int64_t when = raw_time(ns);

	if (when == TIME_UNKNOWN)
		return trace_pos(kind == EDGE_JOIN ? POS_END : POS_BEGIN, block);
	if (when == at->begin_ns)
		return trace_pos(POS_BEGIN, block);
	if (when == at->end_ns && !(at->bits & BLOCK_RUNNING))
		return trace_pos(POS_END, block);
	t->points[t->point_n] = (struct trace_point){
		.time_ns = when,
		.row = row,
		.block = block,
		.unit = TRACE_NONE,
		.repairs = b->info[row].repairs,
		.copies = b->info[row].copies,
	};
	return trace_pos(POS_POINT, (uint32_t)t->point_n++);
}

static int from_edge_row(struct build *b, uint32_t row)
{
	struct trace *t = b->t;
	const struct event *e = trace_row(t, row);
	uint32_t from = build_find(b, e->id1, b->info[row].process);
	uint32_t to = build_find(b, e->id2, TRACE_NONE);
	enum trace_edge_kind kind = kind_named(trace_row_name(t, row));
	struct trace_edge edge = {.kind = (uint8_t)kind, .row = row};

	if (from == TRACE_NONE || to == TRACE_NONE) {
		t->links[t->link_n++] = (struct trace_link){from, row};
		return 0;
	}
	edge.from = touch(b, from, row, e->time_ns, kind);
	edge.to = touch(b, to, row, e->end_ns, kind);
	edge.repairs = b->info[row].repairs;
	if ((kind == EDGE_QUEUE || kind == EDGE_LOCK) &&
	    b->blocks[from].process == b->blocks[to].process &&
	    raw_time(e->time_ns) != TIME_UNKNOWN && raw_time(e->end_ns) > raw_time(e->time_ns))
		edge.queued_ns = raw_time(e->end_ns) - raw_time(e->time_ns);
	return add_edge(b, edge);
}

static int from_link(struct build *b, const struct pending_link *link)
{
	struct trace *t = b->t;
	const struct event *e = trace_row(t, link->row);
	struct trace_id trace = batch_extra_get(trace_row_batch(t, link->row), e)->link_trace;
	uint32_t linked = TRACE_NONE;

	if (trace_id_is_zero(trace) || trace_id_eq(trace, t->id))
		linked = build_find(b, e->id2, TRACE_NONE);
	if (linked == TRACE_NONE || link->block == TRACE_NONE) {
		t->links[t->link_n++] = (struct trace_link){link->block, link->row};
		return 0;
	}
	return add_edge(b, (struct trace_edge){
				   .from = trace_pos(POS_BEGIN, linked),
				   .to = trace_pos(POS_BEGIN, link->block),
				   .kind = EDGE_LINK,
				   .row = link->row,
				   .repairs = b->info[link->row].repairs,
			   });
}

int build_edges(struct build *b)
{
	struct trace *t = b->t;
	int r = from_instants(b);

	for (uint32_t row = 0; r == 0 && row < t->row_n; row++)
		if (b->info[row].type == EVENT_EDGE)
			r = from_edge_row(b, row);
	for (size_t i = 0; r == 0 && i < b->link_n; i++)
		r = from_link(b, &b->links[i]);
	for (size_t i = 0; r == 0 && i < b->edge_n; i++) {
		const struct trace_edge *edge = &b->edges[i];
		uint32_t from = trace_pos_block(t, edge->from), to = trace_pos_block(t, edge->to);

		if ((edge->kind == EDGE_REQUEST || edge->kind == EDGE_MESSAGE) && from != to) {
			b->blocks[to].bits |= BLOCK_HAS_REQUEST;
			b->blocks[from].bits |= BLOCK_HAS_PEER;
		}
	}
	return r;
}
