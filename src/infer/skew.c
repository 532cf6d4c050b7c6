/* infer/skew.c - clocks that differ. */
#include "infer/skew.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/hash.h"
#include "infer/names.h"

#define BOTH_ENDS (CALL_SAW_SENT | CALL_SAW_RECV | CALL_SAW_RET_SENT | CALL_SAW_RET_RECV)

int skew_apply(struct message_list *list, const int64_t *offset_ns, size_t node_n, int sign)
{
	for (size_t i = 0; i < list->n; i++) {
		struct message *m = &list->at[i];
		uint32_t node = m->sight == MESSAGE_RECV ? m->receiver : m->sender;

		if (node < node_n)
			m->time_ns += sign * offset_ns[node];
	}
	return message_list_sort(list);
}

/* What the calls between two nodes say: a < b. */
struct pair {
	uint32_t a, b;
	uint64_t calls;
	int64_t there; /* the quickest way from a to b, by both clocks; INT64_MAX: none seen */
	int64_t back;  /* and from b to a */
};

struct pairs {
	struct pair *at;
	size_t n, capacity;
	struct map map;
};

static bool same_pair(const void *context, uint32_t value, const void *key)
{
	const struct pair *x = &((const struct pairs *)context)->at[value], *y = key;

	return x->a == y->a && x->b == y->b;
}

static struct pair *pair_of(struct pairs *p, uint32_t one, uint32_t other)
{
	struct pair key = {
		.a = MIN(one, other), .b = MAX(one, other), .there = INT64_MAX, .back = INT64_MAX};
	uint64_t hash = hash_u64((uint64_t)key.a << 32 | key.b, p->map.seed);
	uint32_t at = map_get(&p->map, hash, same_pair, p, &key);

	if (at == MAP_NONE) {
		if (!vec_reserve(&p->at, &p->capacity, p->n + 1, sizeof(*p->at)) ||
		    !map_put(&p->map, hash, (uint32_t)p->n))
			return NULL;
		at = (uint32_t)p->n;
		p->at[p->n++] = key;
	}
	return &p->at[at];
}

static int pairs_collect(struct pairs *p, const struct calls *calls)
{
	for (size_t i = 0; i < calls->n; i++) {
		const struct call *c = &calls->at[i];
		int64_t call = call_recv_ns(calls, i) - c->start_ns;
		int64_t ret = c->end_ns - call_reply_ns(calls, i);
		struct pair *x;

		if (c->caller == c->callee || (c->flags & BOTH_ENDS) != BOTH_ENDS)
			continue;
		x = pair_of(p, c->caller, c->callee);
		if (!x)
			return -ENOMEM;
		x->calls++;
		x->there = MIN(x->there, c->caller == x->a ? call : ret);
		x->back = MIN(x->back, c->caller == x->a ? ret : call);
	}
	return 0;
}

static int by_calls(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->calls > y->calls ? -1 : x->calls < y->calls;
}

/* Grows a tree from its reference: always along the busiest edge that leads to somebody new. */
static void group_grow(const struct pairs *p, struct skew_estimate *e)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct pair *x = &p->at[i];
		bool has_a = e[x->a].error_ns >= 0, has_b = e[x->b].error_ns >= 0;
		/* b's clock against a's, and what the two quickest ways leave open. */
		int64_t ahead = (x->there - x->back) / 2, open = (x->there + x->back) / 2;

		if (has_a == has_b)
			continue;
		if (has_a)
			e[x->b] = (struct skew_estimate){e[x->a].offset_ns + ahead,
							 e[x->a].error_ns + MAX(open, (int64_t)0),
							 e[x->a].reference};
		else
			e[x->a] = (struct skew_estimate){e[x->b].offset_ns - ahead,
							 e[x->b].error_ns + MAX(open, (int64_t)0),
							 e[x->b].reference};
		i = (size_t)-1; /* a new node: its busier edges come first */
	}
}

int skew_estimate(const struct calls *calls, size_t node_n, uint32_t reference,
		  struct skew_estimate *estimates)
{
	struct pairs p = {0};
	int r;

	map_init(&p.map);
	r = pairs_collect(&p, calls);
	for (size_t i = 0; i < node_n; i++)
		estimates[i] = (struct skew_estimate){0, -1, NAMES_NONE};
	if (r == 0 && p.n > 0) {
		qsort(p.at, p.n, sizeof(*p.at), by_calls);
		if (reference >= node_n)
			reference = p.at[0].a;
		estimates[reference] = (struct skew_estimate){0, 0, reference};
		group_grow(&p, estimates);
		/* Parts of the system that have nothing to do with each other. */
		for (size_t i = 0; i < p.n; i++)
			if (estimates[p.at[i].a].error_ns < 0) {
				estimates[p.at[i].a] = (struct skew_estimate){0, 0, p.at[i].a};
				group_grow(&p, estimates);
			}
	}
	free(p.at);
	map_done(&p.map);
	return r;
}
