/* infer/patterns.c - paths of the same shape added up.
 *
 * Each path is walked once, parents first, into a list of (node, parent's place in the list), which
 * is the key of its pattern; the durations met on the way are then added hop by hop. */
#include "infer/patterns_int.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"

#define BOTH_ENDS (CALL_SAW_SENT | CALL_SAW_RECV | CALL_SAW_RET_SENT | CALL_SAW_RET_RECV)

/* One call of the path at hand. */
struct step {
	uint32_t node, parent; /* the key: both as in struct pattern_hop */
	uint32_t call, depth;
	int64_t delay_ns, gap_ns, tail_ns, own_ns;
};

struct walk {
	struct patterns *p;
	const struct calls *calls;
	const struct call_link *links;
	uint32_t *first, *next; /* children of each call, in order of start */
	struct step *steps;     /* in order, and behind them what is still to be visited */
	size_t step_n, step_capacity;
	struct step *stack;
	size_t stack_n, stack_capacity;
	uint32_t *children; /* of one call */
	size_t child_n, child_capacity;
	uint64_t cut_hops;
	double sure;
};

void patterns_init(struct patterns *p, const struct names *nodes)
{
	*p = (struct patterns){.nodes = nodes};
	map_init(&p->map);
}

static void hop_done(struct pattern_hop *h)
{
	spread_done(&h->delay);
	spread_done(&h->latency);
	spread_done(&h->gap);
	spread_done(&h->tail);
	spread_done(&h->own);
	spread_done(&h->wire);
}

void patterns_done(struct patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < p->at[i].hop_n; k++)
			hop_done(&p->at[i].hops[k]);
	free(p->at);
	free(p->hashes);
	map_done(&p->map);
	arena_done(&p->arena);
	p->at = NULL;
	p->hashes = NULL;
	p->hash_n = p->hash_capacity = 0;
	p->n = p->capacity = 0;
}

/* What a pattern is compared by: names are compared as text, since another table may have other
 * numbers. */
struct key {
	const struct names *nodes;
	uint32_t client;
	size_t n;
	const struct step *steps;       /* either these */
	const struct pattern_hop *hops; /* or those */
};

static uint32_t key_node(const struct key *k, size_t i)
{
	return k->steps ? k->steps[i].node : k->hops[i].node;
}

static uint32_t key_parent(const struct key *k, size_t i)
{
	return k->steps ? k->steps[i].parent : k->hops[i].parent;
}

/* Hash of a node's name: our own are computed once. */
static uint64_t name_hash(const struct patterns *p, const struct names *nodes, uint32_t node)
{
	struct slice name;

	if (nodes == p->nodes && node < p->hash_n)
		return p->hashes[node];
	name = names_get(nodes, node);
	return hash_bytes(name.p, name.n, p->map.seed);
}

/* Makes the hashes of names that have come since. */
static int hashes_extend(struct patterns *p)
{
	size_t n = p->nodes->n;

	if (!vec_reserve(&p->hashes, &p->hash_capacity, n + 1, sizeof(*p->hashes)))
		return -ENOMEM;
	for (; p->hash_n < n; p->hash_n++) {
		struct slice name = names_get(p->nodes, (uint32_t)p->hash_n);

		p->hashes[p->hash_n] = hash_bytes(name.p, name.n, p->map.seed);
	}
	return 0;
}

static uint64_t key_hash(const struct key *k, const struct patterns *p)
{
	uint64_t h = name_hash(p, k->nodes, k->client);

	for (size_t i = 0; i < k->n; i++)
		h = hash_u64(name_hash(p, k->nodes, key_node(k, i)), h + key_parent(k, i));
	return h;
}

static bool same_key(const void *context, uint32_t value, const void *key)
{
	const struct patterns *p = context;
	const struct pattern *a = &p->at[value];
	const struct key *k = key;
	bool same_names = p->nodes == k->nodes;

	if (a->hop_n != k->n)
		return false;
	if (same_names ? a->client != k->client
		       : !slice_eq(names_get(p->nodes, a->client), names_get(k->nodes, k->client)))
		return false;
	for (uint32_t i = 0; i < a->hop_n; i++) {
		uint32_t node = key_node(k, i);

		if (a->hops[i].parent != key_parent(k, i) ||
		    (same_names ? a->hops[i].node != node
				: !slice_eq(names_get(p->nodes, a->hops[i].node),
					    names_get(k->nodes, node))))
			return false;
	}
	return true;
}

const struct pattern *patterns_find(const struct patterns *p, const struct patterns *other,
				    const struct pattern *like)
{
	struct key k = {other->nodes, like->client, like->hop_n, NULL, like->hops};
	uint32_t at = map_get(&p->map, key_hash(&k, p), same_key, p, &k);

	return at == MAP_NONE ? NULL : &p->at[at];
}

static int pattern_of(struct patterns *p, const struct key *k, uint32_t *ret_at)
{
	uint64_t hash = key_hash(k, p);
	uint32_t at = map_get(&p->map, hash, same_key, p, k);
	struct pattern_hop *hops;
	int64_t *own;

	if (at != MAP_NONE) {
		*ret_at = at;
		return 0;
	}
	hops = arena_zalloc(&p->arena, k->n, sizeof(*hops));
	own = arena_zalloc(&p->arena, k->n, sizeof(*own));
	if (!hops || !own || !vec_reserve(&p->at, &p->capacity, p->n + 1, sizeof(*p->at)) ||
	    !map_put(&p->map, hash, (uint32_t)p->n))
		return -ENOMEM;
	for (size_t i = 0; i < k->n; i++) {
		hops[i].node = key_node(k, i);
		hops[i].parent = key_parent(k, i);
		hops[i].depth = k->steps ? k->steps[i].depth : k->hops[i].depth;
	}
	*ret_at = (uint32_t)p->n;
	p->at[p->n++] = (struct pattern){.client = k->client,
					 .hop_n = (uint32_t)k->n,
					 .hops = hops,
					 .slowest_own = own,
					 .slowest_ns = INT64_MIN};
	return 0;
}

int patterns_take(struct patterns *p, const struct pattern *from, const uint32_t *map)
{
	struct step *steps = malloc(from->hop_n * sizeof(*steps));
	struct key k = {p->nodes, map[from->client], from->hop_n, steps, NULL};
	struct pattern *to;
	uint32_t at;
	int r = steps ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < from->hop_n; i++)
		steps[i] = (struct step){.node = map[from->hops[i].node],
					 .parent = from->hops[i].parent,
					 .depth = from->hops[i].depth};
	if (r == 0)
		r = pattern_of(p, &k, &at);
	free(steps);
	if (r < 0)
		return r;
	to = &p->at[at];
	for (uint32_t i = 0; i < from->hop_n && r == 0; i++) {
		struct pattern_hop *a = &to->hops[i];
		const struct pattern_hop *b = &from->hops[i];

		if (spread_merge(&a->delay, &b->delay) < 0 ||
		    spread_merge(&a->latency, &b->latency) < 0 ||
		    spread_merge(&a->gap, &b->gap) < 0 || spread_merge(&a->tail, &b->tail) < 0 ||
		    spread_merge(&a->own, &b->own) < 0 || spread_merge(&a->wire, &b->wire) < 0)
			r = -ENOMEM;
	}
	to->count += from->count;
	to->sure += from->sure;
	to->cut_hops += from->cut_hops;
	if (from->slowest_ns > to->slowest_ns) {
		to->slowest_ns = from->slowest_ns;
		to->slowest_start_ns = from->slowest_start_ns;
		to->slowest_id = from->slowest_id;
		memcpy(to->slowest_own, from->slowest_own, from->hop_n * sizeof(*to->slowest_own));
	}
	p->paths += from->count;
	p->calls += from->count * from->hop_n + from->cut_hops;
	return r;
}

/* Collects the children of a call, in order of start. */
static int children_of(struct walk *w, uint32_t call)
{
	w->child_n = 0;
	for (uint32_t c = w->first[call]; c != LINK_NONE; c = w->next[c]) {
		if (!vec_reserve(&w->children, &w->child_capacity, w->child_n + 1,
				 sizeof(*w->children)))
			return -ENOMEM;
		w->children[w->child_n++] = c;
	}
	return 0;
}

/* Calls that overlap stand by name.  Few at a time: insertion. */
static void overlapping_by_name(struct walk *w)
{
	int64_t latest = INT64_MIN;
	size_t start = 0;

	for (size_t i = 0; i < w->child_n; i++) {
		const struct call *c = &w->calls->at[w->children[i]];
		struct slice name = names_get(w->p->nodes, c->callee);
		uint32_t item = w->children[i];
		size_t k = i;

		if (c->start_ns >= latest)
			start = i;
		latest = MAX(latest, c->end_ns);
		for (; k > start; k--) {
			uint32_t other = w->calls->at[w->children[k - 1]].callee;

			if (other == c->callee ||
			    slice_cmp(names_get(w->p->nodes, other), name) <= 0)
				break;
			w->children[k] = w->children[k - 1];
		}
		w->children[k] = item;
	}
}

/* Pushes the children of the step just taken, and completes it. */
static int step_children(struct walk *w, struct step *at, uint32_t place)
{
	struct call_served parent = call_served(w->calls, at->call);
	int64_t last = parent.recv_ns, busy_until = parent.recv_ns, waited = 0;
	size_t base = w->stack_n;

	if (children_of(w, at->call) < 0 ||
	    !vec_reserve(&w->stack, &w->stack_capacity, base + w->child_n, sizeof(*w->stack)))
		return -ENOMEM;
	/* Gaps are told in order of time, the children are pushed in order of the pattern. */
	for (size_t i = 0; i < w->child_n; i++) {
		const struct call *c = &w->calls->at[w->children[i]];

		/* A call after the reply is nobody's waiting. */
		if (c->start_ns < parent.reply_ns && c->end_ns > busy_until) {
			waited += c->end_ns - MAX(c->start_ns, busy_until);
			busy_until = c->end_ns;
		}
	}
	at->own_ns = MAX(parent.reply_ns - parent.recv_ns - waited, (int64_t)0);
	at->tail_ns = parent.reply_ns - MAX(busy_until, parent.recv_ns);
	for (size_t i = 0; i < w->child_n; i++) {
		const struct call *c = &w->calls->at[w->children[i]];

		/* What happened last before this call: a return, or the call before it. */
		for (size_t k = 0; k < i && w->child_n < PATTERN_MAX_HOPS; k++) {
			int64_t end = w->calls->at[w->children[k]].end_ns;

			if (end <= c->start_ns)
				last = MAX(last, end);
		}
		w->stack[base + i] = (struct step){.node = c->callee,
						   .parent = place,
						   .call = w->children[i],
						   .depth = at->depth + 1,
						   .delay_ns = c->start_ns - parent.recv_ns,
						   .gap_ns = c->start_ns - last};
		last = MAX(last, c->start_ns);
	}
	overlapping_by_name(w);
	/* In the order of the pattern, the first on top. */
	for (size_t i = 0; i < w->child_n; i++)
		for (size_t k = i; k < w->child_n; k++)
			if (w->stack[base + k].call == w->children[i]) {
				struct step moved = w->stack[base + k];

				memmove(&w->stack[base + i + 1], &w->stack[base + i],
					(k - i) * sizeof(moved));
				w->stack[base + i] = moved;
				break;
			}
	for (size_t i = 0; i < w->child_n / 2; i++) {
		struct step other = w->stack[base + i];

		w->stack[base + i] = w->stack[base + w->child_n - 1 - i];
		w->stack[base + w->child_n - 1 - i] = other;
	}
	w->stack_n += w->child_n;
	return 0;
}

static int path_walk(struct walk *w, uint32_t root)
{
	const struct call *c = &w->calls->at[root];

	w->step_n = w->stack_n = 0;
	w->cut_hops = 0;
	w->sure = 1;
	if (!vec_reserve(&w->stack, &w->stack_capacity, 1, sizeof(*w->stack)))
		return -ENOMEM;
	w->stack[w->stack_n++] =
		(struct step){.node = c->callee, .parent = PATTERN_NONE, .call = root};
	while (w->stack_n > 0) {
		struct step at = w->stack[--w->stack_n];

		w->sure *= w->links[at.call].confidence;
		if (w->step_n == PATTERN_MAX_HOPS)
			w->cut_hops++;
		else if (!vec_reserve(&w->steps, &w->step_capacity, w->step_n + 1,
				      sizeof(*w->steps)))
			return -ENOMEM;
		if (step_children(w, &at, (uint32_t)w->step_n) < 0)
			return -ENOMEM;
		if (w->step_n < PATTERN_MAX_HOPS)
			w->steps[w->step_n++] = at;
	}
	return 0;
}

static int64_t wire_of(const struct calls *calls, uint32_t call)
{
	const struct call *c = &calls->at[call];
	struct call_served served = call_served(calls, call);

	return c->end_ns - c->start_ns - (served.reply_ns - served.recv_ns);
}

static int path_count(struct walk *w, uint32_t root, uint32_t *ret_pattern)
{
	const struct call *first = &w->calls->at[root];
	struct key k = {w->p->nodes, first->caller, w->step_n, w->steps, NULL};
	struct pattern *p;
	uint32_t at;

	if (pattern_of(w->p, &k, &at) < 0)
		return -ENOMEM;
	p = &w->p->at[at];
	for (size_t i = 0; i < w->step_n; i++) {
		const struct step *s = &w->steps[i];
		const struct call *c = &w->calls->at[s->call];
		struct pattern_hop *h = &p->hops[i];

		if (spread_add(&h->latency, c->end_ns - c->start_ns) < 0 ||
		    spread_add(&h->tail, s->tail_ns) < 0 || spread_add(&h->own, s->own_ns) < 0)
			return -ENOMEM;
		/* Nothing comes before the first call. */
		if (i > 0 &&
		    (spread_add(&h->delay, s->delay_ns) < 0 || spread_add(&h->gap, s->gap_ns) < 0))
			return -ENOMEM;
		if ((c->flags & BOTH_ENDS) == BOTH_ENDS &&
		    spread_add(&h->wire, wire_of(w->calls, s->call)) < 0)
			return -ENOMEM;
	}
	p->count++;
	p->sure += w->sure;
	p->cut_hops += w->cut_hops;
	if (first->end_ns - first->start_ns > p->slowest_ns) {
		p->slowest_ns = first->end_ns - first->start_ns;
		p->slowest_start_ns = first->start_ns;
		p->slowest_id = first->id;
		for (size_t i = 0; i < w->step_n; i++)
			p->slowest_own[i] = w->steps[i].own_ns;
	}
	w->p->paths++;
	w->p->calls += w->step_n + w->cut_hops;
	*ret_pattern = at;
	return 0;
}

/* Children of each call as lists.  Calls are in order of start; walked from the end, each becomes
 * the first of its parent's. */
static int children_list(struct walk *w)
{
	size_t n = w->calls->n;

	w->first = malloc((n ? n : 1) * sizeof(*w->first));
	w->next = malloc((n ? n : 1) * sizeof(*w->next));
	if (!w->first || !w->next)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		w->first[i] = LINK_NONE;
	for (size_t i = n; i-- > 0;) {
		uint32_t parent = w->links[i].parent;

		if (parent == LINK_NONE || !call_finished(&w->calls->at[i]))
			continue;
		w->next[i] = w->first[parent];
		w->first[parent] = (uint32_t)i;
	}
	return 0;
}

int patterns_add(struct patterns *p, const struct calls *calls, const struct call_link *links,
		 int64_t cut_ns, uint32_t *ret_pattern_of)
{
	struct walk w = {.p = p, .calls = calls, .links = links};
	int r = children_list(&w);

	if (r == 0)
		r = hashes_extend(p);
	for (size_t i = 0; i < calls->n && r == 0; i++) {
		const struct call *c = &calls->at[i];
		uint32_t pattern = PATTERN_NONE;

		if (links[i].parent == LINK_NONE && call_finished(c) && c->end_ns <= cut_ns) {
			r = path_walk(&w, (uint32_t)i);
			if (r == 0)
				r = path_count(&w, (uint32_t)i, &pattern);
		}
		if (ret_pattern_of)
			ret_pattern_of[i] = pattern;
	}
	free(w.first);
	free(w.next);
	free(w.steps);
	free(w.stack);
	free(w.children);
	return r;
}
