/* infer/best_repeat_em.c - hard expectation maximisation over chains. */
#include "infer/best_repeat_em.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "infer/best_confidence.h"

#define PASSES    6
#define WARM_KEEP 0.8

static int search(const struct repeat_model *m, struct chains *c, struct assign_scratch *scratch)
{
	static const double weights[] = {0, 0.02, 0.05, 0.1, 0.2, 0.4, 1};

	for (size_t pass = 0; pass < sizeof(weights) / sizeof(weights[0]); pass++) {
		int r = chains_cut(m, c, weights[pass], scratch);

		if (r < 0)
			return r;
	}
	for (int pass = 0; pass < PASSES; pass++) {
		int changed = chains_cut(m, c, 1, scratch);

		if (changed < 0)
			return changed;
		changed += chains_move(m, c);
		if (changed == 0)
			break;
	}
	return 0;
}

static int solve(const struct repeat_model *frozen, struct repeat_model *m, struct chains *c,
		 unsigned rounds, struct assign_scratch *scratch)
{
	int r = chains_begin(m, c);

	for (unsigned i = 0; i < rounds && r == 0; i++) {
		r = search(m, c, scratch);
		if (r == 0 && !frozen && i + 1 < rounds)
			r = repeat_fit(m, c, 0);
	}
	return r;
}

int repeat_solve(const struct view *view, struct repeat_model *m, unsigned rounds,
		 const uint32_t *truth, struct assign_scratch *scratch, double *ret_total)
{
	_cleanup_(freep)
	uint32_t *first = malloc(((size_t)view->parent_n + 1) * sizeof(*first));
	_cleanup_(freep)
	uint32_t *next = malloc(((size_t)view->child_n + 1) * sizeof(*next));
	struct chains c = {.view = view, .first = first, .next = next};
	int r;

	if (!first || !next)
		return -ENOMEM;
	if (truth) {
		memcpy(view->owner, truth, view->child_n * sizeof(*truth));
		chains_build(&c);
		r = repeat_fit(m, &c, 0);
		if (r == 0)
			r = solve(m, m, &c, 1, scratch);
	} else if (m->fitted) {
		r = solve(m, m, &c, 1, scratch);
		if (r == 0)
			r = repeat_fit(m, &c, WARM_KEEP);
	} else {
		r = repeat_seed(m, view);
		if (r == 0)
			r = solve(NULL, m, &c, rounds, scratch);
	}
	if (r == 0)
		r = confidence_chains(m, &c);
	if (r == 0)
		*ret_total = chains_total(m, &c);
	return r;
}
