/* store/each_trace.c - every trace of a store, one after the other, whole. */
#include <errno.h>

#include "store/engine_int.h"
#include "store/scan.h"

#define ROWS_TOGETHER ((size_t)1 << 17) /* a trace with more comes in parts */

/* A scan gives a trace piece by piece; pieces are held until all are there. */
struct walk {
	int (*each)(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		    bool more);
	void *context;
	struct event_set held;
};

static int hold(struct walk *w, const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!event_set_add(&w->held, (struct batch *)(uintptr_t)refs[i].batch,
				   refs[i].index, 1))
			return -ENOMEM;
	return 0;
}

static int give(struct walk *w, struct trace_id id, bool more)
{
	int r = w->each(w->context, id, w->held.refs, w->held.n, more);

	event_set_done(&w->held);
	return r;
}

static int page(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		bool more)
{
	struct walk *w = context;
	int r;

	if (!more && w->held.n == 0)
		return w->each(w->context, id, refs, n, false);
	r = hold(w, refs, n);
	if (r < 0 || (more && w->held.n < ROWS_TOGETHER))
		return r;
	return give(w, id, more);
}

int engine_each_trace(struct store *s,
		      int (*each)(void *context, struct trace_id id, const struct event_ref *refs,
				  size_t n, bool more),
		      void *context)
{
	struct walk walk = {.each = each, .context = context};
	const struct scan scan = {.trace = page, .context = &walk};
	struct snapshot snapshot;
	int r;

	engine_snapshot(engine_of(s), &snapshot);
	r = snapshot_scan(&snapshot, &scan);
	snapshot_done(&snapshot);
	event_set_done(&walk.held);
	return r;
}
