/* infer/patterns_alike.c - load balancing undone: patterns that differ only in which of several
 * like nodes did the work are one.
 *
 * Two nodes are alike when somewhere the one can be put for the other: two patterns become the same
 * when both nodes are blotted out, come about as often, and take about as long at every hop.  So an
 * authentication server is not taken for an application server that happens to call the same
 * database.  Being alike is handed on: groups are the components.
 *
 *   C>WS1(AP1(DB))  40 times, 50 ms        C>▒(AP1(DB))      WS1 ~ WS2
 *   C>WS2(AP1(DB))  44 times, 52 ms        C>▒(AP1(DB)) */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"
#include "infer/patterns_int.h"

#define COUNT_APART   2.0  /* at most so many times as often */
#define LATENCY_APART 0.3  /* relative */
#define LEAST_COUNT   5    /* rarer ones say nothing */
#define PATTERNS_MOST 2000 /* the most frequent ones are asked */

struct blotted {
	uint64_t hash;
	uint32_t pattern, node;
};

static uint64_t blot(const struct pattern *p, uint32_t node)
{
	uint64_t h = hash_u64(p->client == node ? UINT32_MAX : p->client, 1);

	for (uint32_t i = 0; i < p->hop_n; i++)
		h = hash_u64((uint64_t)p->hops[i].parent << 32 |
				     (p->hops[i].node == node ? UINT32_MAX : p->hops[i].node),
			     h);
	return h;
}

static int by_hash(const void *a, const void *b)
{
	const struct blotted *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->pattern < y->pattern ? -1 : x->pattern > y->pattern;
}

static bool similar(const struct pattern *a, const struct pattern *b)
{
	double x = (double)a->count, y = (double)b->count;

	if (a->hop_n != b->hop_n || x > COUNT_APART * y || y > COUNT_APART * x)
		return false;
	for (uint32_t i = 0; i < a->hop_n; i++) {
		double p = spread_mean(&a->hops[i].latency), q = spread_mean(&b->hops[i].latency);

		if (fabs(p - q) > LATENCY_APART * fmax(p, q))
			return false;
	}
	return true;
}

static uint32_t group_of(uint32_t *group, uint32_t node)
{
	while (group[node] != node)
		node = group[node] = group[group[node]];
	return node;
}

/* Nodes of the most frequent patterns, each blotted out once. */
static int all_blotted(const struct patterns *p, struct blotted **ret, size_t *ret_n)
{
	_cleanup_(freep)
	uint32_t *rank = patterns_rank(p, PATTERNS_BY_COUNT);
	size_t capacity = 0, n = 0;

	*ret = NULL;
	if (!rank)
		return -ENOMEM;
	for (size_t i = 0; i < p->n && i < PATTERNS_MOST; i++) {
		const struct pattern *x = &p->at[rank[i]];

		for (uint32_t k = 0; k < x->hop_n && x->count >= LEAST_COUNT; k++) {
			bool before = false;

			for (uint32_t j = 0; j < k && !before; j++)
				before = x->hops[j].node == x->hops[k].node;
			if (before)
				continue;
			if (!vec_reserve(ret, &capacity, n + 1, sizeof(**ret)))
				return -ENOMEM;
			(*ret)[n++] = (struct blotted){blot(x, x->hops[k].node), rank[i],
						       x->hops[k].node};
		}
	}
	*ret_n = n;
	return 0;
}

static int groups_find(const struct patterns *p, uint32_t *group)
{
	struct blotted *all;
	size_t n = 0;
	int r = all_blotted(p, &all, &n);

	if (r == 0 && n > 0)
		qsort(all, n, sizeof(*all), by_hash);
	for (size_t i = 1; r == 0 && i < n; i++)
		for (size_t k = i; k-- > 0 && all[k].hash == all[i].hash;)
			if (all[k].node != all[i].node &&
			    similar(&p->at[all[k].pattern], &p->at[all[i].pattern]))
				group[group_of(group, all[i].node)] = group_of(group, all[k].node);
	free(all);
	return r;
}

/* The names of a group's members, in order of name. */
static void group_name(const struct names *nodes, uint32_t *group, uint32_t of, struct buffer *text)
{
	struct slice last = {0};

	for (;;) {
		struct slice next = {0};

		for (uint32_t k = 0; k < nodes->n; k++) {
			struct slice name = names_get(nodes, k);

			if (group_of(group, k) == of && (!last.p || slice_cmp(name, last) > 0) &&
			    (!next.p || slice_cmp(name, next) < 0))
				next = name;
		}
		if (!next.p)
			return;
		if (text->n)
			buffer_byte(text, '|');
		if (text->n + next.n > NAMES_MAX_BYTES - sizeof("|…")) {
			buffer_text(text, "…");
			return;
		}
		buffer_slice(text, next);
		last = next;
	}
}

/* Groups get a name of their own, single nodes keep theirs. */
static int names_make(const struct names *nodes, uint32_t *group, struct names *names,
		      uint32_t *map)
{
	_cleanup_(freep)
	uint32_t *size = calloc(nodes->n + 1, sizeof(*size));
	int r = size ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < nodes->n; i++)
		size[group_of(group, i)]++;
	for (uint32_t i = 0; r == 0 && i < nodes->n; i++) {
		_cleanup_(buffer_done)
		struct buffer text = {0};

		if (group[i] != i)
			continue;
		if (size[i] > 1)
			group_name(nodes, group, i, &text);
		else
			buffer_slice(&text, names_get(nodes, i));
		r = text.failed ? -ENOMEM : names_intern(names, buffer_get(&text), &map[i]);
	}
	for (uint32_t i = 0; r == 0 && i < nodes->n; i++)
		map[i] = map[group_of(group, i)];
	return r;
}

int patterns_alike(const struct patterns *p, struct patterns *ret, struct names *names)
{
	size_t n = p->nodes->n;
	_cleanup_(freep)
	uint32_t *group = malloc((n + 1) * sizeof(*group));
	_cleanup_(freep)
	uint32_t *map = malloc((n + 1) * sizeof(*map));
	int r = group && map ? 0 : -ENOMEM;

	names_init(names);
	patterns_init(ret, names);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		group[i] = i;
	if (r == 0)
		r = groups_find(p, group);
	if (r == 0)
		r = names_make(p->nodes, group, names, map);
	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = patterns_take(ret, &p->at[i], map);
	if (r < 0) {
		patterns_done(ret);
		names_done(names);
		return r;
	}
	ret->paths = p->paths;
	ret->calls = p->calls;
	ret->rare_paths = p->rare_paths;
	ret->rare_most = p->rare_most;
	return 0;
}
