/* infer/best_slots.c - alternatives, found by endpoints that avoid each other.
 *
 * A load balancer calls one of its targets, never two.  An answer that was found without knowing
 * this gives some parents two and some none, but still far fewer two than independent calls would.
 */
#include "infer/best_slots.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define SHARED_MAX 0.5 /* of what chance would give */
#define CALLS_MIN  20  /* of an endpoint that is judged */

struct meetings {
	double count[SINGLE_ENDPOINTS_MAX];
	double shared[SINGLE_ENDPOINTS_MAX][SINGLE_ENDPOINTS_MAX];
};

static int count_meetings(const struct view *v, struct meetings *m)
{
	_cleanup_(freep)
	uint32_t *set = calloc((size_t)v->parent_n + 1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	for (uint32_t c = 0; c < v->child_n; c++)
		if (v->owner[c] != VIEW_NONE)
			set[v->owner[c]] |= 1U << v->child_endpoint[c];
	for (uint32_t p = 0; p < v->parent_n; p++)
		for (unsigned e = 0; e < v->endpoint_n; e++)
			for (unsigned f = 0; f <= e && set[p] >> e & 1; f++)
				m->shared[e][f] += set[p] >> f & 1;
	for (unsigned e = 0; e < v->endpoint_n; e++)
		m->count[e] = m->shared[e][e];
	return 0;
}

int slots_find(const struct view *v, uint8_t *slot)
{
	struct meetings m = {0};
	uint8_t slots = 0;
	bool any = false;
	int r = count_meetings(v, &m);

	for (unsigned e = 0; r == 0 && e < v->endpoint_n; e++) {
		slot[e] = slots;
		for (uint8_t x = 0; x < slots && slot[e] == slots; x++) {
			bool apart = m.count[e] >= CALLS_MIN;
			double together = m.count[e];

			for (unsigned f = 0; f < e; f++) {
				if (slot[f] != x)
					continue;
				together += m.count[f];
				apart &= m.count[f] >= CALLS_MIN &&
					 m.shared[e][f] * v->parent_n <
						 SHARED_MAX * m.count[e] * m.count[f];
			}
			if (apart && together <= 1.02 * v->parent_n)
				slot[e] = x;
		}
		any |= slot[e] != slots;
		slots += slot[e] == slots;
	}
	return r < 0 ? r : any;
}
