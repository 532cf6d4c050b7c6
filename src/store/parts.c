/* store/parts.c - a trace of any size, a part at a time: through the segments, then the heads. */
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/engine_int.h"

struct parts {
	struct snapshot snapshot;
	size_t at;             /* segment, then head behind the segments */
	uint64_t row;          /* of the trace's piece there */
	const struct run *run; /* in a head … */
	uint32_t run_row;      /* … and its row; */
	bool begun;            /* the head has been looked at */
};

void parts_done(struct store *s, struct store_parts *parts)
{
	struct parts *p = parts->inside;

	if (p)
		snapshot_done(&p->snapshot);
	free(p);
	parts->inside = NULL;
}

int parts_begin(struct store_parts *parts, const struct snapshot *snapshot)
{
	struct parts *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->snapshot = *snapshot;
	view_ref(p->snapshot.view);
	parts->inside = p;
	return 0;
}

/* Leaves rows out without reading them, as far as the segments go; a head's are passed over. */
static int segment_skip(struct parts *p, struct trace_id id, uint64_t *skip)
{
	struct segment *s = p->snapshot.view->segments[p->at]->segment;
	struct event_set none = {0};
	uint64_t rows = 0;
	int r = segment_trace_page(s, id, 0, 0, &none, &rows);

	event_set_done(&none);
	if (r < 0 && r != -ENOENT)
		return r;
	if (*skip >= rows) {
		*skip -= rows;
		p->at++;
		p->row = 0;
	} else {
		p->row = *skip;
		*skip = 0;
	}
	return 0;
}

/* Rows of one segment's piece; moves on at its end. */
static int segment_part(struct parts *p, struct trace_id id, size_t most, struct event_set *set)
{
	struct segment *s = p->snapshot.view->segments[p->at]->segment;
	size_t before = set->n;
	uint64_t rows = 0;
	int r = segment_trace_page(s, id, p->row, most - set->n, set, &rows);

	if (r < 0 && r != -ENOENT)
		return r;
	p->row += set->n - before;
	if (r == -ENOENT || p->row >= rows || set->n == before) {
		p->at++;
		p->row = 0;
	}
	return 0;
}

static void head_begin(struct parts *p, struct head *h, struct runs_mark mark, struct trace_id id)
{
	uint32_t trace;

	pthread_rwlock_rdlock(&h->lock);
	trace = runs_find(&h->runs, id);
	pthread_rwlock_unlock(&h->lock);
	p->run = trace == RUNS_NONE ? NULL : runs_first(&h->runs, mark, trace);
	p->run_row = 0;
	p->begun = true;
}

static int head_part(struct parts *p, struct trace_id id, uint64_t *skip, size_t most,
		     struct event_set *set)
{
	size_t at = p->at - p->snapshot.view->segment_n;
	struct head *h = p->snapshot.view->heads[at];
	struct runs_mark mark = p->snapshot.marks[at];

	if (!p->begun)
		head_begin(p, h, mark, id);
	while (p->run && *skip > 0) {
		uint32_t n = (uint32_t)MIN(*skip, (uint64_t)(p->run->count - p->run_row));

		*skip -= n;
		p->run_row += n;
		if (p->run_row == p->run->count) {
			p->run = runs_next(&h->runs, mark, p->run);
			p->run_row = 0;
		}
	}
	while (p->run && set->n < most) {
		uint32_t n = (uint32_t)MIN(most - set->n, (size_t)(p->run->count - p->run_row));

		if (!event_set_add(set, runs_batch(&h->runs, p->run->batch),
				   p->run->first + p->run_row, n))
			return -ENOMEM;
		p->run_row += n;
		if (p->run_row == p->run->count) {
			p->run = runs_next(&h->runs, mark, p->run);
			p->run_row = 0;
		}
	}
	if (!p->run) {
		p->at++;
		p->begun = false;
	}
	return 0;
}

int parts_next(struct store *s, struct store_parts *parts, size_t most, struct event_set *ret_set)
{
	struct parts *p = parts->inside;
	struct event_set set = {0};
	int r = 0;

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		engine_snapshot(engine_of(s), &p->snapshot);
		parts->inside = p;
	}
	most = MAX(most, (size_t)1);
	while (r == 0 && set.n < most &&
	       p->at < p->snapshot.view->segment_n + p->snapshot.view->head_n)
		r = p->at >= p->snapshot.view->segment_n
			    ? head_part(p, parts->id, &parts->skip, most, &set)
		    : parts->skip > 0 ? segment_skip(p, parts->id, &parts->skip)
				      : segment_part(p, parts->id, most, &set);
	if (r < 0 || set.n == 0) {
		event_set_done(&set);
		return r;
	}
	*ret_set = set;
	return 1;
}
