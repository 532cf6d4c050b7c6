/* store/giant.c - the line of a trace that is too large to be held in memory.
 *
 * Pages are summed up one after the other.  What a summary counts once however often it came would
 * need all ids at the same time; here it is counted as often as it came. */
#include "store/giant.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/summary.h"

#define SERVICES_MOST 4096 /* of one trace; more are not listed */

struct giant {
	struct arena *arena;
	struct trace_summary sum;
	struct trace_fold fold;
	bool has_root, root_has_parent;
	uint64_t root_time_ns;
	span_id_t root_id;
	uint64_t begun, ended;
	struct slice *services; /* in the arena, unsorted */
};

static int service_note(struct giant *g, struct slice service)
{
	struct slice kept;

	if (service.n == 0 || g->sum.service_n == SERVICES_MOST)
		return 0;
	/* The newest first: neighbours are alike. */
	for (size_t i = g->sum.service_n; i-- > 0;)
		if (slice_eq(g->services[i], service))
			return 0;
	kept = arena_dup(g->arena, service);
	if (!kept.p)
		return -ENOMEM;
	g->services[g->sum.service_n++] = kept;
	return 0;
}

/* Without a parent beats with one; then the earlier, then the smaller id: as trace_root(). */
static bool is_better(const struct giant *g, const struct event *e)
{
	bool has_parent = e->id2 != 0;

	if (!g->has_root || has_parent != g->root_has_parent)
		return !g->has_root || !has_parent;
	return e->time_ns < g->root_time_ns ||
	       (e->time_ns == g->root_time_ns && e->id1 < g->root_id);
}

static void root_note(struct giant *g, const struct event_ref *refs, size_t n)
{
	struct event_ref root = trace_root(refs, n);
	const struct event *e = root.batch ? event_get(root) : NULL;

	if (!e || !is_better(g, e))
		return;
	g->has_root = true;
	g->root_has_parent = e->id2 != 0;
	g->root_time_ns = e->time_ns;
	g->root_id = e->id1;
	g->sum.root_service = arena_dup(g->arena, batch_service(root.batch, e));
	g->sum.root_name = arena_dup(g->arena, batch_text(root.batch, e->name));
}

static int page_add(void *context, const struct event_ref *refs, size_t n)
{
	struct giant *g = context;
	const struct batch *batch = NULL;
	uint32_t resource = 0;
	int r = 0;

	trace_fold_add(&g->fold, refs, n);
	root_note(g, refs, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct event *e = event_get(refs[i]);
		bool block = e->type == EVENT_SPAN || e->type == EVENT_BEGIN;

		g->sum.spans += block;
		g->sum.errors += event_failed(e);
		g->begun += e->type == EVENT_BEGIN || (e->type == EVENT_SPAN && e->end_ns == 0);
		g->ended += e->type == EVENT_END;
		if (!block || (refs[i].batch == batch && e->resource == resource))
			continue;
		batch = refs[i].batch;
		resource = e->resource;
		r = service_note(g, batch_service(batch, e));
	}
	return r;
}

static int by_text(const void *a, const void *b)
{
	return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

int giant_summarise(const struct snapshot *s, struct trace_id id, struct arena *arena,
		    struct trace_summary *ret_summary)
{
	static const struct store_query anything = {0};
	struct giant g = {.arena = arena};
	int r;

	g.services = arena_zalloc(arena, SERVICES_MOST, sizeof(*g.services));
	if (!g.services)
		return -ENOMEM;
	trace_fold_begin(&g.fold, &anything);
	r = snapshot_trace_pages_bare(s, id, page_add, &g);
	if (r < 0)
		return r;
	trace_fold_matches(&g.fold, &g.sum.start_ns, &g.sum.duration_ns);
	g.sum.id = id;
	g.sum.unfinished = g.begun > g.ended ? g.begun - g.ended : 0;
	if (g.sum.service_n > 1)
		qsort(g.services, g.sum.service_n, sizeof(*g.services), by_text);
	g.sum.services = g.services;
	*ret_summary = g.sum;
	return 0;
}
