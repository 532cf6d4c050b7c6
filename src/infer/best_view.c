/* infer/best_view.c - cuts a window of calls into the views of its nodes. */
#include "infer/best_view.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "base/vec.h"

#define ALLOC(arena, pointer, n)                                                                   \
	((pointer) = arena_alloc((arena), ((size_t)(n) + 1) * sizeof(*(pointer))))

/* The coarsest clock all times agree with. */
static int64_t find_grain(const struct calls *calls, int64_t origin)
{
	static const int64_t grains[] = {1000000, 1000};

	for (size_t g = 0; g < ARRAY_SIZE(grains); g++) {
		bool fits = true;

		for (size_t i = 0; fits && i < calls->n; i++) {
			const struct call *c = &calls->at[i];
			struct call_served served = call_served(calls, i);

			fits = (c->start_ns - origin) % grains[g] == 0 &&
			       (served.recv_ns - origin) % grains[g] == 0 &&
			       (!call_finished(c) || ((c->end_ns - origin) % grains[g] == 0 &&
						      (served.reply_ns - origin) % grains[g] == 0));
		}
		if (fits)
			return grains[g];
	}
	return 1;
}

/* Groups the calls by callee or caller; stable, so each group keeps the order of start. */
static int group(const struct calls *calls, bool by_callee, uint32_t node_n, struct arena *arena,
		 uint32_t **ret_first, uint32_t **ret_members)
{
	uint32_t *first = arena_zalloc(arena, (size_t)node_n + 2, sizeof(*first));
	uint32_t *members = arena_alloc(arena, (calls->n + 1) * sizeof(*members));

	if (!first || !members)
		return -ENOMEM;
	for (size_t i = 0; i < calls->n; i++)
		first[(by_callee ? calls->at[i].callee : calls->at[i].caller) + 2]++;
	for (uint32_t k = 2; k <= node_n; k++)
		first[k] += first[k - 1];
	for (size_t i = 0; i < calls->n; i++)
		members[first[(by_callee ? calls->at[i].callee : calls->at[i].caller) + 1]++] =
			(uint32_t)i;
	*ret_first = first;
	*ret_members = members;
	return 0;
}

int view_index_build(const struct calls *calls, struct arena *arena, struct view_index *ret_index)
{
	struct view_index x = {.origin_ns = calls->n ? calls->at[0].start_ns : 0};
	int r;

	for (size_t i = 0; i < calls->n; i++) {
		x.node_n = MAX(x.node_n, calls->at[i].caller + 1);
		x.node_n = MAX(x.node_n, calls->at[i].callee + 1);
	}
	x.grain_ns = find_grain(calls, x.origin_ns);
	r = group(calls, true, x.node_n, arena, &x.served_first, &x.served);
	if (r == 0)
		r = group(calls, false, x.node_n, arena, &x.made_first, &x.made);
	if (r < 0)
		return r;
	*ret_index = x;
	return 0;
}

static uint16_t label_of(uint32_t *labels, uint16_t *n, uint16_t max, uint32_t node)
{
	for (uint16_t i = 0; i < *n; i++)
		if (labels[i] == node)
			return i;
	if (*n == max)
		return (uint16_t)(max - 1);
	labels[*n] = node;
	return (*n)++;
}

/* The callee's clock may order calls otherwise than their callers' clocks do. */
static int sort_by(uint32_t *items, const struct calls *calls, uint32_t n, struct arena *arena)
{
	struct radix_item *keys, *spare;
	bool sorted = true;

	for (uint32_t i = 1; sorted && i < n; i++)
		sorted = call_recv_ns(calls, items[i - 1]) <= call_recv_ns(calls, items[i]);
	if (sorted)
		return 0;
	if (!ALLOC(arena, keys, n) || !ALLOC(arena, spare, n))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (struct radix_item){
			(uint64_t)call_recv_ns(calls, items[i]) ^ (uint64_t)1 << 63, items[i]};
	radix_sort(keys, spare, n);
	for (uint32_t i = 0; i < n; i++)
		items[i] = keys[i].value;
	return 0;
}

static int fill_parents(const struct view_index *x, const struct calls *calls, uint32_t node,
			struct view_labels *labels, struct arena *arena, struct view *v)
{
	uint32_t *served = x->served + x->served_first[node];

	v->parent_n = x->served_first[node + 1] - x->served_first[node];
	if (!ALLOC(arena, v->parent_call, v->parent_n) ||
	    !ALLOC(arena, v->parent_start, v->parent_n) ||
	    !ALLOC(arena, v->parent_end, v->parent_n) ||
	    !ALLOC(arena, v->parent_type, v->parent_n) ||
	    sort_by(served, calls, v->parent_n, arena) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->parent_n; i++) {
		const struct call *c = &calls->at[served[i]];
		struct call_served own = call_served(calls, served[i]);

		v->parent_call[i] = served[i];
		v->parent_start[i] = (own.recv_ns - x->origin_ns) / x->grain_ns;
		v->parent_end[i] =
			call_finished(c) ? (own.reply_ns - x->origin_ns) / x->grain_ns : VIEW_OPEN;
		v->parent_type[i] =
			label_of(labels->type, &labels->type_n, VIEW_TYPES_MAX, c->caller);
	}
	return 0;
}

static int fill_children(const struct view_index *x, const struct calls *calls, uint32_t node,
			 struct view_labels *labels, struct arena *arena, struct view *v)
{
	const uint32_t *made = x->made + x->made_first[node];

	v->child_n = x->made_first[node + 1] - x->made_first[node];
	if (!ALLOC(arena, v->child_call, v->child_n) || !ALLOC(arena, v->child_start, v->child_n) ||
	    !ALLOC(arena, v->child_end, v->child_n) ||
	    !ALLOC(arena, v->child_endpoint, v->child_n) || !ALLOC(arena, v->owner, v->child_n) ||
	    !ALLOC(arena, v->confidence, v->child_n) || !ALLOC(arena, v->member, v->child_n))
		return -ENOMEM;
	for (uint32_t i = 0; i < v->child_n; i++) {
		const struct call *c = &calls->at[made[i]];

		v->child_call[i] = made[i];
		v->child_start[i] = (c->start_ns - x->origin_ns) / x->grain_ns;
		v->child_end[i] = call_finished(c) ? (c->end_ns - x->origin_ns) / x->grain_ns
						   : v->child_start[i];
		v->child_endpoint[i] = label_of(labels->endpoint, &labels->endpoint_n,
						VIEW_ENDPOINTS_MAX, c->callee);
		v->owner[i] = VIEW_NONE;
		v->confidence[i] = 0;
	}
	return 0;
}

static int fill_members(struct arena *arena, struct view *v)
{
	uint32_t *first = arena_zalloc(arena, (size_t)v->endpoint_n + 2, sizeof(*first));

	if (!first)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->child_n; i++)
		first[v->child_endpoint[i] + 2]++;
	for (uint32_t e = 2; e <= v->endpoint_n; e++)
		first[e] += first[e - 1];
	for (uint32_t i = 0; i < v->child_n; i++)
		v->member[first[v->child_endpoint[i] + 1]++] = i;
	v->member_first = first;
	return 0;
}

/* Walks both lists in the order of time with the parents that may still be open. */
struct sweep {
	uint32_t *open;
	size_t open_n, next;
	uint32_t *found;
	size_t found_n, found_capacity;
	int64_t slack;
};

static int sweep_child(struct sweep *s, const struct view *v, uint32_t child, uint32_t only)
{
	int64_t start = v->child_start[child], end = v->child_end[child];
	size_t kept = 0, from = s->found_n;
	bool none;

	while (s->next < v->parent_n && v->parent_start[s->next] <= start + s->slack)
		s->open[s->open_n++] = (uint32_t)s->next++;
	if (!vec_reserve(&s->found, &s->found_capacity, s->found_n + s->open_n, sizeof(*s->found)))
		return -ENOMEM;
	for (size_t i = 0; i < s->open_n; i++) {
		uint32_t p = s->open[i];

		if (v->parent_end[p] + s->slack < start)
			continue;
		s->open[kept++] = p;
		if (v->parent_end[p] + s->slack >= end &&
		    v->parent_call[p] != v->child_call[child] &&
		    (only == LINK_NONE || v->parent_call[p] == only))
			s->found[s->found_n++] = p;
	}
	s->open_n = kept;
	none = s->found_n == from && only == LINK_NONE;
	/* Contained by none: then one that was open when it started, which it outlived. */
	for (size_t i = 0; none && i < kept; i++)
		if (v->parent_call[s->open[i]] != v->child_call[child])
			s->found[s->found_n++] = s->open[i];
	if (s->found_n - from > VIEW_CANDIDATES) {
		memmove(s->found + from, s->found + s->found_n - VIEW_CANDIDATES,
			VIEW_CANDIDATES * sizeof(*s->found));
		s->found_n = from + VIEW_CANDIDATES;
	}
	return 0;
}

static int fill_candidates(const struct call_link *links, int64_t slack, struct arena *arena,
			   struct view *v)
{
	_cleanup_(freep)
	uint32_t *found = NULL;
	struct sweep s = {.slack = slack};
	int r = 0;

	if (!ALLOC(arena, v->candidate_first, v->child_n + 1) || !ALLOC(arena, s.open, v->parent_n))
		return -ENOMEM;
	for (uint32_t c = 0; c < v->child_n && r == 0; c++) {
		const struct call_link *l = &links[v->child_call[c]];

		v->candidate_first[c] = (uint32_t)s.found_n;
		if (!l->decided || l->parent != LINK_NONE)
			r = sweep_child(&s, v, c, l->decided ? l->parent : LINK_NONE);
	}
	found = s.found;
	v->candidate_first[v->child_n] = (uint32_t)s.found_n;
	if (r < 0 || !ALLOC(arena, v->candidate, s.found_n))
		return -ENOMEM;
	if (s.found_n)
		memcpy(v->candidate, found, s.found_n * sizeof(*found));
	return 0;
}

int view_build(const struct view_index *index, const struct calls *calls,
	       const struct call_link *links, uint32_t node, int64_t slack_ns,
	       struct view_labels *labels, struct arena *arena, struct view *ret_view)
{
	struct view v = {0};

	if (fill_parents(index, calls, node, labels, arena, &v) < 0 ||
	    fill_children(index, calls, node, labels, arena, &v) < 0)
		return -ENOMEM;
	v.type_n = labels->type_n;
	v.endpoint_n = labels->endpoint_n;
	if (fill_members(arena, &v) < 0 ||
	    fill_candidates(links, slack_ns / index->grain_ns, arena, &v) < 0)
		return -ENOMEM;
	*ret_view = v;
	return 0;
}
