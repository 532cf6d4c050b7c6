/* infer/best.c - the third mode: views of nodes in, links out. */
#include "infer/best.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "infer/best_em.h"
#include "infer/best_repeat_em.h"
#include "infer/best_slots.h"
#include "infer/best_window.h"

#define ROUNDS       5
#define SLOT_MARGIN  0.02 /* nats a parent by which fewer slots may be the worse */
#define REPEAT_SLACK 0.01 /* of the calls may have no parent before repeated calls are assumed */

/* What is known of one node from windows before. */
struct best_node {
	struct view_labels labels;
	struct single_model *single;
	struct repeat_model *repeat;
	bool repeats; /* some parent calls an endpoint twice */
};

struct best {
	struct infer_options options;
	struct best_node **nodes; /* by number; NULL where nothing is known */
	size_t node_n, node_capacity;
	struct blocks_scratch blocks;
};

int best_new(const struct infer_options *options, struct best **ret_best)
{
	struct best *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->options = *options;
	*ret_best = b;
	return 0;
}

struct best *best_free(struct best *b)
{
	if (!b)
		return NULL;
	for (size_t i = 0; i < b->node_n; i++) {
		if (b->nodes[i]) {
			single_model_free(b->nodes[i]->single);
			repeat_model_free(b->nodes[i]->repeat);
		}
		free(b->nodes[i]);
	}
	free(b->nodes);
	blocks_scratch_done(&b->blocks);
	free(b);
	return NULL;
}

static struct best_node *node_get(struct best *b, uint32_t node)
{
	if (!vec_reserve(&b->nodes, &b->node_capacity, (size_t)node + 1, sizeof(*b->nodes)))
		return NULL;
	while (b->node_n <= node)
		b->nodes[b->node_n++] = NULL;
	if (!b->nodes[node])
		b->nodes[node] = calloc(1, sizeof(**b->nodes));
	return b->nodes[node];
}

/* Solves again with alternatives in one slot; keeps them unless that is clearly less likely. */
static int solve_slots(struct best *b, struct best_node *n, struct view *v,
		       const struct em_options *o, const uint8_t *slot, double total)
{
	size_t size = ((size_t)v->child_n + 1) * sizeof(uint32_t);
	_cleanup_(freep)
	uint32_t *owner = malloc(size);
	_cleanup_(freep)
	float *confidence = malloc(size);
	struct single_model *m = NULL;
	double with;
	int r;

	if (!owner || !confidence)
		return -ENOMEM;
	memcpy(owner, v->owner, v->child_n * sizeof(*owner));
	memcpy(confidence, v->confidence, v->child_n * sizeof(*confidence));
	r = single_model_new(v->type_n, v->endpoint_n, slot, &m);
	if (r == 0)
		r = em_solve(v, m, o, &b->blocks, &with);
	if (r == 0 && with > total - SLOT_MARGIN * v->parent_n) {
		single_model_free(n->single);
		n->single = m;
		return 0;
	}
	single_model_free(m);
	memcpy(v->owner, owner, v->child_n * sizeof(*owner));
	memcpy(v->confidence, confidence, v->child_n * sizeof(*confidence));
	return r;
}

static int solve_single(struct best *b, struct best_node *n, struct view *v, const uint32_t *truth)
{
	struct em_options o = {.rounds = ROUNDS, .truth = truth};
	uint8_t slot[SINGLE_ENDPOINTS_MAX];
	bool fresh = !n->single || n->single->endpoint_n != v->endpoint_n;
	double total;
	int r = 0;

	if (fresh) {
		n->single = single_model_free(n->single);
		r = single_model_new(v->type_n, v->endpoint_n, NULL, &n->single);
	}
	if (r == 0)
		r = em_solve(v, n->single, &o, &b->blocks, &total);
	if (r == 0 && fresh) {
		r = slots_find(v, slot);
		if (r > 0)
			r = solve_slots(b, n, v, &o, slot, total);
	}
	return r;
}

static int solve_repeat(struct best *b, struct best_node *n, struct view *v, const uint32_t *truth)
{
	double total;

	if (n->repeat && n->repeat->endpoint_n != v->endpoint_n)
		n->repeat = repeat_model_free(n->repeat);
	if (!n->repeat) {
		int r = repeat_model_new(v->type_n, v->endpoint_n, &n->repeat);

		if (r < 0)
			return r;
	}
	return repeat_solve(v, n->repeat, ROUNDS, truth, &b->blocks.inner, &total);
}

/* More calls to an endpoint than there are parents: some has two. */
static bool must_repeat(const struct view *v)
{
	if (v->endpoint_n > SINGLE_ENDPOINTS_MAX)
		return true;
	for (unsigned e = 0; e < v->endpoint_n; e++)
		if (v->member_first[e + 1] - v->member_first[e] >
		    v->parent_n + REPEAT_SLACK * v->parent_n)
			return true;
	return false;
}

static bool left_orphans(const struct view *v)
{
	uint32_t orphans = 0;

	for (uint32_t c = 0; c < v->child_n; c++)
		orphans += v->owner[c] == VIEW_NONE &&
			   v->candidate_first[c] < v->candidate_first[c + 1];
	return orphans > REPEAT_SLACK * v->child_n;
}

static int solve_view(struct best *b, struct best_node *n, struct view *v, const uint32_t *truth)
{
	int r;

	n->repeats |= must_repeat(v);
	if (!n->repeats) {
		r = solve_single(b, n, v, truth);
		if (r < 0 || !left_orphans(v))
			return r;
		n->repeats = true;
	}
	return solve_repeat(b, n, v, truth);
}

/* True parents as numbers of the view. */
static int translate(const struct view *v, const struct calls *calls, const struct call_link *truth,
		     struct arena *arena, uint32_t **ret_owner)
{
	uint32_t *of_call = arena_alloc(arena, (calls->n + 1) * sizeof(*of_call));
	uint32_t *owner = arena_alloc(arena, ((size_t)v->child_n + 1) * sizeof(*owner));

	if (!of_call || !owner)
		return -ENOMEM;
	for (size_t i = 0; i < calls->n; i++)
		of_call[i] = VIEW_NONE;
	for (uint32_t p = 0; p < v->parent_n; p++)
		of_call[v->parent_call[p]] = p;
	for (uint32_t c = 0; c < v->child_n; c++) {
		uint32_t parent = truth[v->child_call[c]].parent;

		owner[c] = parent == LINK_NONE ? VIEW_NONE : of_call[parent];
	}
	*ret_owner = owner;
	return 0;
}

static int link_node(struct best *b, const struct view_index *index, const struct calls *calls,
		     uint32_t node, int64_t cut_ns, struct call_link *links,
		     const struct call_link *truth, struct arena *arena)
{
	struct best_node *n = node_get(b, node);
	uint32_t *owner = NULL;
	struct view v;
	int r;

	if (!n)
		return -ENOMEM;
	r = view_build(index, calls, links, node, b->options.skew_ns, &n->labels, arena, &v);
	if (r == 0 && truth)
		r = translate(&v, calls, truth, arena, &owner);
	if (r == 0)
		r = solve_view(b, n, &v, owner);
	if (r < 0)
		return r;
	for (uint32_t c = 0; c < v.child_n; c++) {
		struct call_link *l = &links[v.child_call[c]];

		if (l->decided || calls->at[v.child_call[c]].end_ns > cut_ns)
			continue;
		l->parent = v.owner[c] == VIEW_NONE ? LINK_NONE : v.parent_call[v.owner[c]];
		l->confidence = v.confidence[c];
		l->decided = true;
	}
	return 0;
}

static int link_at_once(struct best *b, const struct calls *calls, int64_t cut_ns,
			struct call_link *links, const struct call_link *truth)
{
	struct arena whole = {0}, own = {0};
	struct view_index index;
	int r = view_index_build(calls, &whole, &index);

	for (uint32_t node = 0; r == 0 && node < index.node_n; node++) {
		if (index.made_first[node] == index.made_first[node + 1] ||
		    index.served_first[node] == index.served_first[node + 1])
			continue;
		r = link_node(b, &index, calls, node, cut_ns, links, truth, &own);
		arena_clear(&own);
	}
	for (size_t i = 0; r == 0 && i < calls->n; i++)
		if (!links[i].decided && calls->at[i].end_ns <= cut_ns)
			links[i] = (struct call_link){LINK_NONE, true, 1};
	arena_done(&own);
	arena_done(&whole);
	return r < 0 ? r : links_break_cycles(links, calls->n);
}

static int link_window(void *context, const struct calls *calls, int64_t cut_ns,
		       struct call_link *links)
{
	return link_at_once(context, calls, cut_ns, links, NULL);
}

int best_link(struct best *b, const struct calls *calls, int64_t cut_ns, struct call_link *links,
	      const struct call_link *truth)
{
	if (truth || calls->n <= 2 * (size_t)WINDOW_CALLS)
		return link_at_once(b, calls, cut_ns, links, truth);
	return window_run(calls, cut_ns, links, link_window, b);
}

static int mode_open(const struct infer_options *options, void **ret_state)
{
	struct best *b;
	int r = best_new(options, &b);

	if (r == 0)
		*ret_state = b;
	return r;
}

static int mode_link(void *state, const struct calls *calls, int64_t cut_ns,
		     struct call_link *links, struct error *error)
{
	int r = best_link(state, calls, cut_ns, links, NULL);

	return r < 0 ? error_set(error, r, "out of memory while linking %zu calls", calls->n) : 0;
}

static void mode_close(void *state)
{
	best_free(state);
}

const struct infer_mode best_mode = {
	.name = "best",
	.summary = "joint likelihood of delays, triggers and order; the default",
	.open = mode_open,
	.link = mode_link,
	.close = mode_close,
};
