/* model/clock_align.c - offsets between clocks, from nothing but "no receive before its send".
 *
 * 1. Nothing violated: nothing moves.
 * 2. From the anchor outwards (breadth first) every clock is placed within what its placed
 *    neighbours allow: where it is if that is allowed, else at the one bound or in the middle of
 * two.
 * 3. Placing may have painted itself into a corner where the graph has cycles: clocks are then
 *    pushed up until every bound holds (the longest-path relaxation of difference constraints,
 * which succeeds if and only if the bounds agree with each other).
 * 4. If they do not agree, a group of clocks keeps its offsets only if they break no bound worse
 *    than the raw clocks do.
 *
 * Bounds beyond ±BOUND_MOST are taken as that: sums of offsets then never overflow. */
#include "model/clock_align.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define BOUND_MOST (INT64_MAX / 4) /* 73 years: a clock that starts in 1970 is still within */

/* Relaxation needs at most as many rounds as there are clocks; real graphs need a handful. */
#define ROUNDS_MOST 64

#define UNREACHED   UINT32_MAX

struct arc {
	uint32_t to;
	int64_t low, high; /* of offset(to) - offset(here) */
};

struct graph {
	const struct clock_bound *bounds;
	size_t bound_n;
	uint32_t n;
	uint32_t *first; /* n + 1: arcs of clock i are [first[i], first[i + 1]) */
	struct arc *arcs;
	uint32_t *order; /* clocks as they were placed */
	uint32_t *group; /* which anchor they hang on, or UNREACHED */
	int64_t *offset;
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}

static int64_t low_of(const struct clock_bound *b)
{
	return b->low_ns == INT64_MIN ? INT64_MIN : clamp(b->low_ns, -BOUND_MOST, BOUND_MOST);
}

static int64_t high_of(const struct clock_bound *b)
{
	return b->high_ns == INT64_MAX ? INT64_MAX : clamp(b->high_ns, -BOUND_MOST, BOUND_MOST);
}

static int64_t broken_by(int64_t low, int64_t high, int64_t difference)
{
	int64_t below = low == INT64_MIN || difference >= low ? 0 : low - difference;
	int64_t above = high == INT64_MAX || difference <= high ? 0 : difference - high;

	return MAX(below, above);
}

int64_t clock_violation(const struct clock_bound *b, int64_t offset_from, int64_t offset_to)
{
	return broken_by(low_of(b), high_of(b), offset_to - offset_from);
}

static void graph_done(struct graph *g)
{
	free(g->first);
	free(g->arcs);
	free(g->order);
	free(g->group);
}

static int64_t negated(int64_t bound)
{
	return bound == INT64_MIN ? INT64_MAX : bound == INT64_MAX ? INT64_MIN : -bound;
}

static int graph_init(struct graph *g)
{
	g->first = calloc((size_t)g->n + 2, sizeof(*g->first));
	g->arcs = malloc((2 * g->bound_n + 1) * sizeof(*g->arcs));
	g->order = malloc(((size_t)g->n + 1) * sizeof(*g->order));
	g->group = malloc(((size_t)g->n + 1) * sizeof(*g->group));
	if (!g->first || !g->arcs || !g->order || !g->group)
		return -ENOMEM;
	for (size_t i = 0; i < g->bound_n; i++) {
		g->first[g->bounds[i].from + 2]++;
		g->first[g->bounds[i].to + 2]++;
	}
	for (uint32_t i = 2; i < g->n + 2; i++)
		g->first[i] += g->first[i - 1];
	for (size_t i = 0; i < g->bound_n; i++) {
		const struct clock_bound *b = &g->bounds[i];
		int64_t low = low_of(b), high = high_of(b);

		g->arcs[g->first[b->from + 1]++] = (struct arc){b->to, low, high};
		g->arcs[g->first[b->to + 1]++] = (struct arc){b->from, negated(high), negated(low)};
	}
	for (uint32_t i = 0; i < g->n; i++)
		g->group[i] = UNREACHED;
	return 0;
}

/* Where a clock goes that may lie in [low, high], both already added to placed offsets. */
static int64_t place(int64_t low, int64_t high)
{
	if (low <= high) {
		if (low <= 0 && 0 <= high)
			return 0;
		if (low == INT64_MIN)
			return high;
		if (high == INT64_MAX)
			return low;
		return low + (high - low) / 2;
	}
	/* contradictory: towards zero violation on one side without making the other worse */
	return high >= 0 ? high : low <= 0 ? low : 0;
}

static void place_clock(struct graph *g, uint32_t clock)
{
	int64_t low = INT64_MIN, high = INT64_MAX;

	for (uint32_t i = g->first[clock]; i < g->first[clock + 1]; i++) {
		const struct arc *a = &g->arcs[i];

		/* seen from the neighbour the bounds turn around */
		if (g->group[a->to] == UNREACHED)
			continue;
		if (a->high != INT64_MAX)
			low = MAX(low, clamp(g->offset[a->to] - a->high, -BOUND_MOST, BOUND_MOST));
		if (a->low != INT64_MIN)
			high = MIN(high, clamp(g->offset[a->to] - a->low, -BOUND_MOST, BOUND_MOST));
	}
	g->offset[clock] = place(low, high);
}

/* Places everything that hangs together with `anchor`; returns the end of the order. */
static uint32_t place_group(struct graph *g, uint32_t anchor, uint32_t at)
{
	uint32_t end = at;

	g->order[end++] = anchor;
	g->group[anchor] = anchor;
	g->offset[anchor] = 0;
	for (; at < end; at++)
		for (uint32_t i = g->first[g->order[at]]; i < g->first[g->order[at] + 1]; i++) {
			uint32_t next = g->arcs[i].to;

			if (g->group[next] != UNREACHED)
				continue;
			place_clock(g, next);
			g->group[next] = anchor;
			g->order[end++] = next;
		}
	return end;
}

/* Raises clocks until every bound of the group holds.  False if they never do. */
static bool push_up(struct graph *g, uint32_t from, uint32_t end)
{
	uint32_t rounds = MIN(end - from, (uint32_t)ROUNDS_MOST) + 1;
	int64_t anchor;

	for (; rounds > 0; rounds--) {
		bool moved = false;

		for (uint32_t at = from; at < end; at++) {
			uint32_t clock = g->order[at];

			for (uint32_t i = g->first[clock]; i < g->first[clock + 1]; i++) {
				const struct arc *a = &g->arcs[i];
				int64_t least;

				if (a->low == INT64_MIN)
					continue;
				least = g->offset[clock] + a->low;
				if (least > BOUND_MOST)
					return false;
				if (g->offset[a->to] < least) {
					g->offset[a->to] = least;
					moved = true;
				}
			}
		}
		if (!moved)
			break;
	}
	anchor = g->offset[g->order[from]];
	for (uint32_t at = from; at < end; at++)
		g->offset[g->order[at]] -= anchor;
	return rounds > 0;
}

enum verdict { KEPT, BROKEN, WORSE };

/* How the bounds of one group stand, compared with raw clocks. */
static enum verdict judge(const struct graph *g, uint32_t from, uint32_t end)
{
	enum verdict verdict = KEPT;

	for (uint32_t at = from; at < end; at++) {
		uint32_t clock = g->order[at];

		for (uint32_t i = g->first[clock]; i < g->first[clock + 1]; i++) {
			const struct arc *a = &g->arcs[i];
			int64_t difference = g->offset[a->to] - g->offset[clock];
			int64_t above = broken_by(INT64_MIN, a->high, difference);
			int64_t below = broken_by(a->low, INT64_MAX, difference);

			if (above > broken_by(INT64_MIN, a->high, 0) ||
			    below > broken_by(a->low, INT64_MAX, 0))
				return WORSE;
			if (above || below)
				verdict = BROKEN;
		}
	}
	return verdict;
}

static void settle_group(struct graph *g, uint32_t from, uint32_t end)
{
	if (judge(g, from, end) == KEPT)
		return;
	if (push_up(g, from, end) && judge(g, from, end) == KEPT)
		return;
	/* The bounds contradict each other.  Placing again is cheaper than keeping a copy. */
	for (uint32_t at = from; at < end; at++)
		g->group[g->order[at]] = UNREACHED;
	place_group(g, g->order[from], from);
	if (judge(g, from, end) == WORSE)
		for (uint32_t at = from; at < end; at++)
			g->offset[g->order[at]] = 0;
}

int clock_align(const struct clock_bound *bounds, size_t bound_n, uint32_t n, uint32_t anchor,
		int64_t *offsets)
{
	_cleanup_(graph_done)
	struct graph g = {.bounds = bounds, .bound_n = bound_n, .n = n, .offset = offsets};
	bool violated = false;
	uint32_t at = 0;
	int r;

	for (uint32_t i = 0; i < n; i++)
		offsets[i] = 0;
	for (size_t i = 0; i < bound_n; i++)
		violated |= clock_violation(&bounds[i], 0, 0) > 0;
	if (!violated)
		return 0;
	r = graph_init(&g);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t start = i == 0 ? anchor : i - 1, end;

		if (start >= n || g.group[start] != UNREACHED)
			continue;
		end = place_group(&g, start, at);
		settle_group(&g, at, end);
		at = end;
	}
	return 0;
}
