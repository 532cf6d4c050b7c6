/* infer/best_window.c - windows over a long list of calls.
 *
 *   calls by start  ├──────── window ────────┤
 *                   ├── decided ──┤ lookahead ┤
 *                                 ├ carried ──┼───── next window ─────┤
 *
 * A window decides the calls that end before its horizon less a lookahead of the usual length of
 * calls: by then most of their parents have ended, too, and all that competes for them is there.
 * What is not decided is carried into the next window, and so is what was decided but belongs to a
 * parent that is carried. */
#include "infer/best_window.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define LOOKAHEAD_QUANTILE 0.95
#define LOOKAHEAD_FACTOR   1.5
#define LOOKAHEAD_SAMPLES  2048

struct window {
	struct calls part;
	struct call_link *links; /* of the part */
	size_t link_capacity;
	uint32_t *whole; /* number in the whole list of each in the part */
	size_t whole_capacity;
	uint32_t *moved; /* scratch: new number in the part */
	size_t moved_capacity;
};

static void window_done(struct window *w)
{
	calls_done(&w->part);
	free(w->links);
	free(w->whole);
	free(w->moved);
}

static int window_put(struct window *w, const struct calls *calls, uint32_t number,
		      const struct call_link *link)
{
	size_t n = w->part.n;

	if (!vec_reserve(&w->links, &w->link_capacity, n + 1, sizeof(*w->links)) ||
	    !vec_reserve(&w->whole, &w->whole_capacity, n + 1, sizeof(*w->whole)) ||
	    !vec_reserve(&w->moved, &w->moved_capacity, n + 1, sizeof(*w->moved)) ||
	    calls_add_from(&w->part, calls, number) < 0)
		return -ENOMEM;
	w->whole[n] = number;
	/* What was decided by others before: its parent may not be here. */
	w->links[n] = (struct call_link){LINK_NONE, link->decided, link->confidence};
	if (link->decided && link->parent != LINK_NONE)
		for (uint32_t i = (uint32_t)n; i-- > 0;)
			if (w->whole[i] == link->parent) {
				w->links[n].parent = i;
				break;
			}
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* How far ahead one has to look: the usual length of a call, at most half of the window. */
static int64_t lookahead(const struct calls *part)
{
	int64_t samples[LOOKAHEAD_SAMPLES], span, ahead;
	size_t n = 0, step = part->n / LOOKAHEAD_SAMPLES + 1;

	for (size_t i = 0; i < part->n && n < LOOKAHEAD_SAMPLES; i += step)
		if (call_finished(&part->at[i]))
			samples[n++] = part->at[i].end_ns - part->at[i].start_ns;
	if (n == 0)
		return 0;
	qsort(samples, n, sizeof(*samples), compare_times);
	ahead = (int64_t)(LOOKAHEAD_FACTOR *
			  (double)samples[(size_t)(LOOKAHEAD_QUANTILE * (double)(n - 1))]);
	span = part->at[part->n - 1].start_ns - part->at[0].start_ns;
	return MIN(ahead, span / 2);
}

/* Hands what was decided over, and keeps what the next window needs. */
static void window_carry(struct window *w, int64_t cut_ns, struct call_link *links)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->part.n; i++) {
		struct call_link *l = &w->links[i];
		uint32_t parent = l->decided ? l->parent : LINK_NONE;
		bool stays = w->part.at[i].end_ns > cut_ns ||
			     (parent < i && w->moved[parent] != LINK_NONE);

		if (l->decided) {
			links[w->whole[i]] = *l;
			if (parent != LINK_NONE)
				links[w->whole[i]].parent = w->whole[parent];
		}
		w->moved[i] = LINK_NONE;
		if (!stays)
			continue;
		w->moved[i] = kept;
		calls_move(&w->part, kept, i);
		w->whole[kept] = w->whole[i];
		w->links[kept] = *l;
		if (parent != LINK_NONE)
			w->links[kept].parent = parent < i ? w->moved[parent] : LINK_NONE;
		kept++;
	}
	w->part.n = kept;
}

int window_run(const struct calls *calls, int64_t cut_ns, struct call_link *links,
	       window_link *link, void *context)
{
	_cleanup_(window_done)
	struct window w = {0};
	size_t next = 0;
	int r = 0;

	while (r == 0 && next < calls->n) {
		size_t until = MIN(calls->n, next + WINDOW_CALLS);
		int64_t cut = cut_ns;

		/* A rest that is too short for a window of its own goes along. */
		if (calls->n - until < WINDOW_CALLS / 2)
			until = calls->n;
		for (; next < until && r == 0; next++)
			r = window_put(&w, calls, (uint32_t)next, &links[next]);
		if (next < calls->n)
			cut = MIN(cut, calls->at[next - 1].start_ns - lookahead(&w.part));
		if (r == 0)
			r = link(context, &w.part, cut, w.links);
		if (r == 0)
			window_carry(&w, cut, links);
	}
	return r;
}
