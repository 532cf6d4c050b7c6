/* infer/best_confidence.c - confidence of the links of a node with single calls.
 *
 * Each candidate that does not have the call is asked what an exchange would cost: of this call
 * alone, and of this call with all that it sets off, against whatever the candidate has there. What
 * the present answer owes to having been counted in the densities that judge it is taken off. */
#include "infer/best_confidence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define TEMPER       0.56   /* exponent of likelihood ratios */
#define CROWD        8.0    /* candidates beyond which exchanges of several parents matter */
#define DOUBT_SHARED 1.2    /* of the square of a node's mean doubt holds for its surest links */
#define TRUST_LEAST  0.85   /* of likelihood ratios at a node that is hardly ever in doubt, */
#define TRUST_DOUBT  4.0    /* more by its mean doubt, */
#define TRUST_MOST   1.4    /* at the most */
#define CERTAIN      0.999F /* nothing inferred is surer than this where there was a choice */

float confidence_of(double others, uint32_t candidates)
{
	others *= sqrt(fmax(1, candidates / CROWD));
	return fminf((float)(1 / (1 + pow(others, TEMPER))), CERTAIN);
}

void confidence_settle(const struct view *v)
{
	double doubt = 0, trust;
	float cap;

	for (uint32_t c = 0; c < v->child_n; c++)
		doubt += 1 - (double)v->confidence[c];
	doubt /= v->child_n ? v->child_n : 1;
	cap = (float)(1 - DOUBT_SHARED * doubt * doubt);
	trust = fmin(TRUST_LEAST + TRUST_DOUBT * doubt, TRUST_MOST);
	for (uint32_t c = 0; c < v->child_n; c++)
		if (v->candidate_first[c + 1] > v->candidate_first[c] + 1 &&
		    v->owner[c] != VIEW_NONE) {
			double against = 1 / (double)v->confidence[c] - 1;

			v->confidence[c] = fminf((float)(1 / (1 + pow(against, trust))), cap);
		}
}

static bool contains(const struct view *v, uint32_t parent, uint32_t child)
{
	return v->parent_start[parent] <= v->child_start[child] &&
	       v->parent_end[parent] >= v->child_end[child];
}

/* Log-likelihood ratio of exchanging the calls of `block` between p and q; -INFINITY if impossible.
 * An empty place may be exchanged too. */
static double exchange(const struct single *s, const double *owed, uint32_t p, uint32_t q,
		       uint32_t block)
{
	const struct view *v = s->view;
	unsigned n = s->model->slot_n;
	const uint32_t *a = s->child + (size_t)p * n, *b = s->child + (size_t)q * n;
	uint32_t of_p[SINGLE_ENDPOINTS_MAX], of_q[SINGLE_ENDPOINTS_MAX];

	for (unsigned e = 0; e < n; e++) {
		bool swap = block >> e & 1;

		if (swap && ((a[e] != VIEW_NONE && !contains(v, q, a[e])) ||
			     (b[e] != VIEW_NONE && !contains(v, p, b[e]))))
			return -INFINITY;
		of_p[e] = swap ? b[e] : a[e];
		of_q[e] = swap ? a[e] : b[e];
	}
	return single_score(s, p, of_p) + single_score(s, q, of_q) - single_score(s, p, a) -
	       single_score(s, q, b) + owed[p] + owed[q];
}

int confidence_single(const struct single *s)
{
	const struct view *v = s->view;
	_cleanup_(freep)
	double *owed = malloc(((size_t)v->parent_n + 1) * sizeof(*owed));
	uint32_t blocks[SINGLE_ENDPOINTS_MAX];

	if (!owed)
		return -ENOMEM;
	for (uint32_t p = 0; p < v->parent_n; p++)
		owed[p] = single_owed(s, p, s->child + (size_t)p * s->model->slot_n);

	for (unsigned e = 0; e < s->model->slot_n; e++)
		blocks[e] = single_subtree(s->model, e);
	for (uint32_t c = 0; c < v->child_n; c++) {
		unsigned e = single_slot(s, c);
		uint32_t owner = v->owner[c];
		double others = 0;

		if (owner == VIEW_NONE) {
			v->confidence[c] = 0.5F;
			continue;
		}
		for (uint32_t k = v->candidate_first[c]; k < v->candidate_first[c + 1]; k++) {
			uint32_t q = v->candidate[k];

			if (q == owner)
				continue;
			others += exp(fmin(exchange(s, owed, owner, q, 1U << e), 0));
			if (blocks[e] != 1U << e)
				others += exp(fmin(exchange(s, owed, owner, q, blocks[e]), 0));
		}
		v->confidence[c] = others > 0 ? confidence_of(others, v->candidate_first[c + 1] -
									      v->candidate_first[c])
					      : 1;
	}
	confidence_settle(v);
	return 0;
}
